//! Damaged files of every format and compression are read in this process, and some of them learned: sound rows and a
//! model that can be loaded, or an error. The program's torture (`crates/tamis-cli/tests/torture/inputs.rs`) does the
//! same through every command; without starting a program, this reaches a hundred times as many files.

mod compressed;
mod mutation;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use compressed::compressed;
use mutation::{Random, mutated};
use tamis::columnar::{ColumnarKind, writer};
use tamis::data::{RawRows, Vocabulary};
use tamis::io::{Format, ReadOptions, RowStream, expand};
use tamis::model::Model;
use tamis::parse::schema::SchemaOptions;
use tamis::parse::svmlight::Svmlight;
use tamis::parse::vw::VowpalWabbit;
use tamis::parse::{LineParser, Missing, parse_lines, row_log};
use tamis::recipe::{Method, Recipe};
use tamis::train::{FitOptions, fit};

const COMPRESSIONS: [&str; 5] = ["", ".gz", ".zst", ".bz2", ".xz"];
/// No file of this size takes so long, also on a loaded machine.
const ENDLESS: Duration = Duration::from_secs(100);

/// A columnar file with the rows of a text.
fn columnar(kind: ColumnarKind, text: &str, parser: &impl LineParser, mut rows: RawRows) -> Vec<u8> {
    parse_lines(text.as_bytes(), parser, &mut rows, &mut Vec::new());
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut writer = writer(kind, file.reopen().unwrap()).unwrap();
    writer.write(&rows).unwrap();
    writer.finish().unwrap();
    std::fs::read(file.path()).unwrap()
}

/// A log of a server with the rows of a text, in frames of ten lines.
fn log(text: &str, parser: &impl LineParser, empty: fn() -> RawRows) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, lines) in text.lines().collect::<Vec<_>>().chunks(10).enumerate() {
        let (mut rows, mut body) = (empty(), Vec::new());
        parse_lines((lines.join("\n") + "\n").as_bytes(), parser, &mut rows, &mut Vec::new());
        let (sequence, first_row) = (number as u64 + 1, 10 * number as u64);
        let late: Vec<row_log::LateRow> = (0..rows.len() as u64 * (sequence % 2))
            .map(|number| row_log::LateRow { number, id: "id".into() })
            .collect();
        let head = row_log::RecordHead { sequence, first_row, key: &format!("key {number}"), late: &late };
        row_log::push_record(&mut body, &head, &rows);
        bytes.extend(row_log::frame(&body));
    }
    bytes
}

/// Honest files of every format.
fn seeds() -> BTreeMap<&'static str, Vec<Vec<u8>>> {
    let row = |at: usize| format!("{} {}:0.5 {}:{} 9:1\n", at % 2, 1 + at % 3, 5 + at % 4, at % 7 + 1);
    let svm: String = (0..40).map(row).collect();
    let vw = "1 2.0 'tag |a x:0.5 y |b:2 z:3\n-1 |a y z:1e-3\n".repeat(15);
    let table = "yes,Rome,\"a, b\",1.5,2024-01-02\nno,Oslo,c,2,2024-02-03\nyes,Bern,\"d\"\"e\",-3,\n".repeat(8);
    let csv = format!("y,town,plan,n,day\n{table}");
    let json =
        "{\"y\": 1, \"weight\": 2, \"x\": {\"a\": 0.5, \"b\\u00e9\": 3}}\n{\"y\": 0, \"x\": {\"c\": 1}}\n".repeat(12);
    let flat = "{\"y\": \"p\", \"town\": \"Rome\", \"n\": 1.5}\n{\"y\": \"q\", \"town\": null, \"n\": 2}\n".repeat(12);
    let of_numbers = |kind| columnar(kind, &svm, &Svmlight { zero_based: false }, RawRows::by_index());
    let of_names = |kind| columnar(kind, &vw, &VowpalWabbit, RawRows::by_name());
    BTreeMap::from([
        ("svm", vec![svm.clone().into_bytes(), b"# note\n1 qid:3 1:1 2:2 # end\n-1 4294967294:1\n".repeat(5)]),
        ("vw", vec![vw.clone().into_bytes()]),
        ("csv", vec![csv.clone().into_bytes(), [b"label;a;b\n".to_vec(), b"1;1,5;2\n0;2,5;3\n".repeat(9)].concat()]),
        ("tsv", vec![csv.replace(',', "\t").into_bytes()]),
        ("jsonl", vec![json.into_bytes(), flat.into_bytes()]),
        ("parquet", vec![of_numbers(ColumnarKind::Parquet), of_names(ColumnarKind::Parquet)]),
        ("arrow", vec![of_numbers(ColumnarKind::Ipc), of_names(ColumnarKind::Ipc)]),
        ("npz", vec![of_numbers(ColumnarKind::Npz)]),
        (
            "tamislog",
            vec![
                log(&svm, &Svmlight { zero_based: false }, RawRows::by_index),
                log(&vw, &VowpalWabbit, RawRows::by_name),
            ],
        ),
    ])
}

/// How a file is read.
fn options(missing: Missing, skip_bad: bool) -> ReadOptions {
    let columns = SchemaOptions { missing, needs_target: true, ..SchemaOptions::default() };
    ReadOptions { columns, skip_bad, threads: 1, ..ReadOptions::default() }
}

/// Reads a file, or says why not. The numbers of its rows are finite.
fn read(path: &Path, options: ReadOptions) -> Result<(), String> {
    let sources = expand(&[path.to_str().unwrap().to_string()], None).expect("the file is there");
    let (mut stream, mut vocabulary) = (RowStream::open(sources, options), Vocabulary::new(None));
    while let Some(block) = stream.next_block().map_err(|error| error.to_string())? {
        for row in 0..block.rows.len() {
            assert!(block.rows.entries(row).all(|(_, value)| value.is_finite() && value != 0.0));
            assert!(block.rows.weight(row).is_finite() && block.rows.weight(row) >= 0.0);
        }
        block.intern(&mut vocabulary).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Reads and learns a file, or says why not. A model must be one that can be loaded.
fn learn(path: &Path, read: ReadOptions) -> Result<(), String> {
    let sources = expand(&[path.to_str().unwrap().to_string()], None).expect("the file is there");
    let options = FitOptions { sources, read, memory: 1 << 20, ..FitOptions::default() };
    let recipe = Recipe { passes: Some(1), ..Recipe::new(Method::Ftrl) };
    let fitted = fit(&recipe, &options, None, &mut ()).map_err(|error| error.to_string())?;
    Model::from_bytes(fitted.model.to_text().as_bytes(), path).expect("a model that was made can be loaded");
    Ok(())
}

/// Ends the process if one case takes too long: a test cannot end a loop in its own thread.
fn watch(progress: &'static AtomicU64) {
    std::thread::spawn(move || {
        let (mut last, mut since) = (0, Instant::now());
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let case = progress.load(Ordering::Relaxed);
            match case {
                u64::MAX => return,
                _ if case != last => (last, since) = (case, Instant::now()),
                _ if since.elapsed() > ENDLESS => {
                    writeln!(std::io::stderr(), "formats: case {case} does not end").ok();
                    std::process::abort();
                }
                _ => {}
            }
        }
    });
}

#[test]
fn damaged_files_of_every_format_give_rows_or_an_error() {
    static PROGRESS: AtomicU64 = AtomicU64::new(0);
    let (time, seed) = mutation::time_and_seed();
    let seeds = seeds();
    let known: Vec<&str> = Format::ALL.iter().map(|format| format.extensions()[0]).collect();
    assert!(seeds.keys().eq(std::collections::BTreeSet::from_iter(known).iter()), "every format has seeds");
    let names: Vec<&str> = seeds.keys().copied().collect();
    let folder = tempfile::tempdir().unwrap();
    // Whole files are learned: what is refused later is refused for its damage.
    for (name, files) in &seeds {
        for bytes in files {
            for compression in COMPRESSIONS {
                let path = folder.path().join(format!("whole.{name}{compression}"));
                std::fs::write(&path, compressed(bytes, compression)).unwrap();
                assert_eq!(learn(&path, options(Missing::Auto, false)), Ok(()));
            }
        }
    }
    watch(&PROGRESS);
    // Decoders of other libraries may panic on damaged files; the reader turns that into an error without a word.
    std::panic::set_hook(Box::new(|_| {}));
    let mut counts: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    let started = Instant::now();
    for case in 0_u64.. {
        let mut random = Random(seed.wrapping_mul(1_000_003).wrapping_add(case) | 1);
        let name = names[case as usize % names.len()];
        let compression = COMPRESSIONS[case as usize / names.len() % COMPRESSIONS.len()];
        // Mostly the content is changed and the compression is right; sometimes the compressed bytes are changed.
        let bytes = if random.below(8) == 0 {
            let whole = seeds[name].iter().map(|bytes| compressed(bytes, compression)).collect::<Vec<_>>();
            mutated(&mut random, &whole)
        } else {
            compressed(&mutated(&mut random, &seeds[name]), compression)
        };
        let path = folder.path().join(format!("damaged.{name}{compression}"));
        std::fs::write(&path, &bytes).unwrap();
        PROGRESS.store(case, Ordering::Relaxed);
        let (missing, skip_bad) = (Missing::ALL[random.below(Missing::ALL.len())], random.below(2) == 0);
        let is_learned = random.below(16) == 0;
        let outcome = catch_unwind(|| match options(missing, skip_bad) {
            options if is_learned => learn(&path, options),
            options => read(&path, options),
        });
        let taken = outcome.unwrap_or_else(|panic| {
            let kept = std::env::temp_dir().join(format!("tamis-damaged-{seed}-{case}.{name}{compression}"));
            std::fs::write(&kept, &bytes).unwrap();
            drop(std::panic::take_hook());
            let text = panic.downcast_ref::<String>().map_or("a panic", String::as_str);
            panic!("case {case} of seed {seed}: {text}; the file is {}", kept.display());
        });
        counts.entry(name.to_string()).or_default()[usize::from(taken.is_err())] += 1;
        assert!(taken.is_ok() || taken.is_err_and(|text| text.len() > 10), "case {case} of seed {seed}: no message");
        if case % 64 == 0 && started.elapsed() > time {
            break;
        }
    }
    PROGRESS.store(u64::MAX, Ordering::Relaxed);
    drop(std::panic::take_hook());
    let counts = counts.iter().map(|(name, [taken, refused])| format!("{name} {taken} taken, {refused} refused"));
    writeln!(std::io::stderr(), "formats: {}", counts.collect::<Vec<_>>().join("; ")).ok();
}
