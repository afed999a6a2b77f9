"""`plan_spares`: how many hot spares a job of so many nodes needs, so that it seldom waits for a node."""

from __future__ import annotations

from bisect import bisect_left
from copy import copy
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy import special

from relfit.base.arguments import durations, share, whole
from relfit.base.arrays import BoolArray, Durations, FloatArray, IntArray, Seed
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.levels import level_checked
from relfit.base.text import count, percent
from relfit.fleet.calibration import FailuresByScope, Parameters, draw_parameters
from relfit.planning.job_rate import mean_time_of
from relfit.planning.plan import NOISE, Plan, beyond_fleet, limits
from relfit.planning.sparing.blocks import blocks_down, unavailability

_AROUND = 3  # rows of the table on either side
_FLAT = 0.9  # share of the wait above which more spares change little
_MOST = 16_384  # spares of a job that has fewer nodes
_DRAWN = 200  # cases of nodes down computed at once
_TAKES_OVER = "A spare takes over at once, and fails and is repaired like any node; all spares are in the job's system."
_STEADY = "Repairs begin at once. Nodes and racks fail independently and at constant rates."
_TOGETHER = "Nodes are down together as often as in the log (fleet.down_scatter {:.2g}); racks fail independently."
_POINTS = 48  # at which a share of time down that varies is evaluated
_MOST_ALIKE = 0.5  # correlation of two nodes
_ROUNDING = 1e-14  # of the transform
_BEYOND = 1e-9  # probability left out at either end of it


class SparesPlan(Plan):
    """Hot spares of a job; made by `plan_spares`. `mtbf` is that of a node.

    Attributes
    ----------
    spares, spares_low, spares_high : int
        Spares that the job needs, and its interval over the draws; -1 and NaN without one.
    nodes : int
        Nodes of the job, without the spares.
    limit : float
        Highest allowed share of the time in which the job waits for a node.
    waiting : float
        This share with `spares`.
    table : pandas.DataFrame
        Around `spares`: number of ``spares``, ``nodes`` with them, ``waiting`` share, ``waiting_low``,
        ``waiting_high``.
    system_down : float
        Share of the time in which the whole system is down, besides; NaN if not known.
    left_out : str
        The failures by the parameters that the plan does not count, in a sentence; "" without any.
    helps : int
        Where racks go down at once and a few more spares change little, the number from which on more do; else 0.
    """

    spares: int
    spares_low: float
    spares_high: float
    nodes: int
    limit: float
    waiting: float
    table: pd.DataFrame
    system_down: float
    left_out: str
    helps: int

    _frame: ClassVar[str] = "table"

    @property
    def headline(self) -> str:
        """The spares needed, and the wait with them and with one fewer."""
        between = ""
        if np.isfinite(self.spares_low):
            between = f" ({self.spares_low:.0f}-{self.spares_high:.0f}, {100 * self.level:g} % interval)"
        text = f"A job of {count(self.nodes, 'node')} needs {count(self.spares, 'hot spare')}{between}: it then waits "
        text += f"for a node {percent(self.waiting)} of the time"
        if self.spares:
            fewer = self.table.loc[self.table["spares"] == self.spares - 1, "waiting"].iloc[0]
            same = percent(float(fewer)) == percent(self.limit)  # above it, by less than is shown
            text += f", with one fewer {percent(float(fewer))}{', just above the limit' if same else ''}"
        return f"{text}."

    @property
    def remarks(self) -> tuple[str, ...]:
        """From how many spares on more help; how long the whole system is down; and what is left out."""
        down = f"The whole system is down {percent(self.system_down)} of the time besides; spares in it do not help."
        return tuple(filter(None, (self._racks, down if self.system_down > 0.0 else "", self.left_out)))

    @property
    def _racks(self) -> str:
        """What racks that go down at once leave to the spares, where a few more of these change little."""
        if not self.helps:
            return ""
        rows = self.table.set_index("spares")["waiting"]
        return (
            f"Racks that go down at once make {percent(float(rows[self.helps - 1]))}: more spares help only from "
            f"{self.helps} on ({percent(float(rows[self.helps]))})."
        )


def plan_spares(
    source: object,
    nodes: int,
    limit: float = 0.01,
    *,
    repair: Durations | None = None,
    n_draws: int = 200,
    level: float = 0.95,
    rng: Seed = 0,
) -> SparesPlan:
    """Hot spares with which a job waits for a node at most a share `limit` of the time.

    Parameters
    ----------
    source : duration or Parameters
        Mean time between failures of one node, or calibrated parameters, also of racks.
    nodes : int
        Nodes of the job, without the spares.
    limit : float
        Highest allowed share of the time.
    repair : duration, optional
        Mean time to repair; by default those of the parameters.
    n_draws, level, rng
        As for `plan_checkpoints`.

    Raises
    ------
    ArgumentError
        For an invalid value, without a time to repair, or if neither 16,384 spares nor as many as nodes are enough.

    Notes
    -----
    The job waits while more of its nodes and spares are down than it has spares. A rack takes ``fleet.rack_share`` of
    its nodes down at once, in addition to what fails by itself. They are back one by one or at once, by
    ``mttr.rack_node`` (of each) and ``mttr.rack`` (of the last): at once without ``mttr.rack_node``. With
    ``fleet.down_scatter`` the share of time that nodes are down by themselves varies in common, with a beta
    distribution: their number is beta-binomial.

    Examples
    --------
    >>> print(plan_spares("5000h", 128, repair="24h").headline)
    A job of 128 nodes needs 3 hot spares: it then waits for a node 0.38 % of the time, with one fewer 2.5 %.
    """
    size, highest = int(whole("nodes", nodes)), float(share("limit", limit, zero=False, one=False))
    level_checked(level)
    case, drawn = _Shares.of(source, repair), None
    if isinstance(source, Parameters):
        drawn = _Shares.of(source, repair, int(whole("n_draws", n_draws, 2)), rng)
        drawn = drawn if np.ptp(drawn.node) or np.ptp(drawn.rack) else None  # nothing is known of the uncertainty
    spares = int(_needed(case, size, highest)[0])
    helps = _helps(case, size, spares)
    rows = np.arange(max(spares - _AROUND, 0), max(spares + _AROUND, helps) + 1)
    waits = np.array([case.waiting(size, int(s))[0] for s in rows])
    table = pd.DataFrame({"spares": rows, "nodes": size + rows, "waiting": waits})
    between = [limits(None if drawn is None else drawn.waiting(size, int(s)), level) for s in rows]
    table["waiting_low"], table["waiting_high"] = np.array(between).T
    low, high = limits(None if drawn is None else _needed(drawn, size, highest), level, integer=True)
    independence = _TOGETHER.format(case.scatter[0]) if case.scatter[0] else _STEADY
    racks = () if "mtbf.rack" in case.left_out else ("Racks are not known and left out.",)
    if case.rack_size:
        racks = (
            f"A failure of a rack takes {case.hit:.3g} nodes at once: the wait may fall in steps of as many spares.",
        )
    return SparesPlan(
        spares=spares,
        spares_low=low,
        spares_high=high,
        nodes=size,
        limit=highest,
        waiting=float(waits[rows == spares][0]),
        table=table,
        system_down=case.system,
        left_out=case.left_out,
        helps=helps,
        mtbf=case.mtbf,
        source=case.source,
        premise=f"By the {case.source}:" if isinstance(source, Parameters) and source.at else "",
        level=float(level),
        extrapolated=beyond_fleet(source, size),
        n_draws=0 if drawn is None else drawn.node.size,
        assumptions=(_TAKES_OVER, independence, *racks, *(() if drawn is None else (NOISE,))),
    )


def waits_with_spares(parameters: Parameters, sizes: IntArray, spares: IntArray, changes: FloatArray) -> FloatArray:
    """Hours that jobs wait for a node, per hour that they run, shape (changes, spares, sizes).

    Each row of `changes` multiplies the failures of single nodes and all times to repair.
    """
    shares, (failures, repairs) = _Shares.of(parameters, None), np.asarray(changes, dtype=np.float64).T
    node, rack = (share / (1.0 - share) for share in (shares.node, shares.rack))
    shares.node, shares.rack = (odds / (1.0 + odds) for odds in (node * failures * repairs, rack * repairs))
    shares.apart, shares.scatter = (np.repeat(each, failures.size) for each in (shares.apart, shares.scatter))
    waiting = [[shares.waiting(int(size), int(ready)) for size in sizes] for ready in spares]
    return np.asarray(np.moveaxis(np.array([[each / (1.0 - each) for each in row] for row in waiting]), -1, 0))


class _Shares:
    """Shares of time down: of a `node` by itself and by its `rack`, one per case; and what a rack holds. The nodes
    that a rack takes down are back one by one in a share `apart` of its failures, else at once.
    """

    def __init__(self, node: Any, mtbf: float, source: str) -> None:
        self.node, self.mtbf, self.source = np.atleast_1d(np.asarray(node, dtype=np.float64)), mtbf, source
        self.rack: FloatArray = np.zeros_like(self.node)
        self.apart: FloatArray = np.zeros_like(self.node)
        self.rack_size, self.hit, self.system, self.left_out = 0, 0.0, float("nan"), ""
        self.scatter: FloatArray = np.zeros_like(self.node)

    @classmethod
    def of(cls, source: object, repair: Durations | None, n_draws: int | None = None, rng: Seed = 0) -> _Shares:
        """From a mean time or parameters: of the estimates, or of draws of them."""
        own = None if repair is None else float(durations("repair", repair))
        if not isinstance(source, Parameters):
            if own is None:
                raise ArgumentError("the time to repair is not known", remedy=Remedy("give repair", "give --mttr"))
            mtbf = float(mean_time_of(source))
            return cls(unavailability(mtbf, own), mtbf, f"mean time between failures of a node {mtbf:g} h")
        source.require("mtbf.node")
        values: Any = source.values() if n_draws is None else draw_parameters(source, n_draws, rng).arrays

        def down(scope: str) -> Any:
            names = [name for name in (f"mttr.{scope}", "mttr.mean") if name in values]
            if own is None and not names:
                source.require(f"mttr.{scope}")
            return unavailability(values[f"mtbf.{scope}"], values[names[0]] if own is None else own)

        shares, fleet = cls(down("node"), float(source.values()["mtbf.node"]), source.title), source.fleet
        if "fleet.down_scatter" in values:
            shares.scatter = shares.scatter + values["fleet.down_scatter"]
        if "mtbf.rack" in values and fleet.nodes and fleet.racks:
            shares.rack_size = max(round(fleet.nodes / fleet.racks), 1)
            part = 1.0 if fleet.rack_share is None else float(fleet.rack_share)
            shares.hit = max(part * shares.rack_size, 1.0)
            if own is None and "mttr.rack_node" in values:
                last = values.get("mttr.rack", np.inf)
                shares._return(values["mtbf.rack"], values["mttr.rack_node"], last)
            else:
                shares.rack = np.atleast_1d(down("rack"))
        used = ("system", "rack") if shares.rack_size else ("system",)
        shares.left_out = FailuresByScope.of_parameters(source).left_out(*used)
        if n_draws is None and "mtbf.system" in values:
            shares.system = float(down("system"))
        return shares

    def _return(self, mtbf: Any, node: Any, last: Any) -> None:
        """Nodes of a rack are back at once, one by one, or in part so, by the times until one and the last are back."""
        # mean time until the last of exponential times, over their own
        longest = float(special.digamma(self.hit + 1.0) + np.euler_gamma)
        last = np.clip(np.divide(last, node), 1.0, longest)
        self.rack = np.atleast_1d(node / (mtbf + node * last))
        self.apart = np.atleast_1d((last - 1.0) / max(longest - 1.0, 1e-9))

    def waiting(self, size: int, spares: int) -> FloatArray:
        """Share of the time in which more of all nodes are down than there are spares, for every case."""
        if self.scatter.any():
            levels, weights = _varying(self.node, self.scatter)
            fixed = copy(self)
            fixed.node, fixed.scatter = levels.ravel(), np.zeros(levels.size)
            fixed.rack, fixed.apart = np.repeat(self.rack, _POINTS), np.repeat(self.apart, _POINTS)
            return np.asarray((fixed.waiting(size, spares).reshape(levels.shape) * weights).sum(axis=1))
        parts = np.array_split(np.arange(self.node.size), -(-self.node.size // _DRAWN))
        return np.concatenate([self._down(part, size + spares)[:, spares + 1 :].sum(axis=1) for part in parts])

    def _down(self, cases: Any, total: int) -> FloatArray:
        """Probabilities of each number of nodes down, shape (cases, total + 1): the sum over racks."""
        held = self.rack_size or 1
        product = np.ones((len(cases), (total + 1) // 2 + 1), dtype=complex)
        for number, nodes in ((total // held, held), (1, total % held)):
            if number and nodes:
                product *= np.fft.rfft(self._of_rack(cases, nodes), total + 1, axis=1) ** number
        shares = np.clip(np.fft.irfft(product, total + 1, axis=1), 0.0, 1.0)
        return np.where(shares > _ROUNDING, shares, 0.0)

    def _of_rack(self, cases: Any, nodes: int) -> FloatArray:
        """Probabilities of 0 to `nodes` nodes down in a rack of so many: some of them together, all others alone."""
        node, rack, apart = (values[cases, None] for values in (self.node, self.rack, self.apart))
        hit = min(self.hit * nodes / self.rack_size, float(nodes)) if self.rack_size else 0.0
        least, more = int(hit), hit - int(hit)
        law = np.zeros((len(cases), nodes + 1))
        for most, share_of in ((least, 1.0 - more), (least + 1, more)):
            if not share_of:
                continue
            left = np.full_like(node, share_of)
            alone = blocks_down(np.arange(nodes + 1), nodes - most, node)
            for down in range(most, -1, -1):
                # of exponential times, the last j nodes are down for 1/j of the mean
                weight = share_of * rack * (apart / down + (1.0 - apart) * (down == most)) if down else left
                law[:, down:] += weight * alone[:, : nodes + 1 - down]
                left = left - weight
                alone = (1.0 - node) * alone + node * np.pad(alone[:, :-1], ((0, 0), (1, 0)))
        return law


def _varying(share: FloatArray, scatter: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values and weights, shape (cases, points), of beta-distributed shares with this mean and relative variance."""
    at, weight = np.polynomial.legendre.leggauss(_POINTS)
    both = np.minimum(scatter * share / (1.0 - share), _MOST_ALIKE)  # correlation of two nodes
    a, b = (part[:, None] * (1.0 / both[:, None] - 1.0) for part in (share, 1.0 - share))
    low, high = special.betaincinv(a, b, _BEYOND), special.betaincinv(a, b, 1.0 - _BEYOND)
    values = low + (high - low) * 0.5 * (at + 1.0)
    with np.errstate(divide="ignore"):
        density = (a - 1.0) * np.log(values) + (b - 1.0) * np.log1p(-values) - special.betaln(a, b)
    return values, np.exp(density) * 0.5 * weight * (high - low)


def _needed(shares: _Shares, size: int, limit: float) -> FloatArray:
    """Least spares with which each case waits at most a share `limit` of the time."""

    def enough(spares: int) -> BoolArray:
        return np.asarray(shares.waiting(size, spares) <= limit)

    most = 1
    while not enough(most).all():
        if most >= max(_MOST, size):
            what = f"no number of spares up to {most:,} keeps the wait at {limit:g} of the time"
            raise ArgumentError(what, remedy="give a larger limit, or a shorter time to repair")
        most *= 2
    needed = np.full(shares.node.size, np.nan)
    for spares in range(bisect_left(range(most), True, key=lambda spares: bool(enough(spares).any())), most + 1):
        needed[np.isnan(needed) & enough(spares)] = spares
        if not np.isnan(needed).any():
            break
    return needed


def _helps(shares: _Shares, size: int, spares: int) -> int:
    """The spares from which on the wait is clearly less than with so many; 0 without racks, or if two more do."""
    waits = shares.waiting(size, spares)[0]
    for more in range(1, int(shares.hit) + 1):
        if shares.waiting(size, spares + more)[0] < _FLAT * waits:
            return spares + more if more > 2 else 0
    return 0
