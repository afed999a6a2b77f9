"""How the tests are dealt to processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xdist.scheduler.loadfile import LoadFileScheduling

__all__ = ["RoomByRoom"]

LONG = ("batch", "training", "cli")
"""Rooms that are begun first: the simulators are compiled, and the command line has most to do."""


def room_of(file: str) -> str:
    """The room whose tests, or examples, a file has: an inner package of relfit where it is in one."""
    parts = Path(file).parts
    return parts[2] if parts[0] == "relfit" and len(parts) > 3 else parts[:2][-1]


class RoomByRoom(LoadFileScheduling):
    """Whole files go to each process, those of a room to one process as long as there are rooms for the others.

    What a room compiles, reads and asks is then there for the next of its files. Two processes that begin a room at one
    time compile it twice: the batch simulator a minute each.
    """

    def _assign_work_unit(self, node: Any) -> None:
        begun = {room_of(file): owner for owner, files in self.assigned_work.items() for file in files}

        def rank(file: str) -> tuple[int, bool]:
            room = room_of(file)
            return (0 if begun.get(room) is node else 2 if room in begun else 1), room not in LONG

        wanted = min(self.workqueue, key=rank)
        self.workqueue.move_to_end(wanted, last=False)
        super()._assign_work_unit(node)
