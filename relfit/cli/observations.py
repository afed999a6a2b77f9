"""What ``relfit fit`` says of the times as they were observed, before any distribution, and of how groups differ."""

from __future__ import annotations

import numpy as np
import pandas as pd

import relfit as rf
from relfit.cli import output
from relfit.fitting.nonparametric import ObservedTimes, observed_times

_MOST_GROUPS = 24  # in a table of what was observed
_SPREAD = (0.05, 0.25, 0.5, 0.75, 0.95)


def observed_together(times: rf.LifeData, level: float) -> list[str]:
    """The mean and median of all times, whatever group they are of; where they share hours, what has them."""
    if times.shared and times.n_groups > 1:
        return [
            f"The {times.n_groups:,} groups share the same hours; --per all (lifetimes) or --per system (events) has "
            "their times to failure together."
        ]
    observed = observed_times(times.pooled(), level)
    together = f", all {times.n_groups:,} groups together" if times.n_groups > 1 else ""
    return [observed.headline.replace("Observed", f"Observed{together}", 1)]


def observed_by_group(observed: ObservedTimes) -> list[str]:
    """The mean and median of each group, where there are not too many to read."""
    table = observed.to_frame()
    if not 1 < len(table) <= _MOST_GROUPS:
        return []
    if (table["times"] > table["ended"]).any():  # no mean of all, then
        per = "hours_per_repair" if observed.measure == "ttr" else "hours_per_failure"
        table.columns = [name.replace("mean", per, 1) for name in table.columns]
    place = table.columns.get_loc("times")
    keys = [name for name in table.columns[:place] if len(table[name].unique()) > 1]
    shown = table[[*keys, *table.columns[place:]]]
    return [
        f"Observed by group (hours, {100 * observed.level:g} % intervals without a distribution)",
        *output.table(shown),
        "",
    ]


def with_observed(fits: rf.fitting.Fits, observed: ObservedTimes) -> pd.DataFrame:
    """Everything about the fits, and what was observed of each group beside it."""
    table = fits.to_frame()
    for name in ("mean", "mean_low", "mean_high", "median", "median_low", "median_high"):
        table[f"observed_{name}"] = np.repeat(getattr(observed, name), len(fits.families))
    return table


def failures_ahead(
    fits: rf.fitting.Fits, units: rf.LifeData, horizons: list[float], level: float, seed: int
) -> pd.DataFrame:
    """How many of the units that run fail within times from now, by group and distribution."""
    tables = []
    for name in fits.families:
        table = fits[name].failures_ahead(horizons, units, level=level, rng=seed).to_frame()
        table.insert(table.columns.tolist().index("running"), "distribution", name)
        tables.append(table)
    every = pd.concat(tables)
    return every[every["running"] > 0].sort_index(kind="stable").reset_index(drop=True)


def spread(fits: rf.fitting.Fits, family: str, observed: ObservedTimes) -> list[str]:
    """How what was observed, and the parameters, differ between groups."""
    if len(fits) == 1:
        return []
    fit = fits[family]
    columns = {
        **{f"{family} {name}": values[fit.ok] for name, values in fit.parameters.items()},
        f"{family} mean": fit.mean[fit.ok],
        "observed mean": observed.mean,
    }
    rows: dict[str, list[float]] = {}
    for name, values in columns.items():
        finite = values[np.isfinite(values)]
        rows[name] = [float(np.quantile(finite, p)) if finite.size else np.nan for p in _SPREAD] + [finite.size]
    table = pd.DataFrame(rows, index=[*(f"{100 * p:g} %" for p in _SPREAD), "groups"]).T.reset_index(names="")
    return ["Spread over the groups: quantiles (times in hours)", *output.table(table), ""]
