"""Compares distributed fits, run by the local engine, with fits on one machine, and prints a table.

    TAMIS_BIN=target/release/tamis .venv/bin/python benchmarks/distributed.py [--columns 4096] [name ...]

Each data set is split into 70 % of its training rows for both fits and 30 % for errors and losses; the test files of the data
sets are not used. The columns of the table: features, error and log loss of the fit on one machine with standard errors, the
same of the distributed fit, Cohen's kappa between the two sets of features, passes over the rows and megabytes of tallies.
"""

import argparse
import math
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute  # noqa: F401  (loaded before threads start)

import tamis
from tamis import _core, distributed

DATA = Path(os.environ.get("TAMIS_DATA", "../shared/data"))
PROGRAM = os.environ.get("TAMIS_BIN", "target/release/tamis")
FILES = {
    "rcv1sub": "rcv1sub_train.svm.zst",
    "sms_spam": "sms_spam.svm.zst",
    "dorothea": "dorothea_train.svm.zst",
    "reuters": "reuters_lasvm_train.svm.zst",
}
ZIPF = ["--n", "60000", "--p", "300000", "--seed", "7"]


def lines_of(name, folder):
    """The rows of a data set as text."""
    if name == "zipf":
        subprocess.run([PROGRAM, "synth", "zipf", *ZIPF, "--quiet", "--out", folder / "zipf"], check=True)
        return (folder / "zipf.svm").read_text().splitlines()
    packed = (DATA / FILES[name]).read_bytes()
    return pa.input_stream(pa.py_buffer(packed), compression="zstd").read().decode().splitlines()


def batch_of(lines):
    """The rows as a record batch."""
    labels, indices, values = [], [], []
    for line in lines:
        label, *entries = line.split("#")[0].split()
        pairs = [entry.split(":") for entry in entries]
        labels.append(float(label))
        indices.append([int(index) for index, _ in pairs])
        values.append([float(value) for _, value in pairs])
    return pa.RecordBatch.from_pydict({"label": labels, "indices": indices, "values": values})


def scores(model, batch):
    """Error and log loss with their standard errors."""
    names, weights = model.outputs[0][0], model.outputs[0][1]
    table = {int(name): weight for name, weight in zip(names, weights, strict=True)}
    margins = np.full(len(batch), float(model.intercepts[0]))
    for row, (indices, values) in enumerate(zip(batch["indices"].to_pylist(), batch["values"].to_pylist(), strict=True)):
        margins[row] += sum(table.get(index, 0.0) * value for index, value in zip(indices, values, strict=True))
    signs = np.where(batch["label"].to_numpy() > 0, 1.0, -1.0)
    losses = np.logaddexp(0, -signs * margins)
    wrong = (margins > 0) != (signs > 0)
    count = len(batch)
    return wrong.mean(), wrong.std() / math.sqrt(count), losses.mean(), losses.std() / math.sqrt(count)


def kappa(one, other, columns):
    """Cohen's kappa between two sets of columns."""
    one, other = set(one.outputs[0][0]), set(other.outputs[0][0])
    agree = (columns - len(one ^ other)) / columns
    chance = (len(one) * len(other) + (columns - len(one)) * (columns - len(other))) / columns**2
    return (agree - chance) / (1 - chance) if chance < 1 else 1.0


def compare(name, size, columns, folder):
    """A line of the table."""
    lines = lines_of(name, folder)
    inside = np.random.default_rng(0).random(len(lines)) < 0.7
    train = [line for line, chosen in zip(lines, inside, strict=True) if chosen]
    test = batch_of([line for line, chosen in zip(lines, inside, strict=True) if not chosen])
    path = folder / f"{name}.svm"
    path.write_text("\n".join(train) + "\n")
    settings = {"method": "stabilized"} | ({} if size is None else {"k": str(size)})
    tamis.StabilizedClassifier(size).fit(str(path)).save(str(folder / "one.json"))
    one = _core.Model.load(folder / "one.json")
    engine = distributed.LocalEngine([batch_of(train)])
    other = distributed.fit(engine, settings, columns=columns)
    features = distributed.describe(engine.plan).features
    cells = []
    for model in (one, other):
        error, error_se, loss, loss_se = scores(model, test)
        cells.append(f"{len(model.outputs[0][0])} | {error:.4f} ± {error_se:.4f} | {loss:.4f} ± {loss_se:.4f}")
    cost = f"{kappa(one, other, features):.3f} | {engine.passes} | {engine.tally_bytes / 1e6:.1f}"
    print(f"| {name} | {size or 'auto'} | {cells[0]} | {cells[1]} | {cost} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=[*FILES, "zipf"])
    parser.add_argument("--columns", type=int, help="columns that an ensemble is narrowed to, even if all rows fit")
    parser.add_argument("--sizes", default="25,200,auto")
    options = parser.parse_args()
    print(f"Tamis {tamis.__version__}, narrowed to {options.columns or '16,384, if the rows do not fit,'} columns")
    print("| data | k | one machine: features | error | log loss | distributed: features | error | log loss | κ | passes | MB |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.names:
            for size in options.sizes.split(","):
                compare(name, None if size == "auto" else int(size), options.columns, Path(folder))


if __name__ == "__main__":
    main()
