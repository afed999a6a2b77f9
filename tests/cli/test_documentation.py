"""Every command that the page on the command line shows works as it stands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import relfit as rf
from relfit.cli.app import built, main
from relfit.io import datasets

LOAD = datasets.load
PAGE = Path(__file__).resolve().parents[2] / "docs" / "command-line.md"
COMMANDS = re.findall(r"^\$ relfit (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
COMMANDS.remove("report white -o report.html")  # the report that `make report` writes and tests/reporting reads


README = Path(__file__).resolve().parents[2] / "README.md"
ANSWERS = re.findall(r"^((?:\$ relfit .+\n)+)(.+)$", README.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize(
    ("commands", "answer"),
    [pytest.param(*shown, marks=[pytest.mark.slow] * ("relfit backtest" in shown[0])) for shown in ANSWERS],
)
@pytest.mark.slow
def test_the_readme_shows_what_comes(
    commands: str, answer: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in commands.splitlines():
        capsys.readouterr()
        assert main(shlex.split(command)[2:]) == 0
    assert answer in " ".join(capsys.readouterr().out.split())


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 70
    assert len(ANSWERS) == 4
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert [link for link in links if not (README.parent / link).exists()] == []


@cache
def few_racks(name: str) -> rf.FailureLog:
    """The sample's first four racks of 32: enough to show that a command and its options work."""
    return LOAD(name).where(rack=[f"frame{i:02d}" for i in range(1, 5)])


@pytest.fixture
def _few_racks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "load", few_racks)


@pytest.mark.usefixtures("_few_racks")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.slow
def test_shown_commands_work(command: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command)) == 0
    caught = capsys.readouterr()
    assert caught.err == ""
    assert caught.out


def parameters(command: object) -> Iterator[Any]:
    """The parameters of a command and of those below it."""
    yield from command.params  # type: ignore[attr-defined]
    for below in getattr(command, "commands", {}).values():
        yield from parameters(below)


def defaults() -> dict[str, set[str]]:
    """The defaults of each option, by its name; an option of two commands may have two."""
    named: dict[str, set[str]] = {}
    for parameter in parameters(built()):
        for name in parameter.opts:
            if name.startswith("--"):
                named.setdefault(name, set()).add(str(parameter.default))
    return named


def test_every_option_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    options = {
        name
        for command in built().commands.values()
        for parameter in command.params
        for name in parameter.opts
        if name.startswith("--")
    }
    assert len(options) > 15
    assert {name for name in options if f"`{name}" not in page} == set()


def test_the_page_has_no_other_options() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"(?<![\w-])--[a-z][\w-]*", page)) <= {
        *defaults(),
        "--install-completion",
        "--show-completion",
    }


def test_the_defaults_on_the_page_are_those_of_the_commands() -> None:
    rows = re.findall(r"^\| (`--[^|]*)\|(?:[^|]*\|)?([^|]+)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    named = defaults()
    default = re.compile(r"(?:`([\w.]+)`|(?<![\w.])(\d[\d.]*|[A-Z][a-z]+))(?= by default| \(the default)")
    stated = [(options, "".join(value)) for options, meaning in rows for value in default.findall(meaning)]
    of_the_command = {"core", "cox", "system", "stable", "chassis", "30d", "90d", ""}  # which the option leaves open
    wrong = [
        (options, value)
        for options, value in stated
        if value not in of_the_command
        and not {value, f"{value}.0"} & set().union(*(named[name] for name in re.findall(r"--[\w-]+", options)))
    ]
    assert len(stated) > 15
    assert wrong == []
