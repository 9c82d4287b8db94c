"""Parameters chosen by cross-validation, and repeated fits: those of the program, from any data."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import numbers, svmlight, words
from sklearn.base import clone

import tamis
from tamis import SparseClassifier, SparseRegressor, StabilizedClassifier, TwoStageRegressor, stability, tune

CASES = [
    (SparseClassifier(), [], None),
    (SparseClassifier("fobos", random_state=3), ["--method", "fobos", "--seed", "3"], {"alpha": [1e-4, 0.01, 0.1]}),
    (SparseClassifier("rda"), ["--method", "rda"], {"alpha": [0.001, 0.1], "gamma": [2, 10]}),
    (StabilizedClassifier(), ["--method", "stabilized"], {"n_features_to_select": [2, 8, 40]}),
]


def flags_of(grid):
    names = {"alpha": "l1", "n_features_to_select": "k"}
    lists = [f"{names.get(name, name)}={','.join(map(str, values))}" for name, values in (grid or {}).items()]
    return [part for one in lists for part in ("--grid", one)]


@pytest.mark.parametrize(("estimator", "flags", "grid"), CASES, ids=lambda one: str(one)[:30])
@pytest.mark.filterwarnings("ignore::tamis.Note")
def test_it_is_the_program_s(estimator, flags, grid, program, tmp_path):
    X, y = words(rows=400, columns=60)
    file, model, curve = svmlight(tmp_path, X, y), tmp_path / "model.json", tmp_path / "curve.json"
    flags = flags or ["--method", "ftrl"]
    program("tune", file, "--out", model, "--curve", curve, "--folds", 3, "--quiet", *flags, *flags_of(grid))
    told = json.loads(curve.read_text())
    for found in (tune(estimator, X, y, grid=grid, folds=3), tune(estimator, file, grid=grid, folds=3)):
        assert found.measure == told["measure"] == "error"
        for name in ("mean", "standard_error", "nonzeros"):
            assert found.curve[name].tolist() == [point[name] for point in told["settings"]], name
        assert found.curve["fold2"].tolist() == [point["folds"][1]["value"] for point in told["settings"]]
        assert list(found.params.values()) == list(told["chosen"]["setting"].values())
        assert np.flatnonzero(found.curve["chosen"]).tolist() == [found.chosen]
        expected = tamis.load(model)
        assert np.array_equal(found.estimator.predict(file), expected.predict(file))
        assert [one["weight"] for one in found.estimator.features_] == [one["weight"] for one in expected.features_]


def test_the_estimator_has_what_was_chosen():
    X, y = numbers()
    plain = SparseRegressor("rda", settings={"l2": 0.1})
    found = tune(plain, X, y, grid={"alpha": [0.001, 0.1], "gamma": [3, 10]}, folds=3)
    assert found.params == {"alpha": found.estimator.alpha, "gamma": found.estimator.settings["gamma"]}
    assert found.estimator.settings["l2"] == 0.1 and plain.settings == {"l2": 0.1} and plain.alpha is None
    again = clone(found.estimator).fit(X, y)
    assert np.array_equal(again.coef_, found.estimator.coef_)
    assert list(found.curve)[:5] == ["alpha", "gamma", "mean", "standard_error", "nonzeros"]
    frame = pd.DataFrame(found.curve)
    assert frame.shape == (4, 9) and frame.loc[frame.chosen, "mean"].item() == found.curve["mean"][found.chosen]


@pytest.mark.filterwarnings("ignore::tamis.Note")
def test_rules():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 30))
    y = X @ 0.8 ** np.arange(30) + 2 * random.normal(size=300)
    grid = {"alpha": [30, 100, 300, 600, 1000, 2000]}
    sparse, best = (tune(SparseRegressor(), X, y, grid=grid, rule=rule) for rule in ("one-se", "min"))
    assert best.curve["mean"][best.chosen] == best.curve["mean"].min()
    assert sparse.curve["nonzeros"][sparse.chosen] < best.curve["nonzeros"][best.chosen]
    limit = best.curve["mean"].min() + best.curve["standard_error"][best.chosen]
    assert sparse.curve["mean"][sparse.chosen] <= limit


def test_selected_features_are_refitted_as_in_a_fit():
    """A number of features cuts the weights of an online method, so that they are fitted again, also in the folds."""
    X, y = words(rows=600, columns=60)
    found = tune(SparseClassifier(), X, y, grid={"n_features_to_select": [4, 60]}, folds=3)
    explicit = tune(SparseClassifier(refit=True), X, y, grid={"n_features_to_select": [4, 60]}, folds=3)
    cut = tune(SparseClassifier(refit=False), X, y, grid={"n_features_to_select": [4, 60]}, folds=3)
    assert found.curve["mean"].tolist() == explicit.curve["mean"].tolist()
    assert found.curve["mean"][0] < cut.curve["mean"][0]
    assert np.array_equal(found.estimator.coef_, explicit.estimator.coef_)


def test_any_data_can_be_tuned():
    X, y = numbers(rows=300)
    names = [f"f{at}" for at in range(12)]
    frame = pd.DataFrame(X, columns=names).assign(town=np.array(["Rome", "Oslo"])[(y > 5).astype(int)])
    grid = {"alpha": [0.1, 10]}
    whole = tune(SparseRegressor(), frame, y, grid=grid, folds=3)
    assert "town=Rome" in {one["name"] for one in whole.estimator.features_}
    encoded = pd.DataFrame(X, columns=names).assign(**{f"town={one}": frame.town == one for one in ("Oslo", "Rome")})
    expected = tune(SparseRegressor(), encoded.astype(float), y, grid=grid, folds=3)
    np.testing.assert_allclose(whole.curve["mean"], expected.curve["mean"], rtol=1e-9)
    batches = ((frame[at : at + 100], y[at : at + 100]) for at in range(0, 300, 100))
    streamed = tune(SparseRegressor(), batches, grid=grid, folds=3)
    assert streamed.curve["mean"].tolist() == whole.curve["mean"].tolist()
    assert np.array_equal(streamed.estimator.predict(frame), whole.estimator.predict(frame))
    weights = np.random.default_rng(0).random(300)
    weighted = tune(SparseRegressor(), frame, y, weights, grid=grid, folds=3)
    assert weighted.curve["mean"].tolist() != whole.curve["mean"].tolist()
    assert np.array_equal(
        weighted.estimator.coef_, clone(weighted.estimator).fit(frame, y, sample_weight=weights).coef_
    )


@pytest.mark.filterwarnings("ignore::tamis.Note")
def test_threads_change_nothing():
    X, y = words(rows=300, columns=40, classes=3)
    grid = {"alpha": [0.1, 1, 10]}
    one, two = (tune(SparseClassifier(n_jobs=jobs), X, y, grid=grid, folds=3) for jobs in (1, 3))
    assert all(np.array_equal(one.curve[name], two.curve[name]) for name in one.curve)


def test_an_end_of_the_default_grid_is_told():
    X = np.random.default_rng(0).normal(size=(200, 10))
    with pytest.warns(tamis.Note, match="the best alpha lay at an end of its grid 0.1 … 100: extended to 0.00001 … 100"):
        found = tune(SparseClassifier(), X, X.sum(axis=1) > 0, folds=3)
    assert found.curve["alpha"].min() == 1e-5 and found.estimator.alpha == found.params["alpha"] == 1e-5


@pytest.mark.filterwarnings("ignore::tamis.Note")
def test_progress(capsys):
    X, y = numbers(rows=2000)
    tune(SparseRegressor(verbose=1), X, y, grid={"alpha": [0.1, 1, 10]})
    assert "of 15 fits" in capsys.readouterr().err


def test_complaints():
    X, y = numbers(rows=100)
    for call, told in [
        (lambda: tune(tamis.MomentsRegressor(), X, y), "tune does not apply to moments: use criterion='cv'"),
        (lambda: tune(tamis.KNN(), X, y > 5), "tune needs an estimator of a linear model, got KNN"),
        (lambda: tune(SparseRegressor(), X, y, grid={"nonsense": [1]}), "SparseRegressor has no parameter 'nonsense'"),
        (lambda: tune(TwoStageRegressor(), X, y, grid={"alpha": [1]}), "TwoStageRegressor has no parameter 'alpha'"),
        (lambda: tune(SparseRegressor(), X, y, grid={"alpha": []}), "alpha: expected at least one value to try"),
        (lambda: tune(SparseRegressor(), X, y, grid={"alpha": [-1]}), "'alpha' parameter of SparseRegressor must be"),
        (lambda: tune(SparseRegressor(), X, y, grid={"alpha": [1, -1]}), "alpha must be a number of at least 0, got -1"),
        (lambda: tune(SparseRegressor(), X, y, folds=1), "the number of folds must lie between 2 and 100, got 1"),
        (lambda: tune(SparseRegressor(), X, y, rule="best"), "rule must be one-se or min, got"),
        (lambda: tune(SparseRegressor(), X, y, measure="r2"), "measure must be one of error, log-loss, rmse"),
        (lambda: tune(SparseRegressor(), X, y, measure="error"), "error does not apply: numbers are predicted"),
        (lambda: tune(SparseRegressor(alpha=1, l1_ratio=0.5), X, y, grid={"alpha": [1]}), "with l1_ratio=1 only"),
        (lambda: stability(SparseRegressor(), X, y, by="luck"), "by must be order, seed or subsample"),
        (lambda: stability(SparseRegressor(), X, y, runs=1), "the number of runs must lie between 2 and 10000"),
    ]:
        with pytest.raises(tamis.ParamError) as caught:
            call()
        assert told in str(caught.value), told
    with pytest.raises(ValueError, match="requires y to be passed"):
        tune(SparseRegressor(), X)


def test_control_c_stops_the_search():
    code = """
import os, signal, threading
import numpy as np
from tamis import StabilizedClassifier, tune
X = np.random.default_rng(0).normal(size=(20_000, 200))
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    tune(StabilizedClassifier(max_iter=1000), X, X[:, 0] + X[:, 1] > 0)
except KeyboardInterrupt:
    print("stopped")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.stdout == "stopped\n", done.stderr


@pytest.mark.parametrize("by", ["subsample", "order", "seed"])
def test_repeated_fits_are_the_program_s(by, program, tmp_path):
    X, y = words(rows=400, columns=60)
    file = svmlight(tmp_path, X, y)
    flags = ["--method", "ftrl", "--k", 6, "--refit", "--runs", 4, "--by", by, "--json", "--quiet"]
    told = json.loads(program("stability", file, *flags))
    estimator = SparseClassifier(n_features_to_select=6)
    for found in (stability(estimator, X, y, runs=4, by=by), stability(estimator, file, runs=4, by=by)):
        assert found.kappa == told["kappa"] and found.measure == told["measure"]
        for name in ("mean_error", "sd_error", "mean_nonzeros", "sd_nonzeros", "runs"):
            assert getattr(found, name) == told[name], name
        assert [one["frequency"] for one in found.features] == [one["frequency"] for one in told["features"]]
    named = stability(estimator, X, y, runs=4, by=by).features
    assert [f"x{int(one['name']) - 1}" for one in told["features"]] == [one["name"] for one in named]
