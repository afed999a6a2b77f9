"""Jobs replayed over the part of a log that was not fitted: did as many survive as was predicted?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arguments import durations, share, whole
from relfit.arrays import FloatArray, IntArray
from relfit.errors import ArgumentError, DataError
from relfit.families import Family, family_named
from relfit.fitting import fit, pool
from relfit.units import instant
from relfit.validation.job_placement import Fleet, Placed, place
from relfit.validation.replay_results import Replay

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog
    from relfit.lifedata import LifeData

__all__ = ["replay"]


_CELLS_AT_ONCE = 2_000_000
_MOST_BLOCKS, _FEWEST_BLOCKS = 20, 4
PARAMETERS = ("pooled", "fleet", "node")


def replay(
    log: FailureLog,
    split: Any = 0.5,
    sizes: int | Sequence[int] = (1, 4, 16),
    lengths: Any = ("6h", "24h", "72h"),
    jobs: int = 1000,
    families: str | Sequence[str] = ("weibull", "exponential"),
    *,
    parameters: str = "pooled",
    origin: str = "failure",
    since: Any = None,
    blocks: int | None = None,
    level: float = 0.95,
    rng: int | np.random.Generator | None = 0,
) -> Replay:
    """Fit the first part of a log, predict jobs in the rest, and look whether they survived.

    Jobs begin at random instants after `split`, on random nodes that are up. The probability that none of its nodes
    fails within a job's length follows from the nodes' fitted distributions and their ages at that instant
    (reliability-aware allocation, section 4.2); the log tells whether one did. Nothing after the split is used for
    fitting; of what lies between the split and a job's beginning, only the ages are.

    Parameters
    ----------
    log : FailureLog
        A job runs within one system of it; systems are drawn in proportion to their nodes.
    split : str, datetime or float
        The instant before which is fitted, or its share of the observation, from `since` on.
    sizes : int or sequence of int
        Nodes of a job.
    lengths : duration or sequence of durations
        Hours, or text such as ``"24h"``.
    jobs : int
        Number of instants. At each of them there is a job of every size and length; the nodes of a smaller job are
        among those of a larger one.
    families : str or sequence of str
        Families to compare; the first is the one that `Replay.headline` and `Replay.compare` take.
    parameters : {"pooled", "fleet", "node"}
        Every node drawn towards the fleet as far as its own failures leave open (`Fits.pool`), one fit for all nodes,
        or each node's own, and the fleet's where a node has none.
    origin : {"failure", "repair"}
        Whether age counts from the last failure or from the end of the last outage; see `FailureLog.ttf`.
    since : str or datetime, optional
        Fit from here on, say to leave out the first months of a system.
    blocks : int, optional
        Blocks of time that limits rest on: 20, or fewer so that a block is at least twice the longest job.
    level : float
        Of all limits.
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    Replay

    Raises
    ------
    ArgumentError
        For a size or length that is not above zero, more nodes than any system has, an unknown family or kind of
        parameters.
    DataError
        When one of the two parts is too short for the jobs, nothing failed in the first, or the log has no dates.

    Examples
    --------
    >>> import relfit as rf
    >>> replayed = replay(rf.datasets.load("white"), sizes=[1, 8], lengths=["24h"], jobs=400, families=["exponential"])
    >>> replayed.n_jobs, replayed.sizes.tolist(), replayed.lengths.tolist()
    (800, [1, 8], [24.0])
    """
    sizes_of_jobs = np.unique(whole("sizes", sizes))
    lengths_of_jobs = np.unique(durations("lengths", lengths, zero=False))
    if not (sizes_of_jobs.size and lengths_of_jobs.size):
        raise ArgumentError("no jobs to replay", remedy="give at least one size and one length")
    names = [families] if isinstance(families, str) else list(dict.fromkeys(families))
    kinds = [family_named(name) for name in names]
    _check(log, kinds, parameters, origin, jobs, level)
    first, last = log.window.start, log.window.end
    longest = float(lengths_of_jobs.max())
    begin = first if since is None else max(instant(since, log.source.timezone), first)
    middle = _split(log, split, begin)
    fitted_hours = (middle - begin) / pd.Timedelta(hours=1)
    held_hours = (last - middle) / pd.Timedelta(hours=1)
    for part, length in (("fitted", fitted_hours), ("held-out", held_hours)):
        if length < (2.0 if part == "fitted" else 2.0 * _FEWEST_BLOCKS) * longest:
            raise DataError(
                f"the {part} part of the log is {length:.0f} hours long, too short for jobs of {longest:g} hours",
                remedy="move the split, or replay shorter jobs",
            )
    generator = np.random.default_rng(rng)
    fleet = Fleet.of(log, origin)
    if sizes_of_jobs.max() > np.diff(fleet.pool_offsets).max():
        raise ArgumentError(
            f"a job of {sizes_of_jobs.max()} nodes on {np.diff(fleet.pool_offsets).max()} nodes",
            remedy="a job runs within one system; replay smaller jobs",
        )
    times = log.ttf(origin=origin, since=since, until=middle)
    if int(times.n_failures.sum()) == 0:
        raise DataError("nothing failed in the part of the log that is to be fitted", remedy="move the split")
    models = {kind.name: _parameters(kind, times, parameters) for kind in kinds}
    start = (middle - first) / pd.Timedelta(hours=1)
    placed = place(fleet, jobs, start, start + held_hours, sizes_of_jobs, longest, generator)
    earlier = (begin - first) / pd.Timedelta(hours=1)
    before = place(fleet, jobs, earlier, start, sizes_of_jobs, longest, generator)
    predicted = {
        kind.name: _predict(kind, models[kind.name], placed.chosen, placed.age, sizes_of_jobs, lengths_of_jobs)
        for kind in kinds
    }
    number = int(min(_MOST_BLOCKS, held_hours // (2.0 * longest))) if blocks is None else int(blocks)
    if number < 2:
        raise ArgumentError(f"{number} blocks are too few", remedy="use ten or more")
    return Replay(
        families=tuple(predicted),
        parameters=parameters,
        split=middle,
        window=(begin, last),
        sizes=sizes_of_jobs,
        lengths=lengths_of_jobs,
        start=placed.at - start,
        system=fleet.systems[placed.pool],
        chosen=placed.chosen,
        age=placed.age,
        placed=placed.count[:, None] >= sizes_of_jobs,
        survived=_survived(placed, sizes_of_jobs, lengths_of_jobs),
        predicted=predicted,
        reference=_reference(before, sizes_of_jobs, lengths_of_jobs),
        block=np.minimum(((placed.at - start) / held_hours * number).astype(np.int64), number - 1),
        fitted_failures=int(times.n_failures.sum()),
        nodes=fleet.names,
        level=level,
        seed=int(generator.integers(2**31)),
    )


def _check(log: FailureLog, kinds: list[type[Family]], parameters: str, origin: str, jobs: int, level: float) -> None:
    if log.lifetimes is not None:
        raise DataError("this log holds times to failure without dates", remedy="replay a log of failures in time")
    if not kinds:
        raise ArgumentError("no family to replay", remedy="give families=['weibull', 'exponential']")
    if parameters not in PARAMETERS:
        raise ArgumentError(f"parameters={parameters!r} is not known", remedy=f"use one of {', '.join(PARAMETERS)}")
    if origin not in ("failure", "repair"):
        raise ArgumentError(f"origin={origin!r} is not known", remedy="use failure or repair")
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


def _parameters(kind: type[Family], times: LifeData, how: str) -> FloatArray:
    """Parameters of every node, shape (nodes, k)."""
    if how == "pooled":
        with_failures = int((times.n_failures > 0).sum())
        if with_failures >= 3:
            try:
                pooled = pool(kind, times)
            except ArgumentError:  # fewer than three nodes have a fit of their own: there is only the fleet
                how = "fleet"
            else:
                mean = kind.from_free(pooled.fleet_mean)
                return np.where(np.isnan(pooled.parameter_array), mean, pooled.parameter_array)
    whole = fit(times.pooled(), [kind.name])[kind.name]
    if not whole.ok[0]:
        raise DataError(
            f"the {kind.name} family cannot be fitted to the first part of the log ({whole.status[0]})",
            remedy="choose another family, or keep gaps of length zero apart",
        )
    fleet = np.broadcast_to(whole.parameter_array, (times.n_groups, whole.parameter_array.shape[1]))
    if how != "node":
        return np.array(fleet)
    own = fit(times, [kind.name])[kind.name].parameter_array
    return np.where(np.isnan(own), fleet, own)


def _survived(placed: Placed, sizes: IntArray, lengths: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether no node of each job failed, shape (jobs, sizes, lengths); a failure at the last instant ends the job."""
    first = np.minimum.accumulate(np.where(placed.chosen < 0, np.inf, placed.failure), axis=1)[:, sizes - 1]
    return np.asarray(first[:, :, None] > lengths)


def _reference(placed: Placed, sizes: IntArray, lengths: FloatArray) -> FloatArray:
    """Share that survived in the fitted part of the log, shape (sizes, lengths)."""
    there = placed.count[:, None] >= sizes
    lived = (_survived(placed, sizes, lengths) & there[:, :, None]).sum(axis=0)
    # half a job each way keeps the reference from being certain
    return np.asarray((lived + 0.5) / (there.sum(axis=0)[:, None] + 1.0))


def _predict(
    kind: type[Family], parameters: FloatArray, chosen: npt.NDArray[np.int32], age: FloatArray, sizes: IntArray,
    lengths: FloatArray,
) -> FloatArray:  # fmt: skip
    """Reliability of every job, shape (jobs, sizes, lengths)."""
    jobs, width = chosen.shape
    out = np.empty((jobs, sizes.size, lengths.size))
    step = max(1, _CELLS_AT_ONCE // (width * lengths.size))
    for begin in range(0, jobs, step):
        part = slice(begin, begin + step)
        own = parameters[np.maximum(chosen[part], 0)][:, :, None, :]
        distribution = kind.unchecked(*np.moveaxis(own, -1, 0))
        t = np.where(chosen[part] < 0, 0.0, age[part])[:, :, None]
        with np.errstate(invalid="ignore"):
            hazard = distribution.log_sf(t) - distribution.log_sf(t + lengths)
        hazard = np.where(chosen[part][:, :, None] < 0, 0.0, hazard)
        # at ages that a family takes for impossible the job fails at once
        hazard = np.where(np.isnan(hazard), np.inf, hazard)
        out[part] = np.exp(-np.cumsum(hazard, axis=1)[:, sizes - 1])
    return out
