"""Many small adversarial samples: ties, zeros, heavy censoring, twelve orders of magnitude."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from tests.fitting.reference import group_log_likelihoods

GROUPS = 4_000


@pytest.fixture(scope="module")
def fits() -> rf.fitting.Fits:
    rng = np.random.default_rng(5)
    sizes = rng.integers(2, 9, GROUPS)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    group = np.repeat(np.arange(GROUPS), sizes)
    orders = rng.choice([0.5, 2.0, 6.0, 12.0], GROUPS)[group]
    life = 10.0 ** (rng.uniform(-1, 1, group.size) + (rng.random(group.size) - 0.5) * orders)
    life = np.where((rng.random(GROUPS) < 0.3)[group], np.ceil(life * 2.0) / 2.0, life)
    life[rng.random(group.size) < 0.01] = 0.0
    seen = rng.random(group.size) < rng.choice([0.1, 0.5, 0.9, 1.0], GROUPS)[group]
    return rf.fit(rf.LifeData(life, seen, offsets, pd.RangeIndex(GROUPS, name="group")))


@pytest.mark.parametrize("family", ["exponential", "weibull", "gamma", "lognormal"])
def test_every_sample_has_its_answer(fits, family):
    result = fits[family]
    assert "not_converged" not in set(result.status)
    assert np.isfinite(result.parameter_array[result.ok]).all()
    assert np.isfinite(result.covariance[result.ok]).all()
    assert np.isnan(result.parameter_array[~result.ok]).all()
    assert np.isfinite(result.ks[result.ok]).all()
    # SciPy's gamma density loses digits where lives hardly differ and the shape is beyond some 1e5
    exact = result.ok & (result.parameter_array[:, 0] < 1e5)
    found = group_log_likelihoods(family, result.parameter_array, fits.lives)
    np.testing.assert_allclose(result.loglik[exact], found[exact], rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("family", ["exponential", "weibull", "gamma", "lognormal"])
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_every_fit_is_a_maximum(fits, family):
    result = fits[family]
    exact = result.ok & (result.parameter_array[:, 0] < 1e5)
    best = group_log_likelihoods(family, result.parameter_array, fits.lives)[exact]
    scale = np.where(np.array(result.family.positive), result.parameter_array, 1.0)
    for direction in np.array([[1, 0], [0, 1], [1, 1], [1, -1]])[:, : scale.shape[1]]:
        for size in (-1e-2, -1e-4, 1e-4, 1e-2):
            moved = group_log_likelihoods(family, result.parameter_array + size * direction * scale, fits.lives)[exact]
            assert (moved <= best + 1e-7).all()


def test_a_mean_far_beyond_the_failures_keeps_its_digits():
    """Two failures far below the censored lives: the fitted mean is 10 orders of magnitude above them.

    The value is that of Nelder and Mead's search with mpmath.
    """
    lives = rf.LifeData.from_array(
        [29.2219201, 2.75e-07, 1.201e-06, 1.1476e-05, 0.127228952], [False, True, True, False, False]
    )
    assert rf.fit(lives, "gamma")["gamma"].loglik[0] == pytest.approx(18.253144824, abs=1e-8)
