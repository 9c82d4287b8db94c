"""Measures the method ``kernel`` on data with known variables: what it finds, and the error on 3,000 other rows.

For each design, over fresh seeds: the mean error (R² for numbers) on other rows, runs whose variables are exactly the true ones, runs
with all true ones and at most one false, runs that find nothing, runs with the true pair first, the share of true variables that are
confirmed at q ≤ 0.1, the mean share of false ones among the confirmed (runs with any), and the mean processor time.
"""

import argparse
import json
import os
import resource
import subprocess
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
TEST_ROWS = 3000


def exclusive_or(random, rows, columns, true, noise):
    """Signs whose product is the class, seen with noise (Bayes error 0.150 for two and a noise of 0.717)."""
    signs = random.choice([-1.0, 1.0], (rows, true))
    X = random.standard_normal((rows, columns))
    X[:, :true] = signs + noise * random.standard_normal((rows, true))
    return X, signs.prod(axis=1)


def ring(random, rows, columns):
    """Two rings in a plane: the radius of a row tells its class, but for noise."""
    y = random.choice([-1.0, 1.0], rows)
    angle = random.uniform(0, 2 * np.pi, rows)
    radius = np.where(y > 0, 2.0, 1.0) + 0.47 * random.standard_normal(rows)
    X = random.standard_normal((rows, columns))
    X[:, :2] = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return X, y


def sines(random, rows, columns):
    X = random.uniform(-1, 1, (rows, columns))
    f = np.sin(np.pi * X[:, 0] * X[:, 1]) + np.sin(np.pi * (X[:, 2] + X[:, 3]))
    return X, f + 0.3 * random.standard_normal(rows)


def friedman(random, rows, columns):
    X = random.uniform(0, 1, (rows, columns))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, f + random.standard_normal(rows)


def additive_and_pair(random, rows, columns):
    X = random.standard_normal((rows, columns))
    f = 2 * (1.5 * np.sin(1.5 * X[:, 0]) + X[:, 1] ** 2 - 1 + 2 * X[:, 2] * X[:, 3])
    return X, np.where(random.random(rows) < 1 / (1 + np.exp(-f)), 1.0, -1.0)


def noise(random, rows, columns):
    return random.standard_normal((rows, columns)), random.choice([-1.0, 1.0], rows)


def line(random, rows, columns):
    X = random.standard_normal((rows, columns))
    f = X[:, :10] @ (np.linspace(1.5, 0.5, 10) * np.tile([1, -1], 5))
    return X, f + 0.5 * f.std() * random.standard_normal(rows)


def circuit(random, rows, columns, phase):
    """Friedman 2 (the impedance of a circuit) or 3 (its phase), with noise of a third of the signal's deviation.

    Of the four variables the last one, the capacitance, changes the signal by less than a thousandth of its
    deviation: three count as true.
    """
    X = random.uniform(0, 1, (rows, columns))
    resistance, frequency = 100 * X[:, 0], np.pi * (40 + 520 * X[:, 1])
    reactance = frequency * X[:, 2] - 1 / (frequency * (1 + 10 * X[:, 3]))
    signal = np.arctan(reactance / resistance) if phase else np.hypot(resistance, reactance)
    return X, signal + signal.std() / 3 * random.standard_normal(rows)


# Name, maker of rows, rows, columns, true variables, the pair that should come first.
DESIGNS = [
    ("xor of two, 500 × 50", lambda r, n, p: exclusive_or(r, n, p, 2, 0.717), 500, 50, 2, (0, 1)),
    ("xor of two, 1000 × 1000", lambda r, n, p: exclusive_or(r, n, p, 2, 0.717), 1000, 1000, 2, (0, 1)),
    ("xor of three, 1000 × 50", lambda r, n, p: exclusive_or(r, n, p, 3, 0.5), 1000, 50, 3, None),
    ("rings, 500 × 50", ring, 500, 50, 2, (0, 1)),
    ("sines, 1000 × 100", sines, 1000, 100, 4, None),
    ("Friedman 1, 500 × 100", friedman, 500, 100, 5, (0, 1)),
    ("Friedman 2, 500 × 100", lambda r, n, p: circuit(r, n, p, False), 500, 100, 3, (1, 2)),
    ("Friedman 3, 500 × 100", lambda r, n, p: circuit(r, n, p, True), 500, 100, 3, (0, 2)),
    ("additive and a pair, 1000 × 100", additive_and_pair, 1000, 100, 4, (2, 3)),
    ("noise, 500 × 200", noise, 500, 200, 0, None),
    ("line, 500 × 100", line, 500, 100, 10, None),
]


def run(program, folder, make, rows, columns, seed, flags=()):
    """Fits and evaluates; returns what ``inspect`` and ``eval`` say, and the processor time."""
    X, y = make(np.random.default_rng(seed), rows + TEST_ROWS, columns)
    for name, part in (("train", slice(0, rows)), ("test", slice(rows, None))):
        np.savez(folder / f"{name}.npz", X=X[part], y=y[part])

    def call(*line):
        return subprocess.run([program, *line], cwd=folder, check=True, capture_output=True, text=True).stdout

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    call("fit", "train.npz", "--method", "kernel", "--out", "m.json", "--quiet", *flags)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(call("inspect", "m.json", "--json")), json.loads(call("eval", "m.json", "test.npz", "--json")), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1000)
    parser.add_argument("--only", default="", help="designs whose name contains this text")
    parser.add_argument("--flags", default="", help="more flags of the fit, such as '--inputs z-score --family mixed'")
    args = parser.parse_args()
    program = os.environ.get("TAMIS_BIN", str(ROOT / "target/release/tamis"))
    print("| design | error or R² | exact | all, ≤ 1 false | nothing found | pair first | linear is told | confirmed | false | CPU s |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    for name, make, rows, columns, true, pair in DESIGNS:
        if args.only not in name:
            continue
        found = []
        for seed in range(args.first, args.first + args.seeds):
            with tempfile.TemporaryDirectory() as folder:
                model, measured, seconds = run(program, Path(folder), make, rows, columns, seed, args.flags.split())
            kept = {int(one["name"]) - 1 for one in model["features"]}
            truth, kernel = set(range(true)), model["kernel"]
            confirmed = {int(name) - 1 for name in kernel["confirmed"]}
            first = kernel["interactions"][0]["variables"] if kernel["interactions"] else []
            found.append(
                (
                    measured["error"] if measured.get("r2") is None else measured["r2"],
                    kept == truth,
                    truth <= kept and len(kept - truth) <= 1,
                    not kernel["is_better_than_constant"],
                    pair is not None and {int(one) - 1 for one in first} == set(pair),
                    kernel["is_linear_as_good"],
                    len(confirmed & truth) / max(true, 1),
                    len(confirmed - truth) / max(len(confirmed), 1),
                    seconds,
                )
            )
        table = np.array(found, dtype=float)
        counts = [f"{int(table[:, column].sum())} of {len(found)}" for column in range(1, 6)]
        tested = [f"{table[:, 6].mean():.2f}", f"{table[:, 7].mean():.3f} ({int((table[:, 7] > 0).sum())})"]
        cells = [f"{table[:, 0].mean():.3f}", *counts, *tested, f"{table[:, 8].mean():.1f}"]
        cells[4] = cells[4] if pair is not None else ""
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
