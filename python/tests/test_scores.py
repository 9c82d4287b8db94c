"""Scores and reports on files and batches, whose labels come with the rows."""

import numpy as np
import pandas as pd
import pytest
from conftest import numbers, svmlight, words
from sklearn.metrics import accuracy_score, r2_score

import tamis

CLASSIFIERS = [tamis.SparseClassifier(), tamis.StabilizedClassifier(5), tamis.TwoStageClassifier(5), tamis.MomentsClassifier()]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("classes", [2, 3])
def test_files_contain_their_labels(estimator, classes, tmp_path):
    X, y = words(classes=classes, rows=600, columns=60)
    file = svmlight(tmp_path, X[400:], y[400:])
    model = estimator.fit(X[:400], y[:400])
    assert model.score(file) == pytest.approx(model.score(X[400:], y[400:]), abs=1e-12)
    assert model.score([file]) == model.score(file)


@pytest.mark.parametrize("estimator", [tamis.SparseRegressor(), tamis.StabilizedRegressor(), tamis.MomentsRegressor()])
def test_tables_with_weights(estimator, tmp_path):
    X, y = numbers()
    weights = np.random.default_rng(0).integers(1, 5, len(y))
    names = [f"f{at}" for at in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    file = tmp_path / "rows.csv"
    frame.assign(price=y, w=weights).to_csv(file, index=False)
    model = estimator.set_params(reading={"target": "price", "weight_column": "w"}).fit(frame, y)
    assert model.score(file) == pytest.approx(r2_score(y, model.predict(frame), sample_weight=weights), abs=1e-9)


def test_batches_contain_their_labels():
    X, y = words(rows=600, columns=60)
    model = tamis.SparseClassifier().fit(X, y)
    weights = np.random.default_rng(0).random(600)
    pieces = [slice(at, at + 150) for at in range(0, 600, 150)]
    assert model.score((X[one], y[one]) for one in pieces) == model.score(X, y)
    weighted = model.score((X[one], y[one], weights[one]) for one in pieces)
    assert weighted == accuracy_score(y, model.predict(X), sample_weight=weights)
    with pytest.raises(ValueError, match="y is needed: only files and batches contain labels"):
        model.score(X)


def test_labels_that_the_model_does_not_know_are_wrong(tmp_path):
    X, y = words(rows=200, columns=60)
    model = tamis.SparseClassifier().fit(X, y)
    other = np.where(np.arange(200) < 50, 7, y)
    assert model.score(svmlight(tmp_path, X, other)) == pytest.approx(model.score(X, other))


def test_reports_show_other_rows(tmp_path, program):
    X, y = words(rows=600, columns=60)
    y = np.where(y == 1, "spam", "ham")
    model = tamis.StabilizedClassifier(5).fit(X[:400], y[:400])
    plain, page = tmp_path / "plain.html", tmp_path / "page.html"
    model.report(plain)
    model.report(page, data=(X[400:], y[400:]))
    assert "ROC" not in plain.read_text() and "ROC" in page.read_text()
    error = 100 * (1 - model.score(X[400:], y[400:]))
    assert f"error</a> is <strong>{error:.3g}\u00a0%" in page.read_text()
    with pytest.raises(tamis.DataError, match="labels that the model does not know"):
        model.report(page, data=(X, np.full(600, "eggs")))
    assert "ROC" in page.read_text(), "the old page stays"
    X, y = numbers()
    model = tamis.SparseRegressor().fit(X[:400], y[:400])
    file = svmlight(tmp_path, X[400:], y[400:])
    model.report(page, data=file)
    rmse = np.sqrt(np.mean((model.predict(X[400:]) - y[400:]) ** 2))
    assert f"{rmse:.3g}" in page.read_text() and "train.svm" in page.read_text()
