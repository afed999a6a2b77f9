"""When an estimate exists is decided before optimising, and every other case has its word (statistics.md)."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit.fitting.families import CORE, FAMILIES
from relfit.fitting.status import MEANING as STATUS_MEANING
from tests.fitting.reference import lives

TWO_PARAMETERS = ("weibull", "gamma", "lognormal")


@pytest.mark.parametrize(
    ("failures", "censored", "exponential", "others"),
    [
        ([], [], "too_few", "too_few"),
        ([], [10.0], "all_censored", "all_censored"),
        ([], [0.0], "all_censored", "all_censored"),
        ([10.0], [], "ok", "too_few"),
        ([10.0], [10.0], "ok", "too_few"),
        ([10.0], [3.0], "ok", "too_few"),
        ([10.0], [11.0], "ok", "few"),
        ([24.0] * 5, [], "ok", "no_variance"),
        ([24.0] * 5, [24.0, 3.0], "ok", "no_variance"),
        ([24.0] * 5, [25.0], "ok", "ok"),
        ([24.0, 25.0], [], "ok", "ok"),
        ([0.0, 5.0, 9.0], [], "ok", "zeros"),
        ([0.0], [9.0], "ok", "zeros"),
        ([0.0, 0.0], [], "zeros", "zeros"),
        ([5.0, 9.0], [0.0], "ok", "ok"),
    ],
)
def test_status_of_every_case(failures, censored, exponential, others):
    fits = rf.fit(lives(failures, censored))
    assert fits["exponential"].status[0] == exponential
    for family in TWO_PARAMETERS:
        assert fits[family].status[0] == others
    for family in fits.families:
        result = fits[family]
        assert result.status[0] in STATUS_MEANING
        numbers = [*result.parameters.values(), *result.standard_errors.values(), result.loglik, result.aic, result.ks]
        assert all(np.isfinite(n[0]) == (result.status[0] == "ok") for n in numbers)


@pytest.mark.parametrize("values", [[5.0, 9.0], [5.0, 5.0, 9.0, 9.0], [9.0, 5.0, 9.0, 5.0, 9.0, 5.0]])
def test_three_parameters_need_three_times_that_differ(values):
    fits = rf.fit({"too few": values, "enough": [*values, 11.0, 12.0, 30.0]}, "weibull3")
    few, enough = fits["weibull3"].status
    assert few == "too_few"
    assert enough != "too_few"


def test_zeros_are_counted():
    frame = rf.fit(lives([0.0, 0.0, 7.0])).to_frame()
    assert frame["zeros"].tolist() == [2, 2, 2, 2]


def test_a_censored_life_of_zero_changes_nothing():
    with_zero, without = rf.fit(lives([5.0, 9.0, 2.0], [0.0, 6.0])), rf.fit(lives([5.0, 9.0, 2.0], [6.0]))
    for family in with_zero.families:
        np.testing.assert_allclose(with_zero[family].parameter_array, without[family].parameter_array, rtol=1e-9)


def test_no_group_at_all():
    fits = rf.fit(rf.LifeData.from_groups([]))
    assert len(fits) == 0
    assert fits.to_frame().empty
    assert fits.compare()["fitted"].tolist() == [0, 0, 0, 0]


def test_an_estimate_beyond_floats_is_not_one():
    """The Weibull's and the gamma's shape are of order 1e-3, and so their scale, or its variance, beyond all floats."""
    fits = rf.fit(lives([1e-300, 1e300], [1e305]))
    for family in TWO_PARAMETERS:
        assert fits[family].status[0] in ("not_converged", "no_maximum")
        assert np.isnan(fits[family].parameter_array).all()


def test_other_methods_say_where_they_do_not_apply():
    censored = lives([5.0, 9.0, 2.0], [6.0])
    assert rf.fit(censored, "weibull", method="moments")["weibull"].status[0] == "not_applicable"
    assert rf.fit(censored, "gamma", method="rank_y")["gamma"].status[0] == "not_applicable"
    assert rf.fit(censored, "weibull", method="rank_y")["weibull"].status[0] == "ok"


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in CORE])
def test_further_families_without_an_estimate(family):
    """No failure, no duration, one failure time for all: each has its word under every family, and never a number."""
    groups = rf.LifeData.from_groups([[], [7.0, 9.0], [3.0, 3.0, 3.0]], [[], [False, False], [True] * 3])
    found = rf.fit(groups, family, n_resamples=0)[family]
    assert found.status[:2].tolist() == ["too_few", "all_censored"]
    assert found.status[2] in ("no_variance", "too_few")
    assert np.isnan(found.parameter_array).all()
    assert np.isnan(found.loglik).all()


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_impossible_durations_name_group_and_row(bad):
    with pytest.raises(rf.DataError, match=r"group 'b', row 1"):
        rf.fit({"a": [1.0], "b": [2.0, bad]})


def test_a_misspelt_family_suggests_the_nearest():
    with pytest.raises(rf.ArgumentError, match="did you mean weibull"):
        rf.fit([1.0, 2.0], families=["wiebull"])


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_a_level_that_is_none(level):
    with pytest.raises(rf.ArgumentError, match="level"):
        rf.fit([1.0, 2.0], level=level)
