"""Repairs that wait for working hours are told apart from those that do not, and chance is not taken for a rule."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import relfit as rf
from relfit.analyses.screening import RepairClock, repair_clock
from relfit.analyses.screening._repair_clock import kruskal_wallis
from relfit.cli.app import main
from tests.factories import at, make_log

HOURS = 300 * 24.0


def clock_of(starts: np.ndarray, repairs: np.ndarray) -> tuple[rf.FailureLog, RepairClock]:
    order = np.argsort(starts)
    rows = [
        {"node": f"n{i % 40:02}", "start": float(starts[k]), "end": float(starts[k] + repairs[k])}
        for i, k in enumerate(order)
    ]
    log = make_log(rows, [{"node": f"n{i:02}"} for i in range(40)], window=(0, HOURS + 200))
    return log, repair_clock(log)


def local(starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Day of the week, Monday 0, and hour of the day."""
    hours = starts + 24.0 * at(0).dayofweek + at(0).hour
    return (hours // 24).astype(int) % 7, hours % 24


@pytest.mark.slow
def test_the_means_are_those_counted_by_hand(capsys: pytest.CaptureFixture[str], tmp_path) -> None:
    rng = np.random.default_rng(1)
    starts = rng.uniform(0.0, HOURS, 500)
    day, hour = local(starts)
    monday = (7 - day) * 24.0 - hour + 8.0  # hours until Monday at eight
    repairs = np.where(day >= 5, monday, 0.0) + rng.exponential(5.0, 500)
    log, result = clock_of(starts, repairs)
    by_day = result.table[result.table["clock"] == "weekday"]
    assert by_day["mean"].to_numpy() == pytest.approx([repairs[day == d].mean() for d in range(7)])
    by_hours = result.table[result.table["clock"] == "hours"]
    assert by_hours["mean"].to_numpy() == pytest.approx([repairs[hour // 6 == b].mean() for b in range(4)])
    assert result.depends
    assert "if a node fails on a Saturday" in result.headline
    assert "repairs wait for working days" in result.headline
    path = rf.write(log, tmp_path / "log.parquet")
    assert main(["trend", str(path)]) in (None, 0)
    assert "if a node fails on a Saturday" in " ".join(capsys.readouterr().out.split())


def test_the_time_of_day_is_found() -> None:
    rng = np.random.default_rng(2)
    starts = rng.uniform(0.0, HOURS, 500)
    _, hour = local(starts)
    repairs = np.where(hour >= 18, 14.0, 0.0) + rng.exponential(5.0, 500)
    _, result = clock_of(starts, repairs)
    assert result.p_adjusted[0] > 0.05
    assert result.p_adjusted[1] < 0.001
    assert "if a node fails from 18 to 24 h" in result.headline
    assert "working days" not in result.headline


@pytest.mark.slow
@pytest.mark.parametrize("bursts", [False, True])
@pytest.mark.parametrize("number", [30, pytest.param(100, marks=pytest.mark.verify)])
def test_size_of_both_tests_together(bursts: bool, number: int) -> None:
    """More failures on working days, skewed repairs, and (bursts) days on which all repairs take long."""
    rng, wrong = np.random.default_rng(3), 0
    for _ in range(number):
        starts = rng.uniform(0.0, HOURS, 500)
        day, _ = local(starts)
        starts = starts[(day < 5) | (rng.random(500) < 0.4)]
        repairs = rng.lognormal(1.5, 1.0, starts.size)
        if bursts:
            level = rng.lognormal(0.0, 1.0, int(HOURS // 24) + 1)
            starts = np.concatenate([starts, *(d * 24.0 + rng.uniform(0, 24, 12) for d in rng.integers(0, 299, 15))])
            repairs = rng.lognormal(1.5, 1.0, starts.size) * level[(starts // 24).astype(int)]
        wrong += bool(clock_of(starts, repairs)[1].depends)
    assert wrong / number <= 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / number)


@pytest.mark.slow
def test_heavy_tails_are_no_weekday_and_a_day_of_twice_as_long_is_found() -> None:
    """Lognormal repairs with a logarithm's deviation of 1.5, and one in a hundred of 3,000 hours; Saturdays twice."""
    rng, wrong, found = np.random.default_rng(5), 0, 0
    for _ in range(40):
        starts = rng.uniform(0.0, HOURS, 600)
        repairs = rng.lognormal(0.0, 1.5, 600)
        wrong += bool(clock_of(starts, np.where(rng.random(600) < 0.01, 3000.0, repairs))[1].depends)
    for _ in range(10):
        starts = rng.uniform(0.0, HOURS, 600)
        repairs = rng.lognormal(0.0, 0.7, 600) * np.where(local(starts)[0] == 5, 2.0, 1.0)
        found += "if a node fails on a Saturday" in clock_of(starts, repairs)[1].headline
    assert wrong <= 5  # 2 expected by chance
    assert found >= 8


def test_two_very_long_repairs_make_no_statement_of_a_day() -> None:
    """Two Saturdays of 5,000 hours; the repairs of Tuesdays are longer: means named the Saturday."""
    rng = np.random.default_rng(6)
    starts = rng.uniform(0.0, HOURS, 1000)
    day = local(starts)[0]
    repairs = rng.lognormal(0.0, 0.5, 1000) * np.where(day == 1, 2.5, 1.0)
    repairs[np.flatnonzero(day == 5)[:2]] = 5000.0
    _, result = clock_of(starts, repairs)
    assert result.table.loc[result.table["mean"].idxmax(), "when"] == "Saturday"
    assert "if a node fails on a Tuesday" in result.headline


def test_too_few_repairs() -> None:
    _, result = clock_of(np.linspace(1.0, HOURS, 12), np.full(12, 3.0))
    assert result.depends is None
    assert result.headline.startswith("Too few repairs")


def test_kruskal_wallis_is_that_of_scipy() -> None:
    rng = np.random.default_rng(4)
    groups = [np.round(rng.exponential(3.0 + i, 20 + 5 * i), 1 - i % 2) for i in range(4)]
    assert kruskal_wallis(groups) == pytest.approx(stats.kruskal(*groups).pvalue, rel=1e-9)
    assert np.isnan(kruskal_wallis([np.ones(3), np.ones(4)]))
