//! The glossary: the terms a report uses, in plain language.

/// Each term and its meaning, in alphabetical order.
pub const TERMS: &[(&str, &str)] = &[
    (
        "AUC",
        "Area under the ROC curve: the probability that a row of the second class scores higher than a row of the first. 0.5 is guessing, 1 is perfect.",
    ),
    ("BIC", "Bayesian information criterion: lack of fit plus a charge for each feature. Lower is better."),
    ("calibration", "Probabilities are calibrated if events predicted with 80 % happen in 80 % of the cases."),
    (
        "confirmed",
        "A feature with a small q-value: it carries information that the other features do not, as rows show that had no part in choosing what it was tested against.",
    ),
    ("confusion matrix", "The number of rows of each true class, by predicted class."),
    ("cross-validation", "The rows are split into folds; each fold evaluates a model trained on the other folds."),
    ("cut-off", "The lowest selection frequency at which a feature is kept."),
    ("density", "The share of rows in which a feature is not zero."),
    (
        "effect",
        "Weight times scale: the change of the score for a typical change of the feature. Effects can be compared across units.",
    ),
    ("error", "The share of rows for which the model predicts the wrong class."),
    (
        "evidence",
        "How strongly the rows support a feature, in standard errors of its gradient: 2 may be chance, 5 is hardly chance.",
    ),
    ("F1", "The harmonic mean of precision and recall: high only if both are."),
    ("features", "The inputs: columns of a table, words of a text, or numbered entries of a file."),
    ("held-out", "Held-out rows take no part in choosing the features of the model that they evaluate."),
    ("intercept", "The score when all features are zero."),
    (
        "interval",
        "A 95 % confidence interval: of 100 such intervals, computed on other samples of rows, 95 contain the true value.",
    ),
    (
        "kappa",
        "Agreement of feature sets beyond chance: 0 is what chance gives sets of these sizes, 1 is identical sets.",
    ),
    (
        "log loss",
        "The mean negative logarithm of the probability given to the true class. Lower is better; guessing with 50 % scores 0.69.",
    ),
    ("loss", "The quantity that training minimises: the mean cost of a prediction."),
    ("moments", "Row count, means and co-moments of the columns: all that a linear model needs from the data."),
    ("one-vs-rest", "One linear function per class, trained to separate the class from all others."),
    ("paths", "Learners that are each trained on a different random half of the rows."),
    ("penalty", "The strength λ with which weights are shrunk towards zero. A larger penalty keeps fewer features."),
    (
        "PR-AUC",
        "Area under the curve of precision against recall (average precision): the share of the class is guessing, 1 is perfect.",
    ),
    ("precision", "Of the rows predicted as a class, the share that belongs to it."),
    (
        "progressive validation",
        "Each row is predicted before it is learned, so the error is measured on rows not yet seen.",
    ),
    (
        "q-value",
        "Of the features with this q-value or a smaller one, at most this share is expected to be false discoveries (Benjamini & Hochberg).",
    ),
    ("recall", "Of the rows of a class, the share that is predicted as it."),
    ("RMSE", "Root mean squared error: the typical size of an error, in units of the label."),
    ("ROC curve", "The true positive rate against the false positive rate, for every threshold on the score."),
    ("R²", "The share of the variance that is explained: 0 is no better than predicting the mean, 1 is perfect."),
    ("selection frequency", "The share of paths (or runs) that selected the feature: how much they agree."),
    ("size path", "Models of decreasing size from one training run, each with its held-out error."),
    ("weight", "The change of the score when the raw value of the feature grows by one."),
];

/// The meaning of a term.
pub fn meaning(term: &str) -> Option<&'static str> {
    TERMS.iter().find(|(name, _)| *name == term).map(|(_, meaning)| *meaning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_sorted_and_explained_in_sentences() {
        let names: Vec<String> = TERMS.iter().map(|(name, _)| name.to_lowercase()).collect();
        assert!(names.is_sorted(), "{names:?}");
        assert!(TERMS.iter().all(|(_, meaning)| meaning.ends_with('.')));
    }
}
