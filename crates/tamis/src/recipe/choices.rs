//! The choices a recipe makes by name: method, rate, scaling of rows.

use serde::{Deserialize, Serialize};

/// How to learn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Many paths on halves of the rows, stability selection down a ladder of sizes.
    Stabilized,
    /// Stochastic gradient descent.
    Sgd,
    /// Shrink by gravity every K steps, only weights within ±θ.
    TruncatedGradient,
    /// Zero weights below θ every K steps.
    Rounding,
    /// Forward-backward splitting (L1 or elastic net).
    Fobos,
    /// Regularised dual averaging (L1 or elastic net).
    Rda,
    /// FTRL-proximal.
    Ftrl,
    /// Keep the k largest weights after each step.
    Tsgd,
    /// First-order online feature selection.
    Fofs,
    /// Second-order online feature selection.
    Sofs,
    /// Stochastic ADMM.
    Sadmm,
    /// Projection on an ℓ₁ ball after each step.
    SingleStage,
    /// Epochs inside an ℓ₁ and an ℓ₂ ball, then features drawn at random.
    TwoStage,
}

impl Method {
    /// All methods, in the order of the documentation.
    pub const ALL: [Method; 13] = [
        Method::Stabilized,
        Method::Sgd,
        Method::TruncatedGradient,
        Method::Rounding,
        Method::Fobos,
        Method::Rda,
        Method::Ftrl,
        Method::Tsgd,
        Method::Fofs,
        Method::Sofs,
        Method::Sadmm,
        Method::SingleStage,
        Method::TwoStage,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Stabilized => "stabilized",
            Method::Sgd => "sgd",
            Method::TruncatedGradient => "truncated-gradient",
            Method::Rounding => "rounding",
            Method::Fobos => "fobos",
            Method::Rda => "rda",
            Method::Ftrl => "ftrl",
            Method::Tsgd => "tsgd",
            Method::Fofs => "fofs",
            Method::Sofs => "sofs",
            Method::Sadmm => "sadmm",
            Method::SingleStage => "single-stage",
            Method::TwoStage => "two-stage",
        }
    }

    /// One line for the help.
    pub fn about(self) -> &'static str {
        match self {
            Method::Stabilized => "many paths agree on few features (Ma & Zheng, improved): the default",
            Method::Sgd => "plain stochastic gradient descent, no sparsity",
            Method::TruncatedGradient => "gravity pulls small weights to zero (Langford, Li & Zhang)",
            Method::Rounding => "small weights are zeroed now and then",
            Method::Fobos => "soft threshold after each step; --l2 makes it an elastic net",
            Method::Rda => "regularised dual averaging; --l2 makes it an elastic net",
            Method::Ftrl => "FTRL-proximal, a step size for each weight",
            Method::Tsgd => "keeps the k largest weights at each step (needs --k)",
            Method::Fofs => "first-order online feature selection (needs --k)",
            Method::Sofs => "second-order online feature selection: keeps the k surest weights (needs --k)",
            Method::Sadmm => "stochastic ADMM for L1; costs O(features) a row",
            Method::SingleStage => "projection on an l1 ball (--radius) at each step",
            Method::TwoStage => "learns in an l1 ball, then draws few features without bias (Li, Yang, Zhang & Jin)",
        }
    }

    /// Whether the number of features is a part of the algorithm and not a cut at the end.
    pub fn keeps_k(self) -> bool {
        matches!(self, Method::Stabilized | Method::Tsgd | Method::Fofs | Method::Sofs | Method::TwoStage)
    }

    /// Whether it learns one row at a time ([`crate::learn::AnyLearner`]) and not in stages over held rows.
    pub fn is_online(self) -> bool {
        self != Method::Stabilized
    }

    /// Whether it can learn rows as they come and give a model at any of them: `two-stage` looks over the rows first, and
    /// draws its features after the last.
    pub fn stays_open(self) -> bool {
        self.is_online() && self != Method::TwoStage
    }

    /// Whether its rate is a free choice.
    pub fn takes_rate(self) -> bool {
        !matches!(self, Method::Stabilized | Method::Rda | Method::Ftrl | Method::Sofs | Method::TwoStage)
    }

    /// Whether its rate may differ between weights.
    pub fn takes_adaptive_rate(self) -> bool {
        matches!(self, Method::Sgd | Method::TruncatedGradient | Method::Rounding | Method::Fobos)
    }

    /// Whether its weights can be averaged over time.
    pub fn takes_average(self) -> bool {
        self.takes_adaptive_rate() || self == Method::Ftrl
    }
}

/// Which rule makes the step sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RateKind {
    /// Free of scale: see [`crate::rate`].
    Auto,
    /// c.
    Constant,
    /// c/√t.
    InverseSqrt,
    /// c/t.
    Inverse,
    /// c/t^q.
    Power,
    /// c/√(Σ g²), each weight its own.
    Adagrad,
}

impl RateKind {
    /// All rates, in the order of the documentation.
    pub const ALL: [RateKind; 6] = [
        RateKind::Auto,
        RateKind::Constant,
        RateKind::InverseSqrt,
        RateKind::Inverse,
        RateKind::Power,
        RateKind::Adagrad,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            RateKind::Auto => "auto",
            RateKind::Constant => "constant",
            RateKind::InverseSqrt => "inverse-sqrt",
            RateKind::Inverse => "inverse",
            RateKind::Power => "power",
            RateKind::Adagrad => "adagrad",
        }
    }
}

/// What is done to each row before anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowScale {
    /// Nothing.
    #[default]
    None,
    /// Values are divided by √(number of non-zeros) (Langford et al. 2009, section 3, caveat 1).
    SqrtCount,
}

impl RowScale {
    /// What the values of a row with so many non-zeros are multiplied with.
    pub fn factor(self, count: usize) -> f64 {
        match self {
            RowScale::SqrtCount if count > 0 => 1.0 / (count as f64).sqrt(),
            _ => 1.0,
        }
    }
}

/// What decides how likely `two-stage` draws a feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// Its part in predictions: |w_j|·√(E x_j²) (Li et al. 2017, Theorem 3).
    #[default]
    Distribution,
    /// The size of its weight: |w_j| (Li et al. 2017, Theorem 2).
    Magnitude,
}

impl Law {
    /// All laws, in the order of the documentation.
    pub const ALL: [Law; 2] = [Law::Distribution, Law::Magnitude];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Law::Distribution => "distribution",
            Law::Magnitude => "magnitude",
        }
    }
}
