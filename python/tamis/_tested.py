"""The tests of the features of a model: z-scores, q-values, confirmed features."""

import json

import numpy as np


class Tested:
    """Estimators whose features are tested."""

    @property
    def tests_(self) -> list[dict]:
        """The tested features: name, z, q, and under "with" features that go with it. Empty if there were too few rows."""
        names = self._public_name
        return [
            {**test, "name": names(test["name"]), **({"with": list(map(names, test["with"]))} if "with" in test else {})}
            for test in self._tests("tests_")
        ]

    def _tests(self, attribute):
        """The tests with the names of the core."""
        tests = self._fitted_attribute(attribute).tests
        if tests is None:
            raise AttributeError(f"{attribute} is not available: {self._why_not_tested}")
        return json.loads(tests)["tests"]

    _why_not_tested = "the features of this model were not tested"

    @property
    def q_values_(self) -> np.ndarray:
        """q-values of all columns; 1 for those that were not tested by themselves.

        Of the features with a q-value of at most q, at most a share q is expected to be false discoveries, on average
        over data sets. A feature that is no false discovery adds to the linear prediction what no other feature adds; it
        need not be a cause.
        """
        tests, find = self._tests("q_values_"), self._column_of()
        q_values = np.ones(self._width())
        for test in tests:
            q_values[find(test["name"])] = test["q"]
        return q_values

    def confirmed(self, q: float = 0.1) -> list[str]:
        """Names of the confirmed features: those with a q-value of at most ``q``, by increasing q-value.

        Parameters
        ----------
        q : float, default=0.1
            The false discovery rate. The list may be empty.
        """
        tests = sorted(self.tests_, key=lambda test: (test["q"], -abs(test["z"])))
        return [test["name"] for test in tests if test["q"] <= q]
