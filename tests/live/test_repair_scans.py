"""The score of a repair: the normal quantile of its rank among those of its cause in the year before."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import relfit as rf
from relfit.fleet.surveillance import repair_scans
from relfit.live import fleet_alarms


def test_scores_by_ranks_in_plain_numpy() -> None:
    rng = np.random.default_rng(5)
    day = np.sort(rng.integers(0, 700, 900))
    hours = np.round(rng.lognormal(1.0, 0.7, 900), 1)  # ties among them
    cause = rng.choice(4, 900, p=[0.6, 0.3, 0.07, 0.03])  # the last two are always, or at first, few: one cause
    scores = repair_scans._scores(day, hours, cause)
    for i in range(900):
        end = day[i] // 7 * 7 - 28
        then = (day >= end - 365) & (day < end)
        often = [(cause[then] == code).sum() >= 30 for code in range(4)]
        kind = np.array([code if often[code] else -1 for code in cause])
        past = hours[then & (kind == kind[i])]
        if past.size < 30:
            assert np.isnan(scores[i])
            continue
        rank = (past < hours[i]).sum() + 0.5 * (past == hours[i]).sum()
        assert scores[i] == pytest.approx(norm.ppf((rank + 0.5) / (past.size + 1.0)), abs=1e-12)
    assert 600 < np.isfinite(scores).sum() < 900


def test_thirty_repairs_are_enough_to_be_held_against() -> None:
    day, hours = np.append(np.zeros(30, int), 40), np.arange(1.0, 32.0)
    one = np.zeros(31, int)
    assert repair_scans._scores(day, hours, one)[-1] == pytest.approx(norm.ppf(30.5 / 31.0))
    assert np.isnan(repair_scans._scores(day[1:], hours[1:], one[1:])[-1])


def _fleet(rng: np.random.Generator, slower: float, more: float) -> rf.FailureLog:
    """Two years of two causes, one with repairs ten times as long; in the last months all `slower`, these `more`."""
    days = np.sort(rng.uniform(0.0, 730.0, 2400))
    late = days > 600.0
    long = rng.random(days.size) < np.where(late, 0.4 * more, np.where(days < 300.0, 0.6, 0.4))
    hours = np.where(long, 20.0, 2.0) * np.exp(0.7 * rng.standard_normal(days.size)) * np.where(late, slower, 1.0)
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(days, unit="D").round("s")
    rows = pd.DataFrame(
        {
            "node": [f"n{i:03d}" for i in rng.integers(0, 300, days.size)],
            "start": start,
            "end": start + pd.to_timedelta(hours, unit="h").round("s"),
            "cause": np.where(long, "disk", "software"),
        }
    )
    return rf.read(rows, window_start="2024-01-01", window_end="2025-12-31")


def test_repairs_half_as_long_again_are_noticed_beside_causes_whose_share_changes() -> None:
    slower = [each for each in fleet_alarms(_fleet(np.random.default_rng(3), 1.5, 1.0)) if each.kind == "repair time"]
    assert [each.subject for each in slower] == ["the system"]
    assert 1.3 < slower[0].evidence["ratio"] < 1.7
    mix = fleet_alarms(_fleet(np.random.default_rng(3), 1.0, 2.0))
    assert not [each for each in mix if each.kind == "repair time"]
