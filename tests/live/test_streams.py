"""Incidents by a value of the nodes, counted by hand."""

from __future__ import annotations

from relfit.fleet.surveillance import WatchedFleet
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
