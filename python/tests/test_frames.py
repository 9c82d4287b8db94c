"""Frames of pandas as they occur: after a split, with an index, with columns of strings."""

import numpy as np
import pandas as pd
import pytest

import tamis

CLASSIFIERS = [
    tamis.SparseClassifier(),
    tamis.StabilizedClassifier(),
    tamis.TwoStageClassifier(),
    tamis.MomentsClassifier(),
    tamis.SDist(("plain", "order-1"), max_iter=5),
    tamis.KNN(),
]


def noise(rows=400):
    random = np.random.default_rng(0)
    towns = random.choice(["Rome", "Oslo"], size=rows)
    return pd.DataFrame({"town": towns, "z": random.normal(size=rows)}), np.repeat([0, 1], rows // 2)


INDEXES = {
    "shuffled": lambda frame: frame.index[np.random.default_rng(1).permutation(len(frame))],
    "strings": lambda frame: pd.Index([f"row {at}" for at in range(len(frame))], name="id"),
    "levels": lambda frame: pd.MultiIndex.from_arrays([range(len(frame)), range(len(frame))], names=["a", None]),
    "dates": lambda frame: pd.date_range("2020-01-01", periods=len(frame)),
}


@pytest.mark.parametrize("make", INDEXES.values(), ids=INDEXES)
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda one: type(one).__name__)
def test_the_index_of_a_frame_is_not_a_feature(estimator, make):
    frame, y = noise()
    indexed = frame.set_index(make(frame))
    plain, model = (estimator.fit(X, y).predict(frame) for X in (frame, indexed))
    assert np.array_equal(plain, model)
    assert np.array_equal(plain, estimator.fit(indexed, y).predict(indexed))
    names = {one["name"] for one in getattr(estimator, "features_", getattr(estimator, "variables_", []))}
    assert names <= {"town=Rome", "town=Oslo", "z"}


def test_the_index_of_a_frame_is_not_in_moments():
    frame, y = noise()
    moments = tamis.Moments().observe(frame.set_index(frame.index[::-1]), y)
    assert set(moments.info["features"]) == {"town=Rome", "town=Oslo", "z"}
