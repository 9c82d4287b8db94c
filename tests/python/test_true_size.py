"""Planted effects: a model of as many features as are true has few false ones, and so has the model with nothing set.

The numbers are those of docs/why-this-size.md ("Which features at a small size"); the seeds are fixed, and others than there.
"""

import json

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file
from sklearn.linear_model import lars_path
from test_false_discoveries import dense, plant, text

TRUE = 20
DESIGNS = {
    "independent": lambda random: dense("plain", 1000, 1000, random),
    "autoregression": lambda random: dense("autoregressive", 1000, 1000, random),
    "blocks": lambda random: dense("block", 1000, 1000, random),
    "heavy tails": lambda random: dense("heavy", 1000, 1000, random),
    "Zipf": lambda random: text(2000, 5000, random),
}


def names(tamis, model):
    return [int(feature["name"]) - 1 for feature in json.loads(tamis.run("inspect", model, "--json"))["features"]]


def first_of_l1(X, y):
    """The first columns of the lasso path, standardised."""
    X = X.toarray() if sp.issparse(X) else X
    spread = X.std(axis=0)
    _, entered, _ = lars_path((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1), y - y.mean(), max_iter=TRUE + 10)
    return list(dict.fromkeys(entered))[:TRUE]


def test_models_of_the_true_size_have_few_false_features(tamis):
    at_true_size, of_l1, of_own_size = [], [], []
    for number, (design, make) in enumerate(DESIGNS.items()):
        for seed in (701, 702, 703):
            classes = (number + seed) % 2 == 0
            X = make(np.random.default_rng(seed))
            y, truth = plant(X, TRUE, classes, np.random.default_rng(1000 + seed), heavy=design == "heavy tails")
            dump_svmlight_file(sp.csr_matrix(X), y, str(tamis.directory / "rows.svm"), zero_based=False)
            loss = [] if classes else ["--loss", "squared"]
            tamis.run("fit", "rows.svm", "-o", "own.json", "--quiet", *loss)
            tamis.run("resize", "own.json", "--k", TRUE, "-o", "true.json", "--quiet")
            share = lambda features: np.mean([feature not in truth for feature in features])  # noqa: E731
            at_true_size.append(share(names(tamis, "true.json")))
            of_own_size.append(share(names(tamis, "own.json")))
            of_l1.append(share(first_of_l1(X, y.astype(float))))
    said = f"true size {np.round(at_true_size, 2)}, own size {np.round(of_own_size, 2)}, lasso {np.round(of_l1, 2)}"
    assert np.mean(at_true_size) <= 0.11, said
    assert np.mean(at_true_size) <= 0.85 * np.mean(of_l1), said
    assert np.mean(of_own_size) <= 0.06, said
