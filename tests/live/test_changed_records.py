"""A small table by hand: a corrected start, removed rows, quiet nights, a row of a wrong year."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from relfit.io import read
from relfit.live.fleet_store import FleetStore
from relfit.live.watch_init import write_settings
from relfit.live.watch_round import watch
from relfit.live.watch_settings import read_watch_settings


def table(folder: Path, rows: list[str]) -> None:
    (folder / "downtimes.csv").write_text("\n".join(["Failed;Node;Downtime (h)", *rows]) + "\n", encoding="utf-8")


@pytest.fixture
def rows() -> list[str]:
    days = pd.date_range("2025-10-13", periods=40, freq="9D")
    return [f"{day:%d/%m/%Y} 04:35;node{i % 9};{i % 7},5" for i, day in enumerate(days)]


@pytest.mark.slow
def test_a_corrected_start_is_a_change_and_quiet_nights_count(tmp_path: Path, rows: list[str]) -> None:
    table(tmp_path, ["01/07/2024 09:00;node4;3,0", *rows])
    out = tmp_path / "watch.toml"
    columns = {"window_start": "2025-10-01"}
    write_settings([str(tmp_path / "downtimes.csv")], out, columns=columns, nodes=9)
    text = out.read_text(encoding="utf-8").replace('observed_until = "now"\n', "")
    out.write_text(f'observed_until = "now"\n{text}', encoding="utf-8")
    settings = read_watch_settings(out)
    first = watch(settings, now="2026-10-20")
    assert (first.records, first.new) == (40, 40)
    assert first.forecasts["made"].unique().tolist() == [pd.Timestamp("2026-10-20", tz="UTC")]
    corrected = ["01/07/2024 09:00;node4;3,0", rows[0], rows[1].replace("04:35", "05:35"), *rows[2:]]
    table(tmp_path, corrected)
    second = watch(settings, now="2026-10-21")
    assert (second.records, second.new) == (40, 0)
    assert second.gone == ("1 record was changed in downtimes.csv",)
    table(tmp_path, [*corrected[:21], *corrected[24:], "01/10/2026 10:00;node8;2,5"])
    third = watch(settings, now="2026-10-21")
    assert (third.records, third.new) == (38, 1)
    assert third.gone == ("3 records are gone from downtimes.csv: 3 removed from the store, 0 stay in it",)


def test_a_column_of_dates_called_failed_is_the_start(tmp_path: Path, rows: list[str]) -> None:
    table(tmp_path, rows)
    log = read(tmp_path / "downtimes.csv")
    assert log.lifetimes is None
    assert len(log.events) == 40
    hours = (log.events["end"] - log.events["start"]).dt.total_seconds() / 3600
    assert hours.tolist() == [i % 7 + 0.5 for i in range(40)]


SLOTS = (
    "node,start,end,cause,slot,note\n"
    "a,2024-01-03 10:00,2024-01-03 12:00,disk,1,done\n"
    "a,2024-01-03 10:00,,disk,2,open\n"
    "b,2024-01-05 10:00,2024-01-05 12:00,disk,1,done\n"
)


def test_slots_of_a_node_fail_apart_and_the_end_of_an_outage_comes_later(tmp_path: Path) -> None:
    path, out = tmp_path / "slots.csv", tmp_path / "watch.toml"
    path.write_text(SLOTS)
    write_settings([str(path)], out, nodes=4)
    settings = read_watch_settings(out)
    assert watch(settings, now="2024-01-06").records == len(read(path).events) == 3
    path.write_text(SLOTS.replace("10:00,,disk,2,open", "10:00,2024-01-04 10:00,disk,2,done"))
    second = watch(settings, now="2024-01-07")
    assert (second.records, second.new, second.gone) == (3, 0, ())
    with FleetStore.open(settings.store) as store:
        log = store.log(nodes=4)
        hours = (log.events["end"] - log.events["start"]) / pd.Timedelta("1h")
        assert dict(zip(log.events["slot"], hours, strict=True)) == {1: 2.0, 2: 24.0}
        assert hours.tolist() == [2.0, 24.0, 2.0]
        assert not log.events["end_cut"].any()


def test_a_store_of_the_version_before_learns_the_slots(tmp_path: Path) -> None:
    path, out = tmp_path / "slots.csv", tmp_path / "watch.toml"
    path.write_text(SLOTS)
    write_settings([str(path)], out, nodes=4)
    settings = read_watch_settings(out)
    watch(settings, now="2024-01-06")
    with FleetStore.open(settings.store) as store:  # version 1 held one record of a node's slots
        store._database.execute("DELETE FROM events WHERE unit = 'slot=1' AND node = 'a'")
        store._database.execute("ALTER TABLE events DROP COLUMN unit")
        store._database.execute("UPDATE about SET value = '1' WHERE name = 'version'")
    second = watch(settings, now="2024-01-07")
    assert (second.records, second.new, second.gone) == (3, 1, ())


def test_settings_elsewhere_name_logs_from_where_the_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, settings = tmp_path / "work", tmp_path / "settings"
    for folder in (work, settings):
        folder.mkdir()
    (work / "slots.csv").write_text(SLOTS)
    monkeypatch.chdir(work)
    write_settings(["slots.csv"], settings / "watch.toml", nodes=4)
    assert watch(read_watch_settings(settings / "watch.toml"), now="2024-01-06").records == 3
