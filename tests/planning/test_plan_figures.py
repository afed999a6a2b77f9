"""Figures of the plans say what the plans say, and the commands show them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

import relfit as rf
from relfit.cli.app import main
from relfit.fitting.families import Weibull
from relfit.planning import Predictor, plan_checkpoints, plan_migration, plan_replication
from relfit.system.jobs import Checkpoint
from tests.factories import migration_costs


@pytest.fixture(autouse=True)
def _no_windows() -> Iterator[None]:
    mpl.use("Agg")
    yield
    plt.close("all")


def title(ax: Axes) -> str:
    ax.figure.canvas.draw()
    return ax.get_title(loc="left").replace("\n", " ")


def test_figures_of_checkpoints() -> None:
    plan = plan_checkpoints("20000h", Checkpoint("4h", "5min", "10min"), nodes=1000, events=12)
    assert title(rf.plot(plan)).startswith(plan.headline.rstrip("."))
    assert title(rf.plot(plan_checkpoints("1min", Checkpoint(save="2h")))).startswith("No interval makes progress")
    aged = plan_checkpoints(Weibull(0.6, 24.0), Checkpoint(save="5min"))
    assert title(rf.plot(aged)).startswith(aged.headline.rstrip("."))
    free = plan_checkpoints(24, Checkpoint(save="5min", slowed=0.0))
    assert title(rf.plot(free)).startswith("Write checkpoints all the time")


@pytest.mark.parametrize(("every", "end", "factor"), [("40h", 1, 1.2), ("1min", 0, 1.0 / 1.2)])
def test_the_interval_in_use_is_in_the_figure_with_young_and_daly(every: str, end: int, factor: float) -> None:
    plan = plan_checkpoints("20h", Checkpoint(save="5min", every=every))
    ax = rf.plot(plan)
    lines = {str(line.get_label()).split(":")[0]: line for line in ax.lines}
    hours = {"40h": 40.0, "1min": 1.0 / 60.0}[every]
    scale = lines["in use"].get_xdata()[0] / hours
    assert ax.get_xlim()[end] == pytest.approx(factor * scale * hours)
    assert lines["Young 1974"].get_xdata()[0] == pytest.approx(scale * (2.0 * 20.0 / 12.0) ** 0.5)
    assert lines["best"].get_ydata()[0] < lines["Young 1974"].get_ydata()[0] < ax.get_ylim()[1]


@pytest.mark.slow
def test_figures_of_migration_and_replication() -> None:
    good = {"nodes": 4096, "predictor": Predictor(0.7)}
    pays = plan_migration(8760, migration_costs(Checkpoint(None, "5min", "5min"), "1min", "2.5min"), **good)
    assert title(rf.plot(pays)).endswith("migration pays")
    dear = plan_migration(8760, migration_costs(Checkpoint(None, "1s", "1s"), "1h", "1s"), mix=1.0, **good)
    assert dear.headline.endswith("do without migration.")
    rf.plot(dear)
    unstated = plan_migration("300 days", migration_costs(Checkpoint(save="2min", restore="2min"), "4min"), nodes=4096)
    assert "recall" in rf.plot(unstated).get_ylabel()
    pairs = plan_replication(43_800, Checkpoint(None, "10min", "10min"), nodes=10_000)
    assert pairs.n_draws == 0  # of a mean time that is known
    assert "pairs pay from 35,472 nodes on" in title(rf.plot(pairs))


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("checkpoint --mtbf 20000h --nodes 1000 --save 5min --restore 10min", "checkpoint_every"),
        (
            "migration --mtbf 8760h --nodes 4096 --save 5min --restore 5min --restart 2min --migration 1min "
            "--recall 0.7 --precision 0.5",
            "gain",
        ),
        ("replication --mtbf 43800h --nodes 1000 --save 10min --restore 10min", "break_even"),
    ],
)
@pytest.mark.slow
def test_commands(command: str, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, plot = tmp_path / "plan.csv", tmp_path / "plan.png"
    assert main(["plan", *command.split(), "--out", str(out), "--plot", str(plot), "--json"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out)[key], float)
    assert out.read_text().count("\n") >= 4
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert main(["plan", *command.split()]) == 0
    short = capsys.readouterr().out
    assert len(short.splitlines()) <= 10
    assert "Assumptions" not in short
    assert main(["plan", *command.split(), "--details"]) == 0
    full = capsys.readouterr().out
    assert "Assumptions" in full
    assert "(h)" in full  # the unit of checkpoint intervals


def test_command_reads_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "params.toml"
    path.write_text("[mtbf.node]\nvalue = 20000\nlow = 15000\nhigh = 27000\n\n[fleet]\nnodes = 1000\n")
    assert main(["plan", "checkpoint", str(path), "--save", "5min", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["every_limits"][0] < found["checkpoint_every"] < found["every_limits"][1]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("checkpoint --mtbf 0 --save 5min", "mtbf is 0 hours"),
        ("checkpoint --mtbf 24h", "--save is missing"),
        ("checkpoint --save 5min", "no failure rate is given"),
        ("checkpoint nowhere.toml --save 5min", "nowhere.toml"),
        ("checkpoint nowhere.toml --mtbf 1h --save 5min", "both given"),
        ("checkpoint --mtbf 24h --save 5min --checkpoint-every 0h", "--checkpoint-every '0h' is zero"),
        ("checkpoint --mtbf 24h --save 5min --robust high", "--robust"),
        ("checkpoint --mtbf 24h --save 5min --shape 0", "--shape 0 is not above zero"),
        ("migration --mtbf 24h --nodes 9 --save 5min --migration 1min --recall 70", "did you mean 0.7"),
        ("migration --mtbf 24h --nodes 9 --save 5min", "--migration is missing"),
        ("replication --mtbf 24h --save 5min", "give nodes"),
        ("replication --mtbf 24h --save 5min --level 90", "--level"),
    ],
)
def test_mistakes_are_one_line(command: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", *command.split()]) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert message in caught.err
    assert caught.err.count("\n") == 1


def test_zero_in_a_file_names_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "params.toml"
    path.write_text('mtbf = "0h"\n')
    assert main(["plan", "checkpoint", str(path), "--nodes", "4", "--save", "5min"]) == 2
    assert "params.toml: mtbf: this cannot be 0" in capsys.readouterr().err
