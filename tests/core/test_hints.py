"""What a log says by itself: rows that were planned, nodes that came later. Counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.cli.app import main
from relfit.log.hints_of_rows import growth_hint, hints, planned_hint

YEAR = {"window_start": "2024-01-01", "window_end": "2025-01-01"}
MONTHS = [f"2024-{month:02d}-15" for month in range(1, 13)]


def causes(words: list[str], column: str = "cause") -> rf.FailureLog:
    starts = pd.date_range("2024-01-01", periods=len(words), freq="1h")
    return rf.read(pd.DataFrame({"node": "ab" * (len(words) // 2), "start": starts, column: words}).assign(node="a"))


def test_rows_that_say_that_they_were_planned() -> None:
    log = causes(["maintenance"] * 2 + ["disk"] * 198)
    remedy = "if they were planned: --where 'cause!=maintenance'"
    assert planned_hint(log) == f"2 of 200 rows say cause 'maintenance' and count as failures; {remedy}"
    assert log.info()["notes"][0] == planned_hint(log)
    assert planned_hint(log.without(cause="maintenance")) == ""
    assert planned_hint(causes(["maintenance"] + ["disk"] * 199)) == ""  # half a percent
    assert planned_hint(causes(["Scheduled downtime"] * 3 + ["Unscheduled"] * 7, "Type")).startswith("3 of 10 rows say")


@pytest.mark.parametrize("word", ["unscheduled", "Unplanned outage", "not planned", "error in maintenance", "plane"])
def test_words_that_say_nothing_of_the_kind(word: str) -> None:
    assert planned_hint(causes([word] * 5 + ["disk"] * 5)) == ""


def fleet(old: int, new: int) -> pd.DataFrame:
    """Each node fails in the middle of every month, new ones from July on."""
    rows = [(f"old{i}", day) for i in range(old) for day in MONTHS]
    return pd.DataFrame(rows + [(f"new{i}", day) for i in range(new) for day in MONTHS[6:]], columns=["node", "start"])


def test_nodes_without_a_record_before_some_day() -> None:
    """Of 270 records 180 are in the second half: 15 (2/3)^6 + 15 (2/3)^12 = 1.4 nodes are expected there only."""
    (hint,) = hints(rf.read(fleet(15, 15), **YEAR))
    assert hint == (
        "15 of 30 nodes with several records have none before 2024-07-02 (about 1 if the fleet did not grow): say when "
        "each node entered, --population FILE"
    )
    assert hints(rf.read(fleet(26, 4), **YEAR)) == []
    nodes = pd.DataFrame({"node": fleet(15, 15)["node"].unique(), "entered": ["2024-01-01"] * 15 + ["2024-07-01"] * 15})
    assert hints(rf.read(fleet(15, 15), population=nodes, **YEAR)) == []


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("later", [0.5, 0.75])
def test_a_fleet_of_one_size_has_no_hint(repeats: int, later: float) -> None:
    """Failures at random, some with two repeats on the same day, half or three quarters of them in the second half."""
    rng, start = np.random.default_rng(1), pd.Timestamp("2024-01-01")
    rows = []
    for node in range(60):
        for _ in range(1 + rng.poisson(5) // repeats):
            at = 0.5 * (rng.random() + (rng.random() < later))
            rows += [(f"n{node}", start + pd.Timedelta(hours=float(8000 * at + 7 * k))) for k in range(repeats)]
    assert growth_hint(rf.read(pd.DataFrame(rows, columns=["node", "start"]), **YEAR)) == ""


def test_the_commands_say_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    log = fleet(15, 15)
    log.assign(cause=np.where(log["start"].str[5:7] == "03", "maintenance", "disk")).to_csv("log.csv", index=False)
    for command, told in (("info", ("planned: --where", "--population FILE")), ("trend", ("--population FILE",))):
        assert main([command, "log.csv", "--observed", "2024-01-01/2025-01-01"]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert all(words in text for words in told)
    assert main(["report", "log.csv", "--observed", "2024-01-01/2025-01-01"]) == 0
    assert "15 of 270 rows say cause" in Path("report.html").read_text()
