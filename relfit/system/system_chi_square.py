"""Chi-square test of times to failure against a system (reliability-aware allocation, section 4.3 and Figure 4.3)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.base.arguments import share
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError, DataError
from relfit.base.results import Result
from relfit.base.text import count, out_of, p_value
from relfit.system._model import System

_LEAST = 5.0


class SystemChiSquare(Result):
    """Chi-square test of times to failure against a system; made by `chi_square`. Arrays have shape (bins,).

    Attributes
    ----------
    edges : ndarray, shape (bins + 1,)
        Edges of the bins, hours; the last is infinite.
    observed : ndarray of int
        Observed failures.
    expected : ndarray of float
        Expected failures.
    contributions : ndarray of float
        ``(observed - expected)**2 / expected``.
    statistic : float
        Sum of the contributions.
    estimated : int
        Number of parameters that were estimated from these times.
    degrees : int
        Degrees of freedom: bins minus one minus the estimated parameters.
    p, p_upper : float
        P-values with `degrees` and with ``bins - 1`` degrees of freedom; after an estimation from the times themselves
        (not from the counts) the true one lies between (Chernoff and Lehmann 1954).
    critical : float
        Critical value at level `alpha` and `degrees`.
    alpha : float
        Level of the test.
    zeros : int
        Times of zero (simultaneous failures), which are left out.
    """

    edges: FloatArray
    observed: IntArray
    expected: FloatArray
    contributions: FloatArray
    statistic: float
    estimated: int
    degrees: int
    p: float
    p_upper: float
    critical: float
    alpha: float
    zeros: int

    @property
    def rejected(self) -> bool:
        """Whether the times disagree with the system at level `alpha`."""
        return self.p < self.alpha

    @property
    def headline(self) -> str:
        """Whether the system is rejected, with statistic and p-value."""
        n = int(self.observed.sum())
        text = (
            f"{n} times to failure {'disagree' if self.rejected else 'agree'} with the system: chi-square "
            f"{self.statistic:.3f}, critical value {self.critical:.3f} at {self.degrees} degrees of freedom "
            f"({p_value(self.p)}"
        )
        if self.estimated:
            most = "" if self.p_upper < 0.001 else f" to {self.p_upper:.2g}"
            text += f"{most}, {count(self.estimated, 'parameter')} estimated from these times"
        text += ")"
        few = int((self.expected < _LEAST).sum())
        if few:
            text += f"; {out_of(few, self.expected.size, 'bin', 'expects', 'expect')} fewer than five, so p is rough"
        if self.zeros:
            text += f"; {count(self.zeros, 'time of zero is', 'times of zero are')} left out"
        return text + "."

    def to_frame(self) -> pd.DataFrame:
        """One row per bin: ``from_hours``, ``to_hours``, ``observed``, ``expected``, ``contribution``."""
        ends = {"from_hours": self.edges[:-1], "to_hours": self.edges[1:]}
        counts = {"observed": self.observed, "expected": self.expected, "contribution": self.contributions}
        return pd.DataFrame(ends | counts)


def chi_square(
    times: npt.ArrayLike,
    system: System,
    bins: int | npt.ArrayLike | None = None,
    *,
    estimated: int = 0,
    alpha: float = 0.05,
    decimals: int | None = None,
) -> SystemChiSquare:
    """Test times to failure, simulated or observed, against a system.

    Parameters
    ----------
    times : array_like of float
        Independent times from the system's ages to its failure, hours.
    system : System
    bins : int or array_like of float, optional
        Number of bins of equal expected counts, or edges in hours; with edges the first bin extends to zero and the
        last to infinity. By default ``2 n**0.4`` bins, with at least five expected failures in each.
    estimated : int
        Number of the system's parameters that were estimated from these times; 0 for known ones. For a system fitted to
        other data, many new times reveal the errors of its estimates.
    alpha : float
        Level of the test.
    decimals : int, optional
        Round the expected numbers first, as the paper does to one decimal.

    Raises
    ------
    ArgumentError
        For edges that do not rise, fewer than two bins, or no degree of freedom left.
    DataError
        For a negative or missing time, or too few times.

    Examples
    --------
    Figure 4.3: two nodes of shape 0.8 and scale 1000 h, both 600 h after their last failures.

    >>> import relfit as rf
    >>> system = rf.System(rf.families.Weibull(0.8, [1000.0] * 2), ages=600.0)
    >>> times = np.repeat([100.0, 300.0, 500.0, 700.0, 900.0, 2000.0], [30, 21, 16, 8, 5, 20])
    >>> test = chi_square(times, system, [0, 200, 400, 600, 800, 1000, 8000], estimated=2)
    >>> test.expected.round(1).tolist()
    [29.1, 19.8, 13.8, 9.8, 7.0, 20.5]
    >>> round(test.statistic, 3), test.degrees, round(test.critical, 3)
    (1.392, 3, 7.815)

    The paper's 1.365 comes from the rounded numbers:

    >>> printed = chi_square(times, system, [0, 200, 400, 600, 800, 1000, 8000], estimated=2, decimals=1)
    >>> f"{printed.statistic:.4f}"
    '1.3655'
    """
    hours = np.asarray(times, dtype=np.float64).ravel()
    bad = np.flatnonzero(~((hours >= 0.0) & np.isfinite(hours)))
    if bad.size:
        raise DataError(
            f"time {hours[bad[0]]:g} at position {bad[0]} is not a time to failure", remedy="give hours above zero"
        )
    share("alpha", alpha, zero=False, one=False)
    x = hours[hours > 0.0]
    edges = _edges(x.size, system, bins, estimated)
    with np.errstate(under="ignore"):
        lived = np.append(np.exp(-system.cumulative_hazard(edges[:-1])), 0.0)
    probability = -np.diff(lived)
    expected = x.size * probability
    if decimals is not None:
        expected = expected.round(decimals)
    if (expected <= 0.0).any():
        place = int(np.flatnonzero(expected <= 0.0)[0])
        raise ArgumentError(f"the bin from {edges[place]:g} h expects no failure at all", remedy="use wider bins")
    observed = np.bincount(np.searchsorted(edges, x, side="right") - 1, minlength=expected.size)
    contributions = (observed - expected) ** 2 / expected
    statistic = float(contributions.sum())
    degrees = expected.size - 1 - estimated
    if degrees < 1:
        what = f"{expected.size} bins leave no degree of freedom after {estimated} estimated parameters"
        raise ArgumentError(what, remedy="use more bins")
    of_bins = edges, observed, expected, contributions
    critical, zeros = float(special.chdtri(degrees, alpha)), int((hours == 0.0).sum())
    p, p_upper = special.chdtrc(np.array([degrees, expected.size - 1]), statistic).tolist()
    return SystemChiSquare(*of_bins, statistic, int(estimated), degrees, p, p_upper, critical, alpha, zeros)


def _edges(n: int, system: System, bins: int | npt.ArrayLike | None, estimated: int) -> FloatArray:
    if bins is None or isinstance(bins, (int, np.integer)):
        most = int(n // _LEAST)
        count = min(round(2.0 * n**0.4), most) if bins is None else int(bins)
        if bins is None and count < estimated + 2:
            raise DataError(f"{n} times to failure are too few for a chi-square test", remedy="give the bins")
        if count < 2:
            raise ArgumentError(f"{count} bins are too few", remedy="use two or more")
        inner = system.quantile(np.arange(1, count) / count)
        if not np.isfinite(inner).all():
            raise ArgumentError("the system need not fail at all, so bins cannot be equal", remedy="give the edges")
        return np.concatenate([[0.0], inner, [np.inf]])
    edges = np.asarray(bins, dtype=np.float64).ravel()
    if edges.size < 2 or not (np.diff(edges) > 0.0).all() or edges[0] < 0.0:
        raise ArgumentError("edges of bins must rise from zero or above", remedy="give hours such as [0, 24, 72, 720]")
    if n == 0:
        raise DataError("no time to failure above zero", remedy="give some")
    if edges[0] > 0.0:
        edges = np.concatenate([[0.0], edges])
    return np.append(edges[:-1], np.inf)
