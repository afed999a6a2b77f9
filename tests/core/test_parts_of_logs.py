"""What analyses take from a log, each on its own: codes of nodes and groups, outages, clocks, units in service."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.log.outages import (
    clock_step,
    of_whole_system,
    outages_of,
    system_outages_of,
    timed_repairs,
    watched_of,
)
from relfit.log.tables import (
    Source,
    check_log,
    first_of_pairs,
    group_codes,
    pair_codes,
    pairs,
    places_of_pairs,
    question_of,
    unseen,
)
from relfit.log.units_in_service import leave_at_failure, running_units


@pytest.fixture
def white() -> rf.FailureLog:
    return rf.datasets.load("white")


def test_codes_of_nodes():
    frame = pd.DataFrame({"system": ["a", "a", "b"], "node": ["1", "1", "1"]})
    assert pair_codes(frame).tolist() == [0, 0, 1]
    assert first_of_pairs(np.array([0, 0, 1, 0, 2])).tolist() == [0, 2, 4]
    rows = pd.DataFrame({"system": ["a", "a", "b"], "node": ["2", "1", "1"]})
    assert places_of_pairs(rows, pairs(rows.iloc[:2])).tolist() == [0, 1, -1]


def test_codes_of_groups():
    first, second = pd.DataFrame({"node": ["10", "9"]}), pd.DataFrame({"node": [None, "9"]})
    codes, groups = group_codes([first, second], ["node"])
    assert ([code.tolist() for code in codes], groups.tolist()) == ([[1, 0], [-1, 0]], ["9", "10"])


def test_a_file_is_no_log():
    with pytest.raises(ArgumentError, match=r"^'failures.csv' is no log; read the file: rf.read\('failures.csv'\)$"):
        check_log("failures.csv")


def test_an_answer_is_made_once(white):
    assert rf.incidents(white) is rf.incidents(white, level=0.95)
    assert rf.incidents(white) is not rf.incidents(white, level=0.9)


def test_outages_of_the_sample(white):
    outages = outages_of(white)
    counts = outages.n_groups, int(outages.failures.sum()), round(float(outages.hours.max()))
    assert counts == (512, 13262, 37272)
    assert float(watched_of(white, "system").hours[0]) == 37272.0
    systems = system_outages_of(white)
    down = round(float((systems.end - systems.start).sum() / 3.6e12))
    assert (systems.groups.tolist(), systems.start.size, down) == (["white"], 1113, 3238)


def test_records_of_whole_systems():
    events = pd.DataFrame({"node": ["a", None, None, None], "scope": ["node", "system", None, "group"]})
    assert of_whole_system(events).tolist() == [False, True, True, False]


def test_repairs_on_coarse_clocks(white):
    assert clock_step(white) / 6e10 == 1.0  # minutes
    hours = np.array([0.0, 1.0, 3.0])
    assert timed_repairs(hours, 3_600_000_000_000).tolist() == [True, True, True]
    assert timed_repairs(hours, 60_000_000_000).tolist() == [False, True, True]


def test_units_that_run(white):
    assert not leave_at_failure(white)
    table = pd.DataFrame({"hours": [5.0, 9.0, 7.0], "failed": [1, 0, 0], "runs": [0, 1, 0]})
    log = rf.read(table, running="runs")
    assert running_units(log, log.ttf("all"), "all", "known")[0].durations.tolist() == [9.0]


def test_nodes_that_no_record_names():
    assert (unseen(40, 10, 60, 60), unseen(3, 10, 60, 60), unseen(40, 10, 60, 150)) == (71, 0, 0)
    question = question_of(40755, 286, 0)
    assert question is not None
    assert (
        ", none of them exactly twice, so how many more there are is not known and nothing is said of one node:"
        in question
    )


def test_notes_of_a_part():
    source = Source(notes=("2 outages still going on when observation ended", "3 rows without a node"))
    events = pd.DataFrame({"end": [pd.NaT], "end_cut": [False]})
    assert source.notes_of(events) == ("3 rows without a node (before the selection)",)
