"""Settings that change are true of all that a source still holds; what it holds no more stays as it was read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from relfit.base.errors import RelfitError
from relfit.live.fleet_store import FleetStore
from relfit.live.watch_round import watch
from relfit.live.watch_settings import read_watch_settings

HEAD = "node,Level,start,cause,rack\n"
STRICT = 'columns = { failures = "Level=ERROR" }'


def stored(folder: Path, source: str = "", path: str = "log.csv", kind: str = "file") -> list[str]:
    """Node, start and cause of each record after a round with these settings."""
    text = f'store = "fleet.duckdb"\n[[sources]]\nkind = "{kind}"\npath = "{path}"\n{source}\n'
    (folder / "watch.toml").write_text(text)
    watch(read_watch_settings(folder / "watch.toml"), "2023-01-01")  # before all: nothing is estimated
    with FleetStore.open(str(folder / "fleet.duckdb"), read_only=True) as store:
        rows = store._database.rows("SELECT node, began, cause FROM events ORDER BY began, node")
    return [f"{node} {began:%m-%d %H} {cause}" for node, began, cause in rows]


def put(folder: Path, *rows: str, name: str = "log.csv") -> None:
    (folder / name).write_text(HEAD + "".join(f"{row}\n" for row in rows))


def lines(node: str, day: int, errors: int, others: int) -> list[str]:
    """Rows an hour apart: errors of disks, then lines that are none."""
    levels = ["ERROR"] * errors + ["INFO"] * others
    return [f"{node},{level},2024-01-{day:02d} {hour:02d}:00,disk,r1" for hour, level in enumerate(levels)]


def told(node: str, day: int, number: int) -> list[str]:
    return [f"{node} 01-{day:02d} {hour:02d} disk" for hour in range(number)]


@pytest.mark.slow
def test_few_records_that_were_rotated_away_stay(tmp_path: Path) -> None:
    """Five records are stored, and the new file has twelve rows: the number of rows tells nothing."""
    put(tmp_path, *lines("n1", 1, 3, 0))
    assert stored(tmp_path, STRICT) == told("n1", 1, 3)
    put(tmp_path, *lines("n2", 2, 2, 10))
    assert stored(tmp_path, STRICT) == told("n1", 1, 3) + told("n2", 2, 2)
    assert stored(tmp_path) == told("n1", 1, 3) + told("n2", 2, 12)
    assert stored(tmp_path, STRICT) == told("n1", 1, 3) + told("n2", 2, 2)


@pytest.mark.parametrize("others", [0, 10])
@pytest.mark.slow
def test_a_log_that_is_rotated_in_the_night_of_the_change(tmp_path: Path, others: int) -> None:
    put(tmp_path, *lines("n1", 1, 3, 0))
    stored(tmp_path)
    put(tmp_path, *lines("n2", 2, 2, others))
    assert stored(tmp_path, STRICT) == told("n1", 1, 3) + told("n2", 2, 2)


@pytest.mark.slow
def test_the_last_day_before_a_rotation_stays_when_the_zone_changes(tmp_path: Path) -> None:
    put(tmp_path, *lines("n1", 1, 3, 0))
    stored(tmp_path)
    put(tmp_path, "n2,ERROR,2024-01-01 12:00,disk,r1")
    stored(tmp_path)
    assert stored(tmp_path, 'timezone = "America/Denver"') == [*told("n1", 1, 3), "n2 01-01 19 disk"]


@pytest.mark.slow
def test_files_that_are_renamed_and_overlap_are_counted_once_under_other_columns(tmp_path: Path) -> None:
    put(tmp_path, *lines("n1", 1, 2, 0), name="log.csv")
    stored(tmp_path, path="log*.csv")
    (tmp_path / "log.csv").rename(tmp_path / "log-1.csv")
    put(tmp_path, *lines("n2", 2, 2, 0), name="log.csv")
    put(tmp_path, *lines("n1", 1, 2, 0), *lines("n2", 2, 1, 0), name="log-all.csv")
    assert len(stored(tmp_path, path="log*.csv")) == 4
    assert stored(tmp_path, 'columns = { cause = "rack" }', "log*.csv") == [
        "n1 01-01 00 r1",
        "n1 01-01 01 r1",
        "n2 01-02 00 r1",
        "n2 01-02 01 r1",
    ]


@pytest.mark.slow
def test_what_another_source_says_too_stays(tmp_path: Path) -> None:
    put(tmp_path, *lines("n1", 1, 2, 0))
    put(tmp_path, *lines("n1", 1, 1, 0), name="other.csv")
    other = '\n[[sources]]\nkind = "file"\npath = "other.csv"\n'
    assert stored(tmp_path, other) == told("n1", 1, 2)
    assert stored(tmp_path, 'columns = { cause = "rack" }' + other) == [
        "n1 01-01 00 disk",
        "n1 01-01 00 r1",
        "n1 01-01 01 r1",
    ]


@pytest.mark.slow
def test_a_pattern_that_matches_nothing_for_a_night_leaves_nothing_twice(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("2024-01-01 10:00 n1 fan red\n2024-01-02 10:00 n2 fan red\n")
    form = r"pattern = '(?P<start>[-0-9]+ [:0-9]+) (?P<node>n\d) {}'"
    causes = [
        stored(tmp_path, form.format(rest), "log.txt", "text")
        for rest in ("(?P<cause>fan)", "no", r"fan (?P<cause>\w+)")
    ]
    assert [[row[12:] for row in rows] for rows in causes] == [["fan", "fan"], [], ["red", "red"]]


@pytest.mark.slow
def test_rules_that_change_are_true_of_what_the_log_holds(tmp_path: Path) -> None:
    """The rules of before are those that were in the file then."""
    rule = '[[rule]]\npattern = "{}"\nends = "node"\ncause = "{}"\n'
    said = "[Mon Jan  {} 10:00:00 2024] mce: {}\n"
    (tmp_path / "rules.toml").write_text(rule.format("fire|smoke", "heat"))
    source, path = 'rules = "rules.toml"\nprogram = "dmesg"\nnode = "n1"', "kern.log"
    (tmp_path / path).write_text("".join(said.format(day, "fire") for day in (1, 2, 3)))
    before = stored(tmp_path, source, path, "journal")
    (tmp_path / path).write_text("".join(said.format(day, "smoke") for day in (4, 5)))
    assert [row[12:] for row in stored(tmp_path, source, path, "journal")] == ["heat"] * 5
    (tmp_path / "rules.toml").write_text(rule.format("fire|smoke", "air"))
    after = stored(tmp_path, source, path, "journal")
    assert after[:3] == before
    assert [row[12:] for row in after] == ["heat"] * 3 + ["air"] * 2


@pytest.mark.slow
def test_what_the_former_settings_cannot_read_stays_and_that_is_said(tmp_path: Path) -> None:
    """The columns were renamed, and the settings with them: what they said of three records is not taken back."""
    put(tmp_path, *lines("n1", 1, 3, 0))
    assert stored(tmp_path) == told("n1", 1, 3)
    (tmp_path / "log.csv").write_text("who,first,cause\nn1,2024-01-01 00:00,disk\nn2,2024-01-02 00:00,disk\n")
    renamed = 'columns = { node = "who", start = "first" }'
    assert notes(tmp_path, renamed) == ["records stay stored where the former settings cannot read it"]
    assert stored(tmp_path, renamed) == told("n1", 1, 3) + told("n2", 2, 1)
    assert notes(tmp_path, renamed + "\nformat = 'table'") == [
        "records that it no longer gives for that time were removed"
    ]


@pytest.mark.slow
def test_a_renamed_column_of_the_system_stores_nothing_twice(tmp_path: Path) -> None:
    """Eight records of two systems; the column is renamed, a row is added, the column is restored."""
    rows = [f"n{i},2024-01-0{i + 1} 00:00,disk,{'ab'[i % 2]}\n" for i in range(9)]
    log = tmp_path / "log.csv"

    def put_rows(head: str, number: int) -> None:
        log.write_text(f"node,start,cause,{head}\n" + "".join(rows[:number]))

    put_rows("cluster", 8)
    before = stored(tmp_path)
    for _ in range(2):
        put_rows("cl", 9)
        result = watch(read_watch_settings(tmp_path / "watch.toml"), "2023-01-01")
        assert (result.records, result.new, result.failed) == (8, 0, ("file log.csv",))
        assert "8 records of log.csv came again with another system, and were not stored" in result.findings[-2]
    put_rows("cluster", 8)
    assert stored(tmp_path) == before
    put_rows("cl", 9)
    assert len(stored(tmp_path, 'columns = { system = "cl" }')) == 9  # the settings follow the file
    rows[0] = rows[0].replace(",a", ",b")  # a host that moved is a correction
    put_rows("cl", 9)
    assert len(stored(tmp_path, 'columns = { system = "cl" }')) == 9


@pytest.mark.slow
def test_one_cluster_of_a_table_of_two_is_watched(tmp_path: Path) -> None:
    rows = [f"n{i},2024-01-0{i + 1} 00:00,disk,{'ab'[i % 2]}\n" for i in range(6)]
    (tmp_path / "log.csv").write_text("node,start,cause,cluster\n" + "".join(rows))
    assert len(stored(tmp_path)) == 6
    assert stored(tmp_path, 'where = { system = "b" }') == ["n1 01-02 00 disk", "n3 01-04 00 disk", "n5 01-06 00 disk"]
    with FleetStore.open(str(tmp_path / "fleet.duckdb"), read_only=True) as store:
        assert store.log(nodes=4).n_nodes == 4
    stored(tmp_path)
    with (
        FleetStore.open(str(tmp_path / "fleet.duckdb"), read_only=True) as store,
        pytest.raises(RelfitError, match="with a system for each: population = "),
    ):
        store.log(nodes=9)


def notes(folder: Path, source: str) -> list[str]:
    """What a round says of settings that changed."""
    (folder / "watch.toml").write_text(
        f'store = "fleet.duckdb"\n[[sources]]\nkind = "file"\npath = "log.csv"\n{source}\n'
    )
    said = watch(read_watch_settings(folder / "watch.toml"), "2023-01-01").to_dict()
    return re.findall(r"read again[;:,]? (?:and )?([^\"]*?(?:stay stored|removed)[^\"]*)", json.dumps(said))
