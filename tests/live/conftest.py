"""Real programs, each test file's own: started on free ports by tools/live.sh, stopped when the tests are done."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "live.sh"
NEEDED = {
    "slurm": ("slurmctld", "slurmdbd", "sacctmgr", "munged", "mariadbd"),
    "prometheus": ("prometheus", "promtool"),
    "exporter": ("prometheus-node-exporter",),
    "alertmanager": ("prometheus-alertmanager",),
    "postgres": (),
}
"""Programs of each part; Debian keeps those of PostgreSQL out of the path."""


@pytest.fixture(scope="session")
def live() -> Iterator[Callable[..., dict[str, str]]]:
    """Starts parts with settings in the environment: what ``live.env`` says, `LIVE_FOLDER` too."""
    folders = []

    def up(*parts: str, **settings: str) -> dict[str, str]:
        missing = [name for part in parts for name in NEEDED[part] if shutil.which(name) is None]
        if "postgres" in parts and not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
            missing.append("postgres")
        if missing or os.geteuid():
            pytest.skip(f"root and {', '.join(missing)} are needed: tools/live.sh install" if missing else "needs root")
        folder = Path(tempfile.mkdtemp(prefix="relfit-live-"))
        folders.append(folder)
        subprocess.run([SCRIPT, "up", folder, *parts], check=True, env={**os.environ, **settings}, timeout=120)
        lines = (folder / "live.env").read_text().splitlines()
        words = [shlex.split(line)[1].partition("=") for line in lines]
        return {"LIVE_FOLDER": str(folder), **{name: value for name, _, value in words}}

    yield up
    for folder in folders:
        subprocess.run([SCRIPT, "down", folder], check=True, timeout=120)
        shutil.rmtree(folder, ignore_errors=True)
