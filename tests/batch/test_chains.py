"""A simulation that runs as a chain of short jobs, from the shell: stopped, saved, and the same command once more."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from relfit.cli.app import main

STOPPED = 75
CONFIG = """
[workload]
file = "jobs.csv"
[cluster]
nodes = 16
[[failures]]
kind = "nodes"
mtbf = "40h"
shape = 0.8
repair = "1h"
"""
LIMIT = '[saving]\nfile = "elsewhere.npz"\ntime_limit = "{}"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with a configuration and 2,500 jobs."""
    monkeypatch.chdir(tmp_path)
    rows = (f"{i},{1000 * i},{1 + i % 7},{600 + 37 * i % 9001},{300 + 37 * i % 9001}\n" for i in range(2500))
    Path("jobs.csv").write_text("job_id,submission_time,nodes,walltime,run_time\n" + "".join(rows))
    Path("c.toml").write_text(CONFIG)
    return tmp_path


def shell(line, **settings):
    """A line as a shell runs it, with this Python's relfit."""
    words = [sys.executable, "-m", *shlex.split(line)]
    return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False, **settings)


def uninterrupted():
    assert main(["simulate", "batch", "c.toml", "--jobs-out", "whole.csv", "--out", "whole.json"]) == 0
    return Path("whole.csv").read_bytes(), Path("whole.json").read_bytes()


@pytest.mark.slow
@pytest.mark.long
def test_the_same_line_again_and_again_ends_where_an_uninterrupted_run_ends(folder):
    expected = uninterrupted()
    Path("c.toml").write_text(CONFIG + LIMIT.format("1us"))
    line = "relfit simulate batch c.toml --resume state.npz --jobs-out jobs-out.csv --out table.json"
    Path("jobs-out.csv").write_text("of an earlier chain\n")
    states, statuses = [], []
    while not statuses or statuses[-1] == STOPPED:
        done = shell(line)
        statuses.append(done.returncode)
        if statuses[-1] == STOPPED:
            assert done.stdout == ""
            assert done.stderr.splitlines()[-1].endswith(f"saved in state.npz; go on with: {line}")
            assert Path("jobs-out.csv").read_text() == "of an earlier chain\n"
            assert not Path("table.json").exists()
            states.append(Path("state.npz").read_bytes())
        assert len(statuses) < 30
    assert statuses[-1] == 0, done.stderr
    assert len(set(states)) == len(states) >= 3
    assert (Path("jobs-out.csv").read_bytes(), Path("table.json").read_bytes()) == expected
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["c.toml", "jobs.csv", "whole.csv", "whole.json", "jobs-out.csv", "table.json", "state.npz"]
    )
    assert shell(line).returncode == 0  # once more than needed: from the last stop to the same end
    assert (Path("jobs-out.csv").read_bytes(), Path("table.json").read_bytes()) == expected


def test_a_stop_has_a_status_and_says_how_to_go_on(folder, capsys):
    Path("c.toml").write_text(CONFIG + LIMIT.format("1us"))
    assert main(["simulate", "batch", "c.toml", "--json", "--seed", "3"]) == STOPPED
    out, err = capsys.readouterr()
    assert json.loads(out)["complete"] is False
    assert err.count("\n") == 1
    assert "go on with: relfit simulate batch c.toml --resume elsewhere.npz --seed 3 --json" in err


def test_the_first_link_says_that_it_begins(folder, capsys):
    assert main(["simulate", "batch", "c.toml", "--resume", "state.npz"]) == 0
    assert "state.npz is not there yet: simulating from the beginning" in capsys.readouterr().err
    assert not Path("state.npz").exists()
    assert main(["simulate", "batch", "c.toml", "--resume", "no/state.npz"]) == 2
    assert "no/state.npz" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (("--seed", "4"), "seed differs"),
        (("--plot", "states.png"), "keep differs"),
        ("mtbf", "failures differs"),
        ("jobs", "jobs differs"),
    ],
)
def test_a_state_of_another_simulation_is_refused(folder, capsys, change, name):
    Path("c.toml").write_text(CONFIG + LIMIT.format("1us"))
    line = ["simulate", "batch", "c.toml", "--resume", "state.npz"]
    assert main(line) == STOPPED
    before = Path("state.npz").read_bytes()
    if change == "mtbf":
        Path("c.toml").write_text(CONFIG.replace("40h", "50h") + LIMIT.format("1us"))
    elif change == "jobs":
        Path("jobs.csv").write_text(Path("jobs.csv").read_text() + "2500,2500000,1,500,400\n")
    capsys.readouterr()
    assert main([*line, *(change if isinstance(change, tuple) else ())]) == 2
    err = capsys.readouterr().err
    assert f"state.npz: is of another simulation: {name}" in err
    assert Path("state.npz").read_bytes() == before


@pytest.mark.slow
def test_a_chain_whose_link_was_killed_goes_on_from_the_newest_file(folder, capsys):
    expected = uninterrupted()
    every = 'every_simulated = "1000h"\nkeep = 1\n'
    Path("c.toml").write_text(CONFIG + LIMIT.format("1us") + every)
    line = ["simulate", "batch", "c.toml", "--resume", "state.npz", "--jobs-out", "j.csv", "--out", "t.json"]
    assert main(line) == STOPPED
    Path("c.toml").write_text(CONFIG + LIMIT.format("1h") + every)
    assert main(line) == 0  # this link wrote numbered files on its way; say that it was killed after the last of them
    numbered = [path for path in folder.iterdir() if path.name.startswith("state-")]
    assert len(numbered) == 1
    Path("state.npz").write_bytes(b"no state: this file is not the newest")
    os.utime("state.npz", (1.0, 1.0))
    assert main(line) == 0
    assert (Path("j.csv").read_bytes(), Path("t.json").read_bytes()) == expected


@pytest.mark.slow
def test_what_a_command_writes_can_be_written_again(folder, capsys):
    for _ in range(2):
        assert main(["simulate", "batch", "c.toml", "--jobs-out", "out.csv"]) == 0
    assert main(["simulate", "batch", "c.toml", "--workload", "jobs.csv", "--jobs-out", "jobs.csv"]) == 2
    assert "jobs.csv is what is read" in capsys.readouterr().err
    for _ in range(2):
        assert main(["calibrate", "white", "--parts", "mtbf", "--export", "airesim.yaml"]) == 0


LONG = """
[workload]
file = "long.csv"
[cluster]
nodes = 8
[checkpoint]
every = "30min"
save = "1min"
[[failures]]
kind = "system"
mtbf = "30min"
"""


def begun(line):
    """A process of a line, from the moment on that it has its signals in hand."""
    process = subprocess.Popen(
        [sys.executable, "-m", *shlex.split(line)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    bit = 1 << (signal.SIGUSR1 - 1)
    deadline = time.monotonic() + 20.0
    while time.monotonic() < deadline:
        fields = Path(f"/proc/{process.pid}/status").read_text().split("SigCgt:\t")
        if len(fields) > 1 and int(fields[1].split()[0], 16) & bit:
            return process
        time.sleep(0.002)
    pytest.fail("it never took its signals in hand")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks at the signals of a process in /proc")
@pytest.mark.parametrize(
    ("name", "number"),
    [("SIGTERM", 1), *(pytest.param(name, 2, marks=pytest.mark.verify) for name in ("SIGTERM", "SIGUSR1", "SIGINT"))],
)
@pytest.mark.long
def test_signals_at_any_time_save_or_leave_the_last_state(tmp_path, monkeypatch, name, number):
    monkeypatch.chdir(tmp_path)
    Path("long.csv").write_text(
        "job_id,submission_time,nodes,run_time\n" + "".join(f"{i},0,{1 + i % 8},{2_000_000_000}\n" for i in range(8))
    )
    Path("c.toml").write_text(LONG)
    line = "relfit simulate batch c.toml --resume state.npz --jobs-out jobs.csv"
    delay, saves = 0.0, []
    while sum(saves) < number:  # first while it imports, at last while it simulates
        before = Path("state.npz").read_bytes() if Path("state.npz").exists() else None
        process = begun(line)
        time.sleep(delay)
        process.send_signal(getattr(signal, name))
        _, err = process.communicate(timeout=60)
        assert process.returncode == STOPPED, (delay, err)
        assert "Traceback" not in err
        assert not Path("jobs.csv").exists()
        after = Path("state.npz").read_bytes() if Path("state.npz").exists() else None
        saves.append(after != before)
        assert ("saved in state.npz; go on with: " + line in err) == (after != before)
        assert ("nothing is lost" in err) == (after == before)
        delay = delay if saves[-1] else 1.5 * delay + 0.2
    assert not saves[0]
    assert shell("relfit simulate batch c.toml --jobs-out whole.csv").returncode == 0
    assert shell(line).returncode == 0
    assert Path("jobs.csv").read_bytes() == Path("whole.csv").read_bytes()
