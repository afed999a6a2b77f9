"""Dates are printed in the time zone of the log: a day that the user typed is that day in every answer."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.cli.app import main
from relfit.live.watch_round import watch
from relfit.live.watch_settings import read_watch_settings

COMMANDS = ["info", "trend", "incidents", "nodes", "forecast", "calibrate", "report", "dependence"]
BERLIN = ["--timezone", "Europe/Berlin"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty nodes from November 2025 on, a failure each fortnight."""
    rng, begun = np.random.default_rng(1), pd.Timestamp("2025-11-01")
    hours = [(f"n{node:02d}", hour) for node in range(20) for hour in np.sort(rng.uniform(0.0, 4800.0, 12))]
    start = begun + pd.to_timedelta([hour for _, hour in hours], unit="h")
    frame = pd.DataFrame({"node": [node for node, _ in hours], "start": start, "end": start + pd.Timedelta(minutes=2)})
    frame = frame.sort_values("start").round({"start": 0})
    path = tmp_path_factory.mktemp("zone") / "berlin.csv"
    frame.to_csv(path, index=False, date_format="%Y-%m-%d %H:%M:%S")
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_a_day_that_was_typed_is_that_day_in_the_answer(
    command: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--since 2026-02-01` was said to be January: midnight of Berlin is eleven in the evening of UTC."""
    page = tmp_path / "page.html"
    more = ["-o", str(page)] if command == "report" else []
    assert main([command, str(table), *BERLIN, "--since", "2026-02-01", *more]) == 0
    said = capsys.readouterr().out + (page.read_text(encoding="utf-8") if more else "")
    assert "2026-01-31" not in said
    assert "January" not in said
    if more:
        assert "since February 2026" in said
    assert not re.search(r"\bUTC\b", said)


def test_results_have_the_dates_of_the_log(table: Path) -> None:
    log = rf.read(table, timezone="Europe/Berlin")
    assert f"{log.window.start:%Y-%m-%d %H:%M}" == pd.read_csv(table)["start"].min()[:16]
    since = log.between("2026-02-01")
    assert "2026-02-01T00:00:00+01:00" in since.source.selection[0]
    assert since.window.start.value == pd.Timestamp("2026-01-31 23:00", tz="UTC").value


def test_repeats_have_the_dates_of_the_log() -> None:
    log = rf.datasets.load("white")
    local = replace(log, source=replace(log.source, timezone="Asia/Tokyo"))
    first = rf.screening.repeat_failures(log).nodes["last"].iloc[0]
    there = rf.screening.repeat_failures(local)
    assert there.nodes["last"].iloc[0] == first
    assert f"last {first + pd.Timedelta(hours=9):%Y-%m-%d}" in there.headline
    assert f"{there.nodes['last'].iloc[0]:%H:%M}" == f"{first + pd.Timedelta(hours=9):%H:%M}"


@pytest.mark.slow
@pytest.mark.long
def test_a_watch_prints_the_dates_of_its_time_zone(table: Path, tmp_path: Path, capsys) -> None:
    """A round at 23:30 of UTC is one of the next day in Berlin."""
    settings = Path(tmp_path, "watch.toml")
    settings.write_text(
        'store = "store.duckdb"\nfleet = "berlin"\ntimezone = "Europe/Berlin"\n\n'
        f'[[sources]]\nkind = "file"\npath = "{table}"\n\n[outputs]\npage = "day.html"\n'
    )
    watch(read_watch_settings(settings), "2026-03-12 23:30Z")
    main(["watch", "status", str(settings)])
    said = capsys.readouterr().out
    assert "last round at 2026-03-13 00:30" in said
    page = Path(tmp_path, "day.html").read_text(encoding="utf-8")
    assert "on Friday, 2026-03-13" in page
    assert "until 2026-03-13 00:30 Europe/Berlin" in page
