"""Running averages of rows: they merge, subtract and decay, and models of any sparsity are solved from them."""

import copy
import json
import os

import numpy as np
from sklearn.base import BaseEstimator

from . import _core, _input
from .errors import ParamError


class Moments:
    """Count, means and centred co-moments of rows: all that a linear model needs of them.

    Moments of different rows can be merged, taken from each other, and made to count less; models of any size and penalty
    are then solved without the data. Merged or not, cut into batches or not, the same rows give the same moments.

    Parameters
    ----------
    task : {"regression", "classes"}, default="regression"
        What the labels are.
    folds : int, default=1
        Folds for cross-validation: row i belongs to fold i mod ``folds``.
    decay : float, default=0.0
        The least share of a new row in the averages; 0 weighs all rows alike.
    interactions : bool, default=False
        Whether products of all pairs of columns are columns too.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import Moments
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(300, 8))
    >>> y = X[:, 1] - X[:, 5]
    >>> monday, tuesday = Moments().observe(X[:200], y[:200]), Moments().observe(X[200:], y[200:])
    >>> both = monday + tuesday
    >>> both.rows
    300
    >>> both.solve(n_features_to_select=2).get_support(indices=True)
    array([1, 5])
    >>> (both - monday).rows
    100
    """

    def __init__(self, task="regression", *, folds=1, decay=0.0, interactions=False):
        if task not in ("regression", "classes"):
            raise ParamError(f"task must be regression or classes, got {task!r}")
        self.task = task
        self._columns = BaseEstimator()
        self._core = _core.Moments(task == "regression", int(folds), float(decay), bool(interactions))

    @classmethod
    def _of(cls, core, columns=None):
        moments = cls.__new__(cls)
        moments._core, moments.task = core, "classes" if core.classes else "regression"
        moments._columns = BaseEstimator() if columns is None else copy.copy(columns)
        return moments

    def observe(self, X, y, sample_weight=None):
        """Takes rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or frame
            The rows. There may be more columns than before.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The importance of the rows.

        Returns
        -------
        self
        """
        columns = BaseEstimator()
        if _input.is_mixed(X):
            names = _input.column_names(X)
            columns.n_features_in_, columns.feature_names_in_ = len(names), np.array(names, dtype=object)
            cells, names, weights = X, None, _input.weights_of(sample_weight, _input.rows_of(X, y))
        else:
            X, y = _input.check(columns, X, y, reset=True, y_numeric=self.task == "regression")
            names = list(columns.feature_names_in_) if hasattr(columns, "feature_names_in_") else None
            cells, weights = _input.cells_of(X), _input.weights_of(sample_weight, X.shape[0])
        labels, classes = labels_for(self.task, y)
        self._core.observe(_input.Table(cells, names, labels, classes, weights))
        self._join_columns(columns)
        return self

    def _join_columns(self, other) -> None:
        """Columns by number are as many as the widest had; columns by name are all names, in the order they came."""
        own = self._columns
        before, after = (list(getattr(one, "feature_names_in_", [])) for one in (own, other))
        own.n_features_in_ = max(getattr(own, "n_features_in_", 0), getattr(other, "n_features_in_", 0))
        if before or after:
            names = list(dict.fromkeys(before + after))
            own.feature_names_in_, own.n_features_in_ = np.array(names, dtype=object), len(names)

    @classmethod
    def of_files(
        cls, paths, *, task="auto", folds=1, decay=0.0, interactions=False, screen=None, reading=None, n_jobs=None
    ):
        """Moments of the rows of files, as ``tamis moments`` collects them.

        Parameters
        ----------
        paths : path, or list of paths
            The files.
        task : {"auto", "binary", "multiclass", "regression"}, default="auto"
            What the labels are.
        folds, decay, interactions
            As in the constructor.
        screen : int, default=None
            Keep only so many features, those most correlated with the target.
        reading : dict, default=None
            How files are read.
        n_jobs : int, default=None
            Threads; ``None`` takes all.
        """
        reading = {**_input.READING, **(reading or {})}
        threads = os.cpu_count() if n_jobs is None else n_jobs
        files = _input.as_paths(paths)
        return cls._of(_core.Moments.of_files(files, reading, task, folds, decay, interactions, screen, threads))

    def merge(self, other):
        """Joins with moments of other rows; returns self."""
        self._core.merge(other._core)
        self._join_columns(other._columns)
        return self

    def subtract(self, other):
        """Takes away rows seen before; returns self. Nothing has changed if that fails."""
        self._core.subtract(other._core)
        return self

    def decay(self, keep):
        """Makes all rows so far count ``keep`` times as much; returns self."""
        self._core.decay(float(keep))
        return self

    def copy(self):
        """Moments of the same rows, to be changed apart."""
        return self._of(self._core.copy(), self._columns)

    def __add__(self, other):
        return self.copy().merge(other)

    def __sub__(self, other):
        return self.copy().subtract(other)

    @property
    def rows(self) -> int:
        """Rows seen."""
        return self._core.rows

    @property
    def info(self) -> dict:
        """What there is: rows, features, folds, forgetting."""
        return json.loads(self._core.info())

    def save(self, path) -> None:
        """Saves the moments, in the program's own format."""
        self._core.save(os.fspath(path))

    @classmethod
    def load(cls, path):
        """Moments from a file of this package or of the program."""
        return cls._of(_core.Moments.load(os.fspath(path)))

    def __reduce__(self):
        return _restore, (self._core, self._columns)

    def __repr__(self):
        return f"<Moments of {self.rows} rows, {len(self.info['features'])} features>"

    def solve(self, solver="mcp", **parameters):
        """An estimator fitted to these moments.

        Parameters
        ----------
        solver : str, default="mcp"
            ``ols``, ``ridge``, ``ols-th``, ``ofsa``, ``lasso``, ``elastic-net``, ``mcp`` or ``scad``.
        **parameters
            Further parameters of :class:`MomentsRegressor`.

        Returns
        -------
        MomentsRegressor or MomentsClassifier
        """
        from ._solved import MomentsClassifier, MomentsRegressor

        made = MomentsRegressor if self.task == "regression" else MomentsClassifier
        return made(solver, **parameters).fit_moments(self)


def _restore(core, columns):
    return Moments._of(core, columns)


def labels_for(task, y):
    """Labels as the core takes them, and the classes they are places in."""
    if task == "regression":
        return np.ascontiguousarray(y, dtype=np.float64), []
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    return np.ascontiguousarray(codes, dtype=np.int64), _input.labels_of(classes)
