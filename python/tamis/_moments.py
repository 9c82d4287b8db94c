"""Co-moments of rows, which can be merged, subtracted and decayed; models of any sparsity are fitted to them."""

import copy
import json
import os
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator

from . import _core, _input
from ._rows import Classes, Rows
from ._tasks import Regressor
from .errors import ParamError, missing_file


class _Numbers(Regressor, Rows):
    """The columns of rows whose labels are numbers."""


class _Labels(Classes, Rows):
    """The columns of rows whose labels are classes."""


class Moments:
    """Count, means and centred co-moments of rows: sufficient statistics of linear models.

    Moments of different rows can be merged, subtracted and decayed. Models of any size and penalty are fitted to them without
    the data. Moments do not depend on how the rows are divided into batches; merged moments are equal to those of all rows
    but for rounding.

    Parameters
    ----------
    task : {"regression", "classes"}, default="regression"
        Type of the target.
    folds : int, default=1
        Number of cross-validation folds; each row belongs to one of them by a hash of its number.
    decay : float, default=0.0
        Exponential decay: weight of the newest row; about the last 1/``decay`` rows count. 0 is no decay.
    interactions : bool, default=False
        Add the products of all pairs of columns, squares included.

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
        self._columns, self._classes = BaseEstimator(), None
        self._core = _core.Moments(task == "regression", int(folds), float(decay), bool(interactions))

    @classmethod
    def _of(cls, core, columns=None, classes=None):
        moments = cls.__new__(cls)
        moments._core, moments.task = core, "classes" if core.classes else "regression"
        moments._columns = BaseEstimator() if columns is None else copy.copy(columns)
        moments._classes = classes
        return moments

    def observe(self, X, y, sample_weight=None) -> Self:
        """Adds rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or frame
            The rows. There may be more columns than before.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self
        """
        rows = _Numbers() if self.task == "regression" else _Labels()
        self._core.observe(rows._any(X, y, sample_weight, reset=True))
        self._join_columns(rows)
        if self.task == "classes":
            self._classes = rows.classes_ if self._classes is None else np.union1d(self._classes, rows.classes_)
        return self

    def _join_columns(self, other) -> None:
        """Numbered columns: the largest number of columns. Named columns: all names, in order of appearance."""
        own = self._columns
        before, after = (list(getattr(one, "feature_names_in_", [])) for one in (own, other))
        sizes = [one.n_features_in_ for one in (own, other) if hasattr(one, "n_features_in_")]
        if sizes:  # moments of files have no fixed columns
            own.n_features_in_ = max(sizes)
        if before or after:
            names = list(dict.fromkeys(before + after))
            own.feature_names_in_, own.n_features_in_ = np.array(names, dtype=object), len(names)
        seen = [one._seen for one in (own, other) if getattr(one, "_seen", None) is not None]
        own._seen = set().union(*seen) if seen else None

    @classmethod
    def of_files(
        cls, paths, *, task="auto", folds=1, decay=0.0, interactions=False, screen=None, reading=None, n_jobs=None
    ) -> Self:
        """Computes the moments of files, as ``tamis moments`` does.

        Parameters
        ----------
        paths : path, or list of paths
            The files.
        task : {"auto", "binary", "multiclass", "regression"}, default="auto"
            Type of the target.
        folds, decay, interactions
            As in the constructor.
        screen : int, default=None
            Number of features to keep, those most correlated with the target.
        reading : dict, default=None
            How files are read, as in the estimators.
        n_jobs : int, default=None
            Number of threads; ``None`` is 1 and -1 all processors.
        """
        reading = {**_input.READING, **(reading or {})}
        threads = effective_n_jobs(n_jobs)
        files = _input.as_paths(paths)
        return cls._of(_core.Moments.of_files(files, reading, task, folds, decay, interactions, screen, threads))

    @classmethod
    def from_gram(
        cls,
        gram,
        target_products,
        target_squares=None,
        *,
        rows,
        sums,
        target_sums,
        weight=None,
        squared_weight=None,
        names=None,
        classes=None,
        centered=False,
    ) -> Self:
        """Moments of sums that were computed elsewhere: on a GPU, by SQL, or at another site.

        Parameters
        ----------
        gram : array-like of shape (n_features, n_features)
            Sums of products of the features, :math:`X^T X`; with weights, :math:`X^T W X`.
        target_products : array-like of shape (n_features,) or (n_features, n_classes)
            Sums of products of the features with the target, or the sums of the features over each class.
        target_squares : float, default=None
            Sum of the squared targets. Classes do not need it.
        rows : int
            Number of rows.
        sums : array-like of shape (n_features,)
            Sums of the features.
        target_sums : float, or array-like of shape (n_classes,)
            Sum of the targets, or the number (or weight) of the rows of each class.
        weight, squared_weight : float, default=None
            Sums of the weights and of the squared weights; ``None`` is ``rows``.
        names : list of str, default=None
            Names of the features; ``None`` numbers them, as columns of an array.
        classes : list, default=None
            The classes; ``None`` if the target is a number.
        centered : bool, default=False
            Whether the products are of values minus their means. The sums are not. Large means make this more accurate.

        Returns
        -------
        Moments

        Examples
        --------
        >>> import numpy as np
        >>> from tamis import Moments
        >>> random = np.random.default_rng(0)
        >>> X = random.normal(size=(300, 4))
        >>> y = X[:, 1] - X[:, 2]
        >>> made = Moments.from_gram(X.T @ X, X.T @ y, y @ y, rows=300, sums=X.sum(0), target_sums=y.sum())
        >>> made.solve("ols").coef_.round(6) + 0.0
        array([ 0.,  1., -1.,  0.])
        """
        from . import _gram

        given = _gram.Given(rows, weight, squared_weight, names, classes, centered)
        core, columns = _gram.moments(gram, target_products, target_squares, sums, target_sums, given)
        return cls._of(core, columns, None if classes is None else np.sort(np.asarray(classes)))

    @property
    def columns(self) -> str:
        """The columns as text, for :meth:`to_blocks`."""
        return self._core.columns()

    @staticmethod
    def join_columns(columns) -> str:
        """All columns that occur in some of these texts, in an order that does not depend on theirs."""
        found = {json.dumps(column): column for text in columns for column in json.loads(text)}
        return json.dumps([found[key] for key in sorted(found, key=_column_order)])

    def to_blocks(self, height=256, columns=None) -> list[bytes]:
        """The moments in blocks of ``height`` rows of the matrix. Blocks of the same number and of other rows are merged by
        :meth:`merge_blocks`, if all have the same ``columns`` (those of :meth:`join_columns`)."""
        if int(height) < 1:
            raise ParamError(f"height must be at least 1, got {height}")
        return self._core.blocks(int(height), columns)

    @staticmethod
    def merge_blocks(blocks) -> bytes:
        """Merges blocks of the same number. The same order gives the same bits."""
        return _core.merge_blocks(list(blocks))

    @classmethod
    def from_blocks(cls, blocks) -> Self:
        """Moments of all their blocks, in any order."""
        return cls._of(_core.Moments.from_blocks(list(blocks)))

    def merge(self, other, again=False) -> Self:
        """Merges the moments of other rows; returns self. Rows that are in the moments already are an error, unless
        ``again`` allows them to count twice."""
        self._core.merge(other._core, again)
        self._join_columns(other._columns)
        if self._classes is not None and other._classes is not None:
            self._classes = np.union1d(self._classes, other._classes)
        return self

    def subtract(self, other) -> Self:
        """Subtracts the moments of some of the rows; returns self. On failure nothing changes."""
        self._core.subtract(other._core)
        return self

    def decay(self, keep) -> Self:
        """Multiplies the weight of all rows so far by ``keep``; returns self."""
        self._core.decay(float(keep))
        return self

    def copy(self) -> Self:
        """An independent copy."""
        return self._of(self._core.copy(), self._columns, self._classes)

    def __add__(self, other):
        return self.copy().merge(other)

    def __radd__(self, other):
        return self.copy() if other == 0 else NotImplemented  # sum([…]) begins with 0

    def __sub__(self, other):
        return self.copy().subtract(other)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._core.rows

    @property
    def classes(self) -> np.ndarray:
        """The classes; empty if the target is a number."""
        if self._classes is not None:
            return self._classes
        classes = _input.classes_of(self._core.classes)
        return classes if classes.dtype == object else np.sort(classes)

    @property
    def info(self) -> dict:
        """Summary: rows, features, folds, decay."""
        return json.loads(self._core.info())

    @property
    def means(self) -> np.ndarray:
        """The means of the features, in the order of ``info["features"]``."""
        return self._core.statistics()[0]

    @property
    def covariance(self) -> np.ndarray:
        """The covariances of the features, of the weighted rows and not corrected for their number, in the order of
        ``info["features"]``."""
        return self._core.statistics()[1]

    def save(self, path) -> None:
        """Saves the moments in the format of the program."""
        self._core.save(os.fspath(path))

    @classmethod
    def load(cls, path) -> Self:
        """Loads a moments file of this package or of the program."""
        missing_file(path)
        return cls._of(_core.Moments.load(os.fspath(path)))

    def __reduce__(self):
        return _restore, (self._core, self._columns, self._classes)

    def __repr__(self):
        return f"<Moments of {self.rows} rows, {len(self.info['features'])} features>"

    def solve(self, solver="mcp", **parameters) -> Any:
        """Fits a model to these moments.

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


def _column_order(key: str):
    """Targets and classes first; then features, numbers by their size."""
    kind, name = next(iter(json.loads(key).items()))
    number = int(name) if isinstance(name, str) and name.isdecimal() else -1
    return kind in ("feature", "product"), kind, number, key


def _restore(core, columns, classes=None):
    return Moments._of(core, columns, classes)
