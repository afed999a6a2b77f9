"""Every rule of the verdicts with a number in it, on both sides of its border."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import relfit as rf
from relfit.analyses.independence import (
    Cofailures,
    Correlations,
    Cycles,
    Dependence,
    Dispersion,
    PooledTests,
    SerialTests,
    cofailures,
    failures_of,
    pooled_tests,
    serial_tests,
)
from relfit.analyses.independence._cycles import cycles_of_instants
from relfit.analyses.independence._dispersion import _index
from relfit.analyses.independence.serial_p_values import runs_mid_p
from relfit.log.lifedata import LifeData
from tests.independence.test_events import EMPTY, make_failures

NONE = pd.DataFrame()


def test_the_count_of_random_logs_is_that_of_one() -> None:
    found = replace(_cofailures(794, 182.0, 0.001, 0.3), expected_shuffled=363.0)
    assert "(794 against 182; 363 on average in 199 random logs of the same rate" in found.headline


def _cofailures(together: int, expected: float, p: float, p_shuffled: float = np.nan) -> Cofailures:
    return Cofailures(1.0, "system", NONE, None, 1, together, expected, p, np.nan, p_shuffled, 199)


def _pooled(p: float, r: float) -> PooledTests:
    one = np.array([100])
    return PooledTests(
        one, one, one * 0, np.array(["ok"], object), np.array([2.0 - 2.0 * r]), np.array([p]), np.array([r])
    )


def _dispersion(index: float, mean: float, p: float) -> Dispersion:
    values = (np.array([x]) for x in (24.0, 100, mean, index, 0.9, 1.1, p))
    return Dispersion(*values, 0.95, 100)


def _cycles(p: float, strength: float, tested: int = 2) -> Cycles:
    status = np.array(["ok"] * tested + ["too_few"] * (2 - tested), object)
    two = np.full(2, 100)
    counts = (np.full(24, 10), np.full(7, 10))
    return Cycles(
        ("day", "week"), counts, two, two, np.full(2, strength), np.full(2, 1.0), np.full(2, p), status, "UTC"
    )


def _serial(p: np.ndarray) -> SerialTests:
    n = p.size
    nan, status = np.full(n, np.nan), np.full(n, "ok", object)
    sizes, lags = np.full(n, 50), np.ones(n, np.int64)
    return SerialTests(pd.RangeIndex(n), sizes, status, nan[:, None], nan, p, lags, nan, nan, nan, nan, nan, nan, 99)


def _correlations(r: list[float], p: list[float], mean_r_p: float = np.nan, mean_r: float = 0.1) -> Correlations:
    k = int((1 + np.sqrt(1 + 8 * len(r))) / 2)
    node, lengths = np.arange(k), np.full(k, 30)
    status = np.full(k, "ok", object)
    return Correlations(
        "pearson", pd.RangeIndex(k), status, node, lengths, np.array(r), np.array(p), mean_r, mean_r_p, 99
    )


@pytest.mark.parametrize(
    ("result", "depends"),
    [
        (_cofailures(105, 100.0, 0.05), True),
        (_cofailures(104, 100.0, 0.05), False),
        (_cofailures(200, 100.0, 0.0501), False),
        (_cofailures(200, 100.0, 0.001, 0.06), False),  # random logs decide where there are some
        (_cofailures(0, 0.0, np.nan), None),
        (_pooled(0.05, 0.05), True),
        (_pooled(0.05, -0.05), True),
        (_pooled(0.05, 0.049), False),
        (_pooled(0.0501, 0.5), False),
        (_dispersion(1.0 + 0.0101 * 5.0, 5.0, 0.05), True),  # the rate varies by a root of 0.0101
        (_dispersion(1.0 + 0.0099 * 5.0, 5.0, 0.05), False),
        (_dispersion(0.9, 5.0, 0.05), True),
        (_dispersion(0.901, 5.0, 0.05), False),
        (_dispersion(3.0, 5.0, 0.051), False),
        (_dispersion(np.nan, 5.0, np.nan), None),
        (_cycles(0.025, 0.0708), True),  # times the root of two
        (_cycles(0.025, 0.0707), False),
        (_cycles(0.026, 0.5), False),  # of two tests
        (_cycles(0.05, 0.5, tested=1), True),
        (_cycles(0.05, 0.5, tested=0), None),
        (_serial(np.repeat([0.04, 0.9], [75, 925])), True),
        (_serial(np.repeat([0.04, 0.9], [74, 926])), False),
        (_serial(np.repeat([0.04, 0.9], [9, 91])), False),  # more than 7.5 %, and no more than chance
        (_serial(np.repeat([1e-9, 0.9], [11, 989])), True),
        (_serial(np.repeat([1e-9, 0.9], [10, 990])), False),
        (_correlations([0.5, 0.1, 0.1], [0.025 / 3.0, 1.0, 1.0]), True),
        (_correlations([0.5, 0.1, 0.1], [0.0251 / 3.0, 1.0, 1.0]), False),
        (_correlations([0.39, 0.1, 0.1], [0.025 / 3.0, 1.0, 1.0]), False),  # a pair below 0.4
        (_correlations([0.1, 0.1, 0.1], [1.0, 1.0, 1.0], 0.025), True),
        (_correlations([0.1, 0.1, 0.1], [1.0, 1.0, 1.0], 0.0251), False),
        (_correlations([0.1, 0.1, 0.1], [1.0, 1.0, 1.0], 0.001, mean_r=0.049), False),  # 1.098 times the variance
        (_correlations([0.1, 0.1, 0.1], [1.0, 1.0, 1.0], 0.001, mean_r=-0.1), False),
    ],
    ids=str,
)
def test_verdicts_at_their_borders(result: Any, depends: bool | None) -> None:
    assert result.depends is depends


@pytest.mark.parametrize(("failures", "depends"), [(39, None), (40, False)])
def test_a_test_that_finds_nothing_needs_forty_failures(failures: int, depends: bool | None) -> None:
    found = Dependence(cofailure=_cofailures(100, 100.0, 0.5), failures=failures)
    assert found.depends("cofailure") is depends
    assert found.to_frame()["status"].tolist() == ["no answer" if depends is None else "ok"]
    assert ("too few to tell" in found.headline) == (depends is None)
    assert Dependence(cofailure=_cofailures(200, 100.0, 0.001), failures=failures).depends("cofailure") is True


def test_classes_of_correlation_at_their_borders() -> None:
    r = [0.0499, 0.05, 0.3999, 0.4, 0.8, 0.8001]
    assert _correlations(r, [1.0] * 6).classes["pairs"].tolist() == [1, 2, 2, 1]


def test_failing_together_counts_half_of_what_was_seen() -> None:
    found = cofailures(EMPTY, 6, failures=make_failures([[10.0, 500.0], [12.0, 900.0], [300.0]]))
    assert found.together == 1
    both = stats.poisson.sf(1, found.expected) + 0.5 * stats.poisson.pmf(1, found.expected)
    assert found.p == pytest.approx(both, rel=1e-9)
    assert found.table["p"].iloc[0] == found.p


@pytest.mark.parametrize(("apart", "together"), [(6.0, 1), (6.0001, 0)])
def test_a_window_includes_its_end(apart: float, together: int) -> None:
    assert cofailures(EMPTY, 6, failures=make_failures([[10.0], [10.0 + apart]])).together == together


def test_runs_count_half_of_what_was_seen() -> None:
    # of the 20 orders of three and three values, two have two runs
    assert runs_mid_p([2], [3], [3])[0] == pytest.approx(2 * 0.5 * 2 / 20)
    assert runs_mid_p([3], [3], [3])[0] == pytest.approx(2 * (2 + 0.5 * 4) / 20)


def test_series_of_too_few_values() -> None:
    lives = LifeData.from_groups({"two": [1, 2], "three": [1, 2, 4], "four": [1, 2, 4, 3], "five": [1, 2, 4, 3, 9]})
    found = serial_tests(lives)
    assert found.status.tolist() == ["too_few", "ok", "ok", "ok"]
    assert found.rejected()["tested"].tolist() == [1, 1, 1]  # of four values no order is rare enough
    assert found.rejected(0.1)["tested"].tolist() == [2, 2, 2]
    assert pooled_tests(make_failures([[1.0, 2.0, 4.0, 7.0]])).status.tolist() == ["too_few"]
    assert pooled_tests(make_failures([[1.0, 2.0, 4.0, 7.0, 8.0]])).status.tolist() == ["ok"]


@pytest.mark.parametrize(("days", "status"), [(9, "too_few"), (10, "ok")])
def test_a_cycle_needs_ten_periods_with_a_failure(days: int, status: str) -> None:
    assert cycles_of_instants(np.arange(days) * 24.0 + 5.0, 0.0, 2400.0, "UTC").status[0] == status


def test_nodes_that_come_and_go_make_autocorrelation_that_is_told(tmp_path: Path) -> None:
    """Twenty busy nodes for a year, then twenty quiet ones: times between failures are alike within each year."""
    rng, start, year = np.random.default_rng(4), pd.Timestamp("2020-01-01"), pd.Timedelta("365D")
    rows, nodes = [], []
    for node in range(40):
        since = start + (node // 20) * year
        nodes.append((f"n{node:02d}", since, since + year))
        days = np.sort(rng.uniform(0.0, 365.0, rng.poisson(60 if node < 20 else 6)))
        rows += [(f"n{node:02d}", at) for at in since + pd.to_timedelta(days, unit="D")]
    pd.DataFrame(rows, columns=["node", "start"]).to_csv(tmp_path / "log.csv", index=False)
    pd.DataFrame(nodes, columns=["node", "entered", "left"]).to_csv(tmp_path / "nodes.csv", index=False)
    log = rf.read(tmp_path / "log.csv", population=tmp_path / "nodes.csv")
    pooled = pooled_tests(failures_of(log), [40], n_resamples=99)
    assert pooled.durbin_watson[0] < 1.7
    assert not pooled.depends
    assert "no appreciable autocorrelation beyond that of independent nodes" in pooled.headline


def test_the_p_value_of_a_cycle_is_that_which_is_compared() -> None:
    """Two cycles are tested, so twice the p-value of each stands in the sentence, beside what it is compared with."""
    result = replace(_cycles(0.0085, 0.3), alpha=0.01)
    assert not result.depends
    assert result.headline.count("cycle of failures shows (p = 0.017, above 0.01)") == 2
    assert result.p_adjusted.tolist() == [0.017, 0.017]
    assert result.to_dict()["p_adjusted"] == [0.017, 0.017]
    assert replace(result, alpha=0.02).headline.startswith("There is a daily cycle of failures (p = 0.017)")


def test_a_peak_is_a_time_of_the_day_and_of_the_week() -> None:
    result = replace(_cycles(0.001, 0.3), peak=np.array([12.16, 56.67]))
    assert result.peak_times == ("12:10", "Wed 08:40")
    assert replace(result, peak=np.array([23.999, np.nan])).peak_times == ("00:00", "")


def test_the_range_over_all_k_leaves_out_those_with_few_failures() -> None:
    sizes, d = np.array([5, 38, 39, 60, 100]), np.array([2.96, 2.7, 2.25, 1.89, 2.0])
    result = PooledTests(
        np.arange(1, 6), sizes, sizes * 0, np.full(5, "ok", object), d, np.full(5, 0.6), 1.0 - d / 2.0, 0.0, 0.46
    )
    assert (
        "(Durbin-Watson 2.00, p = 0.46); p is against random logs; Durbin-Watson is 1.89 to 2.25 over all k with 40 "
        "failures or more." in (result.headline)
    )


def test_a_failure_at_the_end_of_the_last_bin_is_in_it() -> None:
    at = np.array([0.5, 1.5, 1.7, 3.0, 9.2, 9.9, 12.0])
    counts = np.histogram(at, 12, (0.0, 12.0))[0]
    bins, mean, index, _ = _index(at, 12.0, 1.0)
    assert (bins, mean) == (12, 7 / 12)
    assert index == pytest.approx(counts.var(ddof=1) / counts.mean())
    counts = np.histogram(np.append(at, 11.5), 12, (0.0, 12.0))[0]  # two in the last bin
    assert _index(np.append(at, 11.5), 12.0, 1.0)[2] == pytest.approx(counts.var(ddof=1) / counts.mean())
