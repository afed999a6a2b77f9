"""The base of generators of jobs: `sample`, and clocks on which they are submitted."""

from __future__ import annotations

from typing import Any

import numpy as np

from relfit.base.arguments import whole
from relfit.base.arrays import FloatArray, IntArray, Seed
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
        return self._drawn(int(whole("n_jobs", n_jobs)), np.random.default_rng(rng))

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
    """Seconds until each number of points has passed, at these rates in the slots (seconds) of a cycle.

    Examples
    --------
    >>> on_the_clock(np.array([1.0, 5.0]), np.array([1.0, 3.0]), 60.0).tolist()
    [60.0, 180.0]
    """
    passed = np.concatenate([[0.0], np.cumsum(rates)])
    cycles, rest = np.divmod(points, passed[-1])
    return slot * (cycles * rates.size + np.interp(rest, passed, np.arange(rates.size + 1.0)))
