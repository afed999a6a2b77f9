"""Jobs replayed over the part of a log that no model has seen: did as many go through as was predicted?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from relfit.arguments import durations, share, whole
from relfit.arrays import FloatArray, IntArray
from relfit.errors import ArgumentError, DataError
from relfit.failurelog import FailureLog
from relfit.fleet import FleetModel, chosen_period, fleet_model
from relfit.fleet.job_placement import PLACEMENTS, Nodes, place
from relfit.units import instant
from relfit.validation.predictions import predict
from relfit.validation.replay_results import Replay

__all__ = ["replay"]

_MOST_BLOCKS, _FEWEST_BLOCKS = 20, 4
_SIZES = (1, 4, 16)


def replay(
    log: FailureLog,
    split: Any = 0.75,
    sizes: int | Sequence[int] | None = None,
    lengths: Any = ("6h", "24h", "72h"),
    jobs: int = 1000,
    *,
    period: str | tuple[Any, Any] = "stable",
    first: str = "known",
    model: Any = None,
    placements: str | Sequence[str] = PLACEMENTS,
    since: Any = None,
    blocks: int | None = None,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> Replay:
    """Make a model of the first part of a log, predict jobs in the rest, and look whether they went through.

    Jobs start at random instants after `split`, on nodes that are up then. Whatever takes down one of its nodes
    interrupts a job: an outage of the node, of its rack or group, or of the whole system, the last also when its record
    names no node. Nothing after the split goes into the model; of what lies between the split and a job's start, only
    the ages of its nodes do.

    Parameters
    ----------
    log : FailureLog
        A job runs within one system of it; systems are drawn in proportion to their nodes.
    split : str, datetime or float
        The instant before which the model is made, or its share of the log (from `since` on); the last quarter is held
        out when left out.
    sizes : int or sequence of int, optional
        Nodes of a job; 1, 4 and 16, as far as a system has as many, when left out.
    lengths : duration or sequence of durations
        Hours, or text such as ``"24h"``.
    jobs : int
        Number of instants. At each of them there is a job of every placement, size and length; the nodes of a smaller
        job are among those of a larger one.
    period : {"stable", "all"} or tuple
        What the model is of: the stable period of what lies before the split, or all of it. With ``(since, until)``
        that part is the log, and the model is of all of it before the split.
    first : {"known", "always", "never"}
        As for `relfit.fleet_model`.
    model : function, System or FleetModel, optional
        A function gets the first part of the log and returns the model. A `System` is asked for the reliability of a
        job's nodes with the ages that they have then; what has ``interval("reliability", lengths, size=, placement=,
        system=)`` for that of such jobs. `relfit.fleet_model`, of `period` and with `first`, when left out.
    placements : str or sequence of str
        ``packed`` (consecutive nodes of those that are up), ``spread`` (of every rack the same number of nodes or one
        more) and ``random``.
    since : str or datetime, optional
        Make the model from here on, say to leave out the first months of a system.
    blocks : int, optional
        Blocks of time that limits rest on: 20, or fewer so that a block is at least twice the longest job.
    level : float
        Of all limits, and one minus the risk of failing a model that is right.
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    Replay
        ``fails`` says whether the model fails.

    Raises
    ------
    ArgumentError
        For a size or length that is not above zero, more nodes than any system has, or an unknown placement.
    DataError
        When one of the two parts is too short for the jobs, no job can be placed, or the log has no dates.

    Examples
    --------
    >>> import relfit as rf
    >>> steady = rf.datasets.load("white").between("2003-04-01", "2004-10-01")
    >>> replay(steady, sizes=[1], lengths=["24h"], jobs=200, placements="packed").fails
    False
    """
    lengths_of_jobs = np.unique(durations("lengths", lengths, zero=False))
    if not lengths_of_jobs.size or (sizes is not None and not np.size(sizes)):
        raise ArgumentError("no jobs to replay", remedy="give at least one size and one length")
    how = [placements] if isinstance(placements, str) else list(dict.fromkeys(placements))
    _check(log, how, jobs, level)
    if isinstance(period, tuple):
        log, period = chosen_period(log, period).log, "all"
    begin = log.window.start if since is None else max(instant(since, log.source.timezone), log.window.start)
    middle = _split(log, split, begin)
    hours = pd.Timedelta(hours=1)
    longest, held = float(lengths_of_jobs.max()), (log.window.end - middle) / hours
    for part, length, least in (("first", (middle - begin) / hours, 2.0), ("held-out", held, 2.0 * _FEWEST_BLOCKS)):
        if length < least * longest:
            raise DataError(
                f"the {part} part of the log is {length:.0f} hours long, too short for jobs of {longest:g} hours",
                remedy="move the split, or replay shorter jobs",
            )
    number = int(min(_MOST_BLOCKS, held // (2.0 * longest))) if blocks is None else int(blocks)
    if number < 2:
        raise ArgumentError(f"{number} blocks are too few", remedy="use ten or more")
    systems = Nodes.of(log)
    room = np.array([s.labels.size for s in systems])
    usual = [size for size in _SIZES if size <= room.max(initial=1)]
    sizes_of_jobs = np.unique(whole("sizes", usual if sizes is None else sizes))
    if sizes_of_jobs.max() > room.max():
        raise ArgumentError(
            f"a job of {sizes_of_jobs.max()} nodes on {room.max()} nodes",
            remedy="a job runs within one system; replay smaller jobs",
        )
    make = partial(fleet_model, period=period, first=first) if model is None else model
    made = make(log.between(since, middle)) if callable(make) else make
    generator = np.random.default_rng(rng)
    zero = (middle - log.window.start) / hours
    starts = np.sort(generator.uniform(zero, zero + held - longest, int(jobs)))
    weights = np.where(room >= sizes_of_jobs.max(), room, 0.0)
    system = generator.choice(room.size, starts.size, p=weights / weights.sum())
    parts = [
        _one_system(made, systems[i], starts[system == i], how, sizes_of_jobs, lengths_of_jobs, level, generator)
        for i in np.unique(system)
    ]
    order = np.argsort(np.concatenate([np.flatnonzero(system == i) for i in np.unique(system)]))
    predicted = np.concatenate([p for p, _, _ in parts])[order]
    if np.isnan(predicted).all():
        raise DataError("no job found enough nodes that are up", remedy="replay smaller jobs, or move the split")
    return Replay(
        model=type(made).__name__,
        period=made.period if isinstance(made, FleetModel) else None,
        split=middle,
        window=(begin, log.window.end),
        placements=tuple(how),
        sizes=sizes_of_jobs,
        lengths=lengths_of_jobs,
        start=starts - zero,
        system=np.array([s.system for s in systems], dtype=object)[system],
        survived=np.concatenate([s for _, s, _ in parts])[order],
        predicted=predicted,
        prediction_error=np.max([e for _, _, e in parts], axis=0),
        independent=np.floor(held / lengths_of_jobs) * np.maximum(room.sum() // sizes_of_jobs, 1)[:, None],
        block=np.minimum(((starts - zero) / held * number).astype(np.int64), number - 1),
        level=level,
        seed=int(generator.integers(2**31)),
    )


def _one_system(
    model: Any, nodes: Nodes, starts: FloatArray, how: list[str], sizes: IntArray, lengths: FloatArray, level: float,
    rng: np.random.Generator,
) -> tuple[FloatArray, Any, FloatArray]:  # fmt: skip
    """Predicted reliability and survival, shape (jobs, placements, sizes, lengths), and the predictions' errors."""
    largest = int(sizes.max())
    jobs = {name: place(nodes, starts, name, largest, float(lengths.max()), rng) for name in how}
    predicted, error = predict(model, nodes, jobs, sizes, lengths, level)
    ends = np.stack([one.ends[:, sizes - 1] for one in jobs.values()], axis=1)
    return predicted, ends[..., None] > lengths, error  # an outage at the last instant ends the job


def _check(log: FailureLog, how: list[str], jobs: int, level: float) -> None:
    if log.lifetimes is not None:
        raise DataError("this log holds times to failure without dates", remedy="replay a log of failures in time")
    unknown = [name for name in how if name not in PLACEMENTS]
    if unknown or not how:
        raise ArgumentError(f"placements={unknown!r} are not known", remedy=f"use some of {', '.join(PLACEMENTS)}")
    whole("jobs", jobs)
    share("level", level, zero=False, one=False)


def _split(log: FailureLog, split: Any, begin: pd.Timestamp) -> pd.Timestamp:
    last = log.window.end
    if not begin < last:
        raise ArgumentError(f"since={begin:%Y-%m-%d} is not before the end of the log, {last:%Y-%m-%d}")
    if isinstance(split, (float, int)) and not isinstance(split, bool):
        return begin + (last - begin) * float(share("split", split, zero=False, one=False))
    middle = instant(split, log.source.timezone)
    if not begin < middle < last:
        raise ArgumentError(
            f"split {split} is outside the log", remedy=f"it covers {begin:%Y-%m-%d} to {last:%Y-%m-%d}"
        )
    return middle
