"""The online learners for River: ``learn_one``, ``predict_one``, and ``learn_many`` for data frames.

>>> from tamis.river import SparseClassifier
>>> model = SparseClassifier(alpha=0.1)
>>> for word, is_spam in [("cheap", True), ("hello", False)] * 50:
...     model.learn_one({word: 1.0}, is_spam)
>>> model.predict_one({"cheap": 1.0}), model.predict_one({"hello": 1.0})
(True, False)

Features are named by the keys of the dictionaries; new ones may appear at any time. Values are not scaled
(``scale="none"``), so that learning starts with the first row. If columns differ in scale, put a scaler before the model.
Targets that are numbers are standardized.
"""

import math
from typing import Any

import numpy as np
from river import base

from . import _core, _input, _params
from ._tasks import class_probabilities
from .errors import DataError


class _Online:
    """Base class of the classifier and the regressor."""

    def __init__(
        self, method="ftrl", *, loss=None, alpha=None, n_features_to_select=None, learning_rate=None, settings=None
    ):
        self.method = method
        self.loss = loss
        self.alpha = alpha
        self.n_features_to_select = n_features_to_select
        self.learning_rate = learning_rate
        self.settings = settings
        self._learner = None
        self._model = None

    def _start(self, classes):
        recipe = {"method": self.method, **_params.given(self, self.method), "scale": "none", "passes": "1"}
        recipe |= _params.further(self.settings)
        return _core.Training(recipe, classes, 1)

    def _learn(self, table, classes):
        if self._learner is None:
            self._learner = self._start(classes)
        self._learner.learn(table)
        self._model = None

    def _scores(self, table, outputs=1):
        if self._learner is None:
            return None
        if self.n_features_to_select is None:
            return self._learner.scores(table).reshape(-1, outputs)
        model = self._made()
        return model.margins(table) - model.boundary

    def _made(self):
        """The current model. Building it takes time proportional to the number of features."""
        if self._model is None:
            self._model = self._learner.model()
        return self._model

    @property
    def weights(self) -> dict:
        """Non-zero weights by feature; with several classes, those of the first output."""
        if self._learner is None:
            return {}
        names, weights, *_ = self._made().outputs[0]
        return dict(zip(names, weights.tolist(), strict=True))


def _row(x: dict, weight: float = 1.0) -> _input.Table:
    names = [str(name) for name in x]
    values = np.fromiter(x.values(), dtype=np.float64, count=len(x))
    offsets, places = np.array([0, len(x)], dtype=np.int64), np.arange(len(x), dtype=np.int64)
    return _input.Table((offsets, places, values, len(x)), names, weights=np.array([float(weight)]))


def _frame(X) -> _input.Table:
    return _input.Table(np.ascontiguousarray(X, dtype=np.float64), [str(name) for name in X.columns])


class SparseClassifier(_Online, base.MiniBatchClassifier):
    """Sparse linear classifier for River.

    Parameters
    ----------
    method, loss, alpha, n_features_to_select, learning_rate, settings
        As in :class:`tamis.SparseClassifier`.
    classes : tuple, default=(False, True)
        All classes.

    Examples
    --------
    >>> from tamis.river import SparseClassifier
    >>> model = SparseClassifier(alpha=0.1, classes=("ham", "spam", "eggs"))
    >>> for word, kind in [("cheap", "spam"), ("hello", "ham"), ("yolk", "eggs")] * 50:
    ...     model.learn_one({word: 1.0}, kind)
    >>> model.predict_one({"yolk": 1.0})
    'eggs'
    """

    def __init__(
        self,
        method="ftrl",
        *,
        loss=None,
        alpha=None,
        n_features_to_select=None,
        learning_rate=None,
        settings=None,
        classes=(False, True),
    ):
        super().__init__(
            method,
            loss=loss,
            alpha=alpha,
            n_features_to_select=n_features_to_select,
            learning_rate=learning_rate,
            settings=settings,
        )
        self.classes = classes

    @property
    def _multiclass(self):
        return len(self.classes) > 2

    def _labelled(self, table, labels):
        strange = [label for label in labels if label not in self.classes]
        if strange:
            raise DataError(f"{strange[0]!r} is not in classes {tuple(self.classes)!r}; pass all classes to the constructor")
        table.labels = np.array([self.classes.index(label) for label in labels], dtype=np.int64)
        table.classes = self._core_classes()
        return table

    def _core_classes(self):
        return [label if isinstance(label, str) else float(label) for label in self.classes]

    def learn_one(self, x, y, w=1.0) -> None:
        """Learns a row: a dictionary of features, its class and its weight."""
        self._learn(self._labelled(_row(x, w), [y]), self._core_classes())

    def learn_many(self, X, y) -> None:
        """Learns the rows of a data frame."""
        self._learn(self._labelled(_frame(X), list(y)), self._core_classes())

    def _shares(self, table):
        scores = self._scores(table, len(self.classes) if self._multiclass else 1)
        return None if scores is None else class_probabilities(scores)

    def predict_proba_one(self, x) -> dict:
        """A dictionary of the probabilities of the classes."""
        shares = self._shares(_row(x))
        if shares is None:
            return dict.fromkeys(self.classes, 1 / len(self.classes))
        return dict(zip(self.classes, shares[0].tolist(), strict=True))

    def predict_proba_many(self, X) -> Any:
        """Probabilities of the classes as a data frame."""
        import pandas as pd

        shares = self._shares(_frame(X))
        if shares is None:
            shares = np.full((len(X), len(self.classes)), 1 / len(self.classes))
        return pd.DataFrame(shares, columns=list(self.classes), index=getattr(X, "index", None))


class SparseRegressor(_Online, base.MiniBatchRegressor):
    """Sparse linear regression for River.

    Targets are standardized by the mean and the standard deviation of the rows so far, so that the learning rate does not
    depend on their unit.

    Parameters
    ----------
    method, loss, alpha, n_features_to_select, learning_rate, settings
        As in :class:`tamis.SparseRegressor`.

    Examples
    --------
    >>> from tamis.river import SparseRegressor
    >>> model = SparseRegressor(alpha=0.0)
    >>> for age, height in [(1.0, 75.0), (2.0, 87.0), (3.0, 96.0)] * 200:
    ...     model.learn_one({"age": age}, height)
    >>> 90 < model.predict_one({"age": 3.0}) < 102
    True
    """

    def __init__(
        self, method="ftrl", *, loss=None, alpha=None, n_features_to_select=None, learning_rate=None, settings=None
    ):
        super().__init__(
            method,
            loss=loss,
            alpha=alpha,
            n_features_to_select=n_features_to_select,
            learning_rate=learning_rate,
            settings=settings,
        )
        self._total, self._mean, self._squares = 0.0, 0.0, 0.0

    def _standardized(self, y: float, weight: float) -> float:
        """A target by the mean and the deviation of the targets so far, this one included."""
        if not math.isfinite(y):
            raise DataError(f"the target {y} is not finite")
        self._total += weight
        distance = y - self._mean
        self._mean += distance * weight / self._total if self._total else 0.0
        self._squares += weight * distance * (y - self._mean)
        return (y - self._mean) / self._spread()

    def _spread(self) -> float:
        """The standard deviation of the targets; 1 as long as they are all the same."""
        return math.sqrt(self._squares / self._total) if self._squares > 0 else 1.0

    @property
    def weights(self) -> dict:
        """Non-zero weights by feature, in the unit of the target."""
        return {name: weight * self._spread() for name, weight in super().weights.items()}

    def learn_one(self, x, y, w=1.0) -> None:
        """Learns a row: a dictionary of features, its target and its weight."""
        table = _row(x, w)
        table.labels = np.array([self._standardized(float(y), float(w))])
        self._learn(table, None)

    def learn_many(self, X, y) -> None:
        """Learns the rows of a data frame."""
        table = _frame(X)
        table.labels = np.array([self._standardized(float(target), 1.0) for target in y])
        self._learn(table, None)

    def predict_one(self, x) -> float:
        """Predicts the target."""
        scores = self._scores(_row(x))
        return 0.0 if scores is None else self._mean + self._spread() * float(scores[0, 0])

    def predict_many(self, X) -> Any:
        """Predicts the targets, as a series."""
        import pandas as pd

        scores = self._scores(_frame(X))
        numbers = np.zeros(len(X)) if scores is None else self._mean + self._spread() * scores[:, 0]
        return pd.Series(numbers, index=getattr(X, "index", None))
