"""Input that is easy to read wrongly without a word."""

from __future__ import annotations

import contextlib
import json

import pandas as pd
import pytest

import relfit as rf
from tests.io.made import fta, fta_row, good_files
from tests.site_logs import site_log


def table(tmp_path, text, name="log.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_ties_among_plain_durations_are_kept(tmp_path):
    assert len(rf.read(table(tmp_path, "hours,censored\n10,0\n10,0\n20,1\n")).lifetimes) == 3


def test_day_and_month_are_read_one_way_in_a_column(tmp_path):
    log = rf.read(table(tmp_path, "node,start\na,13/02/2024\nb,02/03/2024\n"))
    assert log.events["start"].dt.month.tolist() == [2, 3]
    log = rf.read(table(tmp_path, "node,start\na,02/13/2024\nb,02/03/2024\n"))
    assert log.events["start"].dt.day.tolist() == [13, 3]
    log = rf.read(table(tmp_path, "node,start\na,13/02/2024\nb,02/13/2024\n"))
    assert log.rejected["line"].tolist() == [3]


@pytest.mark.parametrize("stop", [99_999_999_999, 9_300_000_000])
def test_fta_stop_beyond_nanoseconds_is_rejected(tmp_path, stop):
    path = table(tmp_path, fta(fta_row(0, 3, 0, 10**9, stop), fta_row(1, 3, 1, 1_000_003_600, 1_000_010_000)))
    assert rf.read(path).rejected["line"].tolist() == [2]


@pytest.mark.parametrize(
    ("time", "zone"), [("2262-04-11 23:47:00", "America/Denver"), ("1677-09-21 00:12:44", "Asia/Tokyo")]
)
def test_times_at_the_edge_do_not_wrap(tmp_path, time, zone):
    log = rf.read(table(tmp_path, f"node,start\na,2024-01-01\nb,{time}\n"), timezone=zone)
    assert log.rejected["line"].tolist() == [3]


def test_an_unclosed_quote_does_not_swallow_the_rest(tmp_path):
    rest = "".join(f"b,2024-02-{day:02d},x\n" for day in range(1, 20))
    assert rf.read(table(tmp_path, 'node,start,note\na,2024-01-01,"oops\n' + rest)).source.rows_read == 20


def test_fta_repeated_rows_are_rejected(tmp_path):
    row = fta_row(0, 3, 0, 10**9, 1_000_003_600)
    assert len(rf.read(table(tmp_path, fta(row, row, fta_row(1, 3, 1, 1_000_003_600, 1_000_010_000)))).rejected) == 1


def test_reversed_window_is_an_error(tmp_path):
    with pytest.raises(rf.RelfitError):
        rf.read(table(tmp_path, "node,start\na,2024-01-05\n"), window_start="2024-02-01", window_end="2024-01-01")


def test_titan_double_hour_is_decided_by_duration():
    log = site_log("titan")
    person = log.population.set_index("node").loc["0323812008761"]
    assert (person["left"] - person["entered"]).total_seconds() == 88_096_065


def test_titan_note_does_not_call_years_an_inventory_interval():
    notes = site_log("titan").source.notes
    assert not any("by an inventory interval" in note for note in notes)


# ------------------------------------------------- errors of relfit, and no others


@pytest.mark.parametrize("name", ["line", "start_cut", "end_cut", "entered", "left", "declared", "entered_known"])
def test_columns_named_like_our_own(tmp_path, name):
    log = rf.read(table(tmp_path, f"node,start,{name}\na,2024-01-01,1\nb,2024-01-02,1\n"))
    json.dumps(log.info(), default=str)
    log.ttf()


@pytest.mark.parametrize(
    "text", ["node,start,duration\na,2100-01-01,2400000\nb,2024-01-01,1\n", "node,duration\na,2000000\na,2000001\n"]
)
def test_long_durations(tmp_path, text):
    with contextlib.suppress(rf.RelfitError):
        rf.read(table(tmp_path, text)).ttf()


def test_lone_surrogates_can_be_kept(tmp_path):
    log = rf.read(table(tmp_path, '{"node":"\\ud800","start":"2024-01-01"}\n'))
    assert rf.read(rf.write(log, tmp_path / "x.parquet")).events["node"].astype(str).tolist() == ["?"]


@pytest.mark.parametrize("name", ["lanl", "fta", "titan"])
def test_unknown_zone(tmp_path, name):
    with pytest.raises(rf.RelfitError):
        rf.read(good_files(tmp_path)[name], timezone="Mars/Olympus")


@pytest.mark.parametrize("arguments", [{"path": None}, {"mapping": [1]}])
def test_wrong_types(tmp_path, arguments):
    with pytest.raises(rf.RelfitError):
        rf.read(**{"path": table(tmp_path, "node,start\na,2024-01-05\n"), **arguments})


def test_parquet_copy_has_ordinary_permissions(tmp_path):
    plain = table(tmp_path, "node,start\na,2024-01-05\n")
    copy = rf.write(rf.read(plain), tmp_path / "x.parquet")
    assert copy.stat().st_mode == plain.stat().st_mode


def test_a_row_of_delimiters_is_counted(tmp_path):
    assert rf.read(table(tmp_path, "node,start,c\n,,\na,2024-01-01,x\n")).source.rows_read == 2


def test_lanl_system_14_nodes_are_named():
    log = site_log("lanl")
    assert (log.population["system"].astype(str) == "14").sum() == 128


def test_lanl_system_17_is_a_system():
    assert "17" in site_log("lanl").systems


def test_a_population_can_be_a_table_in_memory(tmp_path):
    people = pd.DataFrame({"node": ["a", "b"], "rack": ["r1", "r2"]})
    log = rf.read(table(tmp_path, "node,start\na,2024-01-05\na,2024-01-07\n"), population=people)
    assert log.population["rack"].astype(str).tolist() == ["r1", "r2"]


@pytest.mark.parametrize("factor", [1, 10**3, 10**6, 10**9])
def test_unix_times_of_every_unit(tmp_path, factor):
    log = rf.read(table(tmp_path, f"time,node\n{1_700_000_000 * factor},x\n{1_700_003_600 * factor},x\n"))
    assert log.ttf().durations.tolist() == [1.0]


DAYS = """node,start,end
a,2023-12-31,2024-01-01
a,2024-01-05,2024-01-06
b,2024-01-10,2024-01-11
b,2024-01-12,2024-01-13
"""


def test_events_outside_the_declared_window_are_counted_with_the_reason(tmp_path):
    log = rf.read(table(tmp_path, DAYS), window_start="2024-01-01", window_end="2024-01-09")
    assert len(log) == 1
    assert log.info()["left_out"] == {"before the declared start": 1, "after the declared end": 2}
    assert repr(log).endswith(
        "4 kept, 0 rejected, 1 event left out (before the declared start), 2 events left out (after the declared end)"
    )
    assert "1 event lies before the declared start 2024-01-01 00:00: left out" in log.source.notes
    assert "2 events lie after the declared end 2024-01-09 00:00: left out" in log.source.notes
    copy = rf.read(rf.write(log, tmp_path / "log.parquet"))
    assert copy.source == log.source
    assert repr(log.where(node="a")).endswith("(after the declared end)")
    assert rf.read(table(tmp_path, DAYS)).where(node="a").source.omissions == ["2 events not selected (node=a)"]


@pytest.mark.parametrize(
    ("end", "hint"),
    [
        ("2024-01-10", "; the end is excluded: give 2024-01-11 to include that day"),
        ("2024-01-10 00:00", ""),
        ("2024-01-11", ""),
    ],
)
def test_a_last_day_with_records_is_told_to_be_excluded(tmp_path, end, hint):
    rows = DAYS.replace("b,2024-01-10", "b,2024-01-10 07:00")
    notes = rf.read(table(tmp_path, rows), window_end=end, timezone="America/Denver").source.notes
    number = "1 event lies" if end == "2024-01-11" else "2 events lie"
    assert f"{number} after the declared end {end[:10]} 00:00 America/Denver: left out{hint}" in notes


def test_no_log_covers_what_is_still_to_come(tmp_path):
    later = pd.Timestamp.now("UTC") + pd.Timedelta("400D")
    with pytest.raises(rf.ArgumentError, match=rf"ends on {later:%Y-%m-%d}, which is still to come.*window_end"):
        rf.read(table(tmp_path, DAYS), window_end=f"{later:%Y-%m-%d}")
    rows = f"node,start,end\na,{later:%Y-%m-%d},{later:%Y-%m-%d}\n"  # simulated: its records are there
    end = f"{later + pd.Timedelta('2D'):%Y-%m-%d}"
    assert f"{rf.read(table(tmp_path, rows), window_end=end).window.end:%Y-%m-%d}" == end


def test_events_of_nodes_that_had_left_are_counted(tmp_path):
    people = table(tmp_path, "node,entered,left\na,2023-01-01,2023-06-01\nb,2024-01-01,2025-01-01\n", "nodes.csv")
    log = rf.read(table(tmp_path, DAYS), population=people, window_start="2024-01-01", window_end="2024-01-31")
    assert log.source.left_out == (
        ("before the declared start", 1),
        ("of nodes that were not there within the window", 1),
    )


def test_left_out_records_of_several_files_are_counted_together(tmp_path):
    for name in ("a.csv", "b.csv"):
        table(tmp_path, DAYS + f"{name},2024-01-03,2024-01-04\n", name)
    log = rf.read(str(tmp_path / "*.csv"), window_start="2024-01-01", window_end="2024-01-31")
    assert len(log) == 5
    assert dict(log.source.left_out) == {"before the declared start": 2, "in more than one log": 3}


def test_durations_in_the_wrong_unit_do_not_end_a_log_in_the_future(tmp_path):
    """Repairs of a few hours, written in seconds and read as hours, would end the log decades ahead."""
    path = tmp_path / "seconds.csv"
    rows = [f"2024-{1 + i % 12:02d}-03 04:00,{9000 + 1000 * i},n{i % 7}" for i in range(60)]
    path.write_text("\n".join(["start,duration,node", *rows]) + "\n")
    with pytest.raises(rf.ReadError, match="by the durations in hours the log ends on 20"):
        rf.read(path)
    assert rf.read(path, duration_unit="seconds").window.end.year == 2024
