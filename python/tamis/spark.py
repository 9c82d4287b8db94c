"""Estimators for Spark: stability selection and models of moments, on frames that are larger than one machine.

``pip install tamis[spark]`` on the driver, and ``tamis`` of the same version on the workers. All work goes through Arrow and the
DataFrame interface, so that Spark Connect works. The page *Spark and Dask* of the guide shows how to use and ship it.

Features are a vector, an array of numbers, a struct of ``indices`` and ``values``, a map of names to numbers, or several columns
(``featuresCols``). Numbered features count from 1 in the model, as in files.
"""

import functools
import sys
from typing import Any

import pyarrow as pa
from pyspark import keyword_only
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasSeed,
    HasWeightCol,
)
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import functions as sql

from . import _core, _spark_engine, _spark_io, _worker, distributed
from ._load import estimator_of
from ._moments import Moments
from ._spark_engine import form_of, worker_errors
from ._spark_sql import expression
from ._stabilized import StabilizedClassifier, StabilizedRegressor
from .errors import DataError, ParamError

__all__ = [
    "TamisClassifier",
    "TamisClassificationModel",
    "TamisMoments",
    "TamisMomentsClassificationModel",
    "TamisMomentsModel",
    "TamisRegressor",
    "TamisRegressionModel",
    "spread",
]


class _Columns(HasFeaturesCol, HasLabelCol, HasPredictionCol, HasWeightCol):
    """The columns of estimators and models."""

    featuresCols: Param = Param(
        Params._dummy(), "featuresCols", "columns that are features, instead of featuresCol", TypeConverters.toListString
    )

    def __init__(self):
        super().__init__()
        self._setDefault(featuresCols=[])

    def _form(self, df):
        return form_of(df, self.getFeaturesCol(), self.getOrDefault("featuresCols"))

    def _selected(self, df, numeric, key=None):
        form = self._form(df)
        weight = self.getWeightCol() if self.isDefined("weightCol") else None
        columns = (form, self.getFeaturesCol(), self.getLabelCol(), weight, key, numeric)
        return form, *_spark_engine.selected(df, *columns)


class _Classes(HasProbabilityCol, HasRawPredictionCol):
    """The columns that classifications have besides."""


class _Setters:
    """``setX(value)`` for every parameter, as estimators of Spark have."""

    def __getattr__(self, name):
        key = name[3:4].lower() + name[4:]
        if not name.startswith("set") or "_paramMap" not in self.__dict__ or not self.hasParam(key):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return lambda value: self._set(**{key: value})


class _TamisEstimator(_Setters, Estimator, _Columns, HasSeed, DefaultParamsReadable, DefaultParamsWritable):
    """What the classifier and the regressor share."""

    nFeatures: Param = Param(
        Params._dummy(), "nFeatures", "number of features; 0 lets the data choose", TypeConverters.toInt
    )
    fdr: Param = Param(
        Params._dummy(), "fdr", "share of false discoveries among the features, on average; 0 is not used", TypeConverters.toFloat
    )
    loss: Param = Param(Params._dummy(), "loss", "the loss; empty takes that of the task", TypeConverters.toString)
    keyCol: Param = Param(
        Params._dummy(), "keyCol", "column that identifies a row; empty takes its features", TypeConverters.toString
    )
    nBuckets: Param = Param(
        Params._dummy(), "nBuckets", "parts of the rows that learn by themselves, a power of two", TypeConverters.toInt
    )
    verbose: Param = Param(Params._dummy(), "verbose", "whether to print a line a stage", TypeConverters.toBoolean)

    @keyword_only
    def __init__(self, **given):
        super().__init__()
        self._setDefault(nFeatures=0, fdr=0.0, loss="", keyCol="", nBuckets=64, verbose=True, seed=0)
        self._set(**self._input_kwargs)

    def _settings(self) -> dict:
        given = {"n_features_to_select": self.getOrDefault("nFeatures") or None, "fdr": self.getOrDefault("fdr") or None}
        given |= {"loss": self.getOrDefault("loss") or None, "random_state": self.getSeed() % 2**31}
        return self._alike(**given)._recipe()

    def _report(self, line: str) -> None:
        if self.getOrDefault("verbose"):
            print(f"[{self.uid}] {line}", file=sys.stderr, flush=True)

    def _fit(self, dataset):
        settings, numeric = self._settings(), self._task == "regression"
        form, rows, is_text = self._selected(dataset, numeric, self.getOrDefault("keyCol") or None)
        engine = _spark_engine.SparkEngine(rows, form, is_text)
        try:
            with worker_errors():
                fitted = distributed.fit(
                    engine,
                    settings,
                    self._task,
                    buckets=self.getOrDefault("nBuckets"),
                    keyed=bool(self.getOrDefault("keyCol")),
                    report=self._report,
                )
        finally:
            engine.close()
        return self._copyValues(self._made(fitted.text))


class _TamisModel(_Setters, Model, _Columns, _spark_io.Writable, _spark_io.Readable):
    """A fitted model: the text of the program's own model file."""

    def __init__(self, text: str = ""):
        super().__init__()
        self._text = text

    @property
    def text(self) -> str:
        """The model as the program writes it."""
        return self._text

    @property
    def estimator(self) -> Any:
        """The model as an estimator of this package: ``features_``, ``report``, ``resize``, ``export``."""
        return estimator_of(_worker.model_of(self._text))

    @property
    def features(self) -> list[dict]:
        """The features by decreasing effect: name, weight, and their selection frequency."""
        return self.estimator.features_

    def _scored(self, dataset, type_of_prediction: str):
        """The frame with a column of structs, and its name."""
        form, text, version = self._form(dataset), self._text, _core.VERSION
        names = [_worker.FEATURES] if form.kind != "columns" else [f"f{at}" for at in range(len(form.names))]

        def score(*columns):
            import pyarrow
            import tamis._core
            import tamis._worker

            if tamis._core.VERSION != version:
                text_of = f"the driver has tamis {version} and a worker has tamis {tamis._core.VERSION}"
                raise RuntimeError(f"[tamis:ParamError]{text_of}: install the same version everywhere[/tamis]")
            batch = pyarrow.RecordBatch.from_arrays(list(columns), names=names)
            return tamis._worker.predictions(text, form, batch)

        score.__annotations__ = {"columns": pa.Array, "return": pa.Array}
        kind = f"struct<margins: array<double>, probabilities: array<double>, prediction: {type_of_prediction}>"
        columns = _spark_engine.feature_columns(form, self.getFeaturesCol())
        name = f"{self.uid}_scored"
        return dataset.withColumn(name, sql.arrow_udf(score, kind)(*columns)), name

    def sql_expression(self, of: str = "prediction", form: str = "columns") -> str:
        """The prediction as an expression of Spark SQL, for scoring without Python: ``df.selectExpr(model.sql_expression())``.

        Parameters
        ----------
        of : {"prediction", "margin", "probability"}, default="prediction"
            What the expression computes; of two classes, the probability of the second.
        form : {"columns", "map", "array", "pairs"}, default="columns"
            How the frame has its features, in ``featuresCol`` or as columns. A vector must become an array first, by
            ``pyspark.ml.functions.vector_to_array``.
        """
        return expression(self.estimator, of, form, self.getFeaturesCol())


class TamisClassificationModel(_TamisModel, _Classes):
    """A fitted classifier; ``transform`` adds the prediction, probabilities and raw predictions."""

    @property
    def classes(self) -> list:
        """The classes: numbers or text, in the order of the probabilities."""
        return list(_worker.model_of(self._text).classes)

    @property
    def numClasses(self) -> int:
        """The number of classes."""
        return len(self.classes)

    def _transform(self, dataset):
        from pyspark.ml.functions import array_to_vector

        is_text = isinstance(self.classes[0], str)
        scored, name = self._scored(dataset, "string" if is_text else "double")
        raw, shares = array_to_vector(sql.col(f"{name}.margins")), array_to_vector(sql.col(f"{name}.probabilities"))
        if self.getRawPredictionCol():
            scored = scored.withColumn(self.getRawPredictionCol(), raw)
        if self.getProbabilityCol() and dict(_core.losses()).get(_worker.model_of(self._text).loss, False):
            scored = scored.withColumn(self.getProbabilityCol(), shares)
        return scored.withColumn(self.getPredictionCol(), sql.col(f"{name}.prediction")).drop(name)


class TamisRegressionModel(_TamisModel):
    """A fitted regression; ``transform`` adds the prediction."""

    def _transform(self, dataset):
        scored, name = self._scored(dataset, "double")
        return scored.withColumn(self.getPredictionCol(), sql.col(f"{name}.prediction")).drop(name)


class TamisClassifier(_TamisEstimator, _Classes):
    """Stability selection for classes on a frame (the method ``stabilized``).

    Parameters: ``featuresCol`` or ``featuresCols``, ``labelCol`` (numbers or text), ``weightCol``, ``keyCol``, ``nFeatures``,
    ``fdr``, ``loss``, ``nBuckets``, ``seed``, ``verbose``; ``predictionCol``, ``probabilityCol`` and ``rawPredictionCol`` of the model.
    The model does not depend on partitions, their number or their order.
    """

    _task, _alike, _made = "auto", StabilizedClassifier, TamisClassificationModel

    def _settings(self):
        settings = super()._settings()
        settings.setdefault("loss", "logistic")
        return settings


class TamisRegressor(_TamisEstimator):
    """Stability selection for numbers on a frame; the parameters are those of :class:`TamisClassifier`."""

    _task, _alike, _made = "regression", StabilizedRegressor, TamisRegressionModel


# -- moments


class _HasMoments:
    """A model that keeps the moments it was solved from."""

    def __init__(self, text: str = "", moments: bytes | None = None):
        super().__init__(text)
        self._moments = moments

    @property
    def moments(self) -> Moments:
        """The moments of the frame."""
        if self._moments is None:
            raise DataError("the model has no moments")
        return Moments._of(_core.Moments.from_bytes(self._moments))

    def resolve(self, solver: str = "mcp", **parameters):
        """Another model of the same moments; the parameters are those of :meth:`tamis.Moments.solve`."""
        return self._copyValues(type(self)(_solved(self.moments, solver, parameters), self._moments))


class TamisMomentsModel(_HasMoments, TamisRegressionModel):
    """A regression on moments. ``moments`` are kept: ``resolve`` fits another model without the data."""


class TamisMomentsClassificationModel(_HasMoments, TamisClassificationModel):
    """A classification on moments, one regression a class. ``moments`` are kept, as in :class:`TamisMomentsModel`."""


class TamisMoments(_Setters, Estimator, _Columns, DefaultParamsReadable, DefaultParamsWritable):
    """The moments of a frame in one pass (and one over the columns), and a model solved from them.

    Parameters: ``featuresCol`` or ``featuresCols``, ``labelCol``, ``weightCol``, ``task`` (``regression``, or
    ``classes`` for labels that are numbers or text), ``folds``, ``solver`` (``ols``, ``ridge``, ``ols-th``, ``ofsa``, ``lasso``,
    ``elastic-net``, ``mcp``, ``scad``), ``nFeatures``, ``criterion``, ``alpha``. The fold of a row follows from its features.
    """

    task: Param = Param(Params._dummy(), "task", "regression or classes", TypeConverters.toString)

    solver: Param = Param(Params._dummy(), "solver", "how the model is solved", TypeConverters.toString)
    nFeatures: Param = Param(
        Params._dummy(), "nFeatures", "number of features; 0 takes the criterion", TypeConverters.toInt
    )
    criterion: Param = Param(
        Params._dummy(), "criterion", "bic, aic, ebic or cv; empty takes the default", TypeConverters.toString
    )
    alpha: Param = Param(Params._dummy(), "alpha", "penalty; 0 takes the criterion", TypeConverters.toFloat)
    folds: Param = Param(Params._dummy(), "folds", "folds for the criterion cv", TypeConverters.toInt)
    blockRows: Param = Param(
        Params._dummy(), "blockRows", "rows of the matrix that are added at a time", TypeConverters.toInt
    )

    @keyword_only
    def __init__(self, **given):
        super().__init__()
        self._setDefault(task="regression", solver="mcp", nFeatures=0, criterion="", alpha=0.0, folds=1, blockRows=256)
        self._set(**self._input_kwargs)

    def _fit(self, dataset):
        if self.getOrDefault("blockRows") < 1:
            raise ParamError("blockRows must be at least 1")
        made = {"regression": TamisMomentsModel, "classes": TamisMomentsClassificationModel}
        task = self.getOrDefault("task")
        if task not in made:
            raise ParamError(f"task must be regression or classes, got {task!r}")
        numeric = task == "regression"
        form, rows, _ = self._selected(dataset, numeric)
        found = _spark_engine.moments(rows, form, numeric, self.getOrDefault("folds"), self.getOrDefault("blockRows"))
        given = {"n_features_to_select": "nFeatures", "criterion": "criterion", "alpha": "alpha"}
        parameters = {name: self.getOrDefault(own) for name, own in given.items() if self.getOrDefault(own)}
        text = _solved(Moments._of(found), self.getOrDefault("solver"), parameters)
        return self._copyValues(made[task](text, found.to_bytes()))


def _solved(moments: Moments, solver: str, parameters: dict) -> str:
    return moments.solve(solver, **parameters)._fitted().text


def spread(spark) -> Any:
    """Runs the fits of :func:`tamis.tune` and :func:`tamis.stability` as tasks of Spark: ``tune(…, spread=spread(spark))``."""
    return functools.partial(_spark_engine.run_tasks, spark)
