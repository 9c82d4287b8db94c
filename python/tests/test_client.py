"""The client against a server of the program."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tamis import Client, ServerError

BINARY = Path(os.environ.get("TAMIS_BIN") or Path(__file__).resolve().parents[2] / "target/release/tamis")
pytestmark = pytest.mark.skipif(not BINARY.is_file(), reason="there is no program: set TAMIS_BIN")


def rows(count, start=0):
    for number in range(start, start + count):
        a, b = number * 37 % 101 / 50 - 1, number * 53 % 97 / 50 - 1
        yield {"y": int(a > b), "x": {"a": a, "b": b}}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    (folder / "first.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(500)))
    (folder / "tokens").write_text("scorer-0123456789abcdef score\nadmin-0123456789abcdef admin\n")
    fit = ["fit", "first.jsonl", "--method", "ftrl", "--passes", "1", "-q", "--checkpoint", "state.st"]
    subprocess.run([BINARY, *fit], cwd=folder, check=True)
    serve = ["serve", "state.st", "--log", "log", "--listen", "127.0.0.1:0", "--json", "--token-file", "tokens"]
    process = subprocess.Popen([BINARY, *serve], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = json.loads(process.stdout.readline())["url"]
    yield folder, url
    process.terminate()
    assert process.wait(timeout=30) == 0


def test_score_learn_and_replay(server):
    folder, url = server
    client = Client(url, token="admin-0123456789abcdef")
    scored = client.score([{"x": {"a": 1.0, "b": -1.0, "c": 3.0}}], explain=True)[0]
    assert scored["prediction"] == 1 and scored["unknown_features"] == 1
    parts = scored["explanation"]
    total = parts["intercept"] + sum(part["contribution"] for part in parts["contributions"])
    assert total == pytest.approx(scored["margin"], abs=1e-12)
    first = client.learn(rows(40, 1000), key="one")
    again = client.learn(rows(40, 1000), key="one")
    assert first["accepted"] == 40 and not first["repeated"] and again["repeated"]
    assert again["sequence"] == first["sequence"]
    client.score([{"x": {"a": 0.5}, "tag": "late"}], remember=True)
    assert client.label({"late": 1}, key="two")["accepted"] == 1
    again = client.label({"late": 1}, key="two")
    assert again["repeated"] and again["accepted"] == 1, "an answer that was lost can be asked for again"
    with pytest.raises(ServerError, match="waits for a label") as caught:
        client.label({"late": 1})
    assert (caught.value.status, caught.value.code) == (404, "unknown_id")
    assert client.checkpoint()["rows"] == 541
    model = client.model()
    arguments = ["fit", "log/000001", "--resume", "log/000001/start.st", "-q", "-o", "replayed.json"]
    subprocess.run([BINARY, *arguments], cwd=folder, check=True)
    assert (folder / "replayed.json").read_bytes() == model
    assert {one["name"] for one in client.features(top=5)["outputs"][0]["features"]} <= {"a", "b", "c"}


def test_features_of_another_size(server, tmp_path):
    with pytest.raises(ServerError, match="no size path") as caught:
        Client(server[1], token="scorer-0123456789abcdef").features(fdr=0.1)
    assert (caught.value.status, caught.value.code) == (409, "no_such_size")
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows(500)))
    subprocess.run([BINARY, "fit", "rows.jsonl", "-q", "-o", "model.json"], cwd=tmp_path, check=True)
    resize = ["resize", "model.json", "--k", "1", "-q", "-o", "small.json"]
    subprocess.run([BINARY, *resize], cwd=tmp_path, check=True)
    serve = [BINARY, "serve", "model.json", "--listen", "127.0.0.1:0", "--json"]
    with subprocess.Popen(serve, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        client = Client(json.loads(process.stdout.readline())["url"])
        found = client.features(k=1)["outputs"][0]["features"]
        process.terminate()
    small = json.loads((tmp_path / "small.json").read_text())["body"]["outputs"][0]["features"]
    assert [(one["name"], one["weight"]) for one in found] == [(one["name"], one["weight"]) for one in small]


def test_errors_say_where(server):
    _, url = server
    client = Client(url, token="scorer-0123456789abcdef")
    with pytest.raises(ServerError, match="lacks the scope learn") as caught:
        client.learn(rows(1))
    assert (caught.value.status, caught.value.code) == (403, "no_scope")
    with pytest.raises(ServerError, match="send a token") as caught:
        Client(url).score([{"x": {"a": 1.0}}])
    assert caught.value.status == 401
    with pytest.raises(ServerError) as caught:
        client.score([{"x": {"a": 1.0}}, {"x": 3}])
    assert caught.value.line == 2
    with pytest.raises(ValueError, match="JSON compliant"):
        client.score([{"x": {"a": float("nan")}}])
    with pytest.raises(ValueError, match="begins with http"):
        Client("localhost:8080")


def test_a_server_that_is_not_there(server):
    client = Client("http://127.0.0.1:9", retries=0, timeout=2)
    assert not client.is_ready()
    assert Client(server[1]).is_ready()
    with pytest.raises(OSError):
        client.model()


def test_the_client_needs_the_standard_library_only():
    code = "import sys, tamis._client; print([name for name in ('numpy', 'sklearn', 'requests', 'httpx') if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "[]"
