"""How good past forecasts were: a sentence and tables."""

from __future__ import annotations

import pandas as pd

from relfit.base.text import count, duration, number, percent


def expected_soon(by_system: pd.DataFrame) -> pd.DataFrame:
    """What a forecast expects of each system, with intervals, as texts.

    Parameters
    ----------
    by_system : pandas.DataFrame
        Of a forecast (`relfit.Study.forecast`).
    """
    rows = [
        {
            "System": row["name"],
            "Next": duration(row["horizon"]),
            **{
                title: _limits(row[name], row[f"{name}_low"], row[f"{name}_high"])
                for title, name in (
                    ("Incidents", "incidents"),
                    ("Failures", "failures"),
                    ("Repair, hours", "repair_hours"),
                )
            },
        }
        for row in by_system.to_dict("records")
    ]
    return pd.DataFrame(rows)


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
    latest = known.sort_values("made", kind="stable").tail(last)[::-1]
    each = pd.DataFrame(
        {
            "Made": latest["made"].dt.tz_convert(zone).dt.strftime("%Y-%m-%d"),
            "System": latest["system"],
            "Days": (latest["horizon_hours"] / 24.0).map(number),
            "Incidents forecast": [
                _limits(row["mean"], row["lower"], row["upper"]) for row in latest.to_dict("records")
            ],
            "Incidents seen": latest["happened"].astype(int),
            "Inside": inside[latest.index].map({True: "yes", False: "no"}),
        }
    )
    sentence = (
        f"Of {count(len(known), 'forecast')} whose time is over, {percent(inside.mean())} were inside the interval; "
        f"{percent(known['level'].mean())} should."
    )
    return sentence, {"All of them": pd.DataFrame(rows), "The last": each}
