"""Scores of predictions, and jobs that are followed, in cases small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from relfit.backtesting.interval_scores import run_of
from relfit.backtesting.origins import NodeNumbers
from relfit.backtesting.prediction_scores import (
    area_under_curve,
    continuous_ranked,
    counted,
    first_share,
    interval_score,
    resampled,
    share_limits,
)
from relfit.fleet.prediction import distribution_of_counts


def test_an_interval_pays_for_its_width_and_for_what_it_misses() -> None:
    assert interval_score(2.0, 8.0, 5.0, 0.9) == 6.0
    assert interval_score(2.0, 8.0, 9.0, 0.9) == pytest.approx(26.0)


def test_a_count_of_two_with_poisson_mean_one() -> None:
    # the sum over k of (P(N <= k) - [k >= 2])**2
    assert continuous_ranked(distribution_of_counts(1.0, 1.0), 2.0) == pytest.approx(0.683, abs=5e-4)


def test_counts_of_three_windows() -> None:
    assert counted(np.array([1, 2, 3, 12, 25]), 0, 30, 10, 3) == pytest.approx((5.0 / 3.0, 4.0 / 3.0))


def test_counts_are_scaled_to_the_nodes_at_the_end() -> None:
    nodes = NodeNumbers(np.array([0, 10, 15]), np.array([40, 40, 40]))
    assert nodes.scales(np.array([0, 10, 20, 30])).tolist() == pytest.approx([3.0, 1.2, 1.0])
    assert nodes.scales(np.array([20, 30])).tolist() == [1.0]


def test_nodes_that_are_ranked_alike_count_half_or_in_part() -> None:
    assert area_under_curve(np.array([3.0, 1.0, 1.0]), np.array([True, True, False])) == 0.75
    assert first_share(np.array([5.0, 1.0, 1.0, 1.0]), np.array([2.0, 6.0, 0.0, 0.0]), 0.5) == 0.5


def test_resampled_blocks_have_as_many_origins() -> None:
    assert resampled(12, 3, 5, np.random.default_rng(1)).sum(axis=1).tolist() == [12.0] * 5


def test_limits_of_a_share_are_exact() -> None:
    assert share_limits(0.9, 50, 0.95) == pytest.approx((0.782, 0.967), abs=5e-4)


def test_a_job_runs_while_all_of_its_nodes_are_up() -> None:
    run = run_of(np.array([1.0, 2.0, 9.0]), np.array([3.0, 2.5, 9.0]), 0.0, 10.0)
    assert run.hours.tolist() == [1.0, 6.0, 1.0]
    assert run.failed.tolist() == [True, True, False]
    assert run.restored.tolist() == [False, True, True]


def test_time_lost_with_checkpoints() -> None:
    # up for 10 hours, down for 2, up for 8 to the end; a save after every 3 hours of work takes 1, a restore 1
    run = run_of(np.array([10.0]), np.array([12.0]), 0.0, 20.0)
    assert run.lost(np.array([3.0]), 1.0, 1.0).tolist() == pytest.approx([0.4])
