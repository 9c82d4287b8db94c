//! `tamis predict`: one line a row, on standard output.

use std::io::{BufWriter, Write, stdout};

use tamis::model::{Model, Prediction, Predictor};

use super::{Failure, model_and_data, warn_of_skipped};
use crate::args::PredictArgs;

pub fn run(args: PredictArgs) -> Result<(), Failure> {
    let (model, mut stream) = model_and_data(&args.model, &args.data, false)?;
    let predictor = Predictor::new(&model);
    let mut out = BufWriter::new(stdout().lock());
    while let Some(block) = stream.next_block()? {
        for (row, prediction) in predictor.predict(&block.rows).iter().enumerate() {
            write_one(&mut out, &model, prediction, &args.output)?;
            match block.rows.tags.get(row) {
                Some(tag) if !tag.is_empty() => writeln!(out, " {tag}")?,
                _ => writeln!(out)?,
            }
        }
    }
    out.flush()?;
    warn_of_skipped(stream.skipped(), stream.first_skipped());
    Ok(())
}

fn write_one(out: &mut impl Write, model: &Model, prediction: &Prediction, what: &str) -> std::io::Result<()> {
    let label = || prediction.class.map(|class| model.classes()[class].to_string());
    let margins = || prediction.margins.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    match (what, label()) {
        ("label", Some(label)) => write!(out, "{label}"),
        ("margin", _) => write!(out, "{}", margins()),
        ("all", Some(label)) => write!(out, "{label} {} {}", prediction.response, margins()),
        _ => write!(out, "{}", prediction.response),
    }
}
