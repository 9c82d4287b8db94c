"""The same stream through scikit-learn's stochastic gradient descent and through ours gives the same weights.

Where the two agree: plain SGD, a rate that depends on the step only, no penalty, no shuffling, any number of passes,
dense rows. Where they do not agree, and what the tests do about it:

* **Squared loss** is ½(f − y)² there and (f − y)² here: our rate is half of theirs. Huber is the same in both.
* **Averaging** is the mean of w₁ … w_T there; here it is that of w₀ … w_T, w₀ = 0 (Theorem 1.2 of Langford, Li & Zhang):
  ours times (T + 1)/T is theirs.
* **Sparse rows**: scikit-learn multiplies every step of the intercept by 0.01 if the matrix is stored sparse
  (`SPARSE_INTERCEPT_DECAY`), whatever its density. The tests give it dense arrays; we have no such factor.
* **The hinge at its kink**: at a margin of exactly 1 scikit-learn steps, we do not. Random rows never hit it.
* **Slopes** are clipped to ±10¹² there; none here gets that far.
* **L1** is not compared: scikit-learn's penalty acts only on the features of the current row and drops pending shrinkage
  at the end of a call, so the two are different algorithms.
"""

import numpy as np
import pytest
from conftest import dense
from sklearn.linear_model import SGDClassifier, SGDRegressor

SEEDS = [1, 2, 3, 4, 5]
TOLERANCE = 1e-9
PLAIN = ["--method", "sgd", "--no-shuffle", "--scale", "none"]


def two_classes(seed, n=400, p=30):
    """Gaussian rows, some cells exactly zero, labels from a noisy linear rule."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, p)) * (random.random((n, p)) < 0.7)
    labels = np.where(rows @ random.normal(size=p) + random.normal(size=n) > 0, 1.0, -1.0)
    return rows, labels


def numbers(seed, n=400, p=20):
    """Gaussian rows, a linear target with noise and a few outliers."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, p))
    target = rows @ random.normal(size=p) + random.normal(size=n) * 0.5 + 2.0
    target[random.random(n) < 0.05] += 20.0
    return rows, target


def theirs(learner, rows, labels, **more):
    learner.fit(rows, labels, **more)
    return learner.intercept_[0], np.ravel(learner.coef_)


def classifier(loss, rate, passes=1, **more):
    settings = {"learning_rate": "constant", "penalty": None, "shuffle": False, "tol": None} | more
    return SGDClassifier(loss=loss, eta0=rate, max_iter=passes, **settings)


def regressor(loss, rate, passes=1, **more):
    settings = {"learning_rate": "constant", "penalty": None, "shuffle": False, "tol": None} | more
    return SGDRegressor(loss=loss, eta0=rate, max_iter=passes, **settings)


def assert_same(found, expected, columns):
    intercept, weights = found
    assert abs(intercept - expected[0]) <= TOLERANCE
    np.testing.assert_allclose(dense(weights, columns), expected[1], rtol=0, atol=TOLERANCE)
    assert np.abs(expected[1]).max() > 1e-3, "a test on zeros proves nothing"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("ours, name, rate", [
    ("logistic", "log_loss", 0.1),
    ("hinge", "hinge", 0.05),
    ("squared-hinge", "squared_hinge", 0.003),
])
def test_classes_with_a_constant_rate(tamis, ours, name, rate, passes, seed):
    rows, labels = two_classes(seed)
    data = tamis.write_svmlight("data.svm", rows, labels)
    arguments = ["--loss", ours, "--schedule", "constant", "--learning-rate", rate, "--passes", passes]
    found = tamis.fit(data, *PLAIN, *arguments)
    assert_same(found, theirs(classifier(name, rate, passes), rows, labels), rows.shape[1])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("passes", [1, 3])
def test_squared_loss_at_half_the_rate(tamis, passes, seed):
    rows, target = numbers(seed)
    data = tamis.write_svmlight("data.svm", rows, target)
    arguments = ["--loss", "squared", "--schedule", "constant", "--learning-rate", 0.005, "--passes", passes]
    found = tamis.fit(data, *PLAIN, *arguments)
    assert_same(found, theirs(regressor("squared_error", 0.01, passes), rows, target), rows.shape[1])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("passes", [1, 3])
def test_huber_loss(tamis, passes, seed):
    rows, target = numbers(seed)
    data = tamis.write_svmlight("data.svm", rows, target)
    arguments = ["--loss", "huber", "--huber-delta", 1.345, "--schedule", "constant", "--learning-rate", 0.01]
    found = tamis.fit(data, *PLAIN, *arguments, "--passes", passes)
    assert_same(found, theirs(regressor("huber", 0.01, passes, epsilon=1.345), rows, target), rows.shape[1])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("ours, power", [
    (["--schedule", "inverse-sqrt"], 0.5),
    (["--schedule", "inverse"], 1.0),
    (["--schedule", "power", "--power", "0.25"], 0.25),
])
def test_falling_rates(tamis, ours, power, seed):
    rows, labels = two_classes(seed)
    data = tamis.write_svmlight("data.svm", rows, labels)
    found = tamis.fit(data, *PLAIN, "--loss", "logistic", *ours, "--learning-rate", 0.5, "--passes", 2)
    learner = classifier("log_loss", 0.5, 2, learning_rate="invscaling", power_t=power)
    assert_same(found, theirs(learner, rows, labels), rows.shape[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_without_an_intercept(tamis, seed):
    rows, labels = two_classes(seed)
    data = tamis.write_svmlight("data.svm", rows, labels)
    arguments = ["--loss", "logistic", "--schedule", "constant", "--learning-rate", 0.1, "--passes", 1, "--no-intercept"]
    found = tamis.fit(data, *PLAIN, *arguments)
    assert_same(found, theirs(classifier("log_loss", 0.1, fit_intercept=False), rows, labels), rows.shape[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_averaged_weights(tamis, seed):
    rows, labels = two_classes(seed)
    data = tamis.write_svmlight("data.svm", rows, labels)
    arguments = ["--loss", "logistic", "--schedule", "constant", "--learning-rate", 0.1, "--passes", 2, "--average"]
    intercept, weights = tamis.fit(data, *PLAIN, *arguments)
    steps = 2 * len(labels)
    stretch = (steps + 1) / steps
    found = intercept * stretch, {name: weight * stretch for name, weight in weights.items()}
    assert_same(found, theirs(classifier("log_loss", 0.1, 2, average=True), rows, labels), rows.shape[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_weighted_examples(tamis, seed):
    rows, labels = two_classes(seed)
    importance = np.random.default_rng(seed).choice([0.5, 1.0, 2.0, 3.25], size=len(labels))
    with open(tamis.directory / "data.vw", "w") as file:
        for row, label, weight in zip(rows, labels, importance):
            cells = " ".join(f"{j + 1}:{float(value)!r}" for j, value in enumerate(row) if value != 0)
            file.write(f"{label:g} {weight:g} | {cells}\n")
    arguments = ["--loss", "logistic", "--schedule", "constant", "--learning-rate", 0.1, "--passes", 1]
    found = tamis.fit("data.vw", *PLAIN, *arguments)
    expected = theirs(classifier("log_loss", 0.1), rows, labels, sample_weight=importance / importance.mean())
    assert_same(found, expected, rows.shape[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_predictions_are_theirs(tamis, seed):
    """From a file of rows to a file of probabilities, through a stored model."""
    rows, labels = two_classes(seed)
    data = tamis.write_svmlight("data.svm", rows[:300], labels[:300])
    tamis.fit(data, *PLAIN, "--loss", "logistic", "--schedule", "constant", "--learning-rate", 0.1, "--passes", 1)
    new = tamis.write_svmlight("new.svm", rows[300:], labels[300:])
    printed = tamis.run("predict", "model.json", new, "--output", "probability").splitlines()
    learner = classifier("log_loss", 0.1).fit(rows[:300], labels[:300])
    np.testing.assert_allclose([float(line) for line in printed], learner.predict_proba(rows[300:])[:, 1], atol=TOLERANCE)
