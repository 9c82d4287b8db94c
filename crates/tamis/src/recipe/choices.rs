//! Enums of recipes: step-size schedules, sampling laws, and variants of the published algorithm.

use serde::{Deserialize, Serialize};

use super::table::choices;
use crate::data::{RowScale, ScaleKind};
use crate::loss::LossKind;

/// Declares an enum whose values have names.
macro_rules! named {
    ($(#[$meta:meta])* $Enum:ident { $($(#[$doc:meta])* $Arm:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum $Enum { $($(#[$doc])* $Arm,)* }

        impl $Enum {
            /// All of them, in the order of the documentation.
            pub const ALL: [$Enum; [$($name),*].len()] = [$($Enum::$Arm),*];

            /// The name in files and front ends.
            pub fn name(self) -> &'static str {
                match self { $($Enum::$Arm => $name,)* }
            }
        }
    };
}

named! {
    /// The learning-rate schedule.
    ScheduleKind {
        /// Scale-invariant: see [`crate::step_size`].
        Auto = "auto",
        /// c.
        Constant = "constant",
        /// c/√t.
        InverseSqrt = "inverse-sqrt",
        /// c/t.
        Inverse = "inverse",
        /// c/t^q.
        Power = "power",
        /// c/√(Σ g²), each weight its own.
        Adagrad = "adagrad",
    }
}

impl ScheduleKind {
    /// Whether each weight has its own step size.
    pub fn is_adaptive(self) -> bool {
        matches!(self, ScheduleKind::Auto | ScheduleKind::Adagrad)
    }
}

named! {
    /// The sampling probabilities of `two-stage`.
    #[derive(Default)]
    SamplingLaw {
        /// Its contribution to predictions: |w_j|·√(E x_j²) (Li et al. 2017, Theorem 3).
        #[default]
        Contribution = "contribution",
        /// The size of its weight: |w_j| (Li et al. 2017, Theorem 2).
        Weight = "weight",
    }
}

named! {
    /// When an update of a feature counts towards its gravity and its votes (E6).
    #[derive(Default)]
    Count {
        /// x_j ≠ 0 and the loss has a slope: the weight was really updated, as the text says.
        #[default]
        Informative = "informative",
        /// x_j ≠ 0: the letter of Algorithms 2 and 3. With hinge loss, weights of correctly predicted rows shrink to
        /// zero.
        Present = "present",
    }
}

named! {
    /// What κ, the denominator of Π, counts (E4).
    #[derive(Default)]
    Evidence {
        /// Bursts with at least one counted update: the denominator of (8).
        #[default]
        Bursts = "bursts",
        /// The updates themselves: the letter of section 5. Π of a feature in every row is then at most 1/K.
        Updates = "updates",
    }
}

named! {
    /// The orientation of the annealing curve (E2).
    #[derive(Default)]
    Curve {
        /// As in the text and Figure 2: β₀ while nothing is purged, 0 when all is.
        #[default]
        Corrected = "corrected",
        /// The letter of (12): 0 while nothing is purged, so that nothing ever is.
        Printed = "printed",
    }
}

named! {
    /// How values become the inputs of `kernel`.
    InputKind {
        /// z-scores, clipped at ±4.
        ZScore = "z-score",
        /// Ranks, scaled to mean 0 and deviation 1.
        Rank = "rank",
    }
}

named! {
    /// The frequencies of `kernel`: how many variables a random Fourier feature has.
    FrequencyFamily {
        /// Mostly one, two or three.
        Mixed = "mixed",
        /// Mostly all.
        Whole = "whole",
    }
}

choices!(LossKind, ScaleKind, ScheduleKind, RowScale, SamplingLaw, Count, Evidence, Curve, InputKind, FrequencyFamily);
