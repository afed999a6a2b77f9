"""`backtest`: predictions of a log's own past from many origins, compared with the outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from relfit.backtesting.backtest_results import COLUMNS, Backtest
from relfit.backtesting.forecast_scores import ForecastScores
from relfit.backtesting.interval_scores import IntervalScores
from relfit.backtesting.job_scores import JobScores
from relfit.backtesting.node_scores import NodeScores
from relfit.backtesting.origins import DAY, SystemPast, origins_of
from relfit.base.arguments import durations, share, whole
from relfit.base.arrays import Durations, IntArray
from relfit.base.errors import ArgumentError, DataError, RelfitError
from relfit.base.numeric.levels import level_checked
from relfit.base.text import count
from relfit.base.units import hours as hours_of
from relfit.fleet import fleet_model
from relfit.fleet.job_placement import NodeOutages
from relfit.log.failurelog import FailureLog
from relfit.log.tables import made_once
from relfit.system.jobs import Checkpoint

PARTS = ("forecasts", "jobs", "nodes", "decisions")
_SIZES = (1, 16, 64)
_MODELS, _ALL_MODELS = 12, 240  # most models of the fleet, a second each: per system, in all
_CHECKPOINT = Checkpoint(save="6min", restore="6min")

Progress = Callable[[str, float], None]
"""Called with the current task and the share done."""


@made_once
def backtest(  # noqa: PLR0913 - what is tested, named one by one
    log: FailureLog,
    *,
    parts: str | Sequence[str] | None = None,
    horizons: Durations = ("30d", "90d"),
    every: object = None,
    sizes: int | Sequence[int] | None = None,
    lengths: object = None,
    by: str | None = "cause",
    group: str | None = None,
    checkpoint: Checkpoint | None = None,
    service: float = 0.95,
    level: float = 0.9,
    fast: bool = False,
    progress: Progress | None = None,
    rng: int = 0,
) -> Backtest:
    """Predict a log's own past from many origins, and compare predictions and simple counts with the outcome.

    At each origin the log is cut. Predictions from it are compared with the log after it, and so are simple counts:
    failures of the last 6 or 3 windows as long as the horizon (negative binomial with their mean and variance), jobs of
    the last 180 days, failures of each node in the last 365 or 90 days, and Young's checkpoint interval with the mean
    time between interruptions of the last 180 days.

    Parameters
    ----------
    log : FailureLog
        With dated events. Several systems are tested separately.
    parts : str or sequence of str, optional
        Some of ``"forecasts"`` (failures of each system, and by rack and cause), ``"jobs"`` (share without
        interruption over the next 90 days), ``"nodes"`` (those that fail in the next 30 days) and ``"decisions"``
        (checkpoint interval and drained nodes over the next 90 days, stock of parts over the horizons), or ``"all"``.
        By default forecasts, with `sizes` or `lengths` also jobs, with `checkpoint` also decisions: these need a model
        of the fleet at every origin, a second each.
    horizons : duration or sequence of durations
        Horizons of forecasts, in whole days.
    every : duration, optional
        Time between two origins, in whole days; by default 30 days or more, for about sixty origins at most. The first
        is a year, or a third of the log if shorter, after its start; the last is the shortest horizon before its end.
    sizes : int or sequence of int, optional
        Nodes of jobs; by default 1, 16 and 64, if a system has twice as many.
    lengths : duration or sequence of durations, optional
        Lengths of jobs, hours or text; by default 24 hours.
    by, group : str, optional
        Columns with the kind of a failure and the location of a node, as for `relfit.forecast`. With ``by=None``
        forecasts are only of complete systems, which takes a second.
    checkpoint : Checkpoint, optional
        Time to write and to restore a checkpoint; six minutes each by default.
    service : float
        Probability that a stock of parts lasts.
    level : float
        Level of the predictions' intervals and of the limits of their scores.
    fast : bool
        Omit parts that need a model of the fleet at every origin, and the continuous ranked probability score:
        forecasts are of complete systems, and jobs are predicted from daily shares alone.
    progress : callable, optional
        Called with the current task and the share done.
    rng : int
        Seed of random futures and of the resampled blocks of time.

    Raises
    ------
    ArgumentError
        For a log of lifetimes, an unknown part or column, a level or service outside 0..1, or an invalid size, length
        or horizon.
    DataError
        If the log is too short: fewer than four origins, or fewer than thirty records.

    Notes
    -----
    Jobs, nodes, decisions and forecasts by rack and cause are tested from twelve of the origins (fewer for each of many
    systems) unless `every` is set, because each needs a model or a forecast with random futures. Intervals come from
    resampled blocks of origins, because neighbouring windows overlap, and are widened for the number of blocks.

    Examples
    --------
    >>> import relfit as rf
    >>> tested = rf.backtest(rf.datasets.load("white"), parts="forecasts", by=None)
    >>> tested.summary[["horizon", "windows"]].to_numpy().tolist()
    [[720.0, 39.0], [2160.0, 37.0]]
    """
    if parts is None:
        of_jobs = sizes is not None or lengths is not None
        parts = ["forecasts", *(["jobs"] if of_jobs else []), *(["decisions"] if checkpoint is not None else [])]
    wanted = [parts] if isinstance(parts, str) else list(dict.fromkeys(parts))
    wanted = list(PARTS) if "all" in wanted else wanted
    unknown = [f"part {part!r} is not known" for part in wanted if part not in PARTS]
    if unknown or not wanted:
        raise ArgumentError(
            (unknown or ["no part to test"])[0], remedy=f"use all, or one or more of {', '.join(PARTS)}"
        )
    if log.lifetimes is not None and not len(log.events):
        raise ArgumentError("this log holds lifetimes without dates: there is no past to predict from")
    level_checked(level)
    share("service", service, zero=False, one=False)
    if by is not None and by not in log.events.columns:
        raise ArgumentError(f"the events of this log have no column {by!r}", remedy="use cause, or another of them")
    ahead = _days("horizons", horizons)
    step = None if every is None else _days("every", every)[0] / 24.0
    jobs_for = tuple(np.unique(durations("lengths", ("24h",) if lengths is None else lengths, zero=False)).tolist())
    jobs_of = None if sizes is None else tuple(np.unique(whole("sizes", sizes)).tolist())
    if not jobs_for or jobs_of == ():
        raise ArgumentError("no jobs to test", remedy="give at least one size and one length")
    origins = origins_of(log, ahead[0], step)
    detailed = None if fast else by
    scores = ForecastScores(ahead, level, service, detailed, group, rng, ranked=not fast)
    run = _Run(
        wanted,
        jobs_of,
        jobs_for,
        checkpoint or _CHECKPOINT,
        level,
        fast,
        rng,
        scores,
        progress or (lambda what, done: None),
    )
    pasts = run.systems(log, origins, ahead[0])
    models = origins.size if step is not None else max(4, min(_MODELS, _ALL_MODELS // len(pasts)))
    for i, past in enumerate(pasts):
        run.test(past, models, len(pasts), i)
    if "forecasts" in wanted:
        scores.together()
    table = pd.DataFrame(run.rows + scores.rows).reindex(columns=list(COLUMNS))
    table = table[table["part"].isin(wanted)]
    if not len(table):
        problem = next(iter({**run.problems, **scores.problems}), "no origin has a past and a future")
        raise DataError(f"nothing could be tested: {problem}", remedy="take a longer log, or other parts")
    table["origin"] = pd.to_datetime(table["origin"], utc=True).dt.tz_convert(log.source.timezone)
    table = table.assign(_part=table["part"].map(wanted.index))
    table = table.sort_values(["_part", "of", "origin"], kind="stable").drop(columns="_part")
    problems = (run.problems + scores.problems).items()
    notes = tuple(f"{text} ({count(times, 'time')})" if times > 1 else text for text, times in problems)
    between = float(np.diff(origins).min()) / DAY
    about = (between, log.window.start, log.window.end, notes, rng, scores.group_name, fast)
    return Backtest(table.reset_index(drop=True), level, service, *about)


def _days(name: str, value: object) -> list[float]:
    """Durations of whole days, in hours, sorted."""
    items = [value] if isinstance(value, str) or not isinstance(value, (Sequence, np.ndarray)) else list(value)
    hours = sorted({hours_of(item) for item in items})
    bad = next((one for one in hours if not (one >= 24.0 and np.isfinite(one) and one % 24.0 == 0.0)), None)
    if bad is not None or not hours:
        raise ArgumentError(f"{name}={value!r} is not possible", remedy="give whole days, as 30d")
    return hours


@dataclass
class _Run:
    """The settings of a backtest, and the rows so far."""

    parts: list[str]
    sizes: tuple[int, ...] | None
    lengths: tuple[float, ...]
    checkpoint: Checkpoint
    level: float
    fast: bool
    seed: int
    forecasts: ForecastScores
    progress: Progress
    rows: list[dict[str, Any]] = field(default_factory=list, init=False)
    problems: Counter[str] = field(default_factory=Counter, init=False)

    def systems(self, log: FailureLog, origins: IntArray, horizon: float) -> list[SystemPast]:
        """The systems of a log that can be tested."""
        names = log.systems or ("",)
        pasts = []
        for name in names:
            try:
                one = log.where(system=name) if len(names) > 1 else log
                pasts.append(SystemPast.of(one, str(name), origins, horizon))
            except DataError as error:
                self.problems[f"system {name} left out: {error}"] += 1
        if not pasts:
            what = f"nothing to test: {next(iter(self.problems))}"
            raise DataError(what, remedy="take a log of thirty failures or more")
        return pasts

    def test(self, past: SystemPast, models: int, systems: int, i: int) -> None:
        """Test all parts of one system."""
        named = f" of system {past.name}" if systems > 1 else ""
        modelled = bool({"jobs", "nodes", "decisions"} & set(self.parts))
        stages = 0.25 if modelled and not self.fast else 1.0

        def say(first: float, width: float, what: str) -> Callable[[float], None]:
            return lambda done: self.progress(f"{what}{named}", (i + first + width * done) / systems)

        number = past.origins.size
        chosen = past.origins[np.unique(np.linspace(0, number - 1, min(models, number)).round()).astype(np.int64)]
        if "forecasts" in self.parts:
            self.forecasts.totals(past, "all" if systems == 1 else "system", say(0.0, 0.5 * stages, "forecasts"))
        if {"forecasts", "decisions"} & set(self.parts):
            self.forecasts.parts(past, chosen, say(0.5 * stages, 0.5 * stages, "forecasts by cause"))
        if not modelled:
            return
        if past.log.question is not None:
            self.problems[f"no jobs and nodes{named}: {past.log.question}"] += 1
            return
        nodes = next(iter(NodeOutages.of(past.log)), None)
        if nodes is None:
            self.problems[f"no jobs and nodes{named}: no node is known"] += 1
            return
        sizes = self.sizes or tuple(k for k in _SIZES if 2 * k <= nodes.labels.size or k == 1)
        jobs = JobScores(past, nodes, sizes, self.lengths, self.level, self.seed) if "jobs" in self.parts else None
        if self.fast:
            for origin in past.origins.tolist() if jobs is not None else ():
                assert jobs is not None
                self.rows += jobs.rows(origin, partial(jobs.by_counts, origin=origin))
            return
        ranks = NodeScores(past)
        saves = IntervalScores(past, nodes, sizes, self.checkpoint, self.level, self.seed)
        tell = say(stages, 1.0 - stages, "models")
        for j, origin in enumerate(chosen.tolist()):
            try:
                part = past.cut(origin)
                model = fleet_model(part, level=self.level, rng=self.seed)
                if jobs is not None:
                    self.rows += jobs.rows(origin, jobs.by_model(model))
                self.rows += ranks.rows(origin, model)
                if "decisions" in self.parts:
                    self.rows += saves.rows(origin, part, model)
            except RelfitError as error:  # other origins continue
                self.problems[f"no model{named}: {error}"] += 1
            tell((j + 1) / chosen.size)
        self.problems += saves.problems
