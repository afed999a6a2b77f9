"""Real failure logs, each read once by a process."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import pytest

import relfit as rf

FILES = {
    "lanl": "lanl-failures-1996-2005.csv.xz",
    "grid5000": "grid5000-fta",
    "titan": "titan-gpu-lifetimes.csv.xz",
}


def shared_folder() -> Path:
    """The folder of real failure logs; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("RELFIT_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"no real data: {folder / 'data'} is not there (set RELFIT_SHARED)")
    return folder


@cache
def site_log(name: str) -> rf.FailureLog:
    """The log of Los Alamos, of Grid'5000 or of Titan; what is in it is sealed, so that tests may share it."""
    return rf.read(shared_folder() / "data" / FILES[name])
