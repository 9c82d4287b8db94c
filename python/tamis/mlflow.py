"""The MLflow flavour: models that MLflow saves, logs, loads and serves (``pip install tamis[mlflow]``).

``save_model`` writes the model file of the program beside the description of MLflow. ``load_model`` gives the
estimator; ``mlflow.pyfunc.load_model`` gives a model that predicts data frames.
"""

import os
from typing import Any

FLAVOR_NAME = "tamis"
_FILE = "model.json"


def save_model(estimator, path, *, mlflow_model=None, signature=None, input_example=None) -> None:
    """Saves a fitted estimator as an MLflow model.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this package.
    path : str or path-like
        The folder to write; it must not exist.
    mlflow_model : mlflow.models.Model, default=None
        The description to extend.
    signature : mlflow.models.ModelSignature, default=None
        Types of input and output.
    input_example : data frame, default=None
        Some rows, saved with the model.
    """
    from mlflow import pyfunc
    from mlflow.models import Model

    from . import __version__

    path = os.fspath(path)
    os.makedirs(path)
    described = mlflow_model or Model()
    if signature is not None:
        described.signature = signature
    if input_example is not None:
        from mlflow.models.utils import _save_example

        _save_example(described, input_example, path)
    estimator.save(os.path.join(path, _FILE))
    pyfunc.add_to_model(described, loader_module=__name__, data=_FILE, python_env=_environment(path, __version__))
    described.add_flavor(FLAVOR_NAME, data=_FILE, tamis_version=__version__, estimator=type(estimator).__name__)
    described.save(os.path.join(path, "MLmodel"))


def _environment(path: str, version: str) -> str:
    """The file that says what the model needs."""
    with open(os.path.join(path, "requirements.txt"), "w", encoding="utf-8") as file:
        file.write(f"mlflow\ntamis[frames]=={version}\n")
    with open(os.path.join(path, "python_env.yaml"), "w", encoding="utf-8") as file:
        file.write("dependencies:\n- -r requirements.txt\n")
    return "python_env.yaml"


def log_model(estimator, name="model", **arguments) -> Any:
    """Logs a fitted estimator to the active run of MLflow, as ``mlflow.sklearn.log_model`` does."""
    import sys

    from mlflow.models import Model

    return Model.log(artifact_path=None, name=name, flavor=sys.modules[__name__], estimator=estimator, **arguments)


def load_model(path) -> Any:
    """The estimator that ``save_model`` saved.

    Parameters
    ----------
    path : str or path-like
        The folder of the model.
    """
    from ._load import load

    return load(os.path.join(os.fspath(path), _FILE))


def _load_pyfunc(path):
    """What ``mlflow.pyfunc`` loads: MLflow passes the path of the model file."""
    from ._load import load

    return _Predictor(load(path))


class _Predictor:
    """Predictions for data frames."""

    def __init__(self, estimator):
        self.estimator = estimator

    def predict(self, frame, params=None):
        """The predicted classes or numbers of a frame; with ``params={"method": "predict_proba"}`` probabilities."""
        return getattr(self.estimator, (params or {}).get("method", "predict"))(frame)
