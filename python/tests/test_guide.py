"""Every command and every Python example of the guide runs, on the data that docs/examples.py makes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.glob("start/*.md"), *DOCS.glob("guide/*.md"), *DOCS.glob("methods/*.md")])
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def blocks(page):
    """The blocks of a page with their kind. Of a console, the lines that are typed."""
    for kind, text in BLOCK.findall(page.read_text("utf-8")):
        typed = [line[2:] for line in text.splitlines() if line.startswith("$ ")]
        yield kind, "\n".join(typed) if kind == "console" else text


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guide")
    subprocess.run([sys.executable, DOCS / "examples.py", folder], check=True)
    return folder


@pytest.fixture
def folder(data, tmp_path):
    for file in data.iterdir():
        (tmp_path / file.name).symlink_to(file)
    return tmp_path


def program_path():
    binary = Path(os.environ.get("TAMIS_BIN", ROOT / "target/release/tamis")).resolve()
    if not binary.exists():
        pytest.skip(f"SKIPPED, no program at {binary}: make release builds it, TAMIS_BIN names another")
    return binary


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_what_the_guide_shows_runs(page, folder):
    (folder / "bin").mkdir()
    (folder / "bin/tamis").symlink_to(program_path())
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(folder)}
    program = "\n".join(text for kind, text in blocks(page) if kind == "python")
    for kind, text in blocks(page):
        if kind == "console":
            script = f"set -e\nset -x\n{text}\n"
            done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr[-2000:]
    if program:
        done = subprocess.run([sys.executable, "-c", program], cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]


def test_every_method_has_a_page():
    import tamis

    pages = {page.stem for page in DOCS.glob("methods/*.md")} | {"kernel"}
    assert set(tamis.methods()) <= pages
    assert (DOCS / "kernel.md").exists()
    for method in set(tamis.methods()) - {"kernel"}:
        text = (DOCS / f"methods/{method}.md").read_text("utf-8")
        headings = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
        assert headings == ["What it solves", "The update", "When to use it", "Defaults", "Example", "Source"], method
        assert f"--method {method}" in text or method == "stabilized"


def test_defaults_of_the_pages_are_those_of_the_program():
    help_text = subprocess.run([program_path(), "fit", "--help"], capture_output=True, text=True, check=True).stdout
    told = {"ftrl": {"alpha": "0.5", "beta": "1", "l1": "3"}, "rounding": {"threshold": "0.01"}, "fofs": {"rate": "0.2"}}
    for method, defaults in told.items():
        page = (DOCS / f"methods/{method}.md").read_text("utf-8")
        for flag, value in defaults.items():
            assert f"`--{flag}` {value}" in page, (method, flag)
    assert "β: dampens the steps of rare features [default: 1] (ftrl)" in re.sub(r"\s+", " ", help_text)
