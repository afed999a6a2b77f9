"""Load, size, copies and walltimes: by hand."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit.io import workloads

JOBS = rf.workloads.Workload(
    [4, 7, 9],
    [100.0, 160.0, 400.0],
    [1, 6, 16],
    [50.0, 10.0, 30.0],
    [60.0, np.inf, 20.0],
    16,
    user=["a", "b", "a"],
    priority=[1.0, 2.0, 3.0],
)


def test_load_is_what_was_asked_for() -> None:
    work = 1 * 50 + 6 * 10 + 16 * 20
    assert JOBS.load() == pytest.approx(work / (16 * 300))
    half = workloads.scale_load(JOBS, 0.5)
    assert half.load() == pytest.approx(0.5)
    assert half.submit[0] == 100.0
    assert np.diff(half.submit) == pytest.approx(np.diff(JOBS.submit) * JOBS.load() / 0.5)
    assert half.run_time is JOBS.run_time or np.array_equal(half.run_time, JOBS.run_time)
    wide = workloads.scale_load(JOBS, 0.5, n_nodes=32)
    assert (wide.n_nodes, wide.load()) == (32, pytest.approx(0.5))
    with pytest.raises(rf.ArgumentError, match="all jobs come at once"):
        workloads.scale_load(JOBS.with_columns({"submit": np.zeros(3)}), 0.5)


def test_copies() -> None:
    three = workloads.copies(JOBS, 3, "1min")
    expected = sorted((t + 60.0 * k, k, i) for k in range(3) for i, t in enumerate(JOBS.submit.tolist()))
    assert three.submit.tolist() == [row[0] for row in expected]
    assert three.nodes.tolist() == [JOBS.nodes[row[2]] for row in expected]
    assert three.user.tolist() == [JOBS.user[row[2]] for row in expected]
    assert three.priority.tolist() == [JOBS.priority[row[2]] for row in expected]
    assert three.node_seconds.sum() == pytest.approx(3 * JOBS.node_seconds.sum())
    assert sorted(three.job_id.tolist()) == [4, 7, 9, 13, 16, 18, 22, 25, 27]
    named = workloads.copies(rf.workloads.Workload(["x", "y"], [0.0, 5.0], [1, 1], [1.0, 1.0]), 2)
    assert named.job_id.tolist() == ["x", "x.2", "y", "y.2"]
    assert np.array_equal(workloads.copies(JOBS, 1).submit, JOBS.submit)
    with pytest.raises(rf.ArgumentError, match="times"):
        workloads.copies(JOBS, 0)


def test_sizes() -> None:
    double = workloads.scale_size(JOBS, 2.0)
    assert double.nodes.tolist() == [2, 12, 32]
    assert double.n_nodes == 32
    assert double.load() == pytest.approx(JOBS.load())
    third = workloads.scale_size(JOBS, 1 / 3)
    assert third.nodes.tolist() == [1, 2, 5]
    assert third.n_nodes == 5


def test_walltimes() -> None:
    assert workloads.with_walltimes(JOBS, 0.5).requested.tolist() == [25.0, 5.0, 15.0]
    assert np.isinf(workloads.with_walltimes(JOBS, np.inf).requested).all()
    many = workloads.TwoStage(64).sample(20_000, rng=5)
    share = workloads.with_walltimes(many, (0.5, 1.5), rng=3).requested / many.run_time
    assert share.min() >= 0.5
    assert share.max() <= 1.5
    assert np.quantile(share, [0.25, 0.5, 0.75]) == pytest.approx([0.75, 1.0, 1.25], abs=0.02)
    again = workloads.with_walltimes(many, (0.5, 1.5), rng=3).requested / many.run_time
    assert np.array_equal(share, again)
    with pytest.raises(rf.ArgumentError, match="share"):
        workloads.with_walltimes(JOBS, (2.0, 1.0))


@pytest.mark.parametrize("factor", [0.0, -1.0, np.nan, np.inf])
def test_factors_that_cannot_be(factor: float) -> None:
    for change in (workloads.compress, workloads.scale_load, workloads.scale_size):
        with pytest.raises(rf.ArgumentError):
            change(JOBS, factor)
