"""Every kind of run gives what its own function gives, replication by replication."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relfit as rf
from relfit.base.errors import RelfitError
from relfit.fleet.calibration import write_parameters
from relfit.simulation.campaigns.campaign import Campaign
from relfit.simulation.campaigns.runner_kinds import AssumptionsTable
from relfit.simulation.campaigns.runners import changed, runner_of

TRAINING = {"job_size": 60, "working_pool_size": 70, "spare_pool_size": 4, "job_length": "20 days"}


def two_ways(runner: Any, settings: dict[str, Any], seed: int = 7) -> dict[str, np.ndarray]:
    """Five replications at once, and in two parts: they must be the same."""
    runner.check(settings)
    at_once = runner.run(settings, 0, 5, seed)
    parts = [runner.run(settings, 0, 1, seed), runner.run(settings, 1, 5, seed)]
    for name, values in at_once.items():
        np.testing.assert_array_equal(values, np.concatenate([part[name] for part in parts]), err_msg=name)
    return at_once


def campaign(run: str, parameters: dict[str, list[Any]], **given: Any) -> Campaign:
    return Campaign(run=run, parameters=parameters, **{"replications": 5, "seed": 7, **given})


def test_training_is_that_of_simulate_training() -> None:
    runner = runner_of(campaign("training", {"recovery_time": [10]}, config=TRAINING))
    outputs = two_ways(runner, {"recovery_time": 10, "retirement.max_failures": 2, "retirement.policy": "threshold"})
    params = rf.training.TrainingParameters(
        **TRAINING, recovery_time=10, retirement={"max_failures": 2, "policy": "threshold"}
    )
    runs = rf.simulate_training(params, n_replications=5, rng=7).replications
    np.testing.assert_array_equal(outputs["total_training_time"], runs["total_training_time"])
    assert set(outputs) == set(runs) - {"replication", "job"}


def test_training_varies_the_calibrated_repairs(tmp_path: Path) -> None:
    """A key of a cell takes precedence over the calibrated parameters, as one of the file does."""
    limits = {"low": {"meanlog": 0.9, "sdlog": 0.4}, "high": {"meanlog": 1.1, "sdlog": 0.6}, "level": 0.95}
    fitted = {"family": "lognormal", "parameters": {"meanlog": 1.0, "sdlog": 0.5}, **limits}
    known = rf.Parameters(mtbf="300h", mttr="8h", repair=fitted)
    write_parameters(known, tmp_path / "params.toml")
    keys = [f"{key} = {value!r}\n" for key, value in {**TRAINING, "job_size": 66, "spare_pool_size": 0}.items()]
    (tmp_path / "cluster.toml").write_text("".join(keys) + 'calibrated = "params.toml"\n')
    runner = runner_of(campaign("training", {"auto_repair_time": [1]}, config=tmp_path / "cluster.toml"))
    times = [
        float(two_ways(runner, settings)["total_training_time"].mean())
        for settings in (
            {"auto_repair_time": "2h"},
            {},
            {"auto_repair_time": "32h"},
            {"auto_repair.parameters.meanlog": 3.3},
        )
    ]
    assert times[0] < times[1] < times[2]
    assert times[3] == pytest.approx(times[2], rel=0.05)  # exp(3.3 + 0.5**2 / 2) is 31 hours
    with pytest.raises(RelfitError, match="give prob_auto_to_manual too"):
        runner.check({"manual_repair_time": "2h"})


def test_a_setting_makes_the_tables_that_are_missing() -> None:
    settings = {"failures.0.repair": "1h", "scheduler.name": "fcfs"}
    expected = {"failures": [{"mtbf": "5h", "repair": "1h"}], "scheduler": {"name": "fcfs"}}
    assert changed({"failures": [{"mtbf": "5h"}]}, settings) == expected


def test_limits_go_with_the_value() -> None:
    mtbf = {"value": 5.0, "low": 4.0, "high": 6.0, "level": 0.95}
    assert changed({"mtbf": {"node": mtbf}}, {"mtbf.node.value": 9.0}) == {
        "mtbf": {"node": {"value": 9.0, "level": 0.95}}
    }
    own = {"parameters": {"a": 1}, "low": 0}  # of a function
    assert changed({"x": own}, {"x.parameters.a": 2}) == {"x": {"parameters": {"a": 2}, "low": 0}}


def batch_config(folder: Path) -> Path:
    jobs = "\n".join(f"{i},{300 * i},{i % 3 + 1},3600,7200" for i in range(40))
    (folder / "jobs.csv").write_text(f"job_id,submit,nodes,run_time,requested\n{jobs}\n")
    text = (
        '[workload]\nfile = "jobs.csv"\n[cluster]\nnodes = 4\n[[failures]]\nkind = "system"\n'
        'mtbf = "5h"\nrepair = "1h"\n'
    )
    (folder / "batch.toml").write_text(text)
    return folder / "batch.toml"


def test_batch_is_that_of_simulate_batches(tmp_path: Path) -> None:
    config = batch_config(tmp_path)
    runner = runner_of(campaign("batch", {"failures.0.repair": ["1h"]}, config=config))
    outputs = two_ways(runner, {"failures.0.repair": "2h", "scheduler.name": "fcfs"})
    settings = rf.batch.read_batch_config(config)
    failures = rf.batch.SystemFailures(mtbf="5h", repair="2h")
    runs = rf.batch.simulate_batches(settings.read_jobs(), 4, n_runs=5, rng=7, failures=failures, scheduler="fcfs").runs
    np.testing.assert_array_equal(outputs["mean_wait"], runs["mean_wait"])


def test_batch_names_the_nearest_key(tmp_path: Path) -> None:
    runner = runner_of(campaign("batch", {"failures.0.repair": ["1h"]}, config=batch_config(tmp_path)))
    with pytest.raises(RelfitError, match="did you mean repair"):
        runner.check({"failures.0.repiar": "1h"})
    with pytest.raises(RelfitError, match="no such place"):
        runner.check({"failures.3.repair": "1h"})


def test_sparing_runs_one_strategy(tmp_path: Path) -> None:
    config = {
        "cluster": {"zones": 2, "racks": 16, "trays": 8, "gpus": 8, "block": 64, "working": 56, "save": "1min"},
        "devices": {"mtbf_tray": "3000h", "mtbf_rack": "9000h", "mttr": "24h"},
        "years": 1.0,
    }
    runner = runner_of(campaign("sparing", {"devices.mttr": ["24h"]}, config=config))
    outputs = two_ways(runner, {"devices.mttr": "48h", "cluster.spare_blocks": 2})
    assert ((outputs["useful"] > 0.3) & (outputs["useful"] < 1.0)).all()
    with pytest.raises(RelfitError, match="strategies in a cell"):
        runner.check({"cluster.working": [56, 48], "cluster.block": [64, 64]})


@pytest.mark.slow
def test_batch_counts_nodes_that_are_replaced_and_gone(tmp_path: Path) -> None:
    runner = runner_of(campaign("batch", {"failures.0.repair.replacement": ["1h"]}, config=batch_config(tmp_path)))
    never = {"failures.0.repair": {"stages": [{"time": "1h", "success": 0.0}]}}
    replaced = runner.run({**never, "failures.0.repair.replacement": "1h"}, 0, 3, 7)
    assert (replaced["failures"] > 0).all()
    np.testing.assert_array_equal(replaced["replaced"], replaced["failures"])
    np.testing.assert_array_equal(replaced["gone"], np.zeros(3))
    lost = runner.run(never, 0, 3, 7)  # the dictionary is as it was: nothing is replaced
    assert (lost["gone"] > 0).all()
    np.testing.assert_array_less(lost["gone"], 5)
    np.testing.assert_array_equal(lost["replaced"], np.zeros(3))


def test_assumptions_left_out_are_those_of_a_sparing_simulation() -> None:
    assert AssumptionsTable().model_dump() == asdict(rf.simulation.SparingAssumptions())


def test_sparing_with_repairs_in_stages() -> None:
    repair = {"stages": [{"time": "5h", "success": [1.0, 0.5]}], "replacement": "100h"}
    config = {
        "cluster": {"racks": 16, "trays": 8, "gpus": 8, "block": 64, "working": 56, "spare_blocks": 2, "save": "1min"},
        "devices": {"mtbf_tray": "3000h", "repair": repair},
        "years": 1.0,
        "assumptions": {"whole_block_repairs": False},
    }
    runner = runner_of(campaign("sparing", {"devices.repair.replacement": ["100h"]}, config=config))
    quick, slow = (two_ways(runner, {"devices.repair.replacement": time})["useful"] for time in ("10h", "9000h"))
    assert quick.mean() > slow.mean() + 0.05
    with pytest.raises(RelfitError, match="give one of mttr and repair"):
        runner.check({"devices.mttr": "24h"})


@pytest.mark.slow
@pytest.mark.long
def test_a_queue_of_jobs_on_a_cluster_with_spares() -> None:
    config = {
        "cluster": {"racks": 16, "trays": 8, "gpus": 8, "block": 64, "working": 56, "spare_blocks": 2, "save": "1min"},
        "devices": {"mtbf_tray": "3000h", "mttr": "24h"},
        "years": 1.0,
        "jobs": [{"blocks": 10, "work": "10 days"}, {"blocks": 8, "work": "5 days", "submit": "1 day", "name": "b"}],
    }
    runner = runner_of(campaign("sparing", {"jobs.0.blocks": [4, 10]}, config=config))
    assert runner.output == "mean_wait"
    narrow, wide = (two_ways(runner, {"jobs.0.blocks": blocks})["mean_wait"] for blocks in (4, 10))
    assert (narrow == 0.0).all()
    assert (wide > 4.5 * 24).all()
    with pytest.raises(RelfitError, match="did you mean blocks"):
        runner.check({"jobs.0.block": 4})


def test_a_plan_is_that_of_the_planner() -> None:
    config = {"planner": "checkpoint", "mtbf": "20000h", "nodes": 1000, "checkpoint": {"save": "5min"}}
    runner = runner_of(campaign("plan", {"nodes": [10]}, config=config, replications=1))
    outputs = runner.run({"nodes": 500, "checkpoint.save": "2min"}, 0, 1, 0)
    plan = rf.planning.plan_checkpoints("20000h", rf.jobs.Checkpoint(save="2min"), nodes=500)
    assert outputs["waste"] == plan.waste
    assert outputs["checkpoint_every"] == plan.checkpoint_every
    with pytest.raises(RelfitError, match="did you mean nodes"):
        runner.check({"node": 500})


_COSTS = {"save": "5min", "restore": "5min", "restart": "5min", "migration": "1min"}


@pytest.mark.parametrize(
    ("planner", "more", "output", "best"),
    [
        ("checkpoint", {"checkpoint": {"save": "5min"}}, "waste", "least"),
        ("migration", {"costs": _COSTS}, "checkpoint_yield", "most"),
        (
            "migration",
            {"costs": _COSTS, "predictor": {"recall": 0.9, "precision": 0.9}},
            "migration_yield",
            "most",
        ),
        ("replication", {"checkpoint": {"save": "5min"}}, "yield", "most"),
    ],
)
def test_the_main_output_of_a_planner_is_its_answer(planner: str, more: Any, output: str, best: str) -> None:
    config = {"planner": planner, "mtbf": "20000h", **more}
    own = campaign("plan", {"nodes": [100, 10_000]}, config=config, replications=1)
    runner = runner_of(own)
    assert (runner.output, runner.sides(own)["best"]) == (output, best)
    small, large = (runner.run({"nodes": nodes}, 0, 1, 0)[output][0] for nodes in (100, 10_000))
    assert 0.0 < small < 1.0
    assert (small < large) == (best == "least")


def test_fits_of_simulated_logs_come_near_what_was_simulated() -> None:
    config = {"mtbf": "500h", "mttr": "5h", "nodes": 50, "span": "2000h", "families": ["exponential", "weibull"]}
    runner = runner_of(campaign("fit", {"nodes": [50]}, config=config))
    outputs = two_ways(runner, {"nodes": 80})
    assert 450 < outputs["exponential.mean"].mean() < 560
    assert 0.8 < outputs["weibull.shape"].mean() < 1.2
    assert 250 < outputs["failures"].mean() < 390


def test_a_function_takes_any_parameter_where_it_says_so() -> None:
    runner = runner_of(campaign("tests.campaigns.models:anything", {"x": [1]}, config={"y": 1}))
    runner.check({"whatever": 2})
    assert runner.run({"x": 2}, 0, 2, 0)["value"].tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("output", "best"), [("etr", "most"), ("goodput", "most"), ("total_training_time", "least"), (None, "least")]
)
def test_the_best_cell_has_most_of_what_is_good(output: str | None, best: str) -> None:
    """The least goodput was the headline."""
    asked = campaign("training", {"recovery_time": [10]}, config=TRAINING, output=output)
    assert runner_of(asked).sides(asked)["best"] == best
