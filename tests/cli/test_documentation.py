"""Every command that the page on the command line shows works as it stands."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path

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


def test_every_option_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    group = built()
    options = {
        name
        for command in group.commands.values()
        for parameter in command.params
        for name in parameter.opts
        if name.startswith("--")
    }
    assert len(options) > 15
    assert {name for name in options if f"`{name}" not in page} == set()
