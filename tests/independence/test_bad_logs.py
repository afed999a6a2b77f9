"""Every public function of the rooms of time on every poor log: a result that says what it lacks, or a clear error."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relfit.independence
import relfit.recurrence
import relfit.screening
from relfit import FailureLog
from relfit.errors import RelfitError
from relfit.independence import (
    cofailures,
    correlations,
    cycles,
    dependence,
    dispersion,
    failures_of,
    gaps_of,
    pooled_tests,
    serial_tests,
)
from relfit.recurrence import (
    MODELS,
    availability,
    availability_over_time,
    compare_processes,
    fit_process,
    histories_of_log,
    mean_cumulative,
    process_goodness,
    trend_tests,
)
from relfit.screening import change_points, choose_window, incidents, outlier_nodes, repair_kinds, stable_period
from relfit.screening.rate_mixtures import rate_classes
from relfit.screening.tallies import by_node
from tests.factories import make_log

TWO = [{"node": "a"}, {"node": "b"}]
LOGS = {
    "two failures a node": make_log([{"node": n, "start": h, "end": h + 1} for n in "ab" for h in (5, 60)], TWO),
    "one failure": make_log([{"node": "a", "start": 5, "end": 6}], TWO),
    "one node": make_log([{"node": "a", "start": h, "end": h + 1} for h in (1, 5, 9, 30, 31, 70)], [{"node": "a"}]),
    "constant gaps": make_log([{"node": "a", "start": h, "end": h + 1} for h in range(10, 90, 10)], TWO),
    "one instant": make_log(
        [{"node": f"{i}", "start": 7, "end": 9} for i in range(50)], [{"node": f"{i}"} for i in range(50)]
    ),
    "one instant, one node": make_log([{"node": "a", "start": 7, "end": 7} for _ in range(20)], TWO),
    "the first instant": make_log([{"node": n, "start": 0, "end": 1} for n in "ab"], TWO),
    "the last instant": make_log([{"node": n, "start": 100, "end": 100} for n in "ab"], TWO),
    "no events": make_log([], TWO),
    "nobody": make_log([], []),
    "no node named": make_log([{"node": None, "start": h, "end": h + 1} for h in (3, 8, 40)], []),
    "no time": make_log([{"node": "a", "start": 3, "end": 3}], TWO[:1], window=(3, 3)),
    "no ends": make_log([{"node": n, "start": h, "end": None} for n in "ab" for h in (5, 20, 24, 60, 70)], TWO),
    "no causes": make_log(
        [{"node": n, "start": h, "end": h + 1, "cause": None} for n in "ab" for h in (5, 20, 60)], TWO
    ),
    "whole lives": make_log(lifetimes=[{"node": "a", "duration": d, "observed": True} for d in (1.0, 5.0, 2.0, 8.0)]),
    "one life": make_log(lifetimes=[{"node": "a", "duration": 3.0, "observed": False}]),
}


def _with(log: FailureLog, work: Callable[[Any], Any]) -> Any:
    return work(histories_of_log(log))


def _rates(log: FailureLog) -> Any:
    nodes = by_node(log).table
    return rate_classes(nodes["events"], nodes["hours"], n_resamples=19)[0]


def _gaps_between(log: FailureLog) -> Any:
    return choose_window(np.diff(np.sort(log.events["start"].astype("int64").to_numpy())))


FUNCTIONS: dict[str, Callable[[FailureLog], Any]] = {
    "dependence": dependence,
    "dependence, window of zero": lambda log: dependence(log, window=0),
    "failures_of": failures_of,
    "gaps_of": gaps_of,
    "correlations": lambda log: correlations(gaps_of(log), permutations=3, rng=0),
    "serial_tests": lambda log: serial_tests(gaps_of(log), rng=0),
    "cofailures": lambda log: cofailures(log, shuffles=5, rng=0),
    "cofailures, gaps": lambda log: cofailures(log, shuffles=5, method="gaps", rng=0),
    "cofailures, window of zero": lambda log: cofailures(log, 0),
    "cycles": cycles,
    "dispersion": lambda log: dispersion(failures_of(log)),
    "pooled_tests": lambda log: pooled_tests(failures_of(log)),
    "incidents": incidents,
    "incidents, window of zero": lambda log: incidents(log, 0),
    "incidents of nodes": lambda log: incidents(log, place="node"),
    "choose_window": _gaps_between,
    "periods": lambda log: change_points(log, replications=99),
    "periods of records": lambda log: change_points(log, of="records", replications=99),
    "stable_period": lambda log: stable_period(log, replications=99),
    "outlier_nodes": lambda log: outlier_nodes(log, n_resamples=19),
    "rate_classes": _rates,
    "repair_kinds": repair_kinds,
    "repairs by node": lambda log: repair_kinds(log, "node"),
    "histories_of_log": histories_of_log,
    "mean_cumulative": lambda log: _with(log, mean_cumulative),
    "mean_cumulative, each": lambda log: _with(log, lambda h: mean_cumulative(h, "each")),
    "trend_tests": lambda log: _with(log, trend_tests),
    "trend_tests, all": lambda log: _with(log, lambda h: trend_tests(h, "all")),
    "compare_processes": lambda log: _with(log, compare_processes),
    "compare_processes, all": lambda log: _with(log, lambda h: compare_processes(h, "all")),
    "process_goodness": lambda log: _with(log, lambda h: process_goodness(fit_process(h), 19)),
    "process_goodness, log-linear": lambda log: _with(
        log, lambda h: process_goodness(fit_process(h, "log_linear", "all"), 19)
    ),
    "availability": availability,
    "availability, nodes": lambda log: availability(log, "node"),
    "availability_over_time": availability_over_time,
    **{
        f"fit_process, {model}, {by}": (lambda log, m=model, b=by: _with(log, lambda h: fit_process(h, m, b)))
        for model in MODELS
        for by in ("each", "all")
    },
}
WORDS = re.compile(r"\bnan\b|\binf\b|p = 0(?!\.\d)")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", LOGS)
def test_a_status_or_a_clear_error(name: str, kind: str) -> None:
    problem = None
    try:
        found = FUNCTIONS[name](LOGS[kind])
    except RelfitError as error:
        problem = str(error)
    if problem is not None:
        assert len(problem) > 20
        return
    if hasattr(found, "sentence"):
        assert found.sentence or name == "stable_period"
        assert not WORDS.search(found.sentence), found.sentence
    if hasattr(found, "to_dict") and not hasattr(found, "columns"):
        json.dumps(found.to_dict(), allow_nan=False)
    assert not WORDS.search(repr(found)) or hasattr(found, "columns"), repr(found)
    if hasattr(found, "_repr_html_"):
        found._repr_html_()
    if hasattr(found, "to_frame"):
        found.to_frame()


def test_every_public_function_is_tried() -> None:
    tried = {name.split(",")[0] for name in FUNCTIONS} | {"durbin_watson_p", "grouping"}
    rooms = (relfit.independence, relfit.recurrence, relfit.screening)
    public = {name for room in rooms for name in room.__all__ if inspect.isfunction(getattr(room, name))}
    assert public - tried - {"segments"} == set()


@pytest.mark.parametrize("kind", ["two failures a node", "one node", "constant gaps", "one instant", "no ends"])
def test_the_rest_still_comes_out(kind: str) -> None:
    log = LOGS[kind]
    found = dependence(log, window=0)
    assert "cofailure" in found.problems
    assert found.dispersion is not None
    assert found.cycles is not None
    assert len(incidents(log)) >= 1
    assert histories_of_log(log).times.size >= 1


def test_a_log_without_repair_times_still_has_failures() -> None:
    log = LOGS["no ends"]
    assert set(availability(log).status) == {"no_ends"}
    assert repair_kinds(log).table.empty or set(repair_kinds(log).table["status"]) == {"too_few"}
    assert trend_tests(histories_of_log(log), "all").status[0, 0] == "ok"
    assert by_node(log).table["events"].sum() == 10
