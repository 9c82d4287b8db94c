"""Conversion of user data for the core: matrices, Arrow tables, files, iterators of batches."""

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
    "weight_column": None,
    "ignore": [],
    "categorical": [],
    "missing": "error",
    "zero_based": False,
    "on_error": "stop",
}


def as_paths(X) -> list[str] | None:
    """The paths in ``X``, or None if ``X`` is data."""
    many = X if isinstance(X, (list, tuple)) and len(X) > 0 else [X]
    if all(isinstance(one, (str, os.PathLike)) for one in many):
        return [os.fspath(one) for one in many]
    return None


def is_batches(X) -> bool:
    """Whether ``X`` is an iterator of batches."""
    return isinstance(X, Iterator)


def is_mixed(X) -> bool:
    """Whether ``X`` is a table that scikit-learn cannot convert to numbers: Arrow data, or columns of strings."""
    if not hasattr(X, "__arrow_c_stream__"):
        return False
    if not hasattr(X, "dtypes"):  # the core reads pyarrow, DuckDB, … directly
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


def arrow_of(X):
    """A table as an Arrow stream. The index of pandas is not a column: it would be learned as a feature."""
    if hasattr(X, "iloc"):
        import pyarrow

        return pyarrow.Table.from_pandas(X, preserve_index=False)
    return X


def column_names(X) -> list[str]:
    """The names of a table's columns."""
    names = getattr(X, "columns", None)
    if names is None or not all(isinstance(name, str) for name in names):
        names = getattr(X, "column_names", None) or X.schema.names
    return [str(name) for name in names]


def rows_of(X, y) -> int:
    """The number of rows of a table; the number of labels must be the same."""
    rows = len(X) if hasattr(X, "__len__") else X.num_rows
    if y is not None and len(y) != rows:
        raise DataError(f"Found input variables with inconsistent numbers of samples: {rows}, {len(y)}")
    return rows


def weights_of(sample_weight, rows: int) -> np.ndarray | None:
    """Checked row weights, or None."""
    if sample_weight is None:
        return None
    rows_alone = np.empty((rows, 0))
    checked = _check_sample_weight(sample_weight, rows_alone, dtype=np.float64, ensure_non_negative=True)
    return np.ascontiguousarray(checked)


def cells_of(X):
    """A checked matrix in the form that the core reads, without a copy if possible."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X.indptr.astype(X.indices.dtype, copy=False), X.indices, X.data, X.shape[1]


def check(estimator, X, y="no_validation", *, reset, **more):
    """``validate_data`` with the requirements of all estimators here."""
    kinds = [np.float64, np.float32]
    return validate_data(
        estimator, X, y, reset=reset, accept_sparse="csr", dtype=kinds, order="C", accept_large_sparse=True, **more
    )


def labels_of(classes: np.ndarray) -> list[float | str]:
    """Classes in the form of the core: numbers or strings."""
    if classes.dtype.kind in "biuf":
        return [float(one) for one in classes]
    return [str(one) for one in classes]


def classes_of(labels: list[float | str]) -> np.ndarray:
    """Classes from a file; whole numbers become integers."""
    if all(isinstance(one, float) for one in labels):
        numbers = np.array(labels)
        return numbers.astype(np.int64) if np.all(numbers == np.round(numbers)) else numbers
    if all(isinstance(one, str) for one in labels):
        return np.array(labels)
    return np.array(labels, dtype=object)
