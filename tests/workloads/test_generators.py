"""Generators against closed forms, integrals and a slow reference, none of which is the package's own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import relfit as rf
from relfit.io import workloads
from relfit.io.workloads import lublin_feitelson as model
from relfit.io.workloads.generator import on_the_clock


def rounded_sizes(sizes: workloads.JobSizes, points: int = 400_000) -> np.ndarray:
    """Probability of each size by walking through the uniform numbers, one after the other."""
    u = (np.arange(points) + 0.5) / points
    first = sizes.low + (sizes.middle - sizes.low) * u
    second = sizes.middle + (sizes.high - sizes.middle) * u
    total = np.zeros(sizes.n_nodes + 1)
    for weight, logarithm in ((sizes.first_stage, first), (1.0 - sizes.first_stage, second)):
        powers = 2 ** np.minimum(np.floor(logarithm + 0.5).astype(int), int(np.log2(sizes.n_nodes)))
        other = np.minimum(np.floor(2.0**logarithm + 0.5).astype(int), sizes.n_nodes)
        total += weight * sizes.power_of_two * np.bincount(powers, minlength=sizes.n_nodes + 1) / points
        rest = 1.0 - sizes.serial - sizes.power_of_two
        total += weight * rest * np.bincount(other, minlength=sizes.n_nodes + 1) / points
    total[1] += sizes.serial
    return total[1:]


@pytest.mark.parametrize(("n_nodes", "high"), [(128, 7.0), (1490, np.log2(1490)), (100, np.log2(100))])
def test_probabilities_of_sizes(n_nodes: int, high: float) -> None:
    sizes = workloads.JobSizes(n_nodes, 0.3, 0.5, 0.8, high - 2.5, high, 0.8)
    expected = rounded_sizes(sizes)
    assert sizes.probabilities == pytest.approx(expected, abs=2e-5)
    assert sizes.mean == pytest.approx(expected @ np.arange(1, n_nodes + 1), rel=1e-4)
    drawn = sizes.sample(200_000, np.random.default_rng(1))
    counts = np.bincount(drawn, minlength=n_nodes + 1)[1:]
    common = expected * 200_000 > 20
    z = (counts - 200_000 * expected)[common] / np.sqrt(200_000 * expected[common])
    assert np.abs(z).max() < 4.5
    assert drawn.max() <= n_nodes


def test_two_stage_run_times() -> None:
    source = workloads.TwoStage(
        512, short="10min", long="5h", short_share=0.6, longest="10D", longest_share=0.02, load=0.9
    )
    jobs = source.sample(200_000, rng=2)
    weight = np.array([0.98 * 0.6, 0.98 * 0.4, 0.02])
    mean = np.array([600.0, 18_000.0, 864_000.0])
    assert source.mean_run_time == pytest.approx(weight @ mean)
    times = np.array([60.0, 600.0, 3600.0, 86_400.0, 864_000.0])
    survival = (weight * np.exp(-times[:, None] / mean)).sum(axis=1)
    observed = (jobs.run_time[:, None] > times).mean(axis=0)
    assert np.abs(observed - survival).max() < 4.5 * np.sqrt(0.25 / 200_000)
    spread = np.sqrt((2.0 * weight @ mean**2) - (weight @ mean) ** 2)
    assert abs(jobs.run_time.mean() - weight @ mean) < 4.0 * spread / np.sqrt(200_000)
    assert abs(np.corrcoef(jobs.nodes, jobs.run_time)[0, 1]) < 0.01


def test_two_stage_submissions_are_a_poisson_process_of_the_load() -> None:
    source = workloads.TwoStage(512, load=0.9)
    jobs = source.sample(50_000, rng=3)
    gap = source.sizes.mean * source.mean_run_time / (512 * 0.9)
    assert jobs.submit[0] == 0.0
    assert stats.kstest(np.diff(jobs.submit), "expon", args=(0.0, gap)).pvalue > 0.001
    assert jobs.load() == pytest.approx(0.9, rel=0.1)
    assert (workloads.TwoStage(512, load=None).sample(10, rng=1).submit == 0.0).all()
    share = jobs.requested / jobs.run_time
    assert stats.kstest(share, "uniform", args=(1.0, 1.0)).pvalue > 0.001


def test_two_stage_bad_arguments() -> None:
    for wrong in ({"widest": 600}, {"serial": 0.9}, {"short": -1}, {"load": 0}, {"longest_share": 2}):
        with pytest.raises(rf.ArgumentError):
            workloads.TwoStage(512, **wrong)


@pytest.mark.parametrize("make", [workloads.TwoStage(64), workloads.LublinFeitelson(64, "both")])
def test_same_seed_same_jobs(make: workloads.TwoStage | workloads.LublinFeitelson) -> None:
    one, two, other = make.sample(300, rng=9), make.sample(300, rng=9), make.sample(300, rng=10)
    assert one.to_frame().equals(two.to_frame())
    assert not one.to_frame().equals(other.to_frame())


def slow_submissions(gaps: np.ndarray, weights: list[float]) -> list[float]:
    """Submissions as the published program walks through half hours, paying each one's weight, job by job."""
    times, now, bucket, points, before = [], 0.0, 0, 0.0, 0.0
    for gap in gaps:
        points += gap / 1800.0
        step = 0.0
        while points > weights[bucket]:
            points -= weights[bucket]
            bucket = (bucket + 1) % 48
            step += 1800.0
        part = points / weights[bucket]
        step += 1800.0 * (part - before)
        before = part
        now += step
        times.append(now)
    return times


@pytest.mark.parametrize(("kind", "shape", "scale"), [("all", 8.1737, 3.9631), ("batch", 6.1271, 5.2740)])
def test_daily_cycle_of_lublin_feitelson(kind: str, shape: float, scale: float) -> None:
    day = stats.gamma(shape, scale=scale)
    weights = [0.0] * 48
    for i in range(11, 59):
        weights[(i - 1) % 48] = day.cdf(i + 0.5) - day.cdf(i - 0.5)
    mean = sum(weights) / 48
    weights = [weight / mean for weight in weights]
    assert model._cycle(model._KINDS[kind]) == pytest.approx(weights)
    gaps = np.random.default_rng(4).lognormal(6.0, 1.5, 3000)
    fast = on_the_clock(np.cumsum(gaps) / 1800.0, np.array(weights), 1800.0)
    assert fast == pytest.approx(slow_submissions(gaps, weights), rel=1e-9)


def test_gaps_of_lublin_feitelson() -> None:
    jobs = workloads.LublinFeitelson(128).sample(40_000, rng=6)
    gamma = stats.gamma(10.2303 * 1.0225, scale=0.4871)
    x = np.linspace(0.0, 13.0, 20_001)
    density = gamma.pdf(x) / gamma.cdf(13.0)
    mean = integrate.trapezoid(np.exp(x) * density, x)
    spread = np.sqrt(integrate.trapezoid(np.exp(2 * x) * density, x) - mean**2)
    # on the clock a gap is as long as at the rush hour times the cycle, which is 1 on average
    assert abs(jobs.submit[-1] / 40_000 - mean) < 4.0 * spread / np.sqrt(40_000) + 4.0


@pytest.mark.parametrize(
    ("kind", "serial", "parameters"),
    [
        ("all", 0.244, (4.2, 0.94, 312.0, 0.03, -0.0054, 0.78)),
        ("batch", 0.2927, (6.57, 0.823, 639.1, 0.0156, -0.003, 0.6986)),
        ("interactive", 0.1541, (3.8351, 0.6605, 7.073, 0.6856, -0.0118, 0.9156)),
    ],
)
def test_run_times_of_lublin_feitelson(kind: str, serial: float, parameters: tuple[float, ...]) -> None:
    jobs = workloads.LublinFeitelson(128, kind).sample(60_000, rng=7)
    assert (jobs.nodes == 1).mean() == pytest.approx(serial, abs=0.01)
    a1, b1, a2, b2, slope, constant = parameters
    first, second = stats.gamma(a1, scale=b1), stats.gamma(a2, scale=b2)
    for size in (1, 16):
        weight = min(max(slope * size + constant, 0.0), 1.0)
        within = weight * first.cdf(12.0) + (1.0 - weight) * second.cdf(12.0)
        times = np.array([10.0, 100.0, 1000.0, 10_000.0, 100_000.0])
        expected = (weight * first.cdf(np.log(times)) + (1 - weight) * second.cdf(np.log(times))) / within
        run = jobs.run_time[jobs.nodes == size]
        observed = (run[:, None] < times).mean(axis=0)
        assert np.abs(observed - expected).max() < 4.5 * np.sqrt(0.25 / run.size), size
    assert jobs.run_time.max() <= np.exp(12.0)


def test_both_kinds_of_lublin_feitelson() -> None:
    jobs = workloads.LublinFeitelson(128, "both").sample(30_000, rng=8)
    batch = jobs.user == 1
    assert (jobs.nodes[batch] == 1).mean() == pytest.approx(0.2927, abs=0.015)
    assert (jobs.nodes[~batch] == 1).mean() == pytest.approx(0.1541, abs=0.015)
    assert jobs.nodes[~batch].max() <= 64
    with pytest.raises(rf.ArgumentError, match="not known"):
        workloads.LublinFeitelson(128, "some")


def weekly_jobs() -> rf.workloads.Workload:
    """Jobs of eight weeks, at day and at night, of correlated sizes and walltimes, from a plain simulation."""
    rng = np.random.default_rng(11)
    hours = 8 * 168
    rate = np.tile(np.where((np.arange(24) >= 8) & (np.arange(24) < 18), 12.0, 2.0), hours // 24)
    rate[np.arange(hours) % 168 >= 120] /= 3.0
    counts = rng.poisson(rate)
    submit = np.sort(np.repeat(np.arange(hours), counts) + rng.random(counts.sum())) * 3600.0
    n = submit.size
    nodes = 2 ** rng.choice([0, 0, 0, 3, 5], n)
    requested = rng.choice([1800.0, 7200.0, 43_200.0, 86_400.0], n, p=[0.3, 0.3, 0.3, 0.1])
    requested[nodes == 32] = 86_400.0
    run = requested * np.where(rng.random(n) < 0.2, 1.0, rng.beta(0.6, 1.4, n))
    return rf.workloads.Workload(
        np.arange(n), submit, nodes, run, requested, 256, origin=pd.Timestamp("2024-01-01", tz="UTC")
    )


def test_fitted_workload() -> None:
    jobs = weekly_jobs()
    fit = workloads.fit_workload(jobs)
    drawn = fit.sample(40_000, rng=12)
    for width in (1, 8, 32):
        ours, theirs = drawn.nodes == width, jobs.nodes == width
        assert ours.mean() == pytest.approx(theirs.mean(), abs=0.01)
        a, b = drawn.run_time[ours], jobs.run_time[theirs]
        assert a.mean() == pytest.approx(b.mean(), rel=0.05)
        assert a.std() == pytest.approx(b.std(), rel=0.05)
        levels = [0.1, 0.25, 0.5, 0.75, 0.9]
        for level, value in zip(levels, np.quantile(b, levels), strict=True):
            assert (a <= value).mean() == pytest.approx((b <= value).mean(), abs=0.025), (width, level)
    at_limit = (drawn.run_time >= drawn.requested * (1 - 1e-12)).mean()
    assert at_limit == pytest.approx(0.2, abs=0.02)
    assert drawn.load() == pytest.approx(jobs.load(), rel=0.1)
    hour = (drawn.submit // 3600).astype(int)
    day = (hour % 168 < 120) & (hour % 24 >= 8) & (hour % 24 < 18)
    weeks = drawn.submit[-1] / (168 * 3600)
    assert day.sum() / (50 * weeks) == pytest.approx(12.0, rel=0.05)
    assert (hour % 168 >= 120).sum() / (48 * weeks) == pytest.approx((10 * 4.0 + 14 * 2 / 3) / 24, rel=0.08)
    assert "by the hour of the week" in fit.headline
    assert drawn.origin == pd.Timestamp("2024-01-01", tz="UTC")
    assert fit.to_frame()["jobs"].sum() == len(jobs)


def test_fitted_without_walltimes_or_weeks() -> None:
    rng = np.random.default_rng(13)
    submit = np.cumsum(rng.exponential(100.0, 800))
    jobs = rf.workloads.Workload(
        np.arange(800), submit, rng.integers(1, 9, 800), rng.exponential(500.0, 800), n_nodes=8
    )
    fit = workloads.fit_workload(jobs)
    assert fit.rates.size == 1
    drawn = fit.sample(20_000, rng=1)
    assert np.isinf(drawn.requested).all()
    assert stats.ks_2samp(drawn.run_time, jobs.run_time).pvalue > 0.01
    assert stats.ks_2samp(np.diff(drawn.submit), np.diff(submit)).pvalue > 0.01
    with pytest.raises(rf.DataError, match="at least two jobs"):
        workloads.fit_workload(jobs.where([0]))
