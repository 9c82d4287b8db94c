//! A linear model as C functions (C99, mathematical library only).
//!
//! Names are in string literals only, never in comments or identifiers, so that no name can break the file.

use std::fmt::Write as _;

use super::ExportError;
use super::linear_form::{Answer, InputKind, LinearForm};
use super::values::Value;
use crate::parse::date::DatePart;

/// The file of a model.
pub(super) fn write(form: &LinearForm) -> Result<String, ExportError> {
    let names = form.inputs.iter().map(|input| input.name.as_str());
    let levels = form.tables.iter().flat_map(|table| table.levels.iter().map(|(level, _)| level.as_str()));
    if let Some(name) = names.chain(levels).find(|name| name.contains('\0')) {
        return Err(ExportError::Name { name: name.into(), target: "C" });
    }
    let writer = Writer::new(form);
    let mut text = String::from(HEAD);
    let count = |number: usize| number.to_string();
    let classes: Vec<String> = form.answer.classes().iter().map(ToString::to_string).collect();
    let sizes = [
        ("NUMBERS", count(writer.numbers.len())),
        ("TEXTS", count(writer.texts.len())),
        ("OUTPUTS", count(form.intercepts.len())),
        ("CLASSES", count(classes.len())),
    ];
    let sizes: Vec<String> = sizes.iter().map(|(name, size)| format!("MODEL_{name} = {size}")).collect();
    writeln!(text, "enum {{ {} }};\n", sizes.join(", ")).expect("text grows");
    let named = |inputs: &[usize]| inputs.iter().map(|&input| form.inputs[input].name.clone()).collect::<Vec<_>>();
    for (what, names) in [("number", named(&writer.numbers)), ("text", named(&writer.texts)), ("class", classes)] {
        let names: Vec<String> = names.iter().map(|name| format!("    {},\n", string(name))).collect();
        let names = if names.is_empty() { "    NULL,\n".into() } else { names.concat() };
        writeln!(text, "const char *const model_{what}_names[] = {{\n{names}}};\n").expect("text grows");
    }
    if !writer.texts.is_empty() {
        text += SAME;
    }
    if form.terms.iter().any(|term| has_date_part(&term.value)) {
        text += DATE_PART;
    }
    text += &writer.margins();
    text += &answer(&form.answer);
    Ok(text)
}

struct Writer<'a> {
    form: &'a LinearForm,
    /// The inputs that are numbers or dates, and those that are texts.
    numbers: Vec<usize>,
    texts: Vec<usize>,
}

impl<'a> Writer<'a> {
    fn new(form: &'a LinearForm) -> Self {
        let is_text = |input: &usize| matches!(form.inputs[*input].kind, InputKind::Category { .. });
        let (texts, numbers) = (0..form.inputs.len()).partition(is_text);
        Writer { form, numbers, texts }
    }

    fn margins(&self) -> String {
        let mut text =
            String::from("void model_margins(const double *numbers, const char *const *texts, double *margins)\n{\n");
        text += "    double value;\n    (void)numbers;\n    (void)texts;\n    (void)value;\n";
        for (output, intercept) in self.form.intercepts.iter().enumerate() {
            writeln!(text, "    margins[{output}] = {intercept:?};").expect("text grows");
        }
        for term in &self.form.terms {
            writeln!(text, "    value = {};", self.value(&term.value)).expect("text grows");
            text += &added(&term.weights, " * value", "    ");
        }
        for table in &self.form.tables {
            let cell = self.text(table.input);
            let mut branches = Vec::new();
            let missing = table.missing.clone().unwrap_or_else(|| vec![f64::NAN; table.unlisted.len()]);
            branches.push((self.is_missing(table.input), missing));
            let levels = table.levels.iter();
            branches
                .extend(levels.map(|(level, weights)| (format!("same({cell}, {})", string(level)), weights.clone())));
            for (number, (test, weights)) in branches.iter().enumerate() {
                let otherwise = if number > 0 { " else " } else { "    " };
                write!(text, "{otherwise}if ({test}) {{\n{}    }}", added(weights, "", "        "))
                    .expect("text grows");
            }
            write!(text, " else {{\n{}    }}\n", added(&table.unlisted, "", "        ")).expect("text grows");
        }
        text + "}\n"
    }

    fn number(&self, input: usize) -> String {
        let place = self.numbers.iter().position(|one| *one == input).expect("an input of numbers");
        format!("numbers[{place}]")
    }

    fn text(&self, input: usize) -> String {
        let place = self.texts.iter().position(|one| *one == input).expect("an input of texts");
        format!("texts[{place}]")
    }

    fn is_missing(&self, input: usize) -> String {
        let column = &self.form.inputs[input];
        match column.kind {
            InputKind::Category { .. } => {
                let cell = self.text(input);
                let tests = column.markers.iter().map(|text| format!(" || same({cell}, {})", string(text)));
                format!("{cell} == NULL{}", tests.collect::<String>())
            }
            _ => {
                let cell = self.number(input);
                let tests = column.numeric_markers().map(|one| format!(" || {cell} == {one:?}"));
                format!("isnan({cell}){}", tests.collect::<String>())
            }
        }
    }

    fn value(&self, value: &Value) -> String {
        let or_missing = |input: usize, present: String| {
            let fill = value.when_missing(&self.form.inputs[input]).map_or("NAN".into(), |fill| format!("{fill:?}"));
            format!("({} ? {fill} : {present})", self.is_missing(input))
        };
        match value {
            Value::Number(input) => or_missing(*input, self.number(*input)),
            Value::IsMissing(input) => or_missing(*input, "0.0".into()),
            Value::Level { input, level, or_unlisted, .. } => {
                let cell = self.text(*input);
                let others = self.form.inputs[*input].levels_beside(level);
                let test = match or_unlisted {
                    true => format!(
                        "1{}",
                        others.map(|one| format!(" && !same({cell}, {})", string(one))).collect::<String>()
                    ),
                    false => format!("same({cell}, {})", string(level)),
                };
                or_missing(*input, format!("({test} ? 1.0 : 0.0)"))
            }
            Value::DatePart(input, part) => or_missing(*input, self.part(*input, *part)),
            Value::DatePartIs(input, part, number) => {
                or_missing(*input, format!("({} == {number} ? 1.0 : 0.0)", self.part(*input, *part)))
            }
            Value::Product(pair) => format!("{} * {}", self.value(&pair[0]), self.value(&pair[1])),
        }
    }

    fn part(&self, input: usize, part: DatePart) -> String {
        let number = match part {
            DatePart::Days => return self.number(input),
            DatePart::Year => 0,
            DatePart::Month | DatePart::Months => 1,
            DatePart::Day => 2,
            DatePart::Weekday | DatePart::Weekdays => 3,
            DatePart::Hour => 4,
        };
        format!("date_part({}, {number})", self.number(input))
    }
}

fn has_date_part(value: &Value) -> bool {
    match value {
        Value::DatePart(_, part) => *part != DatePart::Days,
        Value::DatePartIs(..) => true,
        Value::Product(pair) => pair.iter().any(has_date_part),
        _ => false,
    }
}

/// Weights added to the margins.
fn added(weights: &[f64], factor: &str, indent: &str) -> String {
    let literal = |weight: f64| if weight.is_nan() { "NAN".into() } else { format!("{weight:?}") };
    let used = weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0);
    used.map(|(output, weight)| format!("{indent}margins[{output}] += {}{factor};\n", literal(*weight))).collect()
}

/// A text as a literal: everything but plain letters as octal escapes, which have three digits and so end by themselves.
fn string(text: &str) -> String {
    let mut found = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'_' | b'-' | b'=' | b'.' | b',' | b':' => {
                found.push(byte as char);
            }
            byte => write!(found, "\\{byte:03o}").expect("text grows"),
        }
    }
    found + "\""
}

fn answer(answer: &Answer) -> String {
    match answer {
        Answer::Number => NUMBER.replace("{response}", "margin"),
        Answer::Exponential => NUMBER.replace("{response}", "exp(margin)"),
        Answer::TwoClasses { boundary, has_probabilities, .. } => {
            let probabilities = if *has_probabilities { TWO_PROBABILITIES } else { "    (void)probabilities;\n" };
            TWO_CLASSES.replace("{boundary}", &format!("{boundary:?}")).replace("{probabilities}", probabilities)
        }
        Answer::Classes { has_probabilities, .. } => {
            let probabilities = if *has_probabilities { PROBABILITIES } else { "    (void)probabilities;\n" };
            CLASSES.replace("{probabilities}", probabilities)
        }
    }
}

const HEAD: &str = "\
/* Predicts with a Tamis model. C99; link with the mathematical library (-lm).

   numbers   the numbers of a row, in the order of model_number_names; NAN if missing; of a date, days since 1970-01-01
   texts     the categories of a row in UTF-8, in the order of model_text_names; NULL if missing

   model_margins(numbers, texts, margins) writes the MODEL_OUTPUTS scores of a row.
   model_predict(...) gives the predicted number, or the number of the class in model_class_names; see below.
   A missing cell that allows no prediction gives NAN. */

#include <math.h>
#include <stddef.h>
#include <string.h>

";

const SAME: &str = "\
/* Whether a text without the blanks around it is a level. */
static int same(const char *text, const char *level)
{
    size_t length;
    while (*text == ' ' || (*text >= '\\t' && *text <= '\\r')) text++;
    length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || (text[length - 1] >= '\\t' && text[length - 1] <= '\\r'))) length--;
    return strlen(level) == length && memcmp(text, level, length) == 0;
}

";

const DATE_PART: &str = "\
/* Year, month, day, weekday from Monday = 1, or hour of days since 1970-01-01. */
static double date_part(double days, int part)
{
    double exact = days + 0.0005 / 86400.0, whole = floor(exact);
    double shifted = whole + 719468.0, era = floor(shifted / 146097.0), of_era = shifted - 146097.0 * era;
    double year = floor((of_era - floor(of_era / 1460.0) + floor(of_era / 36524.0) - floor(of_era / 146096.0)) / 365.0);
    double day = of_era - (365.0 * year + floor(year / 4.0) - floor(year / 100.0));
    double month = floor((5.0 * day + 2.0) / 153.0);
    day = day - floor((153.0 * month + 2.0) / 5.0) + 1.0;
    month = month < 10.0 ? month + 3.0 : month - 9.0;
    switch (part) {
    case 0: return year + 400.0 * era + (month <= 2.0 ? 1.0 : 0.0);
    case 1: return month;
    case 2: return day;
    case 3: return whole + 3.0 - 7.0 * floor((whole + 3.0) / 7.0) + 1.0;
    default: return fmin(floor((exact - whole) * 24.0), 23.0);
    }
}

";

const NUMBER: &str = "
/* The predicted number. */
double model_predict(const double *numbers, const char *const *texts)
{
    double margin;
    model_margins(numbers, texts, &margin);
    return {response};
}
";

const TWO_CLASSES: &str = "
/* The number of the predicted class, -1 if there is none; writes the probabilities if there are any and it is not NULL. */
int model_predict(const double *numbers, const char *const *texts, double *probabilities)
{
    double margin;
    model_margins(numbers, texts, &margin);
{probabilities}    return isnan(margin) ? -1 : margin > {boundary};
}
";

const TWO_PROBABILITIES: &str = "    if (probabilities != NULL) {
        probabilities[1] = 1.0 / (1.0 + exp(-margin));
        probabilities[0] = 1.0 - probabilities[1];
    }
";

const CLASSES: &str = "
/* The number of the predicted class, -1 if there is none; writes the probabilities if there are any and it is not NULL. */
int model_predict(const double *numbers, const char *const *texts, double *probabilities)
{
    double margins[MODEL_OUTPUTS];
    int best = 0, output;
    model_margins(numbers, texts, margins);
    for (output = 0; output < MODEL_OUTPUTS; output++) {
        if (isnan(margins[output])) best = -1;
        if (best >= 0 && margins[output] > margins[best]) best = output;
    }
{probabilities}    return best;
}
";

const PROBABILITIES: &str = "    if (probabilities != NULL) {
        double largest = -HUGE_VAL, total = 0.0;
        for (output = 0; output < MODEL_OUTPUTS; output++) {
            double margin = margins[output], log_odds = fmax(-margin, 0.0) + log1p(exp(-fabs(margin)));
            probabilities[output] = 0.5 * (margin - log_odds);
            largest = fmax(largest, probabilities[output]);
        }
        for (output = 0; output < MODEL_OUTPUTS; output++) {
            probabilities[output] = exp(probabilities[output] - largest);
            total += probabilities[output];
        }
        for (output = 0; output < MODEL_OUTPUTS; output++) probabilities[output] /= total;
    }
";
