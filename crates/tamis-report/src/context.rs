//! Facts that a report shows and that are not in the model.

use tamis::eval::{Evaluation, FeatureFrequencies};
use tamis::model::Model;
use tamis::recipe::{Criterion, Provenance};
use tamis::solve::Solved;

use super::html::shell;

/// Files named in a suggested command.
const FILES: usize = 5;

/// What is known about a model beside its file. All of it may be missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportContext<'a> {
    /// The model file.
    pub file: &'a str,
    /// The training data (or the moments the model was solved from), as typed.
    pub data: &'a [String],
    /// The flags needed to read the data, as typed: ` --target churned`.
    pub flags: &'a str,
    /// The name of labelled data and the evaluation on it.
    pub evaluation: Option<(&'a str, &'a Evaluation)>,
    /// The name of a data set and the density of each feature in it.
    pub densities: Option<(&'a str, &'a FeatureFrequencies)>,
    /// The path the model was solved on, and the criterion that chose the model.
    pub solved: Option<(&'a Solved, Option<Criterion>)>,
    /// The width of the images whose pixels are the features.
    pub image_width: Option<usize>,
    /// Whether the model was solved for the report only and is in no file.
    pub unsaved: bool,
    /// The number of rows learned so far, if training is not finished.
    pub unfinished: Option<u64>,
}

impl ReportContext<'_> {
    /// The data as arguments of a command.
    pub fn data_arguments(&self) -> String {
        match self.data {
            [] => "DATA".into(),
            files => files.iter().take(FILES).map(|file| shell(file)).collect::<Vec<_>>().join(" "),
        }
    }

    /// The densities that were given, else those of the evaluation data.
    pub fn known_densities(&self) -> Option<(&str, &FeatureFrequencies)> {
        self.densities.or(self.evaluation.map(|(name, evaluation)| (name, &evaluation.densities)))
    }

    /// The command that trains again with another number of features; `{}` stands for the number.
    pub fn refit_command(&self, model: &Model) -> String {
        let (method, data) = (model.recipe.method_name(), self.data_arguments());
        match &model.recipe {
            Provenance::Fit(_) => {
                format!("tamis fit {data}{} --method {method} --k {{}} --out smaller.json", self.flags)
            }
            Provenance::Solve(_) => format!("tamis solve {data} --method {method} --k {{}} --out smaller.json"),
        }
    }
}
