"""Every option that takes a time names itself when the time is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from relfit.cli.app import built, main


def timed(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command below, and its options with a time."""
    for name, one in getattr(command, "commands", {}).items():
        yield from timed(one, (*path, name))
    for option in command.params:
        if option.metavar == "TIME":
            yield *path, option.opts[0]


OPTIONS = list(timed(built()))


def test_all_plans_are_asked() -> None:
    plans = {path[1] for path in OPTIONS if path[0] == "plan"}
    assert {"checkpoint", "migration", "replication", "spares", "sparing"} <= plans
    assert len(OPTIONS) > 30


@pytest.mark.parametrize("wrong", ["1,5h", "soon", "-5h"])
@pytest.mark.parametrize("path", OPTIONS, ids=" ".join)
def test_a_wrong_time_is_told_by_the_name_of_its_option(
    path: tuple[str, ...], wrong: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`relfit plan spares --mttr 1,5h` said `repair: '1,5h' is not a duration`."""
    log = [] if path[0] == "plan" else ["white"]
    assert main([*path[:-1], *log, f"{path[-1]}={wrong}"]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert said.startswith(f"relfit: error: {path[-1]} '{wrong}' is n"), said
    assert ("with a point" in said) == ("," in wrong and not path[-1].startswith("--mtbf")), said


def test_an_interval_of_zero_is_told_by_the_name_of_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    plan = ["plan", "checkpoint", "--mtbf", "5000h", "--nodes", "10", "--save", "5min"]
    assert main([*plan, "--checkpoint-every", "0h"]) == 2
    assert capsys.readouterr().err.startswith("relfit: error: --checkpoint-every '0h' is zero")
    assert main([*plan, "--global-save", "0h", "--share-global", "0.2"]) == 2
    assert "give --save and --global-save above zero" in capsys.readouterr().err
