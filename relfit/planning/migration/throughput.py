"""Checkpoint just before a predicted failure, or migrate to a spare node: the model of "Checkpointing or migration".

With perfect predictions, a job on n nodes stops every mu/n hours: for C + D + R hours if it saves, repairs and
restores, for M hours if it migrates. Migration needs m of the N nodes as spares, so that more than m are migrating or
down at once with a probability of at most the risk. Section 6 of the paper has periodic checkpoints without
predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from relfit.base.arguments import cases, durations, share, whole
from relfit.base.arrays import Durations, FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.results import Result
from relfit.base.text import count, percent
from relfit.system.jobs.checkpoint import best_waste, first_order_best_waste


@dataclass(frozen=True)
class Scenario:
    """Times to save, restore, restart and migrate.

    Attributes
    ----------
    save, restore, restart, migration : ndarray
        C, R, D and M; any durations, stored in hours.
    name : str
        Name of the scenario.

    Examples
    --------
    >>> Scenario("2min", "2min", "1min", "30s").migration.round(5).tolist()
    0.00833
    """

    save: Any
    restore: Any
    restart: Any
    migration: Any
    name: str = "given"

    def __post_init__(self) -> None:
        for field in ("save", "restore", "restart", "migration"):
            object.__setattr__(self, field, durations(field, getattr(self, field)))

    @property
    def worth_comparing(self) -> npt.NDArray[np.bool_]:
        """Whether a migration takes less time than save, restart and restore; else a node is its own best spare."""
        return np.asarray(self.migration < self.save + self.restart + self.restore)


def spares_for_risk(
    nodes: npt.ArrayLike, mtbf: Durations, migration: Durations, restart: Durations, risk: npt.ArrayLike
) -> npt.NDArray[np.int64]:
    """Fewest spare nodes for which the probability of a shortage is at most `risk`.

    Each of the N nodes (spares included) is migrating or down with probability ``v = (M + D)/(mu + M + D)`` at any
    time; a shortage means that more than m are.
    """
    n, mu, m, d, eps = cases(
        nodes=whole("nodes", nodes).astype(np.float64),
        mtbf=durations("mtbf", mtbf, zero=False),
        migration=durations("migration", migration),
        restart=durations("restart", restart),
        risk=share("risk", risk, zero=False, one=False),
    )
    away = (m + d) / (mu + m + d)
    spares = np.maximum(np.asarray(scipy.stats.binom.isf(eps, n, away), dtype=np.float64), 0.0)
    for _ in range(60):  # the quantile function is off by one now and then
        more = scipy.stats.binom.sf(spares, n, away) > eps
        less = (spares > 0.0) & (scipy.stats.binom.sf(spares - 1.0, n, away) <= eps)
        if not (more.any() or less.any()):
            break
        spares = spares + more - (less & ~more)
    return np.minimum(spares, n).astype(np.int64)


@dataclass(frozen=True, eq=False)
class JobMix:
    """Jobs by size: ``sizes`` (nodes of a job), and ``jobs`` (mean number at once); together they use all nodes."""

    sizes: npt.NDArray[np.int64]
    jobs: FloatArray

    @property
    def node_shares(self) -> FloatArray:
        """Share of the nodes that work for jobs of each size."""
        busy = self.sizes * self.jobs
        return np.asarray(busy / busy.sum())


def job_mix(nodes: int, share_sequential: float = 0.25) -> JobMix:
    """Jobs that fill the machine (section 4.1 of the paper).

    A share of them is on one node; the others have 2, 4, ... nodes, up to the largest power of two, equally likely.
    """
    total, one = int(whole("nodes", nodes)), float(share("share_sequential", share_sequential))
    most = int(np.log2(total)) if one < 1.0 else 0
    sizes = 2 ** np.arange(most + 1)
    parts = np.concatenate([[one], np.full(most, (1.0 - one) / most)]) if most else np.ones(1)
    return JobMix(sizes.astype(np.int64), parts * total / float((sizes * parts).sum()))


class Throughputs(Result):
    """Nodes that do useful work under each strategy; arrays are cases.

    Attributes
    ----------
    nodes, spares : ndarray of int
        Nodes of the machine, spares included; number of spares.
    save_in_time : ndarray
        Every failure is predicted, and the job saves in time.
    migrate : ndarray
        Every failure is predicted, and the job migrates to a spare.
    periodic, periodic_exact : ndarray
        No failure is predicted, and jobs save at their best interval: to first order as in the paper, and exactly.
    nothing : ndarray
        Share of the nodes whose jobs make no progress with periodic checkpoints, to first order.
    """

    nodes: npt.NDArray[np.int64]
    spares: npt.NDArray[np.int64]
    save_in_time: FloatArray
    migrate: FloatArray
    periodic: FloatArray
    periodic_exact: FloatArray
    nothing: FloatArray

    _frame = ("nodes", "spares", "save_in_time", "migrate", "improvement", "periodic", "periodic_exact", "nothing")

    @property
    def improvement(self) -> FloatArray:
        """Gain of migration over saving in time, as a share: the paper's percentages over 100."""
        return self.migrate / self.save_in_time - 1.0

    @property
    def headline(self) -> str:
        """The strategies in order of their yield, for the first case."""
        n = float(np.ravel(self.nodes)[0])
        yields = {
            "migration": self.migrate,
            "saving in time": self.save_in_time,
            "periodic checkpoints": self.periodic_exact,
        }
        shown = sorted(((float(np.ravel(v)[0]) / n, name) for name, v in yields.items()), reverse=True)
        parts = ", ".join(f"{name} {percent(value)}" for value, name in shown)
        return f"Share of the nodes at work: {parts}; {count(int(np.ravel(self.spares)[0]), 'spare')}."


def compare_throughputs(
    scenario: Scenario,
    nodes: npt.ArrayLike,
    mtbf: Durations,
    risk: npt.ArrayLike = 1e-4,
    *,
    parallel: bool = True,
    mix: JobMix | None = None,
    spares: npt.ArrayLike | None = None,
) -> Throughputs:
    """Nodes at work when jobs save in time, migrate, or checkpoint periodically; arguments broadcast as cases.

    `nodes` includes spares, and `mtbf` is that of one node. Without `parallel` each node has its own job; `mix` is
    that of `job_mix` by default; `spares` replace the `risk` of running out of them.
    """
    n, mu, eps, c, r, d, m = cases(
        nodes=whole("nodes", nodes).astype(np.float64),
        mtbf=durations("mtbf", mtbf),  # spares and waste reject zero
        risk=share("risk", risk, zero=False, one=False),
        save=scenario.save,
        restore=scenario.restore,
        restart=scenario.restart,
        migration=scenario.migration,
    )
    sizes = n.astype(np.int64)
    spare = spares_for_risk(sizes, mu, m, d, eps) if spares is None else whole("spares", spares, 0)
    spare = np.broadcast_to(spare, n.shape)
    if np.any(spare > n):
        raise ArgumentError("more spares than nodes")
    working, flat = np.empty((5, n.size)), zip(*(x.ravel() for x in (n, mu, c, r, d, m)), strict=True)
    for i, (total, one, save, restore, down, move) in enumerate(flat):
        jobs = (mix or job_mix(int(total))) if parallel else job_mix(int(total), 1.0)
        busy, gap = jobs.node_shares * total, one / jobs.sizes
        waste, exact = first_order_best_waste(gap, save, restore, down), best_waste(gap, save, restore, down)
        working[:, i] = (
            (busy * gap / (gap + save + down + restore)).sum(),
            (busy * gap / (gap + move)).sum() * (1.0 - spare.ravel()[i] / total),
            (busy * (1.0 - waste)).sum(),
            (busy * (1.0 - exact)).sum(),
            busy[waste >= 1.0].sum() / total,
        )
    return Throughputs(sizes, spare, *working.reshape(5, *n.shape))
