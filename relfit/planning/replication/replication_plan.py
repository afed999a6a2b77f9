"""`plan_replication`: whether to run every process twice (or more often), and from which size of job on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from relfit.arguments import FloatArray, share, whole
from relfit.errors import ArgumentError
from relfit.jobs import Checkpoint
from relfit.planning.checkpointing.exponential_failures import best_interval, costs_of
from relfit.planning.checkpointing.renewal_failures import LEAST_PROGRESS, best_fixed_interval
from relfit.planning.job_rate import rate_of_job
from relfit.planning.replication.replicas import (
    best_restart_interval,
    break_even_nodes,
    failures_to_interruption,
    replicated,
    replicated_yield,
)
from relfit.planning.words import hours_in_words, percent

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["ReplicationPlan", "plan_replication"]

_CHECKPOINTS = "checkpoints alone"


@dataclass(frozen=True, eq=False)
class ReplicationPlan:
    """Replication against checkpoints alone, at one number of nodes.

    Attributes
    ----------
    strategies : pandas.DataFrame
        A row a strategy: ``strategy``, ``replicas``, ``restart`` of failed copies, ``processes``, ``failures`` (mean
        number to an interruption), ``mtti`` (mean hours to it), ``interval`` (best hours between saves), ``yield``
        (share of all nodes that does kept work), ``yield_low``, ``yield_high``, ``break_even`` (nodes from which on
        it beats checkpoints alone).
    best : str
        The strategy with the highest yield.
    probability : float
        Share of the draws in which it has the highest yield; NaN without draws.
    break_even, break_even_low, break_even_high : float
        Nodes from which on pairs restarted at saves beat checkpoints alone.
    nodes : int
    node_mtbf, wide_rate : float
        Mean hours between the failures of a node; failures per hour that hit a whole system.
    costs : dict
    overhead, level : float
    words : str
    draws : int
    """

    strategies: pd.DataFrame
    best: str
    probability: float
    break_even: float
    break_even_low: float
    break_even_high: float
    nodes: int
    node_mtbf: float
    wide_rate: float
    costs: dict[str, float]
    overhead: float
    level: float
    words: str
    draws: int

    @property
    def sentence(self) -> str:
        """Which strategy is best here, and from where on replication pays, in a sentence."""
        row = self.strategies[self.strategies["strategy"] == self.best].iloc[0]
        if not float(row["yield"]) > LEAST_PROGRESS:
            return f"At {self.nodes} nodes no strategy makes progress: failures come faster than anything can be saved."
        text = f"At {self.nodes} nodes {self.best} yield most: {percent(float(row['yield']))} of the nodes do kept work"
        if np.isfinite(self.probability):
            text += f" (best in {percent(self.probability)} of what the rate can be)"
        if not np.isfinite(self.break_even):
            return text + "; pairs pay at no size of job."
        text += f"; pairs pay from {self.break_even:.0f} nodes on"
        if np.isfinite(self.break_even_low):
            text += f" ({self.break_even_low:.0f} to {self.break_even_high:.0f})"
        return text + "."

    @property
    def sentences(self) -> tuple[str, ...]:
        """All findings."""
        first = self.strategies.iloc[0]
        pairs = self.strategies[self.strategies["replicas"] == 2]
        found = [self.sentence]
        if len(pairs):
            row = pairs.iloc[0]
            found.append(
                f"One copy of each process is interrupted every {hours_in_words(float(first['mtti']))}, pairs every "
                f"{hours_in_words(float(row['mtti']))} if none is restarted before: {float(row['failures']):.3g} "
                "failures."
            )
        return tuple(found)

    def to_frame(self) -> pd.DataFrame:
        """A row a strategy."""
        return self.strategies

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        names = ("probability", "break_even", "break_even_low", "break_even_high", "node_mtbf", "wide_rate")
        rows = self.strategies.to_dict("records")
        return {
            "best": self.best,
            **{name: _plain(float(getattr(self, name))) for name in names},
            "nodes": self.nodes,
            "costs_hours": self.costs,
            "overhead": self.overhead,
            "level": self.level,
            "draws": self.draws,
            "strategies": [{str(k): _plain(v) for k, v in row.items()} for row in rows],
            "source": self.words,
            "sentences": list(self.sentences),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Yield over the size of the job (`relfit.plotting.migration.yield_of_replicas`)."""
        from relfit.plotting.migration import yield_of_replicas

        return yield_of_replicas(self, ax)

    def __repr__(self) -> str:
        return f"ReplicationPlan: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        lines = "".join(f"<p>{escape(text)}</p>" for text in self.sentences)
        return lines + self.strategies.to_html(escape=True, index=False, float_format="{:.4g}".format)


def plan_replication(
    source: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    nodes: Any = None,
    most_replicas: int = 3,
    overhead: float = 0.0,
    events: Any = None,
    draws: int = 500,
    level: float = 0.9,
    rng: int | np.random.Generator | None = 0,
) -> ReplicationPlan:
    """Compare replication with checkpoints alone for a job that has a number of nodes to itself.

    Parameters
    ----------
    source : duration or Parameters
        Mean time between the failures of one node, or calibrated parameters. Failures that hit whole systems end a
        job with or without copies and are left out.
    save, restore, downtime : duration
        The save holds the restart of failed copies, where they are restarted at saves.
    nodes : int, optional
        Of the job, copies included.
    most_replicas : int
        2, 3, ... up to so many copies are looked at.
    overhead : float
        Share of speed that copies lose to keep in step.
    events, draws, level, rng
        As in `plan_checkpoints`.

    Raises
    ------
    ArgumentError
        For values that cannot be.

    Examples
    --------
    >>> plan = plan_replication(43_800, "10min", "10min", nodes=100_000)
    >>> plan.best, int(plan.break_even)
    ('pairs, restarted at saves', 35472)
    """
    rate = rate_of_job(source, nodes, events=events, n_draws=draws, rng=rng)
    count, mu, drawn = rate.nodes, rate.node_mtbf, rate.node_draws
    wide, wide_drawn = rate.wide_rate, rate.wide_draws
    if count < 2:
        raise ArgumentError("replication needs at least two nodes", remedy="give nodes")
    most = min(int(whole("most_replicas", most_replicas, 2)), count)
    cost = costs_of(save, restore, downtime)
    c, r, d = (float(x) for x in (cost.save, cost.restore, cost.restart))
    if c <= 0.0:
        raise ArgumentError("save is 0 hours", remedy="give one above zero")
    slow = float(share("overhead", overhead, one=False))
    share("level", level, zero=False, one=False)
    half = 0.5 * level
    rows: list[dict[str, Any]] = []
    yields: list[FloatArray] = []
    for replicas, restart in [(1, ""), *((k, "saves") for k in range(2, most + 1)), (2, "interruption")]:
        processes = count // replicas
        how: dict[str, Any] = {"replicas": replicas, "overhead": slow if replicas > 1 else 0.0}
        if replicas > 1:
            how["restart"] = restart
        if replicas == 1:
            best = float(best_interval(rate.mtbf, c))
        elif restart == "saves":
            best = float(best_restart_interval(mu, processes, c, r, d, replicas, wide))
        else:
            best = best_fixed_interval(
                replicated(mu, processes, replicas, wide_rate=wide), Checkpoint(save=c, restore=r), d
            ).every
        value = float(replicated_yield(mu, count, c, r, d, wide_rate=wide, **how))
        low = high = np.nan
        if drawn is not None and wide_drawn is not None:
            # without restarts each case is a search of its own: fewer of them do
            every = 1 if restart != "interruption" else max(1, drawn.size // 60)
            found = replicated_yield(drawn[::every], count, c, r, d, wide_rate=wide_drawn[::every], **how)
            low, high = (float(x) for x in np.quantile(found, [0.5 - half, 0.5 + half]))
            if restart != "interruption":
                yields.append(found)
        rows.append(
            {
                "strategy": _name(replicas, restart),
                "replicas": replicas,
                "restart": restart or "-",
                "processes": processes,
                "failures": float(failures_to_interruption(processes, replicas)),
                "mtti": replicated(mu, processes, replicas, wide_rate=wide).mean(),
                "interval": best,
                "yield": value,
                "yield_low": low,
                "yield_high": high,
                "break_even": np.nan if replicas == 1 else float(
                    break_even_nodes(
                        mu, c, r, d, replicas=replicas, restart=restart, overhead=slow, wide_rate=wide
                    )
                ),
            }
        )  # fmt: skip
    import pandas as pd

    table = pd.DataFrame(rows)
    best_row = int(np.argmax(table["yield"]))
    limits, probability = [np.nan] * 2, np.nan
    if drawn is not None and wide_drawn is not None:
        if best_row < len(yields):
            probability = float((np.argmax(np.stack(yields), axis=0) == best_row).mean())
        every = max(1, drawn.size // 200)
        found = break_even_nodes(drawn[::every], c, r, d, overhead=slow, wide_rate=wide_drawn[::every])
        low, high = np.quantile(found, [0.5 - half, 0.5 + half], method="inverted_cdf")
        limits = [float(low), float(high)]
    return ReplicationPlan(
        strategies=table,
        best=str(table.loc[best_row, "strategy"]),
        probability=probability,
        break_even=float(rows[1]["break_even"]),
        break_even_low=limits[0],
        break_even_high=limits[1],
        nodes=count,
        node_mtbf=mu,
        wide_rate=wide,
        costs={"save": c, "restore": r, "downtime": d},
        overhead=slow,
        level=level,
        words=rate.source,
        draws=0 if drawn is None else drawn.size,
    )


# ---------------------------------------------------------------------- details


def _name(replicas: int, restart: str) -> str:
    if replicas == 1:
        return _CHECKPOINTS
    word = {2: "pairs", 3: "triples"}.get(replicas, f"{replicas} copies")
    return f"{word}, restarted at {'saves' if restart == 'saves' else 'interruptions'}"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value
