"""Completion time of one job on the nodes of a system, with restarts from zero or from checkpoints.

Reliability-aware allocation, chapter 6, with the exact time lost in a failure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import durations, share
from relfit.base.arrays import Durations, FloatArray, Seed
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.levels import level_checked
from relfit.base.results import Result
from relfit.base.text import count, number, percent
from relfit.base.units import HOURS_PER_YEAR, hours
from relfit.fitting import PooledFit
from relfit.system.jobs._expected_time import (
    Attempts,
    attempts,
    best_checkpoint,
    hazards_of,
    log_expected_time,
    log_expm1,
    need_time_to_save,
)
from relfit.system.jobs._time_to_failure import TimeToFailure, time_to_failure
from relfit.system.jobs.checkpoint import Checkpoint, best_interval, exposed_hours, slowdown_exponential
from relfit.system.jobs.completion_distribution import RestartDistribution
from relfit.system.jobs.speedup import Speedup, as_speedup

if TYPE_CHECKING:
    from relfit.system import System

CONVENTIONS = ("exact", "paper")
AFTER_FAILURE = ("same", "as_new")
CENTURY = 100.0 * HOURS_PER_YEAR
"""Hours beyond which a job counts as never finished."""
_LARGEST = math.log(np.finfo(np.float64).max)
_RUNS = 10_000


@dataclass(frozen=True, eq=False)
class Job:
    """A job: its work, its speed-up, and the cost of a failure.

    Parameters
    ----------
    work : float or duration, optional
        Time on one node without failures; not needed if the table of `speedup` implies it.
    speedup : Speedup or mapping, optional
        See `relfit.system.jobs.as_speedup`; perfect speed-up by default.
    restart : float or duration
        Time from a failure to the next start, before the restore of a checkpoint; 0 by default.
    checkpoint : Checkpoint, optional
        Without one every attempt begins from zero. Without ``every`` each number of nodes has its best checkpoint
        interval.

    Examples
    --------
    >>> from relfit.system.jobs.speedup import Amdahl
    >>> Job("1000h", Amdahl(0.895)).time([1, 14]).round(1).tolist()
    [1000.0, 168.9]
    """

    work: Any = None
    speedup: Any = None
    restart: Any = 0.0
    checkpoint: Checkpoint | None = None

    def __post_init__(self) -> None:
        law = as_speedup(self.speedup)
        total = law.known_work(self.work)
        pause = hours(self.restart)
        if not (math.isfinite(pause) and pause >= 0.0):
            raise ArgumentError(f"restart takes {pause:g} hours", remedy="it must be finite and not negative")
        plan = self.checkpoint
        if plan is not None and not isinstance(plan, Checkpoint):
            raise ArgumentError(f"checkpoint is {plan!r}", remedy="give Checkpoint(every, save, restore) or None")
        if plan is not None and plan.every is None:
            need_time_to_save(plan)
        for name, value in (("work", total), ("speedup", law), ("restart", pause)):
            object.__setattr__(self, name, value)

    def time(self, sizes: npt.ArrayLike) -> FloatArray:
        """Hours without failures and saves on each number of nodes, shape of `sizes`."""
        law: Speedup = self.speedup
        return law.time(self.work, sizes)


class CompletionTime(Result):
    """Completion time of a job on the nodes of a system; made by `completion_time`.

    Attributes
    ----------
    size : int
        Number of nodes that work.
    job : Job
    length : float
        Hours without failures and checkpoints.
    log_expected : float
        Natural logarithm of the expected hours, which may exceed the range of `expected`.
    success : float
        Probability of no failure until the end, in saves included (not in the paper's convention, nor if they are not
        `exposed`).
    failures : float
        Expected number of failures until the end; NaN in the paper's convention with checkpoints.
    lost : float
        Mean hours lost in a failed attempt (the mean time to failure in the paper's convention).
    status : str
        ``ok``, or ``never`` if the expected time exceeds the largest float.
    convention, after_failure : str
        The arguments of `completion_time`.
    low, high, level : float or None
        Interval of the expected time from the uncertainty of the fitted parameters, and its level.
    lives : tuple of TimeToFailure
        Time to failure of the first attempt, and of all others.
    """

    size: int
    job: Job
    length: float
    log_expected: float
    success: float
    failures: float
    lost: float
    status: str
    convention: str
    after_failure: str
    low: float | None
    high: float | None
    level: float | None
    lives: tuple[TimeToFailure, TimeToFailure]

    _not_in_json: ClassVar[tuple[str, ...]] = ("lives",)
    _frame: ClassVar[tuple[str, ...]] = (
        *("size", "length", "expected", "log_expected", "low", "high", "level"),
        *("success", "failures", "lost", "status", "convention", "after_failure"),
    )

    @property
    def expected(self) -> float:
        """Expected completion time in hours; infinite beyond the largest float."""
        return math.exp(self.log_expected) if self.log_expected < _LARGEST else math.inf

    @property
    def least(self) -> float:
        """Hours with checkpoints and without failures."""
        plan = self.job.checkpoint
        return self.length if plan is None else self.length + (plan.segments(self.length) - 1) * plan.save

    @cached_property
    def _restarts(self) -> RestartDistribution:
        return RestartDistribution(*self.lives, self.length, self.job.restart)

    @cached_property
    def _runs(self) -> FloatArray:
        return np.sort(self._restarts.simulated(self.job.checkpoint or Checkpoint(self.length), _RUNS))

    def finish_probability(self, deadline: Durations) -> FloatArray:
        """Probability that the job is done within `deadline`, hours or durations of any shape.

        By the renewal equation for restarts from zero; with checkpoints from 10,000 simulated runs. The convention of
        the mean does not matter.
        """
        at = durations("deadline", deadline, infinite=True)
        if self.job.checkpoint is None:
            return self._restarts.cdf(at)
        return np.asarray(np.searchsorted(self._runs, at, side="right") / self._runs.size)

    def quantile(self, probability: npt.ArrayLike) -> FloatArray:
        """Hours within which the job is done with this probability; see `finish_probability`.

        Raises
        ------
        ArgumentError
            For a probability outside 0..1.
        """
        p = share("probability", probability)
        if self.job.checkpoint is None:
            return self._restarts.quantile(p)
        return np.asarray(self._runs[np.clip(np.ceil(p * self._runs.size).astype(int) - 1, 0, self._runs.size - 1)])

    @property
    def headline(self) -> str:
        """The expected time of the job and the probability of no failure."""
        nodes = count(self.size, "node")
        if not self.expected < CENTURY:
            power = self.log_expected / math.log(10.0)
            about = f"about 10^{power:,.0f} hours" if math.isfinite(power) else "beyond all bounds"
            return (
                f"On {nodes} the job ({number(self.length)} h without failures) will not finish: its expected "
                f"completion time is {about}."
            )
        expected = f"{number(self.expected, 4)} h"
        if self.low is not None and self.high is not None and self.level is not None:
            low, high = number(self.low, 4), number(self.high, 4)
            expected = f"{expected} ({percent(self.level)} interval {low} to {high})"
        return (
            f"On {nodes} the job takes {expected} on average, {number(self.length, 4)} h without failures; it "
            f"meets no failure with probability {number(self.success)}."
        )

    def to_dict(self) -> dict[str, Any]:
        """All fields and the expected hours, ready for JSON."""
        return {**super().to_dict(), "expected": None if self.status == "never" else self.expected}


def completion_time(
    system: System,
    work: Durations | Job | None = None,
    speedup: object = None,
    *,
    restart: Durations = 0.0,
    checkpoint: Checkpoint | None = None,
    size: int | None = None,
    convention: str = "exact",
    after_failure: str = "same",
    level: float | None = None,
    n_draws: int = 400,
    rng: Seed = 0,
) -> CompletionTime:
    """Completion time of a job that starts now on all nodes of `system`.

    A failure of the job is a failure of the system: more nodes have failed than it tolerates.

    Parameters
    ----------
    system : System
        The nodes and their ages.
    work : float, duration or Job
        Time on one node without failures, or a `Job` with all its settings.
    speedup : Speedup or mapping, optional
        Speed-up of the job on k nodes; see `relfit.system.jobs.as_speedup`.
    restart : float or duration
        Time from a failure to the next start.
    checkpoint : Checkpoint, optional
        Without one every attempt begins from zero. Without ``every`` the best interval is used.
    size : int, optional
        Number of nodes that do the work; by default all, else the others are spares.
    convention : {"exact", "paper"}
        ``exact``: a failed attempt loses ``E[X | X < T]``, the mean time to failure given that it is before the end.
        ``paper``: it loses the mean time to failure of the system (equation 6.1), which is too much; with checkpoints,
        the efficiency of the sparing paper, appendix C, with a failure rate of 1 / mean time to failure.
    after_failure : {"same", "as_new"}
        Ages at later attempts: those of the first, or all nodes new.
    level : float, optional
        Level of the interval, such as 0.95; by default there is none. The system must come from fits.
    n_draws : int
        Number of draws of the parameters.
    rng : int or Generator, optional

    Raises
    ------
    ArgumentError
        For invalid work, times or names, or a level without fits.

    Notes
    -----
    Reliability-aware allocation, chapter 6; Daly (2006) for checkpoints of exponential systems.

    Examples
    --------
    >>> from relfit.system import System
    >>> from relfit.fitting.families import Weibull
    >>> system = System(Weibull(0.8, 1000.0), ages=[600.0] * 8)
    >>> done = completion_time(system, "500h", restart="1h")
    >>> round(done.expected, 2), round(done.success, 4)
    (78.94, 0.6449)
    >>> done.finish_probability(["62.5h", "100h"]).round(3).tolist()
    [0.645, 0.81]
    """
    if isinstance(work, Job) and (speedup is not None or checkpoint is not None or hours(restart) != 0.0):
        remedy = Remedy("put them into Job(...)", "leave them out")
        raise ArgumentError("a job and settings of a job at once", remedy=remedy)
    job = work if isinstance(work, Job) else Job(work, speedup, restart, checkpoint)
    check_names(convention, after_failure)
    nodes = system.n_nodes if size is None else int(size)
    if not 1 <= nodes <= system.n_nodes:
        raise ArgumentError(f"size is {nodes} of {system.n_nodes} nodes", remedy="give one to all of them")
    length = float(job.time(nodes))
    first, later = _lives(system, after_failure)
    once = attempts(hazards_of(first), [length])
    job = _with_interval(job, system, first, later, length, float(once.hazard[0]), convention)
    log_expected = _log_expected(system, first, later, job, length, once, convention)
    low = high = None
    if level is not None:
        level_checked(level)
        drawn = system.drawn(n_draws, rng)
        values = np.array([[_of_system(one, job, length, convention, after_failure)] for one in drawn])
        limits = limits_of_draws(system, np.array([log_expected]), values, np.log([length]), level)
        low, high = (float(end[0]) for end in limits)
    counted = convention == "exact" or job.checkpoint is None
    failures = _failures(first, later, job, length, once) if counted else math.nan
    lost = float(system.mttf()) if convention == "paper" else float(once.lost[0])
    status = "ok" if log_expected < _LARGEST else "never"
    plan = job.checkpoint
    until = length if plan is None or convention == "paper" else exposed_hours(length, plan.every, plan)
    expected = log_expected, float(first.sf(until)), failures, lost, status
    return CompletionTime(
        nodes, job, length, *expected, convention, after_failure, low, high, level, lives=(first, later)
    )


def check_names(convention: str, after_failure: str) -> None:
    """Reject unknown names and incompatible pairs."""
    for name, value, names in (
        ("convention", convention, CONVENTIONS),
        ("after_failure", after_failure, AFTER_FAILURE),
    ):
        if value not in names:
            raise ArgumentError(f"{name}={value!r} is not known", remedy=f"use {' or '.join(map(repr, names))}")
    if convention == "paper" and after_failure != "same":
        raise ArgumentError(
            "the paper's convention knows only nodes that go on as they were",
            remedy=Remedy("use after_failure='same', or convention='exact'", "use --convention exact"),
        )


def expected_paper(
    mttf: npt.ArrayLike, length: npt.ArrayLike, plan: Checkpoint, restart: Any, every: npt.ArrayLike | None = None
) -> FloatArray:
    """Expected hours by the efficiency of the sparing paper, appendix C: no failures in saves and restores."""
    work = np.asarray(length, dtype=np.float64)
    costs = plan.save, plan.restore, restart
    every = plan.every if every is None else every
    return work * slowdown_exponential(np.asarray(mttf), np.minimum(every, work), *costs, exposed=())


def _with_interval(
    job: Job, system: System, first: TimeToFailure, later: TimeToFailure, length: float, hazard: float, convention: str
) -> Job:
    """The job with the best checkpoint interval if it does not set one."""
    plan = job.checkpoint
    if plan is None or plan.every is not None:
        return job
    if convention == "paper":
        every = best_interval(system.mttf(), plan.save, plan.restore, job.restart, exposed=())
        return replace(job, checkpoint=replace(plan, every=min(float(every), length)))
    near = float(young(length, hazard, plan.save))
    return replace(job, checkpoint=best_checkpoint(first, length, plan, job.restart, later, near)[0])


def young(length: npt.ArrayLike, hazard: npt.ArrayLike, save: float) -> FloatArray:
    """Young's interval, hours, for the mean failure rate over the length of a job; at most the length."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.minimum(np.sqrt(2.0 * save * np.asarray(length) / np.asarray(hazard)), length))


def _lives(system: System, after_failure: str) -> tuple[TimeToFailure, TimeToFailure]:
    first = time_to_failure(system)
    return first, first if after_failure == "same" else time_to_failure(system.at_age(0.0))


def _of_system(system: System, job: Job, length: float, convention: str, after_failure: str) -> float:
    first, later = _lives(system, after_failure)
    return _log_expected(system, first, later, job, length, attempts(hazards_of(first), [length]), convention)


def _log_expected(
    system: System, first: TimeToFailure, later: TimeToFailure, job: Job, length: float, once: Attempts, convention: str
) -> float:
    """Log of the expected completion time."""
    if convention == "exact":
        return log_expected_time(first, length, job.checkpoint, job.restart, later)
    if job.checkpoint is None:
        return float(once.log_expected_paper(job.restart, system.mttf())[0])
    with np.errstate(divide="ignore"):
        return float(np.log(expected_paper(system.mttf(), length, job.checkpoint, job.restart)))


def _failures(first: TimeToFailure, later: TimeToFailure, job: Job, length: float, once: Attempts) -> float:
    """Expected number of failures: the increase of the expected time if every restart takes one hour more."""
    if job.checkpoint is None:
        again = once if first is later else attempts(hazards_of(later), [length])
        log_value = math.log(-math.expm1(-once.hazard[0])) if once.hazard[0] > 0.0 else -math.inf
        log_value += float(np.logaddexp(0.0, log_expm1(again.hazard[0])))
        return math.exp(log_value) if log_value < _LARGEST else math.inf
    with np.errstate(over="ignore", invalid="ignore"):
        ends = np.exp(
            [log_expected_time(first, length, job.checkpoint, job.restart + more, later) for more in (0.0, 1.0)]
        )
    return float(ends[1] - ends[0]) if np.isfinite(ends).all() else math.inf


def limits_of_draws(
    system: System, log_estimate: FloatArray, log_drawn: FloatArray, log_length: FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Limits, in hours, of expected times, from their logs at the estimate (m,) and in the draws (draws, m).
    On the scale of ``log(E / T - 1)``, the relative time added by failures; reflected unless nodes are pooled, and
    widened to contain the estimate, as `relfit.system.uncertainty.limits`.
    """

    def scaled(log_time: FloatArray) -> FloatArray:
        gap = np.clip(log_time - log_length, 1e-300, 1e300)
        return np.where(gap > 30.0, gap, np.log(np.expm1(np.minimum(gap, 30.0))))

    def hours(value: FloatArray) -> FloatArray:
        return np.exp(np.where(value > 30.0, value, np.log1p(np.exp(np.minimum(value, 30.0)))) + log_length)

    with np.errstate(over="ignore", invalid="ignore"):
        middle, drawn = scaled(log_estimate), scaled(log_drawn)
        low, high = np.quantile(drawn, [0.5 - 0.5 * level, 0.5 + 0.5 * level], axis=0, method="median_unbiased")
        if not isinstance(system.origin, PooledFit):
            low, high = 2.0 * middle - high, 2.0 * middle - low
        return hours(np.minimum(low, middle)), hours(np.maximum(high, middle))
