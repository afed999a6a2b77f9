"""`Period` and `ChangePoints`: periods of constant failure rate, and which of them is the stable one."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.analyses.screening.segmentation import steps_or_trend
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.results import Result
from relfit.base.text import count, duration, interval, number
from relfit.base.units import HOURS_PER_YEAR

LEAST_SHARE = 1.0 / 6.0  # of the exposure: a period that is long enough
FEWEST = 10  # failures that a fit needs
_MONTH = 500.0  # hours
_NINE_OF_TEN = 1.28  # standard errors beyond a threshold that nine of ten logs pass
_MOST = 0.67  # change of a rate either way, relative to its mean: by a factor of five


class Period(Result):
    """A period with a constant failure rate.

    Attributes
    ----------
    start, end : pandas.Timestamp
        In the log's time zone; ``log.between(period.start, period.end)`` is the log in that period.
    start_low, start_high : pandas.Timestamp
        Confidence interval of its start; the start itself where that is the log's.
    name : str
        ``"steady"``, ``"higher early rate"``, ``"higher later rate"``, ``"earlier"`` or ``"later"``.
    failures : int
    exposure : float
        Hours under observation, summed over the nodes (hours of the log where it does not know its nodes).
    rate, low, high : float
        Failures per hour of exposure, with its confidence interval.
    per : str
        ``"node-year"``, or ``"year"`` where the log does not know its nodes: the unit of the rate in headlines.
    """

    start: pd.Timestamp
    end: pd.Timestamp
    start_low: pd.Timestamp
    start_high: pd.Timestamp
    name: str
    failures: int
    exposure: float
    rate: float
    low: float
    high: float
    per: str = "node-year"

    @property
    def hours(self) -> float:
        """Length in hours."""
        return float((self.end - self.start) / pd.Timedelta(hours=1))

    def rates(self, of: str = "failures") -> str:
        """The rate with its unit and confidence interval."""
        rate, low, high = (number(HOURS_PER_YEAR * x) for x in (self.rate, self.low, self.high))
        return interval(f"{rate} {of} per {self.per}", low, high)

    def times(self, other: Period) -> str:
        """The rate as a multiple of another period's."""
        if not other.rate > 0.0:
            return "above zero"
        ratio = self.rate / other.rate
        return f"{ratio:.2g} times" if abs(ratio - 1.0) > 0.05 else "about"

    @property
    def headline(self) -> str:
        """When it was, and its rate."""
        dates = f"{self.start:%Y-%m-%d} to {self.end:%Y-%m-%d}"
        return f"{self.name}, {dates}: {count(self.failures, 'failure')}, {self.rates()}."

    def to_frame(self) -> pd.DataFrame:
        """One row."""
        return pd.DataFrame([{name: getattr(self, name) for name in self.__dataclass_fields__}])


class ChangePoints(Result):
    """The periods of a log, in the order of time.

    Attributes
    ----------
    periods : tuple of Period
    stable : int
        Position of the stable one: the most recent that is long enough and has enough failures for a fit.
    of : str
        What was counted: ``"incidents"`` or ``"records"``.
    penalty : float
        What a change must add to the log-likelihood.
    dispersion : float
        Scatter relative to Poisson, of neighbouring bins or from month to month, at least 1; intervals of rates are
        wider by its square root.
    p : float
        Probability that a log with a constant rate shows a change as clear as the clearest one here, relative to
        `dispersion`; there are several periods only if it is at most `alpha`.
    level : float
    edges, counts, exposure : ndarray
        Bins: nanoseconds since 1970 (bins + 1), failures and node-hours in each.
    status : str
        ``"ok"``, or ``"too_few"``: fewer than ten failures, which are one period.
    least_change : float
        Neighbouring periods whose rates differ by a smaller factor were joined.
    unwatched : int
        Failures at times when no node was under observation; they are left out.
    uneven_hours, uneven : float
        Span in hours, a week or a month, over which counts vary most beyond those of a fleet with the periods' rates,
        and by how many times; NaN where over neither.
    first_year : float
        Failure rate of nodes in their first year over that of the others, if these alone show no such variation; NaN if
        they do, or where no node is known to have joined.
    """

    periods: tuple[Period, ...]
    stable: int
    of: str
    penalty: float
    dispersion: float
    p: float
    level: float
    edges: IntArray
    counts: IntArray
    exposure: FloatArray
    status: str
    least_change: float
    unwatched: int
    uneven_hours: float = np.nan
    uneven: float = np.nan
    first_year: float = np.nan

    _not_in_json = ("edges", "counts", "exposure")

    def __len__(self) -> int:
        return len(self.periods)

    @property
    def stable_period(self) -> Period:
        """The most recent one that is long enough and has enough failures for a fit."""
        return self.periods[self.stable]

    @property
    def gradual(self) -> bool:
        """Whether a steady rise or fall of the rate explains the counts better than sudden changes do."""
        starts = [period.start.as_unit("ns").value for period in self.periods]
        cuts = np.append(np.searchsorted(self.edges, starts), self.counts.size)
        steps, trend = steps_or_trend(self.counts, self.exposure, cuts)
        return trend > steps and len(self) > 1

    @property
    def headline(self) -> str:
        """When the rate changed, and what it was; `relfit.fleet.chosen_period` says which part of the log is used."""
        period = self.stable_period
        tail = f" Failures at times without exposure left out: {self.unwatched:,}." if self.unwatched else ""
        if self.status == "too_few":
            be = "is" if period.failures == 1 else "are"
            few = f"There {be} only {count(period.failures, 'failure')}, too few to distinguish periods"
            return f"{few}.{tail}"
        if len(self) == 1:
            text = f"{self.finding[:1].upper()}{self.finding[1:]}: {period.rates(self.of)}"
            return f"{text}.{self.evidence}{tail}"
        if self.stable == len(self) - 1:
            text = f"Since {period.start:%Y-%m-%d} the failure rate has been {period.rates(self.of)}"
        else:
            dates = f"{period.start:%Y-%m-%d} to {period.end:%Y-%m-%d}"
            text = f"From {dates} the failure rate was {period.rates(self.of)}"
        if self.stable:
            text += f"; just before, it was {self.periods[self.stable - 1].times(period)} that of this period"
        return text + self._since() + "." + (self.evidence if self.uneven > 1.0 else "") + tail

    @property
    def finding(self) -> str:
        """What is found of a log of one period, in a few words."""
        if self.uneven > 1.0:
            spells = "weeks" if self.uneven_hours < _MONTH else "months"
            young = f" of nodes in their first year, which fail {number(self.first_year)} times as often as others"
            why = young if self.first_year > 1.0 else ""
            return f"no sudden change of the failure rate is found, but good and bad {spells}{why}"
        return "no sudden change of the failure rate is found"

    @property
    def evidence(self) -> str:
        """How uneven counts are, or which change would have been found; begins with a blank, empty where neither."""
        if self.uneven > 1.0:
            counts = f"{'Within periods, counts' if len(self) > 1 else 'Counts'} of {duration(self.uneven_hours)}"
            return f" {counts} vary {number(self.uneven, 2)} times as much as by chance."
        failures = sum(one.failures for one in self.periods)
        change = (np.sqrt(2.0 * self.penalty) + _NINE_OF_TEN) * np.sqrt(self.dispersion / max(failures, 1))
        if not change < _MOST:
            return f" But {count(failures, 'failure is', 'failures are')} too few to find any but a large change."
        factor = max((1.0 + change) / (1.0 - change), self.least_change)
        return f" A rate that changed half way by a factor of {number(factor, 2)} would show in 9 of 10 logs."

    def _since(self) -> str:
        """What the rate did after the period to use: of at most two periods each, of more the last one."""
        period, later = self.stable_period, self.periods[self.stable + 1 :]
        parts: list[str] = []
        for i, other in enumerate(later if len(later) <= 2 else later[-1:]):
            last = other is later[-1]
            when = f"since {other.start:%Y-%m-%d}" if last else f"from {other.start:%Y-%m-%d} to {other.end:%Y-%m-%d}"
            was = "has been" if last else "was"
            if not other.failures:
                parts.append(f"{when} there {was} no failure at all")
            elif not parts or not later[i - 1].failures:
                parts.append(f"{when} the failure rate {was} {other.times(period)} that of this period")
            else:
                parts.append(f"{when} {other.times(period)} that")
        text = f"; {', '.join(parts)}" if parts else ""
        least = LEAST_SHARE * sum(one.exposure for one in self.periods)
        passed = [one for one in later if one.exposure >= least and one.failures < FEWEST]
        if passed:
            failures = passed[-1].failures
            few = f"{failures} in that time are too few for a fit" if failures else "nothing to fit to"
            text += f" ({few}; was the log kept up?)"
        return text

    def to_frame(self) -> pd.DataFrame:
        """One row per period."""
        return pd.concat([period.to_frame() for period in self.periods], ignore_index=True)
