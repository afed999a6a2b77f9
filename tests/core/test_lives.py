"""Lives derived from logs, against a plain implementation of the documented rules and worked examples."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import relfit as rf
from relfit.base.numeric.ordering import natural_key
from relfit.log.failurelog import FailureLog
from relfit.log.outages import outages_of

# ------------------------------------------------------------- the rules, one record at a time
from tests.examples import examples
from tests.factories import EPOCH, at, make_log


def plain_lives(
    log: FailureLog,
    measure: str,
    per: str,
    *,
    censor: bool = True,
    origin: str = "failure",
    first: str = "known",
    overlaps: str = "merge",
    zeros: str = "apart",
) -> tuple[dict[Any, list[tuple[float, bool]]], dict[str, dict[Any, int]]]:
    """Lives and counts by group, by loops over records; hours."""

    def hour(stamp: pd.Timestamp) -> float | None:
        return None if pd.isna(stamp) else (stamp - EPOCH) / pd.Timedelta(hours=1)

    def text(value: Any) -> str | None:
        return None if pd.isna(value) else value

    records = log.events.to_dict("records")
    members = log.population.to_dict("records")
    for record in records:
        record["start"], record["end"] = hour(record["start"]), hour(record["end"])
        record["end_seen"] = record["end"] is not None
        record["end"] = record["start"] if record["end"] is None else record["end"]
    for member in members:
        member["entered"], member["left"] = hour(member["entered"]), hour(member["left"])

    # whose life it is
    def label(row: dict[str, Any], is_event: bool) -> Any:
        if per == "node":
            key = (text(row["system"]), text(row["node"]))
            return None if None in key else key
        if is_event and per not in log.events.columns:
            for member in members:
                if (member["system"], member["node"]) == (text(row["system"]), text(row["node"])):
                    return text(member[per])
            return None
        return text(row[per])

    groups = {label(record, True) for record in records} - {None}
    watched: dict[Any, list[dict[str, Any]]] = {}
    if per == "node" or per in log.population.columns:
        for member in members:
            if label(member, False) is not None:
                watched.setdefault(label(member, False), []).append(member)
        groups |= set(watched)

    # records to outages, node by node
    outages = []
    by_node: dict[Any, list[dict[str, Any]]] = {}
    overlapping = dict.fromkeys(groups, 0)
    for record in records:
        node = (text(record["system"]), text(record["node"]))
        if None in node or overlaps == "keep":
            outages.append(dict(record))
        else:
            by_node.setdefault(node, []).append(record)
    for mine in by_node.values():
        current = None
        for record in sorted(mine, key=lambda r: (r["start"], not r["start_cut"], r["end"])):
            if current and (record["start"] < current["end"] or record["start"] == current["start"]):
                if label(record, True) is not None:
                    overlapping[label(record, True)] += 1
                if record["end"] > current["end"]:
                    current["end"], current["end_cut"] = record["end"], record["end_cut"]
                elif record["end"] == current["end"]:
                    current["end_cut"] |= record["end_cut"]
                current["end_seen"] |= record["end_seen"]
            else:
                current = dict(record)
                outages.append(current)

    lives: dict[Any, list[tuple[float, bool, bool]]] = {group: [] for group in groups}
    names = {
        "ttf": ("zero_gaps", "overlapping", "first_gap_unknown", "repair_unknown", "negative_gaps"),
        "ttr": ("zero_repairs", "overlapping", "end_unknown"),
    }[measure]
    counts = {name: dict.fromkeys(groups, 0) for name in names}
    counts["overlapping"] = overlapping

    def live(group: Any, duration: float, observed: bool, stationary: bool = False) -> None:
        if duration == 0 and observed:
            counts[names[0]][group] += 1
        if duration > 0 or (observed and zeros == "keep"):
            lives[group].append((duration, observed, stationary))

    for group in groups:
        mine = sorted((o for o in outages if label(o, True) == group), key=lambda o: (o["start"], o["line"]))
        if measure == "ttr":
            for outage in mine:
                whole = outage["end_seen"] and not outage["start_cut"] and not outage["end_cut"]
                if not outage["end_seen"]:
                    counts["end_unknown"][group] += 1
                elif whole or censor:
                    live(group, outage["end"] - outage["start"], whole)
            continue
        entered, left = hour(log.window.start), hour(log.window.end)
        known = bool(members) and all(m["entered_known"] for m in members)
        if group in watched:
            entered = min(m["entered"] for m in watched[group])
            left = max(m["left"] for m in watched[group])
            known = all(m["entered_known"] for m in watched[group])
        from_start = {"known": known, "always": True, "never": False}[first]
        under_way = first == "known" and not known  # at an unknown age
        if origin == "failure":
            mine = [o for o in mine if not o["start_cut"]]
        if not mine:
            if under_way and left > entered:
                if censor:
                    live(group, left - entered, False, True)
            elif not from_start:
                counts["first_gap_unknown"][group] += left > entered
            elif censor and left > entered:
                live(group, left - entered, False)
            continue
        previous = None
        for outage in mine:
            if previous is None:
                if not outage["start_cut"]:
                    if from_start and outage["start"] >= entered:
                        live(group, outage["start"] - entered, True)
                    elif under_way and outage["start"] > entered:
                        live(group, outage["start"] - entered, True, True)
                    else:
                        counts["first_gap_unknown"][group] += 1
            elif not outage["start_cut"]:
                if origin == "repair" and (not previous["end_seen"] or previous["end_cut"]):
                    counts["repair_unknown"][group] += 1
                else:
                    gap = outage["start"] - previous["start" if origin == "failure" else "end"]
                    if gap < 0:
                        counts["negative_gaps"][group] += 1
                    else:
                        live(group, gap, True)
            previous = outage
        assert previous is not None
        begins = previous["start"] if origin == "failure" else previous["end"]
        usable = origin == "failure" or (previous["end_seen"] and not previous["end_cut"])
        if censor and usable and left > begins:
            live(group, left - begins, False)
    return lives, counts


def assert_as_documented(log: FailureLog, measure: str, per: str, **rules: Any) -> None:
    options = {k: v for k, v in rules.items() if measure == "ttf" or k in ("censor", "overlaps", "zeros")}
    lives = getattr(log, measure)(per, **options)
    expected, counts = plain_lives(log, measure, per, **rules)
    labels = list(lives.groups)
    assert set(labels) == set(expected)
    assert len(labels) == len(expected)
    parts = [label if isinstance(label, tuple) else (label,) for label in labels]
    assert parts == sorted(parts, key=lambda label: [natural_key(part) for part in label])
    for i, label in enumerate(labels):
        mine = slice(lives.offsets[i], lives.offsets[i + 1])
        stationary = np.zeros(lives.durations.size, bool) if lives.stationary is None else lives.stationary
        columns = (lives.durations, lives.observed, stationary)
        found = list(zip(*(column[mine].tolist() for column in columns), strict=True))
        assert [life[0] for life in found] == pytest.approx([life[0] for life in expected[label]])
        assert [life[1:] for life in found] == [life[1:] for life in expected[label]]
    assert lives.counts is not None
    assert sorted(lives.counts.columns) == sorted(counts)
    for name, by_group in counts.items():
        assert dict(zip(labels, lives.counts[name].tolist(), strict=True)) == by_group, name


# ---------------------------------------------------------------------- generated logs

systems = st.sampled_from(["10", "9", "a"])
names = st.sampled_from(["3", "20", "100", "x", "b7"])
hours_of_day = st.integers(0, 30)


@st.composite
def logs(draw: st.DrawFn) -> FailureLog:
    racks = st.sampled_from(["r1", "r2", "r10", None])
    kinds = st.sampled_from(["cpu", "disk", "fan", None])
    events = []
    for _ in range(draw(st.integers(0, 14))):
        start = draw(hours_of_day)
        length = draw(st.one_of(st.none(), st.integers(0, 12)))
        event = {
            "system": draw(systems),
            "node": draw(st.one_of(names, names, names, st.none())),
            "start": start,
            "end": None if length is None else start + length,
            "cause": draw(st.sampled_from(["hardware", "software", "network", "human", None])),
            "part": draw(kinds),
            "start_cut": draw(st.integers(0, 5)) == 0,
            "end_cut": length is not None and draw(st.integers(0, 5)) == 0,
        }
        events.append(event)
    members: dict[tuple[str, str], dict[str, Any]] = {}
    seen = [(e["system"], e["node"]) for e in events if e["node"] is not None]
    for pair in [*seen, *draw(st.lists(st.tuples(systems, names), max_size=4))]:
        entered = draw(st.integers(0, 10))
        members[pair] = {
            "system": pair[0],
            "node": pair[1],
            "entered": entered,
            "left": entered + draw(st.integers(0, 40)),
            "entered_known": draw(st.integers(0, 3)) > 0,
            "rack": draw(racks),
        }
    return make_log(
        events,
        list(members.values()),
        window=(0, 45),
        start_known=draw(st.booleans()),
        categories=draw(st.booleans()),
    )


rules = st.fixed_dictionaries(
    {
        "censor": st.booleans(),
        "origin": st.sampled_from(["failure", "repair"]),
        "first": st.sampled_from(["known", "always", "never"]),
        "overlaps": st.sampled_from(["merge", "keep"]),
        "zeros": st.sampled_from(["apart", "keep"]),
    }
)


@examples(300, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(log=logs(), measure=st.sampled_from(["ttf", "ttr"]), rules=rules, data=st.data())
@pytest.mark.slow
@pytest.mark.long
def test_generated_logs_follow_the_documented_rules(
    log: FailureLog, measure: str, rules: dict[str, Any], data: st.DataObject
) -> None:
    columns = ["node", "system", "cause", "part", *(["rack"] if "rack" in log.population else [])]
    columns = [c for c in columns if c == "node" or c in log.events or c in log.population]
    assert_as_documented(log, measure, data.draw(st.sampled_from(columns)), **rules)


@examples(60, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(log=logs(), cut=st.integers(1, 40))
@pytest.mark.slow
def test_a_cut_log_follows_the_same_rules(log: FailureLog, cut: int) -> None:
    for part in (log.between(since=at(cut)), log.between(until=at(cut))):
        for measure, per in product(("ttf", "ttr"), ("node", "system")):
            assert_as_documented(part, measure, per)


@pytest.mark.slow
@examples(60, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(log=logs())
def test_gaps_fill_the_time_watched(log: FailureLog) -> None:
    lives = log.ttf(per="node", first="always", zeros="keep", overlaps="merge")
    watched = {
        (m["system"], m["node"]): ((m["left"] - m["entered"]) / pd.Timedelta(hours=1), m)
        for m in log.population.to_dict("records")
    }
    for label, hours in zip(lives.groups, lives.total_time, strict=True):
        length, member = watched[label]
        mine = log.events[(log.events["system"] == label[0]) & (log.events["node"] == label[1])]
        if mine.empty or ((mine["start"] >= member["entered"]) & (mine["start"] <= member["left"])).all():
            assert hours == pytest.approx(length)


# ------------------------------------------------------------------- worked examples


def test_gaps_of_one_node() -> None:
    log = make_log([{"start": 10, "end": 12}, {"start": 40, "end": 41}])
    lives = log.ttf()
    assert list(lives.groups) == [("s", "n")]
    assert lives.durations.tolist() == [10, 30, 60]
    assert lives.observed.tolist() == [True, True, False]
    assert log.ttf(origin="repair").durations.tolist() == [10, 28, 59]
    assert log.ttf(censor=False).durations.tolist() == [10, 30]
    assert log.ttf(first="never").durations.tolist() == [30, 60]
    repairs = log.ttr()
    assert repairs.durations.tolist() == [2, 1]
    assert repairs.measure == "ttr"


def test_figure_4_1_pools_the_instants_of_all_nodes() -> None:
    log = make_log(
        [{"node": "1", "start": 10}, {"node": "2", "start": 25}, {"node": "1", "start": 60}, {"node": "2", "start": 60}]
    )
    lives = log.ttf(per="system")
    assert lives.durations.tolist() == [10, 15, 35, 40]
    assert lives.counts is not None
    assert lives.counts["zero_gaps"].tolist() == [1]
    assert log.ttf(per="system", zeros="keep").durations.tolist() == [10, 15, 35, 0, 40]


def test_labels_belong_to_their_lives_in_any_order_of_names() -> None:
    log = make_log([{"node": n, "start": s} for n, s in [("20", 20), ("b7", 40), ("3", 3), ("x", 50), ("100", 90)]])
    lives = log.ttf(censor=False)
    assert [node for _, node in lives.groups] == ["3", "20", "100", "b7", "x"]
    assert lives.durations.tolist() == [3, 20, 90, 40, 50]


def test_a_node_that_never_failed_is_one_censored_life() -> None:
    log = make_log([{"node": "1", "start": 10}], [{"node": "1"}, {"node": "2", "entered": 20}])
    quiet = log.ttf().group(("s", "2"))
    assert quiet.durations.tolist() == [80]
    assert quiet.observed.tolist() == [False]
    assert log.ttf(censor=False).group(("s", "2")).durations.size == 0


def test_unknown_entry_makes_the_first_gap_a_life_under_way() -> None:
    log = make_log(
        [{"node": "1", "start": 10}], [{"node": "1", "entered_known": False}, {"node": "2", "entered_known": False}]
    )
    lives = log.ttf()
    assert lives.durations.tolist() == [10, 90, 100]
    assert lives.stationary is not None
    assert lives.stationary.tolist() == [True, False, True]
    assert lives.n_stationary.tolist() == [1, 1]
    assert lives.from_age_known().durations.tolist() == [90]
    left_out = log.ttf(first="never")
    assert left_out.durations.tolist() == [90]
    assert left_out.counts is not None
    assert left_out.counts["first_gap_unknown"].tolist() == [1, 1]
    assert log.ttf(first="always").durations.tolist() == [10, 90, 100]
    assert log.ttf(first="always").stationary is None


def test_a_cut_does_not_make_running_nodes_new() -> None:
    log = make_log(
        [{"node": "1", "start": 10}, {"node": "1", "start": 60}, {"node": "2", "start": 70}],
        [{"node": "1"}, {"node": "2"}, {"node": "3", "entered": 50}],
    )
    part = log.between(since=at(40))
    assert part.population["entered_known"].tolist() == [False, False, True]
    lives = part.ttf()
    assert lives.durations.tolist() == [20, 40, 30, 30, 50]
    assert lives.stationary is not None
    assert lives.stationary.tolist() == [True, False, True, False, False]
    assert outages_of(part).hours.tolist() == [60, 60, 50]
    # with what is known from before the cut, the first life of node 1 enters at its age
    whole = log.ttf(since=at(40))
    assert whole.durations.tolist() == [50, 40, 70, 30, 50]
    assert whole.entry is not None
    assert whole.entry.tolist() == [30, 0, 40, 0, 0]
    assert whole.stationary is None


def test_what_is_unknown_at_a_cut_is_under_way_in_both_parts() -> None:
    log = make_log([{"start": 60}], [{"node": "n", "entered_known": False}])
    early, late = log.ttf(until=at(40)), log.ttf(since=at(40))
    assert (early.durations.tolist(), early.n_stationary.tolist()) == ([40], [1])
    assert (late.durations.tolist(), late.stationary.tolist()) == ([20, 40], [True, False])  # type: ignore[union-attr]
    assert late.entry is None


def test_causes_leave_out_lives_under_way() -> None:
    log = make_log([{"start": 10, "cause": "a"}, {"start": 30, "cause": "b"}], [{"node": "n", "entered_known": False}])
    lives = log.ttf(competing="cause")
    assert lives.durations.tolist() == [20, 70, 20, 70]
    assert lives.observed.tolist() == [False, False, True, False]
    assert any("1 time in progress" in note for note in lives.notes)


def test_without_a_failure_no_cause_has_one() -> None:
    lives = make_log([], [{"node": "n"}, {"node": "m"}]).ttf(competing="cause")
    assert lives.groups.get_level_values("cause").tolist() == ["unknown", "unknown"]
    assert lives.n_failures.tolist() == [0, 0]
    assert lives.durations.tolist() == [100, 100]


def test_overlapping_records_are_one_outage() -> None:
    log = make_log(
        [{"start": 10, "end": 30}, {"start": 20, "end": 25}, {"start": 30, "end": 31}, {"start": 30, "end": 35}]
    )
    lives = log.ttf()
    assert lives.durations.tolist() == [10, 20, 70]
    assert lives.counts is not None
    assert lives.counts["overlapping"].tolist() == [2]
    assert log.ttr().durations.tolist() == [20, 5]
    assert log.ttf(overlaps="keep").durations.tolist() == [10, 10, 10, 70]


def test_an_outage_going_on_at_the_start_is_no_failure_and_swallows_no_gap() -> None:
    log = make_log(
        [
            {"node": "1", "start": 10, "end": 11},
            {"node": "2", "start": 50, "end": 55, "start_cut": True},
            {"node": "1", "start": 80, "end": 81},
        ],
        [{"node": "1"}, {"node": "2", "entered": 50}],
    )
    assert log.ttf(per="system").durations.tolist() == [10, 70, 20]
    second = log.ttf().group(("s", "2"))
    assert (second.durations.tolist(), second.observed.tolist()) == ([50], [False])
    assert log.ttr().group(("s", "2")).observed.tolist() == [False]


def test_a_failure_during_a_cut_outage_belongs_to_it() -> None:
    log = make_log([{"start": 0, "end": 9, "start_cut": True}, {"start": 0, "end": 5}, {"start": 40, "end": 41}])
    assert log.ttf().durations.tolist() == [40, 60]


def test_a_gap_that_begins_at_an_unknown_repair_is_counted_not_guessed() -> None:
    log = make_log([{"start": 10}, {"start": 40, "end": 42}])
    lives = log.ttf(origin="repair")
    assert lives.durations.tolist() == [10, 58]
    assert lives.counts is not None
    assert lives.counts["repair_unknown"].tolist() == [1]


def test_events_without_a_node_count_for_the_system_only() -> None:
    log = make_log([{"node": "1", "start": 10}, {"node": None, "start": 30}], [{"node": "1"}])
    assert log.ttf(per="system").durations.tolist() == [10, 20, 70]
    lives = log.ttf()
    assert lives.durations.tolist() == [10, 90]
    assert any(note.startswith("events without") and note.endswith(": 1") for note in lives.notes)


def test_causes_of_lives_without_dates_compete():
    given = [
        {"node": "1", "duration": 5.0, "observed": True, "cause": "disk"},
        {"node": "2", "duration": 9.0, "observed": True, "cause": "fan"},
        {"node": "3", "duration": 7.0, "observed": False, "cause": None},
    ]
    log = make_log([], [{"node": n} for n in "123"], lifetimes=given)
    lives = log.ttf(per="cause")
    assert list(lives.groups) == ["disk", "fan"]
    assert sorted(zip(lives.group("disk").durations, lives.group("disk").observed, strict=True)) == [
        (5.0, True),
        (7.0, False),
        (9.0, False),
    ]
    assert lives.n_failures.tolist() == [1, 1]
    assert lives.total_time.tolist() == [21.0, 21.0]  # 5 + 9 + 7 hours, of which each cause has all
    with pytest.raises(rf.DataError, match="share the same hours"):
        lives.pooled()
    assert lives.take([0]).pooled().total_time.tolist() == log.ttf("all").total_time.tolist() == [21.0]
    assert log.ttf(per="system").n_failures.tolist() == [2]
    assert log.ttf().n_lives.tolist() == [1, 1, 1]


def test_only_groups_that_share_their_hours_are_not_pooled() -> None:
    log = rf.datasets.load("white")
    assert log.ttf("cause").shared
    with pytest.raises(rf.DataError, match="share the same hours"):
        log.ttf("cause").pooled()
    for lives in (log.ttf(), log.ttf("system"), log.ttr("cause")):
        assert not lives.shared
        assert lives.pooled().n_groups == 1


def test_lives_that_the_source_gives_whole() -> None:
    given = [
        {"node": "1", "duration": 5.0, "observed": True, "cage": "0"},
        {"node": "2", "duration": 0.0, "observed": True, "cage": "1"},
        {"node": "3", "duration": 7.0, "observed": False, "cage": "1"},
        {"node": "4", "duration": 0.0, "observed": True, "cage": None},  # in no cage
    ]
    log = make_log([], [{"node": n} for n in "1234"], lifetimes=given)
    lives = log.ttf(per="cage")
    assert list(lives.groups) == ["0", "1"]
    assert lives.durations.tolist() == [5, 7]
    assert lives.counts is not None
    assert lives.counts["zero_gaps"].tolist() == [0, 1]
    assert log.ttf(per="cage", censor=False, zeros="keep").durations.tolist() == [5, 0]
    with pytest.raises(rf.ArgumentError, match="complete lifetimes"):
        log.between(since="2001-01-02")


def test_an_empty_log_has_no_groups() -> None:
    for per, measure in product(("node", "system", "cause"), ("ttf", "ttr")):
        lives = getattr(make_log([]), measure)(per)
        assert (lives.n_groups, lives.durations.size, lives.total_time.size) == (0, 0, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"per": "rack"}, "no column 'rack'"),
        ({"per": "start"}, "no column 'start'"),
        ({"per": "entered"}, "no column 'entered'"),
        ({"origin": "birth"}, "failure, repair"),
        ({"first": "no"}, "known, always, never"),
        ({"overlaps": "drop"}, "merge, ends, keep"),
        ({"zeros": "drop"}, "apart, keep"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(rf.ArgumentError, match=message):
        make_log([{"start": 1}]).ttf(**arguments)


def test_lives_are_in_order_of_time_within_a_group() -> None:
    log = make_log([{"start": s} for s in (70, 10, 30)])
    assert np.cumsum(log.ttf().durations).tolist() == [10, 30, 70, 100]


def test_deriving_lives_leaves_the_log_as_it_was() -> None:
    log = make_log([{"start": 10, "end": 30}, {"start": 20, "end": 40, "end_cut": True}])
    before = log.events.copy(deep=True)
    log.ttr()
    log.between(since=at(15), until=at(35))
    pd.testing.assert_frame_equal(log.events, before)


def test_a_time_that_would_begin_after_its_end_is_counted() -> None:
    """On a clock that starts at repair, node b fails and is repaired while a is down: the system has one time less."""
    downs = [("a", 10, 100), ("b", 50, 60), ("c", 200, 210)]
    events = [{"node": node, "start": start, "end": end} for node, start, end in downs]
    lives = make_log(events, [{"node": node} for node in "abc"], window=(0, 1000)).ttf("system", origin="repair")
    assert lives.durations.tolist() == [10.0, 140.0, 790.0]
    assert lives.counts is not None
    assert lives.counts["negative_gaps"].tolist() == [1]
