"""A fleet of which only the failed units are known: no number of one node, but a question, the same one everywhere."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.cli.app import main
from relfit.errors import ArgumentError, DataError

MEAN, NODES = 950_000.0, 20_000


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
    params = rf.calibrate(log, period="all")
    for name in ("mtbf.node", "mtbf.outage", "failure", "bad_nodes.fraction"):
        assert name not in params.values()
        assert params.absent[name] == log.question
    assert params.fleet.nodes is None
    assert params.mtbf.any is not None  # of the fleet
    model = rf.fleet_model(log, "all")
    for ask in (
        lambda: model.interval("mtbf", scope="node"),
        lambda: model.interval("reliability", "24h", size=4),
        model.system,
        lambda: rf.system_from_log(log),
        lambda: rf.replay(log),
    ):
        with pytest.raises(DataError, match="how many are there"):
            ask()
    assert model.interval("mttf").estimate == pytest.approx(log.window.hours / len(log), rel=1e-6)
    assert np.isnan(model.scopes.loc["node", "mtbf"])


@pytest.mark.parametrize("command", ["fit", "calibrate", "system", "nodes"])
def test_every_command_asks(tickets: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(
            [command, str(tickets), *(["--parallel-fraction", "0.999", "--work", "10h"] if command == "nodes" else [])]
        )
    except SystemExit as error:
        code = error.code
    said = capsys.readouterr()
    assert "how many are there?" in " ".join((said.out + said.err).split()), (code, said)


def test_with_their_number_the_mean_is_that_of_the_fleet(tickets: Path) -> None:
    log = rf.read(tickets, n_nodes=NODES, window_start="2024-01-01", window_end="2024-12-31")
    assert (log.n_nodes, log.question) == (NODES, None)
    node = rf.calibrate(log, period="all", parts=("mtbf",)).mtbf.node
    assert node is not None
    assert node.low < MEAN < node.high
    for wrong, message in (({"n_nodes": 3}, "names"), ({"n_nodes": NODES, "population": "x.csv"}, "one of them")):
        with pytest.raises(ArgumentError, match=message):
            rf.read(tickets, **wrong)


def test_a_fleet_that_was_seen_is_not_asked_about(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"node": [f"n{i}" for i in rng.integers(0, 50, 400)]})
    rows["start"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(rng.uniform(0.0, 8760.0, 400)), unit="h")
    rows.to_csv(tmp_path / "log.csv", index=False)
    assert rf.read(tmp_path / "log.csv").question is None
    assert rf.datasets.load("white").question is None


def test_a_report_asks_too(tickets: Path, tmp_path: Path) -> None:
    path = rf.report(rf.read(tickets), tmp_path / "report.html")
    page = path.read_text()
    assert "how many are there?" in page
    assert "A node fails by itself" not in page
