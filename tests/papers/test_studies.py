"""The papers' batch studies: their workloads, and what a failure costs by throwing darts."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from papers import batch_allocation, batch_pairs, batch_waits, studies
from relfit.batch import RepairSweep
from relfit.workloads import Workload


def test_what_a_failure_costs_by_throwing_darts() -> None:
    rng = np.random.default_rng(1)
    nodes, hours = rng.integers(1, 5, 40), rng.exponential(3.0, 40)
    submit = np.linspace(0.0, 200.0 * 3600.0, 40)  # far enough apart for each to run at once, on nodes 0 to n-1
    jobs = Workload(np.arange(40), submit, nodes, 3600.0 * np.minimum(hours, 5.0), n_nodes=8)
    when, where = rng.uniform(0.0, 200.0, 400_000), rng.integers(0, 8, 400_000)
    row = np.searchsorted(submit / 3600.0, when, side="right") - 1
    ran = when - submit[row] / 3600.0
    hit = (ran < jobs.run_time[row] / 3600.0) & (where < nodes[row])
    lost = np.where(hit, nodes[row] * ran, 0.0)
    assert batch_waits.lost_per_failure(jobs) == pytest.approx(lost.mean(), rel=0.03)
    since_saved = np.where(hit, nodes[row] * (ran % 0.7), 0.0)
    assert batch_waits.lost_per_failure(jobs, every=0.7) == pytest.approx(since_saved.mean(), rel=0.03)


def test_workloads_of_the_sizes_of_print() -> None:
    jobs = batch_waits.grizzly(2018, 6000)
    assert jobs.load() == pytest.approx(0.95)
    assert 0.45 < (jobs.nodes == 1).mean() < 0.5
    assert jobs.requested.max() <= 16 * 3600.0
    assert pytest.approx(1490 / 20_000) == 24.0 / batch_waits.MTBF
    log = batch_allocation.all_at_once("LANL", 500)
    assert (log.submit == 250_000 * 60.0).all()
    assert set(log.nodes.tolist()) >= {2, 4, 8}
    assert log.nodes.min() == 2
    half = batch_allocation.all_at_once("SDSC", 500, load=0.5)
    assert half.load() == pytest.approx(0.5, rel=0.02)


def test_unequal_failures_come_as_often() -> None:
    sample, drawn = batch_allocation.white_failures(), batch_allocation.unequal_failures()
    assert drawn.time.size == pytest.approx(sample.time.size, rel=0.5)
    per_node = np.bincount(drawn.node, minlength=512)
    assert per_node.max() > 10 * max(np.median(per_node), 1)
    assert (np.diff(drawn.time) >= 0).all()


def test_pairs_beside_print() -> None:
    rates, repairs = np.array([1.0, 2.0, 4.0, 8.0]), np.array([1 / 60, 240.0, 480.0])
    sweep = RepairSweep(322.0, rates, repairs, (1.0 + 0.01 * rates[:, None] * (240.0 + repairs))[None])
    table = batch_waits.break_even(sweep, batch_waits.grizzly(2018, 500))
    assert table["printed_days"].tolist() == [13.0, 5.0]
    assert table["days"].tolist() == pytest.approx([10.0, 10.0], rel=1e-3)
    assert isinstance(table, pd.DataFrame)


def test_pairs_where_one_thing_is_changed() -> None:
    table = batch_pairs.variant("checkpoints every hour", 400, 2)
    assert table["wait of"].tolist() == [name for name in batch_pairs.MEASURES for _ in range(2)]
    assert table["pair"].tolist() == ["1X = 2X", "4X = 8X"] * 3
    assert (table["by_node_hours"] < 10.0).all()
    jobs = batch_waits.grizzly(2018, 400)
    sweeps = batch_pairs.pairs(jobs, 2, ["1min", "5D", "13D"])[batch_pairs.MEASURES[0]]
    whole = batch_waits.waits(jobs, 2, ["1min", "5D", "13D"], rates=[1, 2])
    assert np.array_equal(sweeps[0].waits[:, 0], whole.waits[:, 0])
    assert np.array_equal(sweeps[0].waits[:, 1, 0], whole.waits[:, 1, 0])


def test_differences_by_width_over_workloads() -> None:
    table = batch_waits.scatter_by_width(2018, 500, 3)
    single = [
        batch_waits.waits_by_width(batch_waits.grizzly(2018, 500, rng=seed)).loc["all", ("difference", "wait")]
        for seed in (1, 2, 3)
    ]
    row = table.loc["all"]
    assert row[["least", "mean", "most"]].tolist() == pytest.approx([min(single), np.mean(single), max(single)])
    half = 4.302653 * np.std(single, ddof=1) / np.sqrt(3)  # Student's quantile with 2 degrees of freedom
    assert row[["low", "high"]].tolist() == pytest.approx([np.mean(single) - half, np.mean(single) + half])


def test_script(capsys: pytest.CaptureFixture[str]) -> None:
    assert studies.main(["wait"]) == 2
    said = capsys.readouterr().err
    assert "there is no study 'wait'; it is one of waits, pairs, variants, width, twice, waste, moldable" in said
