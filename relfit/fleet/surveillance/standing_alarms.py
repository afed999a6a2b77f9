"""What alarms stand at the end of a log: nodes that fail more often than the others lately, and changed rates."""

from __future__ import annotations

import pandas as pd

from relfit.base.text import count, duration, number, system_named
from relfit.fleet.surveillance.node_scans import failed_repairs, nodes_standing_out
from relfit.fleet.surveillance.rates_of_fleet import rate_changes
from relfit.fleet.surveillance.watched_fleet import WatchedFleet
from relfit.log.failurelog import FailureLog
from relfit.log.tables import made_once

_A_YEAR = 0.54  # false alarms about nodes, and about repairs: what a watch allows by default
_OF_RATES = {"system": 0.648, "system down": 0.18, "rack": 0.432, "cause": 0.432, "model": 0.432}  # likewise


@made_once
def _watched(log: FailureLog) -> WatchedFleet:
    return WatchedFleet(log)


@made_once
def nodes_of_late(log: FailureLog) -> pd.Series:
    """What the standing alarms of single nodes say, by ``system`` and ``node``; not of nodes that fail more seldom
    since.
    """
    fleet, said = _watched(log), dict[tuple[str, str], str]()
    for scan in (nodes_standing_out, failed_repairs):
        for each in scan(fleet, _A_YEAR):
            if each.over < fleet.steps.edges[-1] or each.slower:
                continue
            by = f" by {fleet.causes[each.cause]}" if scan is failed_repairs else ""
            text = f"{count(each.number, 'failure')}{by} in {duration(each.hours)}, others {number(each.others, 2)}"
            system, node = map(str, fleet.nodes[each.node])
            said.setdefault((system, node), text)
    index = pd.MultiIndex.from_tuples(said, names=["system", "node"]) if said else pd.MultiIndex.from_arrays([[], []])
    return pd.Series(list(said.values()), index, dtype=object)


@made_once
def rates_of_late(log: FailureLog) -> tuple[str, ...]:
    """A sentence for each system whose rate has a standing alarm: it compares weeks with the year before them."""
    fleet, said = _watched(log), list[str]()
    for change in rate_changes(fleet, _OF_RATES):
        if change.streams.kind != "system":  # the systems come first
            break
        when = change.when
        if when.lasts:
            name = system_named(change.streams.names[when.stream])
            last = fleet.stamp(fleet.steps.edges[when.window[1]] - 1)
            said.append(
                f"By the test of an alarm the rate of {name} {'fell' if change.down else 'rose'} lately: "
                f"{count(round(when.seen), 'incident')} in the {count(when.days, 'day')} to {last:%Y-%m-%d}, "
                f"{number(when.expected)} expected from the year before."
            )
    return tuple(said)
