//! Flags of the commands that train on rows.

use clap::Args;
use tamis::data::TaskKind;
use tamis::io::memory_of_this_machine;
use tamis::train::FitOptions;
use tamis::tune::Measure;

use super::byte_size::bytes_parser;
use super::input::DataArgs;
use crate::error::CliError;
use crate::signals::stop_on_signal;

/// How training rows are interpreted and stored.
#[derive(Args)]
pub struct TrainingDataArgs {
    /// Type of the target: auto, binary, multiclass or regression
    #[arg(long, value_name = "TASK", default_value = "auto", value_parser = task_parser)]
    pub task: TaskKind,
    /// Memory for stored rows, e.g. 500M or 2G [default: half of the machine's memory]
    #[arg(long, value_name = "BYTES", value_parser = bytes_parser)]
    pub memory: Option<u64>,
    /// Memory for the learner and the names of features; beyond it the training is saved and ends with an error
    /// [default: three quarters of the machine's memory]
    #[arg(long, value_name = "BYTES", value_parser = bytes_parser)]
    pub max_memory: Option<u64>,
}

impl TrainingDataArgs {
    /// The options of a fit to the given data. Ctrl-C stops it.
    pub fn fit_options(&self, data: &DataArgs) -> Result<FitOptions, CliError> {
        Ok(FitOptions {
            sources: data.sources()?,
            read: data.input.options(true),
            task: self.task,
            memory: self.memory.unwrap_or_else(memory_of_this_machine),
            max_memory: Some(self.max_memory.unwrap_or_else(|| memory_of_this_machine() / 2 * 3)),
            stop: stop_on_signal(),
            ..FitOptions::default()
        })
    }
}

pub fn task_parser(text: &str) -> Result<TaskKind, String> {
    let found = TaskKind::ALL.into_iter().find(|task| task.name() == text);
    found.ok_or_else(|| format!("expected one of {}", TaskKind::ALL.map(TaskKind::name).join(", ")))
}

pub fn measure_parser(text: &str) -> Result<Measure, String> {
    let found = Measure::ALL.into_iter().find(|measure| measure.name() == text);
    found.ok_or_else(|| format!("expected one of {}", Measure::ALL.map(Measure::name).join(", ")))
}
