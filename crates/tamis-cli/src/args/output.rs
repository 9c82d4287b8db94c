//! Flags about what is printed. Every command takes them.

use clap::Args;

#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Print only the result: no progress, notes or warnings
    #[arg(long, short)]
    pub quiet: bool,
}

impl OutputArgs {
    /// Whether text for people is printed on standard output.
    pub fn is_text(self) -> bool {
        !self.json && !self.quiet
    }
}
