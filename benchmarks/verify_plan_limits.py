"""Do the limits of plans cover? A plan from each of many counts of failures, and how often the truth is inside.

Run: python benchmarks/verify_plan_limits.py [--logs 1000]
"""

from __future__ import annotations

import argparse

import numpy as np

from relfit.planning import Predictor, Scenario, plan_checkpoints, plan_migration, plan_replication
from relfit.system.jobs import Checkpoint

NODES, MTBF = 4096, 43_800.0
COSTS = Checkpoint(save="10min", restore="10min"), "3min"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=1000)
    logs = parser.parse_args().logs
    rng = np.random.default_rng(1)
    job, machine = (
        plan_checkpoints(MTBF, *COSTS, nodes=NODES),
        _migration(MTBF, None),
    )
    copies = plan_replication(MTBF, *COSTS, nodes=NODES, most_replicas=2)
    print(f"{'failures':>8} {'interval':>9} {'waste':>7} {'spares':>7} {'gain':>7} {'break-even':>11}   (90 % limits)")
    for expected in (10, 40, 160):
        inside = np.zeros(5)
        few = max(logs // 10, 1)  # replication plans take seconds
        for log in range(logs):
            events = max(int(rng.poisson(expected)), 1)
            mtbf = MTBF * expected / events
            plan = plan_checkpoints(mtbf, *COSTS, nodes=NODES, events=events, n_draws=1000, rng=log, level=0.9)
            moved = _migration(mtbf, events, log)
            inside[:4] += [
                plan.every_limits[0] <= job.checkpoint_every <= plan.every_limits[1],
                plan.waste_limits[0] <= job.waste <= plan.waste_limits[1],
                moved.spares_low <= machine.spares <= moved.spares_high,
                moved.gain_low <= machine.gain <= moved.gain_high,
            ]
            if log < few:
                twice = plan_replication(
                    mtbf, *COSTS, nodes=NODES, most_replicas=2, events=events, n_draws=200, level=0.9, rng=log
                )
                inside[4] += twice.break_even_low <= copies.break_even <= twice.break_even_high
        shown = inside / np.array([logs, logs, logs, logs, few])
        print(
            f"{expected:8d} {shown[0]:9.3f} {shown[1]:7.3f} {shown[2]:7.3f} {shown[3]:7.3f} {shown[4]:11.3f}",
            flush=True,
        )


def _migration(mtbf: float, events: int | None, seed: int = 0):
    return plan_migration(
        mtbf,
        Scenario(COSTS[0].save, COSTS[0].restore, COSTS[1], "2min"),
        Predictor(0.7, 0.6),
        nodes=NODES,
        risk=1e-4,
        events=events,
        n_draws=400,
        level=0.9,
        rng=seed,
    )


if __name__ == "__main__":
    main()
