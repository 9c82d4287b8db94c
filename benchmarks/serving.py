"""Compares scoring by `tamis serve` with MLflow's scoring server: the same linear model, the same client, one run.

    .venv-mlflow/bin/python benchmarks/serving.py [--rounds N]

Both servers listen on the loopback and get batches of 1,000 rows of 75 numbers, in turns, so that a slow moment of the
machine affects both. The request is the same, byte for byte (`POST /invocations` with dataframe_split); `tamis serve` is
also measured with its own route. Predictions are compared. Medians of the rounds are reported. The goal is five times the
rows a second of MLflow. Exit code 1 means that an answer was wrong, 2 that the goal was missed.

The environment needs mlflow and scikit-learn. TAMIS_BIN names the program.
"""

import argparse
import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    import mlflow.sklearn
    import numpy as np
    from sklearn.linear_model import LogisticRegression
except ImportError as missing:
    print("=" * 66)
    print(f"NOT MEASURED: MLflow's scoring server ({missing}).")
    print("python3 -m venv .venv-mlflow")
    print(".venv-mlflow/bin/python -m pip install mlflow scikit-learn")
    print("=" * 66)
    sys.exit(0)

ROOT = Path(__file__).resolve().parents[1]
TAMIS = Path(os.environ.get("TAMIS_BIN", ROOT / "target/release/tamis"))
FEATURES, ROWS, GOAL = 75, 1000, 5.0
SECONDS = 3.0


def table(count, seed):
    draw = random.Random(seed)
    return [[round(draw.uniform(-1, 1), 3) for _ in range(FEATURES)] for _ in range(count)]


def svmlight(rows):
    cells = (" ".join(f"{at + 1}:{value}" for at, value in enumerate(row)) for row in rows)
    return "".join(f"{int(row[0] > row[1])} {line}\n" for row, line in zip(rows, cells, strict=True))


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Served:
    """A server, and one connection to it that is kept."""

    def __init__(self, name, command, port, ready, **process):
        self.name, self.port = name, port
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **process)
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        start = time.monotonic()
        while not self.is_ready(ready):
            if self.process.poll() is not None or time.monotonic() - start > 120:
                raise SystemExit(f"{name} does not start: {' '.join(map(str, command))}")
            time.sleep(0.2)

    def is_ready(self, path):
        try:
            self.connection.request("GET", path)
            answer = self.connection.getresponse()
            answer.read()
            return answer.status == 200
        except OSError:
            self.connection.close()
            return False

    def post(self, path, body, kind):
        try:
            self.connection.request("POST", path, body, {"Content-Type": kind})
        except (BrokenPipeError, ConnectionResetError):
            # A connection that was idle while the other server started.
            self.connection.close()
            self.connection.request("POST", path, body, {"Content-Type": kind})
        answer = self.connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{self.name}{path}: {answer.status} {content[:300]!r}")
        return content

    def rate(self, *request):
        """Rows a second of one client that sends batches for a while."""
        self.post(*request)
        start, sent = time.monotonic(), 0
        while time.monotonic() - start < SECONDS:
            self.post(*request)
            sent += ROWS
        return sent / (time.monotonic() - start)

    def stop(self):
        self.connection.close()
        self.process.terminate()
        self.process.wait(30)


def fit(folder):
    """A linear model of tamis, and the same one as a scikit-learn estimator that MLflow serves."""
    (folder / "first.svm").write_text(svmlight(table(5000, 1)))
    command = ["fit", "first.svm", "--method", "ftrl", "--passes", "1", "-q", "-o", "model.json"]
    subprocess.run([TAMIS, *command], cwd=folder, check=True)
    output = json.loads((folder / "model.json").read_text())["body"]["outputs"][0]
    estimator = LogisticRegression()
    estimator.classes_ = np.array([0.0, 1.0])
    estimator.coef_ = np.zeros((1, FEATURES))
    estimator.intercept_ = np.array([output["intercept"]])
    for feature in output["features"]:
        estimator.coef_[0, int(feature["name"]) - 1] = feature["weight"]
    estimator.n_features_in_ = FEATURES
    mlflow.sklearn.save_model(estimator, folder / "mlflow")


def start(folder):
    ports = free_port(), free_port()
    ours = [TAMIS, "serve", "model.json", "--listen", f"127.0.0.1:{ports[0]}", "-q"]
    serve = ["models", "serve", "-m", "mlflow", "--env-manager", "local", "--host", "127.0.0.1", "-p", str(ports[1])]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "MLFLOW_DISABLE_TELEMETRY": "true"}
    peer = [sys.executable, "-m", "mlflow", *serve]
    tamis = Served("tamis", ours, ports[0], "/readyz", cwd=folder)
    return tamis, Served("mlflow", peer, ports[1], "/ping", cwd=folder, env=environment)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fit(folder)
        tamis, peer = start(folder)
        rows = table(ROWS, 9)
        split = {"columns": [str(at + 1) for at in range(FEATURES)], "data": rows}
        same = ("/invocations", json.dumps({"dataframe_split": split}).encode(), "application/json")
        own = ("/v1/score", svmlight(rows).encode(), "text/x-svmlight")
        first, second = (json.loads(server.post(*same))["predictions"] for server in (tamis, peer))
        if len(first) != ROWS or [float(one) for one in first] != [float(one) for one in second]:
            print("the predictions differ")
            return 1
        parts = {
            "mlflow, /invocations": (peer, same),
            "tamis, /invocations": (tamis, same),
            "tamis, /v1/score": (tamis, own),
        }
        rates = {part: [] for part in parts}
        for _ in range(rounds):
            for part, (server, request) in parts.items():
                rates[part].append(server.rate(*request))
        tamis.stop()
        peer.stop()
    base = statistics.median(rates["mlflow, /invocations"])
    print(f"batches of {ROWS} rows of {FEATURES} numbers, one client, median of {rounds} rounds, MLflow {mlflow.__version__}")
    ratio = 0.0
    for part, found in rates.items():
        ratio = statistics.median(found) / base
        low, high = min(found), max(found)
        print(f"  {part:22} {statistics.median(found):9.0f} rows/s ({low:.0f} to {high:.0f}), {ratio:.1f} times MLflow")
    times = statistics.median(rates["tamis, /invocations"]) / base
    print(f"the same request: {times:.1f} times MLflow; the goal is {GOAL:.0f} times")
    return 0 if times >= GOAL else 2


if __name__ == "__main__":
    sys.exit(main())
