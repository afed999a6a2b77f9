"""Do failures come as a system says? By its cumulative hazard between those of a log, or until given times to failure.

Between two failures of the system the cumulative hazard of all nodes grows by a standard exponential amount, whatever
their ages, families and parameters, if the model is right (the time-rescaling theorem: Papangelou 1972; Ogata 1988). So
``U = 1 - exp(-amount)`` is uniform, and the total is what the number of failures should be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arguments import FloatArray, share
from relfit.errors import ArgumentError, DataError
from relfit.failurelog import FailureLog
from relfit.goodness import kolmogorov_p
from relfit.numeric.poisson import poisson_interval
from relfit.outages import outages_of
from relfit.results import Result
from relfit.text import count, number, p_value, percent
from relfit.units import NANOSECONDS_PER_HOUR

if TYPE_CHECKING:
    from relfit.system import System

__all__ = ["Validation", "anderson_darling_p", "checked_times", "validate"]

IntArray = npt.NDArray[np.int64]
_CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Validation(Result):
    """Cumulative hazard between failures, against the exponential distribution and the number of failures.

    Attributes
    ----------
    uniform : ndarray, shape (n,)
        ``1 - exp(-hazard)`` of each time to failure, in order; uniform between 0 and 1 if the model is right.
    ks, ks_p, ad, ad_p : float
        Kolmogorov-Smirnov and Anderson-Darling statistics with p-values, the parameters taken as known: meant for data
        that were not used to fit the system.
    failures : int
        Node failures seen.
    expected : float
        Hazard hazard, the censored time at the end included: the number of failures that the model expects.
    ratio, ratio_low, ratio_high : float
        Failures by expected, with exact Poisson limits.
    together : int
        Failures at the very instant of another; they are counted in `failures` but have no time of their own.
    level : float
    """

    uniform: FloatArray
    ks: float
    ks_p: float
    ad: float
    ad_p: float
    failures: int
    expected: float
    ratio: float
    ratio_low: float
    ratio_high: float
    together: int
    level: float

    @property
    def headline(self) -> str:
        """Whether the number of failures and the times between them agree with the system."""
        if not self.uniform.size:
            return f"No failure was seen where {self.expected:.2f} were expected."
        bad = min(self.ks_p, self.ad_p) < 1.0 - self.level
        right = self.ratio_low <= 1.0 <= self.ratio_high
        text = (
            f"{count(self.failures, 'failure')} where the model expects {number(self.expected, 4)} (ratio "
            f"{self.ratio:.2f}, {percent(self.level)} limits {self.ratio_low:.2f} to {self.ratio_high:.2f}"
            f"{'' if right else ', so the rate is wrong'}). Times between failures {'disagree' if bad else 'agree'} "
            f"with it (K-S {p_value(self.ks_p)}, A-D {p_value(self.ad_p)})."
        )
        if self.together:
            text += f" {count(self.together, 'failure')} came at the instant of another, as independent nodes never do."
        return text

    def to_frame(self) -> pd.DataFrame:
        """One row per time to failure: cumulative ``hazard`` until then, ``uniform``."""
        with np.errstate(divide="ignore"):
            return pd.DataFrame({"hazard": -np.log1p(-self.uniform), "uniform": self.uniform})


def validate(
    data: FailureLog | npt.ArrayLike,
    system: System,
    *,
    ages: npt.ArrayLike | None = None,
    since: Any = None,
    until: Any = None,
    level: float = 0.95,
) -> Validation:
    """Compare failures with a system whose nodes change their ages as time goes on.

    Parameters
    ----------
    data : FailureLog or array_like of float, shape (n,)
        A log: from `since` on, the nodes of the system are followed, and a node that fails begins anew. Or times to
        failure in hours, each from a moment at which the nodes had known ages.
    system : System
        Its nodes must be named as those of the log; its own ages do not matter for a log.
    ages : array_like of float, shape (n, nodes), optional
        Ages in hours at the beginning of each time; the system's own when left out.
    since, until : str or datetime, optional
        Part of a log; the whole when left out. Take what was not fitted.
    level : float
        Of limits and verdicts.

    Raises
    ------
    ArgumentError
        For ages beside a log, arrays that do not fit together, nodes that the log does not have, or a system that
        tolerates failures.
    DataError
        For times that are negative or missing.

    Examples
    --------
    >>> import relfit as rf
    >>> system = rf.System(rf.families.Weibull(0.7, [500.0, 800.0]), ages=[0.0, 300.0])
    >>> checked = validate(system.sample(200, rng=5), system)
    >>> checked.ks_p > 0.05, checked.ratio_low < 1.0 < checked.ratio_high
    (True, True)
    """
    share("level", level, zero=False, one=False)
    if getattr(system, "tolerance", 0):
        raise ArgumentError("a system that tolerates failures is not followed", remedy="take it without tolerance")
    if isinstance(data, FailureLog):
        if ages is not None:
            raise ArgumentError("the log knows the ages", remedy="leave ages out")
        hazard, rest, together = _of_log(data, system, since, until)
    else:
        if since is not None or until is not None:
            raise ArgumentError("times to failure have no dates", remedy="leave since and until out")
        hazard, together = _of_times(checked_times(data), system, ages)
        rest = 0.0
    failures, expected = hazard.size + together, float(hazard.sum() + rest)
    low, high = (float(v) for v in np.ravel(poisson_interval([failures], level)))
    u = -np.expm1(-hazard)
    ks, ad = _distances(hazard)
    n = u.size
    return Validation(
        u,
        ks,
        float(kolmogorov_p(ks, n)[0]) if n else float("nan"),
        ad,
        anderson_darling_p(ad, n),
        failures,
        expected,
        failures / expected if expected > 0.0 else float("inf"),
        low / expected if expected > 0.0 else float("inf"),
        high / expected if expected > 0.0 else float("inf"),
        together,
        level,
    )


# ------------------------------------------------------------------------- statistics


def _distances(hazard: FloatArray) -> tuple[float, float]:
    """K-S and A-D distances of standard exponential amounts from that distribution."""
    n = hazard.size
    if n == 0:
        return float("nan"), float("nan")
    h = np.sort(hazard)
    u = -np.expm1(-h)
    i = np.arange(n)
    ks = float(max((u - i / n).max(), ((i + 1) / n - u).max()))
    with np.errstate(divide="ignore"):
        terms = (2.0 * i + 1.0) * (np.log(np.maximum(u, 1e-300)) - h[::-1])
    return ks, float(-n - terms.sum() / n)


def anderson_darling_p(statistic: float, n: int) -> float:
    """P-value of the Anderson-Darling statistic of a distribution that is fully known (Marsaglia and Marsaglia 2004).

    Examples
    --------
    >>> round(anderson_darling_p(2.492, 1000), 3)
    0.05
    """
    if n == 0 or statistic != statistic:
        return float("nan")
    z = float(statistic)
    if z <= 0.0:
        return 1.0
    if z < 2.0:
        inner = 2.00012 + (0.247105 - (0.0649821 - (0.0347962 - (0.011672 - 0.00168691 * z) * z) * z) * z) * z
        x = np.exp(-1.2337141 / z) / np.sqrt(z) * inner
    else:
        inner = 1.0776 - (2.30695 - (0.43424 - (0.082433 - (0.008056 - 0.0003146 * z) * z) * z) * z) * z
        x = np.exp(-np.exp(inner)) if z < 32.0 else 1.0
    return float(np.clip(1.0 - x - _correction(n, float(x)), 0.0, 1.0))


def _correction(n: int, x: float) -> float:
    """What a finite sample adds to the limiting distribution function; its polynomial has no digits in the far tail."""
    if x > 1.0 - 1e-5:
        return 0.0
    if x > 0.8:
        poly = -130.2137 + (745.2337 - (1705.091 - (1950.646 - (1116.360 - 255.7844 * x) * x) * x) * x) * x
        return poly / n
    c = 0.01265 + 0.1757 / n
    if x < c:
        t = x / c
        return float(np.sqrt(t) * (1.0 - t) * (49.0 * t - 102.0) * (0.0037 / n**3 + 0.00078 / n**2 + 0.00006 / n))
    t = (x - c) / (0.8 - c)
    t = -0.00022633 + (6.54034 - (14.6538 - (14.458 - (8.259 - 1.91864 * t) * t) * t) * t) * t
    return float(t * (0.04213 / n + 0.01365 / n**2))


# ------------------------------------------------------------------- cumulative hazard


def _hazard(system: System, ages: FloatArray, times: FloatArray) -> FloatArray:
    """Cumulative hazard of all nodes, rows of ages and times of shape (n, nodes)."""
    total = np.zeros(ages.shape[0])
    for component in system.components:
        places = component.positions
        total += component.family.conditional_cumulative_hazard(times[:, places], ages[:, places]).sum(axis=1)
    return total


def checked_times(times: npt.ArrayLike) -> FloatArray:
    """Times to failure in hours, shape (n,).

    Raises
    ------
    DataError
        For one that is negative or missing.
    """
    hours = np.asarray(times, dtype=np.float64).ravel()
    bad = np.flatnonzero(~((hours >= 0.0) & np.isfinite(hours)))
    if bad.size:
        raise DataError(
            f"time {hours[bad[0]]:g} at position {bad[0]} is no time to failure", remedy="give hours above zero"
        )
    return hours


def _of_times(times: FloatArray, system: System, ages: npt.ArrayLike | None) -> tuple[FloatArray, int]:
    some = times > 0.0
    together = int((~some).sum())
    if ages is None:
        return system.cumulative_hazard(times[some]), together
    table = np.asarray(ages, dtype=np.float64)
    if table.shape != (times.size, system.n_nodes):
        raise ArgumentError(
            f"ages of shape {table.shape} for {times.size} times and {system.n_nodes} nodes",
            remedy="give a row for each time and a column for each node",
        )
    if not ((table >= 0.0) & np.isfinite(table)).all():
        raise DataError("an age is negative or missing", remedy="give hours at or above zero")
    out = np.empty(int(some.sum()))
    rows, step = np.flatnonzero(some), max(1, _CELLS_AT_ONCE // system.n_nodes)
    for begin in range(0, rows.size, step):
        part = rows[begin : begin + step]
        spread = np.broadcast_to(times[part][:, None], (part.size, system.n_nodes))
        out[begin : begin + step] = _hazard(system, table[part], spread)
    return out, together


def _of_log(log: FailureLog, system: System, since: Any, until: Any) -> tuple[FloatArray, float, int]:
    """Cumulative hazard between failures of a log, after the last of them, and failures at one instant."""
    if log.lifetimes is not None:
        raise DataError("this log holds times to failure without dates", remedy="give the times and ages instead")
    first, last = log.period(since, until)
    outages = outages_of(log)
    zero = first.as_unit("ns").value

    def in_hours(nanoseconds: IntArray) -> FloatArray:
        return (nanoseconds - zero) / NANOSECONDS_PER_HOUR

    end = (last - first) / pd.Timedelta(hours=1)
    group = _groups_of(system, outages.groups)
    entered, left = in_hours(outages.entered)[group], np.minimum(in_hours(outages.left)[group], end)
    node = np.full(len(outages.groups), -1, dtype=np.int64)
    node[group] = np.arange(group.size)
    mine = (node[outages.code] >= 0) & outages.failures
    owner, start = node[outages.code[mine]], in_hours(outages.start[mine])
    begun = entered.copy()
    before = start <= 0.0
    np.maximum.at(begun, owner[before], start[before])
    inside = ~before & (start <= end)
    order = np.argsort(start[inside], kind="stable")
    owner, start = owner[inside][order], start[inside][order]
    moments, row = np.unique(start, return_inverse=True)
    edges = np.concatenate([[0.0], moments, [end]])
    hazard = np.empty(edges.size - 1)
    step = max(1, _CELLS_AT_ONCE // system.n_nodes)
    for begin in range(0, edges.size - 1, step):
        rows = np.arange(begin, min(begin + step, edges.size - 1))
        # since when the node has run in each interval, for every node
        births = np.full((rows.size, system.n_nodes), -np.inf)
        births[0] = begun
        some = (row >= begin) & (row < begin + rows.size - 1)
        births[row[some] - begin + 1, owner[some]] = start[some]
        births = np.maximum.accumulate(births, axis=0)
        low = np.maximum(edges[rows][:, None], entered)
        high = np.minimum(edges[rows + 1][:, None], left)
        hazard[rows] = _hazard(system, np.maximum(low - births, 0.0), np.maximum(high - low, 0.0))
        begun = births[-1].copy()
        closing = row == rows[-1]
        begun[owner[closing]] = start[closing]
    return hazard[:-1], float(hazard[-1]), int(owner.size - moments.size)


def _groups_of(system: System, groups: pd.Index) -> IntArray:
    """Position among the log's nodes of each node of the system."""
    lookup: dict[Any, int] = {}
    for position, label in enumerate(groups):
        for key in (label, label[-1], str(label[-1])):
            lookup[key] = -2 if key in lookup and lookup[key] != position else position
    places = np.array([lookup.get(name, lookup.get(str(name), -1)) for name in system.names], dtype=np.int64)
    if (places < 0).any():
        name = system.names[int(np.flatnonzero(places < 0)[0])]
        what = "is not in this log" if places[places < 0][0] == -1 else "names more than one node of this log"
        raise ArgumentError(f"node {name!r} {what}", remedy="name the nodes of the system as those of the log")
    if np.unique(places).size < places.size:
        raise ArgumentError("two nodes of the system are one of the log")
    return places
