"""Distributed fits: rows in, plans and tallies as bytes, the same model however the rows are spread."""

import numpy as np
import pyarrow as pa
import pytest

from tamis import distributed
from tamis.errors import DataError, ParamError

STABILIZED = {"method": "stabilized"}


def planted(rows=600, columns=120, seed=0, named=False):
    """Rows of two classes of which columns 0 to 3 decide."""
    random = np.random.default_rng(seed)
    indices = [np.unique(random.integers(0, columns, 10)) for _ in range(rows)]
    margins = np.array([sum(4 * (-1) ** i for i in row if i < 4) for row in indices])
    labels = np.where(random.random(rows) < 1 / (1 + np.exp(-margins)), 1.0, -1.0)
    keys = {"names": [[f"w{i}" for i in row] for row in indices]} if named else {"indices": [row.tolist() for row in indices]}
    values = [random.uniform(0.5, 1.5, len(row)).tolist() for row in indices]
    return pa.RecordBatch.from_pydict({"label": labels, **keys, "values": values})


def fitted(batches, partitions=1, settings=STABILIZED, **limits):
    return distributed.fit(distributed.LocalEngine(batches, partitions), settings, **limits)


@pytest.mark.parametrize("named", [False, True])
def test_partitions_batches_and_order_leave_no_trace(named):
    batch = planted(named=named)
    lines = []
    text = fitted([batch], columns=40, report=lines.append).text
    assert [line.split(":")[0] for line in lines] == ["survey", "narrow", "collect"]
    shuffled = batch.take(pa.array(np.random.default_rng(1).permutation(len(batch))))
    pieces = [shuffled.slice(start, 77) for start in range(0, len(shuffled), 77)]
    for batches, partitions in [([batch], 2), ([batch], 7), (pieces, 1), (pieces, 3)]:
        assert fitted(batches, partitions, columns=40).text == text


def test_columns_may_begin_anywhere_in_memory():
    batch = distributed.rows(planted())
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, batch.schema) as writer:
        writer.write_batch(batch)
    moved = pa.py_buffer(b"x" + stream.getvalue().to_pybytes()).slice(1)
    odd = pa.ipc.open_stream(moved).read_next_batch()
    assert any(buffer is not None and buffer.address % 8 for column in odd.columns for buffer in column.buffers())
    plan = distributed.first_plan(STABILIZED)
    tallies = [list(distributed.stage(plan, [rows])) for rows in (batch, odd)]
    assert tallies[0] == tallies[1]
    plan = distributed.next_plan(plan, distributed.add(tallies[0]))
    models = [distributed.finish(plan, distributed.collect(plan, [rows])).text for rows in (batch, odd)]
    assert models[0] == models[1] == distributed.finish(plan, [odd]).text


def test_the_planted_columns_are_found():
    model = fitted([planted(3000)], settings={**STABILIZED, "k": "4"}, columns=40)
    assert sorted(model.outputs[0][0]) == ["0", "1", "2", "3"]


def test_stages_take_any_order_and_repeated_tasks():
    rows = [distributed.rows(planted())]
    plan = distributed.first_plan(STABILIZED, columns=40)
    assert distributed.describe(plan).kind == "survey"
    parts = list(distributed.stage(plan, rows))
    added = list(distributed.add(parts))
    again = list(distributed.add([*reversed(parts), parts[3], parts[0]]))
    assert [batch.to_pylist() for batch in added] == [batch.to_pylist() for batch in again]
    after = distributed.next_plan(plan, reversed(added))
    assert after == distributed.next_plan(plan, added)
    stage = distributed.describe(after)
    assert (stage.kind, stage.number, stage.rows, stage.features, stage.columns) == ("narrow", 1, 600, 120, 120)
    assert list(distributed.stage(plan, [])) == []
    assert all(batch.schema == distributed.TALLIES for batch in parts)


def test_identities_and_buckets():
    batch = distributed.rows(planted(50))
    assert batch.schema == distributed.rows_schema(text_labels=False, named=False)
    numbers = batch.column("row").to_numpy().view(np.uint64)
    assert np.array_equal(distributed.bucket_of(batch.column("row"), 16), numbers >> np.uint64(60))
    assert set(distributed.bucket_of(batch.column("row"), 1)) == {0}
    named = pa.RecordBatch.from_pydict({"label": [1.0], "names": [["7", "b"]], "values": [[1.0, 0.0]], "key": ["x"]})
    keyed = distributed.rows(named)
    assert keyed.column("names").to_pylist() == [["7"]], "a zero is no entry"
    assert keyed.column("row").to_pylist() != distributed.rows(named.drop_columns(["key"])).column("row").to_pylist()
    texts = pa.RecordBatch.from_pydict({"label": ["a", "b"], "weight": [0.0, 2.0], "indices": [[1], [2]], "values": [[1], [2]]})
    assert distributed.rows(texts).to_pydict()["label"] == ["b"], "rows of weight 0 are left out"
    assert distributed.rows(texts.slice(0, 1)).schema == distributed.rows_schema(text_labels=True, named=False)


def test_text_labels_weights_and_keys():
    batch = planted(400)
    labels = pa.array(["yes" if one > 0 else "no" for one in batch.column("label").to_pylist()])
    batch = batch.set_column(0, "label", labels).append_column("weight", pa.array([1.0, 2.0] * 200))
    batch = batch.append_column("key", pa.array(np.arange(400) // 2))
    model = fitted([batch], keyed=True)
    assert model.classes == ["no", "yes"]
    assert model.text == fitted([batch], 5, keyed=True).text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": [None, 1.0]}, "row 0: the label is missing"),
        ({"label": [float("nan"), 1.0]}, "row 0: the label NaN is not finite"),
        ({"values": [[1.0], [float("inf")]]}, "row 1: the value inf is not finite"),
        ({"values": [[1.0], [1.0, 2.0]]}, "row 1: there are 2 values for 1 features"),
        ({"values": [[1.0], [None]]}, "have missing values"),
        ({"weight": [1.0, -1.0]}, "row 1: the weight -1 is not 0 or more"),
        ({"indices": [[1], [-1]]}, "the index -1 is not within"),
        ({"indices": [[1, 1], [2]], "values": [[1.0, 1.0], [1.0]]}, "the feature 1 occurs twice in one row"),
        ({"names": [["a"], ["b"]]}, "either 'names' or 'indices'"),
    ],
)
def test_bad_rows_are_named(change, message):
    rows = {"label": [0.0, 1.0], "indices": [[1], [2]], "values": [[1.0], [1.0]], **change}
    with pytest.raises(DataError, match=message):
        distributed.rows(pa.RecordBatch.from_pydict(rows))


def test_no_rows_and_one_class():
    empty = planted().slice(0, 0)
    with pytest.raises(DataError, match="there are no rows"):
        fitted([empty])
    with pytest.raises(DataError, match="there are no rows"):
        fitted([])
    batch = planted(30)
    with pytest.raises(DataError, match="all 30 rows have the label 1; classification needs two classes"):
        fitted([batch.set_column(0, "label", pa.array([1.0] * 30))], task="binary")


def test_settings_that_cannot_be_distributed():
    with pytest.raises(ParamError, match="only the method stabilized is distributed"):
        distributed.first_plan({"method": "ftrl"})
    with pytest.raises(ParamError, match="power of two"):
        distributed.first_plan(STABILIZED, buckets=5)
    with pytest.raises(DataError, match="damaged"):
        distributed.describe(distributed.first_plan(STABILIZED)[:-1])


def test_a_sample_is_collected_where_rows_are_too_many():
    with pytest.warns(UserWarning, match="the last stages learn from .* of 900 rows"):
        model = fitted([planted(900)], entries=3000)
    assert '"rows":900' in model.seen.replace(" ", "")
