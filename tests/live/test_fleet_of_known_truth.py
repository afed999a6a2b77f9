"""A fleet of known truth in a real Slurm and a real Prometheus: a watch counts it and names what was planted.

It runs in ``make verify`` and ``make live-check``; its parts are in `test_slurm_live`, `test_prometheus_live` and
`test_fleet_alarms`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = [pytest.mark.live, pytest.mark.verify]
NODES, DAYS, DAY, HOUR = 120, 400, 86_400, 3600
CHANGED, BAD, UNREPAIRED = 320, "n007", "n050"
"""From this day on nodes fail five times as often; one always fails often; one fails again right after each repair."""
LINES = (
    f"NodeName=n[001-{NODES}] CPUs=4 RealMemory=1000 NodeAddr=127.0.0.1\n"
    "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
)


def planted(end: int) -> list[tuple[int, int, str, str, int]]:
    """Outages from Poisson processes: start, end, node, reason, state (1 down, 512 drained)."""
    rng = np.random.default_rng(20)
    begin = end - DAYS * DAY
    rows = []
    for number in range(1, NODES + 1):
        node = f"n{number:03d}"
        rate = np.where(np.arange(DAYS) >= CHANGED, 5.0, 1.0) / 120.0
        if node == BAD:
            rate = rate + 1.0 / 12.0
        days = np.flatnonzero(rng.random(DAYS) < rate)
        last = begin
        for day in days.tolist():
            start = begin + day * DAY + int(rng.integers(0, 20 * HOUR))
            if start < last + HOUR:
                continue
            last = start + int(rng.integers(HOUR, 3 * HOUR))
            rows.append((start, last, node, str(rng.choice(["Not responding", "ECC errors, DIMM A3"])), 1))
    rows += [
        (begin + day * DAY + 22 * HOUR, begin + day * DAY + 23 * HOUR, UNREPAIRED, "GPU fell off the bus", 1)
        for day in range(390, 395)
    ]
    rows += [
        (begin + 100 * DAY + 21 * HOUR, begin + 100 * DAY + 22 * HOUR, f"n{i:03d}", "Scheduled kernel", 512)
        for i in range(60, 80)
    ]
    kept: dict[str, int] = {}
    apart = []
    for row in sorted(rows):
        if row[0] > kept.get(row[2], 0) + HOUR:
            apart.append(row)
            kept[row[2]] = row[1]
    return apart


def targets(path: Path, end: int) -> int:
    """Two weeks of ten other machines in Prometheus: how many times one stops answering."""
    rng = np.random.default_rng(21)
    begin, step = end - 14 * DAY, 600
    lines, failures = ["# HELP up x", "# TYPE up gauge"], 0
    for number in range(10):
        at, down = 3, set()
        while at < 14 * 144 - 30:
            at += int(rng.integers(60, 600))
            down |= set(range(at, at + 4))
            failures += at < 14 * 144 - 10
            at += 4
        lines += [
            f'up{{instance="g{number}:9100",job="gpus"}} {int(i not in down)} {begin + step * i}'
            for i in range(14 * 144)
            if i < 14 * 144 - 10 or i not in down
        ]
    path.write_text("\n".join([*lines, "# EOF"]) + "\n")
    return failures


def relfit(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "relfit", "watch", *words], capture_output=True, text=True, check=False
    )


def test_what_was_planted_is_what_the_watch_says(live: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end = int(time.time()) // 600 * 600 - 600
    failures = targets(tmp_path / "past.txt", end)
    values = live(
        "slurm", "exporter", "alertmanager", "prometheus", LIVE_NODES=LINES, LIVE_PAST=str(tmp_path / "past.txt")
    )
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    rows = planted(end)
    texts = ",".join(f"({a},{b},'{node}','{reason}',0,{state})" for a, b, node, reason, state in rows)
    statements = (
        f"update trial_event_table set time_start = {end - DAYS * DAY} where node_name = ''; insert into "
        f"trial_event_table (time_start, time_end, node_name, reason, reason_uid, state) values {texts}"
    )
    socket = f"{values['LIVE_FOLDER']}/run/maria.sock"
    subprocess.run(["mariadb", "-S", socket, "slurm_acct_db"], input=statements, text=True, check=True)
    for state, reason in (("DOWN", "lost while watched"), ("RESUME", "")):  # one more, by the controller itself
        words = ["scontrol", "update", "NodeName=n099", f"State={state}", *([f"Reason={reason}"] if reason else [])]
        subprocess.run(words, check=True)
        time.sleep(1.2)
    (tmp_path / "watch.toml").write_text(
        f"""store = "fleet.duckdb"
fleet = "trial"
[[sources]]
kind = "slurm"
[[sources]]
kind = "prometheus"
url = "{values["LIVE_PROMETHEUS"]}"
jobs = ["gpus"]
system = "gpus"
step = 600
days = 15.0
[outputs]
metrics = "{values["LIVE_TEXTFILES"]}/relfit.prom"
alertmanager = "{values["LIVE_ALERTMANAGER"]}"
slurm = "slurm"
"""
    )
    settings = str(tmp_path / "watch.toml")
    told = relfit("run", settings, "--json")
    assert told.returncode == 3, told.stderr
    document = json.loads(told.stdout)
    counted = sum(row[4] == 1 for row in rows) + 1
    assert document["new"] == document["records"] == counted + failures
    subjects = [alarm["subject"] for alarm in document["alarms"]]
    assert f"node {BAD}" in subjects
    assert any(subject.startswith(f"node {UNREPAIRED}") for subject in subjects)
    assert "system trial" in subjects
    assert document["problems"] == []
    metrics = Path(values["LIVE_TEXTFILES"], "relfit.prom").read_text()
    assert f'relfit_records{{fleet="trial",system="trial"}} {float(counted)}' in metrics
    again = json.loads(relfit("run", settings, "--json").stdout)
    assert (again["records"], again["new"]) == (counted + failures, 0)

    shown = relfit("drain", settings).stdout
    assert f"scontrol update NodeName={BAD} State=DRAIN" in shown
    relfit("drain", settings, "--apply", "--share", "0.1")
    assert drained() >= {BAD, UNREPAIRED}
    assert relfit("drain", settings, "--undo").returncode == 0
    assert drained() == set()


def drained() -> set[str]:
    words = ["sinfo", "-N", "-h", "--states=drain", "--format=%N"]
    return set(subprocess.run(words, check=True, capture_output=True, text=True).stdout.split())
