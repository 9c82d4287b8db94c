"""The README's table is the recorded one, and the programs that are installed here still answer as recorded."""

import sys
from pathlib import Path

import pytest

from conftest import BINARY, ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import comparison  # noqa: E402


def cells(name):
    """The cells by program and claim."""
    table = comparison.TABLE.search((ROOT / name).read_text("utf-8"))[0]
    lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in table.splitlines()]
    programs = lines[0][1:]
    return {(program, line[0]): cell for line in lines[2:] for program, cell in zip(programs, line[1:], strict=True)}


def test_the_readme_has_the_recorded_table():
    recorded = cells("benchmarks/comparison.md")
    assert cells("README.md") == recorded
    assert {claim for _, claim in recorded} == {title for title, _ in comparison.CLAIMS}
    assert {program for program, _ in recorded} == {"Tamis", "Vowpal Wabbit", "scikit-learn SGD", "LIBLINEAR", "River", "glmnet"}


@pytest.mark.parametrize("kind", [comparison.Tamis, comparison.ScikitLearn, comparison.River], ids=lambda kind: kind.name)
def test_what_is_recorded_is_measured_again(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "PROGRAM", Path(BINARY).resolve())
    (peer,) = comparison.started([kind], tmp_path)
    recorded = cells("benchmarks/comparison.md")
    for title, (told,) in comparison.measured([peer]).items():
        assert told == recorded[kind.name, title], title
