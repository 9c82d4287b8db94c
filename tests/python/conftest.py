"""The program under test, run as a user runs it."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
ASKED = os.environ.get("TAMIS_BIN")
BINARY = Path(ASKED or ROOT / "target/release/tamis")


def pytest_sessionstart(session):
    """A binary that was asked for must be there; without one, everything is skipped and said so."""
    if ASKED and not BINARY.is_file():
        pytest.exit(f"TAMIS_BIN={ASKED} is not a file", returncode=2)


def pytest_collection_modifyitems(items):
    if not BINARY.is_file():
        print(f"\n*** ALL SKIPPED: there is no {BINARY}; `make release` builds it ***")
        for item in items:
            item.add_marker(pytest.mark.skip(reason=f"no program at {BINARY}"))


class Tamis:
    """Runs the program in a directory of its own."""

    def __init__(self, directory):
        self.directory = directory

    def run(self, *arguments):
        """Standard output of a run that must succeed."""
        command = [str(BINARY), *map(str, arguments)]
        done = subprocess.run(command, cwd=self.directory, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{' '.join(command)}\nexit code {done.returncode}\n{done.stderr}"
        return done.stdout

    def fit(self, data, *arguments, model="model.json"):
        """Learns from a file; returns the intercept and the weights by name."""
        self.run("fit", data, *arguments, "--out", model, "--json", "--quiet")
        said = json.loads(self.run("inspect", model, "--top", 0, "--json"))
        return said["intercept"], {feature["name"]: feature["weight"] for feature in said["features"]}

    def write_svmlight(self, name, rows, labels, first=1):
        """A file with every digit of every number, indices from `first`; zeros are left out."""
        with open(self.directory / name, "w") as file:
            for row, label in zip(rows, labels):
                cells = " ".join(f"{j + first}:{float(value)!r}" for j, value in enumerate(row) if value != 0)
                file.write(f"{float(label)!r} {cells}\n")
        return name


def dense(weights, columns, first=1):
    """Weights by name as an array over columns."""
    stray = set(weights) - {str(j + first) for j in range(columns)}
    assert not stray, f"features that are no columns: {sorted(stray)}"
    return np.array([weights.get(str(j + first), 0.0) for j in range(columns)])


@pytest.fixture
def tamis(tmp_path):
    return Tamis(tmp_path)
