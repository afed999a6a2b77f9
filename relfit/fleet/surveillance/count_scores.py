"""Forecasts of counts compared with the outcome: interval scores, tail probabilities of counts, tables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy import special

from relfit.analyses.screening import incidents
from relfit.base.arrays import FloatArray
from relfit.base.text import count, duration, number, percent
from relfit.base.units import HOURS_PER_YEAR, NANOSECONDS_PER_HOUR, nanoseconds
from relfit.fleet.prediction import Prediction, TimeSteps, levels_of, mix
from relfit.log.failurelog import FailureLog
from relfit.log.outages import records_counted

_OVERLAP = 3.0  # independent forecasts per horizon that overlapping ones are worth

_COLUMNS = ["made", "system", "horizon_hours", "mean", "lower", "upper", "level", "happened", "score"]


def scored(forecasts: pd.DataFrame, log: FailureLog) -> pd.DataFrame:
    """Forecasts with their outcome, for those whose horizon is over by the end of a log.

    Parameters
    ----------
    forecasts : pandas.DataFrame
        From `relfit.live.forecast_record`, of any days.
    log : FailureLog

    Returns
    -------
    pandas.DataFrame
        With ``happened``, the incidents of the system over the horizon, and ``score``, the interval score of Gneiting
        and Raftery (2007): width of the interval, plus ``2 / (1 - level)`` times the distance of an outcome outside.
        Both stay missing for a system that was not watched to the end of the horizon, and but for the first forecast of
        a system and horizon on each day.

    Examples
    --------
    >>> import relfit as rf
    >>> log = rf.datasets.load("white")
    >>> past = pd.DataFrame({"made": pd.Timestamp("2004-08-01", tz="UTC"), "system": "white",
    ...     "horizon_hours": [168.0, 720.0], "lower": 20.0, "upper": 50.0, "level": 0.95})
    >>> scored(past, log)[["happened", "score"]].round(3).to_numpy().tolist()
    [[41.0, 30.0], [185.0, 5430.0]]
    """
    out = forecasts.reindex(columns=_COLUMNS).copy()
    made = pd.to_datetime(out["made"], utc=True)
    begin = nanoseconds(made)
    end = begin + (out["horizon_hours"].to_numpy(np.float64) * NANOSECONDS_PER_HOUR).astype(np.int64)
    people = log.population
    left = people.groupby(people["system"].astype(str))["left"].max()
    table = incidents(log).table
    systems, began = table["system"].astype("category"), nanoseconds(table["start"])
    again = out.assign(day=made.dt.floor("D")).duplicated(["system", "horizon_hours", "day"]).to_numpy()
    for name, rows in out.groupby(out["system"].astype(str)).indices.items():
        over = rows[~again[rows] & (end[rows] <= left.get(name, log.window.end).as_unit("ns").value)]
        at = np.sort(began[(systems == name).to_numpy()])
        came = np.searchsorted(at, end[over], "left") - np.searchsorted(at, begin[over], "left")
        low, high, level = (out[column].to_numpy(np.float64)[over] for column in ("lower", "upper", "level"))
        missed = np.maximum(np.maximum(low - came, came - high), 0.0)
        out.loc[out.index[over], "happened"] = came.astype(np.float64)
        out.loc[out.index[over], "score"] = high - low + 2.0 / (1.0 - level) * missed
    return out


def tails_of_counts(seen: FloatArray, mean: FloatArray, upper: FloatArray, level: FloatArray) -> FloatArray:
    """Two-sided tail probabilities of counts, gamma-Poisson with these means and upper limits.

    Parameters
    ----------
    seen, mean, upper, level : ndarray, shape (n,)
        Counts, their expected values, and the upper limits of intervals of this level.

    Examples
    --------
    >>> seen, same = np.array([6.0, 12.0, 40.0]), np.ones(3)
    >>> tails_of_counts(seen, 6.0 * same, 12.0 * same, 0.95 * same).round(6).tolist()
    [1.0, 0.087173, 0.0]
    """
    tail, mean = 0.5 - level / 2.0, np.maximum(mean, 1e-9)
    least, most = np.full(mean.size, 1e-9), np.full(mean.size, 1e3)  # of the relative variance
    for _ in range(60):
        middle = np.sqrt(least * most)
        shape = 1.0 / middle
        wide = special.betainc(upper + 1.0, shape, mean / (mean + shape)) > tail
        least, most = np.where(wide, least, middle), np.where(wide, middle, most)
    shape = 1.0 / most
    at = mean / (mean + shape)
    above = np.where(seen > 0.0, special.betainc(np.maximum(seen, 1e-9), shape, at), 1.0)
    below = special.betaincc(seen + 1.0, shape, at)
    return np.asarray(np.minimum(2.0 * np.minimum(above, below), 1.0))


def missed_counts(
    forecasts: pd.DataFrame, allowed: float, now: pd.Timestamp
) -> Iterator[tuple[str, pd.DataFrame, pd.Timestamp]]:
    """Counts far outside their forecast (`scored`), `allowed` false ones per year: the system, the missed forecasts in
    a run, and until when that lasts.
    """
    known = forecasts[forecasts["happened"].notna()].copy()
    known["end"] = known["made"] + pd.to_timedelta(known["horizon_hours"], unit="h")
    known = known[known["end"] <= now].sort_values("end", kind="stable")
    known = known[~known.assign(day=known["made"].dt.floor("D")).duplicated(["system", "horizon_hours", "day"])]
    if not len(known):
        return
    streams = known.drop_duplicates(["system", "horizon_hours"])["horizon_hours"]
    a_year = float(np.minimum(HOURS_PER_YEAR / 24.0, _OVERLAP * HOURS_PER_YEAR / streams).sum())
    columns = (known[name].to_numpy(np.float64) for name in ("happened", "mean", "upper", "level"))
    known["p"] = tails_of_counts(*columns)
    missed = known[known["p"] <= allowed / max(a_year, 1e-9)]
    for system, rows in missed.groupby("system", sort=False):
        over = rows["end"] + pd.to_timedelta(rows["horizon_hours"], unit="h")
        new = (rows["end"] > over.cummax().shift()).cumsum()
        for _, run in rows.groupby(new):
            yield str(system), run, over[run.index].max()


def failures_ahead(log: FailureLog, cause: str, hours: float) -> Prediction | None:
    """The predicted number of failures by a cause in the hours after the end of a log; None where there was none."""
    steps = TimeSteps.of(log.window.start, log.window.end)
    events = log.events
    mine = (events["cause"].astype(object) == cause).to_numpy() & records_counted(log)
    counts = steps.counts(nanoseconds(events["start"])[mine])[0]
    if not counts.any():
        return None
    one = np.ones(steps.size)
    return mix(levels_of(counts, one, steps.days), counts, one, hours / steps.width, 1.0)


def expected_soon(by_system: pd.DataFrame) -> pd.DataFrame:
    """What a forecast expects of each system, with intervals, as texts."""
    rows = by_system.to_dict("records")
    table = {"System": [row["name"] for row in rows], "Next": [duration(row["horizon"]) for row in rows]}
    for title, name in (("Incidents", "incidents"), ("Failures", "failures"), ("Repair, hours", "repair_hours")):
        table[title] = [_limits(row[name], row[f"{name}_low"], row[f"{name}_high"]) for row in rows]
    return pd.DataFrame(table)


def _limits(value: float, low: float, high: float) -> str:
    return f"{number(value)} ({number(low)}-{number(high)})"


def forecasts_so_far(forecasts: pd.DataFrame, last: int, zone: str = "UTC") -> tuple[str, dict[str, pd.DataFrame]]:
    """A sentence and tables, by their titles, of the past forecasts and their outcomes, the last ones by themselves.

    Parameters
    ----------
    forecasts : pandas.DataFrame
        From `scored`.
    last : int
        How many of the last ones are listed.
    zone : str
        Time zone of the dates.
    """
    known = forecasts[forecasts["happened"].notna()] if len(forecasts) else forecasts
    if not len(known):
        return "No forecast has come to its end yet.", {}
    inside = known["happened"].between(known["lower"], known["upper"])
    rows = []
    for hours, part in known.assign(inside=inside).groupby("horizon_hours"):
        error, seen = (part["happened"] - part["mean"]).abs().mean(), part["happened"].mean()
        shares = percent(part["inside"].mean()), percent(part["level"].mean()), percent(error / seen) if seen else "-"
        rows.append((number(float(str(hours)) / 24.0), len(part), *shares))
    every = pd.DataFrame(rows, columns=["Days", "Forecasts", "Inside", "Should be", "Mean error"])
    latest = known.sort_values("made", kind="stable").tail(last)[::-1]
    each = pd.DataFrame(
        {
            "Made": latest["made"].dt.tz_convert(zone).dt.strftime("%Y-%m-%d"),
            "System": latest["system"],
            "Days": (latest["horizon_hours"] / 24.0).map(number),
            "Incidents forecast": list(map(_limits, latest["mean"], latest["lower"], latest["upper"])),
            "Incidents seen": latest["happened"].astype(int),
            "Inside": inside[latest.index].map({True: "yes", False: "no"}),
        }
    )
    sentence = (
        f"Of {count(len(known), 'forecast')} whose time is over, {percent(inside.mean())} were inside the interval; "
        f"{percent(known['level'].mean())} should. The mean error is a share of the mean count that came."
    )
    return sentence, {"All of them": every, "The last": each}
