"""A matrix in memory to a model: our Python package, or scikit-learn's SGDClassifier.

    memory.py fit tamis|tamis-2|scikit-learn TRAIN MODEL ALPHA   one pass over the rows of a svmlight file; tamis-2 has two threads
    memory.py reach TRAIN MODEL ALPHA OURS               epochs of SGDClassifier until its loss on these rows is that of our
                                                         one pass with alpha = OURS, 20 at most
    memory.py read TRAIN                                 reads the weight of each stored value, in their order, and adds it up
    memory.py parse TRAIN                                saves the arrays of its matrix beside it, for the other tasks
    memory.py overhead TRAIN PASSES                      what Python adds to the core; 0 passes: nothing is set
    memory.py eval MODEL TEST                            as of sgd.py, with the mean logistic loss

The last line on stdout is JSON; `seconds` is `fit` alone, rows being in memory, and `extra_mb` what memory it took at the
worst moment beyond the matrix (the kernel's high-water mark, set back before the fit).
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import sgd
from scipy import sparse


def load(path):
    """The rows of a svmlight file. Their arrays are saved beside it, because each process reads them again. Another process parses
    the file, so that memory that parsing leaves behind is not there for the fit."""
    saved = arrays_of(path)
    if not saved.exists() or saved.stat().st_mtime < Path(path).stat().st_mtime:
        subprocess.run([sys.executable, __file__, "parse", path], check=True, stdout=subprocess.DEVNULL)
    with np.load(saved) as arrays:
        rows = sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
        return rows, arrays["labels"]


def parse(path):
    rows, labels = sgd.load(path)
    arrays = {"indptr": rows.indptr, "indices": rows.indices, "data": rows.data, "shape": rows.shape, "labels": labels}
    np.savez(arrays_of(path), **arrays)
    return {"n_examples": rows.shape[0]}


def arrays_of(path):
    return Path(path).with_suffix(".arrays.npz")


def status(name):
    """A memory value of this process from the kernel, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def learner_of(kind, alpha):
    if kind.startswith("tamis"):
        from tamis import SparseClassifier

        return SparseClassifier(alpha=float(alpha), max_iter=1, n_jobs=2 if kind == "tamis-2" else None)
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(loss="log_loss", penalty="l1", alpha=float(alpha), max_iter=1, tol=None, random_state=1)


def fit(kind, train, model, alpha):
    rows, labels = load(train)
    learner_of(kind, alpha).fit(rows[:200], labels[:200])  # imports and first calls are not measured
    learner = learner_of(kind, alpha)
    Path("/proc/self/clear_refs").write_text("5")
    before = status("VmRSS")
    started = time.perf_counter()
    learner.fit(rows, labels)
    seconds = time.perf_counter() - started
    extra = status("VmHWM") - before
    return {"seconds": seconds, "extra_mb": extra, **save(learner, rows, model)}


def reach(train, model, alpha, ours):
    rows, labels = load(train)
    goal = loss_of(learner_of("tamis", ours).fit(rows, labels), rows, labels)
    learner, seconds = learner_of("scikit-learn", alpha), 0.0
    for epochs in range(1, 21):
        started = time.perf_counter()
        learner.partial_fit(rows, labels, classes=np.unique(labels))
        seconds += time.perf_counter() - started
        loss = loss_of(learner, rows, labels)
        if loss <= goal:
            break
    told = {"epochs": epochs, "train_loss": loss, "goal": goal, "reached": loss <= goal}
    return {"seconds": seconds, **told, **save(learner, rows, model)}


def read(train):
    """What any learner must do at least, by numpy: a part of the values at a time, so that sums stay in the cache."""
    rows, _ = load(train)
    state, part = np.ones(rows.shape[1]), 1 << 14
    total, started = 0.0, time.perf_counter()
    for start in range(0, rows.nnz, part):
        weights = state.take(rows.indices[start : start + part], mode="wrap")
        weights *= rows.data[start : start + part]
        total += weights.sum()
    seconds = time.perf_counter() - started
    assert abs(total - rows.data.sum()) < 1e-6 * rows.nnz
    return {"seconds": seconds, "n_examples": rows.shape[0]}


def save(learner, rows, model):
    weights = learner.coef_[0]
    with open(model, "wb") as file:
        np.savez(file, weights=weights, intercept=learner.intercept_, classes=learner.classes_)
    return {"n_examples": rows.shape[0], "nonzeros": int(np.count_nonzero(weights))}


def loss_of(learner, rows, labels):
    margins = learner.decision_function(rows)
    return logistic(margins, labels == learner.classes_[1])


def logistic(margins, positive):
    return float(np.mean(np.logaddexp(0, np.where(positive, -margins, margins))))


def overhead(train, passes):
    """The time of `fit` relative to that of its call into the core, in percent; the median of many runs."""
    from tamis import SparseClassifier, _base, _core

    rows, labels = load(train)
    inner, outer, shares = [], [], []

    class Clocked:
        Model = _core.Model

        @staticmethod
        def fit(*arguments):
            started = time.perf_counter()
            made = _core.fit(*arguments)
            inner.append(time.perf_counter() - started)
            return made

    _base._core = Clocked
    for _ in range(15):
        started = time.perf_counter()
        SparseClassifier(max_iter=int(passes) or None).fit(rows, labels)
        outer.append(time.perf_counter() - started)
        shares.append(100 * (outer[-1] / inner[-1] - 1))
    return {"seconds": float(np.median(outer)), "n_examples": rows.shape[0], "overhead": float(np.median(shares))}


def evaluate(model, test):
    stored = np.load(model)
    rows, labels = load(test)
    # Columns that only one of the two files has are none of the model's.
    width = min(rows.shape[1], len(stored["weights"]))
    margins = rows[:, :width] @ stored["weights"][:width] + stored["intercept"]
    positive = labels == stored["classes"][1]
    return {
        "n": rows.shape[0],
        "error": float(np.mean((margins > 0) != positive)),
        "loss": logistic(margins, positive),
        "nonzeros": int(np.count_nonzero(stored["weights"])),
    }


if __name__ == "__main__":
    task, *arguments = sys.argv[1:]
    tasks = {"fit": fit, "reach": reach, "read": read, "parse": parse, "overhead": overhead, "eval": evaluate}
    print(json.dumps(tasks[task](*arguments)), flush=True)
