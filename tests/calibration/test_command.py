"""`relfit calibrate`: what it prints and writes, and how it says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import relfit as rf
from relfit.cli.main import main

FAST = ("--parts", "mtbf,mttr,families", "--era", "all")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_log_becomes_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "white", *FAST, "-o", "p.toml"]) == 0
    said = capsys.readouterr().out
    assert "mtbf.node" in said
    assert "What speaks against the assumptions of planners" in said
    known = rf.Parameters.read("p.toml")
    assert known.name == "white"
    assert known.mtbf.node is not None
    assert known.mtbf.node.events == 9076
    assert main(["calibrate", "p.toml", "-o", "p.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mtbf"]["node"]["events"] == 9076
    assert rf.Parameters.read("p.json") == known


def test_dates_choose_the_part_of_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "white", "--since", "2003-01-01", "--parts", "mtbf", "--json"]) == 0
    era = json.loads(capsys.readouterr().out)["era"]
    assert (era["name"], era["start"]) == ("all", "2003-01-01T00:00:00+00:00")


def test_exports(capsys: pytest.CaptureFixture[str]) -> None:
    exports = ("airesim.yaml", "batsim", "batsim=b.txt", "fta=trace")
    assert main(["calibrate", "white", *FAST, *(a for e in exports for a in ("--export", e))]) == 0
    assert "written to trace" in capsys.readouterr().out
    assert sorted(p.name for p in Path().iterdir()) == ["airesim.yaml", "b.txt", "batsim.json", "trace"]
    assert len(rf.read("trace")) == 13262
    Path("spec.toml").write_text('mtbf = "500h"\nmttr = "5h"\nfleet.nodes = 20\n', encoding="utf-8")
    assert main(["calibrate", "spec.toml", "--export", "fta=made", "--span", "1000h", "--export", "batsim"]) == 0
    assert 15 < len(rf.read("made")) < 80
    assert json.loads(Path("batsim.json").read_text(encoding="utf-8"))["SMTBF"] == 90_000.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("white", "-o", "p.yaml"), "does not end in .toml or .json"),
        (("white", "--export", "simgrid"), "--export 'simgrid' is not known"),
        (("white", "--export", "airesim=no/a.yaml"), "there is no folder no"),
        (("white", "--export", "airesim="), "names no file"),
        (("white", "--parts", "all"), "part 'all' is not known"),
        (("white", "--level", "95"), "did you mean 0.95?"),
        (("white", "--families", "weibul"), "unknown family 'weibul'"),
        (("bad.toml",), "bad.toml, line 2: mttr.unit: unknown unit of time 'moons'"),
        (("none.toml",), "none.toml: cannot read parameters"),
        (("spec.toml", "--export", "batsim"), "the number of nodes is not known"),
    ],
)
def test_mistakes_take_one_line(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.toml").write_text('mtbf = 3\nmttr = {value = 1, unit = "moons"}\n', encoding="utf-8")
    Path("spec.toml").write_text("mtbf = 3\n", encoding="utf-8")
    assert main(["calibrate", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert sorted(p.name for p in Path().iterdir()) == ["bad.toml", "spec.toml"]
