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

from conftest import Tamis
from mixed_tables import ODD, MixedTable

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


class Comparison:
    """Both fits of one table."""

    def __init__(self, tamis, seed, train=TRAIN, options=()):
        table = MixedTable(seed, train + TEST)
        table.written[:train].to_csv(tamis.directory / "train.csv", index=False)
        table.written[train:].to_csv(tamis.directory / "test.csv", index=False)
        self.seed, self.kind, self.task = seed, table.kind, table.task
        self.said = json.loads(tamis.run("fit", "train.csv", *options, "--out", "m.json", "--json", "--quiet"))
        self.names = set(json.loads((tamis.directory / "m.json").read_text())["body"]["columns"]["ignored"])
        ours = tamis.run("predict", "m.json", "test.csv", "--quiet").split("\n")[:TEST]
        model = pipeline(table, train)
        labels = table.labels[train:]
        self.mine = loss_of_rows(table.task, labels, ours)
        self.theirs = loss_of_rows(table.task, labels, model.predict(table.clean[train:]))
        self.standard_error = self.theirs.std() / np.sqrt(TEST)
        outputs = getattr(model[-1], "estimators_", [model[-1]])
        self.their_features = np.any([np.ravel(output.coef_) != 0 for output in outputs], axis=0).sum()

    def excess(self):
        """How much larger our error is, in standard errors of theirs."""
        return (self.mine.mean() - self.theirs.mean()) / self.standard_error

    def __str__(self):
        return (
            f"seed {self.seed} {self.kind}: {self.mine.mean():.4f} against {self.theirs.mean():.4f} ± "
            f"{self.standard_error:.4f}, {self.said['nonzeros']} features against {self.their_features}"
        )


@pytest.fixture(scope="module")
def comparisons(tmp_path_factory):
    found = [Comparison(Tamis(tmp_path_factory.mktemp("mixed")), seed) for seed in range(20)]
    print(*found, sep="\n")
    return found


def test_the_task_is_right_and_no_column_explodes(comparisons):
    for one in comparisons:
        assert (one.said["task"], one.said["target"]) == (one.task, "y"), one
        assert one.said["n_features"] < 80, f"{one}: a category has a feature if it has rows, a date a few"
        assert {"customer_id", "row"} <= one.names, f"{one}: ids are left out"


def test_the_error_is_near_that_of_the_pipeline(comparisons):
    excess = np.array([one.excess() for one in comparisons])
    assert excess.mean() < 0.5 and excess.max() < 2, [str(one) for one in comparisons]


def test_no_model_has_more_features(comparisons):
    larger = [str(one) for one in comparisons if one.said["nonzeros"] > one.their_features]
    assert not larger, larger


def test_the_error_is_within_one_standard_error(comparisons):
    """One table of twenty may be beyond by chance."""
    worse = [str(one) for one in comparisons if one.excess() > 1]
    assert len(worse) <= 1, worse


def test_few_rows_have_a_model_that_predicts(tmp_path_factory):
    """Few rows may not show the odd cells of the rows to come, so these are named."""
    markers = [word for odd in ODD for word in ("--na", odd)]
    found = [Comparison(Tamis(tmp_path_factory.mktemp("few")), seed, 300, markers) for seed in range(20, 36)]
    print(*found, sep="\n")
    assert all(one.said["task"] == one.task for one in found), [str(one) for one in found]
    excess = np.array([one.excess() for one in found])
    assert excess.mean() < 1, [str(one) for one in found]
    assert sum(one.said["nonzeros"] for one in found) < sum(one.their_features for one in found) / 2
