"""Reports for all tests that read them."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

import relfit as rf
from tests.reporting.logs import FAST, HOSTILE, hostile_log


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


@pytest.fixture
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty pictures, for tests of what a report says."""
    monkeypatch.setattr("relfit.reporting.drawing._svg", lambda canvas, key, title: "<svg></svg>")
