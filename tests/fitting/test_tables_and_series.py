"""Tables whose columns have the standard names, and Series whose labels are in another order."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf

TABLE = pd.DataFrame(
    {
        "duration": [100.0, 200.0, 300.0, 400.0, 500.0],
        "observed": [True, True, False, False, False],
        "entry": [0.0, 50.0, 0.0, 0.0, 250.0],
        "weights": [1, 1, 1, 1, 2],
    }
)


def mean_of(*args: object, **options: object) -> float:
    return float(rf.fit(*args, "exponential", **options)["exponential"].mean[0])  # type: ignore[arg-type]


def test_a_table_is_read_by_the_standard_names() -> None:
    # hours under observation: 100 + 150 + 300 + 400 + 250 = 1200, the last twice with weights; 2 failures
    assert mean_of(TABLE.drop(columns="weights")) == pytest.approx(600.0)
    assert mean_of(TABLE) == pytest.approx(1450.0 / 2)
    assert mean_of(TABLE.drop(columns=["entry", "weights"])) == pytest.approx(1500.0 / 2)
    assert rf.LifeData.from_frame(TABLE, "duration").n_failures.tolist() == [2]
    # 1 - 1/4 at 100 (not the last, which enters later), then 1 - 1/3 at 200 (of those from 200 to 400)
    curve = rf.kaplan_meier(TABLE[["duration", "observed", "entry"]].assign(entry=[0.0, 50.0, 0.0, 0.0, 250.0]))
    np.testing.assert_allclose(curve.estimate[:2], [0.75, 0.5])
    assert rf.nelson_aalen(TABLE[["duration", "observed"]]).estimate[-1] == pytest.approx(1 / 5 + 1 / 4)


def test_an_argument_wins_over_a_standard_name() -> None:
    table = TABLE[["duration", "observed"]].assign(seen=[True, True, True, False, False])
    assert mean_of(table, observed="seen") == pytest.approx(500.0)
    assert rf.LifeData.from_frame(table, "duration", by="observed").n_failures.tolist() == [3, 2]


def test_causes_of_a_table_with_the_standard_flag() -> None:
    table = TABLE[["duration", "observed"]].assign(cause=["a", "b", "a", "b", None])
    lives = rf.fit(table, "exponential", cause="cause").lives
    assert lives.n_failures.tolist() == [1, 1]


@pytest.mark.parametrize("kind", [pd.Series, np.asarray, list])
def test_values_beside_a_table_are_refused(kind: type) -> None:
    table = TABLE.rename(columns={"observed": "o"})
    for options in ({"observed": kind(table["o"])}, {"duration": kind(table["duration"])}):
        with pytest.raises(rf.ArgumentError, match=r"= names a column of the table, and is a .*; add it as a column"):
            rf.fit(table, "exponential", **options)
    if kind is not list:
        with pytest.raises(rf.ArgumentError, match="by= names a column of the table"):
            rf.log_rank(table, by=kind(table["o"]))


def test_series_go_by_their_labels() -> None:
    table = pd.DataFrame({"h": [500.0, 100.0, 400.0, 200.0, 300.0], "o": [False, True, False, True, False]})
    table["g"], table["e"] = list("aabbb"), [50.0, 10.0, 40.0, 20.0, 30.0]
    hours, flags, groups, entry = table["h"].sort_values(), table["o"], table["g"], table["e"]
    for take in (rf.kaplan_meier, rf.nelson_aalen):
        curve = take(hours, observed=flags, by=groups, entry=entry)
        assert curve.times.tolist() == [100.0, 500.0, 200.0, 300.0, 400.0]
        assert curve.events.tolist() == [1, 0, 1, 0, 0]
    lives = rf.fit(hours, "exponential", observed=flags, by=groups, entry=entry).lives
    assert lives.n_failures.tolist() == [1, 1]
    assert (lives.total_time.tolist()) == [540.0, 810.0]
    test = rf.log_rank(hours, by=groups, observed=flags)
    assert test.table["durations"].tolist() == [2, 3]
    made = rf.LifeData.from_array(hours, flags, entry=entry)
    assert (made.observed.tolist(), made.entry.tolist()) == ([True, True, False, False, False], [10, 20, 30, 40, 50])
    assert rf.LifeData.from_intervals(hours, table["h"] + 1.0).upper.tolist() == [101.0, 201.0, 301.0, 401.0, 501.0]
    parts = rf.LifeData.from_groups({"all": hours}, {"all": flags})
    assert parts.observed.tolist() == [True, True, False, False, False]
    assert rf.LifeData.from_groups([hours], [flags]).observed.tolist() == parts.observed.tolist()


@pytest.mark.parametrize(
    ("durations", "flags", "entry"),
    [
        (pd.Series([1.0, 2.0], [0, 1]), pd.Series([True, False], [1, 2]), None),
        (pd.Series([1.0, 2.0], [0, 0]), pd.Series([True, False], [0, 1]), None),
        (pd.Series([1.0, 2.0], [0, 1]), pd.Series([True, False], [0, 0]), None),
        ([1.0, 2.0], pd.Series([True, False], [0, 1]), pd.Series([0.0, 0.5], [1, 0])),
    ],
)
def test_series_of_other_labels_are_refused(durations: object, flags: object, entry: object) -> None:
    for take in (rf.kaplan_meier, rf.fit, rf.LifeData.from_array):
        with pytest.raises(rf.ArgumentError, match="are Series with different labels; give Series with one index"):
            take(durations, observed=flags, entry=entry)


def test_series_of_one_index_and_arrays_go_by_position() -> None:
    twice = pd.Series([1.0, 2.0], [0, 0])
    assert rf.LifeData.from_array(twice, pd.Series([True, False], [0, 0])).observed.tolist() == [True, False]
    assert rf.LifeData.from_array(twice, np.array([False, True])).observed.tolist() == [False, True]


def test_a_missing_upper_end_is_right_censored() -> None:
    table = pd.DataFrame({"duration": [5.0, 2.0, 7.0], "upper": [np.nan, 3.0, np.nan], "o": [True, False, False]})
    lives = rf.fit(table, "exponential", observed="o", upper="upper").lives
    assert lives.ends.tolist() == [5.0, 3.0, np.inf]
