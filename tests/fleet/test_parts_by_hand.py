"""Small functions behind a fleet's results, at values worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.fleet._slurm import hostlist
from relfit.fleet.node_years import by_node_year, nodes_in_service, number_changed
from relfit.fleet.nodes_to_check import standing_out_lately
from relfit.fleet.rates_now import unbounded
from relfit.fleet.scope_rates import _limited, excess_scatter, mean_residual_life
from relfit.fleet.spare_parts import needs_part
from relfit.fleet.system_ahead import reconciled


def test_a_host_list_has_runs_of_equal_length() -> None:
    assert hostlist(["n001", "n002", "n003", "n010", "login", "c1-n2"]) == "n[001-003,010],c1-n2,login"


def test_nodes_in_service_of_the_sample() -> None:
    log = rf.datasets.load("white")
    assert nodes_in_service(log, log.window) == (512.0, 512.0)


def test_the_number_of_nodes_changed_by_more_than_a_tenth() -> None:
    pairs = [(540.0, 359.0), (540.0, 500.0), (float("nan"), float("nan"))]
    assert [number_changed(*pair) for pair in pairs] == [True, False, False]


def test_incidents_per_node_year_in_words() -> None:
    words = "; per node-year 3.4 now, 3.92 then, 540 of 600 nodes in service"
    assert by_node_year(35.2, 27.0, (540.0, 359.0), 600) == words
    assert by_node_year(35.2, 27.0, (540.0, 500.0), 600) == ""


def test_a_node_that_stands_out_lately() -> None:
    row = {"system": "s", "node": "n7", "outlier": False, "lately": "8 failures in 60 days, others 0.7"}
    words = "1 node stands out lately: n7 (8 failures in 60 days, others 0.7)"
    assert standing_out_lately(pd.DataFrame([row, {**row, "outlier": True}])) == words


def test_a_mean_time_far_below_its_limit_is_unbounded() -> None:
    assert unbounded(np.array([10.0, 10.0]), np.array([90.0, 2000.0])).tolist() == [False, True]


def test_the_limit_of_a_dispersion_below_one() -> None:
    assert _limited(np.array([0.294, 0.9, 1.3]), np.full(3, 24.0)).round(3).tolist() == [0.517, 1.0, 1.3]


def test_scatter_of_even_and_of_bursty_times() -> None:
    whole = np.zeros(1), np.full(1, 1000.0)
    assert excess_scatter(np.linspace(1.0, 999.0, 200), 1000.0, *whole)[0] == 1.0
    assert excess_scatter(np.repeat([100.0, 500.0, 700.0], 70), 1000.0, *whole)[0] > 10.0


def test_the_residual_life_at_a_constant_rate_is_the_mean() -> None:
    assert mean_residual_life(np.array([0.0, 50.0]), np.array([100.0]), 1.0).round(6).tolist() == [100.0, 100.0]


def test_causes_that_need_a_part() -> None:
    assert all(needs_part(cause) for cause in ("hardware", "gpu memory", "network card", "blade type 7"))
    assert not any(needs_part(cause) for cause in ("human error", "software", "network", "facilities", "unknown"))


def test_the_cause_of_many_nodes_at_once_takes_the_difference() -> None:
    mean, variance = np.array([40.0, 20.0, 20.0, 10.0, 20.0]), np.array([40.0, 20.0, 20.0, 10.0, 1710.0])
    assert reconciled(mean, variance, 100.0).round(1).tolist() == [39.8, 19.9, 19.9, 9.9, 10.5]


def test_a_rare_cause_of_many_nodes_keeps_half_at_every_horizon() -> None:
    """Outages of racks: 0.385 failures in 30 days and 5.07 in 90, where its own past says 3.85 and 11.6."""
    days30 = reconciled(np.array([24.0, 3.85, 15.8]), np.array([33.0, 2198.0, 39.0]), 40.0)
    days90 = reconciled(np.array([72.3, 11.6, 48.3]), np.array([119.0, 1472.0, 162.0]), 124.4)
    assert (days30.sum(), days90.sum()) == pytest.approx((40.0, 124.4))
    assert days30[1] == pytest.approx(3.85 / 2.0)
    assert days90[1] / days30[1] == pytest.approx(3.0, rel=0.1)
    assert days30[0] == pytest.approx(24.0 - (24.0 + 1.925 + 15.8 - 40.0) * 33.0 / 72.0)
