"""Makes the data of the examples in the guide: python3 docs/examples.py FOLDER.

The files are generated from fixed seeds with Python's standard library alone, so that examples give the same results
everywhere.
"""

import csv
import math
import random
import sys
from pathlib import Path

TOWNS = ["Lima", "Oslo", "Rome", "Zürich"]


def customers(count: int, seed: int) -> list[dict]:
    """Who leaves: decided by age, visits, one plan and one town; the other columns are noise."""
    draw = random.Random(seed)
    rows = []
    for number in range(count):
        age, visits = draw.randint(18, 79), draw.randint(0, 9)
        plan, town = draw.choice(["basic", "plus", "team"]), draw.choice(TOWNS)
        score = 0.06 * (age - 48) - 0.45 * (visits - 4.5) + 1.5 * (plan == "basic") + 1.2 * (town == "Oslo") - 0.8
        leaves = draw.random() < 1 / (1 + math.exp(-score))
        rows.append(
            {
                "customer": f"C{seed}{number:05d}",
                "age": age,
                "town": town,
                "plan": plan,
                "visits": "" if draw.random() < 0.03 else visits,
                "income": round(draw.lognormvariate(10, 0.5), 2),
                "joined": f"20{draw.randint(15, 24)}-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}",
                "churned": "yes" if leaves else "no",
            }
        )
    return rows


def write_table(path: Path, rows: list[dict], without: str = "") -> None:
    names = [name for name in rows[0] if name != without]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def sparse_rows(count: int, seed: int) -> list[tuple[float, dict[int, float]]]:
    """Rows of 300 features, ten of them in each; five decide the number."""
    draw = random.Random(seed)
    truth = {3: 2.0, 17: -1.5, 40: 1.0, 71: -1.0, 110: 0.5}
    rows = []
    for _ in range(count):
        row = {feature: round(draw.gauss(0, 1), 4) for feature in draw.sample(range(1, 301), 8)}
        row |= {feature: round(draw.gauss(0, 1), 4) for feature in truth if draw.random() < 0.4}
        target = sum(truth.get(feature, 0) * value for feature, value in row.items()) + draw.gauss(0, 0.3)
        rows.append((round(target, 4), dict(sorted(row.items()))))
    return rows


def write_svmlight(path: Path, rows, label=lambda target: target) -> None:
    lines = (f"{label(target)} " + " ".join(f"{k}:{v}" for k, v in row.items()) for target, row in rows)
    path.write_text("".join(f"{line}\n" for line in lines))


def write_vw(path: Path, rows) -> None:
    lines = (f"{1 if target > 0 else -1} |f " + " ".join(f"w{k}:{v}" for k, v in row.items()) for target, row in rows)
    path.write_text("".join(f"{line}\n" for line in lines))


def make(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_table(folder / "customers.csv", customers(2000, 1))
    write_table(folder / "labelled.csv", customers(1000, 2))
    write_table(folder / "new.csv", customers(200, 3), without="churned")
    for day, seed in (("monday", 4), ("tuesday", 5), ("wednesday", 6)):
        write_svmlight(folder / f"{day}.svm", sparse_rows(1500, seed))
    write_svmlight(folder / "clicks.svm", sparse_rows(3000, 7), lambda target: 1 if target > 0 else -1)
    write_vw(folder / "clicks.vw", sparse_rows(3000, 7))


if __name__ == "__main__":
    make(Path(sys.argv[1]))
