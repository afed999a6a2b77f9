"""A real Slurm with accounting in MariaDB: what it records is what the source reads, and drains reach its nodes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from relfit.base.errors import RelfitError
from relfit.base.results import json_ready
from relfit.live.fleet_store import FleetStore
from relfit.live.live_records import Alarm
from relfit.live.slurm_actions import apply_drains, drains_of, undo_drains
from relfit.live.sources import SOURCES, SourceError
from relfit.live.watch_results import Round
from relfit.live.watch_round import watch
from relfit.live.watch_settings import read_watch_settings

pytestmark = [pytest.mark.live, pytest.mark.slow]
NODES = (
    "NodeName=n[01-40] CPUs=4 RealMemory=1000 NodeAddr=127.0.0.1\n"
    "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    "PartitionName=few Nodes=n[01-04] MaxTime=INFINITE State=UP"
)


@pytest.fixture(scope="module")
def slurm(live: Any) -> Any:
    values = live("slurm", LIVE_NODES=NODES)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setenv(name, value)
        wait_for("scontrol show node n01", "State=")
        yield values


def shell(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def set_node(names: str, state: str, reason: str = "") -> None:
    shell("scontrol", "update", f"NodeName={names}", f"State={state}", *([f"Reason={reason}"] if reason else []))


def wait_for(command: str, text: str, seconds: float = 10.0) -> str:
    end = time.monotonic() + seconds
    while text not in (said := shell(*command.split())) and time.monotonic() < end:
        time.sleep(0.2)
    assert text in said
    return said


def accounting(values: dict[str, str], statement: str) -> str:
    socket = f"{values['LIVE_FOLDER']}/run/maria.sock"
    return shell("mariadb", "-N", "-S", socket, "slurm_acct_db", "-e", statement)


def source(**settings: Any) -> Any:
    return SOURCES["slurm"](kind="slurm", **settings)


def outages(log: Any) -> list[tuple[str, str, bool]]:
    events = log.events[~log.events["start_cut"]]
    return sorted((str(row.node), str(row.cause), bool(row.end_cut)) for row in events.itertuples())


@pytest.mark.long
def test_what_the_controller_records_is_read_once(slurm: dict[str, str]) -> None:
    hostile = 'ECC "a" | `b` $(touch x) \' ;'
    set_node("n01", "DOWN", "GPU fell off the bus")
    set_node("n02", "DRAIN", hostile)
    set_node("n03", "DRAIN", "for the course")
    set_node("n04", "FAIL", "bad")
    wait_for("sacctmgr -nP show event format=NodeName", "n04")
    snapshots, reasons = source(what="nodes"), source(what="reasons")
    before = snapshots.fetch({}, pd.Timestamp.now(tz="UTC"))
    assert len(before.log) == 2  # n01 and n04 are down, since some time before anybody looked
    assert before.log.events["start_cut"].all()
    listed = reasons.fetch({}, pd.Timestamp.now(tz="UTC"))
    time.sleep(1.1)
    set_node("n01", "DRAIN", "taken for repair")
    set_node("n05", "DOWN", "lost")
    time.sleep(1.1)
    set_node("n01", "RESUME")
    set_node("n03", "RESUME")
    wait_for("sacctmgr -nP show event format=NodeName", "n05")
    time.sleep(1.1)
    now = pd.Timestamp.now(tz="UTC")
    planted = [("n01", "gpu", False), ("n02", "memory", True), ("n04", "bad", True), ("n05", "lost", True)]
    sources = {
        "command": source(),
        "database": source(
            accounting=slurm["LIVE_ACCOUNTING"], password_env="LIVE_ACCOUNTING_PASSWORD", cluster="trial"
        ),
    }
    for one in sources.values():
        fetched = one.fetch({}, now)
        assert outages(fetched.log) == planted
        assert fetched.log.n_nodes == 40
        assert fetched.log.population["declared"].all()
        again = one.fetch(fetched.cursor, now + pd.Timedelta(hours=1))
        assert outages(again.log) == planted  # the last two days are asked for again
        assert again.log.window.start == fetched.log.window.start
    cause = fetched.log.events.set_index("node").loc["n02", "detail"]
    assert cause == hostile
    after = snapshots.fetch(before.cursor, now)
    assert outages(after.log) == [("n05", "lost", True)]
    ends = after.log.events[~after.log.events["end_cut"]]
    assert ends["node"].astype(str).tolist() == ["n01"]
    assert ("n05", "lost", True) in outages(reasons.fetch(listed.cursor, now).log)
    set_node("n[02,04-05]", "RESUME")


def test_an_outage_that_ends_later_is_one_record(slurm: dict[str, str]) -> None:
    """A node that is drained by wish and found broken a month later is asked for again from the drain on."""
    year = 365 * 86_400
    start = int(time.time()) - year
    rows = [
        (start, start + 3600, "n10", "lost", 1),
        (start + 3600, start + 7200, "n10", "new board", 513),
        (start + 86_400, 0, "n11", "looks odd", 512),
    ]
    for begun, ended, node, reason, state in rows:
        accounting(
            slurm,
            "insert into trial_event_table (time_start, time_end, node_name, reason, reason_uid, state) "
            f"values ({begun}, {ended}, '{node}', '{reason}', 0, {state})",
        )
    one = source()
    first = one.fetch({}, pd.Timestamp.now(tz="UTC"))
    spans = {row.node: (row.end - row.start).total_seconds() for row in first.log.events.itertuples()}
    assert spans["n10"] == 7200.0
    assert "n11" not in spans
    assert first.cursor["since"] == start + 86_400
    accounting(slurm, "update trial_event_table set reason = 'ECC, DIMM A3' where node_name = 'n11'")
    second = one.fetch(first.cursor, pd.Timestamp.now(tz="UTC"))
    starts = {row.node: row.start for row in second.log.events.itertuples()}
    assert starts["n11"] == pd.Timestamp(start + 86_400, unit="s", tz="UTC")
    assert "n10" not in starts


def test_jobs_that_a_node_ended(slurm: dict[str, str]) -> None:
    fetched = source(what="jobs").fetch({}, pd.Timestamp.now(tz="UTC"))
    assert fetched.log is None
    assert set(fetched.cursor) == {"since"}


@pytest.mark.parametrize("kind", ["slurm", "sql"])
@pytest.mark.long
def test_a_wrong_password_of_the_accounting_database_fails_alone(
    slurm: dict[str, str],
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    falling_silent: Callable[[str, bytes], str],
) -> None:
    (tmp_path / "a.csv").write_text("node,start,end,cause\nn2,2024-01-01 10:00,2024-01-01 12:30,disk\n")
    ask = {
        "slurm": 'accounting = "{url}"\ncluster = "trial"\n',
        "sql": "url = \"{url}\"\nquery = \"SELECT 'm1' AS node, '2024-01-05 10:00' AS start, 'fan' AS cause "
        'FROM trial_event_table LIMIT 1"\n',
    }

    def round_of(day: int, url: str = slurm["LIVE_ACCOUNTING"]) -> Round:
        (tmp_path / "watch.toml").write_text(
            f'store = "fleet.duckdb"\n[[sources]]\nkind = "{kind}"\nname = "slurmdbd"\npassword_env = "SITE"\n'
            f'timeout = 1\n{ask[kind].format(url=url)}[[sources]]\nkind = "file"\npath = "a.csv"\n'
        )
        return watch(read_watch_settings(tmp_path / "watch.toml"), f"2030-02-0{day}")

    accounting(
        slurm,
        "insert into trial_event_table (time_start, time_end, node_name, reason, reason_uid, state) "
        f"values (1700000000, 1700003600, 'm{kind}', 'ECC', 0, 1)",
    )
    monkeypatch.setenv("SITE", "wr0ng")
    refused = round_of(1)
    assert (refused.records, refused.failed) == (1, ("slurmdbd",))
    told = " ".join(refused.sources["failure"])
    assert "Access denied" in told
    assert "wr0ng" not in told + json.dumps(json_ready(refused.to_dict())) + (
        tmp_path / "fleet.duckdb"
    ).read_bytes().decode("latin-1")
    monkeypatch.setenv("SITE", slurm["LIVE_ACCOUNTING_PASSWORD"])
    good = round_of(2)
    assert (good.failed, good.records > 1, round_of(3).new) == ((), True, 0)
    silent = round_of(4, falling_silent(slurm["LIVE_ACCOUNTING"], b"trial_event_table"))
    assert (silent.failed, silent.records) == (("slurmdbd",), good.records)
    assert re.search("timed out|did not answer within 1 s", " ".join(silent.sources["failure"]))
    assert round_of(5).new == 0


def test_a_query_cannot_write(slurm: dict[str, str]) -> None:
    url, table = slurm["LIVE_ACCOUNTING"], "trial_event_table"
    settings = {"password_env": "LIVE_ACCOUNTING_PASSWORD", "columns": {"start": "a"}}
    for statement in (f"DELETE FROM {table}", f"DROP TABLE {table}"):
        with pytest.raises(SourceError, match="READ ONLY"):
            SOURCES["sql"](kind="sql", url=url, query=statement, **settings).fetch({}, pd.Timestamp.now(tz="UTC"))
    assert accounting(slurm, f"select count(*) from {table}").strip().isdigit()


def test_what_is_wrong_is_told_without_the_password(slurm: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = pd.Timestamp.now(tz="UTC")
    monkeypatch.setenv("WRONG", "not-this-one")
    database = {"accounting": slurm["LIVE_ACCOUNTING"], "cluster": "trial", "password_env": "WRONG"}
    with pytest.raises(SourceError, match="Access denied") as refused:
        source(**database).fetch({}, now)
    assert "not-this-one" not in str(refused.value)
    with pytest.raises(SourceError, match="doesn't exist"):
        source(**{**database, "cluster": "other", "password_env": "LIVE_ACCOUNTING_PASSWORD"}).fetch({}, now)
    with pytest.raises(SourceError, match="accounting database"):
        source(**{**database, "accounting": "mysql+pymysql://slurm@127.0.0.1:1/slurm_acct_db"}).fetch({}, now)
    monkeypatch.setenv("SLURM_CONF", "/nowhere/slurm.conf")
    with pytest.raises(RelfitError, match="sacctmgr"):
        source(timeout=2.0).fetch({}, now)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(RelfitError, match="no program"):
        source(what="nodes").fetch({}, now)


def alarm(node: str, text: str = "Node stands out: 9 failures.", kind: str = "node") -> Alarm:
    at = pd.Timestamp("2024-01-01", tz="UTC")
    return Alarm(kind, f"node {node}" + (", memory" if kind == "repeat" else ""), at, at, text, "Test it.")


def states(*nodes: str) -> list[str]:
    lines = shell("sinfo", "--all", "-N", "-h", "--format=%N|%T").splitlines()
    by_name = dict(line.split("|") for line in lines)
    return [by_name[node].rstrip("*") for node in nodes]


def test_drains_reach_the_controller_and_are_undone(slurm: dict[str, str]) -> None:
    set_node("n33", "DRAIN", "for the course")
    hostile = ["ALL", "DEFAULT", "-n01", "n[01-40]", "n20,n21", "n20 State=DOWN", "n20\nNodeName=n21", "`id`", 'n"20']
    alarms = [
        alarm("n30", 'Node n30: "9" failures; `touch /tmp/x` $(x)\n State=DOWN'),
        alarm("n31", kind="repeat"),
        alarm("n33"),
        alarm("n99"),
        *(alarm(name) for name in hostile),
        alarm("n32", kind="stock"),
    ]
    drains = drains_of(alarms)
    assert drains.table["node"].tolist() == ["n30", "n31", "n33", "n99"]
    assert drains.skipped == tuple(hostile)
    none = apply_drains(drains, share=0.02)  # of 40 nodes not one
    assert not none.table["done"].eq("drained").any()
    assert states("n30", "n31", "n33") == ["idle", "idle", "drained"]
    done = apply_drains(drains, share=0.025)  # one
    assert done.table["done"].str.startswith("drained").tolist() == [True, False, False, False]
    assert "more than 2.5 % of partition all (40 nodes)" in done.table["done"][1]
    assert "it is drained" in done.table["done"][2]
    assert "no such node" in done.table["done"][3]
    assert apply_drains(drains, share=0.025).table["done"].eq("drained").sum() == 0  # earlier drains count
    assert states("n30", "n31") == ["drained", "idle"]
    assert states("n01", "n20", "n21", "n40") == ["idle"] * 4
    reason = shell("sinfo", "-N", "-h", "-n", "n30", "--format=%E").splitlines()
    assert reason == ["relfit watch: Node n30: ?9? failures? ?touch /tmp/x? ??x?? State?DOWN"]
    apply_drains(drains_of([alarm("n30"), alarm("n31"), alarm("n34")]), share=0.1)
    set_node("n34", "DRAIN", "sent in")  # somebody else's now
    set_node("n31", "DOWN", "relfit watch: Node stands out: 9 failures.")  # Slurm leaves the reason as it is
    undone = undo_drains().table
    assert sorted(undone["node"]) == ["n30", "n31"]
    assert undone["done"].eq("undrained").all()
    assert states("n30", "n31", "n33", "n34") == ["idle", "down", "drained", "drained"]


def test_a_partition_never_loses_more_than_its_share(slurm: dict[str, str]) -> None:
    """n01 to n04 are a partition of their own: a quarter of it is one node."""
    done = apply_drains(drains_of([alarm("n01"), alarm("n02"), alarm("n35"), alarm("n36")]), share=0.25)
    each = done.table.set_index("node")["done"]  # n31 of the test before is given back
    assert each.reindex(["n01", "n02", "n35", "n36"]).eq("drained").tolist() == [True, False, True, True]
    assert "partition few" in each["n02"]
    undo_drains()
    assert states("n01", "n35", "n36") == ["idle"] * 3


@pytest.mark.long
def test_the_command(slurm: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "watch.toml").write_text('store = "fleet.duckdb"\n[[sources]]\nkind = "slurm"\n')
    with FleetStore.open(str(tmp_path / "fleet.duckdb")) as store:
        store.save_alarms([alarm("n37")], pd.Timestamp("2024-01-01", tz="UTC"))
    command = [sys.executable, "-m", "relfit", "watch", "drain", str(tmp_path / "watch.toml")]
    assert "scontrol update NodeName=n37 State=DRAIN" in shell(*command)
    assert states("n37") == ["idle"]
    shell(*command, "--apply", "--share", "0.1")
    assert states("n37") == ["drained"]
    assert "undrained" in shell(*command, "--undo")
    assert states("n37") == ["idle"]
