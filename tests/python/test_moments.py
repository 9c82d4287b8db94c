"""Models from co-moments compared with scikit-learn's on the same rows.

Ours are fitted to moments (one pass, no stored rows), theirs to the rows. Penalties are on standardized columns, so theirs
are fitted to columns of mean 0 and variance 1 and converted back to raw units:

* λ of `--lambda` is scikit-learn's `alpha`, `--l1-ratio` its `l1_ratio`.
* Ridge: ours minimises ½ MSE + ½λ‖β‖², scikit-learn's `alpha` is n·λ.
* Objectives are compared, to 1e-9 of the target's variance, with scikit-learn's tolerance at its limit.
* MCP is compared with skglm where that is installed: a path of warm starts leads both to the same local minimum here.
"""

import json

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge, enet_path, lasso_path

OBJECTIVE = 1e-9


def mixed(number):
    """SplitMix64, which the program hashes row numbers with."""
    number = (number + 0x9E3779B97F4A7C15) % 2**64
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    number = (number ^ number >> 27) * 0x94D049BB133111EB % 2**64
    return number ^ number >> 31


def folds_of(rows, folds):
    """The fold of each row by its number, as data/splits.rs defines it."""
    key = (mixed(mixed(0) ^ 0x666F6C64) + folds) % 2**64
    return np.array([mixed(mixed(key) ^ mixed(row)) * folds >> 64 for row in range(rows)])


def numbers(seed, n=300, p=25, k=5):
    """Correlated columns of different scales and large means, a few of which matter."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, p)) + random.normal(size=(n, 1))
    rows = rows * random.uniform(0.5, 20, size=p) + random.uniform(-50, 50, size=p)
    target = rows[:, :k] @ random.normal(size=k) + random.normal(size=n) * 3 + 100
    return rows, target


def standardised(rows, target):
    return (rows - rows.mean(0)) / rows.std(0), target - target.mean()


def make(tamis, rows, target, *arguments):
    data = tamis.write_svmlight("data.svm", rows, target)
    tamis.run("moments", data, "-o", "data.moments", "--task", "regression", "--quiet", *arguments)


def solve(tamis, p, *arguments):
    """What is said, the intercept and the weights."""
    said = json.loads(tamis.run("solve", "data.moments", *arguments, "--out", "m.json", "--json", "--quiet"))
    model = json.loads(tamis.run("inspect", "m.json", "--top", 0, "--json"))
    weights = np.zeros(p)
    for feature in model["features"]:
        weights[int(feature["name"]) - 1] = feature["weight"]
    return said, model["intercept"], weights


def objective(x, y, beta, penalty, share=1.0):
    loss = np.mean((y - x @ beta) ** 2) / 2
    return loss + penalty * (share * np.abs(beta).sum() + (1 - share) / 2 * (beta**2).sum())


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("n", [300, 15])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
def test_lasso_and_elastic_net_reach_the_same_objective(tamis, seed, n, share):
    rows, target = numbers(seed, n=n)
    x, y = standardised(rows, target)
    make(tamis, rows, target)
    largest = np.abs(x.T @ y).max() / n / share
    for part in [0.5, 0.1, 0.02]:
        penalty = part * largest
        method = ["lasso"] if share == 1.0 else ["elastic-net", "--l1-ratio", share]
        _, intercept, weights = solve(tamis, rows.shape[1], "--lambda", repr(float(penalty)), "--method", *method)
        theirs = ElasticNet(alpha=penalty, l1_ratio=share, tol=1e-14, max_iter=1_000_000, fit_intercept=False).fit(x, y)
        ours = objective(x, y, weights * rows.std(0), penalty, share)
        best = objective(x, y, theirs.coef_, penalty, share)
        assert ours <= best + OBJECTIVE * y.var()
        assert ours >= best - OBJECTIVE * y.var()
        assert abs(intercept - (target.mean() - rows.mean(0) @ weights)) < 1e-8 * (1 + abs(intercept))


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_the_whole_path_is_scikit_learns(tamis, share):
    rows, target = numbers(4, n=200, p=30)
    x, y = standardised(rows, target)
    make(tamis, rows, target)
    method = ["lasso"] if share == 1.0 else ["elastic-net", "--l1-ratio", share]
    said, *_ = solve(tamis, 30, "--method", *method, "--criterion", "bic", "--path")
    alphas = np.array([point["lambda"] for point in said["path"]])
    settings = {"alphas": alphas, "tol": 1e-14, "max_iter": 1_000_000}
    _, coefficients, _ = lasso_path(x, y, **settings) if share == 1.0 else enet_path(x, y, l1_ratio=share, **settings)
    r2 = 1 - np.mean((y[:, None] - x @ coefficients) ** 2, axis=0) / y.var()
    np.testing.assert_allclose([point["r2"] for point in said["path"]], r2, rtol=0, atol=1e-6)
    sizes = (np.abs(coefficients) > 1e-9).sum(axis=0)
    assert [point["size"] for point in said["path"]][:80] == sizes[:80].tolist()
    n = len(y)
    bic = n * np.log(np.mean((y[:, None] - x @ coefficients) ** 2, axis=0)) + np.log(n) * sizes
    np.testing.assert_allclose([point["bic"] for point in said["path"]][:80], bic[:80], rtol=0, atol=1e-2)


@pytest.mark.parametrize("seed", [1, 2])
def test_least_squares_and_ridge(tamis, seed):
    rows, target = numbers(seed)
    x, y = standardised(rows, target)
    make(tamis, rows, target)
    _, intercept, weights = solve(tamis, 25, "--method", "ols")
    theirs = LinearRegression().fit(rows, target)
    np.testing.assert_allclose(weights, theirs.coef_, rtol=1e-9)
    assert abs(intercept - theirs.intercept_) < 1e-7
    for penalty in [1e-3, 0.1, 10.0]:
        _, _, weights = solve(tamis, 25, "--method", "ridge", "--lambda", penalty)
        theirs = Ridge(alpha=penalty * len(y), fit_intercept=False, solver="cholesky").fit(x, y)
        np.testing.assert_allclose(weights * rows.std(0), theirs.coef_, rtol=1e-8)


def test_cross_validation_without_the_rows_is_cross_validation_with_them(tamis):
    rows, target = numbers(7, n=203, p=12)
    make(tamis, rows, target, "--folds", 5)
    said, *_ = solve(tamis, 12, "--method", "lasso", "--criterion", "cv", "--path")
    fold = folds_of(len(target), 5)
    for point in said["path"][::9]:
        squares = 0.0
        for held in range(5):
            train, test = fold != held, fold == held
            x, y = standardised(rows[train], target[train])
            fit = Lasso(alpha=point["lambda"], tol=1e-14, max_iter=1_000_000, fit_intercept=False).fit(x, y)
            new = (rows[test] - rows[train].mean(0)) / rows[train].std(0)
            squares += ((target[test] - target[train].mean() - new @ fit.coef_) ** 2).sum()
        assert point["cv_error"] == pytest.approx(squares / len(target), rel=1e-6)
    assert min(point["cv_error"] for point in said["path"]) == said["cv_error"]


def test_cross_validated_least_squares_to_every_digit(tamis):
    rows, target = numbers(8, n=203, p=6, k=3)
    make(tamis, rows, target, "--folds", 4)
    said, *_ = solve(tamis, 6, "--method", "ols-th", "--criterion", "cv", "--path")
    fold = folds_of(len(target), 4)
    squares = 0.0
    for held in range(4):
        fit = LinearRegression().fit(rows[fold != held], target[fold != held])
        squares += ((target[fold == held] - fit.predict(rows[fold == held])) ** 2).sum()
    assert said["path"][-1]["cv_error"] == pytest.approx(squares / len(target), rel=1e-8)


def test_a_file_of_moments_holds_numpys_covariance(tamis):
    safetensors = pytest.importorskip("safetensors.numpy")
    rows, target = numbers(9, n=100, p=5)
    make(tamis, rows, target)
    arrays = safetensors.load_file(tamis.directory / "data.moments")
    both = np.column_stack([target, rows])
    names = [column.get("feature", "label") for column in json.loads(arrays["columns"].tobytes())]
    order = [0 if name == "label" else int(name) for name in names]
    expected = np.cov(both[:, order], rowvar=False, bias=True) * len(target)
    np.testing.assert_allclose(arrays["fold0.comoments"], expected[np.tril_indices(6)], rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(arrays["fold0.means"], both[:, order].mean(0), rtol=1e-12)


@pytest.mark.parametrize("seed", [1, 2])
def test_mcp_is_skglms(tamis, seed):
    skglm = pytest.importorskip("skglm")
    rows, target = numbers(seed, n=400, p=20)
    x, y = standardised(rows, target)
    make(tamis, rows, target)
    largest = np.abs(x.T @ y).max() / len(y)

    def value(beta, penalty, b=3.0):
        size = np.abs(beta)
        inside = penalty * size - size**2 / (2 * b)
        return np.mean((y - x @ beta) ** 2) / 2 + np.where(size <= b * penalty, inside, b * penalty**2 / 2).sum()

    for part in [0.5, 0.2, 0.1]:
        penalty = part * largest
        _, _, weights = solve(tamis, 20, "--method", "mcp", "--lambda", repr(float(penalty)))
        theirs = skglm.MCPRegression(alpha=penalty, gamma=3.0, tol=1e-12, fit_intercept=False, max_iter=1000).fit(x, y)
        ours, other = value(weights * rows.std(0), penalty), value(theirs.coef_, penalty)
        assert ours <= other + OBJECTIVE * y.var(), "a minimum at least as good"
