"""Compares models of few features with scikit-learn's L1 logistic path: how stably they select, and their error.

Each data set is cut into subsamples of its rows. ``tamis fit`` learns from each with nothing set, and ``tamis resize`` gives
the models of 10, 25 and 50 features. The L1 path enters features as its penalty falls; the first k are its selection. It has
two errors: that of the path where it has k features, and that of a logistic regression on them, which is often lower. Columns
have unit variance for both, and mean 0 for L1 where most values are not zero (else columns with a large mean enter as
intercepts). ``own`` is the size that cross-validation chooses for L1 on the first subsample; ``tamis fit
--k`` gives it. liblinear penalises the intercept; ``--intercept-scaling 100`` makes that negligible, as in glmnet.

Nogueira's stability index is 1 if all subsamples select the same features and 0 if they agree by chance; its standard error
is that of Nogueira, Sechidis and Brown (JMLR 18, 2018). Errors are those of the rows outside the subsample.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.svm import l1_min_c

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/python"))

from conftest import Tamis  # noqa: E402
from sklearn.datasets import dump_svmlight_file  # noqa: E402
from test_false_discoveries import real  # noqa: E402

SETS = [
    "sms_spam", "reuters_lasvm_train", "spambase", "dexter_train", "mnist5k_4v9", "internet_ads_dami", "ionosphere", "wdbc",
    "arcene_train", "krvskp", "a9a_train", "crx", "secom_clean314",
]
SIZES = [10, 25, 50]
MOST_ROWS = 8000


def stability(selections, columns):
    """Nogueira's index and its standard error."""
    runs = len(selections)
    chosen = np.zeros((runs, columns))
    for run, features in enumerate(selections):
        chosen[run, features] = 1
    share, sizes = chosen.mean(axis=0), chosen.sum(axis=1)
    mean = sizes.mean() / columns
    if not 0 < mean < 1:
        return 1.0, 0.0
    index = 1 - (runs / (runs - 1) * share * (1 - share)).mean() / (mean * (1 - mean))
    part = chosen @ share / columns - sizes * mean / columns
    part += index / 2 * (2 * mean * sizes / columns - sizes / columns - mean + 1)
    part /= mean * (1 - mean)
    return index, np.sqrt(4 / runs**2 * ((part - part.mean()) ** 2).sum())


class L1Path:
    """Columns in the order in which they enter the L1 path, and the model of each number of features."""

    def __init__(self, X, y, most, intercept_scaling):
        self.order, self.models, start = [], {}, l1_min_c(X, y, loss="log")
        C = start
        while len(self.order) < most and C <= 1e4 * start:
            C *= 1.1
            model = l1_model(C, intercept_scaling).fit(X, y)
            weights = model.coef_[0]
            largest = np.argsort(-np.abs(weights), kind="stable")
            self.order += [column for column in largest if weights[column] and column not in self.order]
            self.models.setdefault(len(self.order), model)

    def model(self, k):
        """The first model for which k features have entered; the last one if the path ends before."""
        return self.models[min((entered for entered in self.models if entered >= k), default=max(self.models))]


def l1_model(C, intercept_scaling):
    return LogisticRegression(
        l1_ratio=1, solver="liblinear", C=C, tol=1e-3, max_iter=200, intercept_scaling=intercept_scaling
    )


def l1_size(X, y, intercept_scaling):
    """The number of features that cross-validation chooses."""
    C = l1_min_c(X, y, loss="log") * np.geomspace(1.5, 1000, 12)
    fit = LogisticRegressionCV(
        Cs=C, l1_ratios=(1,), cv=5, solver="liblinear", tol=1e-3, max_iter=200, use_legacy_attributes=False,
        intercept_scaling=intercept_scaling,
    )
    return int(np.count_nonzero(fit.fit(X, y).coef_))


def ours(tamis, X, y, train, test, sizes):
    """Features and test error of the models of each size."""
    for name, rows in (("train.svm", train), ("test.svm", test)):
        dump_svmlight_file(X[rows], y[rows], str(tamis.directory / name), zero_based=False)
    tamis.run("fit", "train.svm", "-o", "model.json", "--quiet")
    for size in sizes:
        if size in SIZES:
            tamis.run("resize", "model.json", "--k", size, "-o", "small.json", "--quiet")
        else:
            tamis.run("fit", "train.svm", "--k", size, "-o", "small.json", "--quiet")
        features = json.loads(tamis.run("inspect", "small.json", "--json"))["features"]
        error = json.loads(tamis.run("eval", "small.json", "test.svm", "--json", "--quiet"))["error"]
        yield [int(feature["name"]) - 1 for feature in features], error


def prepared(tamis, name, random):
    """At most MOST_ROWS rows of a data set, with columns of unit variance that are in at least two rows."""
    X, y = real(tamis, name)
    rows = random.permutation(X.shape[0])[:MOST_ROWS]
    X, y = X[rows].tocsc(), y[rows]
    X = X[:, np.flatnonzero(np.diff(X.indptr) >= 2)]
    deviation = np.sqrt(np.asarray(X.multiply(X).mean(axis=0)).ravel() - np.asarray(X.mean(axis=0)).ravel() ** 2)
    return (X @ sp.diags(np.where(deviation > 0, 1 / np.maximum(deviation, 1e-300), 0))).tocsr(), y


def centred(X):
    """Columns of mean 0 if most values are not zero, as scikit-learn's StandardScaler makes them."""
    if X.nnz < 0.5 * X.shape[0] * X.shape[1]:
        return X
    return sp.csr_matrix(X.toarray() - np.asarray(X.mean(axis=0)))


def measure(tamis, name, options):
    random = np.random.default_rng(2026)
    X, y = prepared(tamis, name, random)
    Z, sizes, results = centred(X), None, {}
    for _ in range(options.runs):
        train, test = np.split(random.permutation(X.shape[0]), [int(options.share * X.shape[0])])
        own = sizes or l1_size(Z[train], y[train], options.intercept_scaling)
        sizes = sizes or [k for k in SIZES if 2 * k <= X.shape[1]] + [max(own, 2)]
        for k, result in zip(sizes, ours(tamis, X, y, train, test, sizes)):
            results.setdefault(("ours", k), []).append(result)
        path = L1Path(Z[train], y[train], max(sizes), options.intercept_scaling)
        for k in sizes:
            first = path.order[:k]
            refitted = LogisticRegression(C=1.0, max_iter=1000).fit(Z[train][:, first], y[train])
            results.setdefault(("L1", k), []).append((first, 1 - path.model(k).score(Z[test], y[test])))
            results.setdefault(("refitted", k), []).append((first, 1 - refitted.score(Z[test][:, first], y[test])))
    for place, k in enumerate(sizes):
        own = " (own)" if place == len(sizes) - 1 else ""
        print(f"| {name} | {k}{own} | {cells(results, k, X.shape[1])} |", flush=True)


def cells(results, k, columns):
    """The indices, the errors, and how much larger our error is than those of the path and of the refitted path."""

    def errors(method):
        return 100 * np.array([error for _, error in results[method, k]])

    def index(method):
        value, deviation = stability([features for features, _ in results[method, k]], columns)
        return f"{value:.2f} ± {deviation:.2f}"

    def excess(method):
        difference = errors("ours") - errors(method)
        return f"{difference.mean():+.1f} ± {difference.std() / np.sqrt(len(difference)):.1f}"

    means = [f"{errors(method).mean():.1f} %" for method in ("L1", "refitted", "ours")]
    return " | ".join([index("L1"), index("ours"), *means, excess("L1"), excess("refitted")])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10, help="subsamples of each data set")
    parser.add_argument("--share", type=float, default=0.8, help="the share of the rows in a subsample")
    parser.add_argument("--intercept-scaling", type=float, default=1.0, help="liblinear's; 1 penalises the intercept")
    parser.add_argument("--only", default="", help="data sets whose name contains this text")
    options = parser.parse_args()
    print(f"Subsamples of {100 * options.share:.0f} %, {options.runs} of each data set.\n")
    print("| data | features | L1: index | ours: index | L1: error | refitted | ours | ours − L1 | ours − refitted |")
    print("|---|" + "--:|" * 8)
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(lambda name: options.only in name, SETS):
            measure(Tamis(Path(folder)), name, options)


if __name__ == "__main__":
    main()
