"""What notes say of submissions that were moved."""

from __future__ import annotations

from relfit.io.workloads import Workload, compress, scale_load

JOBS = Workload([1, 2, 3], [0.0, 20.0, 50.0], [1, 1, 1], [8.0, 8.0, 8.0], n_nodes=2)  # load 24 / (2 * 50) = 0.24


def test_notes_say_which_way_submissions_moved() -> None:
    assert compress(JOBS, 2.0).source.notes[-1] == "submissions 2 times as close together"
    assert compress(JOBS, 0.5).source.notes[-1] == "submissions 2 times as far apart"
    assert scale_load(JOBS, 0.12).submit.tolist() == [0.0, 40.0, 100.0]
    assert scale_load(JOBS, 0.12).source.notes[-1] == "submissions 2 times as far apart"
    assert compress(JOBS, 1.02).source.notes[-1] == "submissions 2 % closer together"
    assert compress(JOBS, 0.996).source.notes[-1] == "submissions 0.4 % further apart"
