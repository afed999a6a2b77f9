"""`relfit plan sparing`: what it prints, writes and rejects."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from relfit.cli.app import main

FILE = """[mtbf]
tray = {value = "20000h", low = "15000h", high = "27000h", level = 0.9}
rack = "10000h"

[mttr]
value = "24h"
low = "20h"
high = "29h"
level = 0.9

[cluster]
zones = 4
racks = 64
trays = 36
gpus = 2
block = [72, 72]
working = [72, 64]
checkpoint_every = "250s"
save = "50ms"
detection = "60s"
restart = "6min"
alpha = 0.204
"""


@pytest.fixture
def params(tmp_path: Path) -> Path:
    path = tmp_path / "params.toml"
    path.write_text(FILE)
    return path


@pytest.mark.slow
def test_plan_with_everything(params: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, figure = tmp_path / "plan.csv", tmp_path / "plan.png"
    command = [
        "plan",
        "sparing",
        str(params),
        "--blocking",
        "0.01",
        "--simulate",
        "0.2",
        "--draws",
        "50",
        "--details",
        "--out",
        str(table),
        "--plot",
        str(figure),
    ]
    assert main(command) == 0
    said = capsys.readouterr()
    assert said.err == ""
    for part in ("Given these data", "Poisson", "closed form", "uncertainty of mtbf.rack is not known"):
        assert part in said.out
    assert set(pd.read_csv(table)["working_gpus"]) == {72, 64}
    assert figure.stat().st_size > 20_000


def test_json(params: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "sparing", str(params), "--draws", "50", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["plan"]["cluster"]["racks"] == 64
    assert found["uncertainty"]["level"] == 0.95


def test_options_alone_and_over_the_file(params: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(
            [
                "plan",
                "sparing",
                "--mtbf",
                "2000h",
                "--mttr",
                "1 day",
                "--racks",
                "16",
                "--trays",
                "4",
                "--loss-limit",
                "2",
                "--restart",
                "5min",
                "--save",
                "1min",
            ]
        )
        == 0
    )
    assert "a rack never" in capsys.readouterr().out
    assert (
        main(["plan", "sparing", str(params), "--mtbf", "5000h", "--spare-blocks", "9", "--checkpoint-every", "best"])
        == 0
    )
    said = capsys.readouterr().out
    assert "a tray fails every 208 days" in said
    assert "9 spare blocks of 64" in said


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("racks = 64", "rakcs = 64", "cluster.rakcs: this key is unknown"),
        ("gpus = 2", 'gpus = "two"', "cluster.gpus"),
        ("block = [72, 72]", "block = [10, 10]", "cluster.block: block_trays = 5 does not divide"),
        ('save = "50ms"', 'save = "1h"', "cluster.save: save of 3600 s takes longer"),
        ('save = "50ms"', 'save = "x"', "cluster.save: 'x' is not a duration"),
        ("working = [72, 64]", "working = [72, 80]", "cluster.working"),
        ('"20000h"', '"0h"', "mtbf.tray"),
        ("racks = 64", "racks = 0", "cluster.racks"),
        ("[cluster]\n", "[clusters]\n", "clusters"),
    ],
)
def test_refused_in_one_line_with_the_place(
    params: Path, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert old in FILE
    params.write_text(FILE.replace(old, new))
    assert main(["plan", "sparing", str(params)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "no cluster is given"),
        (["--racks", "4"], "--mtbf is missing"),
        (["--racks", "4", "--mtbf", "0h", "--mttr", "1h"], "mtbf_tray is 0"),
        (["--racks", "0", "--mtbf", "1h", "--mttr", "1h"], "--racks"),
        (
            ["--racks", "4", "--mtbf", "100h", "--mttr", "1h", "--spare-blocks", "4"],
            "--spare-blocks: spare_blocks = 4 leaves no working block",
        ),
        (["--racks", "4", "--mtbf", "100h", "--mttr", "1h", "--robust", "much"], "--robust"),
        (["--racks", "4", "--mtbf", "100h", "--mttr", "1h", "--level", "2"], "level"),
    ],
)
def test_refused_options(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "sparing", *options]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_json_parameters_with_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "params.json"
    path.write_text('{"mtbf": "2000h", "mttr": "24h",\n "cluster": {"racks": 8,\n "trays": 0}}')
    assert main(["plan", "sparing", str(path)]) == 2
    assert "cluster.trays" in capsys.readouterr().err


def test_spares_of_migration_by_number_or_by_risk(capsys: pytest.CaptureFixture[str]) -> None:
    """Either alone has an effect; ``--risk`` may be below what it is by itself."""
    plan = ["plan", "migration", "--mtbf", "9h", "--save", "1min", "--migration", "1min", "--nodes", "512"]
    for options in (["--spares", "3"], ["--risk", "0.01"], ["--risk", "1e-6"], ["--sequential"]):
        assert main([*plan, *options, "--draws", "100"]) == 0, capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.long
def test_all_planners_read_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "params.toml"
    path.write_text(FILE, encoding="utf-8")
    for command in (["checkpoint"], ["migration", "--migration", "1min"], ["replication"]):
        assert main(["plan", *command, str(path), "--save", "5min", "--nodes", "512"]) == 0
        assert "mtbf.rack is left out" in capsys.readouterr().out
    path.write_text(FILE[FILE.index("[cluster]") :], encoding="utf-8")
    assert main(["plan", "checkpoint", str(path), "--save", "5min"]) == 2
    assert "has no failure rate" in capsys.readouterr().err
    path.write_text(FILE.replace("gpus = 2", "gpus = 2\nspare_blocks = 64"), encoding="utf-8")
    assert main(["plan", "checkpoint", str(path), "--save", "5min"]) == 2
    assert main(["plan", "sparing", str(path)]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == second
    assert "cluster.spare_blocks: spare_blocks = 64 leaves no working block of the 64 in a zone" in first


@pytest.mark.slow
def test_assumptions_that_fail_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "white.toml"
    cluster = ("--racks", "32", "--trays", "16", "--draws", "50")
    assert main(["calibrate", "white", "--parts", "mtbf,mttr,families", "--period", "all", "-o", str(path)]) == 0
    capsys.readouterr()
    assert main(["plan", "sparing", str(path), *cluster]) == 0
    short = capsys.readouterr().out
    assert len(short.splitlines()) <= 15
    assert "assumptions of the planner fail: " in short
    assert "What follows" not in short
    assert main(["plan", "sparing", str(path), *cluster, "--details"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "- exponential repairs: Repair times are not exponential (AICc of lognormal is lower by " in said
    assert "What follows:" in said
    assert "(mtbf.system); no spare helps against them" in said
    assert main(["plan", "sparing", str(path), *cluster, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["assumptions"]["items"]
    assert {row["name"] for row in listed if row["holds"] is False} >= {"exponential repairs"}


@pytest.mark.slow
def test_a_folder_gets_map_and_boundaries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "params.toml"
    path.write_text(FILE, encoding="utf-8")
    for option in ("--out", "--plot"):  # each for itself
        (tmp_path / option).mkdir()
        assert main(["plan", "sparing", str(path), "--draws", "20", option, str(tmp_path / option)]) == 0
        assert "Of the points of the map" in capsys.readouterr().out
    assert {p.stem for p in tmp_path.glob("--out/*.csv")} == {"plan", "map", "boundaries"}
    assert {"map", "hours", "spares"} == {p.stem for p in tmp_path.glob("--plot/*.png")}
    points = pd.read_csv(tmp_path / "--out" / "map.csv")
    borders = pd.read_csv(tmp_path / "--out" / "boundaries.csv")
    assert len(points) == 3600
    assert set(borders["below"]) | set(borders["above"]) == set(points["strategy"]) == {"72/72", "72/64"}
