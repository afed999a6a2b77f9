"""Completion time of one job on given nodes, with restarts from zero or from checkpoints.

Reliability-aware allocation, chapter 6, whose time lost to a failure is replaced by the exact one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.jobs.completion_intervals import checked_level, limits_of_draws
from relfit.jobs.completion_simulation import AFTER_FAILURE, SimulatedCompletion, simulate_completion
from relfit.jobs.job_checkpoints import Checkpoint, expected_paper, expected_with_checkpoints
from relfit.jobs.prefixes import along_time
from relfit.jobs.restart_distribution import RestartDistribution
from relfit.jobs.restarts import Attempts, attempts, log_expected_exact, log_expected_paper, log_expm1
from relfit.jobs.speedup import Speedup, as_speedup
from relfit.system.components import duration_array
from relfit.units import hours

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from relfit.system.system import System

__all__ = ["CONVENTIONS", "CompletionTime", "Job", "completion_time", "job_of"]

FloatArray = npt.NDArray[np.float64]

CONVENTIONS = ("exact", "paper")
_LARGEST = math.log(np.finfo(np.float64).max)
_RUNS = 10_000


@dataclass(frozen=True, eq=False)
class Job:
    """A job: its work, how it speeds up, and how it begins anew.

    Parameters
    ----------
    work : float or duration, optional
        Time on one node without failures; may be left out where the table of `speedup` knows it.
    speedup : Speedup, mapping or callable, optional
        See `relfit.jobs.as_speedup`; perfect speed-up when left out.
    restart : float or duration
        Time from a failure to the next start.
    checkpoint : Checkpoint, optional
        Without one every attempt begins from zero.
    nodes : int, optional
        How many nodes the job asks for, where that is fixed.
    name : str, optional

    Examples
    --------
    >>> from relfit.jobs.speedup import Amdahl
    >>> Job("1000h", Amdahl(0.895)).time([1, 14]).round(1).tolist()
    [1000.0, 168.9]
    """

    work: Any = None
    speedup: Any = None
    restart: Any = 0.0
    checkpoint: Checkpoint | None = None
    nodes: int | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        law = as_speedup(self.speedup)
        total = law._work(self.work)
        pause = hours(self.restart)
        if not (math.isfinite(pause) and pause >= 0.0):
            raise ArgumentError(f"restart takes {pause:g} hours", remedy="it must be finite and not negative")
        if self.checkpoint is not None and not isinstance(self.checkpoint, Checkpoint):
            raise ArgumentError(
                f"checkpoint is {self.checkpoint!r}", remedy="give Checkpoint(interval, save, restore) or None"
            )
        if self.nodes is not None and (int(self.nodes) != self.nodes or self.nodes < 1):
            raise ArgumentError(f"a job of {self.nodes!r} nodes", remedy="give a whole number of one and more")
        for name, value in (("work", total), ("speedup", law), ("restart", pause)):
            object.__setattr__(self, name, value)

    def time(self, sizes: npt.ArrayLike) -> FloatArray:
        """Hours without failures and saves on each number of nodes."""
        law: Speedup = self.speedup
        return law.time(self.work, sizes)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, hours."""
        return {
            "name": self.name,
            "work": self.work,
            "speedup": self.speedup.to_dict(),
            "restart": self.restart,
            "checkpoint": None if self.checkpoint is None else self.checkpoint.to_dict(),
            "nodes": self.nodes,
        }


def job_of(work: Any, speedup: Any, restart: Any, checkpoint: Checkpoint | None) -> Job:
    """The job that `work` is already, or that the arguments describe."""
    if isinstance(work, Job):
        if speedup is not None or checkpoint is not None or hours(restart) != 0.0:
            raise ArgumentError("a job and settings of a job at once", remedy="put them into Job(...)")
        return work
    return Job(work, speedup, restart, checkpoint)


@dataclass(frozen=True, eq=False)
class CompletionTime:
    """When a job on given nodes will be done.

    Attributes
    ----------
    size : int
        Nodes.
    job : Job
    length : float
        Hours without failures and saves.
    expected : float
        Hours; infinite where no float can hold it. In a simulation that gave up runs, a lower bound.
    log_expected : float
        Natural logarithm of it, which may be beyond the range of `expected`.
    success : float
        Probability that the first attempt meets no failure.
    failures : float
        Expected number of failures; NaN for the paper's convention with checkpoints.
    lost : float
        Mean hours that a failed attempt has run, without checkpoints; in the paper's convention the mean life.
    status : str
        ``ok``; ``never``: `expected` is infinite; ``unfinished``: some simulated runs were given up.
    convention, after_failure, method : str
        ``method`` is ``exact`` or ``simulation``.
    standard_error : float
        Of a simulated `expected`, else zero.
    low, high, level : float or None
        Interval of `expected` from the uncertainty of the fitted parameters.
    """

    system: System
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
    method: str
    standard_error: float = 0.0
    low: float | None = None
    high: float | None = None
    level: float | None = None
    simulated: SimulatedCompletion | None = None

    @property
    def expected(self) -> float:
        """Expected completion time in hours."""
        return math.exp(self.log_expected) if self.log_expected < _LARGEST else math.inf

    @property
    def least(self) -> float:
        """Hours with saves and without failures."""
        plan = self.job.checkpoint
        return self.length if plan is None else self.length + (plan.segments(self.length) - 1) * plan.save

    @property
    def finishes(self) -> bool:
        """Whether the expected completion time is finite."""
        return self.status != "never"

    # ----------------------------------------------------------- distribution

    @cached_property
    def _runs(self) -> tuple[FloatArray, FloatArray]:
        found = self.simulated
        if found is None:
            found = simulate_completion(
                self.system, self.length, restart=self.job.restart, checkpoint=self.job.checkpoint,
                after_failure=self.after_failure, runs=_RUNS, rng=0,
            )  # fmt: skip
        return np.sort(np.where(found.finished, found.times, np.inf)), found.times

    @cached_property
    def _renewal(self) -> RestartDistribution | None:
        if self.job.checkpoint is not None or self.after_failure == "ageing":
            return None
        first = along_time(self.system.cumulative_hazard, self.length)
        later = None
        if self.after_failure == "as_new":
            later = along_time(self.system.at_age(0.0).cumulative_hazard, self.length)
        return RestartDistribution(first, self.length, self.job.restart, later)

    def finish_probability(self, deadline: Any) -> FloatArray:
        """Probability to be done within `deadline`, hours or durations of any shape.

        Restarts from zero by the renewal equation; with checkpoints, and where nodes go on ageing, the share of 10 000
        simulated runs. The convention of the mean does not matter.
        """
        at = duration_array(deadline, "deadline")
        if np.any(np.isnan(at)):
            raise ArgumentError("a deadline is missing", remedy="give hours or text such as '20h'")
        if self._renewal is not None:
            return self._renewal.cdf(at)
        ends, _ = self._runs
        return np.asarray(np.searchsorted(ends, at, side="right") / ends.size)

    cdf = finish_probability

    def quantile(self, probability: npt.ArrayLike) -> FloatArray:
        """Hours within which the job is done with this probability; see `finish_probability`.

        Raises
        ------
        ArgumentError
            For a probability outside 0..1.
        """
        p = np.asarray(probability, dtype=np.float64)
        if not np.all((p >= 0.0) & (p <= 1.0)):
            raise ArgumentError("a probability must lie between 0 and 1")
        if self._renewal is not None:
            return self._renewal.quantile(p)
        ends, _ = self._runs
        return np.asarray(ends[np.clip(np.ceil(p * ends.size).astype(int) - 1, 0, ends.size - 1)])

    # ---------------------------------------------------------------- showing

    @property
    def sentence(self) -> str:
        """What to expect, in a sentence."""
        nodes = f"{self.size} node" + ("s" if self.size != 1 else "")
        if self.status == "never":
            power = self.log_expected / math.log(10.0)
            about = f"about 10^{power:,.0f} hours" if math.isfinite(power) else "beyond all bounds"
            return (
                f"On {nodes} the job ({self.length:.4g} h without failures) will not finish: its expected completion "
                f"time is {about}."
            )
        text = (
            f"On {nodes} the job takes {self.expected:.4g} h in the mean ({self.length:.4g} h without failures); with "
            f"probability {self.success:.3g} no failure comes"
        )
        if self.low is not None and self.high is not None and self.level is not None:
            text += f"; {100 * self.level:g} % interval {self.low:.4g} to {self.high:.4g} h"
        if self.status == "unfinished":
            text += "; some simulated runs were given up, and the mean is a lower bound"
        return text + "."

    def to_frame(self) -> pd.DataFrame:
        """One row."""
        import pandas as pd

        return pd.DataFrame([self._row()])

    def _row(self) -> dict[str, Any]:
        return {
            "nodes": self.size,
            "length": self.length,
            "expected": self.expected,
            "log_expected": self.log_expected,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "standard_error": self.standard_error,
            "success": self.success,
            "failures": self.failures,
            "lost": self.lost,
            "status": self.status,
            "convention": self.convention,
            "after_failure": self.after_failure,
            "method": self.method,
        }

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; None for what is not finite."""
        row = {k: (None if isinstance(v, float) and not math.isfinite(v) else v) for k, v in self._row().items()}
        return {**row, "job": self.job.to_dict(), "sentence": self.sentence}

    def __repr__(self) -> str:
        return f"CompletionTime: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>{self.to_frame().to_html(index=False, float_format='{:.4g}'.format)}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Probability to be done by any time: `relfit.plotting.completion_curve`."""
        from relfit.plotting.nodes_of_job import completion_curve

        return completion_curve(self, ax)


def completion_time(
    system: System,
    work: Any = None,
    speedup: Any = None,
    *,
    restart: Any = 0.0,
    checkpoint: Checkpoint | None = None,
    size: int | None = None,
    convention: str = "exact",
    after_failure: str = "same",
    interval: float | None = None,
    draws: int = 400,
    runs: int = _RUNS,
    rng: int | np.random.Generator | None = None,
) -> CompletionTime:
    """When a job started now on all nodes of `system` will be done.

    Parameters
    ----------
    system : System
        The nodes and their ages; a failure is one of the system (of more nodes than it tolerates).
    work : float, duration or Job
        Time on one node without failures, or a `Job` with all its settings.
    speedup : Speedup, mapping or callable, optional
        How much faster the job is on k nodes; see `relfit.jobs.as_speedup`.
    restart : float or duration
        Time from a failure to the next start.
    checkpoint : Checkpoint, optional
        How the job saves its state; it begins from zero without.
    size : int, optional
        Nodes that the work is spread over, where it is fewer than `system` has (the others are spares).
    convention : {"exact", "paper"}
        ``exact``: a failed attempt loses ``E[X | X < T]``, the mean life given that it ends before the job does.
        ``paper``: it loses the mean life of the system (equation 6.1), which is too much; with checkpoints, the
        efficiency of the sparing study, appendix C, with a failure rate of 1 / mean life.
    after_failure : {"same", "as_new", "ageing"}
        What further attempts meet: the same ages as the first; all nodes as new; or the failed node starts anew while
        the others go on ageing, which is simulated.
    interval : float, optional
        Level of an interval from the uncertainty of the fitted parameters, as 0.95; the system must come from fits.
    draws, runs : int
        Draws of the parameters for it; runs of a simulation.
    rng : int or Generator, optional

    Returns
    -------
    CompletionTime

    Raises
    ------
    ArgumentError
        For work, times or names that cannot be.

    Notes
    -----
    Reliability-aware allocation, chapter 6; Daly (2006) for checkpoints of exponential systems.

    Examples
    --------
    >>> from relfit.system import System
    >>> from relfit.families import Weibull
    >>> system = System(Weibull(0.8, 1000.0), ages=[600.0] * 8)
    >>> done = completion_time(system, "500h", restart="1h")
    >>> round(done.expected, 2), round(done.success, 4)
    (78.94, 0.6449)
    >>> done.finish_probability(["62.5h", "100h"]).round(3).tolist()
    [0.645, 0.81]
    """
    job = job_of(work, speedup, restart, checkpoint)
    check_names(convention, after_failure)
    count = system.n_nodes if size is None else int(size)
    if not 1 <= count <= system.n_nodes:
        raise ArgumentError(f"size is {count} of {system.n_nodes} nodes", remedy="give one to all of them")
    length = float(job.time(count))
    low = high = level = None
    if interval is not None:
        level = checked_level(interval)
        if after_failure == "ageing":
            raise ArgumentError(
                "no interval for nodes that go on ageing: it would be a simulation of simulations",
                remedy="use after_failure='same' or 'as_new'",
            )
        from relfit.system.uncertainty import drawn_systems

        drawn = drawn_systems(system, draws, rng)
        values = np.array([[_log_expected(one, job, length, convention, after_failure)] for one in drawn])
        now = np.array([_log_expected(system, job, length, convention, after_failure)])
        low, high = (float(v[0]) for v in limits_of_draws(system, now, values, np.log([length]), level))
    once = attempt_of(system, length)
    simulated = None
    if after_failure == "ageing":
        if runs < 2:
            raise ArgumentError(f"runs={runs}", remedy="simulate two runs at least, better 10 000")
        simulated = simulate_completion(
            system, length, restart=job.restart, checkpoint=job.checkpoint, runs=runs, rng=rng
        )
    plain = _plain(system, job, count, length, once, convention, after_failure, simulated)
    return replace(plain, low=low, high=high, level=level)


def check_names(convention: str, after_failure: str) -> None:
    """Reject names that are not known, and pairs that do not go together."""
    if convention not in CONVENTIONS:
        raise ArgumentError(f"convention={convention!r} is not known", remedy="use 'exact' or 'paper'")
    if after_failure not in AFTER_FAILURE:
        raise ArgumentError(
            f"after_failure={after_failure!r} is not known", remedy=f"use one of {', '.join(AFTER_FAILURE)}"
        )
    if convention == "paper" and after_failure != "same":
        raise ArgumentError("the paper's convention knows only after_failure='same'", remedy="use convention='exact'")


def attempt_of(system: System, length: float) -> Attempts:
    """One attempt on one system."""
    return attempts(lambda rows, x: system.cumulative_hazard(x.ravel()).reshape(x.shape), [length])


def _plain(
    system: System,
    job: Job,
    count: int,
    length: float,
    once: Attempts,
    convention: str,
    after_failure: str,
    simulated: SimulatedCompletion | None,
) -> CompletionTime:
    hazard = float(once.hazard[0])
    success = math.exp(-hazard)
    failures = math.expm1(min(hazard, 709.0)) if hazard < 709.0 else math.inf
    lost, status, error, method = float(once.lost[0]), "ok", 0.0, "exact"
    if simulated is not None:
        method = "simulation"
        mean = float(simulated.times.mean())
        error = float(simulated.times.std(ddof=1) / math.sqrt(simulated.times.size))
        log_expected, failures = math.log(mean), float(simulated.failures.mean())
        status = "ok" if simulated.finished.all() else "unfinished"
    else:
        log_expected = _log_expected(system, job, length, convention, after_failure, once)
        if convention == "paper":
            lost = float(system.mttf())
        if job.checkpoint is not None or after_failure == "as_new":
            failures = _failures(system, job, length, after_failure, once) if convention == "exact" else math.nan
        status = "ok" if log_expected < _LARGEST else "never"
    return CompletionTime(
        system, count, job, length, log_expected, success, failures, lost, status, convention, after_failure, method,
        error, simulated=simulated,
    )  # fmt: skip


def _failures(system: System, job: Job, length: float, after_failure: str, once: Attempts) -> float:
    """Expected number of failures: what an hour more at every restart adds to the expected completion time."""
    if job.checkpoint is None:
        later = attempt_of(system.at_age(0.0), length)
        log_value = float(once.log_failure[0]) + float(np.logaddexp(0.0, log_expm1(later.hazard[0])))
        return math.exp(log_value) if log_value < _LARGEST else math.inf
    more = replace(job, restart=job.restart + 1.0)
    with np.errstate(over="ignore"):
        ends = np.exp([_log_expected(system, one, length, "exact", after_failure) for one in (job, more)])
    return float(ends[1] - ends[0]) if np.isfinite(ends).all() else math.inf


def _log_expected(
    system: System, job: Job, length: float, convention: str, after_failure: str, once: Attempts | None = None
) -> float:
    """Log of the expected completion time, without simulation."""
    plan = job.checkpoint
    if convention == "paper":
        mean_life = float(system.mttf())
        if plan is not None:
            with np.errstate(divide="ignore"):
                return float(np.log(expected_paper(mean_life, length, plan, job.restart)))
        once = attempt_of(system, length) if once is None else once
        with np.errstate(divide="ignore"):
            return float(log_expected_paper(once, job.restart, np.log([mean_life]))[0])
    if plan is not None:
        later = None if after_failure == "same" else system.at_age(0.0).cumulative_hazard
        value = expected_with_checkpoints(system.cumulative_hazard, length, plan, job.restart, later)
        return math.log(value) if value < math.inf else math.inf
    once = attempt_of(system, length) if once is None else once
    if after_failure == "same":
        return float(log_expected_exact(once, job.restart)[0])
    again = log_expected_exact(attempt_of(system.at_age(0.0), length), job.restart)
    return float(log_expected_as_new(once, job.restart, again)[0])


def log_expected_as_new(first: Attempts, restart: float, log_again: FloatArray) -> FloatArray:
    """Log of ``A + F (R + E)``: the first attempt's mean duration, and what its failure costs."""
    with np.errstate(divide="ignore", invalid="ignore"):
        after = np.logaddexp(np.log(np.float64(restart)), log_again)
        value = np.logaddexp(first.log_mean, first.log_failure + after)
    return np.maximum(value, np.log(first.lengths))
