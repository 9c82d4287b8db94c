"""Kernel models: what they find, what they say about it, and files."""

import pickle

import numpy as np
import pandas as pd
import pytest

import tamis
from tamis import KernelClassifier, KernelRegressor

# One search instead of four: these tests are about the estimators.
QUICK = {"inputs": "z-score", "family": "mixed", "max_variables": 8}


@pytest.fixture(scope="module")
def product():
    """Rows whose class is the sign of a product of two columns, and a model of them."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 12))
    y = np.where(X[:, 4] * X[:, 9] > 0, "yes", "no")
    return X, y, KernelClassifier(**QUICK).fit(X, y)


def test_an_interaction_is_found_and_named(product):
    X, y, model = product
    assert model.get_support(indices=True).tolist() == [4, 9]
    assert sorted(one["name"] for one in model.variables_) == sorted(model.get_feature_names_out())
    assert set(model.interactions_[0]["names"]) == set(model.get_feature_names_out())
    assert model.is_better_than_constant_ and not model.is_linear_as_good_
    assert model.score(X, y) > 0.9
    shares = model.predict_proba(X)
    assert np.allclose(shares.sum(axis=1), 1) and (shares[y == "yes", 1] > 0.5).mean() > 0.9
    assert model.transform(X).shape == (300, 2)


def test_variables_and_pairs_have_q_values(product):
    _, _, model = product
    assert model.q_values_.shape == (12,) and np.all(model.q_values_[[4, 9]] < 0.01)
    assert {"x4", "x9"} <= set(model.confirmed()) and model.confirmed(0.0) == []
    assert all(one["q"] < 0.01 for one in model.variables_) and model.interactions_[0]["q"] < 0.01
    q = [test["q"] for test in model.tests_]
    assert q == sorted(q) and {len(test["names"]) for test in model.tests_} == {1, 2}


def test_sizes_and_curves_need_no_data(product):
    X, y, model = product
    sizes = {one["size"]: one for one in model.curve_}
    assert sizes[2]["error"] < 0.2 < sizes[0]["error"] and sizes[1]["kept"] and model.linear_["error"] > 0.3
    one = model.resize(1)
    assert len(one.variables_) == 1 and one.score(X, y) < model.score(X, y) and len(model.variables_) == 2
    with pytest.raises(tamis.ParamError, match="has no function of 7 variables"):
        model.resize(7)
    first, second = model.interactions_[0]["names"]
    a, b, surface = model.partial_dependence(first, second)
    assert surface.shape == (1, len(a), len(b))
    corners = surface[0][np.ix_([0, -1], [0, -1])]
    assert corners[0, 0] > 0 > corners[0, 1] and corners[1, 1] > 0 > corners[1, 0], "a saddle"
    turned = model.partial_dependence(second, first)
    assert np.array_equal(turned[2][0], surface[0].T) and np.array_equal(turned[0], b)
    values, margins = model.partial_dependence(first)
    assert np.all(np.diff(values) > 0) and margins.shape == (1, len(values))
    with pytest.raises(tamis.ParamError, match="the model has no curve of nobody"):
        model.partial_dependence("nobody")


def test_files_and_pickles_keep_the_model(product, tmp_path):
    X, _, model = product
    model.save(tmp_path / "m.json")
    for other in (pickle.loads(pickle.dumps(model)), tamis.load(tmp_path / "m.json")):
        assert isinstance(other, KernelClassifier)
        assert np.array_equal(other.decision_function(X), model.decision_function(X))
        assert other.variables_ == model.variables_
    model.report(tmp_path / "page.html")
    assert "Selected variables" in (tmp_path / "page.html").read_text()
    with pytest.raises(tamis.ParamError, match="has no size path"):
        tamis.StabilizedClassifier.load(tmp_path / "m.json")


def test_there_are_no_weights(product):
    for name in ("coef_", "sparse_coef_", "intercept_"):
        with pytest.raises(AttributeError, match="a kernel model is not linear"):
            getattr(product[2], name)
        assert not hasattr(product[2], name)


def test_numbers_of_frames_with_categories_and_weights():
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(300, 4)), columns=["a", "b", "c", "d"])
    frame["town"] = random.choice(["Rome", "Oslo", "Bern"], 300)
    y = frame["b"] ** 2 + 2.0 * (frame["town"] == "Rome") + 0.1 * random.normal(size=300)
    weights = random.uniform(0.5, 2, 300)
    model = KernelRegressor(**QUICK, random_state=3).fit(frame, y, sample_weight=weights)
    names = set(model.get_feature_names_out())
    assert {"b", "town=Rome"} <= names and len(names) <= 3
    assert model.score(frame, y) > 0.9
    values, margins = model.partial_dependence("b")
    middle = margins[0][len(values) // 2]
    assert margins[0][0] > middle + 1 and margins[0][-1] > middle + 1, "a parabola"
    assert not np.array_equal(KernelRegressor(**QUICK, random_state=3).fit(frame, y).predict(frame), model.predict(frame))


def test_noise_is_nothing_found():
    # One standard error is no proof: of ten seeds, something is found for one.
    random = np.random.default_rng(3)
    X, y = random.normal(size=(200, 8)), random.integers(0, 2, 200)
    with pytest.warns(tamis.Note, match="nothing found"):
        model = KernelClassifier(**QUICK).fit(X, y)
    assert model.variables_ == [] and model.get_support().sum() == 0 and model.curve_[-1]["kept"]
    assert len(np.unique(model.predict(X))) == 1
    with pytest.raises(tamis.Error, match="20 rows are too few"):
        KernelClassifier().fit(X[:20], y[:20])


def test_later_rows_update_the_weights(product, tmp_path):
    X, y, cold = product
    random = np.random.default_rng(1)
    more = random.normal(size=(400, 12))
    label = np.where(more[:, 4] * more[:, 9] > 0, "yes", "no")
    first = KernelClassifier(**QUICK, warm_start=True).fit(X, y)
    assert np.array_equal(first.decision_function(X), cold.decision_function(X))
    at_once, in_parts = (pickle.loads(pickle.dumps(first)) for _ in range(2))
    at_once.fit(more, label)
    in_parts.fit(more[:150], label[:150], np.ones(150)).fit(more[150:], label[150:])
    assert np.allclose(at_once.decision_function(X), in_parts.decision_function(X), rtol=1e-9, atol=1e-9)
    assert at_once.get_support(indices=True).tolist() == [4, 9]
    fresh = random.normal(size=(4000, 12))
    truth = np.where(fresh[:, 4] * fresh[:, 9] > 0, "yes", "no")
    assert at_once.score(fresh, truth) > first.score(fresh, truth)
    # A file of the same rows is the same update.
    frame = pd.DataFrame(more, columns=[f"x{column}" for column in range(12)])
    frame.assign(y=label).to_csv(tmp_path / "more.csv", index=False)
    named = KernelClassifier(**QUICK, warm_start=True, reading={"target": "y"}).fit(pd.DataFrame(X, columns=frame.columns), y)
    of_file = pickle.loads(pickle.dumps(named)).fit(tmp_path / "more.csv")
    of_frame = named.fit(frame, label)
    assert np.allclose(of_file.decision_function(frame), of_frame.decision_function(frame), rtol=1e-9, atol=1e-9)


def test_an_update_that_does_not_fit_is_refused(product):
    X, y, _ = product
    model = KernelClassifier(**QUICK, warm_start=True).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="does not know"):
        model.fit(X[:9], ["maybe"] * 9)
    with pytest.raises(ValueError, match="features"):
        model.fit(X[:9, :5], y[:9])
    with pytest.raises(ValueError, match="parameters cannot change"):
        model.set_params(max_variables=9).fit(X, y)
    assert np.array_equal(model.decision_function(X), before)
    assert len(pickle.dumps(model.set_params(warm_start=False))) < 1_000_000
