"""Base class of all estimators: parameters, and data for the core."""

import os

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from . import _input
from .errors import DataError, ParamError


class Rows(BaseEstimator):
    """An estimator that accepts matrices, tables, files and iterators of batches."""

    # -- parameters

    def _threads(self) -> int:
        """The number of threads; results do not depend on it."""
        jobs = getattr(self, "n_jobs", None)
        return (os.cpu_count() or 1) if jobs is None or jobs < 0 else min(max(1, jobs), 1024)

    def _seed(self) -> int:
        """The seed; ``None`` is 0, so that the same data give the same model."""
        if self.random_state is None:
            return 0
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _reading(self) -> dict:
        given = getattr(self, "reading", None) or {}
        unknown = set(given) - set(_input.READING)
        if unknown:
            raise ParamError(f"unknown option of reading: {sorted(unknown)}; expected {sorted(_input.READING)}")
        return {**_input.READING, **given}

    # -- data

    def _matrix(self, X, y, sample_weight, *, reset):
        """A matrix and its labels, checked by scikit-learn, for the core."""
        X, y = _input.check(self, X, y, reset=reset, **self._label_checks())
        return self._table(_input.cells_of(X), self._names(), y, _input.weights_of(sample_weight, X.shape[0]))

    def _label_checks(self) -> dict:
        return {}

    def _names(self):
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _mixed(self, X, y, sample_weight, *, reset):
        """An Arrow table and its labels for the core, which determines the types of the columns."""
        names = _input.column_names(X)
        if reset:
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        weights = _input.weights_of(sample_weight, _input.rows_of(X, y))
        return self._table(_input.arrow_of(X), None, None if y is None else np.asarray(y), weights)

    def _table(self, cells, names, y, weights):
        labels, classes = self._labels(y)
        return _input.Table(cells, names, labels, classes, weights)

    def _any(self, X, y, sample_weight, *, reset):
        if _input.is_mixed(X):
            return self._mixed(X, y, sample_weight, reset=reset)
        return self._matrix(X, y, sample_weight, reset=reset)

    def _batches(self, batches):
        """Tables from an iterator of (X, y) or (X, y, weights). The first batch determines the columns."""
        first = True
        for batch in batches:
            X, y, *rest = batch
            yield self._any(X, y, rest[0] if rest else None, reset=first)
            first = False

    def _forget_shape(self) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)

    def _data(self, X, y, sample_weight):
        """Training data for the core: a table, files with reading options, or an iterator of tables."""
        paths = _input.as_paths(X)
        stream = paths is not None or _input.is_batches(X)
        if stream and (y is not None or sample_weight is not None):
            raise DataError("files and batches contain labels and weights: do not pass y or sample_weight")
        if stream:
            self._forget_shape()
            return (paths, self._reading()) if paths is not None else self._batches(X)
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        return self._any(X, y, sample_weight, reset=True)

    def _known(self, X, columns):
        """Rows without labels for a fitted model; ``columns`` is the schema that the core stored."""
        if _input.is_mixed(X):
            return _input.Table(_input.arrow_of(X), known=columns)
        names = self._names()
        if hasattr(self, "n_features_in_"):
            X = _input.check(self, X, reset=False)
        else:  # fitted to a stream: columns are matched by name or by number
            names = list(X.columns) if hasattr(X, "columns") else None
            X = _input.check(BaseEstimator(), X, reset=True)
        return _input.Table(_input.cells_of(X), names)

    def _column_of(self):
        """A function from the name of a feature to the number of its column."""
        if not hasattr(self, "n_features_in_"):
            raise AttributeError("the model was fitted to a stream without fixed columns: see features_")
        names = self._names()
        if names is None:
            return lambda name: int(name) - 1
        places = {name: place for place, name in enumerate(names)}

        def find(name):
            if name not in places:
                raise AttributeError(f"{name!r} is a category or a product, not a column: see features_")
            return places[name]

        return find


class Classes:
    """Mixin for estimators whose labels are classes."""

    def _labels(self, y):
        if y is None:
            return None, []
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        self.classes_ = classes
        if len(classes) == 1:
            raise DataError(
                f"{type(self).__name__} needs at least two classes, got one class: {classes[0]!r}"
            )
        return np.ascontiguousarray(codes, dtype=np.int64), _input.labels_of(classes)

    def _class_task(self) -> str:
        return "binary" if len(self.classes_) == 2 else "multiclass"
