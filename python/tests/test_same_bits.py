"""The program and Python give the same bits for the same recipe; so do batches of any size."""

import json

import numpy as np
import pandas as pd
import pytest
from conftest import numbers, svmlight, words

import tamis
from tamis import SparseClassifier, SparseRegressor, StabilizedClassifier, StabilizedRegressor
from tamis import TwoStageClassifier, TwoStageRegressor


def bits(model):
    """All that a model file says of the model itself; where the data came from is not a part of it."""
    body = json.loads(model._fitted().text if hasattr(model, "_fitted") else model)["body"]
    body["recipe"].pop("passes", None), body["seen"].pop("passes", None)
    body.pop("columns", None)
    return body


CLASSIFIERS = [
    (SparseClassifier(), []),
    (SparseClassifier("fobos", alpha=1e-3, max_iter=2, random_state=3), ["--method", "fobos", "--l1", "1e-3"]),
    (SparseClassifier(n_features_to_select=5, refit=True), ["--k", "5", "--refit"]),
    (SparseClassifier(n_features_to_select=5), ["--k", "5"]),
    (SparseClassifier("truncated-gradient", settings={"period": 10}, average=True), ["--period", "10", "--average"]),
    (StabilizedClassifier(n_features_to_select=6), ["--k", "6"]),
    (StabilizedClassifier(), []),
    (TwoStageClassifier(n_draws=40), ["--method", "two-stage", "--n-draws", "40"]),
]


@pytest.mark.parametrize(("model", "flags"), CLASSIFIERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_is_the_program_s(model, flags, classes, program, tmp_path):
    X, y = words(classes=classes)
    file, out = svmlight(tmp_path, X, y), tmp_path / "model.json"
    method = getattr(model, "method", "stabilized")
    extra = ["--passes", "2", "--seed", "3"] if method == "fobos" else []
    flags = flags if "--method" in flags else ["--method", method, *flags]
    program("fit", file, "--out", out, "--quiet", *flags, *extra)
    model.fit(X, y)
    assert bits(model) == bits(out.read_text())
    model.save(tmp_path / "same.json")
    assert program("predict", tmp_path / "same.json", file) == program("predict", out, file)


@pytest.mark.parametrize("model", [SparseRegressor(), SparseRegressor("rda", alpha=0.01), StabilizedRegressor()])
def test_a_regressor_is_the_program_s(model, program, tmp_path):
    X, y = numbers()
    file, out = svmlight(tmp_path, X, y), tmp_path / "model.json"
    flags = ["--l1", "0.01"] if getattr(model, "method", "") == "rda" else []
    program("fit", file, "--out", out, "--quiet", "--method", getattr(model, "method", "stabilized"), *flags)
    assert bits(model.fit(X, y)) == bits(out.read_text())
    predicted = [float(line.split()[0]) for line in program("predict", out, file).splitlines()]
    assert np.array_equal(model.predict(X), predicted)


@pytest.mark.parametrize(
    ("given", "flags"),
    [
        ({}, []),
        ({"n_features_to_select": 3, "sampling": "weight", "refit": True}, ["--k", "3", "--sampling", "weight", "--refit"]),
        (
            {"n_draws": 20, "radius": 30.0, "learning_rate": 0.01, "first_epoch_steps": 50, "max_iter": 3},
            ["--n-draws", 20, "--radius", 30, "--learning-rate", 0.01, "--first-epoch-steps", 50, "--passes", 3],
        ),
    ],
)
def test_what_is_drawn_is_what_the_program_draws(given, flags, program, tmp_path):
    X, y = numbers()
    file, out = svmlight(tmp_path, X, y), tmp_path / "model.json"
    program("fit", file, "--out", out, "--quiet", "--method", "two-stage", "--seed", 5, *flags)
    model = TwoStageRegressor(random_state=5, **given).fit(X, y)
    assert bits(model) == bits(out.read_text())
    again = tamis.load(out)
    assert isinstance(again, TwoStageRegressor) and again.sampling_ == model.sampling_
    assert model.sampling_["law"] == given.get("sampling", "contribution")


def test_what_is_drawn_at_the_end_cannot_learn_row_by_row():
    X, y = words()
    with pytest.raises(tamis.ParamError, match="two-stage needs all rows at once"):
        SparseClassifier("two-stage").partial_fit(X, y, classes=[0, 1])
    model = SparseClassifier("two-stage", n_features_to_select=9).fit(X, y)
    assert model.get_support().sum() == 9
    with pytest.raises(tamis.DataError, match="training cannot be continued"):
        model.partial_fit(X, y, classes=[0, 1])


def test_a_frame_is_its_table(program, tmp_path):
    X, y = numbers()
    frame = pd.DataFrame(X, columns=[f"column {at}" for at in range(X.shape[1])])
    file, out = tmp_path / "train.csv", tmp_path / "model.json"
    frame.assign(y=y).to_csv(file, index=False, float_format="%.17g")
    program("fit", file, "--out", out, "--quiet", "--method", "ftrl")
    model = SparseRegressor().fit(frame, y)
    assert bits(model) == bits(out.read_text())
    assert list(model.feature_names_in_) == list(frame.columns)


def cut(model, X, y, size, **first):
    """A model that learned rows in batches of a size."""
    for start in range(0, X.shape[0], size):
        model.partial_fit(X[start : start + size], y[start : start + size], **first)
    return model


METHODS = [
    "ftrl",
    "sgd",
    "truncated-gradient",
    "rounding",
    "fobos",
    "rda",
    "tsgd",
    "fofs",
    "sofs",
    "sadmm",
    "single-stage",
]


@pytest.mark.parametrize("method", METHODS)
def test_batches_of_any_size_give_the_same_classifier(method):
    X, y = words(rows=600, columns=80)
    k = 10 if method in ("tsgd", "fofs", "sofs") else None
    make = lambda: SparseClassifier(method, n_features_to_select=k)  # noqa: E731
    whole = bits(make().partial_fit(X, y, classes=[0, 1]))
    for size in (1, 10, 100):
        assert bits(cut(make(), X, y, size, classes=[0, 1])) == whole, size
    assert bits(SparseClassifier(method, n_features_to_select=k, max_iter=1).fit(X, y)) == whole


@pytest.mark.parametrize("scale", ["auto", "none", "max-abs"])
@pytest.mark.parametrize("classes", [2, 3])
def test_long_streams_too_and_as_the_program_does(scale, classes, program, tmp_path):
    X, y = words(rows=9000, columns=150, classes=classes)
    if scale == "max-abs":
        X = X.multiply(10.0 ** np.random.default_rng(1).integers(-3, 3, size=150)).tocsr()
    file, out = svmlight(tmp_path, X, y), tmp_path / "model.json"
    program("fit", file, "--out", out, "--quiet", "--method", "ftrl", "--passes", 1, "--scale", scale)
    expected = bits(out.read_text())
    for size in (1000, 4095, 9000):
        model = cut(SparseClassifier(scale=scale), X, y, size, classes=range(classes))
        assert bits(model) == expected, size


def test_looking_in_between_changes_nothing():
    X, y = numbers(rows=300)
    quiet, curious = SparseRegressor(), SparseRegressor()
    for start in range(0, 300, 20):
        rows = slice(start, start + 20)
        quiet.partial_fit(X[rows], y[rows])
        curious.partial_fit(X[rows], y[rows]).predict(X)
    assert bits(quiet) == bits(curious)


def test_many_features_that_come_and_go(program, tmp_path):
    """Beyond 65536 features idle ones are given back, at the same rows as in the program."""
    random = np.random.default_rng(0)
    rows, columns = 14_000, 400_000
    from scipy import sparse

    X = sparse.random(rows, columns, density=2e-5, format="csr", random_state=random)
    X.data[:] = 1.0
    X = sparse.hstack([sparse.csr_matrix(random.integers(0, 2, size=(rows, 3)).astype(float)), X]).tocsr()
    y = (X[:, 0].toarray().ravel() > 0).astype(int)
    file, out = svmlight(tmp_path, X, y), tmp_path / "model.json"
    program("fit", file, "--out", out, "--quiet", "--method", "ftrl", "--passes", 1)
    for size in (3000, rows):
        assert bits(cut(SparseClassifier(), X, y, size, classes=[0, 1])) == bits(out.read_text()), size


def test_threads_change_nothing():
    X, y = words(classes=3)
    for make in (SparseClassifier, StabilizedClassifier):
        assert bits(make(n_jobs=1).fit(X, y)) == bits(make(n_jobs=3).fit(X, y))
