"""Plotting positions: exact median ranks, Johnson's ranks."""

from __future__ import annotations

import numpy as np
import pytest
from reliability.Probability_plotting import plotting_positions as positions_of_reliability
from scipy import stats

from relfit import DataError, LifeData
from relfit.fitting.nonparametric import median_ranks


def test_median_ranks_of_complete_data_are_beta_medians():
    lives = LifeData.from_groups([[5.0, 1.0, 3.0], [2.0], []])
    points = median_ranks(lives, level=0.9)
    assert points.offsets.tolist() == [0, 3, 4, 4]
    assert points.times.tolist() == [1.0, 3.0, 5.0, 2.0]
    i, n = np.array([1, 2, 3, 1]), np.array([3, 3, 3, 1])
    np.testing.assert_allclose(points.position, stats.beta.ppf(0.5, i, n + 1 - i), rtol=1e-12)
    np.testing.assert_allclose(points.low, stats.beta.ppf(0.05, i, n + 1 - i), rtol=1e-12)
    np.testing.assert_allclose(points.high, stats.beta.ppf(0.95, i, n + 1 - i), rtol=1e-12)


def test_adjusted_ranks_are_those_of_reliability():
    rng = np.random.default_rng(6)
    parts = [rng.exponential(10.0, n) for n in (2, 9, 60)]
    flags = [rng.random(part.size) < 0.6 for part in parts]
    for flag in flags:
        flag[0] = True
    points = median_ranks(LifeData.from_groups(parts, flags))
    for j, (part, flag) in enumerate(zip(parts, flags, strict=True)):
        times, expected = positions_of_reliability(part[flag], part[~flag], sort=True)
        mine = points.part(j)
        np.testing.assert_allclose(points.times[mine], times)
        benard = (points.rank[mine] - 0.3) / (part.size + 0.4)
        np.testing.assert_allclose(benard, expected, rtol=1e-12)


def test_johnsons_own_recursion_with_weights_and_ties():
    lives = LifeData.from_array([1.0, 2.0, 2.0, 3.0], [True, False, True, True], weights=[1, 1, 2, 1])
    points = median_ranks(lives)
    # failures before censored lives of the same length: 1, 2, 2, (2), 3
    assert points.times.tolist() == [1.0, 2.0, 2.0, 3.0]
    assert points.rank.tolist() == pytest.approx([1.0, 2.0, 3.0, 4.5])


def test_edges():
    lives = LifeData.from_groups([[], [1.0, 2.0], [0.0, 0.0]], [[], [0, 0], [1, 1]])
    points = median_ranks(lives)
    assert points.offsets.tolist() == [0, 0, 0, 2]
    assert ((points.position > 0) & (points.position < 1)).all()
    assert not points.to_frame().isna().any().any()
    assert "2 failures in 3 groups" in repr(points)


def test_what_is_rejected():
    with pytest.raises(DataError, match="kaplan_meier"):
        median_ranks(LifeData.from_array([1.0, 2.0], entry=[0.0, 1.0]))
    with pytest.raises(DataError, match="turnbull"):
        median_ranks(LifeData.from_intervals([1.0], [2.0]))
