//! Hostile input: the fuzz corpus replayed, random bytes, and honest files with bytes changed.

mod hostile;

use std::path::{Path, PathBuf};

use hostile::metric;
use proptest::prelude::*;
use tamis_metric::Metric;

fn corpus() -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/metric_load");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).expect("the corpus is there").map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "there are seeds");
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn the_seeds_are_metrics_of_this_format() {
    let seed = |bytes: Vec<u8>| Metric::from_bytes(&bytes, Path::new("seed")).is_ok();
    assert!(corpus().into_iter().all(seed));
}

#[test]
fn the_corpus_does_no_harm() {
    corpus().iter().for_each(|bytes| metric(bytes));
}

#[test]
fn cut_files_do_no_harm() {
    for bytes in corpus() {
        let step = (bytes.len() / 40).max(1);
        (0..bytes.len()).step_by(step).for_each(|end| metric(&bytes[..end]));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn changed_bytes_do_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), pick: prop::sample::Index) {
        let files = corpus();
        let mut bytes = files[pick.index(files.len())].clone();
        for (at, byte) in &changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
        }
        metric(&bytes);
    }

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        metric(&bytes);
    }
}
