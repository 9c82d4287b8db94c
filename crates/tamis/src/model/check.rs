//! What a model must be to be saved, and to be used after it is loaded.

use super::{FeatureTest, Model, Output, Task};
use crate::data::{Label, TextSet};

impl Model {
    /// The first reason why the model cannot be used: a number that is not finite (JSON cannot hold it), or parts that
    /// do not fit together. Models are checked by it before they are saved and after they are loaded.
    pub(crate) fn problem(&self) -> Option<String> {
        if let Err(error) = self.recipe.check() {
            return Some(error.to_string());
        }
        if let Some(what) = self.not_finite() {
            return Some(format!("{what} is not a finite number; look for labels or values that are far too large"));
        }
        let expected = match &self.task {
            Task::Regression => 1,
            Task::Classes(classes) if classes.len() < 2 => return Some("fewer than two classes".into()),
            Task::Classes(classes) if classes.len() == 2 && self.outputs.len() == 1 => 1,
            Task::Classes(classes) => classes.len(),
        };
        let problem_of =
            |outputs: &[Output]| outputs_problem(outputs, expected).or_else(|| self.class_problem(outputs));
        if let Some(problem) = problem_of(&self.outputs) {
            return Some(problem);
        }
        if let Some(problem) = self.kernel.as_ref().and_then(|kernel| kernel.problem(expected)) {
            return Some(problem);
        }
        let is_valid = |test: &FeatureTest| test.z.is_finite() && (0.0..=1.0).contains(&test.q);
        if let Some(test) = self.tests.iter().flat_map(|tests| &tests.tests).find(|test| !is_valid(test)) {
            return Some(format!("the test of {:?} has z = {} and q = {}", test.name, test.z, test.q));
        }
        let size_path = self.size_path.as_ref()?;
        if size_path.chosen >= size_path.sizes.len() {
            return Some(format!("size {} of a size path of {}", size_path.chosen, size_path.sizes.len()));
        }
        let kept = size_path.sizes.iter().filter(|step| !step.outputs.is_empty());
        kept.filter_map(|step| problem_of(&step.outputs)).next()
    }

    /// Of several outputs, each belongs to the class at its place.
    fn class_problem(&self, outputs: &[Output]) -> Option<String> {
        let is_its_own = |(output, class): (&Output, &Label)| output.class.as_ref() == Some(class);
        let is_right = outputs.len() < 2 || outputs.iter().zip(self.classes()).all(is_its_own);
        (!is_right).then(|| "an output does not name its class".to_string())
    }

    /// The first number beside the weights that is not finite.
    fn not_finite(&self) -> Option<&'static str> {
        let seen = &self.seen;
        let curve = seen.history.iter().flat_map(|point| [Some(point.loss), point.error]);
        let losses = [Some(seen.progressive_loss), seen.progressive_error].into_iter().chain(curve);
        let sizes = self.size_path.iter().flat_map(|path| &path.sizes);
        let held_out = sizes.flat_map(|one| [one.gravity, one.loss, one.error.unwrap_or(0.0), one.standard_error]);
        let cuts = self.size_path.iter().flat_map(|path| path.sizes.iter().flat_map(|one| &one.cuts));
        let held_out = held_out.chain(cuts.flat_map(|cut| [cut.loss, cut.error.unwrap_or(0.0), cut.standard_error]));
        let held_out = held_out.chain(self.size_path.iter().flat_map(|path| path.sizes.iter().map(|one| one.selected)));
        let sampled = self.sampling.iter().flat_map(|one| one.settings.values().copied().chain([one.expected]));
        let labels = self.classes().iter().map(|label| if let Label::Number(number) = label { *number } else { 0.0 });
        let is_wrong = |mut numbers: Box<dyn Iterator<Item = f64> + '_>| numbers.any(|number| !number.is_finite());
        let groups: [(&str, Box<dyn Iterator<Item = f64> + '_>); 4] = [
            ("the mean loss", Box::new(losses.flatten())),
            ("a held-out loss", Box::new(held_out)),
            ("a parameter of the sampling", Box::new(sampled)),
            ("a class", Box::new(labels)),
        ];
        groups.into_iter().find_map(|(what, numbers)| is_wrong(numbers).then_some(what))
    }
}

/// The first problem of the outputs of a model, or of one of its sizes.
fn outputs_problem(outputs: &[Output], expected: usize) -> Option<String> {
    if outputs.len() != expected {
        return Some(format!("{} outputs where the task needs {expected}", outputs.len()));
    }
    for output in outputs {
        let is_finite = |feature: &super::Feature| {
            let numbers = [feature.weight, feature.scale, feature.centre, feature.frequency.unwrap_or(0.0)];
            let evidence = feature.evidence.unwrap_or_default();
            numbers.iter().chain(&evidence).all(|number| number.is_finite()) && feature.scale > 0.0
        };
        if let Some(feature) = output.features.iter().find(|feature| !is_finite(feature)) {
            let name = &feature.name;
            return Some(format!(
                "the weight of {name:?} is not a finite number; its values are too small or too large to be learned from"
            ));
        }
        if !output.intercept.is_finite() {
            return Some("the intercept is not a finite number; scale the values or the labels".into());
        }
        let names: TextSet<_> = output.features.iter().map(|f| (&f.name, f.bucket)).collect();
        if names.len() != output.features.len() {
            return Some("a feature comes twice".into());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::data::Label;
    use crate::model::Task;
    use crate::model::file::tests::{load, model};

    #[test]
    fn a_body_that_parses_is_validated() {
        let mut twice = model();
        twice.outputs[0].features[1].name = twice.outputs[0].features[0].name.clone();
        assert!(load(&twice.to_text()).unwrap_err().to_string().contains("comes twice"));
        let mut lonely = model();
        lonely.task = Task::Classes(vec![Label::Number(1.0)]);
        assert!(load(&lonely.to_text()).unwrap_err().to_string().contains("fewer than two classes"));
        let mut nameless = model();
        nameless.outputs.push(nameless.outputs[0].clone());
        assert!(load(&nameless.to_text()).unwrap_err().to_string().contains("does not name its class"));
        let classes = nameless.classes().to_vec();
        nameless.outputs.iter_mut().zip(&classes).for_each(|(output, class)| output.class = Some(class.clone()));
        assert!(load(&nameless.to_text()).is_ok());
        nameless.outputs.reverse();
        assert!(load(&nameless.to_text()).is_err(), "each output is that of the class at its place");
    }
}
