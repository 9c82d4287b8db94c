//! `tamis inspect`: what a model uses and which ladder it stands on, as tables, as JSON or as CSV.

use std::io::{BufWriter, Write, stdout};

use serde_json::{Value, json};
use tamis::data::Label;
use tamis::model::{Feature, Model, Output};

use super::Failure;
use crate::args::InspectArgs;
use crate::output::terminal::wrapped;
use crate::output::{ladder, stream, table};

pub fn run(args: InspectArgs) -> Result<(), Failure> {
    let model = Model::load(&args.model)?;
    let top = if args.top == 0 { usize::MAX } else { args.top };
    let mut out = BufWriter::new(stdout().lock());
    if args.json {
        writeln!(out, "{}", as_json(&model, top))?;
    } else if args.csv {
        write!(out, "{}", table::features_csv(&model, top))?;
    } else {
        writeln!(out, "{}", wrapped(&table::about(&model)))?;
        writeln!(out, "\n{}", table::features(&model, top))?;
        if let Some(selection) = &model.selection {
            let path = args.model.display().to_string();
            writeln!(out, "{}", wrapped(&table::legend(selection.paths)))?;
            writeln!(out, "\n{}", wrapped(&ladder::table(&model, selection, &path)))?;
            writeln!(out, "\n{}", wrapped(&ladder::chance(&model, selection)))?;
        }
        if let Some(text) = stream::table(&model) {
            writeln!(out, "\n{}", wrapped(&text))?;
        }
    }
    out.flush()?;
    Ok(())
}

fn as_json(model: &Model, top: usize) -> Value {
    // With more than two classes each feature says whose it is, and there is an intercept a class.
    let feature = |class: &Option<Label>, feature: &Feature| {
        let mut value = json!({
            "name": feature.name,
            "weight": feature.weight,
            "scale": feature.scale,
            "stability": feature.stability,
            "evidence": feature.evidence.map(|[mean, _]| mean),
            "evidence_spread": feature.evidence.map(|[_, spread]| spread),
        });
        if class.is_some() {
            value["class"] = json!(class);
        }
        value
    };
    let of_output =
        |output: &Output| output.features.iter().take(top).map(|one| feature(&output.class, one)).collect::<Vec<_>>();
    let features: Vec<Value> = model.outputs.iter().flat_map(of_output).collect();
    let mut value = json!({
        "method": model.recipe.method_name(),
        "loss": model.loss.name(),
        "task": table::task_name(model),
        "classes": model.classes(),
        "nonzeros": model.nonzeros(),
        "seen": model.seen,
        "recipe": model.recipe,
    });
    value["intercept"] = match &model.outputs[..] {
        [single] => json!(single.intercept),
        many => many.iter().map(|output| output.intercept).collect(),
    };
    value["features"] = json!(features);
    value["sampling"] = json!(model.sampling);
    value["ladder"] = json!(model.selection.as_ref().map(ladder::as_json));
    value["stable"] = json!(model.selection.as_ref().map(|selection| {
        json!({
            "cutoff": ladder::CUTOFF,
            "features": ladder::stable_features(model, ladder::CUTOFF),
            "false_selections": selection.false_selections(ladder::CUTOFF),
        })
    }));
    value
}
