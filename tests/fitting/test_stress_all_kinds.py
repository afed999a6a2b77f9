"""Small random samples of every kind of life: an answer with a reason for each, and every estimate a maximum.

`benchmarks/verify_all_kinds.py` does the same for 200 000 samples.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import relfit as rf
from relfit.fitting.status import MEANING as STATUS_MEANING
from tests.fitting.all_kinds import FAMILIES, check_maximum, random_lives

GROUPS = {"exponential": 6000, "weibull": 3000, "lognormal": 3000, "gamma": 800}


@pytest.fixture(scope="module")
def lives() -> rf.LifeData:
    return random_lives(6000, seed=20)


@pytest.fixture(scope="module", params=FAMILIES)
def fitted(request, lives) -> rf.fitting.FamilyFit:
    part = lives.take(range(GROUPS[request.param]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return rf.fit(part, request.param)[request.param]


def test_the_samples_have_every_kind(lives):
    total = lives.to_dict()
    for kind in ("observed", "intervals", "censored", "left_truncated", "right_truncated", "zeros"):
        assert total[kind] > 0.002 * total["lives"], kind
    assert lives.weights is not None
    assert (lives.weights == 0).any()
    positive = lives.durations[lives.durations > 0.0]
    assert positive.max() / positive.min() > 1e20


@pytest.mark.slow
def test_every_sample_has_its_answer(fitted):
    assert set(fitted.status) <= set(STATUS_MEANING)
    assert (fitted.status == "not_converged").sum() <= 1
    assert 0.6 < fitted.ok.mean() < 0.99
    for values in (fitted.parameter_array, fitted.covariance.reshape(len(fitted.groups), -1), fitted.loglik[:, None]):
        assert np.isfinite(values[fitted.ok]).all()
        assert np.isnan(values[~fitted.ok]).all()
    errors = np.stack(list(fitted.standard_errors.values()))
    assert (errors[:, fitted.ok] > 0.0).all()


def test_every_estimate_is_a_maximum(fitted):
    ok = np.flatnonzero(fitted.ok)
    gradient, rise, exact = check_maximum(
        fitted.name,
        fitted.parameter_array[ok],
        fitted.covariance[ok],
        fitted.loglik[ok],
        fitted.lives.take(ok.tolist()),
    )
    assert exact.mean() > 0.99  # SciPy's incomplete gamma function has no digits in the far tails
    assert gradient[exact].max() < 1e-3
    assert rise[exact].max() < 1e-6


def test_a_second_maximum_that_is_higher_is_found():
    """The first one that a search meets has 0.21 less."""
    lives = rf.LifeData.from_array(
        [0.0, 0.0, 5.0e-7, 0.0, 1.2e-5, 0.0, 1.0e-6],
        False,
        upper=[3.7e-5, 2.53e-4, np.inf, 5.0e-7, np.inf, 3.5e-6, 1.082323e-6],
        entry=[0.0, 0.0, 6.410319e-8, 0.0, 1.126214e-5, 0.0, 3.630047e-7],
    )
    assert rf.fit(lives, "lognormal")["lognormal"].loglik[0] == pytest.approx(-4.6544737, abs=1e-5)


def test_a_maximum_below_a_plain_without_end_is_none():
    """Truncated on the right, a Weibull of a scale beyond all lives is a power law, which is likelier here."""
    lives = rf.LifeData.from_array(
        [1749.973643, 438.394406, 2006.256677, 175.876694, 1781.340342, 0.0, 1747.097795],
        [False, False, True, False, False, False, False],
        upper=[np.inf, np.inf, np.inf, np.inf, np.inf, 915.098111, np.inf],
        entry=[377.31452, 209.126911, 0.0, 0.0, 1396.803797, 0.0, 1409.279843],
        exit=[np.inf, np.inf, 9067.819, np.inf, np.inf, 12550.04, np.inf],
    )
    fit = rf.fit(lives, "weibull")["weibull"]
    assert fit.status[0] == "no_maximum"
    assert np.isnan(fit.parameter_array).all()


@pytest.mark.parametrize("family", ["weibull", "gamma", "lognormal"])
def test_a_life_that_ends_as_it_is_first_seen_lets_the_likelihood_grow(family):
    lives = rf.LifeData.from_array([1.1e-9, 1.0e-5], entry=[0.4e-9, 1.0e-5])
    assert rf.fit(lives, family)[family].status[0] == "no_variance"


def test_the_exponential_with_entry_and_weights_is_failures_over_time():
    lives = rf.LifeData.from_array([9.0, 5.0, 4.0], [True, False, True], entry=[1.0, 0.0, 2.0], weights=[1, 3, 2])
    fit = rf.fit(lives, "exponential")["exponential"]
    assert fit.parameters["rate"][0] == 3.0 / (8.0 + 15.0 + 4.0)
    never = rf.LifeData.from_array([9.0], entry=[9.0])
    assert rf.fit(never, "exponential")["exponential"].status[0] == "no_maximum"
