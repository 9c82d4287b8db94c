"""docs/serving.md, from top to bottom: every command runs, and every answer has the form that is shown."""

import json
import re
import shutil
import socket
import subprocess
import time
import urllib.request

import pytest
from conftest import BINARY, ROOT

PAGE = (ROOT / "docs/serving.md").read_text()
ADDRESS = "127.0.0.1:8080"


def console():
    """The commands of the page, each with the lines that it shows."""
    for block in re.findall(r"^```console\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.rstrip("\n").split("\n")
            yield command, shown


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_until_ready(url):
    start = time.monotonic()
    while True:
        try:
            with urllib.request.urlopen(url + "/readyz", timeout=5):
                return
        except OSError:
            assert time.monotonic() - start < 60
            time.sleep(0.05)


def form(line):
    """The keys of an answer, and the values that do not depend on the weights."""
    answer = json.loads(line)
    return {key: answer[key] if key in ("accepted", "sequence", "repeated", "id") else type(answer[key]) for key in answer}


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl")
def test_every_command_of_the_page_runs(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/tamis").symlink_to(BINARY)
    port, server, ran = free_port(), None, 0
    environment = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    try:
        for command, shown in console():
            here = command.replace("localhost:8080", f"127.0.0.1:{port}")
            if command.startswith("tamis serve"):
                process = [*here.split(), "--listen", f"127.0.0.1:{port}"]
                server = subprocess.Popen(process, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
                assert server.stdout.readline().rstrip().replace(str(port), "8080") == shown[0]
                wait_until_ready(f"http://127.0.0.1:{port}")
                continue
            run = subprocess.run(["bash", "-c", here], cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert run.returncode == 0, f"{command}: {run.stdout}{run.stderr}"
            assert len(run.stdout.splitlines()) == len(shown), f"{command}: {run.stdout}"
            for line, expected in zip(run.stdout.splitlines(), shown, strict=True):
                assert form(line) == form(expected), command
            ran += 1
        assert ran >= 8 and server is not None
        run_python(f"http://127.0.0.1:{port}")
    finally:
        if server is not None:
            server.terminate()
            assert server.wait(30) == 0


def run_python(url):
    """The Python of the page, if the package is installed."""
    client = pytest.importorskip("tamis", reason="the package is not installed")
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    if hasattr(client, "Client"):
        exec(code.replace(f"http://{ADDRESS}", url), {})  # noqa: S102


def test_the_files_of_the_page_name_flags_that_there_are(tmp_path):
    help_text = subprocess.run([BINARY, "serve", "--help"], check=True, capture_output=True, text=True).stdout
    flags = set(re.findall(r"(--[a-z-]+)", "\n".join(line for line in PAGE.splitlines() if "tamis serve" in line)))
    flags |= set(re.findall(r"`(--(?:max|stop|receive|token|tls|batch|read)[a-z-]*)", PAGE))
    assert len(flags) > 5
    for flag in flags - {"--help"}:
        assert flag in help_text, flag
