"""Moments merge, subtract and decay as the rows would; models of any sparsity are fitted to them."""

import io
import pickle

import numpy as np
import pytest
from conftest import numbers, svmlight, words
from sklearn.datasets import load_svmlight_file
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge
from sklearn.metrics import log_loss

import tamis
from tamis import Moments, MomentsClassifier, MomentsRegressor


def same(one, other):
    assert one.get_support().tolist() == other.get_support().tolist()
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.intercept_, other.intercept_, rtol=1e-9)


def test_batches_of_any_size_give_the_same_bits():
    X, y = numbers()
    whole = MomentsRegressor(n_features_to_select=4).fit(X, y)
    for size in (1, 10, 100):
        model = MomentsRegressor(n_features_to_select=4)
        for start in range(0, len(y), size):
            model.partial_fit(X[start : start + size], y[start : start + size])
        assert np.array_equal(model.coef_, whole.coef_) and model.intercept_ == whole.intercept_


def test_days_can_be_joined_and_taken_away():
    X, y = numbers(rows=900)
    days = [Moments().observe(X[at : at + 300], y[at : at + 300]) for at in (0, 300, 600)]
    all_days = days[0] + days[1] + days[2]
    assert all_days.rows == 900 and days[0].rows == 300
    same(all_days.solve("ofsa", n_features_to_select=3), MomentsRegressor("ofsa", n_features_to_select=3).fit(X, y))
    later = MomentsRegressor("ofsa", n_features_to_select=3).fit(X[300:], y[300:])
    same((all_days - days[0]).solve("ofsa", n_features_to_select=3), later)
    with pytest.raises(tamis.DataError, match="were never added to these moments"):
        days[0].copy().subtract(all_days)


def test_old_rows_can_count_less():
    X, y = numbers()
    moments = Moments().observe(X[:300], y[:300]).decay(0.25).observe(X[300:], y[300:])
    weighted = MomentsRegressor("ols").fit(X, y, sample_weight=np.repeat([0.25, 1.0], 300))
    np.testing.assert_allclose(moments.solve("ols").coef_, weighted.coef_, rtol=1e-9)
    with pytest.raises(tamis.ParamError, match="above 0 and at most 1"):
        moments.decay(0)


def test_decayed_moments_follow_a_change():
    X, y = numbers(rows=4000)
    y[2000:] = -y[2000:]
    fresh = MomentsRegressor("ols", decay=0.005).fit(X, y)
    stale = MomentsRegressor("ols").fit(X[:2000], y[:2000])
    assert fresh.score(X[3500:], y[3500:]) > 0.9 > 0 > stale.score(X[3500:], y[3500:])


def test_another_size_without_the_data():
    X, y = numbers()
    model = MomentsRegressor(n_features_to_select=3).fit(X, y)
    assert model.get_support(indices=True).tolist() == [1, 4, 7]
    for k in (1, 2, 5):
        assert model.resolve(n_features_to_select=k).get_support().sum() == k
    same(model.resolve(n_features_to_select=2), MomentsRegressor(n_features_to_select=2).fit(X, y))
    chosen = MomentsRegressor("lasso", criterion="cv", folds=5, refit=True).fit(X, y)
    assert {1, 4, 7} <= set(chosen.get_support(indices=True))
    assert all("bic" in point for point in chosen.path_)


def test_least_squares_are_scikit_learn_s():
    X, y = numbers()
    ours, theirs = MomentsRegressor("ols").fit(X, y), LinearRegression().fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-9)


def test_penalties_are_scikit_learn_s_on_standardised_columns():
    X, y = numbers()
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    for alpha in (0.02, 0.3):
        ours = MomentsRegressor("lasso", alpha=alpha).fit(Z, y).coef_
        np.testing.assert_allclose(ours, Lasso(alpha=alpha, tol=1e-12, max_iter=100_000).fit(Z, y).coef_, atol=1e-6)
        ours = MomentsRegressor("elastic-net", alpha=alpha, l1_ratio=0.3).fit(Z, y).coef_
        theirs = ElasticNet(alpha=alpha, l1_ratio=0.3, tol=1e-12, max_iter=100_000).fit(Z, y).coef_
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
        ours = MomentsRegressor("ridge", alpha=alpha).fit(Z, y).coef_
        np.testing.assert_allclose(ours, Ridge(alpha=alpha * len(y)).fit(Z, y).coef_, atol=1e-6)


def test_the_file_is_the_program_s(program, tmp_path):
    X, y = numbers()
    file, theirs = svmlight(tmp_path, X, y), tmp_path / "theirs.moments"
    program("moments", file, "--out", theirs, "--quiet")
    ours = Moments().observe(X, y)
    ours.save(tmp_path / "ours.moments")
    assert (tmp_path / "ours.moments").read_bytes() == theirs.read_bytes()
    for flags, solver in (([], []), (["--method", "ofsa"], ["ofsa"])):  # the default solver is the same everywhere
        program("solve", theirs, "--k", 3, *flags, "--out", tmp_path / "model.json", "--quiet")
        model = Moments.load(theirs).solve(*solver, n_features_to_select=3)
        model.save(tmp_path / "same.json")
        assert (tmp_path / "same.json").read_text() == (tmp_path / "model.json").read_text()
        assert np.array_equal(tamis.load(tmp_path / "model.json").predict(X), model.predict(X))
        assert MomentsRegressor(*solver, n_features_to_select=3).fit(file)._fitted().text == model._fitted().text


def test_classes_may_come_late():
    X, y = words(classes=3)
    order = np.argsort(y, kind="stable")
    model = MomentsClassifier(n_features_to_select=12)
    for rows in np.array_split(order, 4):
        model.partial_fit(X[rows], y[rows])
    assert np.array_equal(model.classes_, [0, 1, 2])
    whole = MomentsClassifier(n_features_to_select=12).fit(X[order], y[order])
    assert np.array_equal(model.predict(X), whole.predict(X)) and model.score(X, y) > 0.7


def test_a_row_of_weight_two_is_two_rows():
    X, y = numbers()
    counts = np.random.default_rng(0).integers(0, 4, size=len(y))
    for given in ({"alpha": 0.05}, {"n_features_to_select": 3}):
        weighted = MomentsRegressor("lasso", **given).fit(X, y, sample_weight=counts)
        same(weighted, MomentsRegressor("lasso", **given).fit(X.repeat(counts, axis=0), y.repeat(counts)))
    for classes in (y > 5, np.digitize(y, [4.0, 6.0])):
        for given in ({"solver": "ridge", "alpha": 0.1}, {"n_features_to_select": 3}):
            weighted = MomentsClassifier(**given).fit(X, classes, sample_weight=counts)
            same(weighted, MomentsClassifier(**given).fit(X.repeat(counts, axis=0), classes.repeat(counts)))


def test_products():
    random = np.random.default_rng(0)
    X = random.normal(size=(800, 5))
    model = MomentsRegressor(n_features_to_select=2, interactions=True).fit(X, X[:, 0] * X[:, 3] + X[:, 1] ** 2)
    assert {one["name"] for one in model.features_} == {"x0*x3", "x1*x1"}
    assert model.score(X, X[:, 0] * X[:, 3] + X[:, 1] ** 2) > 0.999
    with pytest.raises(AttributeError, match="is a product of columns"):
        model.coef_  # noqa: B018


def test_pickles():
    X, y = numbers()
    model = MomentsRegressor(n_features_to_select=3).fit(X, y)
    other = pickle.loads(pickle.dumps(model))
    same(other.resolve(n_features_to_select=5), model.resolve(n_features_to_select=5))
    assert repr(pickle.loads(pickle.dumps(model.moments_))) == "<Moments of 600 rows, 12 features>"


def test_new_columns_in_later_rows():
    X, y = numbers()
    moments = Moments().observe(X[:300, :8], y[:300]).observe(X[300:], y[300:])
    padded = X.copy()
    padded[:300, 8:] = 0
    np.testing.assert_allclose(moments.solve("ols").coef_, MomentsRegressor("ols").fit(padded, y).coef_, rtol=1e-8)


def test_complaints():
    X, y = numbers()
    with pytest.raises(tamis.ParamError, match="method must be one of ols, ridge"):
        MomentsRegressor("nonsense").fit(X, y)
    with pytest.raises(tamis.ParamError, match="lower n_features_to_select"):
        MomentsRegressor(n_features_to_select=100).fit(X, y)
    with pytest.raises(tamis.ParamError, match="ofsa does not support alpha: it has no penalty"):
        MomentsRegressor("ofsa", alpha=1).fit(X, y)
    with pytest.raises(tamis.DataError, match="no rows"):
        Moments().solve("ols")
    with pytest.raises(tamis.DataError, match="one has a numeric target and the other has classes"):
        Moments().observe(X, y).merge(Moments("classes").observe(X, y > 5))


def test_sums_and_statistics():
    X, y = numbers(rows=900)
    weights = np.random.default_rng(0).random(900)
    parts = [slice(at, at + 300) for at in (0, 300, 600)]
    total = sum(Moments().observe(X[one], y[one], weights[one]) for one in parts)
    assert total.rows == 900
    places = [int(name) - 1 for name in total.info["features"]]
    assert sorted(places) == list(range(12))
    mean = np.average(X, axis=0, weights=weights)
    np.testing.assert_allclose(total.means, mean[places], rtol=1e-9)
    expected = np.cov(X.T, aweights=weights, bias=True)
    np.testing.assert_allclose(total.covariance, expected[np.ix_(places, places)], rtol=1e-9, atol=1e-9)
    with pytest.raises(TypeError):
        sum([Moments().observe(X, y)], start=3)


def normal_classes(rows, seed, shares=(0.8, 0.2)):
    """Classes with normal columns of one covariance: linear discriminant analysis is true of them."""
    random = np.random.default_rng(seed)
    y = random.choice(len(shares), size=rows, p=shares)
    centres = np.array([[0, 0, 0, 0], [1.5, 0.5, 0, 0]])
    mixing = np.random.default_rng(5).normal(size=(4, 4))
    return (centres[y] + random.normal(size=(rows, 4))) @ mixing, y


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1)])
def test_probabilities_are_those_of_discriminant_analysis(shares):
    X, y = normal_classes(4000, 0, shares)
    fresh, truth = normal_classes(20_000, 1, shares)
    model = MomentsClassifier("ols").fit(X, y)
    found, theirs = model.predict_proba(fresh), LinearDiscriminantAnalysis().fit(X, y).predict_proba(fresh)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(found, theirs, atol=0.01)
    assert log_loss(truth, found) < log_loss(truth, theirs) + 1e-3
    np.testing.assert_allclose(found.mean(axis=0), np.bincount(truth) / len(truth), atol=0.015)
    with np.errstate(divide="ignore"):
        assert np.array_equal(model.predict_log_proba(fresh), np.log(found))


def test_few_rows_make_modest_probabilities():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 40)), np.arange(60) % 2
    fresh, truth = random.normal(size=(4000, 40)), np.arange(4000) % 2
    model = MomentsClassifier("ols").fit(X, y)
    plain = LinearDiscriminantAnalysis().fit(X, y).predict_proba(fresh)
    assert log_loss(truth, model.predict_proba(fresh)) < 1.6 < log_loss(truth, plain)


def test_probabilities_of_any_model_and_of_none(tmp_path):
    X, y = normal_classes(600, 0)
    labels = np.array(["no", "yes"])[y]
    model = MomentsClassifier(n_features_to_select=2).fit(X, labels)
    first = model.predict_proba(X)
    assert first.shape == (600, 2) and np.all(np.isfinite(first))
    scores = model.decision_function(X)
    assert np.all(np.diff(first[np.argsort(scores), 1]) >= 0), "probabilities rise with the scores"
    other = model.resolve(n_features_to_select=1).predict_proba(X)
    assert not np.allclose(first, other), "those of the other model"
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), other)
    easy = np.where(y == 1, 1.0, -1.0)[:, None]
    sure = MomentsClassifier("ols").fit(easy, y).predict_proba(easy)
    assert np.all(sure[np.arange(600), y] > 0.99) and np.all(np.isfinite(sure))
    model.save(tmp_path / "model.json")
    loaded = tamis.load(tmp_path / "model.json")
    assert np.array_equal(loaded.predict(X), model.predict(X)) and not hasattr(loaded, "predict_proba")
    assert not hasattr(MomentsClassifier().fit(X, np.arange(600) % 3), "predict_proba"), "only two classes have them"
    late = MomentsClassifier("ols").partial_fit(X[:300], labels[:300]).partial_fit(X[300:], labels[300:])
    assert np.array_equal(late.predict_proba(X), MomentsClassifier("ols").fit(X, labels).predict_proba(X))


def test_probabilities_on_real_rows(real_data):
    X, y = load_svmlight_file(io.BytesIO(unpacked(real_data / "spambase.svm.zst")))
    X, order = X.toarray(), np.random.default_rng(0).permutation(len(y))
    train, test = order[:3000], order[3000:]
    found = MomentsClassifier().fit(X[train], y[train]).predict_proba(X[test])
    base = np.bincount((y[train] > 0).astype(int)) / len(train)
    constant = log_loss(y[test], np.tile(base, (len(test), 1)))
    assert log_loss(y[test], found) < 0.55 * constant
    assert abs(found[:, 1].mean() - (y[test] > 0).mean()) < 0.05


def unpacked(path):
    import pyarrow

    with pyarrow.CompressedInputStream(pyarrow.OSFile(str(path)), "zstd") as file:
        return file.read()
