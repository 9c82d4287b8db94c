//! `tamis inspect`: what a model uses, as a table with bars, as JSON or as CSV.

use std::io::{BufWriter, Write, stdout};

use serde_json::{Value, json};
use tamis::model::{Feature, Model, Output};

use super::Failure;
use crate::args::InspectArgs;
use crate::output::table;

pub fn run(args: InspectArgs) -> Result<(), Failure> {
    let model = Model::load(&args.model)?;
    let top = if args.top == 0 { usize::MAX } else { args.top };
    let mut out = BufWriter::new(stdout().lock());
    if args.json {
        writeln!(out, "{}", as_json(&model, top))?;
    } else if args.csv {
        write!(out, "{}", table::features_csv(&model, top))?;
    } else {
        writeln!(out, "{}", table::about(&model))?;
        writeln!(out, "\n{}", table::features(&model, top))?;
    }
    out.flush()?;
    Ok(())
}

fn as_json(model: &Model, top: usize) -> Value {
    let feature = |feature: &Feature| {
        let (name, weight, scale) = (&feature.name, feature.weight, feature.scale);
        json!({"name": name, "weight": weight, "scale": scale, "stability": feature.stability})
    };
    let features = |output: &Output| output.features.iter().take(top).map(feature).collect::<Vec<_>>();
    let output =
        |output: &Output| json!({"class": output.class, "intercept": output.intercept, "features": features(output)});
    let mut value = json!({
        "method": model.recipe.method.name(),
        "loss": model.loss.name(),
        "task": table::task_name(model),
        "classes": model.classes(),
        "nonzeros": model.nonzeros(),
        "seen": model.seen,
        "recipe": model.recipe,
    });
    match &model.outputs[..] {
        [single] => {
            value["intercept"] = json!(single.intercept);
            value["features"] = json!(features(single));
        }
        many => value["outputs"] = many.iter().map(output).collect(),
    }
    value
}
