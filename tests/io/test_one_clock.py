"""Times without a zone beside times with one: refused, or in the zone that the user gives; never in UTC unsaid."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import relfit as rf

ZONE = "Europe/Berlin"
WITH, BARE = "2024-07-01T10:00:00+02:00", "2024-07-01 12:00"  # two hours apart in Berlin
AWARE = pd.Timestamp("2024-07-01 10:00", tz=ZONE)
TYPED = pd.DataFrame({"node": ["a", "b"], "start": [AWARE, AWARE], "end": [pd.Timestamp(BARE)] * 2})
TABLES = {
    "typed": TYPED,
    "mixed, without a zone first": TYPED.assign(
        end=pd.Series([pd.Timestamp(BARE), pd.Timestamp(BARE, tz=ZONE)], dtype=object)
    ),
    "mixed, with a zone first": TYPED.assign(
        end=pd.Series([pd.Timestamp(BARE, tz=ZONE), pd.Timestamp(BARE)], dtype=object)
    ),
    "text": pd.DataFrame({"node": ["a", "b"], "start": [WITH, WITH], "end": [BARE, "2024-07-01T12:00:00+02:00"]}),
    "text beside typed": TYPED.assign(end=[BARE, BARE]),
    "days first": TYPED.assign(end=["13.07.2024 12:00"] * 2, start=[AWARE + pd.Timedelta("12D")] * 2),
}


def hours(log: rf.FailureLog) -> list[float]:
    return ((log.events["end"] - log.events["start"]).dt.total_seconds() / 3600.0).tolist()


@pytest.mark.parametrize("name", TABLES)
def test_times_without_a_zone_are_not_taken_as_utc_beside_others(name: str) -> None:
    with pytest.raises(rf.ReadError, match=r"name a zone .* and some of 'end' name none") as caught:
        rf.read(TABLES[name])
    assert caught.value.remedy.endswith('timezone="Europe/Berlin"')
    assert caught.value.in_options().endswith("--timezone Europe/Berlin")
    assert hours(rf.read(TABLES[name], timezone=ZONE)) == [2.0, 2.0]


def test_states_and_formats_keep_one_clock() -> None:
    states = pd.DataFrame({"node": ["a", "a"], "time": [WITH, BARE], "state": ["down", "up"]})
    with pytest.raises(rf.ReadError, match="some of 'time' name none"):
        rf.read(states)
    assert hours(rf.read(states, timezone=ZONE)) == [2.0]
    with pytest.raises(rf.ReadError, match="some of 'end' name none"):
        rf.read(TYPED.assign(end=["2024/07/01 12h00"] * 2), time_format="%Y/%m/%d %Hh%M")


def test_beside_utc_they_are_utc_with_a_note() -> None:
    start = "2024-07-01T10:00:00Z"
    log = rf.read(pd.DataFrame({"node": ["a", "b"], "start": [start, start], "end": [BARE, f"{BARE}:00+00:00"]}))
    assert hours(log) == [2.0, 2.0]
    assert "times of 'end' without a zone are taken as UTC, as the others are" in log.source.notes
    for alike in (TYPED.assign(start=pd.Timestamp("2024-07-01 10:00")), TYPED.assign(end=AWARE + pd.Timedelta("2h"))):
        log = rf.read(alike)
        assert hours(log) == [2.0, 2.0]
        assert not any("zone" in note for note in log.source.notes)


def test_jobs_keep_one_clock(tmp_path: Path) -> None:
    place = tmp_path / "jobs.csv"
    place.write_text(f"submit,start,end,nodes\n{WITH},{WITH},{BARE},1\n")
    with pytest.raises(rf.ReadError, match="some of 'end' name none"):
        rf.read_workload(place)
    assert rf.read_workload(place, timezone=ZONE).run_time.tolist() == [7200.0]


def test_the_end_of_an_outage_across_the_hour_that_occurs_twice() -> None:
    """Berlin has 02:00 to 03:00 twice on 2026-10-25: at 00:00 and at 01:00 UTC."""
    rows = [("a", "02:50", "02:10"), ("b", "02:50", "02:40"), ("c", "02:10", "02:40"), ("d", "00:50", "04:40")]
    turned = ("e", "05:00", "04:00")  # no hour that occurs twice: still wrong
    table = pd.DataFrame([*rows, turned], columns=["node", "start", "end"])
    table[["start", "end"]] = "2026-10-25 " + table[["start", "end"]]
    log = rf.read(table, timezone=ZONE)
    assert [round(60 * each) for each in hours(log.where(node=list("abc")))] == [20, 50, 30]
    assert hours(log.where(node="d")) == pytest.approx([4.0 + 50 / 60])
    assert log.rejected["line"].tolist() == [5]
    table["end"] = "2026-10-25T" + table["end"].str[11:] + "+02:00"  # says which of the two hours
    assert rf.read(table, timezone=ZONE).rejected["line"].tolist() == [1, 2, 5]


def test_states_of_the_night_in_which_clocks_go_back_are_in_the_order_of_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "states.csv"
    rows = ["n1,02:40,down", "n1,02:20,up", "n1,05:00,up", "n2,02:10,down", "n2,02:50,up", "n2,05:00,down"]
    lines = ["node,time,state", *(line.replace(",", ",2024-10-27 ", 1) for line in rows)]
    for ordered, ends in (
        (lines, ["00:40 01:20", "00:10 00:50"]),
        ([lines[0], *lines[:0:-1]], ["00:40 04:00", "00:10 00:50"]),
    ):
        path.write_text("\n".join(ordered) + "\n")
        events = rf.read(path, timezone="Europe/Berlin").events
        events = events[~events["end_cut"]].sort_values("node")
        assert [f"{row.start:%H:%M} {row.end:%H:%M}" for row in events.itertuples()] == ends
