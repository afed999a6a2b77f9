"""Small random workloads and failures, in whole seconds so that much happens at one instant."""

from __future__ import annotations

import numpy as np

from relfit.io.workloads import Workload
from relfit.simulation.batch import ReplayedFailures
from tests.batch.slow_cluster import SlowJob


def random_workload(rng, n_nodes=None, n_jobs=None, priorities=False):
    """Jobs with good, bad and no guesses of their run time."""
    n_nodes = n_nodes or int(rng.integers(1, 17))
    n = n_jobs or int(rng.integers(1, 30))
    submit = np.sort(rng.integers(0, 60, n)).astype(float) * rng.choice([0.0, 1.0, 3.0])
    nodes = np.minimum(rng.geometric(rng.choice([0.15, 0.5]), n), n_nodes + 1)
    run_time = rng.integers(0, 40, n).astype(float)
    requested = np.where(rng.random(n) < 0.2, run_time, np.ceil(run_time * rng.choice([0.8, 1.3, 3.0], n)) + 1)
    priority = rng.integers(0, 3, n).astype(float) if priorities else None
    return Workload(np.arange(n), submit, nodes, run_time, requested, n_nodes, priority=priority)


def random_failures(rng, n_nodes, span=400):
    """A list of failures, some of nodes that are down, some repaired at once."""
    n = int(rng.integers(1, 25))
    return ReplayedFailures(
        np.sort(rng.integers(0, span, n)).astype(float),
        rng.integers(0, n_nodes, n),
        np.maximum(rng.integers(-5, 60, n), 0).astype(float),
    )


def slow_jobs(workload, **more):
    """The same jobs for the slow simulator."""
    priority = np.zeros(len(workload)) if workload.priority is None else workload.priority
    columns = (workload.submit, workload.nodes, workload.run_time, workload.requested, priority)
    return [
        SlowJob(i, float(s), int(k), float(r), float(w), float(p), **more)
        for i, (s, k, r, w, p) in enumerate(zip(*columns, strict=True))
    ]
