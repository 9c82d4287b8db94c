"""Parameters chosen by cross-validation, and how stable the selected features are over repeated fits."""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from . import _core, _input, _params
from ._base import Estimator
from ._progress import Line
from ._solved import Solved
from .errors import ParamError, warn

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Tuning:
    """The result of :func:`tamis.tune`."""

    estimator: Any
    """A new estimator with the chosen parameters, fitted to all rows."""
    params: dict[str, Any]
    """The chosen parameters."""
    curve: dict[str, np.ndarray]
    """The settings and their results, column by column: ``pandas.DataFrame(curve)`` is a frame. The columns are the
    parameters, ``mean`` and ``standard_error`` of the measure, ``nonzeros`` (the mean number of features), the measure in
    each fold (``fold1``, …), and whether the setting was ``chosen``. Settings that diverged are NaN."""
    chosen: int
    """The row of the chosen setting."""
    measure: str
    """What was compared: ``error``, ``log-loss`` or ``rmse``. Smaller is better."""


@dataclass(frozen=True)
class Stability:
    """The result of :func:`tamis.stability`."""

    kappa: float
    """Agreement of the selected features, the mean over pairs of fits: 1 if all fits selected the same, about 0 by
    chance."""
    measure: str
    """What was measured on rows that a fit had not seen: ``error``, ``log-loss`` or ``rmse``."""
    mean_error: float
    sd_error: float
    mean_nonzeros: float
    sd_nonzeros: float
    runs: list[dict]
    """For each fit: error, rows that it was measured on, number of features."""
    features: list[dict]
    """The features that any fit selected, by decreasing frequency: name, frequency, mean weight (two classes or
    numbers)."""


# The parameters that both functions have.
_DATA = """estimator : SparseClassifier, StabilizedClassifier, TwoStageClassifier or a regressor of these
        The estimator; it is not changed. Its ``n_jobs`` is the number of parallel fits.
    X : array-like or sparse matrix of shape (n_samples, n_features), frame, path or iterator of batches
        The rows. Files and batches contain the labels.
    y : array-like of shape (n_samples,)
        The labels.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, also in the measure."""

_SPREAD = """spread : callable, default=None
        Where the fits run: ``tamis.spark.spread(spark)`` or ``tamis.dask.spread()`` run each of them as a task of a cluster, to
        which the rows are sent once; of paths, the workers read the files. ``None`` runs them on threads here. The results are
        the same."""


def _documented(function: F) -> F:
    """Replaces ``$data`` and ``$spread`` in the docstring of a function by the parameters they stand for."""
    function.__doc__ = str(function.__doc__).replace("$data", _DATA).replace("$spread", _SPREAD)
    return function


def _check(estimator, what: str) -> None:
    if isinstance(estimator, Solved):
        raise ParamError(f"{what} does not apply to moments: use criterion='cv' and folds=5")
    if not isinstance(estimator, Estimator):
        raise ParamError(f"{what} needs an estimator of a linear model, got {type(estimator).__name__}")


def _with(estimator, values: Mapping[str, Any]):
    """An unfitted copy of an estimator with other parameters; those that are not its own go into ``settings``."""
    own = inspect.signature(type(estimator).__init__).parameters
    given = {name: value for name, value in values.items() if name in own}
    others = {name: value for name, value in values.items() if name not in own}
    if others:
        given["settings"] = {**(estimator.settings or {}), **others}
    return clone(estimator).set_params(**given)


def _axes(estimator, grid: Mapping[str, Iterable[Any]]) -> list[tuple[str, list[str]]]:
    """The parameters of a grid by the names of the core, with their values as text."""
    rows = _params.any_method()
    has_settings = "settings" in inspect.signature(type(estimator).__init__).parameters
    own = _params.of(estimator._recipe()["method"]) if not has_settings else rows
    for name in grid:
        if name not in own:
            raise ParamError(f"{type(estimator).__name__} has no parameter {name!r} that can be tuned")
    if "alpha" in grid and estimator.l1_ratio != 1:
        raise ParamError("alpha can be tuned with l1_ratio=1 only; GridSearchCV of scikit-learn can vary both")
    return [(own[name].name, [_params.text(value) for value in values]) for name, values in grid.items()]


def _readings(X):
    """A function that gives the rows once more at each call."""
    if not _input.is_batches(X):
        return lambda: X
    batches = list(X)
    return lambda: iter(batches)


@dataclass
class Fold:
    """A task of :func:`tune`: a setting, a fold and the number of all rows, on rows that come with it."""

    estimator: Any
    settings: dict
    X: Any
    y: Any
    sample_weight: Any
    task: str
    folds: int

    def __call__(self, task) -> str:
        data = clone(self.estimator)._data(self.X, self.y, self.sample_weight)
        return _core.tune_fold(self.settings, data, self.task, task, self.folds)


@dataclass
class Run:
    """A task of :func:`stability`: the number of a run and of all rows, on rows that come with it."""

    estimator: Any
    settings: dict
    X: Any
    y: Any
    sample_weight: Any
    task: str
    by: str
    share: float

    def __call__(self, run: tuple[int, int]) -> str:
        data = clone(self.estimator)._data(self.X, self.y, self.sample_weight)
        return _core.stability_run(self.settings, data, self.task, self.by, self.share, run)


def _spread(spread, work):
    """A function of tasks that runs them elsewhere, or None."""
    if spread is None:
        return None
    if _input.is_batches(work.X):
        raise ParamError("an iterator of batches cannot be sent to a cluster: pass an array, a frame or paths")
    return lambda tasks: spread(work, tasks)


def _python_name(core: str) -> str:
    return next((row.python for row in _params.ROWS if row.name == core and row.owner != "solve"), core)


def _run(estimator, settings: dict, data, run):
    """Calls the core with a task and a progress line."""
    task = estimator._task(data if isinstance(data, _input.Table) else None, settings)
    line = Line(estimator.verbose) if estimator.verbose else None
    try:
        return json.loads(run(task, estimator._threads(), line))
    finally:
        if line is not None:
            line.close()


@_documented
def tune(
    estimator, X, y=None, sample_weight=None, *, grid=None, folds=5, rule="one-se", measure=None, spread=None
) -> Tuning:
    """Chooses parameters by cross-validation and fits an estimator with them, as ``tamis tune`` does.

    Parameters
    ----------
    $data
    grid : dict, default=None
        Values to try by the name of a parameter, such as ``{"alpha": [1, 3, 10]}``. ``None`` takes the grid of the method,
        and extends it where the best value lies at an end.
    folds : int, default=5
        Number of folds. A row belongs to a fold by a hash of its number and of ``random_state``.
    rule : {"one-se", "min"}, default="one-se"
        Takes the setting with the fewest features within one standard error of the best, or the best.
    measure : {"error", "log-loss", "rmse"}, default=None
        What is compared; ``None`` is the error of classes, or the root mean squared error.
    $spread

    Returns
    -------
    Tuning
        The fitted ``estimator``, its ``params``, and the ``curve`` of all settings.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import SparseRegressor, tune
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(500, 20))
    >>> y = X[:, 3] - 2 * X[:, 7] + random.normal(size=500)
    >>> found = tune(SparseRegressor(), X, y, grid={"n_features_to_select": [1, 2, 4]})
    >>> found.params, found.estimator.get_support(indices=True)
    ({'n_features_to_select': 2}, array([3, 7]))
    >>> found.curve["chosen"]
    array([False,  True, False])
    """
    _check(estimator, "tune")
    rows, grid = _readings(X), {name: list(values) for name, values in (grid or {}).items()}
    for name, values in grid.items():
        if not values:
            raise ParamError(f"{name}: expected at least one value to try")
    axes = _axes(estimator, grid)
    trial = _with(estimator, {name: values[0] for name, values in grid.items()})
    settings = {name: value for name, value in trial._recipe().items() if name not in dict(axes)}
    data = trial._data(rows(), y, sample_weight)
    settings = trial._for_columns(settings)

    def run(task, threads, line):
        away = _spread(spread, Fold(trial, settings, rows(), y, sample_weight, task, folds))
        return _core.tune(settings, axes, data, task, folds, rule, measure, threads, line, away)

    found = _run(trial, settings, data, run)
    for note in found["notes"]:
        warn(note)
    points = [{_python_name(name): value for name, value in point["setting"].items()} for point in found["points"]]
    params = points[found["chosen"]]
    fitted = _with(estimator, params)
    fitted.fit(rows(), y, sample_weight)
    return Tuning(fitted, params, _columns(points, found), found["chosen"], found["measure"])


def _columns(points: list[dict], found: dict) -> dict[str, np.ndarray]:
    """The curve, column by column."""
    results, numbers = found["points"], ("mean", "standard_error", "nonzeros")
    columns = {name: np.array([point[name] for point in points]) for name in points[0]}
    columns |= {name: np.array([one[name] for one in results], dtype=float) for name in numbers}
    for fold in range(max(len(one["folds"]) for one in results)):
        values = [one["folds"][fold]["value"] if one["folds"] else np.nan for one in results]
        columns[f"fold{fold + 1}"] = np.array(values)
    columns["chosen"] = np.arange(len(results)) == found["chosen"]
    return columns


@_documented
def stability(
    estimator,
    X,
    y=None,
    sample_weight=None,
    *,
    runs=20,
    by="subsample",
    share=0.9,
    measure=None,
    total_features=None,
    spread=None,
) -> Stability:
    """Fits an estimator repeatedly and compares the selected features, as ``tamis stability`` does.

    Parameters
    ----------
    $data
    runs : int, default=20
        Number of fits.
    by : {"subsample", "order", "seed"}, default="subsample"
        What differs between fits: the rows, their order, or the seed of the method.
    share : float, default=0.9
        Share of the rows in a subsample.
    measure : {"error", "log-loss", "rmse"}, default=None
        What is measured; ``None`` is the error of classes, or the root mean squared error.
    total_features : int, default=None
        The number of features for ``kappa``, with those that never occur; ``None`` counts those that do.
    $spread

    Returns
    -------
    Stability
        ``kappa``, error and number of features with their standard deviations, and the frequencies of the features.

    Examples
    --------
    >>> import numpy as np
    >>> from tamis import SparseRegressor, stability
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(500, 20))
    >>> y = X[:, 3] - 2 * X[:, 7] + random.normal(size=500)
    >>> found = stability(SparseRegressor(n_features_to_select=2), X, y, runs=5)
    >>> found.kappa, [one["name"] for one in found.features]
    (1.0, ['x7', 'x3'])
    """
    _check(estimator, "stability")
    trial, rows = clone(estimator), _readings(X)
    settings = trial._recipe()
    data = trial._data(rows(), y, sample_weight)
    settings = trial._for_columns(settings)

    def run(task, threads, line):
        away = _spread(spread, Run(trial, settings, rows(), y, sample_weight, task, by, share))
        return _core.stability(settings, data, task, runs, by, share, measure, total_features, threads, line, away)

    found = _run(trial, settings, data, run)
    names = trial._public_name
    found["features"] = [
        {"name": names(one["name"]), "frequency": one["share"], "weight": one["weight"]} for one in found["features"]
    ]
    return Stability(**found)
