//! The golden cases: a name that stays, and the command lines, which follow the program's flags.

/// A case: command lines run one after the other in one folder.
pub struct Case {
    pub name: &'static str,
    pub lines: Vec<String>,
}

/// Shows a model with all its features.
pub const INSPECT: &str = "inspect --json --top 0";

/// A command line that begins with this must fail with exit code 2.
pub const FAILS: &str = "fails: ";

/// Added to each line of [`FITS`].
const FIT: &str = "--quiet --json --out m.json";

/// Added to each line of [`FITS`] but for those of `stabilized-published`, which saves no checkpoint.
const SAVE: &str = "--checkpoint c.tamis";

/// Trainings from the beginning to the end: the model, the checkpoint and the output are recorded.
const FITS: &[(&str, &str)] = &[
    ("sgd", "two.svm --method sgd --passes 1"),
    (
        "sgd, constant rate, averaged, hinge",
        "two.svm --method sgd --schedule constant --learning-rate 0.05 --average --loss hinge --passes 3",
    ),
    ("sgd, numbers, huber, max-abs", "numbers.svm --method sgd --loss huber --scale max-abs --schedule inverse-sqrt"),
    ("sgd, table", "table.csv --target kind --ignore id,price --method sgd --schedule adagrad"),
    ("truncated-gradient", "two.svm --method truncated-gradient"),
    (
        "truncated-gradient, period, threshold",
        "two.svm --method truncated-gradient --schedule constant --l1 0.02 --period 5 --threshold 0.5 --passes 3",
    ),
    (
        "truncated-gradient, numbers, no scaling",
        "numbers.svm --method truncated-gradient --scale none --learning-rate 0.02 --l1 0.01",
    ),
    ("rounding", "two.svm --method rounding --period 10 --threshold 0.05 --passes 3"),
    ("fobos", "two.svm --method fobos --l1 0.005"),
    (
        "fobos, l2, power rate",
        "two.svm --method fobos --l1 0.001 --l2 0.01 --schedule power --power 0.7 --loss squared-hinge",
    ),
    ("fobos, three classes, k, refit", "three.svm --method fobos --k 20 --refit --passes 3"),
    ("rda", "two.svm --method rda --passes 1"),
    (
        "rda, l2, numbers, unit variance",
        "numbers.svm --method rda --l2 0.01 --gamma 3 --rda-rho 0.005 --scale unit-variance --passes 3",
    ),
    ("ftrl", "two.svm --method ftrl"),
    ("ftrl, one pass, averaged", "two.svm --method ftrl --average --passes 1"),
    ("ftrl, l2, k, refit", "two.svm --method ftrl --l2 0.5 --beta 0.5 --k 15 --refit"),
    ("ftrl, three classes of words", "words.jsonl --method ftrl --passes 3"),
    ("ftrl, hashed, no intercept", "words.jsonl --method ftrl --hash-bits 7 --no-intercept --seed 3"),
    ("ftrl, numbers, in order", "numbers.svm --method ftrl --passes 3 --no-shuffle --scale sqrt-std"),
    ("ftrl, table, numbers", "table.csv --target price --ignore id,kind --method ftrl --l1 0.1"),
    ("ftrl, validated", "two.svm --method ftrl --l1 3 --validate new.svm"),
    ("tsgd", "two.svm --method tsgd --k 12"),
    ("fofs", "two.svm --method fofs --k 12 --fofs-lambda 0.02"),
    ("sofs", "two.svm --method sofs --k 12 --sofs-r 0.5"),
    ("sofs, three classes", "three.svm --method sofs --k 12 --passes 1"),
    ("sadmm", "two.svm --method sadmm --l1 0.005 --admm-rho 0.5 --passes 3"),
    ("single-stage", "two.svm --method single-stage --radius 3"),
    ("single-stage, three classes, clipped", "three.svm --method single-stage --loss clipped-squared --passes 3"),
    ("two-stage", "two.svm --method two-stage"),
    ("two-stage, k", "two.svm --method two-stage --k 15"),
    ("two-stage, three classes", "three.svm --method two-stage --passes 3"),
    (
        "two-stage, numbers, magnitude, no refinement",
        "numbers.svm --method two-stage --sampling weight --n-draws 25 --refine 0 --passes 1",
    ),
    (
        "two-stage, epsilon, delta",
        "two.svm --method two-stage --radius 2 --epsilon 0.05 --delta 0.1 --first-epoch-steps 50",
    ),
    ("stabilized", "two.svm"),
    ("stabilized, one pass", "two.svm --passes 1"),
    ("stabilized, k", "two.svm --k 9 --seed 7"),
    ("stabilized, numbers", "numbers.svm"),
    ("stabilized, three classes", "three.svm --passes 3"),
    ("stabilized, words, paths", "words.jsonl --n-paths 8 --k 12 --passes 3"),
    ("stabilized, hinge", "two.svm --loss hinge --scale unit-variance --passes 3"),
    ("stabilized, row numbers as keys", "two.svm --row-id #row --passes 3"),
    ("stabilized, table with keys", "table.csv --target kind --ignore price --row-id id"),
];

/// The published form of stabilized, with the same outputs but for the checkpoint.
const PUBLISHED: &[(&str, &str)] = &[
    ("published stabilized", "two.svm --method stabilized-published --passes 1"),
    ("published stabilized, settings", "two.svm --method stabilized-published --passes 3 --burst 5 --cutoff 0.7"),
];

/// Ways to solve the moments of `two.svm` and of `table.csv`, which have four folds; the model and the output are recorded.
const SOLVES: &[(&str, &str)] = &[
    ("solve ols", "table.moments --method ols"),
    ("solve ridge", "two.moments --method ridge --lambda 0.01"),
    ("solve ols-th by k", "two.moments --method ols-th --k 12 --path"),
    ("solve ofsa by k", "two.moments --method ofsa --k 12"),
    ("solve by bic with no method set", "two.moments --method ofsa --criterion bic"),
    ("solve ofsa by cv", "table.moments --method ofsa --criterion cv --path"),
    ("solve lasso by penalty", "two.moments --method lasso --lambda 0.03"),
    ("solve lasso by cv, refit", "table.moments --method lasso --criterion cv --refit"),
    ("solve elastic-net by aic", "table.moments --method elastic-net --criterion aic --l1-ratio 0.7 --path"),
    ("solve mcp by ebic", "two.moments --method mcp --criterion ebic"),
    ("solve scad by k, refit", "table.moments --method scad --k 4 --refit"),
    ("solve scad by bic", "two.moments --method scad --criterion bic --concavity 4"),
];

/// Everything else, line by line: all files and all outputs are recorded.
const OTHERS: &[(&str, &[&str])] = &[
    ("moments of classes", &["moments three.svm -o a.moments --json --quiet"]),
    (
        "moments of products",
        &[
            "moments table.csv --target price --ignore id,kind --interactions -o a.moments --json --quiet",
            "solve a.moments --method ofsa --k 5 --json --out m.json",
        ],
    ),
    (
        "moments that forget, screened",
        &[
            "moments numbers.svm --decay 0.01 --screen 40 -o a.moments --json --quiet",
            "solve a.moments --method ofsa --k 6 --out m.json --json",
        ],
    ),
    (
        "moments merged and subtracted",
        &[
            "moments two.svm -o a.moments --quiet",
            "moments new.svm --features-of a.moments -o b.moments --quiet",
            "moments merge a.moments b.moments -o both.moments --quiet",
            "moments subtract both.moments a.moments -o rest.moments --quiet",
            "moments info both.moments --json",
            "solve both.moments --method lasso --criterion bic --json --out m.json",
        ],
    ),
    (
        "metric chosen by cross-validation",
        &[
            "metric fit table.csv --target kind --ignore id,price,colour,shape -o a.metric --json --quiet --max-iter 15 --repeats 1 --folds 3",
            "metric eval a.metric new-table.csv --target kind --ignore id,price,colour,shape --json",
            "metric transform a.metric new-table.csv --target kind --ignore id,price,colour,shape",
        ],
    ),
    (
        "metric of order 2",
        &[
            "metric fit table.csv --target kind --ignore id,price -o a.metric --json --quiet --candidate order-2 --max-iter 20",
            "metric predict a.metric new-table.csv --target kind --ignore id,price",
        ],
    ),
    ("tune penalties", &["tune two.svm --method ftrl --l1 0.3,3,30 --folds 4 --json --quiet --out m.json"]),
    (
        "tune stabilized and losses",
        &[
            "tune two.svm --loss hinge,logistic --k 10 --passes 3 --folds 3 --rule min --measure error --json --quiet --out m.json",
        ],
    ),
    (
        "tune numbers on a grid",
        &[
            "tune numbers.svm --method rda --grid l1=0.01,0.1 --grid scale=none,auto --passes 3 --json --quiet --out m.json",
        ],
    ),
    ("stability of ftrl", &["stability two.svm --method ftrl --runs 4 --passes 3 --json --quiet --top 0"]),
    (
        "stability by order",
        &["stability numbers.svm --method two-stage --k 10 --runs 3 --by order --json --quiet --top 0"],
    ),
    (
        "stability of stabilized by seed",
        &["stability two.svm --k 8 --passes 3 --runs 3 --by seed --json --quiet --top 0"],
    ),
    (
        "other sizes",
        &[
            "fit two.svm --quiet --out m.json",
            "resize m.json --k 5 --out five.json --json",
            "resize m.json --k 14 --out fourteen.json --json",
            "resize m.json --frequency 0.7 --out stable.json --json",
        ],
    ),
    (
        "other sizes, three classes",
        &["fit three.svm --passes 3 --quiet --out m.json", "resize m.json --k 7 --out seven.json --json"],
    ),
    (
        "predictions of two classes",
        &["fit two.svm --quiet --out m.json", "predict m.json new.svm --output all", "eval m.json new.svm --json"],
    ),
    (
        "predictions of words",
        &[
            "fit words.jsonl --method ftrl --passes 3 --quiet --out m.json",
            "predict m.json words.jsonl --output all",
            "eval m.json words.jsonl --json",
        ],
    ),
    (
        "predictions of numbers",
        &[
            "fit numbers.svm --method rda --quiet --out m.json",
            "predict m.json new-numbers.svm",
            "eval m.json new-numbers.svm --json",
        ],
    ),
    (
        "predictions of a table",
        &[
            "fit table.csv --target kind --ignore id,price --quiet --out m.json",
            "predict m.json new-table.csv --output all",
            "eval m.json new-table.csv --json",
        ],
    ),
    ("interrupted ftrl", &INTERRUPTED_FTRL),
    ("interrupted averaged truncated-gradient", &INTERRUPTED_GRADIENT),
    ("interrupted sofs", &INTERRUPTED_SOFS),
    (
        "ftrl continues with new data",
        &["fit two.svm --method ftrl --passes 3 --quiet --out a.json --checkpoint a.tamis", GO_ON],
    ),
    (
        "averaged sgd continues with new data",
        &[
            "fit two.svm --method sgd --average --passes 1 --scale max-abs --quiet --out a.json --checkpoint a.tamis",
            GO_ON,
        ],
    ),
    (
        "stabilized continues with new data",
        &["fit two.svm --passes 3 --warm-start-decay 0.3 --quiet --out a.json --checkpoint a.tamis", GO_ON],
    ),
];

const INTERRUPTED_FTRL: [&str; 2] =
    ["fails: fit broken.svm --method ftrl --passes 1 --out m.json --checkpoint c.tamis --checkpoint-every 700", RESUME];

const INTERRUPTED_GRADIENT: [&str; 2] = [
    "fails: fit broken.svm --method truncated-gradient --average --passes 1 --out m.json --checkpoint c.tamis --checkpoint-every 700",
    RESUME,
];

const INTERRUPTED_SOFS: [&str; 2] = [
    "fails: fit broken.svm --method sofs --k 15 --passes 1 --out m.json --checkpoint c.tamis --checkpoint-every 700",
    RESUME,
];

const RESUME: &str = "fit long.svm --resume c.tamis --quiet --json --out m.json";

const GO_ON: &str = "fit new.svm --resume a.tamis --quiet --json --out b.json --checkpoint b.tamis";

/// Cases that are run with one thread and with two.
pub const ON_THREADS: [&str; 6] = [
    "stabilized, three classes",
    "ftrl, three classes of words",
    "two-stage",
    "solve lasso by cv, refit",
    "tune penalties",
    "stability of ftrl",
];

pub fn all() -> Vec<Case> {
    let moments = [
        "moments two.svm --folds 4 --quiet -o two.moments",
        "moments table.csv --target price --ignore id,kind --folds 4 --quiet -o table.moments",
    ];
    let fits = FITS.iter().map(|(name, line)| Case { name, lines: vec![format!("fit {line} {FIT} {SAVE}")] });
    let published = PUBLISHED.iter().map(|(name, line)| Case { name, lines: vec![format!("fit {line} {FIT}")] });
    let solves = SOLVES.iter().map(|(name, line)| {
        let solve = format!("solve {line} --json --out m.json");
        Case { name, lines: moments.iter().map(ToString::to_string).chain([solve]).collect() }
    });
    let others =
        OTHERS.iter().map(|(name, lines)| Case { name, lines: lines.iter().map(ToString::to_string).collect() });
    fits.chain(published).chain(solves).chain(others).collect()
}
