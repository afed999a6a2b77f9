"""How many nodes are drained where no share is given: two of a hundred, without a Slurm at hand."""

from __future__ import annotations

import pandas as pd
import pytest

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
