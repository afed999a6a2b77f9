"""The bundled sample is read once, costly questions about it are asked once; examples run in a folder of their own."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, wraps
from hashlib import sha256
from inspect import signature
from typing import Any

import pandas as pd
import pytest

from relfit import FailureLog, datasets, fleet, independence, screening, study
from relfit.calibration import _calibrate
from relfit.fleet import _chosen_period, _fleet_model, _slurm, _system_from_log
from relfit.independence import summary
from relfit.reporting import report_data
from relfit.screening import _change_points, _outlier_nodes, _repair_kinds

ASKED_OFTEN = {
    "chosen_period": (_chosen_period, fleet, _fleet_model, _calibrate, study),
    "change_points": (_change_points, screening),
    "fleet_model": (_fleet_model, fleet, _system_from_log, _slurm, _calibrate, study),
    "dependence": (summary, independence, _calibrate, report_data, study),
    "outlier_nodes": (_outlier_nodes, screening, _calibrate, study),
    "repair_kinds": (_repair_kinds, screening),
}
"""Functions that take seconds, with the modules that call them by name: first their own."""
PLAIN = (str, int, float, tuple, list, type(None))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With ``--dist loadfile`` the files of a room stay together; see `tests.scheduling`."""
    from tests.scheduling import RoomByRoom

    return RoomByRoom(config, log) if config.option.dist == "loadfile" else None


def pytest_collection_finish() -> None:
    """What is imported by now stays: searching it again and again for what can be freed took 4 % of the time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _the_sample_is_read_once() -> Iterator[None]:
    """Each call of `relfit.datasets.load` gives a copy of what the first one read."""
    read = cache(datasets.load)

    def copied(name: str) -> FailureLog:
        log = read(name)
        return replace(log, events=log.events.copy(), population=log.population.copy())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "load", copied)
        yield


def digest(log: FailureLog) -> bytes:
    """What two logs share that hold the same."""
    content = sha256(repr((log.window, len(log.events), *log.events.columns, *log.population.columns)).encode())
    for table in (log.events, log.population):
        content.update(pd.util.hash_pandas_object(table).to_numpy().tobytes())
    return content.digest()


def once(function: Any) -> Any:
    """A question about a log whose answer is kept: the same log, options and seed get that of the first call."""
    answers: dict[Any, Any] = {}

    @wraps(function)
    def known(*arguments: Any, **options: Any) -> Any:
        asked = signature(function).bind(*arguments, **options)
        asked.apply_defaults()
        log, *others = asked.arguments.values()
        plain = all(isinstance(value, PLAIN) for value in others)
        if not plain or not isinstance(log, FailureLog) or log.lifetimes is not None:
            return function(*arguments, **options)
        key = (digest(log), repr(others))
        if key not in answers:
            answers[key] = function(*arguments, **options)
        return answers[key]

    return known


@pytest.fixture(scope="session", autouse=True)
def _a_log_is_asked_once() -> Iterator[None]:
    """What commands, reports and pages ask of the same logs again and again is kept.

    Tests that import these functions have them as they are; so have the functions' own examples.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name, homes in ASKED_OFTEN.items():
            known = once(getattr(homes[0], name))
            for home in homes:
                patch.setattr(home, name, known)
        yield


@pytest.fixture(autouse=True)
def _examples_in_a_folder_of_their_own(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    if not isinstance(request.node, pytest.DoctestItem):
        yield
        return
    monkeypatch.chdir(tmp_path_factory.mktemp("example"))
    with pd.option_context("display.float_format", None):  # a package that tests compare with sets it when imported
        yield
