"""Base class of all estimators: parameters, and data for the core."""

import functools
import itertools
import json
import re
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np
from joblib import effective_n_jobs
from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.multiclass import check_classification_targets

from . import _frames, _input
from .errors import DataError, ParamError


P = ParamSpec("P")
R = TypeVar("R")

# Rules for missing values that need the means of the columns.
MEANS = ("auto", "mean", "indicator")


def all_or_nothing(method: Callable[P, R]) -> Callable[P, R]:
    """After a failure the estimator is as it was."""

    @functools.wraps(method)
    def run(self: Any, *positional: Any, **named: Any) -> Any:
        before = dict(self.__dict__)
        try:
            return method(self, *positional, **named)
        except BaseException:
            for name in set(self.__dict__) - set(before):
                del self.__dict__[name]
            self.__dict__.update(before)
            raise

    return run


def _begun(batches):
    """The same batches; the first one is read, so that the columns are known."""
    return itertools.chain(list(itertools.islice(batches, 1)), batches)


class Rows(BaseEstimator):
    """An estimator that accepts matrices, tables, files and iterators of batches."""

    # -- parameters

    def _check_params(self) -> None:
        """Checks types and ranges of the parameters as scikit-learn does; the core checks how they go together."""
        if get_config()["skip_parameter_validation"]:
            return
        try:
            self._validate_params()
        except InvalidParameterError as error:
            raise ParamError(str(error)) from None

    def _threads(self) -> int:
        """The number of threads; results do not depend on it."""
        return min(effective_n_jobs(getattr(self, "n_jobs", None)), 1024)

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

    # -- training data

    def _is_table(self, X) -> bool:
        """Whether the core reads the columns of ``X``: those of strings, and missing values if they have a meaning."""
        if type(X).__name__ == "LazyFrame":
            raise DataError("X is a LazyFrame, which has no rows yet: pass X.collect()")
        if _frames.is_mixed(X):
            return True
        missing = self._reading()["missing"]
        if missing == "error" or not hasattr(X, "columns"):
            return False
        return missing in MEANS or _frames.has_missing(X)

    def _matrix(self, X, y, sample_weight, *, reset, check_cells=True, **checks):
        """A matrix and its labels, checked by scikit-learn, for the core. Without ``check_cells``, its values and the order of
        its columns are left to the core."""
        X, y = _input.check(self, X, y, reset=reset, ensure_all_finite=check_cells, **self._label_checks(), **checks)
        if reset:
            self._seen = None
        weights = _input.weights_of(sample_weight, X.shape[0])
        return self._table(_input.cells_of(X, check_order=check_cells), self._names(), y, weights)

    def _label_checks(self) -> dict:
        return {}

    def _names(self):
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names)

    def _mixed(self, X, y, sample_weight, *, reset):
        """An Arrow table and its labels for the core, which determines the types of the columns."""
        X = _frames.arrow_of(X)
        names = _frames.column_names(X)
        if reset:
            self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            _frames.check_names(self._names(), X)
        self._seen = set(getattr(self, "_seen", None) or ())
        if y is not None:
            y = _input.check_labels(y, self, numeric=self._label_checks().get("y_numeric", False))
        weights = _input.weights_of(sample_weight, _frames.rows_of(X, y))
        table = self._table(X, None, y, weights)
        table.reading, table.seen = self._reading(), self._seen
        return table

    def _table(self, cells, names, y, weights):
        labels, classes, weights = self._labels(y, weights)
        return _input.Table(cells, names, labels, classes, weights)

    def _any(self, X, y, sample_weight, *, reset, **checks):
        if self._is_table(X):
            return self._mixed(X, y, sample_weight, reset=reset)
        return self._matrix(X, y, sample_weight, reset=reset, **checks)

    def _batches(self, batches):
        """Tables from an iterator of (X, y) or (X, y, weights). The first batch determines the columns."""
        first = True
        for batch in batches:
            X, y, *rest = batch
            yield self._any(X, y, rest[0] if rest else None, reset=first)
            first = False

    def _forget(self, *names: str) -> None:
        for name in ("n_features_in_", "feature_names_in_", "_seen", *names):
            self.__dict__.pop(name, None)

    def _data(self, X, y, sample_weight, **checks):
        """Training data for the core: a table, files with reading options, or an iterator of tables."""
        paths = _input.as_paths(X)
        stream = paths is not None or _input.is_batches(X)
        if paths is not None and (y is not None or sample_weight is not None):
            raise DataError(
                "X is a string or a list of strings, which are paths of files, and files contain labels and weights: do not"
                " pass y or sample_weight. Texts must become numbers first, by a vectorizer of scikit-learn"
            )
        if stream and (y is not None or sample_weight is not None):
            raise DataError("batches contain labels and weights: do not pass y or sample_weight")
        self._forget("classes_")
        if stream:
            self._check_stream(is_files=paths is not None)
            return (paths, self._reading()) if paths is not None else _begun(self._batches(X))
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        return self._any(X, y, sample_weight, reset=True, **checks)

    def _check_stream(self, *, is_files: bool) -> None:
        """Checks that all parameters can be obeyed for files or batches."""
        if not is_files:
            self._check_means("batches")

    def _check_means(self, what: str) -> None:
        """The means of columns must be known before the first row is read."""
        missing = self._reading()["missing"]
        if missing in MEANS:
            raise ParamError(f'reading={{"missing": "{missing}"}} needs all rows at once: it is not supported for {what}')

    # -- data for a fitted model

    def _known(self, X, columns):
        """Rows without labels for a fitted model; ``columns`` is the schema that the core stored, as JSON."""
        has_categories = self._has_categories(columns)
        if self._is_table(X) or (has_categories and hasattr(X, "columns")):
            if hasattr(self, "feature_names_in_"):
                _frames.check_names(self._names(), X)
            reading = self._reading()
            if reading["missing"] == "skip-row":
                reading["missing"] = "error"  # each row needs a prediction
            return _input.Table(_frames.arrow_of(X), known=columns, reading=reading)
        if has_categories:
            raise ValueError(f"{type(self).__name__} was fitted to columns of categories: pass a frame with the same columns")
        names = self._names()
        if hasattr(self, "n_features_in_"):
            X = _input.check(self, X, reset=False)
        else:  # fitted to a stream: columns are matched by name or by number
            names = list(X.columns) if hasattr(X, "columns") else None
            X = _input.check(BaseEstimator(), X, reset=True)
        return _input.Table(_input.cells_of(X), names)

    def _has_categories(self, columns) -> bool:
        seen = getattr(self, "_seen", None)
        if seen is not None:
            return bool(_frames.category_columns(seen, self._names()))
        return columns is not None and bool(json.loads(columns)["categorical"])

    # -- columns in files

    def _matrix_columns(self):
        """The columns for a file: their number, their names and their features; None if they are not fixed."""
        if not hasattr(self, "n_features_in_"):
            return None
        return self.n_features_in_, self._names() or [], self._feature_list() or []

    def _take_columns(self, columns) -> None:
        """The columns of a file, if it has them."""
        if columns is None:
            return
        self.n_features_in_, names, features = columns
        self._seen = set(features) if features else None
        if names:
            self.feature_names_in_ = np.array(names, dtype=object)

    # -- features

    def _feature_list(self) -> list[str] | None:
        """The features of the columns, by the names of the core and in the order of the columns; None if each column is
        one."""
        seen = getattr(self, "_seen", None)
        if seen is None:
            return None
        return _frames.features_by_column(seen, self._names())

    def _width(self) -> int:
        """The number of features."""
        features = self._feature_list()
        return self.n_features_in_ if features is None else len(features)

    def _column_of(self):
        """A function from the name of a feature to its number among the features."""
        if not hasattr(self, "n_features_in_"):
            raise AttributeError("the model was fitted to a stream without fixed columns: see features_")
        names = self._feature_list() or self._names()
        places = None if names is None else {name: place for place, name in enumerate(names)}

        def find(name):
            if places is None and name.isdecimal():
                return int(name) - 1
            if places is None or name not in places:
                raise AttributeError(f"{self._public_name(name)!r} is a product of columns, not a column: see features_")
            return places[name]

        return find

    def _public_name(self, name: str) -> str:
        """The name of a feature for users: numbered columns are ``x0``, ``x1``, …, as scikit-learn calls them. The core
        counts from 1, as files do."""
        if not hasattr(self, "n_features_in_") or hasattr(self, "feature_names_in_"):
            return name
        return re.sub("[0-9]+", lambda number: f"x{int(number[0]) - 1}", name)


class Classes:
    """Mixin for estimators whose labels are classes."""

    def _labels(self, y, weights):
        """The labels as numbers of classes, the classes in the form of the core, and the weights. Labels that are doubles are
        left as they are, without a list of classes. Rows of weight 0 do not count: neither do classes that only they have."""
        if y is None:
            return None, [], weights
        check_classification_targets(y)
        y = np.asarray(y)
        classes = np.unique(y if weights is None else y[weights > 0])
        self._take_classes(classes)
        if y.dtype == np.float64:  # the core tells numbers apart itself
            return np.ascontiguousarray(y), [], weights
        codes = np.minimum(np.searchsorted(classes, y), max(len(classes) - 1, 0))
        return np.ascontiguousarray(codes, dtype=np.int64), _input.labels_of(classes), weights

    def _take_classes(self, classes) -> None:
        """The classes of the rows, or of one batch of them."""
        if hasattr(self, "classes_"):  # a further batch
            self.classes_ = np.union1d(self.classes_, classes)
            return
        self.classes_ = classes

    def _check_classes(self) -> None:
        if len(self.classes_) == 1:
            raise DataError(
                f"{type(self).__name__} needs at least two classes, got one class: {self.classes_[0]!r}"
            )

    def _check_incremental(self) -> None:
        if isinstance(getattr(self, "class_weight", None), str):
            raise ValueError(f"class_weight={self.class_weight!r} is not supported for partial_fit: pass a dictionary")

    def _class_task(self) -> str:
        self._check_classes()
        return "binary" if len(self.classes_) == 2 else "multiclass"
