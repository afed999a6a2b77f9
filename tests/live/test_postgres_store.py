"""A store in PostgreSQL holds what one in DuckDB holds; a second round at a time is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from relfit.base.errors import RelfitError
from relfit.live.fleet_store import FleetStore
from relfit.live.watch_round import watch
from relfit.live.watch_settings import read_watch_settings

URL = os.environ.get("LIVE_POSTGRES", "")
pytestmark = pytest.mark.skipif(not URL, reason="no PostgreSQL: tools/live.sh up DIR postgres, and source DIR/live.env")
FILES = {
    "a.csv": ["n1,2024-01-01 10:00,2024-01-01 12:30,disk,r1", 'n2,2024-01-03 10:00,,"a ""quoted"", \\N thing",r1'],
    "b.csv": ['n2,2024-01-03 10:00,2024-01-03 11:00,"a ""quoted"", \\N thing",r1', "n3,2024-01-05 10:00,,,r2"],
    "c.csv": ["n1,2024-01-06 10:00,2024-01-06 12:30,fan,r1"],
}


def test_both_stores_hold_the_same(tmp_path: Path) -> None:
    import psycopg

    with psycopg.connect(URL.replace("+psycopg", ""), autocommit=True) as server:
        server.execute("DROP SCHEMA IF EXISTS relfit CASCADE")
    (tmp_path / "logs").mkdir()
    logs = []
    for store in (URL, "fleet.duckdb"):
        settings = tmp_path / "watch.toml"
        settings.write_text(f'store = "{store}"\n[[sources]]\nkind = "file"\npath = "logs/*.csv"\n')
        new = []
        for name, rows in FILES.items():
            (tmp_path / "logs" / name).write_text("node,start,end,cause,rack\n" + "\n".join(rows) + "\n")
            new.append(watch(read_watch_settings(settings), "2024-02-01").new)
        assert new == [2, 1, 1]
        assert watch(read_watch_settings(settings), "2024-02-02").new == 0
        read = read_watch_settings(settings)
        with FleetStore.open(read.store, read_only=True) as opened:
            logs.append(opened.log())
            assert len(opened.forecasts()) >= 0
        for file in (tmp_path / "logs").iterdir():
            file.unlink()
    for name in ("events", "population"):
        pd.testing.assert_frame_equal(getattr(logs[0], name), getattr(logs[1], name))


def test_one_round_at_a_time() -> None:
    with FleetStore.open(URL), pytest.raises(RelfitError, match="in use by another round"):
        FleetStore.open(URL)
    FleetStore.open(URL).close()
