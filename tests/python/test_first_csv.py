"""Ten first tables of a new user, from file to prediction, with nothing set but the label's column."""

import json

import numpy as np
import pandas as pd
import pytest

ROWS = 2000


def customers(seed=0):
    """Who leaves: decided by age, visits, one plan and one town; the other columns are noise."""
    rng = np.random.default_rng(seed)
    age, visits = rng.integers(18, 80, ROWS), rng.poisson(4, ROWS)
    plan = rng.choice(["basic", "pro", "team"], ROWS)
    town = rng.choice(["Oslo", "Rome, IT", 'St. "John"', "Zürich", "Lima"], ROWS)
    score = 0.05 * (age - 45) - 0.4 * (visits - 4) + 1.2 * (plan == "basic") + (town == "Oslo") - 0.6
    stamps = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, ROWS), "D")
    frame = pd.DataFrame(
        {
            "customer_id": [f"C{number:05d}" for number in range(ROWS)],
            "age": age,
            "town": town,
            "plan": plan,
            "visits": visits,
            "income": np.round(rng.lognormal(10, 0.5, ROWS), 2),
            "signup": stamps.strftime("%Y-%m-%d"),
            "zip": [f"{number:05d}" for number in rng.integers(0, 99_999, ROWS)],
            "churned": np.where(rng.random(ROWS) < 1 / (1 + np.exp(-score)), "yes", "no"),
        }
    )
    # The error of the best prediction that the score allows.
    best = 1 / (1 + np.exp(np.abs(score)))
    return frame.astype(object), best.mean()


def with_cell(name, row, cell):
    def change(frame):
        frame.loc[row, name] = cell
        return frame

    return change


def with_missing(frame):
    rng = np.random.default_rng(5)
    for name in ["age", "income", "plan"]:
        frame.loc[rng.random(ROWS) < 0.08, name] = None
    return frame


def with_forms(frame):
    frame["income"] = frame["income"].map(lambda value: f"${value:,.2f}")
    frame["visits"] = frame["visits"].map(lambda value: f"{value}%")
    return frame


def with_dates(frame):
    frame["signup"] = pd.to_datetime(frame["signup"]).dt.strftime("%d/%m/%Y")
    return frame


def with_empty_column(frame):
    frame.insert(3, "notes", "")
    return frame


#: What is unusual about a table; how its file is written; what the fit must say.
SCENARIOS = {
    "as it is": (lambda frame: frame, {}, 'column "customer_id"'),
    "missing cells": (with_missing, {}, 'column "age"'),
    "a question mark": (with_cell("age", 7, "?"), {}, 'column "age": 1 of the first'),
    "an odd cell": (with_cell("income", 9, "oops"), {}, "people.csv:11:"),
    "an odd cell among few numbers": (with_cell("visits", 12, "oops"), {}, "people.csv:14:"),
    "currency and percent": (with_forms, {}, 'column "income"'),
    "semicolons and decimal commas": (lambda frame: frame, {"sep": ";", "decimal": ","}, 'column "income"'),
    "dates with the day first": (with_dates, {}, "dates, as in 31/01/2023"),
    "Latin-1": (lambda frame: frame, {"encoding": "latin-1"}, 'column "signup"'),
    "an empty column": (with_empty_column, {}, 'column "notes": it is empty'),
    "tabs": (lambda frame: frame, {"sep": "\t"}, 'column "signup"'),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_first_table_of_a_new_user(tamis, name):
    change, how, note = SCENARIOS[name]
    frame = change(customers()[0])
    if how.get("decimal"):
        frame["income"] = frame["income"].astype(float)
    frame.to_csv(tamis.directory / "people.csv", index=False, **how)
    flags = ["--encoding", "latin-1"] if "encoding" in how else []
    said = json.loads(tamis.run("fit", "people.csv", "--target", "churned", "--json", "--quiet", *flags))
    assert (said["task"], said["target"]) == ("binary", "churned")
    assert "2 different labels" in said["task_reason"]
    assert any(note in line for line in said["notes"]), said["notes"]
    assert said["n_features"] < 20, "no category a cell"
    features = json.loads(tamis.run("inspect", "model.json", "--top", 0, "--json"))["features"]
    names = {feature["name"] for feature in features}
    assert {"age", "visits", "plan=basic", "town=Oslo"} <= names, "what decides is found"
    assert not any(one.startswith(("customer_id", "zip=")) for one in names), names
    clean, best = customers(seed=1)
    labels = clean["churned"].to_numpy()
    fresh = change(clean).drop(columns="churned")
    if how.get("decimal"):
        fresh["income"] = fresh["income"].astype(float)
    fresh.to_csv(tamis.directory / "fresh.csv", index=False, **how)
    predicted = np.array(tamis.run("predict", "model.json", "fresh.csv", *flags).split())
    error, guessing = (predicted != labels).mean(), min((labels == "yes").mean(), (labels == "no").mean())
    assert error < (best + guessing) / 2, "nearer to the best prediction than to guessing"
