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
