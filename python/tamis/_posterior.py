"""Probabilities of two classes from the scores of a least-squares model, by the moments that it was fitted to.

The moments give the mean of the score in each class and its variance within classes. With normal scores of equal variance v,
as in linear discriminant analysis, the log-odds of the second class for a row with score s are

    log(π₁/π₀) + f · (m₁ − m₀)/v · (s − (m₀ + m₁)/2),

where π are the shares of the classes and m the means of their scores. In the rows that a model was fitted to, classes lie further
apart than in new rows: f = (n − p − 3)/(n − 2) corrects their squared distance for p features and n rows (Lachenbruch & Mickey
1968).
"""

import json

import numpy as np


class Posterior:
    """From the scores of a model of two classes to their probabilities."""

    def __init__(self, moments, model):
        (names, weights, *_), (intercept,) = model.outputs[0], model.intercepts
        means, covariances, shares, cross = moments.statistics(names)
        order = [moments.classes.index(label) for label in model.classes]
        # Classes are columns: cov(x, class) = share · (mean of the class − mean).
        away = weights @ cross[:, order] / shares[order]
        centre, variance = weights @ means + intercept, weights @ covariances @ weights
        rows = json.loads(moments.info())["effective_rows"]
        # The rows cannot tell a share of the variance within classes below one in their number from none.
        within = max(variance - shares[order] @ away**2, variance / max(rows, 1))
        fade = max(rows - len(names) - 3, 0) / max(rows - 2, 1)
        self.slope = fade * (away[1] - away[0]) / within if within > 0 else 0.0
        self.middle = centre + away.mean()
        self.prior = np.log(shares[order[1]] / shares[order[0]])

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """The probabilities of the classes for rows of one score each."""
        odds = self.prior + self.slope * (scores[:, 0] - self.middle)
        second = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
        return np.column_stack([1 - second, second])
