//! `tamis inspect`: shows the features of a model and its size path, as tables, JSON or CSV.

use std::io::{BufWriter, Write, stdout};
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use tamis::data::Label;
use tamis::model::{DEFAULT_FDR, Feature, FeatureTest, Model, Output};
use tamis::recipe::Provenance;

use crate::args::output::OutputArgs;
use crate::args::recipe_file;
use crate::error::CliError;
use crate::output::terminal::wrapped;
use crate::output::{csv, history, kernel, model, sizes};

#[derive(Args)]
pub struct InspectArgs {
    /// Model file
    pub model: PathBuf,
    /// Number of features to show; 0 for all [default: 20; all with --json and --csv]
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Print the features as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print the recipe as a file for `fit --recipe`
    #[arg(long, conflicts_with_all = ["json", "csv", "top"])]
    pub recipe: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

pub fn run(args: InspectArgs) -> Result<(), CliError> {
    let model = Model::load(&args.model)?;
    let is_table = !args.output.json && !args.csv;
    let top = match args.top {
        None if is_table => 20,
        None | Some(0) => usize::MAX,
        Some(top) => top,
    };
    let mut out = BufWriter::new(stdout().lock());
    if args.recipe {
        let Provenance::Fit(recipe) = &model.recipe else {
            return Err(CliError::of_file(
                args.model.display(),
                "it was solved from moments, and has no recipe for fit",
            ));
        };
        write!(out, "{}", recipe_file::text(recipe))?;
    } else if args.output.json {
        writeln!(out, "{}", as_json(&model, top))?;
    } else if args.csv {
        write!(out, "{}", csv::features(&model, top))?;
    } else {
        write_text(&mut out, &model, top, &args)?;
    }
    out.flush()?;
    Ok(())
}

fn write_text(out: &mut impl Write, model: &Model, top: usize, args: &InspectArgs) -> Result<(), CliError> {
    writeln!(out, "{}", wrapped(&model::summary(model)))?;
    writeln!(out, "\n{}", model::features(model, top))?;
    if let Some(size_path) = &model.size_path {
        let path = args.model.display().to_string();
        writeln!(out, "{}", wrapped(&model::legend(size_path.paths)))?;
        writeln!(out, "\n{}", wrapped(&sizes::table(model, size_path, &path)))?;
    }
    if let Some(tests) = &model.tests {
        writeln!(out, "\n{}", wrapped(&sizes::certainty(model, tests, DEFAULT_FDR)))?;
    }
    if let Some(kernel) = &model.kernel {
        let path = args.model.display().to_string();
        writeln!(out, "{}", wrapped(kernel::LEGEND))?;
        writeln!(out, "\n{}", wrapped(&kernel::sizes(model, kernel, &path)))?;
        let findings = kernel::findings(model, kernel, &path);
        if !findings.is_empty() {
            writeln!(out, "\n{}", wrapped(&findings))?;
        }
    }
    if let Some(text) = history::table(model) {
        writeln!(out, "\n{}", wrapped(&text))?;
    }
    Ok(())
}

fn as_json(model: &Model, top: usize) -> Value {
    let of_output = |output: &Output| {
        output
            .features
            .iter()
            .take(top)
            .map(|one| feature(&output.class, one, model.test(&one.name)))
            .collect::<Vec<_>>()
    };
    let features: Vec<Value> = match &model.kernel {
        Some(kernel) => kernel::features_json(kernel, top),
        None => model.outputs.iter().flat_map(of_output).collect(),
    };
    let intercepts: Vec<f64> = model.outputs.iter().map(|output| output.intercept).collect();
    let mut value = json!({
        "method": model.recipe.method_name(),
        "loss": model.loss.name(),
        "task": model::task_name(model),
        "classes": model.classes(),
        "nonzeros": model.nonzeros(),
        "seen": model.seen,
        "recipe": model.recipe,
        "intercept": if let [single] = intercepts[..] { json!(single) } else { json!(intercepts) },
        "features": features,
        "sampling": model.sampling,
        "sizes": model.size_path.as_ref().map(sizes::as_json),
        "confirmed": model.tests.as_ref().map(sizes::confirmed_json),
    });
    if let Some(kernel) = &model.kernel {
        value["kernel"] = kernel::as_json(kernel);
    }
    value
}

/// A feature with its test; with more than two classes it names its class.
fn feature(class: &Option<Label>, feature: &Feature, test: Option<&FeatureTest>) -> Value {
    let mut value = json!({
        "name": feature.name,
        "weight": feature.weight,
        "scale": feature.scale,
        "frequency": feature.frequency,
        "q": test.map(|test| test.q),
        "z": test.map(|test| test.z),
        "tested": test.is_some(),
        "evidence": feature.evidence.map(|[mean, _]| mean),
        "evidence_sd": feature.evidence.map(|[_, deviation]| deviation),
    });
    if let Some(test) = test.filter(|test| !test.with.is_empty()) {
        value["with"] = json!(test.with);
    }
    if class.is_some() {
        value["class"] = json!(class);
    }
    value
}
