"""Waiting times of a batch system over repair times and failure rates, and pairs of these with equal waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from relfit.base.arguments import durations, one_whole, positive, whole
from relfit.base.arrays import Durations, FloatArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.numeric.crossings import crossing, monotone, redrawn
from relfit.base.numeric.levels import level_checked
from relfit.base.results import Interval, Result
from relfit.base.text import count, duration, duration_interval, interval_ends
from relfit.io.workloads import Workload
from relfit.simulation.batch._simulate_batch import simulate_batch
from relfit.simulation.batch.batch_settings import BatchCluster
from relfit.simulation.batch.failure_source import SystemFailures
from relfit.simulation.campaigns.campaign import Campaign
from relfit.simulation.campaigns.sweeping import sweep
from relfit.simulation.engine.replications import half_interval

RATES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
"""Failure rates, as multiples."""
REPAIRS = (
    *(f"{n}min" for n in (1, 2, 5, 10, 30)),
    *(f"{n}h" for n in (1, 2, 3, 6, 12, 18)),
    *(f"{n}D" for n in (1, 1.5, 2, 3, 4, 5, 7, 10, 13, 15, 18, 20)),
)
"""Mean repair times, from a reboot to a replacement."""


class RepairSweep(Result):
    """Mean waits of the same jobs over failure rates and repair times; the same random failures in every cell.

    Attributes
    ----------
    mtbf : float
        Hours between failures of the machine at rate 1.
    rates : ndarray, shape (rates,)
        Failure rates as multiples, rising: at 2 the machine fails twice as often.
    repairs : ndarray, shape (repairs,)
        Mean repair times in hours, rising.
    waits : ndarray, shape (runs, rates, repairs)
        Mean wait over the jobs of each run, in hours.
    level : float
        Level of the intervals of the mean waits.
    """

    mtbf: float
    rates: FloatArray
    repairs: FloatArray
    waits: FloatArray
    level: float = 0.95

    _not_in_json: ClassVar[tuple[str, ...]] = ("waits",)

    @property
    def n_runs(self) -> int:
        """Runs of every cell."""
        return int(self.waits.shape[0])

    @property
    def mean(self) -> FloatArray:
        """Mean waits over the runs, one row per rate, one column per repair time; hours."""
        return np.asarray(self.waits.mean(axis=0))

    @property
    def relative(self) -> FloatArray:
        """Mean waits over those of the shortest repair at the same rate."""
        return self.mean / self.mean[:, :1]

    @property
    def headline(self) -> str:
        """The range of waits, and the repair time that costs as much as the next higher failure rate."""
        low, high = float(self.mean.min()), float(self.mean.max())
        text = f"Users wait {interval_ends(duration(low), duration(high))} on average"
        if self.rates.size > 1:
            even = self.break_even(self.rates[1], self.rates[0], self.repairs[0])
            value, least, most = (float(x) for x in (even.estimate, even.low, even.high))
            if np.isfinite(value) and value > 0.0:
                shown = duration_interval(value, least, most)
                ratio = f"{self.rates[1] / self.rates[0]:g} times the failures"
                text += f"; {ratio}, repaired in {duration(self.repairs[0])}, cost as much as repairs of {shown}"
        return f"{text} ({count(self.n_runs, 'run')} a cell)."

    def to_frame(self) -> pd.DataFrame:
        """One row per cell, in hours: ``rate``, ``mtbf``, ``repair``, ``wait``, ``standard_error``; ``relative``.

        ``low`` and ``high`` end Student's interval of the wait over the runs, at zero at the lowest; NaN for one run.
        """
        error = np.full_like(self.mean, np.nan)
        if self.n_runs > 1:
            error = self.waits.std(axis=0, ddof=1) / np.sqrt(self.n_runs)
        half = half_interval(self.waits, self.level)
        limits = {"low": np.maximum(self.mean - half, 0.0), "high": self.mean + half}
        rate, repair = np.meshgrid(self.rates, self.repairs, indexing="ij")
        columns = {"rate": rate, "mtbf": self.mtbf / rate, "repair": repair, "wait": self.mean, **limits}
        columns |= {"standard_error": error, "relative": self.relative}
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()})

    def break_even(self, worse: float, better: float, repair: object, level: float = 0.95, rng: Seed = 0) -> Interval:
        """The repair time at rate `better` at which users wait as long as at rate `worse` with `repair`.

        Parameters
        ----------
        worse, better : float
            Failure rates of the sweep.
        repair : float, str or timedelta
            A repair time within the sweep; hours, or a string such as ``"1min"``.
        level : float
            Level of the confidence interval.
        rng : int or numpy.random.Generator
            Seed of the bootstrap over runs, for the interval.

        Returns
        -------
        Interval
            Hours; 0 where even the shortest repair costs more, infinite where the longest costs less.

        Raises
        ------
        ArgumentError
            For a rate or a repair time that is not in the sweep.
        """
        rows = [self._row(worse), self._row(better)]
        at = float(durations("repair", repair))
        level_checked(level)
        if not self.repairs[0] <= at <= self.repairs[-1]:
            shown = interval_ends(duration(self.repairs[0]), duration(self.repairs[-1]))
            raise ArgumentError(f"repair of {duration(at)} is not in the sweep", remedy=f"it has {shown}")
        runs = self.waits[:, rows].reshape(self.n_runs, -1)

        def even(means: FloatArray) -> float:
            bad, good = means.reshape(2, -1)
            return self._repair_at(good, float(np.interp(at, self.repairs, monotone(bad, rising=True))))

        repair, low, high = redrawn(runs, even, level, rng)
        return Interval(
            "repair",
            "runs drawn again",
            level,
            np.array(at),
            np.array(repair),
            np.array(low),
            np.array(high),
            np.array("ok" if 0.0 < repair < np.inf else "outside of the sweep", dtype=object),
            pd.Index([f"rate {better:g} for {worse:g}"]),
        )

    def repair_allowed(self, wait: object) -> pd.DataFrame:
        """The longest mean repair time with which users wait no longer than `wait`, by failure rate.

        Parameters
        ----------
        wait : float, str or timedelta
            Mean wait; hours, or a string such as ``"30min"``.

        Returns
        -------
        pandas.DataFrame
            ``rate``, ``mtbf`` and ``repair`` in hours; 0 where even the shortest is too long, infinite where the
            longest will do.
        """
        limit = float(durations("wait", wait))
        repair = [self._repair_at(row, limit) for row in self.mean]
        return pd.DataFrame({"rate": self.rates, "mtbf": self.mtbf / self.rates, "repair": repair})

    def mtbf_needed(self, wait: object) -> pd.DataFrame:
        """The least MTBF of the machine with which users wait no longer than `wait`, by repair time.

        Parameters
        ----------
        wait : float, str or timedelta
            As for `repair_allowed`.

        Returns
        -------
        pandas.DataFrame
            ``repair`` and ``mtbf`` in hours; 0 where the highest rate will do, infinite where the lowest is too high.
        """
        limit = float(durations("wait", wait))
        logarithm = np.log(self.rates)
        rows = []
        for column in self.mean.T:
            rate = _largest(logarithm, column, limit)
            rows.append(self.mtbf / np.exp(rate) if np.isfinite(rate) else (0.0 if rate > 0 else np.inf))
        return pd.DataFrame({"repair": self.repairs, "mtbf": rows})

    def _row(self, rate: float) -> int:
        where = np.flatnonzero(self.rates == rate)
        if not where.size:
            known = ", ".join(f"{value:g}" for value in self.rates)
            raise ArgumentError(f"rate {rate!r} is not in the sweep", remedy=f"it has {known}")
        return int(where[0])

    def _repair_at(self, row: FloatArray, wait: float) -> float:
        return max(_largest(self.repairs, row, wait), 0.0)


def sweep_repairs(
    workload: Workload,
    mtbf: Durations,
    cluster: int | BatchCluster | None = None,
    *,
    rates: Sequence[float] = RATES,
    repairs: Sequence[object] = REPAIRS,
    n_runs: int = 10,
    level: float = 0.95,
    workers: int | None = None,
    rng: int = 0,
    **options: Any,
) -> RepairSweep:
    """Simulate a workload over failure rates and repair times: mean waits of its users.

    A run has the same random numbers in all cells: the same nodes fail in the same order, sooner at a higher rate, and
    their repairs are scaled by the mean. Differences between cells are therefore more precise than waits.

    Parameters
    ----------
    workload : Workload
    mtbf : float, str or timedelta
        Mean time between failures of the machine at rate 1; hours, or a string such as ``"24h"``.
    cluster : int or BatchCluster, optional
        The machine, or its number of nodes; by default that of the workload.
    rates : sequence of float
        Failure rates as multiples, rising.
    repairs : sequence of float, str or timedelta
        Mean times to repair of a node, exponential; rising.
    n_runs : int
        Simulations of every cell.
    level : float
        Level of the intervals of the mean waits.
    workers : int, optional
        Threads; one per processor by default. The result does not depend on it.
    rng : int
        Seed.
    **options
        Those of `simulate_batch`, such as ``scheduler`` (with ``reject_after_repairs`` where wide jobs hardly ever find
        enough nodes up at once).

    Returns
    -------
    RepairSweep

    Raises
    ------
    ArgumentError
        For rates or repairs that do not rise, a level outside 0..1, and as for `simulate_batch`.

    References
    ----------
    Exploring the trade-off between repair time and reliability in large scale cluster computers, Figures 7 and 8.

    Examples
    --------
    >>> from relfit.io.workloads import TwoStage
    >>> jobs = TwoStage(64, load=0.9, widest=16).sample(500, rng=1)
    >>> sweep = sweep_repairs(jobs, "100h", rates=[1, 8], repairs=["1min", "2D"], n_runs=2)
    >>> sweep.mean.shape, bool(sweep.mean[1, 1] > sweep.mean[0, 0])
    ((2, 2), True)
    """
    rate, repair = positive("rates", list(rates)), durations("repairs", list(repairs))
    base, runs, level = float(durations("mtbf", mtbf, zero=False)), int(whole("n_runs", n_runs)), level_checked(level)
    for name, values in (("rates", rate), ("repairs", repair)):
        if values.ndim != 1 or not values.size or (np.diff(values) <= 0.0).any():
            raise ArgumentError(f"{name} are not in rising order", remedy="give each once, the smallest first")
    errors: list[Exception] = []

    def wait(seed: int, rate: float, repair: float) -> float:
        failures = SystemFailures(mtbf=base / rate, repair=repair)
        try:
            result = simulate_batch(workload, cluster, failures=failures, rng=seed, **options)
        except Exception as error:
            errors.append(error)
            raise
        return float(result.jobs["waited"].mean()) / 3600.0

    seeds = np.random.SeedSequence(one_whole("rng", rng, least=0)).generate_state(runs)
    grid = {"seed": seeds.tolist(), "rate": rate.tolist(), "repair": repair.tolist()}
    campaign = Campaign(run=wait, parameters=grid, replications=1)
    cells = sweep(campaign, executor="threads", workers=workers, stopped=lambda: bool(errors))
    if errors:
        raise errors[0]
    waits = cells.of()["mean"].to_numpy().reshape(runs, rate.size, repair.size)
    return RepairSweep(base, rate, repair, waits, level)


def _largest(x: FloatArray, curve: FloatArray, level: float) -> float:
    """The largest x at which the waits, made monotone in it, are at most `level`; -inf or inf outside."""
    rising = monotone(curve, rising=True)
    return np.inf if level >= rising[-1] else crossing(x, rising, level)
