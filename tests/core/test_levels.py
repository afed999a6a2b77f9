"""A level of confidence is between 0 and 1, wherever it is asked for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit import planning, simulation
from relfit.analyses import independence, recurrence, regression, screening
from relfit.fitting import nonparametric, pool
from relfit.io import workloads
from relfit.simulation import batch
from relfit.simulation.training import training_parameters
from relfit.system import jobs

LIFE = [3.0, 5.0, 9.0, 20.0, 31.0]
TABLE = pd.DataFrame({"node": list("abab"), "start": pd.date_range("2024-01-01", periods=4, freq="9D")})
LOG = rf.read(TABLE.assign(end=TABLE["start"] + pd.Timedelta("2h")))
PARAMETERS = rf.Parameters(mtbf={"node": "2000h"}, mttr={"node": "4h"})
SYSTEM = rf.System(rf.families.Weibull(0.8, [1000.0] * 3))
GAPS = recurrence.EventHistories.from_groups([[1.0, 3.0, 4.0]], end=9.0)
SPARING = planning.Cluster(zones=1, racks=8, trays=8, gpus=2)
DEVICES, RECOVERY = planning.DeviceFailures(3000, 20_000, 24), planning.Recovery(checkpoint_every="250s")
WORKLOAD = workloads.Workload(range(2), [0.0, 1.0], [1, 1], [9.0, 9.0], [9.0, 9.0], 2)
FITS, NODES = rf.fit(LIFE, "weibull"), rf.fit(rf.LifeData.from_groups([LIFE] * 4), "weibull")
BY_CAUSE = rf.fit(pd.DataFrame({"hours": LIFE, "mode": list("ababa")}), "weibull", duration="hours", cause="mode")

NOT_CALLED = {"fit_stored", "RepairSweep.break_even", "simulate_sparing_queue"}
"""They need stored logs and runs."""
CALLS: dict[str, Callable[[float], Any]] = {
    "Study": lambda level: rf.Study(LOG, level=level),
    "report": lambda level: rf.report(LOG, "nowhere.html", level=level),
    "fit": lambda level: rf.fit(LIFE, level=level),
    "FamilyFit.interval": lambda level: FITS["weibull"].interval("mean", level=level),
    "FamilyFit.failures_ahead": lambda level: FITS["weibull"].failures_ahead(5.0, level=level),
    "FamilyFit.contour": lambda level: FITS["weibull"].contour(level=level),
    "CompetingFit.interval": lambda level: BY_CAUSE.competing().interval(5.0, level=level),
    "PooledFit.interval": lambda level: NODES.pool("weibull").interval("mean", level=level),
    "Fits.interval": lambda level: FITS.interval("mean", level=level),
    "Fits.pool": lambda level: NODES.pool("weibull", level=level),
    "pool": lambda level: pool(rf.families.Weibull, NODES.lives, level=level),
    "kaplan_meier": lambda level: rf.kaplan_meier(LIFE, level=level),
    "nelson_aalen": lambda level: rf.nelson_aalen(LIFE, level=level),
    "cumulative_incidence": lambda level: nonparametric.cumulative_incidence(BY_CAUSE.lives, level=level),
    "median_ranks": lambda level: nonparametric.median_ranks(LIFE, level=level),
    "observed_times": lambda level: nonparametric.observed_times(LIFE, level=level),
    "regress": lambda level: regression.regress(LOG, "failures ~ node", level=level),
    "attribute_effects": lambda level: regression.attribute_effects(LOG, level=level),
    "dispersion": lambda level: independence.dispersion(independence.failures_of(LOG), level=level),
    "availability": lambda level: recurrence.availability(LOG, level=level),
    "availability_over_time": lambda level: recurrence.availability_over_time(LOG, level=level),
    "mean_cumulative": lambda level: recurrence.mean_cumulative(GAPS, level=level),
    "fit_process": lambda level: recurrence.fit_process(GAPS, level=level),
    "compare_processes": lambda level: recurrence.compare_processes(GAPS, level=level),
    "bursts": lambda level: screening.bursts(LOG, level=level),
    "change_points": lambda level: screening.change_points(LOG, level=level),
    "incidents": lambda level: screening.incidents(LOG, level=level),
    "outlier_nodes": lambda level: screening.outlier_nodes(LOG, level=level),
    "renewal_models": lambda level: screening.frailty.renewal_models(LOG.ttf(), level=level),
    "repair_kinds": lambda level: screening.repair_kinds(LOG, level=level),
    "backtest": lambda level: rf.backtest(LOG, level=level),
    "fleet_model": lambda level: rf.fleet_model(LOG, level=level),
    "FleetModel.interval": lambda level: rf.fleet_model(LOG).interval("mtbf", scope="node", level=level),
    "forecast": lambda level: rf.forecast(LOG, "9d", level=level),
    "calibrate": lambda level: rf.calibrate(LOG, level=level),
    "System.interval": lambda level: SYSTEM.interval("mttf", level=level),
    "SystemsBySize.interval": lambda level: SYSTEM.by_size("9h").interval("mttf", level=level),
    "best_size": lambda level: jobs.best_size(SYSTEM, "9h", level=level),
    "completion_time": lambda level: jobs.completion_time(SYSTEM, "9h", level=level),
    "plan_checkpoints": lambda level: planning.plan_checkpoints("9h", jobs.Checkpoint(save="1min"), level=level),
    "plan_migration": lambda level: planning.plan_migration(
        "900h", planning.Scenario("1min", "1min", restart="1min", migration="1min"), nodes=8, level=level
    ),
    "plan_replication": lambda level: planning.plan_replication(
        900.0, jobs.Checkpoint(save="1min"), nodes=80, level=level
    ),
    "plan_spares": lambda level: planning.plan_spares(PARAMETERS, 8, level=level),
    "plan_sparing": lambda level: planning.plan_sparing(SPARING, DEVICES, RECOVERY, level=level),
    "simulate_sparing": lambda level: simulation.simulate_sparing(
        SPARING, planning.Strategies(4, 1, 1), DEVICES, RECOVERY, years=0.01, level=level
    ),
    "simulate_batches": lambda level: batch.simulate_batches(WORKLOAD, n_runs=2, level=level),
    "sweep_repairs": lambda level: batch.sweep_repairs(WORKLOAD, "9h", n_runs=2, level=level),
    "simulate_training": lambda level: rf.simulate_training(training_parameters(None), n_replications=2, level=level),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_level_is_0_or_1_or_a_number_of_percent(name: str) -> None:
    for level in (0.0, 1.0, 95.0, np.nan):
        with pytest.raises(rf.ArgumentError, match="level"):
            CALLS[name](level)


def test_every_public_function_with_a_level_is_among_them() -> None:
    """Methods are named with their class; what gets its level from a result is not asked."""
    packages = [rf, planning, simulation, batch, independence, recurrence, regression, screening, nonparametric, jobs]
    packages += [rf.fitting, rf.fleet, rf.system]
    asked = set()
    for package in packages:
        for name in package.__all__:
            what = getattr(package, name)
            if inspect.isfunction(what):
                asked |= {name} if "level" in inspect.signature(what).parameters else set()
            elif inspect.isclass(what):
                methods = inspect.getmembers(what, inspect.isfunction)
                asked |= {
                    f"{name}.{method}"
                    for method, function in methods
                    if not method.startswith("_") and "level" in inspect.signature(function).parameters
                }
    assert asked - CALLS.keys() - NOT_CALLED == set()


@pytest.mark.parametrize("alpha", [0.0, 1.0, 5.0])
def test_no_size_of_a_test_is_0_or_1_or_a_number_of_percent(alpha: float) -> None:
    for call in (
        lambda: screening.outlier_nodes(LOG, alpha=alpha),
        lambda: screening.repeat_failures(LOG, alpha=alpha),
        lambda: screening.change_points(LOG, alpha=alpha),
        lambda: screening.bursts(LOG, alpha=alpha),
        lambda: recurrence.trend_tests(GAPS, alpha=alpha),
        lambda: independence.dependence(LOG, alpha=alpha),
        lambda: regression.attribute_effects(LOG, alpha=alpha),
    ):
        with pytest.raises(rf.ArgumentError, match="alpha"):
            call()
