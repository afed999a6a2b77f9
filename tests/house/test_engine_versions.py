"""What the simulators do has a version: recorded runs that come out differently need a new one.

A digest that no longer fits means that trajectories changed. Where that is meant, raise ``ENGINE_VERSION`` in
`relfit.simulation.batch.engine_state` (or `relfit.simulation.training.training_events`), put the new digest here and
run ``make studies``: the tables in ``docs`` are of one version. Where it is not meant, the change is a fault.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pandas as pd

import relfit as rf
from relfit.fitting.families import Weibull
from relfit.io.workloads import TwoStage
from relfit.simulation.batch import (
    Allocation,
    BatchCluster,
    CheckpointShares,
    EstimatedReliability,
    NodeFailures,
    Scheduler,
)
from relfit.system.jobs import Amdahl, Checkpoint

BATCH = {1: "f0f4095d049e50d1"}
TRAINING = {1: "fd99d0e9ee8d3225"}
"""By version the digest of the recorded runs."""


def digest(tables: list[pd.DataFrame]) -> str:
    """Of numbers to six digits, which hold on every machine."""
    text = "\n".join(table.to_csv(index=False, float_format="%.6g") for table in tables)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def batch_runs() -> list[pd.DataFrame]:
    """A few hundred jobs under every scheduler, kind of failure and allocation that the studies use."""
    jobs = TwoStage(64, load=0.9, widest=16).sample(300, rng=1)
    lives = NodeFailures(life=Weibull(np.full(64, 0.8), np.linspace(300.0, 3000.0, 64)), repair="5h")
    system = rf.batch.SystemFailures(mtbf="20h", repair="1D", fixed=True)
    estimated = Allocation(policy="ljras", reliability=EstimatedReliability(family="exponential"))
    settings: list[dict[str, Any]] = [
        {"failures": system, "checkpoint": CheckpointShares(save=0.03, restore=0.02)},
        {"failures": lives, "scheduler": Scheduler(name="fcfs", requeue="head"), "allocation": estimated},
        {"failures": lives, "scheduler": "fcfs", "allocation": "ras", "checkpoint": Checkpoint("1h", "1min", "1min")},
        {"failures": system, "scheduler": Scheduler(name="conservative", requeue="tail")},
        {"failures": system, "scheduler": Scheduler(fixed_nodes=True)},
        {"failures": lives, "scheduler": "fcfs", "allocation": Allocation(policy="ra_opt", speedup=Amdahl(0.99))},
    ]
    columns = ["starting_time", "finish_time", "waited", "waste"]
    return [rf.simulate_batch(jobs, BatchCluster(nodes=64), rng=3, **each).jobs[columns] for each in settings]


def training_runs() -> list[pd.DataFrame]:
    """A small cluster whose servers are retired, with and without warm standbys."""
    small = {"job_size": 60, "working_pool_size": 64, "spare_pool_size": 6, "job_length": "5 days"}
    kinds: list[dict[str, Any]] = [{}, {"retirement": {"policy": "threshold", "max_failures": 2}}]
    return [
        rf.simulate_training(rf.training.TrainingParameters(**small, **each), n_replications=5, rng=7).replications
        for each in kinds
    ]


def test_runs_of_the_batch_simulator_are_those_of_its_version() -> None:
    assert digest(batch_runs()) == BATCH[rf.batch.ENGINE_VERSION]


def test_runs_of_training_clusters_are_those_of_their_version() -> None:
    assert digest(training_runs()) == TRAINING[rf.training.ENGINE_VERSION]
