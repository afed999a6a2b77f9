"""Tables, JSON and files, and the progress bar, each by itself."""

from __future__ import annotations

import io
import json
import re
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.results import json_ready
from relfit.cli import output
from relfit.cli.app import main
from relfit.cli.progress import ProgressSteps


def test_json_says_null_for_what_it_cannot_say() -> None:
    value = {
        "a": float("nan"),
        "b": np.float64("inf"),
        "c": [np.int64(3), np.bool_(True), pd.NaT, pd.NA, None],
        "d": np.array([[1.5, np.nan]]),
        "e": pd.Timestamp("2003-04-01", tz="UTC"),
        5: Path("x"),
    }
    assert json.loads(json.dumps(json_ready(value), allow_nan=False)) == {
        "a": None,
        "b": None,
        "c": [3, True, None, None, None],
        "d": [[1.5, None]],
        "e": "2003-04-01T00:00:00+00:00",
        "5": "x",
    }


def test_tables_align_and_keep_to_a_line_each() -> None:
    frame = pd.DataFrame({"node": ["a\nb", None], "n": [1, 22], "hours": [0.00012345, np.inf]})
    assert output.table(frame) == [
        "node   n      hours",
        "----  --  ---------",
        "a b    1  0.0001234",
        "-     22        inf",
    ]
    assert output.table(frame.head(0)) == ["node  n  hours", "----  -  -----"]


def test_wide_letters_and_marks_of_a_name_stand_in_line_as_they_are() -> None:
    frame = pd.DataFrame({"node": ["日本", "[red]n1[/]", ":smile:"], "n": [1, 20, 300]})
    assert output.table(frame) == [
        "node          n",
        "----------  ---",
        "日本          1",  # four columns wide
        "[red]n1[/]   20",
        ":smile:     300",
    ]


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_columns_of_mixed_types_can_be_written(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame({"column": [3, "start", None], "line": [1, 2, 3]})
    path = tmp_path / f"rejected.{ending}"
    output.write_table(frame, path)
    readers = {"csv": pd.read_csv, "parquet": pd.read_parquet, "json": pd.read_json}
    assert readers[ending](path)["column"].astype(str).tolist()[:2] == ["3", "start"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_complete_or_absent(tmp_path: Path) -> None:
    def interrupted(error: BaseException) -> None:
        with output.complete(tmp_path / "out.csv") as part:
            part.write_text("half")
            raise error

    with pytest.raises(KeyboardInterrupt):
        interrupted(KeyboardInterrupt())
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(rf.ArgumentError, match=r"cannot write .*No space left"):
        interrupted(OSError(28, "No space left on device"))
    assert list(tmp_path.iterdir()) == []


def test_a_written_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    output.write_document({}, tmp_path / "out.json")
    assert (tmp_path / "out.json").stat().st_mode == (tmp_path / "usual").stat().st_mode


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.slow
def test_the_bar_shows_only_for_long_work_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relfit.cli.progress._PATIENCE", 0.05)
    for stream, pause, shown in [(Terminal(), 0.4, True), (Terminal(), 0.0, False), (io.StringIO(), 0.4, False)]:
        monkeypatch.setattr(sys, "stderr", stream)
        with ProgressSteps("reading", "fitting") as steps:
            steps.next()
            time.sleep(pause)
        assert ("fitting" in stream.getvalue()) is shown


def test_the_bar_says_how_far_a_long_step_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relfit.cli.progress._PATIENCE", 0.0)
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressSteps("reading", "writing") as steps:
        deadline = time.monotonic() + 20.0
        while steps._bar is None and time.monotonic() < deadline:
            time.sleep(0.01)
        steps.next()
        steps.say("nodes", 0.5)
        assert steps._bar is not None
        task = steps._bar.tasks[0]
        assert (task.completed, task.total, task.description) == (1.5, 2, "nodes")


def test_no_p_value_is_below_what_a_table_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    hours = np.cumsum(np.random.default_rng(1).lognormal(3.0, 2.5, 400))
    starts = pd.Timestamp("2000-01-01") + pd.to_timedelta(hours, unit="h")
    pd.DataFrame({"node": "a", "start": starts}).to_csv(tmp_path / "log.csv", index=False)
    assert main(["fit", str(tmp_path / "log.csv"), "--per", "system", "--period", "all"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if " exponential " in line]
    assert rows[-1][-1] == "<0.001"


def test_no_exponent_stands_in_a_headline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "few.csv"
    rows = [f"n{i % 3},2020-0{i}-03 05:00,2020-0{i}-03 06:00" for i in range(1, 10)]
    path.write_text("\n".join(["node,start,end", *rows]) + "\n", encoding="utf-8")
    assert main(["system", str(path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert re.search(r"3 nodes run for \d{3} hours \(\d{3}-\d,\d{3}\)", shown)
    assert "e+0" not in shown.partition("System of")[0]
