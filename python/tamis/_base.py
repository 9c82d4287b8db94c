"""Base class of the estimators of linear models: a model of the core with the interface of scikit-learn."""

import json
import os
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from . import _core, _input, _params, _picture
from ._progress import Line
from ._rows import Rows, all_or_nothing
from .errors import DataError, missing_file, warn


class Estimator(SelectorMixin, Rows):
    """A sparse linear model, fitted by any method."""

    def _learn(self, settings: dict, X, y, sample_weight, *, keep_open=False):
        """Fits a model; returns it, and with ``keep_open`` the learner as well.

        The core looks at each value anyway, so that a matrix is checked, or repaired, only after the core refused a row.
        """
        settings, task, data = self._prepared(settings, X, y, sample_weight, check_cells=False)
        try:
            return self._run(settings, task, data, keep_open)
        except DataError as error:
            if error.row is None or not isinstance(data, _input.Table):
                raise
        return self._run(settings, task, self._data(X, y, sample_weight), keep_open)

    def _prepared(self, settings: dict, X, y, sample_weight, **checks) -> tuple:
        """What the core learns from: settings, task and data."""
        data = self._data(X, y, sample_weight, **checks)
        settings = self._for_columns(settings)
        return settings, self._task(data if isinstance(data, _input.Table) else None, settings), data

    def _run(self, settings, task, data, keep_open, checkpoint=None):
        """Fits a model; the rows come after those of a checkpoint if there is one."""
        line = Line(self.verbose) if self.verbose else None
        try:
            return _core.fit(settings, data, task, self._threads(), keep_open, line, checkpoint)
        finally:
            if line is not None:
                line.close()

    def _for_columns(self, settings: dict) -> dict:
        """The settings with the core's names of the columns."""
        is_unnamed = hasattr(self, "n_features_in_") and not hasattr(self, "feature_names_in_")
        return _params.numbered(settings) if is_unnamed else settings

    # -- the model

    def _take_model(self, model):
        self._model = model
        self.__dict__.pop("_coef", None)
        return self

    def _take_fit(self, model):
        """The model of a fit; an empty one is worth a warning."""
        if not any(len(output[0]) for output in model.outputs):
            warn("the model has no features: it predicts the same for all rows")
        return self._take_model(model)

    def _fitted(self):
        check_is_fitted(self)
        return self._model

    def __sklearn_is_fitted__(self):
        return getattr(self, "_model", None) is not None

    def _margins(self, X, model=None):
        """Margins of shape (n_samples, n_outputs)."""
        model = model or self._fitted()
        paths = _input.as_paths(X)
        if paths is not None:
            return model.margins_of_files(paths, self._reading())
        if _input.is_batches(X):
            return np.concatenate([self._margins(batch, model) for batch in X])
        return model.margins(self._known(X, model.columns))

    def _spread(self, outputs, of=1):
        """Values of the features as a sparse array of shape (n_outputs, n_features)."""
        find = self._column_of()
        columns = [[find(name) for name in output[0]] for output in outputs]
        values = [np.ones(len(output[0])) if output[of] is None else output[of] for output in outputs]
        rows = np.repeat(np.arange(len(outputs)), [len(one) for one in columns])
        flat = np.concatenate([np.asarray(one, dtype=np.int64) for one in columns])
        shape = (len(outputs), self._width())
        return sparse.csr_array((np.concatenate(values), (rows, flat)), shape=shape)

    @property
    def sparse_coef_(self) -> sparse.csr_array:
        """The weights as a sparse array of shape (n_outputs, n_features)."""
        return self._spread(self._fitted_attribute("sparse_coef_").outputs)

    @property
    def coef_(self) -> np.ndarray:
        """The weights as a dense array; ``sparse_coef_`` needs less memory for wide data."""
        model = self._fitted_attribute("coef_")
        if "_coef" not in self.__dict__:
            self._coef = self._spread(model.outputs).toarray()
        return self._coef

    @property
    def intercept_(self) -> np.ndarray | float:
        """The intercepts, one for each output."""
        return self._fitted_attribute("intercept_").intercepts

    @property
    def features_(self) -> list[dict[str, Any]]:
        """The features of the model by decreasing effect: a list of dictionaries."""
        outputs = self._fitted_attribute("features_").outputs  # the core makes them anew at each access
        listed = []
        for number, (names, weights, scales, frequency) in enumerate(outputs):
            for place, name in enumerate(names):
                told = {"name": self._public_name(name), "weight": float(weights[place]), "scale": float(scales[place])}
                if frequency is not None:
                    told["frequency"] = float(frequency[place])
                if len(outputs) > 1:
                    told["class"] = self.classes_[number]
                listed.append(told)
        return listed

    def to_frame(self) -> Any:
        """The features of the model as a pandas data frame: name, weight, scale, effect, and where they are known the class, the
        selection frequency and the q-value. It needs pandas."""
        import pandas

        model = self._fitted()
        frame = pandas.DataFrame(self.features_, columns=None if self.features_ else ["name", "weight", "scale"])
        frame.insert(min(3, frame.shape[1]), "effect", frame["weight"] * frame["scale"])
        tests = json.loads(model.tests or "{}").get("tests", [])
        if tests:
            q_values = {self._public_name(test["name"]): test["q"] for test in tests}
            frame["q"] = frame["name"].map(q_values)
        return frame

    @property
    def recipe_(self) -> dict:
        """The recipe of the model: method and parameters."""
        return json.loads(self._fitted_attribute("recipe_").recipe)

    @property
    def seen_(self) -> dict:
        """Summary of the training: rows, passes, features, and the progressive validation loss."""
        return json.loads(self._fitted_attribute("seen_").seen)

    @property
    def n_iter_(self) -> int:
        """Number of passes over the rows."""
        return json.loads(self._fitted_attribute("n_iter_").seen)["passes"]

    def _fitted_attribute(self, name):
        try:
            return self._fitted()
        except NotFittedError as error:
            raise AttributeError(f"{name}: {error}") from error

    # -- selection of features

    def _get_support_mask(self):
        weights = self._spread(self._fitted().outputs)
        mask = np.zeros(weights.shape[1], dtype=bool)
        mask[weights.indices] = True
        return mask

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """The names of the selected features. Those of columns of strings are categories: ``column=value``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            The names of the columns; they must be those of ``fit``.
        """
        features = self._feature_list() if self.__sklearn_is_fitted__() else None
        if features is None:
            return super().get_feature_names_out(input_features)
        _check_feature_names_in(self, input_features)
        return np.array(features, dtype=object)[self.get_support()]

    def transform(self, X) -> Any:
        """The selected features of rows. Categories become columns of zeros and ones.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        X : array-like or sparse matrix of shape (n_samples, n_selected_features)
        """
        model = self._fitted()
        if self._feature_list() is None:
            return super().transform(X)
        return model.values(self._known(X, model.columns), self.get_feature_names_out().tolist())

    # -- files and pictures

    def _score(self, measure, name, X, y, sample_weight):
        """A measure of scikit-learn, or the one of the core that has this name for the rows of files."""
        if y is not None:
            return measure(y, self.predict(X), sample_weight=sample_weight)
        paths = _input.as_paths(X)
        if paths is not None:
            found = json.loads(self._fitted().measure((paths, self._reading())))
            return 1.0 - found["error"] if name == "error" else found.get(name, float("nan"))
        if not _input.is_batches(X):
            raise ValueError("y is needed: only files and batches contain labels")
        predicted, labels, *weights = zip(*((self.predict(batch), *rest) for batch, *rest in X), strict=True)
        weights = np.concatenate(weights[0]) if weights else None
        return measure(np.concatenate(labels), np.concatenate(predicted), sample_weight=weights)

    def save(self, path) -> None:
        """Saves the model in the format of the program. The file is replaced atomically."""
        self._fitted().save(os.fspath(path), self._matrix_columns())

    def report(self, path, file="model.json", *, data=None) -> None:
        """Writes an HTML report, as ``tamis report`` does: features, stability, accuracy of smaller models.

        Parameters
        ----------
        path : str or path-like
            The HTML file to write.
        file : str
            The name of the model file in the commands that the report suggests.
        data : (X, y), (X, y, sample_weight), path or list of paths, default=None
            Labelled rows, best those that the model has not seen: the page shows error, ROC curve and calibration on them.
        """
        model = self._fitted()
        names = {name: self._public_name(name) for name in self._all_names(model)}
        text = model.report(os.fspath(file), names, None if data is None else self._labelled(data, model))
        with open(path, "w", encoding="utf-8") as page:
            page.write(text)

    def export(
        self,
        to,
        path=None,
        *,
        dialect="ansi",
        long=False,
        table="data",
        id_column="id",
        double_odds=20.0,
        base_points=600.0,
        base_odds=50.0,
    ) -> str | bytes | None:
        """The model for another program, as ``tamis export`` writes it.

        Parameters
        ----------
        to : {"sql", "sklearn", "onnx", "c", "python", "scorecard"}
            A SQL query, a Python file that builds a scikit-learn pipeline without this package, an ONNX graph, C functions, a
            Python file without dependencies, or a table of points.
        path : str or path-like, default=None
            The file to write. If None, the content is returned: bytes for ``"onnx"``, text for the others. A scorecard is
            CSV, or a page if the name ends in ``.html``.
        dialect : {"ansi", "duckdb", "postgres", "spark", "bigquery"}
            The dialect of SQL; ``"ansi"`` is also for SQLite.
        long : bool
            SQL for a table with the columns id, feature and value, where absent features are zero.
        table : str
            The table that the query reads.
        id_column : str
            The column that identifies a row, in long form.
        double_odds : float
            Points of a scorecard that double the odds of the second class.
        base_points : float
            Points of the base odds.
        base_odds : float
            Odds of the second class that have the base points.
        """
        model = self._fitted()
        names = {name: self._public_name(name) for name in self._all_names(model)}
        page = None if path is None or not os.fspath(path).endswith(".html") else type(self).__name__
        points = (float(double_odds), float(base_points), float(base_odds))
        content = model.export(
            to, names, dialect=dialect, long=long, table=table, id_column=id_column, points=points, html=page
        )
        if path is None:
            return content if to == "onnx" else content.decode()
        with open(path, "wb") as file:
            file.write(content)
        return None

    def _labelled(self, data, model):
        """The name of labelled rows, and the rows for the core."""
        paths = _input.as_paths(data)
        if paths is not None:
            return " ".join(paths), (paths, self._reading())
        X, y, *rest = data
        table = self._known(X, model.columns)
        labels, classes = self._known_labels(y, model)
        table.labels, table.classes = labels, classes
        table.weights = _input.weights_of(rest[0] if rest else None, len(labels))
        return "the given rows", table

    @staticmethod
    def _all_names(model):
        """The names of all features of a model: of all sizes, and those that were tested."""
        for output in [*model.outputs, *(output for _, _, outputs in model.sizes for output in outputs)]:
            yield from output[0]
        for test in json.loads(model.tests or "{}").get("tests", []):
            yield from [test["name"], *test.get("with", [])]

    @classmethod
    def load(cls, path, **parameters) -> Self:
        """Loads an estimator from a model file. A file of the program does not contain the columns: they are matched by name.

        Parameters
        ----------
        path : str or path-like
            A model file of this package or of the program.
        **parameters
            Parameters of the estimator, for later fits.
        """
        missing_file(path)
        estimator = cls(**parameters)
        return estimator._from_file(_core.Model.load(os.fspath(path)))

    def _from_file(self, model):
        self._take_columns(model.matrix)
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
    """An estimator that needs all rows at once."""

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
        return self._fit(X, y, sample_weight)

    def _fit(self, X, y, sample_weight) -> Self:
        model, _ = self._learn(self._recipe(), X, y, sample_weight)
        return self._take_fit(model)
