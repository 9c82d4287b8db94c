//! Other models from the same training, without data: another size, or other features.
//!
//! A size of the path is taken as it was learned. A size between two of them has the weights of the larger one, without
//! the features that leave first ([`Cut`]); it becomes a point of the path, with its own held-out estimate.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::{Cut, Feature, FeatureTests, Model, Output, SizePath, SizePoint, TrainingSummary};
use crate::param::names;

/// The largest false discovery rate that features can be confirmed at.
pub const LARGEST_FDR: f64 = 0.5;

/// Another choice of features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Resize {
    /// This many features.
    Size(usize),
    /// The features that at least this share of the paths selected (π₀).
    Frequency(f64),
    /// The confirmed features: those with at most this q-value.
    Fdr(f64),
}

/// Why a model cannot be resized.
#[derive(Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum ResizeError {
    /// The model has no size path.
    #[error("the model has no size path: only models of the methods `stabilized` and `kernel` can be resized")]
    NoSizePath,
    /// More features than the model keeps weights for.
    #[error(
        "{asked} features are requested, but the model keeps the weights of at most {most}; fit again with {}", names::K.with(asked)
    )]
    TooMany {
        /// The requested number of features.
        asked: usize,
        /// The largest number of features available.
        most: usize,
    },
    /// No feature has this selection frequency.
    #[error("no feature was selected by a share of {asked} of the paths; the largest share is {most}")]
    NoneStable {
        /// The requested selection frequency.
        asked: f64,
        /// The largest selection frequency.
        most: f64,
    },
    /// The features were not tested.
    #[error("the features of this model were not tested: {rows} rows are too few")]
    NotTested {
        /// The number of rows.
        rows: u64,
    },
    /// No feature is confirmed.
    #[error("no feature is confirmed at q ≤ {asked}; the least q-value is {least:.3}")]
    NoneConfirmed {
        /// The requested false discovery rate.
        asked: f64,
        /// The least q-value.
        least: f64,
    },
    /// A kernel model has functions of some sizes only.
    #[error("the model has no function of {asked} variables; it has those of {}", list(sizes))]
    NotASize {
        /// The requested number of variables.
        asked: usize,
        /// The numbers that it has.
        sizes: Vec<usize>,
    },
    /// A size or a share is out of range.
    #[error("{0}")]
    Range(&'static str),
}

impl Model {
    /// The model of the same training with other features: another size, or the most frequently selected features only.
    pub fn resize(&self, cut: Resize) -> Result<Model, ResizeError> {
        if let Some(kernel) = &self.kernel {
            return self.resize_kernel(kernel, cut);
        }
        let size_path = self.size_path.as_ref().ok_or(ResizeError::NoSizePath)?;
        let mut size_path = size_path.clone();
        let (chosen, outputs) = match cut {
            Resize::Size(0) => return Err(ResizeError::Range("at least one feature must stay")),
            Resize::Size(size) => size_path.with_size(size)?,
            Resize::Frequency(share) if !(0.0..=1.0).contains(&share) => {
                return Err(ResizeError::Range("the selection frequency must lie between 0 and 1"));
            }
            Resize::Frequency(share) => (size_path.chosen, by_frequency(&self.outputs, share)?),
            Resize::Fdr(fdr) if !(0.0..=LARGEST_FDR).contains(&fdr) => {
                return Err(ResizeError::Range("the false discovery rate must lie between 0 and 0.5"));
            }
            Resize::Fdr(fdr) => size_path.of_confirmed(self.tests.as_ref().unwrap_or(&FeatureTests::default()), fdr)?,
        };
        // Features that are chosen otherwise than by size were not evaluated: they get the score of the point they come from.
        let evaluated = size_path.sizes.get(chosen);
        let seen = TrainingSummary {
            progressive_loss: evaluated.map_or(self.seen.progressive_loss, |step| step.loss),
            progressive_error: evaluated.map_or(self.seen.progressive_error, |step| step.error),
            ..self.seen.clone()
        };
        size_path.chosen = chosen;
        Ok(Model { outputs, seen, size_path: Some(size_path), ..self.clone() })
    }
}

impl SizePath {
    /// The confirmed features, with the weights of the smallest size that contains most of them.
    fn of_confirmed(&self, tests: &FeatureTests, fdr: f64) -> Result<(usize, Vec<Output>), ResizeError> {
        let names: BTreeSet<&str> = tests.confirmed(fdr).into_iter().map(|test| test.name.as_str()).collect();
        if tests.tests.is_empty() {
            return Err(ResizeError::NotTested { rows: tests.rows });
        }
        if names.is_empty() {
            let least = tests.tests.iter().map(|test| test.q).fold(1.0, f64::min);
            return Err(ResizeError::NoneConfirmed { asked: fdr, least });
        }
        let contained = |step: &SizePoint| {
            let features = step.outputs.iter().flat_map(|output| &output.features);
            features.filter(|one| names.contains(one.name.as_str())).map(|one| &one.name).collect::<BTreeSet<_>>().len()
        };
        let counts: Vec<usize> = self.sizes.iter().map(contained).collect();
        let most = counts.iter().copied().max().unwrap_or(0);
        let number = counts.iter().rposition(|&count| count == most).unwrap_or(self.chosen);
        Ok((number, keep(&self.sizes[number].outputs, |feature| names.contains(feature.name.as_str()))))
    }

    /// The smallest point that has enough features, without those that leave first. Such a size becomes a point of the path
    /// if it was evaluated.
    fn with_size(&mut self, size: usize) -> Result<(usize, Vec<Output>), ResizeError> {
        self.sizes.retain(|point| !point.is_cut);
        // A size may have features whose weight is zero: only features with a weight count.
        let nonzeros: Vec<usize> = self.sizes.iter().map(|step| different(&step.outputs)).collect();
        let most = nonzeros.iter().copied().max().unwrap_or(0);
        let number =
            nonzeros.iter().rposition(|&count| count >= size).ok_or(ResizeError::TooMany { asked: size, most })?;
        if nonzeros[number] == size {
            return Ok((number, self.sizes[number].outputs.clone()));
        }
        let Some(point) = self.sizes[number].cut_to(size) else {
            return Ok((number, self.cut_by_evidence(number, size)));
        };
        let outputs = point.outputs.clone();
        self.sizes.insert(number + 1, point);
        Ok((number + 1, outputs))
    }

    /// A point without the features that leave first on the way to smaller sizes, and of these, those with the least
    /// evidence.
    fn cut_by_evidence(&self, number: usize, size: usize) -> Vec<Output> {
        let step = &self.sizes[number];
        // By name: how many smaller sizes have the feature.
        let mut stays: BTreeMap<&str, usize> = BTreeMap::new();
        for smaller in &self.sizes[number + 1..] {
            let named = smaller.outputs.iter().flat_map(|output| &output.features).map(|feature| feature.name.as_str());
            named.collect::<BTreeSet<_>>().into_iter().for_each(|name| *stays.entry(name).or_default() += 1);
        }
        let mut strengths: Vec<(usize, f64, &str)> = Vec::new();
        for feature in step.outputs.iter().flat_map(|output| &output.features) {
            let (evidence, name) = (feature.evidence.map_or(0.0, |[mean, _]| mean.abs()), feature.name.as_str());
            strengths.push((stays.get(name).copied().unwrap_or(0), evidence, name));
        }
        strengths.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(b.2)));
        let mut names = BTreeSet::new();
        for (_, _, name) in strengths {
            if names.len() == size {
                break;
            }
            names.insert(name);
        }
        keep(&step.outputs, |feature| names.contains(feature.name.as_str()))
    }
}

impl SizePoint {
    /// The evaluated size of this many features with a weight, if there is one.
    fn cut_to(&self, size: usize) -> Option<SizePoint> {
        let features = self.outputs.iter().flat_map(|output| &output.features);
        let mut names: BTreeSet<&str> = features.map(|feature| feature.name.as_str()).collect();
        let has_left = |cut: &Cut| {
            names.remove(cut.without.as_str());
            names.len() == size
        };
        let last = self.cuts.iter().position(has_left)?;
        let Cut { loss, error, standard_error, .. } = self.cuts[last];
        let (outputs, cuts) =
            (keep(&self.outputs, |feature| names.contains(feature.name.as_str())), &self.cuts[last + 1..]);
        Some(SizePoint { size, loss, error, standard_error, outputs, cuts: cuts.to_vec(), is_cut: true, ..*self })
    }
}

fn list(sizes: &[usize]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The number of distinct features.
fn different(outputs: &[Output]) -> usize {
    let names = outputs.iter().flat_map(|output| output.features.iter().map(|feature| &feature.name));
    names.collect::<BTreeSet<_>>().len()
}

/// The features with at least this selection frequency.
fn by_frequency(outputs: &[Output], share: f64) -> Result<Vec<Output>, ResizeError> {
    let stable = keep(outputs, |feature| feature.frequency >= Some(share));
    if different(&stable) > 0 {
        return Ok(stable);
    }
    let all = outputs.iter().flat_map(|output| &output.features).filter_map(|feature| feature.frequency);
    Err(ResizeError::NoneStable { asked: share, most: all.fold(0.0, f64::max) })
}

fn keep(outputs: &[Output], stays: impl Fn(&Feature) -> bool) -> Vec<Output> {
    let kept = |output: &Output| {
        let (stay, go): (Vec<&Feature>, Vec<&Feature>) = output.features.iter().partition(|feature| stays(feature));
        // A feature that is removed is replaced by its mean, which the intercept had subtracted.
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
    use crate::model::summary::HeldOut;
    use crate::model::{FeatureTest, Task};
    use crate::recipe::Recipe;

    /// A name, its evidence (with the sign of the weight) and its selection frequency.
    type FeatureSpec = (&'static str, f64, f64);

    fn output(class: Option<f64>, features: &[FeatureSpec]) -> Output {
        let feature = |&(name, evidence, stability): &FeatureSpec| Feature {
            name: name.into(),
            weight: evidence / 10.0,
            scale: 1.0,
            centre: 0.0,
            frequency: Some(stability),
            evidence: Some([evidence, 1.0]),
            bucket: None,
        };
        Output { class: class.map(Label::Number), intercept: 0.5, features: features.iter().map(feature).collect() }
    }

    fn step(size: usize, error: f64, selected: f64, outputs: Vec<Output>) -> SizePoint {
        SizePoint {
            size,
            gravity: 1.0,
            loss: 2.0 * error,
            error: Some(error),
            standard_error: 0.01,
            selected,
            outputs,
            cuts: Vec::new(),
            is_cut: false,
        }
    }

    fn model(chosen: usize, sizes: Vec<SizePoint>) -> Model {
        let outputs = sizes[chosen].outputs.clone();
        let classes = if outputs.len() == 1 { 2 } else { outputs.len() };
        Model {
            recipe: Recipe::default().into(),
            loss: LossKind::Logistic,
            row_scale: RowScale::None,
            task: Task::Classes((0..classes).map(|class| Label::Number(class as f64)).collect()),
            columns: None,
            matrix: None,
            seen: TrainingSummary {
                progressive_loss: sizes[chosen].loss,
                progressive_error: sizes[chosen].error,
                ..TrainingSummary::default()
            },
            outputs,
            size_path: Some(SizePath { paths: 32, chosen, sizes }),
            tests: Some(FeatureTests::default()),
            sampling: None,
            kernel: None,
        }
    }

    /// 100 features without weights; 4, the model; 2.
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
            let cut = binary().resize(Resize::Size(size)).unwrap();
            assert_eq!(cut.nonzeros(), size);
        }
        let two = binary().resize(Resize::Size(2)).unwrap();
        assert_eq!(two.outputs, binary().size_path.unwrap().sizes[2].outputs, "a size as it was learned");
        assert_eq!((two.size_path.as_ref().unwrap().chosen, two.seen.progressive_error), (2, Some(0.2)));
        assert_eq!(
            names(&binary().resize(Resize::Size(1)).unwrap()),
            [["b"]],
            "the strongest feature of the smallest size"
        );
        assert_eq!(two.resize(Resize::Size(4)).unwrap(), binary(), "and back to the larger size");
    }

    #[test]
    fn between_two_sizes_the_weakest_of_the_larger_one_goes() {
        let three = binary().resize(Resize::Size(3)).unwrap();
        assert_eq!(names(&three), [["a", "b", "c"]], "c and d are as strong: the earlier name stays");
        assert_eq!(three.size_path.as_ref().unwrap().chosen, 1);
        let same = binary().outputs[0].features[..3].to_vec();
        assert_eq!((&three.outputs[0].features, three.outputs[0].intercept), (&same, 0.5), "its weights are unchanged");
    }

    #[test]
    fn a_size_between_two_points_has_its_own_estimate() {
        let mut model = binary();
        let cut = |without: &str, error: f64| Cut {
            without: without.into(),
            loss: 2.0 * error,
            error: Some(error),
            standard_error: 0.03,
        };
        let path = model.size_path.as_mut().unwrap();
        // The feature e has no weight: the size without it has the same features.
        path.sizes[1].cuts = vec![cut("e", 0.11), cut("c", 0.12)];
        path.sizes[2].cuts = vec![cut("b", 0.25)];
        let three = model.resize(Resize::Size(3)).unwrap();
        assert_eq!(names(&three), [["a", "b", "d"]], "in the order of the cuts, not of the evidence");
        assert_eq!((three.seen.progressive_error, three.seen.progressive_loss), (Some(0.12), 0.24));
        let own = HeldOut::of(&three, three.size_path.as_ref().unwrap()).own().unwrap();
        assert_eq!((own.size, own.error, own.standard_error), (3, Some(0.12), 0.03));
        let one = three.resize(Resize::Size(1)).unwrap();
        assert_eq!((names(&one), one.seen.progressive_error), (vec![vec!["a"]], Some(0.25)));
        for (size, errors) in [(4, 0.1), (3, 0.12), (2, 0.2), (1, 0.25)] {
            let again = one.resize(Resize::Size(size)).unwrap();
            assert_eq!((again.nonzeros(), again.seen.progressive_error), (size, Some(errors)));
        }
        assert_eq!(one.resize(Resize::Size(4)).unwrap(), model, "nothing is lost");
        let saved = Model::from_bytes(one.to_text().as_bytes(), std::path::Path::new("m.json")).unwrap();
        assert_eq!(saved, one);
        model.size_path.as_mut().unwrap().sizes[1].cuts.truncate(1);
        let three = model.resize(Resize::Size(3)).unwrap();
        assert_eq!((names(&three), three.seen.progressive_error), (vec![vec!["a", "b", "c"]], Some(0.1)));
        assert_eq!(HeldOut::of(&three, three.size_path.as_ref().unwrap()).own(), None, "this size was not evaluated");
    }

    #[test]
    fn a_removed_feature_leaves_its_mean() {
        let mut model = binary();
        let sizes = &mut model.size_path.as_mut().unwrap().sizes;
        sizes[1].outputs[0].features.iter_mut().for_each(|feature| feature.centre = 100.0);
        model.outputs = sizes[1].outputs.clone();
        assert_eq!(model.resize(Resize::Size(4)).unwrap().outputs[0].intercept, 0.5, "nothing is removed");
        let three = model.resize(Resize::Size(3)).unwrap();
        assert_eq!(three.outputs[0].intercept, 0.5 - 0.5 * 100.0, "d has a weight of −0.5");
        let one = model.resize(Resize::Frequency(0.95)).unwrap();
        assert!((one.outputs[0].intercept - (0.5 - 0.7 * 100.0)).abs() < 1e-12, "b, and c and d which cancel out");
    }

    #[test]
    fn a_feature_of_several_outputs_counts_once() {
        let (zero, one) = ([("a", 9.0, 1.0), ("b", 2.0, 0.5)], [("c", -8.0, 0.9), ("a", 1.0, 0.2)]);
        let outputs = vec![output(Some(0.0), &zero), output(Some(1.0), &one), output(Some(2.0), &[])];
        let three = model(0, vec![step(3, 0.1, 2.0, outputs)]);
        let cut = |size| three.resize(Resize::Size(size)).unwrap();
        assert_eq!(names(&cut(3)), [vec!["a", "b"], vec!["c", "a"], vec![]]);
        assert_eq!(names(&cut(2)), [vec!["a"], vec!["c", "a"], vec![]], "a is strong for one class and stays for both");
        assert_eq!(names(&cut(1)), [vec!["a"], vec!["a"], vec![]]);
        assert_eq!(cut(2).nonzeros(), 2);
        let frequent = three.resize(Resize::Frequency(0.5)).unwrap();
        assert_eq!(names(&frequent), [vec!["a", "b"], vec!["c"], vec![]], "a cut-off applies to each class by itself");
    }

    #[test]
    fn a_size_counts_only_features_with_a_weight() {
        let lame = vec![output(None, &[("a", 6.0, 1.0)])];
        let mut model = binary();
        model.size_path.as_mut().unwrap().sizes[2].outputs = lame;
        let two = model.resize(Resize::Size(2)).unwrap();
        assert_eq!((names(&two), two.size_path.as_ref().unwrap().chosen), (vec![vec!["a", "b"]], 1));
    }

    #[test]
    fn a_cutoff_keeps_the_most_frequent() {
        let cut = |share| binary().resize(Resize::Frequency(share));
        assert_eq!(names(&cut(0.75).unwrap()), [["a", "b", "c"]], "the cut-off itself is enough");
        assert_eq!(names(&cut(0.76).unwrap()), [["a", "b"]]);
        assert_eq!(cut(0.0).unwrap(), binary());
        assert_eq!(names(&cut(1.0).unwrap()), [["a"]]);
        assert_eq!(cut(1.0).unwrap().resize(Resize::Size(4)).unwrap(), binary(), "nothing is lost");
    }

    #[test]
    fn error_messages_say_what_is_available() {
        let message = |model: &Model, cut| model.resize(cut).unwrap_err().to_string();
        let plain = Model { size_path: None, ..binary() };
        assert!(
            message(&plain, Resize::Size(1))
                .contains("only models of the methods `stabilized` and `kernel` can be resized")
        );
        assert_eq!(
            message(&binary(), Resize::Size(5)),
            "5 features are requested, but the model keeps the weights of at most 4; fit again with `k = 5`"
        );
        assert_eq!(message(&binary(), Resize::Size(0)), "at least one feature must stay");
        for share in [-0.1, 1.1, f64::NAN] {
            assert_eq!(
                message(&binary(), Resize::Frequency(share)),
                "the selection frequency must lie between 0 and 1"
            );
        }
        let unsure = model(0, vec![step(1, 0.1, 0.5, vec![output(None, &[("a", 1.0, 0.25)])])]);
        assert_eq!(
            message(&unsure, Resize::Frequency(0.75)),
            "no feature was selected by a share of 0.75 of the paths; the largest share is 0.25"
        );
    }

    #[test]
    fn the_size_path_survives_the_file_and_is_checked() {
        let load = |model: &Model| Model::from_bytes(model.to_text().as_bytes(), std::path::Path::new("m.json"));
        assert_eq!(load(&binary()).unwrap(), binary());
        let broken = |change: fn(&mut SizePath)| {
            let mut model = binary();
            change(model.size_path.as_mut().unwrap());
            load(&model).unwrap_err().to_string()
        };
        assert_eq!(broken(|size_path| size_path.chosen = 3), "m.json: size 3 of a size path of 3");
        let twice = broken(|size_path| size_path.sizes[2].outputs[0].features[1].name = "b".into());
        assert_eq!(twice, "m.json: a feature comes twice");
        let two = broken(|size_path| size_path.sizes[2].outputs.push(output(None, &[])));
        assert_eq!(two, "m.json: 2 outputs where the task needs 1");
    }

    #[test]
    fn confirmed_features_come_with_the_weights_of_the_smallest_size_that_has_them() {
        let mut model = binary();
        let test = |(name, q): (&str, f64)| FeatureTest { name: name.into(), z: 3.0, q, with: Vec::new() };
        let tests = [("a", 0.01), ("b", 0.2), ("c", 0.05), ("d", 0.9)].map(test);
        model.tests = Some(FeatureTests { entered: 100, rows: 1000, tests: tests.into() });
        let sure = model.resize(Resize::Fdr(0.1)).unwrap();
        assert_eq!((names(&sure), sure.size_path.as_ref().unwrap().chosen), (vec![vec!["a", "c"]], 1));
        let one = model.resize(Resize::Fdr(0.01)).unwrap();
        assert_eq!((names(&one), one.outputs[0].features[0].weight), (vec![vec!["a"]], 0.6), "of the two features");
        let message = |fdr| model.resize(Resize::Fdr(fdr)).unwrap_err().to_string();
        assert_eq!(message(0.001), "no feature is confirmed at q ≤ 0.001; the least q-value is 0.010");
        assert_eq!(message(0.6), "the false discovery rate must lie between 0 and 0.5");
        assert_eq!(
            binary().resize(Resize::Fdr(0.1)).unwrap_err().to_string(),
            "the features of this model were not tested: 0 rows are too few"
        );
    }
}
