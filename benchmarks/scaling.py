"""Measures time and memory of each kind of learner against rows, features, paths and threads.

    TAMIS_BIN=target/release/tamis .venv/bin/python benchmarks/scaling.py --out docs/pictures [--only stabilized]

Sparse rows are those of ``tamis synth zipf`` with ten values a row, dense rows those of ``tamis synth correlated --classes``.
Each point is one process, from the file to a written model. A curve ends before a point that would take more than LONGEST
seconds if time grew as between the two points before it. ``--out`` gets a picture of each axis and ``scaling.csv``.
"""

import argparse
import csv
import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

from peers import PEERS, execute

PROGRAM = PEERS["tamis"].path
LONGEST = 150.0
TIMEOUT = 600.0

#: Learners of sparse rows: the options of ``tamis fit``.
SPARSE = {
    "ftrl": ["--method", "ftrl", "--passes", "1"],
    "truncated-gradient": ["--method", "truncated-gradient", "--passes", "1"],
    "two-stage": ["--method", "two-stage"],
    "stabilized": [],
}
#: Learners of dense rows, and the most columns that each is measured with.
DENSE = {"moments and solve": 3000, "metric": 1000, "stabilized, dense": 10_000}


@dataclass
class Data:
    """A generated file."""

    kind: str
    rows: int
    columns: int

    def write(self, folder):
        relevant = max(1, min(20, self.columns // 10))
        options = ["--nonzeros", "10"] if self.kind == "zipf" else ["--classes"]
        sizes = ["--n", str(self.rows), "--p", str(self.columns), "--k", str(relevant)]
        out = ["--out", folder / "data", "-q"]
        execute([PROGRAM, "synth", self.kind, *sizes, "--seed", "1", *options, *out], TIMEOUT, folder)


def learn(learner, folder, extra=()):
    """Seconds, processor seconds and megabytes of all commands of a learner."""
    data, moments, model = folder / "data.svm", folder / "data.moments", folder / "m.json"
    if learner == "moments and solve":
        commands = [["moments", data, "--folds", "5", "-o", moments], ["solve", moments, "-o", model]]
    elif learner == "metric":
        commands = [["metric", "fit", data, "--candidates", "order-1", "--max-iter", "50", "-o", model]]
    else:
        commands = [["fit", data, *SPARSE.get(learner, []), "-o", model]]
    runs = [execute([PROGRAM, *command, "-q", *extra], TIMEOUT, folder) for command in commands]
    return sum(run.wall for run in runs), sum(run.cpu for run in runs), max(run.peak for run in runs)


def points(learner, axis):
    """The data of each point of a curve, by its place on the axis."""
    if learner in SPARSE:
        kind, columns, rows, most = "zipf", 10_000, 100_000, 10**7
    else:
        kind, columns, rows, most = "correlated", 100, 2000, DENSE[learner]
    if axis == "rows":
        return {n: Data(kind, n, columns) for n in [1000, 3000, 10_000, 30_000, 100_000, 1_000_000, 10_000_000]}
    return {p: Data(kind, rows, p) for p in [100, 300, 1000, 3000, 10_000, 100_000, 1_000_000, 10_000_000] if p <= most}


def curve(learner, axis, folder):
    """Places on the axis with what was measured there."""
    found = []
    if axis in ("rows", "features"):
        for at, data in points(learner, axis).items():
            if len(found) > 1 and expected(found[-2:], at) > LONGEST:
                break
            data.write(folder)
            found.append((at, *learn(learner, folder)))
        return found
    Data("zipf", 100_000, 10_000).write(folder)
    option = {"paths": "--n-paths", "threads": "--threads"}[axis]
    for at in {"paths": [8, 16, 32, 64, 128], "threads": [1, 2]}[axis]:
        found.append((at, *learn(learner, folder, [option, str(at)])))
    return found


def expected(last, at):
    """Seconds at a place if they grow by the power of the last two points, at least linearly."""
    (first, before, *_), (second, now, *_) = last
    power = math.log(max(now, 0.1) / max(before, 0.1)) / math.log(second / first)
    return now * (at / second) ** max(1.0, power)


AXES = {
    "rows": [*SPARSE, *DENSE],
    "features": [*SPARSE, *DENSE],
    "paths": ["stabilized"],
    "threads": list(SPARSE),
}


def draw(table, axis, path):
    """Time and memory of all learners on one axis."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "tamis"
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for learner, found in table.items():
        at = [point[0] for point in found]
        panels[0].loglog(at, [point[1] for point in found], "o-", label=learner, markersize=3)
        panels[1].loglog(at, [point[3] for point in found], "o-", label=learner, markersize=3)
    for panel, name in zip(panels, ("seconds", "peak memory, MB")):
        panel.set_xlabel(axis)
        panel.set_ylabel(name)
        panel.grid(True, which="both", alpha=0.3)
    panels[0].legend(fontsize="small")
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="a folder for the pictures and the numbers")
    parser.add_argument("--only", default="", help="axes and learners whose name contains this text")
    options = parser.parse_args()
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    rows, tables = [], {}
    print("| axis | learner | at | seconds | processor | peak MB |\n|---|---|--:|--:|--:|--:|", flush=True)
    for axis, learners in AXES.items():
        table = {}
        for learner in learners:
            if options.only not in f"{axis} {learner}":
                continue
            with tempfile.TemporaryDirectory() as folder:
                table[learner] = curve(learner, axis, Path(folder))
            for at, seconds, processor, peak in table[learner]:
                print(f"| {axis} | {learner} | {at:,} | {seconds:.2f} | {processor:.2f} | {peak:.0f} |", flush=True)
                rows.append((axis, learner, at, f"{seconds:.3f}", f"{processor:.3f}", f"{peak:.0f}"))
        tables[axis] = table
    if options.out:
        with open(options.out / "scaling.csv", "w", newline="") as file:
            csv.writer(file).writerows([("axis", "learner", "at", "seconds", "processor", "peak MB"), *rows])
        # At the end: the memory of a process is at least that of the one that started it, and matplotlib takes much.
        for axis in ("rows", "features"):
            if tables[axis]:
                draw(tables[axis], axis, options.out / f"scaling-{axis}.svg")


if __name__ == "__main__":
    main()
