"""Tables of the engine for reservations of nodes for planned maintenance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from relfit.base.errors import ArgumentError
from relfit.simulation.batch.batch_settings import Reservation
from relfit.simulation.batch.engine_state import Reserved
from relfit.simulation.batch.seconds import in_seconds
from relfit.simulation.engine.records import Records, new_records


def reservation_tables(
    reservations: Sequence[Reservation], n_nodes: int
) -> tuple[Records[Reserved], npt.NDArray[np.bool_]]:
    """Reservations in order of their start, in seconds, and their nodes, shape (reservations, nodes).

    An `ArgumentError` for one that ends before it starts or is announced after it, and for two of one node at one time.
    """
    rows = new_records(Reserved, len(reservations))
    masks = np.zeros((len(reservations), n_nodes), dtype=np.bool_)
    ordered = sorted(reservations, key=lambda each: in_seconds("start", each.start))
    for i, each in enumerate(ordered):
        start, end = (in_seconds(name, getattr(each, name)) for name in ("start", "end"))
        announced = -np.inf if each.announced is None else in_seconds("announced", each.announced)
        if not start < end or announced > start:
            told = "" if each.announced is None else f", announced at {announced:g} s"
            what = f"a reservation from {start:g} to {end:g} s{told}"
            raise ArgumentError(what, remedy="it must be announced before it starts, and end later")
        masks[i, each.numbers(n_nodes)] = True
        for earlier in range(i):
            if start < rows["end"][earlier] and (masks[i] & masks[earlier]).any():
                what = f"reservations from {rows['start'][earlier]:g} and {start:g} s overlap in time and nodes"
                raise ArgumentError(what, remedy="give them other times or nodes")
        rows["announced"][i], rows["start"][i], rows["end"][i] = announced, start, end
    return rows, masks
