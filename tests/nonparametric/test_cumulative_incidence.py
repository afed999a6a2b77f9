"""Aalen-Johansen against statsmodels, a count by hand and lives of known truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.duration.survfunc import CumIncidenceRight

import relfit as rf
from relfit.base.errors import ArgumentError, DataError
from relfit.fitting.nonparametric import cumulative_incidence, kaplan_meier


def lives(size: int, seed: int, step: float = 0.0) -> pd.DataFrame:
    """Two causes and censoring; a fan ages, a disk does not."""
    rng = np.random.default_rng(seed)
    fan, disk, end = 1000.0 * rng.weibull(2.0, size), rng.exponential(1500.0, size), rng.uniform(100.0, 2000.0, size)
    hours = np.minimum(np.minimum(fan, disk), end)
    mode = np.where(hours == fan, "fan", np.where(hours == disk, "disk", None))
    hours = np.ceil(hours / step) * step if step else hours
    return pd.DataFrame({"hours": hours, "mode": mode, "design": rng.choice(["a", "b"], size)})


@pytest.mark.parametrize("step", [0.0, 250.0])
def test_estimates_and_errors_are_those_of_statsmodels(step: float) -> None:
    table = lives(80, 1, step)
    curves = cumulative_incidence(table, duration="hours", cause="mode", by="design").to_frame()
    for (design, mode), mine in curves.groupby(level=[0, 1]):
        rows = table[table["design"] == design]
        codes = rows["mode"].map({"disk": 1, "fan": 2}).fillna(0).astype(int)
        with np.errstate(all="ignore"):
            theirs = CumIncidenceRight(rows["hours"], codes)
        row = ["disk", "fan"].index(mode)
        np.testing.assert_allclose(mine["time"], theirs.times)
        np.testing.assert_allclose(mine["estimate"], theirs.cinc[row], rtol=1e-12)
        said = np.isfinite(theirs.cinc_se[row])  # not where the last of all failed
        np.testing.assert_allclose(mine["standard_error"][said], theirs.cinc_se[row][said], rtol=1e-9)


def test_causes_add_up_to_all_failures_with_entry_too() -> None:
    table = lives(60, 2)
    table["entry"] = np.random.default_rng(3).uniform(0.0, 0.4, len(table)) * table["hours"]
    curves = cumulative_incidence(table, duration="hours", cause="mode", entry="entry")
    every = kaplan_meier(table["hours"], table["mode"].notna(), entry=table["entry"])
    np.testing.assert_allclose(curves.at([100.0, 500.0, 1500.0]).sum(axis=0), every.cdf([100.0, 500.0, 1500.0])[0])


def test_intervals_cover_the_truth_and_one_minus_kaplan_meier_does_not() -> None:
    """Truth by a hundred thousand plain draws: the share of fans that failed first, within 1,000 h."""
    rng = np.random.default_rng(4)
    fan, disk = 1000.0 * rng.weibull(2.0, 100_000), rng.exponential(1500.0, 100_000)
    truth = np.mean((fan < disk) & (fan < 1000.0))
    tables = pd.concat([lives(40, seed).assign(fleet=seed) for seed in range(400)])
    named = {"duration": "hours", "cause": "mode", "by": "fleet"}
    held = cumulative_incidence(tables, **named).interval(1000.0)
    fans = np.arange(400) * 2 + 1
    covers = np.mean((held.low[fans] <= truth) & (truth <= held.high[fans]))
    assert 0.92 < covers < 0.98
    naive = kaplan_meier(tables.assign(ended=tables["mode"] == "fan"), duration="hours", observed="ended", by="fleet")
    wrong = naive.interval(1000.0)
    assert np.mean((1.0 - wrong.high <= truth) & (truth <= 1.0 - wrong.low)) < 0.8


def test_a_log_and_its_table_of_causes() -> None:
    log = rf.datasets.load("white")
    curves = cumulative_incidence(log.ttf(per="system", competing="cause"))
    every = kaplan_meier(log.ttf(per="system"))
    assert curves.at(24.0).sum() == pytest.approx(every.cdf(24.0)[0], abs=1e-12)
    assert (curves.low <= curves.estimate).all()
    assert (curves.estimate <= curves.high).all()


def test_what_is_no_table_of_causes_is_refused() -> None:
    table = lives(20, 5)
    with pytest.raises(ArgumentError, match="not by group and cause"):
        cumulative_incidence(table["hours"].to_numpy())
    with pytest.raises(ArgumentError, match="no column 'kind'"):
        cumulative_incidence(table, duration="hours", cause="kind")
    with pytest.raises(ArgumentError, match="it has hours, mode, design"):
        cumulative_incidence(table, duration="age", cause="mode")
    with pytest.raises(ArgumentError, match="no column"):
        cumulative_incidence(table, duration="hours", cause=["mode"])  # type: ignore[arg-type]
    for named in ({}, {"cause": "mode"}):  # words counted as failures, F and S alike
        with pytest.raises(DataError, match="more than true and false"):
            rf.fit(table.assign(flag="S"), duration="hours", observed="flag", **named)
    with pytest.raises(DataError, match="1 such in all"):
        cumulative_incidence(table.replace({"hours": {table["hours"][0]: -1.0}}), duration="hours", cause="mode")
    missing = table.assign(design=table["design"].where(table.index > 0))
    with pytest.raises(DataError, match="no group for 1 duration, first in row 0"):
        rf.fit(missing, "exponential", duration="hours", cause="mode", by="design")
    with pytest.raises(DataError, match="names no cause"):
        cumulative_incidence(table.assign(mode=None), duration="hours", cause="mode")
    with pytest.raises(ArgumentError, match="put durations and causes in one"):
        rf.fit(table["hours"].to_numpy(), cause="mode")
