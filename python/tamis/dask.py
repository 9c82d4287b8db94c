"""Estimators for Dask frames and arrays: stability selection and models of moments, on rows that are spread over a cluster.

``pip install tamis[dask]`` on the client and on the workers. The current scheduler is used: a client of ``distributed`` if there is
one, threads otherwise. A frame names its features; the columns of an array (or of chunks that are sparse matrices) are numbered.
"""

import sys
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from . import _dask_engine, _worker, distributed
from ._load import estimator_of
from ._moments import Moments
from ._stabilized import StabilizedClassifier, StabilizedRegressor

__all__ = ["TamisClassifier", "TamisMoments", "TamisMomentsClassifier", "TamisRegressor", "spread"]


class _Predicted(BaseEstimator):
    """Predictions of a fitted model, partition by partition."""

    def _take(self, model, X) -> Self:
        self._model = model
        self.estimator_ = estimator_of(model)
        names = [str(name) for name in X.columns] if hasattr(X, "columns") else []
        self.estimator_._take_columns((len(names) or X.shape[1], names, []))
        return self

    @property
    def features_(self) -> list[dict]:
        """The features by decreasing effect: name, weight, and their selection frequency."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.features_

    def _mapped(self, X, pick: str, width: int | None, dtype):
        """A function of every partition, lazily."""
        import dask.array

        check_is_fitted(self, "estimator_")
        text = self._model.text
        if hasattr(X, "columns"):
            found = X.to_delayed()
            from dask import delayed

            parts = [delayed(_scored)(part, text, pick) for part in found]
            shape = (np.nan,) if width is None else (np.nan, width)
            arrays = [dask.array.from_delayed(part, shape=shape, dtype=dtype) for part in parts]
            return dask.array.concatenate(arrays)
        if len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        if width is None:
            return X.map_blocks(_scored, text, pick, dtype=dtype, drop_axis=1, meta=np.empty(0, dtype=dtype))
        chunks = (X.chunks[0], (width,))
        return X.map_blocks(_scored, text, pick, dtype=dtype, chunks=chunks, meta=np.empty((0, width), dtype=dtype))

    def predict(self, X) -> Any:
        """The predictions as a Dask array."""
        classes = getattr(self, "classes_", None)
        return self._mapped(X, "predicted", None, np.float64 if classes is None else np.asarray(classes).dtype)

    def save(self, path) -> None:
        """Saves the model in the format of the program."""
        check_is_fitted(self, "estimator_")
        self.estimator_.save(path)


def _scored(X, text: str, pick: str):
    batch, form = _worker.batch_of(X)
    return getattr(_worker.scores(_worker.model_of(text), batch, form), pick)


class _Stabilized(_Predicted):
    """What the classifier and the regressor share."""

    def __init__(self, n_features_to_select=None, *, fdr=None, loss=None, n_buckets=64, random_state=None, verbose=1):
        self.n_features_to_select = n_features_to_select
        self.fdr = fdr
        self.loss = loss
        self.n_buckets = n_buckets
        self.random_state = random_state
        self.verbose = verbose

    def _report(self, line: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {line}", file=sys.stderr, flush=True)

    def fit(self, X, y, sample_weight=None, *, key=None) -> Self:
        """Selects features and fits a model.

        Parameters
        ----------
        X : Dask frame or array
            The rows. Partitions of a frame are pandas; chunks of an array may be sparse matrices.
        y, sample_weight, key : Dask series or array, divided as ``X``
            Labels, weights, and what identifies a row; without ``key``, its features do.

        Returns
        -------
        self
        """
        given = {name: getattr(self, name) for name in ("n_features_to_select", "fdr", "loss", "random_state")}
        settings = self._alike(**given)._recipe()
        if self._task == "auto":
            settings.setdefault("loss", "logistic")
        _dask_engine.check_versions()
        engine = _dask_engine.DaskEngine(_dask_engine.partitions(X, y, sample_weight, key))
        with _dask_engine.worker_errors():
            model = distributed.fit(
                engine, settings, self._task, buckets=self.n_buckets, keyed=key is not None, report=self._report
            )
        return self._take(model, X)


class _Labelled:
    """What classifiers share."""

    @property
    def classes_(self) -> np.ndarray:
        """The classes."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.classes_


class TamisClassifier(ClassifierMixin, _Labelled, _Stabilized):
    """Stability selection for classes (the method ``stabilized``) on a Dask frame or array.

    Parameters: ``n_features_to_select``, ``fdr``, ``loss``, ``random_state`` as in :class:`tamis.StabilizedClassifier`;
    ``n_buckets``, parts of the rows that learn by themselves; ``verbose``, a line a stage. The model does not depend on partitions,
    their number or their order. ``estimator_`` is the model as an estimator of this package.
    """

    _task, _alike = "auto", StabilizedClassifier

    def predict_proba(self, X) -> Any:
        """Probabilities of the classes, as a Dask array."""
        return self._mapped(X, "probabilities", len(self.classes_), np.float64)


class TamisRegressor(RegressorMixin, _Stabilized):
    """Stability selection for numbers on a Dask frame or array; the parameters are those of :class:`TamisClassifier`."""

    _task, _alike = "regression", StabilizedRegressor


class _OfMoments(_Predicted):
    """What models of moments share."""

    _numeric = True

    def __init__(self, solver="mcp", *, n_features_to_select=None, criterion=None, alpha=None, folds=1, block_rows=256):
        self.solver = solver
        self.n_features_to_select = n_features_to_select
        self.criterion = criterion
        self.alpha = alpha
        self.folds = folds
        self.block_rows = block_rows

    def fit(self, X, y, sample_weight=None) -> Self:
        """Computes the moments and solves a model; the arguments are those of :meth:`TamisClassifier.fit`."""
        _dask_engine.check_versions()
        parts = _dask_engine.partitions(X, y, sample_weight)
        with _dask_engine.worker_errors():
            self.moments_ = Moments._of(_dask_engine.moments(parts, self._numeric, self.folds, self.block_rows))
        given = {name: getattr(self, name) for name in ("n_features_to_select", "criterion", "alpha")}
        solved = self.moments_.solve(self.solver, **{name: value for name, value in given.items() if value is not None})
        return self._take(solved._fitted(), X)


class TamisMoments(RegressorMixin, _OfMoments):
    """The moments of a Dask frame or array in one pass (and one over the columns), and a regression solved from them.

    Parameters: ``solver`` and those of :meth:`tamis.Moments.solve`; ``folds``, to which rows belong by their features.
    ``moments_`` are the moments.
    """


class TamisMomentsClassifier(ClassifierMixin, _Labelled, _OfMoments):
    """The same for classes: a regression for each, solved from one set of moments."""

    _numeric = False


def spread() -> Any:
    """Runs the fits of :func:`tamis.tune` and :func:`tamis.stability` as tasks of Dask: ``tune(…, spread=spread())``."""
    return _dask_engine.run_tasks
