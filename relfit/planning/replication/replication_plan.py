"""`plan_replication`: whether to run every process of a job on r nodes, and from which size of job.

The job stops only when all copies of a process have failed. Copies pay for jobs so large that checkpoints alone leave
little useful work. Failed copies are restarted at every save. Failures are exponential. Mean number of failures to
interruption: Casanova, Robert, Vivien and Zaidouni (2016), ACM Transactions on Parallel Computing 3, 11; restart at
saves: Benoit, Herault, Le Fevre and Robert (2019), SC '19.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.base.arguments import cases, durations, positive, share, whole
from relfit.base.arrays import Durations, FloatArray, Seed
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.grid_search import highest
from relfit.base.numeric.levels import level_checked
from relfit.base.numeric.quadrature import gauss_legendre
from relfit.base.text import count, percent
from relfit.fitting.families.distribution import log_one_minus_exp
from relfit.planning.checkpointing.renewal_failures import LEAST_PROGRESS
from relfit.planning.job_rate import rate_of_job
from relfit.planning.plan import NOISE, Plan, beyond_fleet, limits
from relfit.planning.sparing.job_spares import plan_spares
from relfit.system.jobs import Checkpoint
from relfit.system.jobs.checkpoint import best_interval, best_waste

_NAMES = {1: "checkpoints alone", 2: "pairs", 3: "triples"}
_RESTARTS = "Nothing fails while the job restarts; it waits as long with any number of nodes."
_MOST_SPARED = 5_000  # nodes of a job for which spares are counted
_MOST_WORK = 1_000_000  # draws times numbers of copies
_COPIES = "A rack never takes both copies of a process, and failed copies find a node when they are restarted."
_MOST_NODES = 2**50
_NODES, _WEIGHTS = gauss_legendre(16)


def failures_to_interruption(processes: npt.ArrayLike, replicas: npt.ArrayLike = 2) -> FloatArray:
    """Mean number of node failures until one of n processes has lost all its r copies, if none is restarted:
    ``n B(1/r, n)``, for large n ``Gamma(1/r) n**(1 - 1/r)``; for two copies, ``sqrt(pi n)``.
    """
    n, r = cases(
        processes=whole("processes", processes).astype(np.float64),
        replicas=whole("replicas", replicas).astype(np.float64),
    )
    return np.asarray(np.exp(np.log(n) + special.betaln(1.0 / r, n)))


@dataclass(frozen=True, eq=False)
class CopiedJob:
    """A job whose processes run in copies that are restarted at every save; durations in hours, arrays are cases.

    `mtbf` is that of one node; `save` includes the restart of failed copies; `overhead` is the share of speed lost to
    synchronization; `wide_rate` counts failures per hour that stop the job with any number of copies.
    """

    mtbf: Any
    save: Any
    restore: Any = 0.0
    restart: Any = 0.0
    replicas: int = 2
    overhead: Any = 0.0
    wide_rate: Any = 0.0

    def __post_init__(self) -> None:
        hours = ("mtbf", "save", "restore", "restart")
        values = {name: durations(name, getattr(self, name), zero=name != "mtbf") for name in hours}
        values["overhead"] = share("overhead", self.overhead)
        values["wide_rate"] = positive("wide_rate", self.wide_rate, zero=True)
        for name, value in zip(values, cases(**values), strict=True):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "replicas", int(whole("replicas", self.replicas)))

    def waste(self, processes: npt.ArrayLike, interval: Durations) -> FloatArray:
        """Long-run waste at an interval of work between saves; exact, not counting the nodes of the copies."""
        n = whole("processes", processes).astype(np.float64)
        return 1.0 - self._progress(n, durations("interval", interval, zero=False), *self._rates)

    def best_interval(self, processes: npt.ArrayLike) -> FloatArray:
        """Interval with the least `waste`, hours of work; for pairs to first order ``(3 C mu**2 / (4 n))**(1/3)``."""
        durations("save", self.save, zero=False)
        mu, n, k = self.mtbf, whole("processes", processes).astype(np.float64), self.replicas
        # to first order an interval w fails with probability n (w/mu)**r and then loses r/(r + 1) of it
        guess = np.log(self.save * mu**k / n) / (k + 1.0)
        guess = np.minimum(guess, np.log(mu) - np.log(n) / k)  # if jobs seldom last that long
        with np.errstate(divide="ignore"):
            guess = np.minimum(guess, 0.5 * np.log(2.0 * self.save / self.wide_rate))
        rates = [value[..., None] for value in self._rates]
        log_interval, _ = highest(
            lambda log: self._progress(n[..., None], np.exp(log), *rates), guess - 3.5, guess + 2.5, rounds=5
        )
        return np.exp(log_interval)

    def useful(self, nodes: npt.ArrayLike) -> FloatArray:
        """Share of N nodes that does useful work at the best interval, with ``N // replicas`` processes."""
        n = whole("nodes", nodes, self.replicas).astype(np.float64)
        if self.replicas == 1:
            return 1.0 - best_waste(1.0 / (n / self.mtbf + self.wide_rate), self.save, self.restore, self.restart)
        processes = np.floor(n / self.replicas)
        progress = self._progress(processes, self.best_interval(processes), *self._rates)
        return np.asarray(progress * (1.0 - self.overhead) * processes / n)

    def break_even(self) -> FloatArray:
        """Nodes, a multiple of `replicas`, from which copies yield more than checkpoints; infinite above 2**50."""
        single = replace(self, replicas=1)

        def better(processes: FloatArray) -> npt.NDArray[np.bool_]:
            nodes = processes * self.replicas
            return np.asarray(self.useful(nodes) > single.useful(nodes))

        high = np.full(self.mtbf.shape, np.inf)
        for power in 2.0 ** np.arange(int(np.log2(_MOST_NODES / self.replicas))):  # single copies' yields fall faster
            if not np.isinf(high).any():
                break
            high = np.where(np.isinf(high) & better(np.full(high.shape, power)), power, high)
        pays = np.isfinite(high)
        top = np.where(pays, high, 2.0)
        low = np.where(top > 1.0, top / 2.0, 0.0)
        while np.any(top - low > 1.0):
            middle = np.maximum(np.floor(0.5 * (low + top)), 1.0)
            wins = better(middle)
            low, top = np.where(wins, low, middle), np.where(wins, middle, top)
        return np.asarray(np.where(pays, top * self.replicas, np.inf))

    def every(self, step: int) -> CopiedJob:
        """One of every `step` cases."""
        return replace(self, **{name: value[::step] for name, value in vars(self).items() if name != "replicas"})

    @property
    def _rates(self) -> tuple[FloatArray, ...]:
        return self.mtbf, self.save, self.restore, self.restart, self.wide_rate

    def _progress(self, n: FloatArray, w: FloatArray, *rates: FloatArray) -> FloatArray:
        """Useful work per hour: intervals with all copies at the start, after an interruption with a restore."""
        w, n, mu, c, r, d, wide = np.broadcast_arrays(w, n, *rates)
        k = self.replicas

        def log_sf(x: FloatArray, n: FloatArray, mu: FloatArray, wide: FloatArray) -> FloatArray:
            """Log of the probability that no process has lost all its copies and no wide failure has come."""
            return np.asarray(n * log_one_minus_exp(k * log_one_minus_exp(-x / mu)) - wide * x)

        def area(end: FloatArray) -> FloatArray:
            # survival falls within a width of about mu n**(-1/k): panels up to there and beyond
            width = 1.0 / (n ** (1.0 / k) / mu + wide)
            edges = [np.zeros_like(end), *(np.minimum(end, many * width) for many in (1.0, 4.0, 40.0)), end]
            total = np.zeros(end.shape)
            for low, high in pairwise(edges):
                half = 0.5 * (high - low)
                x = (low + half)[..., None] + half[..., None] * _NODES
                alive = np.exp(log_sf(x, n[..., None], mu[..., None], wide[..., None]))
                total = total + half * (alive * _WEIGHTS).sum(axis=-1)
            return total

        with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
            once, again = w + c, r + w + c
            log_once, log_again = log_sf(once, n, mu, wide), log_sf(again, n, mu, wide)
            retry = (area(again) - np.expm1(log_again) * d) / np.exp(log_again)
            progress = w / (area(once) - np.expm1(log_once) * (d + retry))
        return np.where(np.isfinite(progress), progress, 0.0)


class ReplicationPlan(Plan):
    """Replication compared with checkpoints alone; made by `plan_replication`.

    `mtbf` is that of a node; it and further attributes are those of `relfit.planning.plan.Plan`.

    Attributes
    ----------
    strategies : pandas.DataFrame
        One row per strategy: ``strategy``, ``replicas``, ``processes``, ``failures`` (mean number of nodes that fail
        until a process has lost all its copies, if none is restarted), ``checkpoint_every`` (best hours of work),
        ``yield`` (share of all nodes that does useful work), ``yield_low``, ``yield_high``, ``break_even`` (nodes from
        which it yields more than checkpoints alone).
    best : str
        The strategy with the highest yield.
    waits : str
        A sentence on the wait for repairs.
    probability : float
        Share of the draws in which `best` has the highest yield; NaN without draws.
    break_even, break_even_low, break_even_high : float
        Nodes from which pairs yield more than checkpoints alone, and its interval over the draws.
    nodes : int
        Nodes of the job, copies included.
    wide_rate : float
        Failures per hour of groups of nodes and whole systems that stop the job.
    costs : dict
        ``save``, ``restore`` and ``restart`` (with the wait for a repair) in hours.
    overhead : float
        Share of speed lost to synchronization of the copies.
    with_spares : dict or None
        Where the job waits for repairs: the hot ``spares`` with which it would wait 1 % of the time (`plan_spares`),
        and the yield of each strategy with them, as a share of all nodes, spares included. Spares do not help while
        the whole system is down.
    """

    strategies: pd.DataFrame
    best: str
    waits: str
    probability: float
    break_even: float
    break_even_low: float
    break_even_high: float
    nodes: int
    wide_rate: float
    costs: dict[str, float]
    overhead: float
    with_spares: dict[str, float] | None = None

    _frame: ClassVar[str] = "strategies"

    @property
    def headline(self) -> str:
        """The best strategy, and the number of nodes from which pairs pay."""
        row = self.strategies[self.strategies["strategy"] == self.best].iloc[0]
        here = f"At {count(self.nodes, 'node')}" + (" without spares" if self.with_spares else "")
        if not float(row["yield"]) > LEAST_PROGRESS:
            return f"{here}, no strategy makes progress: failures come faster than anything can be saved."
        text = f"{here}, {self.best} yield most: {percent(float(row['yield']))} of the node-hours are useful work"
        if np.isfinite(self.probability):
            text += f" (best in {percent(self.probability)} of the draws of the rate)"
        if not np.isfinite(self.break_even):
            return text + "; pairs pay at no size of job."
        text += f"; pairs pay from {self.break_even:,.0f} nodes on"
        if np.isfinite(self.break_even_low):
            text += f" ({self.break_even_low:,.0f}-{self.break_even_high:,.0f})"
        return text + "."

    @property
    def remarks(self) -> tuple[str, ...]:
        """The wait for repairs, and the number of failures that pairs tolerate."""
        pairs = self.strategies[self.strategies["replicas"] == 2].iloc[0]
        nodes = f"{float(pairs['failures']):.3g} nodes fail on average before both copies of a process are lost"
        return (self.waits, *self.advice, f"Where failed copies of pairs are not restarted, {nodes}.")

    @property
    def advice(self) -> tuple[str, ...]:
        """The yield with hot spares."""
        if self.with_spares is None:
            return ()
        spares, *yields = self.with_spares.items()
        shown = ", ".join(f"{name} {percent(share_of)}" for name, share_of in yields)
        number = count(int(spares[1]), "hot spare")
        return (f"With {number} to take over at once, of all node-hours: {shown}.",)


def plan_replication(
    source: object,
    checkpoint: Checkpoint,
    restart: Durations = 0.0,
    *,
    nodes: int | None = None,
    repair: Durations | None = None,
    most_replicas: int = 3,
    overhead: float = 0.0,
    events: float | None = None,
    n_draws: int = 500,
    level: float = 0.95,
    rng: Seed = 0,
) -> ReplicationPlan:
    """Compare replication with checkpoints alone, for a job with a fixed number of nodes.

    Failures of groups of nodes and of whole systems stop a job with or without copies.

    Parameters
    ----------
    source : duration or Parameters
        Mean time between failures of one node, or calibrated parameters.
    checkpoint : Checkpoint
        Costs of a checkpoint, which includes the restart of failed copies.
    restart : duration
        Time from a failure to the restore, in which nothing fails.
    nodes : int, optional
        Nodes of the job, copies included; by default those of the parameters' fleet.
    repair : duration, optional
        As for `plan_checkpoints`, for interruptions of the job.
    most_replicas : int
        Largest number of copies to compare.
    overhead : float
        Share of speed lost to synchronization of the copies.
    events, n_draws, level, rng
        As for `plan_checkpoints`.

    Raises
    ------
    ArgumentError
        For fewer than two nodes, a checkpoint that takes no time, too many draws of too many copies, or a share
        outside 0..1.

    Examples
    --------
    >>> plan = plan_replication(43_800, Checkpoint(save="10min", restore="10min"), nodes=100_000)
    >>> plan.best, int(plan.break_even)
    ('pairs', 35472)
    """
    rate = rate_of_job(source, nodes, repair=repair, events=events, n_draws=n_draws, rng=rng)
    size, mu, wide, drawn = rate.nodes, rate.node_mtbf, rate.wide_rate, rate.drawn
    if size < 2:
        raise ArgumentError("replication needs at least two nodes", remedy="give nodes")
    most = min(int(whole("most_replicas", most_replicas, 2)), size)
    c, r, d = checkpoint.save, checkpoint.restore, float(durations("restart", restart)) + float(rate.wait)
    if c <= 0.0:
        raise ArgumentError("save is 0 hours", remedy="give one above zero")
    if drawn is not None and (most - 1) * drawn.node_mtbf.size > _MOST_WORK:
        what = f"{drawn.node_mtbf.size:,} draws of 2 to {most} copies are too many to work out"
        remedy = Remedy(
            f"give most_replicas=... times n_draws=... of at most {_MOST_WORK:,}",
            f"give --replicas times --draws of at most {_MOST_WORK:,}",
        )
        raise ArgumentError(what, remedy=remedy)
    slow = float(share("overhead", overhead, one=False))
    level_checked(level)
    rows: list[dict[str, Any]] = []
    of_draws: list[CopiedJob] = []
    yields: list[FloatArray] = []
    for replicas in range(1, most + 1):
        processes = size // replicas
        copies = CopiedJob(mu, c, r, d, replicas, slow, wide)
        best = best_interval(rate.mtbf, c) if replicas == 1 else copies.best_interval(processes)
        if drawn is not None:
            pause = d - float(rate.wait) + drawn.wait
            of_draws.append(replace(copies, mtbf=drawn.node_mtbf, restart=pause, wide_rate=drawn.wide_rate))
            yields.append(of_draws[-1].useful(size))
        low, high = limits(yields[-1] if yields else None, level)
        rows.append(
            {
                "strategy": _NAMES.get(replicas, f"{replicas} copies"),
                "replicas": replicas,
                "processes": processes,
                "failures": float(failures_to_interruption(processes, replicas)),
                "checkpoint_every": float(best),
                "yield": float(copies.useful(size)),
                "yield_low": low,
                "yield_high": high,
                "break_even": float(copies.break_even()) if replicas > 1 else np.nan,
            }
        )
    table = pd.DataFrame(rows)
    best_row = int(np.argmax(table["yield"]))
    probability, breaks = np.nan, None
    if drawn is not None:
        probability = float((np.argmax(np.stack(yields), axis=0) == best_row).mean())
        breaks = of_draws[1].every(max(1, yields[1].size // 200)).break_even()
    low, high = limits(breaks, level, integer=True)
    spared = spares = None
    if float(rate.wait) > 0.0 and size <= _MOST_SPARED:
        with suppress(ArgumentError):  # no number is enough, or the mean of all repairs is not known
            spares = plan_spares(source, size, repair=repair, n_draws=2)
    if spares is not None:
        working = (1.0 - spares.waiting) * size / (size + spares.spares) / (1.0 + float(rate.system_down))
        spared = {"spares": float(spares.spares)} | {
            row["strategy"]: working
            * float(CopiedJob(mu, c, r, d - float(rate.wait), row["replicas"], slow, wide).useful(size))
            for row in rows
        }
    return ReplicationPlan(
        strategies=table,
        best=str(table.loc[best_row, "strategy"]),
        probability=probability,
        break_even=float(rows[1]["break_even"]),
        break_even_low=low,
        break_even_high=high,
        nodes=size,
        wide_rate=wide,
        costs={"save": c, "restore": r, "restart": d},
        overhead=slow,
        with_spares=spared,
        mtbf=mu,
        source=rate.source,
        level=level,
        n_draws=yields[0].size if yields else 0,
        waits=rate.waits,
        assumptions=(_COPIES, _RESTARTS, *(() if drawn is None else (NOISE,))),
        extrapolated=beyond_fleet(source, size),
        premise=rate.premise,
    )
