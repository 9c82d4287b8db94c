"""Running averages against numpy, scikit-learn and skglm: turn by turn, ratios in one run.

    python benchmarks/drivers/moments.py [--turns 5] [--small]

| line | ours | theirs |
|---|---|---|
| gather | means and centred co-moments of dense rows in memory | numpy's X.T @ X, neither centred nor weighted |
| lasso | path of 100 penalties from moments, gap 1e-10 | scikit-learn's lasso_path, same penalties, Gram given |
| mcp | the same for MCP | skglm's GramCD, each penalty begun where the last ended |
| ols-th, ofsa | one model of 100 features | – |

The data are those of Sun, Guo & Barbu, section 5.1: p = 1000 columns correlated 0.5, 100 of them planted. Needs the
example: cargo build --release --package tamis --example moments_speed. Prints a table, and JSON with --json.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
PROGRAM = TARGET / "release/examples/moments_speed"


def ours(*arguments):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def clocked(work):
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def tell(name, turns, note=""):
    """The median of the turns' ratios: above 1 we are faster."""
    mine, theirs = statistics.median(t[0] for t in turns), statistics.median(t[1] for t in turns)
    ratio = statistics.median(theirs / mine for mine, theirs in turns)
    print(f"{name:<24} ours {mine:8.3f} s   theirs {theirs:8.3f} s   ratio {ratio:6.2f}  {note}", flush=True)
    return {"name": name, "ours": mine, "theirs": theirs, "ratio": ratio, "turns": turns}


def gather(rows, columns, turns):
    block = np.random.default_rng(1).standard_normal((1000, columns))
    data = np.tile(block, (rows // 1000, 1))
    times = []
    for _ in range(turns):
        mine = ours("gather", rows, columns)["seconds"]
        theirs, _ = clocked(lambda: data.T @ data)
        times.append((mine, theirs))
    return tell(f"gather {rows} x {columns}", times, "goal 0.9")


def standardised(file):
    """S and s of a file of moments, its target first."""
    from safetensors.numpy import load_file

    arrays = load_file(file)
    size = len(arrays["fold0.means"])
    full = np.zeros((size, size))
    full[np.tril_indices(size)] = arrays["fold0.comoments"]
    full = (full + np.tril(full, -1).T) / arrays["fold0.counts"][1]
    scale = np.sqrt(np.diag(full))[1:]
    return full[1:, 1:] / np.outer(scale, scale), full[1:, 0] / scale, full[0, 0], int(arrays["fold0.counts"][0])


def lasso(file, turns, tolerance):
    """scikit-learn wants rows as well as their Gram matrix: p + 1 rows with the same moments stand for them."""
    from sklearn.linear_model import lasso_path

    gram, cross, spread, _ = standardised(file)
    size = len(cross)
    root = np.linalg.cholesky(gram + 1e-13 * np.eye(size))
    x = np.asfortranarray(np.vstack([root.T, np.zeros(size)]))
    target = np.linalg.solve(root, cross)
    y = np.append(target, np.sqrt(max(spread - target @ target, 0)))
    n = size + 1
    x, y = np.asfortranarray(x * np.sqrt(n)), y * np.sqrt(n)
    alphas = np.abs(cross).max() * np.logspace(0, -3, 100)
    settings = {"alphas": alphas, "precompute": x.T @ x, "Xy": x.T @ y, "tol": tolerance, "max_iter": 100_000}
    times = []
    for _ in range(turns):
        mine = ours("path", file, "lasso", 1)["seconds"]
        theirs, _ = clocked(lambda: lasso_path(x, y, **settings))
        times.append((mine, theirs))
    return tell(f"lasso path, tol {tolerance:g}", times, "goal 5")


def mcp(file, turns, tolerance):
    """skglm's solver for penalties on a Gram matrix, each penalty begun where the last ended. It makes the Gram matrix anew
    for each penalty: the time of that is measured apart and taken off."""
    from skglm.penalties import MCPenalty
    from skglm.solvers import GramCD

    gram, cross, spread, _ = standardised(file)
    size = len(cross)
    root = np.linalg.cholesky(gram + 1e-13 * np.eye(size))
    target = np.linalg.solve(root, cross)
    n = size + 1
    x = np.asfortranarray(np.vstack([root.T, np.zeros(size)]) * np.sqrt(n))
    y = np.append(target, np.sqrt(max(spread - target @ target, 0))) * np.sqrt(n)
    alphas = np.abs(cross).max() * np.logspace(0, -3, 100)
    solver = GramCD(max_iter=10_000, tol=tolerance * np.sqrt(spread), warm_start=True, fit_intercept=False)

    def path():
        weights = np.zeros(size)
        for alpha in alphas:
            weights = solver.solve(x, y, None, MCPenalty(alpha, 3.0), w_init=weights)[0]
        return weights

    path()  # compiles
    times = []
    for _ in range(turns):
        mine = ours("path", file, "mcp", 1)["seconds"]
        theirs, _ = clocked(path)
        grams, _ = clocked(lambda: [x.T @ x for _ in alphas])
        times.append((mine, max(theirs - grams, 0.0)))
    return tell(f"mcp path, tol {tolerance:g}", times, "goal 1")


def alone(file, method, goal, turns):
    times = [ours("path", file, method, 3)["seconds"] for _ in range(turns)]
    print(f"{method:<24} ours {statistics.median(times):8.3f} s{'':31}  goal {goal} s", flush=True)
    return {"name": method, "ours": statistics.median(times)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="leave the long lines out")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = [gather(100_000, 1000, options.turns)]
    if not options.small:
        results.append(gather(20_000, 4000, options.turns))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "simulated.moments"
        ours("save", 100_000, 1000, file)
        results += [lasso(file, options.turns, tolerance) for tolerance in (1e-4, 1e-10)]
        results += [alone(file, "ols-th", 0.06, options.turns), alone(file, "ofsa", 0.3, options.turns)]
        try:
            results += [mcp(file, options.turns, tolerance) for tolerance in (1e-4, 1e-7)]
        except ImportError as missing:
            print(f"mcp: not measured, {missing}")
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
