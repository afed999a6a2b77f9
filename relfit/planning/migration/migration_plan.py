"""`plan_migration`: whether migration on predicted failures pays, for which jobs, and with how many spares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arguments import durations, whole
from relfit.base.arrays import Durations, FloatArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.numeric.levels import level_checked
from relfit.base.text import count, percent
from relfit.fitting.families import Distribution
from relfit.planning.job_rate import JobRate, rate_of_job
from relfit.planning.migration.prediction import (
    JobMix,
    Predictor,
    Scenario,
    Throughputs,
    best_predicted_interval,
    break_even_recall,
    compare_throughputs,
    job_mix,
    predicted_waste,
    spares_for_risk,
)
from relfit.planning.plan import NOISE, Plan, beyond_fleet, limits
from relfit.system.jobs.checkpoint import best_interval, best_waste

_NO_RECALL = 0.005  # a recall below it counts as none
_NO_GAIN = 1e-12  # a difference of yields below it is rounding
_PRECISIONS = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1)
_TAKEN = (
    "Failures of groups of nodes and of whole systems are never predicted.",
    "Spares are among the nodes, and jobs of every size lose their share, also those too large to fit beside them.",
    "Nothing fails while a job waits or restarts, and spares are up when they are needed, but for the risk given.",
)


class MigrationPlan(Plan):
    """Checkpoints alone compared with migration and checkpoints, on a fully used machine; made by `plan_migration`.

    Results that depend on the predictions are NaN without their recall and precision. `mtbf` is that of a node; it and
    further attributes are those of `relfit.planning.plan.Plan`.

    Attributes
    ----------
    by_size : pandas.DataFrame
        One row per size of job: ``nodes``, ``mtbf`` (hours, of the job), ``nodes_share`` (of the machine),
        ``checkpoint_every`` and ``checkpoint_yield`` (checkpoints alone; hours of work, and share of useful work),
        ``migration_every`` and ``migration_yield`` (with migration; spares count as lost), ``break_even_recall`` (at
        the stated precision, else 1; with the spares of the plan, else those that the recall needs).
    break_even : pandas.DataFrame
        ``precision`` and ``recall`` from which migration yields more on the complete machine: the stated one (or
        several precisions) with the least of the other; NaN if it never does.
    spares, spares_low, spares_high : float
        Spare nodes for the risk, at least 1, and their interval over the draws (NaN if the uncertainty is unknown).
    checkpoint_yield, migration_yield : float
        Share of all nodes that does useful work.
    gain, gain_low, gain_high : float
        Migration yield minus checkpoint yield, and its interval.
    probability : float
        Share of the draws in which migration yields more; NaN without draws.
    perfect : Throughputs
        The model of the paper, in which every failure is predicted in time.
    nodes : int
        Nodes of the machine.
    predictor : Predictor or None
        None if recall or precision is not stated.
    scenario : Scenario
        Costs; the restart includes the repair of a node.
    risk : float
        Probability of running out of spares.
    waits : str
        A sentence on the wait for repairs.
    with_spares : dict or None
        Where jobs wait for repairs: the ``spares`` for all failures and false alarms at this risk (or the requested
        number), and the yields of ``checkpoints alone`` and ``migration`` if spares take over at once (except while
        the whole system is down).
    """

    by_size: pd.DataFrame
    break_even: pd.DataFrame
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
    predictor: Predictor | None
    scenario: Scenario
    risk: float
    waits: str
    with_spares: dict[str, float] | None = None

    _frame: ClassVar[str] = "by_size"

    @property
    def headline(self) -> str:
        """Whether migration pays, and in how many draws; or how good predictions must be."""
        several = len(self.by_size) > 1
        jobs = "jobs of all sizes" if several else f"jobs of {count(int(self.by_size['nodes'].iloc[0]), 'node')}"
        share_of = f"{percent(self.checkpoint_yield)} {'on average' if several else 'of them'}"
        alone = f"On {self.nodes:,} nodes with {jobs}, checkpoints alone yield {share_of}"
        if self.predictor is None and self.perfect.spares:
            return f"{alone}; {self._least}. Give the recall and precision of the predictions for a plan."
        if not self.perfect.spares:
            return f"{alone}; without a spare there is nowhere to migrate to."
        less, text = self.gain <= 0.0, f"{alone}, migration with {count(int(self.spares), 'spare')}"
        text += f" ({self.spares_low:.0f}-{self.spares_high:.0f})" if np.isfinite(self.spares_low) else ""
        text += f" {percent(self.migration_yield)}: {'do without migration' if less else 'migration pays'}"
        if np.isfinite(self.probability):
            text += f" (in {percent(1.0 - self.probability if less else self.probability)} of the draws of the rate)"
        return text + "."

    @property
    def _least(self) -> str:
        """The quality of predictions from which migration pays."""
        rows = self.break_even.dropna()
        if not len(rows):
            return "migration does not pay, whatever the quality of the predictions"
        any_recall = rows[rows["recall"] < _NO_RECALL]
        if len(any_recall):
            return f"migration pays at any recall with a precision of {any_recall['precision'].min():.2g} and more"
        shown = rows.iloc[sorted({0, len(rows) // 2})]
        parts = [f"a recall of {recall:.2g} with a precision of {p:.2g}" for p, recall in shown.itertuples(index=False)]
        on_average = " on average" if len(self.by_size) > 1 else ""
        recalls = [f"{recall:.2g}" for recall in shown["recall"]]
        if len(shown) > len(set(recalls)):
            least = f"a recall of {recalls[0]} on, with a precision of {shown['precision'].min():.2g} and more"
            return f"migration pays{on_average} from {least}"
        return f"migration pays{on_average} from {' or '.join(parts)} on"

    @property
    def shown(self) -> pd.DataFrame:
        """One row per size, and the averages of the headline."""
        if len(self.by_size) == 1:
            return self.by_size
        everything = self.break_even["recall"].iloc[0] if self.predictor is None else np.nan
        average = {
            "nodes": "average",
            "nodes_share": 1.0,
            "checkpoint_yield": self.checkpoint_yield,
            "migration_yield": self.migration_yield,
            "break_even_recall": everything,
        }
        rows = self.by_size.assign(nodes=[f"{number:,}" for number in self.by_size["nodes"]])
        table: pd.DataFrame = pd.concat([rows, pd.DataFrame([average])], ignore_index=True)
        return table

    @property
    def remarks(self) -> tuple[str, ...]:
        """For which jobs migration pays, from which recall, and the yield of perfect predictions."""
        best = self.perfect.headline[:1].lower() + self.perfect.headline[1:]
        return (self.waits, *self.advice, f"If nodes alone failed, and each failure were predicted in time: {best}")

    @property
    def advice(self) -> tuple[str, ...]:
        """For which jobs migration pays, and from which recall."""
        remarks: list[str] = []
        if self.with_spares is not None:
            spare, alone, moved = self.with_spares.values()
            remarks.append(
                "This is with spares for predicted failures alone; after others, jobs wait. With "
                f"{count(int(spare), 'spare')} for all, checkpoints yield {percent(alone)}, migration {percent(moved)}"
                f"{': it would pay' if self.gain <= 0.0 and moved > alone else ''}."
            )
        fits = self.by_size[self.by_size["nodes"] <= self.nodes - np.nan_to_num(self.spares)]
        gaining = fits.loc[fits["migration_yield"] > fits["checkpoint_yield"], "nodes"]
        if 0 < len(gaining) < len(fits):
            jobs = f"jobs of {count(int(gaining.min()), 'node')} and more"
            remarks.append(f"It pays for {jobs}." if self.gain > 0.0 else f"Only {jobs} gain by it.")
        largest, least = fits.iloc[-1], fits["break_even_recall"].iloc[-1]
        if self.predictor is not None and np.isfinite(least):
            when = f"from a recall of {least:.2g} on" if least >= _NO_RECALL else "at any recall"
            pays = "it pays" if largest["migration_yield"] > largest["checkpoint_yield"] else "it would pay"
            nodes = count(int(largest["nodes"]), "node")
            remarks.append(f"For the largest jobs beside the spares, of {nodes}, {pays} {when}.")
        if not bool(self.scenario.worth_comparing):
            remarks.append("A migration is no faster than to save, repair and restore: a node is its own best spare.")
        return tuple(remarks)


def spares_for_alarms(
    nodes: npt.ArrayLike, mtbf: Durations, migration: Durations, restart: Durations, predictor: Predictor, risk: float
) -> FloatArray:
    """Spares for a risk, at least 1, if jobs leave nodes on true alarms (for M + D hours) and false ones (for M hours);
    nodes with an unpredicted failure return to their own job after the restart and need no spare.
    """
    mu, m, d = durations("mtbf", mtbf, zero=False), durations("migration", migration), durations("restart", restart)
    _, avoided, false = predictor.rates(mu, m)
    away = avoided * (m + d) + false * m  # mean hours away for an hour at work
    return np.maximum(spares_for_risk(nodes, 1.0, away, 0.0, risk), 1.0)


def plan_migration(
    source: object,
    costs: Scenario,
    predictor: Predictor | None = None,
    *,
    nodes: int | None = None,
    repair: Durations | None = None,
    risk: float = 1e-4,
    spares: int | None = None,
    mix: JobMix | float = 0.25,
    events: float | None = None,
    n_draws: int = 1000,
    level: float = 0.95,
    rng: Seed = 0,
) -> MigrationPlan:
    """Compare checkpoints alone with migration on predicted failures, for a fully used machine.

    Failures of groups of nodes and of whole systems are never predicted. Without a recall or a precision the plan
    states how good the predictions must be.

    Parameters
    ----------
    source : duration or Parameters
        Mean time between failures of one node, or calibrated parameters.
    costs : Scenario
        Times to save, restore and migrate; its restart is the time from a failure, or from the end of the repair that
        the job waits for, to the restore.
    predictor : Predictor, optional
        Recall and precision of the predictions; either may be None.
    nodes : int, optional
        Nodes of the machine, spares included; by default those of the parameters.
    repair : duration, optional
        As for `plan_checkpoints`. A node that a job left in time is unavailable during migration, repair and restart.
    risk : float
        Probability of running out of spares.
    spares : int, optional
        Number of spares, instead of `risk`.
    mix : JobMix or float
        Jobs by size, or the share of jobs on one node (other sizes are powers of two, equally likely); with 1 every
        node has its own job.
    events, n_draws, level, rng
        As for `plan_checkpoints`.

    Raises
    ------
    ArgumentError
        Without a number of nodes, if the spares leave no node to work, or for a share outside 0..1.

    Examples
    --------
    >>> costs = Scenario(save="5min", restore="5min", restart="2.5min", migration="1min")
    >>> plan = plan_migration("365 days", costs, Predictor(0.7, 0.6), nodes=2**17)
    >>> int(plan.spares), round(plan.checkpoint_yield, 3), round(plan.migration_yield, 3)
    (6, 0.138, 0.294)
    """
    rate = rate_of_job(source, nodes, repair=repair, events=events, n_draws=n_draws, rng=rng)
    size = rate.nodes
    if size == 1:
        raise ArgumentError("a machine of 1 node has none to migrate to", remedy="give two nodes or more")
    scenario = replace(costs, restart=costs.restart + float(rate.node_repair))
    c, r, pause, m = (float(x) for x in (costs.save, costs.restore, costs.restart, costs.migration))
    level_checked(level)
    recall, precision, lead = (None,) * 3 if predictor is None else vars(predictor).values()
    stated = (None if recall is None else float(recall), None if precision is None else float(precision))
    predictor = None if None in stated else predictor
    jobs = mix if isinstance(mix, JobMix) else job_mix(size, mix)
    machine = _Machine(size, jobs, c, r, m, pause, risk, spares)
    yields_alone = machine.alone(rate)
    alone = float(machine.weighted(yields_alone))
    spare = with_it = np.nan
    moving = yields = np.full(jobs.sizes.size, np.nan)
    spares_drawn = gains = None
    if predictor is not None:
        spare = float(machine.spare_nodes(rate, predictor))
        machine.check_spares(spare)
        moving, yields = machine.moving(rate, predictor)
        with_it = float(machine.weighted(yields))
        if rate.drawn is not None:
            spares_drawn = machine.spare_nodes(rate.drawn, predictor)
            gains = machine.gain(rate.drawn, predictor)
    spare_limits, gain_limits = limits(spares_drawn, level, integer=True), limits(gains, level)
    gap = machine.gap(rate)
    precise = 1.0 if stated[1] is None else stated[1]
    if predictor is None:
        machine.check_spares(float(machine.spare_nodes(rate, Predictor(1.0, precise, lead))))
        least = machine.least_recalls(rate, precise, lead)
    else:  # the recall counts only failures of nodes and racks
        least = break_even_recall(gap, c, r, machine.down(rate), m, precise, lead, 1.0 - spare / size)
        least = least / rate.own_share(jobs.sizes)
    by_size = pd.DataFrame(
        {
            "nodes": jobs.sizes,
            "mtbf": gap,
            "nodes_share": jobs.node_shares,
            "checkpoint_every": best_interval(gap, c),
            "checkpoint_yield": yields_alone,
            "migration_every": moving,
            "migration_yield": yields,
            "break_even_recall": np.where((least <= 1.0) & (spare != 0.0), least, np.nan),
        }
    )
    foreseen = machine.spare_nodes(rate, Predictor(1.0))
    quality = "" if predictor is None else ", with predictions of recall {:.3g} and precision {:.3g}".format(*stated)
    return MigrationPlan(
        by_size=by_size,
        break_even=machine.break_even(rate, *stated, lead),
        spares=spare,
        spares_low=spare_limits[0],
        spares_high=spare_limits[1],
        checkpoint_yield=alone,
        migration_yield=with_it,
        gain=with_it - alone,
        gain_low=gain_limits[0],
        gain_high=gain_limits[1],
        probability=np.nan if gains is None else float((gains > 0.0).mean()),
        perfect=compare_throughputs(scenario, size, rate.node_mtbf, mix=jobs, spares=foreseen),
        nodes=size,
        predictor=predictor,
        scenario=scenario,
        risk=risk,
        waits=rate.waits,
        with_spares=None if predictor is None else machine.with_spares(rate, predictor),
        mtbf=float(rate.node_mtbf),
        source=rate.source,
        level=level,
        n_draws=0 if gains is None else gains.size,
        assumptions=(*_TAKEN, *(() if rate.drawn is None else (NOISE,))),
        extrapolated=beyond_fleet(source, size),
        premise=f"For {rate.failing}{quality}:",
    )


@dataclass(frozen=True, eq=False)
class _Machine:
    """A fully used machine; results have the shape of rates and predictions, by size one more axis."""

    size: int
    jobs: JobMix
    save: float
    restore: float
    migration: float
    restart: float
    risk: float
    spares: Any

    def gap(self, rate: JobRate) -> FloatArray:
        """Mean hours between all failures of the jobs, by size."""
        return np.asarray(rate.mtbf_of(self.jobs.sizes))

    def down(self, rate: JobRate) -> FloatArray:
        """Hours from a failure to the restore, by size."""
        return np.asarray(self.restart + rate.wait_of(self.jobs.sizes))

    def weighted(self, yields: FloatArray) -> FloatArray:
        """Mean over the sizes of jobs, weighted by their share of the nodes."""
        return np.asarray((yields * self.jobs.node_shares).sum(axis=-1))

    def alone(self, rate: JobRate) -> FloatArray:
        """Yield of checkpoints alone, by size."""
        return np.asarray(1.0 - best_waste(self.gap(rate), self.save, self.restore, self.down(rate)))

    def check_spares(self, spare: float) -> None:
        """Raise an ArgumentError if no node is left to work."""
        if spare >= self.size and self.spares is None:
            what = f"of {self.size} nodes {spare:.0f} would be spares, for a risk of {percent(self.risk)}"
            raise ArgumentError(what, remedy="allow more risk of running out, or give the number of spares")
        if spare >= self.size:
            what = f"{spare:.0f} spares of {self.size} nodes leave nothing to work with"
            raise ArgumentError(what, remedy="give fewer spares")

    def spare_nodes(self, rate: JobRate, predictor: Predictor) -> FloatArray:
        """Spares for the risk, or the requested number."""
        away = self.restart + np.asarray(rate.node_repair)
        if self.spares is None:
            return spares_for_alarms(self.size, rate.node_mtbf, self.migration, away, predictor, self.risk)
        shape = np.broadcast_shapes(np.shape(rate.node_mtbf), predictor.recall.shape, predictor.precision.shape)
        return np.broadcast_to(whole("spares", self.spares, 0), shape)

    def moving(self, rate: JobRate, predictor: Predictor) -> tuple[FloatArray, FloatArray]:
        """By size, best hours of work between saves, and yield net of spares; without a spare no alarm is heeded."""
        gap = self.gap(rate)
        spare = self.spare_nodes(rate, predictor)[..., None]
        own = rate.own_share(self.jobs.sizes) * (spare > 0.0)
        some = Predictor(predictor.recall[..., None] * own, predictor.precision[..., None], predictor.lead)
        costs = self.save, self.restore, self.down(rate), self.migration
        every = best_predicted_interval(gap, *costs, some)
        yields = (1.0 - predicted_waste(gap, every, *costs, some)) * (1.0 - spare / self.size)
        return every, np.where(spare > 0.0, yields, self.alone(rate))

    def with_spares(self, rate: JobRate, predictor: Predictor) -> dict[str, float] | None:
        """Spares for every failure, and both yields where they take over at once; None where no job waits."""
        spare = float(self.spare_nodes(rate, Predictor(1.0, predictor.precision, predictor.lead)))
        if not float(rate.wait) > 0.0 or not 0.0 < spare < self.size:
            return None
        machine, spared = replace(self, spares=int(spare)), rate.with_spares
        alone, moving = machine.alone(spared) * (1.0 - spare / self.size), machine.moving(spared, predictor)[1]
        of_all = (float(machine.weighted(yields)) / (1.0 + float(rate.system_down)) for yields in (alone, moving))
        return {"spares": spare, **dict(zip(("checkpoints alone", "migration"), of_all, strict=True))}

    def gain(self, rate: JobRate, predictor: Predictor) -> FloatArray:
        """Yield of migration minus that of checkpoints alone."""
        return np.asarray(self.weighted(self.moving(rate, predictor)[1]) - self.weighted(self.alone(rate)))

    def least_recalls(self, rate: JobRate, precision: float, lead: Durations | Distribution | None) -> FloatArray:
        """Least recall at which migration pays for jobs of each size, with the spares that this recall needs."""
        alone = self.alone(rate)

        def gains(j: int, grid: FloatArray) -> FloatArray:
            return self.moving(rate, Predictor(grid, np.full(grid.shape, precision), lead))[1][:, j] - alone[j]

        return np.array([_pays_from(partial(gains, j)) for j in range(alone.size)])

    def break_even(
        self, rate: JobRate, recall: float | None, precision: float | None, lead: Durations | Distribution | None
    ) -> pd.DataFrame:
        """Least precision for the recall, or least recall for the precision or for each of several."""

        def least(precision: float | None) -> float:
            def gain(grid: FloatArray) -> FloatArray:
                same = np.full(grid.shape, recall if precision is None else precision)
                predictor = Predictor(same, grid, lead) if precision is None else Predictor(grid, same, lead)
                return self.gain(rate, predictor)

            return _pays_from(gain)

        if recall is not None and precision is None:
            rows = [(least(None), recall)]
        else:
            rows = [(p, least(p)) for p in (_PRECISIONS if precision is None else (precision,))]
        return pd.DataFrame(rows, columns=["precision", "recall"])


def _pays_from(gain_of: Callable[[FloatArray], FloatArray]) -> float:
    """The value from which there is always a gain; because spares are whole numbers, the gain is not monotonic."""
    low, high = 0.0, 1.0
    for _ in range(3):
        grid = np.linspace(low, high, 201)[1:]
        not_yet = np.flatnonzero(gain_of(grid) < _NO_GAIN)
        if not_yet.size and not_yet[-1] == grid.size - 1:
            return np.nan
        at = int(not_yet[-1]) + 1 if not_yet.size else 0
        low, high = (float(grid[at - 1]) if at else low), float(grid[at])
    return high
