"""Do failures follow the clock: daily and weekly cycles in the log's time zone, with a test that bursts do not fool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.errors import DataError
from relfit.independence.series import Failures, failures_of, words
from relfit.independence.verdicts import ALPHA, LEAST_RATE_VARIATION
from relfit.numeric.ordering import unique_sorted
from relfit.screening.tallies import WEEKDAYS
from relfit.text import p_value, percent
from relfit.units import NANOSECONDS_PER_HOUR

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["Cycles", "cycles"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_PERIODS = (("day", 24, 24), ("week", 168, 7))  # name, hours, cells
_LEAST = 10


@dataclass(frozen=True, eq=False)
class Cycles:
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
        Of an even spread, each day (or week) taken as one observation.
    p_rayleigh, p_chi_square : ndarray of float
        For instants that are independent of each other; bursts make them too small.
    status : ndarray of int8
        ``too_few``: fewer than ten days (or weeks) with a failure.
    timezone : str
    """

    names: tuple[str, ...]
    counts: tuple[IntArray, ...]
    periods: IntArray
    occupied: IntArray
    strength: FloatArray
    peak: FloatArray
    p: FloatArray
    p_rayleigh: FloatArray
    p_chi_square: FloatArray
    status: npt.NDArray[np.int8]
    timezone: str

    @property
    def depends(self) -> bool | None:
        """Whether a cycle is significant at 5 % in all and moves the rate by 10 %; None where neither could be tested.

        By 10 %: the coefficient of variation of the rate, see `relfit.independence.verdicts`. A harmonic that swings by
        twice `strength` has one of ``strength * sqrt(2)``.
        """
        known = self.status == 0
        if not known.any():
            return None
        strong = np.sqrt(2.0) * self.strength[known] >= LEAST_RATE_VARIATION
        return bool(np.any((self.p[known] * known.sum() <= ALPHA) & strong))

    @property
    def sentence(self) -> str:
        """Whether failures follow the clock, and when they are most frequent."""
        parts = []
        for i, name in enumerate(self.names):
            cycle = {"day": "daily", "week": "weekly"}[name]
            if self.status[i]:
                parts.append(f"too few {name}s had a failure to judge a {cycle} cycle")
            elif self.p[i] <= 0.05:
                day, hour = divmod(int(self.peak[i]), 24)
                little = ", too little to matter" if np.sqrt(2.0) * self.strength[i] < LEAST_RATE_VARIATION else ""
                when = f"{hour:02d}:00" if name == "day" else f"{WEEKDAYS[day % 7]} {hour:02d}:00"
                parts.append(
                    f"there is a {cycle} cycle ({p_value(self.p[i])}): the rate swings by "
                    f"{percent(2 * self.strength[i])} and is highest about {when}{little}"
                )
            else:
                parts.append(f"no {cycle} cycle shows ({p_value(self.p[i])})")
        text = "; ".join(parts)
        return f"{text[0].upper()}{text[1:]} ({self.timezone} clock)."

    def plot(self, ax: Any = None) -> Any:
        """Draw the daily cycle; see `relfit.plotting.clock_cycle`."""
        from relfit import plotting

        return plotting.clock_cycle(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """A row a cycle."""
        return pd.DataFrame(
            {
                "cycle": self.names,
                "periods": self.periods,
                "occupied": self.occupied,
                "instants": [int(c.sum()) for c in self.counts],
                "strength": self.strength,
                "peak_hour": self.peak,
                "p": self.p,
                "p_rayleigh": self.p_rayleigh,
                "p_chi_square": self.p_chi_square,
                "status": words(self.status),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        table = self.to_frame().astype(object)
        return {
            "timezone": self.timezone,
            "counts": {n: c.tolist() for n, c in zip(self.names, self.counts, strict=True)},
            "sentence": self.sentence,
            **{str(k): list(v) for k, v in table.where(table.notna(), None).items()},
        }

    def __repr__(self) -> str:
        return f"Cycles: {self.sentence}"

    def _repr_html_(self) -> str:
        return f"<p>{self.sentence}</p>{self.to_frame().to_html(index=False)}"


def cycles(log: FailureLog, failures: Failures | None = None) -> Cycles:
    """Test for a daily and a weekly cycle on the clocks of the log's time zone.

    Failures at one instant count once. The test takes each day (week) as one observation: the vectors of its instants
    on the circle are added, and under an even spread the squared length of the sum over the sum of squared lengths of
    the days is exponential with mean 1. When each day has one failure this is Rayleigh's test. Days that the clocks
    change are taken as all others.

    Parameters
    ----------
    log : FailureLog
        Its ``source.timezone`` is the clock.
    failures : Failures, optional
        Those of `log`, where they are at hand.

    Raises
    ------
    DataError
        For a log of lives without dates, or one observed for no time.

    Examples
    --------
    >>> import relfit as rf
    >>> found = cycles(rf.datasets.load("white"))
    >>> [counts.size for counts in found.counts]
    [24, 7]
    """
    known = failures_of(log) if failures is None else failures
    zone = log.source.timezone
    zero = log.window.start.as_unit("ns").value
    if not known.span > 0:
        raise DataError("this log was observed for no time at all")
    instants = np.concatenate([unique_sorted(known.times), [0, known.span]]) + zero
    clock = pd.DatetimeIndex(pd.to_datetime(instants, utc=True)).tz_convert(zone).tz_localize(None)
    # hours since a Monday's midnight, long ago, on the local clock
    local = clock.as_unit("ns").astype("int64").to_numpy() / NANOSECONDS_PER_HOUR + 72.0
    return _test(local[:-2], float(local[-2]), float(local[-1]), zone)


def _test(hours: FloatArray, start: float, end: float, zone: str) -> Cycles:
    """Test instants (hours since a Monday's midnight, rising) observed from `start` to `end`."""
    rows, counts = [], []
    for _, length, cells in _PERIODS:
        whole = int((end - start) // length)
        inside = hours[(hours >= start) & (hours < start + whole * length)]
        angle = (inside % length) * (2.0 * np.pi / length)
        block = ((inside - start) // length).astype(np.int64)
        cosine = np.bincount(block, weights=np.cos(angle), minlength=whole)
        sine = np.bincount(block, weights=np.sin(angle), minlength=whole)
        cell = np.bincount((inside % length // (length // cells)).astype(np.int64), minlength=cells).astype(np.int64)
        counts.append(cell)
        n, occupied = inside.size, int(np.count_nonzero(np.bincount(block)))
        if occupied < _LEAST:
            rows.append((whole, occupied, np.nan, np.nan, np.nan, np.nan, np.nan, 1))
            continue
        square = float(cosine.sum() ** 2 + sine.sum() ** 2)
        within = float((cosine**2 + sine**2).sum())
        peak = float(np.arctan2(sine.sum(), cosine.sum()) % (2.0 * np.pi) * length / (2.0 * np.pi))
        chi = float(((cell - n / cells) ** 2).sum() / (n / cells))
        rows.append(
            (
                whole, occupied, np.sqrt(square) / n, peak, np.exp(-square / within), _rayleigh(square, n),
                float(special.chdtrc(cells - 1, chi)) if n >= 5 * cells else np.nan, 0,
            )
        )  # fmt: skip
    table = np.array(rows)
    columns: list[FloatArray] = list(table[:, 2:7].T)
    strength, peaks, p, p_rayleigh, p_chi = columns
    return Cycles(
        tuple(name for name, _, _ in _PERIODS), tuple(counts), table[:, 0].astype(np.int64),
        table[:, 1].astype(np.int64), strength, peaks, p, p_rayleigh, p_chi, table[:, 7].astype(np.int8), zone,
    )  # fmt: skip


def _rayleigh(square: float, n: int) -> float:
    """Rayleigh's p-value (Zar 1999, equation 27.4)."""
    return float(min(np.exp(np.sqrt(1.0 + 4.0 * n + 4.0 * (float(n) ** 2 - square)) - (1.0 + 2.0 * n)), 1.0))
