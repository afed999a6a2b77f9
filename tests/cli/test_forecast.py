from __future__ import annotations

import json

import pandas as pd
import pytest

from relfit.cli.app import main

LOG = ["forecast", "white", "--since", "2003-04-01", "--draws", "200"]


@pytest.mark.slow
def test_answer(capsys, tmp_path) -> None:
    out, plot = tmp_path / "forecast.csv", tmp_path / "forecast.png"
    assert main([*LOG, "--horizon", "30d", "--horizon", "90d", "--out", str(out), "--plot", str(plot)]) == 0
    shown = capsys.readouterr().out
    shown_in_line = " ".join(shown.split())
    assert shown_in_line.startswith("Current rates, from all of the log (2003-04-01 to 2004-10-01)")
    assert "recent weeks weigh most" in shown_in_line
    assert "\nExpect " in shown
    assert "As of 2004-10-01: " in " ".join(shown.split())
    assert "hardware" in shown
    table = pd.read_csv(out)
    assert set(table["of"]) == {"all", "system", "rack", "cause"}
    assert plot.stat().st_size > 10_000


def test_json(capsys) -> None:
    assert main([*LOG, "--horizon", "7d", "--by", "scope", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in found["table"] if row["of"] == "scope"} >= {"node", "system"}
    assert found["horizons"] == [168.0]


@pytest.mark.slow
def test_the_long_run_is_that_of_the_stable_period(capsys) -> None:
    rates = {}
    for name, more in (
        ("now", []),
        ("long run", ["--at", "long-run"]),
        ("year", ["--period", "2003-04-01/2004-04-01"]),
    ):
        assert main(["forecast", "white", "--draws", "200", "--json", *more]) == 0
        rates[name] = json.loads(capsys.readouterr().out)["basis"][0]
    assert [rates[name]["since"][:10] for name in rates] == ["2000-07-01", "2002-10-06", "2003-04-01"]
    assert rates["year"]["until"][:10] == "2004-04-01"
    long_run = rates["long run"]
    assert long_run["a_week"] == pytest.approx(long_run["a_week_before"], rel=0.01)
    assert rates["now"]["a_week"] < 0.8 * rates["now"]["a_week_before"]  # the first two years had more


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--horizon", "soon"], "--horizon 'soon'"),
        (["--horizon", "0h"], "--horizon '0h'"),
        (["--level", "95"], "--level"),
        (["--service", "1"], "--service"),
        (["--by", "colour"], "no column 'colour'"),
        (["--at", "later"], "--at 'later'"),
        (["--period", "latest"], "--period"),
    ],
)
def test_mistakes_are_one_line(capsys, more, text) -> None:
    assert main([*LOG, *more]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert text in error


def test_the_answer_is_short_and_details_have_every_cause(capsys) -> None:
    assert main(["forecast", "white", "--draws", "200"]) == 0
    short = capsys.readouterr().out
    assert short.count("\n") <= 12
    assert "--details shows all tables" in short
    assert main(["forecast", "white", "--draws", "200", "--details"]) == 0
    long = capsys.readouterr().out
    assert {line.split("  ")[0] for line in long.splitlines()} >= {"hardware", "software", "network", "human error"}
    assert "repair (h)" in long


@pytest.mark.slow
def test_a_column_that_is_asked_for_has_a_row_for_each_value_on_the_first_screen(capsys, tmp_path) -> None:
    """Only the most frequent cause was shown."""
    out = tmp_path / "rows.csv"
    assert main([*LOG, "--horizon", "90d", "--by", "cause", "--service", "0.9", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    rows = pd.read_csv(out)
    rows = rows[rows["of"] == "cause"].set_index("name")
    assert set(rows.index) == {"hardware", "software", "network", "human error", "facilities"}
    cells = {line.split("  ")[0]: line.split()[-1] for line in shown.splitlines() if line}
    assert cells["hardware"] == f"{rows.loc['hardware', 'stock']:.0f}"
    assert {cells[name] for name in set(rows.index) - {"hardware"}} == {"-"}  # no part is replaced
    assert "with probability 90 %, one per failure" in shown
    assert "Of these" not in shown
    assert main([*LOG, "--horizon", "90d", "--by", "rack"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("---")) + 1
    assert lines[first].startswith("unknown")  # of records that name no node
    assert lines[first + 20].startswith("other values")
    assert lines[first + 21].endswith("more; --out FILE writes all of them")


def test_what_the_period_is_by_default_is_told_as_it_is(capsys) -> None:
    for command in ("forecast", "backtest"):
        assert main([command, "--help"]) == 0
        assert "all by default" in " ".join(capsys.readouterr().out.split())
    assert main(["forecast", "white", "--draws", "200", "--at", "long-run"]) == 0
    assert capsys.readouterr().out.startswith("Period used: 2002-10-06 to 2004-10-01")


def test_a_group_that_is_asked_for_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Only --details had the table, and nothing said what its last row is."""
    assert main([*LOG, "--horizon", "7d", "--group", "rack"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "By rack (expected, 95 % prediction interval)" in shown
    assert "By cause (" not in shown
    assert "whole system: incidents of half the nodes or more" in shown or " more; --out FILE" in shown
