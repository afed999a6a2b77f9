"""Cramer-von Mises test of a Poisson process of power-law or log-linear intensity, with p-values that hold.

Given the number of events, their ages are a sample from the intensity scaled to one. For a power law watched from age
zero the logs of end over age are exponential, so the p-value is that of an exponential with estimated mean and does not
depend on the parameters (Crow 1974 has the critical values); else it comes from a parametric bootstrap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.fitting import fit
from relfit.lifedata import LifeData, key_columns
from relfit.recurrence.histories import BoolArray, EventHistories, FloatArray, IntArray
from relfit.recurrence.likelihoods import Copies, LogLinear, PowerLaw
from relfit.recurrence.processes import ProcessFit, fit_process
from relfit.text import p_value

__all__ = ["GOODNESS_STATUS", "ProcessGoodness", "process_goodness"]

_MOST_EVENTS = 2_000_000  # of all replicates at one time
GOODNESS_STATUS = {
    "ok": "the test was made",
    "no_fit": "the process has no fit in this group",
    "too_few": "fewer than three events that are not the end of their observation",
    "not_computed": "needs a bootstrap; ask for replications",
}


@dataclass(frozen=True, eq=False)
class ProcessGoodness:
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
    replications : int
        Replicates asked for.
    """

    model: str
    groups: pd.Index
    statistic: FloatArray
    p: FloatArray
    crow: FloatArray
    events: IntArray
    source: npt.NDArray[np.object_]
    status: npt.NDArray[np.object_]
    replications: int

    @property
    def sentence(self) -> str:
        """What the tests say, in one sentence."""
        made = self.status == "ok"
        if not made.size:
            return "There is no group whose fit could be tested."
        if not made.any():
            return f"The fit of {self.model} cannot be tested ({GOODNESS_STATUS[str(self.status[0])]})."
        if made.sum() == 1:
            p = float(self.p[made][0])
            how = "does not describe" if p < 0.05 else "may describe"
            return f"A {self.model} process {how} the events (Cramer-von Mises {p_value(p)})."
        return (
            f"The {self.model} process is rejected at 5 % in {int((self.p[made] < 0.05).sum())} of {int(made.sum())} "
            f"groups; chance alone gives {0.05 * made.sum():.3g}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row a group."""
        frame = key_columns(self.groups)
        for name in ("events", "statistic", "crow", "p", "source", "status"):
            frame[name] = getattr(self, name)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Counts of outcomes, ready for JSON."""
        return {
            "model": self.model,
            "groups": len(self.groups),
            "status": {str(k): int(v) for k, v in pd.Series(self.status).value_counts().items()},
            "rejected_at_0.05": int((np.nan_to_num(self.p, nan=1.0) < 0.05).sum()),
            "replications": self.replications,
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"ProcessGoodness: {self.model}, {int((self.status == 'ok').sum())} of {len(self.groups)} groups tested"


def process_goodness(
    found: ProcessFit, replications: int = 499, rng: int | np.random.Generator | None = 0
) -> ProcessGoodness:
    """Test the fit of a power-law or log-linear process in every group.

    Parameters
    ----------
    found : ProcessFit
        Of ``power_law`` or ``log_linear``.
    replications : int
        Of the bootstrap, for log-linear fits and for histories that begin after age zero; 0 for none.
    rng : int or numpy.random.Generator, optional

    Raises
    ------
    ArgumentError
        For another model, or a negative number of replications.

    Examples
    --------
    >>> from relfit.recurrence import EventHistories, fit_process
    >>> found = fit_process(EventHistories.from_groups([[1, 4, 12, 33, 40, 81]], end=100.0))
    >>> found.goodness().status.tolist()
    ['ok']
    """
    if found.model not in ("power_law", "log_linear"):
        raise ArgumentError(f"there is no Cramer-von Mises test of {found.model} here", remedy="use power_law")
    if replications < 0:
        raise ArgumentError(f"replications must be zero or more, not {replications}")
    copies, size = found.arranged, len(found.groups)
    statistic, p, crow = np.full(size, np.nan), np.full(size, np.nan), np.full(size, np.nan)
    status = np.where(found.ok, "ok", "no_fit").astype(object)
    source = np.full(size, "bootstrap", dtype=object)
    events = copies.events.copy()
    if found.model == "power_law":
        late = np.bincount(copies.codes, copies.histories.begin > 0.0, minlength=size)
        free = found.ok & (late == 0)
        source[free] = "table"
        part = np.flatnonzero(free)
        if part.size:
            statistic[part], p[part], crow[part], events[part] = _tabulated(copies.take(part))
    status[found.ok & (events < 3)] = "too_few"
    rest = np.flatnonzero((status == "ok") & (source == "bootstrap"))
    if rest.size:
        statistic[rest] = _distance(copies.take(rest), found.model, found.free[rest, 1])
        if replications:
            p[rest] = _bootstrap(copies.take(rest), found, rest, statistic[rest], replications, rng)
    status[(status == "ok") & np.isnan(p)] = "not_computed"
    for values in (statistic, p, crow):
        values[(status != "ok") & (status != "not_computed")] = np.nan
    return ProcessGoodness(found.model, found.groups, statistic, p, crow, events, source, status, replications)


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
    histories = copies.histories
    cut = (histories.sizes > 0) & (histories.last_event() == histories.end)
    kept = np.ones(histories.times.size, dtype=np.bool_)
    kept[histories.offsets[1:][cut] - 1] = False
    code = copies.event_codes[kept]
    life = np.log(histories.end[histories.codes()[kept]] / histories.times[kept])
    count = np.bincount(code, minlength=copies.n_groups)
    offsets = np.concatenate([[0], np.cumsum(count)]).astype(np.int64)
    test = fit(LifeData(life, np.ones(life.size, np.bool_), offsets, pd.RangeIndex(copies.n_groups)), "exponential")
    good = test["exponential"].goodness(("cvm",), bootstrap=0)
    total = np.bincount(code, life, minlength=copies.n_groups)
    with np.errstate(all="ignore"):
        unbiased = (count - 1.0) / total
        crow = _squared(np.exp(-unbiased[code] * life), code, copies.n_groups)
    crow[count < 2] = np.nan
    return good.statistic[:, 0], good.p[:, 0], crow, count.astype(np.int64)


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
    copies: Copies, found: ProcessFit, rows: IntArray, statistic: FloatArray, replications: int, rng: Any
) -> FloatArray:
    """Share of replicates, drawn from the fit with as many events in each history, that are as far from their fit."""
    generator = np.random.default_rng(rng)
    second = found.free[rows, 1]
    above, made = np.zeros(rows.size), np.zeros(rows.size)
    at_once = max(1, int(_MOST_EVENTS // max(copies.histories.times.size, 1)))
    for first in range(0, replications, at_once):
        times = min(at_once, replications - first)
        drawn = _draw(copies, found.model, second, times, generator)
        labels = np.repeat(np.arange(times * rows.size), np.tile(np.diff(copies.offsets), times))
        again = fit_process(drawn, found.model, labels)
        usable: BoolArray = again.ok.reshape(times, rows.size)
        value = _distance(again.arranged, found.model, again.free[:, 1]).reshape(times, rows.size)
        with np.errstate(invalid="ignore"):
            above += (usable & (value >= statistic)).sum(axis=0)
        made += usable.sum(axis=0)
    return np.where(made > 0, (above + 1.0) / (made + 1.0), np.nan)


def _draw(copies: Copies, model: str, second: FloatArray, times: int, generator: np.random.Generator) -> EventHistories:
    """Replicates of all groups, one set after the other."""
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
