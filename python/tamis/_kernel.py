"""Estimators for the method ``kernel``: a non-linear model of few variables and their interactions."""

import copy
import json
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from . import _input, _params
from ._base import Trained
from ._tasks import Classifier, Probabilities, Regressor
from .errors import ParamError, warn

HEAD = """
    Random Fourier features whose variables are learned. A scan scores all variables and pairs (of few variables, all
    triples), so that interactions without main effects are found; variables are then eliminated by the sensitivity of
    half-sample fits to them. Outer folds, whose rows take no part in any of this, choose the number of variables; they
    may find nothing, and then the model predicts a constant. At least 48 rows are needed.
"""

WARM_START = (
    "bool",
    "Whether a later call of ``fit`` adds its rows to the weights, exactly as if all rows had been there. The variables, the\n"
    "        held-out errors and the q-values stay those of the first call. The estimator keeps second moments for this: up to\n"
    "        some 100 MB.",
)

ATTRIBUTES = """
    Attributes
    ----------
    variables_ : list of dict, the variables by decreasing sensitivity: name, sensitivity, least over splits, share of folds, q
    interactions_ : list of dict, the pairs that interact: names, sensitivity, least over splits, q
    tests_ : list of dict, the tested variables and pairs by increasing q-value: names, q
    q_values_ : ndarray of shape (n_features_in_,), q-values; 1 for columns that were not tested
    curve_ : list of dict, held-out error of each number of variables, beside a constant (size 0)
    linear_ : dict, the held-out error of a linear model on the same rows
    is_better_than_constant_, is_linear_as_good_ : bool, what the outer folds found
    n_features_in_, feature_names_in_ : the columns, unless the model was fitted to a stream{classes}
"""


class Kernel(Trained):
    """Base class of the classifier and the regressor."""

    # Not a parameter: scores of classes are calibrated log-odds.
    loss = None

    def __init__(
        self,
        n_features_to_select=None,
        *,
        inputs=None,
        family=None,
        n_fourier=None,
        max_variables=48,
        reading=None,
        random_state=None,
        warm_start=False,
        n_jobs=None,
        verbose=0,
    ):
        self.n_features_to_select = n_features_to_select
        self.inputs = inputs
        self.family = family
        self.n_fourier = n_fourier
        self.max_variables = max_variables
        self.reading = reading
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _recipe(self) -> dict:
        self._check_params()
        return {"method": "kernel", **_params.given(self, "kernel")}

    def _fit(self, X, y, sample_weight) -> Self:
        if not self.warm_start:
            self._state = None
            return super()._fit(X, y, sample_weight)
        recipe, before = self._recipe(), getattr(self, "_state", None)
        self._check_means("warm_start")
        if before is None:
            settings, task, rows = self._prepared(dict(recipe), X, y, sample_weight)
            checkpoint = None
        elif before["recipe"] != recipe:
            raise ParamError("parameters cannot change while training continues: set warm_start=False to search again")
        else:
            settings, task, checkpoint = before["settings"], before["task"], before["checkpoint"]
            rows = self._more(X, y, sample_weight)
        model, training = self._run(settings, task, rows, True, checkpoint)
        self._state = {"recipe": recipe, "settings": settings, "task": task, "checkpoint": training.to_checkpoint()}
        return self._take_fit(model) if before is None else self._take_model(model)

    def _more(self, X, y, sample_weight):
        """Rows after those of the first call, for the core: the same columns and classes."""
        paths = _input.as_paths(X)
        if paths is not None:
            return paths, self._reading()
        if _input.is_batches(X):
            return (self._any(*batch, *[None] * (3 - len(batch)), reset=False) for batch in X)
        return self._any(X, y, sample_weight, reset=False)

    def __getstate__(self):
        state = {**super().__getstate__()}
        if not self.warm_start:
            state.pop("_state", None)  # the moments are much larger than the model
        return state

    def _from_file(self, model):
        if model.kernel is None:
            raise ParamError(f"a model of the method {model.method!r} is no kernel model: load it with tamis.load")
        return super()._from_file(model)

    def _take_model(self, model):
        self._content = None if model is None else json.loads(model.kernel)
        return super()._take_model(model)

    def _take_fit(self, model):
        self._take_model(model)
        if not self.is_better_than_constant_:
            warn("nothing found: no number of variables predicts held-out rows better than a constant")
        elif self.is_linear_as_good_:
            warn("a linear model does as well on held-out rows: use another estimator, such as StabilizedClassifier")
        return self

    def _kernel(self, attribute) -> dict[str, Any]:
        self._fitted_attribute(attribute)
        return self._content

    def _size(self, attribute) -> dict[str, Any]:
        """The size of the model; that of a constant has no variables."""
        content = self._kernel(attribute)
        return {} if content["chosen"] is None else content["sizes"][content["chosen"]]

    def _name(self, place) -> Any:
        return self._public_name(self._content["variables"][place]["name"])

    @property
    def variables_(self) -> list[dict]:
        """The variables by decreasing sensitivity: name, sensitivity, least over splits, share of outer folds, q-value."""
        listed = self._size("variables_").get("variables", [])
        keys = ("sensitivity", "least", "share")
        return [
            {
                "name": self._name(one["variable"]),
                **{key: one[key] for key in keys},
                "q": self._q([self._content["variables"][one["variable"]]["name"]]),
            }
            for one in listed
        ]

    def _q(self, names) -> float:
        """The q-value of a variable or a pair, by the names of the core; 1 if it was not tested."""
        tests = self._content.get("tests", [])
        return next((test["q"] for test in tests if sorted(test["names"]) == sorted(names)), 1.0)

    @property
    def tests_(self) -> list[dict]:
        """The tested variables and pairs by increasing q-value: names (one or two), q."""
        tests = self._kernel("tests_").get("tests", [])
        return [{"names": tuple(map(self._public_name, test["names"])), "q": test["q"]} for test in tests]

    @property
    def q_values_(self) -> np.ndarray:
        """q-values of all columns; 1 for those that were not tested.

        Of the variables with a q-value of at most q, at most a share q is expected to be false discoveries, on average
        over data sets: variables that the mean of the target does not depend on, given the others. The tests use rows of
        the outer folds, which took no part in the search of their fold.
        """
        tests, find = self._kernel("q_values_").get("tests", []), self._column_of()
        q_values = np.ones(self._width())
        for test in tests:
            if len(test["names"]) == 1:
                q_values[find(test["names"][0])] = test["q"]
        return q_values

    def confirmed(self, q: float = 0.1) -> list[str]:
        """Names of the confirmed variables: those with a q-value of at most ``q``, by increasing q-value.

        Parameters
        ----------
        q : float, default=0.1
            The false discovery rate. The list may be empty.
        """
        return [test["names"][0] for test in self.tests_ if len(test["names"]) == 1 and test["q"] <= q]

    @property
    def features_(self) -> list[dict]:
        """The same as ``variables_``."""
        return self.variables_

    @property
    def interactions_(self) -> list[dict]:
        """The pairs that interact, by decreasing sensitivity: names, sensitivity, least over splits, q-value.

        For classes, q is that of an interaction on the scale of log-odds.
        """
        listed = self._size("interactions_").get("interactions", [])
        return [
            {
                "names": tuple(map(self._name, one["variables"])),
                "sensitivity": one["sensitivity"],
                "least": one["least"],
                "q": self._q([self._content["variables"][place]["name"] for place in one["variables"]]),
            }
            for one in listed
        ]

    @property
    def curve_(self) -> list[dict]:
        """The held-out error of each number of variables, from large to small; size 0 is a constant."""
        content = self._kernel("curve_")
        sizes = [{"size": one["size"], **one["score"], "kept": "function" in one} for one in content["sizes"]]
        return [*sizes, {"size": 0, **content["constant_score"], "kept": content["chosen"] is None}]

    @property
    def linear_(self) -> dict:
        """The held-out error of a linear model by forward selection on the same rows, and its mean number of features."""
        content = self._kernel("linear_")
        return {"size": content["linear_size"], **content["linear_score"]}

    @property
    def is_better_than_constant_(self) -> bool:
        """Whether some number of variables predicts held-out rows better than a constant."""
        return self._kernel("is_better_than_constant_")["is_better_than_constant"]

    @property
    def is_linear_as_good_(self) -> bool:
        """Whether a linear model predicts held-out rows as well as this one, within one standard error."""
        return self._kernel("is_linear_as_good_")["is_linear_as_good"]

    def partial_dependence(self, *names) -> tuple:
        """The mean prediction over rows as a function of one variable, or of two that interact. It needs no data.

        Parameters
        ----------
        *names : str or int
            A variable of the model, or the two variables of one of ``interactions_``, by name or column number.

        Returns
        -------
        values : ndarray, or two of them
            The values of the variable, or of both.
        margins : ndarray of shape (n_outputs, n_values) or (n_outputs, n_values, n_other_values)
            Mean predictions; log-odds for classes.
        """
        size, wanted = self._size("partial_dependence"), [self._named(name) for name in names]
        if len(wanted) == 1:
            for one in size.get("variables", []):
                if self._name(one["variable"]) == wanted[0]:
                    return np.array(one["at"]), np.array(one["margins"])
        for one in size.get("interactions", []):
            pair = [self._name(place) for place in one["variables"]]
            if sorted(pair) == sorted(wanted) and one["at"][0]:
                first, second = (np.array(values) for values in one["at"])
                margins = np.array(one["margins"]).reshape(-1, len(first), len(second))
                if pair == wanted:
                    return first, second, margins
                return second, first, margins.transpose(0, 2, 1)
        known = [one["name"] for one in self.variables_] if len(wanted) == 1 else [one["names"] for one in self.interactions_]
        raise ParamError(f"the model has no curve of {', '.join(map(str, names))}; it has those of {known}")

    def _named(self, name) -> str:
        """The name of a variable that is given by its name or its column."""
        if not isinstance(name, int | np.integer):
            return name
        columns = getattr(self, "feature_names_in_", None)
        return str(columns[name]) if columns is not None else f"x{name}"

    def resize(self, n_features_to_select) -> Self:
        """The model with another number of variables, without the data.

        Parameters
        ----------
        n_features_to_select : int
            A number of variables whose entry of ``curve_`` is kept.

        Returns
        -------
        estimator
            A new fitted estimator; this one is not changed.
        """
        other = copy.copy(self)
        other.n_features_to_select = n_features_to_select
        return other._take_model(self._fitted().resize(n_features_to_select, None, None))

    def _get_support_mask(self):
        find, mask = self._column_of(), np.zeros(self._width(), dtype=bool)
        for one in self._size("get_support").get("variables", []):
            mask[find(self._content["variables"][one["variable"]]["name"])] = True
        return mask

    @staticmethod
    def _all_names(model):
        for one in json.loads(model.kernel)["variables"]:
            yield one["name"]

    @property
    def coef_(self) -> np.ndarray:
        """A kernel model has no weights of its variables."""
        raise AttributeError("coef_: a kernel model is not linear; see variables_ and partial_dependence")

    @property
    def sparse_coef_(self) -> np.ndarray:
        """A kernel model has no weights of its variables."""
        raise AttributeError("sparse_coef_: a kernel model is not linear; see variables_ and partial_dependence")

    @property
    def intercept_(self) -> float:
        """A kernel model has no intercept by itself."""
        raise AttributeError("intercept_: a kernel model is not linear; see variables_ and partial_dependence")

    def _html_repr(self):
        # There are no weights to draw.
        return BaseEstimator._html_repr(self)


class KernelClassifier(Probabilities, Classifier, ClassifierMixin, Kernel):
    __init__ = _params.with_class_weight(Kernel.__init__)
    _parameter_constraints = _params.constraints(__init__, "kernel")
    __doc__ = (
        "Non-linear classifier of few variables and their interactions.\n"
        + HEAD
        + _params.document(__init__, "kernel", warm_start=WARM_START)
        + ATTRIBUTES.format(classes="\n    classes_ : ndarray of the classes")
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from tamis import KernelClassifier
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(400, 20))
    >>> y = X[:, 4] * X[:, 9] > 0
    >>> model = KernelClassifier().fit(X, y)
    >>> model.get_support(indices=True), sorted(model.interactions_[0]["names"])
    (array([4, 9]), ['x4', 'x9'])
    """
    )

    def _labels(self, y, weights):
        if not self.warm_start or getattr(self, "_state", None) is None:
            return super()._labels(y, weights)
        return *self._known_labels(y, self._model), weights


class KernelRegressor(Regressor, RegressorMixin, Kernel):
    _parameter_constraints = _params.constraints(Kernel.__init__, "kernel")
    __doc__ = (
        "Non-linear regression of few variables and their interactions.\n"
        + HEAD
        + _params.document(Kernel.__init__, "kernel", warm_start=WARM_START)
        + ATTRIBUTES.format(classes="")
        + """
    Examples
    --------
    >>> import numpy as np
    >>> from tamis import KernelRegressor
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(400, 20))
    >>> model = KernelRegressor().fit(X, np.sin(2 * X[:, 4]) + X[:, 9] ** 2)
    >>> model.get_support(indices=True)
    array([4, 9])
    """
    )
