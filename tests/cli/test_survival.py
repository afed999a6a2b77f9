"""``relfit survival``: Kaplan-Meier curves and the log-rank test of a table of lives, by hand, and of a log."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm

from relfit.cli.app import main

HOURS = {"old": [10.0, 20.0, 20.0, 40.0, 50.0], "new": [30.0, 60.0, 70.0, 90.0]}
FAILED = {"old": [1, 1, 1, 0, 1], "new": [1, 0, 1, 1]}


@pytest.fixture
def lives(here: Path) -> str:
    """A table of fans of two batches; that of one fan is not known."""
    rows = [
        (batch, hours, failed) for batch in HOURS for hours, failed in zip(HOURS[batch], FAILED[batch], strict=True)
    ]
    table = pd.DataFrame([*rows, (None, 80.0, 1)], columns=["batch", "hours", "failed"])
    table["failed"] = table["failed"].map({1: "yes", 0: "no"})
    table.rename_axis("unit").reset_index().to_csv("fans.csv", index=False)
    return "fans.csv"


def document(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main(["survival", *words, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_one_curve_by_hand(lives: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, lives, "--unit", "hours", "--after", "25h", "--after", "65h", "--after", "100h")
    # at risk and failed: 10: 10, 1; 20: 9, 2; 30: 7, 1; 50: 5, 1; 70: 3, 1
    risks = {10: (10, 1), 20: (9, 2), 30: (7, 1), 50: (5, 1), 70: (3, 1)}
    for row, until in zip(found["survival"], (25.0, 65.0), strict=False):
        share = math.prod((n - d) / n for at, (n, d) in risks.items() if at <= until)
        greenwood = math.sqrt(sum(d / (n * (n - d)) for at, (n, d) in risks.items() if at <= until))
        far = norm.ppf(0.975) * greenwood / -math.log(share)
        assert (row["after"], row["survival"]) == (until, pytest.approx(share))
        limits = [share ** math.exp(far), share ** math.exp(-far)]
        assert [row["survival_low"], row["survival_high"]] == pytest.approx(limits)
    assert found["survival"][2]["survival"] is None  # none was observed for 100 hours
    assert found["medians"] == [
        {"group": "all", "times": 10, "ended": 8, "median": 50.0, "median_low": 10.0, "median_high": 80.0}
    ]
    assert found["log_rank"] is None
    assert main(["survival", lives, "--unit", "hours", "--after", "25h"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The median time to failure is 50 hours (10-80); 10 times, 2 censored." in said
    assert "25 hours 0.7 (0.3287-0.8919)" in said


def test_batches_are_compared_by_hand(lives: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, lives, "--unit", "hours", "--by", "batch")
    time = np.concatenate(list(HOURS.values()))
    failed = np.concatenate(list(FAILED.values())) == 1
    old = np.repeat([True, False], [5, 4])
    difference = variance = 0.0
    for at in np.unique(time[failed]):
        n, of_old = (time >= at).sum(), (old & (time >= at)).sum()
        d = (failed & (time == at)).sum()
        difference += (failed & old & (time == at)).sum() - d * of_old / n
        variance += d * of_old / n * (1 - of_old / n) * (n - d) / max(n - 1, 1)
    statistic = difference**2 / variance
    assert found["log_rank"]["statistic"] == pytest.approx(statistic)
    assert found["log_rank"]["p"] == pytest.approx(chi2.sf(statistic, 1))
    assert found["left_out"] == {"no batch": 1}
    medians = {row["batch"]: (row["times"], row["ended"], row["median"]) for row in found["medians"]}
    assert medians == {"old": (5, 4, 20.0), "new": (4, 3, 70.0)}
    assert main(["survival", lives, "--unit", "hours", "--by", "batch", "--out", "curves.csv", "--plot", "c.png"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"Log-rank test of 2 groups: chi-square {statistic:.4g}, 1 df, p = {chi2.sf(statistic, 1):.2g}." in said
    assert "independent" not in said  # each fan has one life
    curves = pd.read_csv("curves.csv")
    assert curves.loc[curves["batch"] == "old", "time"].tolist() == [10.0, 20.0, 40.0, 50.0]
    assert curves.loc[curves["batch"] == "old", "estimate"].tolist() == pytest.approx([0.8, 0.4, 0.4, 0.0])
    assert Path("c.png").stat().st_size > 0


def test_repairs_by_cause(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("a", 1, 2, "disk"), ("a", 5, 4, "power"), ("b", 2, 6, "disk"), ("b", 9, 8, "power"), ("b", 20, 1, "disk")]
    start = pd.Timestamp("2024-01-01")
    events = [(node, start + pd.Timedelta(days=day), hours, cause) for node, day, hours, cause in rows]
    log = pd.DataFrame(events, columns=["node", "start", "hours", "cause"])
    log["end"] = log["start"] + pd.to_timedelta(log["hours"], unit="h")
    log.drop(columns="hours").to_csv("log.csv", index=False)
    assert main(["survival", "log.csv", "--measure", "ttr", "--by", "cause", "--period", "all", "--out", "./"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Log-rank test of 2 groups" in said
    assert "takes the times of one node as independent" in said
    medians = pd.read_csv("medians.csv").set_index("cause")["median"]
    assert medians.to_dict() == {"disk": 2.0, "power": 4.0}
    assert sorted(file.name for file in here.glob("*.csv")) == sorted(
        ["curves.csv", "log.csv", "log_rank.csv", "medians.csv", "survival.csv"]
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--by", "rack"], "--by 'rack' is not a column"),
        (["--by", "batch", "--where", "batch=old"], "--by batch has one value, old"),
        (["--where", "node=3"], "no time was observed to its end"),
        (["--after", "0h"], "--after '0h' is zero"),
        (["--measure", "life"], "--measure"),
    ],
)
def test_what_cannot_be_answered(
    words: list[str], message: str, lives: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["survival", lives, "--unit", "hours", *words]) == 2
    assert message in capsys.readouterr().err
