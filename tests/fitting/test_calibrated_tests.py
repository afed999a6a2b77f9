"""P-values of the tests of fit: uniform under their null with fitted parameters, and the power that statistics.md has.

`benchmarks/verify_p_values.py` has the slow cases (gamma censored, 500 lives censored) and the tables of power.
"""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from tests.fitting.simulated import TRUTH, complete, randomly_censored, rejected, renewals, uniform_p

DISTANCES = ("ks", "cvm", "ad")


@pytest.mark.parametrize("size", [10, 50, 500])
@pytest.mark.parametrize("family", list(TRUTH))
def test_complete_lives(family, size):
    lives = complete(family, 2000, size, seed=size)
    found = rf.fit(lives, family)[family].goodness(n_resamples=0)
    assert set(found.source.ravel()) == {"table"}
    for test in DISTANCES:
        assert np.isfinite(found.p).all()
        assert uniform_p(found, test) > 0.001, test
        assert 3.4 < rejected(found, test) < 6.6, test


@pytest.mark.parametrize(
    ("family", "size", "known"),
    [
        ("exponential", 10, True),
        ("weibull", 10, True),
        ("lognormal", 10, True),
        ("weibull", 50, False),
        pytest.param("exponential", 50, False, marks=pytest.mark.verify),
        pytest.param("lognormal", 50, False, marks=pytest.mark.verify),
    ],
)
@pytest.mark.slow
def test_right_censored_lives(family, size, known):
    lives = randomly_censored(family, 2000, size, seed=size, known=known)
    assert 0.33 < 1 - lives.n_failures.sum() / lives.n_lives.sum() < 0.43
    fit = rf.fit(lives, family)[family]
    found = fit.goodness(n_resamples=199 if size == 10 else 59, rng=1)
    assert set(found.source[fit.ok].ravel()) == {"bootstrap"}
    assert fit.ok.mean() > 0.99
    rng = np.random.default_rng(2)
    for test in DISTANCES:
        assert uniform_p(found, test, rng) > 1e-4, test
        assert 2.5 < rejected(found, test) < 6.6, test


@pytest.mark.parametrize("family", ["exponential", "weibull", "lognormal"])
@pytest.mark.verify
def test_renewals_in_a_window(family):
    """Limits are not known here: the gap that a window cuts short is the only censored life of its node."""
    fit = rf.fit(renewals(family, 2000, 12.0, seed=5), family)[family]
    found = fit.goodness(n_resamples=199, rng=1)
    assert fit.ok.mean() > 0.98
    rng = np.random.default_rng(2)
    for test in DISTANCES:
        assert uniform_p(found, test, rng) > 1e-4, test
        assert 3.0 < rejected(found, test) < 6.6, test


@pytest.mark.slow
@pytest.mark.long
def test_chi_square():
    found = rf.fit(complete("weibull", 2000, 50, seed=57), "weibull")["weibull"].goodness(
        ("chi2",), n_resamples=59, rng=1
    )
    assert set(found.source.ravel()) == {"bootstrap"}
    assert uniform_p(found, "chi2", np.random.default_rng(2)) > 0.001
    assert 3.4 < rejected(found, "chi2") < 6.6


def test_chi_square_is_no_more_often_at_its_smallest_than_that_says():
    """Of 19 replicates and the sample itself the sample is the farthest in one of 20, and its p-value no less."""
    lives = np.random.default_rng(5).exponential(100.0, (1000, 60))
    found = rf.fit(lives, "exponential")["exponential"].goodness(("chi2",), n_resamples=19, rng=1)
    p = found.p[:, 0]
    assert p.min() == pytest.approx(1 / 20)
    for level in (0.025, 0.05, 0.075, 0.1):
        assert np.mean(p <= level + 1e-9) < level + 3.0 * np.sqrt(level / 1000), level


@pytest.mark.verify
def test_known_limits_make_p_values_of_ten_lives_more_exact():
    """Unknown limits are drawn from few censored lives, which makes the tests of so few lives hold back."""
    shares = {}
    for known in (True, False):
        lives = randomly_censored("weibull", 4000, 10, seed=6, known=known)
        found = rf.fit(lives, "weibull")["weibull"].goodness(n_resamples=99, rng=1)
        shares[known] = [rejected(found, test) for test in DISTANCES]
    assert all(2.0 < share < 5.0 for share in shares[False])
    assert np.mean(shares[False]) < np.mean(shares[True])
    assert 3.5 < np.mean(shares[True]) < 6.0


@pytest.mark.parametrize(("size", "textbook", "calibrated"), [(50, 0.7, 36.0), (200, 25.0, 94.0)])
@pytest.mark.slow
def test_power_of_the_calibrated_ks_test(size, textbook, calibrated):
    """Lognormal lives against the Weibull family; the figures of statistics.md."""
    lives = complete("lognormal", 5000, size, seed=2)
    fit = rf.fit(lives, "weibull")["weibull"]
    assert 100 * np.mean(fit.ks_p_textbook < 0.05) == pytest.approx(textbook, abs=2.0 if size > 50 else 0.4)
    assert 100 * np.mean(fit.ks_p < 0.05) == pytest.approx(calibrated, abs=2.0)


@pytest.mark.parametrize(("family", "percent", "within"), [("exponential", 0.5, 0.15), ("weibull", 0.01, 0.02)])
def test_the_textbook_p_value_hardly_ever_rejects_what_is_true(family, percent, within):
    fit = rf.fit(complete(family, 40_000, 50, seed=1), family)[family]
    assert 100 * np.mean(fit.ks_p_textbook < 0.05) == pytest.approx(percent, abs=within)


def test_known_limits_that_no_life_reached_are_no_complete_sample():
    lives = rf.LifeData.from_array([[1.0, 2.0, 5.0, 3.0]] * 2, limit=[[6.0] * 4, [np.inf] * 4])
    found = rf.fit(lives, "weibull")["weibull"].goodness(n_resamples=99)
    assert found.source[:, 0].tolist() == ["bootstrap", "table"]


def test_bootstrap_p_values_are_those_of_the_tables():
    """A limit that no duration can reach changes nothing but where the p-value comes from."""
    sample = rf.families.Weibull(1.0, 100.0).sample((30, 20), rng=3)
    plain = rf.fit(sample, "weibull")["weibull"].goodness(n_resamples=0)
    limited = rf.LifeData.from_array(sample, limit=np.where(np.arange(20) < 1, 1e9, np.inf) * np.ones((30, 1)))
    found = rf.fit(limited, "weibull")["weibull"].goodness(n_resamples=1999, rng=1)
    assert set(plain.source.ravel()) == {"table"}
    assert set(found.source.ravel()) == {"bootstrap"}
    assert (found.n_resamples == 1999).all()
    # four standard errors of a share of 1999
    assert (np.abs(found.p - plain.p) < 4.0 * np.sqrt(plain.p * (1.0 - plain.p) / 1999) + 0.002).all()


def test_bootstrap_p_values_at_both_ends():
    """Nothing is as far from the exponential as durations that are all alike, nor as close as its own quantiles."""
    alike = 100.0 + np.arange(30) * 1e-6
    quantiles = -100.0 * np.log1p(-(np.arange(30) + 0.5) / 30.0)
    lives = rf.LifeData.from_array(np.stack([alike, quantiles]), limit=np.full((2, 30), 1e9))
    found = rf.fit(lives, "exponential")["exponential"].goodness(n_resamples=199, rng=1)
    assert found.p[0].tolist() == [0.005] * 3
    assert (found.p[1] > 0.99).all()


def test_power_grows_with_the_number_of_lives_and_ad_leads():
    shares = {}
    for size in (20, 50, 200):
        found = rf.fit(complete("lognormal", 2000, size, seed=4), "weibull")["weibull"].goodness(n_resamples=0)
        shares[size] = [rejected(found, test) for test in DISTANCES]
    for i in range(3):
        assert shares[20][i] < shares[50][i] < shares[200][i]
    assert shares[50][2] > shares[50][0]


def test_what_has_no_test_says_so():
    lives = rf.LifeData.from_intervals([[1.0, 3.0, 4.0] * 8], [[2.0, 5.0, 9.0] * 8])
    fits = rf.fit(lives, ["exponential", "weibull"])
    found = fits["weibull"].goodness()
    assert np.isnan(found.p).all()
    assert set(found.source.ravel()) == {"interval-censored"}
    assert found.headline == "weibull, 1 group: durations in intervals have no test of fit"
    assert fits.headline.endswith("; durations in intervals have no test of fit")
    assert "untested (for durations in intervals there is no test)" in rf.fitting.finding(fits)
    assert "in intervals" not in rf.fit([[1.0, 3.0, 4.0]], ["exponential", "weibull"]).headline
    truncated = rf.LifeData.from_array([1.0, 2.0, 5.0, 3.0], exit=[9.0, 9.0, 9.0, 9.0])
    found = rf.fit(truncated, "exponential")["exponential"].goodness()
    assert np.isnan(found.p).all()
    assert set(found.source.ravel()) == {"right-truncated"}


def test_the_resamples_of_the_fit_are_those_of_its_tests():
    lives = rf.LifeData.from_array([10.0, 40.0, 90.0, 160.0, 300.0], [True] * 4 + [False])
    for asked in (0, 40):
        fit = rf.fit(lives, "weibull", n_resamples=asked)["weibull"]
        assert fit.goodness("ks").n_resamples.tolist() == fit.tests.n_resamples.tolist() == [asked]
        assert fit.goodness("ks", n_resamples=25).n_resamples.tolist() == [25]


@pytest.mark.parametrize(("step", "says"), [(24.0, "multiples of 24 h"), (0.001, "")])
def test_times_in_whole_days_may_be_rejected_for_that_alone(step, says):
    days = np.ceil(np.random.default_rng(3).exponential(120.0, (1, 200)) / step) * step
    text = rf.fitting.finding(rf.fit(days, ["exponential", "weibull"]))
    assert ("rejected" in text) == ("from_intervals" in text) == bool(says)
    assert says in text


def test_late_entry_is_tested_or_the_finding_says_why_not():
    rng = np.random.default_rng(5)
    entry = rng.exponential(300.0, 40)
    life = entry + rf.families.Weibull(1.4, 1000.0).excess_sample(entry, 1, rng)[0]
    lives = rf.LifeData.from_array(life, entry=entry)
    found = rf.fit(lives, ["exponential", "weibull"], n_resamples=0)
    assert found["weibull"].goodness(n_resamples=0).source[0, 0] == "not computed"
    assert "untested (its test needs random replicates" in rf.fitting.finding(found)
    tested = rf.fit(lives, ["exponential", "weibull"], n_resamples=49)
    assert tested["weibull"].tests.source[0, 0] == "bootstrap"
    assert "untested" not in rf.fitting.finding(tested)
    many = rf.LifeData.from_array(np.tile(life, (3, 1)), entry=np.tile(entry, (3, 1)))
    found = rf.fitting.finding(rf.fit(many, ["exponential", "weibull"], n_resamples=0))
    assert "Of 3 groups 3 have enough failures" in found
    assert "it is untested (its test needs random replicates" in found


def test_left_truncated_lives():
    rng = np.random.default_rng(3)
    entry = np.where(rng.random((150, 30)) < 0.5, rng.exponential(300.0, (150, 30)), 0.0)
    life = entry + rf.families.Weibull(1.4, 1000.0).excess_sample(entry, 1, rng)[0]
    limit = entry + rng.exponential(2500.0, entry.shape)
    lives = rf.LifeData.from_array(np.minimum(life, limit), life <= limit, entry=entry, limit=limit)
    fit = rf.fit(lives, "weibull")["weibull"]
    found = fit.goodness(n_resamples=49, rng=1)
    for test in DISTANCES:
        assert uniform_p(found, test, rng) > 1e-4, test


def test_p_values_do_not_depend_on_the_unit_of_time():
    lives = randomly_censored("weibull", 20, 20, seed=8, known=False)
    small = rf.LifeData(lives.durations * 1e-6, lives.observed, lives.offsets, lives.groups)
    a, b = (rf.fit(part, "weibull")["weibull"].goodness(n_resamples=99, rng=1) for part in (lives, small))
    np.testing.assert_allclose(b.statistic, a.statistic, rtol=1e-7)
    np.testing.assert_allclose(b.p, a.p, atol=0.011)


@pytest.mark.verify
def test_no_p_value_near_five_percent_rests_on_the_first_replicates():
    """Groups that went on at 5 % only made a hole just below it: a size of 4.4 %, not 5."""
    lives = randomly_censored("exponential", 2000, 20, seed=11, known=True)
    found = rf.fit(lives, "exponential")["exponential"].goodness(rng=1)
    assert found.n_resamples[(found.p < 0.08).any(axis=1)].min() > 1900
    p = found.p[:, 0]
    assert 0.035 < np.mean((p > 0.05) & (p <= 0.1)) < 0.065
    assert 0.035 < np.mean(p <= 0.05) < 0.065


def test_many_failures_are_not_called_few_where_every_distribution_is_rejected() -> None:
    rng = np.random.default_rng(2)
    two = np.where(rng.random((4, 500)) < 0.5, rng.normal(10.0, 1.0, (4, 500)), rng.normal(1000.0, 50.0, (4, 500)))
    said = rf.fitting.finding(rf.fit(rf.LifeData.from_array(np.abs(two)), ["weibull", "lognormal"]))
    assert "but Anderson-Darling rejects it in 4 of 4" in said
    assert "few failures" not in said


def test_the_simplest_family_does_not_win_where_tests_reject_it() -> None:
    """Of eight failures each AICc prefers one parameter, whatever the shape; all groups together tell."""
    families = ["exponential", "weibull"]
    falling = rf.fit(rf.families.Weibull(0.75, 100.0).sample((400, 8), rng=3), families)
    said = rf.fitting.finding(falling)
    assert "the exponential is the closest in" in said
    assert "few failures favour few parameters. The weibull is rejected in" in said
    steady = rf.fit(rf.families.Exponential(0.01).sample((400, 8), rng=3), families)
    assert "favour" not in rf.fitting.finding(steady)


def test_the_closest_by_aicc_is_told_from_the_closest_by_the_test_that_rejects_both() -> None:
    """Of a Weibull sample one far outlier costs likelihood, while the rest is as far from a lognormal as ever."""
    p = (np.arange(400) + 0.5) / 400.0
    lives = np.append((-np.log1p(-p)) ** (1.0 / 0.9), 140.0)
    fits = rf.fit(lives, ["weibull", "lognormal"])
    assert float(fits["lognormal"].aicc[0]) < float(fits["weibull"].aicc[0])
    assert float(fits["lognormal"].tests.statistic[0, 2]) > float(fits["weibull"].tests.statistic[0, 2])
    assert rf.fitting.finding(fits) == (
        "No distribution fits: the lognormal is the closest of 2 distributions by AICc and is rejected "
        "(Anderson-Darling p < 0.001); by Anderson-Darling the weibull is the closest."
    )


def test_a_distribution_that_is_not_rejected_is_named_though_aicc_prefers_a_rejected_one() -> None:
    p = (np.arange(100) + 0.5) / 100.0
    lives = (-np.log1p(-p)) ** (1.0 / 0.9)
    fits = rf.fit(np.append(lives, 5.0 * lives[-1]), ["weibull", "lognormal"])
    assert fits.best().iloc[0] == "lognormal"
    assert [float(fits[name].tests.p[0, 2]) < 0.05 for name in ("lognormal", "weibull")] == [True, False]
    said = rf.fitting.finding(fits)
    assert said.startswith("The lognormal is the closest of 2 distributions by AICc")
    assert said.endswith("is rejected (Anderson-Darling p = 0.011); the weibull is not (p = 0.067).")


def test_the_closest_distribution_of_two_groups_is_named() -> None:
    """One group is exactly exponential, the other exactly of shape 3: no share of the groups, but which is which."""
    p = (np.arange(60) + 0.5) / 60.0
    lives = rf.LifeData.from_groups({"A": -np.log1p(-p), "B": (-np.log1p(-p)) ** (1.0 / 3.0)})
    fits = rf.fit(lives, ["exponential", "weibull"])
    assert fits.best().tolist() == ["exponential", "weibull"]
    said = rf.fitting.finding(fits)
    assert "distributions: the exponential is the closest in A, the weibull is the closest in B; Anderson" in said
    assert "rejects the exponential in 1 of 2" in said
    assert "of 1 group," in repr(rf.fit([1.0, 2.0, 3.0]))
    assert "weibull, 1 group (1 ok)" in repr(rf.fit([1.0, 2.0, 3.0])["weibull"])


def test_only_groups_with_enough_failures_count_as_tested() -> None:
    """Of groups with two failures no distributions are compared, so that a test rejects none of them says nothing."""
    rng = np.random.default_rng(1)
    groups = [rng.exponential(100.0, size) for size in (2, 2, 2, 2, 6, 6, 5)]
    said = rf.fitting.finding(rf.fit(rf.LifeData.from_groups(groups), ["exponential", "weibull"]))
    assert said == (
        "Of 7 groups 3 have enough failures to compare distributions: the exponential is the closest in 100 % of them; "
        "Anderson-Darling rejects it in 0 of 3 (0 by chance), but 6 failures a group (median) tell little: all groups "
        "together tell more."
    )


def test_a_mean_far_beyond_the_longest_time_is_not_told() -> None:
    """Of Titan's GPUs in three years: "mean 4,100,051,572 h (11,316,193-1.49e+12)". Of a Weibull of shape 1/2 that 4 %
    of 1,000 units reach within 1,000 h the mean is 1.2 million; hours per failure, an exponential's mean, are 24,300.
    """
    p = (np.arange(40) + 0.5) / 1000.0
    hours = np.append(1000.0 * (np.log1p(-p) / np.log1p(-0.04)) ** 2, np.full(960, 1000.0))
    lives = rf.LifeData.from_array(hours, hours < 1000.0)
    said = rf.fitting.finding(rf.fit(lives, ["exponential", "weibull"]))
    assert said.startswith("The weibull is the closest")
    assert said.endswith("mean beyond 10,000 h, 10 times the longest time seen.")
    assert f"mean {hours.sum() / 40.0:,.0f} h (" in rf.fitting.finding(rf.fit(lives, "exponential"))
