"""The parameter tables of the core: estimators take their documentation and the names of their parameters from them."""

import inspect
from typing import Any, NamedTuple

from . import _core
from .errors import ParamError


class Param(NamedTuple):
    """A row of a parameter table."""

    owner: str
    """The method, ``solve`` for solvers, or an empty string for parameters of all methods."""
    name: str
    python: str
    type: str
    default: str | None
    help: str


ROWS = [Param(*row) for row in _core.parameters()]

READING = (
    "dict",
    "How files are read: ``format``, ``target``, ``weight_column``, ``ignore``, ``categorical``, ``missing``, ``zero_based``,\n"
    "        ``on_error``.",
)
SHARED = {
    "reading": READING,
    "random_state": ("int, RandomState or None", "Seed; ``None`` is 0, so that the same data give the same model."),
    "n_jobs": ("int", "Number of threads; ``None`` uses all. Models do not depend on it."),
    "verbose": ("int", "1 shows progress in one line, 2 prints a line for each report."),
}


def of(owner: str) -> dict[str, Param]:
    """The parameters of a method by their name in Python, including those of all methods."""
    own = {row.python: row for row in ROWS if row.owner == owner}
    if owner == "solve":
        return own
    return {row.python: row for row in ROWS if row.owner == ""} | own


def any_method() -> dict[str, Param]:
    """The parameters of all methods by their name in Python."""
    rows: dict[str, Param] = {}
    for row in ROWS:
        if row.owner != "solve":
            rows.setdefault(row.python, row)
    return rows


def text(value: Any) -> str:
    """A value as text for the core."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def given(estimator, owner: str, leave_out: tuple[str, ...] = ()) -> dict[str, str]:
    """The parameters of an estimator by the names of the core, without those that are ``None``. A parameter of other methods
    is included only if it differs from its default: the core then rejects it by name."""
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


def further(settings: dict[str, Any] | None) -> dict[str, str]:
    """The ``settings`` of an estimator, by the core's names."""
    rows = any_method()
    unknown = [name for name in settings or {} if name not in rows]
    if unknown:
        raise ParamError(f'there is no parameter "{unknown[0]}"; tamis.parameters() lists them')
    return {rows[name].name: text(value) for name, value in (settings or {}).items()}


def document(init, owner: str | None = None, **own: tuple[str, str]) -> str:
    """The ``Parameters`` section of an estimator; ``own`` takes precedence over the table."""
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
