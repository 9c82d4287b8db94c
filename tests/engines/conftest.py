"""What the tests of the engines share: sessions, planted data in every form, and the local engine as the oracle."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
# Nothing leaves this machine, nothing is drawn, and Spark uses few partitions.
CONFIGURATION = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
}
BUCKETS = 8
PLANTED = (3, 17, 40)


def planted(rows=800, columns=60, seed=0):
    """Sparse rows as (features from 0, values), and a class that three of the columns decide."""
    random = np.random.default_rng(seed)
    indices, values, targets = [], [], []
    for _ in range(rows):
        common = [one for one in PLANTED if random.random() < 0.5]
        chosen = np.union1d(random.choice(columns, 8, replace=False), common).astype(int)
        numbers = np.round(random.normal(size=len(chosen)), 3)
        numbers[numbers == 0] = 0.5
        own = dict(zip(chosen.tolist(), numbers.tolist(), strict=True))
        indices.append(chosen.tolist())
        values.append(numbers.tolist())
        targets.append(sum(weight * own.get(one, 0) for one, weight in zip(PLANTED, (2.0, -2.0, 1.5), strict=True)))
    noise = random.normal(size=rows) * 0.3
    return indices, values, np.array(targets) + noise


class Data:
    """Planted data in the forms of all engines."""

    def __init__(self, rows=800, columns=60, seed=0):
        self.columns = columns
        self.indices, self.values, self.target = planted(rows, columns, seed)
        self.label = (self.target > 0).astype(float)

    def dense(self):
        X = np.zeros((len(self.label), self.columns))
        for row, (indices, values) in enumerate(zip(self.indices, self.values, strict=True)):
            X[row, indices] = values
        return X

    def batch(self, named=False, label=None):
        """The rows for the local engine."""
        columns = {"label": pa.array(self.label if label is None else label), "values": pa.array(self.values)}
        if named:
            columns["names"] = pa.array([[f"w{one}" for one in row] for row in self.indices])
        else:
            columns["indices"] = pa.array([[one + 1 for one in row] for row in self.indices])
        return pa.RecordBatch.from_pydict(columns)


@pytest.fixture(scope="session")
def data():
    return Data()


def settings(k=3, loss="logistic"):
    made = {"method": "stabilized", "k": str(k), "seed": "0"}
    return made | ({"loss": loss} if loss else {})


def oracle(batch, task="auto", k=3, loss="logistic", buckets=BUCKETS):
    """The text of the model of the local engine."""
    from tamis import distributed

    return distributed.fit(distributed.LocalEngine([batch]), settings(k, loss), task, buckets=buckets).text


def names_of(text):
    from tamis import _core

    return sorted(name for output in _core.Model.from_bytes(text.encode()).outputs for name in output[0])


def session(master, **more):
    if shutil.which("java") is None:
        pytest.skip("SKIPPED, no Java runtime: make java installs one")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    for key, value in {**CONFIGURATION, **more}.items():
        builder = builder.config(key, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


@pytest.fixture(scope="module")
def spark():
    """Two threads; a task may fail twice."""
    made = session("local[2,3]")
    yield made
    made.stop()


def program(folder, *line):
    """Standard output of the program, which ``TAMIS_BIN`` names."""
    if "TAMIS_BIN" not in os.environ:
        pytest.skip("SKIPPED, TAMIS_BIN does not name the program")
    return subprocess.run([os.environ["TAMIS_BIN"], *line], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def client():
    """Two processes of Dask."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        with Client(cluster) as made:
            yield made
