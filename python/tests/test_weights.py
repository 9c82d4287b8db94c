"""Weights of rows are relative, and a row of weight 0 is left out."""

import numpy as np
import pytest
from conftest import numbers
from sklearn.base import is_classifier

import tamis

ESTIMATORS = [
    tamis.SparseClassifier(),
    tamis.SparseClassifier("fobos", alpha=0.01),
    tamis.SparseRegressor(),
    tamis.StabilizedClassifier(),
    tamis.StabilizedRegressor(),
    tamis.TwoStageClassifier(),
    tamis.TwoStageRegressor(),
    tamis.MomentsClassifier(),
    tamis.MomentsRegressor(),
]


def data(estimator, rows=400):
    X, y = numbers(rows=rows)
    return X, (y > 5).astype(int) if is_classifier(estimator) else y


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_a_row_of_weight_zero_is_left_out(estimator):
    X, y = data(estimator)
    kept = np.arange(400) % 3 > 0
    spoiled = np.where(kept[:, None], X, 1000 * X + 7)
    weighted = estimator.fit(spoiled, y, sample_weight=kept.astype(float)).coef_
    np.testing.assert_allclose(weighted, estimator.fit(X[kept], y[kept]).coef_, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize("weight", [1e-6, 0.1, 1000.0, 1e5])
def test_equal_weights_are_no_weights(estimator, weight):
    X, y = data(estimator)
    weighted = estimator.fit(X, y, sample_weight=np.full(400, weight)).coef_
    np.testing.assert_allclose(weighted, estimator.fit(X, y).coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_only_ratios_of_weights_matter(estimator):
    X, y = data(estimator)
    weights = np.random.default_rng(1).integers(1, 9, size=400).astype(float)
    once = estimator.fit(X, y, sample_weight=weights).coef_
    np.testing.assert_allclose(estimator.fit(X, y, sample_weight=1024 * weights).coef_, once, rtol=1e-6, atol=1e-9)


def test_weights_of_a_stream_are_relative_to_its_first_rows():
    X, y = numbers(rows=6000)
    weights = np.random.default_rng(1).integers(1, 9, size=6000).astype(float)

    def stream(scale):
        model = tamis.SparseRegressor()
        for at in range(0, 6000, 500):
            rows = slice(at, at + 500)
            model.partial_fit(X[rows], y[rows], sample_weight=scale * weights[rows])
        return model.coef_

    assert np.array_equal(stream(1.0), stream(1024.0))
    fitted = tamis.SparseRegressor(max_iter=1).fit(X, y, sample_weight=weights)
    assert np.array_equal(stream(1.0), fitted.coef_)


@pytest.mark.parametrize("make", [tamis.SparseClassifier, tamis.StabilizedClassifier, tamis.MomentsClassifier])
def test_a_class_of_weight_zero_is_left_out(make):
    X, y = numbers(rows=400)
    y = np.digitize(y, [3.0, 7.0])
    model = make().fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 2]
    assert np.array_equal(model.predict(X), make().fit(X[y != 1], y[y != 1]).predict(X))
    with pytest.raises(ValueError, match="class"):
        make().fit(X, y, sample_weight=(y == 1).astype(float))


OFFSETS = [tamis.SparseClassifier(), tamis.TwoStageClassifier(), tamis.SparseRegressor(), tamis.TwoStageRegressor()]


@pytest.mark.parametrize("estimator", OFFSETS, ids=str)
@pytest.mark.parametrize("offset", [3.0, -10.0, 100.0, 1e5])
def test_columns_may_be_far_from_zero(estimator, offset):
    random = np.random.default_rng(0)
    X = random.normal(size=(900, 30))
    y = X[:, 3] - 2 * X[:, 7]
    y = (y > 0).astype(int) if is_classifier(estimator) else y
    plain = estimator.fit(X[:600], y[:600]).score(X[600:], y[600:])
    model = estimator.fit(X[:600] + offset, y[:600])
    assert model.score(X[600:] + offset, y[600:]) > plain - 0.03
    assert np.allclose(model._margins(X + offset), (X + offset) @ model.sparse_coef_.T.toarray() + model.intercept_)


@pytest.mark.parametrize("estimator", OFFSETS[:2], ids=str)
def test_a_column_of_years(estimator):
    random = np.random.default_rng(0)
    years, noise = random.integers(1990, 2025, size=(800, 1)).astype(float), random.normal(size=(800, 9))
    X, y = np.hstack([noise, years]), (years[:, 0] > 2007).astype(int)
    assert estimator.fit(X[:600], y[:600]).score(X[600:], y[600:]) > 0.95


@pytest.mark.parametrize("max_iter", [None, 1])
def test_a_column_far_from_zero_among_sparse_columns(max_iter):
    random = np.random.default_rng(0)
    X = np.where(random.random((2000, 6)) < 0.3, random.random((2000, 6)), 0)
    X[:, 2], X[:, 4] = 2000 + 20 * random.random(2000), np.where(random.random(2000) < 0.1, 0, 50)
    y = X[:, 2] / 2 + X[:, 0]
    for estimator in (tamis.SparseRegressor(max_iter=max_iter), tamis.SparseRegressor("fobos", alpha=1e-4, max_iter=max_iter)):
        model = estimator.fit(X, y)
        assert model.score(X, y) > 0.95
        assert np.allclose(model.predict(X), X @ model.coef_ + model.intercept_)


def test_a_stream_of_columns_far_from_zero():
    random = np.random.default_rng(0)
    X = random.normal(size=(9000, 10)) + 100
    y = X[:, 3] - 2 * X[:, 7]
    fitted = tamis.SparseRegressor(max_iter=1).fit(X, y)
    model = tamis.SparseRegressor()
    for at in range(0, 9000, 700):
        model.partial_fit(X[at : at + 700], y[at : at + 700])
    assert np.array_equal(model.coef_, fitted.coef_) and model.intercept_ == fitted.intercept_
    assert model.score(X, y) > 0.9


def test_without_an_intercept_no_column_is_centred():
    X = np.random.default_rng(0).normal(size=(500, 4)) + 5
    model = tamis.SparseClassifier(fit_intercept=False).fit(X, X[:, 1] > 5)
    assert model.intercept_ == 0 and np.allclose(X @ model.coef_[0], model.decision_function(X))
