"""``--period``: one period for every command that uses one, said in its first line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.cli.app import main
from relfit.fleet import chosen_period

COMMANDS = {
    "fit": ["--per", "system", "--families", "weibull", "--resamples", "0"],
    "system": ["--k", "2"],
    "nodes": ["--work", "100h", "--parallel-fraction", "0.99", "--k-max", "4"],
    "calibrate": ["--parts", "period,mtbf"],
    "dependence": [],
    "trend": [],
    "incidents": [],
}
STABLE = ("2002-10-06", "2004-10-01")  # of the sample, where the rate falls for the last time


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["period"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.slow
def test_every_command_uses_the_stable_period_and_says_so_first(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = rf.datasets.load("white")
    headline = chosen_period(log).headline
    assert main([command, "white", *COMMANDS[command]]) == 0
    shown = " ".join(capsys.readouterr().out.split())  # wrapped to the width of the terminal
    if command == "calibrate":  # first of all the fleet as it is now
        assert shown.startswith("As of 2004-10-01: ")
        shown = shown.partition(f"since {STABLE[0]}. ")[2]
    first = shown[: len(headline)]
    assert first == headline
    assert first.startswith(f"Period used: {STABLE[0]} to {STABLE[1]} (its start lies between 2002-09-")


@pytest.mark.slow
def test_all_of_the_log_or_dates_are_used_where_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    fit = ["fit", "white", *COMMANDS["fit"]]
    assert document(capsys, *fit)["start"][:10] == STABLE[0]
    assert document(capsys, *fit, "--period", "all")["start"][:10] == "2000-07-01"
    given = document(capsys, *fit, "--period", "2003-04-01/2004-04-01")
    assert (given["name"], given["start"][:10], given["end"][:10]) == ("given", "2003-04-01", "2004-04-01")
    assert document(capsys, *fit, "--since", "2001-01-01")["start"][:10] == "2001-01-01"  # cut by hand: no search
    stable = document(capsys, *fit, "--since", "2001-01-01", "--period", "stable")
    assert stable["name"] == "steady"


@pytest.mark.slow
def test_a_job_before_the_stable_period_is_predicted_from_what_was_known_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    period = document(capsys, "system", "white", "--k", "2", "--at", "2001-12-01")
    assert period["start"][:10] < period["end"][:10] == "2001-12-01"


@pytest.mark.parametrize("period", ["latest", "2003-01-01", "/2004-01-01", "2004-01-01/2003-01-01"])
def test_wrong_periods_are_one_line(period: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", "white", "--period", period]) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert caught.err.count("\n") == 1


FIRST = {name: options for name, options in COMMANDS.items() if name not in ("dependence", "trend", "incidents")}
FIRST |= {"report": ["--out", "no/such/folder.html"]}


@pytest.mark.parametrize("command", FIRST)
def test_every_command_that_estimates_takes_first(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "white", *FIRST[command], "--first", "sometimes"]) == 2
    assert "--first 'sometimes' is not known" in capsys.readouterr().err


@pytest.mark.slow
def test_first_changes_what_is_estimated(capsys: pytest.CaptureFixture[str]) -> None:
    cut = ["white", "--since", "2004-05-01", "--json"]
    shapes = []
    for first in ("known", "always", "never"):
        assert main(["calibrate", *cut, "--families", "weibull", "--parts", "mtbf,families", "--first", first]) == 0
        shapes.append(json.loads(capsys.readouterr().out)["failure"]["parameters"]["shape"])
    assert len(set(shapes)) == 3


@pytest.mark.slow
def test_trend_is_of_the_period_that_a_fit_uses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = rf.datasets.load("white").events
    part = log[(log["start"] >= "2002-10-06") & log["node"].notna()]
    assert main(["trend", "white", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert sum(row["events"] for row in said["tables"]["outlier_nodes"]) <= len(part)
    periods = said["tables"]["periods"]
    assert [row["used"] for row in periods] == [False] * (len(periods) - 1) + [True]
    assert periods[0]["start"][:10] == "2000-07-01"  # change points are those of all of the log
    assert any(text.startswith("Within the period used, no trend of the failure rate") for text in said["findings"])
    assert main(["dependence", "white", "--period", "2004-07-01/2004-10-01", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["period"]["start"][:10] == "2004-07-01"
    assert main(["incidents", "white", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tables"]["incidents"]) < 4100  # 12 125 of all


@pytest.mark.slow
def test_trend_advises_no_period_that_a_fit_does_not_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)  # a change is seen, but when it was is hardly known: a fit uses all of the log
    days = np.sort(np.concatenate([rng.uniform(0, 200, 32), rng.uniform(200, 365, 70)]))
    start = pd.Timestamp("2003-01-01") + pd.to_timedelta(days, unit="D")
    path = tmp_path / "weak.csv"
    pd.DataFrame({"node": [f"n{i}" for i in rng.integers(10, size=days.size)], "start": start}).to_csv(
        path, index=False
    )
    for command in ("fit", "trend"):
        assert main([command, str(path), "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert (said["period"]["name"], said["period"]["start"][:10]) == ("all", "2003-01-01")
    assert len(said["tables"]["periods"]) == 2
    assert all(row["used"] for row in said["tables"]["periods"])
    assert main(["trend", str(path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith("Period used: all of the log")
    assert "when is not known well" in text
    assert "should use" not in text
    assert "use this" not in text


def test_a_period_that_ends_before_the_log_says_so(tmp_path: Path) -> None:
    """Three failures a week for two years, then eight times as many for a month: too short to be used."""
    start, rng = pd.Timestamp("2024-01-01"), np.random.default_rng(3)
    days = np.sort(np.append(rng.uniform(0.0, 731.0, 313), rng.uniform(731.0, 761.0, 103)))
    times = [f"{start + pd.Timedelta(days=float(day)):%Y-%m-%d %H:%M}" for day in days]
    pd.DataFrame({"node": [f"n{k % 40}" for k in range(days.size)], "start": times}).to_csv(
        tmp_path / "log.csv", index=False
    )
    log = rf.read(tmp_path / "log.csv", window_start="2024-01-01", window_end="2026-01-31")
    study = rf.Study(log)
    assert re.fullmatch(
        r"Period used: 2024-01-01 to (2025-12-\d\d|2026-01-0\d), the steady part of a log until 2026-01-31\.",
        study.period.headline,
    )
    for period in (study.period, study.until_now, chosen_period(log, "all")):
        assert set(json.loads(json.dumps(period.to_dict()))) >= {"start", "end", "start_low", "start_high", "headline"}
    assert study.until_now.headline.startswith("Period used: 2024-01-01 to 2026-01-31, at a steady rate until 202")


SIX = """node,start,end
cn01,2025-06-02 08:15,2025-06-02 12:15
cn07,2025-06-20 23:40,2025-06-21 01:40
cn01,2025-07-14 10:00,2025-07-14 11:00
cn12,2025-08-03 03:30,2025-08-04 03:30
cn03,2025-08-30 17:00,
cn01,2025-09-11 09:00,2025-09-11 10:00
"""


def test_until_ends_the_observation_of_a_log_whose_end_nobody_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--until` after the last record changed nothing; forecast had 5 of the 6 incidents, calibrate all."""
    (tmp_path / "six.csv").write_text(SIX, encoding="utf-8")
    said = {}
    for ends in ([], ["--until", "2025-10-01"], ["--observed", "/2025-10-01"]):
        for command in ("forecast", "calibrate"):
            assert main([command, str(tmp_path / "six.csv"), *ends]) == 0
            said[command, *ends[:1]] = " ".join(capsys.readouterr().out.split())
    for command in ("forecast", "calibrate"):  # 6 incidents in 101.07 days, or in the 120.66 until October
        assert f"{6 * 7 / 101.073:.3f} a week since 2025-06-02" in said[command,]
        assert "end with the last record, 2025-09-11 10:00: if it went on without one, --until" in said[command,]
        for option in ("--until", "--observed"):
            assert f"{6 * 7 / 120.656:.3f} a week since 2025-06-02" in said[command, option]
            assert "end with the last record" not in said[command, option]
    assert said["forecast", "--until"] == said["forecast", "--observed"]
    log = rf.read(tmp_path / "six.csv")
    later = log.between(until="2025-10-01")
    assert later.events.loc[4, "end"] == later.window.end  # cn03 is down all the while
    assert later.window.end == pd.Timestamp("2025-10-01", tz="UTC") == later.population["left"].min()
    assert later.between(until="2025-11-01").window.end == later.window.end  # now it is known
    assert rf.datasets.load("white").between(until="2005-01-01").window.end == pd.Timestamp("2004-10-01", tz="UTC")
    with pytest.raises(ArgumentError, match="still to come"):
        log.between(until="2250-01-01")


def test_six_rows_say_what_they_do_not_know(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mean repair of 5.84 days, of which four took hours and one goes on, had no limits; "cn01 to not seen 1"."""
    (tmp_path / "six.csv").write_text(SIX, encoding="utf-8")
    words = [str(tmp_path / "six.csv"), "--n-nodes", "16", "--observed", "2025-06-01/2025-10-01"]
    said = {}
    for command, *more in (["calibrate"], ["trend"], ["system", "--k", "8"], ["forecast", "--json"]):
        assert main([command, *words, *more]) == 0
        said[command] = " ".join(capsys.readouterr().out.split())
    assert re.search(r"a repair takes [\d.]+ days on average \(\S+ to \d+ days: hardly known\)", said["calibrate"])
    assert "6 failures are too few to rule out any other" in said["trend"]
    assert "These are cn01, cn07, cn12 and 5 nodes without a failure." in said["system"]
    assert not re.search(r"-0\.0\b", said["forecast"])
