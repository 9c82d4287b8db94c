//! Campaigns against the program: it is killed, fed with damaged and extreme data, and given too little room.
//!
//! Each campaign draws cases until its time is over. `TORTURE_SECONDS` is the time of all of them together (a minute
//! in `make test`; `make torture SECONDS=3600` for the long form) and `TORTURE_SEED` the first seed: 1, so that the
//! short form repeats the same cases, and a new one each time in the long form. A failure names its case.
//!
//! | campaign | cases | what must hold |
//! |---|---|---|
//! | `kills` | method × option × signal × moment, resumed until complete; files of the other commands | the uninterrupted model, bit for bit; the old file or the new one, whole |
//! | `inputs` | format × compression × command, bytes changed | an answer or a clear error |
//! | `files` | every file the program writes, content changed, checksum right | an answer or a clear error |
//! | `extremes` | very large, very small and wild numbers × method × loss | a readable model, or an error and the old file |
//! | `served_kills` | a server that learns, killed under load | every acknowledged row once; the model of the log |
//! | `limits` | little memory, disk, file size, files | an error and the old file |

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../tamis/tests/compressed/mod.rs"]
mod compressed;
mod extremes;
mod files;
mod inputs;
mod kills;
mod limits;
mod served_kills;
mod watch;

use std::time::{Duration, Instant};

use common::Random;

/// The time and the random cases of one campaign.
struct Campaign {
    name: &'static str,
    until: Instant,
    seed: u64,
    cases: u64,
    /// What happened how often, for the last line.
    counts: std::collections::BTreeMap<String, u64>,
}

impl Campaign {
    fn new(name: &'static str) -> Self {
        let variable = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let seconds = variable("TORTURE_SECONDS").unwrap_or(60);
        // Two campaigns run at a time.
        let until = Instant::now() + Duration::from_secs(seconds) * 2 / 5;
        let seed = variable("TORTURE_SEED").unwrap_or(1);
        Campaign { name, until, seed, cases: 0, counts: Default::default() }
    }

    /// The generator of the next case; `None` when the time is over. There is at least one case.
    fn next(&mut self) -> Option<(String, Random)> {
        if self.cases > 0 && Instant::now() > self.until {
            return None;
        }
        self.cases += 1;
        let seed = self.seed.wrapping_mul(1_000_003).wrapping_add(self.cases);
        Some((format!("{} case {} of seed {}", self.name, self.cases, self.seed), Random::new(seed)))
    }

    fn count(&mut self, what: impl Into<String>) {
        *self.counts.entry(what.into()).or_insert(0) += 1;
    }

    /// Says what was done. The standard error of a passing test is not shown, so this goes to the terminal itself.
    fn report(self) {
        use std::io::Write as _;
        let counts: Vec<String> = self.counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
        writeln!(std::io::stderr(), "torture, {}: {} cases; {}", self.name, self.cases, counts.join(", ")).ok();
    }
}

/// One of a list.
fn pick<'a, T: ?Sized>(random: &mut Random, list: &[&'a T]) -> &'a T {
    list[random.uniform_below(list.len() as u64) as usize]
}
