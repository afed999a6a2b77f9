"""Fits of stored logs part by part: the numbers of the whole log, whatever the files and the order of rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.cli.app import main
from relfit.io import node_parts

Files = Callable[[rf.FailureLog, Path], None]


def one_file(log: rf.FailureLog, folder: Path) -> None:
    rf.write(log, folder / "all.parquet")


def by_year(log: rf.FailureLog, folder: Path) -> None:
    folder.rmdir()
    rf.write(log, folder, by="year")


def shuffled(log: rf.FailureLog, folder: Path) -> None:
    """Rows anywhere in five files, some in two of them, once with an end and once without."""
    rng = np.random.default_rng(0)
    file = rng.integers(0, 5, len(log))
    for i in range(5):
        rows = rng.permutation(np.flatnonzero(file == i))
        events = log.events.iloc[rows].reset_index(drop=True)
        if i == 4:
            again = log.events[file == 2].iloc[:400]
            events = pd.concat([events, again.assign(end=again["end"].where(again.index % 2 == 0))], ignore_index=True)
        rf.write(replace(log, events=events, source=rf.log.failurelog.Source()), folder / f"{i}.parquet")


def exports_that_overlap(log: rf.FailureLog, folder: Path) -> None:
    rf.write(log.between(until="2003-01-01"), folder / "early.parquet")
    rf.write(log.between(since="2002-06-01"), folder / "late.parquet")


def expected_of(log: rf.FailureLog, measure: str = "ttf", **options: Any) -> pd.DataFrame:
    times = log.ttf() if measure == "ttf" else log.ttr()
    return rf.fit(times, n_resamples=0, **options).to_frame()


def assert_whole(path: Path, expected: pd.DataFrame) -> None:
    """The same rows in another order."""
    keys = ["system", "node", "family"]
    found = pd.read_parquet(path).sort_values(keys, ignore_index=True)
    expected = expected.astype(dict.fromkeys(keys, str)).sort_values(keys, ignore_index=True)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-7, atol=0.0)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of a thousand rows: thirteen of the sample."""
    monkeypatch.setattr(node_parts, "_ROWS", 1000)


@pytest.mark.parametrize("files", [one_file, by_year, shuffled, exports_that_overlap])
@pytest.mark.usefixtures("small_parts")
@pytest.mark.slow
@pytest.mark.long
def test_equal_to_the_log_in_memory(files: Files, tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    files(rf.datasets.load("white"), folder)
    fits = rf.fitting.fit_stored(folder, tmp_path / "fits.parquet", workers=2)
    log = rf.read(folder)
    assert_whole(fits.path, expected_of(log))
    whole = rf.fit(log, n_resamples=0)
    assert (fits.groups, fits.durations) == (len(whole), int(whole.lives.n_lives.sum()))
    assert fits.status["best"].to_dict() == whole.best().value_counts().to_dict()
    for family in whole.families:
        assert fits.status.loc[family, "ok"] == whole[family].ok.sum()
    assert whole.lives.counts is not None
    assert fits.left_out == {str(name): number for name, number in whole.lives.counts.sum().items() if number}
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


@pytest.mark.usefixtures("small_parts")
@pytest.mark.slow
def test_a_period_and_times_to_repair(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    shuffled(rf.datasets.load("white"), folder)
    span = ("2003-01-01", "2004-01-01")
    options = {"families": ["weibull"], "level": 0.9}
    fits = rf.fitting.fit_stored(
        folder, tmp_path / "fits.parquet", measure="ttr", since=span[0], until=span[1], workers=1, **options
    )
    assert_whole(fits.path, expected_of(rf.read(folder).between(*span), "ttr", **options))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.slow
def test_nodes_without_a_row_and_rows_of_no_listed_node(tmp_path: Path) -> None:
    log = rf.datasets.load("white")
    events = log.events[log.events["node"].astype(object) != "n007"].reset_index(drop=True)
    people = log.population[log.population["node"].astype(object) != "n008"].reset_index(drop=True)
    log = replace(log, events=events, population=people, source=rf.log.failurelog.Source())
    rf.write(log, tmp_path / "log.parquet")
    fits = rf.fitting.fit_stored(tmp_path / "log.parquet", tmp_path / "fits.parquet", ["weibull"], workers=1)
    assert_whole(fits.path, expected_of(log, families=["weibull"]))
    assert fits.groups == 512


def seen_only(nodes: int = 300) -> rf.FailureLog:
    """A log that lists no nodes, and in which most have one record."""
    rng = np.random.default_rng(1)
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**7, nodes + 50), unit="s")
    names = [f"n{i}" for i in range(nodes)] + [f"n{i}" for i in range(50)]
    return rf.read(pd.DataFrame({"node": names, "start": start, "end": start + pd.Timedelta(hours=1)}))


def test_asks_how_many_nodes_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_parts, "_ROWS", 40)
    log = seen_only()
    rf.write(log, tmp_path / "log.parquet")
    fits = rf.fitting.fit_stored(tmp_path / "log.parquet", tmp_path / "fits.parquet", ["exponential"], workers=1)
    assert log.question is not None
    assert fits.notes[0] == log.question


def test_refuses_logs_without_ends(tmp_path: Path) -> None:
    log = rf.datasets.load("white")
    log = replace(log, events=log.events.assign(end=log.events["end"].where(log.events.index % 2 == 1)))
    rf.write(log, tmp_path / "log.parquet")
    with pytest.raises(rf.DataError, match="most records have no end"):
        rf.fitting.fit_stored(tmp_path / "log.parquet", tmp_path / "fits.parquet", ["weibull"], workers=1)
    assert [file.name for file in tmp_path.iterdir()] == ["log.parquet"]


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_refuses_what_others_wrote_and_what_is_damaged(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    by_year(rf.datasets.load("white"), folder)
    damaged = folder / "2003.parquet"
    data = bytearray(damaged.read_bytes())
    data[2000:2100] = bytes(100)
    damaged.write_bytes(data)
    with pytest.raises(rf.ReadError, match=r"2003\.parquet.* damaged"):
        rf.fitting.fit_stored(folder, tmp_path / "fits.parquet", ["weibull"], workers=2)
    pd.DataFrame({"node": ["a"], "start": ["2024-01-01"]}).to_parquet(damaged)
    with pytest.raises(rf.ReadError, match=r"2003\.parquet.*relfit convert"):
        rf.fitting.fit_stored(folder, tmp_path / "fits.parquet", ["weibull"], workers=1)
    assert [file.name for file in tmp_path.iterdir()] == ["log"]


@pytest.mark.slow
@pytest.mark.long
def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored, out = str(tmp_path / "log"), str(tmp_path / "fits.parquet")
    assert main(["convert", "white", "--out", stored, "--by", "year"]) == 0
    capsys.readouterr()
    assert main(["fit", stored, "--stream", "--period", "all", "--out", out, "--families", "weibull", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["groups"] == 512
    assert document["findings"][0].startswith("1 family of 512 nodes, ")
    assert main(["fit", stored, "--stream", "--since", "2003-01-01", "--out", out, "--families", "weibull"]) == 0
    assert_whole(Path(out), expected_of(rf.read(stored).between("2003-01-01"), families=["weibull"]))


def test_a_data_set_by_name_is_no_stored_log(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "white", "--stream", "--period", "all", "--out", "fits.parquet"]) == 2
    assert "relfit convert white" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ["--period", "all"],
        ["--out", "fits.parquet"],
        ["--out", "fits.csv", "--period", "all"],
        ["--out", "fits.parquet", "--period", "all", "--per", "rack"],
        ["--out", "fits.parquet", "--period", "all", "--where", "cause=hardware"],
        ["--out", "fits.parquet", "--period", "all", "--resamples", "199"],
        ["--out", "fits.parquet", "--period", "all", "--failures", "state=DOWN"],
        ["--out", "fits.parquet", "--period", "2003-01-01/2004-01-01", "--since", "2003-02-01"],
    ],
)
def test_options_that_do_not_go_together(
    options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rf.write(rf.datasets.load("white"), tmp_path / "log.parquet")
    assert main(["fit", "log.parquet", "--stream", *options]) == 2
    assert "--stream" in capsys.readouterr().err
    assert not Path("fits.parquet").exists()
