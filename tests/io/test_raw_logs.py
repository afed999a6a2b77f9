"""Raw logs made from failures that are known: what is read is what was planted, exactly."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import random
import time
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import DataError
from relfit.io.host_lists import Hosts, hosts
from tests.io.made import RAW

HOUR = 3600.0


def found(log: rf.FailureLog) -> list[tuple[float, str]]:
    """Start and node of every failure."""
    seconds = (log.events["start"] - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
    return sorted(zip(seconds.tolist(), log.events["node"].astype(object).tolist(), strict=True))


def spans(log: rf.FailureLog) -> list[tuple[str, float, float | None]]:
    """Node, start and end of every outage; no end where it was cut off."""
    zero = pd.Timestamp(0, tz="UTC")
    return sorted(
        (str(row.node), (row.start - zero).total_seconds(), None if row.end_cut else (row.end - zero).total_seconds())
        for row in log.events.itertuples()
    )


def adds_up(log: rf.FailureLog, lines: int) -> None:
    assert log.source.rows_read == lines
    assert log.source.rows_read == log.source.rows_kept + len(log.rejected)
    assert log.source.funnel[-1] == ("failures", len(log))


def write(tmp_path, text: str, encoding: str = "utf-8", name: str = "raw.log"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


# ----------------------------------------------------------------------- LogHub


def bgl_lines(chance: random.Random, count: int = 3000) -> tuple[list[str], list[tuple[float, str]]]:
    lines, planted, time = [], [], 1_117_838_570
    for _ in range(count):
        time += chance.randrange(0, 900)
        node = f"R{chance.randrange(9):02d}-M1-N0-C:J12-U11"
        tag = chance.choice(["KERNDTLB", "APPSEV"]) if chance.random() < 0.02 else "-"
        if tag != "-":
            planted.append((float(time), node))
        lines.append(
            f"{tag} {time} 2005.06.03 {node} 2005-06-03-15.42.50.363779 {node} RAS KERNEL FATAL data TLB error"
        )
    return lines, sorted(planted)


def test_an_alert_behind_a_tab_is_not_passed_over(tmp_path):
    lines, planted = bgl_lines(random.Random(1))
    lines.insert(5, "\t" + lines[4])
    log = rf.read(write(tmp_path, "\n".join(lines) + "\n"), strict=False)
    assert found(log) == planted
    assert log.rejected["line"].tolist() == [6]


@pytest.mark.parametrize(
    ("end", "encoding"), [("\n", "utf-8"), ("\r\n", "utf-8-sig"), ("\n", "utf-16"), ("\r\n", "utf-16-le")]
)
def test_alerts_of_blue_gene(tmp_path, end, encoding):
    lines, planted = bgl_lines(random.Random(1))
    log = rf.read(write(tmp_path, end.join(lines) + end, encoding))
    assert log.source.format == "loghub"
    assert found(log) == planted
    adds_up(log, len(lines))
    assert set(log.events["cause"].astype(str)) == {"hardware", "software"}
    assert log.n_nodes == 9
    assert any("KERNDTLB" in rule or "loghub" in rule for rule in log.source.rules)


def test_a_line_that_is_cut_or_too_long_is_refused_and_the_rest_is_read(tmp_path):
    lines, planted = bgl_lines(random.Random(2), 400)
    lines.insert(100, "KERNDTLB 111 nonsense")
    lines.insert(200, "X" * 3_000_000)
    lines.insert(300, "- \x00\x00 nul")
    log = rf.read(write(tmp_path, "\n".join(lines)))
    assert found(log) == planted
    assert log.rejected["line"].tolist() == [101, 201]
    adds_up(log, 403)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_patterns_see_the_ends_of_lines(tmp_path, end):
    lines = [
        f"Jan  5 10:00:{second:02d} n{second} kernel: {what}"
        for second, what in enumerate(["it failed", "it failed not", "all is well"])
    ]
    path = write(tmp_path, end.join(lines) + end)
    for pattern, expected in (
        ("failed$", ["n0"]),
        ("^Jan.*well", ["n2"]),
        (r"failed\b", ["n0", "n1"]),
        (r"d\s*\z", ["n0"]),
    ):
        log = rf.read(path, year=2024, rules={"rule": [{"pattern": pattern, "cause": "x"}]})
        assert log.events["node"].astype(str).tolist() == expected, pattern
        adds_up(log, 3)


def test_rules_can_be_replaced(tmp_path):
    lines, planted = bgl_lines(random.Random(3))
    rules = tmp_path / "rules.toml"
    rules.write_text('harmless = ["APPSEV"]\n[tags]\nKERNDTLB = "tlb"\n')
    log = rf.read(write(tmp_path, "\n".join(lines)), rules=rules)
    assert 0 < len(log) < len(planted)
    assert set(log.events["cause"].astype(str)) == {"tlb"}
    assert "not failures: APPSEV" in log.source.rules
    assert [step for step, _ in log.source.funnel] == ["lines", "alerts", "failures"]
    rules.write_text("[[rule]]\npattern = '(?=a)'\ncause = 'x'\n")
    with pytest.raises(rf.ArgumentError, match="is not known"):
        rf.read(tmp_path / "raw.log", rules=rules)
    rules.write_text("severity = 3\n")
    with pytest.raises(rf.ArgumentError, match="not rules"):
        rf.read(tmp_path / "raw.log", rules=rules)


def test_kinds_of_alerts_are_those_of_the_study(tmp_path):
    """Sums over the tags of Table 4 of Oliner and Stearley give the filtered alerts by kind of its Table 3."""
    filtered = {
        "KERNDTLB": 37,
        "KERNSTOR": 8,
        "APPSEV": 138,
        "KERNMNTF": 105,
        "KERNTERM": 99,
        "KERNREC": 9,
        "APPREAD": 11,
        "KERNRTSP": 260,
        "APPRES": 13,
        "APPUNAV": 3,
        "others": 519,
        "VAPI": 276,
        "PBS_CON": 16 + 25 + 5,
        "MPT": 157,
        "EXT_FS": 778 + 14,
        "CPU": 367,
        "SCSI": 317,
        "ECC": 143,
        "PBS_BFD": 28 + 296 + 94,
        "CHK_DSK": 2,
        "NMI": 4,
        "BUS_PAR": 5,
        "HBEAT": 266,
        "PTL_EXP": 421,
        "ADDR_ERR": 1,
        "CMD_ABORT": 497,
        "PTL_ERR": 54,
        "TOAST": 9,
        "EW": 58,
        "WT": 45,
        "RBB": 19,
        "DSK_FAIL": 54,
        "OST": 1,
        "EXT_CCISS": 29,
        "PBS_CHK": 4119 + 920,
        "GM_LANAI": 117 + 10,
        "GM_MAP": 180 + 2,
        "GM_PAR": 95 + 19,
    }
    line = "{} 1117838570 2005.06.03 n1 x"
    log = rf.read(write(tmp_path, "\n".join(line.format(tag) for tag in filtered) + "\n"))
    cause = dict(zip(log.events["tag"].astype(str), log.events["cause"].astype(str), strict=True))
    sums = {kind: sum(n for tag, n in filtered.items() if cause[tag] == kind) for kind in set(cause.values())}
    assert sums == {"hardware": 1999, "software": 6814, "unknown": 1832}
    dressed = rf.read(write(tmp_path, "\n".join(line.format(tag) for tag in ("R_GM_PAR1", "N_PBS_CHK", "X_NEW2"))))
    assert dressed.events["cause"].astype(str).tolist() == ["hardware", "software", "unknown"]


def test_many_files_are_one_log(tmp_path):
    lines, planted = bgl_lines(random.Random(4))
    (tmp_path / "logs").mkdir()
    for i in range(3):
        part = "\n".join(lines[i * 1000 : (i + 1) * 1000]) + "\n"
        (tmp_path / "logs" / f"{i}.gz").write_bytes(gzip.compress(part.encode()))
    for place in (tmp_path / "logs", str(tmp_path / "logs" / "*.gz"), sorted((tmp_path / "logs").iterdir())):
        log = rf.read(place)
        assert found(log) == planted
        adds_up(log, 3000)
        assert len(log.source.paths) == len(log.source.sha256) == 3


# ----------------------------------------------------------------------- syslog

ZONE = ZoneInfo("Europe/Berlin")
XID = "kernel: [123.4] NVRM: Xid (PCI:0000:3b:00): {xid}, pid=1234, name=python, GPU has fallen off the bus."


def syslog(
    start: str, step: float, count: int, iso: bool, every: int = 53
) -> tuple[list[str], list[tuple[float, str]]]:
    time = dt.datetime.fromisoformat(start)
    lines, planted = [], []
    for i in range(count):
        time += dt.timedelta(seconds=step)
        local, node = time.astimezone(ZONE), f"gpu{i % 7:03d}"
        stamp = local.isoformat() if iso else f"{local:%b} {local.day:2d} {local:%H:%M:%S}"
        message = "sshd[12]: session opened"
        if i % every == 0:
            planted.append((time.timestamp(), node))
            message = XID.format(xid=79)
        elif i % 31 == 0:
            message = XID.format(xid=13)
        lines.append(f"{stamp} {node} {message}")
    return lines, sorted(planted)


@pytest.mark.parametrize("iso", [False, True], ids=["Jan  5", "ISO"])
@pytest.mark.parametrize(
    ("start", "step"),
    [
        ("2023-10-28T20:00:00+00:00", 11),  # the night in which an hour comes twice
        ("2024-03-30T20:00:00+00:00", 11),  # the night in which one is left out
        ("2023-11-01T00:00:00+00:00", 40_000),  # three turns of the year
        ("2024-02-28T00:00:00+00:00", 600),  # a leap day
    ],
)
def test_xids_in_kernel_lines(tmp_path, iso, start, step):
    lines, planted = syslog(start, step, 2500, iso)
    year = int(start[:4])
    options = {} if iso else {"year": year}
    log = rf.read(write(tmp_path, "\r\n".join(lines) + "\r\n"), timezone="Europe/Berlin", **options)
    assert log.source.format == "syslog"
    assert found(log) == planted
    adds_up(log, 2500)
    assert dict(log.source.funnel)["alerts"] > len(planted)  # XID 13 ends a job and no node
    assert set(log.events["cause"].astype(str)) == {"gpu hardware"}


def test_the_year_is_that_in_which_the_file_was_last_changed(tmp_path):
    import os

    lines, planted = syslog("2021-12-30T00:00:00+00:00", 600, 600, iso=False)
    path = write(tmp_path, "\n".join(lines) + "\n")
    changed = dt.datetime(2022, 1, 4, tzinfo=dt.UTC).timestamp()
    os.utime(path, (changed, changed))
    log = rf.read(path, timezone="Europe/Berlin")
    assert found(log) == planted
    assert any("stamps have no year: the first line is of 2021" in note for note in log.source.notes)


def test_a_leap_second_and_a_priority_in_front(tmp_path):
    text = (
        "<4>Dec 31 23:59:59 a kernel: ok\n<4>Dec 31 23:59:60 a kernel: Kernel panic - not syncing: x\n"
        "<4>Jan  1 00:00:00 b kernel: ok\n"
    )
    log = rf.read(write(tmp_path, text), year=2016)
    assert found(log) == [(dt.datetime(2017, 1, 1, tzinfo=dt.UTC).timestamp(), "a")]


def test_an_alert_without_a_time_is_refused(tmp_path):
    lines, planted = syslog("2024-01-05T00:00:00+00:00", 60, 300, iso=False)
    lines.insert(7, "Jan 35 10:00:00 gpu001 " + XID.format(xid=79))
    lines.insert(8, "   continued " + XID.format(xid=48))
    log = rf.read(write(tmp_path, "\n".join(lines)), year=2024, timezone="Europe/Berlin")
    assert found(log) == planted
    assert log.rejected["line"].tolist() == [8, 9]
    adds_up(log, 302)


def test_what_each_xid_ends(tmp_path):
    """NVIDIA's catalogue: what resets the GPU or the machine ends a node, what restarts a program ends a job."""
    resets = [46, 48, 62, 64, 74, 79, 95, 109, 110, 119, 120, 136, 140, 143, 151, 155, 156, 158]
    restarts = [8, 11, 13, 25, 31, 32, 39, 45, 60, 68, 69, 80, 94, 96, 105, 126, 135, 139]
    ignored = [14, 37, 38, 44, 63, 66, 67, 92, 93, 106, 107, 108, 121, 137, 141, 154, 157, 160, 161]
    stamp = "Jan  5 10:00:00 n1 kernel: "
    links = ["149, NETIR_LINK_EVT Fatal XC0 i0 Link 09 (0x025525c6)", "145, RLW_REMAP Nonfatal XC0 i0 Link 09 (0x1)"]
    lines = [stamp + XID.format(xid=xid)[9:] for xid in [*resets, *restarts, *ignored, *links]]
    lines += [
        stamp + f"nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): {what}"
        for what in ("20034, Fatal, Link 30 LTSSM Fault Up", "20009, Non-fatal, Link 28 RX Short Error Rate")
    ]
    path = write(tmp_path, "\n".join(lines) + "\n")
    assert rf.read(path, year=2024).source.funnel == (
        ("lines", len(lines)),
        ("alerts", len(lines)),
        ("that end a job", len(resets) + len(restarts) + 2),
        ("failures", len(resets) + 2),
    )
    log = rf.read(path, year=2024, ends="job")
    assert len(log) == len(resets) + len(restarts) + 2
    assert set(log.events["cause"].astype(str)) == {
        "gpu memory",
        "gpu interconnect",
        "gpu hardware",
        "gpu memory contained",
        "gpu application",
    }
    with pytest.raises(rf.ArgumentError, match="use node or job"):
        rf.read(path, year=2024, ends="all")


@pytest.mark.parametrize("name", ["loghub", "syslog", "slurmctld", "sacct", "slurm_nodes", "blue_gene"])
def test_what_counts_as_a_failure_is_said_in_plain_lines(tmp_path, name):
    log = rf.read(write(tmp_path, RAW[name]))
    assert 1 < len(log.source.rules) <= 10
    assert not any(sign in line for line in log.source.rules for sign in ("\\", "(?", ".*", "[["))
    if name == "syslog":
        assert any(line.startswith("failures of a node: gpu memory, gpu interconnect, ") for line in log.source.rules)
        assert any(line.startswith("ends of a job only: ") for line in log.source.rules)


# ------------------------------------------------------------------------ Slurm


def test_nodes_that_the_controller_sets_down(tmp_path):
    lines, planted, down = [], [], {}
    chance = random.Random(5)
    time = dt.datetime(2024, 3, 30, 20, tzinfo=dt.UTC)
    for _ in range(1500):
        time += dt.timedelta(seconds=chance.randrange(1, 120))
        stamp = f"[{time.astimezone(ZONE):%Y-%m-%dT%H:%M:%S}.000]"
        names = sorted(f"node{i:02d}" for i in chance.sample(range(40), 2))
        kind = chance.random()
        if kind < 0.05 and not any(name in down for name in names):
            numbers = ",".join(name[4:] for name in names)
            lines.append(f"{stamp} error: Nodes node[{numbers}] not responding, setting DOWN")
            down |= dict.fromkeys(names, time.timestamp())
        elif kind < 0.1 and names[0] in down:
            lines.append(f"{stamp} Node {names[0]} now responding")
            planted.append((names[0], down.pop(names[0]), time.timestamp()))
        else:
            lines.append(f"{stamp} sched: Allocate JobId=7 NodeList={names[0]} #CPUs=4")
    planted += [(name, begun, None) for name, begun in down.items()]
    log = rf.read(write(tmp_path, "\n".join(lines) + "\n"), timezone="Europe/Berlin")
    assert log.source.format == "slurmctld"
    assert spans(log) == sorted(planted, key=str) == sorted(spans(log), key=str)
    adds_up(log, 1500)


def test_rules_of_the_controller_are_those_of_re2(tmp_path):
    """No pattern of a user runs where its time may grow without bound, and none is known to one engine only."""
    line = "[2024-01-05T10:00:00.000] " + "a" * 60 + " down n1\n"
    rule = {"cause": "x", "pattern": r"\pL+ down (?P<node>n\d+)"}
    log = rf.read(write(tmp_path, line), rules={"rule": [rule]})
    assert log.events["node"].astype(str).tolist() == ["n1"]
    slow = {"cause": "x", "pattern": r"(?:(?:a+)+)+ (?:down|up) (?P<node>n\d+)"}
    assert len(rf.read(write(tmp_path, line * 50), rules={"rule": [slow]})) == 1
    unnamed = {"cause": "x", "pattern": r"(down|up) (?P<node>n\d+)"}
    with pytest.raises(rf.ArgumentError, match="group without a name"):
        rf.read(write(tmp_path, line), rules={"rule": [unnamed]})


def test_failed_runs_of_jobs(tmp_path):
    rows = [
        "JobID|JobName|Submit|Start|End|State|NodeList|FailedNode",
        "1|a|2024-01-01T00:00:00|2024-01-01T01:00:00|2024-01-01T02:00:00|COMPLETED|n[1-4]|",
        "2|a|2024-01-01T00:00:00|2024-01-01T03:00:00|2024-01-01T04:00:00|NODE_FAIL|n2|",
        "2.batch|batch|2024-01-01T03:00:00|2024-01-01T03:00:00|2024-01-01T04:00:00|NODE_FAIL|n2|",
        "2|a|2024-01-01T04:00:00|2024-01-01T05:00:00|2024-01-01T06:00:00|NODE_FAIL|n[3-4]|n4",
        "2|a|2024-01-01T06:00:00|2024-01-01T07:00:00|2024-01-01T08:00:00|COMPLETED|n1|",
        "3|b|2024-01-01T00:00:00|2024-01-01T09:00:00|2024-01-01T10:00:00|NODE_FAIL|n[5-6]|",
        "4|b|2024-01-01T00:00:00|2024-01-01T09:00:00|2024-01-01T11:00:00|REQUEUED|n7|",
        "5|b|2024-01-01T00:00:00|Unknown|Unknown|CANCELLED by 7|None assigned|",
        "6|b|2024-01-01T00:00:00|2024-01-01T09:00:00|Unknown|NODE_FAIL|n7|",
        "2|a|2024-01-01T00:00:00|2024-01-01T03:00:00|2024-01-01T04:00:00|NODE_FAIL|n2|",
    ]
    log = rf.read(write(tmp_path, "\n".join(rows) + "\n"))
    assert log.source.format == "sacct"
    assert log.events["node"].astype(object).tolist()[:2] == ["n2", "n4"]
    assert log.events["node"].isna().tolist() == [False, False, True]
    assert log.events["scope"].astype(str).tolist() == ["node", "node", "group"]
    assert log.events["start"].dt.hour.tolist() == [4, 6, 10]
    assert sorted(log.population["node"].astype(str)) == [f"n{i}" for i in range(1, 8)]
    assert log.rejected["line"].tolist() == [10]
    adds_up(log, 10)


def test_node_hours_of_failed_runs(tmp_path):
    rows = [
        "JobID|Start|End|State|NodeList|AllocNodes",
        "1|2024-01-01T01:00:00|2024-01-01T09:00:00|COMPLETED|n[1-4]|4",
        "2|2024-01-01T03:00:00|2024-01-01T05:30:00|NODE_FAIL|n[1-4]|4",  # 10
        "2.batch|2024-01-01T03:00:00|2024-01-01T05:30:00|NODE_FAIL|n1|1",
        "2|2024-01-01T03:00:00|2024-01-01T05:30:00|NODE_FAIL|n[1-4]|4",  # again
        "2|2024-01-01T06:00:00|2024-01-01T08:00:00|NODE_FAIL|n7|1",  # 2
    ]
    said = "node-hours of the runs that node failures ended: 12"
    assert said in rf.read(write(tmp_path, "\n".join(rows) + "\n")).source.notes
    more = [*rows, "4|Unknown|2024-01-01T09:00:00|NODE_FAIL|n5|1"]
    assert f"{said} (2 of 3 runs)" in rf.read(write(tmp_path, "\n".join(more) + "\n")).source.notes
    without = [row.rpartition("|")[0] for row in rows]
    assert not any("node-hours" in note for note in rf.read(write(tmp_path, "\n".join(without) + "\n")).source.notes)


def test_ranges_that_overlap_are_written_out_once(tmp_path):
    rows = [f"{i}|NODE_FAIL|2024-01-05T10:00:00|2024-01-05T11:00:00|n[{i}-{i + 60_000}]" for i in range(200)]
    path = write(tmp_path, "\n".join(["JobID|State|Start|End|NodeList", *rows]) + "\n")
    begun = time.process_time()
    log = rf.read(path)
    assert time.process_time() - begun < 5  # 11 seconds where each was
    assert log.n_nodes == 60_200
    assert log.events["node"].isna().all()


def test_hosts_of_many_lists_are_those_of_each():
    chance = random.Random(3)
    for _ in range(300):
        lists = []
        for _ in range(chance.randrange(1, 9)):
            low = chance.randrange(0, 40)
            width = chance.choice([1, 1, 3])
            lists.append(
                f"{chance.choice('ab')}[{low:0{width}}-{low + chance.randrange(-1, 20)}]{chance.choice(['', 'x'])}"
            )
            lists += chance.sample(["a5", "login1", "", "r[1-2]n[0-3]", "a[07,3-4]", "None assigned"], 2)
        together = Hosts()
        singles = [together.add(text) for text in lists]
        assert set(together.names) == {name for text in lists for name in hosts(text)}
        assert singles == [{0: "", 1: hosts(text)[0] if hosts(text) else ""}.get(len(hosts(text))) for text in lists]


SNAPSHOT = """{moment}
NodeName=n1 Arch=x86_64 CoresPerSocket=8
   CPUAlloc=0 CPUTot=16
   State={state} ThreadsPerCore=2
   BootTime=2024-01-01T00:00:00 SlurmdStartTime=2024-01-01T00:01:00
{reason}
NodeName=n2 Arch=x86_64
   State=IDLE+DRAIN ThreadsPerCore=2
   Reason=replace disk [root@2024-01-02T00:00:00]
"""


def test_snapshots_of_nodes(tmp_path):
    reason = "   Reason=Not responding; State=x [slurm@2024-01-03T10:00:00]\n"
    text = (
        SNAPSHOT.format(moment="2024-01-03T09:00:00+00:00", state="ALLOCATED", reason="")
        + SNAPSHOT.format(moment="2024-01-03T12:00:00+00:00", state="DOWN*", reason=reason)
        + SNAPSHOT.format(moment="Wed Jan  3 13:00:00 UTC 2024", state="DOWN*+DRAIN", reason=reason)
        + SNAPSHOT.format(moment="2024-01-03T15:00:00+00:00", state="IDLE", reason="")
    )
    log = rf.read(write(tmp_path, text))
    assert log.source.format == "slurm_nodes"
    assert [(n, e - s) for n, s, e in spans(log)] == [("n1", 5 * HOUR)]
    assert log.events["cause"].astype(str).tolist() == ["Not responding; State=x"]
    assert log.n_nodes == 2
    adds_up(log, 8)


@pytest.mark.parametrize(
    ("state", "fails"),
    [
        ("DOWN", True),
        ("DOWN*", True),
        ("DOWN*+DRAIN", True),
        ("DOWN+NOT_RESPONDING", True),
        ("FAIL", True),
        ("ERROR", True),
        ("FAILING", False),
        ("IDLE*", False),
        ("DRAINED", False),
        ("MIXED+DRAIN", False),
        ("PLANNED", False),
        ("IDLE+CLOUD+POWERED_DOWN", False),
        ("DOWN+POWERED_DOWN", False),
        ("DOWN~", False),
        ("DOWN+MAINTENANCE+RESERVED", False),
        ("DOWN$", False),
        ("DOWN^", False),
        ("INVAL", False),
    ],
)
def test_states_of_nodes(tmp_path, state, fails):
    text = f"NodeName=n1\n   State={state} ThreadsPerCore=1\n   Reason=bad [slurm@2024-01-05T10:00:00]\n"
    assert len(rf.read(write(tmp_path, "2024-01-05T12:00:00\n" + text))) == fails


def test_maintenance_does_not_end_an_outage(tmp_path):
    node = "2024-01-05T{hour}:00:00\nNodeName=n1\n   State={state} ThreadsPerCore=1\n"
    looks = ((10, "DOWN*"), (11, "DOWN+MAINTENANCE"), (13, "IDLE"))
    log = rf.read(write(tmp_path, "".join(node.format(hour=hour, state=state) for hour, state in looks)))
    assert [(name, end - start) for name, start, end in spans(log)] == [("n1", 3 * HOUR)]


def test_reasons_of_sinfo_with_states(tmp_path):
    text = (
        "Fri Jan 05 12:00:00 2024\nREASON               USER         TIMESTAMP           STATE  NODELIST\n"
        "Not responding       slurm(64030) 2024-01-05T10:00:00 down*  n[01-02]\n"
        "new disk             root(0)      2024-01-05T11:00:00 drain  n07\n"
    )
    log = rf.read(write(tmp_path, text))
    assert log.events["node"].astype(str).tolist() == ["n01", "n02"]
    assert log.n_nodes == 3
    assert not any("drained" in note for note in log.source.notes)
    assert not log.population["declared"].any()  # sinfo -R lists what is wrong, and nothing else
    assert log.window.hours == 0.0  # of one instant: no rate
    assert "a snapshot has no failure rate: over what time" in log.question
    with pytest.raises(DataError, match="a snapshot has no failure rate"):
        rf.fleet_model(log)


def test_reasons_of_sinfo(tmp_path):
    header = "REASON               USER      TIMESTAMP           NODELIST\n"
    bad_disk = "bad disk sda         root      2024-01-05T11:00:00 n07\n"
    first = "Not responding       slurm     2024-01-05T10:00:00 n[01-02]\n" + bad_disk
    later = "2024-01-05T18:00:00\n" + header + bad_disk + "nonsense\n"
    log = rf.read(write(tmp_path, "2024-01-05T12:00:00\n" + header + first + later))
    ends = {node: None if end is None else (end - start) / HOUR for node, start, end in spans(log)}
    assert ends == {"n01": 6.0, "n02": 6.0, "n07": None}  # seen down from the first look on
    assert log.events["start_cut"].tolist() == [True, True, True]
    assert log.events["detail"].astype(str).tolist()[:2] == ["since 2024-01-05 10:00:00 UTC"] * 2
    assert len(log.ttr().durations) == 3
    assert not log.ttr().observed.any()
    assert log.rejected["text"].tolist() == ["nonsense"]
    assert any("`sinfo -lR` says" in note for note in log.source.notes)
    adds_up(log, 4)


@pytest.mark.parametrize("sign", [" ", "[", "]", "@", "a ", "[@"])
def test_long_reasons_take_time_in_proportion(tmp_path, sign):
    """32,000 blanks or brackets took 14 to 18 seconds."""
    reason = f"x{32_000 * sign}y"
    row = f"{reason} root(0) 2024-01-05T10:00:00 down* n01\n"
    sinfo = f"Fri Jan 05 12:00:00 2024\nREASON USER TIMESTAMP STATE NODELIST\n{row}{reason}\n"
    scontrol = "2024-01-05T12:00:00\n"
    for name, since in (("n1", " [root@2024-01-05T10:00:00]"), ("n2", "")):
        scontrol += f"NodeName={name} OS={reason}\n   no key in this line\n   State=DOWN\n   Reason={reason}{since}\n\n"
    for text, nodes in ((sinfo, ["n01"]), (scontrol, ["n1", "n2"])):
        begun = time.process_time()
        log = rf.read(write(tmp_path, text))
        assert time.process_time() - begun < 3.0
        assert sorted(log.events["node"].astype(str)) == nodes
        assert set(log.events["start"].dt.hour) <= {10, 12}


# ------------------------------------------------------------------ Blue Gene RAS


def test_messages_of_blue_gene(tmp_path):
    rows = ["RECID,MSG_ID,COMPONENT,SEVERITY,EVENT_TIME,LOCATION,MESSAGE"]
    planted = []
    chance = random.Random(6)
    time = dt.datetime(2009, 1, 5, tzinfo=dt.UTC)
    for i in range(500):
        time += dt.timedelta(seconds=chance.randrange(1, 5000))
        severity = chance.choice(["INFO", "WARN", "FATAL", "ERROR"])
        place = f"R{i % 5:02d}-M0-N04-J23"
        stamp = f"{time:%Y-%m-%d-%H.%M.%S}.000000"
        rows.append(f'{i},KERN_0802,KERNEL,{severity},{stamp},{place},"a, ""quoted"" message"')
        if severity == "FATAL":
            planted.append((time.timestamp(), place))
            if i % 3 == 0:
                rows.append(rows[-1])
    rows.append("x,KERN,KERNEL,FATAL,soon,R00,y")
    log = rf.read(write(tmp_path, "\n".join(rows) + "\n"))
    assert log.source.format == "blue_gene"
    assert found(log) == sorted(planted)
    assert log.rejected["line"].tolist() == [len(rows)]
    adds_up(log, len(rows) - 1)


def test_messages_of_jobs_are_no_failures(tmp_path):
    rows = ["RECID,MSG_ID,CATEGORY,COMPONENT,SEVERITY,EVENT_TIME,LOCATION"]
    rows += [
        f"{i},00010001,{category},{component},{severity},2013-04-09 12:03:0{i}.5,R00-M0-N0{i}"
        for i, (category, component, severity) in enumerate(
            [
                ("Process", "MMCS", "FATAL"),
                ("Job", "MC", "FATAL"),
                ("BQC", "APPLICATION", "FATAL"),
                ("BQC", "CNK", "FATAL"),
                ("DDR", "MC", "WARN"),
                ("DDR", "MC", "FAILURE"),
            ]
        )
    ]
    log = rf.read(write(tmp_path, "\n".join(rows) + "\n"))
    assert log.events["node"].astype(str).tolist() == ["R00-M0-N03", "R00-M0-N05"]


# --------------------------------------------------------------------- Backblaze


def test_drives_by_the_day(tmp_path):
    chance = random.Random(7)
    folder = tmp_path / "q1"
    folder.mkdir()
    planted, first, last = [], {}, {}
    alive = {f"S{i:03d}": chance.choice(["ST4000", "HGST"]) for i in range(60)}
    rows = 0
    for day in range(40):
        date = dt.date(2024, 1, 1) + dt.timedelta(days=day)
        newer = day >= 20  # where a drive stands is told since 2023
        place = "datacenter,cluster_id,vault_id,pod_id,pod_slot_num,is_legacy_format," if newer else ""
        lines = [f"date,serial_number,model,capacity_bytes,failure,{place}smart_1_raw,smart_9_raw"]
        for serial, model in list(alive.items()):
            fails = chance.random() < 0.01
            lines.append(
                f"{date},{serial},{model},4000787030016,{int(fails)},{'sac0,0,1048,3,17,False,' * newer},{day * 24}"
            )
            first.setdefault(serial, date)
            last[serial] = date
            if fails:
                planted.append(((date - dt.date(1970, 1, 1)).days * 86_400.0 + 86_400.0, serial))
                del alive[serial]
        rows += len(lines) - 1
        (folder / f"{date}.csv").write_text("\n".join(lines) + "\n")
    broken = folder / "2024-02-08.csv"
    broken.write_text(
        broken.read_text() + "2024-02-08,,ST4000,1,0,,\n2024-02-08,S001,ST4000,1,maybe,,\n2024-02-30,Z,M,1,1,,\n"
    )
    log = rf.read(folder)
    assert log.source.format == "backblaze"
    assert found(log) == sorted(planted)
    adds_up(log, rows + 3)
    assert log.rejected["line"].size == 3
    assert log.n_nodes == 60
    people = log.population.set_index("node")
    days = (people["left"] - people["entered"]).dt.days
    assert {name: int(days[name]) for name in last} == {name: (last[name] - first[name]).days + 1 for name in last}
    assert set(people["model"].astype(str)) == {"ST4000", "HGST"}
    placed = people["datacenter"].astype(object).dropna()
    assert set(placed) == {"sac0"}
    assert set(placed.index) == {name for name in last if last[name] >= dt.date(2024, 1, 21)}


# -------------------------------------------------------------------- Prometheus


@pytest.mark.parametrize("kind", ["json", "csv", "wide", "long"])
def test_samples_of_up(tmp_path, kind):
    chance = random.Random(8)
    series, planted = {}, []
    for n in range(6):
        name, up, values, begun = f"n{n}:9100", True, [], 0
        for i in range(400):
            time = 1_704_067_200 + 60 * i
            if n == 3 and 100 <= i < 150:
                if not up:
                    planted.append((name, float(begun), None))
                up = True
                continue
            if n == 3 and i == 150:
                up = True
            turn = chance.random() < (0.02 if up else 0.2)
            if turn:
                if up:
                    begun = time
                else:
                    planted.append((name, float(begun), float(time)))
                up = not up
            values.append([time, str(int(up))])
        if not up:
            planted.append((name, float(begun), None))
        series[name] = values
    size = sum(map(len, series.values()))
    if kind == "json":
        result = [{"metric": {"__name__": "up", "instance": name}, "values": values} for name, values in series.items()]
        result[0]["values"].append([1_704_067_200, "NaN"])
        text = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})
    elif kind == "wide":
        at = [dict(values) for values in series.values()]
        heads = [f'"{{__name__=""up"", instance=""{name}"", job=""node""}}"' for name in series]
        rows = [
            ",".join(
                [f"{dt.datetime.fromtimestamp(time, dt.UTC):%Y-%m-%d %H:%M:%S}", *(one.get(time, "") for one in at)]
            )
            for time in sorted(set().union(*at))
        ]
        text = "\n".join([",".join(['"Time"', *heads]), *rows, "2024-01-02 00:00:00,2" + "," * (len(at) - 1)]) + "\n"
    elif kind == "long":
        rows = [
            f'{time}000,"up{{instance=""{name}"",job=""node""}}",{"up" if value == "1" else "DOWN"}'
            for name, values in series.items()
            for time, value in values
        ]
        text = "\n".join(["Time,Metric,Value", *rows, "1704067200000,up{},maybe"]) + "\n"
    else:
        rows = [f"{time},{name},{value}" for name, values in series.items() for time, value in values]
        text = "\n".join(["timestamp,instance,value", *rows, "1704067200,n1:9100,2"]) + "\n"
    log = rf.read(write(tmp_path, text))
    assert log.source.format == "prometheus"
    planted = [(name.removesuffix(":9100"), begun, end) for name, begun, end in planted]
    assert sorted(spans(log), key=str) == sorted(planted, key=str)
    adds_up(log, size + 1)
    assert any("1 gap between" in note for note in log.source.notes)


def test_columns_that_a_legend_names_and_clocks_of_a_zone(tmp_path):
    text = "Time,n1:9100,n2:9100\n" + "".join(
        f"2024-07-01 {hour:02d}:00:00,1,{int(hour not in (3, 4))}\n" for hour in range(12)
    )
    log = rf.read(write(tmp_path, text), timezone="Europe/Berlin")
    assert log.events[["node", "start", "end"]].astype(str).to_numpy().tolist() == [
        ["n2", "2024-07-01 01:00:00+00:00", "2024-07-01 03:00:00+00:00"]
    ]
    assert log.n_nodes == 2
    words = write(tmp_path, text.replace(":9100", ""))
    with pytest.raises(rf.ReadError, match="no column names the node"):
        rf.read(words)
    assert rf.read(words, "prometheus").events["node"].tolist() == ["n2"]


# ---------------------------------------------------------------- machine events


@pytest.mark.parametrize("year", [2011, 2019, "names"])
def test_machines_that_come_and_go(tmp_path, year):
    chance = random.Random(9)
    events, planted, down = [(0, str(i), "add") for i in range(20)], [], {}
    time = 600_000_000
    for _ in range(400):
        time += chance.randrange(1, 10**10)
        name = str(chance.randrange(25))
        seen = {machine for _, machine, _ in events}
        if name in down:
            planted.append((name, down.pop(name) / 1e6, time / 1e6))
            kind = "add"
        elif name not in seen:
            kind = "add"
        elif chance.random() < 0.3:
            kind = "update"
        else:
            kind = "remove"
            down[name] = time
        events.append((time, name, kind))
    planted += [(name, begun / 1e6, None) for name, begun in down.items()]
    if year == 2011:
        numbers = {"add": 0, "remove": 1, "update": 2}
        lines = [
            f"{time},{name},{numbers[kind]},HofLGzk1Or/8Ildj2+Lqv0UGGvY82NLoni8+J/Yy0RU=,0.5,0.2493"
            for time, name, kind in events
        ]
    else:
        numbers = (
            {"add": 1, "remove": 2, "update": 3}
            if year == 2019
            else {k: k.upper() for k in ("add", "remove", "update")}
        )
        lines = [
            json.dumps({"time": str(time), "machine_id": name, "type": numbers[kind]}) for time, name, kind in events
        ]
    lines.append("1,,7,x,,")
    log = rf.read(write(tmp_path, "\n".join(lines) + "\n"))
    assert log.source.format == "machine_events"
    got = [(node, pytest.approx(start), end) for node, start, end in sorted(spans(log), key=str)]
    assert [(n, e is None) for n, _, e in got] == [(n, e is None) for n, _, e in sorted(planted, key=str)]
    assert sorted(spans(log), key=str) == sorted(planted, key=str)
    adds_up(log, len(events) + 1)


# ------------------------------------------------------------------------ merging


def test_overlapping_exports_are_one_log():
    log = rf.datasets.load("white")
    early, late = log.between(until="2003-01-01"), log.between(since="2002-06-01")
    cut = int(early.events["end_cut"].sum() + late.events["start_cut"].sum())
    merged = rf.io.merge([early, late])
    assert abs(len(merged) - len(log)) <= cut
    assert (merged.n_nodes, merged.window) == (log.n_nodes, log.window)
    assert merged.source.rows_deselected > 0


def test_renamed_and_replaced_nodes():
    frame = pd.DataFrame({"node": ["a", "b", "a"], "start": ["2024-01-01", "2024-02-01", "2024-03-01"]})
    other = pd.DataFrame({"node": ["old-b", "c"], "start": ["2024-02-01", "2024-04-01"]})
    merged = rf.io.merge([rf.read(frame), rf.read(other)], renames={"old-b": "b"}, replaced={"a": "2024-02-15"})
    assert merged.events["node"].astype(str).tolist() == ["a", "b", "a#2", "c"]
    assert sorted(merged.population["node"].astype(str)) == ["a", "a#2", "b", "c"]
    second = merged.population.set_index("node").loc["a#2"]
    assert second["entered_known"]
    assert second["entered"] == pd.Timestamp("2024-02-15", tz="UTC")
    with pytest.raises(rf.ArgumentError, match="was not watched"):
        rf.io.merge([rf.read(frame)], replaced={"z": "2024-01-05"})


# ----------------------------------------------------------------------- what a machine says of itself


def test_a_journal_names_its_hosts_and_keeps_its_microseconds(tmp_path):
    rows = [
        {"__REALTIME_TIMESTAMP": "1704448800000001", "_HOSTNAME": "n1", "MESSAGE": "ok"},
        {
            "__REALTIME_TIMESTAMP": "1704448801000002",
            "_HOSTNAME": "n2",
            "SYSLOG_IDENTIFIER": "kernel",
            "MESSAGE": [*b"Kernel panic - not syncing\nmore \xff"],
        },
        {"__REALTIME_TIMESTAMP": "1704448900000000", "_HOSTNAME": "n1", "MESSAGE": "bye"},
    ]
    log = rf.read(write(tmp_path, "".join(json.dumps(row) + "\n" for row in rows)))
    assert log.source.format == "journal"
    assert log.events[["node", "cause", "line"]].astype(str).to_numpy().tolist() == [["n2", "kernel panic", "2"]]
    assert log.events["start"][0] == pd.Timestamp(1704448801000002, unit="us", tz="UTC")
    assert sorted(log.population["node"]) == ["n1", "n2"]
    adds_up(log, 3)


def test_kernel_rings_and_controllers_are_of_one_machine(tmp_path):
    ring = "[Mon Nov  4 01:30:00 2024] ok\n[Tue Nov  5 10:00:01 2024] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, x\n"
    (tmp_path / "n012.log").write_text(ring)
    log = rf.read(tmp_path / "n012.log", timezone="America/Denver")
    assert found(log) == [(pd.Timestamp("2024-11-05 17:00:01", tz="UTC").timestamp(), "n012")]
    sel = (
        "   1 | 11/24/2026 | 10:00:00 | Memory #0x12 | Uncorrectable ECC | Asserted\n"
        "   2 | Pre-Init  |0000000005| Power Supply #0x1 | Failure detected | Asserted\n"
        "   3 | 11/25/26 | 10:00:00 UTC | Fan #0x30 | Lower Critical going low | Asserted\n"
        "   4 | 11/26/2026 | 10:00:00 UTC | Power Supply #0x1 | Failure detected | Asserted\n"
        "   5 | 11/26/2026 | 11:00:00 UTC | Power Supply #0x1 | Failure detected | Deasserted\n"
    )
    log = rf.read(write(tmp_path, sel), node="n7")
    assert log.events[["node", "cause"]].astype(str).to_numpy().tolist() == [["n7", "memory"], ["n7", "power"]]
    adds_up(log, 5)


def test_a_target_that_is_down_at_its_first_sample_is_no_failure(tmp_path):
    rows = [(0, "a", 0), (60, "a", 1), (120, "a", 0), (180, "a", 1), (0, "b", 1), (60, "b", 0), (120, "b", 0)]
    rows += [(600, "b", 0), (660, "b", 1), (0, "c", 1), (60, "c", 1), (600, "c", 0), (660, "c", 1)]
    text = "time,instance,value\n" + "".join(f"{1704067200 + t},{n}:9100,{v}\n" for t, n, v in rows)
    log = rf.read(write(tmp_path, text))
    cut = dict.fromkeys("abc", "")
    for row in log.events.itertuples():
        cut[str(row.node)[0]] += "cut " if row.start_cut else "new "
    assert cut == {"a": "cut new ", "b": "new cut ", "c": "new "}  # c went down in the gap, b was down before it
