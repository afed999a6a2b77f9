"""Databases, texts, journals and tickets give the records that stand in them."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from relfit.base.errors import ReadError, RelfitError
from relfit.live.live_records import Fetched
from relfit.live.sources import SOURCES, SourceError, sql_source
from relfit.live.watch_settings import read_watch_settings

NOW = pd.Timestamp("2024-02-01", tz="UTC")


def source(folder: Path, kind: str, **settings: Any) -> Any:
    return SOURCES[kind].model_validate({"kind": kind, **settings}, context={"folder": folder})


def events(fetched: Fetched) -> list[tuple[str, ...]]:
    frames = [log.events for _, log in fetched.documents] or ([] if fetched.log is None else [fetched.log.events])
    table = pd.concat(frames)[["node", "start", "end", "cause"]].astype(str)
    return list(table.itertuples(index=False, name=None))


# ------------------------------------------------------------------------ SQL


def a_database(path: Path) -> None:
    with sqlite3.connect(path) as made:
        made.execute("CREATE TABLE outages (host TEXT, went_down INTEGER, came_up INTEGER, why TEXT)")
        rows = [("n1", 1704103200, 1704106800, "disk"), ("n2", 1704276000, None, "memory")]
        made.executemany("INSERT INTO outages VALUES (?, ?, ?, ?)", rows)


def test_a_query_is_read_as_a_table(tmp_path: Path) -> None:
    a_database(tmp_path / "site.db")
    columns = {"node": "host", "start": "went_down", "end": "came_up", "cause": "why", "time_format": "unix"}
    asked = source(tmp_path, "sql", url="sqlite:///site.db", query="SELECT * FROM outages", columns=columns)
    first = asked.fetch({}, NOW)
    assert events(first) == [
        ("n1", "2024-01-01 10:00:00+00:00", "2024-01-01 11:00:00+00:00", "disk"),
        ("n2", "2024-01-03 10:00:00+00:00", "NaT", "memory"),
    ]
    only_new = source(
        tmp_path,
        "sql",
        url="sqlite:///site.db",
        columns=columns,
        overlap="1d",
        query="SELECT * FROM outages WHERE datetime(went_down, 'unixepoch') >= :since",
    )
    assert events(only_new.fetch(first.cursor, NOW))[0][0] == "n2"
    nothing = source(tmp_path, "sql", url="sqlite:///site.db", query="SELECT * FROM outages WHERE host = 'x'")
    assert nothing.fetch({"until": "2024-01-01T00:00Z"}, NOW).cursor == {"until": "2024-01-01T00:00Z"}


def test_a_database_that_falls_silent_between_rows_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql_source, "_LATER", 0.0)
    silence, closed = threading.Event(), threading.Event()

    def parts() -> Iterator[list[int]]:
        try:
            yield [1]
            silence.wait(20.0)
            yield [2]
        finally:
            closed.set()

    answers = sql_source._awaited(parts(), 0.2)
    assert next(answers) == [1]
    with pytest.raises(SourceError, match=r"did not answer within 0\.2 s"):
        next(answers)
    silence.set()
    assert closed.wait(20.0)  # and the connection is closed when the server speaks again
    assert list(sql_source._awaited(iter([[1], [2]]), 5.0)) == [[1], [2]]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"url": "sqlite:///no/such.db", "query": "SELECT 1"}, "unable to open database file"),
        ({"url": "sqlite:///site.db", "query": "SELECT * FROM gone"}, "no such table: gone"),
        ({"url": "postgresql://x@127.0.0.1:1/db", "query": "SELECT 1", "timeout": 2}, "refused"),
        ({"url": "mariadb://x@127.0.0.1:1/db", "query": "SELECT 1", "timeout": 2}, "Can't connect"),
        (
            {"url": "postgresql://x@h/db", "query": "SELECT 1", "password_env": "NOT_SET_HERE"},
            "NOT_SET_HERE is not set",
        ),
    ],
)
def test_a_database_that_fails_is_told_in_one_line(tmp_path: Path, settings: dict[str, Any], said: str) -> None:
    a_database(tmp_path / "site.db")
    with pytest.raises(SourceError, match=said) as told:
        source(tmp_path, "sql", **settings).fetch({}, NOW)
    assert "\n" not in str(told.value)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "said"), [("postgresql", "timeout expired"), ("mariadb", "timed out")])
def test_a_server_that_takes_the_connection_and_says_nothing(tmp_path: Path, kind: str, said: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"{kind}://x@127.0.0.1:{silent.getsockname()[1]}/db"
        with pytest.raises(SourceError, match=said):
            source(tmp_path, "sql", url=url, query="SELECT 1", timeout=2).fetch({}, NOW)


def test_a_password_stands_in_no_file_and_no_message(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "watch.toml").write_text(
        'store = "fleet.duckdb"\n[[sources]]\nkind = "sql"\nurl = "postgresql://me:secret@h/db"\nquery = "SELECT 1"\n'
    )
    with pytest.raises(ReadError, match=r"sources\.0\.url: this URL holds a password") as told:
        read_watch_settings(tmp_path / "watch.toml")
    assert "secret" not in str(told.value)
    (tmp_path / "watch.toml").write_text(
        'store = "postgresql://me:secret@h/db"\n[[sources]]\nkind = "file"\npath = "x"\n'
    )
    with pytest.raises(ReadError, match="store: this URL holds a password") as told:
        read_watch_settings(tmp_path / "watch.toml")
    assert "secret" not in str(told.value)
    monkeypatch.setenv("MINE", "sesame")
    with pytest.raises(SourceError) as failed:
        source(tmp_path, "sql", url="mysql://x@127.0.0.1:1/db", query="SELECT 1", password_env="MINE").fetch({}, NOW)
    assert "sesame" not in str(failed.value)


# ----------------------------------------------------------------------- text


def test_named_groups_of_a_pattern_say_what_a_line_is(tmp_path: Path) -> None:
    log = tmp_path / "controller.log"
    log.write_text(
        "2024-01-03 10:00:00 WARN drive bay=7 node=n2 lost (disk)\nnothing\n"
        "2024-01-04 11:00:00 WARN drive bay=8 node=n3 lost (fan)\n"
    )
    pattern = r"^(?P<start>\S+ \S+) WARN drive bay=(?P<bay>\d+) node=(?P<node>\S+) lost \((?P<cause>\w+)\)"
    asked = source(tmp_path, "text", path="*.log", pattern=pattern, timezone="Europe/Berlin")
    fetched = asked.fetch({}, NOW)
    assert events(fetched) == [
        ("n2", "2024-01-03 09:00:00+00:00", "NaT", "disk"),
        ("n3", "2024-01-04 10:00:00+00:00", "NaT", "fan"),
    ]
    ((name, one),) = fetched.documents
    assert name == "controller.log"
    assert one.events["line"].tolist() == [1, 3]
    assert one.events["bay"].tolist() == [7, 8]


def test_stamps_without_a_year_are_not_younger_than_their_file(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("Dec 31 23:00:00 n1 down\nJan  1 01:00:00 n1 up\n")
    changed = pd.Timestamp("2024-01-02", tz="UTC").timestamp()
    os.utime(log, (changed, changed))
    pattern = r"^(?P<start>.{15}) (?P<node>\S+) (?P<state>up|down)"
    fetched = source(tmp_path, "text", path="a.log", pattern=pattern, timezone="UTC").fetch({}, NOW)
    assert events(fetched) == [("n1", "2023-12-31 23:00:00+00:00", "2024-01-01 01:00:00+00:00", "nan")]


@pytest.mark.parametrize("pattern", ["(?P<node>x)", "(?P<start>x)(?=y)", "("])
def test_a_pattern_that_cannot_be_is_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ValueError, match=r"no group for the time|is not known"):
        source(tmp_path, "text", path="a.log", pattern=pattern)


# -------------------------------------------------------------------- journal


def test_a_journal_is_asked_from_where_it_was_left(tmp_path: Path, monkeypatch) -> None:
    rows = [
        {"__REALTIME_TIMESTAMP": "1704448800000000", "_HOSTNAME": "n1", "MESSAGE": "ok"},
        {"__REALTIME_TIMESTAMP": "1704448801000000", "_HOSTNAME": "n2", "MESSAGE": "Kernel panic - not syncing"},
    ]
    program = tmp_path / "journalctl"
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "said").write_text(text)
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/asked\ncat {tmp_path}/said\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    asked = source(tmp_path, "journal", arguments=["-k; touch owned"])
    assert asked.place == "journalctl"
    assert source(tmp_path, "journal", through=["ssh", "-q", "n012"]).place == "journalctl n012"
    fetched = asked.fetch({}, NOW)
    assert [row[0] for row in events(fetched)] == ["n2"]
    asked.fetch(fetched.cursor, NOW)
    assert "--since=@1704445201" in (tmp_path / "asked").read_text().split("\n")
    assert not (tmp_path / "owned").exists()
    (tmp_path / "said").write_text("")
    assert asked.fetch(fetched.cursor, NOW).log is None
    program.write_text("#!/bin/sh\necho no access >&2\nexit 1\n")
    with pytest.raises(RelfitError, match="journalctl ended with status 1: no access"):
        asked.fetch({}, NOW)
    with pytest.raises(RelfitError, match="there is no program ipmitool here"):
        source(tmp_path, "journal", program="ipmitool").fetch({}, NOW)


def test_files_of_kernel_rings_are_of_the_nodes_of_their_names(tmp_path: Path) -> None:
    for node in ("n1", "n2"):
        (tmp_path / f"{node}.dmesg").write_text("[Fri Jan  5 10:00:01 2024] BUG: soft lockup - CPU#3\n")
    fetched = source(tmp_path, "journal", path="*.dmesg").fetch({}, NOW)
    assert [row[0] for row in events(fetched)] == ["n1", "n2"]


# -------------------------------------------------------------------- tickets


def test_tickets_of_jira_and_servicenow(tmp_path: Path) -> None:
    jira = tmp_path / "jira.csv"
    jira.write_text(
        "Issue key,Summary,Component/s,Created,Resolved\n"
        'OPS-1,"n012 does not boot, again",power,03/May/24 2:05 PM,04/May/24 9:00 AM\n'
        "OPS-2,new coffee machine,,05/May/24 1:00 PM,\nOPS-3,n007: fan,fan,06/May/24 1:00 AM,\n"
    )
    asked = source(tmp_path, "tickets", path="jira.csv", node_pattern="n[0-9]+")
    fetched = asked.fetch({}, NOW)
    assert events(fetched) == [
        ("n012", "2024-05-03 14:05:00+00:00", "2024-05-04 09:00:00+00:00", "power"),
        ("n007", "2024-05-06 01:00:00+00:00", "NaT", "fan"),
    ]
    snow = tmp_path / "snow.csv"
    snow.write_text(
        '"number","short_description","cmdb_ci","opened_at","resolved_at","category"\n'
        '"INC1","dead","n3","2024-01-03 10:00:00","2024-01-03 12:00:00","hardware"\n'
    )
    assert events(source(tmp_path, "tickets", path="snow.csv").fetch({}, NOW)) == [
        ("n3", "2024-01-03 10:00:00+00:00", "2024-01-03 12:00:00+00:00", "hardware")
    ]
    snow.write_bytes("number;opened;resolved;cmdb_ci;category\nINC1;03.01.2024 10:00;;n3;Netzteil ü\n".encode("cp1252"))
    assert events(source(tmp_path, "tickets", path="snow.csv").fetch({}, NOW)) == [
        ("n3", "2024-01-03 10:00:00+00:00", "NaT", "Netzteil ü")
    ]
    with pytest.raises(SourceError, match="no column of nodes; name it with node, or give node_pattern"):
        source(tmp_path, "tickets", path="jira.csv").fetch({}, NOW)
    jira.write_text(",".join(f"c{i}" for i in range(1, 14)) + "\n" + ",".join("x" * 13) + "\n")
    with pytest.raises(SourceError, match=r"no column of when tickets were opened; name it with start: c1, .*, c12$"):
        source(tmp_path, "tickets", path="jira.csv").fetch({}, NOW)


def test_a_damaged_text_is_a_failure_and_one_without_a_match_is_not(tmp_path: Path) -> None:
    pattern = r"(?P<start>\S+ \S+) (?P<node>\S+) (?P<cause>.*)"
    (tmp_path / "calm.log").write_text("nothing\n")
    calm = source(tmp_path, "text", path="calm.log", pattern=pattern).fetch({}, NOW)
    assert calm.log is None
    assert [log for _, log in calm.documents if log is not None] == []
    (tmp_path / "torn.log.gz").write_bytes(b"\x1f\x8b\x08\x00torn")
    with pytest.raises((SourceError, ReadError)):
        source(tmp_path, "text", path="torn.log.gz", pattern=pattern).fetch({}, NOW)


def test_raw_logs_are_read_together_and_tables_one_by_one(tmp_path: Path) -> None:
    """An outage may begin in one raw log and end in the next."""
    line = "2024-01-{:02d}T10:00:00+00:00 n1 kernel: Kernel panic - not syncing: Fatal machine check\n"
    contents = {"log": line, "csv": "node,start\nn1,2024-01-{:02d} 10:00\n"}
    for kind, text in contents.items():
        files = [tmp_path / f"{name}.{kind}" for name in "ab"]
        for day, file in enumerate(files, start=1):
            file.write_text(text.format(day))
        groups = source(tmp_path, "file", path=f"*.{kind}")._groups(files)
        assert groups == ([files] if kind == "log" else [[file] for file in files])
