"""Workloads as the papers generate them: two-stage log-uniform sizes, hyperexponential run times, very long jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relfit.base.arguments import positive, share, whole
from relfit.base.errors import ArgumentError
from relfit.base.units import hours
from relfit.io.workloads.generator import Generator, JobSizes, numbered
from relfit.io.workloads.scaling import with_walltimes
from relfit.io.workloads.workload import Workload


@dataclass(frozen=True)
class TwoStage(Generator):
    """Jobs of two-stage log-uniform sizes and two-stage hyperexponential run times, submitted at random from time 0.

    Parameters
    ----------
    n_nodes : int
        Nodes of the machine.
    load : float, optional
        Mean offered load (`scale_load` makes it exact); submissions are a Poisson process of the rate that gives it.
        None submits all jobs at time 0.
    serial, power_of_two : float
        Shares of the jobs that take one node, and another power of two.
    widest : int, optional
        Nodes of the widest job; by default the complete machine.
    first_stage : float
        Share of the other jobs whose size is in the first stage.
    stages_apart : float
        The first stage ends this many powers of two below the widest job; recorded workloads have 1.5 to 3.5.
    short, long : float, str or timedelta
        Mean run times of the two stages, exponential each; hours, or strings such as ``"20min"``.
    short_share : float
        Probability of the first.
    longest : float, str or timedelta
        Mean run time of the very long jobs, exponential too.
    longest_share : float
        Their share of all jobs.
    walltime : float or (float, float)
        Walltimes as multiples of the run time, as in `with_walltimes`.

    References
    ----------
    The dissertation on reliability-aware allocation, section 6.4.4, which prints the distributions and no parameters;
    Lublin and Feitelson, J. Parallel Distrib. Comput. 63 (2003): the shares of serial jobs and powers of two.

    Examples
    --------
    >>> jobs = TwoStage(1024, load=0.8).sample(5000, rng=1)
    >>> jobs.n_nodes, bool(0.6 < jobs.load() < 1.0)
    (1024, True)
    """

    n_nodes: int
    load: float | None = 0.8
    serial: float = 0.244
    power_of_two: float = 0.576
    widest: int | None = None
    first_stage: float = 0.86
    stages_apart: float = 2.5
    short: Any = "20min"
    long: Any = "6h"
    short_share: float = 0.7
    longest: Any = "4D"
    longest_share: float = 0.0
    walltime: float | tuple[float, float] = (1.0, 2.0)

    def __post_init__(self) -> None:
        whole("n_nodes", self.n_nodes)
        share("short_share", self.short_share)
        share("longest_share", self.longest_share)
        positive("stages_apart", self.stages_apart, zero=True)
        for name in ("short", "long", "longest"):
            object.__setattr__(self, name, float(positive(name, hours(getattr(self, name)))))
        if self.load is not None:
            positive("load", self.load)
        if not 1 <= (self.widest or 1) <= self.n_nodes:
            raise ArgumentError(f"widest is {self.widest}", remedy=f"the machine has {self.n_nodes} nodes")
        _ = self.sizes

    @property
    def sizes(self) -> JobSizes:
        """The distribution of sizes."""
        widest = self.widest or self.n_nodes
        high = float(np.log2(widest))
        low = min(0.8, high)
        middle = max(high - self.stages_apart, low)
        return JobSizes(widest, self.serial, self.power_of_two, low, middle, high, self.first_stage)

    @property
    def mean_run_time(self) -> float:
        """Mean run time of a job, in seconds."""
        usual = self.short_share * self.short + (1.0 - self.short_share) * self.long
        return 3600.0 * ((1.0 - self.longest_share) * usual + self.longest_share * self.longest)

    def _drawn(self, size: int, random: np.random.Generator) -> Workload:
        nodes = self.sizes.sample(size, random)
        stage = random.random(size)
        usual = np.where(random.random(size) < self.short_share, self.short, self.long)
        mean = np.where(stage < self.longest_share, self.longest, usual)
        run = 3600.0 * mean * random.exponential(size=size)
        submit = np.zeros(size)
        if self.load is not None:
            gap = self.sizes.mean * self.mean_run_time / (self.n_nodes * self.load)
            submit[1:] = np.cumsum(random.exponential(gap, size - 1))
        jobs = numbered(submit, nodes, run, None, self.n_nodes, "drawn from the two-stage model")
        return with_walltimes(jobs, self.walltime, random)
