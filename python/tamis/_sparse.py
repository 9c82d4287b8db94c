"""Estimators for the online learners."""

import threading
from typing import Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import _get_feature_names

from . import _core, _frames, _input, _params
from ._base import Estimator
from ._rows import all_or_nothing
from ._tasks import Classifier, Probabilities, Regressor
from .errors import DataError, ParamError

ATTRIBUTES = """
    Attributes
    ----------
    coef_, sparse_coef_, intercept_ : weights in the units of the raw values, dense and sparse, and intercepts
    features_ : list of dict, features with their weights by decreasing effect
    n_features_in_, feature_names_in_ : the columns, unless the model was fitted to a stream{classes}
"""


def _document(init, losses: str) -> str:
    return _params.document(
        init,
        method=("str", "The method; ``tamis.methods()`` lists them."),
        loss=("str", losses),
        alpha=(
            "float",
            "Strength of the penalty beside the sum of the losses of the rows: it counts less the more rows there are. Larger\n"
            "        is sparser. ``None`` is the default of the method.",
        ),
        l1_ratio=(
            "float",
            "Share of L1 in the penalty; the rest is L2 (``ftrl``, ``fobos`` and ``rda``).",
        ),
        learning_rate=("float", "Initial learning rate; ``None`` is the default of the method."),
        schedule=(
            "str",
            "Learning-rate schedule: ``auto``, ``constant``, ``inverse-sqrt``, ``inverse``, ``power`` or ``adagrad``;\n"
            "        ``None`` is the default of the method.",
        ),
        refit=(
            "bool",
            "Whether the selected features are fitted again without penalty. ``None`` does so if ``n_features_to_select`` is\n"
            "        given and the method cuts its weights at the end, but not with ``max_iter=1``, where rows are not stored, in\n"
            "        ``partial_fit`` and with ``warm_start``, where later rows may need the other weights.",
        ),
        settings=(
            "dict",
            'Further parameters of the method by name, such as ``{"period": 10}``; ``tamis.parameters()`` lists them.',
        ),
        warm_start=(
            "bool",
            "Whether ``fit`` continues from the current state, and whether a pickled model can be continued after ``fit``.",
        ),
    )


class Sparse(Estimator):
    """Base class of the classifier and the regressor."""

    def __init__(
        self,
        method="ftrl",
        *,
        loss=None,
        alpha=None,
        l1_ratio=1.0,
        n_features_to_select=None,
        learning_rate=None,
        schedule=None,
        max_iter=None,
        scale="auto",
        fit_intercept=True,
        average=False,
        sign=None,
        refit=None,
        shuffle=None,
        interactions=None,
        settings=None,
        reading=None,
        random_state=None,
        warm_start=False,
        n_jobs=None,
        verbose=0,
    ):
        self.method = method
        self.loss = loss
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.n_features_to_select = n_features_to_select
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.max_iter = max_iter
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.average = average
        self.sign = sign
        self.refit = refit
        self.shuffle = shuffle
        self.interactions = interactions
        self.settings = settings
        self.reading = reading
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _recipe(self) -> dict:
        self._check_params()
        settings = {"method": self.method, **_params.given(self, self.method, leave_out=("alpha",))}
        settings |= _params.further(self.settings)
        if self.refit is None and self.warm_start:
            settings["refit"] = "false"  # later rows may need the other weights
        if self.alpha is not None:
            settings["l1"] = _params.text(float(self.alpha) * float(self.l1_ratio))
        if self.l1_ratio != 1:
            if self.alpha is None:
                raise ParamError("l1_ratio requires alpha")
            settings["l2"] = _params.text(float(self.alpha) * (1 - float(self.l1_ratio)))
        return settings

    @all_or_nothing
    def fit(self, X, y=None, sample_weight=None) -> Self:
        """Fits a model.

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
        if self.warm_start and getattr(self, "_training", None) is not None:
            return self._go_on(X, y, sample_weight, passes=int(self.max_iter or 1))
        self._training, self._from_fit = None, True
        recipe = self._recipe()
        model, self._training = self._learn(recipe, X, y, sample_weight, keep_open=True)
        return self._take_fit(model)

    def _begin(self, classes, X, y, sample_weight):
        """Starts incremental training with the first rows."""
        if getattr(self, "_model", None) is not None:
            raise DataError(
                "training cannot be continued: the model was loaded from a file, pickled without warm_start, or fitted with"
                " refit or by a method that is not online"
            )
        self._check_means("partial_fit")
        self._from_fit, self._started = False, self._recipe()
        is_unnamed = not self._is_table(X) and _get_feature_names(X) is None
        recipe = _params.numbered(self._started) if is_unnamed else self._started
        self._training = _core.Training(recipe, classes, self._threads())
        self._forget()
        self._training.learn(self._any(X, y, sample_weight, reset=True))
        return self._take_model(None)

    def _go_on(self, X, y, sample_weight, *, passes=1):
        """Continues training with more rows. There may be new columns."""
        self._check_recipe()
        wider = self._widen(X) if hasattr(self, "n_features_in_") else (None, None)
        table = self._any(X, y, sample_weight, reset=wider is not None)
        with self._lock():
            for _ in range(passes):
                self._training.learn(table)
            self._is_behind = True
        if wider is not None and wider[0] is not None:
            self.feature_names_in_, self.n_features_in_ = wider
        return self

    def _check_recipe(self) -> None:
        """A training cannot change its parameters. Those of ``fit`` include passes, which do not matter here."""
        started = getattr(self, "_started", None)
        if started is None:
            return
        now = self._recipe()
        changed = sorted(name for name in started.keys() | now.keys() if started.get(name) != now.get(name))
        if changed:
            names = {row.name: row.python for row in _params.ROWS}
            raise ParamError(f"{names.get(changed[0], changed[0])} cannot change while training continues")

    def _widen(self, X):
        """The columns after these rows, if there are new ones. Columns may be added but not removed."""
        before = getattr(self, "feature_names_in_", None)
        names = _frames.column_names(X) if self._is_table(X) else _get_feature_names(X)
        if names is None and before is None:
            width = X.shape[1] if getattr(X, "ndim", 0) == 2 else 0
            return (None, width) if width > self.n_features_in_ else None
        if names is None or before is None:
            return None
        known = dict.fromkeys(before)
        fresh = [name for name in names if name not in known]
        if not fresh or [name for name in names if name in known] != list(before):
            return None
        return np.array([*before, *fresh], dtype=object), len(before) + len(fresh)

    def _lock(self):
        """The lock of the learner: rows are learned, and models built, by one thread at a time."""
        return self.__dict__.setdefault("_own_lock", threading.RLock())

    def _fitted(self):
        """The model. After ``partial_fit`` it is built on demand; while another thread learns, it is the one before."""
        model, training = getattr(self, "_model", None), getattr(self, "_training", None)
        is_behind = model is None or self.__dict__.get("_is_behind", False)
        if training is not None and is_behind and self._lock().acquire(blocking=model is None):
            try:
                if self.__dict__.get("_is_behind", False) or self._model is None:
                    self._is_behind = False
                    self._take_model(training.model())
            finally:
                self._lock().release()
        super()._fitted()
        return self._model

    def __sklearn_is_fitted__(self):
        return getattr(self, "_model", None) is not None or getattr(self, "_training", None) is not None

    def __getstate__(self):
        # The learner is much larger than the model, so it is pickled only if it can be needed.
        with self._lock():
            state = {**super().__getstate__()}
            state.pop("_own_lock", None)
            if state.get("_from_fit") and not self.warm_start:
                state["_training"] = None
            elif state.get("_training") is not None:
                state["_training"] = state["_training"].to_bytes()
        return state

    def __setstate__(self, state):
        if isinstance(state.get("_training"), bytes):
            state = {**state, "_training": _core.Training.from_bytes(state["_training"])}
        super().__setstate__(state)


class SparseClassifier(Probabilities, Classifier, ClassifierMixin, Sparse):
    __init__ = _params.with_class_weight(Sparse.__init__)
    _parameter_constraints = _params.constraints(__init__, loss=[_params.CLASS_LOSSES, None])
    __doc__ = (
        """Sparse linear classifier, trained online.

    More than two classes are trained one-vs-rest. The model of ``partial_fit`` does not depend on the batch size: it is that
    of ``fit`` with ``max_iter=1`` and of ``tamis fit --passes 1``.
"""
        + _document(
            __init__,
            "``logistic`` (the default), ``hinge``, ``squared-hinge``, ``clipped-squared`` or ``squared``. The model of\n"
            "        ``clipped-squared`` divides each row by the square root of its number of non-zeros before weights apply.",
        )
        + ATTRIBUTES.format(classes="\n    classes_ : ndarray of the classes")
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from tamis import SparseClassifier
    >>> X = np.eye(4)[[0, 1, 2, 3] * 50]
    >>> y = np.array(["ham", "spam", "ham", "ham"] * 50)
    >>> model = SparseClassifier(n_features_to_select=1).fit(X, y)
    >>> model.predict(np.eye(4))
    array(['ham', 'spam', 'ham', 'ham'], dtype='<U4')
    >>> model.get_support(indices=True)
    array([1])
    """
    )

    @all_or_nothing
    def partial_fit(self, X, y, classes=None, sample_weight=None) -> Self:
        """Continues training with more rows, in the given order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or frame
            The rows. There may be more columns than before.
        y : array-like of shape (n_samples,)
            The labels.
        classes : array-like, default=None
            All classes; required in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self
        """
        self._check_incremental()
        if getattr(self, "_training", None) is None:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self.classes_ = np.unique(classes)
            if len(self.classes_) < 2:
                raise DataError(f"at least two classes are needed, got one class: {classes!r}")
            return self._begin(_input.labels_of(self.classes_), X, y, sample_weight)
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}"
            )
        return self._go_on(X, y, sample_weight)

    def _labels(self, y, weights):
        if getattr(self, "_training", None) is None:
            return super()._labels(y, weights)
        codes = np.searchsorted(self.classes_, y)
        codes[codes == len(self.classes_)] = 0
        strange = self.classes_[codes] != y
        if np.any(strange):
            raise DataError(f"y contains labels that are not in classes: {np.unique(np.asarray(y)[strange])!r}")
        return np.ascontiguousarray(codes, dtype=np.int64), _input.labels_of(self.classes_), weights


class SparseRegressor(Regressor, RegressorMixin, Sparse):
    _parameter_constraints = _params.constraints(Sparse.__init__, loss=[_params.ONLINE_NUMBER_LOSSES, None])
    __doc__ = (
        """Sparse linear regression, trained online.

    The model of ``partial_fit`` does not depend on the batch size: it is that of ``fit`` with ``max_iter=1`` and of
    ``tamis fit --passes 1``.
"""
        + _document(
            Sparse.__init__,
            "``squared`` (the default), ``huber``, ``quantile`` (the median, or ``settings={\"quantile\": 0.9}``) or ``poisson`` for\n"
            "        counts. ``settings={\"offset\": name}`` names a column of a frame that is added with weight 1; with ``poisson``, the\n"
            "        logarithm of the exposure.",
        )
        + ATTRIBUTES.format(classes="")
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from tamis import SparseRegressor
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(1000, 10))
    >>> model = SparseRegressor(n_features_to_select=1, refit=True).fit(X, 3 * X[:, 2] + 1)
    >>> model.get_support(indices=True), np.round(model.intercept_, 1)
    (array([2]), np.float64(1.0))
    """
    )

    @all_or_nothing
    def partial_fit(self, X, y, sample_weight=None) -> Self:
        """Continues training with more rows, in the given order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or frame
            The rows. There may be more columns than before.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self
        """
        if getattr(self, "_training", None) is None:
            return self._begin(None, X, y, sample_weight)
        return self._go_on(X, y, sample_weight)
