"""Every family of the registry through the whole path: fit, rank, test, interval, tables."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import relfit as rf
from relfit.fitting.families import FAMILIES, FURTHER
from relfit.log.lifedata import LifeData

TRUTH = {
    "loglogistic": rf.families.Loglogistic(1.5, 100.0),
    "generalised_gamma": rf.families.GeneralisedGamma(4.0, 0.8, 0.5),
    "inverse_gaussian": rf.families.InverseGaussian(100.0, 150.0),
    "birnbaum_saunders": rf.families.BirnbaumSaunders(0.8, 100.0),
    "gompertz": rf.families.Gompertz(0.002, 0.01),
    "weibull3": rf.families.Weibull3(1.8, 100.0, 50.0),
    "hyperexponential2": rf.families.Hyperexponential2(0.3, 0.1, 0.005),
    "hyperexponential3": rf.families.Hyperexponential3(0.3, 0.3, 0.5, 0.05, 0.004),
    "weibull_mixture": rf.families.WeibullMixture(0.3, 0.9, 10.0, 2.0, 200.0),
    "limited_failure": rf.families.LimitedFailure(0.4, 1.2, 100.0),
    "zero_inflated": rf.families.ZeroInflated(0.2, 0.8, 100.0),
}


def simulated(name: str, groups: int, n: int) -> LifeData:
    """Lives of the true family; those that never end are censored."""
    drawn = TRUTH[name].sample((groups, n), rng=1)
    limit = 300.0 if name == "limited_failure" else np.inf
    return LifeData.from_array(np.minimum(drawn, limit), drawn <= limit)


def test_every_further_family_is_here():
    assert set(TRUTH) == set(FURTHER)


@pytest.mark.slow
@pytest.mark.parametrize("name", FURTHER)
@pytest.mark.long
def test_the_truth_lies_within_three_errors_of_the_estimates(name):
    lives = simulated(name, 40, 400)
    fit = rf.fit(lives, name)[name]
    assert fit.ok.mean() > 0.9
    family = FAMILIES[name]
    free = family.to_free(fit.parameter_array[fit.ok])
    truth = family.to_free(np.array([float(v) for v in TRUTH[name].parameters().values()]))
    # over forty samples the median is within three of its own errors, for every coordinate
    error = np.median(np.abs(free - np.median(free, axis=0)), axis=0) * 1.4826
    assert np.all(np.abs(np.median(free, axis=0) - truth) < 3.0 * 1.25 * error / np.sqrt(fit.ok.sum()) + 1e-9)


@pytest.mark.parametrize("name", FURTHER)
def test_no_point_nearby_is_likelier(name):
    lives = simulated(name, 12, 60)
    fit = rf.fit(lives, name)[name]
    family = FAMILIES[name]
    rng = np.random.default_rng(0)
    free = family.to_free(fit.parameter_array)
    codes = lives.group_codes()

    def loglik(at: np.ndarray) -> np.ndarray:
        rows = family.from_free(at)[codes]
        d = family.unchecked(*rows.T)
        with np.errstate(all="ignore"):
            value = np.where(lives.observed, d.log_pdf(lives.durations), d.log_sf(lives.durations))
        return np.bincount(codes, value, lives.n_groups)

    best = loglik(free)
    np.testing.assert_allclose(best[fit.ok], fit.loglik[fit.ok], rtol=1e-9)
    for scale in (1e-4, 1e-2, 0.1):
        for _ in range(30):
            other = loglik(free + scale * rng.standard_normal(free.shape))
            assert np.all(other[fit.ok] <= best[fit.ok] + 1e-6)


@pytest.mark.slow
def test_all_families_rank_and_show_themselves():
    lives = LifeData.from_array(rf.families.WeibullMixture(0.4, 1.0, 5.0, 3.0, 300.0).sample((3, 120), rng=2))
    fits = rf.fit(lives, "all", n_resamples=0)
    assert fits.families == tuple(FAMILIES)
    ranking = fits.ranking()
    first = ranking[ranking["rank"] == 1]["family"]
    assert (first == "weibull_mixture").all()
    np.testing.assert_allclose(fits.weights().sum(axis=1), 1.0)
    frame = fits.to_frame()
    fitted = frame[frame["status"] == "ok"]
    assert np.isfinite(fitted[["loglik", "aicc", "ks"]]).all(axis=None)
    assert set(frame.loc[frame["family"].isin(FURTHER), "p_source"]) <= {"not computed", "not defined"}
    assert fits.summary().shape[0] == 3 * len(FAMILIES)
    assert len(fits.interval("median", kind="wald")) == 3 * len(FAMILIES)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["loglogistic", "generalised_gamma"])
def test_further_families_have_profile_intervals_and_bootstrap_tests(name):
    lives = simulated(name, 8, 40)
    fit = rf.fit(lives, name)[name]
    profile, wald = fit.interval("median"), fit.interval("median", kind="wald")
    ok = profile.status == "ok"
    assert ok.mean() > 0.7
    assert np.all(profile.low[ok] < profile.estimate[ok])
    assert np.all(profile.high[ok] > profile.estimate[ok])
    np.testing.assert_allclose(np.log(profile.low / wald.low)[ok], 0.0, atol=0.2)
    tested = fit.goodness(("ad",), n_resamples=39, rng=3)
    assert np.all((tested.p[fit.ok] > 0.0) & (tested.p[fit.ok] <= 1.0))
    assert set(tested.source[fit.ok].ravel()) == {"bootstrap"}


def test_a_phase_of_two_close_lives_is_no_estimate():
    """One Weibull plus two lives a hair apart: the spurious maximum on these two is not reported."""
    base = rf.families.Weibull(1.0, 100.0).sample(30, rng=4)
    fit = rf.fit(np.concatenate([base, [40.0, 40.0 + 1e-7]]), "weibull_mixture")["weibull_mixture"]
    if fit.ok[0]:
        assert fit.parameters["shape_1"][0] < 1e3
        assert fit.parameters["shape_2"][0] < 1e3


def test_competing_causes_add_up():
    log = rf.datasets.load("white")
    lives = log.ttf(per="system", competing="cause")
    whole = log.ttf(per="system")
    assert lives.n_failures.sum() == whole.n_failures.sum()
    risks = rf.fit(lives, "exponential").competing("exponential")
    together = rf.fit(whole, "exponential")["exponential"]
    # rates of exponential causes add up to the rate of all failures
    rates = [float(c.rate[0]) for c in risks.distribution.causes.values()]
    assert sum(rates) == pytest.approx(float(together.parameters["rate"][0]), rel=1e-9)
    shares = risks.incidence(np.inf)
    np.testing.assert_allclose(shares.drop(columns="any").sum(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(shares["hardware"], lives.n_failures[1] / lives.n_failures.sum(), rtol=1e-6)


def test_periods_partition_the_time_and_the_failures():
    log = rf.datasets.load("white")
    whole = log.ttf()
    cuts = [None, "2001-07-01", "2003-01-15 13:00", None]
    parts = [log.ttf(since=a, until=b) for a, b in pairwise(cuts)]
    assert sum(p.n_failures.sum() for p in parts) == whole.n_failures.sum()
    np.testing.assert_allclose(sum(p.total_time.sum() for p in parts), whole.total_time.sum(), rtol=1e-12)
    # the likelihood of the parts is the likelihood of the whole, life by life
    weibull = rf.families.Weibull(1.2, 1500.0)

    def loglik(lives: LifeData) -> float:
        entry = np.zeros(lives.durations.size) if lives.entry is None else lives.entry
        end = np.where(lives.observed, weibull.log_pdf(lives.durations), weibull.log_sf(lives.durations))
        return float((end - weibull.log_sf(entry)).sum())

    assert sum(loglik(p) for p in parts) == pytest.approx(loglik(whole), rel=1e-12)
