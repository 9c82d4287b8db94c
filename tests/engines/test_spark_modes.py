"""Spark with workers in processes of their own, one of which is killed, and Spark Connect."""

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUCKETS, CONFIGURATION, Data, oracle, session
from test_spark import flaky, frame

import tamis

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


def environment(folder):
    """An environment with the packages that a worker needs, in an archive, as the guide makes it."""
    subprocess.run([sys.executable, "-m", "venv", "--copies", "--without-pip", folder / "environment"], check=True)
    (site,) = (folder / "environment/lib").glob("python3*/site-packages")
    here = Path(tamis.__file__).parent.parent
    for name in WORKER_PACKAGES:
        found = list(here.glob(f"{name}*"))
        assert found, name
        for one in found:
            copy = functools.partial(shutil.copytree, ignore=shutil.ignore_patterns("tests", "__pycache__"))
            (copy if one.is_dir() else shutil.copy)(one, site / one.name)
    # Compressed quickly. Spark unpacks a plain .tar without the right to execute the interpreter.
    subprocess.run("tar -I 'gzip -1' -cf environment.tar.gz -C environment bin lib pyvenv.cfg", shell=True, cwd=folder, check=True)


# The packages that `pip install tamis pandas` installs.
WORKER_PACKAGES = (
    "tamis numpy pandas pyarrow scipy sklearn scikit_learn joblib cloudpickle threadpoolctl narwhals lazy_importer dateutil tzdata"
).split()


def shipped(folder, remote):
    """A fit whose workers have the package from an archive only."""
    from pyspark.sql import SparkSession

    from tamis.spark import TamisClassifier

    builder = SparkSession.builder
    builder = builder.remote("local-cluster[2,1,1024]") if remote else builder.master("local-cluster[2,1,1024]")
    more = {} if remote else {"spark.archives": f"{folder}/environment.tar.gz#environment"}
    if not remote:
        os.environ["PYSPARK_PYTHON"] = "./environment/bin/python"
    for key, value in {**CONFIGURATION, **more}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    told = {}
    try:
        if remote:
            spark.addArtifact(f"{folder}/environment.tar.gz#environment", archive=True)
            spark.conf.set("spark.sql.execution.pyspark.python", "environment/bin/python")
        data = Data()
        told["text"] = TamisClassifier(nFeatures=3, nBuckets=BUCKETS, verbose=False).fit(frame(spark, data)).text

        def places(batches):
            import pyarrow

            import tamis

            for _ in batches:
                yield pyarrow.RecordBatch.from_pydict({"place": [tamis.__file__]})

        told["places"] = [row[0] for row in spark.range(4, numPartitions=2).mapInArrow(places, "place string").collect()]
    finally:
        spark.stop()
    Path(folder, "told.json").write_text(json.dumps(told))


@pytest.mark.parametrize("remote", [False, True], ids=["archives", "artifact"])
def test_workers_have_the_package_from_an_archive(data, tmp_path, remote):
    import pyspark

    environment(tmp_path)
    try:
        told = run_in_process(f"shipped({str(tmp_path)!r}, {remote})", tmp_path)
    finally:
        # Workers unpack the archive in a folder that Spark leaves behind.
        shutil.rmtree(Path(pyspark.__file__).parent / "work", ignore_errors=True)
    assert told["text"] == oracle(data.batch())
    own = str(Path(tamis.__file__).parent)
    assert told["places"] and all("/environment/lib/" in place and not place.startswith(own) for place in told["places"])


def run_in_process(call, folder):
    """Calls a function of this file in a process of its own and returns what it has told."""
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_spark_modes as t; t.{call}"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads((folder / "told.json").read_text())


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
    told = run_in_process(f"connected({str(tmp_path)!r})", tmp_path)
    assert "connect" in told["session"]
    assert told["vector"] == oracle(data.batch()) and told["map"] == told["saved"] == oracle(data.batch(named=True))
    assert told["map right"] == told["vector right"] == told["sql"] > 0.85 * len(data.label)
    assert told["rows"] == len(data.label)
