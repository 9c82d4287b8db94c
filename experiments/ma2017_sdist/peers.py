"""LMNN, NCA and MMC of metric-learn on the data of this experiment, by its protocol: writes `peers.toml` beside this file.

    python3 -m venv .venv-metric && .venv-metric/bin/pip install -r experiments/ma2017_sdist/requirements.txt
    .venv-metric/bin/python experiments/ma2017_sdist/peers.py [--data DIR] [--tamis PROGRAM] [--only NAMES]
        [--peers NAMES] [--runs N]

The rows of every split are those of tamis-experiments. Variables are scaled by the training rows; settings are chosen by
three-fold cross-validation of the 3-NN error on training rows; the seconds are processor time of one fit with the chosen
setting. MMC learns a diagonal metric where there are more than 50 variables: the full one takes hours. A fit that fails,
or takes more than `--seconds` of processor time, takes its setting out of the choice; where none is left there is no cell,
and `not-run` of the row in expected.toml says so.
"""

import argparse
import os
import signal
import subprocess
import tempfile
import time
import tomllib
import warnings
from pathlib import Path

import numpy as np
from metric_learn import LMNN, MMC_Supervised, NCA
from sklearn.datasets import load_svmlight_file
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

MASK = (1 << 64) - 1
ENDINGS = ["", ".zst", ".gz", ".xz", ".bz2"]
HERE = Path(__file__).parent
NAMES = ("lmnn", "nca", "mmc")


def mix(number):
    """SplitMix64's finalizer, as in crates/tamis/src/rng.rs."""
    number = (number + 0x9E3779B97F4A7C15) & MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & MASK
    return number ^ (number >> 31)


def in_share(row, share, seed, run):
    """Whether a row is learned from, as in crates/tamis/src/data/splits.rs."""
    key = (mix(mix(seed) ^ 0x73686172) + run) & MASK
    return (mix(mix(key) ^ mix(row)) >> 11) / (1 << 53) < share


def settings(name, rows, width):
    """The settings to choose from."""
    if name == "lmnn":
        rates = [1e-7, 1e-6, 1e-5, 1e-4]
        return [dict(n_neighbors=3, learn_rate=rate, max_iter=100, init="identity") for rate in rates]
    if name == "nca":
        sizes = [size for size in (5, 20, 50) if size < width] or [width]
        return [dict(n_components=size, init="pca", max_iter=50) for size in sizes]
    full = [] if width > 50 else [dict(diagonal=False, init="identity", max_iter=50)]
    return full + [dict(diagonal=True, init="identity", max_iter=50, n_constraints=count) for count in (200, 2000)]


def learner(name, setting):
    kind = {"lmnn": LMNN, "nca": NCA, "mmc": MMC_Supervised}[name]
    return kind(**setting) if name == "lmnn" else kind(random_state=0, **setting)


class TooSlow(Exception):
    pass


def too_slow(*_):
    raise TooSlow


def error(name, setting, train, test, limit):
    """The 3-NN error under the metric, and the seconds its learning took."""
    (x, y), (new, truth) = train, test
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        started = time.process_time()
        fitted = learner(name, setting).fit(x, y)
        seconds = time.process_time() - started
        places = fitted.transform(x), fitted.transform(new)
    except (TooSlow, ValueError, ArithmeticError, np.linalg.LinAlgError):
        return 1.0, float(limit)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    if not all(np.isfinite(place).all() for place in places):
        return 1.0, seconds
    voters = KNeighborsClassifier(3).fit(places[0], y)
    return float(np.mean(voters.predict(places[1]) != truth)), seconds


def chosen(name, x, y, limit):
    """The setting of least error over three folds, or None if no fit of any setting ends."""
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(x, y))
    def mean(setting):
        errors = []
        for a, b in folds:
            errors.append(error(name, setting, (x[a], y[a]), (x[b], y[b]), limit)[0])
            if errors[-1] == 1.0:
                return 1.0
        return np.mean(errors)
    best, setting = min(((mean(setting), at, setting) for at, setting in enumerate(settings(name, *x.shape))))[::2]
    return setting if best < 1.0 else None


def scaled(train, test):
    centre, spread = train.mean(axis=0), train.std(axis=0)
    varies = spread > 1e-12
    return [(part[:, varies] - centre[varies]) / spread[varies] for part in (train, test)]


def read(program, folder, name, width=None):
    found = [folder / (name + ending) for ending in ENDINGS if (folder / (name + ending)).is_file()]
    if not found:
        return None
    with tempfile.TemporaryDirectory() as scratch:
        plain = Path(scratch) / "data.svm"
        subprocess.run([program, "convert", found[0], plain], check=True)
        rows, labels = load_svmlight_file(str(plain), n_features=width)
    return rows.toarray(), labels


def parts(program, folder, data, protocol, run):
    """Training and test rows of one run, or None if there is no such run or no such file."""
    seed = protocol.get("seed", 0)
    if made := data.get("generated"):
        with tempfile.TemporaryDirectory() as scratch:
            prefix = str(Path(scratch) / "made")
            sizes = ["--n", made["n"] + made["test-rows"], "--p", made["p"], "--k", made["k"], "--seed", seed + run]
            subprocess.run([program, "synth", made["kind"], "-o", prefix, *map(str, sizes)], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            x, y = load_svmlight_file(f"{prefix}.svm", n_features=made["p"])
        x, n = x.toarray(), made["n"]
        return (x[:n], y[:n]), (x[n:], y[n:])
    train = read(program, folder, data["train"])
    if train is None:
        return None
    if "test" in data:
        test = read(program, folder, data["test"], train[0].shape[1])
        if not data.get("pooled"):
            keep = lambda part: part if "classes" not in data else tuple(one[np.isin(part[1], data["classes"])] for one in part)
            return (keep(train), keep(test)) if run == 0 else None
        train = np.vstack([train[0], test[0]]), np.concatenate([train[1], test[1]])
    inside = np.array([in_share(row, protocol["train-share"], seed, run) for row in range(len(train[1]))])
    return tuple(tuple(one[which] for one in train) for which in (inside, ~inside))


def summary(values):
    return [float(np.mean(values))] + ([float(np.std(values, ddof=1))] if len(values) > 1 else [])


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, default=Path(os.environ.get("TAMIS_DATA", "../shared/data")))
    options.add_argument("--tamis", default="target/release/tamis")
    options.add_argument("--only", default="")
    options.add_argument("--peers", default=",".join(NAMES))
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--seconds", type=int, default=60)
    asked = options.parse_args()
    warnings.filterwarnings("ignore")
    signal.signal(signal.SIGPROF, too_slow)
    plan = tomllib.loads((HERE / "expected.toml").read_text())
    file = HERE / "peers.toml"
    cells = tomllib.loads(file.read_text()) if file.exists() else {}
    wanted = {}
    for table in plan["tables"].values():
        for row in table.get("rows", []):
            names = [name for name in NAMES
                     if name in asked.peers.split(",") and name in table["columns"] and name not in row.get("not-run", {})]
            wanted.setdefault(row["data"], {}).update(dict.fromkeys(names))
    for data in asked.only.split(",") if asked.only else wanted:
        for name in wanted[data]:
            errors, times, used = [], [], []
            runs = min(asked.runs, plan["data"][data].get("generated", {}).get("runs", asked.runs))
            for run in range(runs):
                found = parts(asked.tamis, asked.data, plan["data"][data], plan["protocol"], run)
                if found is None:
                    break
                (x, y), (new, truth) = found
                # metric-learn takes a negative label for an unknown one.
                y, truth = np.searchsorted(np.unique(y), y), np.searchsorted(np.unique(y), truth)
                x, new = scaled(x, new)
                setting = chosen(name, x, y, asked.seconds)
                if setting is None:
                    print(data, name, run, f"no fit ends within {asked.seconds} s", flush=True)
                    break
                wrong, seconds = error(name, setting, (x, y), (new, truth), 10 * asked.seconds)
                errors.append(wrong), times.append(seconds), used.append(setting)
                print(data, name, run, round(wrong, 4), round(seconds, 2), setting, flush=True)
            if errors:
                words = ", ".join(f"{key}={value}" for key, value in used[0].items())
                cells[f"{data}/{name}"] = dict(setting=f"{words}; {len(errors)} runs", error=summary(errors),
                                               seconds=summary(times))
                text = lambda value: f'"{value}"' if isinstance(value, str) else str(value)
                lines = [f'["{key}"]\n' + "".join(f"{field} = {text(value)}\n" for field, value in cell.items())
                         for key, cell in sorted(cells.items())]
                file.write_text("\n".join(lines))


if __name__ == "__main__":
    main()
