"""Which units still run: those that a prediction of further failures is about."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd

from relfit.base.numeric.poisson import poisson_interval
from relfit.base.text import count, number, percent
from relfit.base.units import HOURS_PER_YEAR
from relfit.log.tables import Tables, made_once, pairs, places_of_pairs

if TYPE_CHECKING:
    from relfit.log.failurelog import FailureLog
    from relfit.log.lifedata import LifeData

EVERY_ONE_RUNS = "every unit without a failure counts as running; --column running=NAME names the flag of those that do"

_AS_LIVES = "A table with one row per unit (entered, left, failed) has their lives"
_OF_DRIVES = ', made from smart_9_raw as "Ages of drives" in the documentation shows'
_FEWEST_LEFT, _MOST_LEFT = 10, 0.9  # nodes that failed, and the share of them that left then
_AT_ONCE = pd.Timedelta("2D")  # from a failure to the date in the list of nodes


@made_once
def leave_at_failure(log: Tables) -> bool:
    """Whether nodes are units that leave service when they fail, as disks do, by the list of nodes."""
    people, known = log.population, log.population["left_known"].to_numpy(bool)
    if log.lifetimes is not None or not known.any():
        return False
    events = log.events[log.events["node"].notna()].reset_index(drop=True)
    places = places_of_pairs(events, pairs(people))
    left = people["left"].iloc[places].reset_index(drop=True)
    once = ~events.duplicated(["system", "node"], keep=False).to_numpy()
    at_once = (left - events["start"] <= _AT_ONCE) & (left < log.window.end)
    gone = (places >= 0) & known[places] & once & at_once.to_numpy()
    return bool(gone.size >= _FEWEST_LEFT and gone.mean() >= _MOST_LEFT)


def hint_of_lives(log: FailureLog, per: str) -> str:
    """A sentence where times to failure of a log miss the ages of units that leave when they fail; else empty."""
    joined = per not in ("node", "all")
    if not leave_at_failure(log) or (not joined and log.population["entered_known"].all()):
        return ""
    of = f"--per {per} takes all of one {per} as one machine" if joined else "ages before the window do not count"
    made = _OF_DRIVES if log.source.format == "backblaze" else ""
    return f"Units leave when they fail, and {of}. {_AS_LIVES}{made}."


def yearly_failures(lives: LifeData, level: float = 0.95) -> str:
    """Failures of lives per unit-year, with their exact interval."""
    years = max(float(lives.total_time.sum()) / HOURS_PER_YEAR, 1e-9)
    failures = int(lives.n_failures.sum())
    low, high = (number(float(limit) / years) for limit in poisson_interval(failures, level))
    exact = f"{percent(level)} exact interval {low}-{high}"
    return f"{number(failures / years)} failures per unit-year ({exact}), {failures:,} in {number(years)} unit-years"


def running_units(log: FailureLog, lives: LifeData, per: str, first: str) -> tuple[LifeData, str]:
    """The times to failure in `lives` of the units that still run, and a sentence on which these are; empty if all.

    Where the source gives lifetimes, those that its column ``running`` names, else all that are censored. In a log of
    events all nodes that have not left before its end; groups of several nodes run on. `per` and `first` are as the
    times were derived (`FailureLog.ttf`).
    """
    if log.lifetimes is not None:
        if "running" not in log.lifetimes:
            return lives, EVERY_ONE_RUNS if lives.n_censored.any() else ""
        part = replace(log, lifetimes=log.lifetimes[log.lifetimes["running"].to_numpy(bool)].reset_index(drop=True))
        return part.ttf(per, first=first), ""
    left = log.population["left"] < log.window.end
    if per not in ("node", "all") or not left.any():
        return lives, ""
    by_node = log.ttf("node", first=first)
    places = by_node.groups.get_indexer(pairs(log.population[~left]))
    running = by_node.take(places[places >= 0].tolist())
    do = "does" if left.sum() == 1 else "do"
    gone = f"{int(left.sum()):,} of {count(len(left), 'node')} left before the end and {do} not run"
    return running.pooled() if per == "all" else running, gone
