"""Topics: calibrated parameters, files for other tools, plans."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import relfit as rf
from papers.migration import SCENARIOS
from relfit.fitting.families import Gamma, Lognormal, Weibull
from relfit.fleet.calibration import to_fta
from relfit.planning import (
    Cluster,
    DeviceFailures,
    Performance,
    PowerHeadroom,
    Predictor,
    Recovery,
    Strategies,
    TensorParallel,
    evaluate_sparing,
    optimise_sparing,
    sparing_map,
)
from relfit.planning.checkpointing.renewal_failures import best_fixed_interval, renewal_waste
from relfit.planning.checkpointing.two_level import LevelCosts
from relfit.planning.migration import prediction as p
from relfit.planning.migration.prediction import compare_throughputs, job_mix, spares_for_risk
from relfit.planning.replication.replication_plan import CopiedJob, failures_to_interruption
from relfit.planning.sparing.blocks import block_mtbf, blocking_probability, spare_blocks_needed
from relfit.system.jobs import Checkpoint, expected_time, time_to_failure
from relfit.system.jobs import checkpoint as e
from tests.reference.collect import Values, log, parameters, spread, topic, under

COSTS = ("5min", "10min", "3min")


@topic(slow=True)
def calibration() -> Values:
    """Mean times, families and counts of the calibrated parameters of the sample and LANL 20."""
    values: Values = {}
    for name in ("white", "lanl_20"):
        values |= under(name, _numbers(parameters(name).model_dump(mode="json", exclude_none=True)))
    return values


def _numbers(item: Any, prefix: str = "") -> Values:
    """Every number of a parameter file, flat, but for what says when and with what it was made."""
    values: Values = {}
    for key, value in item.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and name not in ("provenance", "absent"):
            values |= _numbers(value, f"{name}.")
        elif isinstance(value, list) and all(isinstance(x, int | float) for x in np.ravel(value)):
            values[name] = np.ravel(np.asarray(value, float)).tolist()
        elif isinstance(value, int | float) and name != "version":
            values[name] = str(value) if isinstance(value, bool) else value
    return values


@topic()
def exports() -> Values:
    """A Failure Trace Archive trace written and read again."""
    with tempfile.TemporaryDirectory() as folder:
        trace = to_fta(log("lanl_20"), Path(folder, "trace"))
        again = rf.read(trace)
        return {"lanl_20.fta.again": [len(again), again.n_nodes, float(np.sum(again.ttf().total_time))]}


@topic()
def checkpoint_formulas() -> Values:
    """Best intervals and waste: exponential, first order, Daly, any family, two levels, finite jobs."""
    mtbf = [24.0, 6.0, 0.25]
    values: Values = {
        "exponential.best_interval": e.best_interval(mtbf, *COSTS),
        "exponential.best_interval_not_exposed": e.best_interval(mtbf, "5min", "10min", exposed=()),
        "exponential.best_waste": e.best_waste(mtbf, *COSTS),
        "exponential.waste": e.waste(mtbf, 2.0, *COSTS),
        "exponential.slowdown": 1.0 / (1.0 - e.waste(mtbf, 2.0, "5min", "10min")),
        "young": e.young_interval(mtbf, "5min"),
        "daly.first": e.daly_interval(mtbf, "5min", "10min", "first"),
        "daly.higher": e.daly_interval(mtbf, "5min", "10min"),
        "first_order.best_waste": e.first_order_best_waste(mtbf, "5min", "10min"),
        "first_order.least_mtbf": float(e.least_mtbf("5min", "10min", "1min")),
    }
    families = {
        "weibull_0.6": Weibull(0.6, 24.0),
        "weibull_4": Weibull(4.0, 24.0),
        "lognormal": Lognormal(3.0, 1.0),
        "gamma": Gamma(0.7, 30.0),
    }
    cost = Checkpoint(None, "5min", "10min")
    every = Checkpoint(2.5, "5min", "10min")
    for name, family in families.items():
        best = best_fixed_interval(family, cost)
        values |= under(
            name,
            {
                "best_interval": float(best.every),
                "best_waste": float(best.waste),
                "waste": renewal_waste(family, [0.5, 2.5, 8.0], cost, "2min"),
                "job_time": float(expected_time(family, 500, every, ages="10 days", later=family, last_save=True)),
                "job_time_no_last_save": float(expected_time(family, 60, every)),
            },
        )
        slow = best_fixed_interval(family, Checkpoint(None, "15min", "10min", slowed=0.2))
        values[f"{name}.asynchronous"] = [float(slow.every), float(slow.waste)]
    many = best_fixed_interval(time_to_failure(Weibull(0.7, 9000.0), 500.0, 100), cost)
    values["hundred_nodes"] = [float(many.every), float(many.waste)]
    two = LevelCosts(24, "1min", "10min", "1min", "20min", share_global=0.1)
    levels = two.best()
    best = (levels.checkpoint_every, levels.saves_per_global, levels.waste, levels.global_only)
    values["two_levels.best"] = [float(np.ravel(x)[0]) for x in best]
    values["two_levels.waste"] = float(two.waste(1.0, 5))
    return values


@topic()
def migration() -> Values:
    """Spares for a risk, throughputs of the paper, imperfect predictions."""
    predictors = (Predictor(0.75, lead="30s"), Predictor(0.0), Predictor(0.75), Predictor(0.75, 0.3))
    values: Values = {
        "spares": spares_for_risk([1024, 16384, 131072], 720.0, "1min", "5min", 1e-4),
        "job_mix": job_mix(1024).node_shares,
        "best_interval": p.best_predicted_interval(24, "5min", 0, 0, "1min", Predictor([0.0, 0.75])),
        "waste": [float(p.predicted_waste(24, 2, "5min", "2min", "1min", "1min", one)) for one in predictors],
        "break_even_recall": p.break_even_recall(
            "10 days", "5min", "5min", "2min", "1min", [1.0, 0.5, 0.1, 0.02], working_share=0.995
        ),
    }
    for scenario in SCENARIOS.values():
        for parallel in (True, False):
            rates = compare_throughputs(scenario, [2**12, 2**17], 30 * 24.0, parallel=parallel)
            names = ("migrate", "periodic", "periodic_exact", "save_in_time", "nothing")
            values |= under(
                f"throughput.{scenario.name}.{'parallel' if parallel else 'sequential'}",
                {
                    "spares": np.ravel(rates.spares).astype(int),
                    **{n: np.ravel(getattr(rates, n)) for n in names},
                },
            )
    return values


@topic()
def replication() -> Values:
    """Every process twice or thrice: failures to interruption, yields, break-even."""
    times, ten = ["1min", "10min", "1h"], CopiedJob(43_800, "10min", "10min")
    return {
        "failures_to_interruption": failures_to_interruption([1, 100, 100_000]),
        "failures_to_interruption_three": failures_to_interruption([1, 100, 100_000], 3),
        "break_even_nodes": CopiedJob(43_800, times, times).break_even(),
        "best_restart_interval": ten.best_interval([1000, 50_000]),
        "restart_at_saves_waste": ten.waste([1000, 50_000], 5.0),
        "yield": ten.useful([2000, 100_000]),
        "yield_three": replace(ten, replicas=3).useful([3000, 99_999]),
    }


@topic()
def sparing() -> Values:
    """Evaluate, optimise, blocks needed, maps."""
    cluster = Cluster(zones=4, racks=256, trays=36, gpus=2, group=2304, shared_racks=False)
    failures = DeviceFailures(mtbf_tray="20000h", mtbf_rack="10000h", mttr="24h")
    recovery = Recovery(checkpoint_every="250s", save="50ms", detection="60s", restart="6min")
    speed = Performance(PowerHeadroom(exposed=0.228, idle=0.28), TensorParallel(alpha=0.204, baseline=16))
    strategies = Strategies.of_gpus(cluster, block=[72, 72, 36, 36, 18, 18], working=[72, 64, 36, 32, 18, 16])
    values: Values = {
        "block_mtbf": np.ravel(block_mtbf([36, 36, 9], [0, 4, 1], 20_000, 10_000, 24)),
        "blocking": np.ravel(blocking_probability(256, [0, 4, 24, 60], 0.06)),
    }
    table = evaluate_sparing(cluster, strategies, failures, recovery, speed)
    names = ("cett", "goodput", "block_mtbf", "share_down", "job_blocked", "failure_rate")
    values |= under(
        "table_1",
        {
            "spare_blocks": np.ravel(table.spare_blocks).astype(int),
            "period": np.ravel(table.checkpoint_every),
            "best": int(np.ravel(table.best)[0]),
            **{name: np.ravel(getattr(table, name)) for name in names},
            **under("shares", {str(name): np.ravel(share) for name, share in table.shares.items()}),
        },
    )
    free = replace(recovery, checkpoint_every=None)
    cases = {
        "shared_racks": (replace(cluster, shared_racks=True), recovery),
        "disturbed": (cluster, replace(recovery, disturbed=True)),
        "semi_synchronous": (cluster, replace(recovery, loss_limit=16)),
        "best_period": (cluster, free),
        "no_groups": (replace(cluster, group=None), recovery),
        "partial_groups": (replace(cluster, partial_groups=True), recovery),
    }
    for name, (where, how) in cases.items():
        case = evaluate_sparing(where, strategies, failures, how, speed)
        values |= under(
            name,
            {
                "spare_blocks": np.ravel(case.spare_blocks).astype(int),
                "cett": np.ravel(case.cett),
                "period": np.ravel(case.checkpoint_every),
            },
        )
    for name, where in (("placed", cluster), ("free", replace(cluster, group=None))):
        plan = optimise_sparing(where, failures, free, speed)
        values[f"optimum.{name}.goodput"] = float(np.ravel(plan.goodput).max())
    needed = spare_blocks_needed(block_mtbf(36, 0, 20_000, 10_000, 24), 24, 0.001, blocks=256, zones=4)
    numbers = (needed.spare_blocks, needed.poisson, needed.probability)
    values["needed.256_4"] = [float(np.ravel(x)[0]) for x in numbers]
    axes = (np.geomspace(2e3, 2e5, 12), np.geomspace(1, 168, 12))
    where = sparing_map(cluster, strategies, *axes, recovery, speed)
    values["map.winner"] = "".join(map(str, np.ravel(where.winner)))
    values["map.margin"] = spread(where.margin)
    sums = [float(where.boundaries[name].sum()) for name in ("mtbf", "mttr")]
    values["map.boundaries"] = [len(where.boundaries), *sums]
    return values
