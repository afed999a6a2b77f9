"""Counting identities and published figures on the real logs."""

from __future__ import annotations

import pandas as pd
import pytest

from relfit.analyses.recurrence import availability
from relfit.log.failurelog import FailureLog
from tests.site_logs import site_log


@pytest.fixture(scope="module")
def lanl() -> FailureLog:
    return site_log("lanl")


@pytest.fixture(scope="module")
def grid5000() -> FailureLog:
    return site_log("grid5000")


def every_event_is_accounted_for(log: FailureLog, per: str, overlaps: str) -> None:
    """Group by group: failures that end a gap, and those left out for a reason, are all the failures there are."""
    lives = log.ttf(per=per, overlaps=overlaps)
    assert lives.counts is not None
    accounted = lives.n_failures + lives.counts[["zero_gaps", "overlapping", "first_gap_unknown"]].sum(axis=1)
    keys = ["system", "node"] if per == "node" else [per]
    begun = log.events[~log.events["start_cut"].to_numpy(bool)].dropna(subset=keys)
    failures = begun.groupby(keys if len(keys) > 1 else per, observed=True).size().reindex(lives.groups, fill_value=0)
    failed = failures.to_numpy() > 0
    assert failed.any()
    assert accounted[failed].tolist() == failures[failed].tolist()
    assert failures.sum() == len(begun)


@pytest.mark.slow
def test_grid5000_is_available_as_published(grid5000: FailureLog) -> None:
    """As the Failure Trace Archive publishes: 32.41 h up and 7.41 h down on average, availability 0.814."""
    up = grid5000.ttf(origin="repair", first="always", zeros="keep")
    down = grid5000.ttr(zeros="keep")
    assert up.durations.mean() == pytest.approx(32.41, abs=0.005)
    assert down.durations.mean() == pytest.approx(7.41, abs=0.005)
    share = availability(grid5000)
    assert share.operational[0] == pytest.approx(0.814, abs=0.0005)
    assert share.node_hours[0] == pytest.approx(11_718_363, abs=1)
    assert not grid5000.population["entered_known"].any()


@pytest.mark.parametrize("overlaps", ["merge", "keep"])
@pytest.mark.parametrize("per", ["node", "system"])
def test_every_lanl_event_is_a_life_or_counted(lanl: FailureLog, per: str, overlaps: str) -> None:
    every_event_is_accounted_for(lanl, per, overlaps)


@pytest.mark.parametrize("per", ["node", "system"])
def test_every_grid5000_event_is_a_life_or_counted(grid5000: FailureLog, per: str) -> None:
    every_event_is_accounted_for(grid5000, per, "merge")


@pytest.mark.parametrize("overlaps", ["merge", "keep"])
def test_zero_gaps_of_lanl_system_2_before_2000(lanl: FailureLog, overlaps: str) -> None:
    """42 % under either rule: the zeros are failures of different nodes at one minute."""
    early = lanl.where(system=2).between(until="2000-01-01")
    lives = early.ttf(per="system", overlaps=overlaps)
    assert lives.counts is not None
    zeros = lives.counts["zero_gaps"].sum()
    assert 100 * zeros / (zeros + lives.n_failures.sum()) == pytest.approx(42.0, abs=0.2)


def test_gaps_of_a_lanl_system_fill_its_time(lanl: FailureLog) -> None:
    part = lanl.where(system=20)
    lives = part.ttf(per="system", first="never")
    first = part.events["start"].min()
    last = part.population["left"].max()
    assert lives.total_time.tolist() == pytest.approx([(last - first).total_seconds() / 3600])


@pytest.mark.slow
def test_selecting_a_system_narrows_the_window_to_its_time():
    log = site_log("lanl").where(system=20)
    assert log.window.start == pd.Timestamp("2001-12-01", tz="America/Denver")
    assert log.window.start_known
    assert log.events["start"].min() >= log.window.start
    assert log.window.hours < 34_000
