"""Dask as an engine of :mod:`tamis.distributed`: delayed functions of partitions, with any scheduler.

Nothing is scattered: what a lost worker had is computed again from its inputs.
"""

import pickle
from collections.abc import Iterable
from contextlib import contextmanager
from typing import Any

import dask
import numpy as np
import pyarrow as pa
from dask import delayed

from . import _core, _worker, distributed
from .errors import DataError, Error, ParamError

RETRIES = 3


# -- partitions


def partitions(X, y=None, sample_weight=None, key=None) -> list[list]:
    """The delayed partitions: rows, labels, weights and keys, of the same rows each."""
    rows = _delayed(X)
    others = [None if one is None else _delayed(one) for one in (y, sample_weight, key)]
    for name, one in zip(("y", "sample_weight", "key"), others, strict=True):
        if one is not None and len(one) != len(rows):
            raise DataError(f"X has {len(rows)} partitions and {name} has {len(one)}: divide them alike")
    return [[part, *(None if one is None else one[at] for one in others)] for at, part in enumerate(rows)]


def _delayed(data) -> list:
    if not hasattr(data, "to_delayed"):
        raise DataError(f"a Dask frame or array was expected, got {type(data).__name__}; tamis.StabilizedClassifier takes others")
    if hasattr(data, "rechunk") and data.ndim == 2 and len(data.chunks[1]) > 1:
        data = data.rechunk({1: -1})
    return np.asarray(data.to_delayed(), dtype=object).ravel().tolist()


def check_versions() -> None:
    """If there is a cluster, all its workers must have this version."""
    try:
        from distributed import default_client

        client = default_client()
    except (ImportError, ValueError):
        return

    def version():
        import importlib

        try:
            return importlib.import_module("tamis._core").VERSION
        except ImportError:
            return None

    told(client.run(version))


def told(found: dict[str, str | None]) -> None:
    """Says which workers have another version, or none."""
    for worker, version in sorted(found.items()):
        if version is None:
            raise ParamError(f"the worker {worker} cannot import tamis: install tamis {_core.VERSION} there")
        if version != _core.VERSION:
            raise ParamError(
                f"the driver has tamis {_core.VERSION} and the worker {worker} has tamis {version}: "
                "install the same version everywhere"
            )


@contextmanager
def worker_errors():
    """What a worker found wrong with rows is an error of this package."""
    try:
        yield
    except Error:
        raise
    except ValueError as error:
        raise DataError(str(error)) from None


# -- what runs on workers


def _batch(part):
    X, y, weight, key = part
    rows = len(X) if hasattr(X, "columns") else X.shape[0]
    for name, one in (("y", y), ("sample_weight", weight), ("key", key)):
        if one is not None and len(one) != rows:
            raise DataError(f"a partition of X has {rows} rows, and of {name} {len(one)}")
    return _worker.batch_of(X, y, weight, key)


def _split(part, parts: int) -> list:
    """The rows of a partition by ranges of their identity."""
    batch, form = _batch(part)
    found = list(_worker.rows(form, [batch]))
    return _resplit(pa.Table.from_batches(found) if found else None, parts)


def _joined(tables: list):
    tables = [table for table in tables if table is not None and table.num_rows]
    return pa.concat_tables(tables) if tables else None


def _resplit(table, parts: int) -> list:
    if table is None:
        return [None] * parts
    bucket = np.asarray(distributed.bucket_of(table.column("row").combine_chunks(), parts))
    return [table.filter(pa.array(bucket == at)) for at in range(parts)]


def _batches(table) -> list:
    return [] if table is None else table.to_batches()


def _stage(plan: bytes, table):
    return list(distributed.stage(plan, _batches(table)))


def _collect(plan: bytes, table):
    return list(distributed.collect(plan, _batches(table)))


def _add(found: list[list], place: int, of: int):
    """The sums of the blocks whose number is ``place`` in a count by ``of``."""
    batches = [batch.filter(pa.array(np.asarray(batch.column("block")) % of == place)) for part in found for batch in part]
    return list(distributed.add([batch for batch in batches if batch.num_rows]))


# -- the engine


class DaskEngine:
    """Stages of a fit on partitions of rows."""

    def __init__(self, parts: list[list]):
        self._source, self._kept, self._count = parts, None, 0
        self._reducers = 4

    def _rows(self, buckets: int) -> list:
        """The rows in parts of whole buckets, which stay on the workers."""
        if self._kept is not None and self._count <= buckets:
            return self._kept
        count = 1
        while 2 * count <= min(buckets, 2 * max(2, len(self._source))):
            count *= 2
        cut = (lambda part: delayed(_split)(part, count)) if self._kept is None else lambda t: delayed(_resplit)(t, count)
        with dask.annotate(retries=RETRIES):
            pieces = [cut(part) for part in (self._source if self._kept is None else self._kept)]
            joined = [delayed(_joined)([piece[at] for piece in pieces]) for at in range(count)]
        self._kept, self._count = list(dask.persist(*joined, optimize_graph=False)), count
        return self._kept

    def tallies(self, plan: bytes) -> Iterable[pa.RecordBatch]:
        """All blocks of a stage, each the sum over the buckets."""
        rows = self._rows(distributed.describe(plan).buckets)
        with dask.annotate(retries=RETRIES):
            shared = delayed(plan)
            found = [delayed(_stage)(shared, table) for table in rows]
            sums = [delayed(_add)(found, at, self._reducers) for at in range(self._reducers)]
        return [batch for part in dask.compute(*sums, optimize_graph=False) for batch in part]

    def collect(self, plan: bytes) -> Iterable[pa.RecordBatch]:
        """The rows of the columns that are left."""
        rows = self._rows(distributed.describe(plan).buckets)
        with dask.annotate(retries=RETRIES):
            shared = delayed(plan)
            found = [delayed(_collect)(shared, table) for table in rows]
        return [batch for part in dask.compute(*found, optimize_graph=False) for batch in part]


# -- moments


def _columns(part, numeric: bool, folds: int):
    batch, form = _batch(part)
    return [row for found in _worker.columns_of(form, numeric, folds, [batch]) for row in found.to_pylist()]


def _blocks(part, number: int, numeric: bool, folds: int, columns: str, height: int):
    batch, form = _batch(part)
    return list(_worker.blocks(form, numeric, folds, columns, height, number, [batch]))


def _add_blocks(found: list[list], place: int, of: int):
    batches = [batch for part in found for batch in part if batch.column("block")[0].as_py() % of == place]
    return list(_worker.add_blocks(batches))


def moments(parts: list[list], numeric: bool, folds: int, height: int) -> Any:
    """The moments of partitions: blocks added block by block, in the order of the partitions."""
    with dask.annotate(retries=RETRIES):
        found = dask.compute(*[delayed(_columns)(part, numeric, folds) for part in parts])
        columns = _worker.joined_columns(row for part in found for row in part)
        if columns == "[]":
            raise DataError("the partitions have no rows")
        made = [delayed(_blocks)(part, at, numeric, folds, columns, height) for at, part in enumerate(parts)]
        sums = dask.compute(*[delayed(_add_blocks)(made, at, 4) for at in range(4)])
    raw = [row["raw"] for part in sums for batch in part for row in batch.to_pylist()]
    return _core.Moments.from_blocks(raw)


def run_tasks(work, tasks: list) -> list[str]:
    """The results of tasks, each of which is a task of Dask; the function and its rows are sent once."""
    check_versions()
    with dask.annotate(retries=RETRIES), worker_errors():
        # As bytes: arrays in the messages of Dask may begin anywhere, and the core needs whole words.
        shared = delayed(pickle.dumps(work))
        return list(dask.compute(*[delayed(_call)(shared, task) for task in tasks], optimize_graph=False))


def _call(work: bytes, task) -> str:
    return pickle.loads(work)(task)
