"""Two periods that adjoin add up to the whole, whatever instant the log is cut at; one in progress keeps its age."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import relfit as rf
from relfit.log.failurelog import FailureLog
from relfit.log.outages import outages_of
from tests.core.test_lives import logs
from tests.examples import examples
from tests.factories import at, make_log
from tests.site_logs import site_log

often = examples(40, suppress_health_check=[HealthCheck.too_slow], derandomize=True)


def instants_of(log: FailureLog) -> list[pd.Timestamp]:
    """Every instant inside the window at which the log records something."""
    found = pd.concat([log.events["start"], log.events["end"], log.population["entered"], log.population["left"]])
    return sorted(set(found[(found > log.window.start) & (found < log.window.end)]))


def cut_of(log: FailureLog, data: st.DataObject) -> pd.Timestamp:
    """One of these instants, or one inside of an empty log."""
    cuts = instants_of(log)
    return data.draw(st.sampled_from(cuts)) if cuts else at(20)


@pytest.mark.slow
@often
@given(log=logs(), data=st.data())
@pytest.mark.parametrize("per", ["node", "system"])
def test_times_to_failure_of_two_parts_add_up(log: FailureLog, per: str, data: st.DataObject) -> None:
    cut = cut_of(log, data)
    rules = data.draw(
        st.fixed_dictionaries(
            {
                "origin": st.sampled_from(["failure", "repair"]),
                "overlaps": st.sampled_from(["merge", "keep"]),
                "first": st.sampled_from(["known", "always", "never"]),
            }
        )
    )
    within = log.ttf(per, zeros="keep", since=log.window.start, until=log.window.end, **rules)
    parts = [log.ttf(per, zeros="keep", **side, **rules) for side in ({"until": cut}, {"since": cut})]
    assert (parts[0].n_failures + parts[1].n_failures).tolist() == within.n_failures.tolist()
    assert parts[0].total_time + parts[1].total_time == pytest.approx(within.total_time, abs=1e-9)


@often
@given(log=logs(), data=st.data())
@pytest.mark.parametrize("overlaps", ["merge", "keep"])
@pytest.mark.slow
def test_events_of_two_parts_add_up(log: FailureLog, overlaps: str, data: st.DataObject) -> None:
    cut = cut_of(log, data)
    parts = [log.between(until=cut), log.between(since=cut)]
    begun = [int((~part.events["start_cut"].astype(bool)).sum()) for part in (log, *parts)]
    assert begun[0] == begun[1] + begun[2]
    for per in ("node", "system"):
        whole, *halves = (
            dict(zip(found.groups, found.count(found.failures), strict=True))
            for found in (outages_of(part, per, overlaps) for part in (log, *parts))
        )
        for label, number in whole.items():
            assert number == sum(half.get(label, 0) for half in halves), label


@pytest.mark.parametrize("node", ["1", "2"])
def test_a_failure_at_a_cut_is_of_the_period_that_begins_there(node: str) -> None:
    log = make_log(
        [{"node": "1", "start": 10}, {"node": "1", "start": 40}, {"node": "2", "start": 40}],
        [{"node": "1"}, {"node": "2", "left": 40}],
    )
    early, late = (log.ttf(**side).group(("s", node)) for side in ({"until": at(40)}, {"since": at(40)}))
    assert early.durations.tolist() == ([10, 30] if node == "1" else [40])
    assert early.observed.tolist() == ([True, False] if node == "1" else [False])
    assert late.durations.tolist() == ([30, 60] if node == "1" else [40])
    assert late.observed.tolist() == ([True, False] if node == "1" else [True])
    assert late.total_time == pytest.approx([60 if node == "1" else 0], abs=1e-12)


def test_the_last_instant_of_the_log_belongs_to_its_last_period() -> None:
    log = make_log([{"start": 30}, {"start": 100}])
    assert log.ttf(since=at(60), until=at(100)).observed.tolist() == [True]
    assert log.ttf(since=at(60), until=at(200)).n_failures.tolist() == [1]
    assert len(log.between(since=at(60), until=at(200))) == 1


def test_a_node_that_failed_as_it_left_is_watched_for_no_time_after() -> None:
    log = make_log([{"node": "2", "start": 40}], [{"node": "1"}, {"node": "2", "left": 40}])
    late = log.between(since=at(40))
    assert late.n_nodes == 2
    assert outages_of(late).hours.tolist() == [60, 0]


def test_times_under_way_keep_their_age() -> None:
    log = make_log([{"start": 10}, {"start": 60}, {"start": 90}])
    lives = log.ttf(since=at(40), until=at(80))
    assert lives.durations.tolist() == [50, 20]
    assert lives.observed.tolist() == [True, False]
    assert lives.entry is not None
    assert lives.entry.tolist() == [30, 0]
    assert lives.total_time.tolist() == [40]
    repairs = make_log([{"start": 10, "end": 50}]).ttr(since=at(40))
    assert (repairs.durations.tolist(), np.asarray(repairs.entry).tolist()) == ([40], [30])


def test_likelihoods_of_two_parts_add_up() -> None:
    """A time that is cut is censored in the first part and enters at its age in the second: nothing counts twice."""
    log = make_log([{"start": s} for s in (10, 25, 60, 62, 90)])
    whole = rf.fit(log.ttf(), "weibull")
    shape, scale = whole["weibull"].parameter_array[0]

    def log_likelihood(lives: rf.LifeData) -> float:
        entry = np.zeros_like(lives.durations) if lives.entry is None else lives.entry
        log_hazard = np.log(shape / scale) + (shape - 1) * np.log(lives.durations / scale)
        spent = (lives.durations / scale) ** shape - (entry / scale) ** shape
        return float((log_hazard * lives.observed - spent).sum())

    for cut in (30, 60):
        parts = log.ttf(until=at(cut)), log.ttf(since=at(cut))
        assert sum(map(log_likelihood, parts)) == pytest.approx(log_likelihood(log.ttf()), rel=1e-12)


@pytest.mark.parametrize(
    ("ends", "end", "known"),
    [((20, None), 20, True), ((None, 25), 25, True), ((None, None), 15, False), ((30, 25), 30, True)],
)
def test_a_merged_outage_ends_with_its_last_record(ends: tuple, end: int, known: bool) -> None:
    records = [{"start": 10, "end": 20}, *({"start": 15, "end": e} for e in ends)]
    found = outages_of(make_log(records if known else records[1:]))
    assert found.start.tolist() == [10 * 3600 * 10**9 + at(0).value] if known else [at(15).value]
    assert found.end.tolist() == [at(end).value]
    assert found.end_known.tolist() == [known]


@pytest.mark.parametrize(("first", "second", "cut"), [(True, False, False), (False, True, True)])
def test_a_merged_outage_is_cut_off_if_its_last_record_is(first: bool, second: bool, cut: bool) -> None:
    log = make_log([{"start": 10, "end": 50, "end_cut": first}, {"start": 20, "end": 60, "end_cut": second}])
    assert outages_of(log).end_cut.tolist() == [cut]


def test_an_outage_whose_first_record_has_no_end_ends_with_the_second() -> None:
    log = make_log([{"start": 10}, {"start": 10, "end": 30}, {"start": 50}])
    assert log.ttr().durations.tolist() == [20]
    assert log.ttf(origin="repair").durations.tolist() == [10, 20]


@pytest.mark.parametrize("per", ["node", "system"])
@pytest.mark.slow
def test_lanl_cut_at_a_recorded_instant(per: str) -> None:
    log = site_log("lanl").where(system=20)
    whole = log.ttf(per, zeros="keep", first="always").n_failures.sum()
    starts = log.events["start"].sort_values().unique()
    for cut in starts[[1, len(starts) // 3, len(starts) // 2, len(starts) - 2]]:
        parts = [log.ttf(per, zeros="keep", first="always", **side) for side in ({"until": cut}, {"since": cut})]
        assert sum(part.n_failures.sum() for part in parts) == whole
        assert len(log.between(until=cut).events) + int((~log.between(since=cut).events["start_cut"]).sum()) == len(log)
