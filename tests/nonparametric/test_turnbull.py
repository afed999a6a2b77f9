"""Turnbull's estimate: conditions for a maximum checked independently, lifelines, Kaplan-Meier, and the edges."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from relfit import ArgumentError, LifeData
from relfit.fitting.nonparametric import kaplan_meier, turnbull


def _intervals(rng, shape, exact=0.0, open_end=0.2):
    life = rng.weibull(1.5, shape) * 10.0
    low = np.maximum(life - rng.exponential(2.0, shape), 0.0)
    high = np.where(rng.random(shape) < open_end, np.inf, life + rng.exponential(2.0, shape))
    known = rng.random(shape) < exact
    return np.where(known, life, low), np.where(known, life, high)


def _inside(left, right, low, high, exact, left_closed):
    """Which candidate intervals lie within which observations, by definition; for distinct times."""
    begins = (left[None, :] > low[:, None]) | ((left[None, :] == low[:, None]) & (exact[:, None] == left_closed))
    return begins & (right[None, :] <= high[:, None])


def test_conditions_for_a_maximum_hold():
    rng = np.random.default_rng(5)
    for exact in (0.0, 0.4):
        low, high = _intervals(rng, (40, 25), exact)
        found = turnbull(LifeData.from_intervals(low, high))
        assert found.converged.all()
        for j in range(0, 40, 4):
            part = slice(*found.offsets[j : j + 2])
            mass = found.mass[part]
            table = _inside(
                found.left[part], found.right[part], low[j], high[j], low[j] == high[j], found.left_closed[part]
            )
            probability = table @ mass
            assert mass.sum() == pytest.approx(1.0, abs=1e-12)
            score = (table / probability[:, None]).mean(axis=0)
            assert score.max() <= 1.0 + 1e-8
            np.testing.assert_allclose(score[mass > 0], 1.0, atol=1e-8)
            assert found.log_likelihood[j] == pytest.approx(np.log(probability).sum(), rel=1e-12)


@pytest.mark.verify
def test_no_likelihood_of_lifelines_is_higher():
    from lifelines import KaplanMeierFitter

    low, high = _intervals(np.random.default_rng(9), (3, 40), 0.3)
    found = turnbull(LifeData.from_intervals(low, high))
    times = np.linspace(0.5, 25.0, 40)
    least, most = found.at(times)
    for j in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer = KaplanMeierFitter().fit_interval_censoring(low[j], high[j], tol=1e-10)
        curve = peer.survival_function_
        at = curve.index.searchsorted(times, side="right") - 1
        # between two of its times, the survival of the peer is known where both its limits agree
        upper, lower = curve.iloc[at, 0].to_numpy(), curve.iloc[at + 1, 1].to_numpy()
        sure = (np.abs(upper - lower) < 1e-9) & (most[j] - least[j] < 1e-9)
        assert sure.sum() > 10
        np.testing.assert_allclose(most[j][sure], upper[sure], atol=2e-3)


def test_right_censored_lives_are_kaplan_meiers():
    rng = np.random.default_rng(3)
    shape = (40, 30)
    entry = np.where(rng.random(shape) < 0.5, rng.exponential(1.0, shape), 0.0)
    lives = LifeData.from_array(
        np.round(entry + rng.exponential(10.0, shape), 1) + 0.1,
        rng.random(shape) < 0.7,
        weights=rng.integers(0, 4, shape),
        entry=np.round(entry, 1),
    )
    curves = kaplan_meier(lives)
    found = turnbull(lives)
    fine = curves.status == "ok"
    assert fine.sum() > 20
    assert found.converged[fine].all()
    times = np.linspace(0.0, 25.0, 60)
    least, most = found.at(times)
    within = (times < curves.last_times()[:, None]) & fine[:, None]
    np.testing.assert_allclose(most[within], curves.at(times)[within], atol=1e-9)
    np.testing.assert_allclose(least[within], curves.at(times)[within], atol=1e-9)


def test_one_large_sample_of_inspections():
    rng = np.random.default_rng(1)
    life = rng.weibull(1.5, 20_000) * 10.0
    visit = np.floor(life / 2.0) * 2.0
    found = turnbull(LifeData.from_intervals(visit, np.where(visit >= 16.0, np.inf, visit + 2.0)))
    assert found.converged.all()
    # every interval is innermost, so its mass is its share
    shares = np.bincount(np.minimum(visit, 16.0).astype(int) // 2) / life.size
    np.testing.assert_allclose(found.mass, shares, rtol=1e-10)


def test_left_censored_lives_and_a_closed_form():
    # by hand: mass p on (1, 2], q on (2, 3], r beyond 7 maximise p (p + q) q**2 r
    lives = LifeData.from_intervals([0.0, 1.0, 2.0, 2.0, 7.0], [2.0, 3.0, 5.0, 6.0, np.inf])
    found = turnbull(lives)
    np.testing.assert_allclose(found.mass, [4 / 15, 8 / 15, 3 / 15], rtol=1e-12)
    assert found.median().to_numpy().tolist() == [[2.0, 3.0]]
    assert found.quantile(0.0).to_numpy().tolist() == [[1.0, 2.0]]
    assert found.quantile(1.0).to_numpy().tolist() == [[7.0, np.inf]]
    least, most = found.at([1.0, 1.5, 2.0, 4.0, 8.0])
    np.testing.assert_allclose(least[0], [1.0, 11 / 15, 11 / 15, 0.2, 0.0], atol=1e-12)
    np.testing.assert_allclose(most[0], [1.0, 1.0, 11 / 15, 0.2, 0.2], atol=1e-12)


def test_survival_beyond_the_last_interval_is_zero():
    survival = turnbull(LifeData.from_intervals(np.arange(49.0), np.arange(1.0, 50.0))).to_frame()["survival"]
    assert survival.tolist() == pytest.approx([i / 49 for i in range(48, -1, -1)])
    assert survival.iloc[-1] == 0.0  # not 1e-16


def test_exact_time_at_the_end_of_an_interval():
    # (1, 2] holds the exact 2, [3, 3] is the start of (3, inf) but not in it
    lives = LifeData.from_intervals([1.0, 2.0, 3.0, 3.0], [2.0, 2.0, 3.0, np.inf])
    found = turnbull(lives)
    assert found.left.tolist() == [2.0, 3.0, 3.0]
    assert found.left_closed.tolist() == [True, True, False]
    np.testing.assert_allclose(found.mass, [0.5, 0.25, 0.25], rtol=1e-12)
    assert found.at(2.0)[0] == pytest.approx([0.5])
    assert found.at(3.0) == (pytest.approx([0.25]), pytest.approx([0.25]))


def test_right_truncation_is_kaplan_meier_in_reversed_time():
    rng = np.random.default_rng(2)
    life = np.sort(rng.exponential(5.0, 30))
    leave = life + rng.exponential(8.0, 30)
    leave[-5:] = life[-1] + 1.0
    found = turnbull(LifeData.from_array(life, exit=leave))
    back = kaplan_meier(LifeData.from_array(100.0 - life, entry=100.0 - leave))
    assert found.converged.all()
    assert back.status.tolist() == ["ok"]
    # the share that has failed by t is the reversed survival up to just before 100 - t
    share = 1.0 - found.at(life)[1][0]
    np.testing.assert_allclose(share, back.at(100.0 - life - 1e-9)[0], atol=1e-8)


def test_no_maximum_says_so():
    # all fail at 1 before the others enter: the mass after 1 goes to zero, and with it what is known of 5 and 6
    lives = LifeData.from_array([1.0, 5.0, 6.0], entry=[0.0, 2.0, 3.0])
    assert turnbull(lives).converged.tolist() == [False]


def test_edges():
    lives = LifeData.from_groups(
        {"none": [], "censored": [3.0, 5.0], "exact": [2.0, 2.0], "left": [0.0], "zero": [0.0]},
        upper={"none": [], "censored": [np.inf, np.inf], "exact": [2.0, 2.0], "left": [4.0], "zero": [0.0]},
        observed={"none": [], "censored": [0, 0], "exact": [1, 1], "left": [0], "zero": [1]},
    )
    found = turnbull(lives)
    assert found.offsets.tolist() == [0, 0, 1, 2, 3, 4]
    assert found.converged.all()
    assert found.mass.tolist() == [1.0] * 4
    assert found.left.tolist() == [5.0, 2.0, 0.0, 0.0]
    assert found.right.tolist() == [np.inf, 2.0, 4.0, 0.0]
    assert [limit.tolist() for limit in found.at(3.0)] == [[1.0, 1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 1.0, 0.0]]
    assert found.median()["low"].tolist() == [np.inf, 5.0, 2.0, 0.0, 0.0]
    assert not found.to_frame().isna().any().any()
    assert found.to_dict()["converged"] == [True] * 5
    assert "5 groups on 4 intervals, 0 not converged" in repr(found)
    empty = turnbull(LifeData.from_groups([[], []]))
    assert [limit.tolist() for limit in empty.at(1.0)] == [[1.0, 1.0], [1.0, 1.0]]
    with pytest.raises(ArgumentError, match="tolerance"):
        turnbull(lives, tolerance=0.0)
    with pytest.raises(ArgumentError, match="probability"):
        found.quantile(2.0)


@pytest.mark.slow
def test_small_samples_of_every_kind_are_answered():
    rng = np.random.default_rng(11)
    shape = (1_500, 5)
    low, high = np.round(_intervals(rng, shape, 0.3, 0.3), 0)
    lives = LifeData.from_intervals(low, high, weights=rng.integers(0, 3, shape))
    found = turnbull(lives)
    assert found.converged.all()
    assert np.isfinite(found.mass).all()
    entry = np.round(low * rng.random(shape))
    leave = np.where(high < np.inf, high + np.round(rng.exponential(3.0, shape)) + 1.0, np.inf)
    cut = turnbull(LifeData.from_intervals(low[:500], high[:500], entry=entry[:500], exit=leave[:500]))
    assert np.isfinite(cut.mass).all()
    assert not np.isnan(cut.violation).any()
    # with so few lives the likelihood often has no maximum: a mass goes to zero on which others are conditioned
    least = np.minimum.reduceat(cut.mass, cut.offsets[:-1])
    assert (least[~cut.converged] < 1e-4).all()
    assert cut.converged.mean() > 0.2


def test_a_mass_on_which_a_row_is_conditioned_goes_to_zero():
    # log-likelihood: that of the mass beyond 23 alone, which wants all; the first life then is conditioned on nothing
    lives = LifeData.from_intervals([12.0, 20.0], [14.0, np.inf], exit=[23.0, np.inf])
    found = turnbull(lives)
    assert found.converged.tolist() == [False]
    np.testing.assert_allclose(found.mass, [0.0, 1.0], atol=1e-6)


def test_it_takes_what_a_fit_takes():
    low, high = [0.0, 1.0, 2.0, 2.0, 7.0], [2.0, 3.0, 5.0, 6.0, np.inf]
    expected = turnbull(LifeData.from_intervals(low, high)).mass
    table = pd.DataFrame({"duration": low, "upper": high})
    np.testing.assert_array_equal(turnbull(table, upper="upper").mass, expected)
    assert turnbull(np.array([[1.0, 2.0], [2.0, 3.0]])).mass.tolist() == [0.5] * 4
    assert turnbull([1.0, 2.0], observed=[True, False], by=["b", "a"]).groups.tolist() == ["a", "b"]
