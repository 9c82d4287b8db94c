"""Moments from sums of products that were computed elsewhere, checked before they are used."""

import json
import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from . import _core, _input
from .errors import DataError, ParamError

# Relative differences that rounding explains, of sums with 1e8 terms.
ROUNDING = 1e-8


class Given(NamedTuple):
    """What is known of the rows."""

    rows: int
    weight: float | None
    squared_weight: float | None
    names: list[str] | None
    classes: Any
    centered: bool


def moments(gram, target_products, target_squares, sums, target_sums, given):
    """The core of the moments, and their columns."""
    rows, weight, squared = _counts(given)
    gram = _array("gram", gram, 2)
    size = gram.shape[0]
    if gram.shape != (size, size):
        raise DataError(f"gram must be square, got {gram.shape[0]} × {gram.shape[1]}")
    names = _names(given.names, size)
    sums = _array("sums", sums, 1, (size,))
    targets = 1 if given.classes is None else len(given.classes)
    products, squares, target_sums = _targets(target_products, target_squares, target_sums, size, targets, weight, given)
    whole = np.block([[squares, products.T], [products, gram]])
    means = np.concatenate([target_sums, sums]) / weight
    if not given.centered:
        whole = _centered(whole, means, weight, names, targets)
    _check_symmetric(whole, names, targets)
    _check_definite(whole)
    triangle = np.ascontiguousarray(whole[np.tril_indices(targets + size)])
    columns = json.dumps(_column_list(given.classes) + [{"feature": name} for name in names])
    core = _core.Moments.from_statistics(columns, [float(rows), weight, squared], means.tolist(), triangle)
    return core, _columns(given.names, size)


def _counts(given):
    rows = given.rows
    if isinstance(rows, bool) or int(rows) != rows or rows < 1:
        raise ParamError(f"rows must be a whole number of at least 1, got {rows!r}")
    weight = float(rows if given.weight is None else given.weight)
    squared = float(rows if given.squared_weight is None else given.squared_weight)
    if not (weight > 0 and math.isfinite(weight) and squared > 0 and math.isfinite(squared)):
        raise ParamError(f"weight and squared_weight must be positive numbers, got {weight} and {squared}")
    if (given.weight is None) != (given.squared_weight is None):
        raise ParamError("weight and squared_weight must be given together")
    # W² ≤ n·Σw² (Cauchy and Schwarz).
    if weight**2 > rows * squared * (1 + ROUNDING):
        raise DataError(f"no {rows} weights have the sum {weight} and the sum of squares {squared}")
    return int(rows), weight, squared


def _array(name, value, dimensions, shape=None):
    array = np.asarray(value, dtype=float)
    if array.ndim != dimensions or (shape is not None and array.shape != shape):
        expected = f"shape {shape}" if shape is not None else f"{dimensions} dimensions"
        raise DataError(f"{name} must have {expected}, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise DataError(f"{name} has an entry that is not finite")
    return array


def _names(names, size):
    if names is None:
        return [str(number + 1) for number in range(size)]
    names = list(names)
    if len(names) != size:
        raise DataError(f"names must have one name a column of gram, {size}, got {len(names)}")
    if not all(isinstance(name, str) for name in names):
        raise ParamError("names must be strings")
    if len(set(names)) != size:
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"the name {twice!r} occurs twice")
    return names


def _targets(products, squares, sums, size, targets, weight, given):
    """The products of features with targets, those of targets, and the sums of targets; classes as columns of 0 and 1."""
    if given.classes is None:
        if squares is None:
            raise ParamError("target_squares is required if the target is a number")
        squares = _array("target_squares", squares, 0).reshape(1, 1)
        sums = _array("target_sums", sums, 0).reshape(1)
        return _array("target_products", products, 1, (size,)).reshape(size, 1), squares, sums
    if len(set(given.classes)) != targets or targets < 2:
        raise ParamError(f"classes must be at least two different ones, got {list(given.classes)!r}")
    if squares is not None:
        raise ParamError("target_squares is for numbers: the squares of classes are their sums")
    sums = _array("target_sums", sums, 1, (targets,))
    if (sums < 0).any() or abs(sums.sum() - weight) > ROUNDING * weight:
        raise DataError(f"the weights of the classes add up to {sums.sum()}, and all rows to {weight}")
    squares = np.diag(sums) - (np.outer(sums, sums) / weight if given.centered else 0.0)
    return _array("target_products", products, 2, (size, targets)), squares, sums


def _centered(whole, means, weight, names, targets):
    """Sums of products of centred values: C = G − W·μμᵀ."""
    centered = whole - weight * np.outer(means, means)
    for place, (variance, square) in enumerate(zip(centered.diagonal(), whole.diagonal(), strict=True)):
        if variance < -ROUNDING * max(square, np.finfo(float).tiny):
            what = "the target" if place < targets else f"{names[place - targets]!r}"
            raise DataError(f"the variance of {what} would be negative: the sum and the sum of squares do not fit the rows")
        if variance <= 1e-14 * square:  # a constant column
            centered[place, :] = centered[:, place] = 0.0
    return centered


def _check_symmetric(whole, names, targets):
    scale = np.sqrt(np.abs(np.outer(whole.diagonal(), whole.diagonal()))) + np.finfo(float).tiny
    differences = np.abs(whole - whole.T) / scale
    if whole.size and differences.max() > ROUNDING:
        places = np.unravel_index(differences.argmax(), differences.shape)
        a, b = (names[place - targets] for place in places)  # the blocks of the target are symmetric
        raise DataError(f"gram is not symmetric: the products of {a!r} and {b!r} differ by more than rounding")


def _check_definite(whole):
    """Correlations of real rows are positive semidefinite: with a little more on the diagonal they have a Cholesky factor."""
    deviations = np.sqrt(np.maximum(whole.diagonal(), 0.0))
    used = deviations > 0
    if (np.abs(whole[~used]) > 0).any():
        raise DataError("a column has no variance but a covariance: the products are not those of rows")
    correlations = whole[np.ix_(used, used)] / np.outer(deviations[used], deviations[used])
    try:
        np.linalg.cholesky(correlations + ROUNDING * max(1, len(correlations)) * np.eye(len(correlations)))
    except np.linalg.LinAlgError:
        raise DataError("the products are not positive semidefinite: no rows have them. Were parts lost or added twice?") from None


def _column_list(classes):
    if classes is None:
        return [{"target": "label"}]
    labels = _input.labels_of(np.asarray(classes))
    return [{"class": label} for label in labels]


def _columns(names, size):
    columns = BaseEstimator()
    columns.n_features_in_ = size
    if names is not None:
        columns.feature_names_in_ = np.array(names, dtype=object)
    columns._seen = None
    return columns
