"""The chi-square test: Figure 4.3, scipy, its size over many seeds, power against a wrong model."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from relfit.base.errors import ArgumentError, DataError
from relfit.fitting.families import Exponential, Weibull
from relfit.system import System, chi_square

OBSERVED = [30, 21, 16, 8, 5, 20]
EDGES = [0, 200, 400, 600, 800, 1000, 8000]
TIMES = np.repeat([100.0, 300.0, 500.0, 700.0, 900.0, 2000.0], OBSERVED)


@pytest.fixture(scope="module")
def pair() -> System:
    """The two nodes of Figure 4.3."""
    return System(Weibull(0.8, [1000.0] * 2), ages=600.0)


@pytest.fixture(scope="module")
def mixed() -> System:
    return System(Weibull([0.8, 0.6, 1.5, 0.9], [1000.0, 3000.0, 1500.0, 700.0]), [600.0, 10.0, 300.0, 2000.0])


def test_figure_4_3(pair: System) -> None:
    found = chi_square(TIMES, pair, EDGES, estimated=2)
    assert found.expected.round(1).tolist() == [29.1, 19.8, 13.8, 9.8, 7.0, 20.5]
    assert found.observed.tolist() == OBSERVED
    assert found.degrees == 3
    assert round(found.critical, 3) == 7.815
    assert not found.rejected
    # the printed statistic and its parts come from expected numbers of one decimal
    printed = chi_square(TIMES, pair, EDGES, estimated=2, decimals=1)
    assert printed.contributions == pytest.approx([0.028, 0.072, 0.351, 0.331, 0.571, 0.012], abs=1e-3)
    assert printed.statistic == pytest.approx(1.365, abs=1e-3)


def test_chi_square_against_scipy(mixed: System) -> None:
    times = mixed.sample(400, rng=7)
    found = chi_square(times, mixed, 12)
    statistic, p = stats.chisquare(found.observed, found.expected)
    assert (found.statistic, found.p) == pytest.approx((statistic, p))
    assert found.expected == pytest.approx(np.full(12, 400 / 12))
    assert found.p == found.p_upper
    estimated = chi_square(times, mixed, 12, estimated=3)
    assert estimated.degrees == 8
    assert estimated.p == pytest.approx(stats.chi2.sf(statistic, 8))
    assert estimated.p_upper == pytest.approx(p)


@pytest.mark.verify
def test_chi_square_has_its_size_over_many_seeds(mixed: System) -> None:
    p = np.array([chi_square(mixed.sample(400, seed), mixed).p for seed in range(100)])
    for level in (0.05, 0.2, 0.5):
        # as many rejections as 100 tests of this size have: within the central 99 % of the binomial law
        low, high = stats.binom.interval(0.99, 100, level)
        assert low <= (p < level).sum() <= high
    assert stats.kstest(p, "uniform").pvalue > 0.05


@pytest.mark.verify
def test_simulated_sequences_agree_with_the_model_over_many_seeds(mixed: System) -> None:
    """Failures after the first too: the hazard spent between them, of nodes that started anew, is exponential."""
    first, later = [], []
    for seed in range(100):
        drawn = mixed.sequences(failures=4, size=150, rng=seed)
        table = drawn.to_frame()
        times = table["time"].to_numpy().reshape(150, 4)
        first.append(chi_square(times[:, 0], mixed).p)
        node = table["position"].to_numpy().reshape(150, 4)
        births = np.broadcast_to(-mixed.ages, (150, 4)).copy()
        for k in range(3):
            births[np.arange(150), node[:, k]] = times[:, k]
        gaps, ages = times[:, 3] - times[:, 2], times[:, 2][:, None] - births
        (nodes,) = mixed.components
        hazard = nodes.family.conditional_cumulative_hazard(gaps[:, None], ages).sum(axis=1)
        counts = np.histogram(-np.expm1(-hazard), np.linspace(0.0, 1.0, 13))[0]
        later.append(stats.chisquare(counts).pvalue)
    for p in (np.array(first), np.array(later)):
        for level in (0.05, 0.2, 0.5):
            low, high = stats.binom.interval(0.99, 100, level)
            assert low <= (p < level).sum() <= high
        assert stats.kstest(p, "uniform").pvalue > 0.05


def test_chi_square_sees_a_wrong_model(mixed: System) -> None:
    wrong = System(Exponential(1.0 / mixed.mttf() * np.ones(1)))
    assert chi_square(mixed.sample(3000, 1), wrong).rejected
    assert not chi_square(mixed.sample(3000, 1), mixed).rejected


def test_chi_square_says_what_is_rough(pair: System) -> None:
    times = np.concatenate([[0.0, 0.0], pair.sample(60, 3)])
    found = chi_square(times, pair, [50, 100, 5000])
    assert found.edges.tolist() == [0.0, 50.0, 100.0, np.inf]
    assert found.zeros == 2
    assert found.observed.sum() == 60
    assert "2 times of zero are left out" in found.headline
    assert "fewer than five" in chi_square(times, pair, [5, 100, 5000]).headline
    assert found.to_dict()["edges"][-1] is None
    assert "<table" in found._repr_html_()


def test_chi_square_bad_input(pair: System) -> None:
    with pytest.raises(DataError, match="position 1 is not a time"):
        chi_square([1.0, -2.0], pair, 2)
    with pytest.raises(DataError, match="too few"):
        chi_square([1.0, 2.0], pair)
    with pytest.raises(ArgumentError, match="no degree of freedom"):
        chi_square(TIMES, pair, 3, estimated=2)
    with pytest.raises(ArgumentError, match="must rise"):
        chi_square(TIMES, pair, [0, 10, 5])
    with pytest.raises(ArgumentError, match="expects no failure"):
        chi_square(TIMES, pair, [0, 1e7, 2e7, 3e7])
