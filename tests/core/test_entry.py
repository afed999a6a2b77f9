"""Which nodes are new, by what a source says: a declared window says nothing of it, an installation date does."""

from __future__ import annotations

from pathlib import Path

import relfit as rf


def test_a_declared_window_makes_no_node_new(tmp_path: Path) -> None:
    events, nodes = tmp_path / "log.csv", tmp_path / "nodes.csv"
    events.write_text("node,start\na,2001-02-01\nb,2001-03-01\nc,2001-04-01\n")
    nodes.write_text("node,entered\na,2000-06-01\nb,\nc,2001-01-15\nd,\n")
    window = {"window_start": "2001-01-01", "window_end": "2002-01-01", "timezone": "UTC"}
    log = rf.read(events, population=nodes, **window)
    people = log.population.assign(node=log.population["node"].astype(str)).set_index("node")
    assert people["entered_known"].to_dict() == {"a": False, "b": False, "c": True, "d": False}
    lives = log.ttf()
    # a: installed before the window, so failures before it are not in the log; watched from 1 January
    assert (lives.durations[:2] / 24.0).tolist() == [31.0, 334.0]
    assert lives.stationary is not None
    assert lives.stationary.tolist() == [True, False, True, False, False, False, True]
    assert lives.total_time.sum() == (3 * 365 + 351) * 24.0
    assert rf.read(events, **window).ttf().n_stationary.tolist() == [1, 1, 1]
