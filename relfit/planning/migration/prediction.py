"""Migration on predicted failures, with checkpoints for the rest: perfect predictions, and those that miss or err.

With perfect predictions ("Checkpointing or migration"), a job on n nodes stops every mu/n hours: for C + D + R hours if
it saves, repairs and restores, for M hours if it migrates. Migration needs m of the N nodes as spares, so that more
than m are migrating or down at once with a probability of at most the risk.

A predictor announces a share of the failures (recall); a share of its alarms is true (precision). On an alarm the job
migrates to a spare. A failure that was not predicted, or too late for a migration, returns it to its last checkpoint.
To first order the best interval is ``sqrt(2 C mu/(1 - r))``: Aupy, Robert, Vivien and Zaidouni (2014), Journal of
Parallel and Distributed Computing 74, 2048-2064. Here the expected time is exact for exponential failures and alarms.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from relfit.system.jobs.checkpoint import best_waste, first_order_best_waste, mu_times_root

_TIMES = ("mtbf", "save", "restore", "restart", "migration")


@dataclass(frozen=True)
class Scenario:
    """Times to save, restore, restart and migrate.

    Attributes
    ----------
    save, restore, restart, migration : ndarray
        C, R, D (0 by default) and M (required); any durations, stored in hours.
    name : str
        Name of the scenario.

    Examples
    --------
    >>> Scenario("2min", "2min", "1min", "30s").migration.round(5).tolist()
    0.00833
    """

    save: Any
    restore: Any
    restart: Any = 0.0
    migration: Any = None
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
    """Fewest m for which the probability that more than m of the N nodes (spares included) are migrating or down, each
    with probability ``v = (M + D)/(mu + M + D)`` at any time, is at most `risk`.
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
    """Jobs that fill the machine: a share on one node, the others on 2, 4, ... equally likely (the paper's 4.1)."""
    total, one = int(whole("nodes", nodes)), float(share("share_sequential", share_sequential))
    most = int(np.log2(total)) if one < 1.0 else 0
    sizes = 2 ** np.arange(most + 1)
    parts = np.concatenate([[one], np.full(most, (1.0 - one) / most)]) if most else np.ones(1)
    return JobMix(sizes.astype(np.int64), parts * total / float((sizes * parts).sum()))


class Throughputs(Result):
    """Nodes of the machine (spares included), spares, and the nodes at work if every failure is predicted and jobs save
    in time or migrate, or none is and they save at their best interval: to first order as in the paper, and exactly.
    `nothing` is the share of the nodes whose jobs make no progress with periodic checkpoints, to first order. Arrays
    are cases.
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
        spares = int(np.ravel(self.spares)[0])
        parts = ", ".join(f"{name} {percent(value)}" for value, name in shown if spares or name != "migration")
        return f"Share of the nodes at work: {parts}; {count(spares, 'spare')}."


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


@dataclass(frozen=True)
class Predictor:
    """The quality of failure predictions.

    Attributes
    ----------
    recall : ndarray or None
        Share of the failures that are predicted; None if unknown, for `plan_migration` only.
    precision : ndarray or None
        Share of the alarms that are true, above zero; 1 by default; None as above.
    lead : ndarray or Distribution, optional
        Time from the alarm to the failure, hours or text, or its distribution. Alarms closer to the failure than a
        migration takes are useless. By default all come early enough.

    Raises
    ------
    ArgumentError
        For a share outside 0..1, a precision of 0, or a negative time.

    Examples
    --------
    >>> Predictor(0.8, 0.5, "30min").lead.tolist()
    0.5
    """

    recall: Any
    precision: Any = 1.0
    lead: Any = None

    def __post_init__(self) -> None:
        for name in ("recall", "precision"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else share(name, value, zero=name == "recall"))
        if self.lead is not None and not hasattr(self.lead, "log_sf"):
            object.__setattr__(self, "lead", durations("lead", self.lead, infinite=True))

    def in_time(self, migration: Durations) -> FloatArray:
        """Share of the predictions that come early enough to migrate."""
        needed = durations("migration", migration)
        if self.lead is None:
            return np.ones(needed.shape)
        if hasattr(self.lead, "log_sf"):
            return np.asarray(self.lead.sf(needed))
        return np.asarray(self.lead >= needed, dtype=np.float64)

    def rates(self, mtbf: FloatArray, migration: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Failures not avoided, failures avoided, and false alarms, each per hour."""
        used = self.recall * self.in_time(migration)
        false = self.recall * (1.0 - self.precision) / self.precision
        return (1.0 - used) / mtbf, used / mtbf, false / mtbf


def predicted_waste(
    mtbf: Durations,
    interval: Durations,
    save: Durations,
    restore: Durations,
    restart: Durations,
    migration: Durations,
    predictor: Predictor,
) -> FloatArray:
    """Long-run waste if a job migrates on every alarm and saves at a fixed interval; arrays are cases.

    `mtbf` counts all failures of the job, predicted or not; `interval` is work, infinite for no saves. Failures that
    are not avoided occur in work, saves, restores and migrations; alarms during a migration change nothing. On a clock
    that stops during migrations, an interval ends at the rate ``k = u + a (1 - exp(-u M))``, with u the rate of
    failures not avoided and a that of alarms; an hour on that clock takes ``1 + a (1 - exp(-u M))/u``. With both in the
    formula for checkpoints the result is exact.
    """
    work = durations("interval", interval, infinite=True)
    mu, c, r, d, m, w = _cases((mtbf, save, restore, restart, migration), predictor, interval=work)
    kill, pace = _clock(mu, m, predictor)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        cost = (pace / kill + d) * np.exp(kill * r)
        time = cost * np.expm1(kill * (w + c)) / w
        time = np.where(kill > 0.0, time, pace * (1.0 + c / w))
        time = np.where(np.isinf(w), np.where(kill > 0.0, np.inf, pace), time)
        time = np.where((w == 0.0) & (c == 0.0), np.where(kill > 0.0, cost * kill, pace), time)
        return np.asarray(1.0 - 1.0 / np.where(np.isnan(time), np.inf, time))


def best_predicted_interval(
    mtbf: Durations, save: Durations, restore: Durations, restart: Durations, migration: Durations, predictor: Predictor
) -> FloatArray:
    """Interval with the least `predicted_waste`, hours of work; infinite if every failure is avoided."""
    mu, c, _, _, m = _cases((mtbf, save, restore, restart, migration), predictor)
    kill, _ = _clock(mu, m, predictor)
    with np.errstate(divide="ignore"):
        gap = 1.0 / kill
    return mu_times_root(gap, c, gap, True)


def break_even_recall(
    mtbf: Durations,
    save: Durations,
    restore: Durations,
    restart: Durations,
    migration: Durations,
    precision: npt.ArrayLike = 1.0,
    lead: Durations | Distribution | None = None,
    working_share: npt.ArrayLike = 1.0,
) -> FloatArray:
    """Least recall at which migration with checkpoints yields more than checkpoints alone, which use all nodes; 0 if
    any recall pays, NaN if none does. `working_share` is the share of the nodes that are not spares.
    """
    worker, alarms = share("working_share", working_share, zero=False), Predictor(1.0, precision, lead)
    times, shares = (mtbf, save, restore, restart, migration), {"working_share": worker, "precision": alarms.precision}
    mu, c, r, d, m, worker, p = _cases(times, alarms, **shares)
    alone = 1.0 - best_waste(mu, c, r, d)

    def gain(recall: FloatArray) -> FloatArray:
        some = Predictor(recall, p, lead)
        best = best_predicted_interval(mu, c, r, d, m, some)
        return np.asarray(worker * (1.0 - predicted_waste(mu, best, c, r, d, m, some)) - alone)

    grid = np.linspace(0.0, 1.0, 101)
    pays = np.stack([gain(np.full(mu.shape, x)) for x in grid]) > 1e-15
    first = pays.argmax(axis=0)
    low, high = grid[np.maximum(first - 1, 0)], grid[first]
    for _ in range(40):
        middle = 0.5 * (low + high)
        good = gain(middle) > 0.0
        low, high = np.where(good, low, middle), np.where(good, middle, high)
    # a gain from the first step, and no spares to pay for: any recall pays
    return np.asarray(np.where(pays.any(axis=0), np.where(high < 1e-9, 0.0, high), np.nan))


def _cases(times: Sequence[Durations], predictor: Predictor, **more: FloatArray) -> tuple[FloatArray, ...]:
    """`_TIMES` and `more`, checked and broadcast with each other and with the predictor's shares."""
    hours = {name: durations(name, value, zero=name != "mtbf") for name, value in zip(_TIMES, times, strict=True)}
    return cases(**hours, **more, recall=predictor.recall, predictor_precision=predictor.precision)[:-2]


def _clock(mu: FloatArray, m: FloatArray, predictor: Predictor) -> tuple[FloatArray, FloatArray]:
    """Rate at which intervals end on the clock that stops for migrations, and real hours per hour on it."""
    strike, avoided, false = predictor.rates(mu, m)
    heeded = avoided + false
    struck = -np.expm1(-strike * m)
    with np.errstate(divide="ignore", invalid="ignore"):
        moving = np.where(strike > 0.0, struck / strike, m)
    return np.asarray(strike + heeded * struck), np.asarray(1.0 + heeded * moving)
