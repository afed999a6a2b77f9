"""Daily and weekly cycles of failures in the log's time zone, with a test that bursts do not mislead."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.analyses.independence.series import NodeSeries, failures_of
from relfit.analyses.independence.thresholds import ALPHA, LEAST_RATE_VARIATION, compared, verdict
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import DataError
from relfit.base.numeric.ordering import different
from relfit.base.results import Result, json_ready
from relfit.base.text import p_value, percent
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.log.failurelog import FailureLog
from relfit.log.tables import check_log

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


_PERIODS = (("day", "daily", 24, 24), ("week", "weekly", 168, 7))  # name, adjective, hours, cells
_LEAST = 10


class Cycles(Result):
    """The daily and the weekly cycle (in this order) of the instants at which something failed.

    Attributes
    ----------
    names : tuple of str
        ``day``, ``week``.
    counts : tuple of ndarray of int
        Instants by hour of the day (24) and by day of the week (7, Monday first), over whole days and weeks.
    periods : ndarray of int
        Whole days and weeks observed.
    occupied : ndarray of int
        How many of them had a failure.
    strength : ndarray of float
        Length of the mean vector on the circle, 0 (even) to 1 (always at one time); the rate of the first harmonic
        swings by twice this around its mean.
    peak : ndarray of float
        Hours after midnight, or after Monday's midnight, at which the first harmonic is highest.
    p : ndarray of float
        Of an even spread, each day (or week) taken as one observation. Sentences say `p_adjusted`.
    status : ndarray of object
        ``ok``, ``too_few`` (fewer than ten days or weeks with a failure) or ``coarse`` (the clock's step hides it).
    timezone : str
    alpha : float
        Size of the test behind `depends`; `dependence` divides its own among its tests.
    """

    names: tuple[str, ...]
    counts: tuple[IntArray, ...]
    periods: IntArray
    occupied: IntArray
    strength: FloatArray
    peak: FloatArray
    p: FloatArray
    status: npt.NDArray[np.object_]
    timezone: str
    alpha: float = ALPHA

    @property
    def _matters(self) -> npt.NDArray[np.bool_]:
        """Cycles that move the rate by 10 %: a harmonic that swings by ``2 s`` has a variation of ``s sqrt(2)``."""
        return np.asarray(np.sqrt(2.0) * self.strength >= LEAST_RATE_VARIATION, dtype=np.bool_)

    @property
    def depends(self) -> bool | None:
        """Whether a cycle is significant at `alpha` and moves the rate by 10 %; None with too few failures.

        By 10 %: the coefficient of variation of the rate, see `relfit.analyses.independence.thresholds`.
        """
        if not (self.status == "ok").any():
            return None
        return verdict(bool(np.any(self.significant & self._matters)), int(self.counts[0].sum()))

    @property
    def p_adjusted(self) -> FloatArray:
        """P-values adjusted for the number of cycles that are tested (Bonferroni); `alpha` is for these."""
        return np.minimum((self.status == "ok").sum() * self.p, 1.0)

    @property
    def significant(self) -> npt.NDArray[np.bool_]:
        """Cycles whose adjusted p-value is at most `alpha`."""
        return np.asarray(self.p_adjusted <= self.alpha, dtype=np.bool_)

    @property
    def p_overall(self) -> float:
        """Of both cycles together."""
        return float(np.nanmin(self.p_adjusted)) if (self.status == "ok").any() else np.nan

    @property
    def peak_times(self) -> tuple[str, ...]:
        """Each peak as a clock and a calendar have it, such as ``14:20`` and ``Wed 08:40``; empty where there is none.

        Examples
        --------
        >>> import relfit as rf
        >>> cycles(rf.datasets.load("white")).peak_times
        ('14:00', 'Wed 10:16')
        """
        times = []
        for name, peak in zip(self.names, self.peak, strict=True):
            if np.isnan(peak):
                times.append("")
                continue
            day, minutes = divmod(round(60.0 * peak) % (7 * 24 * 60), 24 * 60)
            clock = f"{minutes // 60:02d}:{minutes % 60:02d}"
            times.append(clock if name == "day" else f"{WEEKDAYS[day][:3]} {clock}")
        return tuple(times)

    @property
    def headline(self) -> str:
        """Whether failures follow the clock, and when they are most frequent."""
        parts = []
        for i, (name, cycle, _, _) in enumerate(_PERIODS):
            if self.status[i] == "coarse":
                parts.append(f"the log's clock is too coarse to show a {cycle} cycle")
            elif self.status[i] != "ok":
                parts.append(f"too few {name}s had a failure to judge a {cycle} cycle")
            elif self.significant[i]:
                day, hour = divmod(int(self.peak[i]), 24)
                little = "" if self._matters[i] else ", too little to matter"
                when = f"{hour:02d}:00" if name == "day" else f"{WEEKDAYS[day % 7]} {hour:02d}:00"
                parts.append(
                    f"there is a {cycle} cycle of failures ({p_value(self.p_adjusted[i])}): the rate swings by "
                    f"±{percent(2 * self.strength[i])} and is highest about {when}{little}"
                )
            else:
                parts.append(f"no {cycle} cycle of failures shows ({compared(float(self.p_adjusted[i]), self.alpha)})")
        text = "; ".join(parts)
        return f"{text[0].upper()}{text[1:]} ({self.timezone} clock)."

    def to_frame(self) -> pd.DataFrame:
        """One row per cycle."""
        instants = [int(c.sum()) for c in self.counts]
        counts = {"periods": self.periods, "occupied": self.occupied, "instants": instants}
        numbers = {"strength": self.strength, "peak_hour": self.peak, "p": self.p, "p_adjusted": self.p_adjusted}
        return pd.DataFrame({"cycle": self.names, **counts, **numbers, "status": self.status})

    def to_dict(self) -> dict[str, Any]:
        """The fields, and `p_adjusted`."""
        return {**super().to_dict(), "p_adjusted": json_ready(self.p_adjusted)}


def cycles(log: FailureLog, failures: NodeSeries | None = None) -> Cycles:
    """Test for a daily and a weekly cycle on the clocks of the log's time zone.

    Failures at one instant count once. The test takes each day (week) as one observation: the vectors of its instants
    on the circle are added, and under an even spread the squared length of the sum over the sum of squared lengths of
    the days is exponential with mean 1. When each day has one failure this is Rayleigh's test. Days on which the clocks
    change are treated as any other.

    Parameters
    ----------
    log : FailureLog
        Its ``source.timezone`` is the clock.
    failures : NodeSeries, optional
        Failures of `log`, to reuse.

    Raises
    ------
    DataError
        For a log of lifetimes without dates, or one observed for no time.

    Examples
    --------
    >>> import relfit as rf
    >>> result = cycles(rf.datasets.load("white"))
    >>> [counts.size for counts in result.counts]
    [24, 7]
    """
    check_log(log)
    every = failures_of(log) if failures is None else failures
    zone = log.source.timezone
    zero = log.window.start.as_unit("ns").value
    if not every.span > 0:
        raise DataError("this log was observed for no time at all")
    instants = np.concatenate([different(every.times), [0, every.span]]) + zero
    clock = pd.DatetimeIndex(pd.to_datetime(instants, utc=True)).tz_convert(zone).tz_localize(None)
    # hours since a Monday's midnight, long ago, on the local clock
    local = clock.as_unit("ns").astype("int64").to_numpy() / NANOSECONDS_PER_HOUR + 72.0
    return cycles_of_instants(local[:-2], float(local[-2]), float(local[-1]), zone, every.step / NANOSECONDS_PER_HOUR)


def cycles_of_instants(hours: FloatArray, start: float, end: float, zone: str, step: float = 0.0) -> Cycles:
    """Test instants (hours since a Monday's midnight, rising), seen from `start` to `end` by a clock of this step."""
    counts, status = [], np.full(len(_PERIODS), "too_few", dtype=object)
    periods, occupied = np.zeros(len(_PERIODS), np.int64), np.zeros(len(_PERIODS), np.int64)
    strength, peak, p = (np.full(len(_PERIODS), np.nan) for _ in range(3))
    for i, (_, _, length, cells) in enumerate(_PERIODS):
        periods[i] = int((end - start) // length)
        inside = hours[(hours >= start) & (hours < start + periods[i] * length)]
        counts.append(np.bincount((inside % length // (length // cells)).astype(np.int64), minlength=cells))
        of_period = ((inside - start) // length).astype(np.int64)
        occupied[i] = different(of_period).size
        if 2.0 * step > length:
            status[i] = "coarse"
        if occupied[i] < _LEAST or status[i] == "coarse":
            continue
        vector = np.exp(2j * np.pi * (inside % length) / length)
        sums = np.bincount(of_period, vector.real) + 1j * np.bincount(of_period, vector.imag)
        total = sums.sum()
        status[i], strength[i] = "ok", abs(total) / inside.size
        peak[i] = np.angle(total) % (2.0 * np.pi) * length / (2.0 * np.pi)
        p[i] = np.exp(-(abs(total) ** 2) / (np.abs(sums) ** 2).sum())
    names = tuple(name for name, *_ in _PERIODS)
    return Cycles(names, tuple(counts), periods, occupied, strength, peak, p, status, zone)
