"""`forecast_record`: what was forecast today; `scored`: what came of the forecasts of the past."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.analyses.screening import incidents
from relfit.base.units import NANOSECONDS_PER_HOUR, nanoseconds
from relfit.log.failurelog import FailureLog
from relfit.study import Study

__all__ = ["DRAWS", "HORIZONS", "forecast_record", "scored"]

_COLUMNS = ["made", "system", "horizon_hours", "mean", "lower", "upper", "level", "happened", "score"]
DRAWS, HORIZONS = 1000, ("7d", "30d")
"""Random futures behind a forecast, and how far ahead."""


def forecast_record(study: Study) -> pd.DataFrame:
    """The incidents that are expected in each system in the 7 and the 30 days after the end of a log.

    Parameters
    ----------
    study : Study

    Returns
    -------
    pandas.DataFrame
        ``made`` (the end of the log), ``system``, ``horizon_hours``, ``mean``, ``lower``, ``upper`` and ``level`` of
        the number of incidents; ``happened`` and ``score`` are not known yet.

    Raises
    ------
    DataError
        When there is nothing to forecast.

    Examples
    --------
    >>> import relfit as rf
    >>> record = forecast_record(rf.Study(rf.datasets.load("white")))
    >>> record["horizon_hours"].tolist(), bool(record["happened"].isna().all())
    ([168.0, 720.0], True)
    """
    ahead = study.forecast(HORIZONS, n_draws=DRAWS)
    rows = ahead.by_system
    return pd.DataFrame({
        "made": ahead.start, "system": rows["name"].astype(str), "horizon_hours": rows["horizon"],
        "mean": rows["incidents"],
        "lower": rows["incidents_low"], "upper": rows["incidents_high"], "level": ahead.level, "happened": np.nan,
        "score": np.nan,
    })  # fmt: skip


def scored(forecasts: pd.DataFrame, log: FailureLog) -> pd.DataFrame:
    """The forecasts whose time is over by the end of a log, with what came.

    Parameters
    ----------
    forecasts : pandas.DataFrame
        Of `forecast_record`, of any days.
    log : FailureLog

    Returns
    -------
    pandas.DataFrame
        With ``happened``, the incidents of that system meanwhile, and ``score``, the interval score of Gneiting and
        Raftery (2007): the width of the interval and, for what came outside of it, ``2 / (1 - level)`` times how far.
        Of a system that was not watched to the end of that time they stay unknown.

    Examples
    --------
    >>> import relfit as rf
    >>> log = rf.datasets.load("white")
    >>> past = forecast_record(rf.Study(log.between(None, "2004-08-01")))
    >>> scored(past, log)["happened"].tolist()
    [41.0, 185.0]
    """
    out = forecasts.reindex(columns=_COLUMNS).copy()
    made = pd.to_datetime(out["made"], utc=True)
    begin = nanoseconds(made)
    end = begin + (out["horizon_hours"].to_numpy(np.float64) * NANOSECONDS_PER_HOUR).astype(np.int64)
    people = log.population
    left = people.groupby(people["system"].astype(str))["left"].max()
    table = incidents(log).table
    systems, began = table["system"].astype("category"), nanoseconds(table["start"])
    for name, rows in out.groupby(out["system"].astype(str)).indices.items():
        over = rows[end[rows] <= left.get(name, log.window.end).as_unit("ns").value]
        at = np.sort(began[(systems == name).to_numpy()])
        came = np.searchsorted(at, end[over], "left") - np.searchsorted(at, begin[over], "left")
        low, high, level = (out[column].to_numpy(np.float64)[over] for column in ("lower", "upper", "level"))
        missed = np.maximum(np.maximum(low - came, came - high), 0.0)
        out.loc[out.index[over], "happened"] = came.astype(np.float64)
        out.loc[out.index[over], "score"] = high - low + 2.0 / (1.0 - level) * missed
    return out
