"""The closed forms against independent sources: sums over subsets, linear systems, mpmath, scipy, direct search."""

from __future__ import annotations

from itertools import combinations

import mpmath
import numpy as np
import pytest
from scipy import optimize, stats

from relfit.base.errors import ArgumentError
from relfit.planning.sparing.blocks import (
    SharedRacks,
    block_mtbf,
    blocking_probability,
    blocks_down,
    job_blocked,
    spare_blocks_needed,
    time_to_exhaust,
    unavailability,
)
from relfit.planning.sparing.cluster import PowerHeadroom
from relfit.planning.sparing.recovery import Recovery, _running, losses, reduced_size
from relfit.planning.sparing.spare_search import _best_work
from relfit.system.jobs.checkpoint import best_interval


@pytest.mark.parametrize("x", [1e-6, 0.01, 0.03, 0.045, 0.06, 1.0, 20.0])
def test_the_best_work_between_saves_solves_its_equation(x: float) -> None:
    with mpmath.workdps(40):
        ratio = float(x * mpmath.exp(x) - mpmath.exp(x) + 1)
    assert _best_work.py_func(ratio) == pytest.approx(x, rel=1e-8)


def test_saves_without_work_between_them_take_all_of_the_time() -> None:
    shares = _running(0.1, [0.0, 2.0], 0.5, 0.1, 0.2)
    assert sum(shares.values()) == pytest.approx([1.0, 1.0])
    assert (shares["saves"][0], shares["useful"][0]) == (1.0, 0.0)


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


def test_blocking_agrees_with_scipy_however_small() -> None:
    rng = np.random.default_rng(3)
    blocks = rng.integers(1, 9000, 400)
    spare = (blocks * rng.uniform(0, 1, 400) ** 3).astype(int)
    q = 10 ** rng.uniform(-6, -0.2, 400)
    found = blocking_probability(blocks, spare, q)
    assert found == pytest.approx(stats.binom.sf(spare, blocks, q), rel=1e-8, abs=1e-290)


def test_job_blocked_over_zones() -> None:
    assert job_blocked(0.1, 4) == pytest.approx(1 - 0.9**4)
    assert job_blocked(1e-20, 4) == pytest.approx(4e-20)
    assert job_blocked(1.0, 2) == 1.0


def test_poisson_spares_come_near_the_binomial_for_many_blocks() -> None:
    found = spare_blocks_needed(5000.0, 24.0, 1e-4, blocks=5000)
    mean = 5000 * 24 / 5000
    assert int(found.poisson) == int(stats.poisson.isf(1e-4, mean))
    assert abs(int(found.poisson) - int(found.spare_blocks)) <= 1


def test_one_spare_block_is_one_block() -> None:
    """Of two blocks that are down a hundredth of the time, one is down in 2 % of it and both in 0.01 %."""
    found = spare_blocks_needed(99.0, 1.0, 0.001, blocks=2)
    assert int(found.spare_blocks) == 1
    assert found.headline.startswith("1 spare block of 2 per zone:")


def test_spares_needed_are_the_smallest_that_are_enough() -> None:
    rng = np.random.default_rng(5)
    mtbf, mttr = rng.uniform(100, 5000, 60), rng.uniform(1, 60, 60)
    limit, size = 10 ** rng.uniform(-6, -0.5, 60), rng.integers(2, 300, 60)
    found = spare_blocks_needed(mtbf, mttr, limit, blocks=size, zones=3)
    for i in range(60):
        q = mttr[i] / (mttr[i] + mtbf[i])
        blocked = 1 - (1 - stats.binom.sf(np.arange(size[i]), size[i], q)) ** 3
        enough = np.flatnonzero(blocked <= limit[i])
        assert found.spare_blocks[i] == (enough[0] if enough.size else -1)
        if enough.size:
            assert found.probability[i] == pytest.approx(blocked[enough[0]], rel=1e-6, abs=1e-15)
    assert (found.spare_blocks >= 0).sum() > 40


def down_of_racks(racks: int, blocks: int, mtbf_own: float, mtbf_rack: float, mttr: float, hours: float) -> np.ndarray:
    """Share of time with each number of blocks down: racks and blocks that fail and are repaired, in small steps.

    A rack takes its blocks down and brings all of them back; a block in a rack that is down does not fail.
    """
    rng, step = np.random.default_rng(2), 0.05 * mttr
    up, own_up = np.ones((40, racks), dtype=bool), np.ones((40, racks, blocks), dtype=bool)
    seen = np.zeros(racks * blocks + 1)
    back, fall, rack_falls = (-np.expm1(-step / mean) for mean in (mttr, mtbf_own, mtbf_rack))
    for i in range(int(hours / step)):
        chance = rng.random((40, racks, blocks))
        own_up = np.where(own_up, chance > fall, chance < back)
        hit = rng.random((40, racks))
        repaired = ~up & (hit < back)
        up = np.where(up, hit > rack_falls, repaired)
        own_up |= ~up[:, :, None] | repaired[:, :, None]
        if i > 200:
            down = np.where(up, (~own_up).sum(axis=2), blocks).sum(axis=1)
            seen += np.bincount(down, minlength=seen.size)
    return seen / seen.sum()


@pytest.mark.verify
def test_blocks_of_a_rack_go_down_together() -> None:
    racks, blocks, own, rack, mttr = 10, 20, 1500.0, 1000.0, 5.0
    seen = down_of_racks(racks, blocks, own, rack, mttr, 60_000.0)
    down = unavailability(block_mtbf(1, 0, own, rack, mttr), mttr)
    shared = SharedRacks(np.asarray(blocks), unavailability(rack, mttr))
    for spare in (1, 7, 20, 24):
        found = blocking_probability(racks * blocks, spare, down, shared)
        assert found == pytest.approx(seen[spare + 1 :].sum(), rel=0.08, abs=2e-4)
    # independent blocks seem to need seven spares
    needed = spare_blocks_needed(block_mtbf(1, 0, own, rack, mttr), mttr, 0.001, blocks=200)
    assert int(needed.spare_blocks) == 7
    assert float(needed.probability) < 0.0004
    assert seen[8:].sum() == pytest.approx(0.049, abs=0.004)
    enough = spare_blocks_needed(block_mtbf(1, 0, own, rack, mttr), mttr, 0.001, blocks=200, racks=10, mtbf_rack=rack)
    assert seen[int(enough.spare_blocks) + 1 :].sum() < 0.0015


def test_racks_that_never_fail_need_no_spares() -> None:
    alone = spare_blocks_needed(1500.0, 5, 0.001, blocks=200)
    racks = spare_blocks_needed(1500.0, 5, 0.001, blocks=200, racks=10, mtbf_rack=np.inf)
    assert int(racks.spare_blocks) == int(alone.spare_blocks)
    assert float(racks.probability) == pytest.approx(float(alone.probability))


def test_the_convolution_over_racks_is_exact() -> None:
    rng = np.random.default_rng(6)
    for _ in range(40):
        racks, blocks = int(rng.integers(1, 30)), int(rng.integers(2, 9))
        rack, own = 10 ** rng.uniform(-4, -0.3), 10 ** rng.uniform(-5, -0.3)
        one = (1 - rack) * stats.binom.pmf(np.arange(blocks + 1), blocks, own)
        one[-1] += rack
        law = np.ones(1)
        for _ in range(racks):
            law = np.convolve(law, one)
        shared, q = SharedRacks(np.asarray(blocks), np.asarray(rack)), rack + (1 - rack) * own
        number = np.arange(racks * blocks + 1)
        assert blocks_down(number, racks * blocks, q, shared) == pytest.approx(law, rel=1e-8, abs=1e-18)
        above = np.append(np.cumsum(law[::-1])[::-1][1:], 0.0)
        assert blocking_probability(racks * blocks, number, q, shared) == pytest.approx(above, rel=1e-8, abs=1e-18)


def test_more_blocks_than_there_are_are_never_down() -> None:
    assert blocks_down([0, 4, 5], 4, 0.5).tolist() == pytest.approx([1 / 16, 1 / 16, 0.0])
    assert blocks_down([6, 8], 4, 0.5, SharedRacks(np.asarray(2), np.asarray(0.25))).tolist() == [0.0, 0.0]


def test_the_paper_s_cluster_of_single_trays_needs_three_times_the_spares() -> None:
    block, mttr = block_mtbf(1, 0, 20_000.0, 10_000.0, 24.0), 24.0
    alone = spare_blocks_needed(block, mttr, 0.001, blocks=9216)
    racked = spare_blocks_needed(block, mttr, 0.001, blocks=9216, racks=256, mtbf_rack=10_000)
    shared = SharedRacks(np.asarray(36), unavailability(10_000.0, mttr))
    truth = blocking_probability(9216, int(alone.spare_blocks), unavailability(block, mttr), shared)
    assert (int(alone.spare_blocks), round(100 * float(alone.probability), 3)) == (52, 0.083)
    assert 100 * float(truth) == pytest.approx(14.5, abs=0.2)
    assert int(racked.spare_blocks) == pytest.approx(158, abs=2)


def best(rate: float, save: float, down: float) -> float:
    """Work between checkpoints, in the sparing paper's form."""
    return float(best_interval(1 / rate if rate else np.inf, save, down, exposed=()))


def test_best_period_is_the_minimum_found_by_search() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        rate, save, down = 10 ** rng.uniform(-4, 1), 10 ** rng.uniform(-5, 0.5), 10 ** rng.uniform(-4, 0.5)

        def lost(log_period: float, rate: float = rate, save: float = save, down: float = down) -> float:
            period = np.exp(log_period)
            return float(np.log(np.expm1(rate * period) * (1 / rate + down) + save) - log_period)

        search = optimize.minimize_scalar(lost, bounds=(-14, 12), method="bounded", options={"xatol": 1e-10})
        assert best(rate, save, down) == pytest.approx(np.exp(search.x), rel=2e-4)
    assert best(0.0, 1.0, 1.0) == np.inf
    assert best(1.0, 0.0, 1.0) == 0.0


def test_best_period_keeps_its_digits_at_the_branch_point() -> None:
    mpmath.mp.dps = 50
    for save in (1e-12, 1e-8, 1e-3, 10.0):
        rate, down = mpmath.mpf("1.7"), mpmath.mpf("0.12")
        ratio = mpmath.mpf(save) / (1 / rate + down)
        exact = (1 + mpmath.lambertw((ratio - 1) / mpmath.e).real) / rate
        assert best(1.7, save, 0.12) == pytest.approx(float(exact), rel=1e-11)


RATE = 122 / 900


def lost(**changes: object) -> dict[str, float]:
    """Losses of 2 zones of 64 blocks with 3 spares each."""
    recovery = Recovery(**{"checkpoint_every": 0.7, "save": 0.01, "detection": 0.02, "restart": 0.1, **changes})  # type: ignore[arg-type]
    found = losses(recovery, np.asarray(64.0), np.asarray(3.0), 2, np.asarray(0.03), np.asarray(1 / 900.0))[1]
    return {name: float(value) for name, value in found.items()}


def test_synchronous_losses_are_the_formula() -> None:
    beta = 1 - stats.binom.cdf(3, 64, 0.03) ** 2
    efficiency = 0.7 / (np.expm1(RATE * 0.7) * (1 / RATE + 0.12) + 0.01)
    assert 1 - sum(lost().values()) == pytest.approx((1 - beta) * efficiency, rel=1e-12)
    assert lost()["blocked"] == pytest.approx(beta, rel=1e-12)
    assert lost()["reduced"] == 0.0


def test_reduced_size_by_enumeration() -> None:
    """Missing blocks of two zones and Poisson units, all states written out; half an exchange is lost per drop. Blocks
    that lack do not fail.
    """
    pmf = stats.binom.pmf(np.arange(65), 64, 0.03)
    of_missing = np.zeros(9)
    for a in range(65):
        for b in range(65):
            m = max(a - 3, 0) + max(b - 3, 0)
            if m < 9:
                of_missing[m] += pmf[a] * pmf[b]
    units = stats.poisson.pmf(np.arange(4), RATE * 0.12)
    running = missing = failing = beyond = 0.0
    for m in range(6):
        for u in range(3):
            if m + 2 * u <= 5:
                p = of_missing[m] * units[u]
                running, missing = running + p, missing + p * (m + 2 * u)
                failing += p * (1 - m / 122)
                beyond += p * (1 - m / 122) if m + 2 * (u + 1) > 5 else 0.0
    recovery = Recovery(0.7, 0.01, 0.02, 0.1, loss_limit=5, unit=2)
    blocked, mean_missing, stops, drops = reduced_size(recovery, 64.0, 3.0, 2, 0.03, np.asarray(RATE))
    assert float(blocked) == pytest.approx(1 - of_missing[:6].sum(), rel=1e-9)
    assert float(mean_missing) == pytest.approx(missing / running, rel=1e-9)
    assert float(stops) == pytest.approx(RATE * beyond / running, rel=1e-9)
    assert float(stops + drops) == pytest.approx(RATE * failing / running)
    # shares of GPU hours: each drop costs its two blocks half of the time since the last exchange
    without, found = (lost(loss_limit=5, unit=2, exchange=exchange) for exchange in (0.0, 0.4))
    useful = 1 - sum(without.values())
    assert without["reduced"] == pytest.approx((useful + without["reduced"]) * missing / running / 122, rel=1e-9)
    assert found["rework"] - without["rework"] == pytest.approx(useful * float(drops) * 2 * 0.2 / 122, rel=1e-9)


def test_standing_losses_pays_off() -> None:
    totals = [sum(lost(loss_limit=limit).values()) for limit in (0, 4, 12)]
    assert totals[0] > totals[1] > totals[2]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Recovery(checkpoint_every="1s", save="2s"), "save of 2 s takes longer than the 1 s between"),
        (lambda: Recovery(checkpoint_every=0), "checkpoint_every"),
        (lambda: Recovery(restart=-1), "restart"),
        (lambda: Recovery(loss_limit=-1), "loss_limit"),
        (lambda: Recovery(unit=0), "unit"),
        (lambda: spare_blocks_needed(0, 10, 0.1, blocks=4), "mtbf"),
        (lambda: spare_blocks_needed(100, 10, 0.0, blocks=4), "limit"),
        (lambda: spare_blocks_needed(100, 10, 0.1, blocks=4, racks=3, mtbf_rack=200), "divide into its racks"),
        (lambda: spare_blocks_needed(100, 10, 0.1, blocks=4, racks=2, mtbf_rack=50), "less often than its rack"),
        (lambda: spare_blocks_needed(100, 10, 0.1, blocks=4, racks=2, mtbf_rack=0), "mtbf_rack is 0"),
    ],
)
def test_bad_input_is_one_clear_line(make: object, said: str) -> None:
    with pytest.raises(ArgumentError, match=said) as caught:
        make()  # type: ignore[operator]
    assert "\n" not in str(caught.value)


def test_a_measured_power_ratio_is_that_of_blocks_with_spare_trays() -> None:
    gain = PowerHeadroom(exposed=0.2, ratio=1.21)
    assert gain([72, 72], [72, 64]) == pytest.approx([1.0, 1.0 + 0.8 * 0.1])
    assert PowerHeadroom(exposed=0.0)(72, 36) == pytest.approx(np.sqrt(2.0))


def test_units_being_brought_back_by_enumeration() -> None:
    recovery = Recovery(1.0, 0.0, 0.3, 0.5, loss_limit=2)
    rate, share = 0.7, 0.1
    blocked, missing, stops, drops = reduced_size(recovery, 6.0, 1.0, 1, share, np.asarray(rate))
    down = stats.binom.pmf(np.arange(7), 6, share)
    short = np.array([down[:2].sum(), down[2], down[3]])  # missing for want of spares: 0, 1, 2
    back = stats.poisson.pmf(np.arange(3), rate * 0.8)
    joint = {m: sum(short[i] * back[m - i] for i in range(m + 1)) for m in range(3)}
    running = sum(joint.values())
    assert blocked == pytest.approx(1.0 - short.sum())
    assert missing == pytest.approx((joint[1] + 2 * joint[2]) / running)
    # of the 5 working blocks those that lack do not fail
    edge, inside = (
        sum(short[i] * (1 - i / 5) * sum(back[n - i] for n in ns if n >= i) for i in range(3)) for ns in ([2], [0, 1])
    )
    assert stops == pytest.approx(rate * edge / running)
    assert drops == pytest.approx(rate * inside / running)


def test_a_rack_stops_the_units_of_all_its_blocks() -> None:
    """Racks of three blocks, units of two: four blocks recover. No repairs, so that none lack; counts written out."""
    recovery = Recovery(1.0, 0.0, 0.3, 0.5, loss_limit=6, unit=2)
    rate, racks = 0.7, SharedRacks(np.asarray(3.0), np.asarray(0.0), np.asarray(0.1))
    of_racks = 12 / 3 * 0.1  # four racks in the job
    joint = np.zeros(7)
    for u in range(4):
        for r in range(2):
            if 2 * u + 4 * r <= 6:
                joint[2 * u + 4 * r] += stats.poisson.pmf(u, (rate - of_racks) * 0.8) * stats.poisson.pmf(
                    r, of_racks * 0.8
                )
    joint /= joint.sum()
    blocked, missing, stops, exchanged = reduced_size(recovery, 12.0, 0.0, 1, 0.0, np.asarray(rate), racks)
    assert blocked == 0.0
    assert missing == pytest.approx(np.arange(7) @ joint)
    beyond = np.array([joint[5:].sum(), joint[3:].sum()])
    assert stops == pytest.approx(np.array([rate - of_racks, of_racks]) @ beyond)
    assert exchanged == pytest.approx(np.array([rate - of_racks, 2 * of_racks]) @ (1.0 - beyond))
