"""Moments, rank regression and the corrected Weibull shape, against other programs and by hand."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import relfit as rf
from relfit import ArgumentError, LifeData
from relfit.fitting import status
from relfit.fitting.estimators import bias_corrected_shape, moments, rank_regression, settled, weibull_shape_of
from relfit.fitting.families import CORE, Exponential, Gamma, Lognormal, Weibull
from relfit.fitting.nonparametric import median_ranks

FAMILIES = {"exponential": Exponential, "weibull": Weibull, "gamma": Gamma, "lognormal": Lognormal}
ESTIMATORS = (moments, rank_regression)


def _variance(family, parameters):
    if family == "weibull":
        return stats.weibull_min.var(parameters[0], scale=parameters[1])
    if family == "gamma":
        return stats.gamma.var(parameters[0], scale=parameters[1])
    return stats.lognorm.var(parameters[1], scale=np.exp(parameters[0]))


# --------------------------------------------------------------------- moments


@pytest.mark.parametrize("family", CORE)
def test_moments_are_those_of_the_sample(family):
    rng = np.random.default_rng(3)
    samples = [scale * rng.weibull(shape, n) for scale, shape, n in ((1e-3, 0.7, 9), (50.0, 1.5, 40), (1e9, 12.0, 6))]
    parameters, codes = moments(LifeData.from_groups(samples), family)
    assert (codes == status.OK).all()
    for row, sample in zip(parameters, samples, strict=True):
        assert float(FAMILIES[family](*row).mean()) == pytest.approx(sample.mean(), rel=1e-9)
        if family != "exponential":
            assert _variance(family, row) == pytest.approx(sample.var(), rel=1e-8)


def test_weibull_shape_solves_its_equation_over_thirty_orders():
    shape = 10.0 ** np.linspace(-2.0, 7.0, 60)
    from mpmath import gamma, mp, mpf

    with mp.workdps(60):
        square = np.array([float(gamma(1 + 2 / mpf(s)) / gamma(1 + 1 / mpf(s)) ** 2 - 1) for s in shape])
    np.testing.assert_allclose(weibull_shape_of(square), shape, rtol=1e-11)


def test_moments_and_weights():
    lives = LifeData.from_array([1.0, 2.0, 6.0, 9.0], weights=[2, 1, 3, 0])
    spread = LifeData.from_array(np.repeat([1.0, 2.0, 6.0], [2, 1, 3]))
    for family in CORE:
        np.testing.assert_allclose(moments(lives, family)[0], moments(spread, family)[0], rtol=1e-13)


# ------------------------------------------------------------- rank regression


@pytest.mark.parametrize("axis", ["x", "y"])
def test_rank_regression_is_that_of_reliability(axis, monkeypatch):
    def approximate_ranks(lives):
        """Benard's approximation to the median ranks, which is what that package has."""
        points = median_ranks(lives)
        return replace(points, position=(points.rank - 0.3) / (lives.durations.size + 0.4))

    monkeypatch.setattr("relfit.fitting.estimators.median_ranks", approximate_ranks)
    pytest.importorskip("reliability")
    from reliability.Fitters import Fit_Exponential_1P, Fit_Lognormal_2P, Fit_Weibull_2P

    rng = np.random.default_rng(8)
    for n in (3, 8, 30):
        time, seen = 100.0 * rng.weibull(1.4, n), rng.random(n) < 0.7
        seen[:2] = True
        lives = LifeData.from_array(time, seen)
        given = {
            "failures": time[seen],
            "right_censored": time[~seen] if (~seen).any() else None,
            "method": f"RR{axis.upper()}",
            "show_probability_plot": False,
            "print_results": False,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            weibull, lognormal = Fit_Weibull_2P(**given), Fit_Lognormal_2P(**given)
            exponential = Fit_Exponential_1P(**given)
        found = {name: rank_regression(lives, name, axis)[0][0] for name in CORE if name != "gamma"}
        assert found["weibull"] == pytest.approx([weibull.beta, weibull.alpha], rel=1e-9)
        assert found["lognormal"] == pytest.approx([lognormal.mu, lognormal.sigma], rel=1e-9)
        assert found["exponential"] == pytest.approx([exponential.Lambda], rel=1e-9)


@pytest.mark.parametrize("family", ["weibull", "lognormal", "exponential"])
def test_points_on_a_line_give_the_line(family):
    n = 12
    share = stats.beta.ppf(0.5, np.arange(1, n + 1), n - np.arange(n))
    truth = {"weibull": (1.7, 300.0), "lognormal": (4.0, 0.8), "exponential": (0.02,)}[family]
    lives = LifeData.from_array(FAMILIES[family](*truth).quantile(share))
    for axis in ("x", "y"):
        assert rank_regression(lives, family, axis)[0][0] == pytest.approx(truth, rel=1e-9)


# --------------------------------------------------------- when there is none


def test_status_of_every_edge():
    lives = LifeData.from_groups(
        {
            "none": [],
            "censored": [3.0],
            "one": [3.0],
            "tie": [3.0, 3.0],
            "zero": [0.0, 3.0, 4.0],
            "zeros": [0.0, 0.0],
            "cut": [1.0, 2.0, 5.0],
        },
        {"none": [], "censored": [0], "one": [1], "tie": [1, 1], "zero": [1, 1, 1], "zeros": [1, 1], "cut": [1, 1, 0]},
    )
    few, dead, level, zero, none = (
        status.TOO_FEW,
        status.ALL_CENSORED,
        status.NO_VARIANCE,
        status.ZEROS,
        status.NOT_APPLICABLE,
    )
    for family in ("weibull", "lognormal"):
        parameters, codes = rank_regression(lives, family)
        assert codes.tolist() == [few, dead, few, level, zero, zero, 0]
        assert np.isnan(parameters[:6]).all()
        assert np.isfinite(parameters[6]).all()
    assert rank_regression(lives, "exponential")[1].tolist() == [few, dead, 0, 0, 0, zero, 0]
    assert moments(lives, "exponential")[1].tolist() == [few, none, 0, 0, 0, zero, none]
    assert moments(lives, "weibull")[1].tolist() == [few, none, few, level, 0, zero, none]
    assert (rank_regression(lives, "gamma")[1] == none).all()


def test_intervals_and_truncation_are_not_applicable_group_by_group():
    lives = LifeData.from_groups(
        [[1.0, 2.0, 4.0], [1.0, 2.0, 4.0], [1.0, 2.0, 4.0]],
        [[1, 1, 1], [1, 0, 1], [1, 1, 1]],
        upper=[[1.0, 2.0, 4.0], [1.0, 3.0, 4.0], [1.0, 2.0, 4.0]],
        entry=[[0.0] * 3, [0.0] * 3, [0.0, 1.0, 0.0]],
    )
    for estimator in ESTIMATORS:
        codes = estimator(lives, "weibull")[1]
        assert codes.tolist() == [status.OK, status.NOT_APPLICABLE, status.NOT_APPLICABLE]


def test_no_lives_at_all():
    for estimator in ESTIMATORS:
        for family in CORE:
            parameters, codes = estimator(LifeData.from_groups([]), family)
            assert parameters.shape == (0, 1 if family == "exponential" else 2)
            assert codes.shape == (0,)


def test_a_fit_takes_the_corrected_shape_and_the_scale_that_is_likeliest_for_it():
    rng = np.random.default_rng(3)
    values, ended = 500.0 * rng.weibull(0.8, (2, 9)), np.tile(np.arange(9) > 2, (2, 1))
    lives = LifeData.from_array(values, ended)
    plain = rf.fit(lives, "weibull")["weibull"].parameters["shape"]
    found = rf.fit(lives, ["weibull", "lognormal"], bias_correction=True)
    shape = found["weibull"].parameters["shape"]
    np.testing.assert_allclose(shape, bias_corrected_shape(plain, 6, 9), rtol=1e-9)
    scale = (np.sum(values ** shape[:, None], axis=1) / 6) ** (1.0 / shape)
    np.testing.assert_allclose(found["weibull"].parameters["scale"], scale, rtol=1e-9)
    # a factor leaves errors their relative size
    of_plain = rf.fit(lives, "weibull")["weibull"]
    relative = [
        fit.covariance / (fit.parameter_array[:, :, None] * fit.parameter_array[:, None, :])
        for fit in (found["weibull"], of_plain)
    ]
    np.testing.assert_allclose(*relative, rtol=1e-9)
    untouched = rf.fit(lives, "lognormal")["lognormal"]
    np.testing.assert_allclose(found["lognormal"].parameter_array, untouched.parameter_array)
    with pytest.raises(ArgumentError, match="only maximum likelihood is corrected"):
        rf.fit(lives, "weibull", method="moments", bias_correction=True)


def test_what_is_rejected():
    lives = LifeData.from_array([1.0, 2.0])
    for estimator in ESTIMATORS:
        with pytest.raises(ArgumentError, match="weibull"):
            estimator(lives, "weibul")
    with pytest.raises(ArgumentError, match="not there for the loglogistic family"):
        rf.fit(lives, "loglogistic", method="moments")
    with pytest.raises(ArgumentError, match="not there for intervals, truncation or weights"):
        rf.fit(LifeData.from_array([1.0, 2.0], weights=[1, 2]), "weibull", method="moments")
    with pytest.raises(ArgumentError, match="axis"):
        rank_regression(lives, "weibull", "z")
    with pytest.raises(ArgumentError, match="more failures"):
        bias_corrected_shape(1.0, 5, 4)


# ------------------------------------------------------------- bias correction


@pytest.mark.parametrize(("n", "mean"), [(5, 1.44), (10, 1.17), (20, 1.075)])
def test_bias_of_the_shape_falls_below_two_percent(n, mean):
    lives = LifeData.from_array(np.random.default_rng(n).weibull(1.0, (60_000, n)))
    shape = rf.fit(lives, "weibull")["weibull"].parameters["shape"]
    assert shape.mean() == pytest.approx(mean, rel=0.01)
    assert bias_corrected_shape(shape, n).mean() == pytest.approx(1.0, abs=0.015)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_bias_of_the_shape_where_time_ends_the_observation(share):
    for failures in (6, 15):
        n = round(failures / share)
        end = -np.log1p(-share)
        time = np.random.default_rng(n).weibull(1.0, (40_000, n))
        lives = LifeData.from_array(np.minimum(time, end), time <= end)
        counts = lives.n_failures
        shape = rf.fit(lives, "weibull")["weibull"].parameters["shape"]
        kept = counts >= 3
        shape, counts = shape[kept], counts[kept]
        mean = bias_corrected_shape(shape, counts, n)
        assert mean.mean() == pytest.approx(1.0, abs=0.015)
        assert shape.mean() > 1.06


def test_parameters_that_are_no_numbers_are_no_estimates():
    parameters = np.array([[1.0, 2.0], [1.0, np.inf], [np.nan, 1.0], [3.0, 4.0]])
    codes = np.array([status.OK, status.OK, status.OK, status.ZEROS])
    found, codes = settled(parameters, codes)
    assert codes.tolist() == [status.OK, status.NOT_CONVERGED, status.NOT_CONVERGED, status.ZEROS]
    np.testing.assert_array_equal(found, [[1.0, 2.0], [np.nan] * 2, [np.nan] * 2, [np.nan] * 2])
