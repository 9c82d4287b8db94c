"""Spark runs the SQL that `tamis export` writes and finds what `tamis predict` does, to 1e-12, on 10,000 rows."""

import csv
import io

import numpy as np
import pytest
from conftest import program

pytestmark = pytest.mark.timeout(300)
ROWS = 10_000
# Names and levels that break a careless writer.
NUMBERS = ['a "quoted" name', "select", "it's; DROP TABLE data; --", "naïve 数 😀", "comment */ /* ??/", "back\\slash`tick`"]
TOWNS = ["Rome", "St. \"John's\"", "名古屋", "a\\b", "x*/y", "two\nlines", "=1+1"]
TOWN, LABEL = "town 'of' \"birth\"", "the label"


def table(task):
    """Columns by name; a number and a town are missing here and there."""
    random = np.random.default_rng(5)
    cells = {name: random.normal(5 * place, 1 + place, ROWS).round(6).tolist() for place, name in enumerate(NUMBERS)}
    cells[TOWN] = random.choice(TOWNS, ROWS).tolist()
    score = np.array(cells["select"]) - 5 + 2 * (np.array(cells[TOWN]) == "名古屋") + random.logistic(size=ROWS)
    for name in ("select", TOWN):
        for row in np.flatnonzero(random.random(ROWS) < 0.05):
            cells[name][row] = None
    cells[LABEL] = np.where(score > 0, "it's \"yes\"", "n\\o 😀").tolist() if task == "two" else score.tolist()
    return cells


@pytest.mark.parametrize("task", ["two", "number"])
def test_spark_runs_the_query(spark, tmp_path, task):
    cells = table(task)
    with open(tmp_path / "rows.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(cells)
        writer.writerows(zip(*cells.values(), strict=True))
    program(tmp_path, "fit", "rows.csv", "--target", LABEL, "-q", "-o", "m.json")
    output = "margin" if task == "two" else "label"
    told = program(tmp_path, "predict", "m.json", "rows.csv", "-q", "--output", output)
    wanted = np.array([float(row[0]) for row in csv.reader(io.StringIO(told))])
    query = program(tmp_path, "export", "m.json", "--to", "sql", "--dialect", "spark", "--table", "my_data")

    kinds = ", ".join(f"`{name.replace('`', '``')}` {'string' if name in (TOWN, LABEL) else 'double'}" for name in cells)
    kinds = kinds.replace(f"`{LABEL}` string", f"`{LABEL}` {'string' if task == 'two' else 'double'}")
    rows = [(at, *row) for at, row in enumerate(zip(*cells.values(), strict=True))]
    spark.createDataFrame(rows, f"place int, {kinds}").createOrReplaceTempView("my_data")
    found = sorted(spark.sql(query.strip().rstrip(";")).collect(), key=lambda row: row["place"])
    mine = np.array([row["margin" if task == "two" else "prediction"] for row in found])
    assert len(mine) == ROWS
    assert np.abs(mine - wanted).max() <= 1e-12 * np.abs(wanted).max()
    if task == "two":
        labels = program(tmp_path, "predict", "m.json", "rows.csv", "-q")
        assert [row["label"] for row in found] == [row[0] for row in csv.reader(io.StringIO(labels))]
