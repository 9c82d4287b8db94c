"""LIBLINEAR (through scikit-learn) on the data of an experiment, by the protocol of the experiment: `peers.toml`.

    .venv-bench/bin/python experiments/peers.py experiments/ma2016_stabilized [--data DIR] [--tamis PROGRAM]

Settings by cross-validation on training rows, over the very folds `tamis` uses; then orderings of all training rows,
each tested once. LIBLINEAR is a batch method: were it run to the optimum, the order would not matter; its kappa tells
how far from there it stops.
`loss = "logistic"` is L1-regularised logistic regression, `loss = "hinge"` the L1-regularised squared-hinge machine (its
hinge is only to be had with L2). Columns are divided by their standard deviation if the experiment says unit-variance.
"""

import argparse
import itertools
import os
import subprocess
import tempfile
import tomllib
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import diags
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score
from sklearn.svm import LinearSVC

MASK = (1 << 64) - 1
STRENGTHS = [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]
ENDINGS = ["", ".zst", ".gz", ".xz", ".bz2"]


def mix(number):
    """SplitMix64's finalizer, as in crates/tamis/src/rng.rs."""
    number = (number + 0x9E3779B97F4A7C15) & MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & MASK
    return number ^ (number >> 31)


def fold_of(row, folds, seed):
    """The fold of a row, as in crates/tamis/src/data/splits.rs."""
    key = (mix(mix(seed) ^ 0x666F6C64) + folds) & MASK
    return (mix(mix(key) ^ mix(row)) * folds) >> 64


def load(program, folder, name, columns):
    """Rows and labels of a file, or None if it is not there."""
    found = [folder / (name + ending) for ending in ENDINGS if (folder / (name + ending)).is_file()]
    if not found:
        return None
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "data.svm"
        subprocess.run([program, "convert", found[0], plain], check=True)
        rows, labels = load_svmlight_file(str(plain), n_features=columns)
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return rows, labels


def scaled(train, test):
    """Both divided by the standard deviations of the training columns."""
    mean = np.asarray(train.mean(axis=0)).ravel()
    variance = np.asarray(train.multiply(train).mean(axis=0)).ravel() - mean**2
    divide = diags(1.0 / np.sqrt(np.where(variance > 1e-12, variance, 1.0)))
    return (train @ divide).tocsr(), (test @ divide).tocsr()


def learner(loss, strength, seed):
    if loss == "hinge":
        return LinearSVC(penalty="l1", dual=False, C=strength, random_state=seed, max_iter=2000)
    return LogisticRegression(l1_ratio=1.0, solver="liblinear", C=strength, random_state=seed, max_iter=300)


def wrong(fitted, rows, labels):
    return float(np.mean(fitted.predict(rows) != labels))


def tuned(loss, rows, labels, protocol):
    """The strength of least error over the folds; the sparser of equals."""
    folds, seed = protocol.get("folds", 5), protocol.get("seed", 0)
    dealt = np.array([fold_of(row, folds, seed) for row in range(len(labels))])
    found = []
    for strength in STRENGTHS:
        errors, sizes = [], []
        for fold in range(folds):
            fitted = learner(loss, strength, 0).fit(rows[dealt != fold], labels[dealt != fold])
            errors.append(wrong(fitted, rows[dealt == fold], labels[dealt == fold]) * np.mean(dealt == fold))
            sizes.append(np.count_nonzero(fitted.coef_))
        found.append((sum(errors), np.mean(sizes), strength))
    return min(found)[2]


def cell(loss, train, test, protocol):
    """The values of a cell, named as tamis-experiments names them."""
    (rows, labels), (test_rows, test_labels) = train, test
    strength = tuned(loss, rows, labels, protocol)
    errors, sets = [], []
    for run in range(protocol.get("runs", 10)):
        order = np.random.default_rng(run).permutation(len(labels))
        fitted = learner(loss, strength, run).fit(rows[order], labels[order])
        errors.append(100 * wrong(fitted, test_rows, test_labels))
        sets.append(fitted.coef_[0] != 0)
    sizes = [100 * float(np.mean(chosen)) for chosen in sets]
    kappas = [cohen_kappa_score(*pair) if any(map(np.any, pair)) else 1.0 for pair in itertools.combinations(sets, 2)]
    spread = lambda values: [float(np.mean(values)), float(np.std(values, ddof=1))]
    values = {"error": spread(errors), "nonzero": spread(sizes), "kappa": [float(np.mean(kappas))]}
    return {"setting": f"C {strength:g}", **values}


def written(cells):
    lines = ["# Made by experiments/peers.py: scikit-learn's LIBLINEAR, by the protocol of expected.toml.\n"]
    for key, values in sorted(cells.items()):
        lines.append(f'["{key}"]')
        lines.append(f'setting = "{values["setting"]}"')
        lines += [f"{name} = {value}" for name, value in values.items() if name != "setting"]
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("experiment", type=Path)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("TAMIS_DATA", "../shared/data")))
    parser.add_argument("--tamis", default=os.environ.get("TAMIS_BIN", "target/release/tamis"))
    parser.add_argument("--run", default="liblinear", help="the name of the run in expected.toml")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")  # "failed to converge" within the iterations given
    plan = tomllib.loads((arguments.experiment / "expected.toml").read_text())
    tables = [table for table in plan["tables"].values() if arguments.run in table["columns"]]
    wanted = {(row["data"], row["set"]["loss"]) for table in tables for row in table.get("rows", [])}
    cells = {}
    for name, loss in sorted(wanted):
        about = plan["data"][name]
        files = [load(arguments.tamis, arguments.data, about[part], about["columns"]) for part in ("train", "test")]
        if None in files:
            print(f"{name}: data unavailable")
            continue
        (train, labels), (test, test_labels) = files
        if plan.get("recipe", {}).get("scale") == "unit-variance":
            train, test = scaled(train, test)
        key = f"{name}/loss={loss}/{arguments.run}"
        cells[key] = cell(loss, (train, labels), (test, test_labels), plan["protocol"])
        print(key, cells[key], flush=True)
        (arguments.experiment / plan["runs"][arguments.run]["measured"]).write_text(written(cells))


if __name__ == "__main__":
    main()
