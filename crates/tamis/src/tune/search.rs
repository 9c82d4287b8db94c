//! Cross-validation of a grid that grows where its best values lie at an end.
//!
//! A default grid cannot know the data. If the setting that is chosen, or the one of least error, lies at an end of a
//! default axis, the true optimum may lie beyond: the axis is extended by a decade in half-decades, and only the new
//! settings are fitted. This is repeated until the choice lies inside, or the limit is reached. Axes that the user gives
//! are not extended: a list of values means these values.

use super::cross_validation::{RunFolds, cross_validate_by, on_threads};
use super::{Axis, CrossOptions, Curve, DataSummary, GridPoint, Point, Rule, TuneData, TuneError, Watch};
use super::{choose, default_axes, settings};
use crate::param::{Message, names};
use crate::recipe::Recipe;
use crate::train::FitOptions;

/// How often an axis is extended at most: four decades.
const EXTENSIONS: usize = 4;

/// A grid, its curve and the choice.
#[derive(Clone, Debug)]
pub struct Search {
    /// The axes, with the values that were added.
    pub axes: Vec<Axis>,
    /// The curve.
    pub curve: Curve,
    /// The number of the chosen point.
    pub chosen: usize,
    /// What was extended, and which ends were reached all the same.
    pub notes: Vec<Message>,
}

/// Evaluates the given axes and the default ones, and extends the latter where needed.
#[allow(clippy::too_many_arguments, reason = "what to try, on which data, and how")]
pub fn search(
    recipe: &Recipe,
    given: &[Axis],
    rule: Rule,
    data: &dyn TuneData,
    summary: &DataSummary,
    options: &FitOptions,
    cross: &CrossOptions,
    watch: Watch<'_>,
) -> Result<Search, TuneError> {
    search_by(recipe, given, rule, summary, cross, &on_threads(data, summary, options, cross), watch)
}

/// Evaluates the given axes and the default ones; `run` fits the models.
pub fn search_by(
    recipe: &Recipe,
    given: &[Axis],
    rule: Rule,
    summary: &DataSummary,
    cross: &CrossOptions,
    run: RunFolds<'_>,
    watch: Watch<'_>,
) -> Result<Search, TuneError> {
    let default = default_axes(recipe, given, summary.features);
    let mut axes: Vec<Axis> = given.iter().chain(&default).cloned().collect();
    let mut curve = cross_validate_by(&settings(recipe, &axes)?, summary, cross, run, watch)?;
    let mut notes = Vec::new();
    for _ in 0..EXTENSIONS {
        let longer = extended(&axes, given.len(), &curve, rule);
        if longer == axes {
            break;
        }
        let all = settings(recipe, &longer)?;
        let is_known = |setting: &GridPoint| curve.points.iter().any(|point| point.setting == *setting);
        let (fits, new) = (curve.points.len() * cross.folds as usize, all.iter().filter(|one| !is_known(one)));
        let new: Vec<GridPoint> = new.cloned().collect();
        let later = |done, total| watch(fits + done, fits + total);
        let more = cross_validate_by(&new, summary, cross, run, &later)?;
        curve.points = in_order(&all, curve.points.into_iter().chain(more.points).collect());
        axes = longer;
    }
    for (before, after) in given.iter().chain(&default).zip(&axes).filter(|(before, after)| before != after) {
        let ends = |axis: &Axis| format!("{} … {}", axis.values[0], axis.values[axis.values.len() - 1]);
        let text = format!("lay at an end of its grid {}: extended to {}", ends(before), ends(after));
        notes.push(about_best(before, &text));
    }
    let chosen = choose(&curve, rule).ok_or(TuneError::AllDiverged)?;
    notes.extend(ends_reached(&axes, &curve, chosen));
    Ok(Search { axes, curve, chosen, notes })
}

/// The points in the order of the settings.
fn in_order(settings: &[GridPoint], mut points: Vec<Point>) -> Vec<Point> {
    let place = |point: &Point| settings.iter().position(|setting| *setting == point.setting);
    points.sort_by_key(place);
    points
}

/// The value of an axis at a point.
fn value<'a>(point: &'a Point, axis: &Axis) -> Option<&'a String> {
    point.setting.values.iter().find(|(name, _)| *name == axis.name).map(|(_, value)| value)
}

/// The numbers of an axis, if all are positive and there are more than two.
fn numbers(axis: &Axis) -> Option<Vec<f64>> {
    let numbers: Option<Vec<f64>> = axis.values.iter().map(|value| value.parse().ok()).collect();
    numbers.filter(|numbers| numbers.len() > 2 && numbers.iter().all(|number| *number > 0.0))
}

/// The axes, those from number `first` on with values beyond an end that the choice or the least error lies at. Sizes
/// are not extended: their ends are all features and a few.
fn extended(axes: &[Axis], first: usize, curve: &Curve, rule: Rule) -> Vec<Axis> {
    let chosen = choose(curve, rule).map(|at| &curve.points[at]);
    let longer = |(at, axis): (usize, &Axis)| {
        let mut axis = axis.clone();
        let Some(numbers) = numbers(&axis).filter(|_| at >= first && axis.name != names::K.name) else {
            return axis;
        };
        let ends = [0, numbers.len() - 1].map(|end| &axis.values[end]);
        let reached = |end: &String| {
            let at_end = |point: &&Point| value(point, &axis) == Some(end);
            // A model without features cannot become sparser.
            [chosen, curve.best()].into_iter().flatten().filter(at_end).any(|point| point.size > 0.0)
        };
        let (low, high) = (reached(ends[0]), reached(ends[1]));
        let is_rising = numbers[0] < numbers[numbers.len() - 1];
        let beyond =
            |end: f64, up: bool| [1, 2].map(|steps| half_decades(end, if up { steps } else { -steps }).to_string());
        if high {
            axis.values.extend(beyond(numbers[numbers.len() - 1], is_rising));
        }
        if low {
            axis.values.splice(0..0, beyond(numbers[0], !is_rising).into_iter().rev());
        }
        axis
    };
    axes.iter().enumerate().map(longer).collect()
}

/// A number this many half-decades away, with one digit: 1, 3, 10, 30, …
fn half_decades(number: f64, steps: i32) -> f64 {
    let places = (2.0 * number.log10()).round() as i32 + steps;
    let digit = if places.rem_euclid(2) == 0 { "1" } else { "3" };
    format!("{digit}e{}", places.div_euclid(2)).parse().unwrap_or(number)
}

/// Notes about axes whose best or chosen value lies at an end all the same.
fn ends_reached(axes: &[Axis], curve: &Curve, chosen: usize) -> Vec<Message> {
    let points = || [Some(&curve.points[chosen]), curve.best()].into_iter().flatten();
    let note = |axis: &Axis| {
        let numbers = numbers(axis)?;
        let ends = [0, numbers.len() - 1].map(|end| &axis.values[end]);
        let at_end = points().filter_map(|point| value(point, axis)).find(|value| ends.contains(value))?;
        let [first, last] = ends;
        let text = format!("is {at_end}, an end of its grid {first} … {last}; values beyond it may be better");
        Some(about_best(axis, &text))
    };
    axes.iter().filter_map(note).collect()
}

/// A note about the best value of an axis.
fn about_best(axis: &Axis, text: &str) -> Message {
    match names::ALL.iter().find(|param| param.name == axis.name) {
        Some(&param) => Message::new(format!("the best {{}} {text}"), [param]),
        None => format!("the best {} {text}", axis.name).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::Measure;

    /// A curve over λ₁ with these errors; sizes fall.
    fn curve(axis: &Axis, errors: &[f64]) -> Curve {
        let all = settings(&Recipe::new(crate::recipe::Method::Ftrl), std::slice::from_ref(axis)).unwrap();
        let point = |(at, setting): (usize, &GridPoint)| Point {
            setting: setting.clone(),
            mean: errors[at],
            standard_error: 0.01,
            size: (errors.len() - at) as f64,
            folds: Vec::new(),
        };
        Curve { measure: Measure::Error, points: all.iter().enumerate().map(point).collect(), rows: 9, features: 9 }
    }

    #[test]
    fn an_end_is_extended_where_the_choice_lies() {
        let axis = Axis::new("l1", [1.0, 3.0, 10.0]);
        let longer = |errors: &[f64], first, rule| {
            extended(std::slice::from_ref(&axis), first, &curve(&axis, errors), rule)[0].values.join(" ")
        };
        assert_eq!(longer(&[0.3, 0.1, 0.3], 0, Rule::OneSe), "1 3 10", "the best lies inside");
        assert_eq!(longer(&[0.3, 0.2, 0.1], 0, Rule::Min), "1 3 10 30 100");
        assert_eq!(longer(&[0.1, 0.2, 0.3], 0, Rule::Min), "0.1 0.3 1 3 10");
        assert_eq!(longer(&[0.3, 0.1, 0.105], 0, Rule::OneSe), "1 3 10 30 100", "the sparsest within an error");
        assert_eq!(longer(&[0.3, 0.1, 0.105], 0, Rule::Min), "1 3 10");
        assert_eq!(longer(&[0.3, 0.2, 0.1], 1, Rule::Min), "1 3 10", "the user's values");
    }

    #[test]
    fn half_decades_have_one_digit() {
        let found =
            [(1.0, 1), (3.0, 1), (100.0, 2), (0.1, -1), (0.00001, -2), (0.3, 1)].map(|(x, n)| half_decades(x, n));
        assert_eq!(found, [3.0, 10.0, 1000.0, 0.03, 0.000001, 1.0]);
    }
}
