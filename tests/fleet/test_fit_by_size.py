"""Times to failure of k nodes together: against a plain loop over the records, and superposed Poisson processes."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from tests.factories import make_log


def poisson_fleet(nodes: int = 40, hours: float = 20000.0, mean: float = 1000.0) -> rf.FailureLog:
    rng = np.random.default_rng(5)
    rows = []
    for node in range(nodes):
        at = np.cumsum(rng.exponential(mean, 60))
        rows += [{"node": f"n{node:02d}", "start": t, "end": t + 0.5} for t in at[at < hours - 1.0]]
    return make_log(rows, [{"node": f"n{i:02d}", "entered_known": False} for i in range(nodes)], window=(0.0, hours))


def test_gaps_are_those_of_the_records_by_hand():
    log = rf.datasets.load("white").between("2003-04-01", "2003-10-01")
    found = rf.fleet.fit_by_size(log, [3], ["given"], ["exponential"], censor=False)
    nodes = [f"n{i:03d}" for i in range(3)]
    events = log.events[log.events["node"].astype(str).isin(nodes)].sort_values("start")
    kept, down = [], {}
    for row in events.itertuples():  # a record that begins in an outage of its node is part of it
        if row.start >= down.get(row.node, row.start):
            kept.append(row.start)
        down[row.node] = max(row.end, down.get(row.node, row.end))
    gaps = np.diff(np.array([t.value for t in sorted(kept)])) / 3.6e12
    ours = found.fits.lives.durations
    np.testing.assert_allclose(np.sort(ours), np.sort(gaps[gaps > 0.0]))
    assert found.zeros.tolist() == [int((gaps == 0.0).sum())]


@pytest.mark.slow
def test_superposed_poisson_processes_are_exponential_with_the_rate_of_all():
    found = rf.fleet.fit_by_size(poisson_fleet(), [2, 8, 40], families=["exponential", "weibull"])
    table = found.to_frame()
    for order in ("given", "random"):
        for size in (2, 8, 40):
            row = table[(table["order"] == order) & (table["nodes"] == size) & (table["family"] == "exponential")].iloc[
                0
            ]
            assert row["mean"] == pytest.approx(1000.5 / size, rel=4.0 / np.sqrt(20.0 * size))
            assert row["ad_p"] > 0.001
    assert found.p_values().shape == (6, 2)
    assert (found.p_values()["exponential"] >= found.p_values("ks_p")["exponential"]).all()
    assert "exponential" in found.headline


def test_all_nodes_in_any_order_are_one_series():
    found = rf.fleet.fit_by_size(poisson_fleet(12), [12], families=["weibull"])
    one, other = found.fits["weibull"].parameters["scale"]
    assert one == pytest.approx(other)


def test_what_cannot_be():
    log = poisson_fleet(4)
    with pytest.raises(ArgumentError, match="give 1 to 4"):
        rf.fleet.fit_by_size(log, [5])
    with pytest.raises(ArgumentError, match="no order 'sorted'"):
        rf.fleet.fit_by_size(log, [2], ["sorted"])
    lives = make_log(lifetimes=[{"node": "a", "duration": 5.0, "observed": True}], nodes=[{"node": "a"}])
    with pytest.raises(ArgumentError, match="without dates"):
        rf.fleet.fit_by_size(lives)


def test_nodes_that_only_the_exponential_fits_are_a_column_of_their_own():
    rng = np.random.default_rng(1)
    groups = {f"n{i}": rng.exponential(1000.0, 8) for i in range(5)} | {"few": np.array([10.0, 3000.0])}
    seen = {name: np.ones(len(times), bool) for name, times in groups.items()}
    seen["few"] = np.array([True, False])
    table = rf.fit(rf.LifeData.from_groups(groups, seen)).compare()
    assert table.loc["exponential", "fitted"] == 6
    assert table["alone"].tolist() == [1, 0, 0, 0]
    assert table["compared"].tolist() == [5] * 4
