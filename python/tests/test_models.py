"""Fitted models: what they tell, their files, pickles, cuts and pictures."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import numbers, words
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tamis
from tamis import SparseClassifier, SparseRegressor, StabilizedClassifier, StabilizedRegressor


def text(model):
    return model._fitted().text


def body(model):
    """What a file says of the model; which columns it was fitted to is said by files only."""
    return {name: part for name, part in json.loads(text(model))["body"].items() if name != "matrix"}


def test_exactly_k_features():
    X, y = words()
    for k in (1, 3, 8):
        for make in (SparseClassifier, StabilizedClassifier):
            model = make(n_features_to_select=k).fit(X, y)
            assert model.get_support().sum() == k == np.count_nonzero(model.coef_)
            assert model.transform(X).shape == (X.shape[0], k)


def test_dense_and_sparse_weights_agree():
    X, y = words(classes=3)
    model = SparseClassifier().fit(X, y)
    assert model.coef_.shape == (3, 300) == model.sparse_coef_.shape
    assert np.array_equal(model.sparse_coef_.toarray(), model.coef_)
    assert np.allclose(X @ model.coef_.T + model.intercept_, model.decision_function(X))
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    weights = {(one["class"], int(one["name"].removeprefix("x"))): one["weight"] for one in model.features_}
    assert all(model.coef_[place] == weight for place, weight in weights.items())


def test_classes_of_any_kind():
    X, y = words()
    for classes in (np.array(["ham", "spam"]), np.array([False, True]), np.array([-1.0, 1.0]), np.array([3, 70])):
        model = SparseClassifier().fit(X, classes[y])
        assert model.classes_.dtype == classes.dtype and set(model.predict(X)) <= set(classes)
        assert model.score(X, classes[y]) > 0.9


def test_weights_of_rows_matter_and_zero_is_nothing():
    X, y = words()
    keep = np.arange(X.shape[0]) % 3 > 0
    assert SparseClassifier(max_iter=1).fit(X, y, sample_weight=np.where(y == 1, 9, 1)).predict(X).mean() > y.mean()
    plain = {"method": "sgd", "schedule": "constant", "max_iter": 1, "shuffle": False}
    weighted = SparseClassifier(**plain).fit(X, y, sample_weight=keep.astype(float))
    assert np.allclose(weighted.coef_, SparseClassifier(**plain).fit(X[keep], y[keep]).coef_)
    with pytest.raises(ValueError, match="[Nn]egative"):
        SparseClassifier().fit(X, y, sample_weight=-np.ones(X.shape[0]))


@pytest.mark.parametrize("make", [SparseClassifier, StabilizedClassifier])
def test_files_and_pickles_bring_the_model_back(make, tmp_path):
    X, y = words(classes=3)
    model = make().fit(X, y)
    model.save(tmp_path / "model.json")
    for other in (make.load(tmp_path / "model.json"), tamis.load(tmp_path / "model.json")):
        assert type(other) is make and body(other) == body(model)
        assert np.array_equal(other.predict(X), model.predict(X))
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert text(other) == text(model) and np.array_equal(other.coef_, model.coef_)


@pytest.mark.parametrize("rows", [300, 6000])
def test_an_open_training_survives_its_pickle(rows):
    X, y = words(rows=2 * rows, columns=60)
    model = SparseClassifier().partial_fit(X[:rows], y[:rows], classes=[0, 1])
    other = pickle.loads(pickle.dumps(model))
    for one in (model, other):
        one.partial_fit(X[rows:], y[rows:])
    assert text(other) == text(model)


def test_files_that_are_no_models(tmp_path):
    file = tmp_path / "model.json"
    file.write_text("{}")
    with pytest.raises(tamis.ModelError, match="not a tamis model"):
        tamis.load(file)
    model = SparseRegressor().fit(*numbers())
    model.save(file)
    file.write_text(file.read_text().replace('"rows":600', '"rows":601'))
    with pytest.raises(tamis.ModelError, match="damaged"):
        SparseRegressor.load(file)
    with pytest.raises(tamis.ModelError, match="cannot be written"):
        model.save(tmp_path / "no" / "such" / "folder.json")


def test_complaints_speak_of_parameters():
    X, y = words(rows=100)
    for model, told in [
        (SparseClassifier("nonsense"), 'method must be one of stabilized, stabilized-published, sgd, '),
        (SparseClassifier(alpha=-1), "The 'alpha' parameter of SparseClassifier must be a float in the range [0.0, inf) or None. Got -1 instead."),
        (SparseClassifier(alpha=1, n_features_to_select=3), "n_features_to_select and alpha are exclusive: both determine how sparse the model is"),
        (SparseClassifier(settings={"gama": 1}), 'there is no parameter "gama"'),
        (SparseClassifier(settings={"learning-rate": 1}), 'there is no parameter "learning-rate"'),
        (SparseClassifier(l1_ratio=2), "The 'l1_ratio' parameter of SparseClassifier must be a float in the range [0.0, 1.0] or None. Got 2 instead."),
        (SparseClassifier("sgd", alpha=1, l1_ratio=0.5), "sgd has no parameter alpha; truncated-gradient, fobos, rda, ftrl, sadmm have"),
        (StabilizedClassifier(0), "'n_features_to_select' parameter of StabilizedClassifier must be an int in the range [1, inf) or None. Got 0"),
    ]:
        with pytest.raises(tamis.ParamError) as caught:
            model.fit(X, y)
        assert told in str(caught.value) and "--" not in str(caught.value)
    with pytest.raises(tamis.ParamError, match="stabilized needs all rows at once"):
        SparseClassifier("stabilized").partial_fit(X, y, classes=[0, 1])
    with pytest.raises(tamis.ParamError, match="max_iter=3 needs all rows before learning"):
        SparseClassifier(max_iter=3).partial_fit(X, y, classes=[0, 1])


def test_a_model_that_diverges_says_so():
    X, y = numbers()
    with pytest.raises(tamis.DivergedError, match="learning_rate"):
        SparseRegressor("sgd", schedule="constant", learning_rate=1e150, scale="none").fit(X, y)


def test_partial_fit_goes_on_from_fit():
    X, y = words(rows=300)
    model = SparseClassifier(max_iter=1, scale="none").fit(X[:200], y[:200])
    stream = SparseClassifier(scale="none").partial_fit(X[:200], y[:200], classes=[0, 1])
    for one in (model, stream):
        one.partial_fit(X[200:], y[200:])
    assert model.seen_["rows"] == 300 and np.array_equal(model.coef_, stream.coef_)
    with pytest.raises(tamis.DataError, match="training cannot be continued"):
        pickle.loads(pickle.dumps(SparseClassifier().fit(X, y))).partial_fit(X, y, classes=[0, 1])
    warm = pickle.loads(pickle.dumps(SparseClassifier(warm_start=True).fit(X, y)))
    assert warm.fit(X, y).seen_["rows"] == 600
    assert SparseClassifier().fit(X, y).fit(X, y).seen_["rows"] == 300, "without warm_start a fit begins anew"


def test_classes_are_checked_in_partial_fit():
    X, y = words(rows=100)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        SparseClassifier().partial_fit(X, y)
    model = SparseClassifier().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="is not the same as on last call"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(tamis.DataError, match="not in classes"):
        model.partial_fit(X, y + 1)


def test_selection_frequency_and_other_sizes():
    X, y = words()
    model = StabilizedClassifier(n_features_to_select=8).fit(X, y)
    assert model.selection_frequency_.shape == (300,) and 0 < model.selection_frequency_.max() <= 1
    assert set(np.flatnonzero(model.selection_frequency_)) <= set(model.get_support(indices=True))
    three = model.resize(3)
    assert three.get_support().sum() == 3 and model.get_support().sum() == 8
    assert three.resize(8).get_support().sum() == 8, "and back up again"
    sure = model.resize(frequency=0.9)
    assert sure.selection_frequency_[sure.get_support()].min() >= 0.9
    sizes = [size for size, _ in model.coef_path_]
    assert sizes == sorted(sizes, reverse=True) and all(path.shape == (1, 300) for _, path in model.coef_path_)
    assert [point["size"] for point in model.path_][-1] <= 8


def test_q_values_and_confirmed_features():
    random = np.random.default_rng(3)
    X = random.normal(size=(600, 300))
    y = X[:, 5] - X[:, 17] + X[:, 40] + random.normal(size=600) > 0
    model = StabilizedClassifier().fit(X, y)
    assert model.q_values_.shape == (300,) and 0 <= model.q_values_.min() and model.q_values_.max() == 1
    names = model.confirmed(q=0.1)
    assert len(names) == (model.q_values_ <= 0.1).sum() > 0
    sure = model.resize(fdr=0.1)
    assert set(sure.get_support(indices=True)) == set(np.flatnonzero(model.q_values_ <= 0.1))
    asked = StabilizedClassifier(fdr=0.1).fit(X, y)
    np.testing.assert_array_equal(asked.coef_, sure.coef_)
    with pytest.raises(tamis.ParamError, match="n_features_to_select, frequency and fdr"):
        model.resize(5, fdr=0.1)
    noise = StabilizedClassifier(fdr=0.1).fit(X, np.random.default_rng(0).permutation(y))
    assert noise.confirmed() == [] and noise.get_support().sum() == 0
    share = y.mean()
    np.testing.assert_allclose(noise.predict_proba(X[:2])[:, 1], share, rtol=1e-6)
    with pytest.raises(tamis.ParamError, match="fit again with n_features_to_select=100000"):
        model.resize(100000)


def test_pictures():
    X, y = words(classes=3)
    for model in (StabilizedClassifier(n_features_to_select=4), SparseClassifier(), tamis.MomentsClassifier()):
        assert "<svg" not in model._repr_html_(), "not fitted yet"
        picture = model.fit(X, y)._repr_html_()
        assert "<svg" in picture and "features" in picture
    import pandas as pd

    frame = pd.DataFrame({"<script>": [0.0, 1.0] * 20})
    assert "<script>0" not in SparseRegressor().fit(frame, frame["<script>"])._html_repr()
    assert "&lt;script&gt;</td>" in SparseRegressor().fit(frame, frame["<script>"])._html_repr()


def test_report(tmp_path):
    X, y = words(classes=2)
    model = StabilizedClassifier(n_features_to_select=4).fit(X, y)
    model.report(tmp_path / "report.html", file="mine.json")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>") and "tamis resize mine.json --k 2" in page


def test_progress(capsys):
    X, y = words()
    SparseClassifier(verbose=2).fit(X, y)
    assert "rows, loss" in capsys.readouterr().err
    StabilizedRegressor(verbose=1).fit(*numbers())
    assert "features, loss" in capsys.readouterr().err
    SparseClassifier().fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_other_threads_run_meanwhile():
    X, y = words(rows=20_000, columns=2000)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    other = threading.Thread(target=tick)
    other.start()
    start = time.monotonic()
    StabilizedClassifier().fit(X, y)
    end = time.monotonic()
    done.set()
    other.join()
    inside = [at for at in ticks if start < at < end]
    assert len(inside) > 20 * (end - start), "the lock of the interpreter is free while the core works"


def test_control_c_stops_at_the_next_batch():
    code = """
import os, signal, threading
import numpy as np
from tamis import StabilizedClassifier
random = np.random.default_rng(0)
X = random.normal(size=(100_000, 200))
y = X[:, 0] + X[:, 1] > 0
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    StabilizedClassifier(max_iter=1000).fit(X, y)
except KeyboardInterrupt:
    print("stopped")
"""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout == "stopped\n", done.stderr
    assert signal.SIGINT


def test_in_pipelines_and_searches():
    X, y = words()
    chain = make_pipeline(StabilizedClassifier(n_features_to_select=8), SparseClassifier())
    assert cross_val_score(chain, X, y, cv=3).mean() > 0.8
    search = GridSearchCV(SparseClassifier(), {"alpha": [0.1, 3.0, 30.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    X, y = numbers()
    assert cross_val_score(make_pipeline(StandardScaler(), SparseRegressor()), X, y, cv=3).mean() > 0.9


def test_set_output():
    import pandas as pd

    X, y = numbers()
    frame = pd.DataFrame(X, columns=[f"f{at}" for at in range(12)])
    model = SparseRegressor(n_features_to_select=3).set_output(transform="pandas").fit(frame, y)
    assert list(model.transform(frame).columns) == ["f1", "f4", "f7"]


def test_the_recipe_is_told():
    model = SparseClassifier("fobos", alpha=0.01, l1_ratio=0.5).fit(*words())
    assert {name: model.recipe_["method"][name] for name in ("name", "l1", "l2")} == {"name": "fobos", "l1": 0.005, "l2": 0.005}
    assert model.seen_["rows"] == 1500
    assert json.loads(text(model))["format"] == "tamis-model"


def test_a_number_of_features_is_exact_even_on_noise():
    for seed in range(4):
        random = np.random.default_rng(seed)
        X, y = random.normal(size=(150, 40)), random.integers(0, 2, 150)
        assert StabilizedClassifier(n_features_to_select=5).fit(X, y).get_support().sum() == 5
