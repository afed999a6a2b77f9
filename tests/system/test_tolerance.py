"""Jobs that outlive failures: the exact recursion against closed forms, enumeration, mpmath and simulation."""

from __future__ import annotations

from itertools import combinations

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from relfit import ArgumentError, System
from relfit.fitting.families import Exponential, Gamma, LimitedFailure, Loglogistic, Weibull


def made(size, tolerance, seed=1, **options):
    rng = np.random.default_rng(seed)
    lives = Weibull(rng.uniform(0.4, 3.0, size), rng.uniform(100.0, 900.0, size))
    return System(lives, ages=rng.uniform(0.0, 300.0, size), tolerance=tolerance, **options)


def test_brute_force_over_all_subsets():
    system = made(7, 2)
    x = np.array([0.5, 40.0, 300.0, 2000.0])
    single = System(system.components[0].family, ages=system.ages)
    alive = np.array([single.take([i]).reliability(x) for i in range(7)])
    expected = np.zeros(x.size)
    for failed in range(3):
        for some in combinations(range(7), failed):
            gone = np.isin(np.arange(7), some)
            expected += np.prod(np.where(gone[:, None], 1.0 - alive, alive), axis=0)
    np.testing.assert_allclose(system.reliability(x), expected, rtol=1e-9)
    step = 1e-4 * x
    slope = -(system.log_reliability(x + step) - system.log_reliability(x - step)) / (2.0 * step)
    np.testing.assert_allclose(system.hazard(x), slope, rtol=1e-5)
    np.testing.assert_allclose(system.reliability(system.quantile([0.1, 0.9])), [0.9, 0.1], rtol=1e-9)


def test_equal_exponential_nodes_in_closed_form():
    # the (s + 1)-th of n failures: mean = sum of 1 / (rate (n - j))
    for size, spares in ((5, 1), (40, 39), (300, 12), (1000, 400)):
        system = System(Exponential(0.01), ages=np.zeros(size), tolerance=spares)
        exact = 100.0 * sum(1.0 / (size - j) for j in range(spares + 1))
        assert float(system.mttf()) == pytest.approx(exact, rel=1e-9)
        x = 0.7 * exact
        assert float(system.reliability(x)) == pytest.approx(
            float(stats.binom.cdf(spares, size, -np.expm1(-0.01 * x))), rel=1e-9
        )


def test_the_deepest_tail_against_mpmath():
    system = System(Exponential(0.01), ages=np.zeros(2000), tolerance=3)
    for x in (1e-4, 50.0, 300.0):
        with mp.workdps(60):
            p = -mp.expm1(-mp.mpf("0.01") * mp.mpf(x))
            terms = [mp.binomial(2000, j) * p**j * (1 - p) ** (2000 - j) for j in range(4)]
            exact = mp.log(mp.fsum(terms))
            lost = 2000 * mp.binomial(1999, 3) * p**3 * (1 - p) ** 1996 * mp.mpf("0.01") * (1 - p) / (1 - p)
            rate = lost * (1 - p) / mp.exp(exact)
        assert float(system.log_reliability(x)) == pytest.approx(float(exact), rel=1e-9)
        assert float(system.hazard(x)) == pytest.approx(float(rate), rel=1e-9)


def test_random_times_are_those_of_the_order_statistic():
    system = made(30, 4, common={"power": (Exponential(1e-3), 50.0)})
    drawn = system.sample(20_000, rng=2)
    assert stats.kstest(drawn, system.cdf).pvalue > 1e-3
    assert abs(drawn.mean() - system.mttf()) < 4.0 * drawn.std() / np.sqrt(drawn.size)
    left = system.mean_residual_life(60.0)
    after = drawn[drawn > 60.0] - 60.0
    assert abs(after.mean() - left) < 4.0 * after.std() / np.sqrt(after.size)


@pytest.mark.parametrize(("tolerance", "events"), [(0, "nodes"), (5, "nodes"), (5, "job"), (9, "nodes")])
def test_racks_by_simulation(tolerance, events):
    rng = np.random.default_rng(6)
    racks = rng.integers(0, 6, 30)
    lives = {r: Weibull(0.7 + 0.1 * r, 2000.0) for r in range(6)}
    system = made(30, tolerance, racks=racks, rack_lives=lives, rack_ages=200.0, rack_events=events)
    drawn = system.sample(20_000, rng=3)
    assert stats.kstest(drawn, system.cdf).pvalue > 1e-3
    step = 1e-3
    slope = -np.diff(system.log_reliability([30.0 - step, 30.0 + step]))[0] / (2 * step)
    assert float(system.hazard(30.0)) == pytest.approx(slope, rel=1e-6)
    assert set(system.take(np.flatnonzero((racks < 2) | (racks == 5))).racks.names) == {0, 1, 5}


@pytest.mark.parametrize("events", ["nodes", "job"])
def test_a_part_of_a_system_fails_with_its_own_racks_only(events):
    racks = np.array(list("aabbccdd"))
    lives = {name: Weibull(0.8, scale) for name, scale in zip("abcd", (50.0, 900.0, 20.0, 3000.0), strict=True)}
    whole = made(8, 1, racks=racks, rack_lives=lives, rack_events=events)
    some = np.array([2, 3, 4])
    alone = System(
        whole.components[0].family[some],
        ages=whole.ages[some],
        tolerance=1,
        racks=racks[some],
        rack_lives={name: lives[name] for name in "bc"},
        rack_events=events,
    )
    x = np.array([5.0, 100.0, 700.0])
    np.testing.assert_allclose(whole.take(some).reliability(x), alone.reliability(x), rtol=1e-12)


def test_racks_by_enumeration():
    # two racks, three nodes, one may fail
    system = System(
        Weibull([0.8, 1.5, 2.0], [300.0, 500.0, 400.0]),
        tolerance=1,
        racks=["a", "a", "b"],
        rack_lives=Exponential(0.002),
    )
    x = np.array([5.0, 100.0, 700.0])
    p = 1.0 - System(system.components[0].family).take([0]).reliability(x)
    node = [1.0 - System(system.components[0].family).take([i]).reliability(x) for i in range(3)]
    rack = -np.expm1(-0.002 * x)
    np.testing.assert_allclose(node[0], p)
    expected = np.zeros(x.size)
    for state in np.ndindex(2, 2, 2, 2, 2):
        chance = np.ones(x.size)
        for down, probability in zip(state, [*node, rack, rack], strict=True):
            chance = chance * (probability if down else 1.0 - probability)
        gone = [state[0] or state[3], state[1] or state[3], state[2] or state[4]]
        expected += chance * (sum(gone) <= 1)
    np.testing.assert_allclose(system.reliability(x), expected, rtol=1e-9)


def test_common_causes_are_parts_in_series():
    plain, more = made(10, 0), made(10, 0, common=[Weibull(0.9, 5000.0), (Gamma(2.0, 800.0), "30 days")])
    x = np.array([3.0, 300.0])
    extra = Weibull(0.9, 5000.0).sf(x) * Gamma(2.0, 800.0).sf(x, 720.0)
    np.testing.assert_allclose(more.reliability(x), plain.reliability(x) * extra, rtol=1e-9)
    lasting = System(LimitedFailure(0.3, 1.0, 10.0), ages=[0.0, 0.0], common=Exponential(0.01))
    assert np.isfinite(lasting.mttf())
    immortal = System(LimitedFailure(0.3, 1.0, 10.0), ages=[0.0, 0.0, 0.0], tolerance=1)
    assert np.isinf(immortal.mttf())
    spared = System([LimitedFailure(0.3, 1.0, 10.0), Exponential(0.1), Exponential(0.2)], tolerance=1)
    assert np.isfinite(spared.mttf())


@pytest.mark.slow
def test_many_spares_of_many_nodes():
    system = made(4000, 200, seed=9)
    drawn = system.sample(400, rng=5)
    assert abs(drawn.mean() - float(system.mttf())) < 4.0 * drawn.std() / 20.0
    x = float(drawn.mean())
    p = -np.expm1(-system.node_cumulative_hazards(x))
    # by FFT of the generating function, as accurate as probabilities near 1/2 need
    angles = np.exp(-2j * np.pi * np.arange(4096) / 4096)
    logs = np.zeros(4096, dtype=complex)
    for part in np.array_split(p, 40):
        logs += np.log1p(part[:, None] * (angles - 1.0)).sum(axis=0)
    pmf = np.fft.ifft(np.exp(logs)).real
    assert float(system.reliability(x)) == pytest.approx(pmf[:201].sum(), abs=1e-11)


@pytest.mark.parametrize("racks", [None, "aabb"])
def test_a_job_of_no_more_nodes_than_may_fail_ends_by_a_common_cause_alone(racks):
    wide = {} if racks is None else {"racks": list(racks), "rack_lives": Exponential(1e-3)}
    system = System(Exponential([1e-3] * 4), tolerance=2, common={"power": Exponential(0.01)}, **wide)
    sizes = system.by_size([10.0, 300.0])
    np.testing.assert_allclose(sizes.reliability[:2], [np.exp([-0.1, -3.0])] * 2, rtol=1e-12)
    np.testing.assert_allclose(sizes.hazard[:2], 0.01, rtol=1e-12)
    np.testing.assert_allclose(sizes.mttf[:2], 100.0, rtol=1e-9)
    assert (np.diff(sizes.mttf[1:]) < 0.0).all()
    never = System(Exponential([1e-3] * 4), tolerance=2, **wide).by_size(10.0)
    assert np.isinf(never.mttf[:2]).all()
    assert never.hazard[:2].tolist() == [0.0, 0.0]


def test_bad_tolerances():
    for bad in (-1, 1.5, True, 10):
        with pytest.raises(ArgumentError):
            made(10, bad)
    with pytest.raises(ArgumentError, match="rack_events"):
        made(10, 1, rack_events="both")
    with pytest.raises(ArgumentError, match="rack 'b' has no life"):
        System(Weibull(0.8, [1.0, 2.0]), racks=["a", "b"], rack_lives={"a": Exponential(1.0)})


def test_racks_of_light_tails_make_the_mean_finite():
    # two nodes of infinite mean, of which one may fail: the racks end the job sooner or later
    heavy = Loglogistic([0.4, 0.4], [100.0, 100.0])
    alone = System(heavy, tolerance=1)
    racked = System(heavy, tolerance=1, racks=["a", "b"], rack_lives=Exponential(0.002))
    assert np.isinf(alone.mttf())
    assert np.isfinite(racked.mttf())


def test_a_common_cause_and_its_age_need_no_list():
    """Survival of one exponential node and of a Weibull cause that was last seen 50 hours ago, by the closed form."""
    system = System(Exponential(0.001), ages=[0.0], common=(Weibull(0.5, 900.0), 50.0))
    expected = np.exp(-0.001 * 20.0 - ((70.0 / 900.0) ** 0.5 - (50.0 / 900.0) ** 0.5))
    np.testing.assert_allclose(system.reliability(20.0), expected, rtol=1e-12)
    two = System(Exponential(0.001), ages=[0.0], common=(Exponential(0.002), Exponential(0.003)))
    np.testing.assert_allclose(two.reliability(20.0), np.exp(-0.006 * 20.0), rtol=1e-12)
