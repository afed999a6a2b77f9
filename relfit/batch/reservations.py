"""Reservations of nodes for planned maintenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relfit.arrays import IntArray
from relfit.batch.engine_state import RESERVATION, Table, mask_of
from relfit.batch.seconds import in_seconds
from relfit.errors import ArgumentError

__all__ = ["Reservation", "reservation_tables"]


@dataclass(frozen=True)
class Reservation:
    """Nodes that no job may hold for a while.

    Parameters
    ----------
    start, end : duration
        On the clock of the workload; numbers are hours.
    nodes : str or sequence of int, optional
        As ``"0-99 200"``; all nodes when left out.
    announced : duration, optional
        From when on the scheduler knows of it; always when left out.

    Examples
    --------
    >>> Reservation("24h", "32h", "0-2 5").numbers(8).tolist()
    [0, 1, 2, 5]
    """

    start: Any
    end: Any
    nodes: Any = None
    announced: Any = None

    def numbers(self, n_nodes: int) -> IntArray:
        """The nodes, in order.

        Raises
        ------
        ArgumentError
            For text that names no nodes, nodes that are not there, and one that is named twice.
        """
        if self.nodes is None:
            return np.arange(n_nodes)
        if isinstance(self.nodes, str):
            parts = []
            for part in self.nodes.replace(",", " ").split():
                first, _, last = part.partition("-")
                if not (first.isdigit() and (last.isdigit() or not last)):
                    raise ArgumentError(f"{part!r} in a reservation names no nodes", remedy="write 0-99 or 7")
                parts.append(np.arange(int(first), int(last or first) + 1))
            found = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
        else:
            found = np.asarray(self.nodes, dtype=np.int64)
        if not found.size or found.min() < 0 or found.max() >= n_nodes:
            raise ArgumentError(f"a reservation of nodes {self.nodes}", remedy=f"there are nodes 0 to {n_nodes - 1}")
        values, times = np.unique(found, return_counts=True)
        if times.max() > 1:
            raise ArgumentError(f"a reservation names node {values[times > 1][0]} twice", remedy="name it once")
        return values


def reservation_tables(reservations: Sequence[Reservation], n_nodes: int) -> tuple[Table, np.ndarray]:
    """Reservations in order of their start, in seconds, and the bits of their nodes.

    Raises
    ------
    ArgumentError
        For one that ends before it starts, and two that want one node at one time.
    """
    rows = np.zeros(len(reservations), dtype=RESERVATION)
    masks = np.zeros((len(reservations), (n_nodes + 63) // 64), dtype=np.uint64)
    for i, each in enumerate(reservations):
        start, end = (in_seconds(name, getattr(each, name)) for name in ("start", "end"))
        announced = -np.inf if each.announced is None else in_seconds("announced", each.announced)
        if not start < end or announced > start:
            known = "" if each.announced is None else f", announced at {announced:g} s"
            what = f"a reservation from {start:g} to {end:g} s{known}"
            raise ArgumentError(what, remedy="it must be announced before it starts, and end later")
        numbers = each.numbers(n_nodes)
        rows[i] = announced, start, end, numbers.size
        masks[i] = mask_of(numbers, n_nodes)
    order = np.argsort(rows["start"], kind="stable")
    rows, masks = rows[order], masks[order]
    for i in range(len(rows)):
        for k in range(i + 1, len(rows)):
            if rows["start"][k] < rows["end"][i] and (masks[i] & masks[k]).any():
                raise ArgumentError(
                    f"reservations from {rows['start'][i]:g} and {rows['start'][k]:g} s overlap in time and nodes",
                    remedy="give them other times or nodes",
                )
    return rows, masks
