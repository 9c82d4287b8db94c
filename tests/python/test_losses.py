"""Poisson and quantile losses, class weights and products of columns beside scikit-learn."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor, QuantileRegressor
from sklearn.metrics import d2_tweedie_score, mean_pinball_loss, mean_poisson_deviance
from sklearn.preprocessing import PolynomialFeatures


def written(tamis, name, X, **more):
    frame = pd.DataFrame(X, columns=[f"x{at}" for at in range(X.shape[1])]).assign(**more)
    frame.to_csv(tamis.directory / name, index=False)
    return frame


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("size", [0.2, 3.0, 200.0])
def test_counts(tamis, seed, size):
    random = np.random.default_rng(seed)
    X = random.normal(size=(4000, 4)) * [1, 5, 0.2, 1]
    mean = size * np.exp(X @ [0.5, -0.1, 2.0, 0.0])
    y = random.poisson(mean)
    written(tamis, "d.csv", X, y=y)
    theirs = PoissonRegressor(alpha=0, max_iter=1000, tol=1e-8).fit(X, y)
    tamis.run("fit", "d.csv", "--loss", "poisson", "--method", "ftrl", "--l1", 0, "--out", "m.json", "--quiet")
    mine = np.array(tamis.run("predict", "m.json", "d.csv").split(), float)
    best, found = (d2_tweedie_score(y, guess, power=1) for guess in (theirs.predict(X), mine))
    assert found > best - 0.005, (found, best)
    said = json.loads(tamis.run("eval", "m.json", "d.csv", "--json"))
    deviance = mean_poisson_deviance(y, mine)
    assert abs(said["loss"] - deviance / 2) < 1e-6 * deviance, "the mean loss is half the deviance"


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_counts_with_exposure(tamis, seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(5000, 3))
    exposure = random.lognormal(sigma=1.5, size=5000)
    y = random.poisson(exposure * np.exp(0.3 + X @ [0.6, 0.0, -0.4]))
    written(tamis, "d.csv", X, log_exposure=np.log(exposure), y=y)
    theirs = PoissonRegressor(alpha=0, max_iter=1000, tol=1e-8).fit(X, y / exposure, sample_weight=exposure)
    flags = ["--loss", "poisson", "--offset", "log_exposure", "--method", "ftrl", "--l1", 0]
    tamis.run("fit", "d.csv", *flags, "--out", "m.json", "--quiet")
    mine = np.array(tamis.run("predict", "m.json", "d.csv").split(), float)
    best, found = (d2_tweedie_score(y, guess, power=1) for guess in (exposure * theirs.predict(X), mine))
    assert found > best - 0.005, (found, best)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_quantiles(tamis, share):
    random = np.random.default_rng(4)
    X = random.normal(size=(3000, 3))
    y = 100 + 20 * X[:, 0] + (5 + 4 * np.abs(X[:, 1])) * random.standard_t(3, size=3000)
    written(tamis, "d.csv", X, y=y)
    theirs = QuantileRegressor(quantile=share, alpha=0, solver="highs").fit(X, y)
    flags = ["--loss", "quantile", "--quantile", share, "--method", "ftrl", "--l1", 0]
    tamis.run("fit", "d.csv", *flags, "--out", "m.json", "--quiet")
    mine = np.array(tamis.run("predict", "m.json", "d.csv").split(), float)
    best, found = (mean_pinball_loss(y, guess, alpha=share) for guess in (theirs.predict(X), mine))
    assert found < 1.02 * best, (found, best)
    said = json.loads(tamis.run("eval", "m.json", "d.csv", "--json"))
    assert abs(said["loss"] - found) < 1e-6 * found


def test_balanced_classes(tamis):
    random = np.random.default_rng(5)
    X = random.normal(size=(4000, 4))
    y = random.random(4000) < 1 / (1 + np.exp(3.5 - X @ [1.0, -0.5, 0.0, 0.0]))
    written(tamis, "d.csv", X, y=y.astype(int))
    theirs = LogisticRegression(C=np.inf, class_weight="balanced").fit(X, y)
    flags = ["--class-weight", "balanced", "--method", "ftrl", "--l1", 0, "--passes", 20]
    intercept, weights = tamis.fit("d.csv", *flags)
    mine = np.array([weights[f"x{at}"] for at in range(4)])
    assert np.abs(mine - theirs.coef_[0]).max() < 0.1 and abs(intercept - theirs.intercept_[0]) < 0.1


def test_products(tamis):
    random = np.random.default_rng(6)
    X = random.normal(size=(3000, 3)) + [0, 2, -1]
    products = PolynomialFeatures(2, include_bias=False).fit(X)
    wide = products.transform(X)
    names = [name.replace(" ", "*").replace("^2", "*" + name[:2]) for name in products.get_feature_names_out(["x0", "x1", "x2"])]
    y = 3 + wide @ np.where([name in ("x1", "x0*x2", "x1*x1") for name in names], 1.5, 0)
    written(tamis, "d.csv", X, y=y)
    pd.DataFrame(wide, columns=names).assign(y=y).to_csv(tamis.directory / "wide.csv", index=False)
    pairs = ",".join(name for name in names if "*" in name)
    made = tamis.fit("d.csv", "--interactions", pairs, "--method", "ftrl")
    given = tamis.fit("wide.csv", "--method", "ftrl", model="wide.json")
    assert set(made[1]) == set(given[1]) and abs(made[0] - given[0]) < 1e-6
    assert all(abs(made[1][name] - given[1][name]) < 1e-6 for name in given[1])
    mine = np.array(tamis.run("predict", "model.json", "d.csv").split(), float)
    theirs = np.array(tamis.run("predict", "wide.json", "wide.csv").split(), float)
    assert np.abs(mine - theirs).max() < 1e-6
