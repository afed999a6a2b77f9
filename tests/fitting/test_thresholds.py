"""Intervals of a Weibull family with a threshold: they end at the first failure, and cover."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

import relfit as rf
from relfit.fitting import FamilyFit

TRUTH = rf.families.Weibull3(1.8, 1000.0, 400.0)
LIVES = 400.0 + 1000.0 * np.random.default_rng(5).weibull(1.8, (12, 40))


@pytest.fixture(scope="module")
def fit() -> FamilyFit:
    return rf.fit(LIVES, "weibull3")["weibull3"]


@pytest.mark.parametrize("kind", ["profile", "wald"])
def test_a_threshold_ends_at_the_first_failure(fit: FamilyFit, kind: str) -> None:
    limits = fit.interval("threshold", kind=kind)
    assert (limits.low >= 0.0).all()
    assert (limits.high <= LIVES.min(axis=1)).all()
    assert set(limits.status) <= {"ok", "open", "open_low", "open_high"}
    assert (limits.status[limits.high == LIVES.min(axis=1)] != "ok").all()
    assert kind == "wald" or np.mean((limits.low <= 400.0) & (limits.high >= 400.0)) > 0.8


def test_tables_have_no_threshold_beyond_the_first_failure(fit: FamilyFit) -> None:
    assert (fit.to_frame()["threshold_high"].to_numpy() <= LIVES.min(axis=1)).all()


@pytest.mark.parametrize("at", [350.0, 420.0])
def test_reliability_before_or_near_the_threshold_has_limits_that_hold(fit: FamilyFit, at: float) -> None:
    limits, threshold = fit.interval("reliability", at=at), fit.interval("threshold")
    truth = float(TRUTH.sf(at))
    assert np.mean((limits.low <= truth) & (truth <= limits.high)) > 0.8
    assert (limits.high[threshold.high > at] == 1.0).all()
    assert (limits.low[threshold.low >= at] == 1.0).all()
    wald = fit.interval("reliability", at=at, kind="wald")
    assert (wald.low[fit.interval("threshold", kind="wald").low >= at] == 1.0).all()


def test_the_least_reliability_is_where_a_profile_computed_apart_has_fallen(fit: FamilyFit) -> None:
    at, limits = 420.0, fit.interval("reliability", at=420.0)
    early = (fit.threshold > at) & (fit.interval("threshold").low < at)
    row = int(np.flatnonzero(early)[0])

    def fallen(log_hazard: float) -> float:
        def negative(shape: float, threshold: float) -> float:
            scale = (at - threshold) / np.exp(log_hazard / shape)
            beyond = (LIVES[row] - threshold) / scale
            return -float((np.log(shape / scale) + (shape - 1.0) * np.log(beyond) - beyond**shape).sum())

        best = min(
            optimize.minimize_scalar(negative, bounds=(0.2, 8.0), args=(threshold,), method="bounded").fun
            for threshold in np.linspace(0.0, at - 0.01, 60)
        )
        return float(fit.loglik[row]) + best - 1.920729

    end = optimize.brentq(fallen, -7.0, 0.0, xtol=1e-4)
    assert limits.low[row] == pytest.approx(np.exp(-np.exp(end)), abs=1e-4)
