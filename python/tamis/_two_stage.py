"""Estimators for the two-stage learner: learn with all features, then draw few of them without bias."""

import json

from sklearn.base import ClassifierMixin, RegressorMixin

from ._base import Classifier, Regressor, Trained
from .errors import ParamError

PARAMETERS = """
    Weights are learned in an l1 ball, in epochs that double, and averaged; then features are drawn at random, likely ones
    those of large effect, and their weights raised so that the drawn model is right on average; at last these weights are
    moved towards the fit on the rows. What is not given is tried on rows held out: radius, rate and how far, by the loss of
    the model they lead to, and the number of features, the smallest whose loss is at most one standard error above the
    least.

    Parameters
    ----------
    n_features_to_select : int, default=None
        Exactly this many features, drawn without replacement.
    n_draws : int, default=None
        Draws with replacement instead: at most so many features.
    epsilon : float, default=None
        The loss that drawing may add, which tells the number of draws; ``None`` with ``delta`` given takes a twentieth of
        the loss while learning.
    delta : float, default=None
        The chance that drawing adds more than ``epsilon``; ``None`` takes the method's own.
    law : str, default=None
        What makes a feature likely: ``distribution`` (weight times the size of the column; the default) or ``magnitude``
        (weight alone).
    radius : float, default=None
        The largest sum of absolute weights, in scaled units; ``None`` finds it from the rows.
    learning_rate : float, default=None
        The step of the first epoch; ``None`` finds it from the rows.
    first_epoch : int, default=None
        Steps of the first epoch; ``None`` finds it from the rows.
    loss : str, default=None
        {losses}
    max_iter : int, default=None
        Passes over the rows; ``None`` takes up to 20 for small data and one for large.
    scale : str, default="auto"
        How columns are scaled while learning; ``auto`` is by the largest absolute value.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    polish : float, default=None
        How far the drawn weights are moved towards the fit on the rows: 0 leaves them as drawn, right on average; ``None``
        finds it from the rows.
    refit : bool, default=False
        Whether the drawn features are learned again, without the ball.
    reading : dict, default=None
        How files are read: ``format``, ``target``, ``weight``, ``ignore``, ``categorical``, ``missing``, ``zero_based``,
        ``skip_bad``.
    random_state : int, RandomState or None, default=None
        The seed of order and draw. ``None`` is 0: the same data give the same model.
    n_jobs : int, default=None
        Threads; ``None`` takes all. Models do not depend on it.
    verbose : int, default=0
        1 shows progress in a line, 2 keeps the lines.

    Attributes
    ----------
    coef_, sparse_coef_, intercept_ : the weights of raw values, dense and sparse, and the intercepts
    sampling_ : dict, how the features were drawn: law, draws, expected number, candidates, whole epochs, settings
    features_ : list of dict, the features with their weights, largest effect first
    n_features_in_, feature_names_in_ : the columns, where they have fixed places{classes}
"""


class TwoStage(Trained):
    """What the two estimators share."""

    def __init__(
        self,
        n_features_to_select=None,
        *,
        n_draws=None,
        epsilon=None,
        delta=None,
        law=None,
        radius=None,
        learning_rate=None,
        first_epoch=None,
        loss=None,
        max_iter=None,
        scale="auto",
        fit_intercept=True,
        polish=None,
        refit=False,
        reading=None,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.n_features_to_select = n_features_to_select
        self.n_draws = n_draws
        self.epsilon = epsilon
        self.delta = delta
        self.law = law
        self.radius = radius
        self.learning_rate = learning_rate
        self.first_epoch = first_epoch
        self.loss = loss
        self.max_iter = max_iter
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.polish = polish
        self.refit = refit
        self.reading = reading
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _recipe(self) -> dict:
        k = self.n_features_to_select
        numbers = {
            "draws": self.n_draws,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "radius": self.radius,
            "learning-rate": self.learning_rate,
            "first-epoch": self.first_epoch,
            "polish": self.polish,
        }
        return {
            "method": "two-stage",
            "loss": self.loss,
            "k": None if k is None else int(k),
            "law": self.law,
            "numbers": {name: float(value) for name, value in numbers.items() if value is not None},
            "scale": self.scale,
            "passes": None if self.max_iter is None else int(self.max_iter),
            "intercept": bool(self.fit_intercept),
            "refit": bool(self.refit),
            "seed": self._seed(),
        }

    def _from_file(self, model):
        if model.sampling is None:
            raise ParamError(f"a model of the method {model.method!r} was not drawn: load it with tamis.load")
        return super()._from_file(model)

    @property
    def sampling_(self) -> dict:
        """How the features were drawn: law, draws, the number expected, candidates, whole epochs, settings."""
        return json.loads(self._fitted_attribute("sampling_").sampling)


class TwoStageClassifier(Classifier, ClassifierMixin, TwoStage):
    __doc__ = (
        "Classes from few features drawn without bias.\n"
        + PARAMETERS.format(
            losses="``logistic`` (the default), ``hinge``, ``squared-hinge`` or ``squared``.",
            classes="\n    classes_ : ndarray of the classes",
        )
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from tamis import TwoStageClassifier
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(1000, 30))
    >>> y = X[:, 4] + X[:, 9] > 0
    >>> model = TwoStageClassifier(n_features_to_select=2).fit(X, y)
    >>> model.get_support(indices=True)
    array([4, 9])
    """
    )


class TwoStageRegressor(RegressorMixin, Regressor, TwoStage):
    __doc__ = (
        "Numbers from few features drawn without bias.\n"
        + PARAMETERS.format(losses="``squared`` (the default) or ``huber``.", classes="")
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from tamis import TwoStageRegressor
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(1000, 30))
    >>> model = TwoStageRegressor(n_features_to_select=2).fit(X, X[:, 4] - 2 * X[:, 9])
    >>> model.get_support(indices=True), model.sampling_["law"]
    (array([4, 9]), 'distribution')
    """
    )
