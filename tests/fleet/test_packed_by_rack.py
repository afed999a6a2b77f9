"""Packed jobs lie in one rack, whatever the names of its nodes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.fleet.job_placement import NodeOutages
from relfit.fleet.job_shares import interrupted_shares
from relfit.fleet.operating_time import scopes_of
from relfit.fleet.system_ahead import SystemAhead
from tests.factories import make_log

RACKS, SIZE, OUTAGES = 4, 16, 40


def log_of_racks(interleaved: bool) -> rf.FailureLog:
    """Racks of 16 that fail as one, 40 times each in 10,000 hours; names go through a rack, or from rack to rack."""
    rng = np.random.default_rng(7)
    name = {
        (rack, place): f"n{place * RACKS + rack if interleaved else rack * SIZE + place:03d}"
        for rack in range(RACKS)
        for place in range(SIZE)
    }
    rows = [
        (name[rack, place], at)
        for rack in range(RACKS)
        for at in rng.uniform(0.0, 10_000.0, OUTAGES)
        for place in range(SIZE)
    ]
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta([at for _, at in rows], unit="h").round("s")
    table = pd.DataFrame({"node": [node for node, _ in rows], "start": start, "end": start + pd.Timedelta("1min")})
    people = pd.DataFrame([(node, f"r{rack}") for (rack, _), node in name.items()], columns=["node", "rack"])
    end = str(pd.Timestamp("2024-01-01") + pd.Timedelta("10000h"))
    return rf.read(table.sort_values("start"), population=people, window_start="2024-01-01", window_end=end)


@pytest.mark.parametrize("interleaved", [False, True])
def test_a_job_of_a_rack_is_hit_by_its_outages_alone(interleaved: bool) -> None:
    log = log_of_racks(interleaved)
    model = rf.fleet_model(log, period="all", at="long run")
    packed, spread = (model.interval("mtbf", size=SIZE, placement=how).estimate for how in ("packed", "spread"))
    # by hand: a job that begins within a rack reaches into the next one; on average it is hit by two racks' outages,
    # but for those that begin with a rack
    firsts = np.arange(RACKS * SIZE - SIZE + 1)
    hit = np.where(firsts % SIZE == 0, 1, 2)
    assert packed == pytest.approx(10_000 / OUTAGES / hit.mean(), rel=0.05)
    assert spread == pytest.approx(10_000 / OUTAGES / RACKS, rel=0.05)


def test_jobs_of_the_past_are_packed_by_rack_too() -> None:
    shares = []
    for interleaved in (False, True):
        (nodes,) = NodeOutages.of(log_of_racks(interleaved))
        assert (np.diff(nodes.rack) >= 0).all()
        rng = np.random.default_rng(1)
        starts = rng.uniform(0.0, 9_900.0, 500)
        shares.append(interrupted_shares(nodes, starts, [SIZE], np.array([24.0]), "packed", rng))
    np.testing.assert_allclose(shares[0], shares[1])


def test_no_job_is_spread_over_racks_that_nobody_named() -> None:
    model = rf.fleet_model(rf.read("white"))
    log = rf.read(pd.DataFrame({"node": list("abcd") * 9, "start": pd.date_range("2024-01-01", periods=36, freq="7h")}))
    assert model.interval("mtbf", size=4, placement="spread").estimate > 0.0
    with pytest.raises(rf.ArgumentError, match="names no racks to spread a job over"):
        rf.fleet_model(log).interval("mtbf", size=2, placement="spread")


def test_every_rack_has_its_number_of_nodes() -> None:
    people = pd.DataFrame({"node": list("abcdef"), "rack": ["r1", "r1", "r1", "r2", "r2", None]})
    table = pd.DataFrame({"node": list("abcdef") * 9, "start": pd.date_range("2024-01-01", periods=54, freq="7h")})
    log = rf.read(table, population=people)
    places, _ = scopes_of(log, rf.incidents(log, "1h"))
    assert dict(zip(places.racks.get_level_values(-1), places.rack_sizes.tolist(), strict=True)) == {"r1": 3, "r2": 2}


def test_a_record_that_names_no_node_is_of_no_rack() -> None:
    nodes = [{"node": "a", "rack": "r1"}, {"node": "b", "rack": "r2"}, {"node": "c", "rack": "r2"}]
    at = {"a": 10, "b": 50, "c": 90}
    events = [{"node": node, "start": start} for node, start in at.items()]
    events += [{"node": None, "scope": "node", "start": 30}, {"node": None, "scope": "system", "start": 70}]
    log = make_log(sorted(events, key=lambda event: event["start"]), nodes, window=(0, 240))
    names, rack, watched = SystemAhead(log, rf.incidents(log, group="rack"), "cause", 24.0).racks
    assert names == ["r1", "r2"]
    assert rack.tolist() == [0, -1, 1, -1, 1]
    assert watched[:, -1].tolist() == [1.0, 2.0]
