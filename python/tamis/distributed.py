"""Stages of a distributed fit: pure functions of Arrow record batches and bytes, for any engine.

Rows get an identity (:func:`rows`), a hash that says to which bucket each belongs. A stage is a function of the rows of a
bucket and a plan (:func:`stage`); its tallies are added in a fixed order (:func:`add`) and give the next plan
(:func:`next_plan`). The last plan says which columns are left: their rows are collected (:func:`collect`), and the model is
fitted to them (:func:`finish`). The result does not depend on partitions, workers, the order of rows or repeated tasks.

>>> import pyarrow as pa
>>> from tamis import distributed
>>> data = {"label": [0.0, 1.0] * 40, "indices": [[1], [2]] * 40, "values": [[1.0], [1.0]] * 40}
>>> model = distributed.fit(distributed.LocalEngine([pa.RecordBatch.from_pydict(data)]), {"method": "stabilized"})
>>> sorted(model.outputs[0][0])  # the other column says the same
['1']
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from . import _core
from .errors import DataError

__all__ = [
    "TALLIES",
    "TALLIES_DDL",
    "VERSION",
    "Engine",
    "LocalEngine",
    "Stage",
    "add",
    "bucket_of",
    "collect",
    "describe",
    "finish",
    "first_plan",
    "fit",
    "next_plan",
    "rows",
    "rows_ddl",
    "rows_schema",
    "stage",
]

VERSION: str = _core.VERSION

#: The tallies of stages, before and after they are added.
TALLIES = pa.schema([("block", pa.int32()), ("bucket", pa.int32()), ("raw", pa.binary())])
TALLIES_DDL = "block int, bucket int, raw binary"

#: Buckets, columns an ensemble is narrowed to, and non-zeros that are collected at most.
BUCKETS, ENTRIES = 64, 1 << 25
#: Rows of a record batch that :func:`collect` returns.
BATCH_ROWS = 1 << 14


def rows_schema(text_labels: bool, named: bool) -> pa.Schema:
    """The schema of rows: labels are texts or numbers, features have names or numbers."""
    label = pa.string() if text_labels else pa.float64()
    keys = ("names", pa.list_(pa.string())) if named else ("indices", pa.list_(pa.int64()))
    columns = [("row", pa.int64()), ("label", label), ("weight", pa.float64()), keys]
    return pa.schema([*columns, ("values", pa.list_(pa.float64()))])


def rows_ddl(text_labels: bool, named: bool) -> str:
    """The schema of rows in the words of Spark."""
    keys = "names array<string>" if named else "indices array<bigint>"
    label = "string" if text_labels else "double"
    return f"row bigint, label {label}, weight double, {keys}, values array<double>"


@dataclass
class _Packed:
    """Rows as arrays, as the core reads them."""

    identities: np.ndarray | None
    numbers: np.ndarray | None
    texts: list[str] | None
    weights: np.ndarray
    offsets: np.ndarray
    indices: np.ndarray | None
    names: bytes | None
    name_ends: np.ndarray | None
    values: np.ndarray


def _column(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    place = batch.schema.get_field_index(name)
    if place < 0:
        return None
    column = batch.column(place)
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise DataError(f"row {row}: the {name} is missing; leave such rows out, or fill them in")
    return column


def _needed(batch: pa.RecordBatch, name: str) -> pa.Array:
    column = _column(batch, name)
    if column is None:
        raise DataError(f"the rows have no column {name!r}; they have {', '.join(batch.schema.names)}")
    return column


def _lists(column: pa.Array, name: str) -> tuple[np.ndarray, pa.Array]:
    """The offsets and the values of lists, from 0 on."""
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise DataError(f"the column {name!r} has the type {column.type} and not that of lists")
    offsets = column.offsets.to_numpy().astype(np.int64)
    values = column.values.slice(offsets[0], offsets[-1] - offsets[0])
    if values.null_count:
        raise DataError(f"the lists of {name!r} have missing values; leave them out, or fill them in")
    return offsets - offsets[0], values


def _texts(column: pa.Array) -> tuple[bytes, np.ndarray]:
    """The texts of a column, one after the other, and where each ends."""
    lengths = pc.binary_length(column).to_numpy(zero_copy_only=False).astype(np.int64)
    return b"".join(column.cast(pa.binary()).to_pylist()), np.cumsum(lengths)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _aligned(column: pa.Array) -> np.ndarray:
    """The numbers of a column. Columns that came in a message of another process may begin anywhere, and the core needs whole
    words: these are copied."""
    return np.require(column.to_numpy(zero_copy_only=False), requirements=["C", "ALIGNED"])


def _floats(column: pa.Array) -> np.ndarray:
    return _aligned(column.cast(pa.float64()))


def _packed(batch: pa.RecordBatch, identified: bool) -> _Packed:
    label, weight = _needed(batch, "label"), _column(batch, "weight")
    offsets, values = _lists(_needed(batch, "values"), "values")
    names, indices = _column(batch, "names"), _column(batch, "indices")
    if (names is None) == (indices is None):
        raise DataError("features have either 'names' or 'indices'")
    key_offsets, keys = _lists(indices if names is None else names, "indices" if names is None else "names")
    if not np.array_equal(key_offsets, offsets):
        row = int(np.argmax(np.diff(key_offsets) != np.diff(offsets)))
        raise DataError(f"row {row}: there are {np.diff(offsets)[row]} values for {np.diff(key_offsets)[row]} features")
    text = _is_text(label.type)
    packed = _Packed(
        identities=None,
        numbers=None if text else _floats(label),
        texts=label.to_pylist() if text else None,
        weights=np.ones(len(batch)) if weight is None else _floats(weight),
        offsets=offsets,
        indices=None,
        names=None,
        name_ends=None,
        values=_floats(values),
    )
    if identified:
        packed.identities = _aligned(_needed(batch, "row")).view(np.uint64)
    if names is None:
        packed.indices = _aligned(keys.cast(pa.int64()))
    else:
        packed.names, packed.name_ends = _texts(keys)
    return packed


def _batch(unpacked: tuple, text: bool) -> pa.RecordBatch:
    identities, labels, weights, offsets, keys, ends, values = unpacked
    offsets = pa.array(offsets.astype(np.int32))
    if ends is None:
        keys = pa.array(keys)
    else:
        starts = np.concatenate([[0], ends]).astype(np.int32)
        keys = pa.StringArray.from_buffers(len(ends), pa.py_buffer(starts.tobytes()), pa.py_buffer(keys))
    columns = [
        pa.array(identities.view(np.int64)),
        pa.array(list(labels) if text else labels, pa.string() if text else pa.float64()),
        pa.array(weights),
        pa.ListArray.from_arrays(offsets, keys),
        pa.ListArray.from_arrays(offsets, pa.array(values)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=rows_schema(text, ends is not None))


def rows(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Checks rows and gives them an identity.

    ``batch`` has the columns ``label`` (numbers or texts), ``values`` (lists of numbers), ``indices`` or ``names`` (lists
    of whole numbers or texts), and may have ``weight`` and ``key`` (texts or whole numbers). Zeros and rows of weight 0 are
    left out. Rows of one key belong together; without keys, the identity of a row is a hash of its features.
    """
    key, packed = _column(batch, "key"), _packed(batch, identified=False)
    keys = None
    if key is not None:
        is_whole = pa.types.is_integer(key.type)
        keys = _aligned(key.cast(pa.int64())) if is_whole else key.cast(pa.string()).to_pylist()
    return _batch(_core.keyed_rows(packed, keys), packed.texts is not None)


def bucket_of(row: pa.Array | np.ndarray, buckets: int) -> np.ndarray:
    """The bucket of each identity: its upper bits."""
    numbers = row.to_numpy(zero_copy_only=False) if isinstance(row, pa.Array | pa.ChunkedArray) else np.asarray(row)
    bits = buckets.bit_length() - 1
    if bits == 0:
        return np.zeros(len(numbers), np.int32)
    return (np.ascontiguousarray(numbers).view(np.uint64) >> np.uint64(64 - bits)).astype(np.int32)


class Stage(NamedTuple):
    """What a plan says about its stage."""

    #: ``survey``, ``narrow`` or ``collect``.
    kind: str
    #: From 0.
    number: int
    #: Buckets of this stage.
    buckets: int
    #: Rows of the data, distinct columns, and columns that are left; 0 before the survey.
    rows: int
    features: int
    columns: int
    #: The share of the rows that are collected.
    share: float
    #: A line for the user.
    message: str


def first_plan(
    settings: dict[str, str],
    task: str = "auto",
    *,
    buckets: int = BUCKETS,
    columns: int | None = None,
    entries: int = ENTRIES,
    keyed: bool = False,
) -> bytes:
    """The plan of the first stage.

    ``settings`` are the parameters of the method ``stabilized`` as text. ``entries``: non-zeros that are collected at
    most. Data that have more are narrowed to 16,384 columns an ensemble first, and sampled if they still have more.
    ``columns``: narrow to so many in any case.
    ``keyed``: whether rows were given keys.
    """
    return _core.first_plan(settings, task, buckets, columns, entries, keyed)


def describe(plan: bytes) -> Stage:
    """What a plan says about its stage."""
    kind, number, buckets, counts, share = _core.describe_plan(plan)
    rows, features, columns = counts or (0, 0, 0)
    sample = "all" if share == 1 else f"a sample of {share:.1%} of"
    message = {
        "survey": f"survey: rows, labels and columns in {buckets} buckets",
        "narrow": f"narrow: {columns:,} of {features:,} columns, {rows:,} rows in {buckets} buckets",
        "collect": f"collect: {columns:,} of {features:,} columns, {sample} {rows:,} rows",
    }[kind]
    return Stage(kind, number, buckets, rows, features, columns, share, message)


def _joined(batches: Iterable[pa.RecordBatch]) -> pa.RecordBatch | None:
    filled = [batch for batch in batches if len(batch)]
    if not filled:
        return None
    return pa.Table.from_batches(filled).combine_chunks().to_batches()[0] if len(filled) > 1 else filled[0]


def _tallies(batches: Iterable[pa.RecordBatch]) -> list[tuple[int, int, bytes]]:
    lines = []
    for batch in batches:
        lines.extend(zip(*(batch.column(name).to_pylist() for name in TALLIES.names), strict=True))
    return lines


def _tally_batches(lines: list[tuple[int, int, bytes]]) -> Iterator[pa.RecordBatch]:
    for line in lines:  # one a batch: each may have megabytes
        columns = [pa.array([cell], field.type) for cell, field in zip(line, TALLIES, strict=True)]
        yield pa.RecordBatch.from_arrays(columns, schema=TALLIES)


def stage(plan: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The tallies of the rows of one or several whole buckets, in any order."""
    joined = _joined(batches)
    if joined is not None:
        yield from _tally_batches(_core.stage_tallies(plan, _packed(joined, identified=True)))


def add(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Adds the tallies of one or several whole blocks: parts in the order of their buckets, whatever order they come in.

    A part that comes twice, from a task that was repeated, counts once.
    """
    yield from _tally_batches(_core.add_tallies(_tallies(batches)))


def next_plan(plan: bytes, batches: Iterable[pa.RecordBatch]) -> bytes:
    """The plan of the next stage, from the added tallies of all blocks."""
    return _core.next_plan(plan, _tallies(batches))


def collect(plan: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of whole buckets with the columns that are left, or a sample of them by their identity."""
    joined = _joined(batches)
    if joined is not None:
        packed = _packed(joined, identified=True)
        collected = _batch(_core.collect_rows(plan, packed), packed.texts is not None)
        for start in range(0, len(collected), BATCH_ROWS):
            yield collected.slice(start, BATCH_ROWS)


def finish(
    plan: bytes,
    batches: Iterable[pa.RecordBatch],
    *,
    threads: int = 0,
    report: Callable[[dict[str, Any]], None] | None = None,
) -> _core.Model:
    """The model of the collected rows, in any order."""
    joined = _joined(batches)
    if joined is None:
        raise DataError("there are no rows")
    return _core.finish_plan(plan, _packed(joined, identified=True), threads, report)


class Engine(Protocol):
    """What runs stages."""

    def tallies(self, plan: bytes) -> Iterable[pa.RecordBatch]:
        """:func:`stage` over all buckets, then :func:`add` over all blocks."""

    def collect(self, plan: bytes) -> Iterable[pa.RecordBatch]:
        """:func:`collect` over all buckets."""


def fit(
    engine: Engine,
    settings: dict[str, str],
    task: str = "auto",
    *,
    buckets: int = BUCKETS,
    columns: int | None = None,
    entries: int = ENTRIES,
    keyed: bool = False,
    threads: int = 0,
    report: Callable[[str], None] | None = None,
) -> _core.Model:
    """Fits a model: all stages, one after the other. ``report`` is called with a line for each."""
    plan = first_plan(settings, task, buckets=buckets, columns=columns, entries=entries, keyed=keyed)
    while True:
        now = describe(plan)
        if report is not None:
            report(now.message)
        if now.kind == "collect":
            return finish(plan, engine.collect(plan), threads=threads)
        plan = next_plan(plan, engine.tallies(plan))


class LocalEngine:
    """All stages in this process: what every other engine must agree with.

    ``batches`` are rows as :func:`rows` takes them; ``partitions`` of the buckets are handled one after the other.
    """

    def __init__(self, batches: Iterable[pa.RecordBatch], partitions: int = 1):
        self.batches = [rows(batch) for batch in batches]
        self.partitions = partitions
        #: Bytes of tallies before they are added, passes over the rows, and the last plan.
        self.tally_bytes, self.passes, self.plan = 0, 0, b""

    def _partitions(self, plan: bytes) -> Iterator[list[pa.RecordBatch]]:
        buckets = describe(plan).buckets
        self.passes, self.plan = self.passes + 1, plan
        for partition in range(self.partitions):
            here = [bucket_of(batch.column(0), buckets) % self.partitions == partition for batch in self.batches]
            yield [batch.filter(pa.array(mask)) for batch, mask in zip(self.batches, here, strict=True)]

    def tallies(self, plan: bytes) -> Iterator[pa.RecordBatch]:
        parts = [part for partition in self._partitions(plan) for part in stage(plan, partition)]
        self.tally_bytes += sum(part.nbytes for part in parts)
        return add(parts)

    def collect(self, plan: bytes) -> Iterator[pa.RecordBatch]:
        for partition in self._partitions(plan):
            yield from collect(plan, partition)
