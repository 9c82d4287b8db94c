"""Every command and every Python example of the guide runs, on the data that docs/examples.py makes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
FOLDERS = ("start", "guide", "methods")
PAGES = sorted(page for folder in FOLDERS for page in DOCS.glob(f"{folder}/*.md")) + [DOCS / "how-sure.md", DOCS / "kernel.md"]
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


def test_flags_of_the_pages_are_those_of_their_methods():
    """Parameters that a page names under "Defaults" belong to its method, and the values are those of the help."""
    command = [program_path(), "fit", "--help"]
    help_text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    flags = dict(re.findall(r"^ {6}--([a-z0-9-]+)(.*?)(?=^ {6}--|\Z)", help_text, flags=re.MULTILINE | re.DOTALL))
    flags = {flag: re.sub(r"\s+", " ", text) for flag, text in flags.items()}
    named = 0
    for page in DOCS.glob("methods/*.md"):
        section = re.search(r"^## Defaults\n(.*?)^## ", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for flag, value in re.findall(r"`--([a-z0-9-]+)`(?: \([^)]*\))? ?([0-9.e-]*[0-9])?", section[1] if section else ""):
            text = flags[flag]
            owners = re.findall(r"\(([a-z, -]+)\)", text.split("[possible")[0])  # the last brackets name the methods
            assert not owners or page.stem in owners[-1].split(", "), (page.stem, flag)
            # Where a default depends on the method, the help says the usual one.
            if value and flag not in ("learning-rate", "l1"):
                assert any(float(one) == float(value) for one in re.findall(r"[0-9.]+[0-9]|[0-9]", text)), (page.stem, flag)
            named += 1
    assert named > 15
