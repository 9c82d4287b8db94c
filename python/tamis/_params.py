"""The parameter tables of the core: estimators take their documentation and the names of their parameters from them."""

import functools
import inspect
import json
import re
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from . import _core, _input
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
    "n_jobs": ("int", "Number of threads; ``None`` is 1, -1 all processors, as in scikit-learn. Models do not depend on it."),
    "verbose": ("int", "1 shows progress in one line, 2 prints a line for each report."),
    "class_weight": (
        'dict or "balanced"',
        "Weights of the classes, by which the weights of their rows are multiplied; ``balanced`` gives all classes the same\n"
        "        total weight.",
    ),
    "sign": (
        'dict, "+" or "-"',
        "Sign that weights must have, so that the prediction rises or falls with the column (a monotone constraint): one for\n"
        "        all columns, or a dictionary such as ``{\"age\": \"+\"}``. Columns without names are given by number. With two\n"
        "        classes, it is that of the second.",
    ),
    "interactions": (
        "str",
        "Products of columns as features: pairs such as ``age*town,age*age``. Columns without names are ``x0``, ``x1``, …",
    ),
}

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
FINITE = Interval(Real, None, None, closed="neither")
POSITIVE = Interval(Real, 0, None, closed="neither")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
CONSTRAINTS = {
    "method": [str],
    "solver": [str],
    "alpha": [NOT_NEGATIVE, None],
    "l1_ratio": [Interval(Real, 0, 1, closed="both"), None],
    "learning_rate": [POSITIVE, None],
    "refit": ["boolean", None],
    "settings": [dict, None],
    "reading": [dict, None],
    "random_state": ["random_state"],
    "warm_start": ["boolean"],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "n_jobs": [Integral, None],
    "verbose": ["verbose"],
    "folds": [AT_LEAST_ONE],
    "decay": [Interval(Real, 0, 1, closed="left")],
    "sign": [dict, StrOptions({"+", "-"}), None],
    "interactions": [str, None],
}
CLASS_LOSSES = StrOptions({"logistic", "hinge", "squared-hinge", "clipped-squared", "squared"})
NUMBER_LOSSES = StrOptions({"squared", "huber"})
ONLINE_NUMBER_LOSSES = StrOptions({"squared", "huber", "poisson", "quantile"})


def constraints(init, owner: str | None = None, **own) -> dict[str, list]:
    """The constraints on the parameters of an estimator, for scikit-learn; ``own`` takes precedence over the tables. How the
    parameters go together is checked by the core."""
    rows = any_method() if owner is None else of(owner)
    listed = {}
    for name, parameter in inspect.signature(init).parameters.items():
        if name == "self":
            continue
        if name in own or name in CONSTRAINTS:
            listed[name] = own.get(name) or CONSTRAINTS[name]
            continue
        kind = rows[name].type
        if kind.startswith("{"):
            given = StrOptions({choice.strip(' "') for choice in kind.strip("{}").split(",")})
        else:
            given = {"float": FINITE, "int": AT_LEAST_ONE, "bool": "boolean", "str": str}[kind]
        listed[name] = [given, None] if parameter.default is None else [given]
    return listed


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


def with_class_weight(init: Callable[..., None]) -> Callable[..., None]:
    """The constructor of a classifier: that of the base class, and the parameter ``class_weight``."""

    @functools.wraps(init)
    def __init__(self, *positional, class_weight=None, **named):
        init(self, *positional, **named)
        self.class_weight = class_weight

    signature = inspect.signature(init)
    own = inspect.Parameter("class_weight", inspect.Parameter.KEYWORD_ONLY, default=None)
    __init__.__signature__ = signature.replace(parameters=[*signature.parameters.values(), own])
    return __init__


def text(value: Any) -> str:
    """A value as text for the core."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


def written(python: str, value: Any) -> str:
    """The value of a parameter as text for the core."""
    if python == "class_weight":
        return class_weights(value)
    if python == "sign" and isinstance(value, dict):
        return json.dumps({str(name): sign for name, sign in value.items()})
    return text(value)


def class_weights(weights: dict | str) -> str:
    """Weights of classes as text for the core."""
    if isinstance(weights, str):
        return weights
    labels = sorted(weights, key=str) if any(isinstance(label, str) for label in weights) else sorted(weights)
    names = _input.labels_of(np.array(labels))
    return json.dumps({str(name): float(weights[label]) for name, label in zip(names, labels, strict=True)})


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
        settings[row.name] = written(python, value)
    return settings


def further(settings: dict[str, Any] | None) -> dict[str, str]:
    """The ``settings`` of an estimator, by the core's names."""
    rows = any_method()
    unknown = [name for name in settings or {} if name not in rows]
    if unknown:
        raise ParamError(f'there is no parameter "{unknown[0]}"; tamis.parameters() lists them')
    return {rows[name].name: written(name, value) for name, value in (settings or {}).items()}


def numbered(settings: dict[str, str]) -> dict[str, str]:
    """The settings for columns without names. Users call them ``x0``, ``x1``, … or by their numbers, as scikit-learn does; the
    core counts from 1, as files do."""
    listed = dict(settings)
    if "interactions" in listed:
        pairs = [[_column(name) for name in pair.split("*")] for pair in listed["interactions"].split(",")]
        listed["interactions"] = ",".join("*".join(pair) for pair in pairs)
    if listed.get("sign", "").startswith("{"):
        listed["sign"] = json.dumps({_column(name): sign for name, sign in json.loads(listed["sign"]).items()})
    return listed


def _column(name: str) -> str:
    found = re.fullmatch("x?([0-9]+)", name.strip())
    if found is None:
        raise ParamError(f"there is no column {name.strip()!r}: the columns have no names, so they are x0, x1, …")
    return str(int(found[1]) + 1)


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
