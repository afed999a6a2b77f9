"""Reports for all tests that read them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import relfit as rf
from tests.reporting.logs import FAST, HOSTILE, hostile_log
from tests.site_logs import site_log

NO_PICTURES = ("relfit.reporting.drawing._svg", lambda canvas, key, title: "<svg></svg>")


@pytest.fixture(scope="session")
def white_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the whole sample, with the default families; written once, whichever process asks first."""
    own = tmp_path_factory.getbasetemp()
    path = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "white.html"
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return path if path.exists() else rf.report(rf.datasets.load("white"), path)


@pytest.fixture(scope="session")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a log, under a title, that would break out of the page if they could."""
    path = tmp_path_factory.mktemp("hostile") / "hostile.html"
    return rf.report(hostile_log(), path, title="</title><b>" + HOSTILE, **FAST)


@pytest.fixture(scope="session")
def site_report(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[rf.FailureLog, Path]]:
    """The log of a site and its report, written once.

    Sites are ``grid5000``, ``titan``, ``lanl`` and the numbers of the systems of Los Alamos; ``since`` cuts the log.
    """

    @cache
    def written(which: str) -> tuple[rf.FailureLog, Path]:
        name, _, since = which.partition(" since ")
        log = site_log("lanl").where(system=name) if name.isdigit() else site_log(name)
        log = log.between(since, None) if since else log
        with pytest.MonkeyPatch.context() as patch:
            if name not in ("20", "grid5000", "titan"):  # the pictures of three logs of sites are enough
                patch.setattr(*NO_PICTURES)
            return log, rf.report(log, tmp_path_factory.mktemp("site") / "report.html", **FAST)

    return written


@pytest.fixture
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty pictures, for tests of what a report says."""
    monkeypatch.setattr(*NO_PICTURES)
