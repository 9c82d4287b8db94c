"""tamis.dask with a cluster of two processes: the same model for any partitions, and after a worker died."""

import functools

import numpy as np
import pandas as pd
import pytest
from conftest import BUCKETS, PLANTED, names_of, oracle
from scipy import sparse

import tamis
from tamis import _core, _dask_engine, distributed

dask = pytest.importorskip("dask")
import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402

from tamis.dask import TamisClassifier, TamisMoments, TamisMomentsClassifier, TamisRegressor  # noqa: E402

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def numbered(data):
    return oracle(data.batch())


@pytest.fixture
def classifier():
    return TamisClassifier(3, n_buckets=BUCKETS, random_state=0, verbose=0)


def arrays(data, parts, order=None):
    X, y = data.dense(), data.label
    if order is not None:
        X, y = X[order], y[order]
    rows = -(-len(y) // parts)
    return da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=rows)


def test_partitions_and_order_leave_no_trace(client, data, classifier, numbered):
    order = np.random.default_rng(5).permutation(len(data.label))
    for parts, rows in ((1, None), (2, order), (7, None)):
        model = classifier.fit(*arrays(data, parts, rows))
        assert model._model.text == numbered
    assert {one["name"] for one in model.features_} == {f"x{one}" for one in PLANTED}


def test_without_a_cluster(data, classifier, numbered):
    with dask.config.set(scheduler="threads"):
        assert classifier.fit(*arrays(data, 3))._model.text == numbered


def test_frames_have_names(client, data, classifier):
    X = pd.DataFrame(data.dense(), columns=[f"w{at}" for at in range(data.columns)])
    frame = dd.from_pandas(X, npartitions=3)
    y = dd.from_pandas(pd.Series(np.where(data.label > 0, "yes", "no")), npartitions=3)
    model = classifier.fit(frame, y)
    assert names_of(model._model.text) == sorted(f"w{one}" for one in PLANTED)
    assert model.classes_.tolist() == ["no", "yes"]
    expected = model.estimator_.predict(X)
    assert model.predict(frame).compute().tolist() == expected.tolist()
    np.testing.assert_allclose(model.predict_proba(frame).compute(), model.estimator_.predict_proba(X), rtol=1e-12)


def test_sparse_chunks(client, data, classifier, numbered):
    X, y = arrays(data, 4)
    X = X.map_blocks(sparse.csr_matrix)
    model = classifier.fit(X, y)
    assert model._model.text == numbered
    assert np.mean(model.predict(X).compute() == data.label) > 0.85


def test_a_worker_that_dies_leaves_no_trace(client, data, classifier, numbered, monkeypatch, tmp_path):
    mark = str(tmp_path / "died")
    original = _dask_engine._stage

    def deadly(plan, table):
        import os

        if not os.path.exists(mark):
            open(mark, "w").close()
            os._exit(1)
        return original(plan, table)

    monkeypatch.setattr(_dask_engine, "_stage", deadly)
    assert classifier.fit(*arrays(data, 4))._model.text == numbered
    assert (tmp_path / "died").exists()


def test_a_task_that_fails_once_leaves_no_trace(client, data, classifier, numbered, monkeypatch, tmp_path):
    mark = str(tmp_path / "failed")
    original = _dask_engine._stage

    def flaky(plan, table):
        import os

        if not os.path.exists(mark):
            open(mark, "w").close()
            raise OSError("planted failure")
        return original(plan, table)

    monkeypatch.setattr(_dask_engine, "_stage", flaky)
    assert classifier.fit(*arrays(data, 4))._model.text == numbered
    assert (tmp_path / "failed").exists()


def test_regression(client, data):
    X, _ = arrays(data, 3)
    y = da.from_array(data.target, chunks=X.chunks[0])
    model = TamisRegressor(3, n_buckets=BUCKETS, random_state=0, verbose=0).fit(X, y)
    assert model._model.text == oracle(data.batch(label=data.target), "regression", loss=None)
    assert np.corrcoef(model.predict(X).compute(), data.target)[0, 1] > 0.95


def test_moments(client, data):
    expected = tamis.Moments().observe(data.dense(), data.target)
    for parts in (1, 2, 16):
        X, _ = arrays(data, parts)
        y = da.from_array(data.target, chunks=X.chunks[0])
        made = TamisMoments("lasso", n_features_to_select=4, block_rows=16).fit(X, y)
        assert made.moments_.rows == len(data.target)
        truth = {one["name"]: one["weight"] for one in expected.solve("lasso", n_features_to_select=4).features_}
        mine = {one["name"]: one["weight"] for one in made.features_}
        assert mine.keys() == truth.keys()
        assert all(mine[name] == pytest.approx(truth[name], rel=1e-9) for name in truth)


def test_moments_of_classes_have_folds_that_do_not_depend_on_partitions(client, data):
    weights = []
    for parts in (1, 6):
        X, y = arrays(data, parts)
        made = TamisMomentsClassifier("lasso", criterion="cv", folds=5, block_rows=16).fit(X, y)
        weights.append({one["name"]: one["weight"] for one in made.features_})
        assert made.classes_.tolist() == [0.0, 1.0]
        assert (made.predict(X).compute() == data.label).mean() > 0.85
    assert weights[1] == pytest.approx(weights[0], rel=1e-9)


def test_narrowed_columns_are_those_of_the_local_engine(client, data, classifier, monkeypatch):
    monkeypatch.setattr(distributed, "fit", functools.partial(distributed.fit, columns=20))
    assert classifier.fit(*arrays(data, 5))._model.text == oracle(data.batch())


def test_what_cannot_be_learned_is_named(client, data, classifier):
    X, y = arrays(data, 3)
    with pytest.raises(tamis.Error, match="(?i)class"):
        classifier.fit(X, y * 0)
    with pytest.raises(tamis.Error, match="(?i)no rows|empty"):
        classifier.fit(X[:0], y[:0])
    with pytest.raises(tamis.DataError, match="X has 3 partitions and y has 1"):
        classifier.fit(X, y.rechunk(-1))
    with pytest.raises(tamis.DataError, match="a Dask frame or array was expected, got ndarray"):
        classifier.fit(data.dense(), data.label)
    with pytest.raises(tamis.Error, match="(?i)null|finite|missing|nan"):
        classifier.fit(da.where(X > 2, np.nan, X), y)


def test_versions_that_differ_are_told_apart():
    _dask_engine.told({"tcp://a": _core.VERSION})
    with pytest.raises(tamis.ParamError, match=f"the driver has tamis {_core.VERSION} and the worker tcp://b has tamis 0.0.1"):
        _dask_engine.told({"tcp://a": _core.VERSION, "tcp://b": "0.0.1"})
    with pytest.raises(tamis.ParamError, match="the worker tcp://b cannot import tamis"):
        _dask_engine.told({"tcp://b": None})


def test_progress_is_a_line_a_stage(client, data, capsys):
    TamisClassifier(3, n_buckets=BUCKETS, random_state=0).fit(*arrays(data, 2))
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) >= 2 and all(line.startswith("[TamisClassifier] ") for line in told)
