//! `tamis eval`: how good a model is on labelled data.

use serde_json::json;
use tamis::eval::{Measures, Strangers};
use tamis::model::Model;
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
    Ok(tamis::eval::measure(model, stream, Strangers::Refused)?)
}
