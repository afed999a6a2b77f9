"""Wrong campaigns by the command: one line that says what to do, nothing written over, a status that scripts see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.cli.app import main
from relfit.simulation.campaigns import executors

MODELS = "tests.campaigns.models"
FAILS = f'run = "{MODELS}:fails_at"\nreplications = 4\nseed = 3\n[parameters]\nx = [1, 2, 4]\n'
Sweep = Callable[..., tuple[int, str, str]]


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Sweep:
    """Write a campaign and sweep it into ``store``, in an empty folder; status, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(text: str, *options: str) -> tuple[int, str, str]:
        Path("c.toml").write_text(text, encoding="utf-8")
        code = main(["sweep", "c.toml", "--store", "store", *(options or ("--executor", "serial"))])
        said = capfd.readouterr()
        return code, " ".join(said.out.split()), said.err

    return run


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('run = "training"\n[parameters]\nrecovery_tine = [1]\n', "did you mean recovery_time?"),
        ('run = "training"\nreplicatons = 3\n[parameters]\nrecovery_time = [1]\n', "did you mean replications?"),
        ('run = "training"\n', "the grid is empty"),
        ('run = "training"\n[parameters]\nrecovery_time = []\n', "this has no values"),
        ('run = "training"\nconfig = "b.yaml"\n[parameters]\nrecovery_time = [1]\n', "b.yaml: cannot read settings"),
        ('run = "training"\n[parameters]\nrecovery_time = 5\n', "recovery_time: this cannot be 5; it must be a list"),
        ('run = "training"\n[parameters]\nrecovery_time = ["quick"]\n', "'quick' is not a duration"),
        ('run = "training"\n[parameters]\nrecovery_time = [[1, 2]]\n', "this cannot be a list"),
        ('run = "training"\n[parameters]\nrecovery_time = [nan, 1.0]\n', "nan is not a possible value"),
        (
            'run = "m:f"\n[[experiments]]\nparameter = "x"\nvalues = "10"\n',
            "experiments[0].values: this cannot be '10'",
        ),
        ("run = training\n", "line 1: this is not TOML"),
        ('run = "plan"\nplanner = "checkpoint"\n[parameters]\nnodes = [1]\n', "write it below [config]"),
        (
            'run = "plan"\nreplications = 1\n[parameters]\nnodes = [1]\n',
            'no planner is named; write planner = "checkpoint" below [config]',
        ),
    ],
)
def test_what_cannot_be_run_is_one_line_and_leaves_no_store(sweep: Sweep, text: str, told: str) -> None:
    code, out, error = sweep(text)
    assert (code, out) == (2, "")
    assert told in error
    assert error.count("\n") == 1
    assert not Path("store").exists()


def test_a_place_that_cannot_compute_is_told(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, error = sweep(FAILS, "--executor", "slurm")
    assert (code, "serial, threads, processes, dask" in error) == (2, True)
    assert not Path("store").exists()
    pytest.importorskip("distributed")
    monkeypatch.setattr(executors, "_PATIENCE", 0.5)
    code, _, error = sweep(FAILS, "--executor", "tcp://127.0.0.1:1")
    assert code == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in error
    assert sweep(FAILS)[0] == 1  # the same store, by this process


def test_a_cell_that_always_fails_is_kept_and_the_others_go_on(sweep: Sweep, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = sweep(FAILS)
    assert code == 1
    assert "4 runs of 1 cell failed, most often: ValueError: this cannot be" in out
    before = files(Path("store/runs")) | files(Path("store/failed"))
    assert sweep(FAILS)[:2] == (1, out.replace("1 written", "none written"))
    assert files(Path("store/runs")) | files(Path("store/failed")) == before
    assert main(["sweep", "status", "store"]) == 0
    assert "4 runs of 1 cell failed" in capfd.readouterr().out
    assert rf.campaigns.load("store").to_frame()[["runs", "failed"]].to_numpy().tolist() == [[4, 0], [0, 4], [4, 0]]
    assert sweep(FAILS.replace("[1, 2, 4]", "[1, 4]"))[0] == 0


@pytest.mark.parametrize(("kind", "told"), [("text", "'abc'"), ("list", "[1.0, 2.0]"), ("none", "None")])
def test_where_every_run_fails_the_error_is_shown(sweep: Sweep, kind: str, told: str) -> None:
    code, out, error = sweep(f'run = "{MODELS}:no_number"\nreplications = 2\n[parameters]\nx = ["{kind}"]\n')
    assert (code, error) == (1, "")
    assert "1 cell, 0 runs: no results. 2 runs of 1 cell failed" in out
    assert f"value is {told}, not a number; return a number, or several by name" in out


def test_the_store_of_another_campaign_is_left_alone(sweep: Sweep) -> None:
    sweep(FAILS)
    before = files(Path("store"))
    code, out, error = sweep(FAILS.replace("seed = 3", "seed = 4"))
    assert (code, out) == (2, "")
    assert "the store of another campaign: its seed differs; name another folder" in error
    assert files(Path("store")) == before


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("campaign.json", "{", "this is not the store of a campaign"),
        ("campaign.json", "[]", "of another format than 1"),
        ("campaign.json", '{"format": 1}', "campaign.json is damaged"),
        ("cells.parquet", "PAR1", "the cells are missing or damaged; remove this file"),
    ],
)
def test_a_damaged_store_is_told(
    sweep: Sweep, capfd: pytest.CaptureFixture[str], name: str, text: str, told: str
) -> None:
    sweep(FAILS)
    (Path("store") / name).write_text(text)
    before = files(Path("store"))
    code, _, error = sweep(FAILS)
    assert code == 2
    assert told in error
    assert main(["sweep", "status", "store"]) == 2
    assert told in capfd.readouterr().err
    assert files(Path("store")) == before


def test_a_store_that_cannot_be_written_is_told(sweep: Sweep) -> None:
    Path("store").write_text("a file")
    code, _, error = sweep(FAILS)
    assert (code, Path("store").read_text()) == (2, "a file")
    assert "cannot make store: " in error
    Path("store").unlink()
    Path("store").mkdir(mode=0o555)
    if os.access("store", os.W_OK):
        pytest.skip("this user may write everywhere")
    code, _, error = sweep(FAILS)
    assert code == 2
    assert "cannot make store: Permission denied" in error


def test_each_experiment_and_second_value_has_a_file_of_statistics(sweep: Sweep) -> None:
    experiments = "".join(
        f'[[experiments]]\nlabel = "{label}"\nparameter = "{name}"\nvalues = [1.0, 2.0]\n'
        for label, name in (("First (min)", "x"), ("Other", "scale"))
    )
    head = f'run = "{MODELS}:noisy"\nreplications = 2\nsecond = "y"\nsecond_values = [-1, 1, 2.5]\n'
    code, out, _ = sweep(head + experiments)
    assert (code, "6 files of statistics" in out) == (0, True)
    names = [f"{label}_y_{y}.csv" for label in ("first_min", "other") for y in ("-1", "1", "2.5")]
    assert sorted(path.name for path in Path("store/statistics").iterdir()) == sorted(names)
    table = pd.read_csv("store/statistics/first_min_y_2.5.csv").query("output == 'value'")
    assert table[["x", "y", "runs"]].to_numpy().tolist() == [[1.0, 2.5, 2.0], [2.0, 2.5, 2.0]]
    assert float(table["mean"].diff().iloc[1]) == pytest.approx(1.0)


def test_a_further_call_says_which_statistics_it_wrote(sweep: Sweep) -> None:
    text = f'run = "{MODELS}:noisy"\nreplications = 2\n' + "".join(
        f'[[experiments]]\nlabel = "{label}"\nparameter = "{name}"\nvalues = [1.0, 2.0]\n'
        for label, name in (("first", "x"), ("other", "y"))
    )
    assert "2 files of statistics in store/statistics, 2 written by this call" in sweep(text)[1]
    before = {path: path.stat().st_mtime_ns for path in Path("store/statistics").iterdir()}
    assert "2 files of statistics in store/statistics, none written by this call" in sweep(text)[1]
    assert before == {path: path.stat().st_mtime_ns for path in Path("store/statistics").iterdir()}
    changed = text.replace('label = "other"', 'label = "third"')
    out = sweep(changed)[1]
    assert "2 files of statistics in store/statistics, 1 written by this call" in out
    assert "1 further file there, not of this campaign: other.csv" in out


def test_a_function_that_gives_no_number_has_no_results_and_a_page(sweep: Sweep) -> None:
    text = f'run = "{MODELS}:no_value"\nreplications = 2\n[parameters]\nx = [1, 2]\n'
    assert "2 cells, 4 runs: no results: value is not a number in any run." in sweep(text)[1]
    assert main(["sweep", "report", "store", "--out", "page.html"]) == 0
    with pytest.raises(ArgumentError, match="no run gave a finite"):
        rf.campaigns.best_cells(rf.campaigns.load("store"))


@pytest.mark.parametrize("executor", ["serial", "threads", "processes", pytest.param("dask", marks=pytest.mark.verify)])
@pytest.mark.slow
@pytest.mark.long
def test_a_function_may_print_and_end_its_process(sweep: Sweep, executor: str) -> None:
    text = f'run = "{MODELS}:ends"\nreplications = 2\n[parameters]\nx = [1, 2]\n'
    code, out, _ = sweep(text, "--executor", executor, "--workers", "1", "--json")
    assert code == 1
    assert [row["runs"] for row in json.loads(out)["table"]] == [2, 0]
    assert set(rf.campaigns.load("store").failed["error"]) == {"SystemExit: 3"}


@pytest.mark.parametrize(
    ("costs", "what"),
    [
        ("5", "costs: 5 is no table"),
        ('{ save = "5min" }', "costs: missing a required argument: 'restore'"),
        (
            '{ save = "5min", restore = "5min", migrate = "1min" }',
            "got an unexpected keyword argument 'migrate'",
        ),
    ],
)
def test_a_wrong_table_of_a_planner_is_told_in_one_line(sweep: Sweep, costs: str, what: str) -> None:
    """It ended in a bare TypeError."""
    config = f'{{ planner = "migration", mtbf = "20000h", costs = {costs} }}'
    code, _, err = sweep(f'run = "plan"\nreplications = 1\nconfig = {config}\nparameters = {{ nodes = [100, 1000] }}\n')
    assert code == 2
    assert what in err
    assert "write it below [config] with save, restore, restart, migration" in err


PRICES = "PRICE = 1.0\n\n\ndef cost(x):\n    return x * PRICE\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "helper"),
    [
        (PRICES + "\ndef f(a):\n    return cost(a)\n", ""),
        ("from {helper} import cost\n\n\ndef f(a):\n    return cost(a)\n", PRICES),
        ("def f(a):\n    import {helper}\n\n    return {helper}.cost(a)\n", PRICES),
    ],
    ids=["its module", "a module beside it", "one imported within it"],
)
def test_a_store_is_refused_where_what_the_function_calls_was_changed(tmp_path: Path, own: str, helper: str) -> None:
    """Prices of 1 and 5 stood in one table: 1, 2 and 15. Another process each time, as at a prompt."""
    (tmp_path / "own.py").write_text(own.format(helper="prices"))
    (tmp_path / "prices.py").write_text(helper)
    (tmp_path / "beside.py").write_text("X = 1\n")  # not imported

    def swept(values: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "c.toml").write_text(f'run = "own:f"\nreplications = 1\n[parameters]\na = {values}\n')
        command = [sys.executable, "-m", "relfit", "sweep", "c.toml", "--store", "s", "--executor", "serial"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert swept("[1, 2]").returncode == 0
    (tmp_path / "beside.py").write_text("X = 2\n")
    assert swept("[1, 2, 3]").returncode == 0
    changed = "prices" if helper else "own"
    (tmp_path / f"{changed}.py").write_text(
        PRICES.replace("1.0", "5.0") + (tmp_path / f"{changed}.py").read_text()[len(PRICES) :]
    )
    ran = swept("[1, 2, 3, 4]")
    assert ran.returncode == 2
    assert f"its config differs (the source of {changed} was changed); name another folder" in " ".join(
        ran.stderr.split()
    )
    document = json.loads((tmp_path / "s" / "campaign.json").read_text())
    document["identity"]["config"]["source"] = "0123456789abcdef"
    (tmp_path / "s" / "campaign.json").write_text(json.dumps(document))
    assert "written before the modules of a function were compared" in " ".join(swept("[1]").stderr.split())


@pytest.mark.slow
def test_of_a_script_only_what_the_function_reaches_is_compared(tmp_path: Path) -> None:
    script = (
        PRICES
        + """
import relfit as rf
def f(a):
    return cost(a)
campaign = rf.campaigns.Campaign(run=f, parameters={"a": VALUES}, replications=1)
print(rf.campaigns.sweep(campaign, "s", executor="serial").of("value")["mean"].tolist())
"""
    )

    def ran(values: str, text: str = script) -> str:
        (tmp_path / "script.py").write_text(text.replace("VALUES", values))
        done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
        return (done.stdout or done.stderr).splitlines()[-1]

    assert ran("[1, 2]") == "[1.0, 2.0]"
    assert ran("[1, 2, 3]") == "[1.0, 2.0, 3.0]"
    assert "the source of PRICE was changed" in ran("[1, 2]", script.replace("1.0", "5.0"))
    assert "the source of cost was changed" in ran("[1, 2]", script.replace("x * PRICE", "x + PRICE"))
