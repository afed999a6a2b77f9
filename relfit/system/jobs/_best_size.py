"""The best number of nodes for a job: expected completion time on the first k = 1..K nodes of an order, and RA-Opt."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arguments import durations, whole
from relfit.base.arrays import Durations, FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.numeric.levels import level_checked
from relfit.base.results import Result
from relfit.base.text import count, duration, number, percent
from relfit.system.jobs.completion import CENTURY, CompletionTime, Job, completion_time, limits_of_draws
from relfit.system.jobs.size_curve import Judged

if TYPE_CHECKING:
    from relfit.system import System

_MOST_DRAWN = 48
_ROUNDS = 5
_SAME = 0.02  # change of the log horizon below which the nodes are not sorted again


class BestSize(Result):
    """Expected completion time of a job by number of nodes, and the best number; made by `best_size`.

    Attributes
    ----------
    system : System
    job : Job
    sizes : ndarray of int, shape (m,)
        Numbers of nodes, rising.
    lengths, log_expected, success, lost : ndarray, shape (m,)
        Hours without failures; log of the expected completion time in hours; probability that the job meets no
        failure (as `CompletionTime.success`); mean hours until the first failure of an attempt that fails, lost
        without checkpoints (the mean time to failure in the paper's convention).
    checkpoint_every : ndarray, shape (m,)
        Hours of work between two checkpoints: the requested ones, or the best for the size; NaN without checkpoints.
    order : ndarray of int, shape (K,)
        Positions of nodes; size k has the first k of them, and the next ones as spares.
    place : int
        Index of the best size in `sizes`.
    rule, convention, after_failure : str
        The arguments of `best_size`.
    horizon : float
        Hours over which reliability gave the order; NaN for any other order.
    draws : DataFrame or None
        With a level: ``nodes``, limits ``low`` and ``high`` of the expected time (hours) at that size, and ``best``,
        the share of draws in which this size is the best of those listed.
    level : float or None
        Level of the intervals.
    restarts : ndarray, shape (m,)
        Hours from a failure to the next start, with the wait for repairs.
    """

    system: System
    job: Job
    sizes: IntArray
    lengths: FloatArray
    log_expected: FloatArray
    success: FloatArray
    lost: FloatArray
    checkpoint_every: FloatArray
    order: IntArray
    place: int
    rule: str
    convention: str
    after_failure: str
    horizon: float
    draws: pd.DataFrame | None = None
    level: float | None = None
    restarts: FloatArray | None = None

    _not_in_json: ClassVar[tuple[str, ...]] = ("system", "order")

    @property
    def expected(self) -> FloatArray:
        """Expected completion time in hours at each of `sizes`; infinite beyond the largest float."""
        with np.errstate(over="ignore"):
            return np.exp(self.log_expected)

    @property
    def best(self) -> int:
        """The best number of nodes."""
        return int(self.sizes[self.place])

    @property
    def best_expected(self) -> float:
        """Expected completion time on the best number of nodes, hours."""
        return float(self.expected[self.place])

    @property
    def positions(self) -> IntArray:
        """Positions of the nodes of the best size in their order, spares included."""
        return self.order[: self.best + self.system.tolerance]

    @property
    def nodes(self) -> list[Any]:
        """Names of the nodes of the best size, spares included."""
        return list(self.system.names[self.positions])

    @property
    def status(self) -> str:
        """``ok``, ``never`` if no size has a finite expected time, ``all`` if the largest size is the best."""
        if not np.isfinite(self.best_expected):
            return "never"
        return "all" if self.place == self.sizes.size - 1 and self.sizes.size > 1 else "ok"

    @property
    def best_limits(self) -> tuple[int, int] | None:
        """Interval of the best size over the draws of the parameters; None without a level."""
        if self.draws is None or self.level is None:
            return None
        shares = np.cumsum(self.draws["best"].to_numpy(dtype=np.float64))
        ends = [int(np.searchsorted(shares, 0.5 + way * 0.5 * self.level - 1e-12)) for way in (-1, 1)]
        low, high = self.draws["nodes"].to_numpy()[np.minimum(ends, shares.size - 1)]
        return int(low), int(high)

    def completion(self, size: int | None = None) -> CompletionTime:
        """The completion time, with its distribution, on the first `size` nodes of the order; the best by default.

        Raises
        ------
        ArgumentError
            For a size below 1 or above the number of nodes.
        """
        nodes, spares = self.best if size is None else int(size), self.system.tolerance
        if not 1 <= nodes <= self.order.size - spares:
            raise ArgumentError(f"size is {nodes}", remedy=f"give one to {self.order.size - spares} nodes")
        job, at = self.job, np.flatnonzero(self.sizes == nodes)
        if job.checkpoint is not None and at.size:
            job = replace(job, checkpoint=replace(job.checkpoint, every=float(self.checkpoint_every[at[0]])))
        if self.restarts is not None:
            job = replace(job, restart=float(np.interp(nodes, self.sizes, self.restarts)))
        system, how = self.system.take(self.order[: nodes + spares]), (self.convention, self.after_failure)
        return completion_time(system, job, size=nodes, convention=how[0], after_failure=how[1])

    @property
    def headline(self) -> str:
        """The best number of nodes and the expected time on them."""
        if not self.best_expected < CENTURY:
            text = "On no number of nodes will the job finish within a century: failures come too often for its length"
            return text + ("." if self.job.checkpoint is not None else "; take checkpoints.")
        text = f"Best on {count(self.best, 'node')}"
        text += f" with {count(self.system.tolerance, 'spare')}" if self.system.tolerance else ""
        every, plan = float(self.checkpoint_every[self.place]), self.job.checkpoint
        if plan is not None and plan.every is None and np.isfinite(every):
            text += f", with a checkpoint every {duration(every)} of work"
        text += f": {number(self.best_expected, 4)} h expected, "
        text += f"{number(float(self.lengths[self.place]), 4)} h without failures"
        if self.status == "all":
            text += "; that is all of them, and more might be better"
        if self.best_limits is not None and self.level is not None:
            low, high = self.best_limits
            text += f"; the best number is {low} to {high} in {percent(self.level)} of the draws of the parameters"
        return text + "."

    def to_frame(self) -> pd.DataFrame:
        """One row per size; times in hours.

        Columns: ``nodes``, ``length``, ``speedup``, ``success``, ``failure``, ``lost``, ``expected``,
        ``checkpoint_every`` (with checkpoints), ``log_expected``, ``best``, ``low`` and ``high`` (with a level).
        """
        table = pd.DataFrame({"nodes": self.sizes, "length": self.lengths, "speedup": self.job.work / self.lengths})
        table = table.assign(success=self.success, failure=1.0 - self.success, lost=self.lost, expected=self.expected)
        if self.job.checkpoint is not None:
            table = table.assign(checkpoint_every=self.checkpoint_every)
        table = table.assign(log_expected=self.log_expected, best=np.arange(self.sizes.size) == self.place)
        if self.draws is None:
            return table
        return table.merge(self.draws[["nodes", "low", "high"]], on="nodes", how="left")

    def to_dict(self) -> dict[str, Any]:
        """All fields, the best size, its expected hours and the names of its nodes, ready for JSON."""
        best = {"best": self.best, "best_expected": self.best_expected if self.status != "never" else None}
        return {**super().to_dict(), **best, "status": self.status, "nodes": [str(name) for name in self.nodes]}


def best_size(  # noqa: PLR0913 - as for `completion_time`, and the sizes
    system: System,
    job: Job | Durations,
    *,
    k_min: int = 1,
    k_max: int | None = None,
    order: str | npt.ArrayLike = "reliability",
    horizon: Durations | None = None,
    repair: Durations = 0.0,
    rule: str = "least",
    convention: str = "exact",
    after_failure: str = "same",
    level: float | None = None,
    n_draws: int = 200,
    rng: Seed = 0,
) -> BestSize:
    """Expected completion time of a job on the first k nodes of an order, for k = 1..K, and the best k.

    Intervals come from the uncertainty of the fitted parameters, with order and nodes fixed.

    Parameters
    ----------
    system : System
        The nodes to choose from. With a tolerance s, a job on k nodes has s spares: it uses the first k + s nodes, of
        which s may fail before it restarts.
    job : Job or duration
        A job, or its time on one node. For a checkpoint without ``every`` each size has its own best interval.
    k_min, k_max : int, optional
        Smallest and largest number of nodes; 1 and all (except the spares) by default.
    order : "reliability", "given" or array of int
        The most reliable first, ties by position; the order of `system`; or positions of nodes.
    horizon : float or duration, optional
        Hours over which reliability gives the order; by default the length of the job on the best number of nodes, by
        iteration.
    repair : float or duration
        Mean time to repair for which a job without spares waits, beside its restart; other nodes fail meanwhile. By
        default failed nodes are replaced at once.
    rule : {"least", "first"}
        ``least``: the smallest expected time over all sizes, the smaller size if two are equal. ``first``: add nodes
        while the expected time does not grow (RA-Opt).
    convention, after_failure, level, n_draws, rng
        As for `completion_time`; by default 200 draws.

    Raises
    ------
    ArgumentError
        For too many nodes, an unknown name, or invalid settings of the job.

    Notes
    -----
    Hazards are interpolated on a log scale of time, so expected times have about eight correct digits;
    `BestSize.completion` computes one without interpolation. With checkpoints and ageing nodes only about 200 sizes are
    computed, densest around the best.

    Examples
    --------
    >>> from relfit.system.jobs import Amdahl, Job
    >>> from relfit.system import System
    >>> from relfit.fitting.families import Weibull
    >>> best = best_size(System(Weibull(0.8, [2000.0] * 64)), Job("1000h", Amdahl(0.99), restart="30min"))
    >>> best.best, round(best.best_expected, 1)
    (61, 73.1)
    """
    waits = float(durations("repair", repair))
    judged = Judged(job if isinstance(job, Job) else Job(job), rule, convention, after_failure, waits)
    sizes = _sizes(system, k_min, k_max)
    most = int(sizes[-1]) + system.tolerance
    if not isinstance(order, str) or order == "given":
        positions = np.arange(system.n_nodes) if isinstance(order, str) else system.checked_positions(order)
        if positions.size < most:
            if k_max is not None or positions.size - system.tolerance < sizes[0]:
                raise ArgumentError(
                    f"k_max is {sizes[-1]} but the order has {positions.size} nodes", remedy="give more nodes"
                )
            sizes = sizes[: positions.size - system.tolerance - sizes[0] + 1]
        best = _curve(judged, system, positions[:most], sizes, np.nan)
    elif order != "reliability":
        raise ArgumentError(f"order={order!r} is not known", remedy="use 'reliability', 'given' or positions of nodes")
    elif horizon is not None:
        over = float(durations("horizon", horizon, zero=False))
        best = _curve(judged, system, most_reliable_first(system, over)[:most], sizes, over)
    else:
        best = _repeated(judged, system, sizes)
    if level is None:
        return best
    return _with_limits(best, judged, level_checked(level), n_draws, rng)


def ra_opt(system: System, job: Job | Durations, **settings: Any) -> BestSize:
    """RA-Opt: the most reliable nodes first, added while the expected completion time does not grow (Figure 6.6).

    `best_size` with ``rule="first"`` and its other arguments. For the algorithm of the paper, set
    ``convention="paper"`` and ``horizon`` to the length of the job on one node.

    Examples
    --------
    >>> from relfit.system.jobs import Amdahl, Job
    >>> from relfit.system import System
    >>> from relfit.fitting.families import Exponential
    >>> ra_opt(System(Exponential(1.0 / 35000.0 * 1.4 ** np.arange(20))), Job("1000h", Amdahl(0.895))).best
    9
    """
    return best_size(system, job, rule="first", **settings)


def most_reliable_first(system: System, horizon: float) -> IntArray:
    """Positions of the nodes by reliability over the next `horizon` hours, highest first, ties by position.

    Parameters
    ----------
    system : System
        Of n nodes.
    horizon : float
        Hours.

    Returns
    -------
    ndarray of int
        Shape (n,).

    Examples
    --------
    >>> import relfit as rf
    >>> rf.jobs.most_reliable_first(rf.System(rf.families.Exponential([0.02, 0.01, 0.03])), 24.0).tolist()
    [1, 0, 2]
    """
    # hazards are compared to twelve digits: vectorised functions may differ in the last ones for equal nodes
    mantissa, exponent = np.frexp(system.node_cumulative_hazards(horizon))
    return np.argsort(np.ldexp(np.rint(mantissa * 2.0**40), exponent - 40), kind="stable")


def _sizes(system: System, k_min: int, k_max: int | None) -> IntArray:
    """Numbers of working nodes to compare."""
    most = system.n_nodes - system.tolerance
    ends = int(whole("k_min", k_min)), most if k_max is None else int(whole("k_max", k_max))
    if ends[1] > most or most < 1:
        spares = f" beside {system.tolerance} spares" if system.tolerance else ""
        raise ArgumentError(f"k_max is {ends[1]}, but there are only {most} nodes{spares}", remedy="leave it out")
    if ends[0] > ends[1]:
        raise ArgumentError(f"k_min is {ends[0]} of {ends[1]} nodes", remedy="give a smaller number")
    return np.arange(ends[0], ends[1] + 1)


def _repeated(judged: Judged, system: System, sizes: IntArray) -> BestSize:
    """The best size in the order by reliability over the length on that size, by iteration."""
    over = float(judged.job.time(sizes[-1:])[0])
    best: BestSize | None = None
    last: IntArray | None = None
    for _ in range(_ROUNDS):
        order = most_reliable_first(system, over)[: sizes[-1] + system.tolerance]
        if last is not None and np.array_equal(order, last):
            break
        curve = _curve(judged, system, order, sizes, over)
        if best is None or curve.log_expected[curve.place] < best.log_expected[best.place]:
            best = curve
        new = float(curve.lengths[curve.place])
        if abs(np.log(new / over)) < _SAME:
            break
        over, last = new, order
    assert best is not None
    return best


def _curve(judged: Judged, system: System, order: IntArray, sizes: IntArray, horizon: float) -> BestSize:
    """Expected completion times on these numbers of the first nodes of one order."""
    curve = judged.expected(system, order, sizes)
    some, place = ~np.isnan(curve.log_expected), judged.choose(curve.log_expected)
    computed = sizes[some], curve.lengths[some], curve.log_expected[some], curve.success[some]
    costs, how = (curve.lost[some], curve.every[some]), (judged.rule, judged.convention, judged.after_failure)
    best, restarts = int(np.count_nonzero(some[:place])), curve.restart[some]
    return BestSize(system, judged.job, *computed, *costs, order, best, *how, horizon, restarts=restarts)


def _with_limits(best: BestSize, judged: Judged, level: float, n_draws: int, rng: Seed) -> BestSize:
    places = np.arange(best.sizes.size)
    if best.sizes.size > _MOST_DRAWN:
        near = np.clip(best.place + np.arange(-6, 7), 0, places[-1])
        net = np.geomspace(1, best.sizes.size, _MOST_DRAWN - near.size).round().astype(int) - 1
        places = np.unique(np.concatenate([net, near]))
    sizes, lengths, every = best.sizes[places], best.lengths[places], best.checkpoint_every[places]
    drawn = best.system.drawn(n_draws, rng)
    logs = np.array([judged.expected(one, best.order, sizes, every).log_expected for one in drawn])
    low, high = limits_of_draws(best.system, best.log_expected[places], logs, np.log(lengths), level)
    share_best = np.bincount(np.nanargmin(logs, axis=1), minlength=sizes.size) / logs.shape[0]
    table = pd.DataFrame({"nodes": sizes, "low": low, "high": high, "best": share_best})
    return replace(best, draws=table, level=level)
