"""Durations in every form that pandas and numpy have: read as hours, or refused with a remedy."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.analyses.recurrence import EventHistories
from relfit.fitting.families import Weibull

HOURS = [100.0, 900.0, 4000.0]
TIMES = pd.to_timedelta(HOURS, unit="h")
DATES = pd.date_range("2020-01-01", periods=3)
FORMS = {
    "Series": pd.Series(TIMES),
    "Index": TIMES,
    "timedelta64 of nanoseconds": TIMES.to_numpy(),
    "timedelta64 of seconds": TIMES.to_numpy().astype("timedelta64[s]"),
    "list of Timedelta": list(TIMES),
    "list of timedelta": [dt.timedelta(hours=value) for value in HOURS],
    "Series of objects": pd.Series(TIMES).astype(object),
    "table": pd.DataFrame({"duration": TIMES}),
    "mapping": {"all": TIMES},
    "texts": ["100h", "37.5 days", "4000"],
    "Series of nullable integers": pd.Series([100, 900, 4000], dtype="Int64"),
    "two dimensions": TIMES.to_numpy()[None, :],
}


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_hours(form: str) -> None:
    fit = rf.fit(FORMS[form], "exponential")["exponential"]
    np.testing.assert_allclose(fit.mean, [np.mean(HOURS)])


def test_timedeltas_everywhere() -> None:
    lives = rf.LifeData.from_array(TIMES * 2, entry=TIMES)
    assert (lives.durations.tolist(), lives.entry.tolist()) == ([200.0, 1800.0, 8000.0], HOURS)
    assert rf.LifeData.from_intervals(TIMES, TIMES * 2).upper.tolist() == [200.0, 1800.0, 8000.0]
    assert rf.LifeData(TIMES, [True] * 3, [0, 3], pd.Index(["all"])).durations.tolist() == HOURS
    assert rf.nonparametric.kaplan_meier(pd.Series(TIMES)).times.tolist() == HOURS
    np.testing.assert_allclose(rf.fit(TIMES, "exponential", by=["a", "a", "b"])["exponential"].mean, [500.0, 4000.0])
    assert EventHistories.from_groups([list(TIMES)], end=TIMES[-1:]).times.tolist() == HOURS


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (DATES, "are dates; subtract"),
        (list(DATES), "are dates; subtract"),
        (DATES.tz_localize("UTC"), "are dates; subtract"),
        (pd.DataFrame({"duration": DATES}), "are dates; subtract"),
        (np.ma.array([100.0, 900.0, 1e9], mask=[0, 0, 1]), r"duration nan in group 0, row 2"),
        ([100.0, None], "duration nan in group 0, row 1"),
        (pd.Series([*TIMES, pd.NaT]), "duration nan in group 0, row 3"),
        (np.array([1.0 + 2.0j]), "complex128; give hours"),
        (["1h", "soon"], "durations hold 'soon'; give hours"),
        ([[1.0, 2.0], [3.0]], "unequal length; give groups"),
        ("log.parquet", "'log.parquet'; give an array"),
        (None, "are None; give an array"),
        ([], "no durations"),
        (pd.DataFrame({"duration": []}), "no durations"),
    ],
)
def test_what_is_no_duration_is_refused_with_a_remedy(data: object, message: str) -> None:
    with pytest.raises(rf.RelfitError, match=message):
        rf.fit(data, "exponential")


def test_masked_flags_are_refused() -> None:
    with pytest.raises(rf.RelfitError, match="observed has masked values; leave"):
        rf.LifeData.from_array(HOURS, np.ma.array([True, True, False], mask=[False, False, True]))
    with pytest.raises(rf.RelfitError, match="observed has masked values; leave"):
        rf.fit(HOURS, observed=np.ma.array([True, True, False], mask=[False, False, True]))


def test_a_single_distribution_has_no_parameter_that_is_missing() -> None:
    with pytest.raises(rf.RelfitError, match="shape of weibull is nan; it must be finite"):
        rf.families.Weibull(np.nan, 10.0)
    assert np.isnan(rf.families.Weibull([np.nan, 1.0], 10.0).mean()).tolist() == [True, False]


@pytest.mark.parametrize("form", ["1h30min", pd.Timedelta("90min"), np.timedelta64(90, "m")])
def test_distributions_read_the_forms_of_a_duration(form: object) -> None:
    """A Series of timedeltas was read as nanoseconds, a single one ended in a TypeError."""
    weibull = Weibull(1.2, 100.0)
    for name in ("sf", "cdf", "pdf", "hazard", "cumulative_hazard"):
        method = getattr(weibull, name)
        assert method(form) == method(1.5)
        np.testing.assert_array_equal(method(pd.Series(pd.to_timedelta([form, form]))), method([1.5, 1.5]))
    assert weibull.sf(form, age=form) == weibull.sf(1.5, age=1.5)
    with pytest.raises(rf.DataError, match="time holds 'two'; give hours"):
        weibull.sf("two")


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_duration_without_a_group_is_refused(missing: object) -> None:
    hours, by = [5.0, 6.0, 7.0, 1.0], ["a", missing, "b", missing]
    for take in (rf.fit, rf.log_rank, rf.kaplan_meier, rf.nelson_aalen):
        with pytest.raises(rf.DataError, match="by= names no group for 2 durations, first in row 1"):
            take(hours, by=by)


def test_groups_have_the_name_of_their_series() -> None:
    frame = pd.DataFrame({"hours": [5.0, 6.0, 7.0, 1.0], "duration": ["a", "b", "a", "b"]})
    fits = rf.fit(frame["hours"], "exponential", by=frame["duration"])
    assert (fits.groups.name, fits.groups.tolist()) == ("duration", ["a", "b"])
    assert rf.fit(frame["hours"], "exponential", by=frame["duration"].to_numpy()).groups.name == "by"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["failed", "running", "failed"], r"'failed' in row 0 \(3 such in all\); give True .* observed == 'failed'"),
        ([True, None, True], r"None in row 1 \(1 such in all\); .* leave out lives without a flag"),
        ([1.0, 0.0, np.nan], "nan in row 2"),
        (pd.Categorical(["yes", "no", "no"]), "'yes' in row 0"),
    ],
)
def test_a_flag_that_is_none_is_named_with_its_row(flags: object, message: str) -> None:
    with pytest.raises(rf.DataError, match=message):
        rf.fit(HOURS, observed=flags)


class _Polars:
    """A table that is not one of pandas, and can become one, as those of Polars and Arrow."""

    def to_pandas(self) -> pd.DataFrame:
        return pd.DataFrame({"duration": HOURS, "o": [True, True, False]})


def test_a_table_that_turns_into_one_of_pandas_is_a_table() -> None:
    assert rf.fit(_Polars(), "weibull", observed="o").lives.n_failures.tolist() == [2]


@pytest.mark.parametrize("how", [rf.fit, rf.kaplan_meier, rf.nelson_aalen, rf.log_rank])
@pytest.mark.parametrize("by", ["node", ["node", "slot"]])
def test_rows_of_a_table_without_a_group_are_an_error_as_for_arrays(
    how: Callable[..., Any], by: str | list[str]
) -> None:
    """Two of six rows, with two of five failures, were left out without a word."""
    table = pd.DataFrame(
        {
            "hours": [1.0, 2, 3, 4, 5, 7],
            "ended": [1, 1, 0, 1, 1, 1],
            "node": ["a", "a", "b", None, "b", None],
            "slot": 1,
        }
    )
    with pytest.raises(rf.DataError, match="by= names no group for 2 durations, first in row 3"):
        how(table, duration="hours", observed="ended", by=by)
    assert how(table.dropna(), duration="hours", observed="ended", by=by)
