"""Replication: every process of a job runs r times, and a failure stops the job only when all copies of one are gone.

The copies cost r nodes for one process, and pay where a job is so large that checkpoints alone leave little. Failed
copies are restarted when the job is interrupted, or at every save. Mean number of failures to interruption: Casanova,
Robert, Vivien and Zaidouni (2016), ACM Transactions on Parallel Computing 3, 11; restart at saves: Benoit, Herault,
Le Fevre and Robert (2019), SC '19.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.arguments import FloatArray, cases, durations, positive, share, whole
from relfit.errors import ArgumentError
from relfit.families.distribution import log_one_minus_exp
from relfit.jobs import Checkpoint, TimeToFailure
from relfit.numeric.batches import over_groups
from relfit.planning.checkpointing.exponential_failures import best_waste, costs_of
from relfit.planning.checkpointing.renewal_failures import LEAST_PROGRESS, BestFixed, best_fixed_interval
from relfit.planning.migration.prediction_kernels import share_of_time
from relfit.planning.replication.replication_kernels import replicated_runs

__all__ = [
    "best_restart_interval",
    "break_even_nodes",
    "failures_to_interruption",
    "mean_time_to_interruption",
    "replicated",
    "replicated_yield",
    "restart_at_saves_waste",
    "simulate_replication",
]

_TABLE = 6000
_MOST_NODES = 2**50


def failures_to_interruption(
    processes: Any, replicas: Any = 2, *, counted: str = "live", asymptotic: bool = False
) -> FloatArray:
    """Mean number of failures until some process has lost all its copies, none being restarted before.

    Exponential failures. ``n B(1/r, n)`` for failures of running nodes; counting also those that would hit nodes
    already down (as a steady stream of failures does), ``sum_j n B(j/r, n)`` over j = 1..r, which for two copies is
    ``1 + 4**n / binomial(2 n, n)``. Both go as ``Gamma(1/r) n**(1 - 1/r)``; for two copies, ``sqrt(pi n)``.

    Parameters
    ----------
    processes, replicas : array_like of int
    counted : {"live", "all"}
    asymptotic : bool
        The power law for large n.

    Examples
    --------
    >>> failures_to_interruption([1, 100, 100_000]).round(2).tolist()
    [2.0, 17.75, 560.5]
    >>> failures_to_interruption(1, counted="all").tolist()
    3.0
    """
    if counted not in ("live", "all"):
        raise ArgumentError(f"counted={counted!r} is not known", remedy="use 'live' or 'all'")
    n, r = cases(
        processes=whole("processes", processes).astype(np.float64),
        replicas=whole("replicas", replicas).astype(np.float64),
    )
    if asymptotic:
        return np.asarray(np.exp(special.gammaln(1.0 / r) + (1.0 - 1.0 / r) * np.log(n)))
    found = _term(n, 1.0 / r)
    if counted == "all":
        for j in range(2, int(r.max()) + 1):
            found = found + np.where(j <= r, _term(n, np.minimum(j / r, 1.0)), 0.0)
    return np.asarray(found)


def mean_time_to_interruption(mtbf: Any, processes: Any, replicas: Any = 2, *, asymptotic: bool = False) -> FloatArray:
    """Mean hours until all copies of some process have failed, for nodes with exponential failures.

    Examples
    --------
    Ten thousand nodes with a mean of five years each, alone and in pairs:

    >>> mean_time_to_interruption("1825 days", [10_000, 5_000], [1, 2]).round(2).tolist()
    [4.38, 553.35]
    """
    mu = durations("mtbf", mtbf, zero=False)
    n, r = whole("processes", processes), whole("replicas", replicas)
    mean = failures_to_interruption(n, r, counted="all", asymptotic=asymptotic)
    return np.asarray(mu * mean / (n.astype(np.float64) * r))


def replicated(
    source: Any, processes: int, replicas: int = 2, ages: Any = 0.0, wide_rate: float = 0.0
) -> TimeToFailure:
    """The stretch to the interruption of a job whose failed copies are not restarted before it.

    Any planner that takes a source takes it: intervals, schedules, times of jobs.

    Parameters
    ----------
    source : Distribution, or a mean time in hours
        Of one node.
    processes, replicas : int
    ages : array_like of durations
        Of the nodes: one age, or an array of shape (processes, replicas). The family may have that batch shape too.
    wide_rate : float
        Failures per hour that stop the job whatever copies there are.

    Examples
    --------
    >>> pairs = replicated(1000.0, 50)
    >>> round(pairs.mean(), 2), round(float(mean_time_to_interruption(1000.0, 50)), 2)
    (135.65, 135.65)
    """
    n, r = int(whole("processes", processes)), int(whole("replicas", replicas))
    if not hasattr(source, "log_sf"):
        from relfit.families import Exponential

        source = Exponential(np.asarray(1.0 / float(durations("mtbf", source, zero=False))))
    past = durations("ages", ages)
    shape = np.broadcast_shapes(source.batch_shape, past.shape)
    wide = float(positive("wide_rate", wide_rate, zero=True))
    if shape == ():
        return _with_wide(_alike(source, n, r, float(past)), wide)
    if shape != (n, r):
        raise ArgumentError(f"nodes of shape {shape} for {n} processes of {r} copies", remedy=f"shape ({n}, {r})")
    return _with_wide(_different(source, np.broadcast_to(past, shape), n, r), wide)


def restart_at_saves_waste(
    mtbf: Any,
    processes: Any,
    interval: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    replicas: Any = 2,
    wide_rate: Any = 0.0,
) -> FloatArray:
    """Long-run waste when failed copies are restarted at every save; exact for exponential failures; arrays are cases.

    Every period starts with all copies. The factor of the nodes that copies take is not in it. To first order the best
    interval for pairs is ``(3 C mu**2 / (4 n))**(1/3)``.

    Parameters
    ----------
    mtbf, interval, save, restore, downtime : array_like of durations
        `mtbf` of a node; the save includes the restart of copies.
    processes, replicas : array_like of int
    wide_rate : array_like of float
        Failures per hour that stop the job whatever copies there are.

    Examples
    --------
    >>> restart_at_saves_waste(43_800, 100_000, [2, 8, 32], "1min", "1min").round(4).tolist()
    [0.0084, 0.0043, 0.0356]
    """
    cost = costs_of(save, restore, downtime)
    mu, n, w, c, r, d, k, wide = cases(
        mtbf=durations("mtbf", mtbf, zero=False), processes=whole("processes", processes).astype(np.float64),
        interval=durations("interval", interval, zero=False), save=cost.save, restore=cost.restore,
        downtime=cost.restart, replicas=whole("replicas", replicas).astype(np.float64),
        wide_rate=positive("wide_rate", wide_rate, zero=True),
    )  # fmt: skip
    return 1.0 - _restart_progress(mu, n, w, c, r, d, k, wide)


def best_restart_interval(
    mtbf: Any,
    processes: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    replicas: Any = 2,
    wide_rate: Any = 0.0,
) -> FloatArray:
    """Interval with the least `restart_at_saves_waste`, hours; arrays are cases.

    Examples
    --------
    >>> best_restart_interval(43_800, 100_000, "1min", "1min").round(2).tolist()
    6.2
    """
    cost = costs_of(durations("save", save, zero=False), restore, downtime)
    mu, n, c, r, d, k, wide = cases(
        mtbf=durations("mtbf", mtbf, zero=False), processes=whole("processes", processes).astype(np.float64),
        save=cost.save, restore=cost.restore, downtime=cost.restart,
        replicas=whole("replicas", replicas).astype(np.float64),
        wide_rate=positive("wide_rate", wide_rate, zero=True),
    )  # fmt: skip
    mu, n, c, r, d, k, wide = (x[..., None] for x in (mu, n, c, r, d, k, wide))
    # to first order: what fails of a period w is n (w/mu)**r, and costs r/(r + 1) of it
    guess = np.log(c * mu**k / n) / (k + 1.0)
    guess = np.minimum(guess, np.log(mu) - np.log(n) / k)  # where jobs seldom get so far
    with np.errstate(divide="ignore"):
        guess = np.minimum(guess, 0.5 * np.log(2.0 * c / wide))
    low, high = guess - 3.5, guess + 2.5
    steps = np.linspace(0.0, 1.0, 13)
    where = guess
    for _ in range(7):
        grid = low + (high - low) * steps
        best = _restart_progress(mu, n, np.exp(grid), c, r, d, k, wide).argmax(axis=-1)[..., None]
        where = np.take_along_axis(grid, best, axis=-1)
        low = np.take_along_axis(grid, np.maximum(best - 1, 0), axis=-1)
        high = np.take_along_axis(grid, np.minimum(best + 1, 12), axis=-1)
    return np.asarray(np.exp(where[..., 0]))


def replicated_yield(
    mtbf: Any,
    nodes: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    replicas: int = 2,
    restart: str = "saves",
    overhead: Any = 0.0,
    wide_rate: Any = 0.0,
) -> FloatArray:
    """Useful share of N nodes at the best interval: the share of the copies, times the time kept; arrays are cases.

    Parameters
    ----------
    mtbf, save, restore, downtime : array_like of durations
        `mtbf` of a node.
    nodes : array_like of int
        N; the job has ``N // replicas`` processes. With one replica, checkpoints alone.
    restart : {"saves", "interruption"}
        When failed copies are restarted.
    overhead : array_like of float
        Share of speed that copies lose to keep in step.
    wide_rate : array_like of float
        Failures per hour that stop the job whatever copies there are.

    Examples
    --------
    >>> replicated_yield(43_800, [10_000, 1_000_000], "10min", "10min", replicas=1).round(3).tolist()
    [0.721, 0.0]
    >>> replicated_yield(43_800, [10_000, 1_000_000], "10min", "10min").round(3).tolist()
    [0.497, 0.484]
    """
    if restart not in ("saves", "interruption"):
        raise ArgumentError(f"restart={restart!r} is not known", remedy="use 'saves' or 'interruption'")
    copies = int(whole("replicas", replicas))
    cost = costs_of(save, restore, downtime)
    mu, n, c, r, d, slow, wide = cases(
        mtbf=durations("mtbf", mtbf, zero=False), nodes=whole("nodes", nodes, copies).astype(np.float64),
        save=cost.save, restore=cost.restore, downtime=cost.restart, overhead=share("overhead", overhead),
        wide_rate=positive("wide_rate", wide_rate, zero=True),
    )  # fmt: skip
    processes = np.floor(n / copies)
    if copies == 1:
        return np.asarray(1.0 - best_waste(1.0 / (n / mu + wide), c, r, d))
    if restart == "saves":
        best = best_restart_interval(mu, processes, c, r, d, copies, wide)
        kept = 1.0 - restart_at_saves_waste(mu, processes, best, c, r, d, copies, wide)
    else:
        flat = zip(*(x.ravel().tolist() for x in (mu, processes, c, r, d, wide)), strict=True)
        kept = np.array([1.0 - _renewed(m, int(p), copies, *costs).waste for m, p, *costs in flat]).reshape(n.shape)
    return np.asarray(kept * (1.0 - slow) * processes / n)


def break_even_nodes(
    mtbf: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    replicas: int = 2,
    restart: str = "saves",
    overhead: float = 0.0,
    wide_rate: Any = 0.0,
) -> FloatArray:
    """Nodes from which on replication yields more than checkpoints alone; arrays are cases.

    Returns
    -------
    ndarray
        Multiples of `replicas`; infinite where there is none up to 2**50.

    Examples
    --------
    >>> break_even_nodes(43_800, ["1min", "10min"], ["1min", "10min"]).tolist()
    [350194.0, 35472.0]
    """
    copies = int(whole("replicas", replicas, 2))
    cost = costs_of(save, restore, downtime)
    mu, c, r, d, wide = cases(
        mtbf=durations("mtbf", mtbf, zero=False), save=cost.save, restore=cost.restore, downtime=cost.restart,
        wide_rate=positive("wide_rate", wide_rate, zero=True),
    )  # fmt: skip

    def better(processes: FloatArray) -> npt.NDArray[np.bool_]:
        nodes = processes * copies
        own = replicated_yield(
            mu, nodes, c, r, d, replicas=copies, restart=restart, overhead=overhead, wide_rate=wide
        )  # fmt: skip
        return np.asarray(own > replicated_yield(mu, nodes, c, r, d, replicas=1, wide_rate=wide))

    powers = 2.0 ** np.arange(0, int(np.log2(_MOST_NODES / copies)))
    high = np.full(mu.shape, np.inf)
    for power in powers:  # by doubling: yields of single copies fall faster the larger the job
        open_ = np.isinf(high)
        if not open_.any():
            break
        wins = better(np.full(mu.shape, power))
        high = np.where(open_ & wins, power, high)
    found = np.isfinite(high)
    top = np.where(found, high, 2.0)
    low = np.where(top > 1.0, top / 2.0, 0.0)
    while np.any(top - low > 1.0):
        middle = np.floor(0.5 * (low + top))
        wins = better(np.maximum(middle, 1.0))
        open_ = top - low > 1.0
        low, top = np.where(open_ & ~wins, middle, low), np.where(open_ & wins, middle, top)
    return np.asarray(np.where(found, top * copies, np.inf))


def simulate_replication(
    source: Any,
    processes: int,
    interval: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    replicas: int = 2,
    restart: str = "saves",
    periods: int = 2000,
    runs: int = 50,
    level: float = 0.95,
    rng: int | np.random.Generator | None = None,
    workers: int | None = None,
) -> tuple[float, float, float]:
    """Waste of replicated jobs followed period by period, with limits; nodes of any family, each of its own age.

    Copies that survive an interruption or a save go on ageing; lives are drawn from a table of the family's quantiles.

    Parameters
    ----------
    source : Distribution, or a mean time in hours
        Of one node.
    restart : {"saves", "interruption"}
    periods, runs : int
        Saves tried in a run, and independent runs; each begins with new nodes.

    Returns
    -------
    waste, low, high : float
        Without the factor of the nodes that copies take.

    Examples
    --------
    >>> waste, low, high = simulate_replication(1000.0, 50, 20, "1h", "1h", rng=1)
    >>> low < float(restart_at_saves_waste(1000.0, 50, 20, "1h", "1h")) < high
    True
    """
    if restart not in ("saves", "interruption"):
        raise ArgumentError(f"restart={restart!r} is not known", remedy="use 'saves' or 'interruption'")
    if not hasattr(source, "log_sf"):
        from relfit.families import Exponential

        source = Exponential(np.asarray(1.0 / float(durations("mtbf", source, zero=False))))
    if source.batch_shape != ():
        raise ArgumentError("one family for all nodes, please")
    cost = costs_of(save, restore, downtime)
    w = float(durations("interval", interval, zero=False))
    n, r = int(whole("processes", processes)), int(whole("replicas", replicas))
    count, most = int(whole("runs", runs, 2)), int(whole("periods", periods))
    log_hazard = np.linspace(-60.0, 4.0, _TABLE)
    times = np.asarray(source.inverse_cumulative_hazard(np.exp(log_hazard)), dtype=np.float64)
    with np.errstate(divide="ignore"):
        log_time = np.maximum(np.log(times), -700.0)
    positive("times", times, zero=True)
    seeds = np.random.default_rng(rng).integers(0, 2**31 - 1, count)
    kept, time = np.empty(count), np.empty(count)
    costs = np.array([float(cost.save), float(cost.restore), float(cost.restart)])

    def follow(first: int, last: int) -> None:
        replicated_runs(log_hazard, log_time, n, r, w, costs, restart == "saves", most, seeds, kept, time, first, last)

    over_groups(np.arange(count + 1) * most * n * r, follow, workers)
    return share_of_time(kept, time, level)


# ---------------------------------------------------------------------- details


def _term(n: FloatArray, part: FloatArray) -> FloatArray:
    return np.asarray(np.exp(np.log(n) + special.betaln(part, n)))


def _renewed(mtbf: float, processes: int, replicas: int, c: float, r: float, d: float, wide: float) -> BestFixed:
    stretch = replicated(mtbf, processes, replicas, wide_rate=wide)
    found = best_fixed_interval(stretch, Checkpoint(save=c, restore=r), d)
    return found if found.waste < 1.0 - LEAST_PROGRESS else BestFixed(found.every, 1.0, "no_progress")


def _log_sf_alike(x: FloatArray, n: FloatArray, k: FloatArray) -> FloatArray:
    """Log of the probability that none of n processes has lost all k copies, x in mean lives."""
    with np.errstate(divide="ignore", under="ignore"):
        return np.asarray(n * log_one_minus_exp(k * log_one_minus_exp(-x)))


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def _restart_progress(
    mu: FloatArray, n: FloatArray, w: FloatArray, c: FloatArray, r: FloatArray, d: FloatArray, k: FloatArray,
    wide: FloatArray,
) -> FloatArray:  # fmt: skip
    """Kept work for an hour: a period from new copies, and after an interruption a restore with the period."""

    def area(end: FloatArray) -> FloatArray:
        # survival falls within a width of about mu n**(-1/k): panels up to there and beyond
        width = 1.0 / (n ** (1.0 / k) / mu + wide)
        first = np.minimum(end, width)
        second = np.minimum(end, 4.0 * width)
        third = np.minimum(end, 40.0 * width)
        total = np.zeros(np.broadcast_shapes(end.shape, mu.shape))
        for low, high in ((np.zeros_like(first), first), (first, second), (second, third), (third, end)):
            half = 0.5 * (high - low)
            x = (low + half)[..., None] + half[..., None] * _NODES
            log_sf = _log_sf_alike(x / mu[..., None], n[..., None], k[..., None]) - wide[..., None] * x
            sf = np.exp(log_sf)
            total = total + half * (sf * _WEIGHTS).sum(axis=-1)
        return total

    mu, n, w, c, r, d, k, wide = np.broadcast_arrays(mu, n, w, c, r, d, k, wide)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        once, again = w + c, r + w + c
        log_once = _log_sf_alike(once / mu, n, k) - wide * once
        log_again = _log_sf_alike(again / mu, n, k) - wide * again
        retry = (area(again) - np.expm1(log_again) * d) / np.exp(log_again)
        mean = area(once) - np.expm1(log_once) * (d + retry)
        found = w / mean
    return np.where(np.isfinite(found), found, 0.0)


def _with_wide(stretch: TimeToFailure, rate: float) -> TimeToFailure:
    """The stretch, or the first failure of everything at once, whatever comes first."""
    if rate == 0.0:
        return stretch

    def draw(size: int, rng: np.random.Generator) -> FloatArray:
        return np.minimum(stretch.draw(size, rng), rng.exponential(1.0 / rate, size))

    return TimeToFailure(
        lambda x: stretch.log_sf(x) - rate * np.asarray(x),
        lambda x: stretch.hazard(x) + rate,
        draw,
        stretch.nodes,
        np.nan,
    )


def _alike(family: Any, n: int, r: int, age: float) -> TimeToFailure:
    before = family.log_sf(age)

    def log_copy(x: FloatArray) -> FloatArray:
        """Log of the probability that a copy has failed by x."""
        return log_one_minus_exp(np.minimum(family.log_sf(age + x) - before, 0.0).reshape(x.shape))

    def log_sf(time: FloatArray) -> FloatArray:
        x = np.asarray(time, dtype=np.float64)
        return np.asarray(n * log_one_minus_exp(r * log_copy(x)))

    def hazard(time: FloatArray) -> FloatArray:
        x = np.asarray(time, dtype=np.float64)
        log_f = (family.log_pdf(age + x) - before).reshape(x.shape)
        failed = log_copy(x)
        with np.errstate(invalid="ignore", under="ignore", over="ignore"):
            log_h = np.log(n * r) + (r - 1) * failed + log_f - log_one_minus_exp(r * failed)
            return np.asarray(np.exp(np.where(np.isnan(log_h), -np.inf, log_h)))

    def draw(size: int, rng: np.random.Generator) -> FloatArray:
        spent = rng.standard_exponential(size) / n
        copy = np.exp(log_one_minus_exp(-spent) / r)  # probability by which a copy has failed
        return np.asarray(family.inverse_cumulative_hazard(-np.log1p(-copy) - before) - age).reshape(size)

    return TimeToFailure(log_sf, hazard, draw, 1, np.nan)


def _different(family: Any, ages: FloatArray, n: int, r: int) -> TimeToFailure:
    before = family.log_sf(ages)

    def log_copies(x: FloatArray) -> FloatArray:
        return log_one_minus_exp(np.minimum(family.log_sf(ages + x[..., None, None]) - before, 0.0))

    def log_sf(time: FloatArray) -> FloatArray:
        x = np.asarray(time, dtype=np.float64)
        return np.asarray(log_one_minus_exp(log_copies(x).sum(axis=-1)).sum(axis=-1))

    def hazard(time: FloatArray) -> FloatArray:
        x = np.asarray(time, dtype=np.float64)
        failed = log_copies(x)
        whole_group = failed.sum(axis=-1, keepdims=True)
        with np.errstate(invalid="ignore", under="ignore", over="ignore"):
            log_f = family.log_pdf(ages + x[..., None, None]) - before
            terms = np.exp(whole_group - failed + log_f - log_one_minus_exp(whole_group))
        return np.asarray(np.where(np.isnan(terms), 0.0, terms).sum(axis=(-1, -2)))

    def draw(size: int, rng: np.random.Generator) -> FloatArray:
        return np.asarray(family.excess_sample(ages, size, rng).max(axis=-1).min(axis=-1))

    return TimeToFailure(log_sf, hazard, draw, n * r, np.nan)
