//! The table of parameters: name, default, range and help of each. The program's flags and their help, Python's docstrings
//! and the error messages are made from it.

use std::fmt;

macro_rules! parameters {
    ($($variant:ident $name:literal, default $default:literal, range $range:literal, $help:literal;)*) => {
        /// A parameter, by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Param {
            $(#[doc = $help] $variant,)*
        }

        impl Param {
            /// All parameters, in the order of the documentation.
            pub const ALL: &'static [Param] = &[$(Param::$variant),*];

            /// The name, in snake case.
            pub fn name(self) -> &'static str {
                match self { $(Param::$variant => $name,)* }
            }

            /// The default, in words.
            pub fn default_value(self) -> &'static str {
                match self { $(Param::$variant => $default,)* }
            }

            /// The allowed values, in words that follow "must be".
            pub fn range(self) -> &'static str {
                match self { $(Param::$variant => $range,)* }
            }

            /// What it is, in one sentence without a full stop.
            pub fn help(self) -> &'static str {
                match self { $(Param::$variant => $help,)* }
            }
        }
    };
}

parameters! {
    MaxIter "max_iter", default "100; cross-validation extends the best metric up to 400", range "from 1 to 100000",
        "Number of boosting steps (M)";
    MetricNeighbors "metric_neighbors", default "5", range "from 1 to 1000",
        "Neighbours of the same class and of other classes in the margin of a row (k)";
    MaxTerms "max_terms", default "3 and 10, chosen by cross-validation", range "at least 1",
        "Maximum number of terms (variables and interactions) in one rank-one update (κ)";
    MaxTermsShare "max_terms_share", default "not set", range "above 0 and at most 1",
        "Maximum number of terms in one rank-one update, as a fraction of all terms (ρ)";
    LearningRate "learning_rate", default "0.05", range "above 0 and at most 1",
        "Shrinkage of each boosting step (ν)";
    Subsample "subsample", default "1", range "above 0 and at most 1",
        "Fraction of rows used in each boosting step (η)";
    SubsampleTerms "subsample_terms", default "false", range "true or false",
        "Use a random sample of √p terms in each boosting step";
    UpdateEvery "update_every", default "5", range "at least 1",
        "Boosting steps between two neighbour searches";
    BurnIn "burn_in", default "10", range "at least 0",
        "Boosting steps before interactions are added (b)";
    InteractionPool "interaction_pool", default "32", range "at least 0",
        "Number of terms of largest weight that interactions are formed with; 0 for all terms in use (T)";
    MaxOrder "max_order", default "1 and 2, chosen by cross-validation", range "from 1 to 8",
        "Maximum number of variables in an interaction";
    ClassBalance "class_balance", default "true", range "true or false",
        "Reweight the rows so that all classes have the same total weight";
    NNeighbors "n_neighbors", default "3", range "from 1 to 1000",
        "Number of neighbours of the k-NN classifier";
    EarlyStopping "early_stopping", default "held-out; leave-one-out for a single candidate",
        range "held-out, leave-one-out, complexity or off",
        "Rule that selects the number of boosting steps";
    ComplexityPenalty "complexity_penalty", default "0.1", range "at least 0",
        "Penalty per variable of the early-stopping rule complexity (λ)";
    Folds "folds", default "5", range "from 2 to 100",
        "Number of cross-validation folds";
    Repeats "repeats", default "1, up to 5 for few rows; up to 3 for the best candidates of fewer than 1,000 rows; three of the folds for 2,000 rows or more", range "from 1 to 100",
        "Repetitions of cross-validation";
    CvRows "cv_rows", default "5000", range "at least 3",
        "Maximum number of rows used for cross-validation";
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_in_snake_case() {
        for (at, param) in Param::ALL.iter().enumerate() {
            assert!(param.name().bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{param}");
            assert!(Param::ALL[..at].iter().all(|other| other.name() != param.name()), "{param}");
            assert!(!param.help().ends_with('.') && !param.default_value().is_empty() && !param.range().is_empty());
        }
    }
}
