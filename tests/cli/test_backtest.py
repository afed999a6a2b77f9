"""``relfit backtest``: what it prints, writes and rejects."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from relfit.cli.app import main

RACKS = [word for name in ("frame01", "frame02") for word in ("--where", f"rack={name}")]
QUICK = ["backtest", "white", *RACKS, "--since", "2003-04-01", "--parts", "forecasts", "--every", "60d"]


@pytest.mark.slow
@pytest.mark.long
def test_answer_twice_in_one_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, plot = tmp_path / "rows.csv", tmp_path / "past.png"
    texts = []
    for _ in range(2):
        assert main([*QUICK, "--out", str(out), "--plot", str(plot)]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert texts[0].startswith("Tested on all of the log, 2")
    assert "\nOver " in texts[0]
    assert "Trust: " in texts[0]
    table = pd.read_csv(out)
    assert set(table["of"]) == {"all", "cause", "rack"}
    assert plot.stat().st_size > 10_000
    assert main([*QUICK, "--out", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["backtest.csv", "rows.csv", "summary.csv"]


@pytest.mark.slow
def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--horizon", "60d", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["trust"] in ("good", "fair", "poor")
    assert {row["horizon"] for row in document["summary"]} == {1440.0}


@pytest.mark.slow
def test_what_is_not_tested_by_default_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    plain = [word for word in QUICK if word not in ("--parts", "forecasts")]
    texts = []
    for more in ([], ["--length", "12h"], ["--parts", "forecasts"]):
        assert main([*plain, *more]) == 0
        texts.append(capsys.readouterr().out)
    assert ["Jobs of" in text for text in texts] == [False, True, False]
    assert ["--parts all tests jobs, nodes and checkpoints" in text for text in texts] == [True, True, False]


@pytest.mark.slow
def test_no_mark_at_another_level(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--level", "0.95"]) == 0
    text = capsys.readouterr().out
    assert "No mark of trust at 95 %: it is given by 90 % intervals." in text
    assert "Trust: " not in text


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--parts", "weather"], "--parts 'weather'"),
        (["--horizon", "36h"], "--horizon '36h' is not a number of whole days"),
        (["--every", "soon"], "--every 'soon'"),
        (["--length", "0h"], "--length '0h'"),
        (["--level", "95"], "--level"),
        (["--until", "2003-07-01"], "take a log of"),
    ],
)
def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str], more: list[str], text: str) -> None:
    assert main([*QUICK, *more]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert text in error
