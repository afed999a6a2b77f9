"""Slurm's record of its nodes, as `sacctmgr -P show event` prints it: counts and times by hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import relfit as rf

HEADER = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
RAW_HEADER = "Cluster|Cluster Nodes|NodeName|TimeStart|TimeEnd|State|StateRaw|Reason|User\n"


def log_of(tmp_path: Path, text: str, **options: object) -> rf.FailureLog:
    path = tmp_path / "events.txt"
    path.write_text(text)
    log = rf.read(path, **options)
    assert log.source.format == "slurm_events"
    assert log.source.rows_read == log.source.rows_kept + len(log.rejected)
    return log


def failures(log: rf.FailureLog) -> list[tuple[str, str, str, str]]:
    return [
        (str(row.node), f"{row.start:%H:%M}", f"{row.end:%H:%M}", str(row.cause)) for row in log.events.itertuples()
    ]


def row(node: str, start: str, end: str, state: str, reason: str, user: str = "root(0)") -> str:
    times = (text if text == "Unknown" else f"2024-01-05T{text}:00" for text in (start, end))
    return "|".join(["c", node, *times, state, reason, user]) + "\n"


def test_the_row_of_the_cluster_is_no_node(tmp_path):
    log = log_of(
        tmp_path,
        HEADER
        + row("", "08:00", "Unknown", "", "Cluster Registered TRES", "")
        + row("n1", "10:00", "11:00", "DOWN*", "Not responding", "slurm(64030)"),
    )
    assert failures(log) == [("n1", "10:00", "11:00", "not responding")]
    assert log.systems == ("c",)
    assert log.n_nodes == 1
    assert log.window.start == pd.Timestamp("2024-01-05 08:00", tz="UTC")


def test_a_cluster_without_an_outage_has_none(tmp_path):
    text = HEADER + row("", "08:00", "Unknown", "", "Cluster Registered TRES", "")
    log = log_of(tmp_path, text)
    assert failures(log) == []
    broken = log_of(tmp_path, text + "c|n1\x002024-01-05T10:00:00|2024-01-05T11:00:00|DOWN*|Not responding|slurm(1)\n")
    assert len(broken.rejected) == 1


def test_rows_that_follow_each_other_are_one_outage(tmp_path):
    text = (
        HEADER
        + row("n1", "10:00", "10:30", "DOWN*", "Not responding")
        + row("n1", "10:30", "12:00", "DRAIN", "new board")
        + row("n1", "13:00", "14:00", "DOWN", "lost")
        + row("n2", "10:00", "10:20", "DRAIN", "investigating")
        + row("n2", "10:20", "15:00", "DRAIN", "ECC errors, DIMM A3")
        + row("n3", "10:00", "11:00", "DRAIN", "for Anna")
        + row("n3", "11:00", "12:00", "DOWN*", "for Anna")
    )
    log = log_of(tmp_path, text)
    assert sorted(failures(log)) == [
        ("n1", "10:00", "12:00", "not responding"),
        ("n1", "13:00", "14:00", "lost"),
        ("n2", "10:00", "15:00", "memory"),
    ]
    assert any("1 outage by wish" in note for note in log.source.notes)


@pytest.mark.parametrize(
    ("state", "reason", "cause"),
    [
        ("DOWN", "", "unknown"),
        ("DOWN*", "Not responding", "not responding"),
        ("FAIL", "bad", "bad"),
        ("DOWN", "Node unexpectedly rebooted", "rebooted"),
        ("DRAIN", "Kill task failed", "software"),
        ("DRAIN", "gres/gpu count reported lower than configured (3 < 4)", "gpu"),
        ("DRAIN", "NHC: check_hw_ib", "network"),
        ("DRNG", "GPU ECC, RMA", "gpu"),
        ("DRAIN", "Low RealMemory", "memory"),
        ("DRAIN", "swap disk 3", "disk"),
        ("DRAIN", "NHC: check_fs_mount: /scratch not mounted", "file system"),
        ("DRAIN", "for the course", None),
        ("DRAIN+MAINT", "GPU 3", None),
        ("DOWN$", "x", None),
        ("DOWN", "Scheduled maintenance", None),
        ("DOWN~", "powered down", None),
        ("DRAIN", "Reboot ASAP", None),
    ],
)
def test_states_and_reasons(tmp_path, state, reason, cause):
    log = log_of(tmp_path, HEADER + row("n1", "10:00", "11:00", state, reason))
    assert log.events["cause"].astype(str).tolist() == ([] if cause is None else [cause])


def test_rules_of_a_site(tmp_path):
    rules = {"states": ["DOWN"], "rule": [{"pattern": "^RMA", "cause": "sent in", "state": "drain"}]}
    text = HEADER + row("n1", "10:00", "11:00", "DRAIN", "RMA 17") + row("n2", "10:00", "11:00", "DRAIN", "GPU")
    assert failures(log_of(tmp_path, text, rules=rules)) == [("n1", "10:00", "11:00", "sent in")]


def test_an_outage_that_goes_on_is_open_until_it_was_asked(tmp_path):
    text = "2024-01-05T20:00:00+00:00\n" + HEADER + row("n1", "10:00", "Unknown", "DOWN", "lost")
    log = log_of(tmp_path, text)
    assert failures(log) == [("n1", "10:00", "20:00", "lost")]
    assert log.events["end_cut"].tolist() == [True]


def test_the_list_of_nodes_is_the_population(tmp_path):
    text = (
        "2024-01-05T20:00:00+00:00\n"
        + RAW_HEADER
        + "c|n[1-3]||2024-01-05T08:00:00|2024-01-05T12:00:00||0|Cluster Registered TRES|\n"
        + "c|n[2-4]||2024-01-05T12:00:00|Unknown||0|Cluster Registered TRES|\n"
        + "c||n2|2024-01-05T09:00:00|2024-01-05T10:00:00|DRAIN|513|why|root(0)\n"
        + "c||n3|2024-01-05T09:00:00|2024-01-05T10:00:00|DRAIN|512|why|root(0)\n"
    )
    log = log_of(tmp_path, text)
    assert failures(log) == [("n2", "09:00", "10:00", "why")]  # 513 is drained and down, 512 drained
    people = {row.node: (row.entered.hour, row.left.hour, row.declared) for row in log.population.itertuples()}
    assert people == {"n1": (8, 12, True), "n2": (8, 20, True), "n3": (8, 20, True), "n4": (12, 20, True)}


def test_reasons_are_data(tmp_path):
    reason = 'a|b "c" `d`\n$(touch x) \'; drop'
    text = HEADER + row("n1", "10:00", "11:00", "DOWN", reason) + row("n2", "10:00", "11:00", "DOWN", "plain")
    text += "c|n3|torn\n"
    log = log_of(tmp_path, text)
    assert log.events["detail"].astype(str).tolist() == ['a|b "c" `d` $(touch x) \'; drop', "plain"]
    assert log.rejected["line"].tolist() == [5]


def test_seconds_and_local_times(tmp_path):
    seconds = HEADER + "c|n1|1704448800|1704452400|DOWN|lost|\n"
    assert failures(log_of(tmp_path, seconds)) == [("n1", "10:00", "11:00", "lost")]
    local = HEADER + row("n1", "10:00", "11:00", "DOWN", "lost")
    assert failures(log_of(tmp_path, local, timezone="America/Denver")) == [("n1", "17:00", "18:00", "lost")]


def test_two_clusters_are_two_systems(tmp_path):
    text = HEADER + row("n1", "10:00", "11:00", "DOWN", "a")
    text += text.splitlines()[1].replace("c|", "d|", 1) + "\n"
    log = log_of(tmp_path, text)
    assert log.systems == ("c", "d")
    assert len(log) == 2


def test_a_drain_is_a_failure_where_the_rules_say_so_for_snapshots_too(tmp_path):
    path = tmp_path / "nodes.txt"
    path.write_text(
        "2024-01-05T12:00:00\nNodeName=n1\n   State=IDLE+DRAIN ThreadsPerCore=1\n"
        "   Reason=GPU ECC, RMA [root@2024-01-05T10:00:00]\n"
    )
    rules = {"states": ["DOWN"], "rule": [{"pattern": "(?i)ecc|rma", "cause": "gpu", "state": "drain"}]}
    assert len(rf.read(path)) == 0
    log = rf.read(path, rules=rules)
    assert log.events["cause"].astype(str).tolist() == ["gpu"]


def test_a_row_of_an_earlier_export_says_no_more_than_when_the_outage_began(tmp_path):
    text = (
        HEADER
        + row("n1", "08:00", "Unknown", "DOWN", "lost")  # a copy has its end
        + row("n1", "08:00", "09:00", "DOWN", "lost")
        + row("n1", "15:00", "16:00", "DOWN", "lost")
        + row("n2", "08:00", "12:00", "DOWN", "lost")  # the next row is within it
        + row("n2", "09:00", "10:00", "DOWN", "lost")
        + row("n3", "08:00", "Unknown", "DOWN", "lost")  # its end is in no row
        + row("n3", "15:00", "16:00", "DOWN", "lost")
        + row("n4", "15:00", "Unknown", "DOWN", "lost")  # goes on
        + row("n5", "17:00", "18:00", "DOWN", "lost")
    )
    log = log_of(tmp_path, text)
    begun = log.events.sort_values(["node", "start"])
    ends = begun["end"].dt.strftime("%H:%M").fillna("")
    assert ends.tolist() == ["09:00", "16:00", "12:00", "", "16:00", "18:00", "18:00"]
    assert begun["end_cut"].tolist() == [False] * 5 + [True, False]
    assert "1 outage without an end, after which the node failed again: their ends are not known" in log.source.notes


def test_exports_of_adjoining_times_agree_with_one_export(tmp_path):
    october = HEADER + "c|n1|2024-10-31T23:00:00|Unknown|DOWN|lost|slurm(1)\n"
    november = HEADER + "".join(
        f"c|n1|{start}|{end}|DOWN|lost|slurm(1)\n"
        for start, end in (
            ("2024-10-31T23:00:00", "2024-11-01T01:00:00"),
            ("2024-11-20T10:00:00", "2024-11-20T12:00:00"),
        )
    )
    paths = [tmp_path / "october.txt", tmp_path / "november.txt"]
    for path, text in zip(paths, (october, november), strict=True):
        path.write_text(text)
    span = {"window_start": "2024-10-01", "window_end": "2024-12-01"}
    for log in (rf.read(paths, **span), rf.io.merge([rf.read(path, **span) for path in paths])):
        assert ((log.events["end"] - log.events["start"]).dt.total_seconds() / 3600.0).tolist() == [2.0, 2.0]
        assert not log.events["end_cut"].any()


def test_an_outage_of_the_night_in_which_clocks_go_back(tmp_path):
    text = HEADER + "c|n1|2024-10-27T02:40:00|2024-10-27T02:20:00|DOWN|lost|slurm(1)\n"
    log = log_of(tmp_path, text, timezone="Europe/Berlin")
    assert failures(log) == [("n1", "00:40", "01:20", "lost")]  # 02:40 is summer time, 02:20 an hour later
    later = "c|n2|2024-10-28T02:40:00|2024-10-28T02:20:00|DOWN|lost|slurm(1)\n"
    assert log_of(tmp_path, text + later, timezone="Europe/Berlin").rejected["text"].tolist() == ["2024-10-28T02:20:00"]
