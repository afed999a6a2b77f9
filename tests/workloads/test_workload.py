"""The table of jobs: what it refuses, and its few numbers by hand."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf


def test_offered_load_by_hand() -> None:
    jobs = rf.workloads.Workload(["a", "b"], [100.0, 200.0], [2, 3], [50.0, 40.0], [20.0, np.inf], 8)
    assert jobs.span == 100.0
    assert jobs.load() == pytest.approx((2 * 20 + 3 * 40) / (8 * 100))  # the first is killed at its walltime
    assert jobs.load(4) == pytest.approx(2 * jobs.load())
    assert jobs.to_frame()["job_id"].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"submit": [0.0, 10.0, 5.0]}, "job 3 .position 2.: submitted before the job ahead of it; 1 such job"),
        ({"nodes": [1, 0, 0]}, "job 2 .position 1.: fewer than 1 node; 2 such jobs"),
        ({"nodes": [1, 1.5, 2]}, "not whole numbers"),
        ({"run_time": [1.0, -1.0, 1.0]}, "job 2 .*run_time is below zero"),
        ({"run_time": [1.0, np.nan, 1.0]}, "job 2 .*run_time is not a number"),
        ({"requested": [1.0, 1.0, -7.0]}, "job 3 .*requested is below zero"),
        ({"job_id": [1, 2, 1]}, "job 1 .position 2.: the same job_id"),
        ({"nodes": [1, 2]}, "nodes has shape"),
        ({"n_nodes": 0}, "machine of 0 nodes"),
        ({"priority": [1.0, np.nan, 1.0]}, "priority is not a number"),
    ],
)
def test_what_cannot_be_a_workload_is_named(changed: dict[str, object], said: str) -> None:
    columns = {"job_id": [1, 2, 3], "submit": [0.0, 1.0, 2.0], "nodes": [1, 1, 1], "run_time": [1.0, 1.0, 1.0]}
    rf.workloads.Workload(**columns)
    with pytest.raises(rf.DataError, match=said):
        rf.workloads.Workload(**{**columns, **changed})


def test_arrays_are_copies_that_nobody_writes_to() -> None:
    submit = np.array([0.0, 1.0])
    jobs = rf.workloads.Workload([1, 2], submit, [1, 1], [1.0, 1.0])
    submit[0] = 0.5
    assert jobs.submit[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        jobs.submit[0] = 0.5
    assert np.isinf(jobs.requested).all()
