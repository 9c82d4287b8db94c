"""Whatever the rows come in, the model is the same, and names are kept."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import numbers, svmlight, words
from scipy import sparse

import tamis
from tamis import MomentsRegressor, SparseClassifier, SparseRegressor, StabilizedClassifier


def same(one, other):
    return json.loads(one._fitted().text)["body"]["outputs"] == json.loads(other._fitted().text)["body"]["outputs"]


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_sparse_matrices_of_any_make(make, kind):
    X, y = words()
    expected = SparseClassifier().fit(X.toarray(), y)
    other = make(X)
    if hasattr(other, "indptr"):
        other.indptr, other.indices = other.indptr.astype(kind), other.indices.astype(kind)
    assert same(SparseClassifier().fit(other, y), expected)
    assert np.array_equal(expected.predict(other), expected.predict(X.toarray()))


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.int8, bool])
def test_cells_of_any_kind(kind):
    X, y = words()
    X = (X > 0).astype(kind)
    expected = SparseClassifier().fit(X.toarray().astype(float), y)
    assert same(SparseClassifier().fit(X, y), expected)
    assert same(SparseClassifier().fit(X.toarray(), y), expected)
    assert same(SparseClassifier().fit(np.asfortranarray(X.toarray()), y), expected)


def test_unsorted_and_repeated_entries_are_put_right():
    X, y = words(rows=200)
    mixed = X.copy()
    mixed.indices = mixed.indices[::-1].copy()
    mixed.data = mixed.data[::-1].copy()
    mixed.indptr = mixed.nnz - mixed.indptr[::-1]
    mixed.has_sorted_indices = mixed.has_canonical_format = False
    untouched = mixed.indices.copy()
    tidy = sparse.csr_matrix(mixed.toarray())
    assert same(SparseClassifier().fit(mixed, y), SparseClassifier().fit(tidy, y))
    assert np.array_equal(mixed.indices, untouched), "the user's matrix is left alone"


FRAMES = {
    "pandas": lambda data: pd.DataFrame(data),
    "polars": lambda data: pl.DataFrame(data),
    "pyarrow": lambda data: pa.table(data),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("estimator", [SparseRegressor(), MomentsRegressor(n_features_to_select=3)])
def test_frames_keep_their_names(make, estimator):
    X, y = numbers()
    names = [f"f{at}" for at in range(X.shape[1])]
    frame = make(dict(zip(names, X.T, strict=True)))
    model = estimator.fit(frame, y)
    assert list(model.feature_names_in_) == names
    assert {one["name"] for one in model.features_} >= {"f1", "f4", "f7"}
    assert {"f1", "f4", "f7"} <= set(model.get_feature_names_out())
    plain = pd.DataFrame(X, columns=names)
    assert np.array_equal(model.predict(frame), model.predict(plain))


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_of_strings_are_categories(make):
    random = np.random.default_rng(0)
    towns, noise = random.choice(["Bern", "Oslo", "Rome"], size=500), random.normal(size=500)
    frame, y = make({"town": towns, "noise": noise}), (towns == "Oslo").astype(int)
    model = SparseClassifier(n_features_to_select=1).fit(frame, y)
    assert model.features_[0]["name"] == "town=Oslo"
    assert model.score(frame, y) == 1.0
    assert list(model.feature_names_in_) == ["town", "noise"]
    assert model.get_support().tolist() == [False, True, False, False] and model.coef_.shape == (1, 4)
    assert model.get_feature_names_out().tolist() == ["town=Oslo"]
    assert np.array_equal(model.transform(frame)[:, 0], towns == "Oslo")


def test_anything_with_an_arrow_stream():
    class Stream:
        """As little as an Arrow producer may be."""

        def __init__(self, table):
            self.table, self.column_names = table, table.column_names

        def __arrow_c_stream__(self, requested_schema=None):
            return self.table.__arrow_c_stream__(requested_schema)

        def __len__(self):
            return len(self.table)

    X, y = numbers()
    table = pa.table({f"f{at}": column for at, column in enumerate(X.T)})
    assert same(SparseRegressor().fit(Stream(table), y), SparseRegressor().fit(table, y))


def test_files_are_read_as_the_program_reads_them(tmp_path):
    X, y = words()
    file = svmlight(tmp_path, X, y)
    for make in (SparseClassifier, StabilizedClassifier):
        learned, expected = make(loss="logistic").fit(file), make(loss="logistic").fit(X, y)
        assert same(learned, expected)
        assert np.array_equal(learned.predict(file), expected.predict(X))
        assert np.array_equal(learned.predict(X), expected.predict(X))
        assert np.array_equal(learned.classes_, [0, 1])
        with pytest.raises(AttributeError, match="see features_"):
            learned.coef_  # noqa: B018
    assert same(SparseClassifier(loss="logistic").fit([str(file)]), SparseClassifier(loss="logistic").fit(X, y))


def test_files_with_columns(tmp_path):
    X, y = numbers()
    file = tmp_path / "train.csv"
    frame = pd.DataFrame(X, columns=[f"f{at}" for at in range(X.shape[1])])
    frame.assign(price=y, id=range(len(y))).to_csv(file, index=False)
    model = SparseRegressor(reading={"target": "price", "ignore": ["id"]}).fit(file)
    assert {one["name"] for one in model.features_} <= set(frame.columns)
    assert np.allclose(model.predict(file), model.predict(frame))
    with pytest.raises(tamis.ParamError, match="unknown option of reading"):
        SparseRegressor(reading={"targets": "price"}).fit(file)
    with file.open("a") as more:
        more.write("1,2\n")
    with pytest.raises(tamis.ParseError):
        SparseRegressor(reading={"target": "price"}).fit(file)
    skipped = SparseRegressor(reading={"target": "price", "weight_column": "id", "on_error": "skip"}).fit(file)
    assert same(skipped, SparseRegressor().fit(frame, y, sample_weight=range(len(y))))
    with pytest.raises(tamis.ParamError, match="on_error must be stop or skip, got"):
        SparseRegressor(reading={"on_error": "ignore"}).fit(file)


@pytest.mark.parametrize("make", [SparseClassifier, StabilizedClassifier])
def test_an_iterator_of_batches_is_a_stream(make):
    X, y = words(classes=3)
    batches = ((X[start : start + 130], y[start : start + 130]) for start in range(0, X.shape[0], 130))
    learned, expected = make(loss="logistic").fit(batches), make(loss="logistic").fit(X, y)
    assert same(learned, expected)
    assert np.array_equal(learned.classes_, [0, 1, 2])
    pieces = (X[start : start + 200] for start in range(0, X.shape[0], 200))
    assert np.array_equal(learned.predict(pieces), expected.predict(X))


def test_a_failing_iterator_says_what_it_said():
    def batches():
        yield words(rows=50)
        raise RuntimeError("the tape broke")

    with pytest.raises(RuntimeError, match="the tape broke"):
        SparseClassifier().fit(batches())


def test_new_columns_in_later_batches():
    X, y = words(rows=400)
    model = SparseClassifier()
    model.partial_fit(X[:200, :100], y[:200], classes=[0, 1])
    assert model.n_features_in_ == 100
    model.partial_fit(X[200:], y[200:])
    assert model.n_features_in_ == 300 and model.coef_.shape == (1, 300)
    padded = sparse.vstack([sparse.hstack([X[:200, :100], sparse.csr_matrix((200, 200))]), X[200:]]).tocsr()
    assert same(model, SparseClassifier().partial_fit(padded, y, classes=[0, 1]))
    with pytest.raises(ValueError, match="X has 100 features, but SparseClassifier is expecting 300"):
        model.partial_fit(X[:, :100], y)


def test_new_named_columns_in_later_batches():
    X, y = numbers()
    frame = pd.DataFrame(X, columns=[f"f{at}" for at in range(12)])
    model = SparseRegressor().partial_fit(frame.iloc[:300, :6], y[:300])
    wide = frame[["f0", "f9", "f1", "f2", "f7", "f3", "f4", "f5"]]
    model.partial_fit(wide.iloc[300:], y[300:])
    assert list(model.feature_names_in_) == ["f0", "f1", "f2", "f3", "f4", "f5", "f9", "f7"]
    assert model.coef_.shape == (8,)
    assert model.predict(frame[model.feature_names_in_]).shape == (600,)


def test_weights_of_tables_are_looked_at_too():
    table, y = pa.table({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]}), [0, 1, 1]
    for take in (SparseClassifier().fit, tamis.MomentsClassifier().fit, tamis.Moments("classes").observe):
        with pytest.raises(ValueError, match="Negative values"):
            take(table, y, sample_weight=[1.0, -1.0, 1.0])
        with pytest.raises(ValueError, match="sample_weight.shape"):
            take(table, y, sample_weight=[1.0, 1.0])


def test_bad_cells_are_told_with_their_place(tmp_path):
    file = tmp_path / "bad.svm"
    file.write_text("1 1:0.5\n0 2:0.3x\n")
    with pytest.raises(tamis.ParseError, match="bad.svm:2:") as caught:
        SparseClassifier().fit(file)
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(file), 2, 5)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, tamis.Error)
    with pytest.raises(tamis.FileError, match="No such file") as caught:
        SparseClassifier().fit(tmp_path / "none.svm")
    assert isinstance(caught.value, OSError)
    table = pa.table({"a": [1.0, None], "b": ["x", "y"]})
    with pytest.raises(tamis.ParseError, match='row 2: column "a" is empty'):
        SparseClassifier().fit(table, [0, 1])
