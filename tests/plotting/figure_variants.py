"""Figures as the gallery does not show them: with options, of one group and of many, in other units, for other data."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import relfit as rf
from relfit import plotting
from relfit.analyses import independence, recurrence, screening
from relfit.analyses.screening.tallies import over_time
from relfit.fitting.nonparametric import observed_times, turnbull
from relfit.planning import Predictor, Scenario, plan_checkpoints, plan_migration
from relfit.system.jobs import Checkpoint
from tests.plotting.figure_data import gallery


@cache
def _log() -> rf.FailureLog:
    """A year and a half of three racks."""
    return rf.datasets.load("white").between("2001-10-01", "2003-04-01").where(rack=["frame01", "frame02", "frame03"])


@cache
def _histories() -> Any:
    return recurrence.histories_of_log(_log())


@cache
def _of_causes() -> Any:
    return rf.fit(gallery().year().ttr(per="cause"), ["exponential", "weibull", "lognormal"])


@cache
def _paper() -> Any:
    life = np.random.default_rng(4).gamma(2.0, 300.0, 80)
    return rf.fit(life, ["exponential", "weibull", "gamma", "loglogistic"])


@cache
def _one_parameter() -> Any:
    return gallery()._campaign({"recovery_time": [10, 20]}, replications=2)


@cache
def _tested() -> Any:
    return rf.backtest(_log(), parts="forecasts", horizons=["30d"], every="90d")


def _means() -> pd.DataFrame:
    """Means of 14 groups of one to 13 failures, and of one without."""
    failures = np.append(np.arange(1.0, 14.0), 0.0)
    hours = np.geomspace(500.0, 90_000.0, 14)
    mean = np.divide(hours, failures, out=np.full(14, np.nan), where=failures > 0)
    columns = {"failures": failures, "hours": hours, "mean": mean, "low": 0.5 * mean, "high": 2.0 * mean}
    return pd.DataFrame(columns, index=[f"group {i}" for i in range(14)])


@cache
def _inspected() -> rf.LifeData:
    return rf.LifeData.from_intervals([0.0, 10.0, 10.0, 40.0, 60.0], [10.0, 30.0, 30.0, 40.0, np.inf])


@cache
def _repairs() -> Any:
    """Two kinds of repair, one kind, and too few."""
    rng = np.random.default_rng(1)
    quick, slow, one = rng.lognormal(-1.0, 0.5, 600), rng.lognormal(3.0, 0.7, 200), rng.lognormal(0.5, 1.0, 300)
    lives = rf.LifeData.from_groups({"disk": np.concatenate([quick, slow]), "fan": one, "rare": [1.0, 2.0]})
    return screening.repair_kinds(lives, models=("lognormal2",))


@cache
def _fitted() -> rf.System:
    lives = rf.LifeData.from_array(rf.families.Weibull(0.8606, 1542.0).sample(60, rng=1))
    return rf.system_from_fits(rf.fit(lives, "weibull"), nodes=20, ages=np.linspace(0.0, 900.0, 20))


@cache
def _serial() -> Any:
    """Durbin-Watson of 3,200 nodes, some of which alternate."""
    rng = np.random.default_rng(2)
    series = [rng.exponential(1.0, int(n)) * (1.0 if n % 5 else [1.0, 9.0][n % 2]) for n in rng.integers(6, 40, 3200)]
    return independence.serial_tests(rf.LifeData.from_groups(series), n_resamples=0)


def _checkpoints(mtbf: str, save: str, every: str | None = None) -> Callable[[Any], Any]:
    return lambda ax: plotting.waste_over_interval(plan_checkpoints(mtbf, Checkpoint(save=save, every=every)), ax)


def _curve(hours: np.ndarray) -> Any:
    return rf.kaplan_meier(rf.LifeData.from_groups({"old": hours, "new": 0.5 * hours[::2]}))


_LONG = np.random.default_rng(3).weibull(1.5, 40) * 40_000.0
_SCENARIO = Scenario("2min", "2min", restart="1min", migration="4min")
VARIANTS: dict[str, Callable[[Any], Any]] = {
    "distributions of each group": lambda ax: plotting.distributions(_of_causes(), ax=ax),
    "distributions of intervals": lambda ax: plotting.distributions(rf.fit(_inspected(), "weibull"), ax=ax),
    **{
        f"probability plot, {family}": lambda ax, family=family: plotting.probability_plot(
            _paper(), ax=ax, family=family
        )
        for family in ("exponential", "weibull", "gamma", "loglogistic")
    },
    "probability plot of intervals": lambda ax: plotting.probability_plot(
        rf.fit(_inspected(), "exponential"), ax=ax, family="exponential"
    ),
    "intervals of one group": lambda ax: plotting.step_curves(turnbull(_inspected()), ax),
    "survival over years": lambda ax: plotting.step_curves(_curve(_LONG), ax),
    "survival of one of two groups": lambda ax: plotting.step_curves(_curve(_LONG), ax, group="old"),
    "survival with many short times": lambda ax: plotting.step_curves(
        _curve(np.random.default_rng(6).lognormal(0.0, 3.0, 60)), ax
    ),
    "cumulative hazard": lambda ax: plotting.step_curves(rf.nelson_aalen(_LONG / 100.0), ax),
    "mean number of failures": lambda ax: plotting.step_curves(recurrence.mean_cumulative(_histories()), ax),
    "mean number of failures of nine groups": lambda ax: plotting.step_curves(
        recurrence.mean_cumulative(_histories(), [i % 9 for i in range(_histories().n_histories)]), ax
    ),
    "trends of nodes": lambda ax: plotting.trends(recurrence.trend_tests(_histories()), ax),
    "processes over what was observed": lambda ax: plotting.processes(
        recurrence.compare_processes(_histories(), "all"),
        ax,
        observed=recurrence.mean_cumulative(_histories(), "all"),
    ),
    **{
        f"repairs, {kind}": lambda ax, kind=kind: plotting.repair_times(_repairs(), ax, group=kind)
        for kind in ("disk", "fan", "rare")
    },
    "classes of repairs": lambda ax: plotting.repair_classes(_repairs(), ax),
    "checkpoints in seconds": _checkpoints("2min", "1s"),
    "checkpoints in minutes": _checkpoints("10h", "1s", "20min"),
    "checkpoints in hours": _checkpoints("500h", "5min"),
    "checkpoints in days": _checkpoints("20000h", "5h"),
    "migration on predictions": lambda ax: plotting.yield_by_size(
        plan_migration("100 days", _SCENARIO, Predictor(0.7, 0.8), nodes=256), ax
    ),
    "migration of jobs of one node": lambda ax: plotting.yield_by_size(
        plan_migration("100 days", _SCENARIO, Predictor(0.7, 0.8), nodes=256, mix=1.0), ax
    ),
    "mean time by size": lambda ax: plotting.by_size(_fitted().by_size("24h"), "mttf", ax),
    "reliability by size and horizon": lambda ax: plotting.by_size(
        gallery()._weibulls(24).by_size(["24h", "72h"]), "reliability", ax
    ),
    "hazard of many nodes by size": lambda ax: plotting.by_size(gallery()._weibulls(1200).by_size("24h"), "hazard", ax),
    "reliability with its band": lambda ax: plotting.reliability_curve(_fitted(), ax=ax),
    "serial tests of many nodes": lambda ax: plotting.durbin_watson(_serial(), ax),
    "cycle of the week": lambda ax: plotting.clock_cycle(gallery().study().dependence.cycles, ax, cycle="week"),
    "periods, none shaded": lambda ax: plotting.change_points(gallery().study().change_points, ax, used=None),
    "response relative to the first": lambda ax: plotting.response_curve(gallery().campaign(), ax, relative=True),
    "map of a drawn design": lambda ax: plotting.campaign_map(gallery().sobol(), ax),
    "map of one parameter": lambda ax: plotting.campaign_map(_one_parameter(), ax),
    "work by class of jobs": lambda ax: plotting.job_shares(
        rf.workloads.TwoStage(256, load=0.7).sample(400, rng=1), ax, weight="work"
    ),
    "availability of a rack": lambda ax: plotting.availability(
        recurrence.availability(_log(), per="rack"), ax, group="frame02"
    ),
    "observed times": lambda ax: rf.plot(observed_times(_log().ttr(per="rack")), ax=ax),
    "interval of each group": lambda ax: rf.plot(_of_causes()["weibull"].interval("mean"), ax=ax),
    "means of many groups": lambda ax: plotting.means_by_group(_means(), ax),
    "backtest of forecasts": lambda ax: plotting.backtest(_tested(), ax),
    "backtest of one system": lambda ax: plotting.backtest(_tested(), ax, system=_tested().table["system"].iloc[0]),
    "survival over a year and a half": lambda ax: plotting.step_curves(_curve(np.linspace(900.0, 13_000.0, 30)), ax),
    "events of each day": lambda ax: plotting.events_over_time(
        over_time(gallery().year().between(None, "2004-03-01"), "day"), ax
    ),
    "one period": lambda ax: rf.plot(gallery().study().change_points.periods[0], ax=ax),
}
"""Name of the variant, and how it is drawn."""
