"""Cramer-von Mises test of a Poisson process of power-law or log-linear intensity, with p-values that hold.

Given the number of events, their ages are a sample from the intensity scaled to one. For a power law watched from age
zero the logs of end over age are exponential, so the p-value is that of an exponential with estimated mean and does not
depend on the parameters (Crow 1974 has the critical values); else it comes from a parametric bootstrap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.goodness import tabulated_p
from relfit.numeric.grouped import per_group
from relfit.recurrence.histories import EventHistories, FloatArray, IntArray
from relfit.recurrence.likelihoods import Copies, LogLinear, PowerLaw
from relfit.recurrence.processes import ProcessFit, fit_process
from relfit.results import Result, key_columns
from relfit.text import p_value

__all__ = ["GOODNESS_STATUS", "ProcessGoodness", "process_goodness"]

_MOST_EVENTS = 2_000_000  # of all resamples at one time
GOODNESS_STATUS = {
    "ok": "the test was made",
    "no_fit": "the process has no fit in this group",
    "too_few": "fewer than three events that are not the end of their observation",
    "not_computed": "needs a bootstrap; ask for resamples",
}


@dataclass(frozen=True, eq=False, repr=False)
class ProcessGoodness(Result):
    """Cramer-von Mises test of every group.

    Attributes
    ----------
    model : str
    groups : pandas.Index, shape (groups,)
    statistic, p : ndarray of float, shape (groups,)
        NaN unless the status is ``ok`` (the statistic is given with ``not_computed`` too).
    crow : ndarray of float, shape (groups,)
        Crow's statistic with the unbiased shape, for his tables of critical values; NaN where it is not defined.
    events : ndarray of int, shape (groups,)
        Events that count, without the last of a failure-truncated history where the p-value is tabulated.
    source : ndarray of object, shape (groups,)
        ``table`` or ``bootstrap``.
    status : ndarray of object, shape (groups,)
        See `GOODNESS_STATUS`.
    n_resamples : int
        Of the bootstrap.
    """

    model: str
    groups: pd.Index
    statistic: FloatArray
    p: FloatArray
    crow: FloatArray
    events: IntArray
    source: npt.NDArray[np.object_]
    status: npt.NDArray[np.object_]
    n_resamples: int

    @property
    def headline(self) -> str:
        """What the tests say."""
        made = self.status == "ok"
        if not made.size:
            return "There is no group whose fit could be tested."
        if not made.any():
            return f"The fit of {self.model} cannot be tested ({GOODNESS_STATUS[str(self.status[0])]})."
        if made.sum() == 1:
            p = float(self.p[made][0])
            least = 1.0 / (self.n_resamples + 1) if self.source[made][0] == "bootstrap" else 0.001
            how = "does not describe" if p < 0.05 else "may describe"
            return f"A {self.model} process {how} the events (Cramer-von Mises {p_value(p, least)})."
        return (
            f"The {self.model} process is rejected at 5 % in {int((self.p[made] < 0.05).sum())} of {int(made.sum())} "
            f"groups; chance alone gives {0.05 * made.sum():.3g}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per group."""
        frame = key_columns(self.groups)
        for name in ("events", "statistic", "crow", "p", "source", "status"):
            frame[name] = getattr(self, name)
        return frame


def process_goodness(
    fit: ProcessFit, n_resamples: int = 499, rng: int | np.random.Generator | None = 0
) -> ProcessGoodness:
    """Test the fit of a power-law or log-linear process in every group.

    Parameters
    ----------
    fit : ProcessFit
        Of ``power_law`` or ``log_linear``.
    n_resamples : int
        Of the bootstrap, for log-linear fits and for histories that begin after age zero; 0 for none.
    rng : int or numpy.random.Generator, optional

    Raises
    ------
    ArgumentError
        For another model, or a negative number of resamples.

    Examples
    --------
    >>> from relfit.recurrence import EventHistories, fit_process
    >>> fit = fit_process(EventHistories.from_groups([[1, 4, 12, 33, 40, 81]], end=100.0))
    >>> process_goodness(fit).status.tolist()
    ['ok']
    """
    if fit.model not in ("power_law", "log_linear"):
        raise ArgumentError(f"there is no Cramer-von Mises test of {fit.model} here", remedy="use power_law")
    if n_resamples < 0:
        raise ArgumentError(f"n_resamples must be zero or more, not {n_resamples}")
    copies, size = fit.arranged, len(fit.groups)
    statistic, p, crow = (np.full(size, np.nan) for _ in range(3))
    status = np.where(fit.ok, "ok", "no_fit").astype(object)
    source = np.full(size, "bootstrap", dtype=object)
    events = copies.events.copy()
    if fit.model == "power_law":
        free = fit.ok & (per_group(copies.histories.begin > 0.0, copies.codes, size) == 0)
        source[free] = "table"
        part = np.flatnonzero(free)
        statistic[part], p[part], crow[part], events[part] = _tabulated(copies.take(part))
    status[fit.ok & (events < 3)] = "too_few"
    rest = np.flatnonzero((status == "ok") & (source == "bootstrap"))
    if rest.size:
        statistic[rest] = _distance(copies.take(rest), fit.model, fit.free[rest, 1])
        if n_resamples:
            p[rest] = _bootstrap(copies.take(rest), fit, rest, statistic[rest], n_resamples, rng)
    status[(status == "ok") & np.isnan(p)] = "not_computed"
    for values in (statistic, p, crow):
        values[(status != "ok") & (status != "not_computed")] = np.nan
    return ProcessGoodness(fit.model, fit.groups, statistic, p, crow, events, source, status, n_resamples)


def _squared(uniform: FloatArray, codes: IntArray, size: int) -> FloatArray:
    """Cramer-von Mises distance of the values of each group from the uniform distribution."""
    order = np.lexsort((uniform, codes))
    count = np.bincount(codes, minlength=size)
    first = np.concatenate([[0], np.cumsum(count)])[:-1]
    place = np.arange(uniform.size) - np.repeat(first, count)
    n = np.repeat(count, count).astype(np.float64)
    away = (uniform[order] - (place + 0.5) / n) ** 2
    with np.errstate(divide="ignore"):
        return np.where(count > 0, np.bincount(codes[order], away, minlength=size) + 1.0 / (12.0 * count), np.nan)


def _tabulated(copies: Copies) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Statistic, p-value, Crow's statistic and the events that count."""
    histories, size = copies.histories, copies.n_groups
    cut = (histories.sizes > 0) & (histories.last_event() == histories.end)
    kept = np.ones(histories.times.size, dtype=np.bool_)
    kept[histories.offsets[1:][cut] - 1] = False
    code = copies.event_codes[kept]
    log = np.log(histories.end[histories.codes()[kept]] / histories.times[kept])
    count = np.bincount(code, minlength=size)
    with np.errstate(all="ignore"):
        rate = count / per_group(log, code, size)
        statistic = _squared(np.exp(-rate[code] * log), code, size)
        crow = _squared(np.exp(-(rate * (count - 1.0) / count)[code] * log), code, size)
    crow[count < 2] = np.nan
    return statistic, tabulated_p("exponential", "cvm", statistic, count), crow, count.astype(np.int64)


def _shares(copies: Copies, model: str, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Expected events by each event and by the end of its history, both since its beginning, at a mean of one."""
    kind = PowerLaw if model == "power_law" else LogLinear
    history, unit = copies.histories.codes(), copies.latest[copies.event_codes]
    parameter = second[copies.event_codes]
    begin, end = copies.histories.begin[history] / unit, copies.histories.end[history] / unit
    with np.errstate(all="ignore"):
        return kind.integral(parameter, begin, copies.histories.times / unit), kind.integral(parameter, begin, end)


def _distance(copies: Copies, model: str, second: FloatArray) -> FloatArray:
    by_event, whole = _shares(copies, model, second)
    with np.errstate(all="ignore"):
        return _squared(by_event / whole, copies.event_codes, copies.n_groups)


def _bootstrap(
    copies: Copies,
    fit: ProcessFit,
    rows: IntArray,
    statistic: FloatArray,
    n_resamples: int,
    rng: int | np.random.Generator | None,
) -> FloatArray:
    """Share of samples, drawn from the fit with as many events in each history, that are as far from their fit."""
    generator = np.random.default_rng(rng)
    second = fit.free[rows, 1]
    above, made = np.zeros(rows.size), np.zeros(rows.size)
    at_once = max(1, int(_MOST_EVENTS // max(copies.histories.times.size, 1)))
    for first in range(0, n_resamples, at_once):
        times = min(at_once, n_resamples - first)
        drawn = _draw(copies, fit.model, second, times, generator)
        labels = np.repeat(np.arange(times * rows.size), np.tile(np.diff(copies.offsets), times))
        again = fit_process(drawn, fit.model, labels)
        usable = again.ok.reshape(times, rows.size)
        value = _distance(again.arranged, fit.model, again.free[:, 1]).reshape(times, rows.size)
        with np.errstate(invalid="ignore"):
            above += (usable & (value >= statistic)).sum(axis=0)
        made += usable.sum(axis=0)
    return np.where(made > 0, (above + 1.0) / (made + 1.0), np.nan)


def _draw(copies: Copies, model: str, second: FloatArray, times: int, generator: np.random.Generator) -> EventHistories:
    """Samples of all groups, one set after another."""
    histories, history = copies.histories, copies.histories.codes()
    unit, parameter = copies.latest[copies.event_codes], second[copies.event_codes]
    begin, end = histories.begin[history] / unit, histories.end[history] / unit
    u = generator.random((times, history.size))
    if model == "power_law":
        b = np.exp(parameter)
        at = (begin**b + u * (end**b - begin**b)) ** (1.0 / b)
    else:
        steep = np.abs(parameter * (end - begin)) > 1e-8
        g = np.where(steep, parameter, 1.0)
        at = begin + np.where(steep, np.log1p(u * np.expm1(g * (end - begin))) / g, u * (end - begin))
    at = np.clip(at, begin, end) * unit
    at = np.clip(at, histories.begin[history], histories.end[history])
    owner = (np.arange(times)[:, None] * histories.n_histories + history).ravel()
    order = np.lexsort((at.ravel(), owner))
    offsets = np.concatenate([[0], np.cumsum(np.tile(histories.sizes, times))]).astype(np.int64)
    return EventHistories.from_flat(
        at.ravel()[order], offsets, np.tile(histories.end, times), begin=np.tile(histories.begin, times)
    )
