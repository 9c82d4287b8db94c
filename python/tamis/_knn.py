"""The k-NN classifier under a learned metric."""

import os
from typing import Self

from sklearn.base import ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils._param_validation import HasMethods

from . import _core, _params
from ._metric import KNNBase, SDist, documented
from ._params import AT_LEAST_ONE
from ._rows import all_or_nothing


@documented
class KNN(ClassifierMixin, KNNBase):
    """k-NN classifier under a learned metric or on standardized variables.

    Parameters
    ----------
    n_neighbors : int, default=3
        $n_neighbors.
    metric : SDist or path, default=None
        A fitted metric, or its file. The rows given to ``fit`` are the neighbours. ``None`` scales each variable to variance 1.
    reading : dict, default=None
        How frames are read: ``missing``, ``ignore`` and ``categorical``.
    n_jobs : int, default=None
        Number of threads; ``None`` is 1 and -1 all processors, as in scikit-learn.

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

    def __init__(self, n_neighbors=3, *, metric=None, reading=None, n_jobs=None):
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.reading = reading
        self.n_jobs = n_jobs

    def _is_vote(self):
        return True

    _parameter_constraints = {
        "n_neighbors": [AT_LEAST_ONE],
        "metric": [HasMethods(["transform"]), str, os.PathLike, None],
        "reading": _params.CONSTRAINTS["reading"],
        "n_jobs": _params.CONSTRAINTS["n_jobs"],
    }

    def __sklearn_clone__(self):
        # A fitted metric is a parameter like a number: a copy that is not fitted would be of no use.
        copied = super().__sklearn_clone__()
        copied.metric = self.metric
        return copied

    @all_or_nothing
    def fit(self, X, y) -> Self:
        """Stores the rows.

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
        self._check_params()
        table = self._data(X, y, None)
        if self.metric is None:
            asked = {"candidates": ["plain"], "params": "{}", "early_stopping": "off", "folds": 5, "seed": 0}
            asked["n_neighbors"] = int(self.n_neighbors)
            metric, _ = _core.fit_metric(asked, table, self._class_task(), self._threads(), None)
        else:
            metric = self._given_metric()
            table.known = metric.columns  # rows are read as those that the metric was learned from
            metric = metric.with_reference_rows(table, self._class_task(), int(self.n_neighbors))
        return self._take_metric(metric)

    def _given_metric(self):
        metric = self.metric
        if isinstance(metric, FrozenEstimator):
            metric = metric.estimator
        return metric._fitted() if isinstance(metric, SDist) else _core.Metric.load(os.fspath(metric))
