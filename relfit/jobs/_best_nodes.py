"""Which k nodes: the search that is right where taking the most reliable nodes is not.

With ``g_i(x) = H_i(t_i + T) - H_i(t_i + x)``, what node i spends of its cumulative hazard between x and the end T of an
attempt, a set of k nodes has the expected completion time
``integral_0^T exp(sum g_i(x)) dx + R (exp(sum g_i(0)) - 1)``. The most reliable k nodes, those of least ``g_i(0)``, are
the best k if all g_i(x) are ordered alike for every x, as where hazards over [0, T] do not cross: exponential nodes,
Weibull nodes of one shape and age zero, nodes that differ in age alone if their hazard is monotone. Otherwise a node
that fails early costs less than one that fails as often but late, and the order of reliability, which changes with T
and thus with k, may miss the best.

The logarithm of the integral is convex in the indicators of the nodes. Its tangent at any set bounds it from below, and
the bound over sets of k nodes is a sum of the k smallest slopes: this closes most sizes at once, and branch and bound
the others.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError
from relfit.jobs._best_size import BestSize, best_size
from relfit.jobs.completion import CompletionTime, Job, check_names, completion_time, job_of
from relfit.jobs.prefixes import common_hazard, node_hazards_along
from relfit.jobs.restarts import log_expm1, unit_grid
from relfit.system.hazards import node_cumulative_hazards

if TYPE_CHECKING:
    import pandas as pd

    from relfit.system.system import System

__all__ = ["MOST_EXACT", "MOST_LISTED", "BestNodes", "best_nodes", "hazards_ordered_alike"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

MOST_EXACT = 256
"""Nodes up to which every size is searched, in the exact convention."""
MOST_LISTED = 14
"""Nodes up to which every set is looked at, in the paper's convention."""
_CLOSE = 1e-10  # of the log of the expected time: a set that gains less is not looked for
_STEP = 0.08
_TANGENTS = 24
_WINDOW = 12  # sizes around the best of the sorted nodes, in larger systems
_ENTRIES = 4_000_000


@dataclass(frozen=True, eq=False)
class BestNodes:
    """The nodes on which a job is done first.

    Attributes
    ----------
    sorted : BestSize
        Expected times with the most reliable nodes first, and the best of them.
    positions : ndarray of int, shape (size,)
        Positions of the chosen nodes, rising.
    log_expected : float
        Log of the expected completion time on them, hours.
    gap : float
        No set has an expected time below this one's by a larger share; zero where the set is known to be the best,
        infinite where nothing is known.
    ordered : bool
        Whether the nodes' hazards are ordered alike over the job: then the most reliable are the best of each size.
    method : str
        ``search`` (exact), ``list`` (all sets; the paper's convention), ``tangents`` or ``swaps`` (improved from the
        sorted nodes, around their best size).
    steps : int
        Sets and bounds that were computed.
    """

    sorted: BestSize
    positions: IntArray
    log_expected: float
    gap: float
    ordered: bool
    method: str
    steps: int

    @property
    def system(self) -> System:
        """All nodes."""
        return self.sorted.system

    @property
    def job(self) -> Job:
        """The job."""
        return self.sorted.job

    @property
    def best(self) -> int:
        """The best number of nodes."""
        return int(self.positions.size)

    @property
    def best_expected(self) -> float:
        """Expected completion time in hours; infinite where no float can hold it."""
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_expected))

    @property
    def optimal(self) -> bool:
        """Whether the set is known to be the best."""
        return self.gap <= 0.0

    @property
    def gain(self) -> float:
        """Share of the expected time that the search saves against the sorted nodes."""
        return float(-np.expm1(min(self.log_expected - self.sorted.log_expected[self.sorted.place], 0.0)))

    @property
    def nodes(self) -> list[Any]:
        """Names of the chosen nodes."""
        return list(self.system.names[self.positions])

    @cached_property
    def completion(self) -> CompletionTime:
        """The completion time on the chosen nodes, with its distribution."""
        return completion_time(self.system.take(self.positions), self.job, convention=self.sorted.convention)

    @property
    def sentence(self) -> str:
        """The answer, in a sentence."""
        if not np.isfinite(self.best_expected):
            return "On no set of nodes will the job finish: failures come too often for its length."
        text = f"Best on {self.best} of {self.system.n_nodes} nodes: {self.best_expected:.4g} h expected"
        if self.gain > 1e-9:
            text += f", {100 * self.gain:.2g} % less than on the best number of the most reliable nodes"
        else:
            text += "; no set beats the most reliable nodes" if self.optimal else "; they are the most reliable ones"
        if not self.optimal:
            text += (
                "; it is not known to be the best" if np.isinf(self.gap) else f"; at most {100 * self.gap:.2g} % off"
            )
        return text + "."

    def to_frame(self) -> pd.DataFrame:
        """A row a chosen node: position, node, age (hours), reliability over the length of the job."""
        import pandas as pd

        length = float(self.job.time([self.best])[0])
        part = self.system.take(self.positions)
        spent = node_cumulative_hazards(part.components, part.ages, np.array([length]))[:, 0]
        return pd.DataFrame(
            {
                "position": self.positions,
                "node": self.nodes,
                "age": self.system.ages[self.positions],
                "reliability": np.exp(-spent),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "best": self.best,
            "expected": self.best_expected if np.isfinite(self.best_expected) else None,
            "positions": self.positions.tolist(),
            "nodes": [name.item() if hasattr(name, "item") else name for name in self.nodes],
            "optimal": self.optimal,
            "gap": self.gap if np.isfinite(self.gap) else None,
            "gain": self.gain,
            "ordered_alike": self.ordered,
            "method": self.method,
            "sorted_best": self.sorted.best,
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"BestNodes: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>{self.to_frame().head(20).to_html(index=False, escape=True)}"


def best_nodes(
    system: System,
    work: Any = None,
    speedup: Any = None,
    *,
    restart: Any = 0.0,
    k_max: int | None = None,
    convention: str = "exact",
    most_steps: int = 20_000,
) -> BestNodes:
    """The set of nodes, of any size up to `k_max`, on which a job that restarts from zero is done first.

    Parameters
    ----------
    system : System
    work, speedup, restart
        As for `completion_time`; `work` may be a `Job` without checkpoints.
    k_max : int, optional
        Largest number of nodes; all when left out.
    convention : {"exact", "paper"}
    most_steps : int
        The search ends after so many bounds; `BestNodes.gap` then says how far from the best it may be.

    Returns
    -------
    BestNodes
        Up to 256 nodes in the exact convention, and up to 14 in the paper's, the best of all sets. In larger systems
        the sorted nodes are improved at the sizes around their best, and `gap` bounds what may be missed at those sizes
        (infinite in the paper's convention, for which there is no bound).

    Raises
    ------
    ArgumentError
        For a job with checkpoints, and what `best_size` rejects.

    Examples
    --------
    A node that fails early, if at all, beats one that is a little more reliable but fails late:

    >>> from relfit.system import System
    >>> from relfit.families import Weibull
    >>> system = System(Weibull([0.3, 4.0], [30000.0, 160.0]))
    >>> [round(float(system.take([i]).reliability(100.0)), 3) for i in range(2)]
    [0.835, 0.858]
    >>> found = best_nodes(system, "100h", lambda k: k**0.0)
    >>> found.positions.tolist(), found.sorted.positions.tolist(), found.optimal
    ([0], [1], True)
    """
    job = job_of(work, speedup, restart, None)
    if job.checkpoint is not None:
        raise ArgumentError("sets are searched for jobs without checkpoints", remedy="use best_size(...)")
    if system.racks is not None:
        raise ArgumentError("sets are not searched where racks fail as a whole", remedy="use best_size(...)")
    check_names(convention, "same")
    greedy = best_size(system, job, k_max=k_max, convention=convention)
    search = _Search(system, job, greedy, most_steps)
    if convention == "paper":
        found = search.listed() if system.n_nodes <= MOST_LISTED else search.swapped()
    elif system.n_nodes <= MOST_EXACT:
        found = search.over(np.arange(1, greedy.order.size + 1), "search")
    else:
        near = greedy.best + np.arange(-_WINDOW, _WINDOW + 1)
        found = search.over(near[(near >= 1) & (near <= greedy.order.size)], "tangents")
    return found


def hazards_ordered_alike(system: System, length: float) -> bool:
    """Whether what nodes spend of their hazard up to the end of a job is ordered alike from every moment on.

    The most reliable k nodes over `length` hours are then the best k for a job that restarts from zero.

    Examples
    --------
    >>> from relfit.system import System
    >>> from relfit.families import Weibull
    >>> hazards_ordered_alike(System(Weibull(0.7, [900.0, 500.0, 700.0])), 100.0)
    True
    """
    place, _ = unit_grid(_STEP)
    x = length * np.concatenate([place, [1.0]])
    spent = node_cumulative_hazards(system.components, system.ages, x)
    left = spent[:, -1:] - spent[:, :-1]
    order = np.argsort(left[:, 0], kind="stable")
    noise = 1e-13 * (spent[order[1:], -1:] + spent[order[:-1], -1:])
    return bool(np.all(np.diff(left[order], axis=0) >= -noise))


# --------------------------------------------------------------- one number k


@dataclass(frozen=True, eq=False)
class _Size:
    """The problem for one number of nodes: least log of ``sum_q c_q exp(sum_i z_i g_iq)`` over indicators z."""

    left: FloatArray  # g, shape (n, m)
    log_weight: FloatArray  # log c, shape (m,)
    k: int

    def value_and_slopes(self, z: FloatArray) -> tuple[float, FloatArray]:
        """Value at fractions z of the nodes, and its derivative by each."""
        terms = z @ self.left + self.log_weight
        most = float(terms.max())
        with np.errstate(under="ignore"):
            part = np.exp(terms - most)
            total = float(part.sum())
            return most + np.log(total), self.left @ (part / total)

    def indicator(self, chosen: IntArray) -> FloatArray:
        z = np.zeros(self.left.shape[0])
        z[chosen] = 1.0
        return z

    def smallest(self, slopes: FloatArray, inside: IntArray, free: IntArray) -> tuple[IntArray, float]:
        """The nodes inside and the free ones of smallest slope, k in all, and the sum of their slopes."""
        wanted = self.k - inside.size
        if wanted < free.size:
            values = slopes[free]
            order = np.lexsort((free, values))[:wanted]
            chosen = np.concatenate([inside, free[order]])
        else:
            chosen = np.concatenate([inside, free])
        return chosen, float(slopes[chosen].sum())


class _Search:
    """The best set over several sizes."""

    def __init__(self, system: System, job: Job, greedy: BestSize, most_steps: int) -> None:
        self.system, self.job, self.greedy, self.most_steps = system, job, greedy, most_steps
        self.best = float(greedy.log_expected[greedy.place])
        self.positions = np.sort(greedy.positions)
        self.steps = 0

    # ------------------------------------------------------- exact convention

    def over(self, sizes: IntArray, method: str) -> BestNodes:
        """Search the given sizes, the most promising first."""
        lengths = self.job.time(sizes)
        place, weight = unit_grid(_STEP)
        known = self.greedy.log_expected[sizes - 1]
        width = max(1, _ENTRIES // (self.system.n_nodes * (place.size + 1)))
        gap = 0.0
        promising = np.argsort(known, kind="stable")
        for first in range(0, sizes.size, width):
            some = promising[first : first + width]
            some = some[np.log(lengths[some]) < self.best - _CLOSE]  # without failures it would take longer already
            if not some.size:
                continue
            x = lengths[some, None] * np.concatenate([place, [1.0]])
            spent = node_hazards_along(self.system, x.ravel())
            spent = spent.reshape(self.system.n_nodes, some.size, -1)
            for at, one in enumerate(some.tolist()):
                left = spent[:, at, -1:] - spent[:, at, :-1]
                also = common_hazard(self.system, x[at])
                log_weight = np.log(weight * lengths[one]) + (also[-1] - also[:-1])
                if self.job.restart > 0.0:
                    left = np.concatenate([left, spent[:, at, -1:]], axis=1)
                    log_weight = np.append(log_weight, np.log(self.job.restart) + also[-1])
                gap = max(gap, self._size(_Size(left, log_weight, int(sizes[one])), method == "search"))
        length = float(self.job.time([self.positions.size])[0])
        return self._found(gap, hazards_ordered_alike(self.system, length), method)

    def _found(self, gap: float, ordered: bool, method: str) -> BestNodes:
        chosen = self.system.take(self.positions)
        value = completion_time(chosen, self.job, convention=self.greedy.convention).log_expected
        known = float(self.greedy.log_expected[self.greedy.place])
        if value >= known - _CLOSE:  # no better than the sorted nodes, but for rounding
            value, self.positions = known, np.sort(self.greedy.positions)
        return BestNodes(self.greedy, self.positions, value, gap, ordered, method, self.steps)

    def _expected(self, value: float) -> float:
        """Log of the expected time from the value of a `_Size`, which counts R once too often."""
        if self.job.restart == 0.0:
            return value
        log_restart = np.log(self.job.restart)
        return float(log_restart + log_expm1(max(value - log_restart, 0.0)))

    def _target(self) -> float:
        """Value of a `_Size` below which a set is better than the best so far."""
        if self.job.restart == 0.0:
            return self.best - _CLOSE
        return float(np.logaddexp(self.best - _CLOSE, np.log(self.job.restart)))

    def _keep(self, value: float, chosen: IntArray) -> None:
        expected = self._expected(value)
        if expected < self.best - _CLOSE:
            self.best, self.positions = expected, np.sort(chosen)

    def _size(self, size: _Size, branch: bool) -> float:
        """Search one size; the share by which a set of it may still be better."""
        none, every = np.empty(0, dtype=np.int64), np.arange(size.left.shape[0])
        bound, middle = self._bound(size, none, every)
        if bound >= self._target():
            return 0.0
        if not branch:
            return self._gap(bound)
        queue: list[tuple[float, int, IntArray, IntArray, FloatArray]] = [(bound, 0, none, every, middle)]
        number = 0
        while queue:
            bound, _, inside, free, middle = heapq.heappop(queue)
            if bound >= self._target():
                return 0.0
            if self.steps > self.most_steps:
                return self._gap(bound)
            # branch on the node that is the least decided
            share = middle[free]
            node = free[int(np.argmin(np.abs(share - 0.5)))]
            rest = free[free != node]
            for more in (True, False):
                now = np.append(inside, node) if more else inside
                if now.size > size.k or now.size + rest.size < size.k:
                    continue
                below, centre = self._bound(size, now, rest)
                if below < self._target():
                    number += 1
                    open_nodes = rest if now.size < size.k else rest[:0]
                    if open_nodes.size and now.size + open_nodes.size > size.k:
                        heapq.heappush(queue, (below, number, now, open_nodes, centre))
        return 0.0

    def _gap(self, bound: float) -> float:
        return float(max(-np.expm1(self._expected(bound) - self.best), 0.0))

    def _bound(self, size: _Size, inside: IntArray, free: IntArray) -> tuple[float, FloatArray]:
        """Lower bound over the sets of k nodes with all `inside` and others from `free`, and where it was found.

        First whole sets, each from the slopes at the one before; then the relaxation to fractions of nodes, by
        Frank-Wolfe steps, whose tangents bound from below.
        """
        chosen, _ = size.smallest(size.left[:, 0], inside, free)
        bound = -np.inf
        seen = np.inf
        while True:
            z = size.indicator(chosen)
            value, slopes = size.value_and_slopes(z)
            self.steps += 1
            self._keep(value, chosen)
            other, total = size.smallest(slopes, inside, free)
            bound = max(bound, value + total - float(slopes @ z))
            if value >= seen - 1e-13 or bound >= self._target() or np.array_equal(np.sort(other), np.sort(chosen)):
                break
            seen, chosen = value, other
        target = self._target()
        if bound >= target or inside.size + free.size == size.k or inside.size == size.k:
            return (max(bound, value) if inside.size + free.size == size.k or inside.size == size.k else bound), z
        for _ in range(_TANGENTS):
            way = size.indicator(other) - z
            share = _line_minimum(size, z, way)
            z = z + share * way
            value, slopes = size.value_and_slopes(z)
            self.steps += 1
            other, total = size.smallest(slopes, inside, free)
            new = value + total - float(slopes @ z)
            bound = max(bound, new)
            whole, _ = size.smallest(-z, inside, free)
            self._keep(size.value_and_slopes(size.indicator(whole))[0], whole)
            if bound >= self._target() or (value < self._target() and value - bound < 0.05 * (target - value)):
                break
        return bound, z

    # ------------------------------------------------------ paper's convention

    def listed(self) -> BestNodes:
        """All sets, one size after the other."""
        n, most = self.system.n_nodes, self.greedy.order.size
        bits = ((np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1).astype(bool)
        count = bits.sum(axis=1)
        for k in range(1, most + 1):
            self._keep_best(bits[count == k])
        length = float(self.job.time([self.positions.size])[0])
        return self._found(0.0, hazards_ordered_alike(self.system, length), "list")

    def swapped(self) -> BestNodes:
        """From the sorted nodes around their best size, exchange one node against another while that helps."""
        n, most = self.system.n_nodes, self.greedy.order.size
        for k in range(max(1, self.greedy.best - 2), min(most, self.greedy.best + 2) + 1):
            now = np.zeros(n, dtype=bool)
            now[self.greedy.order[:k]] = True
            value = np.inf
            while self.steps < self.most_steps:
                outs, ins = np.flatnonzero(now), np.flatnonzero(~now)
                sets = np.repeat(now[None, :], outs.size * ins.size + 1, axis=0)
                pairs = np.stack(np.meshgrid(outs, ins, indexing="ij"), axis=-1).reshape(-1, 2)
                sets[np.arange(1, sets.shape[0]), pairs[:, 0]] = False
                sets[np.arange(1, sets.shape[0]), pairs[:, 1]] = True
                least, now = self._keep_best(sets)
                if least >= value - _CLOSE:
                    break
                value = least
        length = float(self.job.time([self.positions.size])[0])
        return self._found(np.inf, hazards_ordered_alike(self.system, length), "swaps")

    def _keep_best(self, sets: BoolArray) -> tuple[float, BoolArray]:
        """Least log of the expected time among sets of one size, and the set."""
        length = float(self.job.time([int(sets[0].sum())])[0])
        spent_all, log_step, before = self._paper_grid
        end = np.array([length])
        at_end = node_cumulative_hazards(self.system.components, self.system.ages, end)[:, 0]
        also = float(common_hazard(self.system, end)[0])
        best, chosen = np.inf, sets[0]
        width = max(1, _ENTRIES // spent_all.shape[1])
        for first in range(0, sets.shape[0], width):
            z = sets[first : first + width].astype(np.float64)
            with np.errstate(under="ignore"):
                mean_life = np.exp(-(z @ spent_all)) @ np.exp(log_step) + before
            hazard = z @ at_end + also
            each = np.log(mean_life + self.job.restart)
            value = np.logaddexp(np.log(length), each + log_expm1(hazard))
            self.steps += value.size
            place = int(np.argmin(value))
            if value[place] < best:
                best, chosen = float(value[place]), sets[first + place]
        if best < self.best - _CLOSE:
            self.best, self.positions = best, np.flatnonzero(chosen)
        return best, chosen

    @cached_property
    def _paper_grid(self) -> tuple[FloatArray, FloatArray, float]:
        """Hazards of the nodes on a grid in the log of time, logs of its weights, and the integral before it."""
        step = 0.05
        y = np.arange(-60.0, 60.0, step) + np.log(float(self.job.time([1])[0]))
        spent = node_cumulative_hazards(self.system.components, self.system.ages, np.exp(y))
        used = spent.min(axis=0) < 60.0
        first = int(np.count_nonzero(spent.max(axis=0) * self.system.n_nodes < 1e-15))
        used[:first] = False
        log_step = y + np.log(step) - common_hazard(self.system, np.exp(y))
        before = float(np.exp(y[first] - step) * step / -np.expm1(-step)) if first < y.size else 0.0
        return spent[:, used], log_step[used], before


def _line_minimum(size: _Size, z: FloatArray, way: FloatArray) -> float:
    """Share of the way from z at which the value is least, by halving where its derivative changes sign."""
    base, change = z @ size.left + size.log_weight, way @ size.left
    low, high = 0.0, 1.0
    for _ in range(24):
        middle = 0.5 * (low + high)
        terms = base + middle * change
        with np.errstate(under="ignore"):
            part = np.exp(terms - terms.max())
        if float(part @ change) > 0.0:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)
