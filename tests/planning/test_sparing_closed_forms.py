"""The closed forms against independent sources: sums over subsets, linear systems, mpmath, scipy, direct search."""

from __future__ import annotations

from itertools import combinations

import mpmath
import numpy as np
import pytest
from scipy import optimize, stats

from relfit.errors import ArgumentError
from relfit.planning.sparing.block import block_mtbf, time_to_exhaust
from relfit.planning.sparing.blocking import (
    blocking_probability,
    job_blocked,
    log_blocking_probability,
    poisson_blocking,
    spare_blocks_needed,
    unavailability,
)
from relfit.planning.sparing.recovery import Recovery, SemiSynchronous, Situation, best_period, synchronous


@pytest.mark.parametrize(("trays", "spares"), [(4, 0), (6, 1), (9, 3), (36, 4)])
def test_time_to_exhaust_is_the_papers_sum_over_subsets(trays: int, spares: int) -> None:
    mtbf, mttr = 20_000.0, 24.0
    lives = [mtbf / (trays - n) for n in range(spares + 1)]
    total = sum(mttr**-k * sum(np.prod(chosen) for chosen in combinations(lives, k + 1)) for k in range(spares + 1))
    assert time_to_exhaust(trays, spares, mtbf, mttr) == pytest.approx(total, rel=1e-12)


def test_time_to_exhaust_solves_the_markov_chain() -> None:
    trays, spares, mtbf, mttr = 12, 3, 700.0, 30.0
    rates = (trays - np.arange(spares + 1)) / mtbf
    generator = np.diag(-rates - np.where(np.arange(spares + 1) > 0, 1.0 / mttr, 0.0))
    generator += np.diag(rates[:-1], 1)
    generator[1:, 0] += 1.0 / mttr
    expected = np.linalg.solve(-generator, np.ones(spares + 1))[0]
    assert time_to_exhaust(trays, spares, mtbf, mttr) == pytest.approx(expected, rel=1e-10)


def test_time_to_exhaust_holds_its_digits_far_out() -> None:
    mpmath.mp.dps = 60
    product = mpmath.mpf(1)
    for n in range(31):
        product *= 1 + mpmath.mpf(10) ** 6 / (2 * (72 - n))
    exact = (product - 1) * 2
    assert float(time_to_exhaust(72, 30, 1e6, 2.0)) == pytest.approx(float(exact), rel=1e-12)
    assert np.isinf(time_to_exhaust(72, 71, 1e9, 0.01))
    assert block_mtbf(72, 71, 1e9, 5000.0, 0.01) == pytest.approx(5000.0)
    assert block_mtbf(4, 0, np.inf, np.inf, 24.0) == np.inf
    assert time_to_exhaust(4, [0, 1], 100.0, 0.0).tolist() == [25.0, np.inf]


def test_blocking_is_the_stationary_law_of_the_birth_and_death_chain() -> None:
    blocks, mtbf, mttr = 9, 300.0, 40.0
    up, down = (blocks - np.arange(blocks)) / mtbf, np.arange(1, blocks + 1) / mttr
    weights = np.concatenate([[1.0], np.cumprod(up / down)])
    weights /= weights.sum()
    for spare in range(blocks):
        found = blocking_probability(blocks, spare, unavailability(mtbf, mttr))
        assert found == pytest.approx(weights[spare + 1 :].sum(), rel=1e-10)


def test_blocking_agrees_with_scipy_and_mpmath_however_small() -> None:
    rng = np.random.default_rng(3)
    blocks = rng.integers(1, 9000, 400)
    spare = (blocks * rng.uniform(0, 1, 400) ** 3).astype(int)
    q = 10 ** rng.uniform(-6, -0.2, 400)
    found = blocking_probability(blocks, spare, q)
    assert found == pytest.approx(stats.binom.sf(spare, blocks, q), rel=1e-8, abs=1e-290)
    mpmath.mp.dps = 40
    for n, k, p in [(9216, 4000, 1e-3), (1024, 400, 1e-5), (256, 255, 1e-9)]:
        tail = mpmath.nsum(
            lambda j, n=n, p=p: (
                mpmath.binomial(n, int(j)) * mpmath.mpf(p) ** int(j) * (1 - mpmath.mpf(p)) ** (n - int(j))
            ),
            [k + 1, min(k + 60, n)],
        )
        assert float(log_blocking_probability(n, k, p)) == pytest.approx(float(mpmath.log(tail)), rel=1e-10)
    assert float(log_blocking_probability(10, 3, 0.2)) == pytest.approx(stats.binom.logsf(3, 10, 0.2))


def test_job_blocked_over_zones() -> None:
    assert job_blocked(0.1, 4) == pytest.approx(1 - 0.9**4)
    assert job_blocked(1e-20, 4) == pytest.approx(4e-20)
    assert job_blocked(1.0, 2) == 1.0


def test_poisson_comes_near_the_binomial_for_many_blocks() -> None:
    exact = blocking_probability(5000, 30, unavailability(5000.0, 24.0))
    assert poisson_blocking(5000, 30, 5000.0, 24.0) == pytest.approx(exact, rel=0.08)


@pytest.mark.parametrize("on_top", [False, True])
def test_spares_needed_are_the_smallest_that_are_enough(on_top: bool) -> None:
    rng = np.random.default_rng(5)
    mtbf, mttr = rng.uniform(100, 5000, 60), rng.uniform(1, 60, 60)
    limit, size = 10 ** rng.uniform(-6, -0.5, 60), rng.integers(2, 300, 60)
    found = spare_blocks_needed(mtbf, mttr, limit, zones=3, **{"working" if on_top else "blocks": size})
    for i in range(60):
        q = mttr[i] / (mttr[i] + mtbf[i])
        for spare in range(400):
            total = size[i] + spare if on_top else size[i]
            if spare >= total:
                spare = -1  # no number is enough
                break
            if 1 - stats.binom.cdf(spare, total, q) ** 3 <= limit[i]:
                break
        # scipy's complement has lost its digits where limits are small
        assert abs(found.spare_blocks[i] - spare) <= (0 if limit[i] > 1e-9 else 1)
    enough = found.spare_blocks >= 0
    assert enough.sum() > 40
    assert np.all(found.probability[enough] <= limit[enough])
    assert np.all(found.one_less[enough] > limit[enough])


def test_best_period_is_the_minimum_found_by_search() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        rate, save, down = 10 ** rng.uniform(-4, 1), 10 ** rng.uniform(-5, 0.5), 10 ** rng.uniform(-4, 0.5)

        def lost(log_period: float, rate: float = rate, save: float = save, down: float = down) -> float:
            period = np.exp(log_period)
            return float(np.log(np.expm1(rate * period) * (1 / rate + down) + save) - log_period)

        search = optimize.minimize_scalar(lost, bounds=(-14, 12), method="bounded", options={"xatol": 1e-10})
        assert best_period(rate, save, down) == pytest.approx(np.exp(search.x), rel=2e-4)
    assert best_period(0.0, 1.0, 1.0) == np.inf
    assert best_period(1.0, 0.0, 1.0) == 0.0


def test_best_period_keeps_its_digits_at_the_branch_point() -> None:
    mpmath.mp.dps = 50
    for save in (1e-12, 1e-8, 1e-3, 10.0):
        rate, down = mpmath.mpf("1.7"), mpmath.mpf("0.12")
        ratio = mpmath.mpf(save) / (1 / rate + down)
        exact = (1 + mpmath.lambertw((ratio - 1) / mpmath.e).real) / rate
        assert best_period(1.7, save, 0.12) == pytest.approx(float(exact), rel=1e-11)


def situation(**changes: object) -> Situation:
    given: dict[str, object] = {
        "blocks": np.asarray(64.0), "spare_blocks": np.asarray(3.0), "zones": 2, "share_down": np.asarray(0.03),
        "mttr": np.asarray(24.0), "block_failure_rate": np.asarray(1 / 900.0), "save": 0.01, "detection": 0.02,
        "restart": 0.1, "period": np.asarray(0.7),
    }  # fmt: skip
    return Situation(**{**given, **changes})  # type: ignore[arg-type]


def test_synchronous_losses_are_the_formula() -> None:
    s = situation()
    lost = synchronous(s)
    rate = 122 / 900
    beta = 1 - stats.binom.cdf(3, 64, 0.03) ** 2
    efficiency = 0.7 / (np.expm1(rate * 0.7) * (1 / rate + 0.12) + 0.01)
    assert 1 - sum(float(v) for v in lost.values()) == pytest.approx((1 - beta) * efficiency, rel=1e-12)


def test_semi_synchronous_without_a_limit_is_synchronous() -> None:
    ours, paper = SemiSynchronous(0)(situation()), synchronous(situation())
    for name, value in paper.items():
        assert float(ours[name]) == pytest.approx(float(value), rel=1e-12)
    assert float(ours["reduced"]) == 0.0


def test_semi_synchronous_states_by_enumeration() -> None:
    """Missing blocks of two zones and Poisson units, all states written out."""
    scheme = SemiSynchronous(limit=5, unit=2)
    s = situation()
    q, rate = 0.03, 122 / 900
    pmf = stats.binom.pmf(np.arange(65), 64, q)
    missing_law = np.zeros(9)
    for a in range(65):
        for b in range(65):
            m = max(a - 3, 0) + max(b - 3, 0)
            if m < 9:
                missing_law[m] += pmf[a] * pmf[b]
    units = stats.poisson.pmf(np.arange(4), rate * 0.12)
    running = missing = beyond = 0.0
    for m in range(6):
        for u in range(3):
            if m + 2 * u <= 5:
                p = missing_law[m] * units[u]
                running, missing = running + p, missing + p * (m + 2 * u)
                beyond += p if m + 2 * (u + 1) > 5 else 0.0
    blocked, mean_missing, stops, drops = scheme._states(s)
    assert float(blocked) == pytest.approx(1 - missing_law[:6].sum(), rel=1e-9)
    assert float(mean_missing) == pytest.approx(missing / running, rel=1e-9)
    assert float(stops) == pytest.approx(rate * beyond / running, rel=1e-9)
    assert float(stops + drops) == pytest.approx(rate)


def test_standing_losses_pays_off() -> None:
    lost = [sum(float(v) for v in SemiSynchronous(limit)(situation()).values()) for limit in (0, 4, 12)]
    assert lost[0] > lost[1] > lost[2]


def test_own_scheme_and_its_period() -> None:
    def young(s: Situation) -> dict[str, np.ndarray]:
        return {"saves": s.save / s.period, "rework": s.failure_rate * s.period / 2}

    periods = Recovery(save=0.01, scheme=young).periods(situation())
    assert periods == pytest.approx(np.sqrt(2 * 0.01 * 900 / 122), rel=1e-5)
    with pytest.raises(ArgumentError, match="luck"):
        Recovery(scheme=lambda s: {"luck": 0.1}).losses(situation())
    with pytest.raises(ArgumentError, match="below zero"):
        Recovery(scheme=lambda s: {"saves": -0.5}).losses(situation())
    lost = Recovery(scheme=lambda s: {"saves": 1.5, "rework": 0.5}).losses(situation())
    assert [float(v) for v in lost.values()] == pytest.approx([0.75, 0.25])


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Recovery(period="1s", save="2s"), "save of 2 s takes longer than the period of 1 s"),
        (lambda: Recovery(period=0), "period"),
        (lambda: Recovery(restart=-1), "restart"),
        (lambda: Recovery(scheme="fast"), "scheme"),
        (lambda: SemiSynchronous(-1), "limit"),
        (lambda: spare_blocks_needed(100, 10, 0.1), "blocks or working"),
        (lambda: spare_blocks_needed(0, 10, 0.1, blocks=4), "mtbf"),
        (lambda: spare_blocks_needed(100, 10, 0.0, blocks=4), "limit"),
    ],
)
def test_bad_input_is_one_clear_line(make: object, said: str) -> None:
    with pytest.raises(ArgumentError, match=said) as caught:
        make()  # type: ignore[operator]
    assert "\n" not in str(caught.value)
