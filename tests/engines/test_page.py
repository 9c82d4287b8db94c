"""Every example of the page on Spark and Dask runs."""

import re
from pathlib import Path

import dask.array as da
import pytest
from test_spark import frame

pytestmark = pytest.mark.timeout(300)
PAGE = Path(__file__).resolve().parents[2] / "docs/guide/spark-and-dask.md"
BLOCKS = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_examples_of_the_page_run(spark, data, number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = BLOCKS[number].replace("nFeatures=50", "nFeatures=3").replace("n_features_to_select=50", "n_features_to_select=3")
    text = text.replace('"clicks"', repr(str(tmp_path / "clicks")))  # Spark has a folder of its own
    X, y = data.dense(), data.label
    if "tamis.dask import" in text:
        X, y = da.from_array(X, chunks=(400, X.shape[1])), da.from_array(y, chunks=400)
    df = frame(spark, data, "map").withColumnsRenamed({"label": "clicked", "target": "amount"})
    exec(compile(text, "the page", "exec"), {"spark": spark, "df": df, "X": X, "y": y})


def test_the_page_has_examples():
    assert len(BLOCKS) == 4
