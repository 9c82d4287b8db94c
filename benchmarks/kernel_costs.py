"""Measures time and memory of the method ``kernel`` against rows and against columns, and prints a table.

    TAMIS_BIN=target/release/tamis .venv/bin/python benchmarks/kernel_costs.py [--figure docs/pictures/kernel-costs.svg]

The label is an exclusive or of two columns with noise, among columns of noise; the data are npz files. ``processor`` is the sum over all
threads. ``--figure`` draws the curves with matplotlib.
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

PROGRAM = os.environ.get("TAMIS_BIN", "target/release/tamis")
ROWS = [(rows, 100) for rows in (300, 1_000, 3_000, 10_000, 30_000, 100_000)]
COLUMNS = [(1_000, columns) for columns in (10, 30, 100, 300, 1_000, 2_000)]


def measured(rows, columns, folder):
    """Seconds, processor seconds, peak megabytes, and whether the two columns were found."""
    random = np.random.default_rng(rows + columns)
    signs = random.choice([-1.0, 1.0], (rows, 2))
    X = random.standard_normal((rows, columns))
    X[:, :2] = signs + 0.717 * X[:, :2]
    np.savez(folder / "rows.npz", X=X, y=signs.prod(axis=1))
    start = time.monotonic()
    process = subprocess.Popen([PROGRAM, "fit", "rows.npz", "--method", "kernel", "-q", "-o", "m.json"], cwd=folder)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, status
    seconds = time.monotonic() - start
    told = subprocess.run([PROGRAM, "inspect", "m.json", "--csv"], cwd=folder, capture_output=True, text=True, check=True).stdout
    names = {line.split(",")[0] for line in told.splitlines()[1:]}
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, {"1", "2"} <= names


def draw(table, path):
    """Processor time and memory against rows and against columns."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tamis"
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for panel, designs, axis, fixed in ((panels[0], ROWS, 0, "100 columns"), (panels[1], COLUMNS, 1, "1,000 rows")):
        at = [design[axis] for design in designs]
        panel.loglog(at, [table[design][1] for design in designs], "o-", label="processor seconds")
        panel.loglog(at, [table[design][0] for design in designs], "s--", label="seconds, two cores")
        panel.loglog(at, [table[design][2] / 100 for design in designs], "^:", label="peak memory, 100 MB")
        panel.set_xlabel(f"{('rows', 'columns')[axis]} ({fixed})")
        panel.grid(True, which="both", alpha=0.3)
    panels[0].legend()
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    table = {}
    print("| rows | columns | seconds | processor | peak MB | both found |\n|--:|--:|--:|--:|--:|---|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        for rows, columns in ROWS + COLUMNS:
            seconds, processor, peak, found = table[rows, columns] = measured(rows, columns, Path(name))
            print(f"| {rows:,} | {columns:,} | {seconds:.1f} | {processor:.1f} | {peak:.0f} | {'yes' if found else 'no'} |", flush=True)
    if options.figure:
        draw(table, options.figure)


if __name__ == "__main__":
    main()
