"""The metric: the program's own, useful, and at home among the estimators of scikit-learn."""

import json
import re
import pickle

import numpy as np
import pandas as pd
import pytest
from conftest import svmlight
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tamis
from tamis import KNN, SDist


def rings(rows=400, noise=18, seed=0):
    """Two classes told apart by the distance from the middle in two of the columns."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, noise + 2))
    X[:, 5] *= 40
    return X, np.where(X[:, 2] ** 2 + X[:, 7] ** 2 > 1.4, "far", "near")


@pytest.fixture(scope="module")
def learned():
    X, y = rings()
    return SDist(candidates=("plain", "order-2"), max_iter=40).fit(X, y)


def test_what_counts_is_found(learned):
    X, y = rings(seed=1)
    assert {one["name"] for one in learned.variables_[:2]} == {"x2", "x7"}
    assert sum(one["share"] for one in learned.variables_) == pytest.approx(1)
    assert learned.feature_importances_.argsort()[-2:].tolist() in ([2, 7], [7, 2])
    assert learned.candidate_.startswith("order-2") and len(learned.cv_results_) >= 2
    plain = KNN().fit(*rings())
    assert learned.score(X, y) > 0.85 > plain.score(X, y)
    assert [point["step"] for point in learned.curve_] == sorted(point["step"] for point in learned.curve_)


def test_distances_are_those_of_the_coordinates(learned):
    X, y = rings()
    Z = learned.transform(X)
    assert Z.shape == (400, learned.get_feature_names_out().size)
    assert np.all(np.diff(Z.var(axis=0)) <= 1e-9), "the first axis varies most"
    peer = KNeighborsClassifier(3).fit(Z, y)
    fresh, _ = rings(seed=2)
    assert (peer.predict(learned.transform(fresh)) == learned.predict(fresh)).mean() > 0.99


def test_it_is_the_program_s(learned, program, tmp_path):
    X, y = rings()
    file, out = svmlight(tmp_path, X, (y == "near").astype(int)), tmp_path / "rings.metric"
    told = json.loads(
        program("metric", "fit", file, "-o", out, "--candidates", "plain,order-2", "--max-iter", 40, "--json", "--quiet")
    )
    loaded = SDist.load(out)
    same = SDist(candidates=("plain", "order-2"), max_iter=40).fit(X, (y == "near").astype(int))
    # A file counts columns from 1; columns of arrays have the names that scikit-learn gives them.
    renamed = [{**one, "name": re.sub(r"\d+", lambda at: f"x{int(at[0]) - 1}", one["name"])} for one in loaded.terms_]
    assert same.terms_ == renamed and same.candidate_ == loaded.candidate_
    assert told["leave_one_out_error"] == same._told["leave_one_out_error"]
    assert np.array_equal(same.transform(X), loaded.transform(X))
    same.save(tmp_path / "same.metric")
    again = SDist.load(tmp_path / "same.metric")
    assert again._metric.about == loaded._metric.about, "the file of Python has the columns beside"
    lines = program("metric", "predict", out, file).splitlines()
    assert len([line for line in lines if line]) >= 400


def test_files_have_the_columns(learned, tmp_path):
    X, y = rings()
    frame = pd.DataFrame(X, columns=[f"column {at}" for at in range(20)]).assign(side=np.where(X[:, 2] > 0, "l", "r"))
    for rows, model in ((X, learned), (frame, SDist("order-1", max_iter=5).fit(frame, y))):
        model.save(tmp_path / "one.metric")
        for other in (SDist.load(tmp_path / "one.metric"), tamis.load(tmp_path / "one.metric")):
            assert other.n_features_in_ == model.n_features_in_
            assert other.variables_ == model.variables_ and other.terms_ == model.terms_
            assert np.array_equal(other.feature_importances_, model.feature_importances_)
            assert np.array_equal(other.predict(rows), model.predict(rows))
            with pytest.raises(ValueError, match="features|feature names"):
                other.predict(rows[rows.columns[1:]] if hasattr(rows, "columns") else rows[:, 1:])
    assert list(other.feature_names_in_) == list(frame.columns)


def test_other_rows_under_the_same_metric(learned):
    few, labels = rings(rows=60, seed=3)
    X, y = rings(seed=1)
    near = KNN(metric=learned).fit(few, labels)
    assert near.score(X, y) > KNN().fit(few, labels).score(X, y) + 0.1
    assert np.array_equal(near.transform(few), learned.transform(few))
    one = KNN(1, metric=learned).fit(few, labels)
    assert one.score(few, labels) == 1.0, "every row is its own nearest"


def test_neighbours_are_scikit_learn_s():
    X, y = rings()
    fresh, _ = rings(seed=4)
    for k in (1, 3, 5):
        peer = make_pipeline(StandardScaler(), KNeighborsClassifier(k)).fit(X, y)
        assert np.array_equal(KNN(k).fit(X, y).predict(fresh), peer.predict(fresh)), k


def test_many_classes_and_frames():
    random = np.random.default_rng(0)
    X = random.normal(size=(450, 8))
    y = np.digitize(X[:, 1], [-0.4, 0.4])
    frame = pd.DataFrame(X, columns=[f"column {at}" for at in range(8)])
    metric = SDist("order-1", max_iter=20, rule="base").fit(frame, y)
    assert metric.variables_[0]["name"] == "column 1"
    assert np.array_equal(metric.classes_, [0, 1, 2]) and metric.score(frame, y) > 0.85
    with pytest.raises(AttributeError, match="decision_function"):
        metric.decision_function(frame)


def test_scores_agree_with_classes(learned):
    X, _ = rings(seed=5)
    for rule in ("vote", "base"):
        model = SDist(rule=rule)._take_metric(learned._metric)
        scores = model.decision_function(X)
        assert np.array_equal(scores > 0, model.predict(X) == model.classes_[1]), rule


def test_threads_and_pickles_change_nothing(learned):
    X, y = rings()
    again = SDist(candidates=("plain", "order-2"), max_iter=40, n_jobs=1).fit(X, y)
    assert again.terms_ == learned.terms_ and np.array_equal(again.transform(X), learned.transform(X))
    other = pickle.loads(pickle.dumps(learned))
    assert np.array_equal(other.predict(X), learned.predict(X)) and other.curve_ == learned.curve_


def test_it_can_be_tuned_and_piped():
    X, y = rings(rows=200)
    search = GridSearchCV(SDist("order-2", max_iter=15, early_stopping="off"), {"n_neighbors": [1, 3]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.6
    piped = make_pipeline(SDist("order-2", max_iter=20, early_stopping="off"), KNeighborsClassifier(5)).fit(X, y)
    assert piped.score(X, y) > 0.8


def test_complaints_and_notes():
    X, y = rings(rows=60)
    with pytest.raises(tamis.ParamError, match='unknown candidate "order-9"'):
        SDist("order-9").fit(X, y)
    with pytest.raises(tamis.ParamError, match="'max_iter' parameter of SDist must be an int in the range"):
        SDist(max_iter=0).fit(X, y)
    with pytest.raises(tamis.ParamError, match="'rule' parameter of SDist must be a str among"):
        SDist(rule="nonsense").fit(X, y)
    with pytest.raises(tamis.DataError, match="one class"):
        SDist().fit(X, np.zeros(60))
    with pytest.raises(tamis.ParamError, match="n_neighbors"):
        KNN(0).fit(X, y)
    apart = np.repeat([0.0, 9.0], 30)
    with pytest.warns(UserWarning, match="plain k-NN"):
        SDist(("plain", "order-1"), max_iter=10).fit(np.random.default_rng(1).normal(size=(60, 3)) + apart[:, None], apart)
