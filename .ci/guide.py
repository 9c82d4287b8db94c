"""Builds the documentation site: python .ci/guide.py PROGRAM

Pages of docs/ are copied to target/guide/source. The command reference is what the program prints as help, the Python
reference is made of docstrings, the pictures are those of a report that the program writes, and notebooks are run and
shown with their output. MkDocs then builds target/guide/site; a broken link is an error, and so is a page that fetches
something from elsewhere.
"""

import base64
import importlib
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE, SITE = ROOT / "target/guide/source", ROOT / "target/guide/site"


def run(program: str, *arguments: str, folder: Path | None = None) -> str:
    environment = {"COLUMNS": "100", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [program, *arguments], cwd=folder, capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode != 0:
        sys.exit(f"tamis {' '.join(arguments)}: {done.stderr}")
    return done.stdout


def copy_pages() -> None:
    """The pages of docs/, with links out of it as plain text: the site does not contain the repository."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCE, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for page in SOURCE.rglob("*.md"):
        original = ROOT / "docs" / page.relative_to(SOURCE)

        def kept(link: re.Match, folder: Path = original.parent) -> str:
            path = link[2].split("#")[0]
            inside = not path or "://" in path or (folder / path).resolve().is_relative_to(ROOT / "docs")
            is_page = inside and not (folder / path).is_dir()
            return link[0] if is_page else link[1]

        text = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", kept, page.read_text("utf-8"))
        page.write_text(re.sub(r"(notebooks/[a-z-]+)\.ipynb\)", r"\1.md)", text), "utf-8")


def subcommands(text: str) -> list[str]:
    """The commands that a help text lists."""
    listed = re.search(r"^Commands:\n((?:  .*\n|\n)+)", text, flags=re.MULTILINE)
    names = re.findall(r"^  ([a-z-]+)", listed[1], flags=re.MULTILINE) if listed else []
    return [name for name in names if name != "help"]


def write_commands(program: str) -> None:
    """One section a command, with the help that the program prints."""
    parts = ["# Commands\n\nWhat `tamis COMMAND --help` prints.\n"]

    def section(command: list[str]) -> None:
        text = run(program, *command, "--help")
        parts.append(f"## {' '.join(['tamis', *command])}\n\n```text\n{text.rstrip()}\n```\n")
        for name in subcommands(text):
            section([*command, name])

    section([])
    (SOURCE / "reference").mkdir(exist_ok=True)
    (SOURCE / "reference/commands.md").write_text("\n".join(parts), "utf-8")


def write_python() -> None:
    """One section a public name, with its signature and docstring."""
    tamis = importlib.import_module("tamis")
    parts = ["# Python\n\nWhat `help(tamis.NAME)` shows.\n"]
    for name in tamis.__all__:
        thing = getattr(tamis, name)
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        parts.append(f"## {name}\n\n```text\n{described(name, thing)}\n```\n")
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for method in sorted(vars_of(thing)):
                parts.append(f"### {name}.{method}\n\n```text\n{described(method, getattr(thing, method))}\n```\n")
    (SOURCE / "reference/python.md").write_text("\n".join(parts), "utf-8")


def vars_of(thing: type) -> set[str]:
    """The public methods that the package defines."""
    own = (base for base in thing.__mro__ if base.__module__.startswith("tamis"))
    named = {name for base in own for name, value in vars(base).items() if inspect.isfunction(value)}
    return {name for name in named if not name.startswith(("_", "set_", "get_metadata"))}


def described(name: str, thing: object) -> str:
    try:
        signature = re.sub(r" at 0x[0-9a-f]+", "", str(inspect.signature(thing)))
    except (TypeError, ValueError):
        signature = ""
    text = inspect.getdoc(thing) or ""
    return f"{name}{signature}\n\n{text}".rstrip().replace("```", "'''")


def write_pictures(program: str) -> None:
    """The charts of a report, in the page that explains reports."""
    folder = ROOT / "target/guide/examples"
    subprocess.run([sys.executable, ROOT / "docs/examples.py", folder], check=True)
    run(program, "fit", "customers.csv", "--target", "churned", "--out", "churn.json", "--quiet", folder=folder)
    run(program, "report", "churn.json", "--data", "labelled.csv", "-o", "churn.html", "--quiet", folder=folder)
    report = (folder / "churn.html").read_text("utf-8")
    figures = re.findall(r"<figure><figcaption>(.*?)</figcaption>(<svg.*?</svg>)\s*</figure>", report, flags=re.DOTALL)
    if len(figures) < 3:
        sys.exit("the report of the example has fewer than three charts")
    style = re.search(r"<style>(.*?)</style>", report, flags=re.DOTALL)[1]
    (SOURCE / "pictures").mkdir(exist_ok=True)
    shown = ["## Charts of the example\n", "[The whole report](../pictures/report.html)\n"]
    (SOURCE / "pictures/report.html").write_text(report, "utf-8")
    for number, (caption, svg) in enumerate(figures):
        name = f"pictures/report-{number + 1}.svg"
        whole = svg if "xmlns=" in svg.split(">")[0] else svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
        whole = whole.replace(">", f"><style>{style}</style>", 1)
        (SOURCE / name).write_text(whole, "utf-8")
        plain = re.sub(r"<[^>]*>", "", caption).replace("[", "(").replace("]", ")")
        shown.append(f"![{plain}](../{name})\n\n*{plain}*\n")
    page = SOURCE / "guide/report.md"
    text = page.read_text("utf-8")
    if "<!-- pictures -->" not in text:
        sys.exit("guide/report.md has no place for the pictures")
    page.write_text(text.replace("<!-- pictures -->", "\n".join(shown)), "utf-8")


def write_notebooks() -> None:
    """Each notebook as a page, with the output of its cells."""
    nbformat, nbclient = importlib.import_module("nbformat"), importlib.import_module("nbclient")
    for path in sorted((SOURCE / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
        parts = []
        for number, cell in enumerate(notebook.cells):
            parts.append(cell.source if cell.cell_type == "markdown" else f"```python\n{cell.source}\n```")
            shown = [output_of(output, f"{path.stem}-{number}") for output in cell.get("outputs", [])]
            parts.extend(one for one in shown if one)
        parts.append(f"[The notebook]({path.name})")
        path.with_suffix(".md").write_text("\n\n".join(parts) + "\n", "utf-8")


def output_of(output, name: str) -> str:
    """What a cell printed or showed: a picture, a table, or text."""
    if output.output_type == "stream":
        return f"```text\n{output.text.rstrip()}\n```" if output.name == "stdout" else ""
    data = output.get("data", {})
    if "image/png" in data:
        (SOURCE / f"notebooks/{name}.png").write_bytes(base64.b64decode(data["image/png"]))
        return f"![A chart]({name}.png)"
    if "text/html" in data:
        # Markdown ends a block of HTML at an empty line.
        return "<div style=\"overflow-x: auto\">" + re.sub(r"\n\s*\n+", "\n", data["text/html"].strip()) + "</div>"
    return f"```text\n{data['text/plain']}\n```" if "text/plain" in data else ""


def check_offline() -> None:
    """No page may fetch anything from another host; links that a reader follows are allowed."""
    fetched = re.compile(r"<(?:script|img|link|iframe|source)[^>]*?(?:src|href)=[\"']?(?:https?:)?//[^\"'> ]+", re.IGNORECASE)
    found = [
        f"{page.relative_to(SITE)}: {match}" for page in SITE.rglob("*.html") for match in fetched.findall(page.read_text("utf-8"))
    ]
    found = [one for one in found if 'rel="canonical"' not in one]
    if found:
        sys.exit("fetched from elsewhere:\n" + "\n".join(found[:20]))


def main(program: str) -> None:
    copy_pages()
    write_commands(program)
    write_python()
    write_pictures(program)
    write_notebooks()
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", ROOT / "mkdocs.yml"], check=True)
    check_offline()
    pages = len(list(SITE.rglob("*.html")))
    print(f"{SITE.relative_to(ROOT)}: {pages} pages")


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()))
