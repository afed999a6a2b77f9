"""A store holds each record once, in whatever order, how often and in how many files it came."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import RelfitError
from relfit.cli.app import main
from relfit.live import store_schema
from relfit.live.fleet_store import FleetStore
from relfit.live.live_records import Alarm
from relfit.live.watch_round import watch
from relfit.live.watch_settings import read_watch_settings

HEAD = "node,start,end,cause,rack\n"
ROWS = [
    "n1,2024-01-01 10:00,2024-01-01 12:30,disk,r1\n",
    "n2,2024-01-03 10:00,2024-01-03 11:00,memory,r1\n",
    "n1,2024-01-05 10:00,2024-01-05 12:30,disk,r1\n",
    "n3,2024-01-06 10:00,2024-01-06 12:30,disk,r2\n",
    "n3,2024-01-07 10:00,2024-01-07 12:30,disk,r2\n",
    "n2,2024-01-08 10:00,2024-01-08 12:00,disk,r1\n",
]
OPEN = "n2,2024-01-03 10:00,,memory,r1\n"
BEFORE = "2023-01-01"
"""A time before all records: they are stored, and nothing is estimated."""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    settings = 'store = "fleet.duckdb"\n[[sources]]\nkind = "file"\npath = "logs/*.csv"\n'
    (tmp_path / "watch.toml").write_text(settings)
    return tmp_path


def put(fleet: Path, name: str, rows: list[str]) -> None:
    (fleet / "logs" / name).write_text(HEAD + "".join(rows))


def round_of(fleet: Path, now: str = "2024-02-01") -> Any:
    return watch(read_watch_settings(fleet / "watch.toml"), now)


def state(fleet: Path) -> list[tuple[str, ...]]:
    with FleetStore.open(str(fleet / "fleet.duckdb"), read_only=True) as store:
        log = store.log()
    events = log.events[["node", "start", "end", "cause", "rack", "end_cut"]].astype(str)
    return sorted(events.itertuples(index=False, name=None)) + sorted(
        log.population[["node", "entered", "left", "rack"]].astype(str).itertuples(index=False, name=None)
    )


@pytest.mark.slow
def test_a_second_round_finds_nothing_new(fleet: Path) -> None:
    put(fleet, "a.csv", ROWS)
    first, second = round_of(fleet, BEFORE), round_of(fleet, BEFORE)
    assert (first.records, first.new) == (6, 6)
    assert (second.records, second.new) == (6, 0)


@pytest.mark.slow
@pytest.mark.long
def test_late_corrected_overlapping_and_replayed_rows_lead_to_one_state(fleet: Path, tmp_path: Path) -> None:
    parts = {
        "1.csv": [ROWS[0], OPEN, ROWS[2]],
        "2.csv": [ROWS[1], ROWS[3]],
        "3.csv": ROWS[2:5],
        "4.csv": [ROWS[5], ROWS[0]],
    }
    states = set()
    for order in itertools.islice(itertools.permutations(parts), 0, 24, 16):
        for old in (fleet / "logs").iterdir():
            old.unlink()
        (fleet / "fleet.duckdb").unlink(missing_ok=True)
        total = 0
        for name in order:
            put(fleet, name, parts[name])
            total += round_of(fleet, BEFORE).new
        for name in order:  # replayed
            put(fleet, name, parts[name])
            assert round_of(fleet, BEFORE).new == 0
        assert total == 6
        states.add(tuple(state(fleet)))
    assert len(states) == 1
    ends = [row[2] for row in next(iter(states)) if len(row) == 6]
    assert "2024-01-03 11:00:00+00:00" in ends
    assert "NaT" not in ends


@pytest.mark.slow
def test_what_a_file_corrects_replaces_what_it_said(fleet: Path) -> None:
    put(fleet, "a.csv", [OPEN, *ROWS[2:]])
    assert round_of(fleet, BEFORE).new == 5
    corrected = ROWS[1].replace("memory", "power supply")
    put(fleet, "a.csv", [corrected, *ROWS[2:]])
    result = round_of(fleet, BEFORE)
    assert (result.records, result.new) == (5, 0)
    with FleetStore.open(str(fleet / "fleet.duckdb"), read_only=True) as store:
        events = store.log().events
    row = events[events["node"] == "n2"].iloc[0]
    assert row["cause"] == "power supply"
    assert row["end"] == pd.Timestamp("2024-01-03 11:00", tz="UTC")
    put(fleet, "a.csv", [corrected, ROWS[2], *ROWS[4:]])  # a row was a mistake
    assert round_of(fleet, BEFORE).records == 4


@pytest.mark.slow
def test_a_rotated_log_and_one_cut_short_take_nothing_away(fleet: Path) -> None:
    put(fleet, "a.csv", ROWS[:4])
    round_of(fleet, BEFORE)
    put(fleet, "a.csv", ROWS[4:])  # rotated: the old one is gone
    assert round_of(fleet, BEFORE).records == 6
    (fleet / "logs" / "a.csv").write_text(HEAD + ROWS[4][:20])
    assert round_of(fleet, BEFORE).records == 6
    (fleet / "logs" / "a.csv").write_text("")
    result = round_of(fleet, BEFORE)
    assert (result.records, result.failed) == (6, ("file logs/*.csv",))
    (fleet / "logs" / "a.csv").unlink()
    result = round_of(fleet, BEFORE)
    assert result.records == 6
    assert result.failed == ("file logs/*.csv",)


@pytest.mark.slow
@pytest.mark.long
def test_records_that_are_gone_from_a_file_are_told_once(fleet: Path, capsys) -> None:
    place = Path("logs", "a.csv")
    put(fleet, "a.csv", ROWS)
    assert round_of(fleet).problems == ()
    for rows, number, removed, stored in ((ROWS[:4], 2, 0, 2), ([*ROWS[:2], ROWS[3]], 1, 1, 0), (ROWS, 0, 0, 0)):
        put(fleet, "a.csv", rows)
        arguments = ["watch", "run", str(fleet / "watch.toml"), "--now", "2024-02-01", "--quiet"]
        assert main(arguments) == (4 if stored else 0)
        said = f"gone from {place}: {removed} removed from the store, {stored} stay in it"
        assert (f"{number} records are {said}" in " ".join(capsys.readouterr().out.split())) is bool(stored)
        assert "gone" not in " ".join(round_of(fleet).findings)
    put(fleet, "a.csv", ROWS[1:])  # rotated away
    assert "gone" not in " ".join(round_of(fleet).findings)
    put(fleet, "a.csv", [*ROWS[1:3], *ROWS[4:]])
    assert round_of(fleet).problems[-1] == f"1 record is gone from {place}: 1 removed from the store, 0 stay in it"


@pytest.mark.slow
def test_logs_of_hosts_of_which_one_did_not_change_lose_nothing(fleet: Path) -> None:
    """Ten hosts' raw logs, read together; nine of them go on."""
    line = "Jan {:2d} {:02d}:00:00 n{} kernel: Kernel panic - not syncing: Fatal machine check\n"
    settings = (fleet / "watch.toml").read_text()
    (fleet / "watch.toml").write_text(settings.replace("*.csv", "*.log"))
    for days, hosts, records in ((range(1, 11), 10, 100), ((20,), 9, 109), ((22,), 9, 118)):
        for host in range(hosts):
            with (fleet / "logs" / f"h{host}.log").open("a") as log:
                log.writelines(line.format(day, host, host) for day in days)
        result = round_of(fleet)
        assert result.records == records
        assert "gone" not in " ".join(result.findings)


@pytest.mark.slow
def test_what_was_rotated_away_stays_where_long_outages_come_late(fleet: Path) -> None:
    """A row of the new file began before rows of the old one did: these are no mistakes that were corrected."""
    put(fleet, "a.csv", ROWS[:3])
    round_of(fleet, BEFORE)
    put(fleet, "a.csv", ROWS[3:])
    assert round_of(fleet, BEFORE).records == 6
    put(fleet, "a.csv", ["n9,2024-01-04 10:00,2024-01-09 10:00,disk,r1\n", *ROWS[3:]])
    assert round_of(fleet, BEFORE).records == 7
    put(fleet, "a.csv", ["n9,2024-01-04 10:00,2024-01-09 10:00,disk,r1\n", *ROWS[4:]])
    assert round_of(fleet, BEFORE).records == 6  # this one was


@pytest.mark.slow
def test_a_record_that_two_files_hold_stays_when_one_drops_it(fleet: Path) -> None:
    put(fleet, "a.csv", ROWS)
    put(fleet, "b.csv", ROWS[2:4])
    round_of(fleet, BEFORE)
    put(fleet, "a.csv", [*ROWS[:2], *ROWS[3:]])
    assert round_of(fleet, BEFORE).records == 6


@pytest.mark.slow
def test_an_outage_that_goes_on_lasts_to_the_end_of_what_is_stored(fleet: Path) -> None:
    put(fleet, "a.csv", [ROWS[0], OPEN, ROWS[2]])
    round_of(fleet)
    put(fleet, "b.csv", ROWS[3:5])
    round_of(fleet)
    with FleetStore.open(str(fleet / "fleet.duckdb"), read_only=True) as store:
        events = store.log().events
    row = events[events["node"] == "n2"].iloc[0]
    assert row["end_cut"]
    assert row["end"] == pd.Timestamp("2024-01-07 12:30", tz="UTC")


def test_a_store_of_another_fleet_and_of_a_later_version_is_refused(tmp_path: Path, monkeypatch) -> None:
    place = str(tmp_path / "fleet.duckdb")
    with FleetStore.open(place, "white"):
        pass
    with FleetStore.open(place):
        pass
    for read_only in (False, True):
        with pytest.raises(RelfitError, match="the store of the fleet 'white', and this is 'blue'"):
            FleetStore.open(place, "blue", read_only=read_only)
    monkeypatch.setattr(store_schema, "STEPS", (*store_schema.STEPS, ("ALTER TABLE rounds ADD COLUMN seconds DOUBLE",)))
    with FleetStore.open(place, "white") as store:  # migrated
        assert store._database.rows("SELECT count(seconds) FROM rounds") == [(0,)]
    monkeypatch.undo()
    with pytest.raises(RelfitError, match="later version of relfit; update relfit"):
        FleetStore.open(place, "white")
    Path(tmp_path, "no.duckdb").write_text("this is no store")
    with pytest.raises(RelfitError, match=r"no\.duckdb"):
        FleetStore.open(str(tmp_path / "no.duckdb"))


@pytest.mark.slow
def test_a_stored_log_answers_as_the_file_does(fleet: Path) -> None:
    """Outages of the whole system name no node: in a store they must not become a node of their own."""
    whole = rf.datasets.load("white").where(rack=["frame01", "frame02"]).between("2003-06-01", None)
    rf.write(whole, fleet / "logs" / "white.csv")
    assert whole.events["node"].isna().any()
    round_of(fleet)
    with FleetStore.open(str(fleet / "fleet.duckdb"), read_only=True) as store:
        log = store.log()
    again = rf.read(fleet / "logs" / "white.csv")
    assert (len(log), log.n_nodes) == (len(again), again.n_nodes)
    assert log.events["node"].isna().sum() == again.events["node"].isna().sum()
    stored, read = (rf.fleet_model(each, "all").scopes for each in (log, again))
    pd.testing.assert_frame_equal(stored, read)


@pytest.mark.slow
def test_what_a_record_does_not_say_is_missing_and_no_empty_name(fleet: Path) -> None:
    put(fleet, "a.csv", [*ROWS, ",2024-01-09 10:00,2024-01-09 12:00,,\n"])
    round_of(fleet)
    with FleetStore.open(str(fleet / "fleet.duckdb"), read_only=True) as store:
        events, population = store.log().events, store.log(nodes=3).population
    assert events[["node", "cause", "detail"]].iloc[-1].isna().all()
    assert population["node"].tolist() == ["n1", "n2", "n3"]


@pytest.mark.parametrize("lists", ['["n[1-4]", "m1"]', '"nodes.txt"'])
@pytest.mark.slow
def test_nodes_that_never_failed_are_those_of_the_list(fleet: Path, lists: str) -> None:
    put(fleet, "a.csv", ROWS)
    (fleet / "nodes.txt").write_text("n[1-4]  # the first rack\n\nm1\n")
    settings = (fleet / "watch.toml").read_text()
    (fleet / "watch.toml").write_text(settings.replace("[[sources]]", f"nodes = {lists}\n[[sources]]"))
    assert round_of(fleet).problems == ()
    with FleetStore.open(str(fleet / "fleet.duckdb"), read_only=True) as store:
        people = store.log(nodes=read_watch_settings(fleet / "watch.toml").population).population
    assert sorted(people["node"].tolist()) == ["m1", "n1", "n2", "n3", "n4"]
    assert len({*people["entered"]}) == 1
    assert people.set_index("node")["rack"].isna().to_dict() == {
        "m1": True,
        "n1": False,
        "n2": False,
        "n3": False,
        "n4": True,
    }


@pytest.mark.slow
def test_a_list_of_nodes_that_is_not_there_is_a_problem_and_loses_no_record(fleet: Path) -> None:
    put(fleet, "a.csv", ROWS)
    settings = (fleet / "watch.toml").read_text()
    (fleet / "watch.toml").write_text('nodes = "none.txt"\n' + settings)
    first = round_of(fleet)
    assert first.records == 6
    assert "the list of nodes cannot be read" in first.problems[0]
    assert first.undone == first.problems
    assert main(["watch", "run", str(fleet / "watch.toml"), "--now", "2024-02-01"]) == 4
    (fleet / "none.txt").write_text("n[1-3]\nn[0-99999999]\n")
    assert "is not a list of nodes" in round_of(fleet).undone[0]
    (fleet / "none.txt").write_text("n[1-3]\n")
    assert main(["watch", "run", str(fleet / "watch.toml"), "--now", "2024-01-20"]) == 0


@pytest.mark.parametrize("entered", ["2024-01-20", "2024-01-04"], ids=["later than all records", "before the last"])
@pytest.mark.slow
@pytest.mark.long
def test_nodes_that_a_list_no_longer_has_are_gone(fleet: Path, entered: str) -> None:
    """Five nodes, two more for a day, if records reach their entry; then n1, which had failed, is off the list too."""
    settings = (fleet / "watch.toml").read_text()
    (fleet / "watch.toml").write_text(settings + 'population = "nodes.csv"\n[outputs]\npage = "today.html"\n')
    listed = "node,entered\n" + "".join(f"n{i},2024-01-01\n" for i in range(1, 6))
    put(fleet, "a.csv", ROWS)
    added, seen = ["n6", "n7"] if entered < "2024-01-08" else [], []
    for text, rows in (
        (listed, ROWS),
        (f"{listed}n6,{entered}\nn7,{entered}\n", ROWS),
        (listed.replace("n1,2024-01-01\n", ""), ROWS[3:]),
    ):
        (fleet / "nodes.csv").write_text(text)
        put(fleet, "a.csv", rows)
        result = round_of(fleet)
        with FleetStore.open(str(fleet / "fleet.duckdb"), read_only=True) as store:
            log = store.log()
        seen.append(log.population.set_index("node")["left"])
    assert [sorted(each.index) for each in seen] == [
        ["n1", "n2", "n3", "n4", "n5"],
        ["n1", "n2", "n3", "n4", "n5", *added],
        ["n1", "n2", "n3", "n4", "n5"],
    ]
    assert (seen[0] == seen[0]["n1"]).all()
    assert log.window.end == pd.Timestamp("2024-01-08 12:00", tz="UTC")
    assert seen[2][["n2", "n3", "n4", "n5"]].eq(log.window.end).all()
    assert seen[2]["n1"] < log.window.end
    gone = "3 nodes are no longer listed: n1, n6, n7" if added else "1 node is no longer listed: n1"
    assert gone in result.problems
    assert gone in (fleet / "today.html").read_text()
    assert not round_of(fleet).problems


@pytest.mark.parametrize("wrong", ["nodes = 2\n[[", "alarms = { stock = { disk = -1 } }\n[["])
@pytest.mark.slow
def test_an_alarm_stands_where_a_round_cannot_look_for_changes(fleet: Path, wrong: str) -> None:
    put(fleet, "a.csv", ROWS)
    settings = (fleet / "watch.toml").read_text()
    now = pd.Timestamp("2024-01-09", tz="UTC")
    with FleetStore.open(str(fleet / "fleet.duckdb")) as store:
        store.save_alarms([Alarm("node", "node n2", now, now, "Node n2 stands out.", "Test it.")], now)
    (fleet / "watch.toml").write_text(settings.replace("[[", wrong))
    result = watch(read_watch_settings(fleet / "watch.toml"), "2024-01-09")
    assert (result.records, [alarm.key for alarm in result.alarms], result.over) == (6, ["node: node n2"], ())
    assert result.headline == "6 records, 6 new; changes were not looked for; 1 alarm"
    (fleet / "watch.toml").write_text(settings.replace("[[", "nodes = 3\n[["))
    result = watch(read_watch_settings(fleet / "watch.toml"), "2024-01-09")
    assert (result.alarms, result.over) == ((), ("node: node n2",))
    assert result.headline == "6 records, 0 new; no alarm, 1 over"
    assert "over: node: node n2" in result.findings


@pytest.mark.parametrize("nodes", ["0", "-3", "true", "1.5", "[]", "[1, 2]", '"n[1-3]"', '["n[0-99999999]"]'])
def test_what_are_no_nodes_is_refused_before_the_round(fleet: Path, nodes: str, capsys) -> None:
    put(fleet, "a.csv", ROWS)
    settings = (fleet / "watch.toml").read_text()
    (fleet / "watch.toml").write_text(f"nodes = {nodes}\n" + settings)
    assert main(["watch", "run", str(fleet / "watch.toml")]) == 2
    assert 'write how many, as 512, or lists, as ["n[001-512]"]' in " ".join(capsys.readouterr().err.split())
    assert not (fleet / "fleet.duckdb").exists()


@pytest.mark.slow
def test_a_round_of_a_time_that_is_over_looks_at_nothing_later(fleet: Path) -> None:
    days = pd.date_range("2024-01-01 10:00", periods=60, freq="D")
    put(fleet, "a.csv", [f"n{day.day % 5},{day},{day + pd.Timedelta('3h')},disk,r1\n" for day in days])
    with (fleet / "watch.toml").open("a") as settings:
        settings.write('[outputs]\nmetrics = "r.prom"\n')
    for now, records, down in (("2024-01-10 12:00", 10, 1), ("2024-02-20", 50, 0), ("2024-03-01", 60, 0)):
        result = watch(read_watch_settings(fleet / "watch.toml"), now)
        metrics = (fleet / "r.prom").read_text().splitlines()
        assert (result.records, result.problems, result.undone) == (60, (), ())
        assert f'relfit_records{{system="system"}} {records:.1f}' in metrics
        assert f'relfit_nodes_down{{system="system"}} {down:.1f}' in metrics
        assert not [alarm.text for alarm in result.alarms if alarm.kind == "source"]  # its file did not change since
    assert watch(read_watch_settings(fleet / "watch.toml"), "2023-12-01").undone  # nothing was observed then
