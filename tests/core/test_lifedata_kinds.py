"""LifeData with intervals, truncation, weights and limits: what is rejected, and that nothing is lost on the way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit import DataError, LifeData

FULL: dict[str, Any] = {
    "durations": {"a": [3.0, 2.0, 7.0], "b": [4.0, 0.0]},
    "observed": {"a": [True, False, False], "b": [True, False]},
    "upper": {"a": [3.0, 5.0, np.inf], "b": [4.0, 6.0]},
    "entry": {"a": [1.0, 0.0, 2.0], "b": [0.0, 0.0]},
    "exit": {"a": [9.0, np.inf, np.inf], "b": [8.0, 6.0]},
    "weights": {"a": [1, 2, 0], "b": [3, 1]},
    "limit": {"a": [8.0, 9.0, 50.0], "b": [np.inf, np.inf]},
}


@pytest.fixture
def full() -> LifeData:
    return LifeData.from_groups(**FULL)


def bad_row(name: str, value: float, **more: list[float]) -> LifeData:
    """Group b, row 1 has this value; all else is in order."""
    fine: dict[str, list[float]] = {
        "upper": [5.0, 5.0],
        "entry": [1.0, 1.0],
        "exit": [9.0, 9.0],
        "weights": [1.0, 1.0],
        "limit": [9.0, 9.0],
        **more,
    }
    columns = {name: {"a": fine[name], "b": [fine[name][0], value]}}
    if name == "exit":
        columns["upper"] = {"a": [5.0, 5.0], "b": [5.0, 5.0]}
    return LifeData.from_groups(
        {"a": [3.0, 3.0], "b": [3.0, 3.0]}, {"a": [False, False], "b": [False, False]}, **columns
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("weights", -1.0, "weight -1"),
        ("weights", 0.5, "weight 0.5"),
        ("weights", np.nan, "weight nan"),
        ("weights", np.inf, "weight inf"),
        ("weights", 2.0**60, "weight 1.15292e\\+18"),
        ("upper", 2.0, "interval from 3.0 to 2.0"),
        ("upper", np.nan, "interval from 3.0 to nan"),
        ("upper", -np.inf, "interval from 3.0 to -inf"),
        ("entry", 3.5, "left truncation at 3.5"),
        ("entry", -1.0, "left truncation at -1.0"),
        ("entry", np.nan, "left truncation at nan"),
        ("exit", 4.0, "right truncation at 4.0"),
        ("exit", 0.0, "right truncation at 0.0"),
        ("exit", np.nan, "right truncation at nan"),
        ("limit", 2.0, "limit of observation 2.0"),
        ("limit", np.nan, "limit of observation nan"),
    ],
)
def test_what_cannot_be_names_its_group_and_row(name: str, value: float, words: str) -> None:
    with pytest.raises(rf.DataError, match=rf"{words} in group 'b', row 1, .*\(1 such in all\)"):
        bad_row(name, value)


def test_truncation_after_a_failure() -> None:
    with pytest.raises(rf.DataError, match=r"left truncation at 6\.0 in group 0, row 1, .*after the end of its life"):
        LifeData.from_array([3.0, 5.0], entry=[1.0, 6.0])
    with pytest.raises(rf.DataError, match=r"right truncation at 4\.0 in group 0, row 1, .*before the end"):
        LifeData.from_array([3.0, 5.0], exit=[4.0, 4.0])


def test_a_right_censored_life_cannot_be_truncated_on_the_right() -> None:
    with pytest.raises(rf.DataError, match="its life has no end"):
        LifeData.from_array([3.0], [False], exit=[9.0])


def test_all_bad_rows_are_counted() -> None:
    with pytest.raises(rf.DataError, match=r"row 0, .*\(3 such in all\)"):
        LifeData.from_array([1.0, 2.0, 3.0], weights=[-1, 0.5, -2])


@pytest.mark.parametrize("name", ["upper", "entry", "exit", "weights", "limit"])
def test_columns_of_another_length(name: str) -> None:
    with pytest.raises(rf.DataError, match=name):
        LifeData.from_array([1.0, 2.0], **{name: [1.0, 1.0, 1.0]})
    with pytest.raises(rf.DataError, match=name):
        LifeData.from_groups([[1.0], [2.0]], **{name: [[1.0], [2.0, 3.0]]})
    with pytest.raises(rf.DataError, match=name):
        LifeData(
            np.ones(2),
            np.ones(2, np.bool_),
            np.array([0, 2]),
            pd.RangeIndex(1),
            **{name: np.ones(3)},  # type: ignore[arg-type]
        )


def test_unknown_columns() -> None:
    with pytest.raises(rf.ArgumentError, match="no argument 'weight'"):
        LifeData.from_groups([[1.0]], weight=[[1.0]])
    with pytest.raises(rf.ArgumentError, match="no column 'w'"):
        LifeData.from_frame(pd.DataFrame({"duration": [1.0]}), weights="w")


def test_flags_of_a_table_are_true_and_false_and_no_words():
    table = pd.DataFrame({"hours": [1.0, 2.0], "failed": ["no", "yes"]})
    with pytest.raises(rf.RelfitError, match="observed holds more than true and false"):
        LifeData.from_frame(table, "hours", "failed")
    assert LifeData.from_frame(table.assign(failed=["0", "1"]), "hours", "failed").observed.tolist() == [False, True]


def test_counts_by_hand(full: LifeData) -> None:
    assert full.n_lives.tolist() == [3, 4]
    assert full.n_failures.tolist() == [3, 4]
    assert full.n_intervals.tolist() == [2, 1]
    assert full.n_censored.tolist() == [0, 0]
    assert full.sizes.tolist() == [3, 2]
    assert full.total_time.tolist() == [2.0 + 2 * 2.0, 3 * 4.0]
    assert full.ends.tolist() == [3.0, 5.0, np.inf, 4.0, 6.0]
    assert not full.plain
    total = full.to_dict()
    assert (total["lives"], total["observed"], total["intervals"]) == (7, 4, 3)
    assert (total["left_truncated"], total["right_truncated"]) == (2, 3)
    # the limit of a censored life is where it was censored
    assert full.limit is not None
    assert full.limit.tolist() == [8.0, 9.0, 7.0, np.inf, np.inf]


def test_an_interval_without_length_is_an_observed_life() -> None:
    lives = LifeData.from_array([3.0, 2.0], [False, False], upper=[3.0, np.inf])
    assert lives.observed.tolist() == [True, False]
    assert lives.upper is None
    assert lives.plain


def test_an_interval_of_a_table_with_its_ends_exchanged_is_rejected() -> None:
    with pytest.raises(DataError, match=r"interval from 5.0 to 3.0"):
        LifeData.from_frame(pd.DataFrame({"hours": [5.0, 1.0], "latest": [3.0, 2.0]}), "hours", upper="latest")


def test_what_says_nothing_is_dropped() -> None:
    lives = LifeData.from_array([3.0, 2.0], entry=0.0, exit=np.inf, weights=1, upper=np.inf)
    assert lives.plain
    assert lives.further() == {}


def test_from_intervals_and_its_missing_ends() -> None:
    lives = LifeData.from_intervals(
        [np.nan, 2.0, 5.0, 7.0], [2.0, 5.0, 5.0, np.nan], entry=[0.0, 1.0, 1.0, 3.0], weights=[1, 2, 3, 4]
    )
    assert lives.durations.tolist() == [0.0, 2.0, 5.0, 7.0]
    assert lives.observed.tolist() == [False, False, True, False]
    assert lives.ends.tolist() == [2.0, 5.0, 5.0, np.inf]
    assert lives.weights is not None
    assert (lives.n_lives[0], lives.n_failures[0], lives.n_intervals[0]) == (10, 6, 3)
    rows = LifeData.from_intervals(
        [[1.0, 2.0], [3.0, 4.0]], [[2.0, 2.0], [4.0, np.inf]], exit=[[9.0, 9.0], [9.0, np.inf]]
    )
    assert rows.sizes.tolist() == [2, 2]
    assert rows.n_intervals.tolist() == [1, 1]
    with pytest.raises(rf.DataError, match=r"interval from 4\.0 to 3\.0 in group 0, row 1"):
        LifeData.from_intervals([1.0, 4.0], [2.0, 3.0])
    with pytest.raises(rf.DataError, match="lower has shape"):
        LifeData.from_intervals([1.0], [2.0, 3.0])


def test_one_value_for_all_lives() -> None:
    lives = LifeData.from_array([[3.0, 2.0], [5.0, 4.0]], False, entry=[1.0, 0.5], limit=9.0, weights=2)
    assert lives.observed.tolist() == [False] * 4
    assert lives.entry is not None
    assert lives.entry.tolist() == [1.0, 0.5, 1.0, 0.5]
    assert lives.n_lives.tolist() == [4, 4]


def test_taking_pooling_and_single_groups_lose_nothing(full: LifeData) -> None:
    for name in ("upper", "entry", "exit", "weights", "limit"):
        whole = getattr(full, name)
        assert full.take([1, 0]).further()[name].tolist() == [*whole[3:], *whole[:3]], name
        assert full.pooled().further()[name].tolist() == whole.tolist(), name
    assert full.group("a").upper is not None
    assert full.group("b").entry is None  # no life of it was truncated on the left
    assert full.pooled().n_lives.tolist() == [7]
    assert full.take([]).n_lives.tolist() == []


def test_a_frame_and_back(full: LifeData) -> None:
    frame = full.to_frame()
    assert list(frame.columns) == [
        "group",
        "duration_hours",
        "observed",
        "upper_hours",
        "entry_hours",
        "exit_hours",
        "weights",
        "limit_hours",
    ]
    shuffled = frame.iloc[[4, 0, 1, 3, 2]]
    again = LifeData.from_frame(
        shuffled,
        "duration_hours",
        "observed",
        by="group",
        upper="upper_hours",
        entry="entry_hours",
        exit="exit_hours",
        weights="weights",
        limit="limit_hours",
    )
    back = again.to_frame().sort_values(["group", "duration_hours"], ignore_index=True)
    pd.testing.assert_frame_equal(back, frame.sort_values(["group", "duration_hours"], ignore_index=True))


def test_a_frame_of_intervals_needs_no_flag() -> None:
    table = pd.DataFrame({"low": [1.0, 2.0, 3.0], "high": [2.0, 2.0, np.nan]})
    lives = LifeData.from_frame(table, "low", upper="high")
    assert lives.observed.tolist() == [False, True, False]
    assert lives.ends.tolist() == [2.0, 2.0, np.inf]


def test_what_it_shows(full: LifeData) -> None:
    assert repr(full) == (
        "LifeData: 7 durations in 2 groups (4 observed, 3 in intervals, 0 censored, 0 of length zero, "
        "2 left-truncated, 3 right-truncated), measure life"
    )
