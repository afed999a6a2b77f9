"""Every figure of relfit, drawn from the bundled sample and small simulations: python tools/gallery.py [NAME ...]

The pictures stand in docs/gallery/, are shown by docs/gallery.md and the how-to pages, and are what the tests compare
figures with (tests/site/test_pages.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import relfit as rf
from relfit import independence, plotting, recurrence, screening
from relfit.planning import (
    Cluster,
    DeviceFailures,
    Performance,
    PowerHeadroom,
    Recovery,
    Scenario,
    Strategies,
    TensorParallel,
    evaluate_sparing,
    plan_checkpoints,
    plan_migration,
    plan_replication,
    plan_spares,
    plan_sparing,
    sparing_map,
)
from relfit.simulation import simulate_sparing
from relfit.simulation.batch import SystemFailures
from relfit.simulation.campaigns import cost_of_ownership
from relfit.simulation.training import cheapest_design
from relfit.system import chi_square
from relfit.system.jobs import Amdahl, Checkpoint, Job

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLACE = Path(__file__).resolve().parents[1] / "docs" / "gallery"
_SAVE = Checkpoint(save="6min", restore="10min")
_CLUSTER = Cluster(zones=4, racks=256, trays=36, gpus=2)
_FAILURES = DeviceFailures(mtbf_tray="20000h", mtbf_rack="10000h", mttr="24h")
_RECOVERY = Recovery(checkpoint_every="250s", save="50ms", detection="60s", restart="6min")
_SPEED = Performance(PowerHeadroom(exposed=0.228, idle=0.28), TensorParallel(alpha=0.204, baseline=16))
_TRAINING: dict[str, Any] = {
    "job_size": 40,
    "warm_standbys": 2,
    "working_pool_size": 44,
    "spare_pool_size": 10,
    "job_length": "20 days",
}


@cache
def study() -> rf.Study:
    """The bundled sample."""
    return rf.Study(rf.read("white"))


@cache
def year() -> rf.FailureLog:
    """Its last year."""
    return rf.read("white").between("2003-10-01", None)


@cache
def _racks() -> rf.FailureLog:
    return year().where(rack=[f"frame{i:02d}" for i in range(1, 9)])


@cache
def parameters() -> rf.Parameters:
    """What planners need of it."""
    return study().calibrate(parts=("mtbf", "mttr"))


@cache
def training() -> Any:
    """A small training cluster."""
    return rf.simulate_training(_TRAINING, n_replications=20, rng=1, trace=1)


@cache
def batch() -> Any:
    """A week of jobs on 32 nodes that fail."""
    rng = np.random.default_rng(1)
    n = 150
    length = rng.lognormal(8.5, 1.0, n)
    jobs = rf.workloads.Workload(
        range(n), np.sort(rng.uniform(0, 500_000, n)), 2 ** rng.integers(0, 5, n), length, 2 * length, 32
    )
    return rf.simulate_batch(jobs, failures=SystemFailures(mtbf="10h", repair="3h"), rng=3, keep="nodes")


def _campaign(parameters: dict[str, Any], **options: Any) -> Any:
    what = rf.campaigns.Campaign(run="training", config=_TRAINING, parameters=parameters, seed=5, **options)
    with TemporaryDirectory() as folder:
        return rf.campaigns.sweep(what, folder, executor="serial")


@cache
def campaign() -> Any:
    """Recovery times of the training cluster, crossed with spares."""
    grid = {"recovery_time": [10, 20, 40], "spare_pool_size": [2, 6, 10]}
    return _campaign(grid, replications=10, prices={"spare_pool_size": 1000.0, "total_training_time": 1.0})


@cache
def one_at_a_time() -> Any:
    """What matters most around the small cluster."""
    around = {
        "recovery_time": [10, 20, 40],
        "spare_pool_size": [2, 10],
        "random_failure_rate": [0.005 / 1440, 0.02 / 1440],
    }
    return _campaign(around, design="one at a time", replications=10)


@cache
def sobol() -> Any:
    """The same by a Sobol design."""
    ranges = {"recovery_time": [10.0, 60.0], "random_failure_rate": [0.005 / 1440, 0.02 / 1440]}
    return _campaign(ranges, design="sobol", points=16, replications=4)


@cache
def _correlations() -> Any:
    return independence.correlations(year().ttf(zeros="keep"), n_resamples=99)


@cache
def _strategies() -> Strategies:
    return Strategies.of_gpus(_CLUSTER, block=[72, 72, 36], working=[72, 64, 36])


@cache
def _repairs() -> Any:
    jobs = rf.workloads.TwoStage(64, load=0.7).sample(400, rng=1)
    return rf.batch.sweep_repairs(jobs, "50h", rates=[1, 2, 4], repairs=["1min", "12h", "1D", "2D"], n_runs=3)


def _weibulls(n: int) -> rf.System:
    """Nodes of one kind, 600 hours old."""
    return rf.System(rf.families.Weibull(0.8, 4000.0), ages=[600.0] * n)


def _means() -> pd.DataFrame:
    """Mean hours between incidents, by scope."""
    up = study().model.scopes
    names = {"incidents": "failures", "hours": "hours", "mtbf": "mean", "mtbf_low": "low", "mtbf_high": "high"}
    return pd.DataFrame(up)[list(names)].rename(columns=names)


def _chi_square() -> Any:
    """Times of the worked example, against a system of two nodes."""
    times = np.repeat([100.0, 300.0, 500.0, 700.0, 900.0, 2000.0], [30, 21, 16, 8, 5, 20])
    system = rf.System(rf.families.Weibull(0.8, [1000.0] * 2), ages=600.0)
    return chi_square(times, system, [0, 200, 400, 600, 800, 1000, 8000], estimated=2)


@cache
def _designs() -> Any:
    prices, choices = (
        {"working_pool_size": 1.0, "spare_pool_size": 0.2},
        {
            "working_pool_size": [42, 44, 48],
            "spare_pool_size": [4, 8],
        },
    )
    return cheapest_design(_TRAINING, choices, prices, etr=0.99, n_replications=5)


FIGURES: dict[str, Callable[[Axes], Any]] = {
    "events_over_time": lambda ax: plotting.events_over_time(study().log, ax),
    "causes": lambda ax: plotting.causes(study().log, ax),
    "means_by_group": lambda ax: plotting.means_by_group(_means(), ax),
    "change_points": lambda ax: plotting.change_points(study().change_points, ax),
    "period": lambda ax: plotting.period(study().period, ax),
    "distributions": lambda ax: plotting.distributions(rf.fit(year().ttr(per="all")), ax=ax),
    "probability_plot": lambda ax: plotting.probability_plot(
        rf.fit(year().ttr(per="all"), "lognormal"), ax=ax, family="lognormal"
    ),
    "step_curves": lambda ax: plotting.step_curves(rf.kaplan_meier(year().ttf(per="system")), ax),
    "incident_window": lambda ax: plotting.incident_window(study().incidents, ax),
    "incidents_by_window": lambda ax: plotting.incidents_by_window(study().incidents, ax),
    "incident_sizes": lambda ax: plotting.incident_sizes(study().incidents, ax),
    "bursts": lambda ax: plotting.bursts(study().bursts, ax),
    "outlier_nodes": lambda ax: plotting.outlier_nodes(study().outlier_nodes, ax),
    "repair_times": lambda ax: plotting.repair_times(study().repair_kinds, ax),
    "repair_classes": lambda ax: plotting.repair_classes(screening.repair_kinds(study().log, per="cause"), ax),
    "availability": lambda ax: plotting.availability(recurrence.availability(_racks(), per="rack"), ax),
    "availability_over_time": lambda ax: plotting.availability_over_time(study().availability_over_time, ax),
    "dependence": lambda ax: plotting.dependence(study().dependence, ax),
    "failing_together": lambda ax: plotting.failing_together(
        [study().dependence.cofailure, study().dependence.place], ax
    ),
    "correlations": lambda ax: plotting.correlations(_correlations(), ax),
    "correlation_classes": lambda ax: plotting.correlation_classes(_correlations(), ax),
    "durbin_watson": lambda ax: plotting.durbin_watson(study().dependence.serial, ax),
    "durbin_watson_pooled": lambda ax: plotting.durbin_watson_pooled(study().dependence.pooled, ax),
    "autocorrelation": lambda ax: plotting.autocorrelation(study().dependence.serial, ax),
    "dispersion": lambda ax: plotting.dispersion(study().dependence.dispersion, ax),
    "clock_cycle": lambda ax: plotting.clock_cycle(study().dependence.cycles, ax),
    "trends": lambda ax: plotting.trends(recurrence.trend_tests(recurrence.histories_of_log(year()), "all"), ax),
    "processes": lambda ax: plotting.processes(
        recurrence.compare_processes(recurrence.histories_of_log(year()), "all"), ax
    ),
    "effects": lambda ax: plotting.effects(rf.regress(_racks(), "failures ~ rack"), ax),
    "fleet": lambda ax: plotting.fleet(study().model, ax),
    "parameters": lambda ax: plotting.parameters(parameters(), ax),
    "forecast": lambda ax: plotting.forecast(study().forecast("90d"), ax),
    "backtest": lambda ax: plotting.backtest(rf.backtest(study().log, parts="forecasts"), ax),
    "reliability_curve": lambda ax: plotting.reliability_curve(
        study().model.system([f"n{i:03d}" for i in range(64)]), "48h", ax
    ),
    "by_size": lambda ax: plotting.by_size(_weibulls(24).by_size("24h"), "reliability", ax),
    "chi_square_bins": lambda ax: plotting.chi_square_bins(_chi_square(), ax),
    "completion_curve": lambda ax: plotting.completion_curve(
        rf.jobs.completion_time(_weibulls(8), "500h", restart="1h"), ax
    ),
    "completion_by_size": lambda ax: plotting.completion_by_size(
        rf.jobs.best_size(_weibulls(64), Job("4000h", Amdahl(0.99), restart="1h", checkpoint=_SAVE), k_min=8), ax
    ),
    "waste_over_interval": lambda ax: plotting.waste_over_interval(plan_checkpoints(parameters(), _SAVE, nodes=64), ax),
    "yield_by_size": lambda ax: plotting.yield_by_size(
        plan_migration("100 days", Scenario("2min", "2min", restart="1min", migration="4min"), nodes=256), ax
    ),
    "yield_of_replicas": lambda ax: plotting.yield_of_replicas(
        plan_replication(43_800, Checkpoint(save="10min", restore="10min"), nodes=100_000), ax
    ),
    "gpu_hours": lambda ax: plotting.gpu_hours(
        evaluate_sparing(_CLUSTER, _strategies(), _FAILURES, _RECOVERY, _SPEED), ax
    ),
    "decision_map": lambda ax: plotting.decision_map(
        sparing_map(_CLUSTER, _strategies(), np.geomspace(2e3, 2e5, 30), np.geomspace(1, 168, 30), _RECOVERY), ax
    ),
    "uncertain_spares": lambda ax: plotting.uncertain_spares(
        plan_sparing(_CLUSTER, parameters(), _RECOVERY, strategies=Strategies(36, 0), level=0.9, rng=1), ax
    ),
    "hot_spares": lambda ax: plotting.hot_spares(plan_spares(parameters(), 128), ax),
    "simulated_hours": lambda ax: plotting.simulated_hours(
        simulate_sparing(
            Cluster(zones=1, racks=8, trays=8, gpus=2),
            Strategies(4, 1, 1),
            DeviceFailures(3000, 20_000, 24),
            _RECOVERY,
            years=2,
            rng=1,
        ),
        ax,
    ),
    "training_time": lambda ax: plotting.training_time(training(), ax),
    "server_states": lambda ax: plotting.server_states(training(), ax),
    "training_designs": lambda ax: plotting.training_designs(_designs(), ax),
    "batch_states": lambda ax: plotting.batch_states(batch(), ax),
    "gantt": lambda ax: plotting.gantt(batch(), ax),
    "job_shares": lambda ax: plotting.job_shares(rf.workloads.TwoStage(256, load=0.7).sample(4000, rng=1), ax),
    "repair_sweep": lambda ax: plotting.repair_sweep(_repairs(), ax),
    "repair_sweep_map": lambda ax: plotting.repair_sweep_map(_repairs(), ax),
    "response_curve": lambda ax: plotting.response_curve(campaign(), ax),
    "campaign_map": lambda ax: plotting.campaign_map(campaign(), ax),
    "campaign_pareto": lambda ax: plotting.campaign_pareto(
        sobol(), ax, outputs={"total_training_time": "least", "recovery_time": "most"}
    ),
    "campaign_tornado": lambda ax: plotting.campaign_tornado(one_at_a_time(), ax),
    "sobol_indices": lambda ax: plotting.sobol_indices(sobol(), ax),
    "costs_of_ownership": lambda ax: plotting.costs_of_ownership(cost_of_ownership(campaign()), ax),
}
"""Name of the function in `relfit.plotting`, and how it is drawn."""


def draw(name: str, place: Path = PLACE) -> Path:
    """Draw one figure into a folder, as a file of its name."""
    with plotting.look():
        sheet = Figure(figsize=(6.4, 4.0), layout="constrained")
        FIGURES[name](sheet.add_subplot())
        target = place / f"{name}.png"
        sheet.savefig(target, dpi=100, metadata={"Software": None})
    return target


def main() -> None:
    """Draw those that are named, or all."""
    PLACE.mkdir(exist_ok=True)
    for name in sys.argv[1:] or FIGURES:
        print(draw(name), flush=True)


if __name__ == "__main__":
    main()
