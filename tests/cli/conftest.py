"""A small log on disk, and the command line run as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

HEADER = "system,node,start,end,cause,rack"
ROWS = [
    f"{system},{node},2003-{month:02d}-{1 + (7 * node + 3 * month) % 27:02d} {hour:02d}:00,"
    f"2003-{month:02d}-{1 + (7 * node + 3 * month) % 27:02d} {hour + 2:02d}:{10 * node:02d},{cause},r{node % 2}"
    for month in range(1, 13)
    for system, node, hour, cause in [
        ("20", 1, 3, "hardware"),
        ("20", 2, 5, "software"),
        ("20", 3, 8, "hardware"),
        ("9", 1, 11, "network"),
    ]
]


@dataclass(frozen=True)
class Run:
    code: int
    out: str
    err: str


def relfit(*arguments: object, cwd: Path | None = None, **environment: str) -> Run:
    """Run ``python -m relfit`` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "relfit", *map(str, arguments)],
        capture_output=True,
        cwd=cwd,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )
    return Run(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def log_file(here: Path) -> Path:
    """A table of 48 outages of four nodes."""
    path = here / "log.csv"
    path.write_text("\n".join([HEADER, *ROWS]) + "\n")
    return path
