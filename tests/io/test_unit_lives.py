"""Tables with one row per unit and its dates of service: lives from installation, left-truncated by the window."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lifelines import WeibullFitter

import relfit as rf
from relfit.base.errors import ArgumentError, ReadError
from relfit.cli.app import main

WINDOW = {"window_start": "2022-01-01", "window_end": "2024-01-01"}
TABLE = """serial,model,installed,removed,failed
a,X,2021-01-01,2022-07-01,1
b,X,2022-03-01,2023-03-01,0
c,Y,2021-12-22,,0
d,Y,2019-01-01,2021-06-01,1
e,Y,2023-12-02,2024-02-01,1
f,Y,2024-02-01,,0
"""


def read(text: str = TABLE, **options: object) -> rf.FailureLog:
    return rf.read(pd.read_csv(io.StringIO(text)), **{"node": "serial", **WINDOW, **options})


def test_lives_by_hand() -> None:
    log = read()
    lives = log.lifetimes
    assert lives is not None
    days = lives.set_index("node")[["duration", "entry"]] / 24.0
    assert days.loc["a"].tolist() == [546.0, 365.0]
    assert days.loc["b"].tolist() == [365.0, 0.0]
    assert days.loc["c"].tolist() == [740.0, 10.0]
    assert days.loc["e"].tolist() == [30.0, 0.0]  # failed after the window: runs at its end
    assert lives["node"].tolist() == ["a", "b", "c", "e"]  # d left before, f entered after
    assert lives.set_index("node")["observed"].tolist() == [True, False, False, False]
    assert lives.set_index("node")["running"].tolist() == [False, False, True, True]
    assert log.attributes == ("model",)
    assert log.source.omissions == ["2 events left out (units not in service within the window)"]
    assert not log.undated


def test_fits_are_those_of_lifelines_with_an_entry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table of disks had no way to lives: its flags were refused, or a model was one machine."""
    rng = np.random.default_rng(5)
    day = pd.Timedelta(days=1)
    installed = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 2200, 3000), unit="D")
    make = np.where(np.arange(3000) % 2, "a", "b")
    days = np.ceil(np.where(make == "a", 1500.0, 4000.0) * rng.weibull(1.6, 3000))
    out = np.ceil(rng.exponential(4000.0, 3000))
    removed = installed + pd.to_timedelta(np.minimum(days, out), unit="D")
    start, end = pd.Timestamp("2022-01-01"), pd.Timestamp("2025-06-01")
    table = pd.DataFrame(
        {"installed": installed, "removed": removed, "failed": (days <= out).astype(int), "make": make}
    )
    table = table[removed > start]
    gone = table["removed"] <= end
    table = table.assign(removed=table["removed"].where(gone), failed=table["failed"].where(gone, 0))
    table.to_csv(tmp_path / "disks.csv", index=False)
    log = rf.read(tmp_path / "disks.csv", window_start=start, window_end=end)
    fits = rf.fit(log.ttf("make"), "weibull")["weibull"]
    for j, make_of in enumerate("ab"):
        part = table[table["make"] == make_of]
        age = (part["removed"].fillna(end) - part["installed"]) / day
        entry = ((start - part["installed"]) / day).clip(lower=0.0)
        theirs = WeibullFitter().fit(age, part["failed"], entry=entry)
        assert fits.parameters["shape"][j] == pytest.approx(theirs.rho_, rel=1e-4)
        assert fits.parameters["scale"][j] == pytest.approx(24.0 * theirs.lambda_, rel=1e-4)
    words = ["fit", str(tmp_path / "disks.csv"), "--observed", "2022-01-01/2025-06-01", "--per", "make"]
    assert main([*words, "--families", "weibull", "--ahead", "90d"]) == 0
    said = capsys.readouterr().out
    for make_of in "ab":
        runs = ((table["make"] == make_of) & ~gone).sum()
        assert re.search(rf"^{make_of} +weibull +{runs:,} ", said, re.MULTILINE)
    assert "counts as running" not in said
    assert "from the day it entered" not in said
    assert main(["info", *words[1:4]]) == 0
    assert f"censored ({gone.size - gone.sum():,} still running)" in " ".join(capsys.readouterr().out.split())
    assert main(["fit", words[1], "--families", "weibull"]) == 0
    assert "Every unit counts from the day it entered; if those" in capsys.readouterr().out


def test_columns_are_named_or_recognized() -> None:
    odd = TABLE.replace("installed", "born").replace("removed", "gone").replace("failed", "broke")
    named = read(odd, entered="born", left="gone", observed="broke")
    assert named.lifetimes is not None
    assert named.lifetimes.equals(read().lifetimes)
    with pytest.raises(ArgumentError, match="observed, a flag of failures"):
        read(odd, entered="born", left="gone")
    with pytest.raises(ReadError, match="when units left service"):
        read(odd, entered="born", observed="broke")
    with pytest.raises(ReadError, match="did you mean born"):
        read(odd, entered="bron", left="gone", observed="broke")


def test_dates_say_which_units_still_run() -> None:
    with pytest.raises(ReadError, match="says by dates which still run"):
        read(running="failed")


def test_rows_that_contradict_themselves_are_rejected() -> None:
    log = read(TABLE + "g,Y,2022-05-01,2022-04-01,1\nh,Y,2022-05-01,,1\ni,Y,2022-05-01,2022-06-01,perhaps\n")
    reasons = log.rejected["reason"].tolist()
    assert reasons[:2] == ["left before it entered", "failed, but no time says when"]
    assert "says neither that the unit failed" in reasons[2]


def test_a_window_that_nobody_said_is_a_question() -> None:
    notes = read(window_start=None, window_end=None).source.notes
    assert any("every unit counts from the day it entered" in note for note in notes)
    assert any("units run until the last date, 2024-02-01" in note for note in notes)
    assert not any("--observed" in note for note in read().source.notes)


def test_the_page_says_that_every_unit_counts_from_its_first_day(tmp_path: Path) -> None:
    (tmp_path / "disks.csv").write_text(TABLE)
    for options, told in (([], True), (["--observed", "2022-01-01/2024-01-01"], False)):
        assert main(["report", str(tmp_path / "disks.csv"), *options, "--out", str(tmp_path / "page.html")]) == 0
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert ("Every unit counts from the day it entered" in page) == told


def test_a_flag_beside_a_start_points_to_lives() -> None:
    with pytest.raises(ReadError) as error:
        read(TABLE.replace(",1\n", ",0\n"), start="installed", observed="failed")
    assert "a table with one row per unit has lives" in str(error.value)


DATED = """serial,installed,{failed},removed
a,2021-01-01,2022-07-01,2022-07-03
b,2022-03-01,,2023-03-01
c,2021-12-22,,
d,2023-01-01,2023-01-11,
e,2023-12-02,2024-02-01,
"""


@pytest.mark.parametrize("name", ["failed", "failed_at", "failure_date", "Failure Time"])
def test_the_time_of_the_failure_is_the_flag(name: str) -> None:
    """Units without that time were rejected as failures without a time, or the table was not read at all."""
    lives = read(DATED.format(failed=name)).lifetimes
    assert lives is not None
    rows = lives.set_index("node")
    assert (rows["duration"] / 24.0).to_dict() == {"a": 546.0, "b": 365.0, "c": 740.0, "d": 10.0, "e": 30.0}
    assert rows["observed"].to_dict() == {"a": True, "b": False, "c": False, "d": True, "e": False}
    assert rows["running"].to_dict() == {"a": False, "b": False, "c": True, "d": False, "e": True}


def test_no_time_of_a_failure_is_no_failure() -> None:
    log = read("serial,installed,failed\na,2022-02-01,\nb,2022-03-01,\n")
    assert log.lifetimes is not None
    assert log.lifetimes["observed"].tolist() == [False, False]


def test_other_names_are_said() -> None:
    text = "pump,put_in,broke\na,2022-02-01,2022-02-11\nb,2022-03-01,\n"
    log = read(text, node="pump", entered="put_in", start="broke")
    assert log.lifetimes is not None
    assert log.lifetimes["duration"].tolist() == [240.0, 16104.0]


@pytest.mark.parametrize(
    "text",
    [
        "serial,installed,failed_at\na,2022-02-01,2022-03-01\na,2022-02-01,2022-04-01\nb,2022-02-01,\n",  # twice
        "serial,installed,failed_at,fixed\na,2022-02-01,2022-03-01,2022-03-02\nb,2022-02-01,,\n",  # repaired
        "serial,installed,failed_at\na,2022-02-01,2022-03-01\nb,2022-02-01,2022-05-01\n",  # every one failed
    ],
)
def test_a_table_of_failures_stays_one(text: str) -> None:
    log = read(text)
    assert log.lifetimes is None
    assert len(log.events) >= 1


def test_a_failure_after_the_removal_is_rejected() -> None:
    log = read("serial,installed,failed_at,removed\na,2022-02-01,2022-03-01,2022-02-11\nb,2022-03-01,,\n")
    assert log.rejected["reason"].tolist() == ["failed after it left"]


def test_dates_in_the_future_move_no_end() -> None:
    text = (
        "serial,installed,failed_at,removed\na,2022-02-01,2122-03-01,\nb,2022-03-01,,2122-03-01\nc,2122-03-01,,\n"
        "d,2022-03-01,2022-06-01,\ne,2022-03-01,,2022-08-01\n"
    )
    log = rf.read(pd.read_csv(io.StringIO(text)), node="serial")
    assert log.rejected["reason"].tolist() == ["failed in the future", "entered in the future"]
    assert log.window.end == pd.Timestamp("2022-08-01", tz="UTC")
    lives = log.lifetimes
    assert lives is not None
    assert lives.set_index("node")["running"].to_dict() == {"b": True, "d": False, "e": False}


def test_windows_that_adjoin_add_up() -> None:
    """A failure on the day of TO belongs to the window that begins then; its unit ran until that day."""
    table = """serial,installed,removed,failed
a,2021-01-01,2022-06-01,1
b,2021-01-01,2023-01-01,1
c,2023-01-01,,0
d,2021-06-01,2023-01-01,0
e,2023-01-01,2023-01-01,1
f,2021-01-01,2023-03-01,1
"""
    windows = [("2022-01-01", "2023-01-01"), ("2023-01-01", "2024-01-01")]
    first, second = (read(table, window_start=start, window_end=end).lifetimes for start, end in windows)
    assert first is not None
    assert second is not None
    assert first["node"].tolist() == ["a", "b", "d", "f"]
    assert first["observed"].tolist() == [True, False, False, False]
    assert first["running"].tolist() == [False, True, True, True]
    assert second.loc[second["observed"], "node"].tolist() == ["b", "e", "f"]
    assert second.set_index("node").loc["b", "duration"] == 730 * 24
    assert read(table, window_start="2023-01-01", window_end="2024-01-01").ttf("all").n_failures.tolist() == [2]


WORDS = TABLE.replace("failed", "status").replace(",1\n", ",RMA\n").replace(",0\n", ",active\n")


def test_words_of_an_inventory_are_named_with_failures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lives, same = read(WORDS, failures="status=RMA"), read()
    assert lives.lifetimes is not None
    assert same.lifetimes is not None
    pd.testing.assert_frame_equal(lives.lifetimes, same.lifetimes)
    assert read(WORDS, failures="status=RMA", entered="installed").lifetimes is not None
    with pytest.raises(ReadError, match=r'no column says which of them failed; .*failures="status=RMA"'):
        read(WORDS)
    path = tmp_path / "units.csv"
    path.write_text(WORDS, encoding="utf-8")
    assert main(["info", str(path), "--column", "observed=status"]) == 2
    assert "--failures COLUMN=WORD" in capsys.readouterr().err
    hours = "hours,status\n5,RMA\n9,active\n"
    assert rf.read(pd.read_csv(io.StringIO(hours)), failures="status=RMA").ttf("all").n_failures.tolist() == [1]


def test_lives_are_cut_by_the_window_of_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "units.csv"
    path.write_text(TABLE, encoding="utf-8")
    assert main(["fit", str(path), "--since", "2023-01-01"]) == 2
    assert "--observed FROM/TO" in capsys.readouterr().err
