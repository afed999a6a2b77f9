"""Incidents by a value of the nodes and what is said of them, by hand and by SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from relfit.fleet.surveillance import WatchedFleet
from relfit.fleet.surveillance.node_scans import _since
from relfit.fleet.surveillance.recurrence_scans import _tail
from tests.factories import make_log


def test_nodes_of_a_rare_value_and_of_none_are_of_no_stream() -> None:
    """Four nodes of each of two models, two of a third, and one of which the model is not known."""
    models = {f"{model}{i}": model for model, number in (("a", 4), ("b", 4), ("c", 2)) for i in range(number)}
    nodes = [{"node": node, "model": model} for node, model in models.items()] + [{"node": "d0", "model": None}]
    failed = ["a0", "c0", "b1", "d0", "a2", "c1", "c0"]
    events = [{"node": node, "start": 24 * day + 3, "end": 24 * day + 5} for day, node in enumerate(failed)]
    parts = WatchedFleet(make_log(events, nodes, window=(0, 240))).of_parts()
    (streams,) = (each for each in parts if each.kind == "model")
    assert streams.names == ["a", "b"]
    assert streams.counts.sum(axis=1).tolist() == [2.0, 1.0]
    assert streams.exposure.sum(axis=1).tolist() == [40.0, 40.0]  # node-days


@pytest.mark.parametrize(("hours", "slower"), [(720, True), (719, False)])
def test_a_node_without_a_failure_for_a_month_after_ten_in_ten_days_is_slower(hours: int, slower: bool) -> None:
    events = [{"node": "a", "start": 24 * day + 1, "end": 24 * day + 2} for day in range(10)]
    fleet = WatchedFleet(make_log(events, [{"node": "a"}], window=(0, 24 * 9 + 1 + hours)))
    assert _since(fleet, 9, int(fleet.begun[0]), 10, False) == (0, slower)


def test_further_incidents_scatter_with_how_often_pairs_are_and_with_how_few_are_behind_it() -> None:
    """Negative binomial: a relative variance of 1 - 1 / 4 where pairs are four times as frequent, and 1 / (3 + 1)."""
    at = np.array([1.0, 4.0]), np.array([3.0, 3.0])
    for more in (1, 2, 5):
        size, mean = np.array([1.0 / 0.25, 1.0 / (0.75 + 0.25)]), 0.5 * at[0]
        truth = stats.nbinom.sf(more - 1, size, size / (size + mean))
        assert _tail(more, np.full(2, 0.5), *at) == pytest.approx(truth, rel=1e-4)
