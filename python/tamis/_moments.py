"""Running averages, and estimators that solve them: any sparsity without seeing the data again."""

import copy
import json
import os

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from . import _core, _input
from ._base import Classifier, Estimator, Regressor, _weights
from .errors import DataError, ParamError


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
    forget : float, default=0.0
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

    def __init__(self, task="regression", *, folds=1, forget=0.0, interactions=False):
        if task not in ("regression", "classes"):
            raise ParamError(f"task must be regression or classes, got {task!r}")
        self.task = task
        self._columns = BaseEstimator()
        self._core = _core.Moments(task == "regression", int(folds), float(forget), bool(interactions))

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
            cells, names, weights = X, None, sample_weight
        else:
            X, y = _input.check(columns, X, y, reset=True, y_numeric=self.task == "regression")
            names = list(columns.feature_names_in_) if hasattr(columns, "feature_names_in_") else None
            cells, weights = _input.cells_of(X), _weights(sample_weight, X)
        labels, classes = _labels(self.task, y)
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
    def of_files(cls, paths, *, task="auto", folds=1, forget=0.0, interactions=False, screen=None, reading=None, n_jobs=None):
        """Moments of the rows of files, as ``tamis moments`` collects them.

        Parameters
        ----------
        paths : path, or list of paths
            The files.
        task : {"auto", "binary", "multiclass", "regression"}, default="auto"
            What the labels are.
        folds, forget, interactions
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
        return cls._of(_core.Moments.of_files(files, reading, task, folds, forget, interactions, screen, threads))

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

    def solve(self, solver="ofsa", **parameters):
        """An estimator fitted to these moments.

        Parameters
        ----------
        solver : str, default="ofsa"
            ``ols``, ``ridge``, ``ols-th``, ``ofsa``, ``lasso``, ``elastic-net``, ``mcp`` or ``scad``.
        **parameters
            Further parameters of :class:`MomentsRegressor`.

        Returns
        -------
        MomentsRegressor or MomentsClassifier
        """
        made = MomentsRegressor if self.task == "regression" else MomentsClassifier
        return made(solver, **parameters).fit_moments(self)


def _restore(core, columns):
    return Moments._of(core, columns)


def _labels(task, y):
    if task == "regression":
        return np.ascontiguousarray(y, dtype=np.float64), []
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    return np.ascontiguousarray(codes, dtype=np.int64), _input.labels_of(classes)


PARAMETERS = """
    The data are seen once, and only their moments are kept (``moments_``): ``resolve`` finds another model without them,
    ``partial_fit`` adds rows. The time to solve does not depend on the number of rows; columns may be up to some ten
    thousand.

    Parameters
    ----------
    solver : str, default="mcp"
        ``ols``, ``ridge``, ``ols-th``, ``ofsa`` (annealing), ``lasso``, ``elastic-net``, ``mcp`` or ``scad``.
    n_features_to_select : int, default=None
        Exactly this many features.
    alpha : float, default=None
        The penalty, on standardised columns and in units of the target.
    criterion : {{"bic", "aic", "ebic", "cv"}}, default=None
        What chooses the size if neither of the above is given; ``None`` is ``bic``.
    l1_ratio : float, default=0.5
        The lasso's share of the elastic net.
    concavity : float, default=None
        How soon ``mcp`` and ``scad`` stop to shrink; ``None`` is 3 and 3.7.
    refit : bool, default=False
        Whether the chosen features are refitted without penalty (``ols-th`` and ``ofsa`` always are).
    folds : int, default=1
        Folds for the criterion ``cv``.
    forget : float, default=0.0
        The least share of a new row in the averages; 0 weighs all rows alike.
    interactions : bool, default=False
        Whether products of all pairs of columns may be used.
    n_jobs : int, default=None
        Threads; ``None`` takes all. Models do not depend on it.

    Attributes
    ----------
    moments_ : Moments, what was kept of the rows
    coef_, sparse_coef_, intercept_ : the weights of raw values, dense and sparse, and the intercepts
    path_ : list of dict, the models looked at, small to large
    features_ : list of dict, the features with their weights, largest effect first
    n_features_in_, feature_names_in_ : the columns{classes}
"""


class Solved(Estimator):
    """What the two estimators share."""

    def __init__(
        self,
        solver="mcp",
        *,
        n_features_to_select=None,
        alpha=None,
        criterion=None,
        l1_ratio=0.5,
        concavity=None,
        refit=False,
        folds=1,
        forget=0.0,
        interactions=False,
        n_jobs=None,
    ):
        self.solver = solver
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
        self.criterion = criterion
        self.l1_ratio = l1_ratio
        self.concavity = concavity
        self.refit = refit
        self.folds = folds
        self.forget = forget
        self.interactions = interactions
        self.n_jobs = n_jobs

    def _recipe(self) -> dict:
        k, free = self.n_features_to_select, self.n_features_to_select is None and self.alpha is None
        chooses = "bic" if self.criterion is None and free and self.solver != "ols" else self.criterion
        return {
            "method": self.solver,
            "k": None if k is None else int(k),
            "penalty": None if self.alpha is None else float(self.alpha),
            "choose": chooses,
            "refit": bool(self.refit),
            "l1-share": float(self.l1_ratio),
            "concavity": None if self.concavity is None else float(self.concavity),
        }

    def fit(self, X, y=None, sample_weight=None):
        """Collects the moments of rows and solves them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), frame, path or iterator of batches
            The rows. Files and batches bring their labels along.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The importance of the rows.

        Returns
        -------
        self
        """
        self._recipe()
        paths = _input.as_paths(X)
        if paths is not None:
            given = {name: getattr(self, name) for name in ("folds", "forget", "interactions", "n_jobs")}
            return self.fit_moments(Moments.of_files(paths, task=self._file_task, **given))
        self._forget_shape()
        self.moments_ = self._empty()
        if not _input.is_batches(X):
            return self._add(X, y, sample_weight, reset=True)
        for number, (batch, labels, *rest) in enumerate(X):
            self._add(batch, labels, rest[0] if rest else None, reset=number == 0)
        return self

    def partial_fit(self, X, y, sample_weight=None):
        """Adds the moments of more rows; solved when a model is asked for.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or frame
            The rows.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The importance of the rows.

        Returns
        -------
        self
        """
        first = getattr(self, "moments_", None) is None
        if first:
            self._recipe()
            self._forget_shape()
            self.moments_ = self._empty()
        try:
            return self._add(X, y, sample_weight, reset=first, least=1)
        except BaseException:
            if first:
                del self.moments_
            raise

    def _empty(self):
        numbers = {"folds": self.folds, "forget": self.forget, "interactions": self.interactions}
        return Moments(self._moments_task, **numbers)

    def _add(self, X, y, sample_weight, *, reset, least=2):
        """Rows into the moments; a fit has at least two."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        if not _input.is_mixed(X):
            X, y = _input.check(self, X, y, reset=reset, ensure_min_samples=least, **self._label_checks())
            cells, names, weights = _input.cells_of(X), self._names(), _weights(sample_weight, X)
        else:
            table = self._mixed(X, y, sample_weight, reset=reset)
            cells, names, weights = X, None, table.weights
        labels, classes = self._moments_labels(y, least)
        self._check_weights(labels, weights)
        self.moments_._core.observe(_input.Table(cells, names, labels, classes, weights))
        self.moments_._join_columns(self)
        self._take_model(None)
        if least > 1:
            self._fitted()
        return self

    def _moments_labels(self, y, least):
        return _labels("regression", y)

    def _check_weights(self, labels, weights):
        pass

    def fit_moments(self, moments):
        """Solves moments, of whatever rows; returns self. They are copied: later changes of theirs do not matter."""
        self._forget_shape()
        self.moments_ = moments.copy()
        self.__dict__.pop("classes_", None)
        columns = moments._columns
        if hasattr(columns, "n_features_in_"):
            self.n_features_in_ = columns.n_features_in_
        if hasattr(columns, "feature_names_in_"):
            self.feature_names_in_ = columns.feature_names_in_
        return self.resolve()

    def resolve(self, **parameters):
        """Another model of the same moments, without the data; returns self.

        Parameters
        ----------
        **parameters
            Parameters to change first, as in ``set_params``.
        """
        self.set_params(**parameters)
        self._take_model(None)
        self._fitted()
        return self

    def _fitted(self):
        moments = getattr(self, "moments_", None)
        if getattr(self, "_model", None) is None and moments is not None:
            model, path, self._chosen = moments._core.solve(json.dumps(self._recipe()), False, self._threads())
            self._path = json.loads(path)
            self._take_model(model)
        return super()._fitted()

    def __sklearn_is_fitted__(self):
        return getattr(self, "_model", None) is not None or getattr(self, "moments_", None) is not None

    @property
    def path_(self) -> list[dict]:
        """The models looked at, small to large: size, penalty, share of variance explained, criteria."""
        self._fitted_attribute("path_")
        return self._path


class MomentsRegressor(RegressorMixin, Regressor, Solved):
    __doc__ = (
        "Least squares from running averages, with any sparsity.\n"
        + PARAMETERS.format(classes="")
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from tamis import MomentsRegressor
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(300, 10))
    >>> y = 2 * X[:, 3] - X[:, 6] + 0.5 * X[:, 8] + 0.1 * random.normal(size=300)
    >>> model = MomentsRegressor().fit(X, y)
    >>> model.get_support(indices=True)
    array([3, 6, 8])
    >>> model.resolve(n_features_to_select=1).get_support(indices=True)
    array([3])
    """
    )
    _moments_task = "regression"
    _file_task = "regression"


class MomentsClassifier(Classifier, ClassifierMixin, Solved):
    __doc__ = (
        "Classes by least squares from running averages, with any sparsity.\n"
        + PARAMETERS.format(classes="\n    classes_ : ndarray of the classes")
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from tamis import MomentsClassifier
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(300, 10))
    >>> model = MomentsClassifier(n_features_to_select=2).fit(X, X[:, 3] > X[:, 6])
    >>> model.get_support(indices=True)
    array([3, 6])
    """
    )
    _moments_task = "classes"
    _file_task = "multiclass"

    def _moments_labels(self, y, least):
        before = getattr(self, "classes_", None) if least == 1 else None
        if least > 1:
            return self._labels(y)
        check_classification_targets(y)
        self.classes_ = np.unique(y) if before is None else np.union1d(before, y)
        return _labels("classes", y)

    def _check_weights(self, labels, weights):
        if weights is not None and self.moments_.rows == 0 and len(np.unique(labels[weights > 0])) < 2:
            raise DataError("all rows with a weight are of one class: two are needed to learn a difference")

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Adds the moments of more rows; solved when a model is asked for.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or frame
            The rows.
        y : array-like of shape (n_samples,)
            The labels. Classes may come at any time.
        classes : array-like, default=None
            For agreement with scikit-learn: not needed.
        sample_weight : array-like of shape (n_samples,), default=None
            The importance of the rows.

        Returns
        -------
        self
        """
        return super().partial_fit(X, y, sample_weight)
