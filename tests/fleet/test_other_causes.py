"""Causes that a table of a forecast leaves out: together they are one row, so that its rows add up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.base.text import number, percent
from relfit.cli.app import main
from relfit.cli.output import table
from tests.fleet.test_forecast import failing

CAUSES = ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k")


@pytest.fixture(scope="module")
def ahead() -> rf.fleet.Forecast:
    log = failing(np.full((40, 300), 0.05), seed=4, causes=CAUSES)
    return rf.forecast(log, ["30d", "90d"], level=0.9)


def _first(text: str) -> float:
    return float(text.partition(" ")[0].replace(",", ""))


def test_rows_of_the_compact_table_add_up(ahead: rf.fleet.Forecast) -> None:
    compact = ahead.compact()
    assert compact.index.tolist()[6:] == ["other causes", "hours of repair"]
    shown = compact["next 30 days"].map(_first)
    assert shown.iloc[1:7].sum() == pytest.approx(shown.iloc[0], rel=0.01)
    assert compact.loc["other causes", "stock"] == ""


def test_other_causes_are_the_sum_of_the_others(ahead: rf.fleet.Forecast) -> None:
    for most in (1, 5, 9):
        for _, row in ahead.others_beside(most).iterrows():
            causes = ahead.by_cause[ahead.by_cause["horizon"] == row["horizon"]].set_index("name")
            ranked = ahead.by_cause[ahead.by_cause["horizon"] == 2160.0].sort_values("failures", ascending=False)
            rest = causes.loc[ranked["name"].iloc[most:]]
            assert row["failures"] == pytest.approx(rest["failures"].sum())
            assert row["repair_hours"] == pytest.approx(rest["repair_hours"].sum())
            # of independent counts about the mean: a wider interval than of one, a narrower one than the sum of all
            width = row["failures_high"] - row["failures_low"]
            widths = rest["failures_high"] - rest["failures_low"]
            assert widths.max() <= width < widths.sum()
            assert row["failures_low"] < row["failures"] < row["failures_high"]
    assert not len(ahead.others_beside(10))  # one is left, which has its own row
    assert not len(ahead.others_beside(11))


def test_the_command_shows_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "log.parquet")
    log = failing(np.full((40, 300), 0.05), seed=4, causes=CAUSES)
    log = rf.FailureLog(log.events.drop(columns="rack"), log.population, log.window)
    rf.write(log, path)
    main(["forecast", path, "--details", "--draws", "200"])
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split("  ") for line in lines[lines.index(next(x for x in lines if x.startswith("By cause"))) :]]
    rows = [[cell for cell in row if cell] for row in rows]
    assert sum(row[0] == "other causes" for row in rows if row) == 2
    with pytest.raises(ArgumentError, match="no column 'rack', nodes have it; give group='rack'"):
        rf.forecast(log, by="rack")
    assert main(["forecast", path, "--by", "rack"]) == 2
    assert "give --group rack" in " ".join(capsys.readouterr().err.split())


def test_no_zero_has_a_minus() -> None:
    assert [number(value) for value in (-0.0, -0.5, 0.0)] == ["0", "-0.5", "0"]
    assert [percent(value) for value in (-0.0, -0.001)] == ["0 %", "-0.1 %"]
    assert percent(-0.0001, 1) == "0.0 %"
    frame = pd.DataFrame({"x": [-0.0, -1e-9]})
    assert table(frame)[2].strip() == "0"
