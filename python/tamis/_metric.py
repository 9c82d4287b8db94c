"""Metric learning for k nearest neighbours: SDist, and what it shares with KNN."""

import json
import os
from typing import Self, TypeVar

import numpy as np
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from . import _core, _input, _params
from ._params import AT_LEAST_ONE, POSITIVE
from ._rows import Classes, Rows, all_or_nothing
from ._progress import Line
from ._tasks import LogProbabilities
from .errors import missing_file, warn

T = TypeVar("T")

# Parameters of the learner that candidates have values of their own for.
PARAMS = ("max_iter", "metric_neighbors", "max_terms", "max_order", "learning_rate", "subsample")


def documented(cls: type[T]) -> type[T]:
    """Replaces ``$name`` in the docstring of a class by the help of the parameter in the core's table."""
    for name, text in sorted(_core.metric_params(), reverse=True):
        cls.__doc__ = str(cls.__doc__).replace(f"${name}", text)
    return cls


def _has_two_classes(estimator):
    if len(getattr(estimator, "classes_", (0, 1))) == 2:
        return True
    raise AttributeError("decision_function needs two classes")


def _has_shares(estimator):
    if not estimator._is_vote():
        raise AttributeError("probabilities are shares of neighbours: they need rule='vote'")
    return True


class KNNBase(LogProbabilities, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Classes, Rows):
    """Coordinates of rows under a metric, and k-NN classification."""

    def _take_metric(self, metric):
        self._metric = metric
        if not hasattr(self, "classes_"):
            self.classes_ = _input.classes_of(metric.classes)
        return self

    def _fitted(self):
        check_is_fitted(self)
        return self._metric

    def __sklearn_is_fitted__(self):
        return getattr(self, "_metric", None) is not None

    @property
    def _n_features_out(self):
        return self._fitted().dimensions

    def transform(self, X) -> np.ndarray:
        """Coordinates of rows. Their Euclidean distances are the distances of the metric; the first coordinate has the largest
        variance on the training rows.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        coordinates : ndarray of shape (n_samples, n_components)
        """
        return self._fitted().transform(self._known(X, self._fitted().columns))

    def predict(self, X) -> np.ndarray:
        """Predicts the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        classes, _ = self._predictions(X)
        return self.classes_[classes]

    @available_if(_has_two_classes)
    def decision_function(self, X) -> np.ndarray:
        """The score of the second of two classes: its share of the neighbours minus 0.5, or the difference of mean distances.

        Returns
        -------
        scores : ndarray of shape (n_samples,), above zero for the second class
        """
        classes, scores = self._predictions(X)
        centred = scores - 0.5 if self._is_vote() else scores
        # The nearest row decides a tied vote: the sign follows it.
        decided = np.where(classes == 1, 1e-9, -1e-9)
        return np.where((centred > 0) == (classes == 1), centred, 0) + np.where(centred == 0, decided, 0)

    @available_if(_has_shares)
    def predict_proba(self, X) -> np.ndarray:
        """The shares of the classes among the neighbours.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_classes)
        """
        shares = self._fitted().shares(self._known(X, self._fitted().columns))
        # The nearest row decides a tied vote: its class has the largest share by a hair.
        classes, _ = self._predictions(X)
        shares[np.arange(len(classes)), classes] += 1e-12
        return shares / shares.sum(axis=1, keepdims=True)

    def _predictions(self, X):
        vote, base = self._fitted().predict(self._known(X, self._fitted().columns))
        return vote if self._is_vote() else base

    def save(self, path) -> None:
        """Saves the metric as ``tamis metric fit`` does, with the columns. The file is replaced atomically."""
        self._fitted().save(os.fspath(path), self._matrix_columns())

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


@documented
class SDist(ClassifierMixin, KNNBase):
    """Sparse, nonlinear metric learning (sDist) with a k-NN classifier.

    Boosting learns a Mahalanobis matrix as a sum of sparse rank-one updates over variables and interactions (products of
    variables), so that every row is nearer to its own class than to other classes. Cross-validation on the training rows
    compares several candidates with plain k-NN. If no candidate is better by one standard error, plain k-NN is used, and a
    warning says so.

    Parameters
    ----------
    candidates : tuple of str, default=("plain", "order-1", "squares", "order-2", "free")
        The candidates of cross-validation: ``plain`` k-NN on standardized variables; metrics of variables (``order-1``), of
        variables and their ``squares``, of variables and interactions (``order-2``), of unscaled interactions (``free``);
        ``thesis``, the published algorithm, to check its results; ``wide``, for very many columns.
    n_neighbors : int, default=3
        $n_neighbors.
    rule : {"vote", "base"}, default="vote"
        The classifier: k-NN (``vote``), or the class with the smallest mean distance to its nearest rows (``base``).
    max_iter : int, default=None
        $max_iter. ``None`` is 100; cross-validation extends the best metric up to 400 while its held-out error falls.
    metric_neighbors : int, default=None
        $metric_neighbors. ``None`` keeps the value of each candidate.
    max_terms : int, default=None
        $max_terms. ``None`` keeps the value of each candidate.
    max_order : int, default=None
        $max_order. ``None`` keeps the value of each candidate.
    learning_rate : float, default=None
        $learning_rate. ``None`` keeps the value of each candidate.
    subsample : float, default=None
        $subsample. ``None`` keeps the value of each candidate.
    class_balance : bool, default=True
        $class_balance.
    early_stopping : {"held-out", "leave-one-out", "off"}, default="held-out"
        $early_stopping.
    cv : int, default=5
        $folds.
    reading : dict, default=None
        How files are read: ``format``, ``target``, ``weight_column``, ``ignore``, ``categorical``, ``missing``, ``zero_based``,
        ``on_error``.
    random_state : int, RandomState or None, default=None
        Seed; ``None`` is 0, so that the same data give the same metric.
    n_jobs : int, default=None
        Number of threads; ``None`` is 1 and -1 all processors, as in scikit-learn. The metric does not depend on it.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    candidate_ : str, the selected candidate
    cv_results_ : list of dict, steps, held-out error and standard error of each candidate
    variables_ : list of dict, variables by their share of the trace of the Mahalanobis matrix
    terms_ : list of dict, variables and interactions by their share
    feature_importances_ : ndarray of shape (n_features,), the shares by column
    curve_ : list of dict, loss, number of variables and leave-one-out error by boosting step
    classes_ : ndarray of the classes
    n_features_in_, feature_names_in_ : the columns, unless the metric was fitted to a stream

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import SDist
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(300, 20))
    >>> y = np.where(X[:, 3] ** 2 + X[:, 7] ** 2 > 1.5, "outside", "inside")
    >>> metric = SDist(candidates=("plain", "order-2"), max_iter=40).fit(X, y)
    >>> sorted(one["name"] for one in metric.variables_[:2])
    ['x3', 'x7']
    >>> metric.transform(X).shape[0]
    300
    """

    def __init__(
        self,
        candidates=("plain", "order-1", "squares", "order-2", "free"),
        *,
        n_neighbors=3,
        rule="vote",
        max_iter=None,
        metric_neighbors=None,
        max_terms=None,
        max_order=None,
        learning_rate=None,
        subsample=None,
        class_balance=True,
        early_stopping="held-out",
        cv=5,
        reading=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.candidates = candidates
        self.n_neighbors = n_neighbors
        self.rule = rule
        self.max_iter = max_iter
        self.metric_neighbors = metric_neighbors
        self.max_terms = max_terms
        self.max_order = max_order
        self.learning_rate = learning_rate
        self.subsample = subsample
        self.class_balance = class_balance
        self.early_stopping = early_stopping
        self.cv = cv
        self.reading = reading
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    _parameter_constraints = {
        "candidates": [str, tuple, list],
        "rule": [StrOptions({"vote", "base"})],
        "early_stopping": [StrOptions({"held-out", "leave-one-out", "off"})],
        "class_balance": ["boolean"],
        **{name: [AT_LEAST_ONE] for name in ("n_neighbors", "cv")},
        **{name: [AT_LEAST_ONE, None] for name in ("max_iter", "metric_neighbors", "max_terms", "max_order")},
        **{name: [POSITIVE, None] for name in ("learning_rate", "subsample")},
        **{name: _params.CONSTRAINTS[name] for name in ("reading", "random_state", "n_jobs", "verbose")},
    }

    def _is_vote(self):
        return self.rule == "vote"

    def _asked(self) -> dict:
        self._check_params()
        given = {name.replace("_", "-"): getattr(self, name) for name in PARAMS if getattr(self, name) is not None}
        if not self.class_balance:
            given["class-balance"] = False
        if self.max_terms is not None:
            given["max-terms-share"] = None
        return {
            "candidates": [self.candidates] if isinstance(self.candidates, str) else list(self.candidates),
            "params": json.dumps(given),
            "early_stopping": self.early_stopping,
            "folds": int(self.cv),
            "n_neighbors": int(self.n_neighbors),
            "seed": self._seed(),
        }

    @all_or_nothing
    def fit(self, X, y=None) -> Self:
        """Learns a metric.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), frame, path or iterator of batches
            The rows. Files and batches contain the labels.
        y : array-like of shape (n_samples,)
            The classes.

        Returns
        -------
        self
        """
        asked = self._asked()
        data = self._data(X, y, None)
        task = "auto" if not isinstance(data, _input.Table) else self._class_task()
        line = Line(self.verbose) if self.verbose else None
        try:
            metric, told = _core.fit_metric(asked, data, task, self._threads(), line)
        finally:
            if line is not None:
                line.close()
        self._told = json.loads(told)
        for note in self._told["notes"]:
            warn(note)
        return self._take_metric(metric)

    @classmethod
    def load(cls, path, **parameters) -> Self:
        """Loads an estimator from a metric file. A file of the program does not contain the columns: they are matched by name.

        Parameters
        ----------
        path : str or path-like
            A metric of this package or of ``tamis metric fit``.
        **parameters
            Parameters of the estimator, for later fits.
        """
        missing_file(path)
        metric = _core.Metric.load(os.fspath(path))
        estimator = cls(**parameters)
        estimator._take_columns(metric.matrix)
        return estimator._take_metric(metric)

    def _about(self, name):
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{name}: this {type(self).__name__} is not fitted yet")
        return json.loads(self._metric.about)

    @property
    def candidate_(self) -> str:
        """The selected candidate."""
        return self._about("candidate_")["candidate"]

    @property
    def n_iter_(self) -> int:
        """Number of boosting steps; 1 for plain k-NN."""
        return max(1, self._about("n_iter_")["steps"])

    @property
    def cv_results_(self) -> list[dict]:
        """Steps, held-out error and standard error of each candidate."""
        return self._about("cv_results_")["cv_results"]

    @property
    def variables_(self) -> list[dict]:
        """Variables by their share of the trace of the Mahalanobis matrix, largest first. The share of an interaction is divided
        among its variables."""
        return self._with_public_names(self._about("variables_")["variables"])

    @property
    def terms_(self) -> list[dict]:
        """Variables and interactions by their share of the trace of the Mahalanobis matrix, largest first."""
        return self._with_public_names(self._about("terms_")["terms"])

    def _with_public_names(self, listed: list[dict]) -> list[dict]:
        return [{**one, "name": self._public_name(one["name"])} for one in listed]

    @property
    def curve_(self) -> list[dict]:
        """Loss, number of variables and leave-one-out error by boosting step."""
        self._about("curve_")
        return getattr(self, "_told", {"curve": []})["curve"]

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each column; the shares add up to 1."""
        shares = np.zeros(self._width())
        find = self._column_of()
        for one in self._about("feature_importances_")["variables"]:
            shares[find(one["name"])] = one["share"]
        return shares
