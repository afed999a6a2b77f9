"""A fleet of which only the failed units are known: no number of one node, but a question, the same one everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError, DataError
from relfit.cli.app import main

MEAN, NODES = 950_000.0, 20_000
ALERT = "kernel: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A year of tickets of a fleet of 20 000 units that fail once in 950 000 hours: some 180 units are named."""
    rng = np.random.default_rng(1)
    number = rng.poisson(NODES * 8760.0 / MEAN)
    table = pd.DataFrame(
        {
            "host": [f"h{i:05d}" for i in rng.integers(0, NODES, number)],
            "start": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(rng.uniform(0.0, 8760.0, number)), unit="h"),
        }
    )
    path = tmp_path_factory.mktemp("tickets") / "tickets.csv"
    table.to_csv(path, index=False)
    return path


def test_it_is_asked_how_many_there_are(tickets: Path) -> None:
    log = rf.read(tickets)
    assert log.unseen_nodes > 1000
    assert "how many are there?" in log.ttf().notes[0]
    params = rf.calibrate(log, period="all", at="long run")
    for name in ("mtbf.node", "mtbf.outage", "failure", "bad_nodes.fraction"):
        assert name not in params.values()
        assert params.absent[name] == log.question
    assert params.fleet.nodes is None
    assert params.mtbf.any is not None  # of the fleet
    model = rf.fleet_model(log, "all", at="long run")
    for ask in (
        lambda: model.interval("mtbf", scope="node"),
        lambda: model.interval("reliability", "24h", size=4),
        lambda: model.interval("nodes_down", 0.9),
        model.system,
        lambda: rf.system_from_log(log),
        lambda: rf.backtest(log, parts="jobs", every="5d", horizons="5d"),
    ):
        with pytest.raises(DataError, match="how many are there"):
            ask()
    assert model.interval("mttf").estimate == pytest.approx(log.window.hours / len(log), rel=1e-6)
    assert np.isnan(model.scopes.loc["node", "mtbf"])


@pytest.mark.parametrize("command", ["info", "fit", "trend", "incidents", "calibrate", "system", "nodes"])
def test_every_command_asks(tickets: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(
            [command, str(tickets), *(["--parallel-fraction", "0.999", "--work", "10h"] if command == "nodes" else [])]
        )
    except SystemExit as error:
        code = error.code
    said = capsys.readouterr()
    text = " ".join((said.out + said.err).split())
    assert "how many are there? Give --n-nodes NUMBER or --population FILE" in text, (code, said)
    assert text.count("how many are there?") == 1
    for claim in ("declared", "node-year", "Weibull", "A node failed", "stand out", "Nodes were up", "hazard"):
        assert claim not in text.replace("start declared", "").replace("end declared", ""), (command, claim)


def test_of_incidents_only_those_of_the_system_have_a_rate(tickets: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["incidents", str(tickets), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert "how many are there?" in said["question"]
    rates = {row["scope"]: row for row in said["tables"]["rates"]}
    assert rates["node"]["incidents"] > 100
    assert (rates["node"]["rate"], rates["node"]["mtbf"], rates["node"]["hours"]) == (None, None, None)
    assert rates["system"]["rate"] == 0.0
    assert main(["trend", str(tickets), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [row["per"] for row in said["tables"]["periods"]] == ["year"]
    log = rf.read(tickets)
    per_year = sum(row["failures"] for row in said["tables"]["periods"]) / log.window.hours * 8766.0
    assert said["tables"]["periods"][0]["rate"] * 8766.0 == pytest.approx(per_year)


def test_nodes_of_which_the_number_is_given_are_not_called_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "few.csv"
    path.write_text("node,start,end\na,2024-01-03 10:00,2024-01-03 12:00\nb,2024-02-03 10:00,2024-02-03 11:00\n")
    for details in ([], ["--details"]):
        assert main(["info", str(path), "--n-nodes", "5", *details]) == 0
        text = " ".join(capsys.readouterr().out.split())
        assert "their number as given; 2 are in the log, 3 without a failure" in text
        assert "listed" not in text


def test_alerts_name_nodes_and_list_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody says which nodes there are: six that wrote of no failure are known, and many others are not."""
    rng = np.random.default_rng(4)
    at = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(rng.uniform(0, 2000, 90)), unit="h")
    lines = [f"{stamp:%Y-%m-%dT%H:%M:%S}+00:00 n{i:03d} {ALERT}" for i, stamp in enumerate(at[:84])]
    lines += [
        f"{stamp:%Y-%m-%dT%H:%M:%S}+00:00 n9{i:02d} systemd: Started Session 1." for i, stamp in enumerate(at[84:])
    ]
    path = tmp_path / "messages.log"
    path.write_text("\n".join(lines) + "\n")
    log = rf.read(path)
    assert len(log) == 84
    assert not log.population["declared"].any()
    assert log.unseen_nodes > 1000
    assert main(["info", str(path)]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "nothing lists all nodes" in text
    assert "how many are there?" in text


@pytest.mark.slow
def test_nodes_that_are_known_without_a_record_are_not_unseen(tmp_path: Path) -> None:
    """40 nodes with one record and none with two: some 780 without one, which are all in a log of 900 nodes."""
    stamps = pd.date_range("2024-01-01", periods=940, freq="h")
    rows = [
        f"{t:%Y-%m-%dT%H:%M:%S}+00:00 n{i:03d} {ALERT if i < 40 else 'systemd: Started Session 1.' + 'x' * 70_000}"
        for i, t in enumerate(stamps)
    ]
    path = tmp_path / "messages.log"
    path.write_text("\n".join(rows) + "\n")
    log = rf.read(path)
    assert len(log) == 40
    assert log.n_nodes > 800
    assert log.question is None


def test_a_snapshot_has_no_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sinfo.txt"
    path.write_text(
        "REASON               USER      TIMESTAMP           STATE  NODELIST\n"
        "Not responding       slurm     2024-03-01T10:00:00 down*  n[1-3]\n"
        "dimm failure         root      2024-03-20T09:30:00 down   n9\n"
    )
    assert main(["info", str(path)]) == 0
    assert "4 records of 4 nodes at one instant" in capsys.readouterr().out
    for command in (["fit"], ["trend"], ["incidents"], ["dependence"], ["forecast"], ["report", "--out", "r.html"]):
        assert main([command[0], str(path), *command[1:]]) != 0
        said = capsys.readouterr()
        assert said.out == ""
        assert "a snapshot has no failure rate: over what time was observed?" in said.err


@pytest.mark.verify
def test_with_their_number_the_mean_is_that_of_the_fleet(tickets: Path) -> None:
    log = rf.read(tickets, n_nodes=NODES, window_start="2024-01-01", window_end="2024-12-31")
    assert (log.n_nodes, log.question) == (NODES, None)
    node = rf.calibrate(log, period="all", parts=("mtbf",), at="long run").mtbf.node
    assert node is not None
    assert node.low < MEAN < node.high
    for wrong, message in (({"n_nodes": 3}, "names"), ({"n_nodes": NODES, "population": tickets}, "both given")):
        with pytest.raises(ArgumentError, match=message):
            rf.read(tickets, **wrong)


def test_a_fleet_that_was_seen_is_not_asked_about(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"node": [f"n{i}" for i in rng.integers(0, 50, 400)]})
    rows["start"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(rng.uniform(0.0, 8760.0, 400)), unit="h")
    rows.to_csv(tmp_path / "log.csv", index=False)
    assert rf.read(tmp_path / "log.csv").question is None
    assert rf.datasets.load("white").question is None


@pytest.mark.slow
def test_a_report_asks_too(tickets: Path, tmp_path: Path) -> None:
    path = rf.report(rf.read(tickets), tmp_path / "report.html")
    page = path.read_text()
    assert "how many are there?" in page
    assert "A node fails on its own" not in page
