"""Distances that suit the classes: a sparse nonlinear metric, and nearest neighbours under it."""

import json
import os

import numpy as np
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from . import _core, _input
from ._rows import Classes, Rows
from ._progress import Line
from .errors import ParamError, warn

# Parameters here, and what the core calls them.
NUMBERS = {
    "max_iter": "steps",
    "metric_neighbors": "neighbours",
    "max_terms": "entries",
    "learning_rate": "shrinkage",
    "max_order": "order",
    "subsample": "bag",
}


def _has_two_classes(estimator):
    if len(getattr(estimator, "classes_", (0, 1))) == 2:
        return True
    raise AttributeError("scores are for two classes")


class Neighbours(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Classes, Rows):
    """Rows placed by a metric, and the classes of those near them."""

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

    def transform(self, X):
        """Coordinates of rows: their distances are those of the metric, the first axis is the one along which training rows
        vary most.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        coordinates : ndarray of shape (n_samples, n_components)
        """
        return self._fitted().embed(self._known(X, self._fitted().columns))

    def predict(self, X):
        """Predicted classes.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        classes, _ = self._verdicts(X)
        return self.classes_[classes]

    @available_if(_has_two_classes)
    def decision_function(self, X):
        """How sure the vote (or the base classifier) is of the second of two classes; there must be two.

        Returns
        -------
        scores : ndarray of shape (n_samples,), above zero for the second class
        """
        classes, scores = self._verdicts(X)
        centred = scores - 0.5 if self._is_vote() else scores
        # A vote that is even is decided by the nearest row: the sign says how.
        decided = np.where(classes == 1, 1e-9, -1e-9)
        return np.where((centred > 0) == (classes == 1), centred, 0) + np.where(centred == 0, decided, 0)

    def _verdicts(self, X):
        vote, base = self._fitted().verdicts(self._known(X, self._fitted().columns))
        return vote if self._is_vote() else base

    def save(self, path) -> None:
        """Saves the metric as the program would: the old file stays until the new one is whole."""
        self._fitted().save(os.fspath(path))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class SDist(ClassifierMixin, Neighbours):
    """A sparse nonlinear metric under which classes come apart, and nearest neighbours under it.

    Few variables and products of variables are found by boosting, so that every row is nearer to its own class than to
    others. Several ways compete in cross-validation on the training rows, plain nearest neighbours among them: if those are
    best, they are what you get, and a warning says so.

    Parameters
    ----------
    candidates : tuple of str, default=("plain", "order-1", "squares", "order-2", "free")
        What competes: ``plain`` neighbours on scaled variables, metrics of variables (``order-1``), of variables and all
        their ``squares``, of products (``order-2``), of products that keep their scale (``free``), the ``thesis`` as
        published, and ``wide`` for very many columns.
    n_neighbors : int, default=3
        Rows that vote.
    rule : {"vote", "base"}, default="vote"
        What predicts: the vote of neighbours, or the class whose nearest rows are nearest on average.
    max_iter : int, default=None
        Steps at most; ``None`` is 100, and up to 400 while the best metric's error on rows held out falls.
    metric_neighbors : int, default=None
        Neighbours of each kind that a step looks at; ``None`` takes the candidate's own.
    max_terms : int, default=None
        Variables and products in one step; ``None`` takes the candidate's own.
    max_order : int, default=None
        The most variables in a product; ``None`` takes the candidate's own.
    learning_rate : float, default=None
        The share of each step that is taken; ``None`` takes the candidate's own.
    subsample : float, default=None
        The share of rows a step looks at; ``None`` takes the candidate's own.
    balanced : bool, default=True
        Whether classes weigh alike while learning.
    stop : {"held-out", "leave-one-out", "last"}, default="held-out"
        What says how many steps are kept.
    cv : int, default=5
        Folds of the cross-validation.
    reading : dict, default=None
        How files are read: ``format``, ``target``, ``weight``, ``ignore``, ``categorical``, ``missing``, ``zero_based``,
        ``skip_bad``.
    random_state : int, RandomState or None, default=None
        The seed. ``None`` is 0: the same data give the same metric.
    n_jobs : int, default=None
        Threads; ``None`` takes all. Metrics do not depend on it.
    verbose : int, default=0
        1 shows progress.

    Attributes
    ----------
    candidate_ : str, what was chosen
    judged_ : list of dict, how each candidate did on rows held out
    variables_ : list of dict, variables by their share of the metric
    terms_ : list of dict, variables and products by their share
    feature_importances_ : ndarray of shape (n_features,), the shares by column
    curve_ : list of dict, the steps: loss, variables used, leave-one-out error
    classes_ : ndarray of the classes
    n_features_in_, feature_names_in_ : the columns, where they have fixed places

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import SDist
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(300, 20))
    >>> y = np.where(X[:, 3] ** 2 + X[:, 7] ** 2 > 1.5, "outside", "inside")
    >>> metric = SDist(candidates=("plain", "order-2"), max_iter=40).fit(X, y)
    >>> sorted(one["name"] for one in metric.variables_[:2])
    ['4', '8']
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
        balanced=True,
        stop="held-out",
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
        self.balanced = balanced
        self.stop = stop
        self.cv = cv
        self.reading = reading
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _is_vote(self):
        return self.rule == "vote"

    def _asked(self) -> dict:
        if self.rule not in ("vote", "base"):
            raise ParamError(f"rule must be 'vote' or 'base', got {self.rule!r}")
        numbers = {core: getattr(self, name) for name, core in NUMBERS.items() if getattr(self, name) is not None}
        if not self.balanced:
            numbers["balanced"] = False
        if self.max_terms is not None:
            numbers["entries-share"] = None
        return {
            "families": [self.candidates] if isinstance(self.candidates, str) else list(self.candidates),
            "numbers": json.dumps(numbers),
            "stop": self.stop,
            "folds": int(self.cv),
            "voters": int(self.n_neighbors),
            "seed": self._seed(),
        }

    def fit(self, X, y=None):
        """Learns a metric.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), frame, path or iterator of batches
            The rows. Files and batches bring their labels along.
        y : array-like of shape (n_samples,)
            The classes.

        Returns
        -------
        self
        """
        asked = self._asked()
        self.__dict__.pop("classes_", None)
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
    def load(cls, path, **parameters):
        """An estimator with the metric of a file. The number of columns is not in it, so columns go by their names.

        Parameters
        ----------
        path : str or path-like
            A metric of this package or of ``tamis metric fit``.
        **parameters
            Parameters of the estimator, for later fits.
        """
        return cls(**parameters)._take_metric(_core.Metric.load(os.fspath(path)))

    def _about(self, name):
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{name}: this {type(self).__name__} is not fitted yet")
        return json.loads(self._metric.about)

    @property
    def candidate_(self) -> str:
        """What was chosen."""
        return self._about("candidate_")["candidate"]

    @property
    def n_iter_(self) -> int:
        """Steps of the metric; plain neighbours count as one."""
        return max(1, self._about("n_iter_")["steps"])

    @property
    def judged_(self) -> list[dict]:
        """How each candidate did on rows held out."""
        return self._about("judged_")["judged"]

    @property
    def variables_(self) -> list[dict]:
        """Variables by their share of the metric, in products or alone, largest first."""
        return self._about("variables_")["variables"]

    @property
    def terms_(self) -> list[dict]:
        """Variables and products by their share of the metric, largest first."""
        return self._about("terms_")["terms"]

    @property
    def curve_(self) -> list[dict]:
        """The steps: loss, variables used, leave-one-out error."""
        self._about("curve_")
        return getattr(self, "_told", {"curve": []})["curve"]

    @property
    def feature_importances_(self):
        """Each column's share of the metric; they add up to 1."""
        shares = np.zeros(self.n_features_in_)
        find = self._column_of()
        for one in self.variables_:
            shares[find(one["name"])] = one["share"]
        return shares


class KNN(ClassifierMixin, Neighbours):
    """Nearest neighbours, under a learned metric or on scaled variables.

    Parameters
    ----------
    n_neighbors : int, default=3
        Rows that vote.
    metric : SDist or path, default=None
        A fitted metric, or the file of one: distances are its own, and neighbours are the rows given to ``fit``. ``None``
        scales every variable to variance 1.
    n_jobs : int, default=None
        Threads; ``None`` takes all.

    Attributes
    ----------
    classes_ : ndarray of the classes
    n_features_in_, feature_names_in_ : the columns

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import KNN, SDist
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(300, 20))
    >>> y = X[:, 3] > 0
    >>> metric = SDist("order-1", max_iter=20).fit(X[:150], y[:150])
    >>> plain, learned = KNN().fit(X[:200], y[:200]), KNN(metric=metric).fit(X[:200], y[:200])
    >>> plain.score(X[200:], y[200:]) < learned.score(X[200:], y[200:])
    True
    """

    def __init__(self, n_neighbors=3, *, metric=None, n_jobs=None):
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.n_jobs = n_jobs

    def _is_vote(self):
        return True

    def fit(self, X, y):
        """Remembers rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or frame
            The rows.
        y : array-like of shape (n_samples,)
            The classes.

        Returns
        -------
        self
        """
        self.__dict__.pop("classes_", None)
        table = self._data(X, y, None)
        if self.metric is None:
            asked = {"families": ["plain"], "numbers": "{}", "stop": "last", "folds": 5, "seed": 0}
            asked["voters"] = int(self.n_neighbors)
            metric, _ = _core.fit_metric(asked, table, self._class_task(), self._threads(), None)
        else:
            given = self.metric._fitted() if isinstance(self.metric, SDist) else _core.Metric.load(os.fspath(self.metric))
            metric = given.among(table, self._class_task(), int(self.n_neighbors))
        return self._take_metric(metric)
