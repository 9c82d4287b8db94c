//! The cases that do not keep a law, with the reasons.

use super::{Case, Check};

/// One or several cases that do not keep a law by design.
#[derive(Clone, Copy, Debug)]
pub struct OptOut {
    /// The law.
    pub check: Check,
    /// Words that the names of the cases have in common.
    pub cases: &'static str,
    /// Why the algorithm does not guarantee it.
    pub reason: &'static str,
}

const fn out(check: Check, cases: &'static str, reason: &'static str) -> OptOut {
    OptOut { check, cases, reason }
}

const TREE: &str = "beside 8 bytes a feature it holds a list of the non-zero weights, whose number changes";
const RATE_REMEMBERS: &str = "a step size of each weight is evidence that outlives the weight";
const MEAN_REMEMBERS: &str = "a mean over all steps keeps a weight that was ever non-zero";
const PLAIN: &str = "plain SGD never sets a weight to exactly zero";
const SUMS: &str = "a gradient sum is evidence also while the weight is zero";
const BETWEEN: &str = "between two truncations weights are non-zero, and the mean counts those steps";
const AT_LEAST_ONE: &str = "its penalty is k, and k is at least 1";

/// The table.
pub const OPT_OUTS: &[OptOut] = &[
    out(
        Check::LateAndVanishing,
        "signs",
        "the signs are those of the first ids, and the check gives features other ids",
    ),
    out(Check::BoundedMemory, "single-stage", TREE),
    out(Check::BoundedMemory, "two-stage radius=3", TREE),
    out(Check::BoundedMemory, "two-stage first-epoch-steps=20", TREE),
    out(Check::BoundedMemory, "two-stage first-epoch-steps=100", TREE),
    out(Check::Forgetting, "sgd", PLAIN),
    out(Check::Forgetting, "truncated-gradient auto", RATE_REMEMBERS),
    out(Check::Forgetting, "truncated-gradient adagrad", RATE_REMEMBERS),
    out(Check::Forgetting, "rounding auto", RATE_REMEMBERS),
    out(Check::Forgetting, "rounding adagrad", RATE_REMEMBERS),
    out(Check::Forgetting, "fobos auto", RATE_REMEMBERS),
    out(Check::Forgetting, "fobos adagrad", RATE_REMEMBERS),
    out(Check::Forgetting, "average", MEAN_REMEMBERS),
    out(Check::Forgetting, "rda", SUMS),
    out(Check::Forgetting, "ftrl", SUMS),
    out(Check::Forgetting, "sofs", "certainty is evidence that outlives the weight"),
    out(Check::Forgetting, "sadmm", "where the sparse copy z is zero, w and the multiplier u still move"),
    out(Check::Forgetting, "two-stage", "its mean square and its mean outlive the weight"),
    out(Check::NoPenalty, "rda", "dual averaging: every gradient counts the same, so steps are −Σg/(γ√t)"),
    out(Check::NoPenalty, "ftrl", "its rate α/(β + √Σg²) is specific, and no schedule of sgd has a β"),
    out(Check::NoPenalty, "sadmm", "the proximal step with ρ shortens the rate to η/(1 + ρη)"),
    out(Check::NoPenalty, "sofs", "with all features kept it is AROW, a second-order method"),
    out(Check::NoPenalty, "two-stage", "epochs that begin at means are not plain SGD with any schedule"),
    out(Check::HugePenalty, "sgd", "it has no penalty"),
    out(Check::HugePenalty, "tsgd", AT_LEAST_ONE),
    out(Check::HugePenalty, "fofs", AT_LEAST_ONE),
    out(Check::HugePenalty, "sofs", AT_LEAST_ONE),
    out(Check::HugePenalty, "single-stage", "its penalty is a radius, and a ball of any radius holds more than zero"),
    out(Check::HugePenalty, "two-stage", "its penalty is a radius, and a ball of any radius holds more than zero"),
    out(Check::HugePenalty, "truncated-gradient period=7 average", BETWEEN),
    out(Check::HugePenalty, "rounding period=10 average", BETWEEN),
    out(Check::ReturnsToZero, "sgd", PLAIN),
    out(Check::ReturnsToZero, "average", MEAN_REMEMBERS),
    out(Check::ReturnsToZero, "two-stage", MEAN_REMEMBERS),
];

/// The reason why a case need not keep a law, if there is one.
pub fn opted_out(check: Check, case: &Case) -> Option<&'static str> {
    OPT_OUTS.iter().find(|out| out.check == check && case.has(out.cases)).map(|out| out.reason)
}
