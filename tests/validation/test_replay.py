"""Replays: jobs against a search by hand, no leakage, right models come out right and wrong ones wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.errors import ArgumentError, DataError
from relfit.families import Weibull
from relfit.system import System
from relfit.validation import Replay, calibration_curve
from relfit.validation._block_means import block_means, effective_sizes, wilson
from tests.factories import make_log
from tests.system.simulated import EPOCH, simulated_log


@pytest.fixture(scope="module")
def fleet() -> Weibull:
    rng = np.random.default_rng(1)
    return Weibull(np.full(60, 0.4), 200.0 * np.exp(0.3 * rng.standard_normal(60)))


@pytest.fixture(scope="module")
def log(fleet: Weibull) -> rf.FailureLog:
    return simulated_log(fleet, 12_000.0, repair=20.0)


@pytest.fixture(scope="module")
def found(log: rf.FailureLog) -> Replay:
    return rf.replay(log, 0.5, sizes=[1, 4, 16], lengths=["12h", "48h"], jobs=600, rng=1)


def test_jobs_against_a_search_by_hand(log: rf.FailureLog, found: Replay) -> None:
    """Nodes are up, ages are since the last failure, and survival is what the events say."""
    events = log.events
    starts = (events["start"] - EPOCH) / pd.Timedelta(hours=1)
    ends = (events["end"] - EPOCH) / pd.Timedelta(hours=1)
    half = 6000.0
    for job in range(0, 600, 60):
        at = half + found.start[job]
        next_failures = []
        for rank in range(16):
            name = found.nodes[found.chosen[job, rank]][1]
            mine = (events["node"] == name).to_numpy()
            before = mine & (starts <= at).to_numpy()
            assert not (before & (ends > at).to_numpy()).any()
            last = starts[before].max() if before.any() else 0.0
            assert found.age[job, rank] == pytest.approx(at - last)
            after = starts[mine & (starts > at).to_numpy()]
            next_failures.append(after.min() - at if len(after) else np.inf)
        for s, size in enumerate([1, 4, 16]):
            for m, length in enumerate([12.0, 48.0]):
                assert found.survived[job, s, m] == (min(next_failures[:size]) > length)
    assert (np.sort(found.chosen, axis=1)[:, 1:] != np.sort(found.chosen, axis=1)[:, :-1]).all()


def test_predictions_are_those_of_systems(log: rf.FailureLog, found: Replay) -> None:
    """The same nodes, pooled fit and ages as a `System`, fitted to what was before the split alone."""
    pooled = rf.fit(log.ttf(until=found.split), "weibull").pool()
    for job in (0, 123, 599):
        nodes = found.chosen[job]
        system = System(pooled.distribution[nodes], found.age[job])
        for s, size in enumerate([1, 4, 16]):
            wanted = system.take(np.arange(size)).reliability([12.0, 48.0])
            assert found.predicted["weibull"][job, s] == pytest.approx(wanted, rel=1e-9)


def test_nothing_after_the_split_is_fitted(log: rf.FailureLog, found: Replay) -> None:
    """Failures after the last job's end, and the parameters, do not know of each other."""
    later = log.events["start"] > found.split
    moved = log.events.copy()
    moved.loc[later, ["start", "end"]] += pd.Timedelta(hours=3)
    moved = moved[moved["end"] < log.window.end]
    other = rf.FailureLog(moved.reset_index(drop=True), log.population, log.window)
    again = rf.replay(other, 0.5, sizes=[1, 4, 16], lengths=["12h", "48h"], jobs=600, rng=1)
    same = (again.chosen == found.chosen).all(axis=1) & np.isclose(again.age, found.age).all(axis=1)
    assert np.array_equal(again.predicted["weibull"][same], found.predicted["weibull"][same])
    assert again.fitted_failures == found.fitted_failures
    assert np.array_equal(again.reference, found.reference)


def test_a_right_model_comes_out_right(found: Replay) -> None:
    scores = found.scores
    assert scores.loc["weibull", "excess_low"] < 0.02
    assert scores.loc["weibull", "excess_high"] > -0.02
    curve = found.calibration()
    assert curve.inside.mean() >= 0.7
    assert curve.miscalibration < 0.003
    assert scores.loc["weibull", "skill_low"] > 0.0


def test_a_wrong_model_comes_out_wrong(found: Replay) -> None:
    """Exponential lives know nothing of age: too pessimistic for old nodes, too optimistic for new ones."""
    compared = found.compare()
    assert compared.loc["brier", "favours"] == "weibull"
    assert compared.loc["log_score", "favours"] == "weibull"
    assert found.calibration("exponential").miscalibration > 3.0 * found.calibration("weibull").miscalibration
    assert found.compare("exponential", "weibull").loc["brier", "difference"] == pytest.approx(
        -compared.loc["brier", "difference"]
    )
    assert "weibull predicts better than exponential" in found.headline


def test_scores_are_what_they_say(found: Replay) -> None:
    y = found.survived.astype(float)
    p = found.predicted["weibull"]
    row = found.scores.loc["weibull"]
    assert row["brier"] == pytest.approx(((p - y) ** 2).mean())
    assert row["log_score"] == pytest.approx(-np.where(found.survived, np.log(p), np.log1p(-p)).mean())
    reference = np.broadcast_to(found.reference, y.shape)
    assert row["skill"] == pytest.approx(1.0 - ((p - y) ** 2).mean() / ((reference - y) ** 2).mean())
    assert row["excess"] == pytest.approx((y - p).mean())
    table = found.by_size()
    assert len(table) == 12
    first = table[(table["size"] == 4) & (table["length_hours"] == 48.0) & (table["family"] == "weibull")].iloc[0]
    assert first["observed"] == pytest.approx(y[:, 1, 1].mean())
    assert first["predicted"] == pytest.approx(p[:, 1, 1].mean())
    assert first["low"] < first["observed"] < first["high"]
    frame = found.to_frame()
    assert len(frame) == found.n_jobs == 600 * 6
    assert frame["survived"].mean() == pytest.approx(row["observed"])


def test_kinds_of_parameters_and_seeds(log: rf.FailureLog, found: Replay) -> None:
    asked = {"sizes": [1, 4, 16], "lengths": ["12h", "48h"], "jobs": 600}
    again = rf.replay(log, 0.5, rng=1, **asked)
    assert again.to_dict() == found.to_dict()
    for kind in ("fleet", "node"):
        other = rf.replay(log, 0.5, rng=1, parameters=kind, families="weibull", **asked)
        assert np.array_equal(other.survived, found.survived)
        assert np.corrcoef(other.predicted["weibull"].ravel(), found.predicted["weibull"].ravel())[0, 1] > 0.9
    repaired = rf.replay(log, 0.5, rng=1, origin="repair", **asked)
    assert (repaired.age[:, 0] <= found.age[:, 0]).all()


def test_jobs_that_found_no_nodes_count_nowhere() -> None:
    down = [{"node": "a", "start": h, "end": h + 18} for h in range(0, 2000, 20)]
    log = make_log([*down, *({"node": "b", "start": h, "end": h + 1} for h in range(7, 2000, 90))], window=(0, 2000))
    found = rf.replay(log, 0.5, sizes=[1, 2], lengths=[5.0], jobs=300, families="exponential", rng=2)
    assert 0 < found.placed[:, 1].sum() < 100
    assert found.n_jobs == found.placed.sum() == len(found.to_frame())
    assert found.to_dict()["not_placed"] == 600 - found.n_jobs


def test_coverage_of_blocks() -> None:
    """Means of dependent observations: blocks with a common shock of their own."""
    rng = np.random.default_rng(4)
    held = 0
    for i in range(400):
        share = rng.beta(4.0, 2.0, 20)
        count = rng.integers(20, 60, 20).astype(float)
        found = block_means(rng.binomial(count.astype(int), share).astype(float), count, rng=i)
        held += bool(found.low <= 2.0 / 3.0 <= found.high)
    assert 0.92 < held / 400 < 0.98


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
    with pytest.raises(ArgumentError, match="parameters="):
        rf.replay(log, parameters="own")
    with pytest.raises(DataError, match="nothing failed"):
        rf.replay(make_log([{"start": 90}], window=(0, 100)), lengths=[1.0], sizes=1)
    with pytest.raises(DataError, match="without dates"):
        rf.replay(make_log(lifetimes=[{"node": "a", "duration": 3.0, "observed": True}]))
    with pytest.raises(ArgumentError, match="one family only"):
        rf.replay(log, families="weibull", jobs=20).compare()
    with pytest.raises(ArgumentError, match=r"predicted is 1\.2; it must lie between 0 and 1"):
        calibration_curve([1.2], [True])
    with pytest.raises(ArgumentError, match="leave predictions out"):
        calibration_curve([0.2], [True], bins=[0.5, 1.0])


def test_a_system_of_los_alamos(shared: Path) -> None:
    """On system 20, ages tell which jobs fail: the Weibull predicts better than the exponential."""
    log = rf.read(shared / "data" / "lanl-failures-1996-2005.csv.xz").where(system=20)
    found = rf.replay(log, "2003-07-01", sizes=[4, 16], lengths=["24h", "72h"], jobs=800)
    assert found.compare().loc["brier", "favours"] == "weibull"
    assert found.scores.loc["weibull", "skill_low"] > 0.0
    assert abs(found.scores.loc["weibull", "excess"]) < 0.05


def test_the_share_of_the_split_counts_from_since_on():
    log = rf.datasets.load("white")
    found = rf.replay(log, 0.25, [1], ["6h"], jobs=50, families=["exponential"], since="2003-01-01")
    begin, end = found.window
    assert (found.split - begin) / (end - begin) == pytest.approx(0.25)
    with pytest.raises(ArgumentError, match="outside the log"):
        rf.replay(log, "2002-06-01", [1], ["6h"], since="2003-01-01")
