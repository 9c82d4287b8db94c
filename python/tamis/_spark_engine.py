"""Spark as an engine of :mod:`tamis.distributed`, through Arrow and the DataFrame interface only, so that Spark Connect works.

Functions that run on workers are sent by value and import this package there: a worker without it, or with another version,
says so in words.
"""

import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as sql
from pyspark.sql.types import ArrayType, BooleanType, MapType, NumericType, StringType, StructType, UserDefinedType

from . import _core, _worker, distributed
from ._worker import Form
from .errors import DataError, Error, ParamError

# Errors of workers come back as text between these marks.
MARK = re.compile(r"\[tamis:(\w+)\](.*?)\[/tamis\]", flags=re.DOTALL)


def on_worker(module: str, name: str, *arguments, with_part: bool = False):
    """A function of batches that calls ``tamis.<module>.<name>`` on a worker, sent by value."""
    version = _core.VERSION

    def run(batches):
        def problem(kind, text):
            return RuntimeError(f"[tamis:{kind}]{text}[/tamis]")

        import importlib
        import sys

        try:
            found = importlib.import_module("tamis._core").VERSION
            call = getattr(importlib.import_module(f"tamis.{module}"), name)
        except ImportError as error:
            text = f"a worker cannot import tamis ({error}): install tamis {version} where {sys.executable} finds it"
            raise problem("ParamError", text) from None
        if found != version:
            text = f"the driver has tamis {version} and a worker has tamis {found}: install the same version everywhere"
            raise problem("ParamError", text)
        more = ()
        if with_part:
            from pyspark import TaskContext

            more = (TaskContext.get().partitionId(),)
        try:
            yield from call(*arguments, *more, batches)
        except (ValueError, ArithmeticError) as error:
            raise problem(type(error).__name__, error) from None

    run.__annotations__ = {"batches": Iterator[pa.RecordBatch], "return": Iterator[pa.RecordBatch]}
    return run


@contextmanager
def worker_errors():
    """Raises what a worker found wrong as the error it is, without the trace of the engine."""
    try:
        yield
    except Error:
        raise
    except Exception as error:
        found = MARK.search(str(error))
        if found is None:
            raise
        raise (ParamError if found[1] == "ParamError" else DataError)(found[2]) from None


# -- columns


def form_of(df, features: str, columns: list[str]) -> Form:
    """The form of the features of a frame."""
    if columns:
        for name in columns:
            if not isinstance(_type_of(df, name), (NumericType, BooleanType)):
                raise DataError(f"the column {name!r} is not a number but {_type_of(df, name).simpleString()}")
        return Form("columns", tuple(columns))
    kind = _type_of(df, features)
    if isinstance(kind, UserDefinedType) and type(kind).__name__ == "VectorUDT":
        return Form("vector")
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
        return Form("array")
    if isinstance(kind, MapType) and isinstance(kind.keyType, StringType) and isinstance(kind.valueType, NumericType):
        return Form("map")
    if isinstance(kind, StructType) and {"indices", "values"} <= set(kind.names):
        return Form("pairs")
    raise DataError(
        f"the column {features!r} has the type {kind.simpleString()}; features are a vector, an array of numbers, a struct of "
        "indices and values, a map of names to numbers, or a list of columns (featuresCols)"
    )


def _type_of(df, name: str):
    if name not in df.columns:
        raise DataError(f"no column {name!r} in the frame; there are {', '.join(map(repr, df.columns))}")
    return df.schema[name].dataType


def quoted(name: str):
    """A column by its exact name."""
    return sql.col("`" + name.replace("`", "``") + "`")


def feature_columns(form: Form, features: str) -> list:
    """The columns of the features, for workers."""
    if form.kind == "columns":
        return [quoted(name).cast("double").alias(f"f{at}") for at, name in enumerate(form.names)]
    column = quoted(features)
    if form.kind == "vector":
        column = sql.unwrap_udt(column)
    elif form.kind == "array":
        column = column.cast("array<double>")
    elif form.kind == "map":
        column = column.cast("map<string,double>")
    else:
        column = sql.struct(
            column.getField("indices").cast("array<bigint>").alias("indices"),
            column.getField("values").cast("array<double>").alias("values"),
        )
    return [column.alias(_worker.FEATURES)]


def selected(df, form: Form, features: str, label: str, weight: str | None, key: str | None, numeric: bool):
    """The columns that a fit needs, and whether labels are text."""
    kind = _type_of(df, label)
    is_text = isinstance(kind, StringType)
    if is_text and numeric:
        raise DataError(f"the label {label!r} is text; a regression needs numbers")
    if not is_text and not isinstance(kind, (NumericType, BooleanType)):
        raise DataError(f"the label {label!r} has the type {kind.simpleString()}; numbers or text were expected")
    columns = [quoted(label).cast("string" if is_text else "double").alias("label")]
    if weight:
        _type_of(df, weight)
        columns.append(quoted(weight).cast("double").alias("weight"))
    if key:
        _type_of(df, key)
        columns.append(quoted(key).cast("string").alias("key"))
    return df.select(*columns, *feature_columns(form, features)), is_text


# -- the engine


class SparkEngine:
    """Stages of a fit on a frame of rows. The rows are divided by ranges of their identity, whole buckets a partition, and kept
    (in memory, and on disk beyond it) until ``close``."""

    def __init__(self, df, form: Form, is_text: bool):
        self._rows_ddl = distributed.rows_ddl(is_text, form.named)
        self._source = df.mapInArrow(on_worker("_worker", "rows", form), self._rows_ddl)
        self._kept: Any = None
        self._parts = 0
        self._most = max(1, int(df.sparkSession.conf.get("spark.sql.shuffle.partitions", "200")))

    def _rows(self, buckets: int):
        """The rows in partitions of whole buckets."""
        if self._kept is None or self._parts > buckets:
            parts = 1
            while 2 * parts <= min(buckets, self._most):
                parts *= 2
            before, source = self._kept, self._source if self._kept is None else self._kept
            if parts == 1:
                rows = source.repartition(1)
            else:
                bits = parts.bit_length() - 1
                rows = source.repartitionById(parts, sql.shiftrightunsigned(sql.col("row"), 64 - bits).cast("int"))
            self._kept, self._parts = rows.persist(), parts
            if before is not None:
                with worker_errors():
                    self._kept.count()
                before.unpersist()
        return self._kept

    def tallies(self, plan: bytes):
        """All blocks of a stage, each the sum over the buckets."""
        rows = self._rows(distributed.describe(plan).buckets)
        parts = rows.mapInArrow(on_worker("distributed", "stage", plan), distributed.TALLIES_DDL)
        sums = parts.groupBy("block").applyInArrow(on_worker("distributed", "add"), distributed.TALLIES_DDL)
        with worker_errors():
            return sums.toArrow().cast(distributed.TALLIES).to_batches()

    def collect(self, plan: bytes):
        """The rows of the columns that are left."""
        rows = self._rows(distributed.describe(plan).buckets)
        with worker_errors():
            return rows.mapInArrow(on_worker("distributed", "collect", plan), self._rows_ddl).toArrow().to_batches()

    def close(self) -> None:
        """Frees the rows."""
        if self._kept is not None:
            self._kept.unpersist()
            self._kept = None


def moments(df, form: Form, numeric: bool, folds: int, height: int):
    """The moments of a frame: blocks of every partition, added block by block in the order of the partitions."""
    with worker_errors():
        found = df.mapInArrow(on_worker("_worker", "columns_of", form, numeric, folds), _worker.COLUMNS_DDL)
        columns = _worker.joined_columns(found.distinct().toArrow().to_pylist())
        if columns == "[]":
            raise DataError("the frame has no rows")
        parts = df.mapInArrow(
            on_worker("_worker", "blocks", form, numeric, folds, columns, height, with_part=True), _worker.BLOCKS_DDL
        )
        sums = parts.groupBy("block").applyInArrow(on_worker("_worker", "add_blocks"), _worker.BLOCKS_DDL)
        return _core.Moments.from_blocks(sums.toArrow().column("raw").to_pylist())


def run_tasks(spark, work, tasks: list) -> list[str]:
    """The results of tasks, each of which is a task of Spark; the function and its rows are sent once a job."""
    rows = [(number, number, bytearray(pickle.dumps(task))) for number, task in enumerate(tasks)]
    frame = spark.createDataFrame(rows, "part int, number long, task binary").repartitionById(len(rows), "part")
    with worker_errors():
        found = frame.mapInArrow(on_worker("_worker", "run_tasks", pickle.dumps(work)), _worker.TASKS_DDL).toArrow()
    return [row["text"] for row in sorted(found.to_pylist(), key=lambda row: row["number"])]
