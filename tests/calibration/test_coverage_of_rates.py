"""Intervals of rates: one for one quantity, and with the coverage that they claim where failures come regularly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

import relfit as rf
from relfit.fleet.calibration.rates import duration_of_counts
from relfit.fleet.scope_rates import _limited
from tests.factories import make_log


def counts_of_renewals(nodes: int, mean: float, shape: float, size: int, rng: np.random.Generator) -> np.ndarray:
    """Failures of each node in a window of `mean` times between failures that begins long after the nodes do."""
    times = rng.weibull(shape, (size * nodes, int(mean + 20 + 6 * np.sqrt(mean + 20) / min(shape, 1.0)) + 10))
    at = np.cumsum(times / special.gamma(1.0 + 1.0 / shape), axis=1) - 20.0
    return ((at >= 0.0) & (at < mean)).sum(axis=1).reshape(size, nodes)


@pytest.mark.parametrize("shape", [0.7, 1.0, 1.43, 2.0])
@pytest.mark.parametrize(("nodes", "mean", "size"), [(24, 3.0, 2000), (24, 20.0, 1000), (200, 3.0, 600)])
def test_intervals_contain_the_rate_as_often_as_they_claim(nodes: int, mean: float, size: int, shape: float) -> None:
    counts = counts_of_renewals(nodes, mean, shape, size, np.random.default_rng(5))
    total, failed = counts.sum(axis=1), (counts > 0).sum(axis=1).astype(float)
    between = ((counts - counts.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) / total * failed / (failed - 1.0)
    hits = 0
    for events, dispersion in zip(total.tolist(), _limited(between, failed).tolist(), strict=True):
        found = duration_of_counts(events, nodes * mean, 0.95, dispersion)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 1.0 <= found.high
    assert 0.93 - 1.0 / np.sqrt(size) / 4.0 <= hits / size <= 0.99 + 0.25 / np.sqrt(size)


def test_regular_failures_narrow_by_the_upper_limit_of_their_scatter() -> None:
    """By count: 24 nodes of which 12 failed twice and 12 three times."""
    rng = np.random.default_rng(2)
    number = [2 + i % 2 for i in range(24)]
    starts = [sorted(rng.uniform(10.0, 9900.0, size)) for size in number]
    events = [{"node": f"n{i}", "start": at, "end": at} for i, each in enumerate(starts) for at in each]
    log = make_log(
        sorted(events, key=lambda event: event["start"]),
        [{"node": f"n{i}", "entered_known": False} for i in range(24)],
        window=(0, 10_000),
    )
    found = rf.calibrate(log, period="all", parts=("mtbf",), window=0, at="long run").mtbf
    assert found.node is not None
    assert found.outage is not None
    between = np.var(number, ddof=1) / np.mean(number)
    assert found.node.dispersion == pytest.approx(between * 23.0 / stats.chi2(23).ppf(0.05))
    assert (found.outage.low, found.outage.high) == (found.node.low, found.node.high)


def test_the_mean_time_to_repair_is_that_of_the_repairs() -> None:
    hours = np.random.default_rng(4).lognormal(1.8, 1.1, 66)
    nodes = [{"node": f"n{i}"} for i in range(24)]
    events = [{"node": f"n{i % 24}", "start": 100.0 * i, "end": 100.0 * i + each} for i, each in enumerate(hours)]
    found = rf.calibrate(make_log(events, nodes, window=(0, 10_000)), period="all", parts=("mttr",), at="long run").mttr
    for mean in (found.mean, found.node, found.outage):
        assert mean is not None
        assert mean.value == pytest.approx(hours.mean(), rel=1e-6)
        assert mean.low < hours.mean() < mean.high
    assert "profile likelihood" in str(found.node.method)
