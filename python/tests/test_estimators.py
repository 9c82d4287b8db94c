"""Estimators as parts of a larger program: copies, failures, threads, parameters, names, files."""

import pickle
import threading

import joblib
import numpy as np
import pandas as pd
import pytest
from conftest import numbers, words
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tamis
from tamis import KNN, SDist, SparseClassifier, SparseRegressor, StabilizedClassifier

CLASSIFIERS = [
    SparseClassifier(),
    StabilizedClassifier(),
    tamis.TwoStageClassifier(),
    tamis.MomentsClassifier(),
    SDist(("plain", "order-1"), max_iter=5),
    KNN(),
]


def dense(rows=300):
    X = np.random.default_rng(0).normal(size=(rows, 6))
    return X, np.where(X[:, 1] > X[:, 4], "yes", "no")


def test_a_learned_metric_survives_copies_of_its_classifier():
    X, y = dense()
    metric = SDist("order-1", max_iter=5).fit(X, y)
    learned = KNN(metric=metric)
    assert clone(learned).metric is metric
    expected = cross_val_score(learned, X, y, cv=3, error_score="raise")
    assert expected.mean() > 0.9
    frozen = cross_val_score(KNN(metric=FrozenEstimator(metric)), X, y, cv=3, error_score="raise")
    assert np.array_equal(frozen, expected)
    search = GridSearchCV(make_pipeline(StandardScaler(), learned), {"knn__n_neighbors": [1, 5]}, cv=3, error_score="raise")
    assert search.fit(X, y).best_score_ > 0.8


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda one: type(one).__name__)
def test_a_failed_fit_changes_nothing(estimator):
    X, y = dense()
    model = clone(estimator).fit(X, y)
    before, names = model.predict(X), set(vars(model))
    for wrong in ((X[:5], ["z"] * 5), (X[:, :3], np.full(300, np.nan)), (pd.DataFrame(X).assign(s="a"), y[1:])):
        with pytest.raises(ValueError):
            model.fit(*wrong)
        assert np.array_equal(model.predict(X), before) and set(vars(model)) == names
    fresh = clone(estimator)
    with pytest.raises(ValueError):
        fresh.fit(X[:5], ["z"] * 5)
    assert vars(fresh) == vars(clone(estimator)), "as if never fitted"


@pytest.mark.parametrize("make", [SparseClassifier, tamis.MomentsClassifier])
def test_a_failed_first_batch_changes_nothing(make):
    X, y = dense()
    model = make()
    with pytest.raises(ValueError):
        model.partial_fit(np.full((3, 2), np.nan), y[:3], classes=["no", "yes"])
    assert vars(model) == vars(make())
    assert model.partial_fit(X, y, classes=["no", "yes"]).score(X, y) > 0.9


def test_models_can_be_used_while_they_learn():
    X, y = words(rows=600)
    model = SparseClassifier().partial_fit(X, y, classes=[0, 1])
    model.predict(X[:1])
    failures, done = [], threading.Event()

    def serve():
        while not done.is_set():
            try:
                model.predict_proba(X[:1])
                pickle.loads(pickle.dumps(model)).predict(X[:1])
            except BaseException as error:  # noqa: BLE001
                failures.append(error)
                return

    threads = [threading.Thread(target=serve) for _ in range(2)]
    [thread.start() for thread in threads]
    for _ in range(20):
        model.partial_fit(X, y)
    done.set()
    [thread.join() for thread in threads]
    assert not failures
    other = SparseClassifier()
    for _ in range(21):
        other.partial_fit(X, y, classes=[0, 1])
    assert np.array_equal(model.coef_, other.coef_), "serving changes nothing"


def test_pickles_of_the_same_training_have_the_same_bytes():
    X, y = words(rows=300)
    model = SparseClassifier(scale="none").partial_fit(X, y, classes=[0, 1])
    assert len({pickle.dumps(model) for _ in range(5)}) == 1 == len({joblib.hash(model) for _ in range(5)})


def test_parameters_cannot_change_during_a_training():
    X, y = words(rows=300)
    model = SparseClassifier().partial_fit(X, y, classes=[0, 1])
    with pytest.raises(tamis.ParamError, match="alpha cannot change while training continues"):
        model.set_params(alpha=3.0).partial_fit(X, y)
    model.set_params(alpha=None, verbose=1, n_jobs=2).partial_fit(X, y)
    assert model.seen_["rows"] == 600


@pytest.mark.parametrize(
    ("estimator", "told"),
    [
        (SparseClassifier(n_features_to_select=2.5), "'n_features_to_select' parameter"),
        (SparseClassifier(n_features_to_select="5"), "'n_features_to_select' parameter"),
        (SparseClassifier(n_features_to_select=True), "n_features_to_select"),
        (SparseClassifier(alpha=float("nan")), "'alpha' parameter"),
        (SparseClassifier(loss="huber"), "'loss' parameter"),
        (SparseRegressor(loss="logistic"), "'loss' parameter"),
        (SparseClassifier(max_iter=0), "'max_iter' parameter"),
        (SparseClassifier(scale="half"), "'scale' parameter"),
        (SparseClassifier(fit_intercept="yes"), "'fit_intercept' parameter"),
        (StabilizedClassifier(n_paths=0), "'n_paths' parameter"),
        (StabilizedClassifier(-1), "'n_features_to_select' parameter"),
        (tamis.TwoStageClassifier(sampling="coin"), "'sampling' parameter"),
        (tamis.MomentsClassifier(criterion="best"), "'criterion' parameter"),
        (tamis.MomentsClassifier(decay=2), "'decay' parameter"),
        (SDist(cv=0), "'cv' parameter"),
        (KNN("3"), "'n_neighbors' parameter"),
        (SparseClassifier(n_jobs=0), "n_jobs"),
        (SparseClassifier(n_jobs=1.5), "'n_jobs' parameter"),
    ],
    ids=str,
)
def test_wrong_parameters(estimator, told):
    X, y = dense()
    with pytest.raises(ValueError, match=told) as caught:
        estimator.fit(X, X[:, 0] if isinstance(estimator, SparseRegressor) else y)
    assert "--" not in str(caught.value) and "usize" not in str(caught.value)


def test_one_thread_unless_more_are_asked_for():
    model = SparseClassifier()
    assert model._threads() == 1 and SparseClassifier(n_jobs=3)._threads() == 3
    assert SparseClassifier(n_jobs=-1)._threads() == joblib.cpu_count()
    with joblib.parallel_config(n_jobs=2):
        assert model._threads() == 2


class Counted:
    """A model that counts how often its outputs are made."""

    def __init__(self, model):
        self.model, self.count = model, 0

    def __getattr__(self, name):
        self.count += name == "outputs"
        return getattr(self.model, name)


def test_features_are_listed_in_linear_time():
    X, y = dense()
    fitted = SparseClassifier(alpha=0.01).fit(X, y)
    fitted._model = Counted(fitted._model)
    assert len(fitted.features_) == 6 and fitted._model.count == 1


def test_columns_of_arrays_have_the_names_of_scikit_learn(tmp_path):
    X, y = dense()
    for rows in (X, pd.DataFrame(X, columns=range(6))):
        for model in (StabilizedClassifier(2), SparseClassifier(n_features_to_select=2)):
            model.fit(rows, y)
            assert {one["name"] for one in model.features_} == {"x1", "x4"} == set(model.get_feature_names_out())
            model.report(tmp_path / "report.html")
            page = (tmp_path / "report.html").read_text("utf-8")
            assert ">x1<" in page and ">x4<" in page
    metric = SDist("order-1", max_iter=20).fit(X, y)
    assert {one["name"] for one in metric.variables_[:2]} == {"x1", "x4"}


@pytest.mark.parametrize(("name", "test", "most"), [("dexter", "valid", 0.13), ("rcv1sub", "test", 0.18)])
def test_few_features_of_real_data(name, test, most, real_data):
    train, test = real_data / f"{name}_train.svm.zst", real_data / f"{name}_{test}.svm.zst"
    cut, usual = (
        1 - SparseClassifier(n_features_to_select=25, refit=refit).fit(train).score(test) for refit in (False, None)
    )
    stabilized = 1 - tamis.StabilizedClassifier(25).fit(train).score(test)
    assert stabilized < usual < most and usual < cut - 0.1


def test_cut_weights_are_fitted_again():
    X, y = numbers()
    X = np.hstack([X, X[:, [1]] + 0.1 * np.random.default_rng(0).normal(size=(600, 1))])
    for settings in ({}, {"method": "fobos"}):
        by_default = SparseRegressor(n_features_to_select=3, **settings).fit(X, y)
        assert np.array_equal(by_default.coef_, SparseRegressor(n_features_to_select=3, refit=True, **settings).fit(X, y).coef_)
        assert by_default.score(X, y) > SparseRegressor(n_features_to_select=3, refit=False, **settings).fit(X, y).score(X, y)
    kept = SparseRegressor("tsgd", n_features_to_select=3).fit(X, y)
    assert np.array_equal(kept.coef_, SparseRegressor("tsgd", n_features_to_select=3, refit=False).fit(X, y).coef_)
    online = SparseRegressor(n_features_to_select=3, max_iter=1).fit(X, y)
    assert np.array_equal(SparseRegressor(n_features_to_select=3).partial_fit(X, y).coef_, online.coef_)


SELECTORS = [
    SparseClassifier(n_features_to_select=2),
    StabilizedClassifier(2),
    tamis.TwoStageClassifier(2),
    tamis.MomentsClassifier(n_features_to_select=2),
]
FRAMES = {
    "array": lambda X: X,
    "names": lambda X: pd.DataFrame(X, columns=list("abcdef")),
    "strings": lambda X: pd.DataFrame(X, columns=list("abcdef")).assign(town=np.where(X[:, 0] > 0, "Oslo", "Rome")),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize("estimator", SELECTORS, ids=lambda one: type(one).__name__)
def test_files_bring_back_the_whole_estimator(estimator, make, tmp_path):
    X, y = dense()
    rows = make(X)
    model = estimator.fit(rows, y)
    model.save(tmp_path / "model.json")
    for other in (tamis.load(tmp_path / "model.json"), type(model).load(tmp_path / "model.json")):
        assert other.n_features_in_ == model.n_features_in_ and other.classes_.tolist() == ["no", "yes"]
        assert list(getattr(other, "feature_names_in_", [])) == list(getattr(model, "feature_names_in_", []))
        assert np.array_equal(other.coef_, model.coef_) and np.array_equal(other.get_support(), model.get_support())
        assert list(other.get_feature_names_out()) == list(model.get_feature_names_out())
        assert np.array_equal(other.transform(rows), model.transform(rows))
        assert np.array_equal(other.predict(rows), model.predict(rows)) and other.features_ == model.features_
        other.save(tmp_path / "again.json")
        assert (tmp_path / "again.json").read_text() == (tmp_path / "model.json").read_text()


def test_files_of_all_kinds_are_loaded(tmp_path):
    X, y = dense()
    metric = SDist("order-1", max_iter=5).fit(X, y)
    metric.save(tmp_path / "some.metric")
    assert np.array_equal(tamis.load(tmp_path / "some.metric").predict(X), metric.predict(X))
    tamis.Moments().observe(X, X[:, 0]).save(tmp_path / "some.moments")
    assert tamis.load(tmp_path / "some.moments").rows == 300
    for load in (tamis.load, SparseClassifier.load, tamis.Moments.load, SDist.load):
        with pytest.raises(FileNotFoundError, match="none.json: No such file") as caught:
            load(tmp_path / "none.json")
        assert isinstance(caught.value, tamis.Error)


def test_a_model_without_features_is_worth_a_warning():
    X = np.random.default_rng(0).normal(size=(200, 5))
    with pytest.warns(tamis.Note, match="the model has no features"):
        SparseClassifier(alpha=1e6).fit(X, X[:, 0] > 0)


def test_rows_of_the_clipped_squared_loss_are_divided():
    X, y = words()
    model = SparseClassifier(loss="clipped-squared").fit(X, y)
    counts = np.sqrt(np.maximum(np.diff(X.indptr), 1))
    by_hand = (X @ model.coef_[0]) / counts + model.intercept_[0] - model._fitted().boundary
    assert np.allclose(model.decision_function(X), by_hand)


def test_counts_and_quantiles():
    random = np.random.default_rng(0)
    X = random.normal(size=(2000, 3))
    y = random.poisson(np.exp(1 + X @ [0.5, 0, -0.5]))
    model = SparseRegressor(loss="poisson").fit(X, y)
    expected = np.exp(X @ model.coef_ + model.intercept_)
    assert np.allclose(model.predict(X), expected) and abs(expected.mean() / y.mean() - 1) < 0.05
    upper = SparseRegressor(loss="quantile", settings={"quantile": 0.9}).fit(X, y + X[:, 1])
    assert abs((y + X[:, 1] <= upper.predict(X)).mean() - 0.9) < 0.03
    for estimator in (tamis.StabilizedRegressor(loss="poisson"), tamis.TwoStageRegressor(loss="quantile")):
        with pytest.raises(tamis.ParamError, match="'loss' parameter"):
            estimator.fit(X, y)


def test_products_of_columns():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(600, 3)), columns=["a", "b", "c"])
    y = (frame["a"] * frame["b"] > 0).astype(int)
    model = SparseClassifier(settings={"interactions": "a*b"}).fit(frame, y)
    assert model.score(frame, y) > 0.9 and "a*b" in {one["name"] for one in model.features_}
    model = SparseRegressor(loss="squared", settings={"offset": "c"}).fit(frame, frame["c"] + 2 * frame["a"])
    assert "c" not in {one["name"] for one in model.features_} and model.score(frame, frame["c"] + 2 * frame["a"]) > 0.95


@pytest.mark.parametrize("pairs", ["x0*x3", "0*3"])
def test_products_of_columns_without_names(pairs):
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 5))
    y = (X[:, 0] * X[:, 3] > 0).astype(int)
    batches = [(X[:300], y[:300]), (X[300:], y[300:])]
    for model in (
        SparseClassifier(settings={"interactions": pairs}).fit(X, y),
        SparseClassifier(interactions=pairs).fit(iter(batches)),
        SparseClassifier(interactions=pairs).partial_fit(X, y, classes=[0, 1]),
        tamis.StabilizedClassifier(interactions=pairs).fit(X, y),
        tamis.TwoStageClassifier(interactions=pairs).fit(X, y),
    ):
        assert model.features_[0]["name"] == "x0*x3" and model.score(X, y) > 0.9, model
    with pytest.raises(tamis.ParamError, match="there is no column 'a': the columns have no names, so they are x0, x1"):
        SparseClassifier(interactions="a*x1").fit(X, y)
    chosen = tamis.tune(SparseClassifier(interactions=pairs), X, y, grid={"alpha": [1, 3]})
    assert chosen.estimator.features_[0]["name"] == "x0*x3"


@pytest.mark.parametrize("model", [SparseRegressor(), SparseRegressor("rda"), tamis.MomentsRegressor("lasso", alpha=0.01)])
def test_signs_of_weights(model):
    random = np.random.default_rng(0)
    X = random.normal(size=(500, 4))
    y = X @ [1, -1, 0.5, 0] + 0.1 * random.normal(size=500)
    free = model.fit(X, y).coef_.ravel()
    assert free[0] > 0.5 and free[1] < -0.5
    positive = model.set_params(sign="+").fit(X, y).coef_.ravel()
    assert positive[0] > 0.5 and positive[1] == 0 and np.all(positive >= 0)
    given = model.set_params(sign={0: "-", "x2": "+"}).fit(X, y).coef_.ravel()
    assert given[0] == 0 and given[1] < -0.5 and given[2] > 0.2
    frame = pd.DataFrame(X, columns=list("abcd"))
    named = model.set_params(sign={"a": "-", "c": "+"}).fit(frame, y).coef_.ravel()
    assert np.allclose(named, given, atol=1e-6)
    with pytest.raises(tamis.ParamError):
        model.set_params(sign={"a": "up"}).fit(frame, y)
    with pytest.raises(tamis.ParamError, match="'sign' parameter"):
        model.set_params(sign="up").fit(frame, y)
