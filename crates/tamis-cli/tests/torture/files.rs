//! Files that the program writes, with their content changed and the checksum made right again: what a stranger could
//! hand over. They are refused or used; nothing panics and nothing runs for ever.

use std::collections::BTreeMap;
use std::time::Instant;

use safetensors::Dtype;
use serde_json::{Value, json};
use tamis::data::tensor_file::{Arrays, TensorFile};

use super::Campaign;
use super::common::{Folder, Random, rows, svm};
use super::watch::{finish, run, signal, start};

/// Numbers that break assumptions.
const NUMBERS: [f64; 14] = [
    0.0,
    -0.0,
    -1.0,
    0.5,
    1e300,
    -1e300,
    5e-324,
    4_294_967_296.0,
    1e19,
    2.0,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    1e15,
];

/// A file, its kind, and the commands that take it as `FILE`.
struct Target {
    name: &'static str,
    kind: &'static str,
    commands: &'static [&'static str],
}

const TARGETS: [Target; 17] = [
    Target { name: "ftrl.json", kind: "", commands: OF_MODELS },
    Target { name: "stab.json", kind: "", commands: OF_MODELS },
    Target { name: "three.json", kind: "", commands: OF_MODELS },
    Target { name: "kernel.json", kind: "", commands: OF_MODELS },
    Target { name: "ftrl.st", kind: "tamis-checkpoint", commands: OF_CHECKPOINTS },
    Target { name: "avg.st", kind: "tamis-checkpoint", commands: OF_CHECKPOINTS },
    Target { name: "sgd.st", kind: "tamis-checkpoint", commands: OF_CHECKPOINTS },
    Target { name: "three.st", kind: "tamis-checkpoint", commands: OF_CHECKPOINTS },
    Target { name: "two-stage.st", kind: "tamis-checkpoint", commands: OF_CHECKPOINTS },
    Target { name: "stab.st", kind: "tamis-checkpoint", commands: OF_CHECKPOINTS },
    Target { name: "kernel.st", kind: "tamis-checkpoint", commands: OF_CHECKPOINTS },
    Target { name: "begun-ftrl.st", kind: "tamis-checkpoint", commands: OF_CHECKPOINTS },
    Target { name: "begun-three.st", kind: "tamis-checkpoint", commands: OF_CHECKPOINTS },
    Target { name: "begun-two-stage.st", kind: "tamis-checkpoint", commands: OF_CHECKPOINTS },
    Target { name: "begun-stab.st", kind: "tamis-checkpoint", commands: OF_CHECKPOINTS },
    Target { name: "a.moments", kind: "tamis-moments", commands: OF_MOMENTS },
    Target { name: "a.metric", kind: "tamis-metric", commands: OF_METRICS },
];

const OF_MODELS: &[&str] = &[
    "inspect FILE",
    "predict FILE a.svm",
    "eval FILE a.svm",
    "report FILE --data a.svm -q -o r.html",
    "resize FILE --k 2 -q -o o.json",
    "convert FILE o.csv",
];
const OF_CHECKPOINTS: &[&str] =
    &["fit a.svm -q -o o.json --resume FILE", "fit b.svm -q -o o.json --resume FILE", "report FILE -q -o r.html"];
const OF_MOMENTS: &[&str] = &[
    "moments info FILE",
    "solve FILE -q -o o.json",
    "solve FILE --method ols -q -o o.json",
    "solve FILE --method ols-th --k 3 -q -o o.json",
    "solve FILE --method ofsa --k 3 -q -o o.json",
    "solve FILE --method ridge --lambda 0.1 -q -o o.json",
    "solve FILE --method lasso --criterion cv --path -q -o o.json",
    "solve FILE --method scad --k 2 -q -o o.json",
    "moments merge FILE b.moments -q -o o.moments",
    "moments subtract b.moments FILE -q -o o.moments",
    "report FILE -q -o r.html",
];
const OF_METRICS: &[&str] = &[
    "metric show FILE",
    "metric predict FILE s.svm",
    "metric eval FILE s.svm",
    "metric transform FILE s.svm",
    "report FILE -q -o r.html",
];

fn data(folder: &Folder) {
    folder.write("a.svm", svm(&rows(300, 15, 5, 2, 1))).write("b.svm", svm(&rows(300, 15, 5, 2, 2)));
    folder.write("three.svm", svm(&rows(300, 15, 5, 3, 1))).write("s.svm", svm(&rows(60, 6, 3, 2, 1)));
    let fits = [
        ("a.svm --method ftrl", "ftrl"),
        ("a.svm --method ftrl --average --scale max-abs", "avg"),
        ("a.svm --method sgd", "sgd"),
        ("three.svm --method ftrl", "three"),
        ("a.svm --method two-stage --passes 3", "two-stage"),
        ("a.svm", "stab"),
        ("a.svm --method kernel --inputs z-score --family mixed --n-fourier 50 --k 2", "kernel"),
    ];
    for (options, name) in fits {
        folder.ok(&format!("fit {options} -q -o {name}.json --checkpoint {name}.st"));
    }
    for (options, name) in [fits[0], fits[3], fits[4], fits[5]] {
        interrupt(
            folder,
            &format!("fit {options} --seed 1 -q -o begun.json --checkpoint begun-{name}.st --checkpoint-every 40"),
        );
    }
    for name in ["a", "b"] {
        folder.ok(&format!("moments {name}.svm --task regression --folds 3 -q -o {name}.moments"));
    }
    folder.ok("metric fit s.svm -q --candidate order-1 --max-iter 5 -o a.metric");
}

/// Leaves the checkpoint of a training that was interrupted.
fn interrupt(folder: &Folder, line: &str) {
    let started = Instant::now();
    run(folder, line, line);
    let whole = started.elapsed();
    for attempt in 1..=40 {
        let checkpoint = line.split(' ').find(|word| word.ends_with(".st")).expect("a checkpoint");
        std::fs::remove_file(folder.path(checkpoint)).ok();
        let child = start(folder, line);
        std::thread::sleep(whole.mul_f64(f64::from(attempt % 20) / 20.0));
        signal(&child, "INT");
        let outcome = finish(folder, child, line, line);
        if outcome.code == Some(130) && folder.path(checkpoint).exists() {
            return;
        }
    }
    panic!("{line}: it was never interrupted after its first checkpoint");
}

/// Changes one value somewhere in JSON.
fn change(value: &mut Value, random: &mut Random) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let key = map.keys().nth(random.uniform_below(map.len() as u64) as usize).unwrap().clone();
            match random.uniform_below(12) {
                0 => drop(map.remove(&key)),
                _ => change(map.get_mut(&key).unwrap(), random),
            }
        }
        Value::Array(list) if !list.is_empty() => {
            let at = random.uniform_below(list.len() as u64) as usize;
            match random.uniform_below(8) {
                0 => drop(list.remove(at)),
                1 => list.push(list[at].clone()),
                2 => list.clear(),
                3 => list.reverse(),
                _ => change(&mut list[at], random),
            }
        }
        Value::Bool(flag) => *flag = !*flag,
        Value::Number(_) => {
            *value = match random.uniform_below(3) {
                0 => json!([0_u64, 1, 2, 3, 7, 255, 4_294_967_295, u64::MAX][random.uniform_below(8) as usize]),
                1 => json!(-1),
                _ => json!(NUMBERS[random.uniform_below(10) as usize]),
            };
        }
        Value::String(text) => match random.uniform_below(4) {
            0 => text.clear(),
            1 => text.push_str("\u{1b}x"),
            2 => *value = json!(1),
            _ => *text = text.repeat(3),
        },
        other => *other = json!("x"),
    }
}

fn changed_model(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let envelope: Value = serde_json::from_slice(bytes).unwrap();
    let mut body = envelope["body"].clone();
    (0..1 + random.uniform_below(3)).for_each(|_| change(&mut body, random));
    let body = body.to_string();
    let sum = crc32fast::hash(body.as_bytes());
    format!("{{\"format\":\"tamis-model\",\"version\":2,\"checksum\":\"crc32:{sum:08x}\",\"body\":{body}}}")
        .into_bytes()
}

fn changed_tensors(bytes: &[u8], kind: &'static str, random: &mut Random) -> Vec<u8> {
    let file = TensorFile { name: kind, version: 1 };
    let (json, views) = file.read(bytes).expect("a file of the program");
    let mut header: Value = serde_json::from_str(&json).unwrap();
    let mut arrays: Arrays =
        views.iter().map(|(name, view)| (name.clone(), (view.dtype(), view.data().to_vec()))).collect();
    for _ in 0..1 + random.uniform_below(3) {
        let names: Vec<String> = arrays.keys().cloned().collect();
        match random.uniform_below(3) {
            0 => change(&mut header, random),
            _ => change_array(&names[random.uniform_below(names.len() as u64) as usize], &mut arrays, random),
        }
    }
    file.write(&header.to_string(), &arrays)
}

fn change_array(name: &str, arrays: &mut BTreeMap<String, (Dtype, Vec<u8>)>, random: &mut Random) {
    let (dtype, bytes) = arrays.get_mut(name).unwrap();
    let width = match dtype {
        Dtype::F64 => 8,
        Dtype::F32 => 4,
        _ => {
            let Ok(mut value) = serde_json::from_slice::<Value>(bytes) else { return };
            change(&mut value, random);
            *bytes = value.to_string().into_bytes();
            return;
        }
    };
    let length = (bytes.len() / width) as u64;
    match random.uniform_below(8) {
        0 => drop(arrays.remove(name)),
        1 => bytes.truncate(width * random.uniform_below(length + 1) as usize),
        2 => bytes.extend_from_within(..width.min(bytes.len())),
        _ if length == 0 => {}
        _ => {
            let (at, number) =
                (width * random.uniform_below(length) as usize, NUMBERS[random.uniform_below(14) as usize]);
            match width {
                8 => bytes[at..at + 8].copy_from_slice(&number.to_le_bytes()),
                _ => bytes[at..at + 4].copy_from_slice(&(number as f32).to_le_bytes()),
            }
        }
    }
}

#[test]
fn files() {
    let mut campaign = Campaign::new("files");
    let folder = Folder::new();
    data(&folder);
    let originals: Vec<Vec<u8>> = TARGETS.iter().map(|target| folder.read(target.name)).collect();
    while let Some((case, mut random)) = campaign.next() {
        let at = random.uniform_below(TARGETS.len() as u64) as usize;
        let target = &TARGETS[at];
        let bytes = match target.kind {
            "" => changed_model(&originals[at], &mut random),
            kind => changed_tensors(&originals[at], kind, &mut random),
        };
        folder.write(target.name, &bytes);
        let command = target.commands[random.uniform_below(target.commands.len() as u64) as usize];
        std::fs::remove_file(folder.path("o.json")).ok();
        let outcome = run(&folder, &command.replace("FILE", target.name), &case);
        if outcome.is_ok() && folder.path("o.json").exists() {
            let read = run(&folder, "inspect o.json", &case);
            assert!(read.is_ok(), "{case}: {command} wrote what cannot be read: {}", read.err);
        }
        campaign.count(format!("{} {}", target.name, outcome.word()));
        folder.write(target.name, &originals[at]);
    }
    campaign.report();
}
