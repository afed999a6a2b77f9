"""``relfit validate``: what it prints, writes and rejects."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from relfit.cli.app import main

QUICK = ["validate", "white", "--size", "4", "--size", "64", "--length", "24h", "--jobs", "100"]


def test_answer_table_and_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, figure = tmp_path / "cells.csv", tmp_path / "calibration.png"
    assert main([*QUICK, "--placement", "random", "--out", str(table), "--plot", str(figure)]) == 0
    text = capsys.readouterr().out
    assert "The model " in text
    assert text.startswith("Period used: 2002-10-0")  # the stable period before the split
    assert "Held out: 2003-09-08 to 2004-10-01." in " ".join(text.split())  # the last quarter of the log
    cells = pd.read_csv(table)
    assert cells["size"].tolist() == [4, 64]
    assert set(cells["placement"]) == {"random"}
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_json_is_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    import relfit as rf

    assert main([*QUICK, "--period", "all", "--split", "2003-01-01", "--seed", "3", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = rf.replay(
        rf.datasets.load("white"), "2003-01-01", sizes=[4, 64], lengths=["24h"], jobs=100, rng=3, period="all"
    )
    assert document["jobs"] == found.n_jobs
    assert document["fails"] is found.fails
    assert document["premise"] == found.premise
    assert document["findings"][0] == found.headline
    assert document["cells"][0]["error"] == pytest.approx(found.cells["error"][0])


MISTAKES = {
    "--split 1.5": "is no share of the log",
    "--split never": "is not a date",
    "--split 2030": "is outside the log",
    "--size 100000": "a job of 100000 nodes on 512 nodes",
    "--size 0": "give a whole number from 1 on",
    "--length long": "is not a duration",
    "--length 9000h": "too short for jobs",
    "--placement heap": "placements=['heap'] are not known",
    "--level 95": "did you mean 0.95",
    "--plot figure.doc": "figure.doc",
}


@pytest.mark.parametrize(("arguments", "complaint"), MISTAKES.items())
def test_mistakes(arguments: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "white", *arguments.split()]) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err.count("\n") == 1
    assert complaint in caught.err


def test_the_command_and_the_function_choose_one_period(capsys: pytest.CaptureFixture[str]) -> None:
    import relfit as rf

    assert main([*QUICK, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = rf.replay(rf.datasets.load("white"), sizes=[4, 64], lengths=["24h"], jobs=100)
    assert document["premise"] == found.premise
    assert document["p"] == found.p
    assert not found.fails
