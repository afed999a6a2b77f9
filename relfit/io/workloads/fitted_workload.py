"""A workload model fitted to jobs: what users request, how much of it they use, and when they submit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import DataError
from relfit.base.numeric.ragged import Ragged, offsets_of
from relfit.base.results import Result
from relfit.base.text import count, number
from relfit.io.workloads.generator import Generator, numbered, on_the_clock
from relfit.io.workloads.workload import Workload

_KNOTS = 512
_FEW = 30  # jobs in a class; smaller classes are pooled
_SLOT = 3600.0
_WEEK, _DAY = 168, 24


@dataclass(frozen=True)
class Quantiles(Ragged):
    """Distributions by their quantiles, linear between them; all in one table, in turn."""

    values: FloatArray
    levels: FloatArray
    offsets: IntArray

    @classmethod
    def of(cls, samples: list[FloatArray]) -> Quantiles:
        """Quantiles of each sample, closer together towards both ends."""
        values, levels = [], []
        for sample in samples:
            ordered = np.sort(sample)
            knots = min(_KNOTS, max(2, ordered.size))
            level = 0.5 - 0.5 * np.cos(np.pi * np.arange(knots) / (knots - 1))
            position = np.clip(level * ordered.size - 0.5, 0.0, ordered.size - 1.0)
            values.append(np.interp(position, np.arange(ordered.size), ordered))
            levels.append(level)
        offsets = offsets_of([part.size for part in values])
        return cls(np.concatenate(values), np.concatenate(levels), offsets)

    def draw(self, which: IntArray, rng: np.random.Generator) -> FloatArray:
        """One value from the distribution of each number in `which`."""
        result, uniform = np.empty(which.size), rng.random(which.size)
        order = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(self.n_groups + 1))
        for k in range(self.n_groups):  # one job class at a time: some dozens
            rows = order[bounds[k] : bounds[k + 1]]
            part = self.part(k)
            result[rows] = np.interp(uniform[rows], self.levels[part], self.values[part])
        return result


class FittedWorkload(Generator, Result):
    """A model of a workload, to draw others like it; their time 0 is at the same hour of the week.

    Attributes
    ----------
    requests : pandas.DataFrame
        One row per pair of ``nodes`` and ``requested`` (seconds) that users request, with its ``share`` of the jobs
        and the ``group`` of jobs that use their walltime alike.
    groups : pandas.DataFrame
        One row per group: ``nodes_from`` and ``nodes_to``, ``requested_from`` and ``requested_to`` (seconds), ``jobs``,
        mean ``run_time`` (seconds).
    used : Quantiles
        By group, the share of the walltime that a job runs, or its run time in seconds where it has no walltime.
    rates : ndarray, shape (168,), (24,) or (1,)
        Jobs per hour, by hour of the week, of the day, or one for all times.
    gaps : Quantiles
        Gaps between submissions, on a clock on which one job comes per unit of time on average.
    n_jobs : int
        Jobs that the model was fitted to.
    n_nodes : int or None
        Nodes of the machine.
    origin : pandas.Timestamp or None
        The Monday, in UTC, at which time 0 of drawn jobs is; None where the workload has no origin.
    """

    requests: pd.DataFrame
    groups: pd.DataFrame
    used: Quantiles
    rates: FloatArray
    gaps: Quantiles
    n_jobs: int
    n_nodes: int | None
    origin: pd.Timestamp | None

    _not_in_json = ("used", "gaps", "requests")
    _frame = "groups"

    @property
    def headline(self) -> str:
        """Number of jobs fitted, and how often they are submitted."""
        cycle = {_WEEK: "by the hour of the week", _DAY: "by the hour of the day", 1: "at all hours"}[self.rates.size]
        made_of = f"{count(len(self.groups), 'group')} and {count(len(self.requests), 'request')}"
        often = f"{number(float(self.rates.mean()))} jobs an hour on average, {cycle}"
        return f"{count(self.n_jobs, 'job')} in {made_of}; {often}."

    def _drawn(self, size: int, random: np.random.Generator) -> Workload:
        pick = random.choice(len(self.requests), size, p=self.requests["share"].to_numpy())
        requested = self.requests["requested"].to_numpy()[pick]
        used = self.used.draw(self.requests["group"].to_numpy()[pick], random)
        run = np.where(np.isinf(requested), used, used * np.where(np.isinf(requested), 1.0, requested))
        points = np.cumsum(self.gaps.draw(np.zeros(size, dtype=np.int64), random))
        return numbered(
            on_the_clock(points, self.rates, _SLOT),
            self.requests["nodes"].to_numpy()[pick],
            run,
            requested,
            self.n_nodes,
            "drawn from a fitted workload",
            origin=self.origin,
        )


def fit_workload(workload: Workload) -> FittedWorkload:
    """Fit a model of jobs to a workload.

    Nodes and walltime are drawn in the pairs that users request. The share of the walltime that a job runs has the
    quantiles of its group: octaves of nodes and of walltime, those with fewer than 30 jobs joined. Submissions follow
    the hour of the week where the workload spans two weeks or more, the hour of the day from two days on; their gaps
    have the observed quantiles on that clock. Jobs are independent: a user's series of equal jobs is not modelled.

    Parameters
    ----------
    workload : Workload

    Returns
    -------
    FittedWorkload

    Raises
    ------
    DataError
        For fewer than 2 jobs, or when all are submitted at once.

    Examples
    --------
    >>> from relfit.io.workloads import TwoStage
    >>> jobs = TwoStage(256, load=0.7).sample(4000, rng=1)
    >>> fit = fit_workload(jobs)
    >>> again = fit.sample(4000, rng=2)
    >>> bool(abs(again.run_time.mean() / jobs.run_time.mean() - 1.0) < 0.1)
    True
    """
    if len(workload) < 2 or workload.span == 0.0:
        raise DataError("a fit needs jobs that are submitted at different times", remedy="give at least two jobs")
    requested = workload.requested
    limited = np.isfinite(requested) & (requested > 0.0)
    used = workload.run_time / np.where(limited, requested, 1.0)
    group, groups = _groups(workload)
    table = pd.DataFrame({"nodes": workload.nodes, "requested": np.where(limited, requested, np.inf), "group": group})
    requests = table.value_counts(sort=False, normalize=True).rename("share").reset_index()
    requests["share"] /= requests["share"].sum()
    seconds = workload.submit - workload.submit[0]
    if workload.origin is not None:  # since the Monday before
        first = workload.origin + pd.Timedelta(seconds=float(workload.submit[0]))
        begin = 86_400.0 * first.weekday() + (first - first.normalize()).total_seconds()
        origin = (first - pd.Timedelta(seconds=begin)).round("ms")
    else:
        begin, origin = float(workload.submit[0]) % (_WEEK * _SLOT), None
    rates = _rates(seconds + begin, begin)
    points = _points_at(seconds + begin, rates)
    return FittedWorkload(
        requests,
        groups,
        Quantiles.of([used[group == k] for k in range(len(groups))]),
        rates,
        Quantiles.of([np.diff(points)]),
        len(workload),
        workload.n_nodes,
        origin,
    )


def _groups(workload: Workload) -> tuple[IntArray, pd.DataFrame]:
    """Jobs by octave of nodes and of walltime; octaves of few jobs are joined over nodes, then over walltimes."""
    width = np.floor(np.log2(workload.nodes)).astype(np.int64)
    limited = np.isfinite(workload.requested) & (workload.requested > 0.0)
    length = np.where(limited, np.floor(np.log2(np.where(limited, workload.requested, 1.0))), np.inf)
    keys = pd.DataFrame({"width": width.astype(np.float64), "length": length})
    for wider in ("width", "length"):
        size = keys.groupby(["width", "length"])["width"].transform("size")
        keys.loc[(size < _FEW) & np.isfinite(keys["length"] if wider == "length" else keys["width"]), wider] = -1.0
    group = keys.groupby(["length", "width"]).ngroup().to_numpy().astype(np.int64)
    rows = workload.to_frame().groupby(group)
    table = rows.agg(
        nodes_from=("nodes", "min"),
        nodes_to=("nodes", "max"),
        requested_from=("requested", "min"),
        requested_to=("requested", "max"),
        jobs=("nodes", "size"),
        run_time=("run_time", "mean"),
    )
    return group, table.reset_index(drop=True)


def _rates(seconds: FloatArray, begin: float) -> FloatArray:
    """Jobs per hour in each hour of the week, of the day, or over all; the mean over all hours is the mean rate."""
    span = seconds[-1] - begin
    slots = _WEEK if span >= 2 * _WEEK * _SLOT else _DAY if span >= 2 * _DAY * _SLOT else 1
    mean = seconds.size * _SLOT / span
    if slots == 1:
        return np.array([mean])
    hour = np.arange(np.floor(begin / _SLOT), np.ceil(seconds[-1] / _SLOT))
    watched = np.minimum(_SLOT * (hour + 1), seconds[-1]) - np.maximum(_SLOT * hour, begin)
    which = hour.astype(np.int64) % slots
    exposure = np.bincount(which, watched, slots) / _SLOT
    jobs = np.bincount(np.floor(seconds / _SLOT).astype(np.int64) % slots, minlength=slots)
    # an hour without a job counts as half a job
    return np.asarray(np.maximum(jobs, 0.5) / exposure, dtype=np.float64)


def _points_at(seconds: FloatArray, rates: FloatArray) -> FloatArray:
    """Jobs expected from the beginning of the week until each time."""
    passed = np.concatenate([[0.0], np.cumsum(rates)])
    cycles, rest = np.divmod(seconds / _SLOT, rates.size)
    return cycles * passed[-1] + np.interp(rest, np.arange(rates.size + 1.0), passed)
