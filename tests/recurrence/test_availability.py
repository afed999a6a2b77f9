"""Availability: by hand, on the sample, coverage of its limits, edges."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import relfit as rf
from relfit import ArgumentError, DataError
from relfit.analyses.recurrence import availability, availability_over_time
from tests.factories import EPOCH, make_log


def hand_made():
    return make_log(
        [
            {"node": "a", "start": 10.0, "end": 20.0},
            {"node": "a", "start": 15.0, "end": 22.0},  # part of the outage that is going on
            {"node": "a", "start": 50.0, "end": 58.0, "cause": "upgrade"},
            {"node": "b", "start": 0.0, "end": 5.0, "start_cut": True},
            {"node": "b", "start": 95.0, "end": 100.0, "end_cut": True},
        ],
        [{"node": "a", "rack": "r1"}, {"node": "b", "rack": "r1"}, {"node": "c", "left": 50.0, "rack": "r2"}],
    )


def test_by_hand():
    found = availability(hand_made())
    assert found.node_hours[0] == 250.0
    assert found.down_hours[0] == 30.0
    assert found.operational[0] == pytest.approx(220.0 / 250.0)
    assert found.failures[0] == 3
    assert found.mtbf[0] == pytest.approx(220.0 / 3.0)
    assert found.mttr[0] == 10.0
    assert found.low[0] < found.operational[0] < found.high[0]


def test_nodes_and_racks():
    nodes = availability(hand_made(), "node")
    np.testing.assert_allclose(nodes.operational, [0.8, 0.9, 1.0])
    assert nodes.status.tolist() == ["ok", "ok", "never_down"]
    assert np.isnan(nodes.low[2])
    assert nodes.low[0] < 0.8 < nodes.high[0]
    racks = availability(hand_made(), "rack")
    assert racks.groups.tolist() == ["r1", "r2"]
    assert racks.nodes.tolist() == [2, 1]
    np.testing.assert_allclose(racks.operational, [0.85, 1.0])


def with_whole_systems():
    """Nodes a and b of system s, watched for 100 h and 60 h; the system down from 10 to 20 and from 55 to 65."""
    return make_log(
        [
            {"node": "a", "start": 5.0, "end": 12.0},  # two of its hours with the whole system
            {"node": "a", "start": 80.0, "end": 84.0},
            {"node": "b", "start": 12.0, "end": 15.0},  # within an outage of the system
            {"node": None, "start": 10.0, "end": 20.0, "scope": "system"},
            {"node": None, "start": 14.0, "end": 18.0, "scope": "system"},  # part of it
            {"node": None, "start": 55.0, "end": 65.0, "scope": None},
            {"node": None, "start": 90.0, "end": 99.0, "scope": "group"},  # of no node that is known
            {"node": "c", "system": "t", "start": 30.0, "end": 31.0},
        ],
        [{"node": "a"}, {"node": "b", "left": 60.0}, {"node": "c", "system": "t"}],
    )


def test_outages_of_whole_systems_count_for_every_node():
    log = with_whole_systems()
    nodes = availability(log, "node")
    # a: 7 + 4 alone and 10 + 10 with the system, 2 of them twice; b: 10 and 5 of 60 h
    assert nodes.down_hours.tolist() == pytest.approx([29.0, 15.0, 1.0])
    assert nodes.system_down_hours.tolist() == pytest.approx([20.0, 15.0, 0.0])
    assert nodes.failures.tolist() == [2, 1, 1]
    assert nodes.system_failures.tolist() == [2, 2, 0]
    systems = availability(log)
    assert systems.operational.tolist() == pytest.approx([1.0 - 44.0 / 160.0, 0.99])
    assert systems.mtbf[0] == pytest.approx((160.0 - 44.0) / 7.0)
    assert "the whole system was down 13.462 % of the time" in systems.headline
    assert any("2 outages of whole systems count for every node" in note for note in systems.notes)
    assert any("1 record names no node and not its scope" in note for note in systems.notes)
    over = availability_over_time(log, unit="day")
    np.testing.assert_allclose(over.down_hours[0], [15.0 + 10.0, 0.0, 17.0 - 2.0, 4.0, 0.0], atol=1e-9)
    assert over.down_hours.sum() == pytest.approx(45.0)


def test_the_sample_was_up_as_counted_by_hand():
    """The union of the 1 218 records of the whole system, on a grid of minutes, and of each node's own."""
    log = rf.datasets.load("white")
    minutes = 37272 * 60
    start = ((log.events["start"] - log.window.start) / pd.Timedelta(minutes=1)).to_numpy(int)
    end = ((log.events["end"] - log.window.start) / pd.Timedelta(minutes=1)).to_numpy(int)
    names = log.events["node"].astype(object).fillna("").to_numpy()

    def down(name):
        change = np.zeros(minutes + 1, int)
        np.add.at(change, start[names == name], 1)
        np.add.at(change, end[names == name], -1)
        return np.cumsum(change)[:-1] > 0

    whole = down("")
    assert whole.sum() / 60 == pytest.approx(3238.3, abs=0.05)
    nodes = availability(log, "node")
    for place in (0, 100, 358):
        by_hand = 1.0 - (whole | down(nodes.groups[place][1])).mean()
        assert nodes.operational[place] == pytest.approx(by_hand, abs=1e-9)
    assert availability(log).operational[0] == pytest.approx(0.911, abs=0.0005)


@pytest.mark.verify
def test_limits_cover_where_all_nodes_share_outages():
    rng = np.random.default_rng(3)
    inside = []
    for _ in range(150):
        events = []
        for node in (None, *"abcdefgh"):
            rate, mean = (40.0, 6.0) if node is None else (60.0, 3.0)
            up, down = rng.exponential(rate, 60), rng.exponential(mean, 60)
            start = np.cumsum(up + down) - down
            scope = "system" if node is None else "node"
            pairs = zip(start[start < 900.0], (start + down)[start < 900.0], strict=True)
            events += [{"node": node, "start": a, "end": min(b, 900.0), "scope": scope} for a, b in pairs]
        found = availability(make_log(events, [{"node": n} for n in "abcdefgh"], window=(0, 900)))
        inside.append(found.low[0] <= 40.0 / 46.0 * 60.0 / 63.0 <= found.high[0])
    assert 0.89 < np.mean(inside) < 0.99


def test_over_time_by_hand_and_as_a_whole():
    log = hand_made()
    found = availability_over_time(log, unit="day")
    edges = [EPOCH + pd.Timedelta(hours=h) for h in (0, 24, 48, 72, 96, 100)]
    assert list(found.edges) == edges
    np.testing.assert_allclose(found.node_hours[0], [72.0, 72.0, 50.0, 48.0, 8.0])
    np.testing.assert_allclose(found.down_hours[0], [17.0, 0.0, 8.0, 1.0, 4.0], atol=1e-9)
    np.testing.assert_allclose(found.operational[0], 1.0 - found.down_hours[0] / found.node_hours[0])
    assert found.status[0].tolist() == ["ok", "never_down", "ok", "ok", "ok"]
    assert "lowest from 2001-01-01 to 2001-01-02 (76.389 %)" in found.headline  # the last four hours are no day
    white = rf.datasets.load("white")
    parts, whole = availability_over_time(white), availability(white)
    assert parts.down_hours.sum() == pytest.approx(whole.down_hours.sum())
    assert parts.node_hours.sum() == pytest.approx(whole.node_hours.sum())
    assert len(parts.to_frame()) == parts.operational.size


@pytest.mark.parametrize("per", ["system", "node"])
def test_limits_cover(per):
    rng = np.random.default_rng(1)
    systems, nodes, cycles = (200, 8, 14) if per == "system" else (400, 1, 40)
    up, down = rng.exponential(50.0, (systems, nodes, cycles)), rng.lognormal(0.5, 1.0, (systems, nodes, cycles))
    start = np.cumsum(up + down, axis=2) - down
    window = 600.0 if per == "system" else 1800.0
    events, people = [], []
    for s in range(systems):
        for n in range(nodes):
            people.append({"system": str(s), "node": str(n)})
            pairs = zip(start[s, n], start[s, n] + down[s, n], strict=True)
            events += [{"system": str(s), "node": str(n), "start": a, "end": b} for a, b in pairs if b < window]
    found = availability(make_log(events, people, window=(0, window)), per)
    truth = 50.0 / (50.0 + np.exp(1.0))
    inside = (found.low <= truth) & (found.high >= truth)
    assert 0.89 < inside.mean() < 0.99


def test_one_outage_of_the_system_does_not_make_a_month_doubtful():
    """300 nodes down together for an hour of a month: too few outages of the system to have seen their spread."""
    people = [{"node": f"n{i}"} for i in range(300)]
    own = [{"node": f"n{i}", "start": 30.0 + i, "end": 34.0 + i} for i in range(6)]
    log = make_log([*own, {"node": None, "start": 100.0, "end": 101.0, "scope": "system"}], people, window=(0, 744))
    month = availability_over_time(log, unit="month")
    share = 1.0 - (6 * 4.0 + 300.0) / (300 * 744.0)
    assert month.operational[0, 0] == pytest.approx(share)
    # as for one time up and one down, both exponential: the limits of their odds are within 16 times
    assert month.low[0, 0] > 1.0 - 17.0 * (1.0 - share)
    assert month.high[0, 0] < 1.0 - (1.0 - share) / 17.0


def test_ends_that_are_not_known():
    log = make_log([{"node": "a", "start": 1.0}, {"node": "b", "start": 2.0, "end": 4.0}, {"node": "b", "start": 9.0}])
    nodes = availability(log, "node")
    assert nodes.status.tolist() == ["no_ends", "some_ends_unknown"]
    assert np.isnan(nodes.operational[0])
    assert nodes.mttr[1] == 2.0  # of the repair that is known
    assert np.isnan(nodes.mttr[0])
    table = nodes.to_frame()
    assert (table["mtbf_outage"][1], table["mttr_outage"][1]) == (nodes.mtbf[1], 2.0)  # named as by calibrate
    assert nodes.unknown_ends.tolist() == [1, 1]
    assert "without a known end" in availability(log).headline
    assert availability_over_time(log).unknown_ends == 2
    one = availability(make_log([{"start": 1.0, "end": 2.0}]), "node")
    assert one.status.tolist() == ["one_outage"]
    assert np.isnan(one.low[0])
    none = availability(make_log([], [{"node": "a"}]))
    assert none.status.tolist() == ["never_down"]
    assert none.operational.tolist() == [1.0]


def test_bad_options():
    log = hand_made()
    with pytest.raises(ArgumentError, match="no column"):
        availability(log, "cause")
    with pytest.raises(ArgumentError, match="level"):
        availability(log, level=2.0)
    with pytest.raises(DataError, match="durations and no outages"):
        availability(make_log(lifetimes=[{"node": "1", "duration": 4.0, "observed": True}]))
    assert availability(log).to_dict()["findings"] == ["Nodes were up 88.000 % of the time."]
    assert len(availability_over_time(log, unit="day").to_dict()["down_hours"][0]) == 5


def test_a_day_with_fewer_nodes_is_compared_and_a_part_of_a_day_is_not():
    """One node of four on the first day, up all of it; the last bin is three hours without an outage."""
    outages = [{"node": "1", "start": 30, "end": 32}, {"node": "1", "start": 54, "end": 58}]
    nodes = [{"node": "1"}, *({"node": name, "entered": 24} for name in "234")]
    log = make_log(outages, nodes, window=(0, 75))
    headline = availability_over_time(log, unit="day").headline
    assert "lowest from 2001-01-03" in headline
    assert "highest from 2001-01-01 (100 %)" in headline


def test_a_part_of_a_day_that_is_not_compared_is_said_where_it_was_higher():
    """Two nodes, one of them down for six hours of each of three days; the last three hours have no outage."""
    outages = [{"node": "1", "start": 24 * day + 3, "end": 24 * day + 9 + day} for day in range(3)]
    log = make_log(outages, [{"node": "1"}, {"node": "2"}], window=(0, 75))
    headline = availability_over_time(log, unit="day").headline
    assert "highest from 2001-01-01 (87.500 %)" in headline
    assert "The bin from 2001-01-04 (100 %) was watched for much less time and is not compared." in headline


def test_periods_without_scatter_leave_no_doubt():
    """Down for 2 h after every 18 h, and node b for 1 h after every 9 h: limits at the share of time up itself."""
    events = [{"node": "a", "start": 20.0 * k + 18.0, "end": 20.0 * k + 20.0} for k in range(8)]
    events += [{"node": "b", "start": 10.0 * k + 9.0, "end": 10.0 * k + 10.0} for k in range(16)]
    found = availability(make_log(events, window=(0, 160)), "node")
    for values in (found.operational, found.low, found.high):
        np.testing.assert_allclose(values, [0.9, 0.9], atol=1e-9)


def test_limits_of_one_node_are_those_of_its_odds():
    """Variance of log(time down / time up): the squared coefficients of variation over the number of outages."""
    up, down = np.array([7.0, 31.0, 12.0, 55.0, 20.0, 3.0, 40.0]), np.array([2.0, 1.0, 6.0, 3.0, 9.0, 2.0, 1.0])
    end = np.cumsum(up + down)
    log = make_log([{"start": b - d, "end": b} for b, d in zip(end, down, strict=True)], window=(0, 192))
    assert end[-1] == 192.0
    between = up[1:]  # periods from an outage to the next
    variance = (between.var(ddof=1) / between.mean() ** 2 + down.var(ddof=1) / down.mean() ** 2) / 7.0
    far = stats.t.ppf(0.975, 6) * np.sqrt(variance)
    odds = down.sum() / up.sum() * np.exp([far, -far])
    found = availability(log, "node")
    assert [found.low[0], found.high[0]] == pytest.approx(1.0 / (1.0 + odds))


def test_a_day_with_less_than_a_tenth_of_the_node_hours_is_not_compared():
    """One node of twenty on the first day, down for half of it; then all of them, up but for an hour."""
    outages = [{"node": "1", "start": 3, "end": 15}, {"node": "1", "start": 30, "end": 31}]
    nodes = [{"node": "1"}, *({"node": str(k), "entered": 24} for k in range(2, 21))]
    found = availability_over_time(make_log(outages, nodes, window=(0, 72)), unit="day")
    assert found.comparable.tolist() == [False, True, True]
    assert "lowest from 2001-01-02" in found.headline


def test_a_log_that_is_one_outage_is_not_up_for_0_percent_of_the_time():
    log = make_log([{"node": "a", "start": 0.0, "end": 2.0}], [{"node": "a"}], window=(0.0, 2.0))
    assert availability(log).headline == "Nodes were down for all of the 2 hours observed."
