"""The engine of the simulators: heap against a sorted list, streams against the published generator, statistics."""

from __future__ import annotations

import random
import threading
from types import GenericAlias
from typing import Annotated

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from relfit.simulation.engine.event_heap import empty_heap, pop, put, remove
from relfit.simulation.engine.random_streams import below, exponential, new_streams, uniform
from relfit.simulation.engine.records import record_dtype
from relfit.simulation.engine.replications import half_interval, replicate, summary


def test_events_come_in_order_of_time_kind_and_number() -> None:
    heap, events, draw = empty_heap(40, 40), dict[int, tuple[float, int, int]](), random.Random(1)
    for _ in range(5000):
        action = draw.random()
        if action < 0.5:
            number, time, kind = draw.randrange(40), float(draw.randrange(8)), draw.randrange(3)
            put(heap, number, time, kind)
            events[number] = (time, kind, number)
        elif action < 0.7 and events:
            number = draw.choice(list(events))
            remove(heap, number)
            del events[number]
        elif events:
            first = min(events.values())
            assert pop(heap) == first
            del events[first[2]]
        assert heap.size[0] == len(events)
        assert set(np.flatnonzero(heap.place >= 0)) == set(events)


def test_streams_are_splitmix64() -> None:
    # the first numbers of the published generator (prng.di.unimi.it/splitmix64.c) from the seed 1234567
    streams = np.array([1234567, 1234567], dtype=np.uint64)
    words = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert [uniform(streams, 1) for _ in words] == [(word >> 11) / 2.0**53 for word in words]
    assert streams[0] == 1234567  # the other stream stays where it was


def test_streams_are_uniform_and_exponential() -> None:
    streams = new_streams(2, [5, 0])
    assert stats.kstest([uniform(streams, 0) for _ in range(4000)], "uniform").pvalue > 0.001
    assert stats.kstest([exponential(streams, 1) for _ in range(4000)], "expon").pvalue > 0.001
    counts = np.bincount([below(streams, 0, 7) for _ in range(7000)], minlength=7)
    assert stats.chisquare(counts).pvalue > 0.001
    assert not set(new_streams(2, [5, 0]).tolist()) & set(new_streams(2, [5, 1]).tolist())


def test_replications_come_in_their_order() -> None:
    threads, seen = set(), list[int]()

    def run(number: int) -> int:
        threads.add(threading.get_ident())
        return 10 * number

    assert replicate(run, range(3, 9), workers=3, progress=seen.append) == [30, 40, 50, 60, 70, 80]
    assert max(seen) == 6


def test_statistics_over_replications_by_hand() -> None:
    rows = pd.DataFrame({"hours": [2.0, 4.0, 9.0], "share": [0.9, 1.0, 1.0], "rare": [np.nan, 3.0, np.nan]})
    table = summary(rows, 0.9, least=0.0, shares=["share"])
    half = stats.t.ppf(0.95, 2) * np.sqrt(13.0) / np.sqrt(3.0)
    assert half_interval([2.0, 4.0, 9.0], 0.9) == pytest.approx(half)
    assert table.loc["hours", ["mean", "sd", "p50", "min", "max"]].tolist() == [5.0, np.sqrt(13.0), 4.0, 2.0, 9.0]
    assert table.loc["hours", "low"] == max(5.0 - half, 0.0)
    assert table.loc["hours", "high"] == pytest.approx(5.0 + half)
    assert table.loc["share", "high"] == 1.0
    assert table.loc["rare", ["mean", "sd"]].tolist() == [3.0, 0.0]
    assert np.isnan(table.loc["rare", ["low", "high"]].to_numpy(dtype=float)).all()


@pytest.mark.parametrize("alias", [np.ndarray[tuple[int], np.dtype[np.uint64]], GenericAlias(list, (np.uint64,))])
def test_arrays_in_records_whatever_the_alias_of_their_type_is(alias: GenericAlias) -> None:
    fields = type("Drawn", (), {"__annotations__": {"time": float, "state": Annotated[alias, 4]}})
    assert record_dtype(fields)["state"] == np.dtype((np.uint64, (4,)))
    with pytest.raises(TypeError, match="names no type"):
        record_dtype(type("Wrong", (), {"__annotations__": {"state": Annotated[list[str], 4]}}))


def test_fields_that_numpy_would_hide_are_refused() -> None:
    class Machine:
        size: int

    with pytest.raises(TypeError, match="Machine: size would hide"):
        record_dtype(Machine)
