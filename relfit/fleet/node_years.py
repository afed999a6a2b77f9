"""Incidents per node-year, where the number of nodes in service changed: then counts a week alone mislead."""

from __future__ import annotations

import numpy as np

from relfit.base.text import count, number
from relfit.base.units import HOURS_PER_YEAR
from relfit.log.failurelog import FailureLog, Window
from relfit.log.outages import watched_of

_CHANGED = 1.1
_WEEKS = HOURS_PER_YEAR / 168.0  # of a year


def nodes_in_service(log: FailureLog, window: Window) -> tuple[float, float]:
    """Nodes in service at the end of a log, and on average in a window; NaN where their number is not known."""
    watched = watched_of(log)
    if not watched.n_groups or log.question is not None or not window.hours > 0.0:
        return float("nan"), float("nan")
    first, last = (end.as_unit("ns").value for end in (window.start, window.end))
    spent = (np.minimum(watched.left, last) - np.maximum(watched.entered, first)).astype(np.float64)
    there = watched.left >= log.window.end.as_unit("ns").value
    return float(there.sum()), float(spent.clip(min=0.0).sum() / (last - first))


def number_changed(now: float, before: float) -> bool:
    """Whether the nodes in service changed by more than 10 %; not where their number is not known."""
    return min(now, before) > 0.0 and max(now, before) > _CHANGED * min(now, before)


def by_node_year(now: float, before: float, nodes: tuple[float, float], listed: int) -> str:
    """In words, incidents per node-year now and then, from those per week; empty unless `number_changed`."""
    there, earlier = nodes
    if not number_changed(there, earlier):
        return ""
    rates = (number(each * _WEEKS / size) for each, size in ((now, there), (before, earlier)))
    return "; per node-year {} now, {} then, {:,.0f} of {} in service".format(*rates, there, count(listed, "node"))
