"""Labels of any kind, classes that come late, weights of classes, probabilities."""

import numpy as np
import pytest
from conftest import svmlight, words
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.class_weight import compute_sample_weight

import tamis
from tamis import Moments, MomentsClassifier, SparseClassifier, StabilizedClassifier, TwoStageClassifier

MAKERS = [SparseClassifier, StabilizedClassifier, TwoStageClassifier, MomentsClassifier]


def three(rows=300):
    X = np.random.default_rng(0).normal(size=(rows, 8))
    return X, np.array(list("abc"))[np.digitize(X[:, 3], [-0.5, 0.5])]


def test_moments_of_classes_can_be_solved(tmp_path):
    X, y = three()
    whole = MomentsClassifier(n_features_to_select=2).fit(X, y)
    moments = Moments("classes").observe(X[:150], y[:150]) + Moments("classes").observe(X[150:], y[150:])
    moments.save(tmp_path / "some.moments")
    loaded = tamis.load(tmp_path / "some.moments")
    for given in (moments, loaded):
        model = given.solve(n_features_to_select=2)
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert np.array_equal(model.predict(X), whole.predict(X))
    flags = Moments("classes").observe(X, X[:, 1] > 0).solve(n_features_to_select=1)
    assert flags.classes_.tolist() == [False, True] and flags.score(X, X[:, 1] > 0) > 0.9


def test_moments_of_files_of_classes(tmp_path):
    X, y = three()
    file = tmp_path / "rows.csv"
    lines = [",".join([*map(repr, row.tolist()), label]) for row, label in zip(X, y, strict=True)]
    file.write_text("\n".join([",".join([*"abcdefgh", "kind"]), *lines]))
    model = MomentsClassifier(reading={"target": "kind"}).fit(file)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert np.array_equal(model.predict(file), MomentsClassifier().fit(X, y).predict(X))


@pytest.mark.parametrize("make", MAKERS)
def test_batches_need_not_have_all_classes(make):
    X, y = three(900)
    for wanted in (y != "a", y == "c"):
        first, last = np.arange(900) < 600, (np.arange(900) >= 600) & wanted
        rows = np.flatnonzero(first | last)
        batches = [(X[part], y[part]) for part in (first, last)]
        model = make().fit(iter(batches))
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert np.array_equal(model.predict(X), make().fit(X[rows], y[rows]).predict(X))
    with pytest.raises(tamis.DataError):
        make().fit(iter([(X[y == "c"], y[y == "c"])]))


def test_classes_that_come_after_learning_began():
    X, _ = three(9000)
    y = np.array(list("abcd"))[np.digitize(X[:, 3], [-1.0, 0.0, 1.0])]
    order = np.argsort(y == "a", kind="stable")
    X, y = X[order], y[order]
    batches = ((X[at : at + 500], y[at : at + 500]) for at in range(0, 9000, 500))
    model = SparseClassifier(max_iter=1).fit(batches)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert (model.predict(X[X[:, 3] < -1.5]) == "a").mean() > 0.9
    assert {one["class"] for one in model.features_ if one["name"] == "x3"} >= {"a", "d"}
    assert np.allclose(X @ model.coef_.T + model.intercept_, model.decision_function(X))


def test_a_third_class_that_comes_late_is_told_with_a_way_out():
    X = np.random.default_rng(0).normal(size=(9000, 8))
    y = np.where(np.arange(9000) < 8000, (X[:, 3] > 0).astype(int), 2)
    batches = lambda: ((X[at : at + 500], y[at : at + 500]) for at in range(0, 9000, 500))  # noqa: E731
    told = "a third label 2 after only 0 and 1; pass all classes to partial_fit, or use max_iter=2 to read everything first"
    with pytest.raises(tamis.DataError, match=told) as caught:
        SparseClassifier(max_iter=1).fit(batches())
    assert "task" not in str(caught.value), "estimators have no such parameter"
    assert SparseClassifier(max_iter=2).fit(batches()).classes_.tolist() == [0, 1, 2]
    model = SparseClassifier()
    for rows, labels in batches():
        model.partial_fit(rows, labels, classes=[0, 1, 2])
    assert model.classes_.tolist() == [0, 1, 2] and model.coef_.shape == (3, 8)


def test_a_label_for_each_row_is_told_with_the_right_estimator(tmp_path):
    X = np.random.default_rng(0).normal(size=(400, 3))
    file = tmp_path / "rows.csv"
    lines = [f"{row[0]!r},{row[1]!r},id{number}" for number, row in enumerate(X.tolist())]
    file.write_text("\n".join(["a,b,y", *lines]))
    with pytest.raises(tamis.DataError) as caught:
        SparseClassifier(reading={"target": "y"}).fit(file)
    assert "task=" not in str(caught.value)


@pytest.mark.parametrize("make", [*MAKERS, tamis.KNN])
def test_integers_of_any_size_are_classes(make, tmp_path):
    X, y = three()
    for labels in ([5, 2**53, 2**53 + 1], [2**62, 2**62 + 1, 2**63 - 1], [-7, 0, 2**53]):
        classes = np.array(labels)
        codes = np.searchsorted(["a", "b", "c"], y)
        model = make().fit(X, classes[codes])
        assert np.array_equal(model.classes_, classes)
        assert np.array_equal(model.predict(X), classes[np.searchsorted(["a", "b", "c"], make().fit(X, y).predict(X))])
        if make is SparseClassifier:
            model.save(tmp_path / "model.json")
            assert np.array_equal(tamis.load(tmp_path / "model.json").predict(X), model.predict(X))
    with pytest.raises(tamis.DataError, match="pass the classes as strings"):
        make().fit(X, np.array([-(2**60), 0, 2**60])[codes])


@pytest.mark.parametrize("make", MAKERS)
def test_the_type_of_the_labels_does_not_matter(make):
    X, text = three()
    y = np.searchsorted(["a", "b", "c"], text)
    signed = np.where(y == 0, -0.0, y.astype(float))
    signed[: len(y) // 2] += 0.0  # some zeros are positive
    whole = make().fit(X, y)
    for labels in (y.astype(np.int8), y.astype(np.float32), y.astype(float), np.repeat(y.astype(float), 2)[::2], signed):
        other = make().fit(X, labels)
        assert np.array_equal(other.coef_, whole.coef_) and np.array_equal(other.intercept_, whole.intercept_)
        assert np.array_equal(other.classes_, whole.classes_)
        assert np.array_equal(other.predict(X), whole.predict(X))


@pytest.mark.parametrize("make", MAKERS)
def test_weights_of_classes(make):
    X, y = words()
    y = np.where(y == 1, "spam", "ham")
    for weight in ("balanced", {"spam": 5.0, "ham": 0.5}):
        weighted = make(class_weight=weight).fit(X, y)
        by_hand = make().fit(X, y, sample_weight=compute_sample_weight(weight, y))
        # The mean of the weights is summed up in another order.
        np.testing.assert_allclose(weighted.coef_, by_hand.coef_, rtol=1e-9, atol=1e-12)
    twice = make(class_weight={"spam": 5.0}).fit(X, y, sample_weight=np.where(y == "ham", 2.0, 1.0))
    by_hand = make().fit(X, y, sample_weight=np.where(y == "ham", 2.0, 5.0))
    np.testing.assert_allclose(twice.coef_, by_hand.coef_, rtol=1e-9, atol=1e-12)
    with pytest.raises(tamis.ParamError, match="'class_weight' parameter"):
        make(class_weight="even").fit(X, y)


@pytest.mark.parametrize("make", [SparseClassifier, StabilizedClassifier, TwoStageClassifier])
def test_weights_of_classes_are_those_of_the_program(make, program, tmp_path):
    X, y = words()
    file, out = svmlight(tmp_path, X, y), tmp_path / "model.json"
    method = {SparseClassifier: "ftrl", StabilizedClassifier: "stabilized", TwoStageClassifier: "two-stage"}[make]
    for weight, flag in (("balanced", "balanced"), ({0: 1.0, 1: 5.0}, "0=1,1=5"), ({1.0: 5}, "1=5")):
        program("fit", file, "--out", out, "--quiet", "--method", method, "--class-weight", flag)
        model = make(class_weight=weight).fit(X, y)
        said = {one["name"]: one["weight"] for one in tamis.load(out).features_}
        assert {one["name"]: one["weight"] for one in make(class_weight=weight).fit(str(file)).features_} == said
        assert sorted(one["weight"] for one in model.features_) == sorted(said.values())
        batches = make(class_weight=weight).fit(iter([(X[:50], y[:50]), (X[50:], y[50:])]))
        assert np.array_equal(batches.coef_, model.coef_)
    with pytest.raises(ValueError, match="class_weight names .*7.*, which is no class"):
        make(class_weight={7: 2.0}).fit(X, y)


def test_weights_of_classes_in_moments_need_the_rows():
    X, y = words()
    with pytest.raises(tamis.ParamError, match="not supported for batches: pass a dictionary"):
        MomentsClassifier(class_weight="balanced").fit(iter([(X, y)]))
    with pytest.raises(tamis.ParamError, match="not supported for files"):
        MomentsClassifier(class_weight={"spam": 5.0}).fit("rows.svm")


def test_weights_of_classes_in_partial_fit():
    X, y = words()
    weighted = SparseClassifier(class_weight={1: 9.0}).partial_fit(X, y, classes=[0, 1])
    by_hand = SparseClassifier().partial_fit(X, y, classes=[0, 1], sample_weight=np.where(y == 1, 9.0, 1.0))
    assert np.array_equal(weighted.coef_, by_hand.coef_)
    for make in (SparseClassifier, MomentsClassifier):
        with pytest.raises(ValueError, match="not supported for partial_fit"):
            make(class_weight="balanced").partial_fit(X, y, classes=[0, 1])


@pytest.mark.parametrize("make", [SparseClassifier, StabilizedClassifier, TwoStageClassifier])
def test_probabilities(make):
    X, y = words(classes=3)
    model = make().fit(X, y)
    shares = model.predict_proba(X)
    assert np.allclose(shares.sum(axis=1), 1) and np.array_equal(shares.argmax(axis=1), model.predict(X))
    assert np.allclose(np.exp(model.predict_log_proba(X)), shares)
    assert not hasattr(make(loss="hinge"), "predict_proba") and not hasattr(make(loss="hinge"), "predict_log_proba")


@pytest.mark.parametrize("estimator", [tamis.KNN(5), tamis.SDist(("plain", "order-1"), max_iter=5, n_neighbors=5)])
def test_shares_of_neighbours(estimator):
    X, y = three()
    model = estimator.fit(X, y)
    shares = model.predict_proba(X)
    peer = KNeighborsClassifier(5).fit(model.transform(X), y).predict_proba(model.transform(X))
    assert np.allclose(shares.sum(axis=1), 1) and (np.abs(shares - peer) < 1e-9).all(axis=1).mean() > 0.99
    assert np.array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))
    with np.errstate(divide="ignore"):
        assert np.array_equal(model.predict_log_proba(X), np.log(shares))
    assert not hasattr(tamis.SDist(rule="base"), "predict_proba")


def test_a_neighbour_may_be_alone_in_its_class():
    X, y = three()
    y[7] = "d"
    model = tamis.KNN(1).fit(X, y)
    assert np.array_equal(model.predict(X), y)
