"""Small functions behind calibrated parameters, at values worked out by hand."""

from __future__ import annotations

import numpy as np

from relfit.fleet.calibration import Duration, Parameters
from relfit.fleet.calibration.draws import quantity_quantile
from relfit.fleet.calibration.exports import airesim_values, batsim_values
from relfit.fleet.calibration.rates import _of_any_scope, duration_of_counts
from relfit.fleet.calibration.repair_scopes import repair_of_an_outage
from relfit.fleet.calibration.repair_times import _hall, repairs_of_incidents
from relfit.fleet.calibration.schema import plain
from relfit.fleet.calibration.validation_errors import dotted
from relfit.log.lifedata import LifeData


def test_a_quantile_without_an_event() -> None:
    assert quantity_quantile(Duration(events=0, exposure=10_000.0), 0.05).round(-1).item() == 5210.0


def test_repairs_of_airesim_are_minutes_and_follow_each_other() -> None:
    values = airesim_values(Parameters(mtbf="2400h", mttr={"quick": 2, "slow": 50, "share_quick": 0.2}))
    names = ("auto_repair_time", "manual_repair_time", "prob_auto_to_manual")
    assert [values[name] for name in names] == [120.0, 2880.0, 0.8]
    assert round(values["random_failure_rate"] * 24 * 60, 6) == 0.01


def test_batsim_has_the_rate_of_all_nodes() -> None:
    values = batsim_values(Parameters(mtbf="20000h", mttr="24h"), nodes=1000)
    assert values == {"SMTBF": 72000.0, "MTTR": 86400.0, "nodes": 1000}


def test_limits_of_ten_events_and_of_none() -> None:
    mean = duration_of_counts(10, 1000.0, 0.95)
    assert (round(mean.value), round(mean.low), round(mean.high)) == (100, 54, 209)
    mean = duration_of_counts(0, 1000.0, 0.95)
    assert (mean.value, round(mean.low), mean.high) == (None, 334, None)


def test_the_dispersion_of_all_incidents_is_that_of_single_nodes_or_along_time() -> None:
    cases = [(1.0, 1.5, 1.4), (3.0, 1.5, 1.4), (1.0, 0.8, 0.9)]
    assert [_of_any_scope(*case) for case in cases] == [1.5, 3.0, 0.9]


def test_two_nodes_down_for_an_hour_and_three_together_for_ten() -> None:
    lives = LifeData.from_array([1.0, 1.0, 10.0, 10.0, 10.0])
    assert repair_of_an_outage(lives, np.array([0, 1, 2, 2, 2]), 0.95).value == 6.4


def test_nodes_of_one_incident_are_one_repair() -> None:
    together = repairs_of_incidents(LifeData.from_array([5.0, 5.0, 8.0]), np.array([0, 0, 1]))
    assert together.durations.tolist() == [5.0, 8.0]


def test_limits_of_a_skewed_mean() -> None:
    low, high = _hall(np.array([1.0, 2.0, 2.0, 3.0, 30.0, 5.0, 1.0, 4.0, 2.0, 9.0]), 0.9)
    assert (round(low, 1), round(high, 1)) == (2.2, 19.1)


def test_parameters_as_plain_tables() -> None:
    table = plain(Parameters(mtbf="1 day"), json=True)
    assert table == {"version": 2, "mtbf": {"node": {"value": 24.0, "unit": "hours"}}}


def test_a_place_as_a_key() -> None:
    assert dotted(("checks", 0, "name")) == "checks[0].name"
