"""The model of rigid jobs of Lublin and Feitelson, with its published parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from relfit.base.arguments import whole
from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.io.workloads.generator import Generator, JobSizes, numbered, on_the_clock
from relfit.io.workloads.workload import Workload

_BUCKETS = 48  # half hours of a day
_BUCKET = 1800.0
_DAY_BEGINS = 11  # bucket in which the daily cycle begins
_LONGEST = 12.0  # logarithm of the longest run time, in seconds
_LONGEST_GAP = 13.0


@dataclass(frozen=True)
class _Kind:
    """Published parameters of one kind of jobs; sizes as logarithms below that of the machine."""

    serial: float
    power_of_two: float
    low: float
    below_machine: float  # the widest job
    stage: float  # where the middle stage ends, below the widest job
    first_stage: float
    gammas: tuple[float, float, float, float]  # of the log run time: shape and scale of each gamma
    weight: tuple[float, float]  # of the first gamma: slope in the nodes, and intercept
    gap: tuple[float, float]  # gamma of the log time between submissions at the rush hour
    cycle: tuple[float, float]  # gamma of the bucket of the day
    ratio: float  # gamma shape over all hours, relative to the rush hour


_KINDS = {
    "all": _Kind(
        *(0.244, 0.576, 0.8, 0.0, 2.5, 0.86),
        *((4.2, 0.94, 312.0, 0.03), (-0.0054, 0.78), (10.2303, 0.4871), (8.1737, 3.9631)),
        1.0225,
    ),
    "batch": _Kind(
        *(0.2927, 0.6686, 1.2, 0.0, 2.0, 0.875),
        *((6.57, 0.823, 639.1, 0.0156), (-0.003, 0.6986), (6.0415, 0.8531), (6.1271, 5.2740)),
        1.0519,
    ),
    "interactive": _Kind(
        *(0.1541, 0.625, 1.0, 1.5, 2.5, 0.705),
        *((3.8351, 0.6605, 7.073, 0.6856), (-0.0118, 0.9156), (6.5510, 0.6621), (8.9186, 3.6680)),
        0.9797,
    ),
}


@dataclass(frozen=True)
class LublinFeitelson(Generator):
    """The workload model of Lublin and Feitelson; times in whole seconds, 0 is midnight, no walltimes.

    Parameters
    ----------
    n_nodes : int
        Nodes of the machine, 8 or more; with 128 the parameters are the published ones. Otherwise the widest job and
        the middle of the two stages of sizes follow the logarithm of the machine's size, as the authors say.
    kind : {"all", "batch", "interactive", "both"}
        Parameters of jobs of one kind, of all jobs as one kind, or batch and interactive jobs together:
        ``user`` is then 0 for interactive and 1 for batch jobs.

    References
    ----------
    U. Lublin and D. G. Feitelson, The workload on parallel supercomputers: modeling the characteristics of rigid jobs,
    J. Parallel Distrib. Comput. 63 (2003) 1105-1122; the program lublin99.c of the Parallel Workloads Archive.

    Examples
    --------
    >>> jobs = LublinFeitelson(128).sample(2000, rng=1)
    >>> bool(0.2 < (jobs.nodes == 1).mean() < 0.3), int(jobs.nodes.max()) <= 128
    (True, True)
    """

    n_nodes: int = 128
    kind: str = "all"

    def __post_init__(self) -> None:
        if self.kind not in (*_KINDS, "both"):
            raise ArgumentError(f"kind {self.kind!r} is not known", remedy=f"use one of {', '.join(_KINDS)}, both")
        whole("n_nodes", self.n_nodes, 8)

    def sizes(self, kind: str | None = None) -> JobSizes:
        """The distribution of sizes of one kind of jobs; by default of `kind`."""
        part = _KINDS[kind or self.kind]
        high = float(np.log2(self.n_nodes)) - part.below_machine
        middle = max(high - part.stage, part.low)
        return JobSizes(self.n_nodes, part.serial, part.power_of_two, part.low, middle, high, part.first_stage)

    def _drawn(self, size: int, random: np.random.Generator) -> Workload:
        kinds = ("interactive", "batch") if self.kind == "both" else (self.kind,)
        submit = np.concatenate([_submissions(_KINDS[kind], size, random) for kind in kinds])
        which = np.repeat(np.arange(len(kinds)), size)
        order = np.argsort(submit, kind="stable")[:size]
        submit, which = np.floor(submit[order]), which[order]
        nodes, run = np.empty(size, dtype=np.int64), np.empty(size)
        for number, kind in enumerate(kinds):
            of_kind = which == number
            nodes[of_kind] = self.sizes(kind).sample(int(of_kind.sum()), random)
            run[of_kind] = _run_times(_KINDS[kind], nodes[of_kind], random)
        user = which if self.kind == "both" else None
        return numbered(submit, nodes, run, None, self.n_nodes, f"Lublin-Feitelson, {self.kind}", user=user)


def _run_times(kind: _Kind, nodes: IntArray, rng: np.random.Generator) -> FloatArray:
    """Whole seconds: exp of a mixture of two gammas whose weight follows the nodes; too long ones are redrawn."""
    shape_1, scale_1, shape_2, scale_2 = kind.gammas
    weight = np.clip(kind.weight[0] * nodes + kind.weight[1], 0.0, 1.0)
    result = np.full(nodes.size, np.inf)
    while (again := np.flatnonzero(result > _LONGEST)).size:
        first = rng.random(again.size) <= weight[again]
        draws = rng.standard_gamma(np.where(first, shape_1, shape_2))
        result[again] = draws * np.where(first, scale_1, scale_2)
    return np.floor(np.exp(result))


def _submissions(kind: _Kind, size: int, rng: np.random.Generator) -> FloatArray:
    """Seconds since midnight of the first day: gaps of the rush hour, on a clock that follows the daily cycle."""
    logarithm = np.full(size, np.inf)
    while (again := np.flatnonzero(logarithm > _LONGEST_GAP)).size:
        logarithm[again] = kind.gap[1] * rng.standard_gamma(kind.gap[0] * kind.ratio, again.size)
    return on_the_clock(np.cumsum(np.exp(logarithm)) / _BUCKET, _cycle(kind), _BUCKET)


def _cycle(kind: _Kind) -> FloatArray:
    """Weight of every half hour of the day, 1 on average."""
    bucket = np.arange(_DAY_BEGINS, _BUCKETS + _DAY_BEGINS)
    shape, scale = kind.cycle
    weight = special.gammainc(shape, (bucket + 0.5) / scale) - special.gammainc(shape, (bucket - 0.5) / scale)
    result = np.empty(_BUCKETS)
    result[(bucket - 1) % _BUCKETS] = weight / weight.mean()
    return result
