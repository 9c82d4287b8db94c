"""Tuning and stability runs on either engine are those of threads."""

import numpy as np
import pytest

import tamis

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(params=["spark", "dask"])
def spread(request):
    if request.param == "spark":
        from tamis.spark import spread as made

        return made(request.getfixturevalue("spark"))
    from tamis.dask import spread as made

    request.getfixturevalue("client")
    return made()


def same(one, other):
    assert one.keys() == other.keys()
    for name in one:
        assert np.array_equal(one[name], other[name], equal_nan=one[name].dtype.kind == "f"), name


def test_tuning(spread, data):
    X, y = data.dense(), data.label
    estimator, grid = tamis.SparseClassifier(random_state=3), {"n_features_to_select": [1, 3, 9]}
    here = tamis.tune(estimator, X, y, grid=grid, folds=3)
    away = tamis.tune(estimator, X, y, grid=grid, folds=3, spread=spread)
    same(away.curve, here.curve)
    assert away.params == here.params == {"n_features_to_select": 3}
    # A grid of its own, which is extended where its best value lies at an end.
    here, away = (tamis.tune(tamis.SparseClassifier(), X, y, folds=2, spread=one) for one in (None, spread))
    same(away.curve, here.curve)


def test_stability(spread, data):
    given = {"runs": 4, "by": "subsample"}
    here, away = (
        tamis.stability(tamis.SparseRegressor(n_features_to_select=3), data.dense(), data.target, **given, spread=one)
        for one in (None, spread)
    )
    assert away == here and here.kappa > 0.9


def test_errors_of_tasks_are_those_of_threads(spread, data):
    with pytest.raises(tamis.Error) as here:
        tamis.tune(tamis.SparseClassifier(), data.dense(), data.label, grid={"alpha": [1.0, -5.0]}, folds=2)
    with pytest.raises(type(here.value)) as away:
        tamis.tune(tamis.SparseClassifier(), data.dense(), data.label, grid={"alpha": [1.0, -5.0]}, folds=2, spread=spread)
    assert str(away.value) == str(here.value)
