"""Estimators and moments from files."""

import json
import os
from typing import Any

from . import _core
from ._kernel import KernelClassifier, KernelRegressor
from ._metric import SDist
from ._moments import Moments
from ._solved import MomentsClassifier, MomentsRegressor
from ._sparse import SparseClassifier, SparseRegressor
from ._stabilized import StabilizedClassifier, StabilizedRegressor
from ._two_stage import TwoStageClassifier, TwoStageRegressor
from .errors import missing_file

# The entry in the header of files that are not models.
KINDS = {b"tamis-metric": SDist, b"tamis-moments": Moments}


def _kind(path):
    """The class of a file of arrays by its header, or None for models, which are text."""
    if os.path.isdir(path):
        return None
    with open(path, "rb") as file:
        header = file.read(4096)
    return next((kind for name, kind in KINDS.items() if header[:1] != b"{" and name in header), None)


def load(path) -> Any:
    """What a file contains; an estimator has the parameters that are in the file."""
    missing_file(path)
    kind = _kind(path)
    if kind is not None:
        return kind.load(path)
    return estimator_of(_core.Model.load(os.fspath(path)))


def estimator_of(model) -> Any:
    """The estimator of a model."""
    recipe, is_classes = json.loads(model.recipe), bool(model.classes)
    if isinstance(recipe["method"], str):
        made = MomentsClassifier if is_classes else MomentsRegressor
        return made(recipe["method"], n_features_to_select=recipe["k"])._from_file(model)
    method = recipe["method"]["name"]
    if method == "stabilized":
        made = StabilizedClassifier if is_classes else StabilizedRegressor
        return made(recipe["k"], loss=recipe["loss"])._from_file(model)
    if method == "two-stage":
        made = TwoStageClassifier if is_classes else TwoStageRegressor
        return made(recipe["k"], loss=recipe["loss"], sampling=recipe["method"]["sampling"])._from_file(model)
    if method == "kernel":
        made = KernelClassifier if is_classes else KernelRegressor
        own = recipe["method"]
        given = {name: own[name.replace("_", "-")] for name in ("inputs", "family", "n_fourier", "max_variables")}
        return made(recipe["k"], **given)._from_file(model)
    made = SparseClassifier if is_classes else SparseRegressor
    return made(method, loss=recipe["loss"], n_features_to_select=recipe["k"])._from_file(model)
