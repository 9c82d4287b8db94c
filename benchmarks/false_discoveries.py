"""Counts false discoveries on planted data: more designs, sizes and seeds than the tests.

For each design: runs that confirm anything, the mean share of confirmed features that are false with its standard error (in
brackets, a feature counts as true if a true one is in its group), and the mean share of true features that are confirmed.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/python"))

from conftest import Tamis  # noqa: E402
from test_false_discoveries import confirmed, dense, plant, real, solved, text  # noqa: E402

SIZES = [(200, 50), (200, 1000), (1000, 50), (1000, 1000), (5000, 1000)]
REAL = ["sms_spam", "spambase", "madelon_train", "a9a_train", "krvskp", "secom_clean314", "w8a_train", "mnist5k_4v9",
        "blogfeedback_train"]
KINDS = ("plain", "autoregressive", "block", "heavy")
MOST_ROWS = 6000


def designs(tamis):
    """Names, makers of rows, numbers of true features."""
    for rows, columns in SIZES:
        for kind in KINDS:
            for true in (0, 5, 20):
                yield f"{kind} {rows} × {columns}", lambda random, k=kind, n=rows, p=columns: dense(k, n, p, random), true
    for rows, columns in ((2000, 20_000), (5000, 20_000)):
        for true in (0, 20):
            yield f"text {rows} × {columns}", lambda random, n=rows, p=columns: text(n, p, random), true
    for name in REAL:
        X = real(tamis, name)[0]
        X = X[:, np.flatnonzero(np.diff(X.tocsc().indptr) >= 2)]
        for true in (0, 5, 20):
            yield name, lambda random, X=X: X[random.permutation(X.shape[0])[:MOST_ROWS]], true


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20, help="data sets of each design")
    parser.add_argument("--only", default="", help="designs whose name contains this text")
    parser.add_argument("--solve", action="store_true", help="test the features of moments with folds; dense designs only")
    options = parser.parse_args()
    print("| design | true | task | something confirmed | false | true features confirmed |\n|---|--:|---|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        tamis = Tamis(Path(folder))
        for name, make, true in designs(tamis):
            if options.only not in name or (options.solve and not name.startswith(KINDS)):
                continue
            for classes in (True, False):
                counts = []
                for seed in range(1, options.runs + 1):
                    X = make(np.random.default_rng(seed))
                    y, truth = plant(X, true, classes, np.random.default_rng(1000 + seed), heavy=name.startswith("heavy"))
                    groups = [[one] for one in solved(tamis, X, y, classes)] if options.solve else confirmed(tamis, X, y, classes)
                    false = sum(group[0] not in truth for group in groups) / max(len(groups), 1)
                    outside = sum(not truth & set(group) for group in groups) / max(len(groups), 1)
                    found = sum(group[0] in truth for group in groups) / max(true, 1)
                    counts.append((bool(groups), false, outside, found))
                some, false, outside, found = np.mean(counts, axis=0)
                error = np.std([count[1] for count in counts]) / np.sqrt(len(counts))
                task = "classes" if classes else "numbers"
                line = f"| {name} | {true} | {task} | {some:.2f} | {false:.3f} ± {error:.3f} ({outside:.3f}) | {found:.2f} |"
                print(line, flush=True)


if __name__ == "__main__":
    main()
