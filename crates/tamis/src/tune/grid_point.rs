//! Grid points: a recipe with some parameters changed, named by these parameters.
//!
//! A parameter is called as in the recipe (`l1`, `k`, `loss`, `scale` …) and its value is written as there. The tables
//! of the recipe know the parameters and what they may hold, so a new one can be tuned at once.

use serde::Serialize;
use serde_json::{Map, Value};

use super::TuneError;
use crate::param::names;
use crate::recipe::{Recipe, RecipeError};

/// A field of the recipe and the values to be tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Axis {
    /// The field.
    pub name: String,
    /// The values, as text.
    pub values: Vec<String>,
}

impl Axis {
    /// An axis from values that can be written.
    pub fn new<T: ToString>(name: &str, values: impl IntoIterator<Item = T>) -> Self {
        Axis { name: name.to_string(), values: values.into_iter().map(|value| value.to_string()).collect() }
    }

    /// An axis from `name=value,value,…`.
    pub fn parse(text: &str) -> Result<Self, TuneError> {
        let wrong = |reason: &str| {
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            TuneError::GridPoint { name: name.into(), value: value.into(), reason: reason.into() }
        };
        let (name, values) = text.split_once('=').ok_or_else(|| wrong("expected name=value,value,…"))?;
        let axis = Axis::new(name.trim(), values.split(',').map(str::trim));
        if axis.name.is_empty() || axis.values.iter().any(String::is_empty) {
            return Err(wrong("expected name=value,value,…"));
        }
        Ok(axis)
    }
}

/// A recipe and what sets it apart from the others of its grid.
#[derive(Clone, Debug, PartialEq)]
pub struct GridPoint {
    /// Field and value, in the order of the axes.
    pub values: Vec<(String, String)>,
    /// The recipe.
    pub recipe: Recipe,
}

impl GridPoint {
    /// `field value, field value`, or a text for the unchanged recipe.
    pub fn name(&self) -> String {
        let parts: Vec<String> = self.values.iter().map(|(name, value)| format!("{name} {value}")).collect();
        if parts.is_empty() { "as given".into() } else { parts.join(", ") }
    }

    /// Field and value, numbers as numbers.
    pub fn as_json(&self) -> Value {
        self.values.iter().map(|(name, value)| (name.clone(), json_of(value))).collect::<Map<_, _>>().into()
    }
}

/// The largest number of settings. Each is fitted several times, so more are likely a mistake.
const MOST_SETTINGS: usize = 10_000;

/// All combinations of the axes' values, the last axis changing fastest; each is checked.
pub fn settings(base: &Recipe, axes: &[Axis]) -> Result<Vec<GridPoint>, TuneError> {
    for (at, axis) in axes.iter().enumerate() {
        if axes[..at].iter().any(|other| other.name == axis.name) {
            return Err(TuneError::AxisTwice { name: axis.name.clone() });
        }
        if axis.values.is_empty() {
            let (name, reason) = (axis.name.clone(), "expected at least one value to try".into());
            return Err(TuneError::GridPoint { name, value: String::new(), reason });
        }
    }
    let count = axes.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.values.len()));
    let count = count.unwrap_or(usize::MAX);
    if count > MOST_SETTINGS {
        return Err(TuneError::TooManySettings { settings: count, most: MOST_SETTINGS });
    }
    let mut all = vec![GridPoint { values: Vec::new(), recipe: base.clone() }];
    for axis in axes {
        let mut longer = Vec::with_capacity(all.len() * axis.values.len());
        for setting in &all {
            for value in &axis.values {
                let mut values = setting.values.clone();
                values.push((axis.name.clone(), value.clone()));
                longer.push(GridPoint { values, recipe: with(&setting.recipe, &axis.name, value)? });
            }
        }
        all = longer;
    }
    for setting in &all {
        let clash = |reason: RecipeError| TuneError::Clash { setting: setting.name(), reason: reason.into() };
        setting.recipe.check().map_err(clash)?;
    }
    Ok(all)
}

/// The recipe with one parameter changed.
fn with(recipe: &Recipe, name: &str, value: &str) -> Result<Recipe, TuneError> {
    let mut changed = recipe.clone();
    let wrong =
        |reason: RecipeError| TuneError::Value { name: name.into(), value: value.into(), reason: reason.into() };
    changed.set(name, value).map_err(wrong)?;
    Ok(changed)
}

/// The recipe with parameters changed, given as data. The method comes first, whatever its place: it has parameters of
/// its own.
pub fn overlay(recipe: &Recipe, fields: impl IntoIterator<Item = (String, Value)>) -> Result<Recipe, RecipeError> {
    let mut changed = recipe.clone();
    let (method, others): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(name, _)| name == names::METHOD.name);
    for (name, value) in method.into_iter().chain(others).filter(|(_, value)| !value.is_null()) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        changed.set(&name, &text)?;
    }
    Ok(changed)
}

/// Text as the JSON value it looks like.
fn json_of(text: &str) -> Value {
    if let Ok(whole) = text.parse::<u64>() {
        return whole.into();
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => number.into(),
        _ if text == "true" || text == "false" => (text == "true").into(),
        _ => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::LossKind;
    use crate::recipe::Method;

    #[test]
    fn axes_are_multiplied_in_order() {
        let axes = [Axis::parse("loss=hinge,logistic").unwrap(), Axis::new("l1", [0.5, 2.0])];
        let all = settings(&Recipe::new(Method::Rda), &axes).unwrap();
        let names: Vec<String> = all.iter().map(GridPoint::name).collect();
        assert_eq!(names, ["loss hinge, l1 0.5", "loss hinge, l1 2", "loss logistic, l1 0.5", "loss logistic, l1 2"]);
        assert_eq!((all[1].recipe.loss, all[1].recipe.l1()), (Some(LossKind::Hinge), Some(2.0)));
        assert_eq!(all[1].as_json(), serde_json::json!({"loss": "hinge", "l1": 2}));
    }

    #[test]
    fn any_field_of_a_recipe_is_an_axis() {
        let axes = ["k=3,5", "passes=2", "refit=true", "scale=max-abs"].map(|text| Axis::parse(text).unwrap());
        let all = settings(&Recipe::new(Method::Ftrl), &axes).unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!((all[1].recipe.k, all[1].recipe.passes, all[1].recipe.refit), (Some(5), Some(2), Some(true)));
    }

    #[test]
    fn data_change_a_recipe() {
        let fields =
            serde_json::json!({"annealing": -5, "k": null, "count": "present", "method": "stabilized-published"});
        let changed = overlay(&Recipe::default(), fields.as_object().unwrap().clone()).unwrap();
        let expected = Recipe::new(Method::StabilizedPublished).with("annealing", -5.0).with("count", "present");
        assert_eq!(changed, expected);
    }

    #[test]
    fn no_axes_give_the_recipe_itself() {
        let all = settings(&Recipe::default(), &[]).unwrap();
        assert_eq!((all.len(), all[0].name(), &all[0].recipe), (1, "as given".to_string(), &Recipe::default()));
    }

    #[test]
    fn complaints_name_field_and_value() {
        let message = |text: &str| {
            let axis = match Axis::parse(text) {
                Ok(axis) => axis,
                Err(error) => return error.to_string(),
            };
            settings(&Recipe::new(Method::Ftrl), &[axis]).unwrap_err().to_string()
        };
        assert_eq!(message("l1=1,x"), "l1=x: `l1` must be a number of at least 0, got \"x\"");
        assert_eq!(message("l1=-1"), "l1 -1: `l1` must be a number of at least 0, got -1");
        assert_eq!(message("l1"), "l1=: expected name=value,value,…");
        assert_eq!(message("l1=1,,2"), "l1=1,,2: expected name=value,value,…");
        assert_eq!(message("l3=1"), "l3=1: there is no parameter \"l3\"");
        assert_eq!(message("gamma=1"), "gamma=1: ftrl has no parameter `gamma`; rda has");
        assert!(
            message("loss=fun").starts_with("loss=fun: `loss` must be one of logistic, "),
            "{}",
            message("loss=fun")
        );
        assert_eq!(message("k=0"), "k 0: `k` must be a whole number of at least 1, got 0");
    }

    #[test]
    fn too_much_is_refused_before_it_is_made() {
        let axis = |name: &str| Axis::new(name, 1..=1000);
        let message = settings(&Recipe::new(Method::Rda), &[axis("l1"), axis("gamma"), axis("l2")]).unwrap_err();
        assert_eq!(message.to_string(), "1000000000 settings are more than 10000; shorten the lists");
        let twice = settings(&Recipe::default(), &[axis("l1"), axis("l1")]).unwrap_err().to_string();
        assert!(twice.contains("given twice"), "{twice}");
        let none = settings(&Recipe::default(), &[Axis::new("l1", [0.0; 0])]).unwrap_err().to_string();
        assert_eq!(none, "l1=: expected at least one value to try");
    }
}
