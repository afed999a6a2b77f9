"""Draining of the nodes that alarms name in Slurm: commands to show, to run on the controller, and to undo.

Names and reasons come from logs. A name is used only where it is that of one host and the controller has it, a reason
is made of letters, digits and a few signs, and no command goes through a shell.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pandas as pd

from relfit.base.arguments import share as checked_share
from relfit.base.errors import RelfitError
from relfit.base.programs import output_of
from relfit.base.results import Result
from relfit.base.text import count
from relfit.base.writing import complete
from relfit.fleet._slurm import is_host, plain_reason, slurm_nodes
from relfit.live.live_records import Alarm
from relfit.study import Study

MARK = "relfit watch: "
"""Start of the reason of a node that relfit drained: no other drain is ever undone."""
_COLUMNS = ("node", "reason", "done", "command")
_LINE = re.compile(r"([^|\s]+)\|([^|]*)\|([A-Za-z_]+)[*~#!%$@^-]?\|(.*)")
_OUT = ("drain", "down", "fail", "error", "maint", "power", "reboot", "future")


class Drains(Result):
    """Nodes to be drained, or that were drained or undrained: ``node``, ``reason``, ``done`` (what was done, or why
    not; empty where commands are only shown), ``command`` (quoted for a shell). `skipped` are no names of one host.
    """

    table: pd.DataFrame
    skipped: tuple[str, ...]

    _frame: ClassVar[str] = "table"

    @property
    def headline(self) -> str:
        """Number of nodes, and of names left out."""
        left = f"; {count(len(self.skipped), 'name')} left out: not host names" if self.skipped else ""
        return f"{count(len(self.table), 'node')} to drain or undrain{left}"

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, and per node the command and what was done."""
        ends = [f"  # {done}" if done else "" for done in self.table["done"].astype(str)]
        return (self.headline, *(f"{line}{end}" for line, end in zip(self.table["command"], ends, strict=True)))


def drains_of(alarms: Sequence[Alarm]) -> Drains:
    """The nodes that stand out or whose repair did not help, with the commands that drain them."""
    reasons: dict[str, str] = {}
    skipped = []
    for alarm in alarms:
        if alarm.kind not in ("node", "repeat"):
            continue
        name = alarm.subject.removeprefix("node ").split(", ")[0]  # a cause follows
        if is_host(name):
            reasons.setdefault(name, plain_reason(MARK + alarm.text))
        else:
            skipped.append(name)
    rows = [(name, reason, "", shlex.join(_draining(name, reason))) for name, reason in reasons.items()]
    return Drains(pd.DataFrame(rows, columns=list(_COLUMNS)), tuple(dict.fromkeys(skipped)))


def apply_drains(drains: Drains, share: float = 0.02, under_repair: Collection[str] = ()) -> Drains:
    """Drain nodes on the controller, as root or Slurm's user, and undrain those that relfit drained and no alarm names.

    Relfit may drain a `share` of the nodes of each partition, earlier drains included. Nodes that take no jobs already
    are left as they are; those that relfit drained stay so while their alarm stands, or an outage goes on
    (`under_repair`). A `RelfitError` when the controller does not answer; ``done`` reports a command that fails.
    """
    most = float(checked_share("share", share))
    over = undo_drains({*drains.table["node"], *under_repair})
    nodes = _nodes()
    sizes = Counter(part for node in nodes.values() for part in node.partitions)
    ours = Counter(part for node in nodes.values() for part in node.partitions if node.ours)
    rows = list(over.table.itertuples(index=False, name=None))
    for row in drains.table.itertuples():
        name, reason = str(row.node), str(row.reason)
        node = nodes.get(name)
        if node is None:
            done = "not done: the controller has no such node"
        elif node.ours:
            done = "drained before"
        elif node.out:
            done = f"not done: it is {node.state}"
        elif full := [part for part in node.partitions if ours[part] + 1 > most * sizes[part] + 1e-9]:
            done = f"not done: more than {100 * most:g} % of partition {full[0]} ({sizes[full[0]]} nodes)"
        else:
            done = _told(_draining(name, reason), "drained")
            ours.update(node.partitions if done == "drained" else ())
        rows.append((name, reason, done, str(row.command)))
    return Drains(pd.DataFrame(rows, columns=list(_COLUMNS)), drains.skipped)


def undo_drains(but: Collection[str] = ()) -> Drains:
    """Undrain the nodes that `apply_drains` drained, but for some names, unless they have another reason since."""
    rows = []
    for name, node in _nodes().items():
        if node.ours and is_host(name) and name not in but:
            command = ["scontrol", "update", f"NodeName={name}", "State=UNDRAIN"]
            rows.append((name, node.reason, _told(command, "undrained"), shlex.join(command)))
    return Drains(pd.DataFrame(rows, columns=list(_COLUMNS)), ())


def write_slurm(alarms: Sequence[Alarm], study: Study | None, folder: str | Path) -> None:
    """Write the weights and features of `relfit.fleet.slurm_nodes`, and ``drain.sh`` with the drains of the alarms."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    if study is not None:
        slurm_nodes(study.log).write(place)
    lines = drains_of(alarms).table["command"]
    with complete(place / "drain.sh") as part:
        part.write_text(
            "#!/bin/sh\n# Written by relfit watch. Review it before use.\n" + "".join(f"{line}\n" for line in lines)
        )


@dataclass
class _Node:
    """A node as the controller has it now."""

    state: str
    reason: str
    partitions: list[str]

    @property
    def out(self) -> bool:
        """Whether it takes no jobs already."""
        return self.state.startswith(_OUT)

    @property
    def ours(self) -> bool:
        """Whether relfit drained it."""
        return self.state.startswith(("drain", "down")) and self.reason.startswith(MARK)


def _nodes() -> dict[str, _Node]:
    """Nodes by name. A reason may have further lines; only its start counts."""
    printed = output_of(["sinfo", "--all", "--Node", "--noheader", "--format=%N|%R|%T|%E"], TZ="UTC")
    nodes: dict[str, _Node] = {}
    for line in printed.decode(errors="replace").splitlines():
        if match := _LINE.fullmatch(line):
            name, partition, state, reason = match.groups()
            nodes.setdefault(name, _Node(state.lower(), reason, [])).partitions.append(partition)
    return nodes


def _draining(name: str, reason: str) -> list[str]:
    return ["scontrol", "update", f"NodeName={name}", "State=DRAIN", f"Reason={reason}"]


def _told(command: list[str], done: str) -> str:
    """Run a command; returns what was done, or why not."""
    try:
        output_of(command, TZ="UTC")
    except RelfitError as error:
        return f"not done: {error}"
    return done
