"""Estimators for the two-stage learner: learn with all features, then draw few of them without bias."""

import json

from sklearn.base import ClassifierMixin, RegressorMixin

from . import _params
from ._base import Classifier, Regressor, Trained
from .errors import ParamError

HEAD = """
    Weights are learned in an l1 ball, in epochs that double, and averaged; then features are drawn at random, likely ones
    those of large effect, and their weights raised so that the drawn model is right on average; at last these weights are
    moved towards the fit on the rows. What is not given is tried on rows held out: radius, rate and how far, by the loss of
    the model they lead to, and the number of features, the smallest whose loss is at most one standard error above the
    least.
"""

ATTRIBUTES = """
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
        sampling=None,
        radius=None,
        learning_rate=None,
        first_epoch_steps=None,
        loss=None,
        max_iter=None,
        scale="auto",
        fit_intercept=True,
        refine=None,
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
        self.sampling = sampling
        self.radius = radius
        self.learning_rate = learning_rate
        self.first_epoch_steps = first_epoch_steps
        self.loss = loss
        self.max_iter = max_iter
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.refine = refine
        self.refit = refit
        self.reading = reading
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _recipe(self) -> dict:
        return {"method": "two-stage", **_params.given(self, "two-stage")}

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
        + HEAD
        + _params.document(
            TwoStage.__init__,
            "two-stage",
            loss=("str", "``logistic`` (the default), ``hinge``, ``squared-hinge`` or ``squared``."),
        )
        + ATTRIBUTES.format(classes="\n    classes_ : ndarray of the classes")
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
        + HEAD
        + _params.document(TwoStage.__init__, "two-stage", loss=("str", "``squared`` (the default) or ``huber``."))
        + ATTRIBUTES.format(classes="")
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from tamis import TwoStageRegressor
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(1000, 30))
    >>> model = TwoStageRegressor(n_features_to_select=2).fit(X, X[:, 4] - 2 * X[:, 9])
    >>> model.get_support(indices=True), model.sampling_["law"]
    (array([4, 9]), 'contribution')
    """
    )
