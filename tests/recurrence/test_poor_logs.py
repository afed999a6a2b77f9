"""Every public function about repairable systems on every poor log: the answer's status, or the error."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import relfit.analyses.recurrence
from relfit import FailureLog
from relfit.analyses.recurrence import (
    MODELS,
    availability,
    availability_over_time,
    compare_processes,
    fit_process,
    histories_of_incidents,
    histories_of_log,
    mean_cumulative,
    trend_tests,
)
from relfit.analyses.screening import incidents
from tests.poor_logs import LOGS, answers, check


def _kinds(status: Any) -> str:
    return " ".join(sorted(set(map(str, status.ravel()))))


def _statuses(result: Any) -> Any:
    return np.concatenate([fit.status.ravel() for fit in result.fits.values()])


def _of_process(model: str) -> Callable[[FailureLog], Any]:
    return lambda log: fit_process(histories_of_log(log), model, "all")


FUNCTIONS: dict[str, tuple[Callable[[FailureLog], Any], Callable[[Any], str]]] = {
    "histories_of_log": (histories_of_log, lambda r: str(r.times.size)),
    "histories_of_incidents": (lambda log: histories_of_incidents(log, incidents(log)), lambda r: str(r.times.size)),
    "mean_cumulative": (lambda log: mean_cumulative(histories_of_log(log)), lambda r: str(int(r.events.sum()))),
    "trend_tests": (lambda log: trend_tests(histories_of_log(log), "all"), lambda r: _kinds(r.status)),
    "compare_processes": (lambda log: compare_processes(histories_of_log(log), "all"), lambda r: _kinds(_statuses(r))),
    "availability": (availability, lambda r: _kinds(r.status)),
    "availability_over_time": (availability_over_time, lambda r: str(r.operational.shape)),
    **{f"fit_process, {model}": (_of_process(model), lambda r: _kinds(r.status)) for model in MODELS},
}
ANSWERS = answers(
    {
        "histories_of_log": ("4 | 1 | 6 | 8 | 50 | 1 | 2 | 2 | 0 | 0 | 0 | 1 | 10 | 6 | ! durations | ! durations"),
        "histories_of_incidents": ("2 | 1 | 6 | 8 | 1 | 1 | 1 | 1 | 0 | 0 | 3 | 1 | 5 | 3 | ! no events | ! no events"),
        "mean_cumulative": ("4 | 1 | 6 | 8 | 50 | 1 | 2 | 2 | 0 | 0 | 0 | 1 | 10 | 6 | ! durations | ! durations"),
        "trend_tests": (
            "ok | ok too_few | ok | constant ok | one_instant too_few | ok too_few | one_instant too_few | "
            "one_instant too_few | no_events | no_events | no_events | too_few | ok | ok | ! durations | ! "
            "durations"
        ),
        "compare_processes": (
            "ok | ok too_few | ok | ok | ok one_instant | ok too_few | ok one_instant zeros | ok one_instant "
            "| no_events | no_events | no_events | no_maximum too_few | ok | ok | ! durations | ! durations"
        ),
        "availability": (
            "ok | ok | ok | ok | ok | never_down | ok | never_down | never_down |  |  | not_watched | no_ends"
            " | ok | ! durations | ! durations"
        ),
        "availability_over_time": (
            "(1, 5) | (1, 5) | (1, 5) | (1, 5) | (1, 5) | (1, 5) | (1, 5) | (1, 5) | (1, 5) | (0, 5) | (0, 5)"
            " | (1, 0) | (1, 5) | (1, 5) | ! durations | ! durations"
        ),
        "fit_process, hpp": (
            "ok | ok | ok | ok | ok | ok | ok | ok | no_events | no_events | no_events | no_maximum | ok | ok"
            " | ! durations | ! durations"
        ),
        "fit_process, power_law": (
            "ok | too_few | ok | ok | one_instant | too_few | zeros | one_instant | no_events | no_events | "
            "no_events | too_few | ok | ok | ! durations | ! durations"
        ),
        "fit_process, log_linear": (
            "ok | too_few | ok | ok | one_instant | too_few | one_instant | one_instant | no_events | "
            "no_events | no_events | too_few | ok | ok | ! durations | ! durations"
        ),
        "fit_process, renewal": (
            "ok | too_few | ok | ok | one_instant | too_few | zeros | one_instant | no_events | no_events | "
            "no_events | too_few | ok | ok | ! durations | ! durations"
        ),
    }
)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", LOGS)
def test_the_answer_or_the_error(name: str, kind: str) -> None:
    check(ANSWERS[name, kind], *FUNCTIONS[name], kind)


def test_every_public_function_is_tried() -> None:
    tried = {name.split(",")[0] for name in FUNCTIONS} | {"grouping"}
    public = {
        name
        for name in relfit.analyses.recurrence.__all__
        if inspect.isfunction(getattr(relfit.analyses.recurrence, name))
    }
    assert public <= tried
