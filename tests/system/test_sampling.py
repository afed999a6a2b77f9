"""Sequences of failures: agreement with the model, renewal theory, repairs, reproducibility."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from relfit import ArgumentError, System
from relfit.fitting.families import Exponential, LimitedFailure, Lognormal, Weibull, ZeroInflated


def small(ages=(600.0, 100.0, 0.0)):
    return System([Weibull(0.8, 1000.0), Lognormal(6.0, 1.0), Weibull(2.0, 700.0)], ages=list(ages))


def times_between(sequences) -> np.ndarray:
    """From each failure of a system, or the start, to the next."""
    return np.concatenate([np.diff(times, prepend=0.0) for times in np.split(sequences.times, sequences.offsets[1:-1])])


def test_first_failures_are_those_of_the_model_at_nominal_size():
    # chi-square of 200 first failures in ten equal classes, over 100 seeds
    system = small()
    edges = system.quantile(np.arange(1, 10) / 10.0)
    p = []
    for seed in range(100):
        first = system.sequences(failures=1, size=200, rng=seed).times
        counts = np.bincount(np.searchsorted(edges, first), minlength=10)
        p.append(stats.chisquare(counts).pvalue)
    p = np.array(p)
    assert 1 <= (p < 0.1).sum() <= 20
    assert stats.kstest(p, "uniform").pvalue > 1e-3


def test_every_gap_is_that_of_the_system_as_it_then_stood():
    # given ages after each failure, the spent cumulative hazard is exponential
    system = small()
    found = system.sequences(failures=6, size=60, rng=4)
    spent = []
    for number in range(found.n_sequences):
        part = slice(found.offsets[number], found.offsets[number + 1])
        times, nodes = found.times[part], found.nodes[part]
        ages, before = system.ages.copy(), 0.0
        for time, node in zip(times, nodes, strict=True):
            spent.append(float(system.at_age(ages).cumulative_hazard(time - before)))
            ages += time - before
            ages[node], before = 0.0, time
    assert stats.kstest(spent, "expon").pvalue > 1e-3


def test_numbers_of_failures_are_those_of_renewal_theory():
    system = System(Exponential(np.linspace(0.001, 0.01, 10)))
    found = system.sequences(until=500.0, size=2000, rng=1)
    assert stats.ttest_1samp(found.counts, 500.0 * np.linspace(0.001, 0.01, 10).sum()).pvalue > 1e-3
    assert found.times.max() <= 500.0
    assert (times_between(found) >= 0.0).all()


def test_nodes_that_do_not_fail_go_on_ageing():
    # wear: the second failure must be that of an old node, not of one started anew
    system = System(Weibull(20.0, 1000.0), ages=[990.0, 980.0, 0.0])
    found = system.sequences(failures=2, size=500, rng=3)
    both = found.nodes.reshape(-1, 2)
    assert (both[:, 0] != both[:, 1]).all()
    assert (both < 2).mean() > 0.999
    frame = found.to_frame()
    assert (frame["worked"] > 800.0).all()


def test_the_same_seed_gives_the_same_failures():
    system = small()
    one, two = system.sequences(until=5000.0, size=7, rng=9), system.sequences(until=5000.0, size=7, rng=9)
    np.testing.assert_array_equal(one.times, two.times)
    assert len(one) == one.counts.sum()
    assert one.n_sequences == 7
    ahead = system.sequences(failures=4, size=3, rng=5)
    assert ahead.counts.tolist() == [4, 4, 4]
    np.testing.assert_array_equal(system.sample(5, rng=2), system.sample(5, rng=2))


def test_shapes_from_one_end_to_the_other():
    system = System(Weibull([0.05, 20.0, 1.0], [1000.0, 1000.0, 500.0]), ages=[1e6, 0.0, 10.0], longest_age=None)
    found = system.sequences(until=3000.0, size=50, rng=1)
    assert np.isfinite(found.times).all()
    assert len(found) > 100
    many = System(Weibull(0.7, np.full(100_000, 1e5))).sequences(until="48h", rng=1)
    expected = 100_000 * (48.0 / 1e5) ** 0.7
    assert abs(len(many) - expected) < 6.0 * np.sqrt(expected)


def test_zeros_are_failures_at_once():
    found = System(ZeroInflated(0.4, 1.0, 100.0)).sequences(until=5000.0, size=20, rng=1)
    lives = found.worked
    assert (lives[times_between(found) == 0.0] == 0.0).all()
    assert 0.3 < (lives == 0.0).mean() < 0.5


def test_what_cannot_be_drawn():
    system = small()
    for bad in ({}, {"until": 10.0, "failures": 3}, {"until": 0.0}, {"failures": 0}, {"until": 5.0, "size": 0}):
        with pytest.raises(ArgumentError):
            system.sequences(**bad)
    with pytest.raises(ArgumentError, match="never fail"):
        System(LimitedFailure(0.5, 1.0, 10.0), ages=[0.0, 0.0]).sequences(failures=50, size=20, rng=1)
