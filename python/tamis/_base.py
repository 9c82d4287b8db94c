"""What estimators of linear models share: a model of the core, and what scikit-learn wants to know of it."""

import json
import os

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from . import _core, _input, _picture
from ._progress import Line
from ._rows import Classes, Rows


class Estimator(SelectorMixin, Rows):
    """A linear model of few features, whatever made it."""

    def _learn(self, settings: dict, X, y, sample_weight, *, keep_open=False):
        """A model of the data, and the learner itself if it is to stay open."""
        data = self._data(X, y, sample_weight)
        task = self._task(data if isinstance(data, _input.Table) else None, settings)
        line = Line(self.verbose) if self.verbose else None
        try:
            return _core.fit(settings, data, task, self._threads(), keep_open, line)
        finally:
            if line is not None:
                line.close()

    # -- the model

    def _take_model(self, model):
        self._model = model
        self.__dict__.pop("_coef", None)
        return self

    def _fitted(self):
        check_is_fitted(self)
        return self._model

    def __sklearn_is_fitted__(self):
        return getattr(self, "_model", None) is not None

    def _margins(self, X):
        """Raw scores: one row each, one column an output."""
        model = self._fitted()
        paths = _input.as_paths(X)
        if paths is not None:
            return model.margins_of_files(paths, self._reading())
        if _input.is_batches(X):
            return np.concatenate([self._margins(batch) for batch in X])
        return model.margins(self._known(X, model.columns))

    def _spread(self, outputs, of=1):
        """The numbers of outputs' features as a sparse matrix, one row an output."""
        find = self._column_of()
        columns = [[find(name) for name in output[0]] for output in outputs]
        values = [np.ones(len(output[0])) if output[of] is None else output[of] for output in outputs]
        rows = np.repeat(np.arange(len(outputs)), [len(one) for one in columns])
        flat = np.concatenate([np.asarray(one, dtype=np.int64) for one in columns])
        shape = (len(outputs), self.n_features_in_)
        return sparse.csr_array((np.concatenate(values), (rows, flat)), shape=shape)

    @property
    def sparse_coef_(self):
        """The weights as a sparse array, one row an output; zeros take no room."""
        return self._spread(self._fitted_attribute("sparse_coef_").outputs)

    @property
    def coef_(self):
        """The weights, dense; ``sparse_coef_`` is kinder to wide data."""
        model = self._fitted_attribute("coef_")
        if "_coef" not in self.__dict__:
            self._coef = self._spread(model.outputs).toarray()
        return self._coef

    @property
    def intercept_(self):
        """The intercepts, one an output."""
        return self._fitted_attribute("intercept_").intercepts

    @property
    def features_(self):
        """The features of the model, largest effect first: a list of dictionaries, for any data frame."""
        model = self._fitted_attribute("features_")
        listed = []
        for number, (names, weights, scales, frequency) in enumerate(model.outputs):
            for place, name in enumerate(names):
                told = {"name": name, "weight": float(weights[place]), "scale": float(scales[place])}
                if stability is not None:
                    told["frequency"] = float(frequency[place])
                if len(model.outputs) > 1:
                    told["class"] = self.classes_[number]
                listed.append(told)
        return listed

    @property
    def recipe_(self) -> dict:
        """How the model was made, as the program would say it."""
        return json.loads(self._fitted_attribute("recipe_").recipe)

    @property
    def seen_(self) -> dict:
        """What was learned from: rows, passes, features, and the loss of predictions made before learning each row."""
        return json.loads(self._fitted_attribute("seen_").seen)

    @property
    def n_iter_(self) -> int:
        """Passes over the rows."""
        return json.loads(self._fitted_attribute("n_iter_").seen)["passes"]

    def _fitted_attribute(self, name):
        try:
            return self._fitted()
        except NotFittedError as error:
            raise AttributeError(f"{name}: {error}") from error

    def _get_support_mask(self):
        self._fitted()
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.sparse_coef_.indices] = True
        return mask

    # -- files and pictures

    def save(self, path) -> None:
        """Saves the model as the program would: the old file stays until the new one is whole."""
        self._fitted().save(os.fspath(path))

    def report(self, path, file="model.json") -> None:
        """Writes a page to look at: which features, how sure, what if fewer. It is the program's own, and needs no network.

        Parameters
        ----------
        path : str or path-like
            Where the page goes.
        file : str
            What the page calls the model in the commands it proposes.
        """
        with open(path, "w", encoding="utf-8") as page:
            page.write(self._fitted().report(os.fspath(file)))

    @classmethod
    def load(cls, path, **parameters):
        """An estimator with the model of a file. The number of columns is not in it, so columns go by their names.

        Parameters
        ----------
        path : str or path-like
            A model file of this package or of the program.
        **parameters
            Parameters of the estimator, for later fits.
        """
        estimator = cls(**parameters)
        return estimator._from_file(_core.Model.load(os.fspath(path)))

    def _from_file(self, model):
        return self._take_model(model)

    def _html_repr(self):
        text = BaseEstimator._html_repr(self)
        return text + _picture.of(self) if self.__sklearn_is_fitted__() else text

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class Trained(Estimator):
    """An estimator that learns all rows at once; its recipe says how."""

    def fit(self, X, y=None, sample_weight=None):
        """Learns a model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), frame, path or iterator of batches
            The rows. Files and batches bring their labels along.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The importance of the rows.

        Returns
        -------
        self
        """
        model, _ = self._learn(self._recipe(), X, y, sample_weight)
        return self._take_model(model)


class Regressor:
    """The part of a regressor."""

    def _task(self, table, settings):
        return "regression"

    def _label_checks(self):
        return {"y_numeric": True}

    def _labels(self, y):
        return (None if y is None else np.ascontiguousarray(y, dtype=np.float64)), []

    def predict(self, X):
        """Predicted numbers.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, path or iterator of batches
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        return self._margins(X)[:, 0]

    @property
    def coef_(self):
        """The weights, dense; ``sparse_coef_`` is kinder to wide data."""
        return Estimator.coef_.fget(self)[0]

    @property
    def intercept_(self):
        """The intercept."""
        return float(Estimator.intercept_.fget(self)[0])


class Classifier(Classes):
    """The part of a classifier."""

    def _task(self, table, settings):
        if table is None:
            # Files and batches tell their classes as they come; a loss for classes says that there are some.
            settings["loss"] = settings.get("loss") or "logistic"
            return "auto"
        return self._class_task()

    def _take_model(self, model):
        if not hasattr(self, "n_features_in_") or not hasattr(self, "classes_"):
            self.classes_ = _input.classes_of(model.classes)
        return super()._take_model(model)

    def decision_function(self, X):
        """How sure the model is of a class; for two classes, above zero speaks for the second.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._margins(X) - self._model.boundary
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X):
        """Predicted classes.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, path or iterator of batches
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def _probabilities(self, X):
        scores = self.decision_function(X)
        shares = 1 / (1 + np.exp(-np.clip(scores, -700, 700)))
        if shares.ndim == 1:
            return np.column_stack([1 - shares, shares])
        total = shares.sum(axis=1, keepdims=True)
        return np.divide(shares, total, out=np.full_like(shares, 1 / shares.shape[1]), where=total > 0)
