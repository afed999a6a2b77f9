"""What a newcomer meets on the command line: units, formats, fits of all nodes together, orders of nodes."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.cli.app import main


def test_six_m_is_no_half_year(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forecast", "white", "--horizon", "6m"]) == 2
    assert "6 minutes is below an hour; m means minutes: write 180d" in " ".join(capsys.readouterr().err.split())
    assert main(["forecast", "white", "--horizon", "6months"]) == 2
    assert "write it in min, h, d or weeks" in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
@pytest.mark.long
def test_the_rate_since_a_date_is_that_since_this_date() -> None:
    """Short steps reach back 20,000 hours; the log is longer. By count of the incidents since the date that is told."""
    log = rf.datasets.load("white")
    basis = rf.forecast(log, "1h", n_draws=100).basis.iloc[0]
    assert (log.window.end - basis["since"]).total_seconds() / 3600.0 == 20_000.0
    begun = rf.incidents(log).table["start"]
    weeks = (log.window.end - basis["since"]).total_seconds() / 3600.0 / 168.0
    assert basis["a_week_before"] == pytest.approx((begun >= basis["since"]).sum() / weeks)


def test_convert_says_how_to_get_a_table(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    assert main(["convert", "white", "--out", "a.csv"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "convert writes relfit's own Parquet" in told
    assert "relfit incidents LOG --out FILE.csv" in told


def test_a_fit_of_all_nodes_together_stands_for_each(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    (here / "all.csv").write_text("group,family,status,shape,scale\nall,weibull,ok,1.4,4000\n")
    assert main(["system", "all.csv", "--k", "8"]) == 0
    told = capsys.readouterr().out
    mean = 4000.0 / 8 ** (1 / 1.4) * math.gamma(1 + 1 / 1.4)  # of the first of eight
    assert told.startswith(f"8 nodes run for {mean:.0f} hours")
    assert "8 nodes alike: the fit is of all nodes together" in told


def test_the_best_nodes_come_with_the_reason_of_their_order(capsys: pytest.CaptureFixture[str], log_file: Path) -> None:
    log = ["system", str(log_file), "--where", "system=20", "--k", "2", "--best"]
    assert main(log) == 0
    assert "Order: by rate and by time since the last repair" in " ".join(capsys.readouterr().out.split())
    assert main([*log, "--age", "0h"]) == 0
    assert "Order:" not in capsys.readouterr().out


def test_an_export_says_that_it_has_no_causes(capsys: pytest.CaptureFixture[str], log_file: Path) -> None:
    assert main(["calibrate", str(log_file), "--parts", "mtbf", "--export", "fta=trace"]) == 0
    assert "trace, without causes" in " ".join(capsys.readouterr().out.split())


def test_causes_that_share_their_hours_have_no_line_together(tmp_path: Path, capsys) -> None:
    path = tmp_path / "lives.csv"
    path.write_text("node,hours,obs,cause\n" + "".join(f"n{i},{100 + i},1,{'ab'[i % 2]}\n" for i in range(40)))
    for log, options in ((str(path), []), ("white", ["--families", "exponential"])):
        assert main(["fit", log, "--per", "cause", *options]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "together: " not in text
        assert "share the same hours" in text
    assert main(["fit", str(path), "--per", "all"]) == 0
    assert f"Observed: mean {np.mean(100 + np.arange(40)):.3g} h" in capsys.readouterr().out


def test_one_sample_that_cannot_be_fitted_is_not_to_be_pooled(tmp_path: Path, capsys) -> None:
    path = tmp_path / "lives.csv"
    path.write_text("node,hours,obs\na,100,0\nb,200,0\n")
    assert main(["fit", str(path), "--per", "all"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    # with a mean of 81.3 hours, 300 hours without a failure have the probability exp(-300 / 81.3) = 0.025
    assert "No failure in 300 h: an exponential has a mean above 81.3 h (95 % interval)." in text
    assert "pools" not in text


def test_a_table_of_which_some_units_still_run(tmp_path: Path, capsys) -> None:
    """Of 280 units 250 failed once: their number says nothing of how many more there are, here and in a period."""
    path = tmp_path / "fans.csv"
    hours = np.random.default_rng(1).exponential(np.repeat([20.0, 200.0], [150, 100])).cumsum()
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(hours, unit="h")
    rows = [f"f{i:03d},{day:%Y-%m-%d %H:%M}\n" for i, day in enumerate(days)]
    path.write_text("serial,failed\n" + "".join(rows) + "".join(f"f{i},\n" for i in range(250, 280)))
    assert len(rf.fleet.chosen_period(rf.read(path)).log) < 250
    assert main(["info", str(path)]) == 0
    info = " ".join(capsys.readouterr().out.split())
    assert "30 rows have no 'failed'; if such a unit still runs, say when it entered" in info
    question = (
        "nly nodes that failed are known (250), none of them exactly twice, so how many more there are is not known"
    )
    assert question in info
    assert main(["fit", str(path)]) == 2
    assert question in " ".join(capsys.readouterr().err.split())


def test_durations_without_dates_show_no_window(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their window began in 1970: a placeholder that looked like an answer."""
    path = tmp_path / "lives.csv"
    path.write_text("unit,hours,failed\na,100,1\nb,250,0\nc,300,1\n")
    assert main(["info", str(path)]) == 0
    info = capsys.readouterr().out
    assert "observed  650 hours in all; the durations carry no dates" in info
    assert "node from 'unit'" in info
    assert "1970" not in info
    assert main(["info", str(path), "--json"]) == 0
    assert "1970" not in capsys.readouterr().out


def test_the_interval_of_one_failure_is_that_of_the_profile_in_the_sentence_and_in_the_table(tmp_path, capsys) -> None:
    path = tmp_path / "fans.csv"
    path.write_text("unit,hours,failed\nf0,700,yes\n" + "".join(f"f{i},1000,no\n" for i in range(1, 32)))
    assert main(["fit", str(path), "--families", "weibull", "--interval", "mean"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "The weibull has the mean 3,002 h (95 % profile interval 1,218-" in text
    assert "Fits by group (hours, 95 % profile intervals)" in text
    assert text.count("3,002 (1,218-") == 2
    assert main(["fit", str(path), "--families", "exponential,weibull"]) == 0
    assert "95 % profile intervals, exact of the exponential)" in capsys.readouterr().out


def test_words_that_say_what_they_are_of(tmp_path: Path, capsys, monkeypatch) -> None:
    """A newcomer's questions: '...' is not a date? what pays what it writes? which machine fails every 37 hours?"""
    monkeypatch.chdir(tmp_path)
    days = pd.date_range("2024-01-01", periods=60, freq="37h")
    rows = [f"n{i % 6},{day:%Y-%m-%d %H:%M},{day + pd.Timedelta('2h'):%Y-%m-%d %H:%M}\n" for i, day in enumerate(days)]
    Path("log.csv").write_text("node,start,end\n" + "".join(rows) + "n1,soon,\nn1,,2024-01-09\n")
    Path("nodes.csv").write_text("node,batch\n" + "".join(f"n{i},{'AB'[i % 2]}\n" for i in range(6)))
    log = ["log.csv", "--population", "nodes.csv", "--period", "all"]

    def said(*words: str, code: int = 0) -> str:
        assert main([words[0], *(log[:3] if words[0] == "info" else log), *words[1:]]) == code
        shown = capsys.readouterr()
        return " ".join((shown.out + shown.err).split())

    info = said("info")
    assert "1 rejected: a text is not a date or time" in info
    assert "if such a unit still runs" not in info  # a log of outages
    assert "Observed, each batch as one machine, all 2 groups together:" in said(
        "fit", "--per", "batch", "--families", "exponential"
    )
    assert "writes them" in said("calibrate", "--parts", "mtbf")
    assert "writes them" not in said("calibrate", "--parts", "mtbf", "--out", "known.toml")
    assert "--out names no file" in said("fit", "--out", "", code=2)
    assert "names no file or folder" in said("trend", "--out", "", code=2)


def test_the_help_of_hot_spares_says_which_failures_count(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "spares", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Failures of every cause count; for one, write calibrate --where cause=hardware." in told
