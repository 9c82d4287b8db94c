//! The library for Python. What users see is in `tamis/*.py`; this module connects it with the core library.

mod distributed;
mod error;
mod fit;
mod input;
mod metric;
mod model;
mod moments;
mod progress;
mod reading;
mod tune;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    #[pymodule_export]
    use super::distributed::{
        add_tallies, collect_rows, describe_plan, finish_plan, first_plan, keyed_rows, next_plan, stage_tallies,
    };
    #[pymodule_export]
    use super::fit::{PyTraining, fit_any, losses, methods, parameters};
    #[pymodule_export]
    use super::metric::{PyMetric, fit_metric, metric_params};
    #[pymodule_export]
    use super::model::PyModel;
    #[pymodule_export]
    use super::moments::{PyMoments, merge_blocks, solvers};
    #[pymodule_export]
    use super::tune::{stability, stability_run, tune, tune_fold};
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
