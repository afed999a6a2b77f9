"""Event histories from logs and sequences."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit import ArgumentError, DataError
from relfit.analyses.recurrence import EventHistories, grouping, histories_of_log
from tests.factories import make_log


def test_ages_count_from_each_nodes_own_beginning():
    log = make_log(
        [
            {"node": "a", "start": 10.0, "end": 12.0},
            {"node": "b", "start": 60.0, "end": 61.0},
            {"node": "b", "start": 70.0},
        ],
        [{"node": "a"}, {"node": "b", "entered": 50.0, "left": 90.0, "entered_known": False}, {"node": "c"}],
    )
    found = histories_of_log(log)
    assert found.groups.get_level_values("node").tolist() == ["a", "b", "c"]
    assert found.times.tolist() == [10.0, 10.0, 20.0]
    assert found.sizes.tolist() == [1, 2, 0]
    assert found.end.tolist() == [100.0, 40.0, 100.0]
    assert found.left_open.tolist() == [False, True, False]
    whole = histories_of_log(log, "system")
    assert whole.times.tolist() == [10.0, 60.0, 70.0]
    assert whole.left_open.tolist() == [True]


def test_an_outage_under_way_and_an_event_that_opens_an_unknown_history_do_not_count():
    log = make_log(
        [
            {"node": "a", "start": 0.0, "end": 5.0, "start_cut": True},
            {"node": "b", "start": 0.0},
            {"node": "c", "start": 0.0},
        ],
        [{"node": "a"}, {"node": "b", "entered_known": False}, {"node": "c"}],
        start_known=False,
    )
    found = histories_of_log(log)
    assert found.sizes.tolist() == [0, 0, 1]
    assert found.opening.tolist() == [0, 1, 0]
    assert any("already going on" in note for note in found.notes)
    assert any("began" in note for note in found.notes)


def test_overlapping_records_are_one_outage():
    log = make_log([{"start": 10.0, "end": 20.0}, {"start": 12.0, "end": 15.0}])
    assert histories_of_log(log).times.tolist() == [10.0]


def test_gaps_take_and_lives_agree():
    log = rf.datasets.load("white")
    found = histories_of_log(log)
    lives = log.ttf(first="always", zeros="keep", censor=False)
    np.testing.assert_allclose(np.sort(found.gaps()), np.sort(lives.durations), rtol=1e-9)
    part = found.take([3, 1])
    assert part.sizes.tolist() == found.sizes[[3, 1]].tolist()
    assert len(found.to_frame()) == 512
    assert "512 histories" in repr(found)
    assert len(found.to_dict()["groups"]) == 512


def test_grouping():
    events = [{"system": "x", "node": "1", "start": 1.0}, {"system": "y", "node": "1", "start": 2.0}]
    nodes = [{"system": "x", "node": "1"}, {"system": "y", "node": "1"}, {"system": "y", "node": "2"}]
    found = histories_of_log(make_log(events, nodes))
    codes, labels = grouping(found, "system")
    assert codes.tolist() == [0, 1, 1]
    assert labels.tolist() == ["x", "y"]
    assert grouping(found, "all")[0].tolist() == [0, 0, 0]
    assert grouping(found, "each")[0].tolist() == [0, 1, 2]
    for wrong in ("rack", [1, 2], [None, 1, 2]):
        with pytest.raises(ArgumentError):
            grouping(found, wrong)


@pytest.mark.parametrize(
    ("times", "end", "begin"),
    [([[5.0]], 4.0, 0.0), ([[1.0]], 4.0, 2.0), ([[np.nan]], 4.0, 0.0), ([[1.0]], np.inf, 0.0), ([[]], -1.0, 0.0)],
)
def test_what_cannot_be_is_rejected(times, end, begin):
    with pytest.raises(DataError):
        EventHistories.from_groups(times, end, begin=begin)


def test_bad_options():
    with pytest.raises(ArgumentError, match="no column 'rack'"):
        histories_of_log(make_log([{"start": 1.0}]), "rack")
    with pytest.raises(DataError, match="in order"):
        EventHistories.from_flat([2.0, 1.0], [0, 2], 3.0)
    with pytest.raises(DataError, match="offsets"):
        EventHistories.from_flat([2.0], [0, 2], 3.0)
    with pytest.raises(DataError, match="end"):
        EventHistories.from_groups([[]])
    with pytest.raises(ArgumentError, match="positions"):
        EventHistories.from_groups([[1.0]]).take([1])
    lives = make_log(lifetimes=[{"node": "1", "duration": 4.0, "observed": True}])
    with pytest.raises(DataError, match="durations without dates"):
        histories_of_log(lives)
    with pytest.raises(DataError, match="end has 3 entries for 1 history; give one end, or one for each"):
        EventHistories.from_groups([[5, 20]], end=[1, 2, 3])
