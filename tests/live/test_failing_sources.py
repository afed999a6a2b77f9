"""A source that fails ends no round, is named, and nothing is counted twice when it comes back."""

from __future__ import annotations

import json
import os
import re
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from relfit.cli.app import main
from relfit.live.watch_round import watch
from relfit.live.watch_settings import read_watch_settings

HEAD = b"node,start,end,cause\n"
GOOD = "node,start,end,cause\nn1,2024-01-01 10:00,2024-01-01 12:30,disk\nn2,2024-01-03 10:00,2024-01-03 11:00,fan\n"
MORE = GOOD + "n1,2024-01-05 10:00,2024-01-05 11:00,fan\n"


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(GOOD.replace("n1", f"{name}1").replace("n2", f"{name}2"))
    sources = "".join(f'[[sources]]\nkind = "file"\nname = "{name}"\npath = "{name}.csv"\n' for name in ("a", "b"))
    (tmp_path / "watch.toml").write_text(f'store = "fleet.duckdb"\n{sources}')
    return tmp_path


@pytest.mark.parametrize(
    "broken",
    [b"PK\x03\x04 cut short", b"\x1f\x8b\x08\x00 cut", b"colour,shape\nred,round\n", b"\x00\xff" * 50, None, b"", HEAD],
    ids=["zip", "gz", "schema", "bytes", "gone", "empty", "header"],
)
@pytest.mark.slow
def test_a_file_that_cannot_be_read(fleet: Path, broken: bytes | None) -> None:
    settings = read_watch_settings(fleet / "watch.toml")  # at a time before all records: nothing is estimated
    assert watch(settings, "2023-02-01").records == 4
    place = fleet / "a.csv"
    place.unlink()
    if broken is not None:
        place.write_bytes(broken)
    (fleet / "b.csv").write_text(MORE.replace("n1", "b1").replace("n2", "b2"))
    for new in (1, 0):
        result = watch(settings, "2023-02-02")
        assert (result.failed, result.records, result.new) == (("a",), 5, new)
        assert "a.csv" in " ".join(result.findings)
    place.write_text(MORE.replace("n1", "a1").replace("n2", "a2"))
    result = watch(settings, "2023-02-03")
    assert (result.failed, result.records, result.new) == ((), 6, 1)


class Poor(socketserver.StreamRequestHandler):
    """A server that says nothing, ends in the middle, or sends what is no answer: by its path."""

    def handle(self) -> None:
        path = self.rfile.readline().split()[1].decode()
        if path.startswith("/slow"):
            threading.Event().wait(3.0)
        elif path.startswith("/cut"):
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n{"status": "succ')
        elif path.startswith("/refused"):
            self.wfile.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")
        else:
            self.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n{"data": {"x": []}}')


@pytest.fixture
def poor_server() -> Iterator[str]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Poor) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/slow", "did not answer within 0.5 s"),
        ("/cut", "its answer was cut short"),
        ("/refused", "answers 401: Unauthorized"),
        ("/other", "this is not an answer of Prometheus"),
    ],
)
def test_a_server_that_fails_ends_no_round(fleet: Path, poor_server: str, path: str, said: str) -> None:
    settings = (fleet / "watch.toml").read_text()
    further = f'[[sources]]\nkind = "prometheus"\nname = "site"\nurl = "{poor_server}{path}"\ntimeout = 0.5\n'
    (fleet / "watch.toml").write_text(settings + further)
    for new in (4, 0):
        result = watch(read_watch_settings(fleet / "watch.toml"), "2023-02-01")
        assert (result.records, result.new, result.failed) == (4, new, ("site",))
        assert said in " ".join(result.sources["failure"])


@pytest.mark.verify
def test_ten_thousand_columns_are_told_and_kept_few(fleet: Path) -> None:
    settings = read_watch_settings(fleet / "watch.toml")
    watch(settings, "2024-02-01")
    names = ",".join(f"x{i}" for i in range(10_000))
    values = ",".join("1" for _ in range(10_000))
    (fleet / "a.csv").write_text(f"node,start,end,cause,{names}\na1,2024-01-08 10:00,2024-01-08 11:00,fan,{values}\n")
    result = watch(settings, "2024-02-02")
    assert (result.records, result.new) == (5, 1)
    assert [alarm.key for alarm in result.alarms] == ["source: source a"]
    assert "changed from 'table' to 'table: 10,000 columns of its own'" in result.alarms[0].text


@pytest.mark.slow
def test_what_a_wrong_clock_dates_ahead_is_told_and_not_looked_at(fleet: Path) -> None:
    ahead = pd.Timestamp.now("UTC").floor("min") + pd.Timedelta("20h")
    (fleet / "a.csv").write_text(GOOD + f"n3,{ahead:%Y-%m-%d %H:%M},{ahead:%Y-%m-%d %H:%M},fan\n")
    settings = read_watch_settings(fleet / "watch.toml")
    for _ in range(2):
        result = watch(settings)
        assert (result.records, result.undone) == (5, ())
        assert result.problems[0].startswith(f"records later than now, up to {ahead:%Y-%m-%d %H:%M} UTC, are left out")
        assert not [alarm.subject for alarm in result.alarms if alarm.kind == "rate"]
    (fleet / "a.csv").write_text(GOOD + "n3,2190-01-02 10:00,2190-01-02 11:00,fan\n")
    assert watch(settings).rejected == 1


@pytest.mark.slow
def test_a_table_that_has_no_row_yet_is_no_failure(fleet: Path) -> None:
    for name in ("a", "b"):
        (fleet / f"{name}.csv").rename(fleet / f"{name}.1")
        (fleet / f"{name}.csv").write_text("node,start,end,cause\n")
    settings = read_watch_settings(fleet / "watch.toml")
    assert (watch(settings, "2024-02-01").failed, watch(settings, "2024-02-02").records) == ((), 0)
    (fleet / "a.csv").write_text(GOOD)
    assert watch(settings, "2024-02-03").new == 2
    (fleet / "a.csv").write_bytes(HEAD)
    (fleet / "nodes.csv").write_text("node\na1\na2\n")
    text = (fleet / "watch.toml").read_text()
    (fleet / "watch.toml").write_text(text.replace('"a.csv"', '"a.csv"\npopulation = "nodes.csv"'))
    result = watch(read_watch_settings(fleet / "watch.toml"), "2024-02-04")  # changed settings, too
    assert (result.records, result.failed) == (2, ("a",))


@pytest.mark.parametrize("content", [b"", HEAD], ids=["empty", "header"])
@pytest.mark.slow
def test_a_table_that_was_renamed_when_a_new_one_began_is_no_failure(fleet: Path, content: bytes) -> None:
    settings = fleet / "watch.toml"
    settings.write_text(settings.read_text().replace('"a.csv"', '"a*.csv"'))
    os.utime(fleet / "a.csv", (1.7e9, 1.7e9))
    assert watch(read_watch_settings(settings), "2024-02-01").records == 4
    (fleet / "a.csv").rename(fleet / "a-1.csv")
    for _ in range(2):
        (fleet / "a.csv").write_bytes(content)
        result = watch(read_watch_settings(settings), "2024-02-02")
        assert (result.records, result.failed, result.undone) == (4, (), ())


@pytest.mark.slow
def test_a_log_without_a_matching_line_is_no_failure(tmp_path: Path) -> None:
    source = 'kind = "text"\npath = "log.txt"\npattern = \'(?P<start>[-0-9]+ [:0-9]+) (?P<node>n1) down\'\n'
    (tmp_path / "watch.toml").write_text(f'store = "fleet.duckdb"\n[[sources]]\n{source}')
    for text in ("2024-01-01 10:00 n1 down\n", "", "2024-01-02 10:00 n1 up\n"):
        (tmp_path / "log.txt").write_text(text)
        result = watch(read_watch_settings(tmp_path / "watch.toml"), "2024-02-01")
        assert (result.records, result.failed) == (1, ())


@pytest.mark.slow
def test_a_clock_that_jumps_back_makes_nothing_new(fleet: Path) -> None:
    settings = read_watch_settings(fleet / "watch.toml")
    watch(settings, "2024-02-01")
    assert watch(settings, "1999-01-01").new == 0
    assert watch(settings, "2024-02-02").records == 4


def test_a_round_without_a_record_names_no_page_that_is_not_there(fleet: Path, capsys) -> None:
    for name in ("a", "b"):
        (fleet / f"{name}.csv").unlink()
    outputs = '[outputs]\npage = "today.html"\nparams = "params.toml"\njson = "today.json"\n'
    with (fleet / "watch.toml").open("a") as settings:
        settings.write(outputs)
    for _ in range(2):
        assert main(["watch", "run", str(fleet / "watch.toml")]) == 4
        said = capsys.readouterr()
        assert "today.html" not in said.out + said.err
        assert "params.toml" not in said.out + said.err
        assert sorted(path.name for path in fleet.glob("today*")) == ["today.json"]


@pytest.mark.slow
@pytest.mark.parametrize("first", ["2024-07-01", "2024-08-30"], ids=["watched before", "first round"])
def test_a_source_that_fell_silent_is_told_and_then_quietly(fleet: Path, first: str, capsys) -> None:
    """Ten records a week until 2024-06-30, none for two months."""
    starts = pd.date_range("2024-03-01", "2024-06-30", freq="16.8h")
    lines = [f"n{i % 9},{at:%Y-%m-%d %H:%M},{at:%Y-%m-%d} 23:59,fan" for i, at in enumerate(starts)]
    (fleet / "a.csv").write_text("\n".join(["node,start,end,cause", *lines]) + "\n")
    settings = read_watch_settings(fleet / "watch.toml")
    rounds = [watch(settings, moment) for moment in (first, "2024-08-31")]
    silent = [[alarm for alarm in each.alarms if alarm.kind == "source"] for each in rounds]
    assert [len(alarms) for alarms in silent] == [first > "2024-08", 1]  # of b, two records say too little
    assert silent[1][0].since < pd.Timestamp("2024-07-02", tz="UTC")
    told = next(each.findings for each in rounds if each.raised)
    assert any(line.startswith("NEW source: Source a has delivered nothing new for ") for line in told)
    assert "its last record is from 2024-06-29" in silent[1][0].text
    assert main(["watch", "run", str(fleet / "watch.toml"), "--now", "2024-08-31", "--quiet"]) == 3
    assert capsys.readouterr().out == ""  # the alarm stands, and is not new
    with (fleet / "a.csv").open("a") as log:
        log.write("n1,2024-09-01 12:00,2024-09-01 13:00,fan\n")
    assert not [alarm.key for alarm in watch(settings, "2024-09-02").alarms if alarm.kind == "source"]


@pytest.mark.slow
def test_the_commands(fleet: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(fleet)
    (fleet / "watch.toml").unlink()
    assert main(["watch", "init", "a.csv", "b.csv", "--fleet", "white", "--timer"]) == 0
    cron = capsys.readouterr().out.splitlines()[-1]  # one line whatever the width of the screen
    assert re.fullmatch(rf"0 6 \* \* \* \S+ -m relfit watch run {re.escape(str(fleet))}/watch.toml --quiet", cron)
    assert "SuccessExitStatus=3 4" in (fleet / "relfit-watch.service").read_text()
    assert main(["watch", "init", "a.csv"]) == 2
    capsys.readouterr()
    assert main(["watch", "run", "watch.toml", "--json", "--now", "2024-02-01"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["records"], document["new"], document["alarms"]) == (4, 4, [])
    assert (fleet / "today.html").exists()
    assert main(["watch", "run", "watch.toml", "--quiet", "--now", "2024-02-01"]) == 0
    assert capsys.readouterr().out == ""
    (fleet / "a.csv").unlink()
    assert main(["watch", "run", "watch.toml", "--quiet"]) == 4
    assert "source file a.csv failed" in " ".join(capsys.readouterr().out.split())
    assert main(["watch", "status", "watch.toml"]) == 0
    assert "2024" not in capsys.readouterr().err
    assert main(["watch", "status", "nothing.toml"]) == 2
    for moment in ("tomorrow or so", "NaT", "2500-01-01"):
        assert main(["watch", "run", "watch.toml", "--now", moment]) == 2
        assert "is not a date or time" in capsys.readouterr().err
