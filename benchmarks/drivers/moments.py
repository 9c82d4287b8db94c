"""Peers of our co-moments; the last line on stdout is JSON, and `seconds` excludes imports and set-up.

    moments.py gather ROWS COLUMNS      numpy's X.T @ X of dense rows in memory, neither centred nor weighted
    moments.py lasso MOMENTS TOLERANCE  scikit-learn's lasso_path: the same 100 penalties, the Gram matrix given
    moments.py mcp MOMENTS TOLERANCE    skglm's GramCD: the same 100 penalties, each begun where the last ended

Both solvers want rows, not moments: p + 1 rows that have the very moments of the file stand for them.
"""

import json
import sys
import time

import numpy as np


def clocked(work):
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def gather(rows, columns):
    block = np.random.default_rng(1).standard_normal((1000, int(columns)))
    data = np.tile(block, (int(rows) // 1000, 1))
    seconds, _ = clocked(lambda: data.T @ data)
    return {"seconds": seconds}


def standardised(file):
    """Correlations, correlations with the target, and its variance: of a file of moments, its target first."""
    from safetensors.numpy import load_file

    arrays = load_file(file)
    size = len(arrays["fold0.means"])
    full = np.zeros((size, size))
    full[np.tril_indices(size)] = arrays["fold0.comoments"]
    full = (full + np.tril(full, -1).T) / arrays["fold0.counts"][1]
    scale = np.sqrt(np.diag(full))[1:]
    return full[1:, 1:] / np.outer(scale, scale), full[1:, 0] / scale, full[0, 0]


def rows_of(file):
    """p + 1 rows and targets with the moments of the file, and the penalties of the path."""
    gram, cross, spread = standardised(file)
    root = np.linalg.cholesky(gram + 1e-13 * np.eye(len(cross)))
    target = np.linalg.solve(root, cross)
    scale = np.sqrt(len(cross) + 1)
    x = np.asfortranarray(np.vstack([root.T, np.zeros(len(cross))]) * scale)
    y = np.append(target, np.sqrt(max(spread - target @ target, 0))) * scale
    return x, y, np.abs(cross).max() * np.logspace(0, -3, 100), spread


def lasso(file, tolerance):
    from sklearn.linear_model import lasso_path

    x, y, alphas, _ = rows_of(file)
    settings = {"precompute": x.T @ x, "Xy": x.T @ y, "tol": float(tolerance), "max_iter": 100_000}
    seconds, (_, weights, _) = clocked(lambda: lasso_path(x, y, alphas=alphas, **settings))
    return {"seconds": seconds, "nonzeros": int(np.count_nonzero(weights[:, -1]))}


def mcp(file, tolerance):
    """GramCD computes the Gram matrix again for each penalty; that time is measured separately and subtracted."""
    from skglm.penalties import MCPenalty
    from skglm.solvers import GramCD

    x, y, alphas, spread = rows_of(file)
    tolerance = float(tolerance) * np.sqrt(spread)
    solver = GramCD(max_iter=10_000, tol=tolerance, warm_start=True, fit_intercept=False)

    def path(alphas):
        weights = np.zeros(x.shape[1])
        for alpha in alphas:
            weights = solver.solve(x, y, None, MCPenalty(alpha, 3.0), w_init=weights)[0]
        return weights

    path(alphas[:2])  # compiles
    seconds, weights = clocked(lambda: path(alphas))
    grams, _ = clocked(lambda: [x.T @ x for _ in alphas])
    return {"seconds": max(seconds - grams, 1e-9), "nonzeros": int(np.count_nonzero(weights))}


if __name__ == "__main__":
    print(json.dumps({"gather": gather, "lasso": lasso, "mcp": mcp}[sys.argv[1]](*sys.argv[2:])))
