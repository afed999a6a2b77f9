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
from relfit.fitting.families import Distribution
from relfit.planning.checkpointing.exponential_failures import best_waste, first_order_best_waste
from relfit.system.jobs import time_to_failure

_MINUTES = {
    "today": (25.0, 2.5),
    "2011 HD": (7.5, 2.5),
    "2011 SSD": (5.0, 2.5),
    "2011 Flash": (1.5, 2.5),
    "2011 Flash, faster reboot": (1.5, 0.25),
    "2015": (0.05, 0.25),
}


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


SCENARIOS = {
    name: Scenario(save / 60.0, save / 60.0, down / 60.0, 1.0 / 60.0, name) for name, (save, down) in _MINUTES.items()
}
"""The paper's six scenarios, Tables 1 to 6."""


def spares_for_risk(
    nodes: npt.ArrayLike, mtbf: Durations, migration: Durations, restart: Durations, risk: npt.ArrayLike
) -> npt.NDArray[np.int64]:
    """Fewest spare nodes for which the probability of a shortage is at most `risk`.

    Each of the N nodes (spares included) is migrating or down with probability ``v = (M + D)/(mu + M + D)`` at any
    time; a shortage means that more than m are.

    Examples
    --------
    >>> spares_for_risk([2**14, 2**17, 2**20], "1 day", "1min", "2.5min", 1e-4).tolist()
    [65, 386, 2732]
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


def job_mix(
    nodes: int,
    share_sequential: float = 0.25,
    *,
    sizes: npt.ArrayLike | None = None,
    shares: npt.ArrayLike | None = None,
) -> JobMix:
    """Jobs that fill the machine (section 4.1 of the paper).

    A share of the jobs is on one node; the others have 2, 4, ... nodes, up to the largest power of two, equally likely.
    Other `sizes` come with `shares`, the share of the jobs with each size. An `ArgumentError` for a size above the
    number of nodes, or sizes without as many shares.

    Examples
    --------
    >>> mix = job_mix(16)
    >>> mix.sizes.tolist(), float((mix.sizes * mix.jobs).sum().round(9))
    ([1, 2, 4, 8, 16], 16.0)
    """
    total = int(whole("nodes", nodes))
    if sizes is None:
        one = float(share("share_sequential", share_sequential))
        most = int(np.log2(total)) if one < 1.0 else 0
        size = 2 ** np.arange(most + 1)
        part = np.concatenate([[one], np.full(most, (1.0 - one) / max(most, 1))]) if most else np.ones(1)
    else:
        if shares is None:
            raise ArgumentError("sizes without shares", remedy="give the share of the jobs of each size")
        size, part = np.atleast_1d(whole("sizes", sizes)), np.atleast_1d(share("shares", shares))
        if size.shape != part.shape or size.ndim != 1:
            raise ArgumentError(f"{size.size} sizes but {part.size} shares")
        if not part.sum() > 0.0 or size.max() > total:
            raise ArgumentError("jobs larger than the machine, or no jobs", remedy="look at sizes and shares")
        part = part / part.sum()
    return JobMix(size.astype(np.int64), part * total / float((size * part).sum()))


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
    scenario: Scenario | str,
    nodes: npt.ArrayLike,
    mtbf: Durations | Distribution,
    risk: npt.ArrayLike = 1e-4,
    *,
    parallel: bool = True,
    mix: JobMix | None = None,
    share_sequential: float = 0.25,
    spares: npt.ArrayLike | None = None,
) -> Throughputs:
    """Nodes at work when jobs save in time, migrate, or checkpoint periodically; arguments broadcast as cases.

    `scenario` may be the name of one of `SCENARIOS`, `nodes` includes spares, and `mtbf` is that of one node. A
    distribution stands for new nodes: a job on n nodes has the mean of the smallest of n times to failure. (The paper's
    formula for Weibull times, section 4.2, has a misprint: the scale is multiplied by ``n**(-1/shape)``.) Without
    `parallel` each node has its own job; `mix` and `share_sequential` are as in `job_mix`; `spares` replace the `risk`
    of running out of them. An `ArgumentError` for more spares than nodes, an unknown scenario, or an invalid time or
    risk.

    Examples
    --------
    >>> result = compare_throughputs("today", 2**14, "1 day")
    >>> int(result.spares), round(100 * float(result.improvement), 1)
    (65, 2081.5)
    """
    if not isinstance(scenario, Scenario):
        if scenario not in SCENARIOS:
            raise ArgumentError(f"scenario {scenario!r} is not known", remedy=f"use one of {', '.join(SCENARIOS)}")
        scenario = SCENARIOS[scenario]
    family = mtbf if isinstance(mtbf, Distribution) else None
    mean = durations("mtbf", mtbf, zero=False) if family is None else np.asarray(family.mean(), dtype=np.float64)
    n, mu, eps, c, r, d, m = cases(
        nodes=whole("nodes", nodes).astype(np.float64),
        mtbf=mean,
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
        if not parallel:
            jobs = JobMix(np.ones(1, dtype=np.int64), np.array([total]))
        else:
            jobs = job_mix(int(total), share_sequential) if mix is None else mix
        busy, gap = jobs.node_shares * total, one / jobs.sizes
        if family is not None:
            gap = np.array([time_to_failure(family, nodes=int(size)).mean() for size in jobs.sizes])
        waste, exact = first_order_best_waste(gap, save, restore, down), best_waste(gap, save, restore, down)
        working[:, i] = (
            (busy * gap / (gap + save + down + restore)).sum(),
            (busy * gap / (gap + move)).sum() * (1.0 - spare.ravel()[i] / total),
            (busy * (1.0 - waste)).sum(),
            (busy * (1.0 - exact)).sum(),
            busy[waste >= 1.0].sum() / total,
        )
    return Throughputs(sizes, spare, *working.reshape(5, *n.shape))
