"""What a log or a result holds cannot be changed from outside, and answers that were given stay right."""

from __future__ import annotations

import copy
import pickle
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import relfit as rf

CHANGES = {
    "rows dropped": lambda table: table.drop(table.index[:100], inplace=True),  # noqa: PD002
    "a value written": lambda table: table.loc.__setitem__((table.index[0], table.columns[0]), None),
    "a column written": lambda table: table.__setitem__(table.columns[2], table[table.columns[3]]),
    "a column filled": lambda table: table.fillna(0, inplace=True),  # noqa: PD002
    "a column inserted": lambda table: table.insert(0, "new", 1),
    "rows sorted": lambda table: table.sort_values(table.columns[2], ascending=False, inplace=True),  # noqa: PD002
    "an array written": lambda table: table[table.columns[-2]].to_numpy().__setitem__(0, True),
}


def digest(log: rf.FailureLog) -> list[int]:
    return [int(pd.util.hash_pandas_object(table).sum()) for table in log.tables.values()]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("name", ["events", "population"])
def test_a_table_of_a_log_cannot_be_changed(name: str, change) -> None:  # type: ignore[no-untyped-def]
    log = rf.datasets.load("white")
    before = digest(log)
    with suppress(ValueError, TypeError):  # what cannot be written to says so
        change(getattr(log, name))
    assert digest(log) == before
    assert log.ttf().durations.size == 13774


def test_texts_of_other_kinds_cannot_be_changed() -> None:
    log = rf.datasets.load("white")
    rack = log.events["rack"].astype(object)
    columns = {"plain": rack, "arrow": rack.astype("string[pyarrow]"), "masked": log.events["line"].astype("Int64")}
    log = rf.FailureLog(log.events.assign(**columns), log.population, log.window)
    for name in columns:
        table = log.events
        with suppress(ValueError):
            table.loc[0, name] = table.loc[5000, name]
        assert log.events[name].equals(columns[name])


def test_the_table_that_a_log_is_made_from_stays_its_owners() -> None:
    white = rf.datasets.load("white")
    events = white.events.copy()
    log = rf.FailureLog(events, white.population, white.window)
    events.loc[0, "line"] = -1
    events.drop(events.index[5:], inplace=True)  # noqa: PD002
    assert log.events["line"].iloc[0] == white.events["line"].iloc[0]
    assert len(log) == len(white)


def test_a_part_of_a_log_has_answers_of_its_own() -> None:
    log = rf.datasets.load("white")
    assert log.ttf() is log.ttf("node")
    part = log.where(cause="hardware")
    assert part.ttf().durations.size < log.ttf().durations.size
    assert pickle.loads(pickle.dumps(log)).ttf().durations.size == log.ttf().durations.size
    assert copy.deepcopy(log).events.equals(log.events)


def test_arrays_of_results_are_read_only() -> None:
    log = rf.datasets.load("white")
    lives = log.ttf()
    with pytest.raises(ValueError, match="read-only"):
        lives.durations[0] = -5.0
    mine = np.array([1.0, 2.0, 4.0])
    fits = rf.fit(mine, families=["weibull"])
    mine[0] = 3.0  # whose it is may write to it
    with pytest.raises(ValueError, match="read-only"):
        fits["weibull"].estimates.loglik[0] = 1.0


def test_tables_of_results_are_copies() -> None:
    joined = rf.incidents(rf.datasets.load("white").between("2004-08-01", "2004-09-01"))
    size = len(joined.table)
    joined.table.drop(joined.table.index[:10], inplace=True)  # noqa: PD002
    assert len(joined.table) == size
