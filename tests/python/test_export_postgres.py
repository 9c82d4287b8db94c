"""A PostgreSQL server runs the exported SQL and finds what `tamis predict` does, to 1e-12, on 10,000 rows.

The server has a folder of its own, listens on a socket in it and on no port, and ends after the tests, or by itself
after five minutes. Without PostgreSQL (Debian's package `postgresql`) the tests are skipped and say so.
"""

import csv
import io
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from test_export import PLAN, TASKS, Model, check_sql, columns, dated, long_form, table

SECONDS = 300
PLACE = "place of the row"


def installed():
    """The folder of PostgreSQL's programs, the newest of several."""
    found = [Path(path).resolve().parent for path in [shutil.which("initdb")] if path]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name), reverse=True)
    return next((folder for folder in found if (folder / "initdb").exists() and (folder / "postgres").exists()), None)


def account():
    """PostgreSQL does not run as root: the account for it, or none if this one will do."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    pytest.skip("SKIPPED, PostgreSQL does not run as root, and there is no other account")


class Server:
    def __init__(self, programs, folder, given):
        self.programs, self.folder, self.given = programs, folder, given
        command = [programs / "initdb", "--pgdata", folder / "data", "--username", "tamis", "--auth", "trust"]
        command += ["--encoding", "UTF8", "--locale", "C", "--no-sync"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder, **given)
        command = ["timeout", str(SECONDS), programs / "postgres", "-D", folder / "data", "-k", folder]
        command += ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "timezone=UTC"]
        with open(folder / "log", "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, **given)
        self.wait()

    def wait(self):
        for _ in range(300):
            if self.process.poll() is not None:
                break
            ready = [self.programs / "pg_isready", "-q", "-h", self.folder, "-U", "tamis", "-d", "postgres"]
            if subprocess.run(ready, check=False, capture_output=True).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError((self.folder / "log").read_text())

    def psql(self, *arguments, text):
        command = [self.programs / "psql", "-h", self.folder, "-U", "tamis", "-d", "postgres", "-qX", "-v", "ON_ERROR_STOP=1"]
        done = subprocess.run([*command, *arguments], input=text, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def load(self, name, frame):
        """A table of the frame, with the place of each row: numbers are double precision, dates are timestamps, the
        rest is text."""
        frame = frame.assign(**{PLACE: range(len(frame))})
        kinds = {"f": "double precision", "i": "double precision", "M": "timestamp"}
        parts = [f"{quoted(column)} {kinds.get(frame[column].dtype.kind, 'text')}" for column in frame.columns]
        self.psql(text=f"DROP TABLE IF EXISTS {quoted(name)}; CREATE TABLE {quoted(name)} ({', '.join(parts)});".encode())
        rows = frame.to_csv(index=False, header=False, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC, na_rep="\\N")
        rows = rows.replace('"\\N"', "\\N")  # a quoted marker would be a text
        self.psql("-c", f"COPY {quoted(name)} FROM STDIN WITH (FORMAT csv, NULL '\\N')", text=rows.encode())

    def run(self, query):
        """The names of the columns and the rows, as text; NULL is None. A server gives rows in any order."""
        inside = query.strip().rstrip(";")
        told = self.psql(text=f"COPY (\n{inside}\n) TO STDOUT WITH (FORMAT csv, HEADER, NULL '\\N');\n".encode())
        names, *rows = csv.reader(io.StringIO(told, newline=""))
        rows = [[None if cell == "\\N" else cell for cell in row] for row in rows]
        if PLACE in names:
            at = names.index(PLACE)
            rows = sorted(rows, key=lambda row: float(row[at]))
            names, *rows = ([*row[:at], *row[at + 1 :]] for row in (names, *rows))
        return names, rows

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


@pytest.fixture(scope="module")
def server():
    programs = installed()
    if programs is None:
        pytest.skip("SKIPPED, no PostgreSQL: its SQL runs in DuckDB only (Debian's package: postgresql)")
    given = account()
    # The path of a socket is short, so it is not in pytest's folder.
    with tempfile.TemporaryDirectory(prefix="tamis-pg-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if given:
            os.chown(folder, given["user"], given["group"])
        started = Server(programs, folder, given)
        yield started
        started.stop()


@pytest.mark.parametrize("task", TASKS)
def test_postgres_runs_the_query(server, tamis, task):
    model = Model(tamis, task, *TASKS[task])
    server.load("my data", model.frame)
    names, rows = server.run(model.export("sql", "--dialect", "postgres", "--table", "my data").read_text())
    check_sql(model, names, rows)


@pytest.mark.parametrize("task", TASKS)
def test_postgres_joins_the_long_form(server, tamis, task):
    frame = table(task, missing=False)
    frame[PLAN] = np.where(frame[PLAN].str.startswith("rare"), "basic", frame[PLAN])
    model = Model(tamis, task, *TASKS[task], frame=frame)
    server.load("data", long_form(model.frame))
    query = model.export("sql", "--long", "--id-column", "row id", "--dialect", "postgres").read_text()
    told = columns(*server.run(query))
    if task == "several":
        assert told["class"][:3] == model.classes
        return model.agrees(np.reshape(told["margin"], (-1, 3)), np.reshape(told["probability"], (-1, 3)), told["label"][::3])
    if task == "two":
        second = np.array(told[f"probability_{model.classes[1]}"], float)
        return model.agrees(told["margin"], np.column_stack([1 - second, second]), told["label"])
    model.agrees(numbers=told["prediction"])


@pytest.mark.parametrize("missing", ["mean", "zero", "indicator"])
def test_postgres_has_dates_products_and_missing_cells(server, tamis, missing):
    parts = "days,year,month,day,weekday,hour,months,weekdays"
    flags = ["--method", "ftrl", "--l1", "0.0001", "--dates", parts, "--missing", missing, "--interactions", "age*town,age*age"]
    model = Model(tamis, "two", *flags, frame=dated())
    server.load("data", model.frame)
    told = columns(*server.run(model.export("sql", "--dialect", "postgres").read_text()))
    wanted = model.numbers("margin")[:, 0]
    assert np.abs(np.array(told["margin"], float) - wanted).max() <= 1e-11 * np.abs(wanted).max()


def test_postgres_makes_up_no_prediction(server, tamis):
    frame = table("two", missing=False)
    model = Model(tamis, "two", "--method", "ftrl", "--missing", "error", "--min-count", "50", frame=frame)
    gap = frame.head(3).copy()
    gap.loc[1, "select"] = None
    server.load("data", gap)
    told = columns(*server.run(model.export("sql", "--dialect", "postgres").read_text()))
    assert [label is None for label in told["label"]] == [False, True, False]
    assert [margin is None for margin in told["margin"]] == [False, True, False]
