"""Which strategy wins where: checkpoints alone, migration on predictions, or pairs, by size of job and mean time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arguments import cases, durations, whole
from relfit.arrays import FloatArray
from relfit.planning.checkpointing.exponential_failures import best_waste, costs_of
from relfit.planning.migration.migration_plan import spares_for_alarms
from relfit.planning.migration.prediction import Predictor, best_predicted_interval, predicted_waste
from relfit.planning.replication.replicas import replicated_yield
from relfit.results import Result

__all__ = ["STRATEGIES", "StrategyMap", "compare_strategies"]

STRATEGIES = ("checkpoints alone", "migration on predictions", "pairs, restarted at saves")


@dataclass(frozen=True, eq=False, repr=False)
class StrategyMap(Result):
    """Yields of the three strategies at their best intervals.

    Attributes
    ----------
    nodes : ndarray of int, shape (n,)
        Sizes of the job that has the machine to itself; spares and copies are part of it.
    node_mtbf : ndarray, shape (m,)
        Mean hours between the failures of a node.
    yields : ndarray, shape (3, m, n)
        Share of the nodes that does kept work, in the order of `STRATEGIES`.
    predictor : Predictor
    """

    nodes: npt.NDArray[np.int64]
    node_mtbf: FloatArray
    yields: FloatArray
    predictor: Predictor

    @property
    def winner(self) -> npt.NDArray[np.int64]:
        """Position in `STRATEGIES` of the highest yield, shape (m, n); -1 where none keeps a hundredth of the nodes."""
        found = self.yields.argmax(axis=0)
        return np.asarray(np.where(self.yields.max(axis=0) < 0.01, -1, found))

    @property
    def headline(self) -> str:
        """In how many cases each strategy wins."""
        wins = [f"{name} in {int((self.winner == i).sum())}" for i, name in enumerate(STRATEGIES)]
        return f"Of {self.winner.size} cases the best are {', '.join(wins)}."

    def to_frame(self) -> pd.DataFrame:
        """One row per case."""
        mtbf, nodes = np.meshgrid(self.node_mtbf, self.nodes, indexing="ij")
        yields = {name: values.ravel() for name, values in zip(STRATEGIES, self.yields, strict=True)}
        best = np.array([*STRATEGIES, "none"])[self.winner.ravel()]
        return pd.DataFrame({"node_mtbf": mtbf.ravel(), "nodes": nodes.ravel(), **yields, "best": best})


def compare_strategies(
    nodes: Any,
    node_mtbf: Any,
    save: Any,
    restore: Any = 0.0,
    restart: Any = 0.0,
    migration: Any = "1min",
    predictor: Predictor | None = None,
    *,
    risk: float = 1e-4,
    overhead: float = 0.0,
) -> StrategyMap:
    """Yields of a job on each of the sizes and mean times, under each strategy.

    Parameters
    ----------
    nodes : array_like of int
        Sizes.
    node_mtbf : array_like of durations
        Mean times between the failures of a node.
    save, restore, restart, migration : duration
    predictor : Predictor, optional
        A recall of 0.7 and a precision of 0.7 when left out.
    risk : float
        Probability to be short of a spare.
    overhead : float
        Share of speed that pairs lose to keep in step.

    Examples
    --------
    >>> found = compare_strategies([1_000, 100_000, 10_000_000], [8766.0, 87660.0], "5min", "5min", "2min")
    >>> found.winner.tolist()
    [[1, 2, 2], [1, 1, 2]]
    """
    chosen = Predictor(0.7, 0.7) if predictor is None else predictor
    c, r, d = costs_of(save, restore, restart)
    size, mean = np.atleast_1d(whole("nodes", nodes, 2)), np.atleast_1d(durations("node_mtbf", node_mtbf, zero=False))
    mu, n, c, r, d, m = cases(
        node_mtbf=mean[:, None], nodes=size[None, :].astype(np.float64), save=c, restore=r, restart=d,
        migration=durations("migration", migration),
    )  # fmt: skip
    gap = mu / n
    alone = 1.0 - best_waste(gap, c, r, d)
    interval = best_predicted_interval(gap, c, r, d, m, chosen)
    left = 1.0 - spares_for_alarms(n, mu, m, d, chosen, risk) / n
    moving = (1.0 - predicted_waste(gap, interval, c, r, d, m, chosen)) * left
    pairs = replicated_yield(mu, n, c, r, d, overhead=overhead)
    return StrategyMap(size, mean, np.stack([alone, moving, pairs]), chosen)
