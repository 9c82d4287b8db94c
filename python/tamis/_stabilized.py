"""Estimators for the method ``stabilized``: stability selection along SGD paths."""

import copy
import json
from typing import Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from . import _params
from ._base import Trained
from ._tasks import Classifier, Probabilities, Regressor
from ._tested import Tested
from .errors import ParamError

HEAD = """
    Stability selection: SGD paths on random half-samples vote for features while the number of features is halved in stages.
    The model is the smallest one whose held-out loss and error are within √2 standard errors of the best, or a size
    below it that is hardly worse. The random halves
    depend on the rows and on the names of the columns: under other names, other weak features may be selected.
"""

ATTRIBUTES = """
    Attributes
    ----------
    coef_, sparse_coef_, intercept_ : weights in the units of the raw values, dense and sparse, and intercepts
    q_values_ : ndarray of shape (n_features_in_,), q-values; 1 for features that were not tested by themselves
    tests_ : list of dict, the tested features: name, z-score, q-value, and features that cannot be told apart from it
    selection_frequency_ : ndarray of the shape of ``coef_``, selection frequencies; 0 for features outside the model
    coef_path_ : list of (size, sparse array), weights along the size path, from large to small
    path_ : list of dict, the size path: size, held-out loss and error, standard error
    features_ : list of dict, features with weights and selection frequencies by decreasing effect
    n_features_in_, feature_names_in_ : the columns, unless the model was fitted to a stream{classes}
"""


class Stabilized(Tested, Trained):
    """Base class of the classifier and the regressor."""

    def __init__(
        self,
        n_features_to_select=None,
        *,
        fdr=None,
        loss=None,
        n_paths=None,
        row_id=None,
        max_iter=None,
        scale="auto",
        fit_intercept=True,
        interactions=None,
        reading=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_features_to_select = n_features_to_select
        self.fdr = fdr
        self.loss = loss
        self.n_paths = n_paths
        self.row_id = row_id
        self.max_iter = max_iter
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.interactions = interactions
        self.reading = reading
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _recipe(self) -> dict:
        self._check_params()
        return {"method": "stabilized", **_params.given(self, "stabilized")}

    def _from_file(self, model):
        if model.size_path is None:
            raise ParamError(f"a model of the method {model.method!r} has no size path: load it with tamis.load")
        return super()._from_file(model)

    def resize(self, n_features_to_select=None, *, fdr=None, frequency=None) -> Self:
        """Changes the number of features of the model, without the data.

        Parameters
        ----------
        n_features_to_select : int, default=None
            Number of features.
        fdr : float, default=None
            Keep the confirmed features: on average, at most this share of them are false discoveries.
        frequency : float, default=None
            Keep the features with at least this selection frequency.

        Returns
        -------
        estimator
            A new fitted estimator; this one is not changed.
        """
        model = self._fitted().resize(n_features_to_select, frequency, fdr)
        other = copy.copy(self)
        if n_features_to_select is not None:
            other.n_features_to_select = n_features_to_select
        return other._take_model(model)

    @property
    def selection_frequency_(self) -> np.ndarray:
        """Selection frequencies: the share of paths that selected each feature; 0 for features outside the model."""
        shares = self._spread(self._fitted_attribute("selection_frequency_").outputs, of=3).toarray()
        return shares if len(shares) > 1 else shares[0]

    @property
    def path_(self) -> list[dict]:
        """The size path: size, held-out loss and error with standard error, mean number of features of a path."""
        return json.loads(self._fitted_attribute("path_").size_path)["sizes"]

    @property
    def coef_path_(self) -> list:
        """Weights along the size path, from large to small: pairs of size and a sparse array (n_outputs, n_features)."""
        sizes = self._fitted_attribute("coef_path_").sizes
        return [(size, self._spread(outputs)) for size, _, outputs in sizes]


class StabilizedClassifier(Probabilities, Classifier, ClassifierMixin, Stabilized):
    __init__ = _params.with_class_weight(Stabilized.__init__)
    _parameter_constraints = _params.constraints(__init__, "stabilized", loss=[_params.CLASS_LOSSES, None])
    __doc__ = (
        "Sparse linear classifier whose features are tested.\n"
        + HEAD
        + _params.document(
            __init__,
            "stabilized",
            loss=("str", "``logistic`` (the default; probabilities are calibrated), ``hinge`` or ``squared-hinge``."),
        )
        + ATTRIBUTES.format(classes="\n    classes_ : ndarray of the classes")
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from tamis import StabilizedClassifier
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(400, 30))
    >>> y = X[:, 4] + X[:, 9] > 0
    >>> model = StabilizedClassifier(n_features_to_select=2).fit(X, y)
    >>> model.get_support(indices=True), model.selection_frequency_[[4, 9]]
    (array([4, 9]), array([1., 1.]))
    >>> model.resize(1).get_support().sum()
    np.int64(1)
    """
    )


class StabilizedRegressor(Regressor, RegressorMixin, Stabilized):
    _parameter_constraints = _params.constraints(Stabilized.__init__, "stabilized", loss=[_params.NUMBER_LOSSES, None])
    __doc__ = (
        "Sparse linear regression whose features are tested.\n"
        + HEAD
        + _params.document(
            Stabilized.__init__, "stabilized", loss=("str", "``squared`` (the default) or ``huber``.")
        )
        + ATTRIBUTES.format(classes="")
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from tamis import StabilizedRegressor
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(400, 30))
    >>> model = StabilizedRegressor(n_features_to_select=2).fit(X, X[:, 4] - 2 * X[:, 9])
    >>> model.get_support(indices=True)
    array([4, 9])
    """
    )
