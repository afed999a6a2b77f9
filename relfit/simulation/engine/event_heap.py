"""The next events of a model: a binary heap in the total order (time, kind, number), compiled.

A number has one event at a time, so that an event can be moved or removed by its number. The size is fixed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from relfit.base.arrays import IntArray
from relfit.simulation.engine.records import Records, entry, inlined, new_records, part


class Event:
    """An event of a kind, of a number (a server, a job, ...), at a time; at one time the lower kind is first."""

    time: float
    kind: int
    number: int


class EventHeap(NamedTuple):
    """Events in heap order: ``events[0]`` is the first of ``size[0]``."""

    events: Records[Event]
    place: IntArray  # position of the event of each number in `events`; -1 without one
    size: IntArray


def empty_heap(numbers: int, room: int | None = None, heaps: int = 1) -> EventHeap:
    """An empty heap for `numbers` numbers from 0, with room for `room` events, by default one of each number.

    A model may cut it into several heaps by slices of each array; `size` then has one entry per heap.
    """
    events = new_records(Event, max(numbers if room is None else room, 1))
    return EventHeap(events, np.full(numbers, -1, np.int64), np.zeros(heaps, np.int64))


@inlined
def _before(time: float, kind: int, number: int, other: Event) -> bool:
    """Whether an event is before another."""
    if time != other.time:
        return time < other.time
    return kind < other.kind or (kind == other.kind and number < other.number)


@inlined
def _set(heap: EventHeap, place: int, time: float, kind: int, number: int) -> None:
    event = heap.events[place]
    event.time, event.kind, event.number = time, kind, number
    heap.place[number] = place


@part
def _settle(heap: EventHeap, place: int, time: float, kind: int, number: int) -> None:
    """Put an event where it belongs, starting from a free place: above that place, else at it or below."""
    events, size = heap.events, heap.size[0]
    while place > 0:
        above = events[(place - 1) >> 1]
        if not _before(time, kind, number, above):
            break
        _set(heap, place, above.time, above.kind, above.number)
        place = (place - 1) >> 1
    while 2 * place + 1 < size:
        child = 2 * place + 1
        below = events[child]
        if child + 1 < size:
            other = events[child + 1]
            if _before(other.time, other.kind, other.number, below):
                child, below = child + 1, other
        if _before(time, kind, number, below):
            break
        _set(heap, place, below.time, below.kind, below.number)
        place = child
    _set(heap, place, time, kind, number)


@entry
def put(heap: EventHeap, number: int, time: float, kind: int = 0) -> None:
    """Plan the event of a number, or move it."""
    place = heap.place[number]
    if place < 0:
        place = heap.size[0]
        heap.size[0] += 1
    _settle(heap, place, time, kind, number)


@entry
def remove(heap: EventHeap, number: int) -> None:
    """Take the event of a number out; there must be one."""
    place, last = heap.place[number], heap.size[0] - 1
    heap.size[0], heap.place[number] = last, -1
    if place != last:
        event = heap.events[last]
        _settle(heap, place, event.time, event.kind, event.number)


@entry
def pop(heap: EventHeap) -> tuple[float, int, int]:
    """Take the first event out: its time, kind and number."""
    first = heap.events[0]
    time, kind, number = first.time, first.kind, first.number
    remove(heap, number)
    return time, kind, number
