"""Metrics of metric-learn from a svmlight file; the last line on stdout is JSON.

    metric.py lmnn TRAIN MODEL RATE        large margin nearest neighbours, full matrix, 100 iterations at most
    metric.py nca TRAIN MODEL COMPONENTS   neighbourhood components, begun at PCA, 50 iterations at most
    metric.py eval MODEL TEST              three nearest training rows vote

Variables are scaled by the training rows. `seconds` counts reading and learning, not the import of the library.
"""

import json
import sys
import time
import warnings

import numpy as np
from metric_learn import LMNN, NCA
from sklearn.datasets import load_svmlight_file
from sklearn.neighbors import KNeighborsClassifier


def learned(learner, train, model):
    started = time.perf_counter()
    rows, labels = load_svmlight_file(train)
    rows = rows.toarray()
    classes, numbers = np.unique(labels, return_inverse=True)  # it takes a negative label for an unknown one
    centre, spread = rows.mean(axis=0), rows.std(axis=0)
    spread[spread < 1e-12] = 1.0
    rows = (rows - centre) / spread
    learner.fit(rows, numbers)
    seconds = time.perf_counter() - started
    with open(model, "wb") as file:
        np.savez(file, turn=learner.components_, rows=rows, labels=classes[numbers], centre=centre, spread=spread)
    used = np.abs(learner.components_).max(axis=0) > 0
    return {"seconds": seconds, "n_examples": len(labels), "nonzeros": int(np.count_nonzero(used))}


def lmnn(train, model, rate):
    return learned(LMNN(n_neighbors=3, learn_rate=float(rate), max_iter=100, init="identity"), train, model)


def nca(train, model, components):
    return learned(NCA(n_components=int(components), init="pca", max_iter=50, random_state=0), train, model)


def evaluate(model, test):
    stored = np.load(model)
    rows, labels = load_svmlight_file(test, n_features=len(stored["centre"]))
    rows = (rows.toarray() - stored["centre"]) / stored["spread"]
    voters = KNeighborsClassifier(3).fit(stored["rows"] @ stored["turn"].T, stored["labels"])
    found = voters.predict(rows @ stored["turn"].T)
    used = np.abs(stored["turn"]).max(axis=0) > 0
    return {"n": len(labels), "error": float(np.mean(found != labels)), "nonzeros": int(np.count_nonzero(used))}


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    task, *arguments = sys.argv[1:]
    print(json.dumps({"lmnn": lmnn, "nca": nca, "eval": evaluate}[task](*arguments)), flush=True)
