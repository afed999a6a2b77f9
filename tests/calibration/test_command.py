"""`relfit calibrate`: what it prints and writes, and how it says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relfit as rf
from relfit.cli.app import main
from relfit.fleet.calibration import to_scipy
from relfit.fleet.calibration.files import is_parameter_file
from relfit.fleet.calibration.parameter_values import Duration

FAST = ("--parts", "mtbf,mttr,families", "--period", "all")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.slow
def test_a_log_becomes_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "white", *FAST]) == 0
    short = capsys.readouterr().out
    assert "- Repair times are not exponential." in short
    assert "--details shows" in short
    assert short.count("\n") <= 20
    assert main(["calibrate", "white", *FAST, "-o", "p.toml", "--details"]) == 0
    said = capsys.readouterr().out
    assert "mtbf.node" in said
    assert "What contradicts the assumptions of planners" in said
    known = rf.read_parameters("p.toml")
    assert known.name == "white"
    assert known.mtbf.node is not None
    assert known.mtbf.node.events == 8206
    assert main(["calibrate", "p.toml", "-o", "p.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["mtbf"]["node"]["events"] == 8206
    assert rf.read_parameters("p.json") == known


@pytest.mark.slow
def test_dates_choose_the_part_of_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["calibrate", "white", "--since", "2003-01-01", "--parts", "mtbf", "--json"]) == 0
    period = json.loads(capsys.readouterr().out)["period"]
    assert (period["name"], period["start"]) == ("all", "2003-01-01T00:00:00+00:00")


def test_exports(capsys: pytest.CaptureFixture[str]) -> None:
    exports = ("airesim.yaml", "batsim", "batsim=b.txt", "fta=trace")
    assert main(["calibrate", "white", *FAST, *(a for e in exports for a in ("--export", e))]) == 0
    assert "written to trace" in capsys.readouterr().out
    assert sorted(p.name for p in Path().iterdir()) == ["airesim.yaml", "b.txt", "batsim.json", "trace"]
    down = [rf.recurrence.availability(log).down_hours[0] for log in (rf.read("trace"), rf.datasets.load("white"))]
    assert down[0] == pytest.approx(down[1])  # outages of the whole system are in it, as those of every node
    Path("spec.toml").write_text('mtbf = "500h"\nmttr = "5h"\nfleet.nodes = 20\n', encoding="utf-8")
    assert main(["calibrate", "spec.toml", "--export", "fta=made", "--span", "1000h", "--export", "batsim"]) == 0
    assert 15 < len(rf.read("made")) < 80
    assert json.loads(Path("batsim.json").read_text(encoding="utf-8"))["SMTBF"] == 90_000.0


def test_exports_take_the_job_and_the_pools(capsys: pytest.CaptureFixture[str]) -> None:
    Path("spec.toml").write_text('mtbf = "500h"\nmttr = "5h"\n', encoding="utf-8")
    given = ("--airesim", "job_size=256", "--airesim", "recovery_time=12.5", "--airesim", "adaptive_replications=true")
    exports = ("--export", "airesim.yaml", "--export", "scipy=distributions.py")
    assert main(["calibrate", "spec.toml", *given, *exports]) == 0
    assert "written to distributions.py" in capsys.readouterr().out
    values = dict(line.split(": ") for line in Path("airesim.yaml").read_text().splitlines() if line[0] != "#")
    assert values["job_size"] == "256"
    assert values["recovery_time"] == "12.5"
    assert values["adaptive_replications"] == "true"
    assert float(values["random_failure_rate"]) == pytest.approx(1.0 / (500.0 * 60.0))


@pytest.mark.slow
def test_the_fleet_as_it_is_now_or_in_the_long_run(capsys: pytest.CaptureFixture[str]) -> None:
    mtbf = {}
    for at in ("now", "long-run"):
        assert main(["calibrate", "white", "--period", "all", "--parts", "mtbf", "--at", at, "--json"]) == 0
        mtbf[at] = json.loads(capsys.readouterr().out)["mtbf"]["any"]
    assert mtbf["long-run"]["value"] < 0.8 * mtbf["now"]["value"]  # the first two years had more
    assert mtbf["long-run"]["exposure"] == pytest.approx(mtbf["long-run"]["value"] * mtbf["long-run"]["events"])


def test_scipy_module_has_the_fitted_laws() -> None:
    known = rf.calibrate(rf.datasets.load("white"), period="all", parts=("mtbf", "mttr", "families"))
    names: dict[str, Any] = {}
    halved: dict[str, Any] = {}
    exec(to_scipy(known, "distributions.py").read_text(encoding="utf-8"), names)
    assert known.failure is not None
    assert known.repair is not None
    at = [1.0, 100.0, 2000.0]
    assert names["failure"].sf(at) == pytest.approx(known.failure.distribution().sf(at).ravel())
    half = known.mtbf.model_copy(update={"node": Duration(value=0.5 * float(names["failure"].mean()))})
    exec(to_scipy(known.model_copy(update={"mtbf": half}), "half.py").read_text(encoding="utf-8"), halved)
    assert halved["failure"].sf(np.array(at) / 2.0) == pytest.approx(names["failure"].sf(at))
    assert known.mttr.mean is not None
    factor = known.mttr.mean.value / float(known.repair.distribution().mean())  # it has the mean of the repairs
    assert names["repair"].sf(at) == pytest.approx(known.repair.distribution().sf(np.array(at) / factor).ravel())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("white", "-o", "p.yaml"), "does not end in .toml or .json"),
        (("white", "--export", "simgrid"), "--export 'simgrid' is not known"),
        (("white", "--export", "airesim=no/a.yaml"), "there is no folder no"),
        (("white", "--export", "airesim="), "names no file"),
        (("white", "--airesim", "job_size=3"), "--airesim goes with --export airesim"),
        (("white", "--export", "airesim.yaml", "--airesim", "jobsize=3"), "did you mean job_size?"),
        (("white", "--export", "airesim.yaml", "--airesim", "job_size"), "write --airesim NAME=VALUE"),
        (("white", "--export", "airesim.yaml", "--airesim", "job_size=-3"), "is not a number of zero or more"),
        (("white", "--parts", "all"), "part 'all' is not known"),
        (("white", "--level", "95"), "did you mean 0.95?"),
        (("white", "--at", "later"), "--at 'later' is not known"),
        (("white", "--families", "weibul"), "unknown family 'weibul'"),
        (("bad.toml",), "bad.toml: mttr.unit: unknown unit of time 'moons'"),
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


def test_parameters_in_json_are_read_as_those_in_toml(capsys: pytest.CaptureFixture[str]) -> None:
    Path("spec.toml").write_text('mtbf = "500h"\nmttr = "5h"\nfleet.nodes = 20\n', encoding="utf-8")
    assert main(["calibrate", "spec.toml", "-o", "spec.json"]) == 0
    assert main(["calibrate", "spec.json", "-o", "again.toml"]) == 0
    assert rf.read_parameters("again.toml") == rf.read_parameters("spec.toml")
    log = {"events": [{"node": "a", "start": "2020-01-01"}]}
    Path("log.json").write_text(json.dumps(log), encoding="utf-8")
    assert not is_parameter_file("log.json")
    Path("log.json").write_text("node,start", encoding="utf-8")
    assert not is_parameter_file("log.json")
