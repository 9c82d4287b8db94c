//! `tamis eval`: how good a model is on labelled data.

use serde_json::json;
use tamis::data::Label;
use tamis::eval::{Measures, Scored};
use tamis::loss::LossKind;
use tamis::model::{Model, Prediction, Predictor, Task};
use tamis::read::RowStream;

use super::{Failure, model_and_data, warn_of_skipped};
use crate::args::EvalArgs;
use crate::output::{print_line, table};

pub fn run(args: EvalArgs) -> Result<(), Failure> {
    let (model, mut stream) = model_and_data(&args.model, &args.data, true)?;
    let measures = measure(&model, &mut stream)?;
    warn_of_skipped(stream.skipped(), stream.first_skipped());
    if args.json {
        let mut value = json!(measures);
        value["nonzeros"] = json!(model.nonzeros());
        print_line!("{value}")?;
    } else {
        print_line!("{}, {} features", table::measures(&measures), model.nonzeros())?;
    }
    Ok(())
}

/// Measures a model on a stream of labelled rows.
pub fn measure(model: &Model, stream: &mut RowStream) -> Result<Measures, Failure> {
    let predictor = Predictor::new(model);
    let mut scored = Vec::new();
    while let Some(block) = stream.next_block()? {
        for (row, prediction) in predictor.predict(&block.rows).iter().enumerate() {
            let place = || format!("{}:{}", block.file, block.first_line + u64::from(block.rows.lines[row]));
            let one =
                score(model, prediction, &block.rows.labels[row]).map_err(|text| format!("{}: {text}", place()))?;
            scored.push((one, block.rows.weight(row)));
        }
    }
    if scored.is_empty() {
        return Err(Failure::Text("no rows to measure on".into()));
    }
    Ok(Measures::of(&scored))
}

fn score(model: &Model, prediction: &Prediction, label: &Label) -> Result<Scored, String> {
    match (&model.task, label) {
        (_, Label::Absent) => Err("the row has no label".into()),
        (Task::Regression, Label::Number(truth)) => Ok(Scored::Number(*truth, prediction.response)),
        (Task::Regression, label) => Err(format!("label {label} is not a number, and the model predicts numbers")),
        (Task::Classes(classes), label) => {
            let truth = classes.iter().position(|class| class == label);
            let right = truth.is_some() && truth == prediction.class;
            let single = prediction.margins.len() == 1;
            let probability =
                matches!(model.loss, LossKind::Logistic | LossKind::ClippedSquared).then_some(prediction.response);
            let binary = truth.filter(|_| single).map(|truth| (truth == 1, prediction.margins[0], probability));
            if truth.is_none() && single {
                let known: Vec<String> = classes.iter().map(ToString::to_string).collect();
                return Err(format!("label {label} is not one the model knows ({})", known.join(", ")));
            }
            Ok(Scored::Class { right, binary })
        }
    }
}
