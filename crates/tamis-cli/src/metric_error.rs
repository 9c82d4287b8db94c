//! Errors of metric learning in terms of the program: flags for parameters, and advice.

use tamis_metric::MetricError;

/// The text of an error, as `tamis metric` shows it.
pub fn describe(error: &MetricError) -> String {
    match error {
        MetricError::OutOfRange(param) => format!("--{} must be {}", param.name().replace('_', "-"), param.range()),
        MetricError::Numbers => format!("{error}; use --task multiclass if the labels are classes"),
        MetricError::TooLarge { .. } => {
            format!("{error}: use fewer rows or columns (tamis fit --k N selects columns), or raise --memory")
        }
        MetricError::FewRows { needed: 2, .. } => format!("{error}; leave the class out"),
        MetricError::FewRows { .. } => {
            format!("{error}; leave the class out, or skip cross-validation (--candidate order-1)")
        }
        _ => error.to_string(),
    }
}
