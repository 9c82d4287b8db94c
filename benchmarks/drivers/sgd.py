"""scikit-learn's SGDClassifier from a svmlight or CSV file: `sgd.py fit TRAIN MODEL ALPHA EPOCHS`, `sgd.py eval MODEL TEST`.

Columns of a CSV file, which pandas reads, are standardised; its target is the column y.

The last line on stdout is JSON; `seconds` counts reading and learning, not the import of the library.
"""

import json
import sys
import time

import numpy as np
import pandas
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler


def load(path, n_features=None):
    if path.endswith(".csv"):
        table = pandas.read_csv(path)
        labels = table.pop("y").to_numpy()
        return StandardScaler().fit_transform(table.to_numpy()), labels
    rows, labels = load_svmlight_file(path, n_features=n_features)
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)  # the learner asks for it
    return rows, labels


def fit(train, model, alpha, epochs):
    started = time.perf_counter()
    rows, labels = load(train)
    read = time.perf_counter()
    learner = SGDClassifier(
        loss="log_loss", penalty="l1", alpha=float(alpha), max_iter=int(epochs), tol=None, random_state=1
    )
    learner.fit(rows, labels)
    finished = time.perf_counter()
    with open(model, "wb") as file:
        np.savez(file, weights=learner.coef_[0], intercept=learner.intercept_, classes=learner.classes_)
    return {
        "seconds": finished - started,
        "read_seconds": read - started,
        "n_examples": rows.shape[0],
        "nonzeros": int(np.count_nonzero(learner.coef_)),
    }


def evaluate(model, test):
    stored = np.load(model)
    rows, labels = load(test, len(stored["weights"]))
    margins = rows @ stored["weights"] + stored["intercept"]
    found = stored["classes"][(margins > 0).astype(int)]
    return {
        "n": rows.shape[0],
        "error": float(np.mean(found != labels)),
        "nonzeros": int(np.count_nonzero(stored["weights"])),
    }


if __name__ == "__main__":
    task, *arguments = sys.argv[1:]
    print(json.dumps({"fit": fit, "eval": evaluate}[task](*arguments)), flush=True)
