"""What runs on the workers of Spark and Dask: features in any form to rows, moments of rows, and predictions.

Everything here is a function of its arguments. Numbered features count from 1, as in files and as in the columns of an array.
"""

import json
import pickle
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from . import _core, _input
from ._moments import Moments
from ._tasks import class_probabilities
from .errors import DataError

# The name of the column of features, if they are in one column; else the columns are f0, f1, …
FEATURES = "features"


class Form(NamedTuple):
    """The form of the features: ``vector`` (struct of type, size, indices, values), ``array`` (list of numbers), ``pairs``
    (struct of indices and values), ``map`` (names to numbers) or ``columns`` (one a feature, with names)."""

    kind: str
    names: tuple[str, ...] = ()

    @property
    def named(self) -> bool:
        """Whether features have names, and not numbers."""
        return self.kind in ("map", "columns")


# -- features to lists


def _filled(array, what: str):
    """A chunk of an array without nulls."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.null_count:
        row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
        raise DataError(f"row {row} of a partition: {what} is null; fill it, or leave the row out")
    return array


def _flat(lists, what: str):
    """Lengths and entries of lists."""
    lists = _filled(lists, what)
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths, _filled(lists.flatten(), f"an entry of {what}")


def _positions(lengths):
    """0, 1, …, of every list."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0, dtype=np.int64) - np.repeat(ends - lengths, lengths)


def _vector(column):
    """Spark's vectors: dense ones have no indices."""
    kinds = _filled(column.field("type"), "a vector").to_numpy(zero_copy_only=False)
    lengths, values = _flat(column.field("values"), "a vector")
    sparse = kinds == 0
    indices = _positions(lengths)
    given = column.field("indices").filter(pa.array(sparse))
    sparse_lengths, sparse_indices = _flat(given, "the indices of a vector")
    if not np.array_equal(sparse_lengths, lengths[sparse]):
        raise DataError("a sparse vector has more indices than values, or fewer")
    indices[np.repeat(sparse, lengths)] = sparse_indices.to_numpy(zero_copy_only=False)
    return lengths, indices, values


def _pairs(column):
    lengths, indices = _flat(column.field("indices"), "the indices")
    others, values = _flat(column.field("values"), "the values")
    if not np.array_equal(lengths, others):
        row = int(np.flatnonzero(lengths != others)[0])
        raise DataError(f"row {row} of a partition: {lengths[row]} indices and {others[row]} values")
    return lengths, indices.to_numpy(zero_copy_only=False).astype(np.int64), values


def _map(column):
    lengths = _filled(column, "the map of features")
    names, values = _filled(column.keys, "a name"), _filled(column.items, "a value of the map of features")
    offsets = np.asarray(lengths.offsets)
    lengths = np.diff(offsets)
    first, count = int(offsets[0]) if len(offsets) else 0, int(lengths.sum())
    return lengths, names.slice(first, count), values.slice(first, count)


def _columns(batch, names):
    cells = [_filled(batch.column(f"f{at}"), f"the column {name!r}") for at, name in enumerate(names)]
    cells = np.column_stack([cell.to_numpy(zero_copy_only=False).astype(np.float64) for cell in cells])
    used = cells != 0
    rows, places = np.nonzero(used)
    lengths = np.bincount(rows, minlength=len(cells)).astype(np.int64)
    return lengths, pa.array(list(names), pa.string()).take(pa.array(places)), pa.array(cells[used])


def entries(batch: pa.RecordBatch, form: Form):
    """Lengths of the rows, names (Arrow) or numbers (numpy) of their features, and values (numpy)."""
    if form.kind == "columns":
        lengths, keys, values = _columns(batch, form.names)
    else:
        column = _filled(batch.column(FEATURES), "the column of features")
        if form.kind == "map":
            lengths, keys, values = _map(column)
        elif form.kind == "array":
            lengths, values = _flat(column, "the array of features")
            keys = _positions(lengths) + 1
        else:
            lengths, keys, values = _vector(column) if form.kind == "vector" else _pairs(column)
            if len(keys) and keys.min() < 0:
                raise DataError(f"an index of a feature is negative: {keys.min()}")
            keys = keys + 1
    return lengths, keys, values.to_numpy(zero_copy_only=False).astype(np.float64)


def lists(batch: pa.RecordBatch, form: Form) -> pa.RecordBatch:
    """The rows with their features as lists: what ``tamis.distributed.rows`` takes."""
    lengths, keys, values = entries(batch, form)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    columns = {name: batch.column(name) for name in ("label", "weight", "key") if name in batch.schema.names}
    name, keys = ("names", keys.cast(pa.string())) if form.named else ("indices", pa.array(keys, pa.int64()))
    columns[name] = pa.ListArray.from_arrays(offsets, keys)
    columns["values"] = pa.ListArray.from_arrays(offsets, pa.array(values))
    return pa.RecordBatch.from_pydict(columns)


def batch_of(X, y=None, weight=None, key=None) -> tuple[pa.RecordBatch, Form]:
    """A batch of a frame of pandas, an array or a sparse matrix, and the form of its features."""
    if hasattr(X, "columns"):
        form = Form("columns", tuple(map(str, X.columns)))
        columns = {f"f{at}": pa.array(X.iloc[:, at].to_numpy(), from_pandas=True) for at in range(X.shape[1])}
    elif sparse.issparse(X):
        form, X = Form("pairs"), X.tocsr()
        lists = [pa.ListArray.from_arrays(pa.array(X.indptr, pa.int32()), pa.array(part)) for part in (X.indices, X.data)]
        columns = {FEATURES: pa.StructArray.from_arrays(lists, names=["indices", "values"])}
    else:
        form, X = Form("array"), np.ascontiguousarray(X, dtype=np.float64)
        offsets = pa.array(np.arange(len(X) + 1, dtype=np.int32) * X.shape[1])
        columns = {FEATURES: pa.ListArray.from_arrays(offsets, pa.array(X.ravel()))}
    for name, value in (("label", y), ("weight", weight), ("key", key)):
        if value is not None:
            columns[name] = _labels(np.asarray(value), name)
    return pa.RecordBatch.from_pydict(columns), form


def _labels(values: np.ndarray, name: str) -> pa.Array:
    """Labels, weights or keys: text, or numbers."""
    if values.dtype.kind in "biuf" and name != "key":
        return pa.array(values.astype(np.float64), from_pandas=True)
    return pa.array([None if value is None else str(value) for value in values.tolist()], pa.string())


def rows(form: Form, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows with identities, of features in any form."""
    from . import distributed

    for batch in batches:
        if batch.num_rows:
            yield distributed.rows(lists(batch, form))


# -- matrices


def matrix(batch: pa.RecordBatch, form: Form):
    """The features as a table for the core."""
    lengths, keys, values = entries(batch, form)
    names = None
    if form.named:
        encoded = keys.dictionary_encode()
        names, keys = encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)
    else:
        keys = keys - 1
    if not np.isfinite(values).all():
        raise DataError("a value of a feature is not finite")
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    width = len(names) if names is not None else int(keys.max(initial=-1)) + 1
    return _canonical(offsets, keys, values, width), names


def _canonical(offsets, keys, values, width):
    """Compressed rows whose entries are in order; a feature that occurs twice in a row is an error."""
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    order = np.lexsort((keys, row))
    keys, values, row = keys[order].astype(np.int64), values[order], row[order]
    twice = (np.diff(row) == 0) & (np.diff(keys) == 0)
    if twice.any():
        raise DataError(f"row {row[:-1][twice][0]} of a partition has the same feature twice")
    return offsets.astype(np.int64), np.ascontiguousarray(keys), np.ascontiguousarray(values), width


# -- moments


def moments_of(form: Form, numeric: bool, folds: int, batches: Iterable[pa.RecordBatch]):
    """The moments of a partition."""
    # A row has the same fold in whatever partition it is.
    found = _core.Moments(numeric, folds, 0.0, False, True)
    for batch in batches:
        if not batch.num_rows:
            continue
        cells, names = matrix(batch, form)
        labels = _filled(batch.column("label"), "the label")
        weights = None
        if "weight" in batch.schema.names:
            weights = _filled(batch.column("weight"), "the weight").to_numpy(zero_copy_only=False).astype(np.float64)
            _input.weights_of(weights, len(weights))
        if numeric:
            codes, classes = labels.to_numpy(zero_copy_only=False).astype(np.float64), []
        else:
            encoded = labels.dictionary_encode()
            codes, classes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), encoded.dictionary.to_pylist()
        found.observe(_input.Table(cells, names, codes, classes, weights))
    return found


def columns_of(form: Form, numeric: bool, folds: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The columns of a partition, one row a column."""
    seen: set = set()
    for batch in batches:
        if not batch.num_rows:
            continue
        labels = ["label"] if numeric else _filled(batch.column("label"), "the label").unique().to_pylist()
        seen.update(("target" if numeric else "class", label) for label in labels)
        _, keys, values = entries(batch, form)
        used = pa.array(values != 0)
        keys = keys.filter(used).unique().to_pylist() if form.named else np.unique(keys[values != 0]).astype(str).tolist()
        seen.update(("feature", key) for key in keys)
    kinds = [kind for kind, _ in seen]
    texts = [label if isinstance(label, str) else None for _, label in seen]
    numbers = [None if isinstance(label, str) else float(label) for _, label in seen]
    arrays = [pa.array(kinds, pa.string()), pa.array(texts, pa.string()), pa.array(numbers, pa.float64())]
    yield pa.RecordBatch.from_arrays(arrays, names=["kind", "text", "number"])


COLUMNS_DDL = "kind string, text string, number double"
BLOCKS_DDL = "block int, part long, raw binary"
BLOCKS = pa.schema([("block", pa.int32()), ("part", pa.int64()), ("raw", pa.binary())])


def joined_columns(found: Iterable[dict]) -> str:
    """All columns of all partitions, for the blocks."""
    texts = [f"[{_json(row)}]" for row in found]
    return Moments.join_columns(texts)


def _json(row: dict) -> str:
    return json.dumps({row["kind"]: row["number"] if row["text"] is None else row["text"]})


def blocks(
    form: Form, numeric: bool, folds: int, columns: str, height: int, part: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """The moments of a partition in blocks, with the columns of all partitions."""
    found = moments_of(form, numeric, folds, batches)
    if not found.rows:
        return
    for number, raw in enumerate(found.blocks(height, columns)):
        yield pa.RecordBatch.from_arrays([pa.array([number], pa.int32()), pa.array([part]), pa.array([raw])], schema=BLOCKS)


def add_blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Adds blocks of the same number in the order of their parts, whatever the order in which they come."""
    parts: dict[int, dict[int, bytes]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            parts.setdefault(row["block"], {})[row["part"]] = row["raw"]
    for number in sorted(parts):
        merged = _core.merge_blocks([raw for _, raw in sorted(parts[number].items())])
        arrays = [pa.array([number], pa.int32()), pa.array([0], pa.int64()), pa.array([merged])]
        yield pa.RecordBatch.from_arrays(arrays, schema=BLOCKS)


# -- predictions


@lru_cache(maxsize=4)
def model_of(text: str):
    """A model of the text of its file."""
    return _core.Model.from_bytes(text.encode())


class Scores(NamedTuple):
    """Predictions of a batch: margins and probabilities (one column a class), and the prediction as a number or text."""

    margins: np.ndarray
    probabilities: np.ndarray | None
    predicted: np.ndarray


def scores(model, batch: pa.RecordBatch, form: Form) -> Scores:
    """What a model says of the rows of a batch."""
    cells, names = matrix(batch, form)
    margins = model.margins(_input.Table(cells, names)) if batch.num_rows else np.zeros((0, len(model.intercepts)))
    if not model.classes:
        predicted = np.exp(margins[:, 0]) if model.has_log_link else margins[:, 0]
        return Scores(margins, None, predicted)
    margins = margins - model.boundary
    probabilities = class_probabilities(margins) if dict(_core.losses()).get(model.loss, False) else None
    if margins.shape[1] == 1:
        margins = np.column_stack([-margins[:, 0], margins[:, 0]])
        best = (margins[:, 1] > 0).astype(np.intp)
    else:
        best = margins.argmax(axis=1)
    return Scores(margins, probabilities, np.array(model.classes)[best])


def _list_of(rows: np.ndarray) -> pa.Array:
    offsets = pa.array(np.arange(len(rows) + 1, dtype=np.int32) * rows.shape[1])
    return pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(rows, dtype=np.float64).ravel()))


def predictions(text: str, form: Form, batch: pa.RecordBatch) -> pa.Array:
    """The predictions as structs: margins, probabilities and the prediction."""
    found = scores(model_of(text), batch, form)
    none = pa.nulls(batch.num_rows, pa.list_(pa.float64()))
    probabilities = none if found.probabilities is None else _list_of(found.probabilities)
    kind = pa.string() if found.predicted.dtype.kind in "UO" else pa.float64()
    arrays = [_list_of(found.margins), probabilities, pa.array(found.predicted.tolist(), kind)]
    return pa.StructArray.from_arrays(arrays, names=["margins", "probabilities", "prediction"])


# -- any tasks


def run_tasks(work: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Calls a pickled function with each pickled task; results are text."""
    call = pickle.loads(work)
    for batch in batches:
        for row in batch.to_pylist():
            found = [pa.array([row["number"]], pa.int64()), pa.array([call(pickle.loads(row["task"]))])]
            yield pa.RecordBatch.from_arrays(found, names=["number", "text"])


TASKS_DDL = "number long, text string"
