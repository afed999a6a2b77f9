"""`plan_migration`: whether migration on predictions pays beside checkpoints, for which jobs, with how many spares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from relfit.arguments import FloatArray, durations, share, whole
from relfit.errors import ArgumentError
from relfit.planning.checkpointing.exponential_failures import best_waste
from relfit.planning.job_rate import rate_of_job
from relfit.planning.migration.throughput import (
    JobMix,
    Scenario,
    Throughputs,
    compare_throughputs,
    job_mix,
    spares_for_risk,
)
from relfit.planning.migration.prediction import (
    Predictor,
    benefit_of_prediction,
    best_predicted_interval,
    predicted_waste,
)
from relfit.planning.words import percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["MigrationPlan", "plan_migration", "spares_for_alarms"]


@dataclass(frozen=True, eq=False)
class MigrationPlan:
    """Checkpoints alone against migration on predictions with checkpoints, on a machine full of jobs.

    Attributes
    ----------
    by_size : pandas.DataFrame
        A row a size of job: ``nodes``, ``mtbf`` (hours, of the job), share of the machine ``nodes_share``,
        ``checkpoint_interval``, ``checkpoint_yield``, ``migration_interval``, ``migration_yield`` (spares taken off),
        ``break_even_recall``.
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
    node_mtbf : float
        Hours.
    risk, level : float
    words : str
    draws : int
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
    node_mtbf: float
    risk: float
    level: float
    words: str
    draws: int

    @property
    def sentence(self) -> str:
        """Whether migration pays, and how sure that is, in a sentence."""
        less = self.gain <= 0.0
        text = (
            f"Migration on predictions with {self.spares:.0f} spare{'s' if self.spares != 1 else ''}"
            + (f" ({self.spares_low:.0f} to {self.spares_high:.0f})" if np.isfinite(self.spares_low) else "")
            + f" yields {percent(self.migration_yield)} of the nodes, "
            + f"checkpoints alone {percent(self.checkpoint_yield)}: "
            + ("do without migration" if less else "migration pays")
        )
        if np.isfinite(self.probability):
            sure = 1.0 - self.probability if less else self.probability
            text += f" (in {percent(sure)} of what the rate can be)"
        return text + "."

    @property
    def sentences(self) -> tuple[str, ...]:
        """All findings."""
        found = [self.sentence]
        pays = self.by_size["migration_yield"] > self.by_size["checkpoint_yield"]
        if pays.any() and not pays.all():
            first = self.by_size.loc[pays, "nodes"].min()
            found.append(f"It pays for jobs of {int(first)} nodes and more.")
        need = self.by_size["break_even_recall"]
        if need.notna().any():
            last = self.by_size.iloc[-1]
            if np.isfinite(last["break_even_recall"]):
                least = last["break_even_recall"]
                words = f"from a recall of {least:.2g} on" if least >= 0.005 else "at any recall"
                found.append(f"For jobs of {int(last['nodes'])} nodes it pays {words}.")
        if not bool(self.scenario.worth_comparing):
            found.append("A migration takes longer than to save, repair and restore: a node is its own best spare.")
        perfect = self.perfect.sentence
        found.append(f"If every failure were predicted in time: {perfect[:1].lower()}{perfect[1:]}")
        return tuple(found)

    def to_frame(self) -> pd.DataFrame:
        """A row a size of job."""
        return self.by_size

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        names = ("spares", "spares_low", "spares_high", "checkpoint_yield", "migration_yield", "gain", "gain_low",
                 "gain_high", "probability", "node_mtbf")  # fmt: skip
        rows = self.by_size.to_dict("records")
        return {
            **{name: _plain(float(getattr(self, name))) for name in names},
            "nodes": self.nodes,
            "risk": self.risk,
            "level": self.level,
            "draws": self.draws,
            "scenario": self.scenario.to_dict(),
            "predictor": self.predictor.to_dict(),
            "by_size": [{str(k): _plain(v) for k, v in row.items()} for row in rows],
            "perfect_prediction": self.perfect.to_dict(),
            "source": self.words,
            "sentences": list(self.sentences),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Yield by size of job (`relfit.plotting.migration.yield_by_size`)."""
        from relfit.plotting.migration import yield_by_size

        return yield_by_size(self, ax)

    def __repr__(self) -> str:
        return f"MigrationPlan: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        lines = "".join(f"<p>{escape(text)}</p>" for text in self.sentences)
        return lines + self.by_size.to_html(escape=True, index=False, float_format="{:.4g}".format)


def spares_for_alarms(
    nodes: Any, mtbf: Any, migration: Any, downtime: Any, predictor: Predictor, risk: float
) -> FloatArray:
    """Spares for a risk when nodes are left on true alarms (for M + D) and false ones (for M).

    Nodes whose failure was not predicted come back to their own job after the downtime and need no spare.

    Examples
    --------
    >>> spares_for_alarms(2**14, 24, "1min", "2.5min", Predictor(1.0), 1e-4).tolist()
    65
    >>> spares_for_alarms(2**14, 24, "1min", "2.5min", Predictor(0.8, 0.5), 1e-4).tolist()
    67
    """
    mu, m, d = durations("mtbf", mtbf, zero=False), durations("migration", migration), durations("downtime", downtime)
    _, avoided, false = predictor.rates(mu, m)
    away = avoided * (m + d) + false * m  # mean hours away for an hour at work
    return np.asarray(spares_for_risk(nodes, 1.0, away, 0.0, risk))


def plan_migration(
    source: Any,
    save: Any,
    restore: Any,
    downtime: Any,
    migration: Any,
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
    draws: int = 1000,
    level: float = 0.9,
    rng: int | np.random.Generator | None = 0,
) -> MigrationPlan:
    """Compare checkpoints alone with migration on predictions, for a machine full of jobs.

    Parameters
    ----------
    source : duration or Parameters
        Mean time between the failures of one node, or calibrated parameters. Failures that hit whole systems are not
        predicted, and strike every job.
    save, restore, downtime, migration : duration
    nodes : int, optional
        Of the machine, spares included; of the fleet, where the parameters know it.
    recall, precision, lead
        As in `Predictor`.
    risk : float
        Probability to be short of a spare.
    spares : int, optional
        So many, instead of those for the risk.
    sequential : bool
        Every node has a job of its own.
    mix, share_sequential
        Jobs by size, as in `job_mix`.
    events, draws, level, rng
        As in `plan_checkpoints`.

    Raises
    ------
    ArgumentError
        For values that cannot be.

    Examples
    --------
    >>> plan = plan_migration("365 days", "5min", "5min", "2.5min", "1min", nodes=2**17, recall=0.7, precision=0.6)
    >>> int(plan.spares), round(plan.checkpoint_yield, 3), round(plan.migration_yield, 3)
    (6, 0.138, 0.294)
    """
    rate = rate_of_job(source, nodes, events=events, n_draws=draws, rng=rng)
    count, mu, drawn = rate.nodes, rate.node_mtbf, rate.node_draws
    wide_drawn = rate.wide_draws
    if nodes is None and count == 1:
        raise ArgumentError("how many nodes the machine has is not known", remedy="give nodes")
    scenario = Scenario("given", save, restore, downtime, migration)
    c, r, d, m = (float(x) for x in (scenario.save, scenario.restore, scenario.downtime, scenario.migration))
    predictor = Predictor(float(share("recall", recall)), float(share("precision", precision, zero=False)), lead)
    share("level", level, zero=False, one=False)
    if sequential:
        jobs = JobMix(np.ones(1, dtype=np.int64), np.array([float(count)]))
    else:
        jobs = job_mix(count, share_sequential) if mix is None else mix
    weight = jobs.node_shares

    def of_jobs(mean: FloatArray, wide: FloatArray) -> tuple[FloatArray, Predictor]:
        """Mean times between all failures of the jobs, and the predictor: what hits a whole system is not predicted."""
        own = jobs.sizes / mean[..., None]
        total = own + wide[..., None]
        return 1.0 / total, Predictor(predictor.recall * own / total, predictor.precision, predictor.lead)

    def outcome(mean: FloatArray, wide: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Spares, and yields of either strategy, for mean times of a node of any shape."""
        if spares is None:
            spare = spares_for_alarms(count, mean, m, d, predictor, risk)
        else:
            spare = np.broadcast_to(whole("spares", spares, 0), mean.shape)
        gap, some = of_jobs(mean, wide)
        alone = ((1.0 - best_waste(gap, c, r, d)) * weight).sum(axis=-1)
        best = best_predicted_interval(gap, c, r, d, m, some)
        with_it = ((1.0 - predicted_waste(gap, best, c, r, d, m, some)) * weight).sum(axis=-1)
        return spare, alone, with_it * (1.0 - spare / count)

    spare, alone, with_it = (float(x) for x in outcome(np.asarray(mu), np.asarray(rate.wide_rate)))
    if spare >= count:
        raise ArgumentError(f"{spare:.0f} spares of {count} nodes leave nothing to work with", remedy="look at risk")
    limits, probability = [np.nan] * 4, np.nan
    half = 0.5 * level
    if drawn is not None and wide_drawn is not None:
        spares_drawn, alone_drawn, with_drawn = outcome(drawn, wide_drawn)
        gains = with_drawn - alone_drawn
        ends = [0.5 - half, 0.5 + half]
        limits = [*np.quantile(spares_drawn, ends, method="inverted_cdf"), *np.quantile(gains, ends)]
        probability = float((gains > 0.0).mean())
    gap, some = of_jobs(np.asarray(mu), np.asarray(rate.wide_rate))
    found = benefit_of_prediction(gap, c, r, d, m, some, 1.0 - spare / count)
    # a recall of the failures of nodes alone
    least = found.break_even_recall / (gap * jobs.sizes / mu)
    least = np.where(least <= 1.0, least, np.nan)
    perfect = compare_throughputs(
        scenario, count, mu, risk, parallel=not sequential, mix=mix, share_sequential=share_sequential, spares=spares
    )
    import pandas as pd

    by_size = pd.DataFrame(
        {
            "nodes": jobs.sizes,
            "mtbf": gap,
            "nodes_share": weight,
            "checkpoint_interval": found.checkpoint_interval,
            "checkpoint_yield": 1.0 - found.checkpoint_waste,
            "migration_interval": found.combined_interval,
            "migration_yield": found.working_share * (1.0 - found.combined_waste),
            "break_even_recall": least,
        }
    )
    return MigrationPlan(
        by_size, spare, float(limits[0]), float(limits[1]), alone, with_it, with_it - alone, float(limits[2]),
        float(limits[3]), probability, perfect, count, predictor, scenario, mu, risk, level, rate.source,
        0 if drawn is None else drawn.size,
    )  # fmt: skip


# ---------------------------------------------------------------------- details


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value
