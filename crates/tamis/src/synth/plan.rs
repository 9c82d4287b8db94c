//! What to generate, as plain data, and the check it must pass.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// More columns than this are refused: tables over the columns would not fit in memory.
const MOST_COLUMNS: usize = 100_000_000;

/// A family of data sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Text-like: a million columns, few of them in a row, classes from a logistic model.
    Zipf,
    /// Dense columns that are all correlated 0.5, linear truth.
    Correlated,
    /// The same, but the weights move with time.
    Drift,
    /// Two noisy rings around the origin.
    DoubleRing,
    /// The sign of a product.
    Xor,
    /// Text-like: log-normal frequencies, a number to predict, every column in the truth.
    TextRegression,
}

impl Kind {
    /// All kinds, in the order of the documentation.
    pub const ALL: [Kind; 6] =
        [Kind::Zipf, Kind::TextRegression, Kind::Correlated, Kind::Drift, Kind::DoubleRing, Kind::Xor];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Zipf => "zipf",
            Kind::TextRegression => "text-regression",
            Kind::Correlated => "correlated",
            Kind::Drift => "drift",
            Kind::DoubleRing => "double-ring",
            Kind::Xor => "xor",
        }
    }

    /// One line for the help.
    pub fn about(self) -> &'static str {
        match self {
            Kind::Zipf => "text-like: a million columns with Zipf frequencies, a few planted, two classes",
            Kind::TextRegression => "text-like rows of unit length, a number to predict, every column in the truth",
            Kind::Correlated => "dense columns, all pairs correlated 0.5, every tenth column planted",
            Kind::Drift => "like correlated, but the true weights move along sine waves",
            Kind::DoubleRing => "two classes on two noisy rings in the plane, hidden among noise columns",
            Kind::Xor => "two classes on the corners of a square, crosswise, hidden among noise columns",
        }
    }

    /// Whether numbers can be predicted.
    pub fn has_regression(self) -> bool {
        matches!(self, Kind::TextRegression | Kind::Correlated | Kind::Drift)
    }
}

/// What is wrong with a plan.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum SynthError {
    /// A number is outside its interval.
    #[error("{name} must be {expected}, got {found}")]
    Number {
        /// The field of the plan.
        name: &'static str,
        /// Its interval in words.
        expected: String,
        /// What was given.
        found: f64,
    },
    /// A field that the kind has no use for was set.
    #[error("{kind} takes no {name}")]
    NotOfKind {
        /// The field of the plan.
        name: &'static str,
        /// The kind's name.
        kind: &'static str,
    },
    /// Classes were asked of a kind that has none.
    #[error("{kind} has a numeric target, not classes")]
    NumbersOnly {
        /// The kind's name.
        kind: &'static str,
    },
    /// Regression was asked of a kind that only has classes.
    #[error("{kind} has classes, not a numeric target")]
    ClassesOnly {
        /// The kind's name.
        kind: &'static str,
    },
}

/// Everything that decides the rows. Row `i` does not depend on `n`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The family.
    pub kind: Kind,
    /// Rows.
    pub n: usize,
    /// Columns.
    pub p: usize,
    /// Columns that matter.
    pub k: usize,
    /// The seed of all randomness.
    pub seed: u64,
    /// Labels −1 and 1 instead of numbers. Zipf, double-ring and xor have nothing else.
    pub classes: bool,
    /// How strong the truth is; default 1. Correlated: β. Drift: multiplies all weights. Zipf: the log-odds that a
    /// column present in every row would add (see [`super`]). Text-regression: standard deviation of the true part of
    /// the target. Double-ring: the inner radius. Xor: half the side.
    pub signal: f64,
    /// How weak it is made. Correlated, drift: standard deviation of η (default 1). Text-regression: that of the rest
    /// of the target (0.5). Zipf: share of labels flipped (default 0, at most ½). Double-ring, xor: standard deviation
    /// around ring (0.47) and corner (0.717).
    pub noise: f64,
    /// Zipf, text-regression: the mean number of distinct columns in a row (default 75 and 1,240, at most p/2). 0
    /// elsewhere.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nonzeros: usize,
    /// Zipf: planted columns occur in at least this share of rows. The default 0.001 is 200 times in 200,000 rows,
    /// about what it takes to be found among a million columns; for fewer rows take 200/n. 0 elsewhere.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rarest: f64,
    /// Drift: rows in each time period (default 1000). 0 elsewhere.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub period_rows: usize,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

impl Plan {
    /// The plan of a kind with the defaults of its source.
    pub fn new(kind: Kind) -> Plan {
        let (n, p, k) = match kind {
            Kind::Zipf => (200_000, 1_000_000, 50),
            Kind::TextRegression => (16_087, 150_360, 500),
            Kind::Correlated => (10_000, 1000, 100),
            Kind::Drift => (100_000, 100, 10),
            Kind::DoubleRing | Kind::Xor => (500, 50, 2),
        };
        let noise = match kind {
            Kind::Zipf => 0.0,
            Kind::TextRegression => 0.5,
            Kind::Correlated | Kind::Drift => 1.0,
            Kind::DoubleRing => 0.47,
            Kind::Xor => 0.717,
        };
        Plan {
            kind,
            n,
            p,
            k,
            seed: 0,
            classes: !kind.has_regression(),
            signal: 1.0,
            noise,
            nonzeros: match kind {
                Kind::Zipf => 75,
                Kind::TextRegression => 1240,
                _ => 0,
            },
            rarest: if kind == Kind::Zipf { 0.001 } else { 0.0 },
            period_rows: if kind == Kind::Drift { 1000 } else { 0 },
        }
    }

    /// Looks at every number once. What also needs the column frequencies of zipf is left to [`super::generate`].
    pub fn check(&self) -> Result<(), SynthError> {
        require("n", self.n as f64, self.n >= 1, "at least 1")?;
        require("p", self.p as f64, (1..=MOST_COLUMNS).contains(&self.p), &format!("from 1 to {MOST_COLUMNS}"))?;
        require("k", self.k as f64, self.k >= 1, "at least 1")?;
        require("k", self.k as f64, self.k <= self.p, &format!("at most p = {}", self.p))?;
        require("signal", self.signal, self.signal.is_finite() && self.signal >= 0.0, "finite and >= 0")?;
        require("noise", self.noise, self.noise.is_finite() && self.noise >= 0.0, "finite and >= 0")?;
        if self.classes && self.kind == Kind::TextRegression {
            return Err(SynthError::NumbersOnly { kind: self.kind.name() });
        }
        if !self.classes && !self.kind.has_regression() {
            return Err(SynthError::ClassesOnly { kind: self.kind.name() });
        }
        self.check_strangers()?;
        self.check_kind()
    }

    /// Fields of other kinds must be left at 0: a number without effect is a misunderstanding.
    fn check_strangers(&self) -> Result<(), SynthError> {
        let fields = [
            ("nonzeros", self.nonzeros != 0, &[Kind::Zipf, Kind::TextRegression][..]),
            ("rarest", self.rarest != 0.0, &[Kind::Zipf]),
            ("period-rows", self.period_rows != 0, &[Kind::Drift]),
        ];
        match fields.iter().find(|(_, set, owners)| *set && !owners.contains(&self.kind)) {
            Some((name, ..)) => Err(SynthError::NotOfKind { name, kind: self.kind.name() }),
            None => Ok(()),
        }
    }

    fn check_kind(&self) -> Result<(), SynthError> {
        let (p, k) = (self.p, self.k);
        let planted = || require("k", k as f64, k <= p / 10, &format!("at most p/10 = {}", p / 10));
        let nonzeros = || {
            let most = format!("from 1 to p/2 = {}", p / 2);
            require("nonzeros", self.nonzeros as f64, (1..=p / 2).contains(&self.nonzeros), &most)
        };
        match self.kind {
            Kind::TextRegression => nonzeros(),
            Kind::Zipf => {
                nonzeros()?;
                require("rarest", self.rarest, self.rarest > 0.0 && self.rarest < 1.0, "between 0 and 1")?;
                require("noise", self.noise, self.noise <= 0.5, "a share of labels, at most 0.5")
            }
            Kind::Correlated => planted(),
            Kind::Drift => {
                require("period-rows", self.period_rows as f64, self.period_rows >= 1, "at least 1")?;
                planted()
            }
            Kind::DoubleRing | Kind::Xor => require("k", k as f64, k >= 2, "at least 2"),
        }
    }
}

/// An error unless `holds`.
pub(super) fn require(name: &'static str, found: f64, holds: bool, expected: &str) -> Result<(), SynthError> {
    if holds { Ok(()) } else { Err(SynthError::Number { name, expected: expected.to_string(), found }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(kind: Kind, change: impl FnOnce(&mut Plan)) -> String {
        let mut plan = Plan::new(kind);
        change(&mut plan);
        plan.check().unwrap_err().to_string()
    }

    #[test]
    fn defaults_are_sound() {
        for kind in Kind::ALL {
            Plan::new(kind).check().unwrap();
            assert!(!kind.about().is_empty());
        }
    }

    #[test]
    fn bad_plans_are_explained() {
        assert_eq!(complaint(Kind::Zipf, |plan| plan.n = 0), "n must be at least 1, got 0");
        assert_eq!(complaint(Kind::Xor, |plan| plan.p = 0), "p must be from 1 to 100000000, got 0");
        assert_eq!(complaint(Kind::Xor, |plan| plan.k = 60), "k must be at most p = 50, got 60");
        assert_eq!(complaint(Kind::Xor, |plan| plan.k = 1), "k must be at least 2, got 1");
        assert_eq!(complaint(Kind::Zipf, |plan| plan.k = 0), "k must be at least 1, got 0");
        assert_eq!(complaint(Kind::Correlated, |plan| plan.k = 101), "k must be at most p/10 = 100, got 101");
        assert_eq!(complaint(Kind::Drift, |plan| plan.period_rows = 0), "period-rows must be at least 1, got 0");
        assert_eq!(complaint(Kind::Zipf, |plan| plan.p = 100), "nonzeros must be from 1 to p/2 = 50, got 75");
        assert_eq!(
            complaint(Kind::Zipf, |plan| plan.noise = 0.6),
            "noise must be a share of labels, at most 0.5, got 0.6"
        );
        assert_eq!(complaint(Kind::Drift, |plan| plan.signal = f64::NAN), "signal must be finite and >= 0, got NaN");
        assert_eq!(complaint(Kind::Correlated, |plan| plan.nonzeros = 9), "correlated takes no nonzeros");
        let classes = complaint(Kind::TextRegression, |plan| plan.classes = true);
        assert_eq!(classes, "text-regression has a numeric target, not classes");
        assert_eq!(
            complaint(Kind::DoubleRing, |plan| plan.classes = false),
            "double-ring has classes, not a numeric target"
        );
    }

    #[test]
    fn names_round_trip_through_serde() {
        for kind in Kind::ALL {
            let text = serde_json::to_string(&kind).unwrap();
            assert_eq!(text, format!("\"{}\"", kind.name()));
            assert_eq!(serde_json::from_str::<Kind>(&text).unwrap(), kind);
        }
    }
}
