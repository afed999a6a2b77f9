"""Chi-square and rescaled times: Figure 4.3, closed forms, sizes under the null, power against wrong models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from relfit.errors import ArgumentError, DataError
from relfit.families import Exponential, Weibull
from relfit.system import System
from relfit.validation import chi_square, validate
from relfit.validation._validate import anderson_darling_p
from tests.factories import make_log
from tests.system.simulated import simulated_log

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


def test_chi_square_has_its_size_over_many_seeds(mixed: System) -> None:
    p = np.array([chi_square(mixed.sample(400, seed), mixed).p for seed in range(100)])
    for level in (0.05, 0.2, 0.5):
        # as many rejections as 100 tests of this size have: within the central 99 % of the binomial law
        low, high = stats.binom.interval(0.99, 100, level)
        assert low <= (p < level).sum() <= high
    assert stats.kstest(p, "uniform").pvalue > 0.05


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
        found = validate(gaps, mixed, ages=ages)
        counts = np.histogram(found.uniform, np.linspace(0.0, 1.0, 13))[0]
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
    with pytest.raises(DataError, match="position 1 is no time"):
        chi_square([1.0, -2.0], pair, 2)
    with pytest.raises(DataError, match="too few"):
        chi_square([1.0, 2.0], pair)
    with pytest.raises(ArgumentError, match="no degree of freedom"):
        chi_square(TIMES, pair, 3, estimated=2)
    with pytest.raises(ArgumentError, match="must rise"):
        chi_square(TIMES, pair, [0, 10, 5])
    with pytest.raises(ArgumentError, match="expects no failure"):
        chi_square(TIMES, pair, [0, 1e7, 2e7, 3e7])


# ------------------------------------------------------------------- rescaled times


def test_anderson_darling_p_values() -> None:
    """Quantiles of the limiting law, and scipy's Monte Carlo at a small size."""
    for p, value in ((0.10, 1.933), (0.05, 2.492), (0.01, 3.8781)):
        assert anderson_darling_p(value, 10**6) == pytest.approx(p, abs=2e-4)
    rng = np.random.default_rng(1)
    u = np.sort(rng.random((40_000, 6)), axis=1)
    i = 2.0 * np.arange(1, 7) - 1.0
    statistic = -6.0 - (i * (np.log(u) + np.log1p(-u[:, ::-1]))).sum(axis=1) / 6.0
    for value in (0.6, 1.2, 2.5):
        assert anderson_darling_p(value, 6) == pytest.approx((statistic > value).mean(), abs=0.008)


def test_times_with_ages_of_their_own(mixed: System) -> None:
    """Uniform values of each time are those of a system of these ages, and the tests are scipy's."""
    rng = np.random.default_rng(3)
    ages = rng.uniform(0.0, 3000.0, (50, 4))
    times = np.array([mixed.at_age(row).sample(1, rng)[0] for row in ages])
    found = validate(times, mixed, ages=ages)
    by_hand = np.array([float(mixed.at_age(row).cdf(t)) for row, t in zip(ages, times, strict=True)])
    assert found.uniform == pytest.approx(by_hand)
    test = stats.kstest(by_hand, "uniform")
    assert (found.ks, found.ks_p) == pytest.approx((test.statistic, test.pvalue), rel=1e-6)
    assert found.expected == pytest.approx(-np.log1p(-by_hand).sum())
    assert found.ratio == pytest.approx(50 / found.expected)


def test_a_log_is_followed_node_by_node() -> None:
    """Two nodes, four failures: the hazard between failures by hand."""
    log = make_log(
        [
            {"node": "a", "start": 30},
            {"node": "b", "start": 50},
            {"node": "a", "start": 70},
            {"node": "b", "start": 70},
        ],
        [{"node": "a"}, {"node": "b", "entered": 10}],
    )
    shape, scale = np.array([0.7, 1.4]), np.array([40.0, 60.0])
    system = System(Weibull(shape, scale), names=["a", "b"])

    def spent(node: int, begin: float, end: float) -> float:
        return float((end / scale[node]) ** shape[node] - (begin / scale[node]) ** shape[node])

    found = validate(log, system)
    wanted = [
        spent(0, 0, 30) + spent(1, 0, 20),
        spent(0, 0, 20) + spent(1, 20, 40),
        spent(0, 20, 40) + spent(1, 0, 20),
    ]
    assert -np.log1p(-found.uniform) == pytest.approx(wanted)
    assert found.expected == pytest.approx(sum(wanted) + spent(0, 0, 30) + spent(1, 0, 30))
    assert (found.failures, found.together) == (4, 1)
    # from an instant on, ages come from before it
    later = validate(log, system, since="2001-01-03")  # 48 hours
    wanted = [spent(0, 18, 20) + spent(1, 38, 40), spent(0, 20, 40) + spent(1, 0, 20)]
    assert -np.log1p(-later.uniform) == pytest.approx(wanted)
    assert later.failures == 3


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = Weibull(np.linspace(0.6, 1.4, 10), np.full(10, 300.0))
    log = simulated_log(fleet, 4000.0, rng=3)
    system = System(fleet, names=[f"n{i:04d}" for i in range(10)])
    whole = validate(log, system)
    monkeypatch.setattr("relfit.validation._validate._CELLS_AT_ONCE", 70)
    assert np.array_equal(validate(log, system).uniform, whole.uniform)


def test_a_right_and_a_wrong_model_of_a_log() -> None:
    fleet = Weibull(np.linspace(0.5, 0.9, 12), np.full(12, 400.0))
    names = [f"n{i:04d}" for i in range(12)]
    p = []
    for seed in range(40):
        log = simulated_log(fleet, 2000.0, rng=seed)
        found = validate(log, System(fleet, names=names), since="2001-02-01")
        p.append([found.ks_p, found.ad_p])
    assert ((np.array(p) < 0.05).mean(axis=0) < 0.16).all()
    steady = System(Exponential(1.0 / fleet.mean()), names=names)
    found = validate(simulated_log(fleet, 20000.0, rng=1), steady)
    assert found.ad_p < 0.01
    assert "disagree" in found.headline
    fast = System(Weibull(fleet.shape, fleet.scale / 2.0), names=names)
    found = validate(simulated_log(fleet, 20000.0, rng=1), fast)
    assert found.ratio_high < 1.0
    assert "the rate is wrong" in found.headline


def test_validate_bad_input(mixed: System) -> None:
    log = make_log([{"node": "a", "start": 30}])
    with pytest.raises(ArgumentError, match="is not in this log"):
        validate(log, mixed)
    with pytest.raises(ArgumentError, match="knows the ages"):
        validate(log, mixed, ages=[[1.0]])
    with pytest.raises(ArgumentError, match="have no dates"):
        validate([1.0], mixed, since="2001-01-01")
    with pytest.raises(ArgumentError, match=r"ages of shape \(1, 2\)"):
        validate([1.0], mixed, ages=[[1.0, 2.0]])
    with pytest.raises(DataError, match="no time to failure"):
        validate([np.nan], mixed)
    nothing = validate([], mixed)
    assert "No failure was seen" in nothing.headline
    assert nothing.to_dict()["ks_p"] is None
