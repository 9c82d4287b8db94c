//! Tables as CSV text.

use tamis::export::no_formula;
use tamis::model::{Feature, Model};

use super::format::exact;
use super::kernel;

/// Rows of equal length as CSV, to be read by people with a spreadsheet.
pub fn text<R: IntoIterator<Item = String>>(rows: impl IntoIterator<Item = R>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer
            .write_record(row.into_iter().map(no_formula).collect::<Vec<_>>())
            .expect("rows of one length fit in memory");
    }
    String::from_utf8(writer.into_inner().expect("memory takes all bytes")).expect("cells are text")
}

/// The intercept and the features of a model, output by output, at most `top` features of each.
pub fn features(model: &Model, top: usize) -> String {
    if let Some(kernel) = &model.kernel {
        return text(kernel::csv_rows(kernel, top));
    }
    let has_class = model.outputs.len() > 1;
    let class = has_class.then(|| "class".to_string());
    let names = ["name", "weight", "scale", "q", "z", "frequency", "evidence", "evidence_sd"].map(String::from);
    let others = names.len() - 2;
    let mut rows: Vec<Vec<String>> = vec![class.into_iter().chain(names).collect()];
    for output in &model.outputs {
        let class = output.class.as_ref().filter(|_| has_class).map(ToString::to_string);
        let row = |feature: &Feature| class.clone().into_iter().chain(cells(model, feature)).collect();
        let intercept = ["(intercept)".to_string(), exact(output.intercept)];
        let blanks = std::iter::repeat_n(String::new(), others);
        rows.push(class.clone().into_iter().chain(intercept).chain(blanks).collect());
        rows.extend(output.features.iter().take(top).map(row));
    }
    text(rows)
}

fn cells(model: &Model, feature: &Feature) -> [String; 8] {
    let optional = |number: Option<f64>| number.map(exact).unwrap_or_default();
    let Feature { name, weight, scale, frequency, evidence, .. } = feature;
    let [mean, deviation] = [0, 1].map(|at| optional(evidence.map(|numbers| numbers[at])));
    let test = model.test(name);
    let [q, z] = [test.map(|test| test.q), test.map(|test| test.z)].map(optional);
    [name.clone(), exact(*weight), exact(*scale), q, z, optional(*frequency), mean, deviation]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_needed() {
        let row = ["say \"hi\", you", "plain"].map(String::from);
        assert_eq!(text([row]), "\"say \"\"hi\"\", you\",plain\n");
    }

    #[test]
    fn names_are_not_formulas() {
        let row = ["=cmd|' /C calc'!A0", "@SUM(1)", "-0.5", "+x", "\tz", "a=b"].map(String::from);
        assert_eq!(text([row]), "'=cmd|' /C calc'!A0,'@SUM(1),-0.5,'+x,'\tz,a=b\n");
    }
}
