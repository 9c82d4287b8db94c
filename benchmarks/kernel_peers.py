"""Compares the method ``kernel`` with others on real data sets and on data with known variables, in one run.

Each set is split into 70 % training rows (at most ``--most-rows``) and test rows, by seed; Madelon has its official parts. Hyper-parameters
are chosen on training rows. The peers: L1 (lasso or L1-logistic, 3-fold), a support vector machine with a radial kernel (3 × 2 settings,
3-fold), 500 dense random Fourier features with ridge regression, histogram gradient boosting (200 trees), a random forest (200
trees), and for classes sDist with nearest neighbours (``tamis metric``). Prints the test error of classes, or R² of numbers, with the
number of variables where a method selects them, and the processor time of ``kernel``.

    .venv-bench/bin/python benchmarks/kernel_peers.py --data DIR
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LassoCV, LogisticRegressionCV, RidgeClassifierCV, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from planted_interactions import DESIGNS

ROOT = Path(__file__).resolve().parents[1]
CLASSES = ["madelon", "ionosphere", "wdbc", "crx", "krvskp", "spambase", "magic04", "digits8x8"]
NUMBERS = ["housing", "diabetes", "california", "casp", "pol", "appliances", "ailerons"]
TEST_ROWS = 3000


def unpacked(data, name):
    """A data set as dense arrays."""
    raw = subprocess.run(["zstd", "-dc", data / f"{name}.svm.zst"], check=True, capture_output=True).stdout
    with tempfile.NamedTemporaryFile(suffix=".svm") as file:
        file.write(raw)
        file.flush()
        X, y = load_svmlight_file(file.name)
    return X.toarray(), y


def parts(data, name, seed, most):
    """Training and test rows."""
    if name == "madelon":
        return *unpacked(data, "madelon_train"), *unpacked(data, "madelon_valid")
    X, y = unpacked(data, name)
    order = np.random.default_rng(seed).permutation(len(y))
    cut = int(0.7 * len(y))
    train, test = order[:cut][:most], order[cut:][:TEST_ROWS]
    return X[train], y[train], X[test], y[test]


class StandardizedTarget(SVR):
    """A support vector machine of numbers needs targets of unit variance."""

    def fit(self, X, y, sample_weight=None):
        self.centre_, self.spread_ = y.mean(), y.std() or 1.0
        return super().fit(X, (y - self.centre_) / self.spread_, sample_weight)

    def predict(self, X):
        return self.centre_ + self.spread_ * super().predict(X)


def peers(are_classes):
    """Names and estimators."""
    grid = {"gamma": [0.2, 1.0, 5.0], "C": [1.0, 10.0]}
    if are_classes:
        machine, linear, ridge = SVC(), LogisticRegressionCV(Cs=8, l1_ratios=(1,), solver="saga", cv=3, max_iter=300), RidgeClassifierCV
        trees, forest = HistGradientBoostingClassifier(max_iter=200, early_stopping=False), RandomForestClassifier(200)
    else:
        machine, linear, ridge = StandardizedTarget(), LassoCV(cv=3, alphas=30), RidgeCV
        trees, forest = HistGradientBoostingRegressor(max_iter=200, early_stopping=False), RandomForestRegressor(200)
    return [
        ("L1", lambda p: make_pipeline(StandardScaler(), linear)),
        ("SVM", lambda p: make_pipeline(StandardScaler(), GridSearchCV(machine, {**grid, "gamma": [g / p for g in grid["gamma"]]}, cv=3))),
        ("random features", lambda p: make_pipeline(StandardScaler(), RBFSampler(gamma=0.5 / p, n_components=500, random_state=0), ridge(np.logspace(-3, 3, 7)))),
        ("boosting", lambda p: trees),
        ("forest", lambda p: forest),
    ]


def call(folder, *line):
    program = os.environ.get("TAMIS_BIN", str(ROOT / "target/release/tamis"))
    return subprocess.run([program, *line], cwd=folder, check=True, capture_output=True, text=True).stdout


def score(measured):
    return measured["error"] if measured.get("r2") is None else measured["r2"]


def ours(X, y, X_test, y_test, are_classes):
    """Test score, variables and processor time of ``kernel``; test score of sDist."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        dump_svmlight_file(X, y, str(folder / "train.svm"), zero_based=False)
        dump_svmlight_file(X_test, y_test, str(folder / "test.svm"), zero_based=False)
        task = [] if are_classes else ["--task", "regression"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        call(folder, "fit", "train.svm", "--method", "kernel", "--out", "m.json", "--quiet", *task)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found = json.loads(call(folder, "inspect", "m.json", "--json"))
        kernel = score(json.loads(call(folder, "eval", "m.json", "test.svm", "--json")))
        if not are_classes:
            return kernel, found["nonzeros"], seconds, None
        try:
            call(folder, "metric", "fit", "train.svm", "--out", "s.json", "--quiet")
            sdist = json.loads(call(folder, "metric", "eval", "s.json", "test.svm", "--json"))["error"]
        except (subprocess.CalledProcessError, KeyError):
            sdist = None
        return kernel, found["nonzeros"], seconds, sdist


def measure(X, y, X_test, y_test, are_classes):
    """Test scores of all methods (not a number where there is none), variables and processor time of ``kernel``."""
    kernel, variables, seconds, sdist = ours(X, y, X_test, y_test, are_classes)
    scores = [kernel]
    for _, make in peers(are_classes):
        value = make(X.shape[1]).fit(X, y).score(X_test, y_test)
        scores.append(1 - value if are_classes else value)
    return [*scores, np.nan if sdist is None else sdist, variables, seconds]


def summarize(name, shape, runs):
    """Prints the mean of each column; scores have the standard error of their mean over splits."""
    runs = np.array(runs)
    mean = runs.mean(axis=0)
    error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else np.zeros(len(mean))
    cells = ["" if np.isnan(m) else f"{m:.3f} ± {e:.3f}" if len(runs) > 1 else f"{m:.3f}" for m, e in zip(mean[:-2], error[:-2])]
    cells[0] += f" ({mean[-2]:.3g})"
    print(f"| {name} | {len(runs)} | {shape[0]} × {shape[1]} | {' | '.join(cells)} | {mean[-1]:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("TAMIS_DATA", ROOT / "../shared/data")))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--most-rows", type=int, default=2000)
    parser.add_argument("--only", default="", help="names of sets, separated by semicolons")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| data | splits | rows × columns | kernel (variables) | L1 | SVM | random features | boosting | forest | sDist | kernel, s |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    only = [name for name in args.only.split(";") if name]
    seeds = range(args.first, args.first + args.seeds)
    for name in CLASSES + NUMBERS:
        if not only or name in only:
            splits = [parts(args.data, name, seed, args.most_rows) for seed in (seeds[:1] if name == "madelon" else seeds)]
            summarize(name, splits[0][0].shape, [measure(*split, name in CLASSES) for split in splits])
    for name, make, rows, columns, _, _ in DESIGNS:
        if not only or name in only:
            drawn = [make(np.random.default_rng(7000 + seed), rows + TEST_ROWS, columns) for seed in seeds]
            runs = [measure(X[:rows], y[:rows], X[rows:], y[rows:], len(np.unique(y)) == 2) for X, y in drawn]
            summarize(name, (rows, columns), runs)


if __name__ == "__main__":
    sys.exit(main())
