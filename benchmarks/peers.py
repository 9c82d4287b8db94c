"""How each program is started, how its output is read, and how its model is evaluated.

A command in a definition begins with the name of a peer; the rest are the peer's own arguments.
"""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


@dataclass
class Outcome:
    """One run of one process."""

    stdout: str
    stderr: str
    wall: float  # seconds from start to end of the process
    cpu: float  # seconds of all its threads
    peak: float  # MB of memory at the worst moment; never below the runner's own at its start, about 20


class Failed(Exception):
    """A program failed or its output was not as expected."""


def execute(arguments, timeout, work):
    """Runs a program to its end and measures it. Output goes to files, so no pipe slows it down."""
    paths = [work / "stdout.txt", work / "stderr.txt"]
    with open(paths[0], "wb") as out, open(paths[1], "wb") as err:
        started = time.perf_counter()
        process = subprocess.Popen([str(a) for a in arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        late = []

        def stop(*_):
            late.append(True)
            process.kill()

        previous = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, timeout)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    stdout, stderr = (path.read_text(errors="replace") for path in paths)
    if late:
        raise Failed(f"took more than {timeout} s: {shown(arguments)}")
    if process.returncode != 0:
        raise Failed(f"exit code {process.returncode}: {shown(arguments)}\n{(stderr or stdout)[-2000:]}")
    return Outcome(stdout, stderr, wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def shown(arguments):
    """A command without the machine's paths."""
    return " ".join(str(a).replace(f"{ROOT}/", "") for a in arguments)


def last_json(text):
    """The last line that is a JSON object, or the whole text if it is one."""
    try:
        return json.loads(text)
    except ValueError:
        lines = [line for line in text.splitlines() if line.startswith("{")]
        if not lines:
            raise Failed(f"no JSON in {text[-300:]!r}") from None
        return json.loads(lines[-1])


def number_after(pattern, text):
    """The number in the first group of a pattern."""
    found = re.search(pattern, text)
    if not found:
        raise Failed(f"{pattern!r} is not in {text[-300:]!r}")
    return float(found.group(1))


def first_number(line):
    return float(line.split(maxsplit=1)[0])


class Tamis:
    """Our program. Its time is the whole process."""

    title = "tamis"
    path = Path(os.environ.get("TAMIS_BIN", ROOT / "target/release/tamis"))

    def missing(self):
        return None if self.path.exists() else "target/release/tamis is not built: make release"

    def version(self):
        return subprocess.run([self.path, "--version"], capture_output=True, text=True).stdout.split()[1]

    def start(self, words):
        return [self.path, *words]

    def read(self, outcome):
        if not outcome.stdout.lstrip().startswith("{"):
            return {"seconds": outcome.wall}
        said = last_json(outcome.stdout)
        return {
            "seconds": outcome.wall,
            "rows": said.get("n_examples"),
            "nonzeros": said.get("nonzeros"),
            "inside_seconds": said.get("seconds"),
        }

    def evaluate(self, model, test, run):
        said = last_json(run([self.path, "eval", model, test["svm"], "--json"]).stdout)
        return {"n": said["n"], "error": said["error"], "nonzeros": said.get("nonzeros")}


class Metric(Tamis):
    """Our metrics: `tamis metric`. Its time is the whole process."""

    def start(self, words):
        return [self.path, "metric", *words]

    def evaluate(self, model, test, run):
        said = last_json(run(self.start(["eval", model, test["svm"], "--json"])).stdout)
        return {"n": said["n"], "error": said["error"], "nonzeros": said["nonzeros"]}


class Example:
    """An example program of the library."""

    def __init__(self, title):
        self.title = title
        self.path = ROOT / "target/release/examples" / title

    def missing(self):
        if self.path.exists():
            return None
        return f"{self.path.relative_to(ROOT)} is not built: cargo build --release -p tamis --examples"

    def version(self):
        return None

    def start(self, words):
        return [self.path, *words]


class ReadingSpeed(Example):
    """`parse_speed`: our parser of svmlight text. `read_speed`: our reader of all formats, files to rows with the roles of columns
    known. Both use one thread and print `N MB/s`."""

    def read(self, outcome):
        speed = number_after(r"([0-9.]+) MB/s", outcome.stdout + outcome.stderr)
        rows = re.search(r"([0-9]+) rows", outcome.stdout + outcome.stderr)
        return {"seconds": outcome.wall, "mb_per_second": speed, "rows": int(rows.group(1)) if rows else None}


class VowpalWabbit:
    """Its time excludes the start of Python and the import, which favours it."""

    title = "Vowpal Wabbit"
    driver = HERE / "drivers/vw.py"

    def missing(self):
        return package_missing("vowpalwabbit")

    def version(self):
        return package_version("vowpalwabbit")

    def start(self, words):
        return [sys.executable, self.driver, *words]

    def read(self, outcome):
        said = last_json(outcome.stdout)
        passes = re.search(r"passes used = ([0-9]+)", outcome.stderr)
        each = re.search(r"number of examples per pass = ([0-9]+)", outcome.stderr)
        rows = int(each.group(1)) if each else number_after(r"number of examples = ([0-9]+)", outcome.stderr)
        return {
            "seconds": said["seconds"],
            "rows": int(rows),
            "passes": int(passes.group(1)) if passes else 1,
            "import_seconds": said["import_seconds"],
        }

    def evaluate(self, model, test, run):
        guesses, readable = model.with_suffix(".guesses"), model.with_suffix(".readable")
        words = ["-t", "-i", model, "-d", test["vw"], "-p", guesses, "--readable_model", readable]
        run(self.start(words))
        with open(guesses) as found, open(test["vw"]) as truth:
            pairs = list(itertools.zip_longest(map(first_number, found), map(first_number, truth)))
        if any(None in pair for pair in pairs):
            raise Failed("the numbers of predictions and rows differ")
        right = [(guess > 0) == (label > 0) for guess, label in pairs]
        with open(readable) as file:
            weights = (line.split()[0].split(":")[1] for line in file if re.match(r"[0-9]+:\S+", line))
            nonzeros = sum(float(weight) != 0 for weight in weights)
        return {"n": len(right), "error": 1 - sum(right) / len(right), "nonzeros": nonzeros}


class Liblinear:
    """Debian's liblinear-tools. Its time is the whole process."""

    title = "LIBLINEAR"

    def missing(self):
        found = subprocess.run(["which", "liblinear-train"], capture_output=True).returncode == 0
        return None if found else "liblinear-train is not installed: Debian package liblinear-tools"

    def version(self):
        asked = subprocess.run(["dpkg-query", "-W", "-f=${Version}", "liblinear-tools"], capture_output=True, text=True)
        return asked.stdout.strip() or "unknown"

    def start(self, words):
        return ["liblinear-train", *words]

    def read(self, outcome):
        return {"seconds": outcome.wall}

    def evaluate(self, model, test, run):
        said = run(["liblinear-predict", test["svm"], model, model.with_suffix(".guesses")]).stdout
        with open(model) as file:
            weights = file.read().split("\nw\n", 1)[1].split()
        return {
            "n": int(number_after(r"\([0-9]+/([0-9]+)\)", said)),
            "error": 1 - number_after(r"\(([0-9]+)/", said) / number_after(r"\([0-9]+/([0-9]+)\)", said),
            "nonzeros": sum(float(weight) != 0 for weight in weights),
        }


class Sgd:
    """scikit-learn. Its time is reading and learning, without the start of Python and the import."""

    title = "scikit-learn"
    driver = HERE / "drivers/sgd.py"

    def missing(self):
        return package_missing("scikit-learn")

    def version(self):
        return package_version("scikit-learn")

    def start(self, words):
        return [sys.executable, self.driver, *words]

    def read(self, outcome):
        said = last_json(outcome.stdout)
        return {
            "seconds": said["seconds"],
            "rows": said["n_examples"],
            "nonzeros": said["nonzeros"],
            "read_seconds": said["read_seconds"],
        }

    def evaluate(self, model, test, run):
        return last_json(run([sys.executable, self.driver, "eval", model, test["svm"]]).stdout)


class Memory:
    """Our Python package or scikit-learn, with rows in memory. Its time is that of the fit."""

    title = "tamis for Python"
    driver = HERE / "drivers/memory.py"

    def missing(self):
        return None if package_version("tamis") else "our Python package is not installed: make wheel, pip install it"

    def version(self):
        return package_version("tamis")

    def start(self, words):
        return [sys.executable, self.driver, *words]

    def read(self, outcome):
        said = last_json(outcome.stdout)
        kept = ("seconds", "nonzeros", "extra_mb", "overhead")
        return {key: said.get(key) for key in kept} | {"rows": said["n_examples"]}

    def evaluate(self, model, test, run):
        return last_json(run([sys.executable, self.driver, "eval", model, test["svm"]]).stdout)


class MomentsSpeed(Example):
    """Our co-moments. Its time is the computation, with rows or moments in memory."""

    def read(self, outcome):
        return {"seconds": last_json(outcome.stdout)["seconds"]}


class MomentsPeer:
    """numpy, scikit-learn and skglm on the same moments. Its time is the computation."""

    title = "skglm"
    driver = HERE / "drivers/moments.py"

    def missing(self):
        return package_missing("skglm") or package_missing("safetensors")

    def version(self):
        return package_version("skglm")

    def start(self, words):
        return [sys.executable, self.driver, *words]

    def read(self, outcome):
        said = last_json(outcome.stdout)
        return {"seconds": said["seconds"], "nonzeros": said.get("nonzeros")}


class MetricLearn:
    """metric-learn, which needs an older scikit-learn than its peers: it has its own virtual environment. Its time is
    reading and learning, without the start of Python and the import."""

    title = "metric-learn"
    driver = HERE / "drivers/metric.py"
    python = ROOT / ".venv-metric/bin/python"

    def missing(self):
        return None if self.version() else "metric-learn is not installed: make .venv-metric/ready"

    def version(self):
        asked = "import importlib.metadata as m; print(m.version('metric-learn'))"
        if not self.python.exists():
            return None
        return subprocess.run([self.python, "-c", asked], capture_output=True, text=True).stdout.strip() or None

    def start(self, words):
        return [self.python, self.driver, *words]

    def read(self, outcome):
        said = last_json(outcome.stdout)
        return {"seconds": said["seconds"], "rows": said["n_examples"], "nonzeros": said["nonzeros"]}

    def evaluate(self, model, test, run):
        return last_json(run([self.python, self.driver, "eval", model, test["svm"]]).stdout)


def package_version(name):
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def package_missing(name):
    return None if package_version(name) else f"{name} is not installed: pip install -r benchmarks/requirements.txt"


PEERS = {
    "tamis": Tamis(),
    "metric": Metric(),
    "parse_speed": ReadingSpeed("parse_speed"),
    "read_speed": ReadingSpeed("read_speed"),
    "vw": VowpalWabbit(),
    "liblinear-train": Liblinear(),
    "sgd": Sgd(),
    "memory": Memory(),
    "moments_speed": MomentsSpeed("moments_speed"),
    "moments-peer": MomentsPeer(),
    "metric-learn": MetricLearn(),
}
