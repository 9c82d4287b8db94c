"""Estimators for the stabilized learner: many paths agree on few features."""

import copy
import json

from sklearn.base import ClassifierMixin, RegressorMixin

from ._base import Classifier, Regressor, Trained
from .errors import ParamError

PARAMETERS = """
    Many learners, each on halves of the rows, go down a ladder of sizes together; features that few of them want are left
    behind. The smallest rung as good as the best becomes the model, judged on rows its features were chosen without.

    Parameters
    ----------
    n_features_to_select : int, default=None
        Exactly this many features; ``None`` lets the data choose.
    loss : str, default=None
        {losses}
    n_paths : int, default=None
        Learners that vote; ``None`` takes 32, and fewer for many classes.
    max_iter : int, default=None
        Passes over the rows, all stages together; ``None`` takes what the size of the data asks for.
    scale : str, default="auto"
        How columns are scaled while learning; ``auto`` is half-way to variance 1.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    reading : dict, default=None
        How files are read: ``format``, ``target``, ``weight``, ``ignore``, ``categorical``, ``missing``, ``zero_based``,
        ``skip_bad``.
    random_state : int, RandomState or None, default=None
        The seed. ``None`` is 0: the same data give the same model.
    n_jobs : int, default=None
        Threads; ``None`` takes all. Models do not depend on it.
    verbose : int, default=0
        1 shows progress in a line, 2 keeps the lines.

    Attributes
    ----------
    coef_, sparse_coef_, intercept_ : the weights of raw values, dense and sparse, and the intercepts
    stability_ : ndarray, the share of paths that selected each feature, in the shape of ``coef_``; 0 outside the model
    coef_path_ : list of (size, sparse array), other models of the same training, from large to small
    path_ : list of dict, every rung of the ladder: size, loss, error and its standard error
    features_ : list of dict, the features with their weights and stability, largest effect first
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
        self.max_iter = max_iter
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.reading = reading
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _recipe(self) -> dict:
        k = self.n_features_to_select
        return {
            "method": "stabilized",
            "loss": self.loss,
            "k": None if k is None else int(k),
            "numbers": {} if self.n_paths is None else {"paths": float(self.n_paths)},
            "scale": self.scale,
            "passes": None if self.max_iter is None else int(self.max_iter),
            "intercept": bool(self.fit_intercept),
            "seed": self._seed(),
        }

    def _from_file(self, model):
        if model.selection is None:
            raise ParamError(f"a model of the method {model.method!r} has no ladder: load it with tamis.load")
        return super()._from_file(model)

    def recut(self, n_features_to_select=None, *, stability=None):
        """The same training's model with other features; no data are needed.

        Parameters
        ----------
        n_features_to_select : int, default=None
            So many features.
        stability : float, default=None
            The features that at least this share of the paths selected.

        Returns
        -------
        estimator
            Another fitted estimator; this one is unchanged.
        """
        model = self._fitted().recut(n_features_to_select, stability)
        other = copy.copy(self)
        if n_features_to_select is not None:
            other.n_features_to_select = n_features_to_select
        return other._take_model(model)

    @property
    def stability_(self):
        """The share of paths that selected each feature; 0 for features outside the model."""
        shares = self._spread(self._fitted_attribute("stability_").outputs, of=3).toarray()
        return shares if len(shares) > 1 else shares[0]

    @property
    def path_(self) -> list[dict]:
        """Every rung of the ladder: size, loss, error and its standard error, features a path selects on average."""
        selection = self._fitted_attribute("path_").selection
        return json.loads(selection)["ladder"]

    @property
    def coef_path_(self) -> list:
        """Other models of the same training, large to small: pairs of size and weights, one row an output."""
        rungs = self._fitted_attribute("coef_path_").rungs
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
        + PARAMETERS.format(
            losses="``logistic`` (the default; probabilities are calibrated), ``hinge`` or ``squared-hinge``.",
            classes="\n    classes_ : ndarray of the classes",
        )
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from tamis import StabilizedClassifier
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(400, 30))
    >>> y = X[:, 4] + X[:, 9] > 0
    >>> model = StabilizedClassifier(n_features_to_select=2).fit(X, y)
    >>> model.get_support(indices=True), model.stability_[[4, 9]]
    (array([4, 9]), array([1., 1.]))
    >>> model.recut(1).get_support().sum()
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
        + PARAMETERS.format(losses="``squared`` (the default) or ``huber``.", classes="")
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
