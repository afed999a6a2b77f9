"""Fleets whose rate moves, or does not: what is said of age, of change and of nodes that fail together. Plain NumPy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit import LifeData
from relfit.analyses.independence import cofailures
from relfit.analyses.recurrence import EventHistories, trend_tests
from relfit.analyses.screening import change_points, outlier_nodes
from relfit.analyses.screening.by_calendar import calendar_shape, told_from_calendar
from relfit.analyses.screening.frailty import renewal_models
from tests.factories import make_log

NODES, HOURS, FAILURES = 64, 17_520.0, 700


def instants(kind: str, rng: np.random.Generator) -> np.ndarray:
    """Of a fleet: at a constant rate, by season, in weeks of which three in ten are bad ones, or in bursts."""
    if kind == "bursts":  # a failure brings another half, a day later on average
        new = at = rng.random(rng.poisson(0.5 * FAILURES)) * HOURS
        while new.size:
            new = np.repeat(new, rng.poisson(0.5, new.size))
            new = new + rng.exponential(24.0, new.size)
            at = np.append(at, new)
        return np.sort(at[at < HOURS])
    hour = np.arange(HOURS)
    rate = np.ones(hour.size)
    if kind == "season":
        rate += 0.8 * np.sin(2.0 * np.pi * (hour / 8760.0 + rng.random()))
    elif kind == "weeks":
        rate = np.where(rng.random(105) < 0.3, 3.0, 1.0)[(hour // 168).astype(int)]
    at = rng.choice(hour, rng.poisson(FAILURES), p=rate / rate.sum())
    return np.sort(at + rng.random(at.size))


def log_of(at: np.ndarray, rng: np.random.Generator) -> rf.FailureLog:
    node = rng.integers(0, NODES, at.size)
    rows = [{"node": f"n{j}", "start": t} for j, t in zip(node, at, strict=True)]
    return make_log(rows, [{"node": f"n{j}"} for j in range(NODES)], window=(0.0, HOURS))


def lives_of(node: np.ndarray, at: np.ndarray, nodes: int = NODES) -> tuple[LifeData, np.ndarray]:
    """Times of each node, the first of unknown age, and when each began and ended."""
    spans = []
    for j in range(nodes):
        ends = np.concatenate([[0.0], np.sort(at[node == j]), [HOURS]])
        spans.append(np.stack([ends[:-1], ends[1:]], axis=1))
    clock, sizes = np.concatenate(spans), np.array([len(span) for span in spans])
    offsets = np.append(0, np.cumsum(sizes))
    observed, first = np.ones(len(clock), bool), np.zeros(len(clock), bool)
    observed[offsets[1:] - 1], first[offsets[:-1]] = False, True
    return LifeData(np.ptp(clock, axis=1), observed, offsets, pd.RangeIndex(nodes), "ttf", stationary=first), clock


def weibull_nodes(shape: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    gaps = rng.weibull(shape, (NODES, 120)) * 1200.0
    at = gaps.cumsum(axis=1) - 20_000.0
    node, which = np.nonzero((at > 0.0) & (at < HOURS))
    return node, at[node, which]


@pytest.mark.slow
def test_a_season_is_not_taken_for_age() -> None:
    claimed, told = 0, 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        at = instants("season", rng)
        lives, clock = lives_of(rng.integers(0, NODES, at.size), at)
        models = renewal_models(lives, n_resamples=19)
        held = told_from_calendar(models, lives, clock)
        claimed += int(models.ageing[0] != 0)
        told += int(held.ageing[0] != 0)
        if models.ageing[0] and not held.ageing[0]:
            assert held.moving is not None
            assert held.moving[0]
            assert held.shape[0, 0] < 1.0 < held.shape[0, 2]
            assert held.shape[0, 1] == models.shape[0, 1]
            wide = np.log(held.shape[0, 2] / held.shape[0, 1]) / 1.959964
            assert np.sqrt(held.covariance[0, 0, 0]) == pytest.approx(wide)
            assert "cannot be distinguished from rates that change" in held.headline
    assert claimed >= 8
    assert told <= 1


@pytest.mark.parametrize("shape", [0.7, 2.0])
def test_age_is_told_where_it_plays_a_part(shape: float) -> None:
    for seed in range(4):
        lives, clock = lives_of(*weibull_nodes(shape, np.random.default_rng(seed)))
        models = renewal_models(lives, n_resamples=19)
        held = told_from_calendar(models, lives, clock)
        assert held.ageing[0] == (-1 if shape < 1.0 else 1)
        np.testing.assert_array_equal(held.shape, models.shape)
        low, high = calendar_shape(lives, clock, np.zeros(NODES, np.int64), 1, 0.99, np.random.default_rng(1))[0]
        assert low < shape < high


@pytest.mark.parametrize("kind", ["unequal", "two classes", "weeks"])
def test_limits_by_calendar_hold_one_where_age_plays_no_part(kind: str) -> None:
    outside = 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        weight = np.ones(NODES)
        if kind == "unequal":
            weight = rng.gamma(2.0, 0.5, NODES)
        elif kind == "two classes":
            weight[:4] = 10.0
        at = instants("weeks" if kind == "weeks" else "steady", rng)
        lives, clock = lives_of(rng.choice(NODES, at.size, p=weight / weight.sum()), at)
        low, high = calendar_shape(lives, clock, np.zeros(NODES, np.int64), 1, 0.95, np.random.default_rng(1))[0]
        outside += not low <= 1.0 <= high
    assert outside <= 4  # 1 expected at 5 %; 5 or more in 1 %


def test_nodes_of_a_log_with_a_season_do_not_age() -> None:
    rng = np.random.default_rng(2)
    log = log_of(instants("season", rng), rng)
    found = outlier_nodes(log, n_resamples=19).models
    assert found.moving is not None
    assert found.ageing[0] == 0


@pytest.mark.parametrize(("kind", "least", "most"), [("steady", 0, 0), ("weeks", 6, 6), ("bursts", 6, 6)])
def test_good_and_bad_weeks_are_no_steady_rate(kind: str, least: int, most: int) -> None:
    uneven = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        found = change_points(log_of(instants(kind, rng), rng), of="records", n_resamples=99)
        if len(found) > 1:
            continue
        uneven += found.uneven > 1.0
        assert ("good and bad" in found.headline) == (found.uneven > 1.0)
        assert "steady" not in found.headline
        assert ("would show in 9 of 10 logs" in found.headline) == (not found.uneven > 1.0)
    assert least - 1 <= uneven <= most


@pytest.mark.slow
def test_the_change_that_would_show_does_in_nine_of_ten_logs() -> None:
    rng = np.random.default_rng(1)
    steady = change_points(log_of(instants("steady", rng), rng), of="records")
    factor = float(steady.evidence.split("factor of ")[1].split()[0])
    shown = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        late = rng.random(FAILURES) < factor / (1.0 + factor)
        at = np.sort((rng.random(FAILURES) + late) * HOURS / 2.0)
        shown += len(change_points(log_of(at, rng), of="records", n_resamples=99)) > 1
    assert shown >= 15  # 18 expected; fewer in 4 %


def test_bursts_and_weeks_have_no_trend_and_a_rise_has() -> None:
    for kind in ("steady", "weeks", "bursts"):
        times = [instants(kind, np.random.default_rng(seed)) for seed in range(300)]
        found = trend_tests(EventHistories.from_groups(times, end=[HOURS] * 300), tests=("laplace",))
        assert np.mean(found.slope_p < 0.03) <= 0.05, kind
        assert np.mean(found.slope_p < 0.5) == pytest.approx(0.45, abs=0.1)
        if kind == "bursts":
            assert np.mean(found.p[:, 0] < 0.05) > 0.2  # of a Poisson process these are trends
    one = trend_tests(EventHistories.from_groups([instants("steady", np.random.default_rng(1))], end=[HOURS]))
    factor = float(one.headline.split("rise to ")[1].split()[0])
    rng, rise = np.random.default_rng(2), []
    for _ in range(200):
        u = rng.random(4 * FAILURES)
        rise.append(HOURS * u[rng.random(u.size) < (1.0 + (factor - 1.0) * u) / factor][:FAILURES])
    found = trend_tests(EventHistories.from_groups(rise, end=[HOURS] * 200), tests=("laplace",))
    assert np.mean((found.slope_p < 0.03) & (found.slope > 0.0)) == pytest.approx(0.9, abs=0.06)


def test_weeks_in_which_all_fail_more_often_are_not_nodes_that_fail_together() -> None:
    said = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        log = log_of(instants("weeks", rng), rng)
        said += bool(cofailures(log, n_resamples=99).depends)
    assert said <= 1


@pytest.mark.parametrize("infant", [True, False])
def test_uneven_weeks_of_new_nodes_are_told_from_those_of_all(infant: bool) -> None:
    """Good and bad weeks were told of all, where a new batch failed four times as often in its first months.

    Where all nodes have bad weeks, the new ones are not named.
    """
    rng, days, since = np.random.default_rng(1), 720, 450
    new = np.arange(400) >= 250
    age = (np.arange(days) - since)[:, None] * new
    rate = 0.006 * np.where(new & (age >= 0), 1.0 + (3.0 * np.exp(-age / 60.0) if infant else 0.5), ~new)
    if not infant:
        rate = rate * np.repeat(rng.gamma(4.0, 0.25, 1 + days // 7), 7)[:days, None]
    day, node = np.nonzero(rng.random(rate.shape) < rate)
    hour = np.sort(24.0 * day + rng.uniform(0.0, 20.0, day.size))
    events = [{"node": f"n{i}", "start": t, "end": t + 0.1} for t, i in zip(hour, node, strict=True)]
    nodes = [{"node": f"n{i}", "entered": 24.0 * since if new[i] else 0.0} for i in range(400)]
    points = rf.screening.change_points(make_log(events, nodes, window=(0.0, 24.0 * days)))
    assert points.uneven > 1.0
    young = rate[:, new].sum() / (new.sum() * (days - since)) / (rate[:, ~new].sum() / ((~new).sum() * days))
    assert ("of nodes in their first year" in points.finding) == infant
    if infant:
        assert points.first_year == pytest.approx(young, rel=0.1)
