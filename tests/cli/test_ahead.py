"""``relfit fit --ahead``: failures among the units of a table of lives that still run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from relfit.cli.app import main


@pytest.fixture
def lives(tmp_path: Path) -> tuple[str, float]:
    """A table of exponential lives, and how many of those that run fail within 500 hours on average, by hand."""
    ages = np.array([100.0, 400.0, 900.0, 1000.0, 1000.0, 1000.0, 700.0, 300.0])
    failed = np.array([True, True, True, False, False, False, False, True])
    path = tmp_path / "fans.csv"
    rows = [f"fan{i},{age:g},{'yes' if end else 'no'}" for i, (age, end) in enumerate(zip(ages, failed, strict=True))]
    path.write_text("\n".join(["unit,hours,failed", *rows]) + "\n", encoding="utf-8")
    return str(path), float(4 * -np.expm1(-500.0 * failed.sum() / ages.sum()))


def test_the_command_predicts_and_gives_no_dates(lives: tuple[str, float], capsys: pytest.CaptureFixture[str]) -> None:
    path, expected = lives
    asked = ["fit", path, "--unit", "hours", "--families", "exponential", "--ahead", "500h", "--ahead", "1000h"]
    assert main([*asked, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["ahead"]
    assert [row["hours"] for row in rows] == [500.0, 1000.0]
    assert rows[0]["running"] == 4
    assert rows[0]["expected"] == pytest.approx(expected)
    assert rows[0]["low"] <= expected <= rows[0]["high"] <= 4.0
    assert main(asked) == 0
    said = capsys.readouterr().out
    assert said.startswith("Period used: all of the log (lifetimes are not cut in time).\n")
    assert "Failures ahead among units that run" in said
    assert "1970" not in said


def test_where_no_unit_runs_a_line_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "all.csv"
    path.write_text("unit,hours,failed\na,5,yes\nb,9,yes\nc,12,yes\n", encoding="utf-8")
    assert main(["fit", str(path), "--unit", "hours", "--families", "weibull", "--ahead", "5d"]) == 0
    assert capsys.readouterr().out.endswith("number\nno unit runs\n")
    assert main(["fit", str(path), "--unit", "hours", "--measure", "ttr", "--ahead", "5d"]) == 2
    assert "--ahead has no effect here" in capsys.readouterr().err


def test_a_time_that_is_none_names_the_option(lives: tuple[str, float], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", lives[0], "--unit", "hours", "--ahead", "0d"]) == 2
    assert "--ahead '0d' is zero" in capsys.readouterr().err
