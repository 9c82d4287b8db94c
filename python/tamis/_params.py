"""The core's tables of parameters: estimators take their documentation from them, and hand their parameters over by them."""

import inspect
from typing import Any, NamedTuple

from . import _core


class Param(NamedTuple):
    """A row of a table."""

    owner: str
    """The method, ``solve`` for solvers, or nothing for parameters that all methods have."""
    name: str
    python: str
    type: str
    default: str | None
    help: str


ROWS = [Param(*row) for row in _core.parameters()]

READING = (
    "dict",
    "How files are read: ``format``, ``target``, ``weight``, ``ignore``, ``categorical``, ``missing``, ``zero_based``,\n"
    "        ``skip_bad``.",
)
SHARED = {
    "reading": READING,
    "random_state": ("int, RandomState or None", "The seed. ``None`` is 0: the same data give the same model."),
    "n_jobs": ("int", "Threads; ``None`` takes all. Models do not depend on it."),
    "verbose": ("int", "1 shows progress in a line, 2 keeps the lines."),
}


def of(owner: str) -> dict[str, Param]:
    """The parameters of a method, by their name in Python: its own, and those that all methods have."""
    own = {row.python: row for row in ROWS if row.owner == owner}
    if owner == "solve":
        return own
    return {row.python: row for row in ROWS if row.owner == ""} | own


def any_method() -> dict[str, Param]:
    """Every parameter that some method has, by its name in Python."""
    rows: dict[str, Param] = {}
    for row in ROWS:
        if row.owner != "solve":
            rows.setdefault(row.python, row)
    return rows


def text(value: Any) -> str:
    """A value as the core reads it."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def given(estimator, owner: str, leave_out: tuple[str, ...] = ()) -> dict[str, str]:
    """An estimator's parameters by the core's names. What is ``None`` is left to the core, and so is a parameter of other
    methods that has its default; one that was changed goes along, so that the core refuses it by name."""
    own = of(owner)
    rows = own if owner == "solve" else any_method() | own
    settings = {}
    for python, parameter in inspect.signature(type(estimator).__init__).parameters.items():
        row, value = rows.get(python), getattr(estimator, python, None)
        if row is None or value is None or python in leave_out or row.name == "method":
            continue
        if python == "random_state":
            value = estimator._seed()
        elif python not in own and value == parameter.default:
            continue
        settings[row.name] = text(value)
    return settings


def document(init, owner: str | None = None, **own: tuple[str, str]) -> str:
    """The ``Parameters`` section of an estimator: what ``own`` says of a parameter, or else its row in the table."""
    rows = any_method() if owner is None else of(owner)
    lines = ["", "    Parameters", "    ----------"]
    for name, parameter in inspect.signature(init).parameters.items():
        if name == "self":
            continue
        row = rows.get(name)
        kind, help = {**SHARED, **own}.get(name) or (row.type, row.help)
        default = repr(parameter.default).replace("'", '"')
        lines += [f"    {name} : {kind}, default={default}", f"        {help}"]
    return "\n".join(lines) + "\n"
