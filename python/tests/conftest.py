"""What the tests share: data with known truth, the program, and the folder of real data."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def program():
    """Runs the program; ``TAMIS_BIN`` names it."""
    binary = os.environ.get("TAMIS_BIN", str(ROOT / "target" / "release" / "tamis"))
    if not Path(binary).exists():
        pytest.skip(f"SKIPPED, no program at {binary}: make release builds it, TAMIS_BIN names another")

    def run(*arguments):
        done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def real_data():
    """The folder of real data; ``TAMIS_DATA`` names it."""
    folder = Path(os.environ.get("TAMIS_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"SKIPPED, no data in {folder}: TAMIS_DATA names another folder")
    return folder


def words(rows=1500, columns=300, classes=2, seed=0):
    """Sparse numbers, and classes that follow a few common columns."""
    random = np.random.default_rng(seed)
    common = 4 * classes
    parts = [(common, 0.3), (columns - common, 0.02)]
    X = sparse.hstack([sparse.random(rows, width, density, random_state=random) for width, density in parts]).tocsr()
    X.data = np.round(1 + 2 * X.data, 3)
    truth = np.zeros((columns, classes))
    truth[np.arange(common), np.arange(common) % classes] = 3
    scores = X @ truth + np.linspace(0, 0.5, classes) + 0.1 * random.normal(size=(rows, classes))
    return X, scores.argmax(axis=1)


def numbers(rows=600, columns=12, seed=0):
    """Dense columns of different sizes, and a target of three of them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, columns)) * 10.0 ** random.integers(-2, 3, size=columns)
    y = X[:, 1] / X[:, 1].std() - 2 * X[:, 4] / X[:, 4].std() + X[:, 7] / X[:, 7].std() + 5
    return X, y + 0.1 * random.normal(size=rows)


def svmlight(folder, X, y):
    """The data as a file, numbers written so that nothing is lost."""
    path = folder / "train.svm"
    with path.open("w") as file:
        dense = sparse.csr_array(X)
        for row in range(dense.shape[0]):
            span = slice(dense.indptr[row], dense.indptr[row + 1])
            cells = zip(dense.indices[span].tolist(), dense.data[span].tolist(), strict=True)
            file.write(f"{y[row].item()!r} " + " ".join(f"{column + 1}:{value!r}" for column, value in cells) + "\n")
    return path
