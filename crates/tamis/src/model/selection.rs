//! How a stabilized model was chosen, and other choices from the same run: no data needed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Feature, Model, Output, Seen};
use crate::param::names;

/// The ladder a model stands on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// Paths that voted.
    pub paths: usize,
    /// The step of the ladder that became the model.
    pub chosen: usize,
    /// From all features down.
    pub ladder: Vec<Step>,
}

/// One rung: a finished model of some size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Features.
    pub size: usize,
    /// The evidence a feature needs on a path to get a weight.
    pub gravity: f64,
    /// Mean loss on rows its features were chosen without.
    pub loss: f64,
    /// Share of wrong classes among these rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
    /// The standard error of the error, or of the loss where there is none.
    pub standard_error: f64,
    /// q: features that a path selects, on average.
    pub selected: f64,
    /// Its weights; none are kept of rungs far larger than the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Output>,
}

/// Which other choice to make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cut {
    /// So many features.
    Size(usize),
    /// The features that at least this share of the paths selected (π₀).
    Stability(f64),
}

/// Why a model cannot be cut again.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum CutError {
    /// It knows nothing of other sizes.
    #[error("the model keeps no ladder: only models of the method `stabilized` can be cut again")]
    NoLadder,
    /// More features than are kept.
    #[error(
        "{asked} features are asked for, the model keeps what is needed for up to {most}; fit again with {}", names::K.with(asked)
    )]
    TooMany {
        /// What was asked for.
        asked: usize,
        /// What there is.
        most: usize,
    },
    /// No feature is so stable.
    #[error("no feature was selected by a share of {asked} of the paths; the surest has {most}")]
    NoneStable {
        /// The share asked for.
        asked: f64,
        /// The largest there is.
        most: f64,
    },
    /// A size or a share out of range.
    #[error("{0}")]
    Range(&'static str),
}

impl Selection {
    /// The bound of Meinshausen & Bühlmann on the expected number of false selections among features selected by a share
    /// `cutoff` of the paths: q²/((2π₀ − 1)p). Indicative: it asks for halves independent of the active set, which holds
    /// only until the first purge.
    pub fn false_selections(&self, cutoff: f64) -> Option<f64> {
        let (all, chosen) = (self.ladder.first()?, self.ladder.get(self.chosen)?);
        (cutoff > 0.5).then(|| chosen.selected.powi(2) / ((2.0 * cutoff - 1.0) * all.size as f64))
    }
}

impl Model {
    /// The same run's model with other features: a smaller or larger rung, or the surest features only.
    pub fn recut(&self, cut: Cut) -> Result<Model, CutError> {
        let selection = self.selection.as_ref().ok_or(CutError::NoLadder)?;
        let (chosen, outputs) = match cut {
            Cut::Size(0) => return Err(CutError::Range("at least one feature must stay")),
            Cut::Size(size) => selection.of_size(size)?,
            Cut::Stability(share) if !(0.0..=1.0).contains(&share) => {
                return Err(CutError::Range("the share of paths must lie between 0 and 1"));
            }
            Cut::Stability(share) => (selection.chosen, surest(&self.outputs, share)?),
        };
        // A size between two rungs was judged by nobody: the rung it comes from is the nearest there is.
        let judged = selection.ladder.get(chosen);
        let seen = Seen {
            progressive_loss: judged.map_or(self.seen.progressive_loss, |step| step.loss),
            progressive_error: judged.map_or(self.seen.progressive_error, |step| step.error),
            ..self.seen.clone()
        };
        let selection = Selection { chosen, ..selection.clone() };
        Ok(Model { outputs, seen, selection: Some(selection), ..self.clone() })
    }
}

impl Selection {
    /// The smallest rung that has enough features, without the weakest of them.
    fn of_size(&self, size: usize) -> Result<(usize, Vec<Output>), CutError> {
        // A rung may have features whose weight came out as zero: only those with a weight count.
        let weighty: Vec<usize> = self.ladder.iter().map(|step| different(&step.outputs)).collect();
        let most = weighty.iter().copied().max().unwrap_or(0);
        let number = weighty.iter().rposition(|&count| count >= size).ok_or(CutError::TooMany { asked: size, most })?;
        let step = &self.ladder[number];
        let mut strengths: Vec<(f64, &str)> = Vec::new();
        for feature in step.outputs.iter().flat_map(|output| &output.features) {
            strengths.push((feature.evidence.map_or(0.0, |[mean, _]| mean.abs()), &feature.name));
        }
        strengths.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        let mut names = BTreeSet::new();
        for (_, name) in strengths {
            if names.len() == size {
                break;
            }
            names.insert(name);
        }
        Ok((number, keep(&step.outputs, |feature| names.contains(feature.name.as_str()))))
    }
}

/// The number of different features.
fn different(outputs: &[Output]) -> usize {
    let names = outputs.iter().flat_map(|output| output.features.iter().map(|feature| &feature.name));
    names.collect::<BTreeSet<_>>().len()
}

/// The features that at least this share of the paths selected.
fn surest(outputs: &[Output], share: f64) -> Result<Vec<Output>, CutError> {
    let stable = keep(outputs, |feature| feature.stability >= Some(share));
    if different(&stable) > 0 {
        return Ok(stable);
    }
    let all = outputs.iter().flat_map(|output| &output.features).filter_map(|feature| feature.stability);
    Err(CutError::NoneStable { asked: share, most: all.fold(0.0, f64::max) })
}

fn keep(outputs: &[Output], stays: impl Fn(&Feature) -> bool) -> Vec<Output> {
    let kept = |output: &Output| {
        let (stay, go): (Vec<&Feature>, Vec<&Feature>) = output.features.iter().partition(|feature| stays(feature));
        // What goes stands at its mean from now on, which the intercept had taken off.
        let means: f64 = go.iter().map(|feature| feature.weight * feature.centre).sum();
        Output {
            class: output.class.clone(),
            intercept: output.intercept + means,
            features: stay.into_iter().cloned().collect(),
        }
    };
    outputs.iter().map(kept).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Label;
    use crate::data::RowScale;
    use crate::loss::LossKind;
    use crate::model::Task;
    use crate::recipe::Recipe;

    /// A name, its evidence (whose sign is the weight's) and its stability.
    type Told = (&'static str, f64, f64);

    fn output(class: Option<f64>, features: &[Told]) -> Output {
        let feature = |&(name, evidence, stability): &Told| Feature {
            name: name.into(),
            weight: evidence / 10.0,
            scale: 1.0,
            centre: 0.0,
            stability: Some(stability),
            evidence: Some([evidence, 1.0]),
            bucket: None,
        };
        Output { class: class.map(Label::Number), intercept: 0.5, features: features.iter().map(feature).collect() }
    }

    fn step(size: usize, error: f64, selected: f64, outputs: Vec<Output>) -> Step {
        Step { size, gravity: 1.0, loss: 2.0 * error, error: Some(error), standard_error: 0.01, selected, outputs }
    }

    fn model(chosen: usize, ladder: Vec<Step>) -> Model {
        let outputs = ladder[chosen].outputs.clone();
        let classes = if outputs.len() == 1 { 2 } else { outputs.len() };
        Model {
            recipe: Recipe::default().into(),
            loss: LossKind::Logistic,
            row_scale: RowScale::None,
            task: Task::Classes((0..classes).map(|class| Label::Number(class as f64)).collect()),
            columns: None,
            seen: Seen {
                progressive_loss: ladder[chosen].loss,
                progressive_error: ladder[chosen].error,
                ..Seen::default()
            },
            outputs,
            selection: Some(Selection { paths: 32, chosen, ladder }),
            sampling: None,
        }
    }

    /// 100 features, of which nothing is kept; 4, the model; 2.
    fn binary() -> Model {
        let four = [("a", 9.0, 1.0), ("b", -7.0, 0.9), ("c", 5.0, 0.75), ("d", -5.0, 0.5)];
        let two = [("b", -8.0, 1.0), ("a", 6.0, 1.0)];
        let steps = [
            (100, 0.3, 40.0, vec![]),
            (4, 0.1, 3.0, vec![output(None, &four)]),
            (2, 0.2, 2.0, vec![output(None, &two)]),
        ];
        model(1, steps.map(|(size, error, selected, outputs)| step(size, error, selected, outputs)).into())
    }

    fn names(model: &Model) -> Vec<Vec<&str>> {
        let outputs = model.outputs.iter();
        outputs.map(|output| output.features.iter().map(|feature| feature.name.as_str()).collect()).collect()
    }

    #[test]
    fn every_size_is_exact() {
        for size in 1..=4 {
            let cut = binary().recut(Cut::Size(size)).unwrap();
            assert_eq!(cut.nonzeros(), size);
        }
        let two = binary().recut(Cut::Size(2)).unwrap();
        assert_eq!(two.outputs, binary().selection.unwrap().ladder[2].outputs, "a rung as it was learned");
        assert_eq!((two.selection.as_ref().unwrap().chosen, two.seen.progressive_error), (2, Some(0.2)));
        assert_eq!(names(&binary().recut(Cut::Size(1)).unwrap()), [["b"]], "the strongest of the smallest rung");
        assert_eq!(two.recut(Cut::Size(4)).unwrap(), binary(), "and back up again");
    }

    #[test]
    fn between_rungs_the_weakest_of_the_larger_one_goes() {
        let three = binary().recut(Cut::Size(3)).unwrap();
        assert_eq!(names(&three), [["a", "b", "c"]], "c and d are as strong: the earlier name stays");
        assert_eq!(three.selection.as_ref().unwrap().chosen, 1);
        let same = binary().outputs[0].features[..3].to_vec();
        assert_eq!((&three.outputs[0].features, three.outputs[0].intercept), (&same, 0.5), "its weights are unchanged");
    }

    #[test]
    fn a_feature_that_goes_leaves_its_mean() {
        let mut model = binary();
        let rungs = &mut model.selection.as_mut().unwrap().ladder;
        rungs[1].outputs[0].features.iter_mut().for_each(|feature| feature.centre = 100.0);
        model.outputs = rungs[1].outputs.clone();
        assert_eq!(model.recut(Cut::Size(4)).unwrap().outputs[0].intercept, 0.5, "nothing goes");
        let three = model.recut(Cut::Size(3)).unwrap();
        assert_eq!(three.outputs[0].intercept, 0.5 - 0.5 * 100.0, "d has a weight of −0.5");
        let one = model.recut(Cut::Stability(0.95)).unwrap();
        assert!((one.outputs[0].intercept - (0.5 - 0.7 * 100.0)).abs() < 1e-12, "b, and c and d which cancel out");
    }

    #[test]
    fn a_feature_of_several_outputs_counts_once() {
        let (zero, one) = ([("a", 9.0, 1.0), ("b", 2.0, 0.5)], [("c", -8.0, 0.9), ("a", 1.0, 0.2)]);
        let outputs = vec![output(Some(0.0), &zero), output(Some(1.0), &one), output(Some(2.0), &[])];
        let three = model(0, vec![step(3, 0.1, 2.0, outputs)]);
        let cut = |size| three.recut(Cut::Size(size)).unwrap();
        assert_eq!(names(&cut(3)), [vec!["a", "b"], vec!["c", "a"], vec![]]);
        assert_eq!(names(&cut(2)), [vec!["a"], vec!["c", "a"], vec![]], "a is strong for one class and stays for both");
        assert_eq!(names(&cut(1)), [vec!["a"], vec!["a"], vec![]]);
        assert_eq!(cut(2).nonzeros(), 2);
        let surest = three.recut(Cut::Stability(0.5)).unwrap();
        assert_eq!(names(&surest), [vec!["a", "b"], vec!["c"], vec![]], "a cut-off asks each class by itself");
    }

    #[test]
    fn a_rung_with_zero_weights_is_not_large_enough() {
        let lame = vec![output(None, &[("a", 6.0, 1.0)])];
        let mut model = binary();
        model.selection.as_mut().unwrap().ladder[2].outputs = lame;
        let two = model.recut(Cut::Size(2)).unwrap();
        assert_eq!((names(&two), two.selection.as_ref().unwrap().chosen), (vec![vec!["a", "b"]], 1));
    }

    #[test]
    fn a_cutoff_keeps_the_surest() {
        let cut = |share| binary().recut(Cut::Stability(share));
        assert_eq!(names(&cut(0.75).unwrap()), [["a", "b", "c"]], "the cut-off itself is enough");
        assert_eq!(names(&cut(0.76).unwrap()), [["a", "b"]]);
        assert_eq!(cut(0.0).unwrap(), binary());
        assert_eq!(names(&cut(1.0).unwrap()), [["a"]]);
        assert_eq!(cut(1.0).unwrap().recut(Cut::Size(4)).unwrap(), binary(), "nothing is lost");
    }

    #[test]
    fn complaints_say_what_there_is() {
        let told = |model: &Model, cut| model.recut(cut).unwrap_err().to_string();
        let plain = Model { selection: None, ..binary() };
        assert!(told(&plain, Cut::Size(1)).contains("only models of the method `stabilized` can be cut again"));
        assert_eq!(
            told(&binary(), Cut::Size(5)),
            "5 features are asked for, the model keeps what is needed for up to 4; fit again with `k = 5`"
        );
        assert_eq!(told(&binary(), Cut::Size(0)), "at least one feature must stay");
        for share in [-0.1, 1.1, f64::NAN] {
            assert_eq!(told(&binary(), Cut::Stability(share)), "the share of paths must lie between 0 and 1");
        }
        let unsure = model(0, vec![step(1, 0.1, 0.5, vec![output(None, &[("a", 1.0, 0.25)])])]);
        assert_eq!(
            told(&unsure, Cut::Stability(0.75)),
            "no feature was selected by a share of 0.75 of the paths; the surest has 0.25"
        );
    }

    #[test]
    fn the_ladder_survives_the_file_and_is_checked() {
        let load = |model: &Model| Model::from_bytes(model.to_text().as_bytes(), std::path::Path::new("m.json"));
        assert_eq!(load(&binary()).unwrap(), binary());
        let broken = |change: fn(&mut Selection)| {
            let mut model = binary();
            change(model.selection.as_mut().unwrap());
            load(&model).unwrap_err().to_string()
        };
        assert_eq!(broken(|selection| selection.chosen = 3), "m.json: rung 3 of a ladder of 3");
        let twice = broken(|selection| selection.ladder[2].outputs[0].features[1].name = "b".into());
        assert_eq!(twice, "m.json: a feature comes twice");
        let two = broken(|selection| selection.ladder[2].outputs.push(output(None, &[])));
        assert_eq!(two, "m.json: 2 outputs where the task needs 1");
    }

    #[test]
    fn the_bound_by_hand() {
        let selection = binary().selection.unwrap();
        // q = 3 of p = 100 features: 9 / (0.5 · 100) and 9 / (0.8 · 100).
        assert!((selection.false_selections(0.75).unwrap() - 0.18).abs() < 1e-15);
        assert!((selection.false_selections(0.9).unwrap() - 0.1125).abs() < 1e-15);
        assert_eq!(selection.false_selections(0.5), None, "says nothing at or below one half");
        assert_eq!(Selection { ladder: vec![], ..selection }.false_selections(0.75), None);
    }
}
