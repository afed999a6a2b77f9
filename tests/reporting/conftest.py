"""One report of the bundled sample for all tests that read it."""

from __future__ import annotations

from pathlib import Path

import pytest

import relfit as rf


@pytest.fixture(scope="session")
def white_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the whole sample, with the default families."""
    return rf.report(rf.datasets.load("white"), tmp_path_factory.mktemp("white") / "white.html")
