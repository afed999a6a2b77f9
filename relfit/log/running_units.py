"""Which units still run: those that a prediction of further failures is about."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from relfit.base.text import count
from relfit.log.tables import pairs

if TYPE_CHECKING:
    from relfit.log.failurelog import FailureLog
    from relfit.log.lifedata import LifeData

EVERY_ONE_RUNS = "every unit without a failure counts as running; --column running=NAME names the flag of those that do"


def running_units(log: FailureLog, lives: LifeData, per: str = "node", first: str = "known") -> tuple[LifeData, str]:
    """The times to failure in `lives` of the units that still run, and a sentence on which these are; empty if all.

    Where the source gives lifetimes, those that its column ``running`` names, else all that are censored. In a log of
    events all nodes that have not left before its end; groups of several nodes run on.

    Parameters
    ----------
    log : FailureLog
    lives : LifeData
        Its times to failure.
    per, first : str
        As they were derived; see `FailureLog.ttf`.

    Examples
    --------
    >>> import pandas as pd, relfit as rf
    >>> log = rf.read(pd.DataFrame({"hours": [5.0, 9.0, 7.0], "failed": [1, 0, 0], "runs": [0, 1, 0]}), running="runs")
    >>> running_units(log, log.ttf("all"), "all")[0].durations.tolist()
    [9.0]
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
    gone = f"{int(left.sum()):,} of {count(len(left), 'node')} left before the end and do not run"
    return running.pooled() if per == "all" else running, gone
