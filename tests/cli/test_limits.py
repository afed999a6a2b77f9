"""What is asked for has bounds, and nothing that comes is a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from relfit.cli.app import main


@pytest.mark.parametrize(
    "command",
    [
        ["plan", "checkpoint", "white", "--nodes", "8", "--save", "5min", "--draws", "1000000000"],
        ["plan", "replication", "white", "--nodes", "8", "--save", "5min", "--replicas", "10000000"],
        ["plan", "sparing", "--trays", "10000000"],
        ["plan", "sparing", "--loss-limit", "1000000000"],
        ["plan", "sparing", "--simulate", "1000000000"],
        ["plan", "sparing", "--simulate", "1e-300"],
        ["validate", "white", "--jobs", "3000000"],
        ["fit", "white", "--seed", "-1"],
    ],
)
def test_work_without_bound_is_refused(capsys, command):
    assert main(command) == 2
    assert "Input should be" in capsys.readouterr().err


def test_mappings_and_rules_nested_too_deep_or_with_long_numbers(tmp_path, capsys):
    log = tmp_path / "log.csv"
    log.write_text("node,start\na,2024-01-01\n")
    for text in ("x = " + "[" * 5000 + "]" * 5000, "x = " + "9" * 5000, 'node = "\ud800"'):
        settings = tmp_path / "settings.toml"
        settings.write_bytes(text.encode("utf-8", "surrogatepass"))
        assert main(["info", str(log), "--mapping", str(settings)]) == 2
        assert main(["info", str(log), "--format", "syslog", "--rules", str(settings)]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="names of bytes are of POSIX")
def test_a_closed_stdout_and_a_name_that_is_no_text(tmp_path):
    path = Path(os.fsdecode(bytes(tmp_path) + b"/n\xff.csv"))
    path.write_text("node,start\na,2024-01-01\n")
    done = subprocess.run(
        [sys.executable, "-c", "import os, sys; os.close(1); os.execv(sys.executable, [sys.executable, '-m', 'relfit', "
         "'info', sys.argv[1]])", path],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
