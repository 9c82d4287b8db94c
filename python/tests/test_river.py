"""The adapter for River: dictionaries in, the same model as from a matrix."""

import numpy as np
import pandas as pd
import pytest
from conftest import numbers, words
from river import compose, datasets, evaluate, metrics, preprocessing

import tamis
from tamis.river import SparseClassifier, SparseRegressor


def rows_of(X):
    return ({str(at + 1): float(row[0, at]) for at in row.nonzero()[1]} for row in X)


def test_rows_one_by_one_are_the_matrix():
    X, y = words(rows=300, columns=60)
    model = SparseClassifier(alpha=0.5)
    for x, label in zip(rows_of(X), y, strict=True):
        assert model.learn_one(x, bool(label)) is None
    frame = pd.DataFrame(X.toarray(), columns=[str(at + 1) for at in range(60)])
    whole = tamis.SparseClassifier(alpha=0.5, scale="none").partial_fit(frame, y, classes=[0, 1])
    assert model.weights == {one["name"]: one["weight"] for one in whole.features_}
    predicted = [model.predict_one(x) for x in rows_of(X)]
    assert np.array_equal(predicted, whole.predict(frame).astype(bool))


def test_many_rows_and_many_classes():
    X, y = words(rows=600, columns=60, classes=3)
    frame = pd.DataFrame(X.toarray(), columns=[f"f{at}" for at in range(60)])
    model = SparseClassifier(classes=(0, 1, 2))
    model.learn_many(frame, pd.Series(y))
    shares = model.predict_proba_many(frame)
    assert list(shares.columns) == [0, 1, 2] and np.allclose(shares.sum(axis=1), 1)
    assert (model.predict_many(frame) == y).mean() > 0.7
    with pytest.raises(tamis.DataError, match="pass all classes to the constructor"):
        model.learn_one({"f1": 1.0}, 7)


def test_numbers():
    X, y = numbers()
    frame = pd.DataFrame(X / X.std(axis=0), columns=[f"f{at}" for at in range(12)])
    model = SparseRegressor(alpha=0.0)
    assert model.predict_one({"f1": 1.0}) == 0.0
    for _ in range(5):
        model.learn_many(frame, pd.Series(y))
    assert np.corrcoef(model.predict_many(frame), y)[0, 1] > 0.9


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
def test_targets_of_any_unit(unit):
    X, y = numbers()
    X = X / X.std(axis=0)
    names = [f"f{at}" for at in range(12)]
    one, many, errors = SparseRegressor(alpha=0.0), SparseRegressor(alpha=0.0), []
    for row, target in zip(X, unit * y, strict=True):
        x = dict(zip(names, row.tolist(), strict=True))
        errors.append(abs(one.predict_one(x) - target))
        one.learn_one(x, target)
    assert np.mean(errors[300:]) < 0.25 * unit * y.std(), "the first rows are enough"
    for at in range(0, 600, 100):
        many.learn_many(pd.DataFrame(X[at : at + 100], columns=names), pd.Series(unit * y[at : at + 100]))
    assert many.weights == one.weights, "however the rows are cut"
    assert one.weights["f4"] == pytest.approx(-2 * unit, rel=0.2)
    with pytest.raises(tamis.DataError, match="not finite"):
        one.learn_one({"f1": 1.0}, float("nan"))


@pytest.mark.parametrize(("data", "theirs"), [(datasets.ChickWeights, 23.8), (datasets.TrumpApproval, 1.4)])
def test_regression_is_as_good_as_river_s(data, theirs):
    model = compose.Pipeline(preprocessing.StandardScaler(), SparseRegressor())
    measured = evaluate.progressive_val_score(data(), model, metrics.MAE())
    assert measured.get() < theirs


def test_a_prediction_between_rows_is_the_model_s():
    X, y = words(rows=400, columns=60)
    for k in (None, 5):
        model = SparseClassifier(alpha=0.5 if k is None else None, n_features_to_select=k)
        for number, (x, label) in enumerate(zip(rows_of(X), y, strict=True)):
            model.learn_one(x, bool(label))
            if number % 100 == 99:
                weights, x = model.weights, {**x, "never seen": 1.0}
                total = model._made().intercepts[0] + sum(weights.get(name, 0.0) * x[name] for name in x)
                assert np.isclose(model.predict_proba_one(x)[True], 1 / (1 + np.exp(-total)), rtol=1e-9)


def test_before_the_first_row_nothing_is_known():
    assert SparseClassifier().predict_proba_one({"a": 1.0}) == {False: 0.5, True: 0.5}
    assert SparseClassifier().weights == {}


def test_in_a_pipeline_of_river():
    model = compose.Pipeline(preprocessing.StandardScaler(), SparseClassifier(alpha=0.1))
    measured = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    assert measured.get() > 0.85
