"""What commands say of a log of several systems: of which they speak, and which nodes they take."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from relfit.cli.app import main
from tests.cli.conftest import ROWS

DAYS = pd.date_range("2024-01-02", "2024-12-20", freq="5D")


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


def test_calibrate_says_what_is_of_one_system_and_what_of_all(capsys, log_file) -> None:
    assert main(["calibrate", str(log_file), "--parts", "mtbf", "--period", "all"]) == 0
    text = shown(capsys)
    week = float(re.search(r"([\d.]+) incidents a week in 2 systems \(", text)[1])
    days = float(re.search(r"An incident in one system every ([\d.]+) days \(mean of 2\)", text)[1])
    assert days * week == pytest.approx(2 * 7.0, rel=0.01)
    assert "anywhere" not in text


def test_what_is_now_and_what_was_name_the_systems_they_count(capsys, here) -> None:
    """Of two systems one has left after half a year."""
    days = pd.date_range("2024-01-01 06:00", "2024-12-31", freq="60h")
    rows = [("new", i % 4, day) for i, day in enumerate(days)]
    rows += [("old", i % 8, day) for i, day in enumerate(pd.date_range("2024-01-01", "2024-06-29", freq="30h"))]
    rows.sort(key=lambda row: row[2])
    lines = [f"{system},{system}{i},{day},{day + pd.Timedelta(hours=2)}" for system, i, day in rows]
    (here / "log.csv").write_text("\n".join(["system,node,start,end", *lines]) + "\n")
    nodes = [*(f"new,new{i}," for i in range(4)), *(f"old,old{i},2024-07-01" for i in range(8))]
    (here / "nodes.csv").write_text("\n".join(["system,node,left", *nodes]) + "\n")
    observed = ["--population", "nodes.csv", "--observed", "2024-01-01/2024-12-31"]
    assert main(["calibrate", "log.csv", *observed, "--parts", "mtbf,mttr", "--out", "both.toml"]) == 0
    text = shown(capsys)
    assert re.search(r"As of 2024-12-31: [\d.]+ incidents a week in 1 system without old \(", text), text
    assert "a week in all 2 since 2024-01-01" in text
    assert "(mean of the 1 of 2 in service)" in text
    assert main(["plan", "spares", "both.toml", "--job", "4"]) == 0
    assert "2 systems are taken as one. Plan for one of them." in shown(capsys)
    assert main(["plan", "checkpoint", "both.toml", "--save", "5min", "--nodes", "4"]) == 0
    assert "4 nodes that fail like the 4 of the calibrated fleet now" in shown(capsys)
    assert main(["trend", "log.csv", *observed]) == 0
    assert "2 systems taken as one (--where system=NAME takes one): " in shown(capsys)


def test_a_single_incident_of_a_scope_has_an_interval(capsys, here) -> None:
    lines = [row for row in ROWS if not row.startswith("9")]
    both = [f"20,{node},2003-06-30 01:00,2003-06-30 02:00,power,r1" for node in (1, 3)]
    (here / "log.csv").write_text("\n".join(["system,node,start,end,cause,rack", *lines, *both]) + "\n")
    (here / "nodes.csv").write_text("\n".join(["system,node,rack", *(f"20,{i},r{i % 2}" for i in range(1, 21))]) + "\n")
    arguments = ["--population", "nodes.csv", "--parts", "mtbf", "--period", "all", "--window", "10min"]
    assert main(["calibrate", "log.csv", *arguments]) == 0
    text = shown(capsys)
    assert re.search(r"of one rack once in the log \(the mean is above [\d.]+ \w+\)", text), text


def test_a_job_is_on_nodes_of_one_system_or_of_those_named(capsys, log_file) -> None:
    size = ["--parallel-fraction", "0.99", "--k-max", "2"]
    for command in (["system", "--k", "2"], ["system"], ["nodes", "--work", "24h", *size]):
        assert main([command[0], str(log_file), *command[1:]]) == 2
        assert "the log has several systems; write --where system=NAME: 9, 20" in capsys.readouterr().err
    assert main(["system", str(log_file), "--where", "system=20", "--k", "2", "--draws", "20"]) == 0
    assert "These are 1 to 2." in shown(capsys)
    text = log_file.read_text()
    log_file.write_text(re.sub(r"^(20|9),", r"\1,n\1-", text, flags=re.MULTILINE))
    assert main(["system", str(log_file), "--nodes", "n20-2,n9-1", "--draws", "20"]) == 0
    text = shown(capsys)
    assert "2 nodes run for" in text
    assert "These are" not in text


def test_the_mean_over_any_nodes_is_of_no_date(capsys, log_file) -> None:
    arguments = ["system", str(log_file), "--where", "system=20", "--any", "--k", "2", "--at", "2003-06-01"]
    assert main(arguments) == 2
    assert "--any: the mean over any nodes is of now or of the long run; name --nodes" in capsys.readouterr().err


def test_a_part_whose_nodes_have_all_left_is_not_taken_as_in_service(capsys, here) -> None:
    """Two nodes of old fail every five days until the end of June, two of new until the end of the year."""
    rows = [("new", i % 2, day) for i, day in enumerate(pd.date_range("2024-01-02", "2024-12-30", freq="60h"))]
    rows += [("old", i % 2, day) for i, day in enumerate(pd.date_range("2024-01-01", "2024-06-29", freq="60h"))]
    lines = [f"{system},{system}{i},{day},{day + pd.Timedelta(hours=2)}" for system, i, day in rows]
    (here / "log.csv").write_text("\n".join(["system,node,start,end", *lines]) + "\n")
    nodes = [*(f"new,new{i}," for i in range(2)), *(f"old,old{i},2024-07-01" for i in range(2))]
    (here / "nodes.csv").write_text("\n".join(["system,node,left", *nodes]) + "\n")
    observed = ["log.csv", "--population", "nodes.csv", "--observed", "2024-01-01/2024-12-31"]
    old = [*observed, "--where", "system=old"]
    gone = "o node has been in service since 2024-07-01, the log goes on to 2024-12-31"
    assert main(["forecast", *old]) == 2
    assert f"n{gone}; --until 2024-07-01 forecasts from then on" in " ".join(capsys.readouterr().err.split())
    assert main(["forecast", *old, "--until", "2024-07-01"]) == 0
    assert gone not in shown(capsys)
    for command in (["calibrate"], ["system"], ["report"]):
        options = {"calibrate": ["--parts", "mtbf"], "system": ["--k", "2", "--any"], "report": ["--out", "r.html"]}
        assert main([*command, *old, *options[command[0]]]) == 0
        assert gone in shown(capsys)
    for long_run in ("now", "long-run"):
        assert main(["calibrate", *observed, "--where", "system=new", "--parts", "mtbf", "--at", long_run]) == 0
        assert gone not in shown(capsys)
    assert main(["calibrate", *old, "--parts", "mtbf", "--at", "long-run"]) == 0
    assert "a failure of one node every 4.9 days" in shown(capsys)


def test_nodes_that_fail_often_are_named_with_the_share_of_false_ones(capsys, here) -> None:
    days = [(f"n{i:02}", day + pd.Timedelta(hours=7 * i)) for i in range(30) for day in DAYS[:: 18 if i else 1]]
    lines = [f"{node},{start},{start + pd.Timedelta(hours=2)}" for node, start in sorted(days, key=lambda row: row[1])]
    (here / "log.csv").write_text("\n".join(["node,start,end", *lines]) + "\n")
    assert main(["trend", "log.csv", "--n-nodes", "30", "--observed", "2024-01-01/2024-12-31"]) == 0
    assert (
        "1 node of 30 fails at least twice as often as the mean (at most 5 % of such nodes are expected to be false): "
        "n00." in shown(capsys)
    )
