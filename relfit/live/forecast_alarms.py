"""Alarms of forecasts that were missed, and of stock that may run short."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from relfit.base.arguments import durations, whole
from relfit.base.errors import ArgumentError
from relfit.base.text import count, duration, number, percent, system_named
from relfit.base.units import HOURS_PER_YEAR, nanoseconds
from relfit.fleet.prediction import TimeSteps, levels_of, mix
from relfit.fleet.surveillance import tails_of_counts
from relfit.live.live_records import Alarm, Episode
from relfit.log.failurelog import FailureLog

__all__ = ["missed_forecasts", "short_stock"]

_OVERLAP = 3.0  # independent forecasts per horizon that overlapping ones are worth
_SHORT = 0.10  # probability of running short that raises an alarm
_LEAD = "30d"


def missed_forecasts(forecasts: pd.DataFrame, allowed: float, now: pd.Timestamp) -> list[Episode]:
    """Alarms of counts far outside their forecast, one of each system at a time.

    Parameters
    ----------
    forecasts : pandas.DataFrame
        Scored: ``made``, ``system``, ``horizon_hours``, ``mean``, ``lower``, ``upper``, ``level``, ``happened``.
    allowed : float
        False alarms per year.
    now : pandas.Timestamp
    """
    known = forecasts[forecasts["happened"].notna()].copy()
    if not len(known):
        return []
    known["end"] = known["made"] + pd.to_timedelta(known["horizon_hours"], unit="h")
    known = known[known["end"] <= now].sort_values("end", kind="stable")
    known = known[~known.assign(day=known["made"].dt.floor("D")).duplicated(["system", "horizon_hours", "day"])]
    streams = known.drop_duplicates(["system", "horizon_hours"])["horizon_hours"]
    a_year = float(np.minimum(HOURS_PER_YEAR / 24.0, _OVERLAP * HOURS_PER_YEAR / streams).sum())
    columns = (known[name].to_numpy(np.float64) for name in ("happened", "mean", "upper", "level"))
    known["p"] = tails_of_counts(*columns)
    missed = known[known["p"] <= allowed / max(a_year, 1e-9)]
    out: list[Episode] = []
    for system, rows in missed.groupby("system", sort=False):
        over = rows["end"] + pd.to_timedelta(rows["horizon_hours"], unit="h")
        new = (rows["end"] > over.cummax().shift()).cumsum()
        for _, run in rows.groupby(new):
            row, until = run.iloc[-1], over[run.index].max()
            name = system_named(str(system))
            text = (
                f"The forecast of {name} was missed: {count(int(row['happened']), 'incident')} came in "
                f"{duration(float(row['horizon_hours']))} from {row['made']:%Y-%m-%d}, {number(row['mean'])} "
                f"({number(row['lower'])}-{number(row['upper'])}) were forecast."
            )
            alarm = Alarm(
                "forecast",
                name,
                run.iloc[0]["made"],
                run.iloc[0]["end"],
                text,
                "Plan with a margin until forecasts hold again, and look at what else changed.",
                {name: float(row[name]) for name in ("happened", "mean", "lower", "upper", "p")},
            )
            out.append(Episode(alarm, until if until < now else None))
    return out


def short_stock(log: FailureLog, stock: Mapping[str, object]) -> list[Alarm]:
    """Alarms of parts that may run short within their lead time, one part per failure.

    Parameters
    ----------
    log : FailureLog
    stock : mapping
        By cause a number of parts, or a mapping of ``parts`` and ``lead_time`` (by default 30 days).

    Raises
    ------
    ArgumentError
        For what is not a number of parts.
    """
    out, now = [], log.window.end
    steps = TimeSteps.of(log.window.start, now)
    at, cause = nanoseconds(log.events["start"]), log.events["cause"].astype(object)
    begun = ~log.events["start_cut"].to_numpy(bool)
    for name, value in stock.items():
        given = dict(value) if isinstance(value, Mapping) else {"parts": value}
        if not {"parts"} <= set(given) <= {"parts", "lead_time"}:
            raise ArgumentError(f"the stock of {name!r} cannot be {value!r}", remedy="give a number of parts")
        parts = int(whole(f"stock of {name}", given["parts"], least=0))
        lead = float(durations("lead_time", given.get("lead_time", _LEAD), zero=False))
        counts = steps.counts(at[begun & (cause == name).to_numpy()])[0]
        if not counts.any():
            continue
        one = np.ones(steps.size)
        ahead = mix(levels_of(counts, one, steps.days), counts, one, lead / steps.width, 1.0)
        short = 1.0 - float(ahead.cdf(np.array(parts)))
        if short >= _SHORT:
            enough = int(ahead.quantile(0.95))
            out.append(
                Alarm(
                    "stock",
                    f"cause {name}",
                    now,
                    now,
                    f"Parts for {name} may run short: {parts:,} in stock, {number(ahead.expected)} needed in "
                    f"{duration(lead)}, chance of too few {percent(min(short, 0.99))}.",
                    f"Order {enough - parts:,} now: {enough:,} last with probability 95 %.",
                    {"stock": float(parts), "expected": ahead.expected, "chance": short, "enough": float(enough)},
                )
            )
    return out
