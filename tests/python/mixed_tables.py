"""Tables as people have them: numbers, categories, dates, ids, missing and odd cells, with a known task."""

import numpy as np
import pandas as pd

TOWNS = ["Oslo", "Rome, IT", "Zürich", "Lima", "Baku", "Kyoto", "Quito"]
PLANS = ["basic", "pro", "team"]
#: Ways to write a date; strftime's words.
DATE_FORMS = ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%Y-%m-%dT%H:%M:%S"]
#: Ways to write a number.
NUMBER_FORMS = [
    lambda value: f"{value:.2f}",
    lambda value: f"${value:,.2f}",
    lambda value: f"{value:.2f}".replace(".", ","),
    lambda value: f"{value:.1f}%",
    lambda value: f"{value:,.2f}",
]
MISSING = ["", "NA", "?", "-", "N/A", "null"]
ODD = ["oops", "n.v.", "#REF!", "see notes"]
#: The kinds of labels, and the task of each.
LABELS = {
    "words": "binary",
    "zero and one": "binary",
    "yes and no": "binary",
    "codes": "multiclass",
    "names": "multiclass",
    "decimals": "regression",
    "ages": "regression",
    "counts": "regression",
    "rounded": "regression",
}


class MixedTable:
    """A table: `written` has the cells of the file, `clean` the numbers, categories and days behind them."""

    def __init__(self, seed, rows):
        rng = np.random.default_rng(seed)
        self.kind = list(LABELS)[seed % len(LABELS)]
        self.task = LABELS[self.kind]
        numbers = 2 + seed % 4
        clean, written = {}, {}
        score = np.zeros(rows)
        for at in range(numbers):
            centre, spread = rng.uniform(-50, 500), rng.uniform(0.5, 80)
            values = np.round(centre + spread * rng.normal(size=rows), 2)
            score += rng.choice([0.0, 0.7, -1.0], p=[0.4, 0.3, 0.3]) * (values - centre) / spread
            form = NUMBER_FORMS[(seed + at) % len(NUMBER_FORMS)]
            clean[f"num{at}"] = values
            written[f"num{at}"] = [form(value) for value in values]
        for name, levels in [("town", TOWNS), ("plan", PLANS)]:
            shares = rng.dirichlet(np.full(len(levels), 3.0))
            values = rng.choice(levels, rows, p=shares)
            effects = dict(zip(levels, rng.choice([0.0, 0.0, 0.9, -0.9], len(levels))))
            score += np.array([effects[value] for value in values])
            clean[name] = values.astype(object)
            written[name] = list(values)
        # A long tail of rare levels without effect.
        tail = np.array([f"ref{int(number)}" for number in rng.zipf(1.5, rows) % 5000], dtype=object)
        clean["source"], written["source"] = tail, list(tail)
        days = rng.integers(0, 1400, rows)
        seconds = rng.integers(0, 86_400, rows) if seed % 5 == 4 else np.zeros(rows, int)
        stamps = pd.Timestamp("2019-03-01") + pd.to_timedelta(days, "D") + pd.to_timedelta(seconds, "s")
        score += rng.choice([0.0, 0.6]) * (days - 700) / 400
        clean["signup"] = days + seconds / 86_400
        written["signup"] = list(stamps.strftime(DATE_FORMS[seed % len(DATE_FORMS)]))
        written["customer_id"] = [f"C{number:06d}" for number in rng.permutation(rows)]
        written["row"] = list(range(1, rows + 1))
        self.clean = pd.DataFrame(clean)
        self.written = pd.DataFrame(written).astype(object)
        self.spoil(rng, numbers)
        self.labels = self.label(rng, score / max(score.std(), 1e-9) * 1.5)
        self.written["y"] = self.labels

    def spoil(self, rng, numbers):
        """Missing cells in some columns, and a few odd cells in one column of numbers."""
        rows = len(self.clean)
        for name in [f"num{at}" for at in range(numbers)] + ["town"]:
            if rng.random() < 0.6:
                gone = rng.random(rows) < rng.uniform(0.02, 0.12)
                self.clean.loc[gone, name] = np.nan
                self.written.loc[gone, name] = MISSING[rng.integers(len(MISSING))] if name != "town" else ""
        odd = rng.random(rows) < 0.004
        odd[int(rng.integers(200))] = True
        self.clean.loc[odd, "num0"] = np.nan
        self.written.loc[odd, "num0"] = rng.choice(ODD, odd.sum())

    def label(self, rng, score):
        noisy = score + rng.logistic(size=len(score))
        two = lambda names: [names[int(value > 0)] for value in noisy]
        cuts = np.digitize(noisy, np.quantile(noisy, [0.3, 0.7]))
        labels = {
            "words": lambda: two(["stays", "leaves"]),
            "zero and one": lambda: two([0, 1]),
            "yes and no": lambda: two(["no", "yes"]),
            "codes": lambda: list(cuts + 1),
            "names": lambda: [["low", "middle", "high"][cut] for cut in cuts],
            "decimals": lambda: list(np.round(10 * noisy, 3)),
            "ages": lambda: list(np.clip(np.round(45 + 9 * noisy), 18, 95).astype(int)),
            "counts": lambda: list(rng.poisson(np.exp(np.clip(0.9 + 0.5 * score, -3, 3.5)))),
            "rounded": lambda: list(np.round(3 * noisy).astype(int)),
        }
        return labels[self.kind]()
