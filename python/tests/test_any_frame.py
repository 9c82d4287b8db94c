"""Frames drawn at random, with columns, indexes, labels and weights of any kind: every estimator must do with each what it
does with the plain numbers of the same names."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier

import tamis

ROWS = 160
ESTIMATORS = [
    tamis.SparseClassifier(),
    tamis.SparseRegressor(n_features_to_select=4),
    tamis.StabilizedClassifier(),
    tamis.StabilizedRegressor(4),
    tamis.TwoStageClassifier(),
    tamis.TwoStageRegressor(),
    tamis.MomentsClassifier(),
    tamis.MomentsRegressor(n_features_to_select=4),
    tamis.SDist(("plain", "order-1"), max_iter=4),
    tamis.KNN(),
]

# Columns of numbers: how pandas may hold them.
NUMBERS = {
    "float64": lambda values: values,
    "float32": lambda values: values.astype(np.float32),
    "far": lambda values: values + 2000,
    "int": lambda values: np.round(10 * values).astype(int),
    "Int64": lambda values: pd.array(np.round(10 * values).astype(int), dtype="Int64"),
    "Float64": lambda values: pd.array(values, dtype="Float64"),
    "bool": lambda values: values > 0,
    "boolean": lambda values: pd.array(values > 0, dtype="boolean"),
    "sparse": lambda values: pd.arrays.SparseArray(np.where(values > 0.5, values, 0.0)),
    "arrow": lambda values: pd.array(values, dtype="float64[pyarrow]"),
}
# Columns of categories, from the numbers 0, 1, 2.
CATEGORIES = {
    "object": lambda codes: np.array(["a", "b=c", "ü"], dtype=object)[codes],
    "string": lambda codes: pd.array(np.array(["a", "b=c", "ü"])[codes], dtype="string"),
    "category": lambda codes: pd.Categorical(np.array(["a", "b=c", "ü"])[codes]),
    "of numbers": lambda codes: pd.Categorical(np.array([7, 8, 9])[codes]),
}
INDEXES = {
    "range": lambda rows, random: pd.RangeIndex(rows),
    "shuffled": lambda rows, random: pd.Index(random.permutation(rows)),
    "repeated": lambda rows, random: pd.Index(random.integers(0, 5, rows), name="z"),
    "strings": lambda rows, random: pd.Index([f"row {at}" for at in range(rows)]),
    "levels": lambda rows, random: pd.MultiIndex.from_arrays([random.permutation(rows), range(rows)]),
    "dates": lambda rows, random: pd.date_range("2020-01-01", periods=rows),
}
CLASSES = [
    np.array([0, 1, 2]),
    np.array(["no", "perhaps", "yes"]),
    np.array([-1.0, 0.0, 1.0]),
    np.array([2**53, 2**53 + 1, 2**53 + 2]),
]


def choose(random, table):
    return table[sorted(table)[random.integers(len(table))]]


def draw(seed):
    """A frame, the same as plain numbers, hidden scores of its rows, and weights."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(ROWS, 5))
    scores = values[:, 0] - values[:, 1] + 0.3 * random.normal(size=ROWS)
    columns, plain = {}, {}
    for number in range(5):
        name = f"n{number}"
        columns[name] = choose(random, NUMBERS)(values[:, number])
        plain[name] = np.asarray(pd.Series(columns[name]), dtype=np.float64)
    for number in range(random.integers(0, 3)):
        name, codes = f"c{number}", random.integers(0, 3, size=ROWS)
        columns[name] = choose(random, CATEGORIES)(codes)
        texts = pd.Series(columns[name]).astype(str).to_numpy()
        plain |= {f"{name}={text}": (texts == text).astype(float) for text in sorted(set(texts))}
        scores = scores + codes
    index = choose(random, INDEXES)(ROWS, random)
    order = random.permutation(list(columns))
    frame = pd.DataFrame({name: columns[name] for name in order}).set_index(index)
    weights = [None, random.integers(0, 4, size=ROWS), random.random(ROWS) + 0.1][random.integers(3)]
    return frame, pd.DataFrame(plain), scores, weights


def labels(estimator, scores, random):
    """Labels of any kind, and where a pandas frame or list may hold them."""
    if is_classifier(estimator):
        classes = CLASSES[random.integers(len(CLASSES))]
        classes = classes[:2] if random.random() < 0.5 else classes
        y = classes[np.digitize(scores, np.quantile(scores, [0.4, 0.7])[: len(classes) - 1])]
    else:
        y = np.round(5 * scores) if random.random() < 0.5 else scores
    holder = [np.asarray, list, pd.Series, lambda y: pd.Series(y, index=y), pl.Series, pa.array][random.integers(6)]
    return y, holder


def outputs(model, rows):
    if isinstance(model, (tamis.SDist, tamis.KNN)):
        return model.transform(rows)
    return model._margins(rows)


@pytest.mark.parametrize("seed", range(14))
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
@pytest.mark.filterwarnings("ignore::tamis.Note")
def test_a_frame_is_its_numbers(estimator, seed):
    frame, plain, scores, weights = draw(seed)
    random = np.random.default_rng([seed, 1])
    y, hold = labels(estimator, scores, random)
    given = {} if weights is None or isinstance(estimator, (tamis.SDist, tamis.KNN)) else {"sample_weight": weights}
    expected = clone(estimator).fit(plain, y, **given)
    model = clone(estimator).fit(frame, hold(y.tolist() if hold is list else y), **given)
    if is_classifier(estimator):
        assert np.array_equal(model.classes_, expected.classes_)
    np.testing.assert_allclose(outputs(model, frame), outputs(expected, plain), rtol=1e-6, atol=1e-8)
    assert (model.predict(frame) == expected.predict(plain)).mean() > 0.99, "but for ties"
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(frame)
        np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-9)
        np.testing.assert_allclose(shares, expected.predict_proba(plain), rtol=1e-4, atol=1e-6)
    shuffled = frame[list(random.permutation(frame.columns))] if len(plain.columns) > len(frame.columns) else frame
    assert np.array_equal(model.predict(shuffled), model.predict(frame))
    if hasattr(model, "get_support"):
        chosen = dict(zip(model.get_feature_names_out(), model.transform(frame).T, strict=True))
        assert set(chosen) == set(expected.get_feature_names_out())
        assert all(np.array_equal(np.asarray(chosen[name], dtype=float), plain[name]) for name in chosen)


def test_no_estimator_is_forgotten():
    every = {name for name in tamis.__all__ if name.endswith(("Classifier", "Regressor")) or name in ("SDist", "KNN")}
    slow = {"KernelClassifier", "KernelRegressor"}  # test_kernel.py has frames for them
    assert {type(one).__name__ for one in ESTIMATORS} == every - slow and len(ESTIMATORS) == 10


@pytest.mark.parametrize("seed", range(14))
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
@pytest.mark.filterwarnings("ignore::tamis.Note")
def test_missing_cells_are_zeros_if_they_are_to_be(estimator, seed):
    frame, plain, scores, weights = draw(seed)
    random = np.random.default_rng([seed, 2])
    y = scores > 0 if is_classifier(estimator) else scores
    for name in frame.columns:
        gone = random.random(ROWS) < 0.1
        values = frame[name].astype(object).map(str if name.startswith("c") else float)
        values[gone] = None
        frame[name] = values if name.startswith("c") else pd.to_numeric(values)
        plain.loc[gone, [one for one in plain.columns if one == name or one.startswith(f"{name}=")]] = 0.0
    given = {} if isinstance(estimator, (tamis.SDist, tamis.KNN)) else {"sample_weight": weights}
    model = clone(estimator).set_params(reading={"missing": "zero"}).fit(frame, y, **given)
    expected = clone(estimator).fit(plain, y, **given)
    np.testing.assert_allclose(outputs(model, frame), outputs(expected, plain), rtol=1e-6, atol=1e-8)
