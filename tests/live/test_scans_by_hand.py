"""Scans of small fleets, and of the sample, whose changes are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.fleet.surveillance import (
    WatchedFleet,
    longest_pause,
    nodes_of_late,
    nodes_standing_out,
    rate_changes,
    rates_of_late,
    scan_rates,
    scan_recurrence,
    wide_incidents,
)


@pytest.fixture(scope="module")
def fleet() -> WatchedFleet:
    return WatchedFleet(rf.datasets.load("white"))


def test_a_rate_that_rose_from_one_in_two_days_to_two_a_day() -> None:
    counts = np.append(np.tile([1.0, 0.0], 250), np.full(10, 2.0))[None]
    scan = scan_rates(counts, np.ones_like(counts))
    assert scan.p[0, :500].min() > 1e-3
    assert scan.p[0, 509] < 1e-4


def test_one_of_a_hundred_places_fails_three_times_more() -> None:
    at = np.append(np.arange(400.0), [300.1, 300.2, 300.3]) * 24 * 3.6e12
    place = np.append(np.arange(400) % 100, [7, 7, 7])
    order = np.lexsort((at, place))
    place, at, size = place[order], at[order].astype(int), np.full(403, 100)
    result = scan_recurrence(place, 0 * place, at, size, np.full(403, 1e-3), runs=(2, 3, 4), longest=90.0)
    assert (order[result.row].tolist(), result.number.tolist()) == ([402, 307], [3, 4])


def test_a_node_of_the_sample_stands_out(fleet: WatchedFleet) -> None:
    assert [fleet.node_label(each.node) for each in nodes_standing_out(fleet, 0.6)] == ["n391"]


def test_rates_of_the_sample_changed(fleet: WatchedFleet) -> None:
    changes = rate_changes(fleet, dict.fromkeys(("system", "system down", "rack", "cause", "model"), 0.5))
    assert sorted({change.streams.kind for change in changes}) == ["cause", "rack", "system"]


def test_what_stood_in_the_sample() -> None:
    log = rf.datasets.load("white").between(None, "2002-08-01")
    assert nodes_of_late(log).to_dict() == {("white", "n391"): "11 failures in 23.3 days, others 0.27"}
    assert rates_of_late(log) == ()


def test_six_nodes_without_power() -> None:
    table = pd.DataFrame({"node": [f"n{i}" for i in range(6)], "start": "2024-01-01 10:00", "cause": "power"})
    incidents = [(each.nodes, each.of, each.shared) for each in wide_incidents(rf.read(table))]
    assert incidents == [(6, 6, ("6 by power",))]


def test_the_longest_pause_of_a_source() -> None:
    assert [round(longest_pause(number, 24.0, 50.0, 0.1)) for number in (2, 11, 366)] == [87636, 305, 199]
