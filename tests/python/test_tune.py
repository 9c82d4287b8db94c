"""`tamis tune` and `tamis stability` compared with the same computation in separate steps: rows are split into files here, with
one fit and one evaluation per file, scikit-learn's kappa and numpy's means. The hash that splits rows is implemented again below."""

import itertools
import json
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

MASK = (1 << 64) - 1
ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("TAMIS_DATA", ROOT.parent / "shared/data"))


def mix(number):
    """SplitMix64's finaliser."""
    number = (number + 0x9E3779B97F4A7C15) & MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & MASK
    return number ^ (number >> 31)


def row_hash(key, row):
    return mix(mix(key) ^ mix(row))


def fold_of(row, folds, seed):
    key = (mix(mix(seed) ^ 0x666F6C64) + folds) & MASK
    return (row_hash(key, row) * folds) >> 64


def in_share(row, share, seed, run):
    key = mix((mix(mix(seed) ^ 0x73686172) + run) & MASK)
    return (row_hash(key, row) >> 11) / (1 << 53) < share


@pytest.fixture(params=["generated", "dexter_train"])
def lines(request, tamis):
    """The rows of a data set as lines of svmlight text, also in the file `data.svm`."""
    if request.param == "generated":
        tamis.run("synth", "correlated", "--classes", "--n", 240, "--p", 60, "--k", 5, "--out", "data")
    else:
        source = DATA / f"{request.param}.svm.zst"
        if not source.is_file():
            pytest.skip(f"{source} is not there; set TAMIS_DATA to the folder with the data sets")
        tamis.run("convert", source, "data.svm")
    return (tamis.directory / "data.svm").read_text().splitlines(keepends=True)


def by_hand(tamis, lines, is_training, arguments):
    """Fits on some rows and measures on the others: measures, and the names of the features used."""
    training = "".join(line for row, line in enumerate(lines) if is_training(row))
    rest = "".join(line for row, line in enumerate(lines) if not is_training(row))
    (tamis.directory / "training.svm").write_text(training)
    (tamis.directory / "rest.svm").write_text(rest)
    _, weights = tamis.fit("training.svm", *arguments)
    return json.loads(tamis.run("eval", "model.json", "rest.svm", "--json")), set(weights)


@pytest.mark.parametrize("threads", [1, 2])
def test_cross_validation_is_what_it_says(tamis, lines, threads):
    folds, seed, penalties = 4, 3, ["0.3", "30"]
    arguments = ["--method", "ftrl", "--seed", seed]
    said = json.loads(tamis.run("tune", "data.svm", *arguments, "--l1", ",".join(penalties), "--folds", folds,
                                "--rule", "min", "--no-fit", "--threads", threads, "--quiet", "--json"))
    for penalty, told in zip(penalties, said["settings"], strict=True):
        for fold in range(folds):
            measured, used = by_hand(tamis, lines, lambda row: fold_of(row, folds, seed) != fold,
                                     [*arguments, "--l1", penalty])
            assert told["folds"][fold] == {"value": measured["error"], "rows": measured["n"], "nonzeros": len(used)}
        values = np.array([fold["value"] for fold in told["folds"]])
        rows = np.array([fold["rows"] for fold in told["folds"]])
        mean = np.average(values, weights=rows)
        assert rows.sum() == len(lines)
        assert told["mean"] == pytest.approx(mean, abs=1e-12)
        spread = np.average((values - mean) ** 2, weights=rows)
        assert told["standard_error"] == pytest.approx(np.sqrt(spread / (folds - 1)), abs=1e-12)
    best = min(said["settings"], key=lambda one: (one["mean"], one["nonzeros"]))
    assert said["chosen"] == best


def test_stability_is_what_it_says(tamis, lines):
    runs, share, seed, columns = 4, 0.8, 5, 20_000
    arguments = ["--method", "ftrl", "--l1", 10, "--seed", seed]
    said = json.loads(tamis.run("stability", "data.svm", *arguments, "--runs", runs, "--share", share,
                                "--total-features", columns, "--top", 0, "--quiet", "--json"))
    errors, sets = [], []
    for run in range(runs):
        measured, used = by_hand(tamis, lines, lambda row: in_share(row, share, seed, run), arguments)
        errors.append(measured["error"])
        sets.append(used)
    member = [[str(column) in used for column in range(1, columns + 1)] for used in sets]
    assert [sum(row) for row in member] == [len(used) for used in sets], "features are numbers from 1"
    kappas = [cohen_kappa_score(one, other) for one, other in itertools.combinations(member, 2)]
    assert said["kappa"] == pytest.approx(np.mean(kappas), abs=1e-12)
    assert 0 < said["kappa"] < 1
    assert said["mean_error"] == pytest.approx(np.mean(errors), abs=1e-12)
    assert said["sd_error"] == pytest.approx(np.std(errors, ddof=1), abs=1e-12)
    assert said["mean_nonzeros"] == pytest.approx(np.mean([len(used) for used in sets]), abs=1e-12)
    assert said["sd_nonzeros"] == pytest.approx(np.std([len(used) for used in sets], ddof=1), abs=1e-12)
    counts = {feature["name"]: feature["frequency"] * runs for feature in said["features"]}
    assert counts == pytest.approx({name: sum(name in used for used in sets) for name in set.union(*sets)})
