"""`what_if`: a grid over sizes and lengths of jobs, from which results for any job and repairs follow at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arguments import durations, whole
from relfit.base.arrays import Durations, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.results import Result
from relfit.base.text import count, duration, percent
from relfit.fleet import FleetModel
from relfit.fleet.calibration import Parameters
from relfit.fleet.job_shares import PARTS
from relfit.planning.job_rate import JobRate, rate_of_job
from relfit.planning.sparing.job_spares import waits_with_spares
from relfit.system.jobs import checkpoint as exact

HOURS = (1.0, 2.0, 6.0, 12.0, 24.0, 48.0, 72.0)
SPARES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64)
_LEAST = 1e-12  # hours; a wait of none has no logarithm
_STEP = 2  # ratio of successive sizes
_NEARLY = 0.02  # difference of probabilities below which failures count as evenly spread


class WhatIf(Result):
    """Reliability of jobs on a grid of sizes and lengths; hazards and rates are linear between sizes.

    Attributes
    ----------
    nodes : ndarray, shape (sizes,)
        Numbers of nodes of the jobs.
    hours : ndarray, shape (lengths,)
        Lengths of the jobs.
    hazard : ndarray, shape (sizes, lengths)
        Minus the logarithm of the probability that nothing interrupts a job; NaN if unknown.
    own : ndarray, shape (sizes,)
        Share of a job's failures that are of single nodes.
    mtbf : ndarray, shape (2, sizes)
        Hours between a job's failures: with all nodes, and without the worst.
    spares : ndarray, shape (spares,)
        Numbers of standby nodes.
    wait : ndarray, shape (2, 2, spares, sizes)
        Hours per failure until the job has all its nodes again: with all nodes and without the worst; with repair times
        as they are and halved.
    worst : int
        Number of outlier nodes, which fail far more often than the others.
    excess : float
        Share of the failures of single nodes that disappears without them.
    """

    nodes: FloatArray
    hours: FloatArray
    hazard: FloatArray
    own: FloatArray
    mtbf: FloatArray
    spares: IntArray
    wait: FloatArray
    worst: int
    excess: float

    @property
    def headline(self) -> str:
        """The range of sizes."""
        return f"What if, for jobs on {self.nodes[0]:,.0f} to {count(int(self.nodes[-1]), 'node')}."

    def to_frame(self) -> pd.DataFrame:
        """One row per size: ``nodes``, ``mtbf``, ``wait`` (hours), and the reliability for each length."""
        frame = pd.DataFrame({"nodes": self.nodes.astype(int), "mtbf": self.mtbf[0], "wait": self.wait[0, 0, 0]})
        survived = pd.DataFrame(np.exp(-self.hazard), columns=[f"{hours:g}h" for hours in self.hours])
        return pd.concat([frame, survived], axis=1)

    def at(
        self,
        nodes: int,
        hours: Durations = "24h",
        save: Durations = "5min",
        *,
        spares: int = 0,
        half_repair: bool = False,
        without_worst: bool = False,
    ) -> dict[str, float]:
        """Reliability, checkpoint interval and waste of a job.

        Parameters
        ----------
        nodes : int
            Nodes of the job, from the first to the last of the grid.
        hours : duration
            Length of the job, from the shortest to the longest of the grid (1 to 72 hours).
        save : duration
            Time to save, and to restore.
        spares : int
            Standby nodes (0 to 64): the job waits while more nodes are down than these, as in `plan_spares`, and while
            the whole system is down.
        half_repair, without_worst : bool
            With repairs in half the time; without the outlier nodes.

        Returns
        -------
        dict of str to float
            ``survives`` (probability that nothing interrupts the job), ``mtbf`` (hours between its failures),
            ``checkpoint_every`` (best hours of work between two checkpoints) and ``waste`` (share of time lost).

        Raises
        ------
        ArgumentError
            For an invalid duration or number, and for a job outside the grid.

        Examples
        --------
        >>> import relfit as rf
        >>> study = rf.Study(rf.datasets.load("white"))
        >>> answer = study.what_if().at(64, "24h", "5min", spares=2)
        >>> round(answer["survives"], 2), round(answer["checkpoint_every"], 1)
        (0.31, 1.8)
        """
        size = _inside("nodes", float(whole("nodes", nodes)), self.nodes, "")
        length = _inside("hours", float(durations("hours", hours, zero=False)), self.hours, " hours")
        cost = float(durations("save", save))
        gone = int(without_worst)

        def between(values: FloatArray) -> float:  # hazards and rates are nearly straight in the number of nodes
            return float(np.interp(size, self.nodes, values))

        hazards = [between(column) for column in self.hazard.T]
        hazard = float(np.exp(np.interp(np.log(length), np.log(self.hours), np.log(hazards))))
        fewer = 1.0 - (self.excess * between(self.own) if gone else 0.0)
        ready = _inside("spares", float(whole("spares", spares, least=0)), self.spares.astype(np.float64), "")
        waits = np.log(np.maximum(self.wait[gone, int(half_repair)], _LEAST))  # nearly straight in the log of the size
        at_size = [np.interp(np.log(size), np.log(self.nodes), row) for row in waits]
        wait = float(np.exp(np.interp(ready, self.spares, at_size)))
        mtbf = 1.0 / between(1.0 / self.mtbf[gone])
        every = float(exact.best_interval(mtbf, cost, cost))
        waste = float(exact.waste(mtbf, every, cost, cost, wait))
        return {"survives": float(np.exp(-hazard * fewer)), "mtbf": mtbf, "checkpoint_every": every, "waste": waste}

    def sentence(self, nodes: int, hours: Durations = "24h", save: Durations = "5min", **options: Any) -> str:
        """The results of `at` in words; if failures cluster, with the share for evenly spread ones."""
        answer = self.at(nodes, hours, save, **options)
        survives = answer["survives"]
        evenly = float(np.exp(-float(durations("hours", hours)) / answer["mtbf"]))
        if np.isnan(survives):
            runs = "Whether such a job runs through is not known."
        elif abs(evenly - survives) < _NEARLY:
            runs = f"{percent(survives)} of such jobs meet no failure."
        else:
            runs = f"{percent(survives)} of such jobs meet no failure ({percent(evenly)} if failures came evenly)."
        return (
            f"{runs} One comes every {duration(answer['mtbf'])} on average. Checkpoint every "
            f"{duration(answer['checkpoint_every'])}: {percent(answer['waste'])} of the time is lost."
        )


def _inside(name: str, value: float, grid: FloatArray, unit: str) -> float:
    """A value within a grid."""
    if not grid[0] <= value <= grid[-1]:
        what = f"{name} = {value:g}{unit} is outside of what was computed"
        raise ArgumentError(what, remedy=f"give {grid[0]:g} to {grid[-1]:g}{unit}, or ask FleetModel.interval")
    return value


def what_if(model: FleetModel, parameters: Parameters) -> WhatIf:
    """Compute the grid for jobs on consecutive nodes of one system, with its rates and repairs from `relfit.calibrate`.

    A `DataError` if only nodes that failed are known.
    """
    most = int(model.in_service.sum())
    sizes = np.unique([*(_STEP**power for power in range(12) if _STEP**power < most), most]).astype(np.float64)
    lengths = tuple(hours for hours in HOURS if hours < 0.1 * model.period.log.window.hours)
    at = [f"{hours:g}h" for hours in lengths]
    system = str(model.places.systems[0])
    if model.lately is not None and system in model.lately.nodes:  # all that is asked below, in one pass
        model.lately.count(0, system, tuple(sizes.astype(int).tolist()), (*lengths, *PARTS), "packed")
    survived = [
        np.atleast_1d(model.interval("reliability", at, size=int(size), placement="packed", n_draws=19).estimate)
        for size in sizes
    ]
    named = model.nodes_now()
    worst = named[named["outlier"]]
    excess = float((worst["factor"] - 1.0).clip(lower=0.0).sum() / named["factor"].sum()) if len(worst) else 0.0
    rate = rate_of_job(parameters, most, n_draws=19)
    rates = [rate, _changed(rate, failures=1.0 - excess)]
    with np.errstate(divide="ignore", invalid="ignore"):
        hazard = -np.log(np.clip(np.array(survived), 0.0, 1.0))
        hazard[~np.isfinite(hazard)] = np.nan
        own = rate.scopes[0].rate_of(sizes) * replace(rate, counted=None).mtbf_of(sizes)
        cases = [(one, _changed(one, repair=0.5)) for one in rates]
        wait = np.array([[each.wait_of(sizes) for each in pair] for pair in cases])
    fixed = np.array([[each.system_down * each.mtbf_of(sizes) for each in pair] for pair in cases])
    fixed = np.minimum(fixed, wait)[:, :, None]  # spares do not shorten it
    odds = np.ones((2, 2, len(SPARES), sizes.size))
    if rate.scopes[0].mttr is not None:
        changes = np.array([(failures, repairs) for failures in (1.0, 1.0 - excess) for repairs in (1.0, 0.5)])
        odds = waits_with_spares(parameters, sizes.astype(int), np.array(SPARES), changes).reshape(odds.shape)
    shorter = odds / np.maximum(odds[:, :, :1], _LEAST)
    return WhatIf(
        sizes,
        np.array(HOURS[: len(at)]),
        hazard,
        np.asarray(own),
        np.array([one.mtbf_of(sizes) for one in rates]),
        np.array(SPARES),
        fixed + (wait[:, :, None] - fixed) * shorter,
        len(worst),
        excess,
    )


def _changed(rate: JobRate, failures: float = 1.0, repair: float = 1.0) -> JobRate:
    """The same with failures of single nodes, and with times to repair, multiplied."""
    times = [{name: getattr(one, name) for name in ("mttr", "mttr_node")} for one in rate.scopes]
    quicker = [{name: None if hours is None else repair * hours for name, hours in each.items()} for each in times]
    single, *others = (replace(one, **each) for one, each in zip(rate.scopes, quicker, strict=True))
    return replace(rate, scopes=(replace(single, mtbf=single.mtbf / failures), *others))
