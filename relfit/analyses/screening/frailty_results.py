"""`RenewalModels`: what Weibull renewals with unequal nodes say about ageing, and about every node."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.results import Result
from relfit.base.text import count, number


class RenewalModels(Result):
    """Weibull renewal models of the nodes of each group: equal, spread and of two classes.

    Attributes
    ----------
    groups : pandas.Index, shape (groups,)
    nodes, failures : ndarray of int, shape (groups,)
    shape, scale : ndarray, shape (groups, 3)
        Low, estimate and high of the model used: with a spread, or of two classes or equal nodes where these describe
        the nodes best. The scale is in hours, of a node of frailty one (in two classes: of the better). The shape is 1,
        without an interval, where there are fewer than ten failures.
    variance : ndarray, shape (groups, 3)
        Of the gamma frailty, whose mean is one; zero, without an interval, where nodes are equal or of two classes.
    fraction, ratio : ndarray, shape (groups,)
        Share of nodes in the class with the higher hazard, and how many times as high their failure rate is.
    loglik : pandas.DataFrame
        One row per group, ``equal``, ``spread`` and ``classes``.
    description : ndarray of object, shape (groups,)
        ``equal`` where equal nodes would differ as much; else what describes the nodes best by BIC: ``spread``,
        ``two_classes`` or ``either`` of the two.
    p : ndarray, shape (groups,)
        Probability that the numbers of failures of equal nodes differ as much, by random logs; NaN where no model of
        unequal nodes describes them clearly better.
    status : ndarray of object, shape (groups,)
        ``ok``; ``few`` (fewer than ten failures: a constant rate is taken); ``none`` (no failure).
    covariance : ndarray, shape (groups, 3, 3)
        Of log shape, log scale and log variance, by the sandwich over nodes from 20 nodes that failed on; rows and
        columns of what is not estimated are zero.
    group_of_node : ndarray of int, shape (nodes,)
    posterior : ndarray, shape (nodes, 2)
        Shape and rate of each node's frailty, a gamma variable given the node's history (of two classes, one with the
        same mean and variance); infinite where nodes are equal.
    level : float
    moving : ndarray of bool, shape (groups,), optional
        Where the interval of the shape excluded 1 and was widened, since a rate that varies over the calendar explains
        as much (`relfit.analyses.screening.by_calendar`); None where that was not checked.
    """

    groups: pd.Index
    nodes: IntArray
    failures: IntArray
    shape: FloatArray
    scale: FloatArray
    variance: FloatArray
    fraction: FloatArray
    ratio: FloatArray
    loglik: pd.DataFrame
    description: npt.NDArray[np.object_]
    p: FloatArray
    status: npt.NDArray[np.object_]
    covariance: FloatArray
    group_of_node: IntArray
    posterior: FloatArray
    level: float
    moving: BoolArray | None = None

    _not_in_json = ("covariance", "group_of_node", "posterior")

    @property
    def headline(self) -> str:
        """Whether the failure rate of a node changes with the time since its last failure."""
        if len(self.groups) != 1:
            falls, rises = int((self.ageing < 0).sum()), int((self.ageing > 0).sum())
            return (
                f"Of {len(self.groups)} systems, the failure rate of a node falls with the time since its last "
                f"failure in {falls} and rises in {rises}; in the others there is no evidence either way."
            )
        if not self.shape_known:
            few = count(int(self.failures[0]), "failure is", "failures are")
            return f"{few} too few to distinguish ageing from unequal nodes."
        low, value, high = self.shape[0]
        limits = f"(Weibull shape {number(value)}, {number(low)} to {number(high)}, unequal nodes allowed for)"
        if self.moving is not None and self.moving[0]:
            return (
                "Whether the failure rate of a node changes with the time since its last failure cannot be "
                f"distinguished from rates that change over the calendar {limits}."
            )
        if self.ageing[0] == 0:
            return (
                "There is no evidence that the failure rate of a node changes with the time since its last failure "
                f"{limits}."
            )
        word = "falls" if self.ageing[0] < 0 else "rises"
        return f"The failure rate of a node {word} with the time since its last failure {limits}."

    @property
    def shape_known(self) -> bool:
        """Whether the first group has a fit whose shape has an interval; a failure of each node gives none."""
        return bool(self.status[0] == "ok" and np.isfinite(self.shape[0]).all())

    @property
    def ageing(self) -> IntArray:
        """-1 where the hazard of a node falls with age, 1 where it rises, 0 where the shape's interval includes 1."""
        low, _, high = self.shape.T
        return np.where(high < 1.0, -1, np.where(low > 1.0, 1, 0))

    def rates(self) -> FloatArray:
        """Expected long-run failure rate of each node given its history, per hour, shape (nodes,)."""
        shape, scale = (values[self.group_of_node, 1] for values in (self.shape, self.scale))
        return frailty_moment(self.posterior, 1.0 / shape) / (scale * special.gamma(1.0 + 1.0 / shape))

    def to_frame(self) -> pd.DataFrame:
        """One row per group; ``scale`` in hours."""
        table = pd.DataFrame({"nodes": self.nodes, "failures": self.failures}, index=self.groups)
        for name in ("shape", "scale", "variance"):
            table[f"{name}_low"], table[name], table[f"{name}_high"] = getattr(self, name).T
        table["fraction"], table["ratio"] = self.fraction, self.ratio
        for name in self.loglik.columns:
            table[f"loglik_{name}"] = self.loglik[name].to_numpy()
        return table.assign(description=self.description, p=self.p, status=self.status)


def frailty_moment(posterior: FloatArray, power: npt.ArrayLike) -> FloatArray:
    """Mean of a power of gamma variables, shape (nodes,); 1 where shape and rate are infinite."""
    shape, rate = posterior[..., 0], posterior[..., 1]
    finite = np.isfinite(shape)
    a, b, p = np.where(finite, shape, 1.0), np.where(finite, rate, 1.0), np.asarray(power, dtype=np.float64)
    return np.asarray(np.where(finite, np.exp(special.gammaln(a + p) - special.gammaln(a) - p * np.log(b)), 1.0))
