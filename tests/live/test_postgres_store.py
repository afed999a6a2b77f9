"""PostgreSQL: a store holds what one in DuckDB holds, one round at a time; as a source it may be slow or refuse."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from relfit.base.errors import RelfitError
from relfit.live.fleet_store import FleetStore
from relfit.live.watch_results import Round
from relfit.live.watch_round import watch
from relfit.live.watch_settings import read_watch_settings

pytestmark = [pytest.mark.live, pytest.mark.slow]
FILES = {
    "a.csv": ["n1,2024-01-01 10:00,2024-01-01 12:30,disk,r1", 'n2,2024-01-03 10:00,,"a ""quoted"", \\N thing",r1'],
    "b.csv": ['n2,2024-01-03 10:00,2024-01-03 11:00,"a ""quoted"", \\N thing",r1', "n3,2024-01-05 10:00,,,r2"],
    "c.csv": ["n1,2024-01-06 10:00,2024-01-06 12:30,fan,r1"],
}


@pytest.fixture(scope="module")
def server(live: Callable[..., dict[str, str]]) -> dict[str, str]:
    return live("postgres")


def plain(server: dict[str, str]) -> str:
    return server["LIVE_POSTGRES"].replace("+psycopg", "")


def test_both_stores_hold_the_same(server: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    logs = []
    for store in (server["LIVE_POSTGRES"], "fleet.duckdb"):
        settings = tmp_path / "watch.toml"
        settings.write_text(
            f'store = "{store}"\n[[sources]]\nkind = "file"\npath = "logs/*.csv"\npopulation = "nodes.csv"\n'
        )
        (tmp_path / "nodes.csv").write_text("node\nn1\nn2\nn3\nn8\nn9\n")
        new = []
        for name, rows in FILES.items():
            (tmp_path / "logs" / name).write_text("node,start,end,cause,rack\n" + "\n".join(rows) + "\n")
            new.append(watch(read_watch_settings(settings), "2024-02-01").new)
        assert new == [2, 1, 1]
        (tmp_path / "nodes.csv").write_text("node\nn1\nn2\nn3\nn9\n")
        again = watch(read_watch_settings(settings), "2024-02-02")
        assert (again.new, again.problems[:1]) == (0, ("1 node is no longer listed: n8",))
        read = read_watch_settings(settings)
        with FleetStore.open(read.store, read_only=True) as opened:
            logs.append(opened.log())
            assert len(opened.forecasts()) >= 0
        for file in (tmp_path / "logs").iterdir():
            file.unlink()
    for name in ("events", "population"):
        pd.testing.assert_frame_equal(getattr(logs[0], name), getattr(logs[1], name))


@pytest.mark.parametrize("rotated", [False, True])
def test_changed_settings_are_read_again(server: dict[str, str], tmp_path: Path, rotated: bool) -> None:
    """Day and month the other way round, and a column that tells which rows fail; by hand."""
    import psycopg

    with psycopg.connect(plain(server), autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS relfit CASCADE")
    head, log = "node,start,cause,word\n", tmp_path / "log.csv"
    old = "n1,05/01/2024 10:00,disk,bad\nn2,02/03/2024 10:00,fan,bad\n"
    now = "n3,03/02/2024 10:00,disk,bad\n" + "".join(f"n4,03/04/2024 1{i}:00,fan,good\n" for i in range(5))

    nodes: list[str] = []

    def stored(columns: str) -> list[tuple[str, str, str]]:
        (tmp_path / "watch.toml").write_text(
            f'store = "{server["LIVE_POSTGRES"]}"\n[[sources]]\nkind = "file"\npath = "log.csv"\n'
            f"columns = {{ {columns} }}\n"
        )
        for new in (None, 0):  # a second round changes nothing
            result = watch(read_watch_settings(tmp_path / "watch.toml"), "2023-07-01")  # nothing is estimated
            assert result.failed == ()
            assert new in (None, result.new)
        with FleetStore.open(server["LIVE_POSTGRES"], read_only=True) as store:
            rows = store._database.rows("SELECT node, began, cause FROM events ORDER BY node, began")
            nodes.append("".join(name for (name,) in store._database.rows("SELECT node FROM nodes ORDER BY node")))
        return [(node, f"{began:%m-%d %H}", cause) for node, began, cause in rows]

    log.write_text(head + old + ("" if rotated else now))
    others = [("n4", f"03-04 1{i}", "fan") for i in range(5)]
    first = [("n1", "05-01 10", "disk"), ("n2", "02-03 10", "fan")]
    if rotated:
        assert stored("day_first = false") == first
        log.write_text(head + now)
    assert stored("day_first = false") == [*first, ("n3", "03-02 10", "disk"), *others]
    before = first if rotated else [("n1", "01-05 10", "disk"), ("n2", "03-02 10", "fan")]
    assert stored('day_first = true, failures = "word=bad"') == [*before, ("n3", "02-03 10", "disk")]
    if rotated:  # in the same night as the settings change: eight rows, of which none is of before
        before += [("n3", "02-03 10", "disk")]
        log.write_text(head + now.replace("n3", "n5").replace("n4", "n6") + "n7,03/05/2024 10:00,fan,bad\n")
        assert stored('day_first = false, failures = "word=bad"') == [
            *before,
            ("n5", "03-02 10", "disk"),
            ("n7", "03-05 10", "fan"),
        ]
    assert nodes == (["n1n2", "n1n2n3n4", "n1n2n3n4", "n1n2n3n4n5n6n7"] if rotated else ["n1n2n3n4"] * 2)


def test_a_store_before_its_first_round_and_one_of_another_fleet(server: dict[str, str]) -> None:
    import psycopg

    with psycopg.connect(plain(server), autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS relfit CASCADE")
    with pytest.raises(RelfitError, match=r"there is no store in .*; relfit watch run creates it"):
        FleetStore.open(server["LIVE_POSTGRES"], "white", read_only=True)
    with FleetStore.open(server["LIVE_POSTGRES"], "white"):
        pass
    for read_only in (False, True):
        with pytest.raises(RelfitError, match="the store of the fleet 'white', and this is 'blue'"):
            FleetStore.open(server["LIVE_POSTGRES"], "blue", read_only=read_only)
    with psycopg.connect(plain(server), autocommit=True) as connection:
        connection.execute("DROP SCHEMA relfit CASCADE")


def test_one_round_at_a_time(server: dict[str, str]) -> None:
    url = server["LIVE_POSTGRES"]
    with FleetStore.open(url), pytest.raises(RelfitError, match="in use by another round"):
        FleetStore.open(url)
    with FleetStore.open(url):
        pass


QUERY = "SELECT 'n1' AS node, timestamp '2024-01-05 10:00' AS start, 'fan' AS cause"


def test_a_wrong_password_and_a_slow_query_fail_alone(
    server: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    rules = Path(server["LIVE_FOLDER"]) / "postgres" / "data" / "pg_hba.conf"
    with psycopg.connect(plain(server), autocommit=True) as connection:
        connection.execute("CREATE USER reader PASSWORD 'r1ght'")
        rules.write_text("host all reader 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
        connection.execute("SELECT pg_reload_conf()")
    (tmp_path / "a.csv").write_text("node,start,end,cause\nn2,2024-01-01 10:00,2024-01-01 12:30,disk\n")
    url = plain(server).replace("relfit@", "reader@")

    def round_of(day: int, query: str = QUERY) -> Round:
        (tmp_path / "watch.toml").write_text(
            'store = "fleet.duckdb"\n[[sources]]\nkind = "file"\npath = "a.csv"\n'
            f'[[sources]]\nkind = "sql"\nname = "site"\nurl = "{url}"\npassword_env = "SITE"\ntimeout = 1\n'
            f'query = "{query}"\n'
        )
        return watch(read_watch_settings(tmp_path / "watch.toml"), f"2023-02-0{day}")

    monkeypatch.setenv("SITE", "wr0ng")
    refused = round_of(1)
    assert (refused.records, refused.failed) == (1, ("site",))
    told = " ".join(refused.sources["failure"])
    assert "password authentication failed" in told
    assert "wr0ng" not in told
    monkeypatch.setenv("SITE", "r1ght")
    assert (round_of(2).records, round_of(3).new) == (2, 0)
    slow = round_of(4, QUERY + " FROM pg_sleep(20)")
    assert (slow.records, slow.failed) == (2, ("site",))
    assert "statement timeout" in " ".join(slow.sources["failure"])
    assert round_of(5).new == 0


@pytest.mark.long
def test_a_server_that_falls_silent_is_left_alone(
    server: dict[str, str], tmp_path: Path, falling_silent: Callable[[str, bytes], str]
) -> None:
    """Once it let us in, its own limit for a query does not help where nothing of what it says comes through."""
    (tmp_path / "a.csv").write_text("node,start,end,cause\nn2,2024-01-01 10:00,2024-01-01 12:30,disk\n")
    for word in (b"pg_catalog.version", b"fan"):  # asked when the connection is made, and in the query
        url = falling_silent(plain(server), word)
        (tmp_path / "watch.toml").write_text(
            f'store = "fleet.duckdb"\n[[sources]]\nkind = "sql"\nname = "site"\nurl = "{url}"\ntimeout = 1\n'
            f'query = "{QUERY}"\n[[sources]]\nkind = "file"\npath = "a.csv"\n'
        )
        begun = time.monotonic()
        result = watch(read_watch_settings(tmp_path / "watch.toml"), "2023-02-01")
        assert time.monotonic() - begun < 20.0
        assert (result.records, result.failed) == (1, ("site",))
        assert result.sources["failure"].tolist()[0].startswith("the server did not answer within 1 s")
