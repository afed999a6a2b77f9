"""Simultaneous bands: critical values against known distributions, coverage by simulation, and the edges."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from relfit import ArgumentError, LifeData
from relfit.nonparametric import kaplan_meier, nelson_aalen
from relfit.nonparametric.suprema import (
    bridge_critical,
    bridge_stays,
    standardised_bridge_critical,
    standardised_bridge_stays,
)


def test_whole_bridge_is_kolmogorovs():
    heights = np.array([0.4, 0.8, 1.2, 1.6, 2.5])
    np.testing.assert_allclose(bridge_stays(heights, 0.0, 1.0), stats.kstwobign.cdf(heights), atol=1e-12)


def test_bridge_at_one_point_is_normal():
    k = bridge_critical(0.9, np.array([0.3]), np.array([0.3 + 1e-12]))
    assert k[0] == pytest.approx(stats.norm.ppf(0.95) * np.sqrt(0.21), rel=1e-4)
    c = standardised_bridge_critical(0.9, np.array([0.3, 0.3]), np.array([0.3, 0.3 + 1e-9]))
    np.testing.assert_allclose(c, stats.norm.ppf(0.95), rtol=1e-3)


def test_bridge_does_not_know_its_direction():
    ends = np.array([[0.1, 0.6], [0.05, 0.3], [0.0, 0.4]])
    forth = bridge_stays(1.1, ends[:, 0], ends[:, 1])
    back = bridge_stays(1.1, 1.0 - ends[:, 1], 1.0 - ends[:, 0])
    np.testing.assert_allclose(forth, back, atol=1e-9)


def test_standardised_bridge_far_out_is_miller_and_siegmunds():
    # 4 phi(c)/c + phi(c) (c - 1/c) log odds, their tail formula; it errs by some 1e-4 here
    for c in (3.0, 3.5, 4.0):
        tail = stats.norm.pdf(c) * (4.0 / c + (c - 1.0 / c) * 2.0 * np.log(9.0))
        assert 1.0 - standardised_bridge_stays(c, np.log(9.0)) == pytest.approx(tail, rel=0.01)


def test_critical_values_by_simulation():
    rng = np.random.default_rng(4)
    size, runs = 2000, 3000
    walk = np.cumsum(rng.standard_normal((runs, size)), axis=1) / np.sqrt(size)
    u = np.arange(1, size + 1) / size
    bridge = np.abs(walk - walk[:, -1:] * u)
    part = (u >= 0.2) & (u <= 0.7)
    ends = np.array([0.2]), np.array([0.7])
    # a path seen at points strays less than one seen everywhere: by some 0.5826 standard steps
    gap = 0.5826 / np.sqrt(size)
    held = bridge[:, part].max(axis=1) <= bridge_critical(0.9, *ends)[0] - gap
    assert abs(held.mean() - 0.9) < 0.017
    scaled = (bridge / np.sqrt(u * (1.0 - u) + 1e-300))[:, part].max(axis=1)
    held = scaled <= standardised_bridge_critical(0.9, *ends)[0] - 0.5826 / np.sqrt(size * 0.2)
    assert abs(held.mean() - 0.9) < 0.017


def _coverage(band, truth) -> float:
    """Share of the groups whose band holds the true curve everywhere in its range."""
    since = band.times
    until = np.append(band.times[1:], 0.0)
    until[band.offsets[1:] - 1] = band.until
    ends = np.column_stack([truth(since), truth(until)])
    held = (ends.min(axis=1) >= band.low) & (ends.max(axis=1) <= band.high)
    return float(np.mean(np.logical_and.reduceat(held, band.offsets[:-1])))


@pytest.mark.parametrize("kind", ["equal-precision", "hall-wellner"])
@pytest.mark.parametrize("censored", [False, True])
@pytest.mark.parametrize("between", [None, (0.1053, 1.5)])
def test_coverage_of_95_percent_bands(kind, censored, between):
    rng = np.random.default_rng(7)
    life = rng.exponential(1.0, (2000, 100))
    limit = rng.uniform(0.0, 2.0, life.shape) if censored else np.full(life.shape, np.inf)
    lives = LifeData.from_array(np.minimum(life, limit), life <= limit)
    survival = kaplan_meier(lives).band(kind, between=between)
    hazard = nelson_aalen(lives).band(kind, between=between)
    assert survival.defined.all()
    assert 0.935 <= _coverage(survival, lambda t: np.exp(-t)) <= 0.965
    assert 0.935 <= _coverage(hazard, lambda t: t) <= 0.965


def test_band_holds_the_pointwise_limits():
    lives = LifeData.from_array(np.random.default_rng(2).exponential(1.0, (3, 60)))
    curves = kaplan_meier(lives)
    for kind in ("equal-precision", "hall-wellner"):
        band = curves.band(kind, between=(0.2, 1.2))
        times = np.linspace(0.3, 1.1, 9)
        low, high = band.at(times)
        inner_low, inner_high = curves.limits_at(times)
        if kind == "equal-precision":
            assert (low < inner_low).all()
            assert (high > inner_high).all()
        assert ((low <= curves.at(times)) & (curves.at(times) <= high)).all()
        outside = band.at([0.0, 5.0])
        assert outside[0].tolist() == [[0.0, 0.0]] * 3
        assert outside[1].tolist() == [[1.0, 1.0]] * 3


def test_groups_without_a_band_say_so():
    lives = LifeData.from_groups([[], [1.0, 2.0], [3.0, 3.0], [1.0, 2.0, 3.0]], [[], [0, 0], [1, 1], [1, 1, 1]])
    band = kaplan_meier(lives).band("hall-wellner")
    assert band.defined.tolist() == [False, False, False, True]
    assert band.critical[:3].tolist() == [np.inf] * 3
    assert [limits[:3].tolist() for limits in band.at(2.0)] == [[0.0] * 3, [1.0] * 3]
    assert band.to_dict()["defined"] == 1
    assert "1 defined" in repr(band)
    assert not band.to_frame().isna().any().any()
    hazard = nelson_aalen(lives).band("hall-wellner")
    assert hazard.at(2.0)[1][1] == np.inf
    assert not kaplan_meier(LifeData.from_groups([[]])).band().defined.any()


def test_what_is_rejected():
    curves = kaplan_meier(LifeData.from_array([1.0, 2.0, 3.0]))
    for wrong in ({"kind": "nair"}, {"level": 95}, {"between": (3, 1)}, {"interval": "logit"}):
        with pytest.raises(ArgumentError):
            curves.band(**wrong)
    with pytest.raises(ArgumentError):
        nelson_aalen(LifeData.from_array([1.0])).band(interval="log-log")
