"""Every public function about dependence and screening on every poor log: the answer's status, or the error."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import relfit.analyses.independence
import relfit.analyses.screening
from relfit import FailureLog, LifeData
from relfit.analyses.independence import (
    Dependence,
    cofailures,
    correlations,
    cycles,
    dependence,
    dispersion,
    failures_of,
    pooled_tests,
    serial_tests,
)
from relfit.analyses.recurrence import availability, histories_of_log, trend_tests
from relfit.analyses.screening import (
    bursts,
    change_points,
    incidents,
    outlier_nodes,
    repair_clock,
    repair_kinds,
    repeat_failures,
    stable_period,
)
from relfit.analyses.screening.tallies import by_cause, by_node, over_time
from tests.poor_logs import LOGS, answers, check

PARTS = ("correlation", "cofailure", "serial", "pooled", "dispersion", "cycles")


def _series(log: FailureLog) -> LifeData:
    return log.ttf(censor=False, zeros="keep")


def _parts(result: Dependence) -> str:
    """For each part: y, a verdict; n, an answer without a verdict; x, a problem."""
    return "".join(
        "x" if name in result.problems else "ny"[getattr(result, name).depends is not None] for name in PARTS
    )


FUNCTIONS: dict[str, tuple[Callable[[FailureLog], Any], Callable[[Any], str]]] = {
    "dependence": (dependence, _parts),
    "dependence, window of zero": (lambda log: dependence(log, window=0), _parts),
    "failures_of": (failures_of, lambda r: str(r.times.size)),
    "correlations": (lambda log: correlations(_series(log), n_resamples=3), lambda r: str(r.n_pairs)),
    "serial_tests": (lambda log: serial_tests(_series(log)), lambda r: " ".join(sorted(set(r.status)))),
    "cofailures": (lambda log: cofailures(log, n_resamples=5), lambda r: f"{r.together} {' '.join(r.table['status'])}"),
    "cycles": (cycles, lambda r: r.status[0]),
    "dispersion": (lambda log: dispersion(failures_of(log)), lambda r: str(int((~r.too_few).sum()))),
    "pooled_tests": (lambda log: pooled_tests(failures_of(log)), lambda r: " ".join(r.status[-1:])),
    "incidents": (incidents, lambda r: f"{len(r)} {r.window.status}"),
    "incidents of nodes": (lambda log: incidents(log, 0, "node"), lambda r: str(len(r))),
    "change_points": (lambda log: change_points(log, of="records", n_resamples=99), lambda r: f"{len(r)} {r.status}"),
    "stable_period": (lambda log: stable_period(log, n_resamples=99), lambda r: str(r.failures)),
    "outlier_nodes": (
        lambda log: outlier_nodes(log, n_resamples=19),
        lambda r: f"{len(r.outliers)} {' '.join(r.classes['status'])}",
    ),
    "bursts": (bursts, lambda r: str(r.depends)),
    "repeat_failures": (repeat_failures, lambda r: str(len(r.repeats))),
    "repair_clock": (repair_clock, lambda r: {None: "too_few", True: "yes", False: "no"}[r.depends]),
    "repair_kinds": (repair_kinds, lambda r: " ".join(sorted(set(r.table["status"])))),
    "by_cause": (by_cause, lambda r: str(len(r.table))),
    "by_node": (by_node, lambda r: str(int(r["events"].sum()))),
    "over_time": (over_time, lambda r: str(r.total.sum())),
}
ANSWERS = answers(
    {
        "dependence": (
            "nnnnnn | nnnnnn | nnnnnn | nnnnnn | nynnnn | nnnnnn | nnnnnn | nnnnnn | nnnnnn | nnnnxn | nnnnxn"
            " | nxnxxx | nnnnnn | nnnnnn | nxnxxx | nxnxxx"
        ),
        "dependence, window of zero": (
            "nxnnnn | nxnnnn | nxnnnn | nxnnnn | nxnnnn | nxnnnn | nxnnnn | nxnnnn | nxnnnn | nxnnxn | nxnnxn"
            " | nxnxxx | nxnnnn | nxnnnn | nxnxxx | nxnxxx"
        ),
        "failures_of": ("4 | 1 | 6 | 8 | 50 | 1 | 2 | 2 | 0 | 0 | 0 | ! no time | 10 | 6 | ! lifetimes | ! lifetimes"),
        "correlations": ("0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 1 | 0 | 0"),
        "serial_tests": (
            "too_few | too_few | ok | constant too_few | too_few | too_few | too_few | too_few | too_few |  |"
            "  | too_few | ok | ok | ok | too_few"
        ),
        "cofailures": (
            "2 ok | 0 too_few | 0 too_few | 0 too_few | 1225 ok | 0 too_few | 1 ok | 1 ok | 0 too_few | 0  | "
            "0  | ! no time | 5 ok | 3 ok | ! lifetimes | ! lifetimes"
        ),
        "cycles": (
            "too_few | too_few | too_few | too_few | too_few | too_few | too_few | too_few | too_few | "
            "too_few | too_few | ! no time | too_few | too_few | ! lifetimes | ! lifetimes"
        ),
        "dispersion": (
            "3 | 0 | 3 | 3 | 3 | 0 | 3 | 1 | 0 | ! no node | ! no node | ! no time | 3 | 3 | ! lifetimes | ! lifetimes"
        ),
        "pooled_tests": (
            "too_few | too_few | ok | constant | constant | too_few | too_few | too_few | too_few |  |  | ! "
            "no time | ok | ok | ! lifetimes | ! lifetimes"
        ),
        "incidents": (
            "2 too_few | 1 too_few | 6 too_few | 8 too_few | 1 ok | 1 too_few | 1 too_few | 1 too_few | "
            "0 too_few | 0 too_few | 3 too_few | 1 too_few | 5 too_few | 3 too_few | ! lifetimes | ! "
            "lifetimes"
        ),
        "incidents of nodes": ("4 | 1 | 6 | 8 | 50 | 1 | 2 | 2 | 0 | 0 | 3 | 1 | 10 | 6 | ! lifetimes | ! lifetimes"),
        "change_points": (
            "1 too_few | 1 too_few | 1 too_few | 1 too_few | 1 ok | 1 ok | 1 too_few | 1 too_few | 1 too_few "
            "| 1 too_few | 1 too_few | ! span | 1 ok | 1 too_few | ! lifetimes | ! lifetimes"
        ),
        "stable_period": ("2 | 1 | 6 | 8 | 1 | 1 | 1 | 1 | 0 | 0 | 3 | ! span | 5 | 3 | ! lifetimes | ! lifetimes"),
        "outlier_nodes": (
            "0 too_few | 0 too_few | 0 too_few | 0 too_few | 0 too_few | 0 too_few | 0 too_few | 0 too_few | 0 too_few"
            " | 0  | 0  | 0 too_few | 0 too_few | 0 too_few | 0  | 0 "
        ),
        "repair_kinds": (
            "too_few | too_few | too_few | too_few | not_found | too_few | too_few | too_few | too_few |  | too_few "
            "| too_few | too_few | too_few |  | "
        ),
        "repair_clock": " | ".join(["too_few"] * 14 + ["! lifetimes"] * 2),
        "bursts": (
            "None | None | None | None | None | None | None | None | None | None | None | ! span | None | None "
            "| ! lifetimes | ! lifetimes"
        ),
        "repeat_failures": (
            "0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | ! snapshot | 0 | 0 | ! lifetimes | ! lifetimes"
        ),
        "by_cause": ("1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 0 | 0 | 1 | 1 | 1 | 1 | 0 | 0"),
        "by_node": ("4 | 1 | 6 | 8 | 50 | 20 | 2 | 2 | 0 | 0 | 0 | 1 | 10 | 6 | 0 | 0"),
        "over_time": ("4 | 1 | 6 | 8 | 50 | 20 | 2 | 2 | 0 | 0 | 3 | 0 | 10 | 6 | 0 | 0"),
    }
)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", LOGS)
def test_the_answer_or_the_error(name: str, kind: str) -> None:
    check(ANSWERS[name, kind], *FUNCTIONS[name], kind)


def test_every_public_function_is_tried() -> None:
    tried = {name.split(",")[0] for name in FUNCTIONS}
    rooms = (relfit.analyses.independence, relfit.analyses.screening)
    assert {name for room in rooms for name in room.__all__ if inspect.isfunction(getattr(room, name))} <= tried


def test_a_log_without_repair_times_still_has_failures() -> None:
    log = LOGS["no ends"]
    assert set(availability(log).status) == {"no_ends"}
    assert set(repair_kinds(log).table["status"]) == {"too_few"}
    assert trend_tests(histories_of_log(log), "all").status[0, 0] == "ok"
    assert by_node(log)["events"].sum() == 10
