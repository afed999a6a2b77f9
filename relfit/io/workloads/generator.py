"""What generators of jobs share: `sample`, the clocks on which jobs are submitted, and the sizes that they draw.

The form of the sizes is that of Lublin and Feitelson: serial jobs, powers of two, a two-stage uniform logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relfit.base.arguments import random_stream, share, whole
from relfit.base.arrays import FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError
from relfit.io.workloads.workload import Workload
from relfit.log.tables import Source


class Generator:
    """A source of jobs, each drawn on its own."""

    def sample(self, n_jobs: int, rng: Seed = 0) -> Workload:
        """Draw jobs; the generator's class says what time 0 is.

        Parameters
        ----------
        n_jobs : int
        rng : int or numpy.random.Generator

        Returns
        -------
        Workload
        """
        return self._drawn(int(whole("n_jobs", n_jobs)), random_stream(rng))

    def _drawn(self, size: int, random: np.random.Generator) -> Workload:
        raise NotImplementedError


def numbered(
    submit: FloatArray,
    nodes: IntArray,
    run: FloatArray,
    requested: FloatArray | None,
    n_nodes: int | None,
    note: str,
    **others: Any,
) -> Workload:
    """Drawn jobs as a workload, numbered from 1; without walltimes where `requested` is None."""
    size = nodes.size
    source = Source(format="generated", rows_read=size, rows_kept=size, notes=(note,))
    limits = np.full(size, np.inf) if requested is None else requested
    return Workload(np.arange(1, size + 1), submit, nodes, run, limits, n_nodes, source=source, **others)


def on_the_clock(points: FloatArray, rates: FloatArray, slot: float) -> FloatArray:
    """Seconds until each number of points has passed, at these rates in the slots (seconds) of a cycle."""
    passed = np.concatenate([[0.0], np.cumsum(rates)])
    cycles, rest = np.divmod(points, passed[-1])
    return slot * (cycles * rates.size + np.interp(rest, passed, np.arange(rates.size + 1.0)))


@dataclass(frozen=True)
class JobSizes:
    """The distribution of the number of nodes of a job.

    Parameters
    ----------
    n_nodes : int
        Nodes of the machine; no job is wider.
    serial : float
        Share of the jobs that take one node.
    power_of_two : float
        Share of the jobs that take a power of two; ``serial + power_of_two`` is at most 1.
    low, middle, high : float
        The base-2 logarithm of the size is uniform from `low` to `middle`, or from `middle` to `high`.
    first_stage : float
        Probability of the first of these.

    Examples
    --------
    >>> sizes = JobSizes(8, serial=0.5, power_of_two=0.5, low=0.5, middle=1.5, high=3.5, first_stage=0.5)
    >>> sizes.probabilities.round(3).tolist()  # 1 to 8 nodes
    [0.5, 0.25, 0.0, 0.125, 0.0, 0.0, 0.0, 0.125]
    """

    n_nodes: int
    serial: float
    power_of_two: float
    low: float
    middle: float
    high: float
    first_stage: float

    def __post_init__(self) -> None:
        for name in ("serial", "power_of_two", "first_stage"):
            share(name, getattr(self, name))
        if self.serial + self.power_of_two > 1.0 + 1e-12:
            raise ArgumentError("serial and power_of_two add up to more than 1", remedy="they are shares of all jobs")
        if self.n_nodes < 1 or not 0.0 <= self.low <= self.middle <= self.high:
            raise ArgumentError(
                f"sizes of {self.low:g}, {self.middle:g}, {self.high:g} on {self.n_nodes} nodes",
                remedy="low, middle and high must rise from 0 on, and the machine must have nodes",
            )

    def sample(self, size: int, rng: np.random.Generator) -> IntArray:
        """Nodes of `size` jobs."""
        kind = rng.random(size)
        first = rng.random(size) <= self.first_stage
        low, high = np.where(first, self.low, self.middle), np.where(first, self.middle, self.high)
        logarithm = low + (high - low) * rng.random(size)
        power = np.minimum(np.floor(logarithm + 0.5), np.floor(np.log2(self.n_nodes)))
        rounded = np.where(kind <= self.serial + self.power_of_two, power, logarithm)
        nodes = np.minimum(np.floor(2.0**rounded + 0.5), self.n_nodes)
        return np.where(kind <= self.serial, 1, nodes).astype(np.int64)

    @property
    def probabilities(self) -> FloatArray:
        """Probability of each size, from 1 node to all."""
        sizes = np.arange(1, self.n_nodes + 1)
        upper = self._cdf(np.log2(sizes + 0.5).astype(np.float64))
        upper[-1] = 1.0
        other = np.diff(upper, prepend=0.0)
        powers = np.arange(int(np.log2(self.n_nodes)) + 1, dtype=np.int64)
        steps = self._cdf(powers.astype(np.float64) + 0.5)
        steps[-1] = 1.0
        result = (1.0 - self.serial - self.power_of_two) * other
        result[2**powers - 1] += self.power_of_two * np.diff(steps, prepend=0.0)
        result[0] += self.serial
        return result

    @property
    def mean(self) -> float:
        """Mean number of nodes."""
        return float(self.probabilities @ np.arange(1, self.n_nodes + 1))

    def _cdf(self, logarithm: FloatArray) -> FloatArray:
        def uniform(low: float, high: float) -> FloatArray:
            if high == low:
                return (logarithm >= low).astype(np.float64)
            return np.clip((logarithm - low) / (high - low), 0.0, 1.0)

        first, second = uniform(self.low, self.middle), uniform(self.middle, self.high)
        return self.first_stage * first + (1.0 - self.first_stage) * second
