"""Sparse linear models from streams of wide data, with feature names and exact zeros.

>>> import numpy as np
>>> from tamis import SparseClassifier
>>> random = np.random.default_rng(0)
>>> X = random.normal(size=(500, 20))
>>> y = (X[:, 3] - 2 * X[:, 7] > 0).astype(int)
>>> model = SparseClassifier(n_features_to_select=2).fit(X, y)
>>> model.get_support(indices=True)
array([3, 7])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._core import VERSION as __version__
from .errors import DataError, DivergedError, Error, FileError, MissingFileError, ModelError, Note, ParamError, ParseError

if TYPE_CHECKING:
    from ._client import Client, ServerError
    from ._kernel import KernelClassifier, KernelRegressor
    from ._knn import KNN
    from ._metric import SDist
    from ._moments import Moments
    from ._solved import MomentsClassifier, MomentsRegressor
    from ._sparse import SparseClassifier, SparseRegressor
    from ._stabilized import StabilizedClassifier, StabilizedRegressor
    from ._tune import Stability, Tuning, stability, tune
    from ._two_stage import TwoStageClassifier, TwoStageRegressor

# The module of each name. They are imported on first use, because importing scikit-learn is slow.
_HOMES = {
    "SparseClassifier": "_sparse",
    "SparseRegressor": "_sparse",
    "StabilizedClassifier": "_stabilized",
    "StabilizedRegressor": "_stabilized",
    "TwoStageClassifier": "_two_stage",
    "TwoStageRegressor": "_two_stage",
    "KernelClassifier": "_kernel",
    "KernelRegressor": "_kernel",
    "Moments": "_moments",
    "MomentsClassifier": "_solved",
    "MomentsRegressor": "_solved",
    "SDist": "_metric",
    "KNN": "_knn",
    "tune": "_tune",
    "Tuning": "_tune",
    "stability": "_tune",
    "Stability": "_tune",
    "Client": "_client",
    "ServerError": "_client",
}

__all__ = [
    *_HOMES,
    "DataError",
    "DivergedError",
    "Error",
    "FileError",
    "MissingFileError",
    "ModelError",
    "Note",
    "ParamError",
    "ParseError",
    "__version__",
    "load",
    "methods",
    "parameters",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def methods() -> dict[str, str]:
    """The methods, each with a one-line description.

    >>> import tamis
    >>> tamis.methods()["ftrl"]
    'FTRL-proximal: a learning rate for each weight; L1 or elastic net'
    """
    from ._core import methods

    return {name: about for name, _, about in methods()}


def parameters() -> dict[str, str]:
    """The parameters of the methods (the ``settings`` of an estimator), each with a one-line description.

    >>> import tamis
    >>> tamis.parameters()["period"]
    'K: steps between two truncations.'
    """
    from ._params import any_method

    return {name: row.help for name, row in any_method().items()}


def load(path) -> Any:
    """Loads a file of this package or of the program.

    Parameters
    ----------
    path : str or path-like
        A model, a metric, or moments.

    Returns
    -------
    estimator or Moments
        A fitted estimator of the class that corresponds to the method of the model, an ``SDist``, or moments.
    """
    from . import _load

    return _load.load(path)
