"""`day_page`: alarms, what to do today, the forecast, and how good the last forecasts were, on one HTML page."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path

import pandas as pd

import relfit as rf
from relfit.base.errors import RelfitError
from relfit.base.text import count, duration, number, percent
from relfit.live._forecast_record import DRAWS, HORIZONS
from relfit.live.live_records import Alarm
from relfit.plotting import forecast_figures
from relfit.reporting.components import Figure, Table
from relfit.reporting.drawing import drawn
from relfit.reporting.rendering import filled, write_whole
from relfit.study import Study

__all__ = ["day_page"]

_MOST = 8  # things to do
_SHOWN = 12  # rows of a table
_FIRST = ("node", "repeat", "stock", "source", "rate", "repair time", "forecast")  # alarms that one can act on


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

    Parameters
    ----------
    study : Study
        Of all stored records.
    alarms, previous : sequence of Alarm
        Those of this round, and of the round before.
    forecasts : pandas.DataFrame
        Those made so far, scored (`relfit.live.scored`).
    path : str or Path
    fleet, made : str and pandas.Timestamp, optional
        For the title; by default the systems of the log and its end.
    notes : sequence of str
        What else the round says.

    Raises
    ------
    ArgumentError
        When the file cannot be written.
    """
    before, now = ({alarm.key for alarm in each} for each in (previous, alarms))
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
        f"{log.window.start:%Y-%m-%d}, until {log.window.end:%Y-%m-%d %H:%M} UTC",
        headline=f"{', '.join(parts)}." if parts else "No alarm.",
        notes=notes,
        todo=ordered[:_MOST],
        not_shown=max(len(ordered) - _MOST, 0),
        new=new,
        still=still,
        over=over,
        footer=f"relfit {rf.__version__}",
        **_ahead(study),
        **_record(forecasts),
    )
    return write_whole(Path(path), text)


def _ahead(study: Study) -> dict[str, object]:
    """Sentences, figure and table of the forecast."""
    try:
        ahead = study.forecast(HORIZONS, n_draws=DRAWS)
    except RelfitError as error:
        return {"ahead": [f"No forecast: {error}."], "pictures": [], "coming": []}
    rows = [
        {
            "System": row["name"],
            "Next": duration(row["horizon"]),
            "Incidents": _span(row, "incidents"),
            "Failures": _span(row, "failures"),
            "Repair, hours": _span(row, "repair_hours"),
        }
        for row in ahead.by_system.to_dict("records")
    ]
    figure = Figure.of("coming", "Failures, and what is expected", forecast_figures.forecast, ahead)
    table = Table(
        "coming", f"Expected, with {100 * ahead.level:g} % prediction intervals", pd.DataFrame(rows), shown=_SHOWN
    )
    picture = {"title": figure.title, "svg": drawn(figure).svg}
    return {"ahead": [ahead.headline, ahead.stock_headline], "pictures": [picture], "coming": [table]}


def _span(row: Mapping[Hashable, float], name: str) -> str:
    return _limits(row[name], row[f"{name}_low"], row[f"{name}_high"])


def _limits(value: float, low: float, high: float) -> str:
    return f"{number(value)} ({number(low)}-{number(high)})"


def _record(forecasts: pd.DataFrame) -> dict[str, object]:
    """A sentence and tables of the past forecasts and their outcomes."""
    known = forecasts[forecasts["happened"].notna()] if len(forecasts) else forecasts
    if not len(known):
        return {"record": "No forecast has come to its end yet.", "scores": []}
    inside = known["happened"].between(known["lower"], known["upper"])
    rows = []
    for hours, part in known.assign(inside=inside).groupby("horizon_hours"):
        error = (part["happened"] - part["mean"]).abs().mean() / max(part["mean"].mean(), 1e-9)
        rows.append(
            {
                "Days": number(float(str(hours)) / 24.0),
                "Forecasts": len(part),
                "Inside": percent(part["inside"].mean()),
                "Should be": percent(part["level"].mean()),
                "Mean miss": percent(error),
            }
        )
    last = known.sort_values("made", kind="stable").tail(_SHOWN)[::-1]
    each = pd.DataFrame(
        {
            "Made": last["made"].dt.strftime("%Y-%m-%d"),
            "System": last["system"],
            "Days": (last["horizon_hours"] / 24.0).map(number),
            "Forecast": [_limits(row["mean"], row["lower"], row["upper"]) for row in last.to_dict("records")],
            "Came": last["happened"].astype(int),
            "Inside": inside[last.index].map({True: "yes", False: "no"}),
        }
    )
    sentence = (
        f"Of {count(len(known), 'forecast')} whose time is over, {percent(inside.mean())} were inside the interval; "
        f"{percent(known['level'].mean())} should."
    )
    tables = [
        Table("scores", "All of them", pd.DataFrame(rows), shown=_SHOWN),
        Table("last", "The last", each, shown=_SHOWN),
    ]
    return {"record": sentence, "scores": tables}
