"""Durations and instants at the border."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.units import hours, instant, unit_in_hours


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2, 2.0),
        (0.5, 0.5),
        (np.float32(1.5), 1.5),
        (np.int64(3), 3.0),
        ("20h", 20.0),
        ("20", 20.0),
        ("3 days", 72.0),
        ("90min", 1.5),
        (np.array(["2h"])[0], 2.0),
        ("1-00:00:00", 24.0),
        ("0-05:00:00", 5.0),
        (" 2-12:30:18.0", 60.505),
        ("1-12:30", 36.5),
        ("1 00:00:00", 24.0),
        ("10  01:30:00", 241.5),
        ("1 days 02:00:00", 26.0),
        ("100:00:00", 100.0),
        ("-5h", -5.0),
        (dt.timedelta(minutes=30), 0.5),
        (np.timedelta64(90, "m"), 1.5),
        (pd.Timedelta(days=1), 24.0),
    ],
)
def test_durations_become_hours(value: object, expected: float) -> None:
    assert hours(value) == expected


@pytest.mark.parametrize(
    "value", ["", "soon", "nan", "NaT", float("nan"), True, None, pd.NaT, np.timedelta64("NaT"), []]
)
def test_what_is_no_duration_is_rejected(value: object) -> None:
    with pytest.raises(rf.ArgumentError, match="is not a duration"):
        hours(value)


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("hours", 1.0), ("Hour", 1.0), ("s", 1 / 3600), ("min", 1 / 60), ("days", 24.0), ("week", 168.0)],
)
def test_units(unit: str, expected: float) -> None:
    assert unit_in_hours(unit) == expected


def test_unknown_unit_names_the_known_ones() -> None:
    with pytest.raises(rf.ArgumentError, match=r"unit of time 'fortnights'.*seconds, minutes, hours"):
        unit_in_hours("fortnights")


def test_an_instant_without_zone_is_local() -> None:
    assert instant("2003-04-01", "America/Denver") == pd.Timestamp("2003-04-01 07:00", tz="UTC")
    assert instant("2003-04-01T00:00+02:00", "America/Denver") == pd.Timestamp("2003-03-31 22:00", tz="UTC")


def test_the_night_the_clock_goes_back_or_forward_still_has_instants() -> None:
    assert instant("2003-10-26 01:30", "America/Denver") == pd.Timestamp("2003-10-26 07:30", tz="UTC")
    assert instant("2003-04-06 02:30", "America/Denver") == pd.Timestamp("2003-04-06 09:00", tz="UTC")


@pytest.mark.parametrize("value", ["2003-13-01", "yesterdayish", None, float("nan"), "99999-01-01", []])
def test_impossible_dates_are_rejected(value: object) -> None:
    with pytest.raises(rf.ArgumentError, match="is not a date or time"):
        instant(value)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "", "../UTC", "America"])
def test_unknown_zones_are_rejected(zone: str) -> None:
    with pytest.raises(rf.ArgumentError, match="unknown time zone"):
        instant("2003-04-01", zone)


def test_durations_of_more_than_292_years():
    assert hours("3000000h") == 3_000_000.0
    assert hours("500000 days") == 12_000_000.0
    assert hours("1e9h") == 1e9
    with pytest.raises(rf.ArgumentError, match="is not a duration"):
        hours("500000 days 3 parsecs")


@pytest.mark.parametrize(
    "text", ["1,5", "1,500", "1 000", "1,5h", "5 000 h", "1_000h", "1'000 days", "5-3h", "2-3", "2020-01-01"]
)
def test_numbers_with_commas_or_in_groups_are_refused(text: str) -> None:
    """Pandas reads 15 hours of "1,5h" and nanoseconds of "1,500"."""
    with pytest.raises(rf.ArgumentError, match="is not a duration; write numbers with a point"):
        hours(text)
    with pytest.raises(rf.DataError, match="write numbers with a point"):
        rf.fit([text, "30h"], "exponential")


def test_usual_texts_of_durations_stay() -> None:
    assert [hours(text) for text in ("1.5", "1h 30min", "1 days, 2:00:00", "02:30:00", "1e3h")] == [
        1.5,
        1.5,
        26.0,
        2.5,
        1000.0,
    ]


def test_years_are_durations() -> None:
    """Eight thousand seven hundred and sixty-six hours each, as in a rate per year."""
    assert [hours(text) for text in ("1 year", "3years", "0.5y")] == [8766.0, 26298.0, 4383.0]
    with pytest.raises(rf.ArgumentError, match=r"s, min, h, d, w, y"):
        hours("3 months")
