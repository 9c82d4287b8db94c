"""Measures what a distributed fit costs a row, a stage and a column, and computes from this what a large fit would take.

    TAMIS_BIN=target/release/tamis .venv-engines/bin/python benchmarks/distributed_costs.py [--rows 200000] [--columns 1000000] [--spark]

The functions of the stages run in this process on one core, on rows of ``tamis synth zipf``: seconds for each row, and for each
column that is added. ``--spark`` also fits with Spark in ``local[2]`` from a Parquet file, and compares it with the program. The last
table is arithmetic: the measured costs, 10⁹ rows, 100 executors of one core, and an assumed network of 1 GB/s an executor.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tamis import distributed

PROGRAM = os.environ.get("TAMIS_BIN", "target/release/tamis")
SETTINGS = {"method": "stabilized", "k": "50", "seed": "0", "loss": "logistic"}


def made(folder, rows, columns):
    """The rows in a text file, and as a batch."""
    command = [PROGRAM, "synth", "zipf", "--n", str(rows), "--p", str(columns), "--seed", "7", "--quiet"]
    subprocess.run([*command, "--out", folder / "zipf"], check=True)
    labels, offsets, keys, values = [], [0], [], []
    with open(folder / "zipf.svm", encoding="utf-8") as file:
        for line in file:
            label, *entries = line.split()
            labels.append(float(label))
            for entry in entries:
                key, value = entry.split(":")
                keys.append(int(key))
                values.append(float(value))
            offsets.append(len(keys))
    offsets = pa.array(offsets, pa.int32())
    batch = pa.RecordBatch.from_pydict(
        {
            "label": pa.array(labels),
            "indices": pa.ListArray.from_arrays(offsets, pa.array(keys, pa.int64())),
            "values": pa.ListArray.from_arrays(offsets, pa.array(values)),
        }
    )
    return batch


def timed(work):
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def staged(batch, columns):
    """Processor seconds of each step of a fit in this process, with narrowing."""
    costs = {}
    rows, costs["identity"] = timed(lambda: distributed.rows(batch))
    plan = distributed.first_plan(SETTINGS, columns=columns)
    while True:
        kind, buckets = distributed.describe(plan).kind, distributed.describe(plan).buckets
        number = distributed.bucket_of(rows.column(0), buckets)
        parts = [rows.filter(pa.array(number == bucket)) for bucket in range(buckets)]
        if kind == "collect":
            found, costs["collect"] = timed(lambda: [out for part in parts for out in distributed.collect(plan, [part])])
            _, costs["finish"] = timed(lambda: distributed.finish(plan, found, threads=1))
            costs["collected"] = sum(len(out.column("values").flatten()) for out in found)
            return costs
        found, costs[kind] = timed(lambda: [out for part in parts for out in distributed.stage(plan, [part])])
        costs[f"{kind} bytes"] = sum(out.nbytes for out in found)
        costs[f"{kind} buckets"] = buckets
        added, costs[f"{kind} add"] = timed(lambda: list(distributed.add(found)))
        plan, costs[f"{kind} plan"] = timed(lambda: distributed.next_plan(plan, added))
        costs[f"{kind} columns"] = distributed.describe(plan).columns


def spark_seconds(path):
    """Seconds of two fits in ``local[2]``, each with the time at which its stages began, and of one on few rows."""
    from pyspark.sql import SparkSession

    from tamis.spark import TamisClassifier

    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.driver.memory", "6g")
    builder = builder.config("spark.sql.shuffle.partitions", "8").config("spark.driver.bindAddress", "127.0.0.1")
    spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    frame = spark.read.parquet(str(path)).selectExpr("label", "struct(indices, values) as features")
    told = []
    for name, rows in (("first", frame), ("second", frame), ("1,000 rows", frame.limit(1000))):
        start, stages = time.monotonic(), []
        estimator = TamisClassifier(nFeatures=50)
        estimator._report = lambda line, start=start, stages=stages: stages.append((line.split(":")[0], time.monotonic() - start))
        estimator.fit(rows)
        told.append((name, time.monotonic() - start, stages))
    spark.stop()
    return told


def simulated(costs, rows, entries):
    """Seconds of 10⁹ rows on 100 executors."""
    n, executors, buckets, network = 1e9, 100, 1024, 1e9
    share = n / rows / executors
    line = []
    shuffle = n * (24 + 16 * entries) / executors / network
    line.append(("identities, and rows to their buckets", costs["identity"] * share + shuffle))
    for kind in ("survey", "narrow"):
        growth = buckets / costs[f"{kind} buckets"]
        moved = costs[f"{kind} bytes"] * growth / executors / network
        line.append((kind, costs[kind] * share + moved + costs[f"{kind} add"] * growth / executors))
        line.append((f"{kind}: plan of the driver", costs[f"{kind} plan"]))
    kept = distributed.ENTRIES
    line.append(("collect", costs["collect"] * share + kept * 16 / network))
    line.append(("model of the collected rows, on one core of the driver", costs["finish"] * kept / max(costs["collected"], 1)))
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--columns", type=int, default=1_000_000)
    parser.add_argument("--spark", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        batch = made(folder, options.rows, options.columns)
        entries = len(batch.column("values").flatten()) / len(batch)
        if options.spark:
            pq.write_table(pa.Table.from_batches([batch]).set_column(1, "indices", less_one(batch)), folder / "rows.parquet", row_group_size=20_000)
            start = time.monotonic()
            subprocess.run([PROGRAM, "fit", folder / "zipf.svm", "--k", "50", "-q", "-o", folder / "m.json"], check=True)
            print(f"program: {time.monotonic() - start:.1f} s")
            for which, seconds, stages in spark_seconds(folder / "rows.parquet"):
                print(f"Spark, {which}: {seconds:.1f} s; " + ", ".join(f"{kind} from {begun:.1f} s" for kind, begun in stages))
        costs = staged(batch, 1 << 14)
    print(f"\n| step, {len(batch):,} rows of {entries:.0f} non-zeros | processor seconds | microseconds a row |\n|---|---|---|")
    for step in ("identity", "survey", "survey add", "survey plan", "narrow", "narrow add", "narrow plan", "collect", "finish"):
        print(f"| {step} | {costs[step]:.2f} | {1e6 * costs[step] / len(batch):.2f} |")
    print({name: value for name, value in costs.items() if "bytes" in name or "buckets" in name or "columns" in name})
    print(f"collected: {costs['collected']:,} non-zeros\n\n| 10⁹ rows on 100 executors | seconds |\n|---|---|")
    lines = simulated(costs, len(batch), entries)
    for step, seconds in [*lines, ("all", sum(seconds for _, seconds in lines))]:
        print(f"| {step} | {seconds:,.0f} |")


def less_one(batch):
    """Indices from 0, as Spark has them."""
    column = batch.column("indices")
    return pa.ListArray.from_arrays(column.offsets, pa.array(np.asarray(column.flatten()) - 1))


if __name__ == "__main__":
    main()
