"""What the program says of its own certainty, against planted truths: each claim is counted.

q-values have a file of their own (test_false_discoveries.py).
"""

import json

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

ROWS, COLUMNS = 600, 40


def planted(seed, rows=ROWS, shift=0.0, columns=COLUMNS):
    """Columns, and labels whose log-odds are linear in the first five of them."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, columns))
    log_odds = x[:, :5] @ np.array([1.2, -1.0, 0.8, -0.6, 0.5]) + shift
    return x, (rng.random(rows) < 1 / (1 + np.exp(-log_odds))).astype(int)


def fit(tamis, seed, *arguments, **shape):
    """A model, and fresh rows of the same kind."""
    x, y = planted(seed, **shape)
    tamis.write_svmlight("train.svm", x, y)
    tamis.run("fit", "train.svm", "-o", "model.json", "--quiet", *arguments)
    x, y = planted(seed + 10_000, rows=4000, **{key: value for key, value in shape.items() if key != "rows"})
    tamis.write_svmlight("fresh.svm", x, y)
    return y


def probabilities(tamis, data):
    text = tamis.run("predict", "model.json", data, "--output", "probability")
    return np.array([float(line) for line in text.split()])


def test_held_out_estimates_cover_the_true_error(tamis):
    """The estimate of the selected size is within two standard errors of the error on fresh rows, mostly."""
    z = []
    for seed in range(30):
        fit(tamis, seed)
        said = json.loads(tamis.run("inspect", "model.json", "--json"))
        chosen = next(size for size in said["sizes"] if size["chosen"])
        truth = json.loads(tamis.run("eval", "model.json", "fresh.svm", "--json"))["error"]
        z.append((chosen["error"] - truth) / chosen["standard_error"])
    inside = np.mean(np.abs(z) <= 2)
    assert inside >= 0.83, f"{inside:.2f} of the errors are within two standard errors: {np.round(z, 1)}"
    assert abs(np.mean(z)) <= 0.75, f"the estimates are off by {np.mean(z):.2f} standard errors on average"


def test_held_out_estimates_of_any_size_cover_the_true_error(tamis):
    """A model of any size has a held-out estimate, also between the sizes whose weights were learned. It is about the error on
    fresh rows, also where a size is too small or too large."""
    found = {about: [] for about in (14, 17, 23, 36, 58, 90, 130)}
    for seed in range(400, 412):
        fit(tamis, seed, "--k", "132", columns=160)
        learned = {size["size"] for size in json.loads(tamis.run("inspect", "model.json", "--json"))["sizes"]}
        for about, z in found.items():
            size = next(size for size in range(about, 0, -1) if size not in learned)
            tamis.run("resize", "model.json", "--k", str(size), "-o", "small.json")
            said = json.loads(tamis.run("inspect", "small.json", "--json"))
            chosen = next(step for step in said["sizes"] if step["chosen"])
            assert chosen["size"] == len(said["features"]) == size
            truth = json.loads(tamis.run("eval", "small.json", "fresh.svm", "--json"))["error"]
            z.append((chosen["error"] - truth) / chosen["standard_error"])
    every = np.concatenate(list(found.values()))
    told = {about: np.round(z, 1) for about, z in found.items()}
    assert np.mean(np.abs(every) <= 2) >= 0.83, told
    assert max(abs(np.mean(z)) for z in found.values()) <= 1.0, told


@pytest.mark.parametrize("shift", [0.0, -3.0])
def test_probabilities_are_calibrated_on_fresh_rows(tamis, shift):
    """Log-odds of fresh rows have slope 1 and shift 0 in a logistic regression; also if a class is rare."""
    slopes, shifts, ratios = [], [], []
    for seed in range(100, 112):
        y = fit(tamis, seed, rows=1500, shift=shift)
        p = np.clip(probabilities(tamis, "fresh.svm"), 1e-9, 1 - 1e-9)
        found = LogisticRegression(C=1e9).fit(np.log(p / (1 - p))[:, None], y)
        slopes.append(found.coef_[0, 0])
        shifts.append(found.intercept_[0])
        ratios.append(p.mean() / y.mean())
    assert abs(np.mean(slopes) - 1) < 0.1, np.round(slopes, 2)
    assert abs(np.mean(shifts)) < 0.12, np.round(shifts, 2)
    assert abs(np.mean(ratios) - 1) < 0.08, np.round(ratios, 2)


def test_a_calibration_curve_stays_near_the_diagonal(tamis):
    """In each tenth of the fresh rows, the share of the class is the mean probability, within noise."""
    predicted, observed = [], []
    for seed in range(200, 206):
        y = fit(tamis, seed, rows=1500)
        p = probabilities(tamis, "fresh.svm")
        for part in np.array_split(np.argsort(p), 10):
            predicted.append(p[part].mean())
            observed.append(y[part].mean())
    predicted, observed = np.array(predicted), np.array(observed)
    noise = np.sqrt(predicted * (1 - predicted) / 400)
    miss = np.abs(predicted - observed)
    assert np.mean(miss <= 2 * noise + 0.02) >= 0.9, np.round(miss / noise, 1)
    assert miss.mean() <= 0.035


def test_several_classes_have_calibrated_probabilities(tamis):
    """The mean probability of each class is its share, and the probabilities of a row sum to one."""
    rng = np.random.default_rng(5)

    def rows(count):
        x = rng.standard_normal((count, 20))
        scores = np.c_[1.5 * x[:, 0], 1.5 * x[:, 1], -1 + x[:, 2]] + rng.gumbel(size=(count, 3))
        return x, scores.argmax(1)

    x, y = rows(1500)
    tamis.write_svmlight("train.svm", x, y)
    tamis.run("fit", "train.svm", "-o", "model.json", "--quiet", "--task", "multiclass")
    x, y = rows(6000)
    tamis.write_svmlight("fresh.svm", x, y)
    lines = tamis.run("predict", "model.json", "fresh.svm", "--output", "probability").splitlines()
    p = np.array([[float(pair.split(":")[1]) for pair in line.split()] for line in lines])
    assert p.shape == (6000, 3)
    np.testing.assert_allclose(p.sum(1), 1, atol=1e-9)
    shares = np.bincount(y, minlength=3) / len(y)
    np.testing.assert_allclose(p.mean(0), shares, atol=0.03)


def test_kappa_counts_agreement_beyond_chance(tamis):
    """κ is near 0 where the label says nothing of the columns, and near 1 where it says everything."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 60))
    tamis.write_svmlight("noise.svm", x, rng.integers(0, 2, 300))
    tamis.write_svmlight("clear.svm", x, (x[:, :3].sum(1) > 0).astype(int))

    def kappa(data, k):
        run = tamis.run("stability", data, "--k", k, "--runs", 10, "--share", 0.5, "--json", "--quiet")
        return json.loads(run)["kappa"]

    assert kappa("noise.svm", 6) < 0.45
    assert kappa("clear.svm", 3) > 0.95


def autoregression(seed, rows=600, columns=300):
    """Neighbouring columns have correlation 0.7; numbers that are linear in every thirtieth of them."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, columns))
    for column in range(1, columns):
        x[:, column] = 0.7 * x[:, column - 1] + np.sqrt(1 - 0.7**2) * x[:, column]
    true = np.arange(15, columns, 30)
    return x, x[:, true].sum(axis=1) + 3 * rng.standard_normal(rows), set(true + 1)


def test_few_features_of_a_sparse_model_are_neighbours_of_true_ones(tamis):
    """The features with nothing set, where the truth is sparse among correlated columns."""
    false, found = [], []
    for seed in range(300, 308):
        x, y, true = autoregression(seed)
        tamis.write_svmlight("train.svm", x, y)
        tamis.run("fit", "train.svm", "-o", "model.json", "--quiet", "--loss", "squared")
        model = json.loads(tamis.run("inspect", "model.json", "--json"))
        names = {int(feature["name"]) for feature in model["features"]}
        false.append(len(names - true) / len(names))
        found.append(len(names & true) / len(true))
    assert np.mean(false) <= 0.15, f"share of false features: {np.round(false, 2)}"
    assert np.mean(found) >= 0.8, f"share of true features found: {np.round(found, 2)}"


def test_sofs_keeps_features_whatever_they_say(tamis):
    """Of columns with one spread, sofs keeps true and other ones alike, as its page and a note say; tsgd does not."""
    found = {"sofs": [], "tsgd": []}
    for seed in range(300, 330):
        tamis.write_svmlight("train.svm", *planted(seed))
        for method, shares in found.items():
            _, weights = tamis.fit("train.svm", "--method", method, "--k", 10)
            shares.append(sum(str(place) in weights for place in range(1, 6)) / 5)
    shares = np.array(found["sofs"])
    assert abs(shares.mean() - 10 / COLUMNS) <= 3 * shares.std() / np.sqrt(len(shares)), shares
    assert np.mean(found["tsgd"]) > 0.6, found["tsgd"]
