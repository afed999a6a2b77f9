"""What every family in the registry keeps: its functions agree with each other, at any parameters."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.fitting.families import CORE, FAMILIES, FURTHER, Family, Gamma, Weibull, family_named
from relfit.fitting.families.distribution import Distribution
from tests.families.cases import DISTRIBUTIONS, EACH, PARAMETERS, batch

IDS = [repr(case) for case in EACH]
P = np.array([1e-12, 1e-6, 1e-3, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999, 1 - 1e-9])


def test_the_registry():
    assert list(FAMILIES) == [*CORE, *FURTHER]
    assert set(PARAMETERS) == set(FAMILIES)
    for name, family in FAMILIES.items():
        assert family.name == name
        assert len(family.domains) == len(family.parameter_names())
        assert family.positive == tuple(domain == "positive" for domain in family.domains)
        assert family_named(name.replace("_", "-").upper()) is family
    assert family_named("generalized gamma").name == "generalised_gamma"
    for wrong, right in [("invers_gausian", "inverse_gaussian"), ("weibul3", "weibull3"), ("gompert", "gompertz")]:
        with pytest.raises(ArgumentError, match=f"did you mean {right}"):
            family_named(wrong)


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def reachable(family: Family) -> np.ndarray:
    """Probabilities between what has failed at once and what ever fails."""
    least, most = float(family.cdf(0.0)), float(family.cdf(np.inf))
    return least + P * (most - least)


@pytest.mark.parametrize("family", EACH, ids=IDS)
def test_quantiles_invert_the_distribution(family):
    p = reachable(family)
    t = family.quantile(p)
    assert (np.diff(t) > 0).all()
    rounding = 1e-15 * t * family.pdf(t)
    assert (np.abs(family.cdf(t) - p) <= 2e-9 * p + rounding).all()
    h = np.array([1e-14, 1e-7, 0.02, 0.6, 3.0, 40.0, 500.0, 2000.0, 1e6])
    h = h - family.log_sf(0.0)
    h = h[h < -family.log_sf(np.inf) * (1 - 1e-9)]
    t = family.inverse_cumulative_hazard(h)
    h, t = h[np.isfinite(t)], t[np.isfinite(t)]
    # how many digits of t the hazard can tell, where it is level or steep
    digits = 1e-16 * h * (1 + np.abs(np.log(t))) / np.exp(family.log_hazard(t) + np.log(t))
    back = Distribution.inverse_cumulative_hazard(family, h)
    np.testing.assert_array_less(np.abs(back / t - 1.0), 1e-10 + 20.0 * digits)
    rounding = 1e-15 * t * np.exp(family.log_hazard(t))
    assert (np.abs(family.cumulative_hazard(t) - h) <= 1e-9 * h + rounding).all()


@pytest.mark.parametrize("family", EACH, ids=IDS)
def test_the_density_integrates_to_the_distribution(family):
    t = family.quantile(reachable(family)[[0, 2, 4, 5, 6, 8]])
    for low, high in pairwise(t):
        value, _ = integrate.quad(lambda v: np.exp(family.log_pdf(np.exp(v)) + v), np.log(low), np.log(high), limit=400)
        assert value == pytest.approx(float(family.cdf(high) - family.cdf(low)), rel=1e-7)


@pytest.mark.parametrize("family", EACH, ids=IDS)
def test_log_functions_agree_with_each_other(family):
    t = family.quantile(reachable(family))
    np.testing.assert_allclose(np.exp(family.log_sf(t)) + np.exp(family.log_cdf(t)), 1.0, rtol=1e-13)
    np.testing.assert_allclose(family.log_hazard(t), family.log_pdf(t) - family.log_sf(t), rtol=1e-9, atol=1e-9)
    # slopes: d log_cdf / dt = pdf / cdf, in log time
    step = 1e-4
    with np.errstate(divide="ignore"):
        slope = (family.log_cdf(t * np.exp(step)) - family.log_cdf(t * np.exp(-step))) / (2 * step)
    expected = np.exp(family.log_pdf(t) - family.log_cdf(t) + np.log(t))
    # not across a threshold, nor where the log is level in the last digits
    keep = (step * expected < 0.02) & (P < 0.95)
    assert keep.any()
    curve = 1.0 + np.abs(expected) ** 2
    assert (np.abs(slope - expected)[keep] <= (1e-6 * curve + 1e-3 * np.abs(expected))[keep]).all()


@pytest.mark.slow
@pytest.mark.parametrize("family", EACH, ids=IDS)
def test_mean_and_sample(family):
    if np.isinf(family.mean()):
        assert np.isinf(family.mean_residual_life(0.0)) or family.mean_residual_life(0.0) > 1e6 * family.median()
        return
    # zeros count in the mean, but not in the life left of a node that works
    works = np.exp(family.log_sf(0.0))
    assert family.mean() == pytest.approx(works * family.mean_residual_life(0.0), rel=2e-6)
    sample = family.sample(20000, rng=7)
    p = reachable(family)[3:8]
    np.testing.assert_allclose((sample[:, None] <= family.quantile(p)).mean(axis=0), p, atol=0.015)
    age = float(family.quantile(reachable(family)[5]))
    assert family.sf(age, age) == pytest.approx(float(family.sf(2 * age) / family.sf(age)), rel=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_free_coordinates_go_there_and_back(name):
    values = np.array(PARAMETERS[name])
    free = FAMILIES[name].to_free(values)
    assert free.shape == values.shape
    assert np.isfinite(free).all()
    np.testing.assert_allclose(FAMILIES[name].from_free(free), values, rtol=1e-12)
    # anywhere else, too, one comes out with possible parameters of the same distribution
    rng = np.random.default_rng(8)
    wild = rng.normal(0.0, 3.0, (40, 25, values.shape[1]))
    back = FAMILIES[name].from_free(wild)
    made = FAMILIES[name](*np.moveaxis(back, -1, 0))
    assert made.batch_shape == (40, 25)
    again = FAMILIES[name].from_free(FAMILIES[name].to_free(back))
    np.testing.assert_allclose(again, back, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_starting_values_have_the_moments(name):
    middle = np.array([5.0, -7.0, 0.0, 18.0])
    spread = np.array([1.25, 1.2, 1.27, 1.22])
    made = FAMILIES[name](*FAMILIES[name].start(middle, spread).T)
    sample = made.sample(20000, rng=9)
    usable = np.isfinite(sample) & (sample > 0.0)
    log = np.log(np.where(usable, sample, 1.0))
    count = usable.sum(axis=0)
    mean = (log * usable).sum(axis=0) / count
    sd = np.sqrt(((log - mean) ** 2 * usable).sum(axis=0) / count)
    np.testing.assert_allclose(mean, middle, atol=0.15)
    np.testing.assert_allclose(sd, spread, rtol=0.15)


@pytest.mark.parametrize("name", FAMILIES)
def test_starting_values_are_possible_whatever_the_moments(name):
    middle = np.array([-20.0, 0.0, 30.0, 3.0])
    for spread in (0.0, 1e-6, 0.1, 0.7, 3.0, 30.0):
        start = FAMILIES[name].start(middle, np.full(4, spread))
        assert start.shape == (4, len(FAMILIES[name].domains))
        FAMILIES[name](*start.T)
        if spread > 0.01:
            assert np.isfinite(FAMILIES[name].to_free(start)).all()


TIMES = np.array([-5.0, 0.0, 5e-324, 1e-300, 1e-20, 1.0, 1e5, 1e20, 1e300, 1.7e308, np.inf])


@pytest.mark.parametrize("name", FAMILIES)
def test_no_time_and_no_parameter_gives_nan(name):
    rng = np.random.default_rng(10)
    free = rng.normal(0.0, 8.0, (60, 1, len(FAMILIES[name].domains)))
    values = FAMILIES[name].from_free(free)
    family = FAMILIES[name].unchecked(*np.moveaxis(values, -1, 0))
    for function in ("log_sf", "log_cdf", "log_pdf"):
        value = getattr(family, function)(TIMES)
        assert value.shape == (60, TIMES.size)
        assert not np.isnan(value).any(), function
        if function != "log_pdf":
            assert (value <= 0.0).all(), function
    sf, cdf = family.log_sf(TIMES), family.log_cdf(TIMES)
    assert (sf[:, 1:] <= sf[:, :-1] + 1e-12 * np.abs(np.where(np.isneginf(sf[:, :-1]), 0.0, sf[:, :-1]))).all()
    assert (sf[:, 0] == 0.0).all()
    assert np.isneginf(cdf[:, 0]).all()
    assert np.isneginf(family.log_pdf(TIMES)[:, [0, -1]]).all()
    hazards = np.array([0.0, 1e-300, 1e-9, 0.4, 30.0, 1e5, np.inf])
    found = family.inverse_cumulative_hazard(hazards)
    assert not np.isnan(found).any()
    assert (found[:, 1:] >= found[:, :-1] * (1.0 - 1e-10) - 1e-300).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_density_at_zero_is_what_the_class_says(name):
    at_zero = batch(name).log_pdf(0.0)
    if FAMILIES[name].density_at_zero:
        assert np.isfinite(at_zero).all()
    else:
        assert np.isinf(at_zero).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_a_batch_is_its_members(name):
    family = batch(name)
    members = DISTRIBUTIONS[name]
    t = np.array([1e-6, 0.3, 40.0, 3e6])
    for function in ("log_sf", "log_cdf", "log_pdf", "log_hazard"):
        if function == "log_hazard":
            t = family.quantile(reachable(members[0])[:5, None] * 0.5)[:, 0]
        value = getattr(family, function)(t[:, None])
        expected = np.stack([getattr(member, function)(t) for member in members], axis=-1)
        np.testing.assert_allclose(value, expected, rtol=1e-14)
    np.testing.assert_allclose(family.mean(), [member.mean() for member in members], rtol=1e-12)
    assert family[1].to_dict() == members[1].to_dict()
    assert repr(family[1]) == repr(members[1])


@pytest.mark.parametrize("name", FAMILIES)
def test_a_group_without_a_fit_is_nan_throughout(name):
    rows = np.array(PARAMETERS[name])[:2]
    rows[0] = np.nan
    family = FAMILIES[name](*rows.T)
    t = family[1].quantile(reachable(family[1])[4])
    for value in (family.sf(t), family.log_cdf(t), family.log_pdf(t), family.quantile(0.5), family.mean()):
        assert np.isnan(value).tolist() == [True, False]


def test_shares_must_leave_something_for_the_third_phase():
    with pytest.raises(ArgumentError, match=r"weight_1 \+ weight_2 of hyperexponential3 is 1.1 at position 1"):
        FAMILIES["hyperexponential3"]([0.1, 0.5], [0.1, 0.6], 1.0, 2.0, 3.0)
    with pytest.raises(ArgumentError, match="below 1"):
        FAMILIES["limited_failure"](1.0, 1.0, 1.0)


@pytest.mark.parametrize("method", ["sf", "cdf", "pdf", "hazard", "cumulative_hazard", "mean_residual_life"])
def test_times_may_be_texts(method: str) -> None:
    weibull = Weibull(1.5, 100.0)
    assert getattr(weibull, method)("1-00:00:00") == getattr(weibull, method)(24.0)
    assert np.isnan(getattr(weibull, method)([np.nan, 1.0])).tolist() == [True, False]


def test_ages_sizes_and_parameters_are_checked() -> None:
    weibull = Weibull(1.5, 100.0)
    calls = (
        weibull.mean_residual_life,
        lambda age: weibull.sf(5.0, age=age),
        lambda age: weibull.excess_sample(age, 3),
    )
    for call in calls:
        with pytest.raises(rf.ArgumentError, match="age is -1 hours"):
            call(-1.0)
    assert weibull.excess_sample("1d", 2, rng=1).tolist() == weibull.excess_sample(24.0, 2, rng=1).tolist()
    for family in (weibull, Gamma(1.5, 100.0)):
        for draw in (family.sample, family.residual_sample):
            with pytest.raises(rf.ArgumentError, match="size is -3; give a whole number"):
                draw(-3)
            with pytest.raises(rf.ArgumentError, match=r"size is 2\.5"):
                draw(2.5)
        assert family.sample(np.int64(3), rng=1).shape == (3,)
    with pytest.raises(rf.ArgumentError, match=r"do not go together: shape \(2,\), scale \(3,\)"):
        Weibull([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(rf.ArgumentError, match="scale of weibull is '100h'; give a number"):
        Weibull(1.5, "100h")
