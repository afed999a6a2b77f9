"""Segments of a few bins, and what the log of white holds, counted."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit.analyses.independence.thresholds import compared
from relfit.analyses.screening._repair_clock import kruskal_wallis
from relfit.analyses.screening.segmentation import dispersions, merged, segments, steps_or_trend
from relfit.analyses.screening.tallies import by_cause, by_node, over_time
from tests.factories import make_log


def test_segments_of_six_bins() -> None:
    assert segments([2, 1, 2, 9, 8, 9], [1.0] * 6, penalty=3.0).tolist() == [0, 3, 6]
    assert merged(np.array([0, 2, 4, 6]), [10, 10, 11, 11, 40, 40], np.ones(6), 1.25).tolist() == [0, 4, 6]


def test_counts_that_vary_from_pair_to_pair() -> None:
    seen = dispersions(np.array([4, 4, 0, 0, 4, 4, 0, 0]), np.ones(8), np.array([0, 8]), np.array([1, 2]))
    assert seen.tolist() == pytest.approx([16.0 / 7.0, 16.0 / 3.0])


def test_a_step_is_no_trend() -> None:
    steps, trend = steps_or_trend(np.repeat([2, 9], 20), np.ones(40), np.array([0, 20, 40]))
    assert steps > trend


def test_three_values_above_three_others() -> None:
    assert kruskal_wallis([np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])]) == pytest.approx(0.05, abs=5e-4)


def test_a_p_value_that_looks_small_says_what_it_is_above() -> None:
    assert [compared(p, 0.01) for p in (0.017, 0.4, 0.004)] == ["p = 0.017, above 0.01", "p = 0.4", "p = 0.004"]


def test_events_and_hours_of_nodes_with_lifetimes() -> None:
    lives = [("a", 0.0, 100.0, True), ("a", 20.0, 80.0, False), ("b", 0.0, 40.0, True)]
    rows = [dict(zip(("node", "entry", "duration", "observed"), life, strict=True)) for life in lives]
    table = by_node(make_log((), [{"node": "a"}, {"node": "b"}], lifetimes=rows))
    assert table["hours"].tolist() == [160.0, 40.0]
    assert table["events"].tolist() == [1, 1]
    assert table["expected"].tolist() == pytest.approx([2.0 * 160.0 / 200.0, 2.0 * 40.0 / 200.0])


def test_tallies_of_white() -> None:
    log = rf.datasets.load("white")
    tally, busiest = over_time(log), by_node(log).iloc[0]
    assert (tally.unit, tally.total.size) == ("quarter", 17)
    assert by_cause(log).table.index[0] == "hardware"
    assert (busiest["node"], busiest["events"]) == ("n391", 125)
