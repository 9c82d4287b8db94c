"""What the documentation says is so: examples run, parameters are those there are, notebooks work."""

import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import tamis
from tamis import river

# The adapters of engines are imported by tests/engines, where the engines are installed.
MODULES = [
    "tamis",
    *(
        f"tamis.{module.name}"
        for module in pkgutil.iter_modules(tamis.__path__)
        if module.name != "_core" and not re.match("_?(spark|dask)", module.name)
    ),
]
NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "docs/notebooks").glob("*.ipynb"))
ESTIMATORS = [name for name in tamis.__all__ if name.endswith(("Classifier", "Regressor"))] + ["SDist", "KNN"]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    found = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


@pytest.mark.parametrize("made", [tamis.tune, tamis.stability, river.SparseClassifier, river.SparseRegressor])
def test_functions_and_learners_have_an_example(made):
    assert ">>>" in made.__doc__
    for parameter in inspect.signature(made).parameters:
        assert re.search(rf"\b{parameter}\b", made.__doc__), parameter


@pytest.mark.parametrize("name", [*ESTIMATORS, "Moments"])
def test_every_class_has_an_example_and_every_parameter_a_word(name):
    made = getattr(tamis, name)
    assert ">>>" in made.__doc__
    parameters = list(inspect.signature(made).parameters)
    section = made.__doc__.split("Parameters\n", 1)[1].split("Attributes\n")[0]
    documented = re.findall(r"^ {4}(\w+) : ", section, flags=re.MULTILINE)
    assert documented == parameters


@pytest.mark.parametrize("name", [*ESTIMATORS, "Moments"])
def test_every_public_method_is_explained(name):
    made = getattr(tamis, name)
    for attribute, value in vars(made).items():
        if not attribute.startswith("_") and not attribute.startswith("set_") and callable(value):
            assert inspect.getdoc(value), f"{name}.{attribute}"


def test_the_names_come_from_the_core():
    from tamis import _core

    assert "stabilized" in tamis.methods() and len(tamis.methods()) == len(_core.methods())
    assert set(tamis.parameters()) >= {"alpha", "l2", "learning_rate"}


def test_the_package_has_types():
    folder = Path(tamis.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_core.pyi").exists()
    stub = (folder / "_core.pyi").read_text()
    from tamis import _core

    for name in ("Model", "Training", "Moments", "Metric"):
        for attribute in vars(getattr(_core, name)):
            if not attribute.startswith("_"):
                assert f"def {attribute}(" in stub, f"{name}.{attribute}"


@pytest.mark.parametrize("name", [*ESTIMATORS, "Moments", "Tuning", "Stability", "tune", "stability", "load"])
def test_type_checkers_know_what_comes_back(name):
    made = getattr(tamis, name)
    if not inspect.isclass(made):
        assert "return" in typing.get_type_hints(made)
        return
    for base in (one for one in made.__mro__ if one.__module__.startswith("tamis.")):
        for attribute, value in vars(base).items():
            value = getattr(value, "fget", None) or getattr(value, "__func__", None) or getattr(value, "fn", value)
            if not attribute.startswith("_") and inspect.isfunction(value) and value.__module__.startswith("tamis."):
                assert "return" in value.__annotations__, f"{base.__name__}.{attribute}"


def test_import_brings_nothing_that_takes_long():
    """scikit-learn and scipy are most of a second; estimators bring them in when they are asked for."""
    code = "import sys, tamis; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = set(subprocess.check_output([sys.executable, "-c", code], text=True).split())
    assert "tamis" in loaded
    assert not loaded & {"sklearn", "scipy", "pandas", "polars", "pyarrow", "river"}


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebooks_run(file, tmp_path):
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(file, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are stored without output"
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert shown and not any(output.output_type == "stream" and output.name == "stderr" for output in shown), "no warning"
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.source.splitlines()[-1] == "model":
            (page,) = (output.data["text/html"] for output in cell.outputs if output.output_type == "execute_result")
            assert "<table" in page and "<svg" in page and " features, " in page


def test_notebooks_are_pages_of_the_guide():
    docs = NOTEBOOKS[0].parents[1]
    index, pages = (docs / "index.md").read_text("utf-8"), (docs.parent / "mkdocs.yml").read_text("utf-8")
    for file in NOTEBOOKS:
        assert f"(notebooks/{file.name})" in index and f"notebooks/{file.stem}.md" in pages, file.name
