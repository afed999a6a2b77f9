"""Today's forecast, to be compared with its outcome, and the page of the day with what to do, on one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import relfit as rf
from relfit.base.errors import RelfitError
from relfit.base.text import count
from relfit.fleet.surveillance import expected_soon, forecasts_so_far
from relfit.live.live_records import Alarm
from relfit.plotting import forecast_figures
from relfit.reporting.components import Figure, Table
from relfit.reporting.drawing import drawn
from relfit.reporting.rendering import filled, write_whole
from relfit.study import Study

DRAWS, HORIZONS = 1000, ("7d", "30d")
"""Random futures of a forecast, and its horizons."""
_COLUMNS = {"name": "system", "horizon": "horizon_hours", "incidents": "mean"}
_COLUMNS |= {"incidents_low": "lower", "incidents_high": "upper"}

_MOST = 8  # things to do
_SHOWN = 12  # rows of a table
_FIRST = ("burst", "node", "repeat", "stock", "source", "rate", "repair time", "forecast")  # alarms that one can act on


def forecast_record(study: Study) -> pd.DataFrame:
    """The expected incidents of each system in the 7 and the 30 days after the end of a log.

    Returns
    -------
    pandas.DataFrame
        ``made`` (the end of the log), ``system``, ``horizon_hours``; ``mean`` and prediction interval (``lower``,
        ``upper``, ``level``) of the number of incidents; ``happened`` and ``score``, still NaN.

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
    rows = ahead.by_system[list(_COLUMNS)].rename(columns=_COLUMNS).astype({"system": str})
    return rows.assign(made=ahead.start, level=ahead.level, happened=np.nan, score=np.nan)


def day_page(
    study: Study,
    alarms: Sequence[Alarm],
    previous: Sequence[Alarm],
    forecasts: pd.DataFrame,
    path: str | Path,
    *,
    fleet: str = "",
    made: pd.Timestamp | None = None,
    notes: Sequence[str] = (),
) -> Path:
    """Write the page of the day: one HTML file that needs no network. Texts of records are shown as plain text.

    The study is of all stored records; `alarms` are of this round, `previous` of the one before; `forecasts` are all
    made so far, scored (`relfit.live.scored`). `fleet` and `made` make the title, by default the systems of the log and
    its end; `notes` are what else the round says.
    """
    former, now = {alarm.key: alarm for alarm in previous}, {alarm.key for alarm in alarms}
    before = {alarm.key for alarm in alarms if alarm.key in former and not alarm.follows(former[alarm.key])}
    ordered = sorted(alarms, key=lambda alarm: (alarm.key in before, _FIRST.index(alarm.kind), alarm.raised))
    new = [alarm for alarm in ordered if alarm.key not in before]
    still = [alarm for alarm in ordered if alarm.key in before]
    over = [alarm for alarm in previous if alarm.key not in now]
    numbers = [(len(new), "new"), (len(still), "still going on"), (len(over), "over")]
    parts = [f"{count(each, 'alarm')} {what}" for each, what in numbers if each]
    log = study.log
    title = f"System {log.systems[0]}" if len(log.systems) == 1 else count(len(log.systems), "system")
    text = filled(
        "day.html.j2",
        title=f"{fleet or title} on {made or log.window.end:%A, %Y-%m-%d}",
        subtitle=f"{count(len(log.events), 'record')} of {count(log.n_nodes, 'node')} since "
        f"{log.window.start:%Y-%m-%d}, until {log.window.end:%Y-%m-%d %H:%M} {log.source.timezone}",
        headline=f"{', '.join(parts)}." if parts else "No alarm.",
        notes=notes,
        todo=ordered[:_MOST],
        not_shown=max(len(ordered) - _MOST, 0),
        new=new,
        still=still,
        over=over,
        footer=f"relfit {rf.__version__}",
        **_ahead(study),
        **_record(forecasts, log.source.timezone),
    )
    return write_whole(Path(path), text)


def _ahead(study: Study) -> dict[str, object]:
    """Sentences, figure and table of the forecast."""
    try:
        ahead = study.forecast(HORIZONS, n_draws=DRAWS)
    except RelfitError as error:
        return {"ahead": [f"No forecast: {error}."], "pictures": [], "coming": []}
    figure = Figure("coming", "Failures, and what is expected", partial(forecast_figures.forecast, ahead))
    table = Table(
        "coming",
        f"Expected, with {100 * ahead.level:g} % prediction intervals",
        expected_soon(ahead.by_system),
        shown=_SHOWN,
    )
    picture = {"title": figure.title, "svg": drawn(figure).svg}
    return {"ahead": [ahead.headline, ahead.stock_headline], "pictures": [picture], "coming": [table]}


def _record(forecasts: pd.DataFrame, zone: str) -> dict[str, object]:
    """A sentence and tables of the past forecasts and their outcomes."""
    sentence, frames = forecasts_so_far(forecasts, _SHOWN, zone)
    tables = [Table(f"record{i}", title, frame, shown=_SHOWN) for i, (title, frame) in enumerate(frames.items())]
    return {"record": sentence, "scores": tables}
