"""Conversion of user data for the core: matrices, Arrow tables, files, iterators of batches."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight, _check_y, validate_data

from .errors import DataError


@dataclass(slots=True)
class Table:
    """Rows for the core. ``cells`` is an array, or (indptr, indices, data, width), or has ``__arrow_c_stream__``; then
    ``known`` is the schema of a fitted model, ``reading`` says what missing values mean, and the core adds the names of the
    features to ``seen``."""

    cells: Any
    names: list[str] | None = None
    labels: np.ndarray | None = None
    classes: list[float | str] = field(default_factory=list)
    weights: np.ndarray | None = None
    known: str | None = None
    reading: dict | None = None
    seen: set[str] | None = None


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
    """Whether ``X`` is an iterator of batches. A reader of Arrow data is a table."""
    return isinstance(X, Iterator) and not hasattr(X, "__arrow_c_stream__")


def weights_of(sample_weight, rows: int) -> np.ndarray | None:
    """Checked row weights, or None."""
    if sample_weight is None:
        return None
    rows_alone = np.empty((rows, 0))
    checked = _check_sample_weight(sample_weight, rows_alone, dtype=np.float64, ensure_non_negative=True)
    return np.ascontiguousarray(checked)


def cells_of(X, *, check_order=True):
    """A checked matrix in the form that the core reads, without a copy if possible. The core refuses rows whose columns do not
    ascend; with ``check_order``, they are sorted and repeated columns added up."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    if check_order and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X.indptr.astype(X.indices.dtype, copy=False), X.indices, X.data, X.shape[1]


def check(estimator, X, y="no_validation", *, reset, **more):
    """``validate_data`` with the requirements of all estimators here."""
    kinds = [np.float64, np.float32]
    return validate_data(
        estimator, X, y, reset=reset, accept_sparse="csr", dtype=kinds, order="C", accept_large_sparse=True, **more
    )


LARGEST_EXACT = 2**53


def labels_of(classes: np.ndarray) -> list[float | str]:
    """Classes in the form of the core: numbers or strings, in the same order. Integers that are not exact as numbers of the
    core are strings of digits."""
    if classes.dtype.kind in "iu" and len(classes) and max(abs(int(classes[0])), abs(int(classes[-1]))) > LARGEST_EXACT:
        if classes[0] < 0:
            raise DataError(f"the class {int(classes[0])} cannot be told from its neighbours: pass the classes as strings")
        return [f"{int(one):020d}" for one in classes]
    if classes.dtype.kind in "biuf":
        return [float(one) for one in classes]
    return [str(one) for one in classes]


def classes_of(labels: list[float | str]) -> np.ndarray:
    """Classes from a file; whole numbers become integers."""
    if all(isinstance(one, float) for one in labels):
        numbers = np.array(labels)
        return numbers.astype(np.int64) if np.all(numbers == np.round(numbers)) else numbers
    if all(isinstance(one, str) for one in labels):
        if labels and all(len(one) == 20 and one.isdecimal() for one in labels):
            return np.array([int(one) for one in labels])
        return np.array(labels)
    return np.array(labels, dtype=object)


def check_labels(y, estimator, *, numeric: bool) -> np.ndarray:
    """Labels that come with a table, checked as scikit-learn checks those of a matrix."""
    return _check_y(y, multi_output=False, y_numeric=numeric, estimator=estimator)
