"""dependence, trend and incidents: everything is in the JSON, in the tables, in the figures; hard logs get lines."""

from __future__ import annotations

import json
import lzma
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.cli.app import main
from tests.cli.conftest import HEADER
from tests.cli.test_bad_input import complaint
from tests.cli.test_commands import document

PART = ("--since", "2003-10-01", "--where", "rack=frame01", "--where", "rack=frame02")


@pytest.fixture(scope="module")
def log() -> rf.FailureLog:
    return rf.datasets.load("white").where(rack=["frame01", "frame02"]).between("2003-10-01", None)


def written(text: str, here: Path, name: str = "hard.csv") -> Path:
    path = here / name
    path.write_text(f"{HEADER}\n{text}")
    return path


# ------------------------------------------------------------------------- JSON


@pytest.mark.slow
def test_dependence_in_json_is_the_library_s(
    log: rf.FailureLog, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from relfit.analyses.independence import dependence

    said = document(capsys, "dependence", "white", *PART, "--window", "2h", "--correlation", "kendall", "--seed", 3)
    found = dependence(log, window="2h", method="kendall", rng=3)
    assert said["findings"][: len(found.findings)] == list(found.findings)
    assert found.correlation is not None
    assert said["correlation"]["method"] == "kendall"
    assert [row["pairs"] for row in said["correlation"]["histogram"]] == found.correlation.histogram()["pairs"].tolist()
    assert found.serial is not None
    assert len(said["tables"]["serial_tests"]) == len(found.serial.groups)
    classes = pd.DataFrame(said["tables"]["correlation_classes"])
    assert classes["expected_share"].tolist() == pytest.approx(found.correlation.classes["expected_share"].tolist())
    for key in ("cofailure", "place", "pooled", "dispersion", "cycles"):
        assert said[key]["findings"] == [getattr(found, key).headline]
    assert said["cofailure"]["window"] == 2.0
    assert [row["system"] for row in said["tables"]["together_by_system"]] == ["white"]
    bursts = rf.screening.bursts(log, rng=3)
    assert said["bursts"]["findings"] == [bursts.headline]
    assert said["tables"]["questions"][-1]["finding"] == bursts.headline
    assert [row["counted"] for row in said["tables"]["bursts_by_delay"]] == bursts.by_delay["counted"].tolist()


@pytest.mark.slow
def test_trend_in_json_is_the_library_s(log: rf.FailureLog, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from relfit.analyses.recurrence import availability, fit_process, histories_of_log, mean_cumulative
    from relfit.analyses.screening import change_points, incidents, outlier_nodes, repair_kinds

    said = document(capsys, "trend", "white", *PART, "--level", "0.9", "--alpha", "0.01", "--seed", 5)
    assert said["problems"] == {}
    assert said["periods"] == json.loads(json.dumps(change_points(log, level=0.9).to_dict()))
    histories = histories_of_log(log, "node", incidents(log))  # nodes that fail together are no copies
    curve = mean_cumulative(histories, level=0.9)
    assert [row["high"] for row in said["tables"]["mean_cumulative"]] == pytest.approx(curve.high.tolist())
    shape = fit_process(histories, "power_law", "all", level=0.9).estimates[0, 0]
    assert said["processes"]["fits"]["power_law"][0]["shape"] == pytest.approx(shape)
    assert len(said["tables"]["trend_tests"]) == histories.n_histories
    assert len(said["outlier_nodes"]["nodes"]) == len(outlier_nodes(log, level=0.9, rng=5).outliers)
    assert said["repair_kinds"]["findings"] == [repair_kinds(log, level=0.9).headline]
    up = availability(log, level=0.9)
    assert said["tables"]["availability"][0]["low"] == pytest.approx(up.low[0])


def test_incidents_in_json_are_the_library_s(
    log: rf.FailureLog, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from relfit.analyses.screening import incidents

    said = document(capsys, "incidents", "white", *PART, "--window", "5min", "--place", "rack", "--level", "0.8")
    found = incidents(log, "5min", "rack", level=0.8)
    assert len(said["tables"]["incidents"]) == len(found) == said["incidents"]["incidents"]
    rates = pd.DataFrame(said["tables"]["rates"])
    assert rates["incidents"].tolist() == found.rates()["incidents"].tolist()
    assert np.nan_to_num(rates["mtbf_low"].astype(float)).tolist() == pytest.approx(found.rates()["mtbf_low"].tolist())
    assert said["window"]["specified"] is True


# ------------------------------------------------------------- figures and tables


@pytest.mark.parametrize("command", ["dependence", "trend", "incidents"])
@pytest.mark.slow
@pytest.mark.long
def test_a_folder_takes_tables_and_figures(command: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = here / "found"
    folder.mkdir()
    assert main([command, "white", *PART, "--out", "found", "--plot", "found"]) == 0
    text = capsys.readouterr().out
    tables, pictures = sorted(folder.glob("*.csv")), sorted(folder.glob("*.png"))
    assert len(tables) >= 5
    assert len(pictures) >= 3
    for path in (*tables, *pictures):
        assert path.name in text
    for path in pictures:
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    for path in tables:
        assert len(pd.read_csv(path).columns) > 1
    assert not list(folder.glob(".relfit*"))


@pytest.mark.parametrize(
    ("name", "begins"), [("sheet.png", b"\x89PNG"), ("sheet.svg", b"<?xml"), ("sheet.pdf", b"%PDF")]
)
@pytest.mark.slow
@pytest.mark.long
def test_a_file_takes_one_sheet(name: str, begins: bytes, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from matplotlib import pyplot as plt

    assert main(["incidents", "white", *PART, "--plot", name]) == 0
    assert Path(name).read_bytes().startswith(begins)
    assert f"3 figures written to {name}" in capsys.readouterr().out
    assert plt.get_fignums() == []


@pytest.mark.slow
def test_the_same_figures_are_the_same_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one.svg", "two.svg"):
        assert main(["incidents", "white", *PART, "--plot", name]) == 0
    assert Path("one.svg").read_bytes() == Path("two.svg").read_bytes()


@pytest.mark.slow
def test_the_main_table_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dependence", "white", *PART, "--out", "questions.parquet"]) == 0
    assert pd.read_parquet("questions.parquet")["part"].tolist()[:2] == ["correlation", "cofailure"]
    assert main(["trend", "white", *PART, "--per", "rack", "--out", "tests.csv"]) == 0
    assert pd.read_csv("tests.csv")["rack"].tolist() == ["frame01", "frame02"]


@pytest.mark.slow
def test_words_and_tables_on_the_terminal(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["trend", "white", *PART, "--details"]) == 0
    text = capsys.readouterr().out
    for words in (
        "Periods (rates per node-year)",
        "lewis_robinson",
        "power_law",
        "By node, share with p of 0.05 or less",
        "Nodes were up",
        "used",
        "Counts are of incidents (",
    ):
        assert words in text
    assert main(["dependence", "white", *PART, "--alpha", "0.2", "--details"]) == 0
    text = capsys.readouterr().out
    assert "Nodes that a test rejects at 0.2" in text
    assert "Classes of |r|" in text
    assert "Further incidents that follow one (delay in hours)" in text
    assert main(["incidents", "white", *PART]) == 0
    assert "Rates by scope" not in capsys.readouterr().out
    assert main(["incidents", "white", *PART, "--details"]) == 0
    assert "Rates by scope (incidents per hour of a unit)" in capsys.readouterr().out


# ------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["dependence", "white", "--window", "soon"], "is not a duration"),
        (["dependence", "white", "--correlation", "phi"], "use spearman, pearson or kendall"),
        (["dependence", "white", "--place", "shelf"], "use system, rack"),
        (["dependence", "white", "--alpha", "5"], "did you mean 0.05?"),
        (["trend", "white", "--per", "shelf"], "--per 'shelf' is not a column"),
        (["trend", "white", "--level", "95"], "did you mean 0.95?"),
        (["trend", "white", "--level", "99.5"], "did you mean 0.995?"),
        (["trend", "white", "--level", "100"], "use 0.95 or the like"),
        (["trend", "white", "--plot", "x.gif"], ".png or .svg or .pdf"),
        (["trend", "white", "--plot", "absent/x.png"], "there is no folder"),
        (["incidents", "white", "--window", "-1h"], "--window '-1h' is negative"),
        (["plan", "checkpoint", "--mtbf", "20000h", "--save", "-3min"], "--save '-3min' is negative"),
        (["forecast", "white", "--horizon", "-30d"], "--horizon '-30d' is negative"),
        (
            ["plan", "spares", "--mtbf", "9000h", "--mttr", "9h", "--job", "64", "--blocking", "1"],
            "use 0.01 or the like",
        ),
        (["incidents", "white", "--place", "shelf"], "no column 'shelf'"),
        (["incidents", "white", "--out", "x.txt"], "does not end in"),
    ],
)
def test_mistakes_are_one_line(
    arguments: list[str], words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in complaint(capsys, *arguments)


def test_more_nodes_than_the_log_has_are_said_before_their_failures(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a log of one failure `nothing failed under observation` was said."""
    (here / "one.csv").write_text("node,start,end\na,2024-11-02 04:37,2024-11-04 02:44\n", encoding="utf-8")
    assert "--k 2 of 1 node; " in complaint(capsys, "system", "one.csv", "--k", "2")
    assert "nothing failed under observation" in complaint(capsys, "system", "one.csv", "--k", "1")


HARD: dict[str, str] = {
    "one record": "s,a,2003-01-01 00:00,2003-01-01 01:00,disk,r1\n",
    "one node": "".join(
        f"s,a,2003-{m:02d}-0{m % 9 + 1} 0{m % 9}:00,2003-{m:02d}-28 01:00,disk,r1\n" for m in range(1, 13)
    ),
    "two gaps a node": "".join(
        f"s,{n},2003-0{m}-{3 + n} 00:00,2003-0{m}-{3 + n} 01:00,disk,r1\n" for n in range(1, 5) for m in (1, 4, 7)
    ),
    "constant": "".join(
        f"s,{n},{day:%Y-%m-%d} 00:00,{day:%Y-%m-%d} 01:00,disk,r1\n"
        for n in (1, 2)
        for day in pd.date_range("2003-01-01", periods=20, freq="7D")
    ),
    "one instant": "".join(f"s,{n},2003-01-01 00:00,2003-01-01 01:00,disk,r1\n" for n in range(30)),
    "no ends": "".join(f"s,{n % 3},2003-0{1 + n % 9}-{1 + n} 00:00,,,\n" for n in range(25)),
}


QUICK = ("one record", "one instant")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK)) for name in HARD])
@pytest.mark.parametrize("command", ["dependence", "trend", "incidents"])
@pytest.mark.slow
@pytest.mark.long
def test_hard_logs_give_lines(command: str, name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(HARD[name], here)
    drawn = name in ("one record", "two gaps a node", "no ends")  # tests/plotting draws the figures of the others
    assert main([command, str(path), *(["--plot", "all.png"] if drawn else [])]) == 0
    caught = capsys.readouterr()
    assert caught.err == ""
    assert "nan" not in caught.out.split()
    said: dict[str, Any] = document(capsys, command, path)
    assert said["findings"] or said["problems"]


def test_a_window_of_zero_leaves_the_other_answers(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = document(capsys, "dependence", "white", *PART, "--window", "0")
    assert "a window of 0 expects no failures together" in said["problems"]["cofailure"]
    assert said["cofailure"] is None
    assert said["serial"] is not None


@pytest.mark.slow
@pytest.mark.long
def test_lives_without_dates(shared: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with lzma.open(shared / "data" / "titan-gpu-lifetimes.csv.xz", "rt") as whole:
        Path("titan.csv").write_text("".join(islice(whole, 1500)))
    titan = "titan.csv"
    assert main(["trend", str(titan), "--details", "--plot", "titan.png"]) == 0
    text = capsys.readouterr().out
    assert "without dates" in text
    assert "no answer: no repair was observed to its end" in text
    said = document(capsys, "dependence", titan)
    assert "lifetimes without dates" in said["problems"]["cofailure"]
    message = complaint(capsys, "trend", titan, "--out", "tests.csv")
    assert "no table trend_tests to write" in message


@pytest.mark.slow
@pytest.mark.long
def test_los_alamos(shared: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lanl = shared / "data" / "lanl-failures-1996-2005.csv.xz"
    said = document(capsys, "incidents", lanl, "--where", "system=2", "--until", "2000-01-01")
    assert (said["incidents"]["records"], said["incidents"]["incidents"]) == (3983, 2227)
    said = document(capsys, "trend", lanl, "--where", "system=20")
    assert "just before, it was" in said["periods"]["findings"][0]
    assert said["period"]["start"][:10] == said["tables"]["periods"][-1]["start"][:10]
    assert "%" in said["outlier_nodes"]["findings"][0]
    assert any(row["status"] == "ok" for row in said["tables"]["repair_kinds"])


@pytest.mark.slow
def test_alpha_is_what_the_tests_use(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for alpha in (0.2,):
        said = document(capsys, "dependence", log_file, "--alpha", alpha)
        assert said["bursts"]["alpha"] == alpha
        sizes = [said[key]["alpha"] for key in ("cofailure", "pooled", "dispersion", "cycles") if "alpha" in said[key]]
        assert any(min(sizes) == pytest.approx(alpha / tests) for tests in range(2, 8))
        trend = document(capsys, "trend", log_file, "--alpha", alpha)
        assert (trend["trend"]["alpha"], trend["trend"]["all"]["alpha"]) == (alpha, alpha)
        assert f"at {100 * alpha:g} %" in " ".join(trend["trend"]["findings"])


ONE = ["--where", "system=20"]


def test_as_many_ages_as_nodes_taken(log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = document(capsys, "system", log_file, *ONE, "--k", 2, "--age", "5h", "--age", "9d")
    assert [row["age"] for row in two["nodes"]] == [5.0, 216.0]
    assert "2 ages; write --age once for all, or once for each of --nodes" in complaint(
        capsys, "system", log_file, *ONE, "--k", 1, "--age", "5h", "--age", "9d"
    )


@pytest.mark.parametrize("command", ["fit", "system", "nodes", "trend", "dependence", "forecast", "incidents"])
@pytest.mark.slow
def test_the_unit_of_times_is_said(command: str, log_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = {"forecast": ["--horizon", "30d"], "system": ONE}.get(command, [])
    assert next(iter(document(capsys, command, log_file, *more).items())) == ("unit", "hours")
