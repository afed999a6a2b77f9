"""Late rows, deleted rows and clocks that were wrong: nodes of a list stay under observation to the end."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from relfit.live.fleet_store import FleetStore
from relfit.live.watch_round import watch
from relfit.live.watch_settings import read_watch_settings

HEAD = "node,start,end,cause\n"
FIRST = ["n1,2024-01-01 10:00,2024-01-01 12:00,disk\n", "n1,2024-01-09 10:00,2024-01-09 12:00,disk\n"]
SECOND = ["n2,2024-01-02 10:00,2024-01-02 12:00,disk\n", "n2,2024-01-05 10:00,2024-01-05 12:00,disk\n"]
NODES = "node,left\nn1,\nn2,\nn3,\nn4,2024-01-04\n"
BEFORE = "2023-01-01"
"""A time before all records: they are stored, and nothing is estimated."""
WRITTEN = 1_700_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "watch.toml").write_text(
        'store = "fleet.duckdb"\n[[sources]]\nkind = "file"\npath = "logs/*.csv"\npopulation = "nodes.csv"\n'
        'columns = { window_start = "2024-01-01" }\n'
    )
    return tmp_path


def left_after(folder: Path, *files: list[str], until: str | None = None) -> dict[str, str]:
    """Until when each node is watched after a round over these files, ``a.csv`` and so on."""
    for name, rows in zip("abc", files, strict=False):
        path, text = folder / "logs" / f"{name}.csv", HEAD + "".join(rows)
        if not path.exists() or path.read_text() != text:  # files of some time ago: only those that changed are read
            path.write_text(text)
            os.utime(path, (WRITTEN + len(text), WRITTEN + len(text)))
    watch(read_watch_settings(folder / "watch.toml"), BEFORE)
    with FleetStore.open(str(folder / "fleet.duckdb"), read_only=True) as store:
        log = store.log(until=None if until is None else pd.Timestamp(until, tz="UTC"))
    people: Any = log.population.set_index("node")["left"]
    assert log.window.end == people["n1"]
    return {str(node): f"{left:%m-%d %H}" for node, left in people.items()}


def test_a_late_row_in_one_of_two_files_ends_no_node(folder: Path) -> None:
    to_the_end = {"n1": "01-09 12", "n2": "01-09 12", "n3": "01-09 12", "n4": "01-04 00"}
    assert left_after(folder, FIRST, SECOND) == to_the_end
    late = "n2,2024-01-03 10:00,2024-01-03 12:00,disk\n"
    assert left_after(folder, FIRST, [*SECOND, late]) == to_the_end
    assert left_after(folder, until="2024-01-20") == {**dict.fromkeys(["n1", "n2", "n3"], "01-20 00"), "n4": "01-04 00"}


def test_a_store_in_which_a_late_row_ended_all_nodes_is_healed(folder: Path) -> None:
    expected = left_after(folder, FIRST, SECOND)
    with FleetStore.open(str(folder / "fleet.duckdb")) as store:  # as relfit 0.4.0 left it
        store._database.execute("UPDATE nodes SET leaving = '2024-01-05 12:00:00' WHERE NOT leaving_known")
    assert left_after(folder) == expected


@pytest.mark.parametrize("until", [None, "2024-01-12"])
def test_the_last_row_is_deleted_or_was_of_tomorrow_and_rotated_away(folder: Path, until: str | None) -> None:
    end = "01-09 12" if until is None else "01-12 00"
    everyone = {**dict.fromkeys(["n1", "n2", "n3"], end), "n4": "01-04 00"}
    assert left_after(folder, [*SECOND, FIRST[1]], until=until) == everyone
    assert left_after(folder, SECOND, until=until) == everyone  # the record stays in the store
    assert left_after(folder, ["n3,2024-01-06 10:00,2024-01-06 11:00,disk\n"], until=until) == everyone


def test_a_node_leaves_when_the_list_says_so_and_comes_back(folder: Path) -> None:
    left_after(folder, FIRST, SECOND)
    for text, left in (("2024-01-03", "01-03 00"), ("", "01-09 12"), ("2024-01-06", "01-06 00")):
        (folder / "nodes.csv").write_text(NODES.replace("n3,", f"n3,{text}"))
        assert left_after(folder)["n3"] == left
