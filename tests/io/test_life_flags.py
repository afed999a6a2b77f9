"""Flags of durations: words for failed and for still running, usual names, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

import relfit as rf
from relfit.cli.app import main

FAILED, RUNNING = [True, True, False, False], [False, False, True, True]


def table(tmp_path: Path, name: str, words: list[str]) -> Path:
    path = tmp_path / "lives.csv"
    rows = "".join(f"n{i},{500 * (i + 1)},{word}\n" for i, word in enumerate(words))
    path.write_text(f"node,hours,{name}\n{rows}")
    return path


def observed(path: Path, **columns: str) -> list[bool]:
    log = rf.read(path, **columns)
    assert not len(log.rejected)
    return [bool(flag) for flag in log.lifetimes["observed"]]


PAIRS = (
    "F S",
    "F C",
    "failed running",
    "Failed censored",
    "failed suspended",
    "died alive",
    "dead S",
    "1 0",
    "T F",
    "true f",
)


@pytest.mark.parametrize("words", PAIRS)
def test_words_for_failed_and_for_still_running(tmp_path: Path, words: str) -> None:
    failed, running = words.split()
    path = table(tmp_path, "what", [failed, failed, running, running])
    assert observed(path, observed="what") == FAILED
    true_or_false = failed in ("T", "true", "1")
    assert observed(path, censored="what") == (RUNNING if true_or_false else FAILED)  # failed is never censored


@pytest.mark.parametrize("words", [["F", "F"], ["T", "F", "S"], ["F", "maybe"]])
def test_an_f_that_may_mean_failed_or_false_is_refused(tmp_path: Path, words: list[str]) -> None:
    path = table(tmp_path, "what", words)
    with pytest.raises(rf.ReadError, match="column 'what' may mean two things") as error:
        rf.read(path, observed="what")
    assert "write failed and running" in str(error.value.remedy)


def test_an_f_alone_in_a_column_of_the_censored_is_a_failure_either_way(tmp_path: Path) -> None:
    assert observed(table(tmp_path, "what", ["F", "F"]), censored="what") == [True, True]


@pytest.mark.parametrize("name", ["obs", "event_observed", "died", "Dead", "delta", "status"])
def test_usual_names_of_flags_of_durations(tmp_path: Path, name: str) -> None:
    assert observed(table(tmp_path, name, ["1", "1", "0", "0"])) == FAILED


@pytest.mark.parametrize("name", ["status", "event", "state"])
def test_words_of_states_are_flags_where_nothing_has_a_time(tmp_path: Path, name: str) -> None:
    columns = {"observed": "state"} if name == "state" else {}
    assert observed(table(tmp_path, name, ["failed", "failed", "alive", "alive"]), **columns) == FAILED


@pytest.mark.parametrize(
    ("name", "words"), [("status", ["F", "retired"]), ("delta", ["1.5", "0.3"]), ("status", ["F"])]
)
def test_other_values_under_such_a_name_are_no_flags(tmp_path: Path, name: str, words: list[str]) -> None:
    path = table(tmp_path, name, words)
    log = rf.read(path)
    assert log.lifetimes["observed"].all()
    assert log.lifetimes[name].astype(str).tolist() == words
    assert "every duration counts as a failure; --column observed=NAME" in " ".join(log.source.notes)
    assert "every duration counts" not in " ".join(rf.read(path, observed="").source.notes)


def test_such_names_beside_dates_stay_what_they_were(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("node,start,delta\na,2024-05-01 04:00,0\nb,2024-05-02 04:00,0\nc,2024-05-03 04:00,1\n")
    assert rf.read(path).events["delta"].astype(int).tolist() == [0, 0, 1]


def test_commands_say_that_every_duration_counts_as_a_failure(tmp_path: Path, capsys) -> None:
    path = table(tmp_path, "fate", ["away"] * 6)
    for command, *options in (["info"], ["fit", "--per", "all", "--families", "exponential"]):
        assert main([command, str(path), *options]) == 0
        assert "every duration counts as a failure" in " ".join(capsys.readouterr().out.split())
        assert main([command, str(path), "--column", "observed=", *options]) == 0
        assert "every duration counts as a failure" not in " ".join(capsys.readouterr().out.split())


def test_info_counts_the_complete_and_the_censored(tmp_path: Path, capsys) -> None:
    for words, says in ((["1", "1"], "lifetimes 2, all complete"), (["1", "0", "0"], "3: 1 complete, 2 censored")):
        main(["info", str(table(tmp_path, "obs", words))])
        assert says in capsys.readouterr().out
