"""Advice of a round works in the settings; changed settings are true of what was stored before, too."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from relfit.base.settings_advice import in_settings
from relfit.cli.app import main
from relfit.live.fleet_store import FleetStore
from relfit.live.watch_round import watch
from relfit.live.watch_settings import AlarmSettings, read_watch_settings

ROWS = [f"2024-01-{day:02d} {6 + day % 3:02d}:00" for day in range(1, 13)]
TABLES = {
    # 12 rows of n0-n2; what the first reading says of each, the advice, the number of records by hand with it
    "mild": ("node,Level,start\n", "n{n},{mild},{time}\n", r"to take the others: (columns = .*)$", 6),
    "state": ("node,time,state\n", "n{half},{time},{word}\n", None, 6),
    "slot": ("node,slot,start\n", "n{n},{odd},{time}\n", r": (columns = .*) if these fail$", 12),
    "nodeless": ("node,start\n", "{some},{time}\n", None, 8),
    "two digits": ("node,start\n", "n{n},{short}\n", r"as (columns = .*)$", 12),
    "zone": ("node,start\n", "n{n},{time} EST\n", r"as (columns = .*)$", 12),
}
SAID = {
    "state": 'columns = { state = "state", down = "broken", up = "fine" }',
    "nodeless": 'nodeless = "ignore"',
}


def put(folder: Path, name: str, line: str = "") -> Path:
    head, form, _, _ = TABLES[name]
    rows = [
        form.format(
            n=i % 3,
            half=i // 2,
            odd=i % 2,
            mild="INFO" if i % 2 else "ERROR",
            word="fine" if i % 2 else "broken",
            some="" if i % 3 == 0 else f"n{i % 3}",
            time=time,
            short=f"{time[8:10]}.01.24 {time[11:]}",
        )
        for i, time in enumerate(ROWS)
    ]
    if not (folder / "log.csv").exists():
        (folder / "log.csv").write_text(head + "".join(rows))
    text = f'store = "fleet.duckdb"\n[[sources]]\nkind = "file"\npath = "log.csv"\n{line}\n'
    (folder / "watch.toml").write_text(text)
    return folder / "watch.toml"


def round_of(path: Path) -> tuple[int, str]:
    """Records, and all that the round says of its source."""
    result = watch(read_watch_settings(path), "2023-02-01")  # before all records: nothing is estimated
    row = result.sources.iloc[0]
    return result.records, "\n".join([row["failure"], *row["notes"]])


@pytest.mark.parametrize("name", list(TABLES))
@pytest.mark.slow
def test_advice_is_in_the_words_of_the_settings_and_works(tmp_path: Path, name: str) -> None:
    first, said = round_of(put(tmp_path, name))
    assert first == (0 if name in ("two digits", "zone") else 12)
    assert "--" not in said
    pattern, right = TABLES[name][2:]
    advice = SAID[name] if pattern is None else re.search(pattern, said, re.MULTILINE)[1]
    assert tomllib.loads(advice)
    if name == "state":
        assert "says broken or fine, and every row was taken for a failure" in said
    path = put(tmp_path, name, advice)
    records, said = round_of(path)
    assert records == right
    assert not first or "its settings changed: it was read again" in said
    records, said = round_of(path)
    assert records == right
    assert "its settings changed" not in said


@pytest.mark.slow
def test_changed_settings_leave_no_node_and_no_time_of_the_old_reading(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("node,slot,start\nn1,0,05/01/2024\nn1,1,02/03/2024\nn2,0,03/02/2024\n")
    text = 'store = "fleet.duckdb"\n[[sources]]\nkind = "file"\npath = "log.csv"\ncolumns = { %s }\n'
    path = tmp_path / "watch.toml"
    for columns in ("day_first = false", 'day_first = true, node = "node+slot"'):
        path.write_text(text % columns)
        watch(read_watch_settings(path), "2024-07-01")
    with FleetStore.open(str(tmp_path / "fleet.duckdb"), read_only=True) as store:
        log = store.log()
    assert sorted(log.population["node"]) == ["n1/0", "n1/1", "n2/0"]
    assert [f"{start:%m-%d}" for start in log.events["start"]] == ["01-05", "02-03", "03-02"]
    assert (f"{log.window.start:%m-%d}", f"{log.window.end:%m-%d}") == ("01-05", "03-02")


@pytest.mark.slow
def test_changed_settings_keep_what_was_rotated_away(tmp_path: Path) -> None:
    path = put(tmp_path, "mild")
    assert round_of(path)[0] == 12
    (tmp_path / "log.csv").write_text("node,Level,start\nn0,ERROR,2024-01-20 10:00\nn0,INFO,2024-01-21 10:00\n")
    assert round_of(path)[0] == 14
    records, _ = round_of(put(tmp_path, "mild", 'columns = { failures = "Level=ERROR" }'))
    assert records == 13  # one of the rows that the file has is none; the twelve of before stay


def test_a_list_of_rules_that_changes_is_read_again(tmp_path: Path) -> None:
    source: Any = read_watch_settings(put(tmp_path, "mild", 'population = "nodes.csv"')).sources[0]
    (tmp_path / "nodes.csv").write_text("node\nn0\n")
    before = source.reading
    (tmp_path / "nodes.csv").write_text("node\nn0\nn9\n")
    assert source.reading != before


def test_what_init_says_is_in_the_words_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, "mild")
    monkeypatch.chdir(tmp_path)
    assert main(["watch", "init", "log.csv", "--out", "new.toml"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert 'to take the others: columns = { failures = "Level=ERROR" }' in said
    assert "--column" not in said
    assert read_watch_settings(tmp_path / "new.toml").alarms == AlarmSettings()  # what is written is the default
    assert main(["watch", "init", "log.csv", "--out", "of40.toml", "--n-nodes", "40"]) == 0
    assert "of 40 nodes" in " ".join(capsys.readouterr().out.split())
    assert read_watch_settings(tmp_path / "of40.toml").nodes == 40


def test_options_are_told_as_fields_of_the_source() -> None:
    told = "name it with --column node='Server name' (--column node=rack+slot for two), or raise --max-size 32GB"
    assert in_settings(told, ["max_size"]) == (
        'name it with columns = { node = "Server name" } (columns = { node = "rack+slot" } for two), '
        'or raise max_size = "32GB"'
    )
    assert in_settings('; --column decimal="," reads it') == '; columns = { decimal = "," } reads it'
    assert in_settings("say --column node=NAME.", ["node"]) == 'say node = "NAME".'
    assert (
        json.loads(in_settings("--column pattern='(?P<a>\\S+) b'")[len("columns = { pattern = ") : -2])
        == "(?P<a>\\S+) b"
    )


@pytest.mark.parametrize("answers", [True, False])
def test_init_takes_slurm_where_its_database_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answers: bool
) -> None:
    put(tmp_path, "mild")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "sacctmgr"
    program.write_text(f"#!/bin/sh\nexit {0 if answers else 1}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)
    assert main(["watch", "init", "--out", "new.toml"]) == 0
    assert [source.kind for source in read_watch_settings("new.toml").sources] == ["file"] + ["slurm"] * answers
    assert ("sacctmgr does not answer" in capsys.readouterr().out) is not answers
