"""Whether repairs take longer after failures on some days of the week or at some times of the day."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import special

from relfit.analyses.screening._incidents import incidents
from relfit.base.arrays import FloatArray
from relfit.base.results import Result
from relfit.base.text import duration, p_value
from relfit.base.units import NANOSECONDS_PER_HOUR
from relfit.log.failurelog import FailureLog
from relfit.log.outages import clock_step, outages_of, timed_repairs
from relfit.log.tables import made_once

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_HOURS = ("0 to 6", "6 to 12", "12 to 18", "18 to 24")
_FEWEST = 10  # repairs in each of at least two groups
_WORKING = 5  # days of a week
_ALPHA = 0.05


class RepairClock(Result):
    """Repairs by the weekday and the time of day of the failure; made by `repair_clock`.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per weekday and per six hours of the day: ``clock`` (``weekday`` or ``hours``), ``when``, ``repairs``
        with a known end (one per incident), their ``mean`` in hours and, of the first of each day (of each six hours),
        their ``median``: a few very long ones make the mean.
    p : tuple of float
        That repairs are alike on all weekdays, and at all times of the day, from the groups with the longest and the
        shortest median, adjusted for the choice of both; NaN with too few repairs.
    timezone : str
    alpha : float
        Size of both tests together.
    """

    table: pd.DataFrame
    p: tuple[float, float]
    timezone: str
    alpha: float = _ALPHA

    _frame = "table"

    @property
    def p_adjusted(self) -> tuple[float, float]:
        """P-values adjusted for two tests (Bonferroni)."""
        tested = int(np.isfinite(self.p).sum())
        weekday, hours = (min(tested * p, 1.0) for p in self.p)
        return weekday, hours

    @property
    def depends(self) -> bool | None:
        """Whether repairs depend on the weekday or the time of day; None with too few of them."""
        return None if np.isnan(self.p).all() else bool(np.nanmin(self.p_adjusted) <= self.alpha)

    @property
    def headline(self) -> str:
        """The longest and the shortest median repair, where they differ."""
        if self.depends is None:
            return "Too few repairs to say whether they depend on the weekday or the time of day."
        if not self.depends:
            least = p_value(float(np.nanmin(self.p_adjusted)))
            return f"No dependence of repair times on the weekday or the time of day is found ({least})."
        parts = []
        for clock, p, how in zip(("weekday", "hours"), self.p_adjusted, ("on a {}", "from {} h"), strict=True):
            if not p <= self.alpha:
                continue
            rows = self.table[self.table["clock"] == clock].dropna().sort_values("median", kind="stable")
            (least, early), (most, late) = (
                (duration(float(row["median"])), how.format(row["when"])) for _, row in rows.iloc[[0, -1]].iterrows()
            )
            parts.append(f"{most} if a node fails {late}, {least} {early} ({p_value(p)})")
        why = ": repairs wait for working days" if self._waits else ""
        return f"Median repairs take {'; '.join(parts)}{why} ({self.timezone} clock)."

    @property
    def _waits(self) -> bool:
        """Whether the longest repairs are those after failures before or on days that are not worked."""
        days = self.table[self.table["clock"] == "weekday"]
        usual = days["median"].iloc[: _WORKING - 1].max()
        return bool(self.p_adjusted[0] <= self.alpha and (days["median"].iloc[_WORKING:] > usual).all())


@made_once
def repair_clock(log: FailureLog) -> RepairClock:
    """Test whether repairs depend on the weekday and the time of day at which the failure began.

    Both are Kruskal and Wallis' rank test of the groups with the longest and the shortest median, its p-value times the
    number of pairs of groups. An incident has one repair, that of its first outage; so that a day on which all repairs
    take long is one observation, only the first incident of each day (of each six hours) is tested.

    Parameters
    ----------
    log : FailureLog
        Its ``source.timezone`` is the clock.

    Examples
    --------
    >>> import relfit as rf
    >>> repair_clock(rf.datasets.load("white")).table["clock"].value_counts().to_dict()
    {'weekday': 7, 'hours': 4}
    """
    outages, zone = outages_of(log), log.source.timezone
    hours = (outages.end - outages.start) / NANOSECONDS_PER_HOUR
    used = outages.failures & outages.end_known & ~outages.end_cut
    used[used] = timed_repairs(hours[used], clock_step(log))
    rows = np.flatnonzero(used)
    rows = rows[np.argsort(outages.start[rows], kind="stable")]
    rows = rows[np.sort(np.unique(incidents(log).incident[outages.row[rows]], return_index=True)[1])]
    clock = pd.DatetimeIndex(pd.to_datetime(outages.start[rows], utc=True)).tz_convert(zone)
    day, block = clock.dayofweek.to_numpy(), clock.hour.to_numpy() // 6
    date = clock.tz_localize(None).normalize().as_unit("ns").astype("int64").to_numpy()
    p, tables = [], []
    both = (("weekday", _DAYS, day, date), ("hours", _HOURS, block, date + block))
    for name, labels, group, observation in both:
        first = np.sort(np.unique(observation, return_index=True)[1])
        of_group = [hours[rows[first]][group[first] == g] for g in range(len(labels))]
        median = [np.median(values) if values.size >= _FEWEST else np.nan for values in of_group]
        tested = int(np.isfinite(median).sum())
        extremes = [of_group[int(np.nanargmin(median))], of_group[int(np.nanargmax(median))]] if tested > 1 else []
        p.append(float(np.minimum(kruskal_wallis(extremes) * (tested * (tested - 1) // 2), 1.0)))
        number = np.bincount(group, minlength=len(labels))
        with np.errstate(invalid="ignore"):
            mean = np.bincount(group, hours[rows], len(labels)) / number
        tables.append(pd.DataFrame({"clock": name, "when": labels, "repairs": number, "mean": mean, "median": median}))
    return RepairClock(pd.concat(tables, ignore_index=True), (p[0], p[1]), zone)


def kruskal_wallis(groups: list[FloatArray]) -> float:
    """The p-value of equal distributions, by chi-square, ties allowed for; NaN for one group, or values all alike."""
    if len(groups) < 2:
        return np.nan
    every = np.concatenate(groups)
    number, sizes = every.size, [values.size for values in groups]
    _, place, ties = np.unique(every, return_inverse=True, return_counts=True)
    if ties.size < 2:
        return np.nan
    ranks = (np.cumsum(ties) - 0.5 * (ties - 1.0))[place]
    squares = sum(part.sum() ** 2 / part.size for part in np.split(ranks, np.cumsum(sizes)[:-1]))
    spread = 1.0 - ((ties**3 - ties) / (float(number) ** 3 - number)).sum()
    statistic = (12.0 * squares / (number * (number + 1.0)) - 3.0 * (number + 1.0)) / spread
    return float(special.chdtrc(len(groups) - 1, statistic))
