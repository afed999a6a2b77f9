"""Units that leave with their only failure, as disks do, independent of each other: no test may find otherwise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.analyses.independence import failures_of, pooled_tests

UNITS, DAYS, A_YEAR = 2500, 800, 0.15


@pytest.mark.parametrize("dates", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_independent_units_are_independent(seed: int, dates: bool) -> None:
    rng = np.random.default_rng(seed)
    begin = np.maximum(rng.uniform(-900.0, 0.8 * DAYS, UNITS), 0.0)
    ends = begin + rng.exponential(365.0 / A_YEAR, UNITS)
    begin, ends = (np.floor(days) if dates else days for days in (begin, ends))
    first = pd.Timestamp("2023-01-01")
    nodes = pd.DataFrame({"node": [f"u{i}" for i in range(UNITS)], "entered": first + pd.to_timedelta(begin, "D")})
    nodes["left"] = (first + pd.to_timedelta(ends, "D")).where(ends < DAYS)
    failed = nodes.loc[ends < DAYS, ["node", "left"]].rename(columns={"left": "start"}).reset_index(drop=True)
    window = {"window_start": str(first), "window_end": str(first + pd.Timedelta(DAYS, "D"))}
    log = rf.read(failed, population=nodes, **window)
    # the random logs of units that leave have no autocorrelation of their own: it was 0.26
    assert abs(pooled_tests(failures_of(log), n_resamples=99).expected) < 0.05
    said = rf.dependence(log).headline
    assert "Nodes may be taken as independent of each other" in said
    assert "show no dependence along time" in said
