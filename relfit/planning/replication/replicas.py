"""Replication: every process of a job runs on r nodes, and the job stops only when all copies of a process have failed.

Copies pay for jobs so large that checkpoints alone leave little useful work. Failed copies are restarted at every save.
Failures are exponential. Mean number of failures to interruption: Casanova, Robert, Vivien and Zaidouni (2016), ACM
Transactions on Parallel Computing 3, 11; restart at saves: Benoit, Herault, Le Fevre and Robert (2019), SC '19.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arguments import cases, durations, positive, share, whole
from relfit.base.arrays import Durations, FloatArray
from relfit.base.numeric.grid_search import highest
from relfit.base.numeric.quadrature import gauss_legendre
from relfit.fitting.families.distribution import log_one_minus_exp
from relfit.system.jobs.checkpoint import best_waste

_MOST_NODES = 2**50
_NODES, _WEIGHTS = gauss_legendre(16)


def failures_to_interruption(processes: npt.ArrayLike, replicas: npt.ArrayLike = 2) -> FloatArray:
    """Mean number of node failures until one of n processes has lost all its r copies, if no copy is restarted.

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
        """Nodes, a multiple of `replicas`, from which copies yield more than checkpoints alone; infinite if never.

        Searched up to 2**50 nodes.
        """
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
        some = {name: value[::step] for name, value in vars(self).items() if name != "replicas"}
        return replace(self, **some)

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
