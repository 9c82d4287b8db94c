"""Estimators for the method ``two-stage``: train a dense model, then sample few features without bias."""

import json

from sklearn.base import ClassifierMixin, RegressorMixin

from . import _params
from ._base import Trained
from ._tasks import Classifier, Probabilities, Regressor
from .errors import ParamError

HEAD = """
    A dense model is trained by SGD within an L1 ball, in epochs of doubling length, and averaged. Then features are sampled
    with probabilities that grow with their effect, and their weights are rescaled so that the expected model is the dense
    one. Finally the weights of the sampled features are refined on the rows. Parameters that are ``None`` are chosen on
    held-out rows: radius, learning rate and amount of refinement by the loss of the sampled model, and the number of features
    as the smallest whose loss is at most one standard error above the minimum.
"""

ATTRIBUTES = """
    Attributes
    ----------
    coef_, sparse_coef_, intercept_ : weights in the units of the raw values, dense and sparse, and intercepts
    sampling_ : dict, how features were sampled: law, draws, expected number, candidates, epochs, chosen parameters
    features_ : list of dict, features with their weights by decreasing effect
    n_features_in_, feature_names_in_ : the columns, unless the model was fitted to a stream{classes}
"""


class TwoStage(Trained):
    """Base class of the classifier and the regressor."""

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
        refit=None,
        interactions=None,
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
        self.interactions = interactions
        self.reading = reading
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _recipe(self) -> dict:
        self._check_params()
        return {"method": "two-stage", **_params.given(self, "two-stage")}

    def _from_file(self, model):
        if model.sampling is None:
            raise ParamError(f"a model of the method {model.method!r} has no sampled features: load it with tamis.load")
        return super()._from_file(model)

    @property
    def sampling_(self) -> dict:
        """How features were sampled: law, draws, expected number, candidates, epochs, chosen parameters."""
        return json.loads(self._fitted_attribute("sampling_").sampling)


class TwoStageClassifier(Probabilities, Classifier, ClassifierMixin, TwoStage):
    __init__ = _params.with_class_weight(TwoStage.__init__)
    _parameter_constraints = _params.constraints(__init__, "two-stage", loss=[_params.CLASS_LOSSES, None])
    __doc__ = (
        "Sparse linear classifier with features sampled without bias.\n"
        + HEAD
        + _params.document(
            __init__,
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


class TwoStageRegressor(Regressor, RegressorMixin, TwoStage):
    _parameter_constraints = _params.constraints(TwoStage.__init__, "two-stage", loss=[_params.NUMBER_LOSSES, None])
    __doc__ = (
        "Sparse linear regression with features sampled without bias.\n"
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
