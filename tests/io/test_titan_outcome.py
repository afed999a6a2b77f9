"""Titan's GPUs: which of them failed is a named choice, and causes hold for lives as for events."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.cli.app import main
from tests.site_logs import site_log

ROWS = """SN,location,insert,remove,duration,out,event
1,c1-1c0s0n0,2014-01-01 00:00:00,2014-01-02 00:00:00,86400,TRUE,DBE
2,c1-1c0s0n1,2014-01-01 00:00:00,2014-01-03 00:00:00,172800,TRUE,OTB
3,c1-1c0s0n2,2014-01-01 00:00:00,2014-01-04 00:00:00,259200,TRUE,
4,c1-1c0s0n3,2014-01-01 00:00:00,2014-01-05 00:00:00,345600,FALSE,DBE
5,c1-1c0s1n0,2014-01-01 00:00:00,2014-01-06 00:00:00,432000,FALSE,
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / "gpus.csv"
    place.write_text(ROWS)
    return place


def test_the_outcome_is_a_named_choice(path: Path) -> None:
    failed = {}
    for outcome in ("out_with_event", "out_or_event"):
        log = rf.read(path, outcome=outcome)
        failed[outcome] = log.lifetimes.loc[log.lifetimes["observed"], "node"].astype(str).tolist()
        assert any(f"outcome={outcome}" in note for note in log.source.notes)
    assert failed == {"out_with_event": ["1", "2"], "out_or_event": ["1", "2", "3", "4"]}
    assert rf.read(path).lifetimes["observed"].sum() == 2
    with pytest.raises(ArgumentError, match="not known"):
        rf.read(path, outcome="out")


def test_a_cause_holds_for_lives_and_the_others_are_censored(path: Path) -> None:
    part = rf.read(path).where(cause="dbe")
    assert (len(part.events), len(part.lifetimes), int(part.lifetimes["observed"].sum())) == (2, 5, 1)
    lives = rf.read(path).ttf("cause")
    assert lives.groups.tolist() == ["dbe", "otb"]
    assert (lives.n_failures.tolist(), lives.n_lives.tolist()) == ([1, 1], [5, 5])


def test_gpus_that_were_taken_out_do_not_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Everyone without a failure was "still running": 3 of the 5, of which the third was taken out, the fourth left."""
    path.write_text(ROWS.replace("06 00:00:00,432000", "07 00:00:00,518400"), encoding="utf-8")
    assert rf.read(path).lifetimes["running"].tolist() == [False, False, False, False, True]
    assert main(["info", str(path)]) == 0
    assert "5: 2 complete, 3 censored (1 still running)" in capsys.readouterr().out
    assert main(["fit", str(path), "--per", "all", "--families", "exponential", "--ahead", "1d", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ahead"][0]["running"] == 1


def test_the_study_counts_5089() -> None:
    lives = site_log("titan").lifetimes
    assert int(lives["observed"].sum()) == 5089
    assert int(lives["running"].sum()) == 18637  # in a slot on 2019-08-01, counted with pandas
