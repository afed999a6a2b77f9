"""Configurations of the simulator of the repair-time study become campaigns; a campaign takes a list of jobs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relfit as rf
from relfit.cli.app import main
from relfit.simulation.batch import CheckpointShares, SystemFailures

JOBS = "jobid,submit_time,start_time,end_time,req_nodes,wallclock_limit,end_state\n" + "".join(
    f"{k},2018-02-01 0{k % 8}:00,2018-02-01 0{k % 8}:00,2018-02-01 0{k % 8 + 1}:40,{k % 3 + 1},7200,COMPLETED\n"
    for k in range(40)
)
INPUT: dict[str, Any] = {
    "node-sweep": {"range": [8]},
    "SMTBF-sweep": {"compute-SMTBF-from-NMTBF": True, "min": 16, "max": 64, "step": 16, "formula": "172800000*(1/i)"},
    "repairTime-sweep": {"min": 2, "max": 4, "step": 2, "formula": "3600*i"},
    "checkpoint-sweep": {"range": ["optimal"]},
    "batsched-policy": "easy_bf3",
    "checkpointing-on": True,
    "queue-policy": "ORIGINAL-FCFS",
    "seed-failures": 10,
    "seed-failure-machine": 10,
    "checkpoint-batsim-signal": 37,
    "grizzly-workload": {
        "type": "parallel_homogeneous",
        "machine-speed": 1,
        "input": "jobs.csv",
        "number-of-jobs": 30,
        "dump-time": "3%",
        "read-time": "2%",
        "time": "01-01-2018:",
    },
}
"""The second walkthrough, with a small machine."""


def written(folder: Path, experiments: dict[str, Any]) -> Path:
    (folder / "jobs.csv").write_text(JOBS)
    (folder / "paper.config").write_text(json.dumps({name: {"input": table} for name, table in experiments.items()}))
    return folder / "paper.config"


def test_a_walkthrough_is_read_as_it_is_meant(tmp_path: Path) -> None:
    written(tmp_path, {"2a": INPUT, "2b": INPUT})
    campaign = rf.campaigns.read_campaign(tmp_path / "paper.config:2a")
    mtbf = [172_800_000 / i / 8 for i in (16, 32, 48, 64)]  # seconds of the system
    assert [float(text.rstrip("s")) for text in campaign.parameters["failures.0.mtbf"]] == pytest.approx(mtbf)
    assert campaign.parameters["failures.0.repair"] == ["7200.0s", "14400.0s"]
    assert campaign.parameters["checkpoint.every"] == ["optimal"]
    assert (campaign.seed, campaign.workload) == (10, tmp_path / "jobs.csv")
    assert isinstance(campaign.config, dict)
    config = rf.batch.BatchConfig(**campaign.config)
    settings = config.settings()
    assert settings["failures"] == [SystemFailures(mtbf="1h", fixed=True)]
    assert (settings["scheduler"].name, settings["scheduler"].requeue) == ("easy", "submit")
    assert settings["checkpoint"] == CheckpointShares(save=0.03, restore=0.02)
    assert len(config.read_jobs(tmp_path / "jobs.csv")) == 30


def test_its_runs_are_those_of_the_settings(tmp_path: Path) -> None:
    config = written(tmp_path, {"2b": {**INPUT, "MTTR-sweep": {"range": [3600]}, "SMTBF-sweep": {"range": [36000]}}})
    document = json.loads(config.read_text())
    del document["2b"]["input"]["repairTime-sweep"]
    config.write_text(json.dumps(document))
    campaign = rf.campaigns.read_campaign(config).model_copy(update={"replications": 3})
    result = rf.campaigns.sweep(campaign, tmp_path / "store", executor="serial")
    jobs = rf.read_workload(tmp_path / "jobs.csv")
    runs = rf.batch.simulate_batches(
        jobs.where(np.arange(30)),
        8,
        n_runs=3,
        rng=10,
        failures=SystemFailures(mtbf="10h", repair="1h"),
        checkpoint=CheckpointShares(save=0.03, restore=0.02),
    ).runs
    np.testing.assert_array_equal(result.samples("mean_wait").to_numpy()[0], runs["mean_wait"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"synthetic-workload": {}}, "synthetic-workload: this is not read"),
        ({"queue-policy": "LIFO"}, "ORIGINAL-FCFS"),
        ({"batsched-policy": "energy_bf"}, "batsched-policy is 'energy_bf'"),
        ({"node-sweep": {"range": [8, 9]}}, "sizes"),
        ({"SMTBF-sweep": {"range": [1], "formula": "__import__('os')"}}, "no values can be made of it"),
        ({"SMTBF-sweep": 5}, "no values can be made of it"),
        ({"grizzly-workload": {}}, "no grizzly-workload"),
    ],
)
def test_what_cannot_be_simulated_is_said(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(rf.ReadError, match=message):
        rf.campaigns.read_campaign(written(tmp_path, {"2a": {**INPUT, **change}}))


def test_an_experiment_has_to_be_named(tmp_path: Path) -> None:
    written(tmp_path, {"2a": INPUT, "2b": INPUT})
    with pytest.raises(rf.ReadError, match="has the experiments 2a, 2b") as error:
        rf.campaigns.read_campaign(tmp_path / "paper.config")
    assert error.value.remedy == "name one, as paper.config:2a"
    with pytest.raises(rf.ReadError, match="no experiment '3'"):
        rf.campaigns.read_campaign(tmp_path / "paper.config:3")


def test_the_command_takes_another_list_of_jobs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = written(tmp_path, {"2a": {**INPUT, "SMTBF-sweep": {"range": [1e9]}, "repairTime-sweep": {"range": [60]}}})
    other = tmp_path / "other.csv"
    other.write_text("job_id,submit,nodes,run_time\n1,0,2,3600\n2,10,8,3600\n")
    where = ["--store", str(tmp_path / "store"), "--executor", "serial"]
    assert main(["sweep", str(config), "--workload", str(other), *where]) == 0
    result = rf.campaigns.load(tmp_path / "store")
    assert result.of("mean_wait")["mean"].tolist() == [(0.0 + 3590.0) / 2.0]
    assert main(["sweep", "airesim", "--workload", str(other), *where]) == 2
    assert "only a batch system has a workload" in capsys.readouterr().err
