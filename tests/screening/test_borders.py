"""Every rule of the screening with a number in it, on both sides of its border."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from relfit.analyses.screening import incidents, outlier_nodes, repair_kinds
from relfit.analyses.screening._change_points import _names, _to_use
from relfit.analyses.screening.incident_window import Points
from relfit.analyses.screening.periods import Period
from relfit.analyses.screening.segmentation import merged
from relfit.analyses.screening.tallies import over_time
from relfit.log.lifedata import LifeData
from tests.factories import make_log


@pytest.mark.parametrize(
    ("nodes", "events", "status"),
    [(3, 10, "ok"), (2, 10, "too_few"), (3, 9, "too_few")],
    ids=["enough", "nodes", "events"],
)
def test_classes_of_nodes_need_three_nodes_and_ten_events(nodes: int, events: int, status: str) -> None:
    log = make_log(
        [{"node": "n0", "start": 1.0 + i * i} for i in range(events)], [{"node": f"n{i}"} for i in range(nodes)]
    )
    assert outlier_nodes(log, n_resamples=0).classes["status"].tolist() == [status]


def test_periods_whose_rates_differ_by_a_quarter_stay_apart() -> None:
    assert merged(np.array([0, 1, 2]), [100, 125], np.ones(2), 1.25).tolist() == [0, 1, 2]
    assert merged(np.array([0, 1, 2]), [100, 124], np.ones(2), 1.25).tolist() == [0, 2]
    assert merged(np.array([0, 1, 2]), [124, 100], np.ones(2), 1.25).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("exposure", "failures", "use"),
    [
        ([50.0, 40.0, 18.0], [99, 99, 10], 2),  # a sixth of the exposure, and ten failures
        ([50.0, 40.0, 18.0], [99, 99, 9], 1),
        ([50.0, 40.0, 17.9], [99, 99, 10], 1),
        ([10.0, 95.0, 15.0], [10, 9, 12], 2),  # none is both: the most exposure of those with ten failures
        ([2.0, 0.9, 0.1], [9, 9, 10], 2),
        ([20.0, 60.0, 40.0], [9, 7, 8], 0),  # the most failures
    ],
)
def test_the_period_to_use(exposure: list[float], failures: list[int], use: int) -> None:
    time = np.array(exposure)
    assert _to_use(time >= time.sum() / 6.0, time, np.array(failures)) == use


@pytest.mark.parametrize(
    ("rates", "stable", "long", "names"),
    [
        ([3.0, 2.0, 1.0], 2, True, ["higher early rate", "higher early rate", "steady"]),
        ([0.5, 2.0, 1.0], 2, True, ["earlier", "earlier", "steady"]),
        ([3.0, 0.9, 1.0], 2, False, ["higher early rate", "earlier", "steady"]),
        ([3.0, 0.9, 1.0], 2, True, ["higher early rate", "earlier", "higher later rate"]),
        ([1.0, 1.25, 1.24], 0, False, ["steady", "higher later rate", "later"]),
    ],
)
def test_names_of_periods(rates: list[float], stable: int, long: bool, names: list[str]) -> None:
    assert _names(np.array(rates), stable, long, 1.25) == names


@pytest.mark.parametrize(("ratio", "said"), [(1.06, "1.1 times"), (1.04, "about"), (0.94, "0.94 times")])
def test_rates_within_five_percent_are_about_equal(ratio: float, said: str) -> None:
    at = pd.Timestamp("2001-01-01", tz="UTC")
    one, other = (Period(at, at, at, at, "steady", 1, 1.0, rate, 0.0, 9.0) for rate in (ratio, 1.0))
    assert one.times(other) == said


@pytest.mark.parametrize(("times", "status"), [(19, "too_few"), (20, "no_excess")])
def test_a_window_needs_twenty_times(times: int, status: str) -> None:
    at = np.cumsum(np.random.default_rng(3).exponential(4.5, times + 1))
    log = make_log([{"node": "ab"[i % 2], "start": hour} for i, hour in enumerate(at)])
    assert incidents(log).window.status == status


@pytest.mark.parametrize(("minutes", "sizes"), [(30.0, [2]), (30.1, [1, 1])])
def test_a_window_joins_up_to_its_end(minutes: float, sizes: list[int]) -> None:
    log = make_log([{"node": "a", "start": 1.0}, {"node": "b", "start": 1.0 + minutes / 60.0}])
    assert incidents(log, "30min").table["records"].tolist() == sizes


@pytest.mark.parametrize(("hit", "scope"), [(5, "system"), (4, "group")])
def test_half_of_the_nodes_are_the_system(hit: int, scope: str) -> None:
    log = make_log([{"node": f"n{i}", "start": 3} for i in range(hit)], [{"node": f"n{i}"} for i in range(10)])
    assert incidents(log, 0).table["scope"].tolist() == [scope]


@pytest.mark.parametrize(("records", "warned"), [(11, False), (12, True)])
def test_a_tenth_more_records_than_incidents_is_said(records: int, warned: bool) -> None:
    starts = [*range(10), *([5] * (records - 10))]
    log = make_log([{"node": f"n{i}", "start": float(s)} for i, s in enumerate(starts)])
    found = incidents(log, 0)
    assert (len(found), found.records) == (10, records)
    assert ("times as many failures of the system" in found.headline) == warned


@pytest.mark.parametrize(("repairs", "status"), [(9, "too_few"), (10, "ok")])
def test_kinds_of_repair_need_ten_repairs(repairs: int, status: str) -> None:
    rng = np.random.default_rng(5)
    quick = rng.exponential(0.01, repairs // 2)
    life = np.concatenate([quick, rng.exponential(1000.0, repairs - quick.size)])
    table = repair_kinds(LifeData.from_array(life), models=("hyperexponential2",)).table
    assert (table["status"] == "too_few").tolist() == [status == "too_few"]


@pytest.mark.parametrize(("slow", "hollow"), [(2, True), (3, False)])
def test_a_kind_needs_three_repairs(slow: int, hollow: bool) -> None:
    rng = np.random.default_rng(6)
    life = np.concatenate([rng.lognormal(0.0, 0.3, 200), rng.lognormal(12.0, 0.3, slow)])
    table = repair_kinds(LifeData.from_array(life), models=("hyperexponential2",)).table
    assert (table["status"] == "hollow").tolist() == [hollow]


def test_events_of_days_and_causes_are_counted_once_each() -> None:
    """Two on the first day, of one cause; none on the second; one of each cause on the third, at its two ends."""
    hours = [(0.0, "hardware"), (23.9, "hardware"), (48.0, "software"), (72.0, "hardware")]
    log = make_log([{"node": "n0", "start": at, "cause": cause} for at, cause in hours], window=(0.0, 72.0))
    tally = over_time(log, "day")
    assert tally.causes == ("hardware", "software")
    assert tally.counts.tolist() == [[2, 0], [0, 0], [1, 1]]
    assert tally.headline.startswith("4 events in 3 bins")


@pytest.mark.parametrize(("steps", "joined"), [(150, False), (250, True)])
def test_two_records_in_one_step_are_an_incident_if_the_place_was_watched_for_long(steps: int, joined: bool) -> None:
    """At twice the rate, 2 in n steps, chance joins n (2 / n)^2 / 2 = 2 / n records: 1 % of them at n = 200."""
    step, begun = 10**9, 10**18
    at = np.full(2, begun + 40 * step)
    points = Points(np.zeros(2, int), np.arange(2), at, at, np.array([begun]), np.array([begun + steps * step]))
    assert points.crowded(step, 0.01)[0].tolist() == [False, joined]
