"""Estimators for the stabilized learner: many paths agree on few features."""

import copy
import json

from sklearn.base import ClassifierMixin, RegressorMixin

from . import _params
from ._base import Classifier, Regressor, Trained
from .errors import ParamError

HEAD = """
    Many learners, each on halves of the rows, go down a ladder of sizes together; features that few of them want are left
    behind. The smallest rung as good as the best becomes the model, judged on rows its features were chosen without.
"""

ATTRIBUTES = """
    Attributes
    ----------
    coef_, sparse_coef_, intercept_ : the weights of raw values, dense and sparse, and the intercepts
    selection_frequency_ : ndarray, the share of paths that selected each feature, in the shape of ``coef_``; 0 outside the model
    coef_path_ : list of (size, sparse array), other models of the same training, from large to small
    path_ : list of dict, every rung of the ladder: size, loss, error and its standard error
    features_ : list of dict, the features with their weights and frequency, largest effect first
    n_features_in_, feature_names_in_ : the columns, where they have fixed places{classes}
"""


class Stabilized(Trained):
    """What the two estimators share."""

    def __init__(
        self,
        n_features_to_select=None,
        *,
        loss=None,
        n_paths=None,
        row_id=None,
        max_iter=None,
        scale="auto",
        fit_intercept=True,
        reading=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_features_to_select = n_features_to_select
        self.loss = loss
        self.n_paths = n_paths
        self.row_id = row_id
        self.max_iter = max_iter
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.reading = reading
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _recipe(self) -> dict:
        return {"method": "stabilized", **_params.given(self, "stabilized")}

    def _from_file(self, model):
        if model.selection is None:
            raise ParamError(f"a model of the method {model.method!r} has no ladder: load it with tamis.load")
        return super()._from_file(model)

    def resize(self, n_features_to_select=None, *, frequency=None):
        """The same training's model with other features; no data are needed.

        Parameters
        ----------
        n_features_to_select : int, default=None
            So many features.
        frequency : float, default=None
            The features that at least this share of the paths selected.

        Returns
        -------
        estimator
            Another fitted estimator; this one is unchanged.
        """
        model = self._fitted().resize(n_features_to_select, frequency)
        other = copy.copy(self)
        if n_features_to_select is not None:
            other.n_features_to_select = n_features_to_select
        return other._take_model(model)

    @property
    def selection_frequency_(self):
        """The share of paths that selected each feature; 0 for features outside the model."""
        shares = self._spread(self._fitted_attribute("selection_frequency_").outputs, of=3).toarray()
        return shares if len(shares) > 1 else shares[0]

    @property
    def path_(self) -> list[dict]:
        """Every rung of the ladder: size, loss, error and its standard error, features a path selects on average."""
        selection = self._fitted_attribute("path_").selection
        return json.loads(selection)["ladder"]

    @property
    def coef_path_(self) -> list:
        """Other models of the same training, large to small: pairs of size and weights, one row an output."""
        rungs = self._fitted_attribute("coef_path_").sizes
        return [(size, self._spread(outputs)) for size, _, outputs in rungs]

    def false_selections(self, cutoff: float) -> float | None:
        """The bound of Meinshausen and Bühlmann on the expected number of false selections; indicative.

        Parameters
        ----------
        cutoff : float
            The share of paths from which on a feature counts as selected; the bound says nothing at 0.5 or below.
        """
        return self._fitted().false_selections(cutoff)


class StabilizedClassifier(Classifier, ClassifierMixin, Stabilized):
    __doc__ = (
        "Classes from few features, and how sure each feature is.\n"
        + HEAD
        + _params.document(
            Stabilized.__init__,
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

    def predict_proba(self, X):
        """Probabilities of the classes.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_classes)
        """
        return self._probabilities(X)


class StabilizedRegressor(RegressorMixin, Regressor, Stabilized):
    __doc__ = (
        "Numbers from few features, and how sure each feature is.\n"
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
