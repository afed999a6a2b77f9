"""How many nodes are drained where no share is given: two of a hundred, without a Slurm at hand."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from relfit.cli.app import main
from relfit.live import slurm_actions
from relfit.live.live_records import Alarm
from relfit.live.slurm_actions import apply_drains, drains_of


def test_two_percent_of_a_partition_are_drained_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def output_of(command: list[str], **environment: str) -> bytes:
        commands.append(command)
        return "".join(f"n{i:03d}|batch|idle|none\n" for i in range(100)).encode() if command[0] == "sinfo" else b""

    monkeypatch.setattr(slurm_actions, "output_of", output_of)
    at = pd.Timestamp("2024-01-01", tz="UTC")
    done = apply_drains(drains_of([Alarm("node", f"node n{i:03d}", at, at, "3 failures.", "") for i in range(3)]))
    assert done.table["done"].tolist() == [
        "drained",
        "drained",
        "not done: more than 2 % of partition batch (100 nodes)",
    ]
    assert [command[2] for command in commands if command[0] == "scontrol"] == ["NodeName=n000", "NodeName=n001"]


def test_drains_follow_the_alarms_that_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    """An alarm that stands keeps its node, as does an outage that goes on; otherwise drains are taken back.

    Drains of others are not touched, nor is a node under repair that nobody drained.
    """
    reasons = {
        "n1": "relfit watch: 3 failures.",
        "n2": "relfit watch: 5 failures.",
        "n3": "relfit watch: ",
        "n4": "fan",
        "n6": "relfit watch: 6 failures.",
    }

    def output_of(command: list[str], **environment: str) -> bytes:
        if command[0] == "sinfo":
            states = {
                name: "drained" if name in reasons else "idle" for name in ("n1", "n2", "n3", "n4", "n5", "n6", "n7")
            }
            return "".join(f"{n}|batch|{state}|{reasons.get(n, 'none')}\n" for n, state in states.items()).encode()
        name = command[2].removeprefix("NodeName=")
        if command[3] == "State=UNDRAIN":
            del reasons[name]
        else:
            reasons[name] = command[4].removeprefix("Reason=")
        return b""

    monkeypatch.setattr(slurm_actions, "output_of", output_of)
    at = pd.Timestamp("2024-01-01", tz="UTC")
    stand = drains_of([Alarm("node", f"node {name}", at, at, "4 failures.", "") for name in ("n1", "n5")])
    done = apply_drains(stand, 0.5, ["n6", "n7"]).table.set_index("node")["done"].to_dict()
    assert done == {"n2": "undrained", "n3": "undrained", "n1": "drained before", "n5": "drained"}
    assert reasons == {
        "n1": "relfit watch: 3 failures.",
        "n4": "fan",
        "n5": "relfit watch: 4 failures.",
        "n6": "relfit watch: 6 failures.",
    }
    assert apply_drains(drains_of([])).table["done"].tolist() == ["undrained", "undrained", "undrained"]
    assert reasons == {"n4": "fan"}


def test_a_node_whose_outage_goes_on_stays_drained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two drained nodes without an alarm one has an outage without an end: the other takes jobs again."""
    programs = tmp_path / "bin"
    programs.mkdir()
    nodes = "\n".join(f"echo 'n{i}|batch|drained|relfit watch: 3 failures.'" for i in (1, 2))
    for name, script in (("sinfo", nodes), ("scontrol", f'echo "$@" >> {tmp_path}/told')):
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    days = [f"n{1 + day % 2},2024-01-{day:02d},2024-01-{day:02d} 06:00" for day in range(1, 29)]
    (tmp_path / "log.csv").write_text("\n".join(["node,start,end", *days, "n2,2024-01-30,"]) + "\n")
    monkeypatch.chdir(tmp_path)
    assert main(["watch", "init", "log.csv"]) == 0
    assert main(["watch", "run", "watch.toml"]) == 3  # an alarm: the file is of years ago
    assert main(["watch", "drain", "watch.toml", "--apply"]) == 0
    assert (tmp_path / "told").read_text() == "update NodeName=n1 State=UNDRAIN\n"
