"""`relfit doctor` says what is there and what is missing; the shells complete commands and options."""

from __future__ import annotations

import json
import os
from importlib import metadata

import pytest

from relfit.cli import data_commands
from relfit.cli.app import main
from tests.cli.conftest import relfit


def test_what_is_there(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "new"))
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "All required packages are installed" in text
    assert f"numpy {metadata.version('numpy')}" in text
    assert "nothing compiled yet" in text
    assert main(["doctor", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["cache"] == {"folder": str(tmp_path / "new"), "writable": True, "compiled_functions": 0}
    assert document["cores"] >= 1


def test_what_is_missing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    there = data_commands._version
    monkeypatch.setattr(
        data_commands, "_version", lambda name: None if name in ("rich", "dask", "duckdb") else there(name)
    )
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert main(["doctor"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "Rich is missing: pip install rich" in text
    assert "set NUMBA_CACHE_DIR" in text
    assert "pip install 'relfit[dask]'" in text
    assert "duckdb is not installed (relfit watch): pip install 'relfit[live]'" in text.replace("Duckdb", "duckdb")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.slow
def test_shells_complete_commands(shell: str) -> None:
    words = {"bash": {"COMP_WORDS": "relfit rep", "COMP_CWORD": "1"}}.get(
        shell, {"_TYPER_COMPLETE_ARGS": "relfit rep", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    )
    done = relfit(_RELFIT_COMPLETE=f"complete_{shell}", **words)
    assert done.code == 0, done.err
    assert "report" in done.out
    script = relfit("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert script.code == 0, script.err
    assert "_RELFIT_COMPLETE" in script.out
