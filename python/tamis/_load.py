"""Estimators from model files."""

import json
import os

from . import _core
from ._solved import MomentsClassifier, MomentsRegressor
from ._sparse import SparseClassifier, SparseRegressor
from ._stabilized import StabilizedClassifier, StabilizedRegressor
from ._two_stage import TwoStageClassifier, TwoStageRegressor


def load(path):
    """The estimator of a model file, with the parameters that the file contains."""
    model = _core.Model.load(os.fspath(path))
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
    made = SparseClassifier if is_classes else SparseRegressor
    return made(method, loss=recipe["loss"], n_features_to_select=recipe["k"])._from_file(model)
