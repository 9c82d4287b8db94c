"""Models exported to other programs predict what `tamis predict` does: to 1e-12, and ONNX to 1e-6.

DuckDB and SQLite run the SQL, a C compiler compiles the C, and scikit-learn and onnxruntime run their files, on 10,000
rows. Names of columns, levels and classes hold quotes, keywords, line ends, comment signs and other scripts.
"""

import csv
import importlib.util
import io
import json
import math
import pickle
import sqlite3
import subprocess
import sys

import duckdb
import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest

ROWS = 10_000
# Names that break a careless writer. SQL compares names without regard to case, so they differ by more than that.
NUMBERS = ['a "quoted" name', "select", "it's; DROP TABLE data; --", "naïve 数 😀", "comment */ /* ??/", "back\\slash`tick`"]
TOWNS = ["Rome", "St. \"John's\"", "名古屋", "a\\b", "x*/y", "two\nlines", "NULL?", "=1+1", "tab\tinside"]
CATEGORY = "town 'of' \"birth\""
PLAN = "group by"


def table(task, seed=0, missing=True):
    """A table whose label depends on some numbers, two towns and a plan; the others are noise."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({name: random.normal(5 * place, 1 + place, ROWS) for place, name in enumerate(NUMBERS)})
    frame[CATEGORY] = random.choice(TOWNS, ROWS)
    # Plans of few rows share one feature.
    frame[PLAN] = random.choice(["basic", "plus", *(f"rare {n}" for n in range(9))], ROWS, p=[0.6, 0.391, *[0.001] * 9])
    score = frame["select"] - 5 + (frame["naïve 数 😀"] - 15) / 2 + 2 * (frame[CATEGORY] == "名古屋") - (frame[PLAN] == "basic")
    score += 3 * (frame[CATEGORY] == "two\nlines") + 2 * frame[PLAN].str.startswith("rare")
    noisy = score + random.logistic(size=ROWS)
    if task == "regression":
        label = noisy
    elif task == "two":
        label = np.where(noisy > 0, "it's \"yes\"", "n\\o 😀")
    else:
        label = np.array(["low", 'm"i\'d', "high */"])[np.digitize(noisy, [-1, 2])]
    frame = frame.round(6)
    if missing:
        for name in ["select", CATEGORY, PLAN]:
            frame.loc[random.random(ROWS) < 0.05, name] = None
    frame["the label"] = label
    return frame


class Model:
    """A fitted model, its data, and what the program predicts for them."""

    def __init__(self, tamis, task, *flags, frame=None):
        self.tamis, self.task = tamis, task
        self.frame = table(task) if frame is None else frame
        self.frame.to_csv(tamis.directory / "data.csv", index=False)
        tamis.run("fit", "data.csv", "--target", "the label", *flags, "--out", "model.json", "--quiet")
        told = tamis.run("predict", "model.json", "data.csv", "--output", "all", "--csv", "--quiet")
        self.expected = list(csv.DictReader(io.StringIO(told, newline="")))
        assert len(self.expected) == len(self.frame)
        self.body = json.loads((tamis.directory / "model.json").read_text())["body"]
        self.classes = [] if task == "regression" else [str(one) for one in self.body["task"]["classes"]]

    def export(self, to, *flags, out="exported"):
        self.tamis.run("export", "model.json", "--to", to, *flags, "-o", out, "--quiet")
        return self.tamis.directory / out

    def numbers(self, kind):
        """The columns of one kind of number, such as margin."""
        names = [name for name in self.expected[0] if name == kind or name.startswith(f"{kind}_")]
        return np.array([[float(row[name]) for name in names] for row in self.expected])

    def labels(self):
        return [row["label"] for row in self.expected]

    def agrees(self, margins=None, probabilities=None, labels=None, numbers=None, tolerance=1e-12):
        """Compares with the program; sizes up to 1 absolutely, larger ones relatively."""
        compared = 0
        for found, kind in ((margins, "margin"), (probabilities, "probability"), (numbers, "prediction")):
            if found is not None:
                wanted = self.numbers(kind)
                found = np.asarray(found, dtype=float).reshape(wanted.shape)
                assert wanted.std() > 0.01, "the predictions differ"
                assert np.abs((found - wanted) / np.maximum(1, np.abs(wanted))).max() <= tolerance, kind
                compared += 1
        if labels is not None:
            assert [str(one) for one in labels] == self.labels()
            compared += 1
        assert compared


TASKS = {
    "regression": ["--method", "ftrl", "--loss", "squared", "--l1", "0.001", "--min-count", "50"],
    "two": ["--method", "ftrl", "--l1", "0.001", "--min-count", "50"],
    "several": ["--method", "ftrl", "--l1", "0.001", "--min-count", "50"],
}


@pytest.fixture(scope="module", params=TASKS)
def model(request, tmp_path_factory):
    from conftest import Tamis

    made = Model(Tamis(tmp_path_factory.mktemp(request.param)), request.param, *TASKS[request.param])
    names = {feature["name"] for output in made.body["outputs"] for feature in output["features"]}
    assert names >= {*NUMBERS, f"{CATEGORY}=名古屋", f"{CATEGORY}=two\nlines", f"{PLAN}=other"}, "nothing is left out"
    return made


def columns(names, rows):
    """Rows of a query as columns by name."""
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def check_sql(model, names, rows):
    found = columns(names, rows)
    assert list(found)[: len(model.frame.columns)] == list(model.frame.columns), "the table's columns stay"
    several = model.task == "several"
    margins = [found[f"margin_{one}"] for one in model.classes] if several else [found["margin"]]
    margins = np.array(margins, dtype=float).T
    if model.task == "regression":
        return model.agrees(margins=None, numbers=found["prediction"])
    probabilities = np.array([found[f"probability_{one}"] for one in model.classes], dtype=float).T
    model.agrees(margins, probabilities, found["label"])


@pytest.mark.parametrize("dialect", ["duckdb", "ansi", "postgres"])
def test_duckdb_runs_the_query(model, dialect):
    """PostgreSQL's dialect is a part of DuckDB's."""
    query = model.export("sql", "--dialect", dialect, "--table", "my data").read_text()
    base = duckdb.connect()
    frame = model.frame
    base.execute('CREATE TABLE "my data" AS SELECT * FROM frame')
    found = base.execute(query)
    check_sql(model, [column[0] for column in found.description], found.fetchall())


def sqlite_base(frame, name="data"):
    base = sqlite3.connect(":memory:")
    quote = lambda text: '"' + text.replace('"', '""') + '"'  # noqa: E731
    base.execute(f"CREATE TABLE {quote(name)} ({', '.join(map(quote, frame.columns))})")
    places = ", ".join("?" * len(frame.columns))
    rows = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
    base.executemany(f"INSERT INTO {quote(name)} VALUES ({places})", rows)
    return base


def test_sqlite_runs_the_query(model):
    query = model.export("sql").read_text()
    found = sqlite_base(model.frame).execute(query)
    check_sql(model, [column[0] for column in found.description], found.fetchall())


@pytest.mark.parametrize("dialect", ["spark", "bigquery"])
def test_strings_of_other_dialects_are_escaped(model, dialect):
    """There is no engine for them here: their strings are read by the rules of their documentation."""
    query = model.export("sql", "--dialect", dialect).read_text()
    assert "it's; DROP" in query and "`it's; DROP TABLE data; --`" in query
    strings, names = set(), set()
    place = query.index("WITH")
    escapes = {"n": "\n", "t": "\t", "r": "\r"}
    while place < len(query):
        sign = query[place]
        place += 1
        if sign not in "'`":
            continue
        text = ""
        while True:
            letter = query[place]
            place += 1
            if letter == "\\" and (sign == "'" or dialect == "bigquery"):
                text += escapes.get(query[place], query[place])
                place += 1
            elif letter == sign and dialect == "spark" and sign == "`" and query[place] == sign:
                text += sign
                place += 1
            elif letter == sign:
                break
            else:
                text += letter
        (strings if sign == "'" else names).add(text)
    assert strings >= {"Rome", "a\\b", "two\nlines", "x*/y", "St. \"John's\""} | {*model.classes}
    assert names >= {*NUMBERS, CATEGORY}


def test_python_needs_nothing(model):
    path = model.export("python", out="exported_model.py")
    # Without site packages: the file runs on Python alone.
    done = subprocess.run(
        [sys.executable, "-I", "-S", path], stdin=open(model.tamis.directory / "data.csv"), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    spec = importlib.util.spec_from_file_location("exported_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = model.frame.to_dict("records")
    if model.task == "regression":
        model.agrees(numbers=[float(line) for line in done.stdout.split()])
        return model.agrees(numbers=[module.predict(row) for row in rows])
    model.agrees(labels=done.stdout.split("\n")[:-1])
    margins, probabilities = [module.margins(row) for row in rows], [module.probabilities(row) for row in rows]
    model.agrees(margins, probabilities, [module.predict(row) for row in rows])


def pipeline_of(model):
    path = model.export("sklearn", out="exported_pipeline.py")
    assert "tamis" not in path.read_text().split('"""')[2], "nothing of this package is imported"
    spec = importlib.util.spec_from_file_location("exported_pipeline", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.estimator()


def test_scikit_learn_has_the_model(model):
    pipeline = pipeline_of(model)
    frame = model.frame[model.frame.columns[::-1]]
    if model.task == "regression":
        return model.agrees(numbers=pipeline.predict(frame))
    model.agrees(probabilities=pipeline.predict_proba(frame), labels=pipeline.predict(frame))


def test_a_pickled_pipeline_needs_no_file_of_ours(model, tmp_path):
    if model.task != "several":
        return check_parts(pipeline_of(model))
    check_parts(pipeline_of(model))
    (tmp_path / "pipeline.pickle").write_bytes(pickle.dumps(pipeline_of(model)))
    model.frame.to_pickle(tmp_path / "frame.pickle")
    code = """
import pickle, sys
import numpy as np
pipeline, frame = (pickle.load(open(name, "rb")) for name in ("pipeline.pickle", "frame.pickle"))
np.save("found.npy", pipeline.predict_proba(frame))
assert not any(name.startswith(("tamis", "exported")) for name in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    model.agrees(probabilities=np.load(tmp_path / "found.npy"))


def check_parts(pipeline):
    """Stock parts only, which anyone with scikit-learn can load."""
    modules = {type(step).__module__.split(".")[0] for _, step in pipeline.steps}
    assert modules == {"sklearn"}


def test_onnxruntime_runs_the_graph(model):
    path = model.export("onnx", out="model.onnx")
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path)
    feeds = {}
    for given in session.get_inputs():
        cells = model.frame[given.name]
        text = given.type == "tensor(string)"
        values = cells.fillna("").to_numpy(object) if text else cells.to_numpy(float)
        feeds[given.name] = values.reshape(-1, 1)
    found = dict(zip([one.name for one in session.get_outputs()], session.run(None, feeds)))
    if model.task == "regression":
        return model.agrees(found["margins"], numbers=found["prediction"], tolerance=1e-6)
    model.agrees(found["margins"], found["probabilities"], found["label"], tolerance=1e-6)


MAIN = r"""
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    double numbers[MODEL_NUMBERS + 1], margins[MODEL_OUTPUTS];
    char cells[MODEL_TEXTS + 1][64];
    const char *texts[MODEL_TEXTS + 1];
    unsigned length;
    for (;;) {
        int place;
        if (fread(numbers, sizeof(double), MODEL_NUMBERS, stdin) < MODEL_NUMBERS) return 0;
        for (place = 0; place < MODEL_TEXTS; place++) {
            if (fread(&length, sizeof length, 1, stdin) < 1 || length > 63) return length == 64 ? 0 : 1;
            if (fread(cells[place], 1, length, stdin) < length) return 1;
            cells[place][length] = 0;
            texts[place] = length > 0 ? cells[place] : NULL;
        }
        model_margins(numbers, texts, margins);
        for (place = 0; place < MODEL_OUTPUTS; place++) printf("%.17g ", margins[place]);
#if MODEL_HAS_CLASSES
        {
            double probabilities[MODEL_CLASSES];
            int best = model_predict(numbers, texts, probabilities);
            for (place = 0; place < MODEL_CLASSES; place++) printf("%.17g ", probabilities[place]);
            printf("%d\n", best);
        }
#else
        printf("%.17g\n", model_predict(numbers, texts));
#endif
    }
}
"""


def compiled(model, *flags):
    """A program of the exported functions, with the names of its inputs."""
    path = model.export("c", out="model.c")
    text = path.read_text()
    assert "名古屋" not in text, "plain ASCII"
    (model.tamis.directory / "main.c").write_text(f'#include "model.c"\n#define MODEL_HAS_CLASSES {int(bool(model.classes))}\n' + MAIN)
    program = model.tamis.directory / "main"
    subprocess.run(
        ["cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", program, "main.c", "-lm"],
        cwd=model.tamis.directory,
        check=True,
    )
    return program


def names_in_c(model):
    """Numbers and texts, in the order of the file."""
    text = (model.tamis.directory / "model.c").read_text()

    def listed(what):
        inside = text.split(f"model_{what}_names[] = {{")[1].split("};")[0]
        literals = [line.strip().rstrip(",")[1:-1] for line in inside.split("\n") if line.strip().startswith('"')]
        return [one.encode().decode("unicode_escape").encode("latin-1").decode() for one in literals]

    return listed("number"), listed("text"), listed("class")


def test_c_compiles_and_agrees(model):
    program = compiled(model)
    numbers, texts, classes = names_in_c(model)
    assert {*numbers} == {*NUMBERS} and {*texts} == {CATEGORY, PLAN} and classes == model.classes
    data = bytearray()
    floats = model.frame[numbers].to_numpy(float)
    cells = model.frame[texts].fillna("").to_numpy(object)
    for row in range(len(model.frame)):
        data += floats[row].tobytes()
        for cell in cells[row]:
            data += len(cell.encode()).to_bytes(4, "little") + cell.encode()
    done = subprocess.run([program], input=bytes(data), capture_output=True, check=True)
    found = np.array([[float(word) for word in line.split()] for line in done.stdout.decode().splitlines()])
    if model.task == "regression":
        return model.agrees(margins=None, numbers=found[:, -1])
    outputs = len(model.body["outputs"])
    best = [model.classes[int(number)] for number in found[:, -1]]
    model.agrees(found[:, :outputs], found[:, outputs:-1], best)


def test_a_scorecard_adds_up(model):
    text = model.export("scorecard", "--double-odds", "30", "--base-points", "500", "--base-odds", "2", out="card.csv")
    with open(text, newline="") as file:
        card = list(csv.DictReader(file))
    factor = 30 / math.log(2) if model.classes else 1
    offset = 500 - factor * math.log(2) if model.classes else 0
    margins = []
    for name in model.classes if model.task == "several" else [""]:
        total = np.zeros(len(model.frame))
        for row in (one for one in card if one["class"] == name):
            assert row["reason"]
            if row["condition"] == "base":
                value = 1.0
            elif row["condition"] == "each unit":
                fill = float(row["if_missing"]) if row["if_missing"] else np.nan
                value = model.frame[row["column"].removeprefix("'")].fillna(fill)
            elif row["condition"] == "is a level that is not listed":
                cells = model.frame[row["column"]]
                value = cells.notna() & cells.str.startswith("rare").fillna(False).astype(bool)
            else:
                value = model.frame[row["column"]] == row["condition"].removeprefix("is ")
            total = total + float(row["points"]) * value
        margins.append((total - offset) / factor)
    if model.task == "regression":
        return model.agrees(numbers=margins[0])
    model.agrees(margins=np.array(margins).T)
    page = model.export("scorecard", out="card.html").read_text()
    assert "<!DOCTYPE html>" in page and "名古屋" in page and 'St. "John\'s"' not in page


def long_form(frame):
    """A table with a row for each feature."""
    rows = []
    for number, row in enumerate(frame.drop(columns="the label").to_dict("records")):
        for name, cell in row.items():
            if isinstance(cell, str):
                rows.append((number, f"{name}={cell}", 1.0))
            elif cell == cell:
                rows.append((number, name, cell))
    return pd.DataFrame(rows, columns=["row id", "feature", "value"])


@pytest.mark.parametrize("task", TASKS)
def test_the_long_form_joins(tamis, task):
    frame = table(task, missing=False)
    frame[PLAN] = np.where(frame[PLAN].str.startswith("rare"), "basic", frame[PLAN])
    model = Model(tamis, task, *TASKS[task], frame=frame)
    data = long_form(model.frame)
    bases = {"ansi": sqlite_base(data), "duckdb": duckdb.connect()}
    bases["duckdb"].execute("CREATE TABLE data AS SELECT * FROM data")
    for dialect, base in bases.items():
        query = model.export("sql", "--long", "--id-column", "row id", "--dialect", dialect).read_text()
        found = base.execute(query)
        names, rows = [column[0] for column in found.description], found.fetchall()
        if task == "several":
            told = columns(names, rows)
            assert told["class"][:3] == model.classes
            margins = np.reshape(told["margin"], (-1, 3))
            model.agrees(margins, np.reshape(told["probability"], (-1, 3)), told["label"][::3])
        elif task == "two":
            told = columns(names, rows)
            second = np.array(told[f"probability_{model.classes[1]}"])
            model.agrees(told["margin"], np.column_stack([1 - second, second]), told["label"])
        else:
            model.agrees(numbers=columns(names, rows)["prediction"])


def run_all(model, frame, *, also=("c",)):
    """The margins of each target that has dates and products; cells as data bases and programs have them."""
    base = duckdb.connect()
    base.execute("CREATE TABLE data AS SELECT * FROM frame")
    for dialect in ("duckdb", "ansi", "postgres"):
        found = base.execute(model.export("sql", "--dialect", dialect).read_text())
        yield dialect, columns([column[0] for column in found.description], found.fetchall())["margin"]
    path = model.export("python", out="exported_model.py")
    spec = importlib.util.spec_from_file_location("exported_model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield "python", [module.margins(row)[0] for row in frame.to_dict("records")]
    text = pd.read_csv(model.tamis.directory / "data.csv", dtype=str, keep_default_na=False)
    yield "python, text", [module.margins(row)[0] for row in text.to_dict("records")]
    if "c" in also:
        program = compiled(model)
        numbers, texts, _ = names_in_c(model)
        data = bytearray()
        for row in frame.to_dict("records"):
            for name in numbers:
                cell = row[name]
                if isinstance(cell, pd.Timestamp):
                    cell = (cell - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
                data += np.float64(np.nan if cell is None or cell is pd.NaT else cell).tobytes()
            for name in texts:
                cell = (row[name] or "") if row[name] == row[name] else ""
                data += len(cell.encode()).to_bytes(4, "little") + cell.encode()
        done = subprocess.run([program], input=bytes(data), capture_output=True, check=True)
        yield "c", [float(line.split()[0]) for line in done.stdout.decode().splitlines()]


def dated(seed=3):
    """Numbers, towns, dates with times, and missing cells of each."""
    random = np.random.default_rng(seed)
    when = pd.Timestamp("1966-03-01") + pd.to_timedelta(random.integers(0, 60 * 365 * 86400, 4000), "s")
    frame = pd.DataFrame({"when": when, "age": random.normal(50, 10, 4000).round(3), "town": random.choice(["a", "b"], 4000)})
    score = when.month.to_numpy() / 3 - 2 + (when.dayofweek.to_numpy() == 1) * 3 + frame["age"] / 10 - 5
    score += (when.hour.to_numpy() > 12) + (frame["town"] == "a") * (frame["age"] - 50) / 5
    frame["the label"] = np.where(score + random.logistic(size=4000) > 0.5, "yes", "no")
    for name in ("when", "age", "town"):
        frame.loc[random.random(4000) < 0.1, name] = None
    return frame


@pytest.mark.parametrize("missing", ["mean", "zero", "indicator"])
def test_dates_products_and_missing_cells(tamis, missing):
    frame = dated()
    parts = "days,year,month,day,weekday,hour,months,weekdays"
    flags = ["--method", "ftrl", "--l1", "0.0001", "--dates", parts, "--missing", missing, "--interactions", "age*town,age*age"]
    model = Model(tamis, "two", *flags, frame=frame)
    names = {feature["name"] for feature in model.body["outputs"][0]["features"]}
    wanted = {"when", "when.month", "when.weekday=Tuesday", "when.hour", "when.month=2", "age*town=a", "age*age", "when.year"}
    assert names >= wanted | ({"when=missing", "age=missing", "town=missing"} if missing == "indicator" else set())
    for target, margins in run_all(model, frame):
        wanted = model.numbers("margin")[:, 0]
        assert np.abs(np.array(margins) - wanted).max() <= 1e-11 * np.abs(wanted).max(), target


def test_markers_of_missing_values_and_forms_of_numbers(tamis):
    random = np.random.default_rng(4)
    frame = pd.DataFrame({"pay": random.lognormal(7, 1, 2000).round(2), "age": random.integers(18, 80, 2000).astype(float)})
    frame["town"] = random.choice(["a", "b", "c"], 2000)
    score = np.log(frame["pay"]) - 7 + (frame["town"] == "b") - (frame["age"] - 50) / 20
    frame["the label"] = np.where(score + random.logistic(size=2000) > 0, 1, 0)
    written = frame.copy()
    written["pay"] = frame["pay"].map(lambda value: f"${value:,.2f}")
    random_rows = random.random(2000) < 0.1
    written["age"] = written["age"].astype(int).astype(str).where(~random_rows, "-999")
    frame.loc[random_rows, "age"] = -999
    model = Model(tamis, "two", "--method", "ftrl", "--na=-999", frame=written)
    for target, margins in run_all(model, frame):
        assert np.abs(np.array(margins) - model.numbers("margin")[:, 0]).max() <= 1e-11, target
    session = onnxruntime.InferenceSession(model.export("onnx", out="model.onnx"))
    feeds = {name: frame[name].to_numpy(object if name == "town" else float).reshape(-1, 1) for name in ("pay", "age", "town")}
    (margins,) = session.run(["margins"], feeds)
    model.agrees(margins, tolerance=1e-6)


def test_counts_and_scores_without_probabilities(tamis):
    random = np.random.default_rng(5)
    frame = pd.DataFrame({"x": random.normal(size=3000), "log days": random.normal(size=3000)})
    frame["the label"] = random.poisson(np.exp(0.3 * frame["x"] + frame["log days"]))
    flags = ["--method", "ftrl", "--loss", "poisson", "--offset", "log days"]
    counts = Model(tamis, "regression", *flags, frame=frame)
    query = counts.export("sql").read_text()
    found = sqlite_base(frame).execute(query)
    counts.agrees(numbers=columns([column[0] for column in found.description], found.fetchall())["prediction"])
    namespace = {"__name__": "exported"}
    exec(counts.export("sklearn").read_text(), namespace)
    counts.agrees(numbers=namespace["estimator"]().predict(frame))
    session = onnxruntime.InferenceSession(counts.export("onnx", out="model.onnx"))
    feeds = {name: frame[name].to_numpy(float).reshape(-1, 1) for name in ("x", "log days")}
    counts.agrees(numbers=session.run(["prediction"], feeds)[0], tolerance=1e-6)

    frame = table("several", missing=False)
    scores = Model(tamis, "several", "--method", "ftrl", "--loss", "hinge", frame=frame)
    exec(scores.export("sklearn").read_text(), namespace)
    pipeline = namespace["estimator"]()
    scores.agrees(margins=pipeline.decision_function(frame), labels=pipeline.predict(frame))
    found = sqlite_base(frame).execute(scores.export("sql").read_text())
    assert not any(column[0].startswith("probability") for column in found.description)
    scores.agrees(labels=columns([column[0] for column in found.description], found.fetchall())["label"])


def test_features_by_number_are_columns(tamis):
    """svmlight has no table: absent features are zero, in SQL NULL too."""
    random = np.random.default_rng(6)
    rows = random.normal(size=(2000, 12)) * (random.random((2000, 12)) < 0.3)
    labels = np.where(rows[:, 3] - rows[:, 7] + 0.1 * random.normal(size=2000) > 0, 1, -1)
    tamis.write_svmlight("rows.svm", rows, labels)
    tamis.run("fit", "rows.svm", "--method", "ftrl", "--k", 4, "--out", "model.json", "--quiet")
    wanted = np.array(tamis.run("predict", "model.json", "rows.svm", "--output", "margin").split(), float)
    frame = pd.DataFrame(rows, columns=[str(n + 1) for n in range(12)]).astype(object)
    found = sqlite_base(frame.where(frame != 0, None)).execute(tamis.run("export", "model.json", "--to", "sql"))
    margins = columns([column[0] for column in found.description], found.fetchall())["margin"]
    assert np.abs(np.array(margins) - wanted).max() <= 1e-12 * np.abs(wanted).max() and wanted.std() > 0.1


def test_where_a_missing_cell_allows_no_prediction(tamis):
    """With `--missing error` no export makes up a prediction: NULL, NaN, None or an error."""
    frame = table("two", missing=False)
    model = Model(tamis, "two", "--method", "ftrl", "--missing", "error", "--min-count", "50", frame=frame)
    pipeline = pipeline_of(model)
    model.agrees(probabilities=pipeline.predict_proba(frame), labels=pipeline.predict(frame))
    module = {"__name__": "exported"}
    exec(model.export("python").read_text(), module)
    for name in ("select", CATEGORY):
        gap = frame.head(3).copy()
        gap[name] = gap[name].astype(object)
        gap.loc[1, name] = None
        found = sqlite_base(gap).execute(model.export("sql").read_text())
        told = columns([column[0] for column in found.description], found.fetchall())
        assert [label is None for label in told["label"]] == [False, True, False], name
        assert [margin is None for margin in told["margin"]] == [False, True, False], name
        assert module["predict"](gap.to_dict("records")[1]) is None
        with pytest.raises(ValueError):
            pipeline.predict(gap)
        session = onnxruntime.InferenceSession(model.export("onnx", out="model.onnx"))
        feeds = {}
        for given in session.get_inputs():
            cells = gap[given.name]
            values = cells.fillna("").to_numpy(object) if given.type == "tensor(string)" else cells.to_numpy(float)
            feeds[given.name] = values.reshape(-1, 1)
        (margins,) = session.run(["margins"], feeds)
        assert list(np.isnan(margins[:, 0])) == [False, True, False], name
