"""Incidents per node-year beside those per week, where the number of nodes in service changed."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit.fleet.node_years import by_node_year, nodes_in_service
from tests.backtesting.test_growing_fleet import fleet


def test_nodes_in_service_by_hand() -> None:
    log = fleet(grown=True)
    # a hundred nodes for 730 days, a hundred for the last 365 of them
    assert nodes_in_service(log, log.window) == (200.0, pytest.approx(150.0))
    early = log.between(until="2001-07-01").window
    assert nodes_in_service(log, early) == (200.0, pytest.approx(100.0))


def test_a_week_alone_would_suggest_a_deterioration() -> None:
    log = fleet(grown=True)
    incidents = len(rf.incidents(log).table)
    (note,) = (text for text in rf.forecast(log).notes if text.startswith("As of"))
    now = rf.forecast(log).basis["a_week"].iloc[0] * 365.25 / 7.0 / 200.0
    then = incidents / (150.0 * 730.0 / 365.25)
    assert note.endswith(f"; per node-year {now:.3g} now, {then:.3g} then, 200 of 200 nodes in service.")
    assert abs(np.log(now / then)) < 0.1
    assert "200 of 200 nodes in service" in rf.fleet_model(log, period="all").now_headline


def test_nothing_is_said_of_a_fleet_of_one_size() -> None:
    log = fleet(grown=False)
    assert not any("node-year" in text for text in rf.forecast(log).notes)
    assert by_node_year(35.0, 27.0, (float("nan"), float("nan")), 10) == ""
