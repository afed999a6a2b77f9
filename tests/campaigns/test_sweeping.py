"""The same results whoever computes, in any order, after any interruption; nothing lost, nothing counted twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.cli.progress import ProgressSteps
from relfit.cli.sweep_command import _progress
from relfit.simulation.campaigns import executors, sweeping

MODELS = "tests.campaigns.models"


def campaign(function: str = "noisy", **given: Any) -> Any:
    return rf.campaigns.Campaign(run=f"{MODELS}:{function}", **{"replications": 12, "seed": 3, **given})


def by_hand(seed: int, x: float, n: int) -> list[float]:
    """What `models.noisy` gives, from numpy alone."""
    sequences = (np.random.SeedSequence(seed, spawn_key=(r,)) for r in range(n))
    return [x + np.random.default_rng(sequence).standard_normal() for sequence in sequences]


def test_replications_have_streams_of_their_own_that_cells_share(tmp_path: Path) -> None:
    result = rf.campaigns.sweep(campaign(parameters={"x": [1.0, 5.0]}), tmp_path / "s", executor="serial")
    np.testing.assert_allclose(result.samples("value").to_numpy(), [by_hand(3, 1.0, 12), by_hand(3, 5.0, 12)])
    assert result.missing == 0
    frame = result.to_frame()
    np.testing.assert_allclose(frame["value_mean"], [np.mean(by_hand(3, x, 12)) for x in (1.0, 5.0)])


@pytest.mark.parametrize(
    "executor",
    ["threads", pytest.param("processes", marks=pytest.mark.slow), pytest.param("dask", marks=pytest.mark.verify)],
)
@pytest.mark.long
def test_whoever_computes_the_same_comes_out(tmp_path: Path, executor: str) -> None:
    plan = campaign(parameters={"x": [1.0, 2.0, 3.0], "y": [0.0, 0.5]})
    serial = rf.campaigns.sweep(plan, tmp_path / "serial", executor="serial").to_frame()
    other = rf.campaigns.sweep(plan, tmp_path / executor, executor=executor, workers=2).to_frame()
    pd.testing.assert_frame_equal(serial, other, check_exact=True)


def test_without_a_store_the_answers_are_in_memory_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = rf.campaigns.sweep(campaign(parameters={"x": [1.0, 5.0]}), executor="threads", workers=2)
    np.testing.assert_allclose(result.samples("value").to_numpy(), [by_hand(3, 1.0, 12), by_hand(3, 5.0, 12)])
    assert not list(tmp_path.iterdir())


def stop_after(n: int) -> Callable[[], bool]:
    """A function that says to stop when it was asked so often."""
    left = iter(range(n))
    return lambda: next(left, None) is None


def test_a_second_call_goes_on_after_any_interruption(tmp_path: Path) -> None:
    plan = campaign(parameters={"x": [1.0, 2.0, 3.0]})
    at_once = rf.campaigns.sweep(plan, tmp_path / "a", executor="serial").to_frame()
    before = -1
    for _ in range(60):
        result = rf.campaigns.sweep(plan, tmp_path / "b", executor="serial", stopped=stop_after(9))
        assert len(result.runs) >= before
        before = len(result.runs)
        if not result.missing:
            break
    assert result.missing == 0
    pd.testing.assert_frame_equal(at_once, result.to_frame(), check_exact=True)


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    plan = campaign("counted", parameters={"x": [1, 2]}, config={"folder": str(tmp_path / "runs")})
    for _ in range(3):
        rf.campaigns.sweep(plan, tmp_path / "s", executor="serial")
    assert len(list((tmp_path / "runs").iterdir())) == 24


def test_a_changed_campaign_adds_what_is_missing_and_says_what_no_longer_belongs(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    config = {"folder": str(tmp_path / "runs")}
    first = campaign("counted", parameters={"x": [1, 2]}, config=config)
    rf.campaigns.sweep(first, tmp_path / "s", executor="serial")
    second = campaign("counted", parameters={"x": [2, 3]}, config=config, replications=14)
    result = rf.campaigns.sweep(second, tmp_path / "s", executor="serial")
    assert len(list((tmp_path / "runs").iterdir())) == 24 + 2 + 14
    assert result.to_frame()["x"].tolist() == [2, 3]
    assert result.to_frame()["runs"].tolist() == [14, 14]
    assert "1 cell no longer belong" in " ".join(result.notes)
    assert "12 runs" in " ".join(result.notes)
    fewer = rf.campaigns.sweep(campaign("counted", parameters={"x": [1]}, config=config), tmp_path / "s")
    assert fewer.to_frame()["runs"].tolist() == [12]
    assert len(list((tmp_path / "runs").iterdir())) == 40


@pytest.mark.parametrize("change", [{"seed": 4}, {"config": {"y": 1.0}}, {"function": "product"}])
def test_the_store_of_another_campaign_is_refused_and_left_alone(tmp_path: Path, change: dict[str, Any]) -> None:
    rf.campaigns.sweep(campaign(parameters={"x": [1.0]}), tmp_path / "s", executor="serial")
    files = {path: path.read_bytes() for path in (tmp_path / "s").rglob("*") if path.is_file()}
    parameters = {"a": [1.0], "b": [1.0]} if "function" in change else {"x": [1.0]}
    with pytest.raises(ArgumentError, match="store of another campaign"):
        rf.campaigns.sweep(campaign(**{"parameters": parameters, **change}), tmp_path / "s", executor="serial")
    assert files == {path: path.read_bytes() for path in (tmp_path / "s").rglob("*") if path.is_file()}


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(ArgumentError, match=r"letter\.txt"):
        rf.campaigns.sweep(campaign(parameters={"x": [1.0]}), tmp_path, executor="serial")


def test_a_half_written_part_is_left_out_and_done_again(tmp_path: Path) -> None:
    plan = campaign(parameters={"x": [1.0, 2.0]})
    whole = rf.campaigns.sweep(plan, tmp_path / "s", executor="serial").to_frame()
    (part,) = (tmp_path / "s" / "runs").glob("*.parquet")
    part.write_bytes(part.read_bytes()[:-20])
    result = rf.campaigns.load(tmp_path / "s")
    assert result.missing == 24
    assert part.name in " ".join(result.notes)
    again = rf.campaigns.sweep(plan, tmp_path / "s", executor="serial")
    pd.testing.assert_frame_equal(whole, again.to_frame(), check_exact=True)


def test_runs_that_are_there_twice_count_once(tmp_path: Path) -> None:
    plan = campaign(parameters={"x": [1.0, 2.0]})
    whole = rf.campaigns.sweep(plan, tmp_path / "s", executor="serial").to_frame()
    (part,) = (tmp_path / "s" / "runs").glob("*.parquet")
    (part.parent / "another-writer.parquet").write_bytes(part.read_bytes())
    again = rf.campaigns.load(tmp_path / "s")
    assert len(again.runs) == 24
    pd.testing.assert_frame_equal(whole, again.to_frame(), check_exact=True)


def test_a_cell_that_fails_is_kept_with_its_error_and_the_rest_goes_on(tmp_path: Path) -> None:
    plan = campaign("fails_at", parameters={"x": [1, 2, 3]}, replications=40)
    result = rf.campaigns.sweep(plan, tmp_path / "s", executor="serial")
    chance = [np.random.default_rng(np.random.SeedSequence(3, spawn_key=(r,))).random() < 0.3 for r in range(40)]
    assert result.to_frame()["failed"].tolist() == [0, 40, sum(chance)]
    assert result.to_frame()["runs"].tolist() == [40, 0, 40 - sum(chance)]
    assert result.missing == 0
    assert set(result.failed["error"]) == {"ValueError: this cannot be"}
    assert "failed" in result.findings[1]
    assert np.isnan(result.to_frame()["value_mean"][1])
    assert rf.campaigns.sweep(plan, tmp_path / "s", executor="serial").missing == 0


@pytest.mark.verify
def test_a_run_that_ends_its_process_again_and_again_has_failed(tmp_path: Path) -> None:
    plan = campaign("dies", parameters={"x": [1, 2, 3]}, replications=2)
    result = rf.campaigns.sweep(plan, tmp_path / "s", executor="processes", workers=2)
    assert result.to_frame()["failed"].tolist() == [0, 2, 0]
    assert "the process that ran it ended" in result.failed["error"][0]


@pytest.mark.slow
def test_replications_until_the_interval_is_narrow(tmp_path: Path) -> None:
    until = {"output": "value", "width": 0.1, "at_most": 200}
    plan = campaign(parameters={"x": [10.0], "scale": [0.1, 1.0, 50.0]}, replications=8, until=until)
    result = rf.campaigns.sweep(plan, tmp_path / "s", executor="serial")
    table = result.of("value")
    narrow = (table["high"] - table["low"]) / table["mean"] <= 0.1
    assert table["runs"][0] == 8
    assert 8 < table["runs"][1] < 200
    assert table["runs"][2] == 200
    assert narrow.tolist() == [True, True, False]
    assert result.missing == 0
    stopped = rf.campaigns.sweep(plan, tmp_path / "t", executor="serial", stopped=stop_after(25))
    assert stopped.missing
    again = rf.campaigns.sweep(plan, tmp_path / "t", executor="serial")
    pd.testing.assert_frame_equal(result.to_frame(), again.to_frame(), check_exact=True)


def test_a_full_disk_loses_nothing_that_was_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    plan = campaign(parameters={"x": [1.0, 2.0]})
    rf.campaigns.sweep(plan, tmp_path / "s", executor="serial", stopped=stop_after(4))
    before = len(rf.campaigns.load(tmp_path / "s").runs)
    real = pq.write_table

    def full(table: Any, where: Any, **options: Any) -> None:
        real(table.slice(0, 1), where, **options)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(ArgumentError, match="No space left"):
        rf.campaigns.sweep(plan, tmp_path / "s", executor="serial")
    monkeypatch.undo()
    assert len(rf.campaigns.load(tmp_path / "s").runs) == before
    assert not [path for path in (tmp_path / "s" / "runs").iterdir() if path.name.endswith(".part")]
    assert rf.campaigns.sweep(plan, tmp_path / "s", executor="serial").missing == 0


def test_pandas_reads_the_parts_while_it_runs(tmp_path: Path) -> None:
    rf.campaigns.sweep(campaign(parameters={"x": [1.0, 2.0]}), tmp_path / "s", executor="serial")
    runs, cells = pd.read_parquet(tmp_path / "s" / "runs"), pd.read_parquet(tmp_path / "s" / "cells.parquet")
    means = runs.merge(cells, on="cell").groupby("value.x")["value"].mean()
    np.testing.assert_allclose(means, [np.mean(by_hand(3, x, 12)) for x in (1.0, 2.0)])


def test_a_signal_after_the_last_word_of_a_stopped_sweep_changes_nothing() -> None:
    lines = [
        "import os, signal, sys, time, atexit",
        "from relfit.cli.sweep_command import _stopping",
        "with _stopping(serial=False) as signals:",
        "    os.kill(os.getpid(), signal.SIGINT)",
        "    time.sleep(0.1)",
        "assert signals == [signal.SIGINT]",
        "class Late:",
        "    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGINT): kill(pid, number)",
        "late = Late()",
        "os.kill(os.getpid(), signal.SIGINT)",
        "sys.exit(75)",
    ]
    assert subprocess.run([sys.executable, "-c", "\n".join(lines)], check=False).returncode == 75


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "times", "executor", "status"),
    [
        (signal.SIGINT, 2, "processes", 130),
        pytest.param(signal.SIGTERM, 1, "processes", 75, marks=pytest.mark.verify),
        pytest.param(signal.SIGINT, 1, "processes", 75, marks=pytest.mark.verify),
        pytest.param(signal.SIGINT, 2, "serial", 130, marks=pytest.mark.verify),
        pytest.param(signal.SIGINT, 2, "threads", 130, marks=pytest.mark.verify),
        pytest.param(signal.SIGINT, 2, "dask", 130, marks=pytest.mark.verify),
    ],
)
@pytest.mark.long
def test_a_signal_keeps_what_is_done_and_says_how_to_go_on(
    tmp_path: Path, root: Path, number: int, times: int, executor: str, status: int
) -> None:
    path = tmp_path / "c.toml"
    path.write_text(
        f'run = "{MODELS}:slow"\nreplications = 16\nseed = 3\n[parameters]\nx = [1, 2, 3]\nseconds = [0.2]\n',
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "relfit", "sweep", str(path), "--store", str(tmp_path / "s"), "--workers", "2"]
    command += ["--executor", executor]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    process = subprocess.Popen(command, cwd=root, env=environment, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.time() + 60
    while not list((tmp_path / "s").glob("runs/[!.]*")) and time.time() < deadline:
        time.sleep(0.1)
    for _ in range(times):
        os.killpg(process.pid, number) if number == signal.SIGINT else process.terminate()
        time.sleep(0.1)
    assert process.stderr is not None
    told = process.stderr.read().decode()
    assert process.wait(30) in (status, 75), told  # 75: the sweep had ended when the second signal came
    *progress, last = told.splitlines()
    assert "go on with: relfit sweep" in last
    assert "--workers 2" in last
    assert all(line.endswith(("stored", "left", " workers")) for line in progress), told
    assert not list((tmp_path / "s").rglob("*.part"))
    stored = len(rf.campaigns.load(tmp_path / "s").runs)
    assert 0 < stored < 48
    again = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False)
    assert again.returncode == 0, again.stderr
    drawn = [np.random.default_rng(np.random.SeedSequence(3, spawn_key=(r,))).random() for r in range(16)]
    samples = rf.campaigns.load(tmp_path / "s").samples("value").to_numpy()
    np.testing.assert_array_equal(samples, np.add.outer([1, 2, 3], drawn))


def test_workers_are_announced_and_what_they_do_at_a_stop_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Workers(executors._Threads):
        here, starts = False, True  # as processes

    begun: list[float] = []
    told: list[str] = []

    def slow(x: float) -> float:
        begun.append(x)
        time.sleep(0.5)
        return x

    monkeypatch.setattr(sweeping, "computing", lambda *a: Workers(a[2], a[1]))
    plan = rf.campaigns.Campaign(run=slow, replications=1, parameters={"x": [1.0, 2.0, 3.0]})
    result = rf.campaigns.sweep(
        plan, tmp_path / "s", workers=2, stopped=lambda: bool(begun), progress=lambda text, _: told.append(text)
    )
    assert told[0] == "starting 2 workers"
    assert 1 <= len(result.runs) < 3
    assert result.missing == 3 - len(result.runs)


def test_the_command_says_at_once_that_workers_start(capsys: pytest.CaptureFixture[str]) -> None:
    say = _progress(ProgressSteps("computing"))
    say("starting 2 workers", 0.0)
    say("0 of 240 runs stored", 0.0)
    assert capsys.readouterr().err == "relfit: starting 2 workers\n"


def test_one_after_the_other_is_one_at_a_time() -> None:
    assert executors.Computing(lambda *_: None, 3).slots == 1
