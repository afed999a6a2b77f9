"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# the same examples in every run, so that a run tells of its change; make verify looks for new ones
settings.register_profile("repeated", derandomize=True, database=None)
settings.register_profile("searching", derandomize=False)
settings.load_profile("repeated")


@pytest.fixture(scope="session")
def root() -> Path:
    """The project's folder."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real failure logs; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("RELFIT_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"no real data: {folder / 'data'} is not there (set RELFIT_SHARED)")
    return folder
