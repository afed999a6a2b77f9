"""One file of a log that was written by month: that month of the log, not a log of three months with one month's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf


@pytest.fixture
def log(tmp_path) -> rf.FailureLog:
    """300 outages of an hour of 20 nodes in three months, drawn with plain NumPy."""
    rng = np.random.default_rng(3)
    start = pd.Timestamp("2024-10-01") + pd.to_timedelta(np.sort(rng.uniform(0.0, 92.0 * 24.0, 300)).round(2), "h")
    table = pd.DataFrame({"node": rng.integers(0, 20, 300), "start": start, "end": start + pd.Timedelta("1h")})
    table.to_csv(tmp_path / "log.csv", index=False)
    return rf.read(tmp_path / "log.csv", n_nodes=20, window_start="2024-10-01", window_end="2025-01-01")


@pytest.mark.parametrize(("by", "name", "days"), [("month", "2024-11", 30), ("month", "2024-10", 31)])
def test_a_part_alone_is_observed_in_its_period(log, tmp_path, by, name, days):
    rf.write(log, tmp_path / "parts", by=by)
    month = log.events["start"].dt.strftime("%Y-%m") == name
    part = rf.read(tmp_path / "parts" / f"{name}.parquet")
    assert (len(part), part.window.hours) == (month.sum(), 24.0 * days)
    assert ((part.population["left"] - part.population["entered"]).dt.days == days).all()
    assert any(note.startswith("1 of 3 parts of a log: observed from") for note in part.source.notes)
    expected = rf.forecast(part, "30d", at="long run", period="all").total["failures"][0]
    assert expected == pytest.approx(month.sum() / days * 30.0, rel=0.05)


def test_all_parts_are_the_log(log, tmp_path):
    for by in ("month", "year"):
        rf.write(log, tmp_path / by, by=by)
        whole = rf.read(tmp_path / by)
        assert whole.window == log.window
        assert whole.events.equals(log.events)
        assert whole.source.notes == log.source.notes
