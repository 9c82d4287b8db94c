"""Measures time and memory of the method ``kernel`` against rows and against columns, and prints a table.

    TAMIS_BIN=target/release/tamis .venv/bin/python benchmarks/kernel_costs.py

The label is an exclusive or of two columns with noise, among columns of noise; the data are npz files. ``processor`` is the sum over all
threads.
"""

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


def main():
    print("| rows | columns | seconds | processor | peak MB | both found |\n|--:|--:|--:|--:|--:|---|", flush=True)
    with tempfile.TemporaryDirectory() as name:
        for rows, columns in ROWS + COLUMNS:
            seconds, processor, peak, found = measured(rows, columns, Path(name))
            print(f"| {rows:,} | {columns:,} | {seconds:.1f} | {processor:.1f} | {peak:.0f} | {'yes' if found else 'no'} |", flush=True)


if __name__ == "__main__":
    main()
