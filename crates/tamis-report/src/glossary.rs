//! The glossary: words a report cannot do without, in plain language.

/// Each term and what it means.
pub const TERMS: [(&str, &str); 24] = [
    (
        "AUC",
        "The chance that a row of the second class gets a higher score than one of the first: 0.5 is guessing, 1 is perfect.",
    ),
    (
        "BIC",
        "A score for models of different sizes: how badly they fit, plus a charge for each feature. Lower is better.",
    ),
    ("calibration", "Whether a predicted probability of 80 % comes true in 8 of 10 cases."),
    ("cross-validation", "The data is cut into parts; each part judges a model made without it."),
    ("cut-off", "The least stability a feature must have to stay."),
    ("density", "The share of rows in which a feature is not zero."),
    (
        "effect",
        "Weight times scale: how far a typical change of the feature moves the score. It compares features of different units.",
    ),
    ("error", "The share of rows for which the model names the wrong class."),
    (
        "evidence",
        "How strongly the rows speak for a feature, in standard errors: about 2 may be chance, 5 is hardly chance.",
    ),
    ("features", "The inputs: columns of a table, words of a text, numbered entries of a file."),
    ("intercept", "What the model says when all features are zero."),
    (
        "interval",
        "Where the true value lies, with a confidence of 95 %: repeat it with other rows of the same kind, and 95 of 100 such intervals hold it.",
    ),
    (
        "kappa",
        "How much two selected sets agree beyond what chance gives sets of their sizes: 0 is chance, 1 is the same set.",
    ),
    ("ladder", "Models of falling size from one training, each judged on rows that its features were chosen without."),
    ("log loss", "Punishes probabilities that are sure and wrong. Lower is better; 0.69 is a coin."),
    ("loss", "What learning tries to make small: how wrong predictions are, on average."),
    ("moments", "Count, means and co-movements of columns: all that linear models need of the data."),
    (
        "paths",
        "Learners that each see another half of the rows. What most of them select is no accident of a few rows.",
    ),
    ("penalty", "The pull of weights towards zero (λ). More of it leaves fewer features."),
    ("progressive", "Each row is predicted first and learned then, so the error is that on rows not yet seen."),
    ("RMSE", "The typical size of an error, in units of the label: the root of the mean square."),
    ("R²", "The share of the variation that is explained: 0 is no better than the mean, 1 is all."),
    (
        "stability",
        "The share of paths (or runs) that selected the feature. Near 100 %: other rows would give it again.",
    ),
    ("weight", "By how much the score changes when the feature's raw value grows by one."),
];

/// What a term means.
pub fn meaning(term: &str) -> Option<&'static str> {
    TERMS.iter().find(|(name, _)| *name == term).map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_in_order_and_told_once() {
        let names: Vec<String> = TERMS.iter().map(|(name, _)| name.to_lowercase()).collect();
        assert!(names.is_sorted(), "{names:?}");
        assert!(TERMS.iter().all(|(_, meaning)| meaning.ends_with('.')));
    }
}
