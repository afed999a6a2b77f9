"""Levels against closed forms, and a loop over days."""

from __future__ import annotations

import numpy as np
import pytest

from relfit.fleet.prediction import HALF_LIVES, DiscountedLevels, levels_of
from relfit.fleet.prediction.discounted_levels import WINDOWS, discounted

WITHOUT_END = len(HALF_LIVES) - 1


def test_what_was_a_half_life_ago_counts_half():
    values = np.zeros(41)
    values[0] = 8.0
    for half_life in (5.0, 10.0, 20.0):
        # before the step after it nothing has aged yet
        sums = discounted(values, half_life)
        assert sums[0] == 0.0
        assert sums[1] == 8.0
        assert sums[1 + int(half_life)] == pytest.approx(4.0)
        assert sums[1 + 2 * int(half_life)] == pytest.approx(2.0)
    assert discounted(values, np.inf)[1:].tolist() == [8.0] * 41


def test_discounted_against_a_loop():
    values = np.random.default_rng(2).poisson(3.0, (2, 50)).astype(float)
    got = discounted(values, 7.0)
    assert got.shape == (2, 51)
    for row, sums in zip(values, got, strict=True):
        for now in range(51):
            assert sums[now] == pytest.approx(sum(row[i] * 0.5 ** ((now - 1 - i) / 7.0) for i in range(now)))


def test_the_level_is_the_mean_of_all_before_and_half_an_event_at_it():
    value, exposure = np.array([2.0, 0.0, 4.0, 6.0]), np.array([10.0, 10.0, 20.0, 20.0])
    levels = levels_of(value, exposure)
    mean = 12.5 / 60.0
    assert levels.level[WITHOUT_END, -1] == pytest.approx(12.5 / (60.0 + 0.5 / mean))
    assert levels.level[WITHOUT_END, 1] == pytest.approx(2.5 / (10.0 + 0.5 / (2.5 / 15.0)))  # as known after one step
    short = 0.5 ** (1.0 / HALF_LIVES[0])
    counted = sum(v * short ** (3 - i) for i, v in enumerate(value))
    units = sum(v * short ** (3 - i) for i, v in enumerate(exposure))
    assert levels.level[0, -1] == pytest.approx((counted + 0.5) / (units + 0.5 / mean))


def test_a_level_says_nothing_of_what_comes_after():
    value, exposure = np.random.default_rng(3).poisson(2.0, 300).astype(float), np.ones(300)
    changed = value.copy()
    changed[200:] = 50.0
    before, after = levels_of(value, exposure).level, levels_of(changed, exposure).level
    np.testing.assert_array_equal(before[:, :201], after[:, :201])
    assert (after[:, 201] > before[:, 201]).all()


def test_windows_are_counts_of_the_last_days():
    value, exposure = np.random.default_rng(4).poisson(3.0, 400).astype(float), np.full(400, 2.0)
    levels = levels_of(value, exposure)
    mean = (value.sum() + 0.5) / 800.0
    for row, window in enumerate(WINDOWS, len(HALF_LIVES)):
        last = value[-int(window) :].sum()
        assert levels.level[row, -1] == pytest.approx((last + 0.5) / (2.0 * window + 0.5 / mean))
        assert levels.uncertain[row, -1] == pytest.approx(1.0 / window)
    assert levels.wander[len(HALF_LIVES) :][: len(WINDOWS)].tolist() == [0.0, 0.0]


def test_how_well_a_level_is_known():
    levels = levels_of(np.ones(2000), np.ones(2000))
    keep = 0.5 ** (1.0 / np.array(HALF_LIVES[:-1]))
    # after very long a discounted mean rests on 1 / (1 - keep) steps
    np.testing.assert_allclose(levels.uncertain[:WITHOUT_END, -1], 1.0 - keep, rtol=0.02)
    np.testing.assert_allclose(levels.wander[:WITHOUT_END], (1.0 - keep) ** 2)
    assert levels.uncertain[WITHOUT_END, -1] == pytest.approx(1.0 / 2000.0)
    assert levels.wander[WITHOUT_END] == 0.0


def test_steps_without_exposure_do_not_count():
    value, exposure = np.array([1.0, 0.0, 0.0, 3.0]), np.array([1.0, 0.0, 0.0, 1.0])
    levels = levels_of(value, exposure)
    assert levels.uncertain[WITHOUT_END, -1] == pytest.approx(0.5)
    assert levels.level[WITHOUT_END, -1] == pytest.approx(4.5 / (2.0 + 0.5 / (4.5 / 2.0)))


def test_half_lives_are_days_whatever_the_step():
    value = np.random.default_rng(5).poisson(1.0, 4 * 900).astype(float)
    fine, coarse = (
        levels_of(value, np.ones(value.size), 0.25),
        levels_of(value.reshape(-1, 4).sum(axis=1), np.ones(900)),
    )
    np.testing.assert_allclose(4.0 * fine.level[3:, -1], coarse.level[3:, -1], rtol=0.02)


def test_a_slope_goes_on_and_fades():
    days = np.arange(3000.0)
    levels = levels_of(5.0 + 0.01 * days, np.ones(3000))  # 0.01 a day more; at the start of day 3000 it is 35
    row = len(HALF_LIVES) + len(WINDOWS)
    now = np.array([3000])
    assert levels.level[row, -1] == pytest.approx(35.0, abs=0.02)
    assert levels.toward[row, -1] == pytest.approx(35.0 + 0.01 * 180.0, abs=0.03)
    # the slope fades by a factor of e in 180 days: the mean of 0.01 * 180 * (1 - exp(-t / 180)) over 90 days
    mean = np.mean(1.8 * -np.expm1(-(np.arange(9000) + 0.5) / 100.0 / 180.0))
    assert levels.over(now, 90.0)[row, 0] == pytest.approx(35.0 + mean, abs=0.03)


def test_a_slope_ends_at_a_quarter_of_the_level():
    value = np.append(np.full(40, 40.0), np.zeros(700))
    falls = levels_of(value, np.ones(740))
    row, plain = len(HALF_LIVES) + len(WINDOWS), HALF_LIVES.index(80.0)
    assert (falls.toward[row] / falls.level[plain]).min() == pytest.approx(0.25)
    # rising from nothing at a stroke, it does not reach four times: the slope is at most the level itself
    rises = levels_of(value[::-1].copy(), np.ones(740))
    ratio = rises.toward[row] / rises.level[plain]
    assert 3.0 < ratio.max() < 2.0 + 180.0 * (2.0 ** (1.0 / 80.0) - 1.0)


def test_half_lives_double_from_five_days_and_the_last_has_no_end():
    assert (*(5.0 * 2.0**k for k in range(7)), np.inf) == HALF_LIVES


def test_levels_that_are_not_expected_to_move_stay():
    levels = levels_of(np.random.default_rng(5).poisson(3.0, 300).astype(float), np.ones(300))
    still = slice(0, len(HALF_LIVES) + len(WINDOWS))
    for steps in (1.0, 30.0, 1000.0):
        np.testing.assert_allclose(levels.over(np.array([300]), steps)[still, 0], levels.level[still, -1])


def test_discounted_sums_by_hand() -> None:
    assert discounted(np.array([1.0, 0.0, 1.0]), 1.0).tolist() == [0.0, 1.0, 0.5, 1.25]


def test_the_mean_of_a_level_on_its_way_by_hand() -> None:
    row, none = np.array([[4.0]]), np.zeros((1, 1))
    levels = DiscountedLevels(row, none, none[0], row / 2.0, np.array([90.0]))
    assert levels.over(np.array([0]), 90.0)[0, 0] == pytest.approx(2.0 + 2.0 * (1.0 - np.exp(-1.0)))
