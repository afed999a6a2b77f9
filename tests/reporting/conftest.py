"""Reports for all tests that read them."""

from __future__ import annotations

from pathlib import Path

import pytest

import relfit as rf
from tests.reporting.logs import FAST, HOSTILE, hostile_log


@pytest.fixture(scope="session")
def white_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the whole sample, with the default families."""
    return rf.report(rf.datasets.load("white"), tmp_path_factory.mktemp("white") / "white.html")


@pytest.fixture(scope="session")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a log, under a title, that would break out of the page if they could."""
    path = tmp_path_factory.mktemp("hostile") / "hostile.html"
    return rf.report(hostile_log(), path, title="</title><b>" + HOSTILE, **FAST)


@pytest.fixture
def words_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty pictures, for tests of what a report says."""
    monkeypatch.setattr("relfit.reporting.drawing._svg", lambda canvas, key, title: "<svg></svg>")
