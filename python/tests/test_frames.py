"""Frames of pandas as they occur: after a split, with an index, with columns of strings."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

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


def towns(rows=600):
    random = np.random.default_rng(2)
    numbers = random.normal(size=(rows, 2))
    frame = pd.DataFrame({"a": numbers[:, 0], "town": random.choice(["Oslo", "Rome", "Bern"], rows), "b": numbers[:, 1]})
    return frame, (frame.a - 2 * frame.b + 3 * (frame.town == "Rome") > 1).astype(int).to_numpy()


REGRESSORS = [tamis.SparseRegressor(), tamis.StabilizedRegressor(), tamis.TwoStageRegressor(), tamis.MomentsRegressor()]


@pytest.mark.parametrize("estimator", REGRESSORS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_labels_beside_strings_are_checked(estimator, bad):
    frame, _ = towns()
    y = frame.a.to_numpy(copy=True)
    y[3] = bad
    with pytest.raises(ValueError, match="Input y contains"):
        estimator.fit(frame, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples: 600, 599"):
        estimator.fit(frame, frame.a[1:])
    with pytest.raises(ValueError, match="y should be a 1d array, got an array of shape"):
        estimator.fit(frame, np.ones((600, 2)))


def test_labels_may_be_a_column():
    frame, y = towns()
    with pytest.warns(UserWarning, match="column-vector y was passed"):
        model = tamis.StabilizedClassifier().fit(frame, pd.DataFrame({"y": y}))
    assert np.array_equal(model.predict(frame), tamis.StabilizedClassifier().fit(frame, y).predict(frame))


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=lambda one: type(one).__name__)
def test_a_missing_or_renamed_column_is_an_error(estimator):
    frame, y = towns()
    model = estimator.fit(frame, y)
    with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- b"):
        model.predict(frame.drop(columns="b"))
    with pytest.raises(ValueError, match="unseen at fit time:\n- B\n(.|\n)*yet now missing:\n- b"):
        model.predict(frame.rename(columns={"b": "B"}))
    with pytest.raises(ValueError, match="unseen at fit time:\n- c"):
        model.predict(frame.assign(c=1.0))
    with pytest.raises(ValueError, match="was fitted to columns of categories"):
        model.predict(np.ones((3, 3)))
    assert np.array_equal(model.predict(frame[["town", "b", "a"]]), model.predict(frame)), "columns are matched by name"


def test_a_column_of_categories_stays_one():
    frame, y = towns()
    model = tamis.SparseClassifier().fit(frame, y)
    numbered = frame.assign(town=np.arange(600))
    unknown = frame.assign(town=[f"{at}" for at in range(600)])
    assert np.array_equal(model.decision_function(numbered), model.decision_function(unknown))


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda one: type(one).__name__)
def test_bad_columns_are_told_by_name(estimator):
    frame, y = towns()
    with pytest.raises(tamis.DataError, match="the column 'c' holds values of different types"):
        estimator.fit(frame.assign(c=["a"] * 599 + [3]), y)
    with pytest.raises(tamis.DataError, match="the column 'c' holds"):
        estimator.fit(frame.assign(c=1j), y)
    with pytest.raises(tamis.DataError, match="the column 'a' occurs twice"):
        estimator.fit(pd.concat([frame, frame[["a"]]], axis=1), y)


def test_missing_values_of_frames():
    frame, y = towns()
    gaps = frame.copy()
    gaps.loc[[0, 5], "a"] = np.nan
    gaps.loc[7, "town"] = None
    with pytest.raises(tamis.ParseError, match='column "a" is empty; use reading={"missing": "mean"}, reading={"missing": "zero"}'):
        tamis.SparseClassifier().fit(gaps, y)
    with pytest.raises(tamis.ParseError, match=r'ignore the column with reading={"ignore": \["when"\]}'):
        tamis.SparseClassifier().fit(frame.assign(when=[b"x"] * 600), y)
    model = tamis.SparseClassifier(reading={"missing": "zero"}).fit(gaps, y)
    filled = gaps.assign(a=gaps.a.fillna(0))
    assert np.array_equal(model.decision_function(gaps.drop(7)), model.decision_function(filled.drop(7)))
    skipping = tamis.SparseClassifier(reading={"missing": "skip-row"}).fit(gaps, y)
    kept = gaps.index.drop([0, 5, 7])
    plain = tamis.SparseClassifier().fit(frame.loc[kept], y[kept])
    assert np.array_equal(skipping.predict(frame), plain.predict(frame))
    with pytest.raises(tamis.ParseError, match='column "a" is empty'):
        skipping.predict(gaps)
    numbers = gaps[["a", "b"]]
    with pytest.raises(ValueError, match="NaN"):
        tamis.SparseClassifier().fit(numbers, y)
    model = tamis.SparseClassifier(reading={"missing": "zero"}).fit(numbers, y)
    assert np.array_equal(model.coef_, tamis.SparseClassifier().fit(numbers.fillna(0), y).coef_)


EVERY = [*CLASSIFIERS, tamis.SparseRegressor(), tamis.StabilizedRegressor(), tamis.TwoStageRegressor(), tamis.MomentsRegressor()]


def outputs(model, rows):
    return model.transform(rows) if isinstance(model, (tamis.SDist, tamis.KNN)) else model._margins(rows)


def gaps_of():
    """A frame with missing numbers."""
    frame, y = towns()
    gaps = frame.copy()
    gaps.loc[gaps.index % 7 == 3, "a"] = np.nan
    return gaps, y


def mean_of(model, gaps):
    """The mean that stands for missing values: a model must depend on all of its digits."""
    mean = json.loads(model._fitted().columns)["means"]["a"]
    assert mean == pytest.approx(gaps.a.mean(), rel=1e-12)
    return mean


@pytest.mark.parametrize("estimator", EVERY, ids=lambda one: type(one).__name__)
@pytest.mark.filterwarnings("ignore::tamis.Note")
def test_a_missing_number_may_be_the_mean(estimator):
    gaps, y = gaps_of()
    for columns in (["a", "town", "b"], ["a", "b"]):
        model = clone(estimator).set_params(reading={"missing": "mean"}).fit(gaps[columns], y)
        mean = mean_of(model, gaps)
        filled = gaps[columns].assign(a=gaps.a.fillna(mean))
        expected = clone(estimator).fit(filled, y)
        np.testing.assert_allclose(outputs(model, gaps[columns]), outputs(expected, filled), rtol=1e-6, atol=1e-8)
        empty = gaps[columns].head(5).assign(a=np.nan)
        means = empty.assign(a=mean)
        np.testing.assert_allclose(outputs(model, empty), outputs(expected, means), rtol=1e-6, atol=1e-8)
        whole = clone(estimator).set_params(reading={"missing": "mean"}).fit(filled, y)
        np.testing.assert_allclose(outputs(whole, empty), outputs(expected, means), rtol=1e-6, atol=1e-6)
    other = pickle.loads(pickle.dumps(model))
    assert np.array_equal(other.predict(gaps[columns]), model.predict(gaps[columns]))


@pytest.mark.parametrize("estimator", EVERY, ids=lambda one: type(one).__name__)
@pytest.mark.filterwarnings("ignore::tamis.Note")
def test_a_missing_number_may_have_an_indicator(estimator):
    gaps, y = gaps_of()
    model = clone(estimator).set_params(reading={"missing": "indicator"}).fit(gaps, y)
    filled = gaps.assign(a=gaps.a.fillna(mean_of(model, gaps)))
    marked = filled.assign(**{"a=missing": gaps.a.isna().astype(float)})[["a", "a=missing", "town", "b"]]
    expected = clone(estimator).fit(marked, y)
    np.testing.assert_allclose(outputs(model, gaps), outputs(expected, marked), rtol=1e-6, atol=1e-8)


def test_means_need_all_rows_at_once(tmp_path):
    gaps, y = gaps_of()
    filled = gaps.assign(a=gaps.a.fillna(gaps.a.mean()))
    reading = {"missing": "mean"}
    with pytest.raises(tamis.ParamError, match='"mean"} needs all rows at once: it is not supported for batches'):
        tamis.SparseClassifier(reading=reading).fit(iter([(gaps, y)]))
    for make in (tamis.SparseClassifier, tamis.MomentsClassifier):
        with pytest.raises(tamis.ParamError, match="not supported for partial_fit"):
            make(reading=reading).partial_fit(gaps, y, classes=[0, 1])
    for make in (tamis.StabilizedClassifier, tamis.MomentsClassifier):
        model = make(reading=reading).fit(gaps, y)
        model.save(tmp_path / "model.json")
        loaded = tamis.load(tmp_path / "model.json").set_params(reading=reading)
        assert np.array_equal(loaded.predict(gaps), model.predict(filled)), "the file has the means"


@pytest.mark.parametrize("estimator", EVERY, ids=lambda one: type(one).__name__)
@pytest.mark.filterwarnings("ignore::tamis.Note")
def test_dates_are_days_months_and_weekdays(estimator):
    random = np.random.default_rng(0)
    when = pd.Series(pd.date_range("2021-03-01", periods=400, freq="D")[random.permutation(400)])
    frame = pd.DataFrame({"z": random.normal(size=400), "when": when})
    y = (when.dt.month > 6).astype(int).to_numpy()
    days = (when - pd.Timestamp("1970-01-01")).dt.days
    parts = {"when": days, "when.month": when.dt.month, "when.weekday": when.dt.day_of_week + 1}
    encoded = frame[["z"]].assign(**parts).astype(float)
    model, expected = clone(estimator).fit(frame, y), clone(estimator).fit(encoded, y)
    assert list(model.feature_names_in_) == ["z", "when"]
    np.testing.assert_allclose(outputs(model, frame), outputs(expected, encoded), rtol=1e-5, atol=1e-6)
    if hasattr(model, "get_support"):
        assert set(model.get_feature_names_out()) == set(expected.get_feature_names_out())
        assert "when.month" in set(model.get_feature_names_out())
    with pytest.raises(ValueError, match="yet now missing:\n- when"):
        model.predict(frame[["z"]])


def test_categories_that_are_numbers():
    frame, y = towns()
    codes = frame.town.map({"Oslo": 1, "Rome": 2, "Bern": 3})
    model = tamis.SparseClassifier().fit(frame.assign(town=codes.astype("category")), y)
    assert model.get_feature_names_out().tolist() == ["a", "town=1", "town=2", "town=3", "b"]
    assert model.score(frame.assign(town=codes.astype("category")), y) > 0.95


SELECTORS = [
    tamis.SparseClassifier(n_features_to_select=2),
    tamis.StabilizedClassifier(2),
    tamis.TwoStageClassifier(2),
    tamis.MomentsClassifier(n_features_to_select=2),
]


@pytest.mark.parametrize("estimator", SELECTORS, ids=lambda one: type(one).__name__)
def test_features_of_strings_can_be_selected(estimator):
    frame, y = towns()
    model = estimator.fit(frame, y)
    assert model.n_features_in_ == 3 and list(model.feature_names_in_) == ["a", "town", "b"]
    encoded = pd.DataFrame({"a": frame.a, **{f"town={name}": frame.town == name for name in ("Bern", "Oslo", "Rome")}})
    encoded = encoded.assign(b=frame.b).astype(float)
    assert model.coef_.shape == model.sparse_coef_.shape == (1, 5)
    assert model.get_support().sum() == 2 == np.count_nonzero(model.coef_)
    assert list(model.get_feature_names_out()) == list(encoded.columns[model.get_support()])
    assert np.array_equal(model.transform(frame), encoded.loc[:, model.get_support()])
    assert np.allclose(encoded @ model.coef_[0] + model.intercept_[0], model._margins(frame)[:, 0])
    named = model.set_output(transform="pandas").transform(frame)
    model.set_output(transform="default")
    assert list(named.columns) == list(model.get_feature_names_out()) and named.index.equals(frame.index)
    assert model.transform(frame.iloc[:0]).shape == (0, 2)


def test_categories_may_come_late():
    frame, y = towns()
    first, second = frame.town != "Rome", frame.town == "Rome"
    model = tamis.SparseClassifier().partial_fit(frame[first], y[first], classes=[0, 1])
    assert model.coef_.shape == (1, 4)
    model.partial_fit(frame[second], y[second])
    assert model.coef_.shape == (1, 5) and "town=Rome" in model.get_feature_names_out()


def test_readers_and_lazy_frames():
    import polars as pl
    import pyarrow as pa

    frame, y = towns()
    table = pa.Table.from_pandas(frame)
    model = tamis.SparseClassifier().fit(pa.RecordBatchReader.from_batches(table.schema, table.to_batches()), y)
    assert np.array_equal(model.coef_, tamis.SparseClassifier().fit(frame, y).coef_)
    with pytest.raises(tamis.DataError, match="LazyFrame"):
        tamis.SparseClassifier().fit(pl.from_pandas(frame).lazy(), y)
    with pytest.raises(tamis.DataError, match="vectorizer"):
        tamis.SparseClassifier().fit(["a text", "another"], [0, 1])


def test_features_of_strings_are_tested():
    frame, y = towns()
    model = tamis.StabilizedClassifier().fit(frame, y)
    assert model.q_values_.shape == (5,) and model.selection_frequency_.shape == (5,)
    features = ["a", "town=Bern", "town=Oslo", "town=Rome", "b"]
    confirmed = [name for name, q in zip(features, model.q_values_, strict=True) if q <= 0.1]
    assert set(model.confirmed()) == set(confirmed) >= {"b"}


def test_features_of_arrays_are_tested_by_their_names():
    X = np.random.default_rng(0).normal(size=(600, 8))
    model = tamis.StabilizedClassifier().fit(X, X[:, 2] > X[:, 6])
    assert {"x2", "x6"} <= set(model.confirmed()) <= set(f"x{at}" for at in range(8))
