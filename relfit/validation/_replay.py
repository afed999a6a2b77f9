"""Jobs replayed over the part of a log that was not fitted: did as many survive as was predicted?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError, DataError
from relfit.families import Family, family_named
from relfit.outages import outages_of
from relfit.units import NANOSECONDS_PER_HOUR, hours, instant
from relfit.validation.replay_kernels import place_jobs
from relfit.validation.replay_results import Replay

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog
    from relfit.lifedata import LifeData

__all__ = ["replay"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

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
    nodes: Iterable[Any] | None = None,
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
        Families to compare; the first is the one that `Replay.sentence` and `Replay.compare` take.
    parameters : {"pooled", "fleet", "node"}
        Every node drawn towards the fleet as far as its own failures leave open (`Fits.pool`), one fit for all nodes,
        or each node's own, and the fleet's where a node has none.
    origin : {"failure", "repair"}
        Whether age counts from the last failure or from the end of the last outage; see `FailureLog.lives`.
    nodes : iterable of labels, optional
        Run jobs on these only: names of nodes, or pairs of system and node. All of the log are fitted.
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
        For a size or length that is not above zero, more nodes than any system has, an unknown family, node or kind of
        parameters.
    DataError
        When one of the two parts is too short for the jobs, nothing failed in the first, or the log has no dates.

    Examples
    --------
    >>> import relfit as rf
    >>> found = replay(rf.datasets.load("white"), sizes=[1, 8], lengths=["24h"], jobs=400, families=["exponential"])
    >>> found.n_jobs, found.sizes.tolist(), found.lengths.tolist()
    (800, [1, 8], [24.0])
    """
    sizes_asked, lengths_asked = _sizes(sizes), _lengths(lengths)
    names = [families] if isinstance(families, str) else list(dict.fromkeys(families))
    kinds = [family_named(name) for name in names]
    _check(log, kinds, parameters, origin, jobs, level)
    first, last = log.window.start, log.window.end
    longest = float(lengths_asked.max())
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
    fleet = _Fleet.of(log, origin, nodes)
    if sizes_asked.max() > np.diff(fleet.pool_offsets).max():
        raise ArgumentError(
            f"a job of {sizes_asked.max()} nodes on {np.diff(fleet.pool_offsets).max()} nodes",
            remedy="a job runs within one system; replay smaller jobs",
        )
    lives = log.ttf(origin=origin, since=since, until=middle)
    if int(lives.n_failures.sum()) == 0:
        raise DataError("nothing failed in the part of the log that is to be fitted", remedy="move the split")
    models = {kind.name: _parameters(kind, lives, parameters) for kind in kinds}
    start = (middle - first) / pd.Timedelta(hours=1)
    placed = _place(fleet, jobs, start, start + held_hours, sizes_asked, longest, generator)
    earlier = (begin - first) / pd.Timedelta(hours=1)
    before = _place(fleet, jobs, earlier, start, sizes_asked, longest, generator)
    predicted = {
        kind.name: _predict(kind, models[kind.name], placed.chosen, placed.age, sizes_asked, lengths_asked)
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
        sizes=sizes_asked,
        lengths=lengths_asked,
        start=placed.at - start,
        system=fleet.systems[placed.pool],
        chosen=placed.chosen,
        age=placed.age,
        placed=placed.found[:, None] >= sizes_asked,
        survived=_survived(placed, sizes_asked, lengths_asked),
        predicted=predicted,
        reference=_reference(before, sizes_asked, lengths_asked),
        block=np.minimum(((placed.at - start) / held_hours * number).astype(np.int64), number - 1),
        fitted_failures=int(lives.n_failures.sum()),
        nodes=fleet.names,
        level=level,
        seed=int(generator.integers(2**31)),
    )


# ------------------------------------------------------------------- what is asked


def _check(log: FailureLog, kinds: list[type[Family]], parameters: str, origin: str, jobs: int, level: float) -> None:
    if log.lifetimes is not None:
        raise DataError("this log holds whole lives without dates", remedy="a replay needs a log of failures in time")
    if not kinds:
        raise ArgumentError("no family to replay", remedy="give families=['weibull', 'exponential']")
    if parameters not in PARAMETERS:
        raise ArgumentError(f"parameters={parameters!r} is not known", remedy=f"use one of {', '.join(PARAMETERS)}")
    if origin not in ("failure", "repair"):
        raise ArgumentError(f"origin={origin!r} is not known", remedy="use failure or repair")
    if jobs < 1:
        raise ArgumentError(f"{jobs} jobs are too few", remedy="use some hundred or more")
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")


def _sizes(sizes: int | Sequence[int]) -> IntArray:
    values = np.atleast_1d(np.asarray(sizes))
    if not values.size or values.dtype.kind not in "iu" or values.min() < 1:
        raise ArgumentError(f"sizes {sizes!r} are not numbers of nodes", remedy="give whole numbers from 1 on")
    return np.unique(values).astype(np.int64)


def _lengths(lengths: Any) -> FloatArray:
    listed = [lengths] if isinstance(lengths, str) or not isinstance(lengths, Iterable) else list(lengths)
    values = np.unique([hours(length) for length in listed])
    if not values.size or values[0] <= 0.0 or not np.isfinite(values[-1]):
        raise ArgumentError(f"lengths {lengths!r} of jobs must be above zero", remedy="give hours, or '24h'")
    return values


def _split(log: FailureLog, split: Any, begin: pd.Timestamp) -> pd.Timestamp:
    last = log.window.end
    if not begin < last:
        raise ArgumentError(f"since={begin:%Y-%m-%d} is not before the end of the log, {last:%Y-%m-%d}")
    if isinstance(split, (float, int)) and not isinstance(split, bool):
        if not 0.0 < split < 1.0:
            raise ArgumentError(f"split {split:g} is no share of the log", remedy="give 0.5, or a date as text")
        return begin + (last - begin) * float(split)
    found = instant(split, log.source.timezone)
    if not begin < found < last:
        raise ArgumentError(
            f"split {split} is outside the log", remedy=f"it covers {begin:%Y-%m-%d} to {last:%Y-%m-%d}"
        )
    return found


# ---------------------------------------------------------------- nodes and their outages


@dataclass(frozen=True)
class _Fleet:
    """Nodes with their outages in hours from the beginning of the log, and the pools that jobs take nodes from."""

    starts: FloatArray
    ends: FloatArray
    renewals: FloatArray
    offsets: IntArray
    entered: FloatArray
    left: FloatArray
    members: IntArray
    pool_offsets: IntArray
    systems: npt.NDArray[Any]
    names: pd.Index

    @classmethod
    def of(cls, log: FailureLog, origin: str, nodes: Iterable[Any] | None) -> _Fleet:
        found = outages_of(log)
        zero = log.window.start.as_unit("ns").value

        def in_hours(nanoseconds: IntArray) -> FloatArray:
            return (nanoseconds - zero) / NANOSECONDS_PER_HOUR

        starts, ends = in_hours(found.start), in_hours(found.end)
        entered = in_hours(found.entered)
        # an outage that was under way when observation began ends no life, so age still counts from the beginning
        renewals = ends if origin == "repair" else np.where(found.start_cut, entered[found.code], starts)
        system = found.groups.get_level_values(0).to_numpy(dtype=object)
        usable = np.flatnonzero(_chosen(found.groups, nodes))
        systems, pool = np.unique(system[usable].astype(str), return_inverse=True)
        order = np.argsort(pool, kind="stable")
        return cls(
            starts, ends, renewals,
            found.offsets,
            entered, in_hours(found.left), usable[order].astype(np.int64),
            np.concatenate([[0], np.cumsum(np.bincount(pool, minlength=systems.size))]).astype(np.int64),
            systems, found.groups,
        )  # fmt: skip


def _chosen(groups: pd.Index, nodes: Iterable[Any] | None) -> npt.NDArray[np.bool_]:
    if nodes is None:
        return np.ones(len(groups), dtype=np.bool_)
    wanted = [nodes] if isinstance(nodes, (str, int)) else list(nodes)
    names = groups.get_level_values(1).astype(str)
    chosen = np.zeros(len(groups), dtype=np.bool_)
    for label in wanted:
        if isinstance(label, tuple):
            hit = (groups.get_level_values(0).astype(str) == str(label[0])) & (names == str(label[1]))
        else:
            hit = names == str(label)
        if not hit.any():
            raise ArgumentError(f"no node {label!r} in this log", remedy=f"there is {', '.join(names[:6])} ...")
        chosen |= np.asarray(hit)
    if not chosen.any():
        raise ArgumentError("no nodes to run jobs on", remedy="give some, or leave nodes out")
    return chosen


def _parameters(kind: type[Family], lives: LifeData, how: str) -> FloatArray:
    """Parameters of every node, shape (nodes, k)."""
    from relfit.fitting import fit, pool

    if how == "pooled":
        with_failures = int((lives.n_failures > 0).sum())
        if with_failures >= 3:
            try:
                pooled = pool(kind, lives)
            except ArgumentError:  # fewer than three nodes have a fit of their own: there is only the fleet
                how = "fleet"
            else:
                mean = kind.from_free(pooled.fleet_mean)
                return np.where(np.isnan(pooled.parameter_array), mean, pooled.parameter_array)
    whole = fit(lives.pooled(), [kind.name])[kind.name]
    if not whole.ok[0]:
        raise DataError(
            f"the {kind.name} family cannot be fitted to the first part of the log ({whole.status[0]})",
            remedy="choose another family, or keep gaps of length zero apart",
        )
    fleet = np.broadcast_to(whole.parameter_array, (lives.n_groups, whole.parameter_array.shape[1]))
    if how != "node":
        return np.array(fleet)
    own = fit(lives, [kind.name])[kind.name].parameter_array
    return np.where(np.isnan(own), fleet, own)


# ------------------------------------------------------------------------------ jobs


@dataclass(frozen=True)
class _Placed:
    """Jobs at their instants: nodes, ages, and hours to each node's next failure, in the order drawn."""

    at: FloatArray
    pool: IntArray
    chosen: npt.NDArray[np.int32]
    age: FloatArray
    failure: FloatArray
    found: IntArray


def _place(
    fleet: _Fleet, jobs: int, since: float, until: float, sizes: IntArray, longest: float, rng: np.random.Generator
) -> _Placed:
    at = np.sort(rng.uniform(since, until - longest, jobs))
    # only systems that are large enough for the largest job, so that sizes are compared on equal terms
    room = np.diff(fleet.pool_offsets).astype(np.float64)
    room[room < sizes.max()] = 0.0
    pool = rng.choice(room.size, jobs, p=room / room.sum())
    seeds = rng.integers(0, 2**63, jobs, dtype=np.int64).astype(np.uint64)
    shape = (jobs, int(sizes.max()))
    chosen, age, failure = np.full(shape, -1, np.int32), np.full(shape, np.nan), np.full(shape, np.nan)
    found = np.zeros(jobs, dtype=np.int64)
    place_jobs(
        at, pool, seeds, fleet.members, fleet.pool_offsets, fleet.starts, fleet.ends, fleet.renewals, fleet.offsets,
        fleet.entered, fleet.left, longest, chosen, age, failure, found,
    )  # fmt: skip
    return _Placed(at, pool, chosen, age, failure, found)


def _survived(placed: _Placed, sizes: IntArray, lengths: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether no node of each job failed, shape (jobs, sizes, lengths); a failure at the last instant ends the job."""
    first = np.minimum.accumulate(np.where(placed.chosen < 0, np.inf, placed.failure), axis=1)[:, sizes - 1]
    return np.asarray(first[:, :, None] > lengths)


def _reference(placed: _Placed, sizes: IntArray, lengths: FloatArray) -> FloatArray:
    """Share that survived in the fitted part of the log, shape (sizes, lengths)."""
    there = placed.found[:, None] >= sizes
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
            spent = distribution.log_sf(t) - distribution.log_sf(t + lengths)
        spent = np.where(chosen[part][:, :, None] < 0, 0.0, spent)
        # at ages that a family thinks impossible nothing is left to lose: the job fails at once
        spent = np.where(np.isnan(spent), np.inf, spent)
        out[part] = np.exp(-np.cumsum(spent, axis=1)[:, sizes - 1])
    return out
