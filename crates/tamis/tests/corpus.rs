//! Hostile input: the fuzz corpus replayed, random bytes, and honest files with bytes changed.

mod hostile;
mod mutation;

use std::path::{Path, PathBuf};

use mutation::{Random, mutated};
use proptest::prelude::*;
use tamis::data::tensor_file::{Arrays, TensorFile};
use tamis::model::Model;
use tamis::moments::Moments;
use tamis::train::Checkpoint;

type Check = fn(&[u8]);

/// Every fuzz target with its check.
const TARGETS: [(&str, Check); 9] = [
    ("parse_svmlight", hostile::svmlight),
    ("parse_vw", hostile::vowpal_wabbit),
    ("parse_csv", hostile::csv),
    ("parse_jsonl", hostile::json_lines),
    ("parse_row_log", hostile::row_log),
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

/// The content of a loaded file changed and sealed again: what a checksum does not keep out.
fn resealed(target: &str, bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let kind = match target {
        "checkpoint_load" => "tamis-checkpoint",
        "moments_load" => "tamis-moments",
        _ => {
            let text = std::str::from_utf8(bytes).ok().filter(|_| target == "model_load")?;
            let body = text.find("\"body\":")? + 7;
            let body = mutated(random, &[text.as_bytes()[body..text.trim_end().len() - 1].to_vec()]);
            let sum = crc32fast::hash(&body);
            let head = format!("{{\"format\":\"tamis-model\",\"version\":2,\"checksum\":\"crc32:{sum:08x}\",\"body\":");
            return Some([head.as_bytes(), &body, b"}"].concat());
        }
    };
    let file = TensorFile { name: kind, version: 1 };
    let (json, views) = file.read(bytes).ok()?;
    let mut arrays: Arrays =
        views.iter().map(|(name, view)| (name.clone(), (view.dtype(), view.data().to_vec()))).collect();
    let json = if random.below(2) == 0 { mutated(random, &[json.into_bytes()]) } else { json.into_bytes() };
    let name = arrays.keys().nth(random.below(arrays.len()))?.clone();
    let array = &mut arrays.get_mut(&name)?.1;
    let length = array.len();
    *array = mutated(random, std::slice::from_ref(array));
    array.resize(length, 0);
    Some(file.write(std::str::from_utf8(&json).ok()?, &arrays))
}

/// Fuzzing without a fuzzer: the seeds of `cargo fuzz` are changed at random for a while.
#[test]
fn mutations_do_no_harm() {
    let (time, seed) = mutation::time_and_seed();
    let (mut runs, mut sealed) = ([0_u64; TARGETS.len()], 0_u64);
    let seeds = TARGETS.map(|(target, _)| corpus(target));
    let started = std::time::Instant::now();
    for case in 0_u64.. {
        let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(case) | 1);
        let at = case as usize % TARGETS.len();
        let (target, check) = TARGETS[at];
        let whole = &seeds[at][random.below(seeds[at].len())];
        let bytes = match resealed(target, whole, &mut random).filter(|_| case % 3 > 0) {
            Some(bytes) => {
                sealed += 1;
                bytes
            }
            None => mutated(&mut random, &seeds[at]),
        };
        let outcome = std::panic::catch_unwind(|| check(&bytes));
        assert!(outcome.is_ok(), "{target}: case {case} of seed {seed}: {:?}", String::from_utf8_lossy(&bytes));
        runs[at] += 1;
        if case % 64 == 0 && started.elapsed() > time {
            break;
        }
    }
    use std::io::Write as _;
    let runs: Vec<String> = TARGETS.iter().zip(runs).map(|((target, _), runs)| format!("{target} {runs}")).collect();
    writeln!(std::io::stderr(), "mutations: {}; {sealed} with a right checksum", runs.join(", ")).ok();
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
