"""The model of a fleet against counts by hand, and against fleets of known truth from plain NumPy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError, DataError
from relfit.fleet.operating_time import scopes_of
from tests.factories import make_log

HOUR = pd.Timedelta("1h")


def read(rows, nodes, hours: float, racks=None) -> rf.FailureLog:
    """A log from rows of (node or None, start, end, scope), hours since the start."""
    racks = {} if racks is None else {node: {"rack": racks[node]} for node in nodes}
    events = [
        {"node": node, "start": start, "end": end, "scope": scope, **racks.get(node, {})}
        for node, start, end, scope in rows
    ]
    people = [{"node": node, "entered_known": False, **racks.get(node, {})} for node in nodes]
    return make_log(events, people, window=(0.0, hours))


def test_a_nodes_clock_stops_in_outages_of_the_system_and_restarts_after_its_own():
    rows = [
        ("a", 100.0, 110.0, "node"),
        (None, 200.0, 250.0, "system"),
        ("a", 300.0, 304.0, "node"),
        ("b", 220.0, 230.0, "node"),  # while the system was down: interrupts nobody
        ("b", 500.0, 510.0, "node"),
    ]
    log = read(rows, ["a", "b", "c"], 1000.0)
    _, scopes = scopes_of(log, rf.incidents(log, "0h"))
    node, system = scopes["node"], scopes["system"]
    assert node.count.tolist() == [2, 1, 0]
    # a: 100 up, 190 calendar hours of which 50 the system was down, then to the end
    assert node.lives.durations[node.lives.offsets[0] : node.lives.offsets[1]].tolist() == [100.0, 140.0, 696.0]
    assert node.hours.tolist() == [100.0 + 140.0 + 696.0, 950.0 - 10.0, 950.0]
    # b: in progress until the outage in which it failed, then from there to its failure, then to the end
    b = slice(node.lives.offsets[1], node.lives.offsets[2])
    assert node.lives.durations[b].tolist() == [200.0, 250.0, 490.0]
    assert node.lives.observed[b].tolist() == [False, True, False]
    assert node.age.tolist() == [696.0, 490.0, 950.0]
    assert system.count.tolist() == [1]
    assert system.lives.durations.tolist() == [200.0, 750.0]
    assert system.repairs.durations.tolist() == [50.0]


def test_an_outage_within_one_of_the_system_is_no_second_one():
    """From 100 to 140 once, and from 300 to 330 in two records: twice down, 70 hours."""
    outages = [(100.0, 140.0), (110.0, 120.0), (300.0, 320.0), (310.0, 330.0)]
    events = [{"node": None, "scope": "system", "start": a, "end": b} for a, b in outages]
    rates = rf.fleet_model(make_log(events, [{"node": "a"}], window=(0, 1000)), period="all").rates["system"]
    assert rates.count.tolist() == [2.0]
    assert rates.hours.tolist() == [930.0]


def test_of_several_systems_each_has_its_own_outages_and_is_asked_for_by_name():
    events = [
        {"system": "s", "node": "a", "start": 10.0, "end": 15.0},
        {"system": "t", "node": None, "scope": "system", "start": 100.0, "end": 140.0},
        {"system": "t", "node": "c", "start": 200.0, "end": 210.0},
    ]
    nodes = [{"system": "s", "node": "a"}, {"system": "s", "node": "b"}, {"system": "t", "node": "c"}]
    model = rf.fleet_model(make_log(events, nodes, window=(0, 1000)), period="all")
    assert model.by_scope["node"].hours.tolist() == [995.0, 1000.0, 950.0]
    for asked, said in ((None, "the log has several systems"), ("u", "no system 'u'")):
        with pytest.raises(ArgumentError, match=f"{said}; name one of s, t"):
            model.interval("mtbf", scope="system", system=asked)


def test_an_incident_of_a_rack_stops_its_nodes_and_is_no_failure_of_theirs():
    racks = {"a": "r0", "b": "r0", "c": "r0", **{f"n{i}": "r1" for i in range(5)}}
    rows = [("a", 100.0, 120.0, "node"), ("b", 100.0, 120.0, "node"), ("a", 200.0, 201.0, "node")]
    log = read(rows, list(racks), 1000.0, racks)
    _, scopes = scopes_of(log, rf.incidents(log, "0h"))
    assert scopes["node"].count.tolist() == [1, 0, 0, 0, 0, 0, 0, 0]
    assert scopes["node"].lives.durations[:2].tolist() == [100.0 + 80.0, 799.0]
    assert scopes["rack"].count.tolist() == [1, 0]
    assert scopes["rack"].lives.durations.tolist() == [100.0, 880.0, 1000.0]


@pytest.fixture(scope="module")
def sample() -> rf.fleet.FleetModel:
    return rf.fleet_model(rf.datasets.load("white"), ("2003-04-01", "2004-10-01"), at="long run")


def counted(size: int, hours: float) -> float:
    """Share of jobs on consecutive nodes of the sample that ran through, by hand from the records alone."""
    log = rf.datasets.load("white").between("2003-04-01", "2004-10-01")
    begin, end, name = (log.events[column] for column in ("start", "end", "node"))
    start = ((begin - log.window.start) / HOUR).to_numpy()
    stop = ((end - log.window.start) / HOUR).to_numpy()
    order = {node: i for i, node in enumerate(log.population["node"].astype(str))}
    node = np.array([order.get(str(n), -1) for n in name])
    grid = np.arange(0.0, log.window.hours - hours, 2.0)
    shares = []
    for first in range(0, 512 - size + 1, 32):
        mine = (node < 0) | ((node >= first) & (node < first + size))
        begun, ended = np.sort(start[mine]), start[mine]
        after = np.append(begun, np.inf)[np.searchsorted(begun, grid, side="right")]
        change = np.zeros(grid.size + 1)
        np.add.at(change, np.searchsorted(grid, ended), 1)
        np.add.at(change, np.searchsorted(grid, stop[mine]), -1)
        up = np.cumsum(change)[:-1] == 0
        shares.append((after - grid > hours)[up].mean())
    return float(np.mean(shares))


def test_the_sample_is_as_counted(sample):
    for size in (1, 64):
        found = sample.interval("reliability", "24h", size=size, placement="packed")
        share = counted(size, 24.0)
        assert found.low <= share <= found.high
        assert found.estimate == pytest.approx(share, abs=0.02)
    assert counted(64, 24.0) == pytest.approx(0.31, abs=0.01)


def test_given_nodes_and_their_system_agree(sample):
    names = [f"n{i:03d}" for i in range(64)]
    as_job = sample.interval("reliability", "24h", nodes=names)
    system = sample.system([name for name in names if name in set(sample.system().names)])
    assert system.reliability("24h") == pytest.approx(float(as_job.estimate), rel=0.05)
    limits = system.interval("reliability", "24h", n_draws=199)
    assert limits.low < limits.estimate < limits.high
    assert (limits.high - limits.low) / (as_job.high - as_job.low) == pytest.approx(1.0, abs=0.35)


@pytest.mark.parametrize("options", [{}, {"tolerance": 2}, {"tolerance": 2, "rack_events": "job"}])
def test_every_draw_holds_the_uncertainty_of_racks_and_of_the_whole_system(sample, options):
    """What draws a system one by one (sizes, jobs) forgot it: one node had a tenth of the interval of its outages."""
    system = sample.system(list(sample.system().names[:40]), **options)
    singly = [float(one.reliability(24.0)) for one in system.drawn(9, rng=3)]
    assert singly == pytest.approx(system.drawn_values("reliability", np.array(24.0), 9, rng=3), rel=1e-9)


def test_limits_of_one_node_are_at_least_those_of_the_outages_it_shares(sample):
    outages = sample.interval("mtbf", scope="system")
    found = sample.system(list(sample.system().names[:3])).by_size("24h").interval()
    widest = np.exp(-24.0 / np.array([outages.low, outages.high]))
    assert found.high[0] - found.low[0] > 0.8 * float(np.ptp(widest))


def steady(rng, nodes: int, mtbf: float, racks: int, rack_mtbf: float, system_mtbf: float, hours: float):
    """Poisson incidents of nodes, racks and the system, each with repairs of two hours."""
    rows = []
    per = nodes // racks
    for i in range(nodes):
        for t in np.cumsum(rng.exponential(mtbf, int(3 * hours / mtbf) + 9)):
            rows += [(f"n{i:03d}", t, t + 2.0, "node")]
    for r in range(racks):
        for t in np.cumsum(rng.exponential(rack_mtbf, int(3 * hours / rack_mtbf) + 9)):
            rows += [(f"n{i:03d}", t, t + 2.0, "group") for i in range(r * per, (r + 1) * per)]
    for t in np.cumsum(rng.exponential(system_mtbf, int(3 * hours / system_mtbf) + 9)):
        rows += [(None, t, t + 2.0, "system")]
    names = [f"n{i:03d}" for i in range(nodes)]
    place = {name: f"r{i // per}" for i, name in enumerate(names)}
    return sorted((row for row in rows if row[1] < hours - 2.0), key=lambda row: row[1]), names, place


@pytest.mark.slow
def test_racks_and_systems_hit_the_jobs_that_stand_on_them():
    """Two hundred nodes of 1 500 h, ten racks of 1 000 h, a system of 500 h."""
    cover = {"packed": 0, "spread": 0, "node": 0, "rack": 0}
    for seed in range(6):
        rows, names, place = steady(np.random.default_rng(seed), 200, 1500.0, 10, 1000.0, 500.0, 4380.0)
        model = rf.fleet_model(read(rows, names, 4380.0, place), "all", window="0h", at="long run")
        truth = {"packed": 20 / 1500 + 1 / 1000 + 1 / 500, "spread": 20 / 1500 + 10 / 1000 + 1 / 500}
        found = {
            "packed": model.interval("reliability", "24h", nodes=names[:20], level=0.9),
            "spread": model.interval("reliability", "24h", size=20, placement="spread", level=0.9),
        }
        for how, rate in truth.items():
            cover[how] += bool(found[how].low <= np.exp(-24.0 * rate) <= found[how].high)
        for scope, mtbf in (("node", 1500.0), ("rack", 1000.0)):
            limits = model.interval("mtbf", scope=scope, level=0.9)
            cover[scope] += bool(limits.low <= mtbf <= limits.high)
    assert min(cover.values()) >= 4, cover


def test_what_cannot_be_answered_says_so(sample):
    for arguments in (("speed",), ("reliability", "24h"), ("mtbf",), ("incidents",)):
        with pytest.raises(ArgumentError):
            sample.interval(*arguments)
    with pytest.raises(ArgumentError, match="no node 'x'"):
        sample.interval("reliability", "24h", nodes=["x"])
    with pytest.raises(ArgumentError, match="a job of 513 nodes"):
        sample.interval("reliability", "24h", size=513)
    with pytest.raises(ArgumentError, match="no placement"):
        sample.interval("reliability", "24h", size=5, placement="round")
    with pytest.raises(ArgumentError, match="was not observed"):
        rf.system_from_log(rf.datasets.load("white"), at="1999-01-01")
    with pytest.raises(ArgumentError, match="given twice"):
        sample.system(["n000", "n000"])
    rows = [("a", 10.0, 12.0, "node"), ("b", 90.0, 130.0, "node")]
    log = read(rows, ["a", "b", "c"], 100.0)
    assert set(rf.system_from_log(log, period="all").names) == {"a", "c"}
    with pytest.raises(DataError, match="'b' was in repair then"):
        rf.system_from_log(log, period="all", nodes=["a", "b"])


def test_a_fleet_without_incidents_has_a_model():
    rows = [("a", 10.0, 12.0, "node")]
    model = rf.fleet_model(read(rows, ["a", "b"], 100.0), "all", at="long run")
    assert model.interval("mtbf", scope="system").status == "no_incident"
    found = model.interval("reliability", "10h", size=1)
    assert 0.0 < found.low < found.estimate < found.high < 1.0
    assert model.interval("mttr", scope="node").estimate == pytest.approx(2.0)


@pytest.mark.slow
def test_a_simulated_log_has_the_model_that_it_came_from(sample):
    """Calibrated, simulated and calibrated again: rates, hits and the share of the busiest nodes come back."""
    from relfit.simulation import simulate_log

    params = rf.calibrate(
        rf.datasets.load("white"),
        period=("2003-04-01", "2004-10-01"),
        parts=("mtbf", "mttr", "families"),
        at="long run",
    )
    log = simulate_log(params, "13176h", rng=3)
    again = rf.calibrate(log, period="all", parts=("mtbf",), window="0h", at="long run")
    for scope in ("node", "rack", "system"):
        before, after = getattr(params.mtbf, scope), getattr(again.mtbf, scope)
        assert after.low <= before.value <= after.high or after.value == pytest.approx(before.value, rel=0.15), scope
    assert again.fleet.rack_share == pytest.approx(params.fleet.rack_share, rel=0.1)

    def top(counts) -> float:
        return np.sort(counts)[-20:].sum() / counts.sum()

    real, copy = (
        sample.by_scope["node"].count,
        rf.fleet_model(log, "all", window="0h", at="long run").by_scope["node"].count,
    )
    assert top(copy) == pytest.approx(top(real), abs=0.03)


def test_a_stable_period_whose_start_is_hardly_known_is_not_used():
    rng = np.random.default_rng(0)
    days = np.sort(np.concatenate([rng.uniform(0, 200, 32), rng.uniform(200, 365, 70)]))
    events = [{"node": f"n{rng.integers(10)}", "start": 24.0 * day} for day in days]
    weak = make_log(events, [{"node": f"n{i}"} for i in range(10)], window=(0.0, 8760.0))
    points = rf.change_points(weak)
    stable = points.stable_period
    assert len(points.periods) == 2
    assert stable.start_high - stable.start_low > 0.5 * (stable.end - stable.start)
    chosen = rf.fleet.chosen_period(weak)
    assert (chosen.name, len(chosen.log)) == ("all", len(weak))
    assert "when is not known well" in chosen.headline
    sample = rf.fleet.chosen_period(rf.datasets.load("white"))
    assert (sample.name, f"{sample.log.window.start:%Y-%m-%d}") == ("steady", "2002-10-06")


@pytest.mark.slow
def test_first_says_what_the_time_before_a_first_failure_is():
    """Running nodes of shape 0.5: taken for new ones, their first times are too long and the shape too high."""
    rng = np.random.default_rng(4)
    gaps = rng.weibull(0.5, (60, 400)) * 400.0
    at = gaps.cumsum(axis=1) - rng.uniform(2e4, 2.2e4, (60, 1))
    rows = [{"node": f"n{i}", "start": t} for i, one in enumerate(at) for t in one[(one > 0.0) & (one < 8760.0)]]
    nodes = [{"node": f"n{i}", "entered_known": False} for i in range(60)]
    log = make_log(rows, nodes, window=(0.0, 8760.0), start_known=False)
    number, scale = {}, {}
    for first in ("known", "always", "never"):
        model = rf.fleet_model(log, "all", first=first, at="long run")
        number[first] = model.by_scope["node"].lives.durations.size
        scale[first] = rf.calibrate(
            log, period="all", parts=("mtbf", "families"), first=first, at="long run"
        ).mtbf.node.value
        assert rf.system_from_log(log, period="all", first=first).n_nodes == 60
    assert number["known"] == number["always"] > number["never"]
    shapes = [
        rf.fleet_model(log, "all", first=f, at="long run").renewals["node"].scale[0, 1] for f in ("known", "always")
    ]
    assert shapes[1] > 1.1 * shapes[0]
    assert len(set(scale.values())) == 1  # failures over hours
    with pytest.raises(ArgumentError, match="first='maybe'"):
        rf.fleet_model(log, first="maybe", at="long run")


@pytest.mark.parametrize("horizon", ["-1d", "0h", 0.0])
def test_a_horizon_is_above_zero(horizon):
    with pytest.raises(ArgumentError, match="it must be above zero"):
        rf.fleet_model(rf.datasets.load("white"), horizon=horizon)


def test_incidents_on_a_node_that_was_down_are_told_from_failures():
    rows = [("a", 100.0, 140.0, "node"), ("a", 120.0, 125.0, "node"), ("b", 300.0, 304.0, "node")]
    log = read([*rows, ("a", 500.0, 510.0, "node")], ["a", "b", "c"], 1000.0)
    assert len(rf.incidents(log, "0h")) == 4
    model = rf.fleet_model(log, "all", at="long run", window="0h")
    assert model.scopes.loc["node", "incidents"] == 3
    assert model.findings[-1] == "Of 4 incidents of nodes 1 began on a node that was down: part of that outage."
    apart = rf.fleet_model(read(rows[::2], ["a", "b", "c"], 1000.0), "all", at="long run", window="0h")
    assert apart.findings == (apart.headline,)
