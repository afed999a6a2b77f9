"""Repeat failures: hand counts, none of equal nodes nor in bad weeks of a whole fleet; a planted node is listed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import relfit as rf
from relfit.analyses.screening import repeat_failures
from relfit.base.errors import ArgumentError, DataError
from relfit.log.failurelog import FailureLog
from tests.factories import at, make_log

YEAR = 8760.0


def fleet(rng: np.random.Generator, nodes: int, mean: float, weeks: np.ndarray | None = None) -> FailureLog:
    """Two years of equal nodes with `mean` failures each, repaired within a day, in good and bad weeks."""
    level = np.ones(104) if weeks is None else weeks
    week = rng.choice(104, rng.poisson(nodes * mean), p=level / level.sum())
    starts = [(int(rng.integers(nodes)), w * 168.0 + rng.uniform(0.0, 168.0)) for w in week]
    rows = [
        {"node": f"n{i:03d}", "start": t, "end": t + rng.uniform(1.0, 24.0), "cause": rng.choice(["disk", "memory"])}
        for i, t in sorted(starts, key=lambda one: one[1])
    ]
    return make_log(rows, [{"node": f"n{i:03d}"} for i in range(nodes)], window=(0.0, 2.0 * YEAR))


@pytest.mark.slow
@pytest.mark.parametrize(("nodes", "mean"), [(40, 20.0), pytest.param(300, 3.0, marks=pytest.mark.verify), (500, 0.5)])
def test_equal_nodes_have_no_repeats(nodes: int, mean: float) -> None:
    listed = sum(len(repeat_failures(fleet(np.random.default_rng(s), nodes, mean)).repeats) > 0 for s in range(20))
    assert listed <= 2  # 5 % of the logs


@pytest.mark.slow
def test_bad_weeks_of_the_whole_fleet_list_nobody() -> None:
    listed = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        weeks = np.where(rng.random(104) < 0.1, 20.0, 1.0)
        listed += len(repeat_failures(fleet(rng, 200, 4.0, weeks)).repeats) > 0
    assert listed <= 2


@pytest.mark.parametrize("nodes", [16, 500])
def test_a_node_that_fails_weekly_over_five_months_is_listed(nodes: int) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        weekly = 10_000.0 + 168.0 * np.arange(20) + rng.uniform(0.0, 30.0, 20)
        log = fleet(rng, nodes, 0.1 if nodes == 500 else 2.0)
        events = [
            {"node": row.node, "cause": row.cause, "start": hour, "end": hour + 5.0}
            for row, hour in zip(log.events.itertuples(), hours_of(log), strict=True)
        ]
        events += [{"node": "n007", "cause": "disk", "start": t, "end": t + 5.0} for t in weekly]
        found = repeat_failures(
            make_log(events, [{"node": f"n{i:03d}"} for i in range(nodes)], window=(0.0, 2.0 * YEAR))
        )
        worst = found.nodes.iloc[0]
        assert (worst["node"], worst["cause"]) == ("n007", "disk")
        assert worst["repeats"] >= 14
        assert 140.0 < worst["hours_between"] < 190.0
        assert set(found.nodes["node"]) == {"n007"}


def hours_of(log: FailureLog) -> np.ndarray:
    return ((log.events["start"] - at(0.0)).dt.total_seconds() / 3600.0).to_numpy()


def test_by_hand() -> None:
    """A thousand nodes; of disks n0 fails at 100 and, after two failures of others, at 300; of memory once."""
    rows = [
        {"node": "n0", "start": 100.0, "end": 110.0, "cause": "disk"},
        {"node": "n1", "start": 105.0, "end": 106.0, "cause": "disk"},  # before the repair
        {"node": "n2", "start": 150.0, "end": 151.0, "cause": "disk"},
        {"node": "n3", "start": 200.0, "end": 201.0, "cause": "memory"},  # another cause
        {"node": "n4", "start": 250.0, "end": 251.0, "cause": "disk"},
        {"node": "n0", "start": 300.0, "end": 310.0, "cause": "disk"},
        {"node": "n0", "start": 400.0, "end": 401.0, "cause": "memory"},
    ]
    log = make_log(rows, [{"node": f"n{i}"} for i in range(1000)], window=(0.0, 1000.0))
    found = repeat_failures(log, of=rf.incidents(log, "0h"))
    assert found.tested == 1
    assert found.failures == 7
    row = found.repeats.iloc[0]
    assert (row["node"], row["cause"], row["start"], row["before"]) == ("n0", "disk", at(300.0), at(100.0))
    assert row["hours_between"] == pytest.approx(190.0)
    assert row["p"] == pytest.approx(1.0 - 0.999**3)  # n2, n4 and itself
    assert row["expected"] == pytest.approx(-2.0 * np.log(0.999))
    assert row["p_adjusted"] == pytest.approx(7.0 * row["p"])  # of seven failures
    assert found.nodes.loc[0, "going_on"]
    log = make_log(rows, [{"node": f"n{i}"} for i in range(10)], window=(0.0, 1000.0))
    assert repeat_failures(log, of=rf.incidents(log, "0h")).headline.startswith("No repeat failures: 1 failure was ")


def test_four_repeats_in_a_row_are_tested_together() -> None:
    """Of a thousand nodes n0 fails five times, each time after two others: four of twelve failures are its own."""
    nodes = [f"n{i}" for i in (0, 1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8, 0)]
    rows = [{"node": node, "start": 10.0 * k, "end": 10.0 * k + 1.0} for k, node in enumerate(nodes, 1)]
    log = make_log(rows, [{"node": f"n{i}"} for i in range(1000)], window=(0.0, 1000.0))
    found = repeat_failures(log, of=rf.incidents(log, "0h"))
    alone, together = 1.0 - 0.999**3, 2.0 * stats.binom.sf(3, 12, 0.001)
    assert found.repeats["p"].tolist() == pytest.approx([alone, alone, alone, together])


def test_what_is_not_known_has_an_answer() -> None:
    nodes = [{"node": f"n{i}"} for i in range(100)]
    empty = repeat_failures(make_log([], nodes, window=(0.0, 1000.0)))
    assert empty.headline == "No failure of a node was recorded."
    one = repeat_failures(make_log([{"node": "n1", "start": 5.0}], nodes, window=(0.0, 1000.0)))
    assert one.headline == "No node failed twice of one cause."
    # no ends, no causes: since the start of the one before
    rows = [{"node": "n1", "start": t, "cause": None} for t in (100.0, 150.0, 200.0)]
    found = repeat_failures(make_log(rows, nodes, window=(0.0, 5000.0)))
    assert found.repeats["hours_between"].tolist() == [50.0, 50.0]
    assert found.repeats["p"].tolist() == pytest.approx([0.01, 0.01])
    assert found.headline == (
        "1 node failed again after a repair, sooner than chance explains: n1 (2 times, last 2001-01-09)."
    )
    assert "None of them" in found.findings[1]
    # two at one instant, and one that is repaired after the next has begun
    rows = [{"node": "n1", "start": 100.0, "end": 300.0}, {"node": "n2", "start": 100.0, "end": 100.0}]
    ties = repeat_failures(make_log([*rows, {"node": "n1", "start": 300.0}], nodes, window=(0.0, 1000.0)))
    assert np.isfinite(ties.repeats["p"]).all()


def test_incidents_of_several_nodes_are_no_repeats() -> None:
    rows = [{"node": f"n{i}", "start": t, "end": t + 1.0} for t in (100.0, 200.0, 300.0) for i in range(4)]
    found = repeat_failures(make_log(rows, [{"node": f"n{i}"} for i in range(200)], window=(0.0, 1000.0)))
    assert found.tested == 0


def test_unknown_nodes_are_asked_for() -> None:
    rng = np.random.default_rng(1)
    rows = [
        {"node": f"n{i:05d}", "start": t}
        for i, t in zip(rng.integers(0, 20_000, 150), np.sort(rng.uniform(0, YEAR, 150)), strict=True)
    ]
    nodes = [{"node": name, "declared": False} for name in sorted({str(row["node"]) for row in rows})]
    log = make_log(rows, nodes, window=(0.0, YEAR))
    assert log.question is not None
    with pytest.raises(DataError, match="how many"):
        repeat_failures(log)
    with pytest.raises(ArgumentError):
        repeat_failures(log, alpha=2.0)


def test_a_system_has_the_same_repeats_beside_another() -> None:
    rng = np.random.default_rng(4)
    rows = [
        {"system": system, "node": f"{system}{rng.integers(nodes):03d}", "start": t, "end": t + 1.0, "cause": "disk"}
        for system, nodes, number in (("a", 50, 300), ("b", 200, 4000))
        for t in rng.uniform(0.0, YEAR, number)
    ]
    rows += [
        {"system": "a", "node": "a017", "start": t, "end": t + 0.5, "cause": "disk"}
        for t in 4000.0 + 30.0 * np.arange(8)
    ]
    rows.sort(key=lambda row: row["start"])
    listed = [{"system": s, "node": f"{s}{i:03d}"} for s, nodes in (("a", 50), ("b", 200)) for i in range(nodes)]
    log = make_log(rows, listed, window=(0.0, YEAR))
    alone, beside = repeat_failures(log.where(system="a")), repeat_failures(log)
    assert alone.nodes["node"].tolist() == ["a017"]
    assert beside.repeats[beside.repeats["system"] == "a"].equals(alone.repeats)
    assert "a017" in beside.headline
