"""Alarms of forecasts that were missed, and of stock that may run short."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches

import numpy as np
import pandas as pd

from relfit.base.arguments import durations, whole
from relfit.base.errors import ArgumentError
from relfit.base.text import count, duration, number, percent, system_named
from relfit.fleet.surveillance import failures_ahead, missed_counts
from relfit.live.live_records import Alarm, Episode
from relfit.log.failurelog import FailureLog

_SHORT = 0.10  # probability of running short that raises an alarm
_LEAD = "30d"
_NEARLY = 0.85  # likeness of a cause's name to that of a stock
_CAUSES = 8  # named


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
    out: list[Episode] = []
    for system, run, until in missed_counts(forecasts, allowed, now):
        row, name = run.iloc[-1], system_named(system)
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
    for name, value in stock.items():
        given = dict(value) if isinstance(value, Mapping) else {"parts": value}
        if not {"parts"} <= set(given) <= {"parts", "lead_time"}:
            raise ArgumentError(f"the stock of {name!r} cannot be {value!r}", remedy="give a number of parts")
        parts = int(whole(f"stock of {name}", given["parts"], least=0))
        lead = float(durations("lead_time", given.get("lead_time", _LEAD), zero=False))
        ahead = failures_ahead(log, name, lead)
        if ahead is None:
            out += _misspelt(log, str(name), parts)
            continue
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


def _misspelt(log: FailureLog, name: str, parts: int) -> list[Alarm]:
    """An alarm where no failure has the cause of a stock but one has nearly its name, apart from digits."""
    causes = log.events["cause"].dropna().astype(str).value_counts().index.tolist()
    plain = {re.sub(r"\d", "", cause): str(cause) for cause in reversed(causes)}
    stem = re.sub(r"\d", "", name)
    near = [] if name in causes or stem in plain else get_close_matches(stem, plain, 1, _NEARLY)
    if not near:
        return []
    now = log.window.end
    text = f"No failure has the cause {name!r} of the stock of {parts:,}; did you mean {plain[near[0]]!r}?"
    action = f"Name the cause as the log does: {', '.join(causes[:_CAUSES])}."
    return [Alarm("stock", f"cause {name}", now, now, text, action, {"stock": float(parts)})]
