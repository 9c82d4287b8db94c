//! Too little room: memory, disk, file size, open files, a folder that is gone. An error, and the old file is whole.

use super::common::{Folder, rows, svm};
use super::watch::shell;
use super::{Campaign, pick};

/// Lines of shell that take room away from the command after them.
const LIMITS: [&str; 6] = [
    "ulimit -v 150000",
    "ulimit -v 60000",
    "trap '' XFSZ; ulimit -f 1",
    "trap '' XFSZ; ulimit -f 8",
    "ulimit -n 12",
    "export TMPDIR=/nowhere",
];
const COMMANDS: [(&str, &str); 11] = [
    ("fit a.svm --method ftrl -q -o m.json", "m.json"),
    ("fit a.svm --method ftrl --passes 2 --memory 1K -q -o m.json", "m.json"),
    ("fit a.svm --method sgd --checkpoint m.st --checkpoint-every 100 -q -o m.json", "m.st"),
    ("fit a.svm --method stabilized --memory 1K --checkpoint m.st --checkpoint-every 100 -q -o m.json", "m.json"),
    ("fit a.parquet.zst --method ftrl -q -o m.json", "m.json"),
    ("fit a.svm.xz --method two-stage --report m.html -q -o m.json", "m.json"),
    ("moments a.svm -q -o m.moments", "m.moments"),
    ("convert a.svm m.jsonl", "m.jsonl"),
    ("convert a.svm m.parquet", "m.parquet"),
    ("predict p.json a.svm -o m.txt", "m.txt"),
    ("report p.json --data a.svm -q -o m.html", "m.html"),
];

fn data(folder: &Folder) {
    folder.write("a.svm", svm(&rows(1500, 400, 9, 2, 1)));
    folder.ok("convert a.svm a.parquet");
    folder.write("a.parquet.zst", zstd::encode_all(&folder.read("a.parquet")[..], 1).unwrap());
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
    std::io::Write::write_all(&mut encoder, folder.text("a.svm").as_bytes()).unwrap();
    folder.write("a.svm.xz", encoder.finish().unwrap());
    folder.ok("fit a.svm --method ftrl -q -o p.json");
}

#[test]
fn limits() {
    let mut campaign = Campaign::new("limits");
    let folder = Folder::new();
    data(&folder);
    let names = folder.names();
    while let Some((case, mut random)) = campaign.next() {
        let (command, output) = COMMANDS[random.uniform_below(COMMANDS.len() as u64) as usize];
        let limit = pick(&mut random, &LIMITS);
        folder.write(output, "the old file");
        let line = format!("{limit}; exec $TAMIS {command}");
        let outcome = shell(&folder, &line, &case);
        // An allocation that fails ends the program by a signal (or the loader does, before it starts); the files stay.
        let no_memory = limit.contains("-v");
        assert!(matches!(outcome.code, Some(0 | 2)) || no_memory, "{case}: {line}: {:?} {}", outcome.code, outcome.err);
        if !outcome.is_ok() && output != "m.st" {
            assert_eq!(folder.text(output), "the old file", "{case}: {line}: {}", outcome.err);
        }
        if outcome.code.is_some() {
            let left: Vec<String> = folder.names().into_iter().filter(|name| name.starts_with(".tamis-")).collect();
            assert!(left.is_empty(), "{case}: {line} left {left:?}");
        }
        campaign.count(outcome.word());
        for name in folder.names().into_iter().filter(|name| !names.contains(name)) {
            std::fs::remove_file(folder.path(&name)).ok();
        }
    }
    campaign.report();
}
