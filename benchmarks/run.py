"""Compares tamis with other programs: same rows, same task, same run.

    python benchmarks/run.py [NAME...] [--repeat N] [--no-record]

Each benchmark is a file in benchmarks/definitions: data, commands and the expected answer. Commands take turns, so that a
slow moment of the machine affects all of them; medians are reported. The table goes to stdout, progress to
stderr, the record to benchmarks/record/DATE-MACHINE. Exit code 1 means that an answer was wrong; a missed speed goal
is reported, and is an error only with --strict. benchmarks/README.md explains the numbers.
"""

import argparse
import datetime
import itertools
import json
import os
import re
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

from peers import PEERS, ROOT, Failed, execute, shown

HERE = Path(__file__).resolve().parent
WORK = HERE / "work"
DATA = Path(os.environ.get("TAMIS_DATA", ROOT.parent / "shared/data"))
FOLDS = 5
SETUP_TIMEOUT = 300


def say(text):
    print(text, file=sys.stderr, flush=True)


# ---------------------------------------------------------------------------------------------------------------- data


class Shelf:
    """Creates each data file once and remembers its path."""

    def __init__(self):
        self.made = {}

    def run(self, arguments):
        return execute(arguments, SETUP_TIMEOUT, WORK)

    def once(self, key, make):
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def source(self, item):
        """The svmlight file of a `[data.*]` table."""
        if "synth" in item:
            prefix = self.once(item["synth"], lambda: self.synth(item["synth"]))
            return Path(f"{prefix}.test.svm" if item.get("part") == "test" else f"{prefix}.svm")
        return self.once(item["file"], lambda: self.unpack(item["file"]))

    def synth(self, words):
        prefix = WORK / re.sub(r"[^a-z0-9]+", "-", words.lower())
        say(f"  makes {words}")
        self.run([PEERS["tamis"].path, "synth", *shlex.split(words), "-o", prefix])
        return prefix

    def unpack(self, name):
        packed, plain = DATA / name, WORK / name.removesuffix(".zst")
        if not packed.exists():
            raise Failed(f"no file {name} in TAMIS_DATA")
        self.run([PEERS["tamis"].path, "convert", packed, plain])
        return plain

    def formats(self, item):
        """The paths of a data set by format, warm in the file cache, with the right number of rows."""
        source = self.source(item)
        paths = {"svm": source}
        for name in item.get("formats", ["svm"]):
            if name != "svm":
                paths[name] = self.once((source, name), lambda: self.convert(source, source.with_suffix(f".{name}")))
        for path in paths.values():
            found = rows_of(path)
            if found != item["rows"]:
                raise Failed(f"{path.name} has {found} rows, {item['rows']} were expected")
        return paths

    def convert(self, source, target):
        if target.suffix == ".columns":
            # A Parquet file of many columns, which `tamis convert` does not write.
            table = self.once((source, "csv"), lambda: self.convert(source, source.with_suffix(".csv")))
            target = source.with_suffix(".columns.parquet")
            self.run([ROOT / "target/release/examples/columns_parquet", table, target])
            return target
        self.run([PEERS["tamis"].path, "convert", source, target])
        return target

    def folds(self, paths):
        """Every fifth row is held out in turn: (training paths, held-out paths) for each fold."""
        return self.once(("folds", *paths.values()), lambda: [self.fold(paths, fold) for fold in range(FOLDS)])

    def fold(self, paths, fold):
        split = ({}, {})
        for name, path in paths.items():
            targets = [WORK / f"{path.stem}.{part}{fold}.{name}" for part in ("kept", "held")]
            split[0][name], split[1][name] = targets
            with open(path, "rb") as lines, open(targets[0], "wb") as kept, open(targets[1], "wb") as held:
                for i, line in enumerate(lines):
                    (held if i % FOLDS == fold else kept).write(line)
        return split


def rows_of(path):
    """Lines that are not empty, without a header; reading them also warms the file cache."""
    if path.suffix == ".parquet":
        with open(path, "rb") as file:
            while file.read(1 << 20):
                pass
        return rows_of(path.with_name(path.name.removesuffix(".parquet").removesuffix(".columns") + ".svm"))
    with open(path, "rb") as file:
        return sum(1 for line in file if line.strip()) - (path.suffix == ".csv")


# ------------------------------------------------------------------------------------------------------------- engines


class Engine:
    """One command of a definition."""

    def __init__(self, table, work):
        self.table = table
        self.name = table["name"]
        self.peer = PEERS[table["command"].split()[0]]
        self.model = work / (re.sub(r"[^a-z0-9]+", "-", self.name.lower()) + ".model")
        self.choice = {}
        self.runs = []
        self.answer = {}
        self.problems = []
        self.failed = False

    def arguments(self, data, choice):
        places = {f"{name}.{kind}": path for name, paths in data.items() for kind, path in paths.items()}
        places |= choice | {"model": self.model, "cache": self.model.with_suffix(".cache")}
        words = self.table["command"].split()[1:]
        filled = [re.sub(r"\{([^}]+)\}", lambda m: str(places[m.group(1)]), word) for word in words]
        return self.peer.start(filled)

    def attempt(self, step, *arguments):
        """Reports a failure of this engine; the other engines continue."""
        if not self.failed:
            try:
                step(*arguments)
            except Failed as failure:
                self.failed = True
                self.problems.append(str(failure))
                say(f"  FAILED {self.name}: {failure}")

    def tune(self, data, shelf, timeout):
        """The sparsest grid point within one standard error of the smallest error over folds of the training data."""
        grid = self.table.get("grid")
        if not grid:
            return
        points = []
        for values in itertools.product(*grid.values()):
            choice = dict(zip(grid, values))
            scores = []
            for kept, held in shelf.folds(data["train"]):
                execute(self.arguments(data | {"train": kept}, choice), timeout, WORK)
                scores.append(self.peer.evaluate(self.model, held, shelf.run))
            errors = [one["error"] for one in scores]
            points.append({
                "choice": choice,
                "error": statistics.fmean(errors),
                "standard_error": statistics.stdev(errors) / FOLDS**0.5,
                "nonzeros": statistics.fmean(one["nonzeros"] for one in scores),
            })
        best = min(points, key=lambda point: point["error"])
        good = [point for point in points if point["error"] <= best["error"] + best["standard_error"]]
        chosen = min(good, key=lambda point: (point["nonzeros"], point["error"]))
        self.choice = chosen["choice"]
        self.answer |= {"choice": self.choice, "grid": points}
        say(f"  {self.name}: {self.choice} (error {chosen['error']:.4f} over {FOLDS} folds of the training data)")

    def once(self, data, timeout):
        outcome = execute(self.arguments(data, self.choice), timeout, WORK)
        said = {key: value for key, value in self.peer.read(outcome).items() if value is not None}
        self.runs.append(said | {"wall_seconds": outcome.wall, "cpu_seconds": outcome.cpu, "peak_mb": outcome.peak})

    def finish(self, data, shelf):
        """Evaluates the last model and summarizes the runs."""
        if "test" in data and self.table.get("evaluate", True):
            scores = self.peer.evaluate(self.model, data["test"], shelf.run)
            self.answer |= {f"test_{key}": value for key, value in scores.items()}
        for key in ("seconds", "wall_seconds", "cpu_seconds", "peak_mb", "mb_per_second", "extra_mb", "overhead"):
            values = [run[key] for run in self.runs if key in run]
            if values:
                self.answer[key] = statistics.median(values)
        self.answer["fastest"] = min(run["seconds"] for run in self.runs)
        for key in ("rows", "nonzeros"):
            if key in self.runs[-1]:
                self.answer[key] = self.runs[-1][key]
        if "test_nonzeros" in self.answer:
            self.answer.setdefault("nonzeros", self.answer["test_nonzeros"])
        if "train" in data and "input" in self.table:
            kind, passes = self.table["input"], self.table.get("passes", 1)
            path = data["train"][kind]
            self.answer["rows_per_second"] = passes * rows_of(path) / self.answer["seconds"]
            if passes == 1:
                self.answer.setdefault("mb_per_second", path.stat().st_size / 1e6 / self.answer["seconds"])

    def check(self, definition):
        """Compares with the expected answer."""
        expect = definition.get("expect", {}) | self.table.get("expect", {})
        answer = self.answer
        if "rows" in answer:
            wanted = definition["data"]["train"]["rows"]
            allowed = {wanted, wanted * self.table.get("passes", 1)}
            if answer["rows"] not in allowed:
                self.problems.append(f"saw {answer['rows']} rows of {wanted}")
        bounds = [
            ("error_below", "test_error"),
            ("nonzeros_below", "nonzeros"),
            ("peak_mb_below", "peak_mb"),
            ("seconds_below", "seconds"),
        ]
        for bound, key in bounds:
            if key == "test_error" and key not in answer and not self.table.get("evaluate", True):
                continue
            if bound in expect and not answer.get(key, float("inf")) < expect[bound]:
                self.problems.append(f"{key} is {answer.get(key)}, expected below {expect[bound]}")


# ---------------------------------------------------------------------------------------------------------- benchmarks


def run_definition(path, repeat, shelf):
    """One benchmark from its file to a dictionary of results."""
    definition = tomllib.loads(path.read_text())
    say(f"{path.stem}: {definition['title']}")
    work = WORK / path.stem
    work.mkdir(parents=True, exist_ok=True)
    timeout = definition.get("timeout", 60)
    data = {name: shelf.formats(item) for name, item in definition["data"].items()}
    engines = [Engine(table, work) for table in definition["engine"]]
    waiting = {engine.name: engine.peer.missing() for engine in engines if engine.peer.missing()}
    for name, reason in waiting.items():
        say(f"  NOT MEASURED {name}: {reason}")
    engines = [engine for engine in engines if engine.name not in waiting]
    places = Engine({"name": "setup", "command": "tamis"}, work)
    for command in definition.get("setup", []):
        places.table["command"] = command
        execute(places.arguments(data, {}), SETUP_TIMEOUT, WORK)
    data["setup"] = {"model": places.model}
    for engine in engines:
        engine.attempt(engine.tune, data, shelf, timeout)
    total = (repeat or definition.get("repeat", 5)) if engines else 0
    for turn in range(total):
        for engine in engines:
            engine.attempt(engine.once, data, timeout)
        times = ", ".join(f"{e.name} {e.runs[-1]['seconds']:.3f} s" for e in engines if e.runs)
        say(f"  turn {turn + 1} of {total}: {times}")
    for engine in engines:
        engine.attempt(engine.finish, data, shelf)
        engine.attempt(engine.check, definition)
    return {
        "name": path.stem,
        "revision": revision(),
        "title": definition["title"],
        "about": definition.get("about", "").strip(),
        "not_measured": waiting,
        "engines": [
            {"name": e.name, "command": e.table["command"], "answer": e.answer, "runs": e.runs, "problems": e.problems}
            for e in engines
        ],
        "goals": [goal_of(goal, {engine.name: engine for engine in engines}) for goal in definition.get("goal", [])],
    }


def goal_of(goal, engines):
    """A number of an engine, or the ratio of two, against its bound. Ratios are computed for each turn, so that a
    slow moment of the machine that affects both cancels out."""
    key = goal.get("what", "seconds")
    names = [goal["of"], goal["over"]] if "over" in goal else [goal["of"]]
    if any(name not in engines or engines[name].failed or not engines[name].runs for name in names):
        return goal | {"value": None, "met": None}
    columns = [[run.get(key, engines[name].answer.get(key)) for run in engines[name].runs] for name in names]
    values = [above / below for above, below in zip(*columns)] if "over" in goal else columns[0]
    value = statistics.median(values)
    met = goal.get("at_least", float("-inf")) <= value <= goal.get("at_most", float("inf"))
    return goal | {"value": value, "met": met}


# -------------------------------------------------------------------------------------------------------------- report

COLUMNS = [
    ("seconds", "seconds", "{:.3f}"),
    ("fastest", "fastest", "{:.3f}"),
    ("wall_seconds", "process", "{:.3f}"),
    ("cpu_seconds", "CPU s", "{:.2f}"),
    ("mb_per_second", "MB/s", "{:.0f}"),
    ("rows_per_second", "rows/s", "{:,.0f}"),
    ("peak_mb", "peak MB", "{:.0f}"),
    ("extra_mb", "extra MB", "{:.0f}"),
    ("overhead", "overhead %", "{:.1f}"),
    ("test_loss", "test loss", "{:.4f}"),
    ("test_error", "test error", "{:.4f}"),
    ("nonzeros", "non-zeros", "{:,}"),
]


def table_of(result):
    """The results as an aligned Markdown table, without empty columns."""
    engines = result["engines"]
    columns = [c for c in COLUMNS if any(e["answer"].get(c[0]) is not None for e in engines)]
    lines = [["engine"] + [title for _, title, _ in columns] + ["chosen"]]
    for engine in engines:
        answer = engine["answer"]
        cells = [form.format(answer[key]) if answer.get(key) is not None else "" for key, _, form in columns]
        chosen = " ".join(f"{k}={v:g}" for k, v in answer.get("choice", {}).items())
        lines.append([engine["name"], *cells, chosen])
    if not any(line[-1] for line in lines[1:]):
        lines = [line[:-1] for line in lines]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    rows = [
        "| " + " | ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths))) + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(widths)) + "|"
    return "\n".join([rows[0], rule, *rows[1:]])


def goal_line(goal):
    outcome = {True: "met", False: "MISSED", None: "not measured"}[goal["met"]]
    found = "–" if goal["value"] is None else f"{goal['value']:.2f}"
    bound = f"at least {goal['at_least']:g}" if "at_least" in goal else f"at most {goal['at_most']:g}"
    return f"- {goal['text']}: {found} ({bound}: {outcome})"


def report(record):
    """The record as Markdown."""
    machine = record["machine"]
    lines = [
        f"# Benchmarks of {record['date']}",
        "",
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']} GiB of memory.",
        "Versions: " + ", ".join(f"{name} {version}" for name, version in record["versions"].items()) + ".",
        "`seconds` is the median; for Vowpal Wabbit and scikit-learn it excludes the start of Python and imports, `process` does not.",
    ]
    for result in record["results"]:
        lines += ["", f"## {result['name']}: {result['title']}", "", result["about"], ""]
        if "failed" in result:
            lines += [f"**Failed:** {result['failed']}"]
            continue
        lines += [table_of(result), ""] if result["engines"] else []
        lines += [f"- **Not measured**, {name}: {reason}" for name, reason in result["not_measured"].items()]
        lines += [goal_line(goal) for goal in result["goals"]]
        problems = [(e["name"], p) for e in result["engines"] for p in e["problems"]]
        lines += [f"- **Wrong answer**, {name}: {problem}" for name, problem in problems]
        if result["engines"] and not problems:
            lines += ["- all answers are as expected"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def machine():
    """The hardware that the numbers depend on, without the name of the machine."""
    cpu = "unknown CPU"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    kilobytes = int(re.search(r"MemTotal:\s+([0-9]+)", Path("/proc/meminfo").read_text()).group(1))
    return {"cpu": cpu, "cores": len(os.sched_getaffinity(0)), "memory_gib": round(kilobytes / 2**20)}


def machine_id(facts):
    short = re.sub(r"\((R|TM)\)|CPU|Processor", "", facts["cpu"])
    words = re.sub(r"[^a-z0-9.]+", "-", short.lower()).strip("-")
    return f"{words}-{facts['cores']}c-{facts['memory_gib']}g"


def revision():
    """The commit, with a mark if files differ from it."""
    asked = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return asked.stdout.strip() or "unknown"


def others_of_the_day(folder, results):
    """Results of other benchmarks of the same day and machine, which are kept when one is recorded."""
    file, names = folder / "raw.json", {result["name"] for result in results}
    known = json.loads(file.read_text()) if file.exists() else {"results": []}
    return [{"revision": known.get("revision")} | one for one in known["results"] if one["name"] not in names]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = sorted(path.stem for path in (HERE / "definitions").glob("*.toml"))
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"benchmarks to run: {', '.join(known)} (default: all)")
    parser.add_argument("--repeat", type=int, help="number of runs of each command (default: as in the definition)")
    parser.add_argument("--strict", action="store_true", help="treat a missed goal as an error")
    parser.add_argument("--no-record", action="store_true", help="write files only to benchmarks/work")
    options = parser.parse_args()
    unknown = set(options.names) - set(known)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if PEERS["tamis"].missing():
        parser.error(PEERS["tamis"].missing())

    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    shelf, results = Shelf(), []
    for name in options.names or known:
        try:
            results.append(run_definition(HERE / f"definitions/{name}.toml", options.repeat, shelf))
        except Failed as failure:
            say(f"  FAILED: {failure}")
            results.append({"name": name, "title": "failed", "about": "", "failed": str(failure)})
    facts = machine()
    versions = {peer.title: peer.version() for peer in PEERS.values() if peer.version()}
    record = {
        "date": datetime.date.today().isoformat(),
        "machine": facts,
        "peak_mb_floor": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "versions": versions,
        "results": results,
    }
    text = report(record)
    print(text)
    if not options.no_record:
        folder = HERE / "record" / f"{record['date']}-{machine_id(facts)}"
        folder.mkdir(parents=True, exist_ok=True)
        record["results"] = others_of_the_day(folder, results) + results
        (folder / "raw.json").write_text(json.dumps(record, indent=1).replace(f"{ROOT}/", "") + "\n")
        (folder / "summary.md").write_text(report(record))
        say(f"recorded in {shown([folder])}")
    shutil.rmtree(WORK, ignore_errors=True)

    wrong = sum(len(e["problems"]) for r in results for e in r.get("engines", [])) + sum("failed" in r for r in results)
    missed = sum(goal["met"] is False for r in results for goal in r.get("goals", []))
    say(f"{wrong} wrong answers, {missed} goals missed")
    return 1 if wrong or (options.strict and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
