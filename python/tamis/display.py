"""Plots of fitted models, as the display classes of scikit-learn: ``from_estimator`` draws, and the object keeps the data.

They need matplotlib (``pip install tamis[plots]``).

>>> import numpy as np
>>> from tamis import StabilizedRegressor
>>> from tamis.display import SizeCurveDisplay
>>> random = np.random.default_rng(0)
>>> X = random.normal(size=(400, 20))
>>> model = StabilizedRegressor().fit(X, X[:, 3] - X[:, 7] + 0.1 * random.normal(size=400))
>>> curve = SizeCurveDisplay.from_estimator(model)
>>> int(curve.sizes[-1]), curve.ax_.get_xlabel()
(1, 'features')
"""

from typing import Self

import numpy as np


def _axes(ax):
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots()[1]


class SizeCurveDisplay:
    """The held-out loss of each number of features, with standard errors.

    Parameters
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of features, decreasing.
    losses : ndarray of shape (n_sizes,)
        Held-out errors of a classifier, held-out losses of a regression.
    standard_errors : ndarray of shape (n_sizes,)
        Their standard errors.
    chosen : int
        The number of features of the model.
    """

    def __init__(self, sizes, losses, standard_errors, chosen):
        self.sizes, self.losses, self.standard_errors, self.chosen = sizes, losses, standard_errors, chosen

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, **kwargs) -> Self:
        """Draws the curve of a fitted ``StabilizedClassifier`` or ``StabilizedRegressor``."""
        path = estimator.path_
        values = [point["loss"] if point.get("error") is None else point["error"] for point in path]
        sizes = np.array([point["size"] for point in path])
        errors = np.array([point["standard_error"] for point in path])
        return cls(sizes, np.array(values), errors, int(np.count_nonzero(estimator.get_support()))).plot(ax=ax, **kwargs)

    def plot(self, *, ax=None, **kwargs) -> Self:
        """Draws the curve; further arguments go to ``Axes.errorbar``."""
        self.ax_ = _axes(ax)
        self.line_ = self.ax_.errorbar(self.sizes, self.losses, self.standard_errors, **{"marker": "o", **kwargs})
        self.ax_.axvline(self.chosen, linestyle="--", color="grey", label="chosen")
        self.ax_.set(xscale="log", xlabel="features", ylabel="held-out error or loss")
        self.ax_.legend()
        self.figure_ = self.ax_.figure
        return self


class StabilityDisplay:
    """The selection frequency of each feature of a model.

    Parameters
    ----------
    names : list of str
        Features, the most frequent first.
    frequencies : ndarray of shape (n_features,)
        The shares of paths that selected them.
    """

    def __init__(self, names, frequencies):
        self.names, self.frequencies = names, frequencies

    @classmethod
    def from_estimator(cls, estimator, *, most=30, ax=None, **kwargs) -> Self:
        """Draws the ``most`` frequent features of a fitted ``StabilizedClassifier`` or ``StabilizedRegressor``."""
        best: dict[str, float] = {}
        for told in estimator.features_:
            best[told["name"]] = max(best.get(told["name"], 0.0), told.get("frequency", 0.0))
        names = sorted(best, key=lambda name: (-best[name], name))[:most]
        return cls(names, np.array([best[name] for name in names])).plot(ax=ax, **kwargs)

    def plot(self, *, ax=None, **kwargs) -> Self:
        """Draws bars; further arguments go to ``Axes.barh``."""
        self.ax_ = _axes(ax)
        self.bars_ = self.ax_.barh(range(len(self.names)), self.frequencies, **kwargs)
        self.ax_.set_yticks(range(len(self.names)), self.names)
        self.ax_.invert_yaxis()
        self.ax_.set(xlim=(0, 1), xlabel="selection frequency")
        self.figure_ = self.ax_.figure
        return self


class SelectionPathDisplay:
    """The weights of the features at each size of a model, times their scales.

    Parameters
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of features, decreasing.
    effects : dict of str to ndarray of shape (n_sizes,)
        For each feature its effect at each size; 0 where it is not selected.
    """

    def __init__(self, sizes, effects):
        self.sizes, self.effects = sizes, effects

    @classmethod
    def from_estimator(cls, estimator, *, output=0, most=20, ax=None, **kwargs) -> Self:
        """Draws the path of an output of a fitted ``StabilizedClassifier`` or ``StabilizedRegressor``."""
        sizes = estimator._fitted().sizes
        effects: dict[str, np.ndarray] = {}
        for place, (_, _, outputs) in enumerate(sizes):
            for name, weight, scale in zip(*outputs[output][:3], strict=True):
                told = effects.setdefault(estimator._public_name(name), np.zeros(len(sizes)))
                told[place] = weight * scale
        # Features that stay longest are shown.
        kept = sorted(effects, key=lambda name: (-np.count_nonzero(effects[name]), name))[:most]
        numbers = np.array([size for size, _, _ in sizes])
        return cls(numbers, {name: effects[name] for name in kept}).plot(ax=ax, **kwargs)

    def plot(self, *, ax=None, **kwargs) -> Self:
        """Draws a line for each feature; further arguments go to ``Axes.plot``."""
        self.ax_ = _axes(ax)
        self.lines_ = [self.ax_.plot(self.sizes, line, label=name, **kwargs)[0] for name, line in self.effects.items()]
        self.ax_.set(xscale="log", xlabel="features", ylabel="weight × scale")
        self.ax_.legend(fontsize="small")
        self.figure_ = self.ax_.figure
        return self
