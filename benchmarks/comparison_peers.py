"""The other programs of the comparison table: each answers each claim of comparison.py by trying it."""

import inspect
import pickle
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
from scipy import io, sparse


class Stated(str):
    """An answer that follows from the interface of a program and was not measured."""


def has_parameter(made, *parts):
    """Whether a parameter begins with one of these words."""
    names = inspect.signature(made).parameters
    return any(name == part or name.startswith(f"{part}_") for name in names for part in parts)


def works(attempt) -> bool:
    try:
        attempt()
    except (ValueError, RuntimeError, AssertionError, TypeError):
        return False
    return True


def listed(words) -> str:
    """Words with commas and `and`."""
    *first, last = list(words)
    return f"{', '.join(first)} and {last}" if first else last


def told_of(features, classes) -> str:
    """What may be new in a stream; `features` may be words for how."""
    named = [features if isinstance(features, str) else "features"] if features else []
    if classes and named == ["features"]:
        return "yes"
    return (listed(named) + (" and classes" if classes else " only")) if named else "no"


class ScikitLearn:
    name = "scikit-learn SGD"

    def __init__(self, folder, X, y):
        from sklearn.linear_model import SGDClassifier

        self.X, self.y, self.count = X, y, X.shape[0]
        self.make = lambda: SGDClassifier(loss="log_loss", penalty="l1", alpha=1e-3, random_state=0, shuffle=False)
        self.estimator = SGDClassifier

    def pieces(self, size):
        model = self.make()
        for start in range(0, self.count, size):
            model.partial_fit(self.X[start : start + size], self.y[start : start + size], classes=[-1, 1])
        return model

    def stream(self):
        return "`partial_fit`" if np.any(self.pieces(1000).coef_) else "no"

    def batches(self):
        found = {size: np.count_nonzero(self.pieces(size).coef_) for size in (self.count, 100, 10)}
        weights, sizes = (listed(f"{number:,}" for number in numbers) for numbers in (found.values(), found))
        return "yes" if len(set(found.values())) == 1 else f"no: {weights} weights with batches of {sizes}"

    def file(self):
        model = self.pieces(self.count)
        loaded = pickle.loads(pickle.dumps(model))
        return "yes" if loaded.coef_.size == np.count_nonzero(model.coef_) else f"no ({loaded.coef_.size:,} stored)"

    def exact(self):
        return has_parameter(self.estimator, "n_features", "n_nonzero", "k")

    def frequency(self):
        return any("frequency" in name or "stability" in name for name in dir(self.pieces(self.count)))

    def path(self):
        return any("path" in name for name in dir(self.pieces(self.count)))

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
        one_call = self.pieces(self.count)
        same_calls = (model.coef_ == whole.coef_).all()
        same_rows = (model.coef_ == one_call.coef_).all()
        return "yes" if same_rows else ("pickle, L1 state lost between calls" if same_calls else "no")

    def new_features(self):
        model, width = self.pieces(self.count), self.X.shape[1]
        wider = works(lambda: model.partial_fit(sparse.csr_array(np.ones((2, width + 1))), [-1, 1]))
        return told_of(wider, works(lambda: model.partial_fit(self.X[:2], [-1, 7])))

    def threads(self):
        return Stated("one thread")

    def formats(self):
        import pandas

        frame = pandas.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]})
        tried = {"arrays": frame.to_numpy(), "sparse matrices": self.X[:2], "data frames": frame}
        return listed(name for name, data in tried.items() if works(lambda data=data: self.make().fit(data, [-1, 1])))


class River:
    name = "River"

    def __init__(self, folder, X, y):
        from river import linear_model, multiclass, optim

        self.several = multiclass.OneVsRestClassifier
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

    def path(self):
        return any("path" in name for name in dir(self.make()))

    def names(self):
        return all(name.startswith("f") for name in self.learned(50).weights)

    def resume(self):
        model = pickle.loads(pickle.dumps(self.learned(500)))
        same = dict(self.learned(1000, model, 500).weights) == dict(self.learned(1000).weights)
        return "pickle" if same else "no"

    def new_features(self):
        model = self.learned(50)
        model.learn_one({"new": 1.0}, True)
        several = self.several(self.make())
        for label in "abc":
            several.learn_one({"new": 1.0}, label)
        return told_of("new" in model.weights, set(several.predict_proba_one({"new": 1.0})) == set("abc"))

    def threads(self):
        return Stated("one thread")

    def formats(self):
        return "dictionaries" if works(lambda: self.make().learn_one({"a": 1.0}, True)) else "no"


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

    def path(self):
        return Stated("no")

    def names(self):
        """The model has hashes; a second file has the names."""
        model, names = self.folder / "vw.names", self.folder / "vw.inverted"
        self.learned(f"-f {model} --invert_hash {names}", end=50)
        return "`--invert_hash`" if b"f17" not in model.read_bytes() and "f17:" in names.read_text() else "no"

    def resume(self):
        paths = [self.folder / name for name in ("vw.a", "vw.b", "vw.whole")]
        texts = [self.folder / name for name in ("vw.b.txt", "vw.whole.txt")]
        self.learned(f"--save_resume -f {paths[0]}", end=500)
        self.learned(f"--save_resume -i {paths[0]} -f {paths[1]} --readable_model {texts[0]}", start=500)
        self.learned(f"--save_resume -f {paths[2]} --readable_model {texts[1]}")
        same = self.readable("vw.b.txt") == self.readable("vw.whole.txt")
        return "`--save_resume`" if same else "`--save_resume`, other weights"

    def new_features(self):
        model = self.pyvw.Workspace("--quiet --loss_function logistic")
        for line in (*self.lines(0, 50), "1 | new"):
            model.learn(line)
        wider = model.predict("| new") != model.predict("| never")
        model.finish()
        several = self.pyvw.Workspace("--quiet --oaa 2")
        for _ in range(20):
            several.learn("3 | a")  # it warns, and goes on
        more = several.predict("| a") == 3
        several.finish()
        return told_of(wider and "hashed features", more)

    def threads(self):
        return Stated("one learner thread")

    def formats(self):
        files = {
            "VW text": ("", "1 | a\n-1 | b\n"),
            "JSON": ("--json", '{"_label": 1, "a": 1}\n{"_label": -1, "b": 1}\n'),
            "CSV": ("--csv", "_label,a,b\n1,1,0\n-1,0,1\n"),
        }
        return listed(name for name, (flags, text) in files.items() if works(lambda: self.read(flags, text)))

    def read(self, flags, text):
        data, out = self.folder / "vw.data", self.folder / "vw.read"
        data.write_text(text)
        self.pyvw.Workspace(f"--quiet {flags} -d {data} --readable_model {out}").finish()
        assert len(self.readable("vw.read")) >= 2


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

    def path(self):
        return "no: the best penalty (`-C`)" if "-C" in self.help else "no"

    def names(self):
        return Stated("no")

    def resume(self):
        return "resume" in self.help

    def new_features(self):
        return Stated("no")

    def threads(self):
        return Stated("one thread")

    def formats(self):
        files = {"svmlight": "1 1:1\n-1 2:1\n", "CSV": "1,1,0\n-1,0,1\n"}
        return listed(name for name, text in files.items() if self.reads(text))

    def reads(self, text):
        data = self.folder / "ll.data"
        data.write_text(text)
        return subprocess.run([self.program, "-q", data, self.folder / "ll.read"], capture_output=True, check=False).returncode == 0


class Glmnet:
    """glmnet.R tries everything in one run."""

    name = "glmnet"

    def __init__(self, folder, X, y):
        script = Path(__file__).parent / "drivers/glmnet.R"
        if shutil.which("Rscript") is None:
            raise ImportError("r-base-core, r-cran-glmnet")
        io.mmwrite(folder / "rows.mtx", X)
        np.savetxt(folder / "labels.txt", y, fmt="%d")
        done = subprocess.run(["Rscript", script, folder], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ImportError(done.stderr.strip())
        self.told = dict(line.split("\t") for line in done.stdout.splitlines())

    def true(self, key):
        return self.told[key] == "TRUE"

    def stream(self):
        return "whole matrix in memory" if self.true("fits") and not self.true("update") else "no"

    def batches(self):
        return Stated("–")

    def file(self):
        stored, kept = int(self.told["stored"]), int(self.told["nonzero"])
        return f"yes ({kept:,} of a path)" if stored == kept else f"no ({stored:,} stored, {kept:,} non-zero)"

    def exact(self):
        sizes = set(map(int, self.told["sizes"].split()))
        found = [k for k in (3, 25, 100) if k in sizes]
        return f"if the path has it: {listed(map(str, found))} of 3, 25 and 100" if found else "no"

    def frequency(self):
        return self.true("frequency")

    def path(self):
        return "`cv.glmnet`" if self.true("path") else "no"

    def names(self):
        return self.true("names")

    def resume(self):
        return self.true("resume")

    def new_features(self):
        return told_of(self.true("wider"), False)

    def threads(self):
        return Stated("one thread")

    def formats(self):
        return "matrices; data frames with `makeX`" if self.true("matrix") and self.true("frame") else "no"
