"""Measures the comparison table of the README: each claim is tried with each program, and the table is printed.

    TAMIS_BIN=target/release/tamis .venv-bench/bin/python benchmarks/comparison.py [--record]

`--record` writes it to comparison.md and to the README. A program that is not installed is said to be so, and then
nothing is recorded. The rows have 2,000 features, 20 of which decide; see `rows`.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from comparison_peers import Glmnet, Liblinear, River, ScikitLearn, Stated, VowpalWabbit, listed, told_of
from scipy import sparse

ROOT = Path(__file__).resolve().parents[1]
COUNT, WIDTH, TRUE = 4000, 2000, 20
LIBLINEAR = "2.3 (Debian)"  # its program does not say
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
        return f"yes ({len(weights):,} weights)" if all(weights) else "no"

    def exact(self):
        sizes = [len(self.fit(f"k{k}.json", "--k", k)[0]["features"]) for k in (3, 25, 100)]
        return "`--k`" if sizes == [3, 25, 100] else f"no: {sizes}"

    def frequency(self):
        self.run("fit", "rows.svm", "--quiet", "--out", "stable.json")
        body = json.loads((self.folder / "stable.json").read_text())["body"]
        return all("frequency" in feature for feature in body["outputs"][0]["features"])

    def path(self):
        """Sizes with held-out errors in one file, from which another size is taken without the rows."""
        self.run("resize", "stable.json", "--k", 7, "--quiet", "--out", "seven.json")
        told = json.loads((self.folder / "stable.json").read_text())["body"]["size_path"]["sizes"]
        small = json.loads((self.folder / "seven.json").read_text())["body"]["outputs"][0]["features"]
        return "yes, then `resize`" if len(told) > 3 and len(small) == 7 else "no"

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
        (self.folder / "wider.svm").write_text("1 5001:1\n-1 5002:1\n7 5003:1\n" * 50)
        self.fit("first.json", "--passes", 1, "--checkpoint", "first.st", "--task", "multiclass")
        self.run("fit", "wider.svm", "--resume", "first.st", "--quiet", "--out", "second.json")
        body = json.loads((self.folder / "second.json").read_text())["body"]
        names = {feature["name"] for output in body["outputs"] for feature in output["features"]}
        told = told_of({"5001", "5003"} <= names, len(body["task"]["classes"]) == 3)
        return f"{told} (`--task multiclass`)"

    def threads(self):
        one, two = (self.fit(f"t{n}.json", "--threads", n, "--passes", 3) for n in (1, 2))
        return one == two

    def formats(self):
        names = {"svm": "svmlight", "vw": "VW text", "csv": "CSV", "jsonl": "JSON lines"}
        names |= {"parquet": "Parquet", "arrow": "Arrow", "npz": "npz"}
        wanted = self.fit("svm.json", "--passes", 1)[0]["features"]
        found = []
        for ending, name in names.items():
            self.run("convert", "rows.svm", f"same.{ending}", "--quiet")
            weights = self.fit("same.json", "--passes", 1, data=f"same.{ending}")[0]["features"]
            if len(weights) == len(wanted):
                found.append(name)
        return listed(found)


CLAIMS = [
    ("learns from a stream", "stream"),
    ("the L1 model does not depend on the batch size", "batches"),
    ("the model file contains only the non-zero weights", "file"),
    ("a model with exactly k features", "exact"),
    ("a selection frequency for each feature", "frequency"),
    ("sizes of the model with held-out errors, from one run", "path"),
    ("feature names in the model", "names"),
    ("bit-for-bit resume", "resume"),
    ("new features and classes in the middle of a stream", "new_features"),
    ("results do not depend on the number of threads", "threads"),
    ("input", "formats"),
]


def cell(answer) -> str:
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return f"{answer} †" if isinstance(answer, Stated) else answer


def measured(peers) -> dict[str, list[str]]:
    """The cells of each claim, one a peer."""
    return {title: [cell(getattr(peer, claim)()) for peer in peers] for title, claim in CLAIMS}


def started(kinds, folder):
    """The programs that are installed, with the rows they are tried on."""
    X, y = rows()
    svmlight(folder / "rows.svm", X, y)
    peers = []
    for kind in kinds:
        try:
            peers.append(kind(folder, X, y))
        except ImportError as error:
            print(f"NOT MEASURED: {kind.name} ({error})", file=sys.stderr)
    return peers


def markdown(peers, cells) -> str:
    lines = [["", *(peer.name for peer in peers)], *([title, *told] for title, told in cells.items())]
    table = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([table[0].replace("|  |", "| |"), "|" + "---|" * len(lines[0]), *table[1:]]) + "\n"


TABLE = re.compile(r"^\| \| Tamis \|.*?(?=^[^|])", flags=re.MULTILINE | re.DOTALL)


def record(peers, table) -> None:
    """Replaces the table of comparison.md and that of the README, and the versions."""
    glmnet = next(peer.told["version"] for peer in peers if isinstance(peer, Glmnet))
    said = f"Vowpal Wabbit {version('vowpalwabbit')}, scikit-learn {version('scikit-learn')}, LIBLINEAR {LIBLINEAR}, "
    said += f"River {version('river')} and glmnet {glmnet}"
    for name in ("README.md", "benchmarks/comparison.md"):
        text = (ROOT / name).read_text("utf-8")
        text = re.sub(r"Vowpal Wabbit [\d.]+,\s.*?glmnet [\d.]*\d", said, text, flags=re.DOTALL)
        (ROOT / name).write_text(TABLE.sub(lambda _: table, text), "utf-8")


def main() -> None:
    kinds = (Tamis, VowpalWabbit, ScikitLearn, Liblinear, River, Glmnet)
    with tempfile.TemporaryDirectory() as name:
        peers = started(kinds, Path(name))
        table = markdown(peers, measured(peers))
    print(table)
    print("† follows from the interface of the program; not measured")
    if "--record" in sys.argv[1:]:
        if len(peers) < len(kinds):
            sys.exit("not recorded: a program is not installed")
        record(peers, table)


if __name__ == "__main__":
    main()
