"""Replication: every process of a job runs r times, and a failure stops the job only when all copies of one are gone.

The copies cost r nodes for one process, and pay where a job is so large that checkpoints alone leave little. Failed
copies are restarted at every save. Failures are exponential. Mean number of failures to interruption: Casanova, Robert,
Vivien and Zaidouni (2016), ACM Transactions on Parallel Computing 3, 11; restart at saves: Benoit, Herault, Le Fevre
and Robert (2019), SC '19.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.arguments import cases, durations, positive, share, whole
from relfit.arrays import FloatArray
from relfit.families.distribution import log_one_minus_exp
from relfit.numeric.grid_search import highest
from relfit.numeric.quadrature import gauss_legendre
from relfit.planning.checkpointing.exponential_failures import best_waste, costs_of

__all__ = [
    "best_restart_interval",
    "break_even_nodes",
    "failures_to_interruption",
    "replicated_yield",
    "restart_at_saves_waste",
]

_MOST_NODES = 2**50
_NODES, _WEIGHTS = gauss_legendre(16)


def failures_to_interruption(processes: Any, replicas: Any = 2) -> FloatArray:
    """Mean number of failures of running nodes until some process has lost all its copies, none being restarted before.

    ``n B(1/r, n)``, for large n ``Gamma(1/r) n**(1 - 1/r)``; for two copies, ``sqrt(pi n)``.

    Parameters
    ----------
    processes, replicas : array_like of int

    Examples
    --------
    >>> failures_to_interruption([1, 100, 100_000]).round(2).tolist()
    [2.0, 17.75, 560.5]
    """
    n, r = cases(
        processes=whole("processes", processes).astype(np.float64),
        replicas=whole("replicas", replicas).astype(np.float64),
    )
    return np.asarray(np.exp(np.log(n) + special.betaln(1.0 / r, n)))


def restart_at_saves_waste(
    mtbf: Any,
    processes: Any,
    interval: Any,
    save: Any,
    restore: Any = 0.0,
    restart: Any = 0.0,
    replicas: Any = 2,
    wide_rate: Any = 0.0,
) -> FloatArray:
    """Long-run waste when failed copies are restarted at every save; exact; arrays are cases.

    Every period starts with all copies. The factor of the nodes that copies take is not in it. To first order the best
    interval for pairs is ``(3 C mu**2 / (4 n))**(1/3)``.

    Parameters
    ----------
    mtbf, interval, save, restore, restart : array_like of durations
        `mtbf` of a node; the save includes the restart of copies.
    processes, replicas : array_like of int
    wide_rate : array_like of float
        Failures per hour that stop the job whatever copies there are.

    Examples
    --------
    >>> restart_at_saves_waste(43_800, 100_000, [2, 8, 32], "1min", "1min").round(4).tolist()
    [0.0084, 0.0043, 0.0356]
    """
    known = _cases(mtbf, processes, save, restore, restart, replicas, wide_rate)
    w, *rest = cases(interval=durations("interval", interval, zero=False), **known)
    return 1.0 - _restart_progress(w, *rest)


def best_restart_interval(
    mtbf: Any,
    processes: Any,
    save: Any,
    restore: Any = 0.0,
    restart: Any = 0.0,
    replicas: Any = 2,
    wide_rate: Any = 0.0,
) -> FloatArray:
    """Interval with the least `restart_at_saves_waste`, hours; arrays are cases.

    Examples
    --------
    >>> best_restart_interval(43_800, 100_000, "1min", "1min").round(2).tolist()
    6.2
    """
    known = _cases(mtbf, processes, durations("save", save, zero=False), restore, restart, replicas, wide_rate)
    rest = [x[..., None] for x in cases(**known)]
    mu, n, c, _, _, k, wide = rest
    # to first order: what fails of a period w is n (w/mu)**r, and costs r/(r + 1) of it
    guess = np.log(c * mu**k / n) / (k + 1.0)
    guess = np.minimum(guess, np.log(mu) - np.log(n) / k)  # where jobs seldom get so far
    with np.errstate(divide="ignore"):
        guess = np.minimum(guess, 0.5 * np.log(2.0 * c / wide))
    guess = guess[..., 0]
    return np.exp(highest(lambda log: _restart_progress(np.exp(log), *rest), guess - 3.5, guess + 2.5, rounds=5)[0])


def replicated_yield(
    mtbf: Any,
    nodes: Any,
    save: Any,
    restore: Any = 0.0,
    restart: Any = 0.0,
    *,
    replicas: int = 2,
    overhead: Any = 0.0,
    wide_rate: Any = 0.0,
) -> FloatArray:
    """Useful share of N nodes at the best interval: the share of the copies, times the time kept; arrays are cases.

    Parameters
    ----------
    mtbf, save, restore, restart : array_like of durations
        `mtbf` of a node.
    nodes : array_like of int
        N; the job has ``N // replicas`` processes. With one replica, checkpoints alone.
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
    copies = int(whole("replicas", replicas))
    known = _cases(mtbf, whole("nodes", nodes, copies), save, restore, restart, copies, wide_rate)
    slow, mu, n, c, r, d, _, wide = cases(overhead=share("overhead", overhead), **known)
    processes = np.floor(n / copies)
    if copies == 1:
        return np.asarray(1.0 - best_waste(1.0 / (n / mu + wide), c, r, d))
    best = best_restart_interval(mu, processes, c, r, d, copies, wide)
    kept = 1.0 - restart_at_saves_waste(mu, processes, best, c, r, d, copies, wide)
    return np.asarray(kept * (1.0 - slow) * processes / n)


def break_even_nodes(
    mtbf: Any,
    save: Any,
    restore: Any = 0.0,
    restart: Any = 0.0,
    *,
    replicas: int = 2,
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
    mu, _, c, r, d, _, wide = cases(**_cases(mtbf, 1, save, restore, restart, copies, wide_rate))
    how: dict[str, Any] = {"replicas": copies, "overhead": overhead, "wide_rate": wide}

    def better(processes: FloatArray) -> npt.NDArray[np.bool_]:
        nodes = processes * copies
        alone = replicated_yield(mu, nodes, c, r, d, replicas=1, wide_rate=wide)
        return np.asarray(replicated_yield(mu, nodes, c, r, d, **how) > alone)

    high = np.full(mu.shape, np.inf)
    for power in 2.0 ** np.arange(int(np.log2(_MOST_NODES / copies))):  # yields of single copies fall the faster
        if not np.isinf(high).any():
            break
        high = np.where(np.isinf(high) & better(np.full(mu.shape, power)), power, high)
    found = np.isfinite(high)
    top = np.where(found, high, 2.0)
    low = np.where(top > 1.0, top / 2.0, 0.0)
    while np.any(top - low > 1.0):
        middle = np.floor(0.5 * (low + top))
        wins, open_ = better(np.maximum(middle, 1.0)), top - low > 1.0
        low, top = np.where(open_ & ~wins, middle, low), np.where(open_ & wins, middle, top)
    return np.asarray(np.where(found, top * copies, np.inf))


# ---------------------------------------------------------------------- details


def _cases(
    mtbf: Any, processes: Any, save: Any, restore: Any, restart: Any, replicas: Any, wide_rate: Any
) -> dict[str, FloatArray]:
    """The arguments by name, checked, in the order of the engine below."""
    cost = costs_of(save, restore, restart)
    return {
        "mtbf": durations("mtbf", mtbf, zero=False),
        "processes": whole("processes", processes).astype(np.float64),
        "save": cost.save,
        "restore": cost.restore,
        "restart": cost.restart,
        "replicas": whole("replicas", replicas).astype(np.float64),
        "wide_rate": positive("wide_rate", wide_rate, zero=True),
    }


def _log_sf(x: FloatArray, n: FloatArray, k: FloatArray) -> FloatArray:
    """Log of the probability that none of n processes has lost all k copies, x in mean times to failure."""
    with np.errstate(divide="ignore", under="ignore"):
        return np.asarray(n * log_one_minus_exp(k * log_one_minus_exp(-x)))


def _restart_progress(
    w: FloatArray, mu: FloatArray, n: FloatArray, c: FloatArray, r: FloatArray, d: FloatArray, k: FloatArray,
    wide: FloatArray,
) -> FloatArray:  # fmt: skip
    """Kept work per hour: a period from new copies, and after an interruption a restore with the period."""
    w, mu, n, c, r, d, k, wide = np.broadcast_arrays(w, mu, n, c, r, d, k, wide)

    def area(end: FloatArray) -> FloatArray:
        # survival falls within a width of about mu n**(-1/k): panels up to there and beyond
        width = 1.0 / (n ** (1.0 / k) / mu + wide)
        edges = [np.zeros_like(end), *(np.minimum(end, many * width) for many in (1.0, 4.0, 40.0)), end]
        total = np.zeros(end.shape)
        for low, high in pairwise(edges):
            half = 0.5 * (high - low)
            x = (low + half)[..., None] + half[..., None] * _NODES
            log_sf = _log_sf(x / mu[..., None], n[..., None], k[..., None]) - wide[..., None] * x
            total = total + half * (np.exp(log_sf) * _WEIGHTS).sum(axis=-1)
        return total

    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        once, again = w + c, r + w + c
        log_once = _log_sf(once / mu, n, k) - wide * once
        log_again = _log_sf(again / mu, n, k) - wide * again
        retry = (area(again) - np.expm1(log_again) * d) / np.exp(log_again)
        found = w / (area(once) - np.expm1(log_once) * (d + retry))
    return np.where(np.isfinite(found), found, 0.0)
