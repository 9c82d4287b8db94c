//! Generated stand-ins for data sets that are not available.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use serde::Deserialize;
use tamis::synth::{Kind, Plan, generate, write_svmlight};

/// What to generate; a missing field has the default of the kind.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Generate {
    kind: Kind,
    n: Option<usize>,
    p: Option<usize>,
    nonzeros: Option<usize>,
    #[serde(default)]
    seed: u64,
    /// Test rows, generated after the training rows.
    test_rows: usize,
}

impl Generate {
    /// A folder with the training rows in the file `name` and the test rows in the same name with `test` for `train`.
    /// Existing files are used again: the same plan generates the same rows.
    pub fn folder(&self, name: &str) -> Result<PathBuf, String> {
        let mut plan = Plan { seed: self.seed, ..Plan::new(self.kind) };
        plan.n = self.n.unwrap_or(plan.n);
        plan.p = self.p.unwrap_or(plan.p);
        plan.nonzeros = self.nonzeros.unwrap_or(plan.nonzeros);
        let rows = plan.n;
        plan.n += self.test_rows;
        let stamp = format!("{}-{rows}-{}-{}-{}", plan.kind.name(), plan.p, plan.nonzeros, plan.seed);
        let folder = std::env::temp_dir().join(format!("tamis-generated-{stamp}-{}", self.test_rows));
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        let files = [(folder.join(name), rows), (folder.join(test_name(name)), self.test_rows)];
        if files.iter().all(|(path, _)| path.is_file()) {
            return Ok(folder);
        }
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let (_, mut stream) = generate(&plan).map_err(|error| error.to_string())?;
        for (path, count) in files {
            // Written to a temporary name and renamed, so that an existing file is complete.
            let part = path.with_extension("part");
            let mut out = BufWriter::with_capacity(1 << 20, File::create(&part).map_err(failed)?);
            write_svmlight(stream.by_ref().take(count), &mut out).map_err(failed)?;
            out.flush().and_then(|()| std::fs::rename(&part, &path)).map_err(failed)?;
        }
        Ok(folder)
    }
}

/// The test file of `E2006.train.svm` is `E2006.test.svm`.
fn test_name(train: &str) -> String {
    train.replace("train", "test")
}
