"""On how many nodes a job is done first: expected completion time for k = 1..K nodes of an order, and RA-Opt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arguments import durations, share
from relfit.arrays import FloatArray, IntArray
from relfit.errors import ArgumentError
from relfit.jobs._expected_time import Attempts, attempts, log_expected_time
from relfit.jobs.checkpoint import Checkpoint, expected_exponential
from relfit.jobs.completion import (
    CompletionTime,
    Job,
    check_names,
    completion_time,
    expected_paper,
    job_of,
    limits_of_draws,
)
from relfit.jobs.hazard_tables import HazardTable, table_by_size
from relfit.results import Result
from relfit.system.first_k import node_cumulative_hazards
from relfit.text import count, number, percent

if TYPE_CHECKING:
    from relfit.system import System

__all__ = ["BestSize", "best_size", "most_reliable_first", "ra_opt"]


RULES = ("least", "first")
_MOST_WITH_CHECKPOINTS = 200
_MOST_DRAWN = 48
_ROUNDS = 5
_SAME = 0.02  # change of the horizon's log below which the nodes are not sorted again


@dataclass(frozen=True, eq=False, repr=False)
class BestSize(Result):
    """Expected completion time of a job by number of nodes, and the best number.

    Attributes
    ----------
    system : System
    job : Job
    sizes : ndarray of int, shape (m,)
        Numbers of nodes that were looked at, rising.
    lengths, log_expected, success, lost : ndarray, shape (m,)
        Hours without failures; log of the expected completion time in hours; probability that an attempt meets no
        failure; mean hours that a failed attempt has run (the mean time to failure in the paper's convention).
    order : ndarray of int, shape (K,)
        Positions of nodes; size k means the first k of them.
    place : int
        Where in `sizes` the best is.
    rule, convention, after_failure : str
    horizon : float
        Hours over which the nodes' reliability gave the order; NaN for an order of the caller's.
    draws : DataFrame or None
        With a level: ``nodes``, ``low`` and ``high`` limits of the expected time at that size, and ``best``, the
        share of draws of the parameters in which this size is the best of those listed.
    level : float or None
    """

    system: System
    job: Job
    sizes: IntArray
    lengths: FloatArray
    log_expected: FloatArray
    success: FloatArray
    lost: FloatArray
    order: IntArray
    place: int
    rule: str
    convention: str
    after_failure: str
    horizon: float
    draws: pd.DataFrame | None = None
    level: float | None = None

    _not_in_json: ClassVar[tuple[str, ...]] = ("system", "order")

    @property
    def expected(self) -> FloatArray:
        """Expected completion time in hours at each of `sizes`; infinite where no float can hold it."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_expected)

    @property
    def best(self) -> int:
        """The best number of nodes."""
        return int(self.sizes[self.place])

    @property
    def best_expected(self) -> float:
        """Expected completion time there, hours."""
        return float(self.expected[self.place])

    @property
    def positions(self) -> IntArray:
        """Positions of the chosen nodes, the most reliable first."""
        return self.order[: self.best]

    @property
    def nodes(self) -> list[Any]:
        """Names of the chosen nodes."""
        return list(self.system.names[self.positions])

    @property
    def status(self) -> str:
        """``ok``, ``never`` if no size has a finite expected time, ``all`` if the best is the largest looked at."""
        if not np.isfinite(self.best_expected):
            return "never"
        return "all" if self.place == self.sizes.size - 1 and self.sizes.size > 1 else "ok"

    @property
    def best_limits(self) -> tuple[int, int] | None:
        """Sizes between which the best lies with the level asked for, over draws of the parameters."""
        if self.draws is None or self.level is None:
            return None
        shares = np.cumsum(self.draws["best"].to_numpy(dtype=np.float64))
        ends = [int(np.searchsorted(shares, 0.5 + way * 0.5 * self.level - 1e-12)) for way in (-1, 1)]
        low, high = self.draws["nodes"].to_numpy()[np.minimum(ends, shares.size - 1)]
        return int(low), int(high)

    def completion(self, size: int | None = None) -> CompletionTime:
        """The completion time, with its distribution, on the first `size` nodes of the order; the best if left out.

        Raises
        ------
        ArgumentError
            For a size that is not there.
        """
        nodes = self.best if size is None else int(size)
        if not 1 <= nodes <= self.order.size:
            raise ArgumentError(f"size is {nodes}", remedy=f"give one to {self.order.size} nodes")
        system = self.system.take(self.order[:nodes])
        return completion_time(system, self.job, convention=self.convention, after_failure=self.after_failure)

    @property
    def headline(self) -> str:
        """The best number of nodes and the time on them."""
        if self.status == "never":
            return "On no number of nodes will the job finish: failures come too often for its length."
        text = (
            f"Best on {count(self.best, 'node')}: {number(self.best_expected, 4)} h expected, "
            f"{number(float(self.lengths[self.place]), 4)} h without failures"
        )
        if self.status == "all":
            text += "; that is all of them, and more might be better"
        if self.best_limits is not None and self.level is not None:
            low, high = self.best_limits
            text += f"; {percent(self.level)} of the draws of the parameters have their best from {low} to {high}"
        return text + "."

    def to_frame(self) -> pd.DataFrame:
        """One row per size: nodes, length, speedup, success, failure, lost, expected (hours), log_expected, best."""
        table = pd.DataFrame({"nodes": self.sizes, "length": self.lengths, "speedup": self.job.work / self.lengths})
        table = table.assign(success=self.success, failure=1.0 - self.success, lost=self.lost, expected=self.expected)
        table = table.assign(log_expected=self.log_expected, best=np.arange(self.sizes.size) == self.place)
        if self.draws is None:
            return table
        return table.merge(self.draws[["nodes", "low", "high"]], on="nodes", how="left")

    def to_dict(self) -> dict[str, Any]:
        """As of every result, with the best size, its expected hours and the names of its nodes."""
        best = {"best": self.best, "best_expected": self.best_expected if self.status != "never" else None}
        return {**super().to_dict(), **best, "status": self.status, "nodes": [str(name) for name in self.nodes]}


def best_size(
    system: System,
    work: Any = None,
    speedup: Any = None,
    *,
    restart: Any = 0.0,
    checkpoint: Checkpoint | None = None,
    k_max: int | None = None,
    order: str | npt.ArrayLike = "reliability",
    horizon: Any = None,
    rule: str = "least",
    convention: str = "exact",
    after_failure: str = "same",
    level: float | None = None,
    n_draws: int = 200,
    rng: int | np.random.Generator | None = 0,
) -> BestSize:
    """Expected completion time of a job on the first k nodes of an order, for k = 1..K, and the best k.

    Limits come from the uncertainty of the fitted parameters; order and chosen nodes stay as they are.

    Parameters
    ----------
    system : System
        The nodes to choose from.
    work, speedup, restart, checkpoint
        As for `completion_time`; `work` may be a `Job`.
    k_max : int, optional
        Largest number of nodes; all when left out.
    order : "reliability", "given" or array of int
        The most reliable first, ties by position; as they stand; or positions of nodes.
    horizon : float or duration, optional
        Hours over which reliability gives the order. The length of the job on the best number of nodes when left out,
        found by repeating.
    rule : {"least", "first"}
        ``least``: the smallest expected time over all sizes, the smaller size where two are equal. ``first``: add nodes
        while the expected time does not grow (RA-Opt, Figure 6.6 of the paper).
    convention, after_failure
        As for `completion_time`.
    level : float, optional
        Of the limits; there are none when left out.
    n_draws : int
        Draws of the parameters for them.
    rng : int or Generator, optional

    Returns
    -------
    BestSize

    Raises
    ------
    ArgumentError
        For more nodes than there are, an unknown name, or settings of the job that cannot be.

    Notes
    -----
    Hazards are interpolated along the log of time: expected times are right to some eight digits, and sizes that differ
    by less cannot be told apart; `BestSize.completion` computes one from its nodes. With checkpoints and nodes that
    age, at most some 200 sizes are looked at, closest around the best.

    Examples
    --------
    >>> from relfit.jobs import Amdahl
    >>> from relfit.system import System
    >>> from relfit.families import Weibull
    >>> best = best_size(System(Weibull(0.8, [2000.0] * 64)), "1000h", Amdahl(0.99), restart="30min")
    >>> best.best, round(best.best_expected, 1)
    (61, 73.1)
    """
    job = job_of(work, speedup, restart, checkpoint)
    check_names(convention, after_failure)
    if rule not in RULES:
        raise ArgumentError(f"rule={rule!r} is not known", remedy="use 'least' or 'first'")
    if system.tolerance:
        raise ArgumentError(
            f"a system that tolerates {system.tolerance} failed nodes has no sizes to compare",
            remedy="compare completion_time(system.take(...).tolerating(s), work, speedup, size=...)",
        )
    most = _most(system, k_max)
    settings = _Settings(job, rule, convention, after_failure)
    if not isinstance(order, str) or order == "given":
        positions = np.arange(system.n_nodes) if isinstance(order, str) else _positions(system, order)
        if k_max is not None and positions.size < most:
            raise ArgumentError(f"k_max is {most} but the order has {positions.size} nodes", remedy="give more nodes")
        best = settings.curve(system, positions[:most], np.nan)
    elif order != "reliability":
        raise ArgumentError(f"order={order!r} is not known", remedy="use 'reliability', 'given' or positions of nodes")
    elif horizon is not None:
        over = float(durations("horizon", horizon, zero=False))
        best = settings.curve(system, most_reliable_first(system, over)[:most], over)
    else:
        best = settings.repeated(system, most)
    if level is None:
        return best
    return _with_limits(best, settings, float(share("level", level, zero=False, one=False)), n_draws, rng)


def ra_opt(system: System, work: Any = None, speedup: Any = None, **settings: Any) -> BestSize:
    """RA-Opt: the most reliable nodes first, added while the expected completion time does not grow (Figure 6.6).

    `best_size` with ``rule="first"``, to which all arguments go. For the algorithm as the paper has it, set
    ``convention="paper"`` and ``horizon`` to the length of the job on one node.

    Examples
    --------
    >>> from relfit.jobs import Amdahl
    >>> from relfit.system import System
    >>> from relfit.families import Exponential
    >>> ra_opt(System(Exponential(1.0 / 35000.0 * 1.4 ** np.arange(20))), "1000h", Amdahl(0.895)).best
    9
    """
    return best_size(system, work, speedup, rule="first", **settings)


def most_reliable_first(system: System, horizon: float) -> IntArray:
    """Positions of the nodes, the most reliable over the next `horizon` hours first, ties by position."""
    hazard = node_cumulative_hazards(system.components, system.ages, np.array([horizon]))[:, 0]
    return np.argsort(hazard, kind="stable")


def _most(system: System, k_max: int | None) -> int:
    most = system.n_nodes if k_max is None else int(k_max)
    if k_max is not None and (most != k_max or most < 1):
        raise ArgumentError(f"k_max is {k_max}", remedy="give one node or more")
    if most > system.n_nodes:
        raise ArgumentError(f"k_max is {most}, but there are only {system.n_nodes} nodes", remedy="leave it out")
    return most


def _positions(system: System, order: npt.ArrayLike) -> IntArray:
    places = np.asarray(order)
    if places.ndim != 1 or places.size == 0 or places.dtype.kind not in "iu":
        raise ArgumentError("order is no list of positions", remedy="give whole numbers from 0, each node once")
    bad = np.flatnonzero((places < 0) | (places >= system.n_nodes))
    if bad.size:
        raise ArgumentError(f"order names node {places[bad[0]]}", remedy=f"there are nodes 0 to {system.n_nodes - 1}")
    values, counts = np.unique(places, return_counts=True)
    if (counts > 1).any():
        raise ArgumentError(f"order names node {values[counts > 1][0]} twice", remedy="give each node once")
    return places.astype(np.int64)


@dataclass(frozen=True)
class _Settings:
    """The job and how it is judged, apart from the nodes."""

    job: Job
    rule: str
    convention: str
    after_failure: str

    def repeated(self, system: System, most: int) -> BestSize:
        """The order by reliability over the length on the best size, until that no longer changes."""
        over = float(self.job.time([most])[0])
        best: BestSize | None = None
        last: IntArray | None = None
        for _ in range(_ROUNDS):
            order = most_reliable_first(system, over)[:most]
            if last is not None and np.array_equal(order, last):
                break
            curve = self.curve(system, order, over)
            if best is None or curve.log_expected[curve.place] < best.log_expected[best.place]:
                best = curve
            new = float(curve.lengths[curve.place])
            if abs(np.log(new / over)) < _SAME:
                break
            over, last = new, order
        assert best is not None
        return best

    def curve(self, system: System, order: IntArray, horizon: float) -> BestSize:
        """Expected completion times of the first k nodes of one order."""
        sizes = np.arange(1, order.size + 1)
        lengths = self.job.time(sizes)
        log_expected, once, lost = self.expected(system, order, sizes, lengths)
        kept, place = ~np.isnan(log_expected), self.choose(log_expected)
        return BestSize(
            system, self.job, sizes[kept], lengths[kept], log_expected[kept], np.exp(-once.hazard)[kept], lost[kept],
            order, int(np.count_nonzero(kept[:place])), self.rule, self.convention, self.after_failure, horizon,
        )  # fmt: skip

    def choose(self, log_expected: FloatArray) -> int:
        """Place of the best among those that are not NaN."""
        looked = np.flatnonzero(~np.isnan(log_expected))
        values = log_expected[looked]
        if self.rule == "first":
            grows = np.flatnonzero(~(values[1:] <= values[:-1]))
            return int(looked[grows[0] if grows.size else values.size - 1])
        return int(looked[np.argmin(values)])

    def expected(
        self, system: System, order: IntArray, sizes: IntArray, lengths: FloatArray
    ) -> tuple[FloatArray, Attempts, FloatArray]:
        """Log of the expected time by size (NaN where it is not computed), the attempts, and the hours lost in one."""
        job, plan = self.job, self.job.checkpoint
        ends = float(lengths.min()), float(lengths.max())
        if plan is not None:  # saves and the restore count too
            ends = ends[0], ends[1] * (1.0 + plan.save / plan.every) + plan.restore + plan.save
        table = table_by_size(system, order, *ends)
        once = _attempts(table, sizes, lengths)
        if self.convention == "paper":
            mttf = np.asarray(system.take(order).by_size().mttf, dtype=np.float64)[sizes - 1]
            if plan is None:
                return once.log_expected_paper(job.restart, mttf), once, mttf
            return np.log(expected_paper(mttf, lengths, plan, job.restart)), once, mttf
        later = table if self.after_failure == "same" else table_by_size(system.at_age(0.0), order, *ends)
        if plan is not None:
            return self._with_checkpoints(system, table, later, sizes, lengths), once, once.lost
        if later is table:
            return once.log_expected(job.restart), once, once.lost
        again = _attempts(later, sizes, lengths).log_expected(job.restart)
        return once.log_expected_then(job.restart, again), once, once.lost

    def _with_checkpoints(
        self, system: System, table: HazardTable, later: HazardTable, sizes: IntArray, lengths: FloatArray
    ) -> FloatArray:
        """All sizes at once for constant rates; else one by one, a net of sizes and then those around the best."""
        plan, restart = self.job.checkpoint, self.job.restart
        assert plan is not None
        if (
            all(getattr(part.family, "name", "") == "exponential" for part in system.components)
            and system.racks is None
        ):
            mtbf = 1.0 / table(sizes - 1, np.ones((sizes.size, 1)))[:, 0]
            return np.log(
                expected_exponential(mtbf, lengths, plan.every, plan.save, plan.restore, restart, plan.exposed)
            )
        value = np.full(sizes.size, np.nan)

        def fill(some: IntArray) -> None:
            for place in some[np.isnan(value[some])].tolist():
                now, then = (one.life(int(sizes[place]) - 1) for one in (table, later))
                value[place] = log_expected_time(now, float(lengths[place]), plan, restart, then)

        net = np.unique(np.geomspace(1, sizes.size, min(sizes.size, _MOST_WITH_CHECKPOINTS // 2)).round()).astype(int)
        fill(net - 1 if sizes.size > _MOST_WITH_CHECKPOINTS else np.arange(sizes.size))
        while True:  # halve the gaps beside the best
            looked = np.flatnonzero(~np.isnan(value))
            at = int(np.searchsorted(looked, self.choose(value)))
            left, here, right = (int(looked[np.clip(at + d, 0, looked.size - 1)]) for d in (-1, 0, 1))
            new = np.unique([(left + here) // 2, (here + right + 1) // 2])
            new = new[np.isnan(value[new])]
            if not new.size:
                return value
            fill(new)


def _attempts(table: HazardTable, sizes: IntArray, lengths: FloatArray) -> Attempts:
    return attempts(lambda rows, x: table(sizes[rows] - 1, x), lengths, tolerance=1e-8, levels=3)


def _with_limits(
    best: BestSize, settings: _Settings, level: float, n_draws: int, rng: int | np.random.Generator | None
) -> BestSize:
    places = np.arange(best.sizes.size)
    if best.sizes.size > _MOST_DRAWN:
        near = np.clip(best.place + np.arange(-6, 7), 0, places[-1])
        net = np.geomspace(1, best.sizes.size, _MOST_DRAWN - near.size).round().astype(int) - 1
        places = np.unique(np.concatenate([net, near]))
    sizes, lengths = best.sizes[places], best.lengths[places]
    drawn = best.system.drawn(n_draws, rng)
    logs = np.array([settings.expected(one, best.order, sizes, lengths)[0] for one in drawn])
    low, high = limits_of_draws(best.system, best.log_expected[places], logs, np.log(lengths), level)
    share_best = np.bincount(np.nanargmin(logs, axis=1), minlength=sizes.size) / logs.shape[0]
    table = pd.DataFrame({"nodes": sizes, "low": low, "high": high, "best": share_best})
    return replace(best, draws=table, level=level)
