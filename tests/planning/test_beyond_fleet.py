"""Plans for more nodes than the fleet has of which the parameters tell say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from relfit.cli.app import main
from relfit.fleet.calibration import Parameters, write_parameters
from relfit.planning import Scenario, plan_checkpoints, plan_migration, plan_replication, plan_spares
from relfit.planning.plan import Plan
from relfit.system.jobs import Checkpoint

FLEET = Parameters(mtbf={"node": "8760h"}, mttr="4h", fleet={"nodes": 128})
SAYS = "nodes are more than the 128 of the parameters' fleet"


def plans(source: object, nodes: int) -> dict[str, Plan]:
    save = Checkpoint(save="5min")
    scenario = Scenario(save=0.1, restore=0.1, restart=0.1, migration=0.01)
    return {
        "checkpoints": plan_checkpoints(source, save, nodes=nodes, repair="4h"),
        "replication": plan_replication(source, save, nodes=nodes, repair="4h"),
        "migration": plan_migration(source, scenario, nodes=nodes, repair="4h"),
        "spares": plan_spares(source, nodes, repair="4h"),
    }


def test_plans_for_more_nodes_than_the_fleet_say_so() -> None:
    for plan in plans(FLEET, 1000).values():
        assert plan.findings[1].startswith(f"1,000 {SAYS}")
    for inside in (plans(FLEET, 128), plans("8760h", 1000)):
        for plan in inside.values():
            assert not any(SAYS in finding for finding in plan.findings)


def test_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = write_parameters(FLEET, tmp_path / "fleet.toml")
    for details in ([], ["--details"]):
        for nodes, times in (("1000", 1), ("100", 0)):
            assert main(["plan", "spares", str(place), "--job", nodes, *details]) == 0
            assert " ".join(capsys.readouterr().out.split()).count(SAYS) == times
