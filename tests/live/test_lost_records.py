"""Records that a file no longer has: a new name of a node, another time zone, a last row that was false."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from relfit.cli.app import main
from relfit.live.fleet_store import FleetStore
from relfit.live.watch_round import watch
from relfit.live.watch_settings import read_watch_settings

BEFORE = "2023-01-01"
"""A time before all records: they are stored, and nothing is estimated."""
WRITTEN = 1_700_000_000
STARTS = pd.date_range("2024-01-01 10:00", periods=20, freq="D")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "watch.toml").write_text(
        'store = "fleet.duckdb"\n[[sources]]\nkind = "file"\npath = "a.csv"\npopulation = "nodes.csv"\n'
        'columns = { window_start = "2024-01-01" }\n'
    )
    return tmp_path


def rows(shift: str = "0h", renamed: str = "n1") -> list[str]:
    """Twenty outages of two hours, of five nodes in turn; n1 has four of them."""
    names = ["n0", renamed, "n2", "n3", "n4"]
    starts = STARTS + pd.Timedelta(shift)
    return [f"{names[i % 5]},{at},{at + pd.Timedelta('2h')},disk\n" for i, at in enumerate(starts)]


def round_of(folder: Path, lines: list[str], renamed: str = "n1") -> Any:
    """A round over these rows, of files that were written some time ago."""
    (folder / "nodes.csv").write_text(f"node\nn0\n{renamed}\nn2\nn3\nn4\n")
    text = "node,start,end,cause\n" + "".join(lines)
    (folder / "a.csv").write_text(text)
    seconds = WRITTEN + sum(text.encode()) % 1000
    os.utime(folder / "a.csv", (seconds, seconds))
    return watch(read_watch_settings(folder / "watch.toml"), BEFORE)


def stored(folder: Path) -> list[str]:
    with FleetStore.open(str(folder / "fleet.duckdb"), read_only=True) as store:
        log = store.log()
    assert set(log.events["node"]) == set(log.population["node"])
    events = log.events.sort_values("start")
    return [
        f"{each.node},{each.start:%Y-%m-%d %H:%M:%S},{each.end:%Y-%m-%d %H:%M:%S},disk\n"
        for each in events.itertuples()
    ]


def test_a_node_is_renamed_in_the_file_and_in_the_list(folder: Path) -> None:
    round_of(folder, rows())
    result = round_of(folder, rows(renamed="x1"), "x1")
    assert stored(folder) == rows(renamed="x1")
    assert result.records == 20
    assert result.gone == (
        "4 records are gone from a.csv: 4 removed from the store, 0 stay in it",
        "1 node is no longer listed: n1",
    )


@pytest.mark.parametrize("later", [[], ["n3,2024-03-01 10:00:00,2024-03-01 12:00:00,disk\n"]])
@pytest.mark.parametrize("shift", ["1h", "-7h", "30h"])
def test_a_file_is_exported_again_with_other_times(folder: Path, shift: str, later: list[str]) -> None:
    round_of(folder, rows())
    result = round_of(folder, [*rows(shift), *later])
    assert stored(folder) == [*rows(shift), *later]
    assert (result.records, result.new) == (20 + len(later), len(later))
    assert result.gone == ("20 records were changed in a.csv",)


def test_another_log_under_the_same_name_takes_nothing_away(folder: Path) -> None:
    """Rotated: its rows have other times, too, but none of the old ones is in its time."""
    round_of(folder, rows())
    assert round_of(folder, rows("40D")).records == 40
    assert stored(folder) == [*rows(), *rows("40D")]


def test_a_last_row_that_was_false_is_told_in_each_round_until_it_is_removed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    round_of(folder, rows())
    first = round_of(folder, rows()[:-1])
    assert first.undone[-1] == "1 record is gone from a.csv: 0 removed from the store, 1 stay in it"
    later = "n3,2024-03-01 10:00:00,2024-03-01 12:00:00,disk\n"
    second = round_of(folder, [*rows()[:-1], later])
    said = "no longer in a.csv, but stored (relfit watch run --remove-lost removes such): 1 record"
    for each in (first, second):
        assert said in each.problems
    assert (second.records, second.gone) == (21, ())
    assert main(["watch", "run", str(folder / "watch.toml"), "--now", BEFORE, "--remove-lost"]) == 4  # nothing observed
    assert "no longer in a.csv, removed from the store: 1 record" in " ".join(capsys.readouterr().out.split())
    assert stored(folder) == [*rows()[:-1], later]
    assert "no longer in" not in " ".join(round_of(folder, [*rows()[:-1], later]).problems)


def test_a_record_that_comes_back_is_not_lost(folder: Path) -> None:
    round_of(folder, rows())
    round_of(folder, rows()[:-3])  # cut short while it was copied
    result = round_of(folder, rows())
    assert "no longer in" not in " ".join(result.problems)
    assert stored(folder) == rows()
