"""A small table by hand: a corrected start, removed rows, quiet nights, a row of a wrong year."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from relfit.io import read
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
