"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


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
