"""Values that were once taken for something else, one test a fault."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import relfit as rf
from relfit.io.parsing import opening
from relfit.io.parsing.rows import as_numbers
from tests.io.made import fta, fta_row, good_files, titan


def write(tmp_path, data: str | bytes, name: str = "log.csv"):
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def starts(log: rf.FailureLog) -> list[str]:
    return [time.isoformat() for time in log.events["start"]]


# ------------------------------------------------------------------- durations


def test_a_decimal_comma_is_no_nanosecond(tmp_path):
    path = write(tmp_path, "node;duration;observed\na;1,500;1\nb;2;1\n")  # or one thousand and a half
    log = rf.read(path)
    (reason,) = log.rejected["reason"]
    assert reason.startswith("'1,500' is not a finite duration; if the comma separates thousands, write it without;")
    assert reason.endswith('if it is the decimal sign, --column decimal="," reads it as a number')
    assert rf.read(path, decimal=",").lifetimes["duration"].tolist() == [1.5, 2.0]


def test_a_decimal_comma_that_can_be_nothing_else_is_taken(tmp_path):
    path = write(tmp_path, "node;duration;observed\na;1,5;1\nb;2;1\n")
    assert rf.read(path).lifetimes["duration"].tolist() == [1.5, 2.0]
    assert "duration from 'duration' (as '1,5', a decimal comma)" in " ".join(rf.read(path).source.notes)
    mixed = write(tmp_path, "node;duration;observed\na;1,5;1\nb;2.5;1\n")
    assert len(rf.read(mixed).rejected) == 1


def test_points_before_a_decimal_comma_separate_thousands(tmp_path):
    path = write(tmp_path, "node;duration\na;1,5\nb;2,5\nc;1.234,5\nd;1.234.567,5h\n")
    assert rf.read(path, decimal=",").lifetimes["duration"].tolist() == [1.5, 2.5, 1234.5, 1234567.5]
    first = write(tmp_path, "node;duration\na;1,5\nb;2,5\nc;1.234,5\n")
    assert rf.read(first).lifetimes["duration"].tolist() == [1.5, 2.5, 1234.5]


@pytest.mark.parametrize("text", ["1.5", "0.500", "12.34,5", "1,234.5", "1.234.56"])
def test_other_points_beside_a_decimal_comma_are_refused_with_the_reason(tmp_path, text):
    log = rf.read(write(tmp_path, f"node;duration\na;1,5\nb;{text}\n"), decimal=",")
    assert log.lifetimes["duration"].tolist() == [1.5]
    (reason,) = log.rejected["reason"]
    assert "points separate groups of three digits" in reason
    assert "--column" not in reason


def test_commas_that_can_only_separate_thousands_are_no_decimal_commas(tmp_path):
    log = rf.read(write(tmp_path, "node;duration\na;2\nb;1,234.5\nc;1,234,567\n"))
    assert [reason.partition("; ")[2] for reason in log.rejected["reason"]] == ["write thousands without commas"] * 2


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("90min", 1.5),
        ("1 day 02:00:00", 26.0),
        ("2-03:00:00", 51.0),
        ("2400000h", 2.4e6),
        ("1h 30m", 1.5),
        ("P1D", None),
        ("10:30", None),
        ("1e400", None),
        ("nan", None),
        ("12 parsecs", None),
    ],
)
def test_durations_in_words(tmp_path, text, hours):
    log = rf.read(write(tmp_path, f"node,duration\na,1\nb,{text}\n"))
    expected = [1.0] if hours is None else [1.0, hours]
    assert log.lifetimes["duration"].tolist() == pytest.approx(expected)
    assert len(log.rejected) == (hours is None)


# ----------------------------------------------------------------------- dates


@pytest.mark.parametrize(
    "text",
    [
        "05/02/24",
        "10:30",
        "now",
        "today",
        "2024-03-01 10:00 EST",
        "2024-03-01 10:00 CET",
        "2001",
        "12",
        "2024-02-30",
        "31/31/2024",
    ],
)
def test_no_time_is_guessed(tmp_path, text):
    log = rf.read(write(tmp_path, f"node,start\na,2024-03-01 10:00\nb,{text}\n"))
    assert log.rejected["line"].tolist() == [3]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-01 10:00z", "2024-03-01T10:00:00+00:00"),
        ("2024-03-01 10:00:00 UTC", "2024-03-01T10:00:00+00:00"),
        ("2024-03-01T10:00 GMT", "2024-03-01T10:00:00+00:00"),
        ("2024-03-01 10:00+05", "2024-03-01T05:00:00+00:00"),
        ("2024-03-01 10:00 -0330", "2024-03-01T13:30:00+00:00"),
        ("2024-03-01T10:00:00.123456789Z", "2024-03-01T10:00:00.123456789+00:00"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00+00:00"),
        ("1 Mar 2024 10:00:00", "2024-03-01T10:00:00+00:00"),
        ("Fri Mar  1 10:00:00 2024", "2024-03-01T10:00:00+00:00"),
        ("Fri Mar  1 10:00:00 UTC 2024", "2024-03-01T10:00:00+00:00"),
        ("March 1, 2024 1:05 PM", "2024-03-01T13:05:00+00:00"),
        ("202403011000", "2024-03-01T10:00:00+00:00"),
        ("20240301", "2024-03-01T00:00:00+00:00"),
    ],
)
def test_one_spelling_among_others_is_read_and_spoils_nothing(tmp_path, text, expected):
    log = rf.read(write(tmp_path, f'node,start\na,2024-04-01 10:00\nb,"{text}"\nc,2024-04-02\n'), timezone="UTC")
    assert starts(log) == ["2024-04-01T10:00:00+00:00", pd.Timestamp(expected).isoformat(), "2024-04-02T00:00:00+00:00"]


def test_days_and_months_have_one_order_in_a_file(tmp_path):
    log = rf.read(write(tmp_path, "node,start,end\na,02/03/2024,13/03/2024\nb,04/05/2024,05/05/2024\n"))
    assert starts(log) == ["2024-03-02T00:00:00+00:00", "2024-05-04T00:00:00+00:00"]
    assert "dates such as 13/03/2024 have the day first" in log.source.notes
    people = write(tmp_path, "node,installed\na,02/01/2024\nb,03/01/2024\n", "nodes.csv")
    listed = rf.read(tmp_path / "log.csv", population=people)
    assert listed.population["entered"].dt.month.tolist() == [1, 1]


def test_dates_that_could_be_exchanged_are_asked_about(tmp_path):
    path = write(tmp_path, "node,start\na,02/03/2024\nb,04/05/2024\n")
    with pytest.raises(rf.ReadError, match="nothing tells whether days or months come first") as error:
        rf.read(path)
    assert "day_first=true" in error.value.remedy
    assert starts(rf.read(path, day_first=True))[0] == "2024-03-02T00:00:00+00:00"
    assert starts(rf.read(path, day_first=False))[0] == "2024-02-03T00:00:00+00:00"


def test_digits_without_separators_are_dates_or_epochs_as_a_column(tmp_path):
    log = rf.read(write(tmp_path, "node,start\na,202401011030\nb,20240102\n"))
    assert starts(log) == ["2024-01-01T10:30:00+00:00", "2024-01-02T00:00:00+00:00"]


def test_seconds_and_milliseconds_are_not_mixed(tmp_path):
    log = rf.read(write(tmp_path, "node,start\na,1700000000\nb,1700003600\nc,1700000000000\n"))
    assert log.rejected["line"].tolist() == [4]


def test_times_since_a_start(tmp_path):
    path = write(tmp_path, "node,start,end\na,0.5,1\nb,48,49.25\n")
    log = rf.read(path, time_origin="2024-01-01", time_unit="hours")
    assert log.events["end"].iloc[1] == pd.Timestamp("2024-01-03 01:15", tz="UTC")
    assert starts(rf.read(path, time_origin="2024-01-01", time_unit="days"))[0] == "2024-01-01T12:00:00+00:00"


def test_centuries_are_refused_with_a_reason(tmp_path):
    with pytest.raises(rf.ReadError, match="longer than 290 years"):
        rf.read(write(tmp_path, "node,start\na,1801-01-01\nb,2249-01-01\n"))


# --------------------------------------------------------------------- numbers


@pytest.mark.parametrize("cell", ["3e2500000000", "9" * 5000, "1e-99999999999", "0x1p999999999"])
def test_no_number_kills_the_process(tmp_path, cell):
    log = rf.read(write(tmp_path, f"node,start,n\na,2024-01-01,{cell}\nb,2024-01-02,2\n"))
    assert len(log) == 2
    assert log.events["n"].astype(str).tolist()[0] == cell
    with pytest.raises(rf.ReadError):
        rf.read(write(tmp_path, f"node,start\na,{cell}\n"))


def test_names_of_digits_are_not_rounded_together(tmp_path):
    log = rf.read(
        write(tmp_path, "node,start,id\na,2024-01-01,12345678901234567890\nb,2024-01-02,12345678901234567891\n")
    )
    assert log.events["id"].nunique() == 2


# ------------------------------------------------------------------ compression


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
def test_every_stream_is_read_or_the_file_is_damaged(tmp_path, pack):
    one = pack(b"node,start\n" + b"".join(b"a,2024-01-01 00:%02d\n" % i for i in range(60)))
    two = pack(b"".join(b"b,2024-01-01 00:%02d\n" % i for i in range(60)))
    assert len(rf.read(write(tmp_path, one + two))) == 120
    damaged = bytearray(two)
    damaged[len(two) // 2] ^= 0xFF
    for tail in (bytes(damaged), two[:-9], b"garbage"):
        with pytest.raises(rf.ReadError, match="cut short or damaged"):
            rf.read(write(tmp_path, one + tail))


def test_a_zip_of_one_file(tmp_path):
    path = tmp_path / "log.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("log.csv", "node,start\na,2024-01-01\n")
    log = rf.read(path)
    assert len(log) == 1
    assert len(log.source.sha256[0]) == 64
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("other.csv", "node,start\nb,2024-01-01\n")
    with pytest.raises(rf.ReadError, match="holds 2 files"):
        rf.read(path, format="table")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
@pytest.mark.slow
def test_bombs_stop_at_a_limit(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(opening, "_ALWAYS", 1 << 20)
    monkeypatch.setattr(opening, "_SUSPICIOUS", 50)
    bomb = write(tmp_path, pack(b"node,start\n" + b"a,2024-01-01\n" * 400_000))
    with pytest.raises(rf.ReadError, match="expands to more than") as error:
        rf.read(bomb)
    assert "max_size" in error.value.remedy
    assert rf.read(bomb, max_size="1GB").source.rows_read == 400_000
    with pytest.raises(rf.ReadError, match="expands to more than"):
        rf.read(bomb, max_size="2MB")


def test_devices_are_no_files():
    with pytest.raises(rf.ReadError, match="a device"):
        rf.read("/dev/zero")


def test_too_many_rows_are_refused_before_they_are_read(tmp_path):
    path = tmp_path / "x.parquet"
    many = pa.DictionaryArray.from_arrays(pa.array(np.zeros(2_000_000, dtype=np.int8)), ["a"])
    parquet.write_table(pa.table({"node": many, "start": many}), path)
    with pytest.raises(rf.ReadError, match="2,000,000 rows"):
        rf.read(path, max_size="100MB")


# ---------------------------------------------------------------------- Parquet


def test_an_index_with_a_name_is_a_column(tmp_path):
    frame = pd.DataFrame(
        {"start": pd.to_datetime(["2024-01-01", "2024-01-02"])}, index=pd.Index(["a", "b"], name="node")
    )
    frame.to_parquet(tmp_path / "x.parquet")
    assert rf.read(tmp_path / "x.parquet").n_nodes == 2
    assert rf.read(frame).n_nodes == 2


def test_text_that_is_no_text_is_damage(tmp_path):
    names = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 1, 2], pa.int32()).buffers()[1], pa.py_buffer(b"a\xff")]
    )
    table = pa.table({"node": ["a", "b"], "start": pd.to_datetime(["2024-01-01", "2024-01-02"]), "cause": names})
    parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(rf.ReadError, match="the Parquet file is damaged"):
        rf.read(tmp_path / "x.parquet")


def test_an_interval_without_a_platform_is_refused(tmp_path):
    rows = ["0\t0\t3\t7\tn3\t0\t1000000000\t1000003600\tNULL", "1\t0\t4\t\tn4\t0\t1000000000\t1000020000\tNULL"]
    head = "# event_id component_id node_id platform_id node_name event_type event_start_time event_stop_time"
    (tmp_path / "event_trace.tab").write_text("\n".join([f"{head} event_end_reason", *rows, ""]))
    log = rf.read(tmp_path / "event_trace.tab")
    assert len(log) == 1
    assert log.rejected["line"].tolist() == [3]


def test_damaged_pandas_metadata_and_odd_columns(tmp_path):
    times = pa.array(pd.to_datetime(["2024-01-01", "2024-01-02"]))
    table = pa.table({"node": ["a", "b"], "start": times, "odd\x00 näme": [[1], None], "blob": [b"\xff", b"a"]})
    parquet.write_table(table.replace_schema_metadata({"pandas": "{"}), tmp_path / "x.parquet")
    log = rf.read(tmp_path / "x.parquet")
    assert len(log) == 2
    assert log.events["blob"].astype(str).tolist() == ["ÿ", "a"]
    parquet.write_table(pa.table([["a"], ["b"], times[:1]], names=["node", "node", "start"]), tmp_path / "x.parquet")
    with pytest.raises(rf.ReadError, match="two columns are called 'node'"):
        rf.read(tmp_path / "x.parquet")


def test_typed_columns_stay_typed(tmp_path):
    frame = pd.DataFrame(
        {
            "node": [1, 2, None],
            "start": pd.to_datetime(["2024-01-01 00:00:00.000000001", "2024-01-02", "2024-01-03"], format="ISO8601"),
            "duration": pd.to_timedelta(["1h", "2h", None]),
            "flag": [True, False, True],
            "level": [1.5, 2.5, 3.0],
        }
    )
    frame.to_parquet(tmp_path / "x.parquet")
    for log in (rf.read(tmp_path / "x.parquet", nodeless="system"), rf.read(frame, nodeless="system")):
        assert log.events["start"].tolist() == frame["start"].dt.tz_localize("UTC").tolist()
        assert log.events["node"].astype(object).tolist()[:2] == ["1", "2"]
        assert (log.events["end"] - log.events["start"]).dt.total_seconds().tolist()[:2] == [3600, 7200]
        assert log.events["flag"].tolist() == [True, False, True]
        assert log.events["level"].tolist() == [1.5, 2.5, 3.0]


# ----------------------------------------------------------------- rows and quotes


@pytest.mark.parametrize(
    ("text", "kept", "refused"),
    [
        ('node,"start\ntime"\na,2024-01-01\nb,2024-01-02\n', 2, 0),
        ('node,"start\ntime"\na,2024-01-01\n"b\nc",2024-01-02\n"d\ne",2024-01-03,x\n', 2, 2),
        ('no"de,start\nnode,start\na,2024-01-01\n"b\nc",2024-01-02,x\n', 1, 2),
    ],
)
def test_a_header_of_several_lines(tmp_path, text, kept, refused):
    path = tmp_path / "log.csv"
    path.write_text(text)
    log = rf.read(path, start="start time" if '"start' in text else "start")
    assert (len(log), len(log.rejected)) == (kept, refused)
    assert log.source.rows_read == log.source.rows_kept + refused


def test_a_stray_quote_refuses_its_own_line(tmp_path):
    rows = [f"n{i},2024-01-01 00:00:{i % 60:02d}.{i:06d},x" for i in range(3000)]
    rows[1234] = 'n1234,2024-01-01,5" disk'
    rows[2000] = 'n2000,2024-01-01 01:02:03,"two\nlines, and ""more"""'
    log = rf.read(write(tmp_path, "node,start,note\n" + "\n".join(rows) + "\n"))
    assert log.rejected[["line", "text"]].to_numpy().tolist() == [[1236, 'n1234,2024-01-01,5" disk']]
    assert log.source.rows_read == 3000
    told = log.events.set_index("line").loc[2002, "note"]
    assert told == 'two\nlines, and "more"'
    assert log.events["line"].iloc[-1] == 3002  # the row of two lines moves those behind it


def test_refused_rows_are_found_again_by_their_line(tmp_path):
    text = "node,start\n\na,2024-01-01\n   \nb,never\nc\n\nd,2024-01-02\n"
    log = rf.read(write(tmp_path, text))
    assert log.rejected[["line", "text"]].to_numpy().tolist() == [[5, "b,never"], [6, "c"]]
    assert log.events["line"].tolist() == [3, 8]


def test_numbers_of_very_many_digits():
    digits = "1" * 400
    assert as_numbers([f"0.{digits}", f"0{digits[:300]}", "7", f"0.{digits}1", f"0{digits}"]).tolist() == pytest.approx(
        [1 / 9, float(digits[:300]), 7.0, np.nan, np.nan], nan_ok=True
    )
    assert as_numbers([f"0.{digits[:-2]}", "7"]).tolist() == pytest.approx([1 / 9, 7.0])


@pytest.mark.slow
def test_wide_tables(tmp_path):
    names = ",".join(f"c{i}" for i in range(2000))
    row = ",".join("1" * 2000)
    log = rf.read(write(tmp_path, f"node,start,{names}\na,2024-01-01,{row}\nb,2024-01-02,{row}\n"))
    assert len(log.attributes) == 2000


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16", "utf-8-sig"])
def test_windows_text(tmp_path, encoding):
    log = rf.read(write(tmp_path, "node,start\r\nzürich,2024-01-01\r\nb\x00c,2024-01-02\r\n".encode(encoding)))
    assert log.events["node"].astype(str).tolist() == ["zürich", "b\x00c"]


# -------------------------------------------------------------- what is told and asked


def test_the_note_shows_an_example_of_each_column_and_how_to_change_it(tmp_path):
    log = rf.read(write(tmp_path, "host,begin,why\nn7,2024-01-01 10:00,disk\n"))
    assert log.source.notes[0] == (
        "columns: node from 'host' (as 'n7'), start from 'begin' (as '2024-01-01 10:00'); none for end, cause; "
        "change one with --column node=NAME"
    )


def test_a_guess_can_be_switched_off(tmp_path):
    path = write(tmp_path, "node,start,cause\na,2024-01-01,7\n")
    assert rf.read(path).events["cause"].astype(str).tolist() == ["7"]
    log = rf.read(path, cause="")
    assert log.events["cause"].isna().all()
    assert log.events["cause_"].tolist() == [7]


def test_calm_days_are_no_failures(tmp_path):
    rows = "".join(f"2024-01-{day:02d},n{n},{int(day == 9 and n == 1)}\n" for day in range(1, 29) for n in range(3))
    path = write(tmp_path, "date,node,failure\n" + rows)
    with pytest.raises(rf.ReadError, match="'failure' says that 83 of 84 rows are not failures") as error:
        rf.read(path)
    assert "format=backblaze" in error.value.remedy
    assert len(rf.read(path, observed="")) == 84


def test_rows_of_states_become_outages(tmp_path):
    rows = [
        "time,node,state",
        "2024-01-01 00:00,a,UP",
        "2024-01-01 01:00,a,DOWN",
        "2024-01-01 01:30,a,DOWN",
        "2024-01-01 02:00,b,UP",
        "2024-01-01 03:00,a,UP",
        "2024-01-01 05:00,b,DOWN",
        "2024-01-01 06:00,c,UP",
    ]
    log = rf.read(write(tmp_path, "\n".join(rows) + "\n"))
    assert log.events[["node", "line"]].astype(str).to_numpy().tolist() == [["a", "3"], ["b", "7"]]
    assert ((log.events["end"] - log.events["start"]).dt.total_seconds() / 3600).tolist() == [2.0, 1.0]
    assert log.events["end_cut"].tolist() == [False, True]
    assert log.n_nodes == 3
    assert (log.source.rows_read, log.source.rows_kept) == (7, 7)


def test_a_json_array_and_a_frame_are_read_alike(tmp_path):
    frame = pd.DataFrame({"node": ["a", "b"], "start": ["2024-01-01", "2024-01-02"], "n": [1, 2]})
    path = write(
        tmp_path, '[{"node": "a", "start": "2024-01-01", "n": 1},\n 7, {"node": "b", "start": "2024-01-02", "n": 2}]'
    )
    log = rf.read(path)
    pd.testing.assert_frame_equal(log.events.drop(columns="line"), rf.read(frame).events.drop(columns="line"))
    assert log.rejected[["line", "reason"]].to_numpy().tolist() == [[2, "not a JSON object"]]
    assert (log.source.rows_read, log.source.rows_kept) == (3, 2)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 3000 + "1" + "}" * 3000, '[{"node":"a","start":' + "9" * 5000 + "}]"]
)
def test_json_without_end(tmp_path, text):
    with pytest.raises(rf.RelfitError):
        rf.read(write(tmp_path, text))


# ---------------------------------------------------------------- nobody leaves before coming


def test_a_gpu_removed_before_it_was_inserted_is_refused(tmp_path):
    good = "A1,c11-2c1s4n1,2014-01-01 10:00:00,2014-02-01 10:00:00,2678400,TRUE,"
    bad = "B2,c0-0c0s0n0,2014-01-01 10:00:00,2009-08-01 20:07:33,176018853,FALSE,"
    log = rf.read(write(tmp_path, titan(good, bad)))
    assert log.rejected[["line", "column", "reason"]].to_numpy().tolist() == [
        [3, "remove", "removed before it was inserted"]
    ]
    assert (log.population["left"] >= log.population["entered"]).all()


@pytest.mark.parametrize("window", [{"window_end": "2023-12-31"}, {"window_start": "2025-01-01"}])
def test_a_window_that_ends_before_the_first_record_is_refused(tmp_path, window):
    path = write(tmp_path, "node,start\na,2024-01-01\nb,2024-01-02\n")
    with pytest.raises(rf.ArgumentError, match="before it starts"):
        rf.read(path, **window)


def test_nodes_listed_outside_of_the_window(tmp_path):
    path = write(tmp_path, "node,start\na,2024-01-01\na,2024-01-09\n")
    people = write(tmp_path, "node,entered,left\na,2023-01-01,\nnew,2024-03-01,\nold,2022-01-01,2022-06-01\n", "people")
    log = rf.read(path, population=people)
    assert log.window.end == pd.Timestamp("2024-01-09", tz="UTC")  # who came later does not say that anybody watched
    assert log.population["node"].tolist() == ["a", "old"]
    log = rf.read(path, population=people, window_start="2024-01-01", window_end="2024-02-01")
    assert log.population["node"].tolist() == ["a"]
    assert "2 nodes of the list were not there within the window" in log.source.notes
    assert (log.population["left"] >= log.population["entered"]).all()


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=; ", "\nsep=;"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_line_of_spreadsheets_that_names_the_separator_is_no_header(tmp_path, first, encoding):
    text = f"{first}\nnode;start;cause\na,b,c;2024-03-01;x\nc;never;y\n"
    log = rf.read(write(tmp_path, text.encode(encoding)))
    assert log.events["node"].tolist() == ["a,b,c"]
    assert log.rejected["line"].tolist() == [first.count("\n") + 4]
    assert "fields stand between ';', as the first line says" in log.source.notes


def test_that_line_before_a_format_with_columns_of_its_own(tmp_path):
    path = good_files(tmp_path)["titan"]
    plain = rf.read(path)
    path.write_text("sep=,\n" + path.read_text())
    log = rf.read(path)
    assert log.source.format == "titan"
    assert log.lifetimes["duration"].tolist() == plain.lifetimes["duration"].tolist()


def test_a_blank_line_before_a_header_of_another_kind(tmp_path):
    rows = fta_row(0, 3, 0, 1_000_000_000, 1_000_003_600), fta_row(1, 3, 1, 1_000_003_600, 1_000_020_000)
    log = rf.read(write(tmp_path, fta("   ", *rows)))
    assert log.events["line"].tolist() == [3]


def test_a_quote_that_is_not_closed_beside_another_in_a_field(tmp_path):
    rows = 'n1,2024-01-01,x\nn"2,2024-01-02,"c\nn3,2024-01-03,d" e"x\nn4,2024-01-04,z\n'
    log = rf.read(write(tmp_path, "node,start,note\n" + rows))
    assert log.events["node"].tolist() == ["n1", "n3", "n4"]
    assert log.rejected[["line", "text"]].to_numpy().tolist() == [[3, 'n"2,2024-01-02,"c']]
    assert log.source.rows_read == 4


def test_machine_events_as_csv_with_a_header(tmp_path):
    path = write(
        tmp_path,
        "time,type,machine_id,switch_id\n0,1,5,a\n600000000,2,5,a\n900000000,ADD,5,a\n950000000,3,5,a\n",
    )
    log = rf.read(path)
    assert log.source.format == "machine_events"
    assert [end - start for start, end in zip(log.events["start"], log.events["end"], strict=True)] == [
        pd.Timedelta("5min")
    ]
    assert (log.source.rows_read, len(log.rejected)) == (4, 0)


@pytest.mark.parametrize(
    "text",
    [
        '{"time":"0","type":2,"collection_id":"7","machine_id":"5"}\n' * 2,
        "time,type,collection_id,machine_id\n0,2,7,5\n600000000,3,7,5\n",
    ],
)
def test_events_of_tasks_are_none_of_machines(tmp_path, text):
    try:
        found = rf.read(write(tmp_path, text)).source.format
    except rf.ReadError:
        found = "none"
    assert found != "machine_events"


def test_a_text_of_more_rows_than_memory_holds_is_refused_before_it_is_parsed(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("node,start\n" + "a,2024-01-01\n" * 20_000)
    with pytest.raises(rf.ReadError, match=r"20,001 rows, too many for the limit of 0\.001 GB"):
        rf.read(path, max_size="1MB")
    assert len(rf.read(path, max_size="1GB").rejected) == 19_999  # repeated


def test_a_mistyped_year_does_not_move_the_end_of_the_log() -> None:
    """One row of 1,047 dated 2031 made a forecast of 43 failures one of 1.33."""
    starts = pd.date_range("2024-01-01", periods=50, freq="10D")
    table = pd.DataFrame({"node": ["a", "b"] * 25, "start": starts, "end": starts + pd.Timedelta("2h")}).astype(str)
    table.loc[[7, 9], "end"] = ["2131-09-01 02:00", "2052-02-01 01:00"]
    table.loc[7, "start"] = "2131-09-01 00:00"
    log = rf.read(table)
    assert log.rejected["reason"].tolist() == ["starts in the future", "ends in the future"]
    assert log.window.end == pd.Timestamp("2025-05-05 02:00", tz="UTC")
    later = table.assign(**{name: table[name].str.replace("202", "220", n=1) for name in ("start", "end")})
    simulated = rf.read(later.drop(index=[7, 9]))
    assert len(simulated) == 48  # a simulated log may lie in the future
    note = "48 of 48 rows are of a time still to come, up to 2205-05-05: kept"
    assert [text for text in simulated.source.notes if text.startswith(note)]
    half = rf.read(pd.DataFrame({"node": ["a", "b"], "start": ["2024-01-01", "2199-01-01"]}))
    assert any(
        text.startswith("1 of 2 rows is of a time still to come, up to 2199-01-01: kept") for text in half.source.notes
    )


@pytest.mark.parametrize("odd", ["1e-05", "n/a", "?", "-0.12345678901234567", ""])
def test_a_column_of_numbers_stays_one(odd: str) -> None:
    """A covariate with 17 digits or one word for nothing became text, and its effect was lost."""
    table = pd.DataFrame(
        {"node": ["a", "b", "c"], "duration": ["5", "6", "7"], "x": [odd, "0.25", "-3.0583812523616074"]}
    )
    lives = rf.read(table).lifetimes
    assert lives is not None
    assert lives["x"].dtype == np.float64
    assert lives["x"].tolist()[1:] == [0.25, -3.0583812523616074]


@pytest.mark.parametrize("name", ["007", "12e4", "1.2.3", "123456789012345678"])
def test_names_that_look_like_numbers_stay_names(name: str) -> None:
    table = pd.DataFrame({"node": ["a", "b"], "duration": ["5", "6"], "slot": [name, "3"]})
    lives = rf.read(table).lifetimes
    assert lives is not None
    assert lives["slot"].tolist() == [name, "3"]


def test_intervals_are_for_python() -> None:
    table = pd.DataFrame({"lower": [0.0, 100.0], "upper": [100.0, 300.0]})
    with pytest.raises(rf.ReadError, match=r"between lower and upper; only Python reads .*LifeData\.from_intervals"):
        rf.read(table)
    with pytest.raises(rf.ArgumentError, match=r"unknown option 'upper' for a table; .*LifeData\.from_intervals"):
        rf.read(table, upper="upper")
