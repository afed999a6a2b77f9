"""Sweeps in a script without ``if __name__ == "__main__":``, which spawned processes would run again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import relfit as rf

def own(x, rng):
    return x + rng.random()

print("the script runs")
campaign = rf.campaigns.Campaign(run={run}, config={config}, parameters={{{name!r}: [2, 3]}}, replications=1)
print(rf.campaigns.sweep(campaign, "store", executor={executor!r}, workers=1).of("value")["mean"].tolist())
"""


def _run(tmp_path: Path, **words: object) -> subprocess.CompletedProcess[str]:
    (tmp_path / "script.py").write_text(SCRIPT.format(**words))
    return subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)


@pytest.mark.slow
@pytest.mark.long
def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    ran = _run(tmp_path, run="'builtins:pow'", config={"exp": 2}, name="base", executor="processes")
    assert (ran.returncode, ran.stdout) == (0, "the script runs\n[4.0, 9.0]\n"), ran.stderr


@pytest.mark.slow
@pytest.mark.long
def test_a_function_of_a_script_without_a_guard_ends_with_one_error(tmp_path: Path) -> None:
    ran = _run(tmp_path, run="own", config=None, name="x", executor="processes")
    assert ran.returncode == 1
    assert ran.stderr.count("Error: ") == 1
    assert "put the call under if __name__ == '__main__':" in ran.stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.long
def test_a_local_dask_cluster_needs_no_guard(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    ran = _run(tmp_path, run="'builtins:pow'", config={"exp": 2}, name="base", executor="dask")
    assert (ran.returncode, ran.stdout) == (0, "the script runs\n[4.0, 9.0]\n"), ran.stderr
