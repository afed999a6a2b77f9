"""The Monte-Carlo against the closed form, and against what is known when assumptions are dropped."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from relfit.base.errors import ArgumentError
from relfit.fitting.families import Exponential, Gamma, Lognormal, Weibull
from relfit.planning.sparing import Cluster, DeviceFailures, Recovery, Strategies
from relfit.planning.sparing.evaluation import SHARES
from relfit.simulation import (
    DeviceTimes,
    RepairStage,
    SparingAssumptions,
    SparingSimulation,
    StagedRepairs,
    simulate_sparing,
)
from relfit.simulation.engine.random_streams import LOW, STEP, remaining_table, time_table
from relfit.simulation.sparing import sparing_devices
from relfit.simulation.sparing.sparing_state import DeviceRepairs

RECOVERY = Recovery("15min", "10s", "60s", "6min")
SMALL = Cluster(zones=2, racks=32, trays=8, gpus=8, shared_racks=False)
DROPPED = SparingAssumptions(whole_block_repairs=False, separate_racks=False, undisturbed_recovery=False)
SHARED = SparingAssumptions(whole_block_repairs=False, separate_racks=False)


def run(strategy: Strategies, devices: object, recovery: Recovery = RECOVERY, **more: object) -> SparingSimulation:
    given = {"years": 10, "n_resamples": 8, "rng": 3, **more}
    return simulate_sparing(SMALL, strategy, devices, recovery, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("strategy", "failures"),
    [
        (Strategies(8, 0, 4), DeviceFailures(6000, 20_000, 24)),
        (Strategies(8, 1, 1), DeviceFailures(6000, 20_000, 24)),
        (Strategies(4, 1, 2), DeviceFailures(3000, 30_000, 12)),
        (Strategies(8, 2, 0), DeviceFailures(5000, np.inf, 48)),
    ],
)
def test_agrees_with_the_closed_form_within_a_percent(strategy: Strategies, failures: DeviceFailures) -> None:
    found = run(strategy, failures)
    low, high = found.cett_interval
    assert abs(found.error) < 0.01 + (high - low) / (2 * found.cett)
    rows = found.replications[list(SHARES)].sum(axis=1)
    assert rows.to_numpy() == pytest.approx(np.ones(len(rows)), abs=1e-9)


@pytest.mark.slow
def test_blocks_down_are_binomial() -> None:
    found = run(Strategies(8, 0, 4), DeviceFailures(6000, 20_000, 24), years=40)
    q = float(found.closed_form.share_down[0])
    expected = stats.binom.pmf(np.arange(33), 32, q)
    assert found.down.sum() == pytest.approx(1.0)
    assert np.abs(found.down - expected).max() < 0.006


def test_rates_of_hits_and_stops() -> None:
    found = run(Strategies(8, 0, 4), DeviceFailures(6000, 20_000, 24))
    beta = float(found.closed_form.job_blocked[0])
    hits = float(found.closed_form.failure_rate[0])
    assert found.replications["hits"].mean() == pytest.approx(hits, rel=0.05)
    assert found.replications["stops"].mean() < hits
    assert found.shares.loc["blocked", "simulated"] == pytest.approx(beta * (1 - 4 / 32), rel=0.25)


def test_same_result_whatever_the_number_of_workers() -> None:
    strategy, failures = Strategies(8, 1, 1), DeviceFailures(6000, 20_000, 24)
    one = run(strategy, failures, years=1, workers=1)
    two = run(strategy, failures, years=1, workers=3)
    assert one.replications.equals(two.replications)


@pytest.mark.slow
def test_each_tray_repaired_by_itself_needs_fewer_spares_than_the_chain_says() -> None:
    """Independent repairs bring trays back one by one: exact binomial law of failed trays."""
    strategy, failures = Strategies(8, 1, 0), DeviceFailures(2000, np.inf, 50)
    found = run(strategy, failures, assumptions=SparingAssumptions(whole_block_repairs=False), years=20)
    q = 50 / 2050
    block_down = stats.binom.sf(1, 8, q)
    assert (found.down @ np.arange(33)) / 32 == pytest.approx(block_down, rel=0.05)
    assert found.assumptions["whole_block_repairs"] is False


def test_shared_racks_take_their_blocks_together() -> None:
    """Four blocks a rack: the same mean number of blocks down, far more spread."""
    strategy, failures = Strategies(2, 0, 8), DeviceFailures(1e7, 1000, 24)
    apart = run(strategy, failures, years=10)
    together = run(strategy, failures, assumptions=SHARED, years=10)
    n = np.arange(129)
    assert together.down @ n == pytest.approx(apart.down @ n, rel=0.06)
    spread = [float(f.down @ n**2 - (f.down @ n) ** 2) for f in (apart, together)]
    assert spread[1] / spread[0] == pytest.approx(4.0, rel=0.15)
    # a rack's failure interrupts the job once, not once a block
    assert together.replications["hits"].mean() == pytest.approx(apart.replications["hits"].mean() / 4, rel=0.1)


def test_shared_racks_have_a_closed_form_too() -> None:
    cluster, failures = replace(SMALL, shared_racks=True), DeviceFailures(20_000, 2000, 24)
    plain = run(Strategies(2, 0, 12), failures, assumptions=SHARED, years=20)
    found = simulate_sparing(
        cluster,
        Strategies(2, 0, 12),
        failures,
        RECOVERY,
        SHARED,
        years=20,
        rng=3,
    )
    assert found.cett == plain.cett
    assert abs(found.error) < 0.003
    assert plain.error < -0.01


def test_repeated_recovery_takes_longer() -> None:
    failures = DeviceFailures(2000, 10_000, 4)
    calm = run(Strategies(8, 0, 6), failures, years=5)
    disturbed = run(Strategies(8, 0, 6), failures, assumptions=SparingAssumptions(undisturbed_recovery=False), years=5)
    rate = float(calm.closed_form.failure_rate[0])
    wait = RECOVERY.detection + RECOVERY.restart
    longer = np.expm1(rate * wait) / (rate * wait)
    per_stop = [
        (f.shares.loc["detection", "simulated"] + f.shares.loc["restart", "simulated"]) / f.replications["stops"].mean()
        for f in (calm, disturbed)
    ]
    assert per_stop[1] / per_stop[0] == pytest.approx(longer, rel=0.03)


@pytest.mark.parametrize("limit", [0, 2])
def test_disturbed_recovery_has_a_closed_form_too(limit: int) -> None:
    recovery = Recovery("15min", "10s", "2min", "15min", loss_limit=limit, disturbed=True)
    found = run(Strategies(8, 0, 6), DeviceFailures(2000, 10_000, 4), recovery, years=5)
    assert found.assumptions["undisturbed_recovery"] is True
    low, high = found.cett_interval
    assert abs(found.error) < 0.01 + (high - low) / (2 * found.cett)
    calm = run(Strategies(8, 0, 6), DeviceFailures(2000, 10_000, 4), replace(recovery, disturbed=False), years=5)
    assert calm.cett > found.cett


def test_semi_synchronous_closed_form() -> None:
    recovery = Recovery("15min", "10s", "60s", "6min", loss_limit=3, exchange="2min")
    found = run(Strategies(8, 0, 2), DeviceFailures(6000, 20_000, 24), recovery, years=20)
    low, high = found.cett_interval
    assert abs(found.error) < 0.01 + (high - low) / (2 * found.cett)
    plain = run(Strategies(8, 0, 2), DeviceFailures(6000, 20_000, 24))
    assert found.cett > plain.cett


def test_a_unit_is_back_after_its_detection_and_restart() -> None:
    """With at most one block missing a hit stops the job if it comes within 7 minutes of one that does not."""
    recovery = Recovery("15min", "10s", "60s", "6min", loss_limit=1, exchange="2min")
    found = run(Strategies(8, 0, 8), DeviceFailures(600, np.inf, 2), recovery, years=2).replications
    again = found["hits"].mean() * (recovery.detection + recovery.restart)
    within = -np.expm1(-again)
    expected = within / (1.0 + within + within * again)
    assert found["stops"].sum() / found["hits"].sum() == pytest.approx(expected, rel=0.1)


@pytest.mark.slow
def test_a_unit_that_drops_out_repeats_half_an_exchange() -> None:
    devices, recovery = DeviceFailures(600, 20_000, 2), Recovery("15min", "10s", "60s", "6min", loss_limit=3)
    often, never = (
        run(Strategies(8, 0, 2), devices, replace(recovery, exchange=exchange), years=4).shares.loc["rework"]
        for exchange in (0.5, 0.0)
    )
    assert often["closed_form"] > 3 * never["closed_form"]
    assert often["simulated"] - never["simulated"] == pytest.approx(
        often["closed_form"] - never["closed_form"], rel=0.2
    )


def test_mixed_repairs_leave_the_mean_alone_without_spare_trays() -> None:
    """Figure 6: two kinds of repair, one quick and one slow, the same mean."""
    mixed = DeviceTimes(
        Exponential(1 / 6000), [(0.6, Exponential(1 / 2.0)), (0.4, Exponential(1 / 57.0))], Exponential(1 / 20_000)
    )
    assert float(mixed.means().mttr) == pytest.approx(24.0)
    found = run(Strategies(8, 0, 4), mixed, years=20)
    assert found.assumptions["exponential_times"] is False
    low, high = found.cett_interval
    assert abs(found.error) < 0.01 + (high - low) / (2 * found.cett)


def test_other_families_keep_the_long_run_rates() -> None:
    lives = DeviceTimes(Weibull(0.7, 4740.0), Lognormal(2.5, 1.1), Gamma(2.0, 10_000.0))
    found = run(Strategies(8, 0, 4), lives, years=20, assumptions=DROPPED)
    means = lives.means()
    down = float(means.mttr) / (float(means.mttr) + float(means.mtbf_tray))
    rack = float(means.mttr) / (float(means.mttr) + float(means.mtbf_rack))
    expected = 1 - (1 - down) ** 8 * (1 - rack)
    assert (found.down @ np.arange(33)) / 32 == pytest.approx(expected, rel=0.05)


def test_lives_of_calibrated_parameters() -> None:
    from relfit.fleet.calibration import Parameters

    known = Parameters(
        mtbf={"tray": "6000h", "rack": "20000h"},
        mttr={"mean": "24h", "quick": "2h", "slow": "60h", "share_quick": 0.6},
        failure={"family": "weibull", "parameters": {"shape": 0.7, "scale": 1000.0}},
    )
    lives = DeviceTimes.of_parameters(known)
    means = lives.means()
    assert [float(a) for a in (means.mtbf_tray, means.mtbf_rack, means.mttr)] == pytest.approx([6000, 20_000, 24])
    assert float(lives.tray.sf(500.0)) == pytest.approx(float(Weibull(0.7, 6000 / 1.2658).sf(500.0)), rel=1e-3)
    found = run(Strategies(8, 0, 4), lives, years=10)
    assert found.assumptions["exponential_times"] is False
    assert abs(found.error) < 0.03


@pytest.mark.parametrize("family", [Exponential(0.01), Weibull(0.6, 200.0), Weibull(2.5, 300.0), Lognormal(4.0, 1.2)])
def test_tables_hold_the_distribution(family: object) -> None:
    hazards = np.exp(LOW + STEP * np.arange(4096))
    lives = np.exp(time_table("tray", family))  # type: ignore[arg-type]
    assert lives == pytest.approx(family.inverse_cumulative_hazard(hazards), rel=1e-12)  # type: ignore[attr-defined]
    rest = np.exp(remaining_table(np.log(lives)))
    middle = (hazards > 1e-3) & (hazards < 12)
    time = rest[middle][::100]
    mean = float(family.mean())  # type: ignore[attr-defined]
    from scipy import integrate

    for x, h in zip(time, hazards[middle][::100], strict=True):
        passed, _ = integrate.quad(lambda t: float(family.sf(t)), 0, x, limit=200)  # type: ignore[attr-defined]
        assert passed / mean == pytest.approx(-np.expm1(-h), rel=3e-3, abs=1e-6)


ONE_BY_ONE = SparingAssumptions(whole_block_repairs=False)


def test_repairs_with_a_history_have_their_long_run_availability() -> None:
    # a first repair takes 10 h; a second 40 h, and half of these end in a delivery of 100 h: 10 + 40 + 0.5 100 by 2,
    # but that the half which is repaired a second time goes on with second ones: (10 + 2 (40 + 50)) / 3 = 190 / 3 h
    stage = RepairStage(time=[10, 40], success=[1.0, 0.5])
    times = DeviceTimes(Exponential(1 / 400), StagedRepairs(stages=[stage], replacement=100))
    assert float(times.means().mttr) == pytest.approx(190 / 3)
    one = Cluster(racks=8, trays=4, gpus=8)
    found = simulate_sparing(
        one, Strategies(1, 0, 4), times, RECOVERY, ONE_BY_ONE, years=4, n_resamples=8, rng=1, warm_up="10000h"
    )
    q = (190 / 3) / (400 + 190 / 3)
    assert found.down @ np.arange(33) == pytest.approx(32 * q, rel=0.03)
    assert np.abs(found.down - stats.binom.pmf(np.arange(33), 32, q)).max() < 0.02
    assert not found.assumptions["exponential_times"]


def test_trays_and_racks_beyond_repair_are_lost_for_good() -> None:
    never = StagedRepairs(stages=[RepairStage(time=5, success=0.0, fixed=True)])
    one = Cluster(racks=4, trays=4, gpus=8)
    for times in (
        DeviceTimes(Exponential(1 / 500), never),
        DeviceTimes(Exponential(1e-9), Exponential(0.1), Exponential(1 / 500), never),
        DeviceTimes(Exponential(1 / 900), never, Exponential(1 / 900), never),
    ):
        found = simulate_sparing(
            one, Strategies(2, 1, 2), times, RECOVERY, ONE_BY_ONE, years=1, n_resamples=3, rng=1, warm_up="30000h"
        )
        assert found.down.tolist() == [0.0] * 8 + [1.0]
        assert (found.replications["useful"] == 0.0).all()


def test_whole_blocks_have_no_history() -> None:
    times = DeviceTimes(Exponential(1 / 500), StagedRepairs(stages=[RepairStage(time=5)]))
    with pytest.raises(ArgumentError, match="those of single trays"):
        run(Strategies(8, 0, 4), times)


def test_interval_is_students() -> None:
    found = run(Strategies(8, 0, 4), DeviceFailures(6000, 20_000, 24), years=1, n_resamples=5, level=0.9)
    useful = found.replications["useful"]
    assert found.cett_interval == pytest.approx(stats.t.interval(0.9, 4, useful.mean(), stats.sem(useful)))
    assert found.cett == pytest.approx(useful.mean())
    assert "closed form" in found.headline
    json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: run(Strategies([8, 4]), DeviceFailures(1000, 1000, 24)), "2 strategies"),
        (lambda: run(Strategies(8), DeviceFailures([1000, 2000], 1000, 24)), "many cases"),
        (
            lambda: run(
                Strategies(8), DeviceFailures(1000, 1000, 24), assumptions=SparingAssumptions(separate_racks=False)
            ),
            "whole_block_repairs",
        ),
        (lambda: run(Strategies(8), DeviceFailures(1000, 1000, 24), years=0), "years"),
        (lambda: run(Strategies(8), DeviceFailures(10, 1000, 24), years=100_000), "events"),
        (lambda: run(Strategies(8), DeviceFailures(1000, 1000, 0)), "mttr"),
        (lambda: DeviceTimes(Exponential(1.0), [(0.5, Exponential(1.0))]), "do not add to 1"),
        (lambda: run(Strategies(8), DeviceTimes(Exponential(np.ones(3)), Exponential(1.0))), "batch"),
    ],
)
def test_bad_input_is_one_clear_line(make: object, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        make()  # type: ignore[operator]


def test_the_last_kind_of_repair_takes_what_rounding_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten shares of a tenth add up to the largest number below one, which may be drawn as well."""

    class Largest:
        def random(self) -> float:
            return float(np.nextafter(1.0, 0.0))

    shares = np.cumsum(np.full(10, 0.1))
    assert shares[-1] < 1.0
    monkeypatch.setattr(sparing_devices, "_draw", lambda rng, tables, kind: int(kind))
    none = np.zeros((0, 1))
    repairs = DeviceRepairs(np.arange(4, 14), shares, none, none, np.zeros(0, bool), np.inf)
    assert sparing_devices._draw_repair.py_func(Largest(), np.zeros((0, 0)), repairs, np.zeros(0, int), 0) == 13


def test_a_stage_lasts_its_time_or_is_drawn_and_a_device_that_no_stage_mends_is_replaced() -> None:
    """Two stages: 5 hours, always; 2 hours on average. By the number of earlier repairs the first helps or does not."""
    times, helps = np.array([[5.0, 5.0], [2.0, 2.0]]), np.array([[1.0, 0.0], [0.0, 0.0]])
    empty = np.zeros(0)
    repairs = DeviceRepairs(empty.astype(int), empty, times, helps, np.array([True, False]), 100.0)
    rng, hours = np.random.default_rng(1), []
    for _ in range(2000):
        earlier = np.zeros(1, np.int64)
        assert sparing_devices._draw_stages.py_func(rng, repairs, earlier, 0) == 5.0
        assert earlier[0] == 1
        hours.append(sparing_devices._draw_stages.py_func(rng, repairs, earlier, 0) - 105.0)
        assert earlier[0] == 0
    assert stats.kstest(hours, "expon", args=(0.0, 2.0)).pvalue > 1e-4


def test_a_tray_repaired_in_an_outage_of_its_rack_waits_for_the_rack() -> None:
    """One tray a rack, which ages while there is power: the chain of four states of a rack and its tray."""
    fails, repaired, rack_fails, rack_back = 1 / 50, 1 / 50, 1 / 200, 1 / 200
    rates = np.zeros((4, 4))  # both up, tray down, rack down, both down
    rates[0, 1], rates[1, 0], rates[3, 2] = fails, repaired, repaired
    rates[0, 2] = rates[1, 3] = rack_fails
    rates[2, 0] = rates[3, 1] = rack_back
    balance = np.vstack([(rates - np.diag(rates.sum(axis=1))).T, np.ones(4)])
    up = np.linalg.lstsq(balance, np.array([0.0, 0.0, 0.0, 0.0, 1.0]), rcond=None)[0][0]
    times = DeviceTimes(Exponential(fails), Exponential(repaired), Exponential(rack_fails), Exponential(rack_back))
    one = Cluster(racks=8, trays=1, gpus=8)
    found = simulate_sparing(one, Strategies(1, 0, 0), times, RECOVERY, ONE_BY_ONE, years=40, n_resamples=3, rng=1)
    assert found.down @ np.arange(9) / 8 == pytest.approx(1.0 - up, rel=0.03)
