//! How sure: the confirmed features, with a slider for the false discovery rate.

use tamis::model::summary::{count, q_text};
use tamis::model::{Certainty, DEFAULT_FDR, FeatureTest, FeatureTests, LARGEST_FDR, Model};

use crate::context::ReportContext;
use crate::html::{Html, clipped, command, paragraph, plain, prose, shell, tag};
use crate::page::Section;

/// Names on the page, at most.
const MOST_NAMES: usize = 1000;
/// Characters of a name, at most.
const LONGEST_NAME: usize = 120;

/// The section, for a model whose features were tested.
pub fn section(model: &Model, context: &ReportContext<'_>) -> Option<Section> {
    let tests = model.tests.as_ref()?;
    if tests.entered == 0 {
        return None;
    }
    let body = summary(model, tests).with(if tests.tests.is_empty() { Html::new() } else { choice(tests, context) });
    Some(Section::new("certainty", "How sure", body))
}

fn summary(model: &Model, tests: &FeatureTests) -> Html {
    let (rows, entered) = (count(tests.rows), count(tests.entered as u64));
    match tests.certainty(DEFAULT_FDR) {
        Certainty::NotTested => paragraph(
            "*The features were not tested*: {} rows are too few. At least {} are needed.",
            &[&rows, &FeatureTests::FEWEST_ROWS.to_string()],
        ),
        Certainty::Nothing { few_rows } => {
            let few = paragraph(
                "{} rows are few for {} features: only strong effects could have been confirmed.",
                &[&rows, &entered],
            );
            let nothing = paragraph(
                "*No feature is [confirmed] at q ≤ 0.1*: these rows cannot tell any of them from chance. The model may still predict.",
                &[],
            );
            nothing.with(if few_rows { few } else { Html::new() })
        }
        Certainty::Confirmed(confirmed) => {
            let inside = tests.confirmed(DEFAULT_FDR).iter().filter(|test| has(model, &test.name)).count();
            let [confirmed, inside, all] = [confirmed, inside, model.nonzeros()].map(|number| count(number as u64));
            paragraph(
                "*{} features are [confirmed]* (q ≤ 0.1); {} of the {} features of this model are among them. Each was tested on \
                 rows that had no part in choosing what it was tested against. Of the confirmed features, at most a tenth are \
                 expected to be false discoveries, on average over data sets. A confirmed feature carries information that the \
                 other features do not. It need not be a cause, and where features go together it may stand for another one.",
                &[&confirmed, &inside, &all],
            )
        }
    }
}

fn has(model: &Model, name: &str) -> bool {
    model.outputs.iter().flat_map(|output| &output.features).any(|feature| feature.name == name)
}

/// The slider and the names; the script shows those up to the [q-value] of the slider.
fn choice(tests: &FeatureTests, context: &ReportContext<'_>) -> Html {
    let candidates = tests.confirmed(LARGEST_FDR);
    let resize = format!("tamis resize {} --fdr {{}} --out confirmed.json", shell(context.file));
    let label = tag("label", &[("for", "fdr")], prose("Largest [q-value]", &[]));
    let steps = [("min", "0.01"), ("max", "0.5"), ("step", "0.01"), ("value", "0.1")];
    let input = tag("input", &[&[("id", "fdr"), ("type", "range")], &steps[..]].concat(), "");
    let result = tag("output", &[("for", "fdr")], "");
    let command = command(&resize.replace("{}", &DEFAULT_FDR.to_string()));
    let attributes = [("class", "what-if"), ("data-fdr", ""), ("data-command", resize.as_str()), ("hidden", "")];
    let slider = tag("div", &attributes, label.with(input).with(result).with(command));
    let names: Html = candidates.iter().take(MOST_NAMES).map(|test| item(test)).collect();
    let more = candidates.len().saturating_sub(MOST_NAMES);
    let note = paragraph("{} more are not shown.", &[&count(more as u64)]);
    slider.with(tag("ol", &[("class", "confirmed")], names)).with(if more > 0 { note } else { Html::new() })
}

fn item(test: &FeatureTest) -> Html {
    let name = clipped(&test.name, LONGEST_NAME);
    let text = match &test.with[..] {
        [] => Html::from(name),
        [one] => Html::from(format!("{name} (or {}, which goes with it)", clipped(one, LONGEST_NAME))),
        [one, more @ ..] => {
            let one = clipped(one, LONGEST_NAME);
            Html::from(format!("{name} (or {one}, or one of {} more that go with it)", more.len()))
        }
    };
    let q = plain("small", format!(" q {}", q_text(test.q)));
    let number = format!("{:.6}", test.q);
    let hidden = if test.q <= DEFAULT_FDR { ("", "") } else { ("hidden", "") };
    tag("li", &[("data-q", number.as_str()), hidden], text.with(q))
}
