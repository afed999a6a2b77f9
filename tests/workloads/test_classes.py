"""Shares of jobs by length and width, counted one by one."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import relfit as rf
from relfit.io import workloads


@pytest.mark.parametrize("weight", ["jobs", "work"])
def test_shares_counted_one_by_one(weight: str) -> None:
    jobs = workloads.TwoStage(300, longest_share=0.05).sample(400, rng=4)
    table = workloads.shares(jobs, weight=weight)
    total = {}
    for n, run, limit in zip(jobs.nodes, jobs.run_time, jobs.requested, strict=True):
        run = min(run, limit)
        row = sum(run >= end for end in (60, 3600, 6 * 3600, 12 * 3600, 86_400))
        column = len(bin(n)) - 3
        total[row, column] = total.get((row, column), 0.0) + (1.0 if weight == "jobs" else n * run)
    whole = sum(total.values())
    assert table.shape == (6, max(column for _, column in total) + 1)
    for (row, column), part in total.items():
        assert table.iloc[row, column] == pytest.approx(part / whole)
    assert table.to_numpy().sum() == pytest.approx(1.0)


def test_limits_belong_to_the_next_class() -> None:
    names = workloads.length_classes([59.9, 60.0, 3600.0, 21_600.0, 43_200.0, 86_400.0])
    assert names.ordered
    assert names.codes.tolist() == [0, 1, 2, 3, 4, 5]
    assert workloads.width_classes([1, 2, 3, 4, 1023, 1024]).codes.tolist() == [0, 1, 1, 2, 9, 10]
    with pytest.raises(rf.ArgumentError, match="weight"):
        workloads.shares(rf.workloads.Workload([1], [0.0], [1], [1.0]), weight="nodes")
    assert np.isclose(workloads.shares(rf.workloads.Workload([1], [0.0], [1], [1.0])).to_numpy().sum(), 1.0)


def test_figure_of_shares() -> None:
    jobs = rf.workloads.Workload([1, 2, 3, 4], np.arange(4.0), [1, 1, 1, 8], [30.0, 30.0, 7200.0, 7200.0])
    ax = rf.plot(jobs, Figure().add_subplot())
    written = {(text.get_position(), text.get_text()) for text in ax.texts}
    assert written == {((0, 0), "50"), ((0, 2), "25"), ((3, 2), "25")}
    assert "75 % of the jobs take one node" in ax.get_title(loc="left")
