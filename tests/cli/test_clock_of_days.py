"""Times between failures of a group where the log has dates only: failures on one day are zero apart."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

import relfit as rf
from relfit.cli.app import main


def table(path: Path, per_day: dict[str, list[int]]) -> str:
    """Failures of different nodes of each model on consecutive days, without times of day."""
    rows = [
        f"{model}{day}-{i},{model},{date(2024, 1, 1) + timedelta(days=day)}"
        for model, counts in per_day.items()
        for day, number in enumerate(counts)
        for i in range(number)
    ]
    path.write_text("\n".join(["node,model,start", *rows]) + "\n", encoding="utf-8")
    return str(path)


def test_the_mean_counts_failures_on_one_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three failures a day are eight hours per failure; without the times of zero it was 24 h."""
    log = table(tmp_path / "drives.csv", {"A": [3] * 60, "B": [1] + [0] * 58 + [1]})
    asked = ["fit", log, "--per", "model", "--period", "all", "--where", "model=A"]
    assert main([*asked, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    observed, fits = told["observed"][0], {row["family"]: row for row in told["fits"]}
    assert observed["mean"] == pytest.approx(59 * 24 / observed["ended"])
    assert fits["exponential"]["mean"] == pytest.approx(59 * 24 / observed["ended"])
    assert observed["ended"] >= 179
    assert {fits[name]["status"] for name in ("weibull", "gamma", "lognormal")} == {"zeros"}
    assert main(asked) == 0
    assert "120 of 1" in (said := " ".join(capsys.readouterr().out.split()))
    assert "times to failure are zero: failures within one step of the clock" in said


def test_only_groups_with_many_times_of_zero_keep_them(tmp_path: Path) -> None:
    log = rf.read(table(tmp_path / "drives.csv", {"A": [3] * 60, "B": [2] + [1, 0, 0] * 20}))
    lives = log.ttf("model", zeros="resolution")
    assert lives.n_zeros.tolist() == [120, 0]  # 1 of 21 of B is 4.8 %
    assert lives.counts is not None
    assert lives.counts["zero_gaps"].tolist() == [0, 1]


def test_failures_at_one_instant_of_a_fine_clock_are_left_out_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two nodes fail at each of 40 instants, a day and some minutes apart: that is no matter of the clock."""
    instants = [f"2024-01-{1 + i // 2:02d} {12 * (i % 2):02d}:{7 * i % 60:02d}" for i in range(40)]
    rows = [f"{node},{instant}" for instant in instants for node in "ab"]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["node,start", *rows]) + "\n", encoding="utf-8")
    assert main(["fit", str(path), "--per", "system", "--period", "all"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "40 of 79 times to failure are zero and left out" in said
