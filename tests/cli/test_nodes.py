from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from relfit.cli.app import main
from relfit.cli.fits_file import system_from_file
from relfit.system.jobs import Amdahl, Job, best_size

RACKS = [word for i in range(1, 5) for word in ("--where", f"rack=frame0{i}")]  # 64 nodes
JOB = ["nodes", "white", "--families", "weibull", *RACKS, "--k-max", "40", "--work", "500h"]


@pytest.mark.slow
def test_answer(capsys, tmp_path) -> None:
    out, plot = tmp_path / "sizes.csv", tmp_path / "sizes.png"
    more = ["--parallel-fraction", "0.99", "--deadline", "40h", "--out", str(out), "--plot", str(plot)]
    assert main([*JOB, *more]) == 0
    shown = capsys.readouterr().out
    assert "Best on " in shown
    assert "done within 40 h with probability" in shown
    said = re.search(
        r"replaced within the restart \(0 .*\); (\d+) nodes of 64 are left for it", " ".join(shown.split())
    )
    assert said is not None
    assert int(said[1]) == 64 - pd.read_csv(out).set_index("nodes")["expected"].idxmin()
    assert len(out.read_text().splitlines()) == 41
    assert plot.stat().st_size > 10_000


@pytest.mark.slow
def test_json_with_a_measured_table_and_checkpoints(capsys, tmp_path) -> None:
    table = tmp_path / "times.csv"
    table.write_text("nodes,time\n1,500h\n16,40h\n32,45h\n")
    more = ["--table", str(table), "--checkpoint-every", "4h", "--save", "5min", "--restart", "10min", "--json"]
    assert main([*JOB[:-2], *more]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["best"] == 16
    assert len(found["nodes"]) == 16
    assert found["job"]["checkpoint"]["every"] == 4.0


@pytest.mark.slow
def test_the_interval_is_looked_for_and_sizes_have_ends_and_spares(capsys) -> None:
    job = [*JOB[:-4], "--work", "500h", "--parallel-fraction", "0.99", "--save", "5min", "--tolerate", "2"]
    assert main([*job, "--k-min", "20", "--k-max", "40", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sizes"][0] == 20
    assert len(found["nodes"]) == found["best"] + 2
    assert len(found["checkpoint_every"]) == len(found["sizes"])
    assert "with a checkpoint every" in found["findings"][0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "text"),
    [
        ([], "--parallel-fraction"),
        (["--parallel-fraction", "89.5"], "did you mean 0.895"),
        (["--speedup", "moore"], "--speedup 'moore'"),
        (["--parallel-fraction", "0.9", "--restart", "soon"], "--restart 'soon'"),
        (["--parallel-fraction", "0.9", "--restore", "5min"], "--restore needs --save"),
        (["--parallel-fraction", "0.9", "--rule", "last"], "--rule 'last'"),
        (["--parallel-fraction", "0.9", "--k-max", "9999"], "--k-max 9999"),
        (["--speedup", "table"], "--table FILE"),
    ],
)
def test_mistakes_are_one_line(capsys, more, text) -> None:
    assert main([*JOB, *more]) == 2
    said = capsys.readouterr().err
    assert text in said
    assert len(said.strip().splitlines()) == 1


def test_without_a_job_the_nodes_to_check_are_listed(capsys, tmp_path) -> None:
    """Node n07 fails every 20 days, 29 others twice in a year."""
    days = [("n07", day) for day in range(3, 365, 20)]
    days += [(f"n{i:02d}", day) for i in range(30) if i != 7 for day in (5 + 5 * i, 200 + 4 * i)]
    lines = [
        f"{node},2024-{1 + (day - 1) // 31:02d}-{1 + (day - 1) % 28:02d} {i % 24:02d}:00"
        for i, (node, day) in enumerate(days)
    ]
    log = tmp_path / "log.csv"
    log.write_text("\n".join(["node,start", *lines]) + "\n")
    assert main(["nodes", str(log), "--out", str(tmp_path / "nodes.csv")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Check 1 of 30 nodes: n07. As of 2024-12-")
    assert "n07" in [line.split()[0] for line in shown.splitlines()[2:9] if line]
    assert len((tmp_path / "nodes.csv").read_text().splitlines()) == 31
    assert main(["nodes", str(log), "--k-max", "3"]) == 2  # of a job, which is not named
    assert "--parallel-fraction" in capsys.readouterr().err


def test_details_list_every_node(capsys) -> None:
    assert main(["nodes", "white", "--details"]) == 0
    assert len(re.findall(r"^ *n\d{3} ", capsys.readouterr().out, re.MULTILINE)) == 512


def test_table_errors_name_the_place(capsys, tmp_path) -> None:
    table = tmp_path / "times.csv"
    table.write_text("nodes,time\n1,500h\n16,fast\n")
    assert main([*JOB[:-2], "--table", str(table)]) == 2
    assert "times.csv, line 3, column time: 'fast'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_file_of_fits_with_ages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fits = tmp_path / "fits.csv"
    assert main(["fit", "white", "--since", "2004-01-01", "--families", "weibull", "--out", str(fits)]) == 0
    capsys.readouterr()
    command = ["nodes", str(fits), "--work", "2000h", "--parallel-fraction", "0.999", "--age", "10days"]
    assert main([*command, "--json"]) == 2
    assert "have no estimate" in capsys.readouterr().err
    assert main([*command, "--missing", "drop", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    system = system_from_file(fits, None, 240.0, missing="drop")
    assert found["best"] == best_size(system, Job("2000h", Amdahl(0.999))).best


@pytest.mark.parametrize(
    "command",
    [
        "system white --k 4 --horizon 6h --horizon 24h",
        "nodes white --work 50h --parallel-fraction 0.9 --k-max 4",
    ],
)
def test_no_estimate_comes_without_its_interval(command, capsys) -> None:
    assert main([*command.split(), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for row in found["draws"] if "draws" in found else found["whole"] + found["sizes"]:
        ends = [name.removesuffix("low") for name in row if name.endswith("low")]
        assert ends
        assert all(row[f"{name}low"] <= row[f"{name}high"] for name in ends)


@pytest.mark.slow
def test_a_system_of_fits_that_say_no_error_says_so(capsys) -> None:
    assert main(["system", "white", "--families", "weibull", "--k", "4"]) == 0
    assert "No intervals: node " in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("down", "told"),
    [
        ([], ""),
        ([2], "n02 is in repair and left out."),
        ([2, 3, 5], "n02, n03, n05 are in repair and left out."),
        ([2, 3, 5, 7], "4 nodes are in repair and left out."),
    ],
)
@pytest.mark.slow
def test_nodes_in_repair_are_told_to_be_left_out(down, told, here, capsys):
    rng = np.random.default_rng(5)
    days = np.sort(rng.uniform(0, 300, 60))
    rows = [(f"n{i % 10:02d}", d, d + 0.2) for i, d in enumerate(days)] + [(f"n{i:02d}", 305, None) for i in down]
    start = pd.Timestamp("2024-01-01")
    times = [["" if day is None else str(start + pd.Timedelta(days=day)) for day in days] for _, *days in rows]
    text = "".join(f"{row[0]},{begin},{end}\n" for row, (begin, end) in zip(rows, times, strict=True))
    (here / "log.csv").write_text(f"node,start,end\n{text}")
    options = ["--observed", "2024-01-01/2024-11-20", "--period", "all", "--draws", "199"]
    for command in (["system", "log.csv"], ["nodes", "log.csv", "--work", "100h", "--parallel-fraction", "0.9"]):
        assert main([*command, *options]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert told in out
        assert ("in repair" in out) == bool(down)
    assert main(["system", "log.csv", *options[:4], "--k", "10"]) == (2 if down else 0)
    assert ("in repair" in capsys.readouterr().err) == bool(down)


def test_any_nodes_are_not_the_first_ones(here, capsys):
    rng = np.random.default_rng(8)
    hours = np.where(np.arange(40) < 8, 200.0, 2000.0)  # the first eight fail ten times as often
    start, rows = pd.Timestamp("2024-01-01"), []
    for i, mean in enumerate(hours):
        times = np.cumsum(rng.exponential(mean, 200))
        rows += [f"n{i:02d},{start + pd.Timedelta(t, 'h'):%Y-%m-%d %H:%M:%S}" for t in times[times < 10_000]]
    (here / "log.csv").write_text("node,start\n" + "\n".join(rows) + "\n")
    line = ["system", "log.csv", "--observed", "2024-01-01/2025-02-20", "--period", "all", "--k", "4", "--json"]
    assert main(line) == 0
    first = json.loads(capsys.readouterr().out)["whole"][1]["value"]
    assert main([*line, "--any", "--horizon", "24h", "--horizon", "72h"]) == 0
    document = json.loads(capsys.readouterr().out)
    chosen = np.arange(37)[:, None] + np.arange(4)  # each four side by side
    truth = {h: np.exp(-h * (1.0 / hours[chosen]).sum(axis=1)).mean() for h in (24.0, 72.0)}
    assert first == pytest.approx(np.exp(-24.0 * 4 / 200.0), abs=0.05)
    for row in document["whole"][1:]:
        assert row["value"] == pytest.approx(truth[row["at_hours"]], abs=0.03)
        assert row["low"] < truth[row["at_hours"]] < row["high"]
    assert document["headline"].startswith("Any 4 consecutive nodes run for ")
    assert main([*line, "--any", "--age", "3d"]) == 2
    assert main([*line, "--any", "--best"]) == 2
    assert main([*line[:-3], "--any"]) == 2
    assert "--any without a number of nodes; write --k 16" in capsys.readouterr().err


@pytest.mark.slow
def test_nodes_to_check_have_their_probability(capsys) -> None:
    assert main(["nodes", "white"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if re.match(r"n\d{3} ", line)]
    assert len(rows) == 10
    for _, factor, _, share, percent, *check in rows:
        assert float(factor) > 2.0
        assert percent == "%"
        assert (float(share) >= 90.0) == (check == ["yes"])
