"""Other people's tables at first try: one question instead of a wrong assumption, and a hint that works."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import relfit as rf
from relfit.cli.app import main

ALERTS = """time,Level,host,message
2024-01-01 00:00:00,INFO,n1,started
2024-01-02 00:00:00,ERROR,n2,disk
2024-01-03 00:00:00,info,n3,started
2024-01-04 00:00:00,FATAL,n4,gpu
"""


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_severity_is_asked_about_and_the_hint_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "alerts.csv", ALERTS)
    log = rf.read(path)
    (question,) = [note for note in log.source.notes if "--failures" in note]
    assert "mild in 2 of 4 rows" in question
    option = question.split("--failures ")[1]
    chosen = rf.read(path, failures=option)
    assert chosen.events["node"].astype(str).tolist() == ["n2", "n4"]
    assert sorted(chosen.population["node"].astype(str)) == ["n1", "n2", "n3", "n4"]
    assert (chosen.source.rows_read, chosen.source.rows_kept) == (4, 4)
    assert main(["info", str(path), "--failures", option]) == 0
    assert "2 records of 4 nodes" in capsys.readouterr().out
    assert main(["info", str(path), "--failures", "Level=PANIC"]) == 2
    assert "the values are ERROR, FATAL, INFO" in capsys.readouterr().err
    assert main(["info", str(path), "--failures", "Grade=1"]) == 2
    assert "the columns are time, Level, host, message" in capsys.readouterr().err
    assert main(["info", str(path), "--failures", "ERROR"]) == 2
    assert "--failures Level=ERROR,FATAL" in capsys.readouterr().err


@pytest.mark.parametrize("levels", [["INFO", "INFO"], ["ERROR", "FATAL"], ["INFO", *(f"E{i}" for i in range(9))]])
def test_a_severity_that_does_not_divide_the_rows_is_not_asked_about(tmp_path: Path, levels: list[str]) -> None:
    rows = [f"2024-01-{day:02d} 05:00,{level},n{day}" for day, level in enumerate(levels, 1)]
    log = rf.read(written(tmp_path, "alerts.csv", "\n".join(["time,Level,host", *rows]) + "\n"))
    assert not [note for note in log.source.notes if "--failures" in note]


def test_start_and_end_of_a_fault_are_two_rows(tmp_path: Path) -> None:
    rows = (
        "node,time,event\nn1,2024-01-01 00:00,fault start\nn1,2024-01-01 05:00,fault end\nn2,2024-01-02,fault start\n"
    )
    log = rf.read(written(tmp_path, "faults.csv", rows))
    assert len(log) == 2
    assert log.ttr(censor=False).durations.tolist() == [5.0]


def test_words_of_ones_own_for_down_and_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "node,time,state\nn1,2024-01-01 00:00,kaputt\nn1,2024-01-01 05:00,heil\nn2,2024-01-02,kaputt\n"
    rows += "n2,2024-01-03,??\n"
    path = written(tmp_path, "states.csv", rows)
    log = rf.read(path, state="state", down="kaputt", up="heil")
    assert len(log) == 2
    assert log.rejected["reason"].str.startswith("'??' says neither up nor down").tolist() == [True]
    words = ["--column", "state=state", "--column", "down=Kaputt", "--column", "up=heil,ganz"]
    assert main(["info", str(path), *words]) == 0
    assert "2 records of 2 nodes" in capsys.readouterr().out


def test_plain_numbers_as_times_need_their_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "days.csv", "time,node\n0,n1\n14.4,n2\n345,n1\n")
    with pytest.raises(rf.ArgumentError, match="seconds, hours or days"):
        rf.read(path, time_origin="2024-01-01")
    log = rf.read(path, time_origin="2024-01-01", time_unit="days")
    assert log.window.end == pd.Timestamp("2024-12-11", tz="UTC")
    assert main(["info", str(path)]) == 2
    assert "time_origin=DATE and time_unit=UNIT" in capsys.readouterr().err


def test_left_truncation_is_a_column(tmp_path: Path) -> None:
    path = written(tmp_path, "lives.csv", "node,life,observed,entry\na,100,1,50\nb,200,1,20\nc,300,0,\nd,10,1,30\n")
    log = rf.read(path)
    lives = log.ttf(per="all")
    assert lives.durations.tolist() == [100.0, 200.0, 300.0]
    assert lives.entry.tolist() == [50.0, 20.0, 0.0]
    assert log.rejected["reason"].tolist() == ["watched from an age that it did not reach"]
    # three lives watched for 50 + 180 + 300 hours, two of which failed
    fit = rf.fit(lives, "exponential")["exponential"]
    assert float(fit.mean[0]) == pytest.approx(530.0 / 2)
    copy = rf.read(rf.write(log, tmp_path / "copy.parquet"))
    assert copy.ttf(per="all").entry.tolist() == [50.0, 20.0, 0.0]


def test_what_is_no_node_is_none(tmp_path: Path) -> None:
    path = written(tmp_path, "null.csv", "node,start\nNULL,2024-01-01\nn2,2024-01-02\nn3,2024-01-03\n")
    log = rf.read(path)
    assert sorted(log.population["node"].astype(str)) == ["n2", "n3"]
    assert any("without a node" in note for note in log.source.notes)


def test_finer_units_are_asked_about_and_the_hint_works(tmp_path: Path) -> None:
    rows = "Server,slot,start\ns1,a,2024-01-01\ns1,b,2024-01-05\ns2,a,2024-02-01\n"
    path = written(tmp_path, "slots.csv", rows)
    (question,) = [note for note in rf.read(path).source.notes if note.startswith("units are")]
    assert question == "units are the 2 of 'Server'; with 'slot' there are 3: --column node=Server+slot if these fail"
    assert rf.read(path, node="Server+slot").n_nodes == 3


def test_serial_numbers_and_units_in_names(tmp_path: Path) -> None:
    log = rf.read(written(tmp_path, "gpus.csv", "SN,lifetime (days),failed\nA,1,1\nB,2,0\nA,3,1\n"))
    assert log.n_nodes == 2
    assert sorted(log.ttf(per="all").durations.tolist()) == [24.0, 48.0, 72.0]


def test_a_part_of_lives_has_its_own_nodes_only(tmp_path: Path) -> None:
    log = rf.read(written(tmp_path, "lives.csv", "node,life,model\na,1,x\nb,2,x\nc,3,y\n"))
    assert log.where(model="x").n_nodes == 2


def test_dates_of_a_ticket_system(tmp_path: Path) -> None:
    text = "node,start\nn1,03/May/24 2:05 PM\nn2,10/Oct/2000:13:55:36 -0700\n"
    log = rf.read(written(tmp_path, "jira.csv", text), timezone="UTC")
    starts = log.events["start"].dt.strftime("%Y-%m-%d %H:%M").tolist()
    assert sorted(starts) == ["2000-10-10 20:55", "2024-05-03 14:05"]


def test_lines_of_text_by_a_pattern(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "2024-01-01 00:00:00 n1 hardware\nnothing here\n2024-01-02 05:00:00 n2 software\n2024-99-02 05:00:00 n2 x\n"
    path = written(tmp_path, "list.txt", text)
    assert main(["info", str(path)]) == 2
    said = capsys.readouterr().err
    assert "not the header of a table" in said
    hint = said.split("--column pattern='")[1].rstrip().rstrip("'")
    log = rf.read(path, pattern=hint)
    assert log.events[["node", "cause", "line"]].astype(str).to_numpy().tolist() == [
        ["n1", "hardware", "1"],
        ["n2", "software", "3"],
    ]
    assert log.rejected["line"].tolist() == [4]
    assert "3 of 4 lines match the pattern; the others say nothing" in log.source.notes
    assert main(["info", str(path), "--column", f"pattern={hint}"]) == 0
    for wrong, why in ((r"\d+", "no named group"), ("(?P<start>", "not known"), ("(?P<start>zzz)", "none of 4 lines")):
        with pytest.raises(rf.RelfitError, match=why):
            rf.read(path, pattern=wrong)


def test_text_that_begins_with_a_bracket_is_no_json(tmp_path: Path) -> None:
    with pytest.raises(rf.ReadError, match="not the header"):
        rf.read(written(tmp_path, "apache.log", "[2005-12-04 04:47:44] mod_jk in error state 6\n"))


def test_date_and_time_in_two_columns_and_minutes_in_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A ticket system's export: 117 minutes were taken as 117 hours, and half past five in the afternoon as a zone."""
    text = "Server,Date,Time,Outage (min)\ns1,13/02/2024,05:30 PM,117\ns2,14/02/2024,11:29 AM,60\ns1,,01:00 AM,5\n"
    path = written(tmp_path, "tickets.csv", text)
    assert main(["info", str(path), "--column", "start=Time"]) == 2
    assert "--column start=DATE+TIME" in capsys.readouterr().err
    assert main(["info", str(path), "--column", "start=Date"]) == 0
    hint = "--column start=Date+Time"
    assert hint in " ".join(capsys.readouterr().out.split())
    log = rf.read(path, node="Server", start="Date+Time")
    assert log.events["start"].dt.strftime("%Y-%m-%d %H:%M").tolist() == ["2024-02-13 17:30", "2024-02-14 11:29"]
    assert log.ttr("all").durations.tolist() == pytest.approx([117 / 60, 1.0])
    assert log.rejected["reason"].tolist() == ["no time"]
    for duration, unit, hours in (("Outage (min)", "hours", 117.0), ("Outage (min)", None, 117 / 60)):
        said = {"duration": duration, **({"duration_unit": unit} if unit else {})}
        assert rf.read(path, node="Server", start="Date+Time", **said).ttr("all").durations[0] == pytest.approx(hours)


def test_lines_that_begin_with_seconds_in_brackets_are_no_json(tmp_path: Path) -> None:
    lines = ["[1600000000] HOST ALERT: n1;DOWN;HARD;3;no answer", "[1600003600] HOST ALERT: n1;UP;HARD;1;ok"]
    path = tmp_path / "nagios.log"
    path.write_text("\n".join([*lines, "[1600007200] HOST ALERT: n2;DOWN;HARD;3;no answer"]) + "\n")
    with pytest.raises(rf.ReadError, match=r"first line is not the header.*pattern="):
        rf.read(path)
    log = rf.read(path, pattern=r"\[(?P<start>\d+)\] HOST ALERT: (?P<node>[^;]+);(?P<state>DOWN|UP);")
    assert log.events["node"].tolist() == ["n1", "n2"]
    assert log.events["start"].dt.strftime("%Y-%m-%d %H:%M").tolist() == ["2020-09-13 12:26", "2020-09-13 14:26"]
    assert log.events["end_cut"].tolist() == [False, True]


TICKETS = """ticket,host,opened,closed,component,severity
I1,n1,01.05.2024 04:18,01.05.2024 12:13,NIC,1
I2,n2,14.05.2024 20:44,,GPU,3
"""


def test_tickets_are_read_without_naming_their_columns(tmp_path):
    path = tmp_path / "tickets.csv"
    path.write_text(TICKETS)
    log = rf.read(path)
    first = log.events.iloc[0]
    assert (first["node"], first["cause"]) == ("n1", "NIC")
    assert (first["start"], first["end"]) == (
        pd.Timestamp("2024-05-01 04:18", tz="UTC"),
        pd.Timestamp("2024-05-01 12:13", tz="UTC"),
    )
    assert list(log.attributes) == ["ticket", "severity"]


@pytest.mark.parametrize(
    ("header", "row", "start", "end"),
    [
        ("host,Created At,Resolved At", "n1,2024-01-01 10:00,2024-01-02 10:00", 1, 2),
        ("host,created,resolved,closed", "n1,2024-01-01,2024-01-02,2024-01-05", 1, 2),  # closed by an office, later
        ("host,down,up", "n1,2024-01-01,Unknown", 1, None),
        ("host,start,opened,end,closed", "n1,2024-01-03,2024-01-01,2024-01-04,2024-01-09", 3, 4),
        ("host,reported,up,resolved", "n1,13/01/2024 10:00,1,yes", 13, None),
        ("host,timestamp,open,down,closed", "n1,2024-01-03,true,14,0", 3, None),
    ],
)
def test_names_of_times_count_where_they_hold_times(tmp_path, header, row, start, end):
    path = tmp_path / "log.csv"
    path.write_text(f"{header}\n{row}\n")
    event = rf.read(path).events.iloc[0]
    assert event["start"].day == start
    assert (event["end"].day if pd.notna(event["end"]) else None) == end


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("serial,created,lifetime,failed\na,2024-01-03,100,yes\nb,2024-01-05,200,no\n", {}),
        ("serial,created,age,failed\na,2024-01-03,100,yes\nb,2024-01-05,200,no\n", {"duration": "age"}),
    ],
)
def test_lifetimes_do_not_begin_when_their_units_were_created(tmp_path, text, options):
    path = tmp_path / "log.csv"
    path.write_text(text)
    assert rf.read(path, **options).lifetimes["duration"].tolist() == [100.0, 200.0]


@pytest.mark.parametrize("option", [{"time_origin": "2024-01-01", "time_unit": "hours"}, {"time_format": "unix"}])
def test_numbers_are_no_times_by_their_name(tmp_path, option):
    path = tmp_path / "log.csv"
    path.write_text(
        "host,start,up\nn1,1704067200,0\nn1,1704067300,1\n" if "time_format" in option else "host,start,up\nn1,5,9\n"
    )
    assert "up" in rf.read(path, **option).attributes


def test_states_stay_states(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("host,time,state\nn1,2024-01-01 10:00,down\nn1,2024-01-01 12:00,up\n")
    assert rf.read(path).events["end"].dt.hour.tolist() == [12]
