"""`plan_migration`: whether migration on predictions pays beside checkpoints, for which jobs, with how many spares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from relfit.arguments import durations, share, whole
from relfit.arrays import FloatArray
from relfit.errors import ArgumentError
from relfit.jobs import Checkpoint
from relfit.jobs.checkpoint import best_interval
from relfit.planning.checkpointing.exponential_failures import best_waste
from relfit.planning.job_rate import rate_of_job
from relfit.planning.migration.prediction import (
    Predictor,
    best_predicted_interval,
    break_even_recall,
    predicted_waste,
)
from relfit.planning.migration.throughput import (
    JobMix,
    Scenario,
    Throughputs,
    compare_throughputs,
    job_mix,
    spares_for_risk,
)
from relfit.planning.plan import Plan, limits
from relfit.text import count, percent

__all__ = ["MigrationPlan", "plan_migration", "spares_for_alarms"]


@dataclass(frozen=True, eq=False, repr=False)
class MigrationPlan(Plan):
    """Checkpoints alone against migration on predictions with checkpoints, on a machine full of jobs.

    `mtbf` is that of a node.

    Attributes
    ----------
    by_size : pandas.DataFrame
        One row per size of job: ``nodes``, ``mtbf`` (hours, of the job), share of the machine ``nodes_share``,
        ``checkpoint_every`` (hours of work between saves), ``checkpoint_yield``, ``migration_every``,
        ``migration_yield`` (spares taken off), ``break_even_recall``.
    spares, spares_low, spares_high : float
        Spare nodes for the risk, and limits by the draws (NaN where nothing is known of the uncertainty).
    checkpoint_yield, migration_yield : float
        Share of all nodes that does kept work.
    gain, gain_low, gain_high : float
        Their difference.
    probability : float
        Share of the draws in which migration yields more; NaN without draws.
    perfect : Throughputs
        The paper's model: every failure is predicted in time.
    nodes : int
    predictor : Predictor
    scenario : Scenario
    risk : float
    """

    by_size: pd.DataFrame
    spares: float
    spares_low: float
    spares_high: float
    checkpoint_yield: float
    migration_yield: float
    gain: float
    gain_low: float
    gain_high: float
    probability: float
    perfect: Throughputs
    nodes: int
    predictor: Predictor
    scenario: Scenario
    risk: float

    _table: ClassVar[str] = "by_size"

    @property
    def headline(self) -> str:
        """Whether migration pays, and how certain that is."""
        less = self.gain <= 0.0
        text = (
            f"Migration on predictions with {count(int(self.spares), 'spare')}"
            + (f" ({self.spares_low:.0f}-{self.spares_high:.0f})" if np.isfinite(self.spares_low) else "")
            + f" yields {percent(self.migration_yield)} of the nodes, "
            + f"checkpoints alone {percent(self.checkpoint_yield)}: "
            + ("do without migration" if less else "migration pays")
        )
        if np.isfinite(self.probability):
            text += f" (in {percent(1.0 - self.probability if less else self.probability)} of the draws of the rate)"
        return text + "."

    @property
    def remarks(self) -> tuple[str, ...]:
        """For which jobs it pays, at which recall, and what perfect predictions would yield."""
        remarks = []
        pays = self.by_size["migration_yield"] > self.by_size["checkpoint_yield"]
        if pays.any() and not pays.all():
            remarks.append(f"It pays for jobs of {int(self.by_size.loc[pays, 'nodes'].min()):,} nodes and more.")
        last = self.by_size.iloc[-1]
        least = last["break_even_recall"]
        if np.isfinite(least):
            where = f"from a recall of {least:.2g} on" if least >= 0.005 else "at any recall"
            remarks.append(f"For jobs of {int(last['nodes']):,} nodes it pays {where}.")
        if not bool(self.scenario.worth_comparing):
            remarks.append("A migration takes longer than to save, repair and restore: a node is its own best spare.")
        perfect = self.perfect.headline
        remarks.append(f"If every failure were predicted in time: {perfect[:1].lower()}{perfect[1:]}")
        return tuple(remarks)


def spares_for_alarms(
    nodes: Any, mtbf: Any, migration: Any, restart: Any, predictor: Predictor, risk: float
) -> FloatArray:
    """Spares for a risk when nodes are left on true alarms (for M + D) and false ones (for M).

    Nodes whose failure was not predicted come back to their own job after the restart and need no spare.

    Examples
    --------
    >>> spares_for_alarms(2**14, 24, "1min", "2.5min", Predictor(1.0), 1e-4).tolist()
    65
    >>> spares_for_alarms(2**14, 24, "1min", "2.5min", Predictor(0.8, 0.5), 1e-4).tolist()
    67
    """
    mu, m, d = durations("mtbf", mtbf, zero=False), durations("migration", migration), durations("restart", restart)
    _, avoided, false = predictor.rates(mu, m)
    away = avoided * (m + d) + false * m  # mean hours away for an hour at work
    return np.asarray(spares_for_risk(nodes, 1.0, away, 0.0, risk))


def plan_migration(
    source: Any,
    checkpoint: Checkpoint,
    migration: Any,
    restart: Any = 0.0,
    *,
    nodes: Any = None,
    recall: float = 1.0,
    precision: float = 1.0,
    lead: Any = None,
    risk: float = 1e-4,
    spares: Any = None,
    sequential: bool = False,
    mix: JobMix | None = None,
    share_sequential: float = 0.25,
    events: Any = None,
    n_draws: int = 1000,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> MigrationPlan:
    """Compare checkpoints alone with migration on predictions, for a machine full of jobs.

    Failures that hit whole systems are not predicted, and strike every job.

    Parameters
    ----------
    source : duration or Parameters
        Mean time between the failures of one node, or calibrated parameters.
    checkpoint : Checkpoint
        What saves and restores cost.
    migration : duration
    restart : duration
        From a failure to the restore, without failures.
    nodes : int, optional
        Of the machine, spares included; of the fleet, where the parameters know it.
    recall, precision, lead
        As in `Predictor`.
    risk : float
        Probability to be short of a spare.
    spares : int, optional
        A number of spares, instead of that for the risk.
    sequential : bool
        Every node has a job of its own.
    mix, share_sequential
        Jobs by size, as in `job_mix`.
    events, n_draws, level, rng
        As in `plan_checkpoints`.

    Raises
    ------
    ArgumentError
        Without a number of nodes, for more spares than nodes, or a share that is not between 0 and 1.

    Examples
    --------
    >>> plan = plan_migration(
    ...     "365 days", Checkpoint(save="5min", restore="5min"), "1min", "2.5min", nodes=2**17, recall=0.7,
    ...     precision=0.6,
    ... )
    >>> int(plan.spares), round(plan.checkpoint_yield, 3), round(plan.migration_yield, 3)
    (6, 0.138, 0.294)
    """
    rate = rate_of_job(source, nodes, events=events, n_draws=n_draws, rng=rng)
    size, mu = rate.nodes, np.asarray(rate.node_mtbf)
    if nodes is None and size == 1:
        raise ArgumentError("how many nodes the machine has is not known", remedy="give nodes")
    scenario = Scenario("given", checkpoint.save, checkpoint.restore, restart, migration)
    c, r, d, m = (float(x) for x in (scenario.save, scenario.restore, scenario.restart, scenario.migration))
    predictor = Predictor(float(share("recall", recall)), float(share("precision", precision, zero=False)), lead)
    share("level", level, zero=False, one=False)
    if sequential:
        jobs = JobMix(np.ones(1, dtype=np.int64), np.array([float(size)]))
    else:
        jobs = job_mix(size, share_sequential) if mix is None else mix
    weight = jobs.node_shares

    def of_jobs(mean: FloatArray, wide: FloatArray) -> tuple[FloatArray, Predictor]:
        """Mean times between all failures of the jobs, and the predictor: what hits a whole system is not predicted."""
        own = jobs.sizes / mean[..., None]
        total = own + wide[..., None]
        return 1.0 / total, Predictor(predictor.recall * own / total, predictor.precision, predictor.lead)

    def outcome(mean: FloatArray, wide: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Spares, and yields of either strategy, for mean times of a node of any shape."""
        if spares is None:
            spare = spares_for_alarms(size, mean, m, d, predictor, risk)
        else:
            spare = np.broadcast_to(whole("spares", spares, 0), mean.shape)
        gap, some = of_jobs(mean, wide)
        alone = ((1.0 - best_waste(gap, c, r, d)) * weight).sum(axis=-1)
        best = best_predicted_interval(gap, c, r, d, m, some)
        with_it = ((1.0 - predicted_waste(gap, best, c, r, d, m, some)) * weight).sum(axis=-1)
        return spare, alone, with_it * (1.0 - spare / size)

    spare, alone, with_it = (float(x) for x in outcome(mu, np.asarray(rate.wide_rate)))
    if spare >= size:
        raise ArgumentError(f"{spare:.0f} spares of {size} nodes leave nothing to work with", remedy="look at risk")
    spares_drawn = gains = None
    if rate.node_draws is not None and rate.wide_draws is not None:
        spares_drawn, alone_drawn, with_drawn = outcome(rate.node_draws, rate.wide_draws)
        gains = with_drawn - alone_drawn
    spare_limits, gain_limits = limits(spares_drawn, level, whole=True), limits(gains, level)
    gap, some = of_jobs(mu, np.asarray(rate.wide_rate))
    moving, working = best_predicted_interval(gap, c, r, d, m, some), 1.0 - spare / size
    # a recall of the failures of nodes alone
    least = break_even_recall(gap, c, r, d, m, some.precision, lead, working) / (gap * jobs.sizes / mu)
    by_size = pd.DataFrame(
        {
            "nodes": jobs.sizes,
            "mtbf": gap,
            "nodes_share": weight,
            "checkpoint_every": best_interval(gap, c),
            "checkpoint_yield": 1.0 - best_waste(gap, c, r, d),
            "migration_every": moving,
            "migration_yield": working * (1.0 - predicted_waste(gap, moving, c, r, d, m, some)),
            "break_even_recall": np.where(least <= 1.0, least, np.nan),
        }
    )
    return MigrationPlan(
        by_size=by_size,
        spares=spare,
        spares_low=spare_limits[0],
        spares_high=spare_limits[1],
        checkpoint_yield=alone,
        migration_yield=with_it,
        gain=with_it - alone,
        gain_low=gain_limits[0],
        gain_high=gain_limits[1],
        probability=np.nan if gains is None else float((gains > 0.0).mean()),
        perfect=compare_throughputs(
            scenario, size, mu, risk, parallel=not sequential, mix=mix, share_sequential=share_sequential, spares=spares
        ),
        nodes=size,
        predictor=predictor,
        scenario=scenario,
        risk=risk,
        mtbf=float(mu),
        source=rate.source,
        level=level,
        n_draws=0 if gains is None else gains.size,
    )
