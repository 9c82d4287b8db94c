//! Data files with bytes changed, in every format and compression, through every command that reads data.

use super::common::{Folder, Random, csv, rows, svm, vw};
use super::compressed::compressed;
use super::watch::run;
use super::{Campaign, pick};

const COMMANDS: [&str; 16] = [
    "fit DATA --method ftrl -q -o m.json",
    "fit DATA --method sgd --passes 2 -q -o m.json",
    "fit DATA --method two-stage --passes 1 -q -o m.json",
    "fit DATA --method stabilized --passes 1 -q -o m.json",
    "fit DATA --method fobos --hash-bits 4 -q -o m.json",
    "fit DATA --method sofs --k 3 --missing zero -q -o m.json",
    "fit DATA --method ftrl --on-error skip --missing skip-row -q -o m.json",
    "predict p.json DATA",
    "predict p.json DATA --on-error skip --missing zero --json",
    "eval p.json DATA --on-error skip",
    "report p.json --data DATA -q -o r.html",
    "moments DATA -q --folds 2 -o m.moments",
    "moments DATA -q --task multiclass --on-error skip -o m.moments",
    "convert DATA m.jsonl",
    "convert DATA m.parquet",
    "metric fit DATA -q --candidate order-1 --max-iter 3 -o m.metric",
];

/// Pieces of text that parsers stumble over.
const PIECES: [&str; 24] = [
    "nan",
    "inf",
    "-inf",
    "1e308",
    "-1e308",
    "5e-324",
    "1e400",
    "-0",
    "18446744073709551616",
    "4294967295",
    "\"",
    "\"\"",
    ",",
    "\n",
    "\r\n",
    "\0",
    ":",
    "|",
    "{",
    "}",
    "null",
    "é",
    "\u{202e}",
    "  ",
];

fn base(folder: &Folder) -> Vec<(String, Vec<u8>)> {
    let some = rows(60, 12, 4, 2, 1);
    folder.write("b.svm", svm(&some)).write("b.vw", vw(&some)).write("b.csv", csv(&some, 12));
    folder.write("b.tsv", csv(&some, 12).replace(',', "\t"));
    folder.write("words.csv", "y,town,plan,x\nyes,Rome,\"a, b\",1.5\nno,Oslo,c,2\nyes,Bern,\"d\"\"e\",-3\n".repeat(15));
    for (from, to) in [
        ("b.svm", "b.jsonl"),
        ("b.svm", "b.parquet"),
        ("b.vw", "names.parquet"),
        ("b.svm", "b.arrow"),
        ("b.svm", "b.npz"),
    ] {
        folder.ok(&format!("convert {from} {to}"));
    }
    folder.ok("convert words.csv words.arrow");
    folder.ok("fit b.svm --method ftrl -q -o p.json");
    let names = [
        "b.svm",
        "b.vw",
        "b.csv",
        "b.tsv",
        "words.csv",
        "b.jsonl",
        "b.parquet",
        "names.parquet",
        "b.arrow",
        "words.arrow",
        "b.npz",
    ];
    names.map(|name| (name.to_string(), folder.read(name))).to_vec()
}

/// Bytes with a few changes.
pub fn mutated(mut bytes: Vec<u8>, random: &mut Random) -> Vec<u8> {
    for _ in 0..1 + random.uniform_below(4) {
        let length = bytes.len() as u64;
        if length == 0 {
            break;
        }
        let at = random.uniform_below(length) as usize;
        let end = (at + 1 + random.uniform_below(24) as usize).min(bytes.len());
        match random.uniform_below(7) {
            0 => bytes[at] ^= 1 << random.uniform_below(8),
            1 => bytes[at] = random.uniform_below(256) as u8,
            2 => drop(bytes.drain(at..end)),
            3 => bytes.truncate(at),
            4 => {
                let copy = bytes[at..end].to_vec();
                let to = random.uniform_below(length) as usize;
                bytes.splice(to..to, copy);
            }
            _ => {
                let piece = PIECES[random.uniform_below(PIECES.len() as u64) as usize];
                let stop = if random.uniform_below(2) == 0 { at } else { end.min(at + piece.len()) };
                bytes.splice(at..stop, piece.bytes());
            }
        }
    }
    bytes
}

#[test]
fn inputs() {
    let mut campaign = Campaign::new("inputs");
    let folder = Folder::new();
    let files = base(&folder);
    while let Some((case, mut random)) = campaign.next() {
        let (name, bytes) = &files[random.uniform_below(files.len() as u64) as usize];
        let extension = pick(&mut random, &["", "", "", ".gz", ".zst", ".bz2", ".xz"]);
        // Mostly the content is changed and the compression is right; sometimes the compressed bytes are changed.
        let bytes = if random.uniform_below(8) == 0 {
            mutated(compressed(bytes, extension), &mut random)
        } else {
            compressed(&mutated(bytes.clone(), &mut random), extension)
        };
        let data = format!("t{}{extension}", &name[name.rfind('.').unwrap()..]);
        folder.write(&data, bytes);
        let command = pick(&mut random, &COMMANDS);
        let line = command.replace("DATA", &data);
        let outcome = run(&folder, &line, &case);
        if outcome.is_ok() && command.contains("-o m.json") {
            assert!(run(&folder, "inspect m.json", &case).is_ok(), "{case}: {line}: unreadable");
        }
        if outcome.is_ok() && command.contains("-o m.moments") {
            assert!(run(&folder, "moments info m.moments", &case).is_ok(), "{case}: {line}: unreadable");
        }
        if outcome.is_ok() && command.contains("m.jsonl") {
            let back = run(&folder, "convert m.jsonl back.jsonl", &case);
            assert!(back.is_ok(), "{case}: {line}: what was written cannot be read: {}", back.err);
        }
        campaign.count(format!("{} {}", name.rsplit('.').next().unwrap(), outcome.word()));
        std::fs::remove_file(folder.path(&data)).unwrap();
    }
    campaign.report();
}
