"""On how many nodes a job is done first: expected completion time for k = 1..K nodes of an order, and RA-Opt."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.jobs.completion import (
    CompletionTime,
    Job,
    check_names,
    completion_time,
    job_of,
    log_expected_as_new,
)
from relfit.jobs.completion_intervals import checked_level, limits_of_draws
from relfit.jobs.job_checkpoints import Checkpoint, expected_exponential, expected_paper, expected_with_checkpoints
from relfit.jobs.prefixes import Prefixes
from relfit.jobs.restarts import Attempts, attempts, log_expected_exact, log_expected_paper
from relfit.system.components import duration_array

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from relfit.system.system import System

__all__ = ["BestSize", "best_size", "ra_opt", "reliability_order"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

RULES = ("least", "first")
_MOST_WITH_CHECKPOINTS = 200
_MOST_DRAWN = 48
_ROUNDS = 5
_SAME = 0.02  # change of the horizon's log below which the order is not made anew


@dataclass(frozen=True, eq=False)
class BestSize:
    """Expected completion time of a job by number of nodes, and the best number.

    Attributes
    ----------
    system : System
    job : Job
    sizes : ndarray of int, shape (m,)
        Numbers of nodes that were looked at, rising.
    lengths, log_expected, success, lost : ndarray, shape (m,)
        Hours without failures; log of the expected completion time in hours; probability that an attempt meets no
        failure; mean hours that a failed attempt has run (the mean life in the paper's convention).
    order : ndarray of int, shape (K,)
        Positions of nodes; size k means the first k of them.
    place : int
        Where in `sizes` the best is.
    rule, convention, after_failure : str
    horizon : float
        Hours over which the nodes' reliability gave the order; NaN for an order that was given.
    draws : DataFrame or None
        With an interval: ``nodes``, ``low`` and ``high`` ends for the expected time at that size, and ``best``, the
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
    def best_interval(self) -> tuple[int, int] | None:
        """Sizes between which the best lies with the level asked for, over draws of the parameters."""
        if self.draws is None or self.level is None:
            return None
        share = np.cumsum(self.draws["best"].to_numpy(dtype=np.float64))
        sizes = self.draws["nodes"].to_numpy()
        low, high = 0.5 - 0.5 * self.level, 0.5 + 0.5 * self.level
        last = sizes.size - 1
        ends = [min(int(np.searchsorted(share, p - 1e-12)), last) for p in (low, high)]
        return int(sizes[ends[0]]), int(sizes[ends[1]])

    def completion(self, size: int | None = None) -> CompletionTime:
        """The completion time, with its distribution, on the first `size` nodes of the order; the best if left out.

        Raises
        ------
        ArgumentError
            For a size that is not there.
        """
        count = self.best if size is None else int(size)
        if not 1 <= count <= self.order.size:
            raise ArgumentError(f"size is {count}", remedy=f"give one to {self.order.size} nodes")
        chosen = self.system.take(self.order[:count])
        return completion_time(chosen, self.job, convention=self.convention, after_failure=self.after_failure)

    # ---------------------------------------------------------------- showing

    @property
    def sentence(self) -> str:
        """The answer, in a sentence."""
        if self.status == "never":
            return "On no number of nodes will the job finish: failures come too often for its length."
        one = "" if self.best == 1 else "s"
        text = (
            f"Best on {self.best} node{one}: {self.best_expected:.4g} h expected, {self.lengths[self.place]:.4g} h "
            "without failures"
        )
        if self.status == "all":
            text += "; that is all of them, and more might be better"
        if self.best_interval is not None and self.level is not None:
            low, high = self.best_interval
            text += f"; {100 * self.level:g} % of the draws of the parameters have their best from {low} to {high}"
        return text + "."

    def to_frame(self) -> pd.DataFrame:
        """A row a size: nodes, length, speedup, success, failure, lost, expected (hours), log_expected, best."""
        import pandas as pd

        best = np.zeros(self.sizes.size, dtype=bool)
        best[self.place] = True
        table = pd.DataFrame(
            {
                "nodes": self.sizes,
                "length": self.lengths,
                "speedup": self.job.work / self.lengths,
                "success": self.success,
                "failure": 1.0 - self.success,
                "lost": self.lost,
                "expected": self.expected,
                "log_expected": self.log_expected,
                "best": best,
            }
        )
        if self.draws is not None:
            ends = self.draws[["nodes", "low", "high"]]
            table = table.merge(ends, on="nodes", how="left")
        return table

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; None for what is not finite."""

        def plain(values: npt.ArrayLike) -> list[Any]:
            array = np.asarray(values, dtype=np.float64)
            return [value if np.isfinite(value) else None for value in array.tolist()]

        answer: dict[str, Any] = {
            "best": self.best,
            "expected": plain([self.best_expected])[0],
            "status": self.status,
            "rule": self.rule,
            "convention": self.convention,
            "after_failure": self.after_failure,
            "order_horizon": plain([self.horizon])[0],
            "nodes": [name.item() if hasattr(name, "item") else name for name in self.nodes],
            "job": self.job.to_dict(),
            "by_size": {
                "nodes": self.sizes.tolist(),
                "length": plain(self.lengths),
                "success": plain(self.success),
                "lost": plain(self.lost),
                "expected": plain(self.expected),
            },
            "sentence": self.sentence,
        }
        if self.draws is not None:
            answer["level"] = self.level
            answer["best_interval"] = list(self.best_interval or ())
            answer["draws"] = {str(name): plain(values) for name, values in self.draws.items()}
        return answer

    def __repr__(self) -> str:
        return f"BestSize: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        near = self.to_frame().iloc[max(self.place - 5, 0) : self.place + 6]
        return f"<p>{escape(repr(self))}</p>{near.to_html(index=False, float_format='{:.4g}'.format)}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Expected completion time by number of nodes: `relfit.plotting.completion_by_size`."""
        from relfit.plotting.nodes_of_job import completion_by_size

        return completion_by_size(self, ax)


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
    interval: float | None = None,
    draws: int = 200,
    rng: int | np.random.Generator | None = None,
) -> BestSize:
    """Expected completion time of a job on the first k nodes of an order, for k = 1..K, and the best k.

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
        As for `completion_time`; ``after_failure="ageing"`` is not offered here.
    interval : float, optional
        Level of intervals from the uncertainty of the fitted parameters; order and chosen nodes stay as they are.
    draws : int
        Draws of the parameters for it.
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
    Up to 128 nodes, and for equal nodes, all numbers are exact to eleven digits. Beyond, hazards are interpolated along
    the log of time: expected times are right to some eight digits, and sizes that differ by less cannot be told apart;
    `BestSize.completion` computes one from its nodes. With checkpoints and nodes that age, at most some 200 sizes are
    looked at, closest around the best.

    Examples
    --------
    >>> from relfit.jobs import Amdahl
    >>> from relfit.system import System
    >>> from relfit.families import Weibull
    >>> found = best_size(System(Weibull(0.8, [2000.0] * 64)), "1000h", Amdahl(0.99), restart="30min")
    >>> found.best, round(found.best_expected, 1)
    (61, 73.1)
    """
    job = job_of(work, speedup, restart, checkpoint)
    check_names(convention, after_failure)
    if after_failure == "ageing":
        raise ArgumentError(
            "sizes are not compared by simulation", remedy="choose with 'same', then ask completion_time(..., 'ageing')"
        )
    if rule not in RULES:
        raise ArgumentError(f"rule={rule!r} is not known", remedy="use 'least' or 'first'")
    if system.tolerance:
        raise ArgumentError(
            f"a system that tolerates {system.tolerance} failed nodes has no sizes to compare",
            remedy="compare completion_time(system.take(...).tolerating(s), work, law, size=...)",
        )
    most = _most(system, k_max)
    given = not isinstance(order, str)
    if not given and order not in ("reliability", "given"):
        raise ArgumentError(f"order={order!r} is not known", remedy="use 'reliability', 'given' or positions of nodes")
    settings = _Settings(job, most, rule, convention, after_failure)
    if given or order == "given":
        positions = np.arange(system.n_nodes) if not given else _positions(system, order)
        if k_max is not None and positions.size < most:
            raise ArgumentError(f"k_max is {most} but the order has {positions.size} nodes")
        found = settings.curve(system, positions[:most], np.nan)
    elif horizon is not None:
        over = float(duration_array(horizon, "horizon"))
        if not (np.isfinite(over) and over > 0.0):
            raise ArgumentError(f"horizon is {over:g} hours", remedy="it must be finite and above zero")
        found = settings.curve(system, reliability_order(system, over)[:most], over)
    else:
        found = settings.repeated(system)
    return found if interval is None else _with_interval(found, checked_level(interval), draws, rng)


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


def reliability_order(system: System, horizon: float) -> IntArray:
    """Positions of the nodes, the most reliable over the next `horizon` hours first, ties by position."""
    from relfit.system.hazards import node_cumulative_hazards

    spent = node_cumulative_hazards(system.components, system.ages, np.array([horizon]))[:, 0]
    return np.argsort(spent, kind="stable")


def _most(system: System, k_max: int | None) -> int:
    if k_max is None:
        return system.n_nodes
    most = int(k_max)
    if most != k_max or most < 1:
        raise ArgumentError(f"k_max is {k_max}", remedy="give one node or more")
    if most > system.n_nodes:
        raise ArgumentError(f"k_max is {most}, but there are only {system.n_nodes} nodes", remedy="leave it out")
    return most


def _positions(system: System, order: npt.ArrayLike) -> IntArray:
    given = np.asarray(order)
    if given.ndim != 1 or given.size == 0 or given.dtype.kind not in "iu":
        raise ArgumentError("order is no list of positions", remedy="give whole numbers from 0, each node once")
    bad = np.flatnonzero((given < 0) | (given >= system.n_nodes))
    if bad.size:
        raise ArgumentError(f"order names node {given[bad[0]]}", remedy=f"there are nodes 0 to {system.n_nodes - 1}")
    if np.unique(given).size < given.size:
        values, counts = np.unique(given, return_counts=True)
        raise ArgumentError(f"order names node {values[counts > 1][0]} twice", remedy="give each node once")
    return given.astype(np.int64)


# ------------------------------------------------------------------- the curve


@dataclass(frozen=True)
class _Settings:
    """What is asked for, apart from the nodes."""

    job: Job
    most: int
    rule: str
    convention: str
    after_failure: str

    def repeated(self, system: System) -> BestSize:
        """The order by reliability over the length on the best size, until that no longer changes."""
        over = float(self.job.time([self.most])[0])
        best: BestSize | None = None
        last: IntArray | None = None
        for _ in range(_ROUNDS):
            order = reliability_order(system, over)[: self.most]
            if last is not None and np.array_equal(order, last):
                break
            found = self.curve(system, order, over)
            if best is None or found.log_expected[found.place] < best.log_expected[best.place]:
                best = found
            new = float(found.lengths[found.place])
            if abs(np.log(new / over)) < _SAME:
                break
            over, last = new, order
        assert best is not None
        return best

    def curve(self, system: System, order: IntArray, horizon: float) -> BestSize:
        """Expected completion times of the first k nodes of one order."""
        sizes = np.arange(1, order.size + 1)
        lengths = self.job.time(sizes)
        prefixes = Prefixes(system, order, (float(lengths.min()), float(lengths.max())))
        log_expected, tried, lost = self.expected(prefixes, sizes, lengths)
        place = self.choose(log_expected)
        kept = np.isfinite(log_expected) | ~np.isnan(log_expected)
        return BestSize(
            system, self.job, sizes[kept], lengths[kept], log_expected[kept], np.exp(-tried.hazard)[kept], lost[kept],
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
        self, prefixes: Prefixes, sizes: IntArray, lengths: FloatArray
    ) -> tuple[FloatArray, Attempts, FloatArray]:
        """Log of the expected time by size (NaN where it is not computed), the attempts, and the hours lost in one."""
        rows = sizes - 1
        fine = (1e-11, 7) if prefixes.exact else (1e-8, 3)
        tried = attempts(lambda some, x: prefixes(rows[some], x), lengths, *fine)
        job, plan = self.job, self.job.checkpoint
        if self.convention == "paper":
            life = _mean_lives(prefixes, sizes)
            with np.errstate(divide="ignore"):
                if plan is not None:
                    return np.log(expected_paper(life, lengths, plan, job.restart)), tried, life
                return log_expected_paper(tried, job.restart, np.log(life)), tried, life
        later = None
        if self.after_failure == "as_new":
            later = Prefixes(prefixes.system.at_age(0.0), prefixes.order, prefixes.span)
        if plan is not None:
            return self._with_checkpoints(prefixes, later, sizes, lengths), tried, tried.lost
        if later is None:
            return log_expected_exact(tried, job.restart), tried, tried.lost
        again = attempts(lambda some, x: later(rows[some], x), lengths, *fine)
        log_again = log_expected_exact(again, job.restart)
        return log_expected_as_new(tried, job.restart, log_again), tried, tried.lost

    def _with_checkpoints(
        self, prefixes: Prefixes, later: Prefixes | None, sizes: IntArray, lengths: FloatArray
    ) -> FloatArray:
        """All sizes at once for constant rates; else one by one, a net of sizes and then those around the best."""
        plan = self.job.checkpoint
        assert plan is not None
        rows = sizes - 1
        if all(getattr(c.family, "name", "") == "exponential" for c in prefixes.system.components):
            rate = prefixes(rows, np.ones((rows.size, 1)))[:, 0]
            with np.errstate(divide="ignore"):
                return np.log(expected_exponential(rate, lengths, plan, self.job.restart))
        value = np.full(sizes.size, np.nan)

        def fill(some: IntArray) -> None:
            for place in some[np.isnan(value[some])].tolist():
                now, then = (None if p is None else _one(p, int(rows[place])) for p in (prefixes, later))
                assert now is not None
                time = expected_with_checkpoints(now, float(lengths[place]), plan, self.job.restart, then)
                with np.errstate(divide="ignore"):
                    value[place] = np.log(time)

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


def _one(prefixes: Prefixes, row: int) -> Any:
    """Hazard of one size as a function of horizons of any shape."""

    def hazard(x: FloatArray) -> FloatArray:
        return prefixes(np.array([row]), np.asarray(x, dtype=np.float64).reshape(1, -1)).reshape(np.shape(x))

    return hazard


def _mean_lives(prefixes: Prefixes, sizes: IntArray) -> FloatArray:
    """Mean life of the first k nodes, hours."""
    part = prefixes.system.take(prefixes.order)
    return np.asarray(part.by_size(prefixes.span[1]).mttf, dtype=np.float64)[sizes - 1]


# ----------------------------------------------------------------- uncertainty


def _with_interval(found: BestSize, level: float, draws: int, rng: int | np.random.Generator | None) -> BestSize:
    import pandas as pd

    from relfit.system.uncertainty import drawn_systems

    if found.sizes.size <= _MOST_DRAWN:
        places = np.arange(found.sizes.size)
    else:
        near = found.place + np.arange(-6, 7)
        net = np.geomspace(1, found.sizes.size, _MOST_DRAWN - near.size).round().astype(int) - 1
        places = np.unique(np.concatenate([net, np.clip(near, 0, found.sizes.size - 1)]))
    sizes, lengths = found.sizes[places], found.lengths[places]
    settings = _Settings(found.job, found.order.size, "least", found.convention, found.after_failure)
    values = []
    for one in drawn_systems(found.system, draws, rng):
        prefixes = Prefixes(one, found.order, (float(lengths.min()), float(lengths.max())))
        values.append(settings.expected(prefixes, sizes, lengths)[0])
    logs = np.array(values)
    low, high = limits_of_draws(found.system, found.log_expected[places], logs, np.log(lengths), level)
    best = np.bincount(np.nanargmin(logs, axis=1), minlength=sizes.size) / logs.shape[0]
    table = pd.DataFrame({"nodes": sizes, "low": low, "high": high, "best": best})
    return replace(found, draws=table, level=level)
