"""A continuous spread of node rates: gamma-distributed rates, whose counts are negative binomial.

What a mixture of good and bad nodes is held against: counts that scatter more than Poisson ones may come from two
classes of nodes or from rates that differ by degrees, and only the first has bad nodes in it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.arrays import FloatArray, IntArray
from relfit.numeric.levels import normal_quantile
from relfit.numeric.newton import maximise
from relfit.screening.rate_table import RateTable

__all__ = ["DESCRIPTIONS", "describe", "fit_spread"]

DESCRIPTIONS = {
    "equal": "nodes of one rate describe the counts best",
    "spread": "rates that differ by degrees (gamma) describe the counts best; two classes only sum them up",
    "two_classes": "two classes of nodes describe the counts best",
    "either": "two classes and a spread of rates describe the counts about equally well, both better than one rate",
}
_CLEAR = 2.0  # difference of BIC below which there is nothing to choose (Kass and Raftery 1995)


class _Gamma:
    """Log-likelihood at the logs of the mean rate and of the gamma shape; shape (trials, groups, 2)."""

    def __init__(self, table: RateTable) -> None:
        self.lives = table

    @property
    def n_groups(self) -> int:
        return self.lives.n_groups

    def take(self, positions: IntArray) -> _Gamma:
        return _Gamma(self.lives.take(positions))

    def __call__(self, free: FloatArray) -> FloatArray:
        t = self.lives
        with np.errstate(all="ignore"):
            rows = free[:, t.code]
            shape, mean = np.exp(rows[..., 1]), np.exp(rows[..., 0]) * t.time
            # k log(k / (k + m)) and n log(m / (k + m)), exact where the shape is large
            each = (
                special.gammaln(t.count + shape)
                - special.gammaln(shape)
                - special.gammaln(t.count + 1.0)
                - shape * np.log1p(mean / shape)
                + np.where(t.count > 0.0, t.count * (np.log(mean) - np.log(shape + mean)), 0.0)
            )
            return t.sums(each)


def fit_spread(table: RateTable, loglik_one: FloatArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Coefficient of variation of the rates in each group with limits, shape (3, groups), and the log-likelihood.

    Zero, with NaN limits and the log-likelihood of equal nodes, where counts scatter no more than Poisson ones.

    Parameters
    ----------
    table : RateTable
    loglik_one : ndarray, shape (groups,)
        Of nodes with one rate.
    level : float
        Of the limits: normal on the log scale.
    """
    groups = table.n_groups
    number, hours = table.total(table.count), table.total(table.time)
    with np.errstate(all="ignore"):
        rate = number / hours
        expected = rate[table.code] * table.time
        # by moments: the variance is m + m^2 / k
        excess = table.total((table.count - expected) ** 2 - expected) / table.total(expected**2)
        start = np.stack([np.log(rate), -np.log(np.clip(excess, 0.01, 100.0))], axis=1)
        # the likelihood rises from a spread of zero where counts scatter more than Poisson ones
        rises = table.total((table.count - expected) ** 2 - table.count) > 0.0
    start[~rises] = np.nan
    best = maximise(_Gamma(table), start)
    good = best.found & (best.value > loglik_one)
    spread = np.full((3, groups), np.nan)
    spread[0] = 0.0
    with np.errstate(all="ignore"):
        information = np.where(good[:, None, None], best.information, np.eye(2))
        error = 0.5 * np.sqrt(np.linalg.inv(information)[:, 1, 1])
        centre = np.exp(-0.5 * best.free[:, 1])
        width = np.exp(normal_quantile(level) * error)
    for row, values in enumerate((centre, centre / width, centre * width)):
        spread[row, good] = values[good]
    return spread, np.where(good, best.value, loglik_one)


def describe(
    one: FloatArray, spread: FloatArray, two: FloatArray, nodes: FloatArray
) -> tuple[npt.NDArray[np.object_], FloatArray]:
    """What describes the counts of each group best by BIC (`DESCRIPTIONS`), from log-likelihoods; and the advantage.

    The advantage is the BIC of the spread less that of two classes: above zero it speaks for two classes.

    Examples
    --------
    >>> describe(np.array([-90.0]), np.array([-70.0]), np.array([-69.5]), np.array([100.0]))[0].tolist()
    ['spread']
    """
    with np.errstate(all="ignore"):
        cost = np.log(nodes)
        bic = np.stack([k * cost - 2.0 * value for k, value in ((1, one), (2, spread), (3, two))])
    advantage = bic[1] - bic[2]
    words = np.where(np.abs(advantage) < _CLEAR, "either", np.where(advantage > 0.0, "two_classes", "spread"))
    words = words.astype(object)
    words[bic[0] <= np.minimum(bic[1], bic[2])] = "equal"
    return words, advantage
