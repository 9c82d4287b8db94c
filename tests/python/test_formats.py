"""Files that other programs write give the model that the svmlight file of the same rows gives.

scikit-learn writes svmlight, scipy npz, pyarrow Parquet and Arrow IPC, Python's csv module CSV; each is read by the
program, and weights are compared by name. Known differences, by design:

* A svmlight file that starts at 0 needs `--zero-based`; its features are then called 0, 1, …
* `scipy.sparse.save_npz` stores no labels: they are added to the archive as an array `y`. Column j is feature j + 1.
* Vectors of `struct<indices, values>` and of two list columns are called by their indices as stored.
* A column of strings becomes one feature for each value, `column=value`, with value 1; in svmlight that is a column
  of zeros and ones under another name.
"""

import bz2
import csv
import gzip
import json
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.sparse
from sklearn.datasets import dump_svmlight_file

TOLERANCE = 1e-12
ROWS, COLUMNS = 300, 40
SETTINGS = ["--method", "truncated-gradient", "--l1", "1e-4", "--passes", "2", "--no-shuffle", "--seed", "3"]


@pytest.fixture(scope="module")
def matrix():
    random = np.random.default_rng(7)
    cells = random.normal(size=(ROWS, COLUMNS)) * (random.random((ROWS, COLUMNS)) < 0.3)
    labels = np.where(cells @ random.normal(size=COLUMNS) + 0.3 * random.normal(size=ROWS) > 0, 1, -1)
    return scipy.sparse.csr_array(cells), labels


@pytest.fixture
def original(tamis, matrix):
    """The model of the svmlight file."""
    rows, labels = matrix
    return tamis.fit(tamis.write_svmlight("original.svm", rows.toarray(), labels), *SETTINGS, model="original.json")


def assert_same(found, original, rename=lambda name: name):
    expected = {rename(name): weight for name, weight in original[1].items()}
    assert len(expected) > 5, "a test on nothing proves nothing"
    assert set(found[1]) == set(expected)
    assert abs(found[0] - original[0]) <= TOLERANCE
    for name, weight in expected.items():
        assert abs(found[1][name] - weight) <= TOLERANCE, name


def names():
    return [str(j + 1) for j in range(COLUMNS)]


def vectors(rows):
    """The rows of a CSR matrix as lists of indices from 1 and of values."""
    parts = [slice(start, end) for start, end in zip(rows.indptr, rows.indptr[1:])]
    return [(rows.indices[part] + 1).tolist() for part in parts], [rows.data[part].tolist() for part in parts]


# svmlight, as scikit-learn writes it: 16 digits, a comment, a query id


def test_svmlight_of_scikit_learn(tamis, matrix, original):
    rows, labels = matrix
    path = tamis.directory / "data.svm"
    dump_svmlight_file(rows, labels, str(path), zero_based=False, comment="two lines\nof comment", query_id=labels * 0)
    assert_same(tamis.fit(path, *SETTINGS), original)


def test_svmlight_that_starts_at_zero(tamis, matrix, original):
    rows, labels = matrix
    path = tamis.directory / "data.svm"
    dump_svmlight_file(rows, labels, str(path), zero_based=True)
    assert_same(tamis.fit(path, *SETTINGS, "--zero-based"), original, lambda name: str(int(name) - 1))


@pytest.mark.parametrize("suffix, opener", [(".gz", gzip.open), (".bz2", bz2.open), (".xz", lzma.open)])
def test_compressed_by_python(tamis, matrix, original, suffix, opener):
    plain = (tamis.directory / "original.svm").read_bytes()
    path = tamis.directory / f"data.svm{suffix}"
    with opener(path, "wb") as file:
        file.write(plain)
    assert_same(tamis.fit(path, *SETTINGS), original)


def test_zstd_by_pyarrow(tamis, matrix, original):
    path = tamis.directory / "data.svm.zst"
    with pa.CompressedOutputStream(str(path), "zstd") as file:
        file.write((tamis.directory / "original.svm").read_bytes())
    assert_same(tamis.fit(path, *SETTINGS), original)


# npz, as scipy writes it


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("index_type", [np.int32, np.int64])
def test_npz_of_scipy(tamis, matrix, original, compressed, index_type):
    rows, labels = matrix
    rows = scipy.sparse.csr_matrix(rows)
    rows.indices, rows.indptr = rows.indices.astype(index_type), rows.indptr.astype(index_type)
    path = tamis.directory / "data.npz"
    scipy.sparse.save_npz(path, rows, compressed=compressed)
    stored = dict(np.load(path))
    (np.savez_compressed if compressed else np.savez)(path, **stored, y=labels)
    assert_same(tamis.fit(path, *SETTINGS), original)


def test_npz_without_labels_is_enough_to_predict(tamis, matrix, original):
    rows, _ = matrix
    scipy.sparse.save_npz(tamis.directory / "new.npz", scipy.sparse.csr_matrix(rows))
    from_npz = tamis.run("predict", "original.json", "new.npz", "--output", "margin")
    assert len(from_npz.splitlines()) == ROWS
    assert from_npz == tamis.run("predict", "original.json", "original.svm", "--output", "margin")


def test_npz_with_labels_in_a_file_of_their_own(tamis, matrix, original):
    rows, labels = matrix
    (tamis.directory / "y.txt").write_text("".join(f"{label}\n" for label in labels))
    dense = scipy.sparse.csr_matrix(rows).toarray()
    scipy.sparse.save_npz(tamis.directory / "csr.npz", scipy.sparse.csr_matrix(rows))
    np.savez(tamis.directory / "dense.npz", X=dense)
    np.savez(tamis.directory / "other.npz", X=dense, y=-np.asarray(labels))  # the file given by --labels counts
    for name in ("csr.npz", "dense.npz", "other.npz"):
        assert_same(tamis.fit(tamis.directory / name, *SETTINGS, "--labels", "y.txt"), original)


# Parquet and Arrow, as pyarrow writes them


def write_parquet(table, path):
    pa.parquet.write_table(table, path)


def write_parquet_small_groups(table, path):
    pa.parquet.write_table(table, path, row_group_size=37, compression="zstd", data_page_version="2.0")


def write_file(table, path):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=50)


def write_stream(table, path):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


def write_feather(table, path):
    pa.feather.write_feather(table, path, compression="lz4")


WRITERS = [
    pytest.param(write_parquet, "data.parquet", id="parquet"),
    pytest.param(write_parquet_small_groups, "data.parquet", id="parquet-zstd-small-groups"),
    pytest.param(write_file, "data.arrow", id="arrow-file"),
    pytest.param(write_stream, "data.arrow", id="arrow-stream"),
    pytest.param(write_feather, "data.arrow", id="feather-lz4"),
]


@pytest.mark.parametrize("write, name", WRITERS)
def test_dense_columns(tamis, matrix, original, write, name):
    rows, labels = matrix
    table = pa.table({"y": labels} | dict(zip(names(), rows.toarray().T)))
    write(table, tamis.directory / name)
    assert_same(tamis.fit(name, *SETTINGS, "--target", "y"), original)


@pytest.mark.parametrize("write, name", WRITERS)
@pytest.mark.parametrize("index_type", [pa.int32(), pa.uint32(), pa.int64()])
def test_a_column_of_sparse_vectors(tamis, matrix, original, write, name, index_type):
    rows, labels = matrix
    indices, values = vectors(rows)
    kind = pa.struct([("indices", pa.list_(index_type)), ("values", pa.list_(pa.float64()))])
    features = pa.array([{"indices": i, "values": v} for i, v in zip(indices, values)], kind)
    write(pa.table({"label": labels, "features": features}), tamis.directory / name)
    assert_same(tamis.fit(name, *SETTINGS, "--target", "label"), original)


@pytest.mark.parametrize("write, name", WRITERS)
@pytest.mark.parametrize("list_of", [pa.list_, pa.large_list])
def test_two_columns_of_lists(tamis, matrix, original, write, name, list_of):
    rows, labels = matrix
    indices, values = vectors(rows)
    columns = {
        "indices": pa.array(indices, list_of(pa.uint32())),
        "values": pa.array(values, list_of(pa.float64())),
        "y": pa.array(labels),
    }
    write(pa.table(columns), tamis.directory / name)
    assert_same(tamis.fit(name, *SETTINGS, "--target", "y"), original)


# categories


COLOURS = ["red", "green", 'sky "blue"', "sea, deep", "naïve"]


@pytest.fixture(scope="module")
def shop(matrix):
    """Rows with two numbers and a category, and the same as numbers only."""
    random = np.random.default_rng(11)
    colour = random.choice(COLOURS, size=ROWS)
    price, size = np.round(random.normal(size=ROWS), 3), random.integers(1, 9, size=ROWS).astype(float)
    pull = {name: weight for name, weight in zip(COLOURS, [2.0, -2.0, 0.5, -1.0, 0.0])}
    labels = np.where(price + [pull[c] for c in colour] + 0.3 * random.normal(size=ROWS) > 0, "buy", "leave")
    return colour.tolist(), price, size, labels.tolist()


@pytest.fixture
def shop_original(tamis, shop):
    """The model when every category is a column of svmlight; 1 and 2 are the numbers, 3 … the categories."""
    colour, price, size, labels = shop
    rows = np.column_stack([price, size, *([float(c == name) for c in colour] for name in COLOURS)])
    signs = [-1 if label == "buy" else 1 for label in labels]  # "buy" comes before "leave"
    intercept, weights = tamis.fit(tamis.write_svmlight("shop.svm", rows, signs), *SETTINGS)
    called = ["price", "size", *(f"colour={name}" for name in COLOURS)]
    return intercept, {called[int(name) - 1]: weight for name, weight in weights.items()}


def test_csv_with_quotes(tamis, shop, shop_original):
    with open(tamis.directory / "shop.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["price", "size", "colour", "bought"])
        writer.writerows(zip(shop[1].tolist(), shop[2].tolist(), shop[0], shop[3]))
    assert_same(tamis.fit("shop.csv", *SETTINGS, "--target", "bought"), shop_original)


def test_csv_quoted_throughout_with_windows_ends(tamis, shop, shop_original):
    with open(tamis.directory / "shop.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
        writer.writerow(["bought", "colour", "price", "size"])
        writer.writerows(zip(shop[3], shop[0], shop[1].tolist(), shop[2].tolist()))
    assert_same(tamis.fit("shop.csv", *SETTINGS, "--target", "bought"), shop_original)


def test_tsv(tamis, shop, shop_original):
    with open(tamis.directory / "shop.tsv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, dialect="excel-tab")
        writer.writerow(["price", "size", "colour", "bought"])
        writer.writerows(zip(shop[1].tolist(), shop[2].tolist(), shop[0], shop[3]))
    assert_same(tamis.fit("shop.tsv", *SETTINGS, "--target", "bought"), shop_original)


def test_json_lines(tamis, shop, shop_original):
    with open(tamis.directory / "shop.jsonl", "w", encoding="utf-8") as file:
        for colour, price, size, label in zip(*shop):
            x = {"price": float(price), "size": float(size), "colour": colour}
            file.write(json.dumps({"y": label, "x": x}) + "\n")
    assert_same(tamis.fit("shop.jsonl", *SETTINGS), shop_original)


@pytest.mark.parametrize("write, name", WRITERS)
@pytest.mark.parametrize("dictionary", [False, True])
def test_string_columns(tamis, shop, shop_original, write, name, dictionary):
    colour, price, size, labels = shop
    column = pa.array(colour)
    table = pa.table({
        "price": price,
        "size": size.astype(np.int16),
        "colour": column.dictionary_encode() if dictionary else column,
        "bought": labels,
    })
    write(table, tamis.directory / name)
    assert_same(tamis.fit(name, *SETTINGS, "--target", "bought"), shop_original)


# and back: what the program writes, the others read


def test_scipy_and_scikit_learn_read_what_convert_writes(tamis, matrix):
    from sklearn.datasets import load_svmlight_file

    rows, labels = matrix
    tamis.write_svmlight("data.svm", rows.toarray(), labels)
    tamis.run("convert", "data.svm", "back.npz")
    np.testing.assert_array_equal(scipy.sparse.load_npz(tamis.directory / "back.npz").toarray(), rows.toarray())
    tamis.run("convert", "back.npz", "back.svm")
    found, found_labels = load_svmlight_file(str(tamis.directory / "back.svm"), n_features=COLUMNS)
    np.testing.assert_array_equal(found.toarray(), rows.toarray())
    np.testing.assert_array_equal(found_labels, labels)


@pytest.mark.parametrize("name", ["back.parquet", "back.arrow"])
def test_pyarrow_reads_what_convert_writes(tamis, matrix, name):
    rows, labels = matrix
    tamis.write_svmlight("data.svm", rows.toarray(), labels)
    tamis.run("convert", "data.svm", name)
    read = pa.parquet.read_table if name.endswith("parquet") else pa.feather.read_table
    assert read(tamis.directory / name).num_rows == ROWS
    tamis.run("convert", name, "again.svm")
    assert (tamis.directory / "again.svm").read_text() == canonical(tamis)


def canonical(tamis):
    """The svmlight file as the program itself writes it."""
    tamis.run("convert", "data.svm", "once.svm")
    return (tamis.directory / "once.svm").read_text()


# Columns of lists


def test_lists_of_texts_are_bags_and_fixed_lists_are_columns(tamis):
    random = np.random.default_rng(3)
    tags = [sorted(random.choice(["a", "b", "c", "d"], random.integers(0, 4), replace=False).tolist()) for _ in range(ROWS)]
    places = random.normal(size=(ROWS, 3))
    labels = [int("a" in row) + 2 * place[1] + 0.1 * random.normal() for row, place in zip(tags, places)]
    doubled = [row + row[:1] for row in tags]  # a text counts once
    for kind in (pa.list_(pa.string()), pa.large_list(pa.string()), pa.list_(pa.dictionary(pa.int32(), pa.string()))):
        columns = {
            "tags": pa.array(doubled, type=kind) if "dictionary" not in str(kind) else pa.array(doubled).cast(kind),
            "place": pa.FixedSizeListArray.from_arrays(pa.array(places.ravel()), 3),
            "y": pa.array(labels),
        }
        pyarrow.feather.write_feather(pa.table(columns), tamis.directory / "lists.arrow", compression="uncompressed")
        pyarrow.parquet.write_table(pa.table(columns), tamis.directory / "lists.parquet")
        flat = {f"tags={tag}": [float(tag in row) for row in tags] for tag in "abcd"}
        flat |= {f"place.{at}": places[:, at] for at in range(3)}
        pyarrow.parquet.write_table(pa.table(flat | {"y": labels}), tamis.directory / "flat.parquet")
        expected = tamis.fit("flat.parquet", *SETTINGS)
        for file in ("lists.arrow", "lists.parquet"):
            assert_same(tamis.fit(file, *SETTINGS), expected)
    predicted = tamis.run("predict", "model.json", "lists.parquet")
    assert predicted == tamis.run("predict", "model.json", "lists.arrow")
    pyarrow.parquet.write_table(pa.table({"tags": columns["tags"]}), tamis.directory / "lacks.parquet")
    with pytest.raises(AssertionError, match='the column "place"'):
        tamis.run("predict", "model.json", "lacks.parquet")
