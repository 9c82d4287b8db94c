"""What classifiers and what regressors share: labels, predictions, scores and probabilities."""

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if

from . import _core, _input
from ._base import Estimator
from ._rows import Classes
from .errors import DataError


def class_probabilities(scores) -> np.ndarray:
    """The probability of each class from log-odds: one column for two classes, or one for each class (one-vs-rest).

    Those of several classes are the geometric mean of softmax and of the normalised one-vs-rest probabilities, as in
    ``tamis predict``.
    """
    if scores.shape[1] == 1:
        second = 1 / (1 + np.exp(-np.clip(scores, -700, 700)))
        return np.column_stack([1 - second, second])
    logs = (scores - np.logaddexp(0, -scores)) / 2
    parts = np.exp(logs - logs.max(axis=1, keepdims=True))
    return parts / parts.sum(axis=1, keepdims=True)


class Predictions:
    """Mixin for what classifiers and regressors do alike."""

    def predict(self, X) -> np.ndarray:
        """Predicts the classes, or the numbers of a regression.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, path or iterator of batches
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._predicted(X)

    def score(self, X, y=None, sample_weight=None) -> float:
        """The accuracy, that is the share of right classes; for a regression R², the share of the variance that is explained.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, path or iterator of batches
            The rows. Files and batches ``(X, y)`` contain the labels, and perhaps weights.
        y : array-like of shape (n_samples,)
            The labels; not for files and batches.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; not for files and batches.

        Returns
        -------
        score : float
        """
        return self._score(*self._measure, X, y, sample_weight)


class Regressor(Predictions):
    """Mixin for regressors."""

    _measure = (r2_score, "r2")

    def _task(self, table, settings):
        return "regression"

    def _label_checks(self):
        return {"y_numeric": True}

    def _labels(self, y, weights):
        return (None if y is None else np.ascontiguousarray(y, dtype=np.float64)), [], weights

    def _known_labels(self, y, model):
        return np.ascontiguousarray(_input.check_labels(y, self, numeric=True), dtype=np.float64), []

    def _predicted(self, X):
        margins = self._margins(X)[:, 0]
        return np.exp(margins) if self._fitted().has_log_link else margins

    @property
    def coef_(self) -> np.ndarray:
        """The weights as a dense array; ``sparse_coef_`` needs less memory for wide data."""
        return Estimator.coef_.fget(self)[0]

    @property
    def intercept_(self) -> float:
        """The intercept."""
        return float(Estimator.intercept_.fget(self)[0])


class Classifier(Predictions, Classes):
    """Mixin for classifiers."""

    _measure = (accuracy_score, "error")

    def _task(self, table, settings):
        if table is None:
            # The classes of files and batches are not known in advance; a classification loss selects the task.
            settings["loss"] = settings.get("loss") or "logistic"
            return "auto"
        return self._class_task()

    def _take_model(self, model):
        if model is not None:
            self._match_classes(model)
        return super()._take_model(model)

    def _match_classes(self, model) -> None:
        """The classes are those of the model: rows of weight 0, and the classes that only they have, are left out."""
        if not hasattr(self, "classes_"):
            self.classes_ = _input.classes_of(model.classes)
        elif len(self.classes_) != len(model.classes):
            known = dict(zip(_input.labels_of(self.classes_), self.classes_, strict=True))
            self.classes_ = np.array([known[label] for label in model.classes], dtype=self.classes_.dtype)

    def _known_labels(self, y, model):
        y = _input.check_labels(y, self, numeric=False)
        codes = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        unknown = np.asarray(y)[self.classes_[codes] != y]
        if len(unknown):
            raise DataError(f"y contains labels that the model does not know: {np.unique(unknown)!r}")
        return np.ascontiguousarray(codes, dtype=np.int64), model.classes

    def decision_function(self, X) -> np.ndarray:
        """Confidence scores of the classes; for two classes, a score above zero predicts the second.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        model = self._fitted()
        scores = self._margins(X, model) - model.boundary
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def _predicted(self, X):
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def _probabilities(self, X):
        scores = self.decision_function(X)
        return class_probabilities(scores[:, np.newaxis] if scores.ndim == 1 else scores)


def gives_probabilities(estimator) -> bool:
    """Whether the scores of a classifier are log-odds."""
    if estimator.loss is None or dict(_core.losses()).get(estimator.loss, False):
        return True
    raise AttributeError(f"probabilities need the loss 'logistic', got {estimator.loss!r}")


class LogProbabilities:
    """Mixin for classifiers with ``predict_proba``, which may depend on their parameters."""

    @available_if(lambda estimator: estimator.predict_proba is not None)
    def predict_log_proba(self, X) -> np.ndarray:
        """Logarithms of the probabilities of the classes.

        Returns
        -------
        logs : ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class Probabilities(LogProbabilities):
    """Mixin for classifiers whose scores are log-odds if the loss is logistic."""

    @available_if(gives_probabilities)
    def predict_proba(self, X) -> np.ndarray:
        """Probabilities of the classes.

        Returns
        -------
        shares : ndarray of shape (n_samples, n_classes)
        """
        return self._probabilities(X)
