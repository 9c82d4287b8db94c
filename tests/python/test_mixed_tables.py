"""`tamis fit file.csv` with nothing set, on mixed tables, beside scikit-learn's usual pipeline."""

import json
import warnings

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LassoCV, LogisticRegressionCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from mixed_tables import MixedTable

TRAIN, TEST = 1200, 3000


def pipeline(table, train):
    """Imputer, scaling, one-hot encoder and L1 with cross-validation, on cells that are already clean."""
    numbers = [name for name in table.clean if name.startswith("num") or name == "signup"]
    categories = ["town", "plan", "source"]
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        (
            make_pipeline(
                SimpleImputer(strategy="constant", fill_value="missing"), OneHotEncoder(handle_unknown="ignore")
            ),
            categories,
        ),
    )
    if table.task == "regression":
        model = LassoCV(cv=5)
    else:
        model = LogisticRegressionCV(Cs=8, cv=5, solver="liblinear", penalty="l1")
        model = model if table.task == "binary" else OneVsRestClassifier(model)
    model = make_pipeline(columns, model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table.clean[:train], np.array(table.labels[:train]))
    return model


def loss_of_rows(task, labels, predictions):
    """The loss of each row: a wrong class, or the squared error."""
    if task == "regression":
        return (np.asarray(predictions, float) - np.asarray(labels, float)) ** 2
    return np.array([str(a) != str(b) for a, b in zip(labels, predictions)], float)


@pytest.mark.parametrize("seed", range(20))
def test_a_first_fit_is_as_good_as_the_usual_pipeline(tamis, seed):
    table = MixedTable(seed, TRAIN + TEST)
    table.written[:TRAIN].to_csv(tamis.directory / "train.csv", index=False)
    table.written[TRAIN:].to_csv(tamis.directory / "test.csv", index=False)
    said = json.loads(tamis.run("fit", "train.csv", "--out", "m.json", "--json", "--quiet"))
    assert (said["task"], said["target"]) == (table.task, "y")
    assert said["n_features"] < 120, "a category has a feature if it has rows, a date a few"
    names = {feature["name"] for feature in json.loads(tamis.run("inspect", "m.json", "--top", 0, "--json"))["features"]}
    ids = [name for name in names if name.startswith(("customer_id", "row"))]
    assert not ids, f"ids are left out: {ids}"
    ours = tamis.run("predict", "m.json", "test.csv", "--quiet").split("\n")[:TEST]
    model = pipeline(table, TRAIN)
    labels = table.labels[TRAIN:]
    mine = loss_of_rows(table.task, labels, ours)
    theirs = loss_of_rows(table.task, labels, model.predict(table.clean[TRAIN:]))
    error = theirs.std() / np.sqrt(TEST)
    outputs = getattr(model[-1], "estimators_", [model[-1]])
    their_features = np.any([np.ravel(output.coef_) != 0 for output in outputs], axis=0).sum()
    print(f"seed {seed} {table.kind}: {mine.mean():.4f} against {theirs.mean():.4f} ± {error:.4f}, "
          f"{said['nonzeros']} features against {their_features}")
    assert mine.mean() <= theirs.mean() + error
    assert said["nonzeros"] <= their_features
