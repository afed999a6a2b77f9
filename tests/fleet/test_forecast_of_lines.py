"""Forecasts of logs whose records are lines, not outages: one failure counts once, as in fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.fleet.surveillance import failures_ahead
from tests.factories import make_log


def failures(lines: int, seed: int = 4, hours: float = 2160.0) -> rf.FailureLog:
    """The same 300 failures of 60 nodes, drawn with plain NumPy, each as so many lines within seconds, without ends."""
    rng = np.random.default_rng(seed)
    start, node = np.sort(rng.uniform(0.0, hours, 300)), rng.integers(0, 60, 300)
    rows = [
        {"node": f"n{which:02d}", "start": when + line * 2.0 / 3600.0, "cause": "gpu"}
        for when, which in zip(start, node, strict=True)
        for line in range(lines)
    ]
    return make_log(rows, [{"node": f"n{i:02d}"} for i in range(60)], window=(0.0, hours))


def test_lines_of_one_failure_are_forecast_as_one_failure_that_takes_one_part():
    once, often = (rf.forecast(failures(lines), "30d", at="long run", period="all") for lines in (1, 4))
    assert often.total["failures"][0] == pytest.approx(300 / 2160.0 * 720.0, rel=0.01)
    numbers = ["of", "name", "failures", "failures_low", "failures_high", "stock"]
    assert often.table[numbers].equals(once.table[numbers])
    assert often.history["failures"].sum() == 300
    assert failures_ahead(failures(4), "gpu", 720.0).expected == failures_ahead(failures(1), "gpu", 720.0).expected


def _tested(log: rf.FailureLog) -> pd.DataFrame:
    return rf.backtest(log, parts="forecasts", horizons="10d", every="5d", fast=True).table


def test_a_backtest_counts_what_the_forecast_does():
    once, often = (_tested(failures(lines)) for lines in (1, 4))
    assert often[["seen", "predicted"]].equals(once[["seen", "predicted"]])


def test_outages_with_ends_that_overlap_each_take_a_part():
    rows = [{"start": 10.0 * i + shift, "end": 10.0 * i + 5.0} for i in range(20) for shift in (0.0, 1.0)]
    ahead = rf.forecast(make_log(rows, window=(0.0, 200.0)), "100h")
    assert ahead.history["failures"].sum() == 40
