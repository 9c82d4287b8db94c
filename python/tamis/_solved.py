"""Estimators fitted to co-moments, without reading the data again."""

import json
from typing import Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.class_weight import compute_sample_weight

from . import _input, _params
from ._base import Estimator
from ._moments import Moments
from ._posterior import Posterior
from ._rows import Classes, all_or_nothing
from ._tasks import Classifier, LogProbabilities, Regressor
from ._tested import Tested
from .errors import ParamError


HEAD = """
    The data are read once, and only their co-moments are kept (``moments_``). ``resolve`` fits another model without the data,
    and ``partial_fit`` adds rows. The time to solve does not depend on the number of rows. It is practical up to about ten
    thousand columns.
"""

ATTRIBUTES = """
    Attributes
    ----------
    moments_ : Moments, the co-moments of the rows
    coef_, sparse_coef_, intercept_ : weights in the units of the raw values, dense and sparse, and intercepts
    path_ : list of dict, the models compared, from small to large
    q_values_, tests_ : q-values of the columns and the tests behind them, if there are folds
    features_ : list of dict, features with their weights by decreasing effect
    n_features_in_, feature_names_in_ : the columns{classes}
"""


def _document(init) -> str:
    return _params.document(
        init,
        "solve",
        solver=(
            "str",
            "``ols``, ``ridge``, ``ols-th``, ``ofsa`` (annealing), ``lasso``, ``elastic-net``, ``mcp`` or ``scad``.",
        ),
        folds=("int", "Number of cross-validation folds in the moments, for the criterion ``cv`` and the tests of features."),
        decay=("float", "Exponential decay: weight of the newest row; about the last 1/``decay`` rows count. 0 is no decay."),
        interactions=("bool", "Add the products of all pairs of columns, squares included."),
    )


def _has_probabilities(estimator) -> bool:
    if getattr(estimator, "_model", None) is not None and getattr(estimator, "moments_", None) is None:
        raise AttributeError("probabilities need the moments, which the file of a model does not contain: load those")
    if len(getattr(estimator, "classes_", (0, 1))) > 2:
        raise AttributeError("probabilities of least squares need two classes: see CalibratedClassifierCV of scikit-learn")
    return True


class Solved(Tested, Estimator):
    """Base class of the classifier and the regressor."""

    _why_not_tested = "tests of features need moments with at least two folds: set the parameter folds"

    def __init__(
        self,
        solver="mcp",
        *,
        n_features_to_select=None,
        alpha=None,
        criterion=None,
        l1_ratio=None,
        concavity=None,
        sign=None,
        refit=False,
        folds=1,
        decay=0.0,
        interactions=False,
        reading=None,
        n_jobs=None,
    ):
        self.solver = solver
        self.n_features_to_select = n_features_to_select
        self.alpha = alpha
        self.criterion = criterion
        self.l1_ratio = l1_ratio
        self.concavity = concavity
        self.sign = sign
        self.refit = refit
        self.folds = folds
        self.decay = decay
        self.interactions = interactions
        self.reading = reading
        self.n_jobs = n_jobs

    def _recipe(self) -> dict:
        self._check_params()
        return {"method": self.solver, **_params.given(self, "solve")}

    @all_or_nothing
    def fit(self, X, y=None, sample_weight=None) -> Self:
        """Computes the moments of the rows and fits a model to them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), frame, path or iterator of batches
            The rows. Files and batches contain the labels.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self
        """
        self._recipe()
        paths = _input.as_paths(X)
        if paths is not None:
            self._check_stream(is_files=True)
            given = {name: getattr(self, name) for name in ("folds", "decay", "interactions", "reading", "n_jobs")}
            return self.fit_moments(Moments.of_files(paths, task=self._file_task, **given))
        self._forget("classes_")
        self.moments_ = self._empty()
        if not _input.is_batches(X):
            return self._add(X, y, sample_weight, reset=True)
        self._check_stream(is_files=False)
        for number, (batch, labels, *rest) in enumerate(X):
            self._add(batch, labels, rest[0] if rest else None, reset=number == 0, least=1)
        self._fitted()
        return self

    @all_or_nothing
    def partial_fit(self, X, y, sample_weight=None) -> Self:
        """Adds rows to the moments. The model is solved on demand.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or frame
            The rows.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self
        """
        first = getattr(self, "moments_", None) is None
        if first:
            self._check_means("partial_fit")
            self._recipe()
            self._forget("classes_")
            self.moments_ = self._empty()
        return self._add(X, y, sample_weight, reset=first, least=1)

    def _empty(self):
        numbers = {"folds": self.folds, "decay": self.decay, "interactions": self.interactions}
        return Moments(self._moments_task, **numbers)

    def _add(self, X, y, sample_weight, *, reset, least=2):
        """Adds rows to the moments; a fit needs at least two."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        table = self._any(X, y, sample_weight, reset=reset, ensure_min_samples=least)
        if least > 1:
            self._check_classes()
        self.moments_._core.observe(table)
        self.moments_._join_columns(self)
        self.moments_._classes = getattr(self, "classes_", None)
        self._take_model(None)
        if least > 1:
            self._fitted()
        return self

    def _check_classes(self) -> None:
        pass

    def fit_moments(self, moments) -> Self:
        """Fits a model to a copy of the given moments; returns self."""
        self._forget("classes_")
        self.moments_ = moments.copy()
        if moments.task == "classes":
            self.classes_ = moments.classes
        columns = moments._columns
        if hasattr(columns, "n_features_in_"):
            self.n_features_in_ = columns.n_features_in_
        if hasattr(columns, "feature_names_in_"):
            self.feature_names_in_ = columns.feature_names_in_
            self._seen = getattr(columns, "_seen", None)
        return self.resolve()

    def resolve(self, **parameters) -> Self:
        """Fits another model to the same moments, without the data; returns self.

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
            model, path, self._chosen = moments._core.solve(self._for_columns(self._recipe()), False, self._threads())
            self._path = json.loads(path)
            self._take_model(model)
        return super()._fitted()

    def __sklearn_is_fitted__(self):
        return getattr(self, "_model", None) is not None or getattr(self, "moments_", None) is not None

    @property
    def path_(self) -> list[dict]:
        """The models compared, from small to large: size, lambda, R², criteria."""
        self._fitted_attribute("path_")
        return self._path


class MomentsRegressor(Regressor, RegressorMixin, Solved):
    _parameter_constraints = _params.constraints(Solved.__init__, "solve", interactions=["boolean"])
    __doc__ = (
        "Sparse linear regression from co-moments.\n"
        + HEAD
        + _document(Solved.__init__)
        + ATTRIBUTES.format(classes="")
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


class MomentsClassifier(LogProbabilities, Classifier, ClassifierMixin, Solved):
    __init__ = _params.with_class_weight(Solved.__init__)
    _parameter_constraints = _params.constraints(__init__, "solve", interactions=["boolean"])
    __doc__ = (
        "Sparse linear classifier from co-moments, by least squares.\n"
        + HEAD
        + _document(__init__)
        + ATTRIBUTES.format(classes="\n    classes_ : ndarray of the classes")
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

    def _check_classes(self) -> None:
        Classes._check_classes(self)

    @available_if(_has_probabilities)
    def predict_proba(self, X) -> np.ndarray:
        """Probabilities of two classes. They are those of linear discriminant analysis of the scores: as good as the
        assumption that scores are about normal in each class, with the same variance. Where the classes differ in size,
        the more probable class need not be that of ``predict``, which goes by least squares. More classes have no
        probabilities: the order of their scores and of such probabilities would differ.

        Returns
        -------
        shares : ndarray of shape (n_samples, 2)
        """
        model = self._fitted()
        return self._posterior.probabilities(self._margins(X, model))

    def _take_model(self, model):
        has_two = model is not None and len(model.classes) == 2 and getattr(self, "moments_", None) is not None
        self._posterior = Posterior(self.moments_._core, model) if has_two else None
        return super()._take_model(model)

    def _check_stream(self, *, is_files: bool) -> None:
        super()._check_stream(is_files=is_files)
        if self.class_weight is not None and (is_files or self.class_weight == "balanced"):
            what = "files" if is_files else "batches: pass a dictionary"
            raise ParamError(f"class_weight={self.class_weight!r} is not supported for {what}")

    def _labels(self, y, weights):
        """Moments are sums over weighted rows: the weights of classes are part of the weights of rows."""
        codes, classes, weights = super()._labels(y, weights)
        if y is None or self.class_weight is None:
            return codes, classes, weights
        if weights is None:
            return codes, classes, compute_sample_weight(self.class_weight, y)
        kept, both = weights > 0, np.zeros(len(y))
        both[kept] = weights[kept] * compute_sample_weight(self.class_weight, np.asarray(y)[kept])
        return codes, classes, both

    def partial_fit(self, X, y, classes=None, sample_weight=None) -> Self:
        """Adds rows to the moments. The model is solved on demand.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or frame
            The rows.
        y : array-like of shape (n_samples,)
            The labels. New classes may appear at any time.
        classes : array-like, default=None
            Ignored; present for compatibility with scikit-learn.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self
        """
        self._check_incremental()
        return super().partial_fit(X, y, sample_weight)
