"""Replays: jobs against a search by hand, no leakage, right models pass and wrong ones fail."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.errors import ArgumentError, DataError
from relfit.fleet.job_placement import Nodes, place
from relfit.results import Interval
from relfit.validation import Replay, calibration_curve
from relfit.validation._block_means import effective_sizes, mean_differences, wilson
from tests.factories import EPOCH, make_log

HOUR = pd.Timedelta(hours=1)
LIFE, SYSTEM, RACK, HOURS = 900.0, 150.0, 2000.0, 6000.0


def fleet(seed: int, nodes: int = 60, per_rack: int = 10, system: float = SYSTEM) -> rf.FailureLog:
    """Nodes that fail at random, racks whose nodes all go down together, and outages of the system without a node."""
    rng = np.random.default_rng(seed)

    def often(gap: float) -> np.ndarray:
        return np.sort(rng.uniform(0.0, HOURS, rng.poisson(HOURS / gap)))

    rows = []
    for i in range(nodes):
        rows += [(f"n{i:02d}", f"r{i // per_rack}", t, t + rng.exponential(2.0), "node") for t in often(LIFE)]
    for r in range(nodes // per_rack):
        for t in often(RACK):
            end = t + rng.exponential(3.0)
            rows += [(f"n{i:02d}", f"r{r}", t, end, "group") for i in range(r * per_rack, (r + 1) * per_rack)]
    rows += [(None, None, t, t + rng.exponential(1.0), "system") for t in often(system)]
    keys = ("node", "rack", "start", "end", "scope")
    people = [{"system": "s", "node": f"n{i:02d}", "rack": f"r{i // per_rack}"} for i in range(nodes)]
    return make_log([dict(zip(keys, row, strict=True)) for row in rows], people, window=(0, HOURS))


class Known:
    """A model that knows the rates that `fleet` has; `off` makes it wrong."""

    level = 0.95

    def __init__(self, off: float = 1.0, system: float = SYSTEM, doubt: float = 0.0) -> None:
        self.off, self.system, self.doubt = off, system, doubt

    def interval(self, quantity: str, at: np.ndarray, *, size: int, placement: str, system: str) -> Interval:
        assert (quantity, system) == ("reliability", "s")
        # racks of ten: a run of k nodes that starts anywhere meets (k - 1) / 10 + 1 of them on average
        racks = min(size, 6) if placement == "spread" else (size - 1) / 10 + 1
        if placement == "random":
            racks = 6 * (1.0 - (5 / 6) ** size)
        hazard = self.off * at * (size / LIFE + 1.0 / self.system + racks / RACK)
        ends = [np.exp(-hazard * x) for x in (1.0, 1.0 + self.doubt, max(1.0 - self.doubt, 0.0))]
        return Interval("reliability", "known", 0.95, at, *ends, np.full(at.shape, "ok", object), pd.Index(at))


def nodes_only(log: rf.FailureLog) -> rf.System:
    """What version 0.1 made of a log: the nodes' own records, pooled Weibull; nothing of records without a node."""
    pooled = rf.fit(log.where(scope=["node", "group"]).ttf(first="always"), "weibull").pool()
    return rf.system_from_fits(pooled)


@pytest.fixture(scope="module")
def log() -> rf.FailureLog:
    return fleet(1)


@pytest.fixture(scope="module")
def found(log: rf.FailureLog) -> Replay:
    return rf.replay(log, 0.5, sizes=[1, 4, 16], lengths=["12h", "48h"], jobs=600, model=Known(), rng=1)


@pytest.mark.slow
def test_the_models_of_version_0_1_fail_on_the_sample() -> None:
    """They predict that half of the jobs on 64 nodes survive a day; counted in the log: 0.31."""
    white = rf.datasets.load("white")
    found = rf.replay(
        white, "2004-01-01", sizes=[1, 64], lengths=["24h"], jobs=500, since="2003-04-01", model=nodes_only
    )
    assert found.fails
    assert found.headline.startswith("The model fails in ")
    cells = found.cells[found.cells["size"] == 64]
    assert cells["fails"].all()
    assert cells["predicted"].between(0.44, 0.56).all()
    assert cells["observed"].between(0.24, 0.38).all()
    assert (cells["error"] > 0.1).all()
    assert f"{100 * found.worst['error']:+.1f} points" in found.headline


def test_the_model_of_the_fleet_agrees_with_the_sample() -> None:
    """The same jobs, and the log's last quarter: predicted as they are counted."""
    white = rf.datasets.load("white")
    found = rf.replay(white, "2004-01-01", sizes=[1, 64], lengths=["24h"], jobs=500, since="2003-04-01")
    assert not found.fails
    cells = found.cells[found.cells["size"] == 64]
    assert cells["predicted"].between(0.26, 0.36).all()
    assert (cells["error"].abs() < 0.08).all()
    assert not rf.replay(white, 0.75, jobs=300).fails


def test_a_fleet_that_changed_is_told_from_a_wrong_model() -> None:
    """Halved rates from the middle of the held-out time on: the error there was not from the start."""
    first, second = fleet(3, system=60.0), fleet(4, system=1e9)
    events = first.events[first.events["start"] < EPOCH + 4500 * HOUR]
    later = second.events[second.events["start"] >= EPOCH + 4500 * HOUR]
    log = rf.FailureLog(pd.concat([events, later], ignore_index=True), first.population, first.window)
    found = rf.replay(log, 0.5, [1, 4], ["24h", "48h"], 600, model=Known(system=60.0), placements="random")
    assert found.fails
    early, late = (
        float(text) for text in re.findall(r"([+-][\d.]+) (?:points in the first|in the second)", found.findings[1])
    )
    assert late < -25.0
    assert abs(early) < 20.0


@pytest.mark.parametrize("system", ["18", "20"])
@pytest.mark.slow
def test_systems_of_los_alamos(shared: Path, system: str) -> None:
    """Anything that takes down a node, in the last quarter of the log, is as often as the model of the rest says."""
    log = rf.read(shared / "data" / "lanl-failures-1996-2005.csv.xz").where(system=system)
    assert not rf.replay(log, 0.75, sizes=[1, 4, 16], jobs=400).fails


def test_a_system_of_los_alamos_that_became_better(shared: Path) -> None:
    """System 2 failed 170 times a quarter before the middle of 2003, and 30 times in 2005."""
    log = rf.read(shared / "data" / "lanl-failures-1996-2005.csv.xz").where(system=2)
    assert not rf.replay(log.between(None, "2004-01-01"), "2003-07-09", sizes=[1, 4, 16], jobs=400).fails
    later = rf.replay(log, "2003-07-09", sizes=[1, 4, 16], jobs=400)
    assert later.fails
    assert later.worst["error"] < -0.15
    assert "the fleet changed" in later.findings[1]


@pytest.mark.parametrize("placement", ["packed", "spread", "random"])
def test_jobs_against_a_search_by_hand(log: rf.FailureLog, placement: str) -> None:
    """Nodes are up, ages are since the node's last outage, and jobs end with the first record that meets them."""
    (nodes,) = Nodes.of(log)
    rng = np.random.default_rng(3)
    instants = rng.uniform(100.0, HOURS - 100.0, 40)
    jobs = place(nodes, instants, placement, 12, 48.0, rng)
    events = log.events
    start = ((events["start"] - EPOCH) / HOUR).to_numpy()
    end = ((events["end"] - EPOCH) / HOUR).to_numpy()
    whole = events["node"].isna().to_numpy()
    placed = 0
    for job, at in enumerate(instants):
        names = [nodes.labels[i][1] for i in jobs.nodes[job] if i >= 0]
        assert len(set(names)) == len(names)
        met = np.inf
        for rank, name in enumerate(names):
            placed += 1
            hits = whole | (events["node"] == name).to_numpy()
            assert not (hits & (start <= at) & (end > at)).any()
            own = start[(events["node"] == name).to_numpy() & (start <= at)]
            # ages count from the first record of an outage; records of a node that overlap are one outage
            assert jobs.age[job, rank] >= at - (own.max() if own.size else 0.0) - 1e-9
            met = min(met, start[hits & (start > at)].min(initial=np.inf) - at)
            assert jobs.ends[job, rank] == pytest.approx(met)
        if placement == "spread" and len(names) == 12:
            assert np.bincount([int(name[1:]) // 10 for name in names]).max() == 2
        if placement == "packed" and len(names) == 12:
            first, last = (int(names[i][1:]) for i in (0, -1))
            between = [f"n{i:02d}" for i in range(first, last + 1)]
            up = [n for n in between if not ((events["node"] == n) & (start <= at) & (end > at)).any()]
            assert up == names
    assert placed > 300


def test_a_right_model_passes_and_wrong_ones_fail(log: rf.FailureLog, found: Replay) -> None:
    assert not found.fails
    assert found.headline.startswith("The model agrees")
    asked = {"sizes": [1, 4, 16], "lengths": ["12h", "48h"], "jobs": 600, "rng": 1}
    for wrong in (Known(off=2.0), Known(off=0.5), Known(system=1e9)):
        other = rf.replay(log, 0.5, model=wrong, **asked)
        assert other.fails
        assert np.array_equal(other.survived, found.survived)
    # what a model does not know of its own rates counts for it
    assert not rf.replay(log, 0.5, model=Known(off=1.4, doubt=0.9), **asked).fails


def test_right_models_fail_no_more_often_than_said() -> None:
    """Sixty fleets of known rates, with outages that hit all jobs: at 5 % no more than chance allows fail."""
    p = []
    for seed in range(60):
        log = fleet(100 + seed, nodes=30)
        p.append(rf.replay(log, 0.5, [1, 16], ["12h", "24h"], 150, model=Known(), placements="spread", rng=seed).p)
    assert (np.array(p) <= 0.05).sum() <= 7
    assert (np.array(p) <= 0.5).sum() >= 12


def test_a_system_is_asked_for_the_nodes_and_ages_of_a_job(log: rf.FailureLog) -> None:
    system = rf.System(
        rf.families.Weibull(0.7, np.linspace(500.0, 1500.0, 60)),
        names=[f"n{i:02d}" for i in range(60)],
        common=rf.families.Exponential(1.0 / 150.0),
    )
    found = rf.replay(log, 0.5, [1, 3], ["12h", "48h"], 30, model=system, placements="random", rng=5)
    (nodes,) = Nodes.of(log)
    rng = np.random.default_rng(5)
    starts = np.sort(rng.uniform(3000.0, HOURS - 48.0, 30))
    rng.choice(1, 30, p=[1.0])
    jobs = place(nodes, starts, "random", 3, 48.0, rng)
    for job in np.flatnonzero(jobs.nodes[:, 2] >= 0)[:10]:
        scale, age = np.linspace(500.0, 1500.0, 60)[jobs.nodes[job]], jobs.age[job]
        for k, row in ((1, 0), (3, 1)):
            for t, column in ((12.0, 0), (48.0, 1)):
                hazard = (((age[:k] + t) / scale[:k]) ** 0.7 - (age[:k] / scale[:k]) ** 0.7).sum() + t / 150.0
                assert found.predicted[job, 0, row, column] == pytest.approx(np.exp(-hazard))


def test_nothing_after_the_split_goes_into_the_model(log: rf.FailureLog) -> None:
    seen = []

    def model(part: rf.FailureLog) -> Known:
        seen.append(part)
        return Known()

    found = rf.replay(log, 0.25, [1], ["6h"], 50, model=model, since=EPOCH + 1000 * HOUR)
    assert (found.split - EPOCH) / HOUR == pytest.approx(1000 + 0.25 * 5000)
    assert seen[0].window.end == found.split
    assert seen[0].window.start == EPOCH + 1000 * HOUR
    assert seen[0].events["start"].max() < found.split
    with pytest.raises(ArgumentError, match="outside the log"):
        rf.replay(log, "2001-01-02", [1], ["6h"], since=EPOCH + 1000 * HOUR)


def test_cells_are_what_they_say(found: Replay) -> None:
    table = found.cells
    assert len(table) == 3 * 3 * 2
    row = table[(table["size"] == 4) & (table["length_hours"] == 48.0) & (table["placement"] == "spread")].iloc[0]
    placed = ~np.isnan(found.predicted[:, 1, 1, 1])
    assert row["jobs"] == placed.sum()
    assert row["observed"] == pytest.approx(found.survived[placed, 1, 1, 1].mean())
    assert row["predicted"] == pytest.approx(found.predicted[placed, 1, 1, 1].mean())
    assert row["low"] < row["observed"] < row["high"]
    assert row["error"] == pytest.approx(row["predicted"] - row["observed"])
    assert row["error_low"] < row["error"] < row["error_high"]
    frame = found.to_frame()
    assert len(frame) == found.n_jobs == table["jobs"].sum()
    assert frame["survived"].mean() == pytest.approx((table["observed"] * table["jobs"]).sum() / found.n_jobs)
    document = found.to_dict()
    assert document["fails"] is False
    assert len(document["cells"]) == 18


def test_jobs_that_found_no_nodes_count_nowhere() -> None:
    down = [{"node": "a", "start": h, "end": h + 18} for h in range(0, 2000, 20)]
    log = make_log([*down, *({"node": "b", "start": h, "end": h + 1} for h in range(7, 2000, 90))], window=(0, 2000))
    found = rf.replay(log, 0.5, sizes=[1, 2], lengths=[5.0], jobs=300, model=Known(), placements="random", rng=2)
    pairs = int(found.cells.loc[found.cells["size"] == 2, "jobs"].sum())
    assert 0 < pairs < 100
    assert found.n_jobs == len(found.to_frame()) < 600
    assert found.to_dict()["not_placed"] == 600 - found.n_jobs


def test_an_outage_of_the_whole_system_leaves_no_nodes() -> None:
    off = [{"node": None, "start": h, "end": h + 50, "scope": "system"} for h in range(0, 2000, 100)]
    log = make_log([*off, {"node": "a", "start": 3}, {"node": "b", "start": 4}], window=(0, 2000))
    found = rf.replay(log, 0.5, sizes=[2], lengths=[5.0], jobs=400, model=Known(), placements="random", rng=2)
    assert 150 < found.n_jobs < 250
    # they are up for 50 hours, so that a job of 5 hours goes through from nine in ten instants
    assert found.cells["observed"][0] == pytest.approx(0.9, abs=0.06)


def test_means_that_should_be_zero_over_dependent_blocks() -> None:
    """Blocks share a shock over all cells; the test of all cells together keeps its level."""
    rng = np.random.default_rng(4)
    wrong = 0
    for i in range(300):
        counts = rng.integers(20, 60, (20, 6)).astype(float)
        noise = counts * (0.1 * rng.standard_normal((20, 1)) + 0.05 * rng.standard_normal((20, 6)))
        found = mean_differences(noise, counts, np.zeros(6), np.zeros(6), rng=i)
        wrong += found.p <= 0.05
    assert wrong / 300 < 0.09
    assert wrong / 300 > 0.01


def test_calibration_curve_against_numbers_by_hand() -> None:
    p = np.array([0.1, 0.1, 0.4, 0.4, 0.9, 0.9])
    y = np.array([0, 0, 1, 0, 1, 1], dtype=bool)
    found = calibration_curve(p, y, bins=[0.0, 0.2, 0.5, 1.0])
    assert found.observed.tolist() == [0.0, 0.5, 1.0]
    assert found.brier == pytest.approx((0.01 + 0.01 + 0.36 + 0.16 + 0.01 + 0.01) / 6)
    assert found.miscalibration == pytest.approx((2 * 0.01 + 2 * 0.01 + 2 * 0.01) / 6)
    assert found.resolution == pytest.approx((2 * 0.25 + 0.0 + 2 * 0.25) / 6)
    assert found.uncertainty == pytest.approx(0.25)
    assert found.within == pytest.approx(0.0)
    assert found.low[1] == pytest.approx(float(wilson(0.5, 2)[0]))
    rng = np.random.default_rng(2)
    p = rng.random(5000)
    many = calibration_curve(p, rng.random(5000) < p)
    assert many.brier == pytest.approx(many.miscalibration - many.resolution + many.uncertainty + many.within)
    assert many.count.sum() == 5000
    assert many.effective.tolist() == many.count.tolist()
    # all jobs of a block alike: no more worth than the blocks
    blocks = np.repeat(np.arange(50), 100)
    alike = calibration_curve(np.full(5000, 0.5), np.repeat(rng.random(50) < 0.5, 100), blocks=blocks)
    assert alike.effective[0] == pytest.approx(50, rel=0.1)
    size, _ = effective_sizes(np.array([[5.0, 10.0], [4.0, 10.0]]), np.full((2, 2), 10.0))
    assert size[1] >= 2.0


def test_bad_input(log: rf.FailureLog) -> None:
    with pytest.raises(ArgumentError, match=r"split is 1\.5; it must lie between 0 and 1"):
        rf.replay(log, 1.5)
    with pytest.raises(ArgumentError, match="outside the log"):
        rf.replay(log, "2030-01-01")
    with pytest.raises(ArgumentError, match="a job of 100 nodes on 60 nodes"):
        rf.replay(log, sizes=100)
    with pytest.raises(ArgumentError, match="sizes is 0; give a whole number"):
        rf.replay(log, sizes=[0, 1])
    with pytest.raises(ArgumentError, match="above zero"):
        rf.replay(log, lengths=[-3.0])
    with pytest.raises(DataError, match="too short"):
        rf.replay(log, lengths=["2000h"])
    with pytest.raises(ArgumentError, match="placements="):
        rf.replay(log, placements=["heap"])
    with pytest.raises(ArgumentError, match="a float predicts no jobs"):
        rf.replay(log, model=0.5)
    with pytest.raises(DataError, match="without dates"):
        rf.replay(make_log(lifetimes=[{"node": "a", "duration": 3.0, "observed": True}]))
    with pytest.raises(ArgumentError, match=r"predicted is 1\.2; it must lie between 0 and 1"):
        calibration_curve([1.2], [True])
    with pytest.raises(ArgumentError, match="leave predictions out"):
        calibration_curve([0.2], [True], bins=[0.5, 1.0])


def test_the_last_node_of_a_large_fleet_fails_at_its_own_minute() -> None:
    size = 20_000
    hours = np.linspace(10.0, 11.0, size)
    nodes = Nodes(
        "s", pd.RangeIndex(size), np.zeros(size, np.int64), np.zeros(size), np.full(size, 1000.0),
        np.arange(size), hours, hours + 0.25, np.zeros(0), np.zeros(0),
    )  # fmt: skip
    up, age, following = nodes.at(np.array([11.1, 10.5]), 24.0)
    failed = hours <= 10.5
    assert (up[1] == (~failed | (hours + 0.25 <= 10.5))).all()
    assert age[1] == pytest.approx(np.where(failed, 10.5 - hours, 10.5))
    assert following[1][~failed] == pytest.approx(hours[~failed] - 10.5)
    assert age[0] == pytest.approx(11.1 - hours)
