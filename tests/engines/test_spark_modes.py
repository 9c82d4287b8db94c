"""Spark with workers in processes of their own, one of which is killed, and Spark Connect."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUCKETS, CONFIGURATION, Data, oracle, session
from test_spark import flaky, frame

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def cluster():
    """Two workers of one core each, which are processes."""
    made = session("local-cluster[2,1,1024]")
    yield made
    made.stop()


def test_a_killed_worker_leaves_no_trace(cluster, data, monkeypatch, tmp_path):
    from tamis.spark import TamisClassifier

    mark = str(tmp_path / "killed")

    def spoil(name):
        import os
        import signal

        if name != "stage" or os.path.exists(mark):
            return
        open(mark, "w").close()
        # This process is a child of the daemon of an executor, which is a child of the executor.
        daemon = os.getppid()
        with open(f"/proc/{daemon}/stat", encoding="utf-8") as file:
            executor = int(file.read().rpartition(")")[2].split()[1])
        with open(f"/proc/{executor}/cmdline", encoding="utf-8") as file:
            assert "ExecutorBackend" in file.read()
        os.kill(executor, signal.SIGKILL)

    flaky(monkeypatch, spoil)
    model = TamisClassifier(nFeatures=3, nBuckets=BUCKETS, verbose=False).fit(frame(cluster, data, partitions=4))
    assert Path(mark).exists()
    assert model.text == oracle(data.batch())


def connected(folder):
    """A fit, a prediction and a saved model through Spark Connect, in a process without a session of its own."""
    from pyspark.sql import SparkSession

    from tamis.spark import TamisClassificationModel, TamisClassifier, TamisMoments

    builder = SparkSession.builder.remote("local[2]")
    for key in ("spark.ui.enabled", "spark.ui.showConsoleProgress", "spark.sql.shuffle.partitions"):
        builder = builder.config(key, CONFIGURATION[key])
    spark = builder.getOrCreate()
    data, told = Data(), {"session": type(spark).__module__}
    try:
        for form, partitions in (("vector", 2), ("map", 3)):
            df = frame(spark, data, form, partitions)
            model = TamisClassifier(nFeatures=3, nBuckets=BUCKETS, verbose=False).fit(df)
            told[form] = model.text
            rows = model.transform(df).selectExpr("sum(cast(prediction = label as int))", "count(probability)").collect()
            told[f"{form} right"] = rows[0][0]
        model.write().overwrite().save(f"{folder}/saved")
        told["saved"] = TamisClassificationModel.load(f"{folder}/saved").text
        told["sql"] = df.selectExpr(f"sum(cast({model.sql_expression(form='map')} = label as int))").collect()[0][0]
        moments = TamisMoments(labelCol="target", solver="ols", blockRows=16).fit(df)
        told["rows"] = moments.moments.rows
    finally:
        spark.stop()
    Path(folder, "told.json").write_text(json.dumps(told))


def test_connect(data, tmp_path):
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_spark_modes as t; t.connected({str(tmp_path)!r})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads((tmp_path / "told.json").read_text())
    assert "connect" in told["session"]
    assert told["vector"] == oracle(data.batch()) and told["map"] == told["saved"] == oracle(data.batch(named=True))
    assert told["map right"] == told["vector right"] == told["sql"] > 0.85 * len(data.label)
    assert told["rows"] == len(data.label)
