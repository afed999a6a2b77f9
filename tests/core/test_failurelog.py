"""FailureLog: selection, cutting in time, what it tells about itself."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.numeric.ordering import natural_key, natural_order
from relfit.log.failurelog import FailureLog
from relfit.log.outages import outages_of
from tests.factories import at, make_log


@pytest.fixture(params=[False, True], ids=["objects", "categories"])
def fleet(request: pytest.FixtureRequest) -> FailureLog:
    return make_log(
        [
            {"system": "2", "node": "1", "start": 10, "end": 12, "cause": "hardware", "part": "cpu"},
            {"system": "2", "node": "2", "start": 20, "end": 29, "cause": "software"},
            {"system": "10", "node": "1", "start": 30, "end": None, "cause": None},
            {"system": "2", "node": None, "start": 40, "end": 41, "cause": "hardware"},
        ],
        [
            {"system": "2", "node": "1", "rack": "a"},
            {"system": "2", "node": "2", "rack": "b"},
            {"system": "10", "node": "1", "rack": "b"},
            {"system": "10", "node": "7", "rack": None, "entered": 35},
        ],
        categories=request.param,
    )


def lines(log: FailureLog) -> list[int]:
    return log.events["line"].tolist()


def test_by_a_column_of_both_tables(fleet: FailureLog) -> None:
    assert lines(fleet.where(system="2")) == [2, 3, 5]
    assert fleet.where(system=2).n_nodes == 2
    assert lines(fleet.where(system=["2", "10"])) == [2, 3, 4, 5]
    assert lines(fleet.where(node="1")) == [2, 4]
    assert fleet.where(node="1").n_nodes == 2


def test_by_a_column_of_the_population_selects_nodes_with_all_they_did(fleet: FailureLog) -> None:
    part = fleet.where(rack="b")
    assert lines(part) == [3, 4]
    assert part.n_nodes == 2
    empty = fleet.where(rack=None)
    assert (len(empty), empty.n_nodes) == (0, 1)


def test_by_a_column_of_events_leaves_the_population(fleet: FailureLog) -> None:
    part = fleet.where(cause="hardware")
    assert lines(part) == [2, 5]
    assert part.n_nodes == 4
    assert lines(fleet.where(cause=None)) == [4]
    assert lines(fleet.where(cause=["software", None])) == [3, 4]
    assert lines(fleet.where(part="cpu")) == [2]


def test_conditions_add_up_and_are_kept(fleet: FailureLog) -> None:
    part = fleet.where({"system": "2"}, cause="hardware")
    assert lines(part) == [2, 5]
    assert part.source.selection == ("system=2", "cause=hardware")
    assert part.source.rows_deselected == 2
    assert part.info()["events_deselected"] == 2


def test_without_leaves_all_other_values_and_missing_ones(fleet: FailureLog) -> None:
    part = fleet.without(cause="hardware")
    assert lines(part) == [3, 4]
    assert (part.n_nodes, part.source.selection) == (4, ("without cause hardware",))
    assert lines(fleet.without(cause=["hardware", "software"])) == [4]
    assert lines(fleet.without(cause=["hardware", None])) == [3]
    assert lines(fleet.without(system=10)) == [2, 3, 5]
    assert fleet.without(system="10").systems == ("2",)
    assert lines(fleet.without({"rack": "b"})) == [2]
    assert fleet.without(rack="b").n_nodes == 2
    with pytest.raises(rf.ArgumentError, match="nothing in this log has cause='gremlins'"):
        fleet.without(cause="gremlins")
    with pytest.raises(rf.ArgumentError, match="everything in this log has system=2 or 10"):
        fleet.without(system=[2, 10])


def test_lives_that_ended_by_an_excluded_cause_are_censored() -> None:
    lives = [{"node": f"n{i}", "duration": 1.0 + i, "observed": i < 3, "cause": "ab"[i % 2]} for i in range(4)]
    ttf = make_log(lifetimes=lives).without(cause="b").ttf(per="all")
    assert ttf.observed.tolist() == [True, False, True, False]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"colour": "red"}, "no column 'colour'.*system, node"),
        ({"line": 3}, "no column 'line'"),
        ({"cause": "gremlins"}, "cause='gremlins'.*its values are .*hardware"),
        ({"system": "20"}, "system='20'"),
    ],
)
def test_what_selects_nothing_is_an_error(fleet: FailureLog, condition: dict[str, object], message: str) -> None:
    with pytest.raises(rf.ArgumentError, match=message):
        fleet.where(condition)


def test_numbers_select_whatever_their_spelling() -> None:
    """Nodes 1 and 2 of a column of floats, and an attribute with values 1 and 2.5."""
    table = pd.DataFrame({"node": [1.0, 2.0], "start": ["2024-01-01", "2024-01-02"], "slot": [1.0, 2.5]})
    log = rf.read(table)
    for same in (1, 1.0, "1", np.float32(1.0)):
        assert log.where(node=same).population["node"].tolist() == ["1"]
        assert log.without(node=same).population["node"].tolist() == ["2"]
    assert [len(log.where(slot=value)) for value in (1, 1.0, 2.5)] == [1, 1, 1]


def test_of_many_values_an_error_names_some_and_their_number() -> None:
    with pytest.raises(rf.ArgumentError, match=r"its values are (n\d{3}, ){8}\.\.\. \(512 in all\)$"):
        rf.datasets.load("white").where(node="9999")


def test_adjoining_periods_add_up(fleet: FailureLog) -> None:
    for hour in (10, 11, 20, 40, 99):
        early, late = fleet.between(until=at(hour)), fleet.between(since=at(hour))
        assert (~early.events["start_cut"]).sum() + (~late.events["start_cut"]).sum() == len(fleet)
        assert early.window.hours + late.window.hours == fleet.window.hours
        assert early.ttf(per="node").total_time.sum() + late.ttf(per="node", first="always").total_time.sum() == (
            pytest.approx(fleet.ttf(per="node").total_time.sum())
        )


def test_cutting_marks_outages_and_members(fleet: FailureLog) -> None:
    part = fleet.between(at(11), at(25))
    assert lines(part) == [2, 3]
    assert part.events["start_cut"].tolist() == [True, False]
    assert part.events["end_cut"].tolist() == [False, True]
    assert part.events["start"].tolist() == [at(11), at(20)]
    assert part.events["end"].tolist() == [at(12), at(25)]
    assert part.n_nodes == 3  # one enters later
    assert (part.population["entered"] == at(11)).all()
    assert (part.window.start, part.window.end) == (at(11), at(25))
    assert part.window.start_known
    assert part.window.end_known
    assert len(part.source.selection) == 1


def test_cutting_at_or_beyond_the_window_keeps_its_start_and_a_known_end() -> None:
    log = make_log([{"start": 0}, {"start": 100}], end_known=False)
    whole = log.between(at(-50), log.window.end)
    assert lines(whole) == [2, 3]
    assert not whole.window.end_known
    assert log.between() is log
    later = log.between(at(-50), at(500))  # the last record was no end of the observation
    assert (lines(later), later.window.start, later.window.end) == ([2, 3], log.window.start, at(500))
    assert later.window.end_known
    known = make_log([{"start": 0}, {"start": 100}])
    assert known.between(at(-50), at(500)).window == known.window


def test_cutting_takes_local_time_of_the_log() -> None:
    log = make_log([{"start": 10}])
    local = replace(log, source=replace(log.source, timezone="America/Denver"))
    assert local.between(since="2001-01-01").window.start == pd.Timestamp("2001-01-01 07:00", tz="UTC")


@pytest.mark.parametrize(("since", "until"), [("2030", None), (None, "1990"), ("2001-01-03", "2001-01-02")])
def test_a_cut_that_leaves_nothing_names_what_there_is(fleet: FailureLog, since: str | None, until: str | None) -> None:
    with pytest.raises(rf.ArgumentError, match="the log covers 2001-01-01 to 2001-01-05"):
        fleet.between(since, until)


def test_impossible_dates(fleet: FailureLog) -> None:
    with pytest.raises(rf.ArgumentError, match="'2001-02-30' is not a date"):
        fleet.between(since="2001-02-30")


def test_info_counts(fleet: FailureLog) -> None:
    info = json.loads(json.dumps(fleet.info(), allow_nan=False))
    assert info["rows_read"] == info["rows_kept"] + info["rows_rejected"]
    assert (info["events"], info["events_without_node"]) == (4, 1)
    assert (info["nodes"], info["nodes_declared"], info["nodes_without_failure"]) == (4, 4, 1)
    assert info["systems"] == ["2", "10"]
    assert info["causes"] == {"hardware": 2, "software": 1}
    assert info["attributes"] == ["part", "rack"]
    assert info["window"]["hours"] == 100.0


def test_rows_refused_alike_are_one_kind() -> None:
    rejected = pd.DataFrame(
        {
            "file": "a.csv",
            "line": [7, 9, 12],
            "column": ["", "start", "start"],
            "reason": ["duplicate of line 3", "'soon' is not a date", "'late' is not a date"],
            "text": "",
        }
    )
    log = replace(make_log([]), rejected=rejected)
    assert log.rejections().reset_index().to_numpy().tolist() == [
        ["... is not a date", 2, 9],
        ["duplicate of line ...", 1, 7],
    ]
    assert log.info()["rejected_by_reason"] == {"... is not a date": 2, "duplicate of line ...": 1}


def test_an_empty_log_can_be_asked_everything() -> None:
    log = make_log([])
    assert (len(log), log.n_nodes, log.systems, log.attributes) == (0, 0, (), ())
    assert log.info()["causes"] == {}
    assert log.info()["nodes_without_failure"] == 0
    assert "0 events of 0 nodes" in repr(log)
    lives = rf.read(pd.DataFrame({"node": ["a", "b"], "duration": [3.0, 5.0]}))
    assert "2 lifetimes of 2 nodes in 1 system, without dates; 2 rows read" in repr(lives)  # said 1970
    assert len(log.between(at(1), at(2))) == 0
    with pytest.raises(rf.ArgumentError, match="nothing in this log"):
        log.where(system="20")


def test_a_missing_column_is_named() -> None:
    log = make_log([{"start": 1}])
    with pytest.raises(rf.DataError, match="events of a FailureLog has no column 'cause'"):
        replace(log, events=log.events.drop(columns="cause"))
    with pytest.raises(rf.DataError, match="lifetimes of a FailureLog has no column 'system'"):
        replace(log, lifetimes=pd.DataFrame({"node": ["1"]}))


def test_text_from_the_log_is_escaped_in_html() -> None:
    log = make_log([{"start": 1, "cause": "<script>alert(1)</script>"}])
    assert "<script>" not in log._repr_html_()
    assert "&lt;script&gt;" in log._repr_html_()


def test_names_sort_by_value_then_text() -> None:
    assert sorted(["b", "10", "nan", "9", "a", "2.5"], key=natural_key) == ["2.5", "9", "10", "a", "b", "nan"]
    names = ["node10", "node9", "node1", "rack10-n2", "rack2-n10", "rack2-n9", "x01", "x1"]
    natural = ["node1", "node9", "node10", "rack2-n9", "rack2-n10", "rack10-n2", "x01", "x1"]
    assert sorted(names, key=natural_key) == natural
    assert [names[row] for row in natural_order(names)] == natural


def test_nodes_without_leading_zeros_are_neighbours_by_number() -> None:
    log = make_log(
        [{"node": f"node{i}", "start": i} for i in range(1, 25)], [{"node": f"node{i}"} for i in range(1, 25)]
    )
    assert outages_of(log, "node").groups.get_level_values(-1).tolist() == [f"node{i}" for i in range(1, 25)]


def test_a_selection_of_nodes_keeps_what_happened_to_their_whole_system() -> None:
    """By hand: of two systems, rack r of the first; its node's outage and the outage of its system remain."""
    log = make_log(
        [
            {"node": "a", "start": 5, "end": 6},
            {"node": "b", "start": 7, "end": 8},
            {"node": None, "start": 20, "end": 30, "scope": "system"},
            {"node": None, "start": 40, "end": 50, "scope": "system", "system": "t"},
            {"node": None, "start": 60, "end": 61, "scope": "group"},
        ],
        [{"node": "a", "rack": "r"}, {"node": "b", "rack": "q"}, {"node": "c", "rack": "q", "system": "t"}],
    )
    assert log.where(rack="r").events["start"].tolist() == [at(5), at(20)]
    assert log.where(system="t").events["start"].tolist() == [at(40)]
    assert log.where(scope="group").events["start"].tolist() == [at(60)]
