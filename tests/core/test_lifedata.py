"""LifeData: construction, sums by group, selection."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import relfit as rf
from relfit import LifeData

group_of_lives = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 3.0, 1e6]), st.booleans()), max_size=5)


def build(groups: list[list[tuple[float, bool]]]) -> LifeData:
    return LifeData.from_groups([[d for d, _ in g] for g in groups], [[o for _, o in g] for g in groups])


@settings(deadline=None, derandomize=True)
@given(groups=st.lists(group_of_lives, max_size=8))
def test_sums_by_group(groups: list[list[tuple[float, bool]]]) -> None:
    lives = build(groups)
    assert lives.sizes.tolist() == [len(g) for g in groups]
    assert lives.n_failures.tolist() == [sum(o for _, o in g) for g in groups]
    assert lives.n_censored.tolist() == [sum(not o for _, o in g) for g in groups]
    assert lives.n_zeros.tolist() == [sum(o and d == 0 for d, o in g) for g in groups]
    assert lives.total_time.tolist() == pytest.approx([sum(d for d, _ in g) for g in groups])
    assert lives.group_codes().tolist() == [i for i, g in enumerate(groups) for _ in g]
    assert len(lives) == len(groups)


@settings(deadline=None, derandomize=True)
@given(groups=st.lists(group_of_lives, min_size=1, max_size=6), data=st.data())
def test_taking_groups(groups: list[list[tuple[float, bool]]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(groups) - 1), max_size=6))
    part = build(groups).take(chosen)
    expected = build([groups[i] for i in chosen])
    assert part.durations.tolist() == expected.durations.tolist()
    assert part.observed.tolist() == expected.observed.tolist()
    assert part.offsets.tolist() == expected.offsets.tolist()
    assert part.groups.tolist() == chosen


@settings(deadline=None, derandomize=True)
@given(groups=st.lists(group_of_lives, max_size=6))
def test_a_frame_and_back(groups: list[list[tuple[float, bool]]]) -> None:
    lives = build(groups)
    again = LifeData.from_frame(lives.to_frame(), "duration_hours", "observed", by="group")
    full = [i for i, g in enumerate(groups) if g]
    assert again.groups.tolist() == full
    assert again.durations.tolist() == lives.durations.tolist()
    assert again.observed.tolist() == lives.observed.tolist()


def test_pooled_keeps_all_lives_and_adds_the_counts() -> None:
    lives = build([[(1.0, True)], [], [(2.0, False)]])
    counted = LifeData(
        lives.durations, lives.observed, lives.offsets, lives.groups, counts=pd.DataFrame({"zero_gaps": [1, 2, 4]})
    ).pooled()
    assert counted.durations.tolist() == [1.0, 2.0]
    assert counted.groups.tolist() == ["all"]
    assert counted.counts is not None
    assert counted.counts["zero_gaps"].to_dict() == {"all": 7}


def test_group_by_label() -> None:
    table = pd.DataFrame({"system": ["a", "a", "b"], "node": ["1", "2", "1"], "h": [1.0, 2.0, 3.0]})
    lives = LifeData.from_frame(table, "h", by=["system", "node"], measure="ttf")
    assert lives.group(("a", "2")).durations.tolist() == [2.0]
    assert lives.group(("a", "2")).measure == "ttf"
    with pytest.raises(rf.ArgumentError, match="names more than one group"):
        lives.group("a")
    for unknown in ("z", ("a", "9"), ["a"]):
        with pytest.raises(rf.ArgumentError, match=r"no group|more than one"):
            lives.group(unknown)


def test_rows_without_a_key_are_left_out_and_counted() -> None:
    table = pd.DataFrame({"rack": ["x", None, "x"], "slot": [np.nan, 1, 2], "duration": [1.0, 2.0, 3.0]})
    lives = LifeData.from_frame(table, by="rack")
    assert lives.sizes.tolist() == [2]
    assert lives.groups.tolist() == ["x"]
    assert lives.durations.tolist() == [1.0, 3.0]
    assert lives.notes == ("1 row without rack left out",)
    lives = LifeData.from_frame(table, by=["rack", "slot"])
    assert (lives.groups.tolist(), lives.durations.tolist()) == ([("x", 2.0)], [3.0])
    assert lives.notes == ("2 rows without rack or slot left out",)
    assert LifeData.from_frame(table.dropna(), by="rack").notes == ()


def test_unused_categories_are_no_groups() -> None:
    rack = pd.Categorical(["x", "y", "x"], categories=["w", "x", "y"])
    table = pd.DataFrame({"rack": rack, "duration": [1.0, 2.0, 3.0]})
    assert LifeData.from_frame(table, by="rack").groups.tolist() == ["x", "y"]


def test_arrays_of_one_and_two_dimensions() -> None:
    assert LifeData.from_array([1.0, 2.0]).n_groups == 1
    rows = LifeData.from_array([[1.0, 2.0], [3.0, 4.0]], [[True, False], [True, True]])
    assert rows.n_failures.tolist() == [1, 2]
    assert rows.total_time.tolist() == [3.0, 7.0]
    assert LifeData.from_array([]).sizes.tolist() == [0]


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, -np.inf])
def test_durations_that_cannot_be_name_their_group_and_row(bad: float) -> None:
    with pytest.raises(rf.DataError, match=r"group 'b', row 1, .*\(1 such in all\)"):
        LifeData.from_groups({"a": [1.0], "empty": [], "b": [1.0, bad]})


@pytest.mark.parametrize(
    "make",
    [
        lambda: LifeData(np.ones(2), np.ones(3, bool), np.array([0, 2]), pd.RangeIndex(1)),
        lambda: LifeData(np.ones((1, 2)), np.ones((1, 2), bool), np.array([0, 2]), pd.RangeIndex(1)),
        lambda: LifeData(np.ones(2), np.ones(2, bool), np.array([0, 3]), pd.RangeIndex(1)),
        lambda: LifeData(np.ones(2), np.ones(2, bool), np.array([0, 2, 1, 2]), pd.RangeIndex(3)),
        lambda: LifeData(np.ones(2), np.ones(2, bool), np.array([0, 2]), pd.RangeIndex(2)),
        lambda: LifeData.from_array(np.ones((2, 2, 2))),
        lambda: LifeData.from_array([1.0, 2.0], [True]),
        lambda: LifeData.from_groups({"a": [1.0]}, {"a": [True, False]}),
        lambda: LifeData.from_groups({"a": [1.0]}, {"b": [True]}),
        lambda: LifeData.from_groups({"a": [1.0]}, [[True]]),
        lambda: LifeData.from_frame(pd.DataFrame({"duration": [1.0]}), by="rack"),
        lambda: LifeData.from_array([1.0]).take([1]),
    ],
)
def test_shapes_that_do_not_fit(make: Any) -> None:
    with pytest.raises((rf.DataError, rf.ArgumentError)):
        make()


def test_what_it_shows() -> None:
    lives = build([[(1.0, True), (0.0, True)], [(2.0, False)]])
    assert repr(lives) == "LifeData: 3 durations in 2 groups (2 observed, 1 censored, 1 of length zero), measure life"
    assert "<table" in lives._repr_html_()
    document = json.loads(json.dumps(lives.to_dict(), allow_nan=False))
    assert (document["lives"], document["censored"], document["zeros"]) == (3, 1, 1)


def test_it_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        build([]).measure = "ttr"  # type: ignore[misc]


@pytest.mark.parametrize("name", ["duration", "durations"])
@pytest.mark.parametrize("flags", [[True, False], [1, 0]])
def test_flags_are_no_durations(name: str, flags: list[Any]) -> None:
    """`rf.fit({"durations": ..., "observed": ...})` was two groups, one of lives of zero and one hour."""
    with pytest.raises(rf.ArgumentError, match="'observed' would be a group of durations"):
        rf.fit({name: [1.0, 2.0], "observed": flags})
    for make in (lambda: rf.fit([True, False]), lambda: rf.fit({"a": [1.0, 2.0], "b": [True, False]})):
        with pytest.raises(rf.DataError, match="durations are True or False"):
            make()
    assert LifeData.from_groups({"observed": [5.0, 7.0], "rack 1": [3.0]}).n_groups == 2


@pytest.mark.parametrize("nothing", [[], {}, {"a": []}, np.zeros((0, 3))])
def test_no_durations_are_no_fit(nothing: Any) -> None:
    with pytest.raises(rf.DataError, match="no durations"):
        rf.fit(nothing)
