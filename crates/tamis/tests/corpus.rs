//! Hostile input: the fuzz corpus replayed, random bytes, and honest files with bytes changed.

mod hostile;

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tamis::model::Model;
use tamis::moments::Moments;
use tamis::train::Checkpoint;

type Check = fn(&[u8]);

/// Every fuzz target with its check.
const TARGETS: [(&str, Check); 8] = [
    ("parse_svmlight", hostile::svmlight),
    ("parse_vw", hostile::vowpal_wabbit),
    ("parse_csv", hostile::csv),
    ("parse_jsonl", hostile::json_lines),
    ("model_load", hostile::model),
    ("checkpoint_load", hostile::checkpoint),
    ("columnar_read", hostile::columnar),
    ("moments_load", hostile::moments),
];

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).expect("the corpus is there").map(|e| e.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn the_corpus_does_no_harm() {
    for (target, check) in TARGETS {
        let files = corpus(target);
        assert!(!files.is_empty(), "{target} has seeds");
        files.iter().for_each(|bytes| check(bytes));
    }
}

/// A seed that is refused reaches none of the code behind the first check: it is of an old format.
#[test]
fn the_seeds_of_loaders_load() {
    let path = Path::new("seed");
    assert!(corpus("model_load").iter().all(|bytes| Model::from_bytes(bytes, path).is_ok()));
    assert!(corpus("checkpoint_load").iter().all(|bytes| Checkpoint::from_bytes(bytes, path).is_ok()));
    assert!(corpus("moments_load").iter().all(|bytes| Moments::from_bytes(bytes, path).is_ok()));
}

#[test]
fn cut_files_do_no_harm() {
    for (target, check) in TARGETS {
        for bytes in corpus(target) {
            let step = (bytes.len() / 40).max(1);
            (0..bytes.len()).step_by(step).for_each(|end| check(&bytes[..end]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn changed_bytes_do_no_harm(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), pick: prop::sample::Index) {
        for (target, check) in TARGETS {
            let files = corpus(target);
            let mut bytes = files[pick.index(files.len())].clone();
            for (at, byte) in &changes {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = *byte;
                }
            }
            check(&bytes);
        }
    }

    #[test]
    fn random_text_does_no_harm(text in "[-+0-9a-z:|#\"',={}\\[\\].^ \t\r\n]{0,200}") {
        for (_, check) in &TARGETS[..5] {
            check(text.as_bytes());
        }
    }

    #[test]
    fn random_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        TARGETS.iter().for_each(|(_, check)| check(&bytes));
    }
}
