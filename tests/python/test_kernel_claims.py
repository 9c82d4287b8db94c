"""What the method kernel confirms: of variables and pairs with q ≤ 0.1, about a tenth may be false, on average.

Each design plants its variables among others that say nothing. The bars are those of docs/kernel.md: a mean false share of a tenth and
two standard errors, and something confirmed in at most a tenth of the runs on noise (3 of 10 is rarely exceeded by chance). The
seeds are fixed.
"""

import json

import numpy as np
import pytest

ROWS, COLUMNS, RUNS = 400, 30, 10


def product(random):
    """The sign of a product, wrong for one row in ten."""
    X = random.uniform(-1, 1, (ROWS, COLUMNS))
    return X, np.sign(X[:, 0] * X[:, 1]) * np.where(random.random(ROWS) < 0.1, -1, 1), 2, {(0, 1)}


def friedman(random):
    X = random.uniform(0, 1, (ROWS, COLUMNS))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, f + random.standard_normal(ROWS), 5, {(0, 1)}


def additive(random):
    """Numbers without any interaction: every pair that is confirmed is false."""
    X = random.standard_normal((ROWS, COLUMNS))
    return X, np.sin(1.5 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + X[:, 2] + 0.5 * random.standard_normal(ROWS), 3, set()


def noise(random):
    return random.standard_normal((ROWS, COLUMNS)), random.choice([-1.0, 1.0], ROWS), 0, set()


def counted(tamis, design, seed):
    """Confirmed variables and pairs: true and false ones."""
    X, y, true, pairs = design(np.random.default_rng(seed))
    np.savez(tamis.directory / "rows.npz", X=X, y=y)
    tamis.run("fit", "rows.npz", "--method", "kernel", "-q", "-o", "m.json")
    found = json.loads(tamis.run("inspect", "m.json", "--json"))["kernel"]
    tests = [({int(name) - 1 for name in test["names"]}, test["q"] is not None and test["q"] <= 0.1) for test in found["tests"]]
    alone = [min(names) for names, confirmed in tests if confirmed and len(names) == 1]
    joint = [tuple(sorted(names)) for names, confirmed in tests if confirmed and len(names) == 2]
    assert sorted(alone) == sorted(int(name) - 1 for name in found["confirmed"])
    right = sum(one < true for one in alone)
    right_pairs = sum(pair in pairs for pair in joint)
    return right, len(alone) - right, right_pairs, len(joint) - right_pairs


def share(true, false):
    """The mean share of false discoveries, and its standard error."""
    shares = false / np.maximum(true + false, 1)
    return shares.mean(), shares.std() / np.sqrt(len(shares))


@pytest.mark.parametrize(("design", "true", "pairs"), [(product, 2, 1), (friedman, 5, 1), (additive, 3, 0)])
def test_few_of_the_confirmed_are_false(tamis, design, true, pairs):
    counts = np.array([counted(tamis, design, seed) for seed in range(700, 700 + RUNS)])
    for name, found in (("variables", counts[:, :2]), ("pairs", counts[:, 2:])):
        mean, error = share(found[:, 0], found[:, 1])
        assert mean <= 0.1 + 2 * error, (name, counts.tolist())
    assert counts[:, 0].mean() >= 0.8 * true, counts.tolist()
    assert counts[:, 2].mean() >= 0.8 * pairs, counts.tolist()


def test_noise_confirms_hardly_anything(tamis):
    counts = np.array([counted(tamis, noise, seed) for seed in range(800, 800 + RUNS)])
    assert (counts.sum(axis=1) > 0).sum() <= 3, counts.tolist()
