"""A source that fell silent: the days of its silence are no days without failures."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from relfit.live.watch_round import watch
from relfit.live.watch_settings import read_watch_settings


@pytest.mark.slow
def test_silence_is_not_observed(tmp_path: Path) -> None:
    """Ten records a week until 2024-06-29, read by a round two days later, and none for two months."""
    starts = pd.date_range("2024-03-01", "2024-06-30", freq="16.8h")
    lines = [f"n{i % 9},{at:%Y-%m-%d %H:%M},{at:%Y-%m-%d} 23:59,fan" for i, at in enumerate(starts)]
    (tmp_path / "a.csv").write_text("\n".join(["node,start,end,cause", *lines]) + "\n")
    (tmp_path / "watch.toml").write_text(
        'store = "fleet.duckdb"\nobserved_until = "now"\nnodes = 9\n[[sources]]\nkind = "file"\npath = "a.csv"\n'
        '[alarms.stock]\nfan = 100\ndisk = 9\n[outputs]\nmetrics = "r.prom"\n'
    )
    settings = read_watch_settings(tmp_path / "watch.toml")
    first, later = watch(settings, "2024-07-01 06:00"), watch(settings, "2024-08-31 06:00")
    record = pd.Timestamp("2024-06-29 23:59", tz="UTC")
    assert f"relfit_last_record_timestamp_seconds {record.timestamp()}" in (tmp_path / "r.prom").read_text()
    assert set(first.forecasts["made"]) == {pd.Timestamp("2024-07-01 06:00", tz="UTC")}
    assert set(later.forecasts["made"]) == {record}  # it was known alive then
    assert [alarm.kind for alarm in later.alarms] == ["source"]  # and the rate of the system has not fallen
    week = later.forecasts.set_index("horizon_hours").loc[168.0]
    assert week["lower"] <= 10 <= week["upper"]
    assert 8 < week["mean"] < 12
    as_of = "rates, forecasts and stock are as of 2024-06-29 23:59, the last time observed"
    assert later.problems[0] == f"silent: source file a.csv; {as_of}"
    assert "no failure has the cause 'disk' of the stock yet: it is not judged" in first.problems
    assert not first.undone
