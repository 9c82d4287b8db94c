"""Measures the comparison table of the README: each claim is tried with each program, and the table is printed.

    TAMIS_BIN=target/release/tamis .venv/bin/python benchmarks/comparison.py

A program that is not installed is said to be so. The rows have 2,000 features, 20 of which decide; see `rows`.
"""

import inspect
import io
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

COUNT, WIDTH, TRUE = 4000, 2000, 20
PROGRAM = Path(os.environ.get("TAMIS_BIN", "target/release/tamis")).resolve()


def rows(seed=0):
    """Binary features whose frequencies fall as in text, and labels that 20 of the common ones decide."""
    random = np.random.default_rng(seed)
    share = np.minimum(0.5, 5 / np.arange(1, WIDTH + 1))
    X = sparse.csr_array((random.random((COUNT, WIDTH)) < share).astype(float))
    truth = np.zeros(WIDTH)
    truth[:TRUE] = random.choice([-2.0, 2.0], TRUE)
    return X, np.where(X @ truth + random.logistic(size=COUNT) > 0, 1, -1)


def svmlight(path, X, y):
    with open(path, "w", encoding="utf-8") as file:
        for row in range(X.shape[0]):
            columns = X.indices[X.indptr[row] : X.indptr[row + 1]]
            file.write(f"{y[row]} " + " ".join(f"{column + 1}:1" for column in columns) + "\n")


class Stated(str):
    """An answer that follows from the interface of a program and was not measured."""


class Tamis:
    name = "Tamis"

    def __init__(self, folder, X, y):
        if not PROGRAM.exists():
            raise ImportError(f"no program at {PROGRAM}")
        self.folder, self.X, self.y = folder, X, y

    def run(self, *arguments):
        done = subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout

    def fit(self, out, *flags, data="rows.svm"):
        self.run("fit", data, "--method", "ftrl", *flags, "--quiet", "--out", out)
        return json.loads((self.folder / out).read_text())["body"]["outputs"]

    def stream(self):
        text = (self.folder / "rows.svm").read_bytes()
        command = [PROGRAM, "fit", "-", "--format", "svm", "--method", "ftrl", "--passes", "1", "--quiet", "--out", "piped.json"]
        done = subprocess.run(command, cwd=self.folder, input=text, capture_output=True, check=False)
        return done.returncode == 0

    def batches(self):
        """The same rows as one file and as forty, learned as one stream."""
        whole = self.fit("whole.json", "--passes", 1)
        lines = (self.folder / "rows.svm").read_text().splitlines(keepends=True)
        (self.folder / "parts").mkdir(exist_ok=True)
        for part in range(40):
            (self.folder / f"parts/{part:02d}.svm").write_text("".join(lines[part * 100 : part * 100 + 100]))
        same = whole == self.fit("parts.json", "--passes", 1, data="parts")
        return "yes, bit for bit" if same else "no"

    def file(self):
        weights = [feature["weight"] for feature in self.fit("sparse.json")[0]["features"]]
        return f"yes ({len(weights)} weights)" if all(weights) else "no"

    def exact(self):
        sizes = [len(self.fit(f"k{k}.json", "--k", k)[0]["features"]) for k in (3, 25, 100)]
        return "`--k`" if sizes == [3, 25, 100] else f"no: {sizes}"

    def frequency(self):
        self.run("fit", "rows.svm", "--quiet", "--out", "stable.json")
        body = json.loads((self.folder / "stable.json").read_text())["body"]
        return all("frequency" in feature for feature in body["outputs"][0]["features"])

    def names(self):
        (self.folder / "names.vw").write_text("1 | cheap pills\n-1 | hello you\n" * 50)
        names = {feature["name"] for feature in self.fit("names.json", "--l1", 0, data="names.vw")[0]["features"]}
        return {"cheap", "hello"} <= names

    def resume(self):
        """A complete run continues with new rows, as if there had been one stream."""
        lines = (self.folder / "rows.svm").read_text().splitlines(keepends=True)
        (self.folder / "a.svm").write_text("".join(lines[:2000]))
        (self.folder / "b.svm").write_text("".join(lines[2000:]))
        self.fit("a.json", "--passes", 1, "--checkpoint", "a.st", data="a.svm")
        self.run("fit", "b.svm", "--resume", "a.st", "--quiet", "--out", "b.json")
        resumed = json.loads((self.folder / "b.json").read_text())["body"]["outputs"]
        return resumed == self.fit("whole.json", "--passes", 1)

    def new_features(self):
        (self.folder / "wider.svm").write_text("1 5001:1\n-1 5002:1\n" * 50)
        self.fit("first.json", "--passes", 1, "--checkpoint", "first.st")
        self.run("fit", "wider.svm", "--resume", "first.st", "--quiet", "--out", "second.json")
        return True

    def threads(self):
        one, two = (self.fit(f"t{n}.json", "--threads", n, "--passes", 3) for n in (1, 2))
        return one == two


class ScikitLearn:
    name = "scikit-learn SGD"

    def __init__(self, folder, X, y):
        from sklearn.linear_model import SGDClassifier

        self.X, self.y = X, y
        self.make = lambda: SGDClassifier(loss="log_loss", penalty="l1", alpha=1e-3, random_state=0, shuffle=False)
        self.estimator = SGDClassifier

    def pieces(self, size):
        model = self.make()
        for start in range(0, COUNT, size):
            model.partial_fit(self.X[start : start + size], self.y[start : start + size], classes=[-1, 1])
        return model

    def stream(self):
        return "`partial_fit`" if np.any(self.pieces(1000).coef_) else "no"

    def batches(self):
        found = {size: np.count_nonzero(self.pieces(size).coef_) for size in (COUNT, 100, 10)}
        told = ", ".join(f"{weights:,} weights in batches of {size:,}" for size, weights in found.items())
        return "yes" if len(set(found.values())) == 1 else f"no: {told}"

    def file(self):
        model = self.pieces(COUNT)
        loaded = pickle.loads(pickle.dumps(model))
        return "yes" if loaded.coef_.size == np.count_nonzero(model.coef_) else f"no ({loaded.coef_.size:,} stored)"

    def exact(self):
        return has_parameter(self.estimator, "n_features", "n_nonzero", "k")

    def frequency(self):
        return any("frequency" in name or "stability" in name for name in dir(self.pieces(COUNT)))

    def names(self):
        import pandas

        frame = pandas.DataFrame(self.X[:, :3].toarray(), columns=["a", "b", "c"])
        model = self.make().partial_fit(frame, self.y, classes=[-1, 1])
        return "data frames" if list(model.feature_names_in_) == ["a", "b", "c"] else "no"

    def resume(self):
        whole = self.pieces(2000)
        model = self.make()
        model.partial_fit(self.X[:2000], self.y[:2000], classes=[-1, 1])
        model = pickle.loads(pickle.dumps(model))
        model.partial_fit(self.X[2000:], self.y[2000:])
        one_call = self.pieces(COUNT)
        same_calls = (model.coef_ == whole.coef_).all()
        same_rows = (model.coef_ == one_call.coef_).all()
        return "yes" if same_rows else ("pickle, L1 state lost between calls" if same_calls else "no")

    def new_features(self):
        model = self.pieces(COUNT)
        try:
            model.partial_fit(sparse.csr_array(np.ones((2, WIDTH + 1))), [-1, 1])
        except ValueError:
            return False
        return True

    def threads(self):
        return Stated("one thread")


class River:
    name = "River"

    def __init__(self, folder, X, y):
        from river import linear_model, optim

        self.make = lambda: linear_model.LogisticRegression(optimizer=optim.SGD(0.05), l1=1e-3)
        self.X, self.y = X, y

    def learned(self, count=1000, model=None, start=0):
        model = model or self.make()
        for row in range(start, count):
            columns = self.X.indices[self.X.indptr[row] : self.X.indptr[row + 1]]
            model.learn_one({f"f{column}": 1.0 for column in columns}, bool(self.y[row] > 0))
        return model

    def stream(self):
        return bool(self.learned(50).weights)

    def batches(self):
        return Stated("yes: one row at a time")

    def file(self):
        weights = pickle.loads(pickle.dumps(self.learned())).weights
        kept = sum(weight != 0 for weight in weights.values())
        return "yes" if kept == len(weights) else f"no ({len(weights):,} stored, {kept:,} non-zero)"

    def exact(self):
        return has_parameter(type(self.make()), "n_features", "k", "size")

    def frequency(self):
        return any("frequency" in name or "stability" in name for name in dir(self.make()))

    def names(self):
        return all(name.startswith("f") for name in self.learned(50).weights)

    def resume(self):
        model = pickle.loads(pickle.dumps(self.learned(500)))
        same = dict(self.learned(1000, model, 500).weights) == dict(self.learned(1000).weights)
        return "pickle" if same else "no"

    def new_features(self):
        model = self.learned(50)
        model.learn_one({"new": 1.0}, True)
        return "new" in model.weights

    def threads(self):
        return Stated("one thread")


class VowpalWabbit:
    name = "Vowpal Wabbit"

    def __init__(self, folder, X, y):
        import vowpalwabbit

        self.pyvw, self.folder, self.X, self.y = vowpalwabbit, folder, X, y

    def lines(self, start=0, end=1000):
        for row in range(start, end):
            columns = self.X.indices[self.X.indptr[row] : self.X.indptr[row + 1]]
            yield f"{self.y[row]} | " + " ".join(f"f{column}" for column in columns)

    def learned(self, flags, start=0, end=1000):
        model = self.pyvw.Workspace(f"--quiet --loss_function logistic -b 18 {flags}")
        for line in self.lines(start, end):
            model.learn(line)
        model.finish()

    def readable(self, name):
        text = (self.folder / name).read_text()
        return dict(re.findall(r"^(\d+):(\S+)", text, flags=re.MULTILINE))

    def stream(self):
        self.learned(f"-f {self.folder / 'vw.model'}", end=50)
        return (self.folder / "vw.model").exists()

    def batches(self):
        return Stated("yes: one row at a time")

    def file(self):
        counts = []
        for flags in ("", "--predict_only_model"):
            data = self.folder / "vw.txt"
            data.write_text("".join(f"{line}\n" for line in self.lines()))
            out = self.folder / "vw.readable"
            told = f"--quiet --loss_function logistic --l1 1e-4 -d {data} {flags} -f {self.folder / 'v'} --readable_model {out}"
            self.pyvw.Workspace(told).finish()
            counts.append(len(self.readable("vw.readable")))
        return f"{counts[0]:,} weights; with `--predict_only_model` {counts[1]:,}"

    def exact(self):
        return Stated("no")

    def frequency(self):
        return Stated("no")

    def names(self):
        return Stated("`--invert_hash`")

    def resume(self):
        paths = [self.folder / name for name in ("vw.a", "vw.b", "vw.whole")]
        texts = [self.folder / name for name in ("vw.b.txt", "vw.whole.txt")]
        self.learned(f"--save_resume -f {paths[0]}", end=500)
        self.learned(f"--save_resume -i {paths[0]} -f {paths[1]} --readable_model {texts[0]}", start=500)
        self.learned(f"--save_resume -f {paths[2]} --readable_model {texts[1]}")
        same = self.readable("vw.b.txt") == self.readable("vw.whole.txt")
        return "`--save_resume`" if same else "`--save_resume`, other weights"

    def new_features(self):
        return Stated("hashed")

    def threads(self):
        return Stated("one learner thread")


class Liblinear:
    name = "LIBLINEAR"

    def __init__(self, folder, X, y):
        self.program = shutil.which("liblinear-train")
        if self.program is None:
            raise ImportError("liblinear-tools")
        self.folder = folder
        self.help = subprocess.run([self.program], capture_output=True, text=True, check=False).stdout

    def stream(self):
        done = subprocess.run([self.program, "-q", "/dev/stdin", self.folder / "ll.model"], input="1 1:1\n-1 2:1\n", text=True, capture_output=True, check=False)
        return "whole file in memory" if done.returncode == 0 else False

    def batches(self):
        return Stated("–")

    def file(self):
        subprocess.run([self.program, "-q", "-s", "6", "-c", "0.1", self.folder / "rows.svm", self.folder / "ll.model"], check=True)
        weights = (self.folder / "ll.model").read_text().split("\nw\n")[1].split()
        kept = sum(float(weight) != 0 for weight in weights)
        return "yes" if kept == len(weights) else f"no ({len(weights):,} stored, {kept:,} non-zero)"

    def exact(self):
        return "features" in self.help and "-k" in self.help

    def frequency(self):
        return Stated("no")

    def names(self):
        return Stated("no")

    def resume(self):
        return "resume" in self.help

    def new_features(self):
        return Stated("no")

    def threads(self):
        return Stated("one thread")


CLAIMS = [
    ("learns from a stream", "stream"),
    ("the L1 model does not depend on the batch size", "batches"),
    ("the model file contains only the non-zero weights", "file"),
    ("a model with exactly k features", "exact"),
    ("a selection frequency for each feature", "frequency"),
    ("feature names in the model", "names"),
    ("bit-for-bit resume", "resume"),
    ("new features in the middle of a stream", "new_features"),
    ("results do not depend on the number of threads", "threads"),
]


def has_parameter(made, *parts):
    """Whether a parameter begins with one of these words."""
    names = inspect.signature(made).parameters
    return any(name == part or name.startswith(f"{part}_") for name in names for part in parts)


def cell(answer) -> str:
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return f"{answer} †" if isinstance(answer, Stated) else answer


def measured(peers) -> str:
    """The table as Markdown."""
    table = io.StringIO()
    print("| |", " | ".join(peer.name for peer in peers), "|", file=table)
    print("|---|" + "---|" * len(peers), file=table)
    for title, claim in CLAIMS:
        answers = [getattr(peer, claim)() for peer in peers]
        told = [cell(answer) for answer in answers]
        print(f"| {title} |", " | ".join(told), "|", file=table)
    return table.getvalue()


def main() -> None:
    X, y = rows()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        svmlight(folder / "rows.svm", X, y)
        peers = []
        for kind in (Tamis, VowpalWabbit, ScikitLearn, Liblinear, River):
            try:
                peers.append(kind(folder, X, y))
            except ImportError as error:
                print(f"NOT MEASURED: {kind.name} ({error})", file=sys.stderr)
        print(measured(peers))
        print("† follows from the interface of the program; not measured")


if __name__ == "__main__":
    main()
