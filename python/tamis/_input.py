"""From what users have to what the core reads: matrices, tables of Arrow, files, iterators of batches."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, validate_data

from .errors import DataError


@dataclass(slots=True)
class Table:
    """Rows for the core. ``cells`` is an array, or (indptr, indices, data, width), or has ``__arrow_c_stream__``."""

    cells: Any
    names: list[str] | None = None
    labels: np.ndarray | None = None
    classes: list[float | str] = field(default_factory=list)
    weights: np.ndarray | None = None
    known: str | None = None


READING = {
    "format": None,
    "target": None,
    "weight": None,
    "ignore": [],
    "categorical": [],
    "missing": "error",
    "zero_based": False,
    "skip_bad": False,
}


def as_paths(X) -> list[str] | None:
    """The paths that ``X`` is made of, or nothing if it is data."""
    many = X if isinstance(X, (list, tuple)) and len(X) > 0 else [X]
    if all(isinstance(one, (str, os.PathLike)) for one in many):
        return [os.fspath(one) for one in many]
    return None


def is_batches(X) -> bool:
    """Whether ``X`` is an iterator of batches and not data."""
    return isinstance(X, Iterator)


def is_mixed(X) -> bool:
    """Whether ``X`` is a table that scikit-learn would not take as numbers: Arrow data, or columns of strings."""
    if not hasattr(X, "__arrow_c_stream__"):
        return False
    if not hasattr(X, "dtypes"):  # pyarrow, DuckDB, … : the core reads these by itself
        return True
    kinds = X.dtypes if isinstance(X.dtypes, list) else list(X.dtypes)
    return not all(_is_number(kind) for kind in kinds)


def _is_number(kind) -> bool:
    if isinstance(kind, np.dtype):
        return kind.kind in "biuf"
    numeric = getattr(kind, "is_numeric", None)  # polars has a method, pandas a private attribute
    if callable(numeric):
        return bool(numeric()) or str(kind) == "Boolean"
    return bool(getattr(kind, "_is_numeric", False) or getattr(kind, "_is_boolean", False) or "Sparse" in str(kind))


def column_names(X) -> list[str]:
    """The names of a table's columns."""
    names = getattr(X, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        names = getattr(X, "column_names", None) or X.schema.names
    return [str(name) for name in names]


def rows_of(X, y) -> int:
    """The number of a table's rows, and of its labels."""
    rows = len(X) if hasattr(X, "__len__") else X.num_rows
    if y is not None and len(y) != rows:
        raise DataError(f"Found input variables with inconsistent numbers of samples: {rows}, {len(y)}")
    return rows


def weights_of(sample_weight, rows: int) -> np.ndarray | None:
    """Checked importance weights, or nothing."""
    if sample_weight is None:
        return None
    rows_alone = np.empty((rows, 0))
    checked = _check_sample_weight(sample_weight, rows_alone, dtype=np.float64, ensure_non_negative=True)
    return np.ascontiguousarray(checked)


def cells_of(X):
    """A checked matrix as the core takes it, without a copy where its layout allows."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X.indptr.astype(X.indices.dtype, copy=False), X.indices, X.data, X.shape[1]


def check(estimator, X, y="no_validation", *, reset, **more):
    """``validate_data`` with what all estimators here ask of a matrix."""
    kinds = [np.float64, np.float32]
    return validate_data(
        estimator, X, y, reset=reset, accept_sparse="csr", dtype=kinds, order="C", accept_large_sparse=True, **more
    )


def labels_of(classes: np.ndarray) -> list[float | str]:
    """Classes as the core and its files have them: numbers, or else texts."""
    if classes.dtype.kind in "biuf":
        return [float(one) for one in classes]
    return [str(one) for one in classes]


def classes_of(labels: list[float | str]) -> np.ndarray:
    """Classes from a file: whole numbers are integers."""
    if all(isinstance(one, float) for one in labels):
        numbers = np.array(labels)
        return numbers.astype(np.int64) if np.all(numbers == np.round(numbers)) else numbers
    if all(isinstance(one, str) for one in labels):
        return np.array(labels)
    return np.array(labels, dtype=object)
