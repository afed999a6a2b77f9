"""`simulate_log`: a failure log simulated from calibrated parameters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from relfit.base.arguments import durations, random_stream
from relfit.base.arrays import Durations, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.units import NANOSECONDS_PER_HOUR, instant
from relfit.fleet.calibration import FailuresByScope, Parameters, ScopeFailures
from relfit.io.frames import events_frame, population_frame
from relfit.log.failurelog import FailureLog, Source, Window

_MOST = 20_000_000  # outages
_MOST_NODES = 5_000_000
_TRIALS = 4000  # draws of several repairs, for the longest of them
_SCOPES = ("node", "group", "system")
Outages = tuple[IntArray, FloatArray, FloatArray, IntArray]
"""Of each outage its node, start and end in hours, and the number of its scope in `_SCOPES`."""


def simulate_log(
    parameters: Parameters,
    span: Durations = "8766h",
    *,
    nodes: int | None = None,
    racks: int | None = None,
    start: object = "2020-01-01",
    rng: int | np.random.Generator | None = 0,
) -> FailureLog:
    """Simulate the failure log of a cluster with these parameters.

    Nodes are new at the start. A node works, fails, is repaired and works again. Times to failure have the distribution
    ``failure`` where it is known, else they are exponential; their mean is ``mtbf.node``, else ``mtbf.outage``, else
    that of ``failure``. Nodes differ in rate where ``bad_nodes`` or ``failure.spread`` says so. Racks, groups of nodes
    and the system fail as Poisson processes by ``mtbf.rack``, ``mtbf.group`` and ``mtbf.system``; each such failure
    takes down the working nodes of its place (the share ``fleet.rack_share`` or ``fleet.group_share`` of them on
    average, where known). Records have the scope ``node``, ``group`` (of racks and groups) or ``system``. Times to
    repair have the distribution ``repair`` where it is known, else they are quick or slow where both means are known,
    else exponential; their mean is ``mttr.node``, ``mttr.rack``, ... of the scope where that is known. Without any,
    repairs take no time. Nodes that fail together are back together, or each after its own repair in the share of
    failures that gives their means ``mttr.rack_node`` and ``mttr.rack``.

    Parameters
    ----------
    parameters : relfit.Parameters
    span : float or duration
        Length of the observation, in hours.
    nodes, racks : int, optional
        By default those of ``parameters.fleet``; nodes fill racks in order.
    start : date or time
        Start of the observation; UTC where it has no zone.
    rng : int or numpy.random.Generator

    Returns
    -------
    FailureLog

    Raises
    ------
    ArgumentError
        When the number of nodes or every time to failure is unknown, for a span that is not above zero, or for more
        than twenty million expected outages.

    Examples
    --------
    >>> from relfit.fleet.calibration import FailuresByScope, Parameters, ScopeFailures
    >>> log = simulate_log(Parameters(mtbf="2000h", mttr="24h"), "8766h", nodes=100, rng=1)
    >>> log.n_nodes, 350 < len(log) < 550
    (100, True)
    """
    length = float(durations("span", span, zero=False))
    count = nodes if nodes is not None else parameters.fleet.nodes
    if count is None or count < 1:
        raise ArgumentError("the number of nodes is not known", remedy="give nodes=...")
    shelves = racks if racks is not None else parameters.fleet.racks
    begun = instant(start)
    failures = FailuresByScope.of_parameters(parameters, nodes=count, racks=shelves)
    _check_size(failures, count, shelves or 0, length, begun)
    generator = random_stream(rng)
    works, repair = _times_to_failure(failures, generator, count), _Repairs(failures, generator)
    outages = _own_failures(works, repair.of(failures.node), count, length)
    rack = None if not shelves else np.arange(count) * shelves // count
    for scope in failures.wider:
        if not scope.is_placed:
            continue
        members = rack if scope.name == "rack" and rack is not None else np.zeros(count, dtype=np.int64)
        groups = int(members.max()) + 1
        number = generator.poisson(groups * length / scope.mtbf)
        when = np.sort(generator.uniform(0.0, length, number))
        struck = generator.integers(groups, size=number)
        lasting = repair.together(scope, count / groups * (1.0 if scope.share is None else scope.share))
        recorded = _SCOPES.index("system" if scope.name == "system" else "group")
        outages = _shared_failures(outages, when, struck, lasting, members, recorded, scope.share, generator)
    system = parameters.name or "simulated"
    return log_of_outages(system, outages, rack, count, length, begun)


def _times_to_failure(
    failures: FailuresByScope, rng: np.random.Generator, count: int
) -> Callable[[IntArray], FloatArray]:
    """A function that draws one time to failure for each of some nodes."""
    rates, family, mean = failures.relative_rates(rng, count), failures.life, failures.node.mtbf
    if family is not None:
        return lambda who: family.sample(who.size, rng) / rates[who]
    if mean is None and not failures.wider:
        raise ArgumentError("no mean time between failures is known", remedy='give mtbf, as in mtbf = "20000h"')
    means = np.full(count, np.inf if mean is None else mean) / rates
    return lambda who: means[who] * rng.standard_exponential(who.size)


class _Repairs:
    """Random times to repair, by scope."""

    def __init__(self, failures: FailuresByScope, rng: np.random.Generator) -> None:
        self.family, self.rng = failures.repairs, rng
        self.kinds = None if self.family is not None else failures.kinds
        self.of_all, self.mean = 1.0, failures.mttr or 0.0
        if self.family is not None:  # it has its own mean; the calibrated one is that of the repairs counted
            self.of_all = float(self.family.mean())
            self.mean = self.of_all if failures.mttr is None else failures.mttr
        elif self.kinds is not None:
            quick, slow, share = self.kinds
            self.of_all = self.mean = share * quick + (1.0 - share) * slow

    def _draw(self, count: int) -> FloatArray:
        """Draw from the distribution of all repairs, or exponential times of mean one."""
        if self.family is not None:
            return np.asarray(self.family.sample(count, self.rng))
        exponential = self.rng.standard_exponential(count)
        if self.kinds is None:
            return exponential
        quick, slow, share = self.kinds
        return np.where(self.rng.random(count) < share, quick, slow) * exponential

    def of(self, scope: ScopeFailures) -> Callable[[int], FloatArray]:
        """A function that draws repairs of single nodes, with the mean of a scope where that is known."""
        mean = scope.mttr if scope.has_own_mttr else self.mean
        mean = mean if scope.mttr_node is None else scope.mttr_node
        factor = mean / self.of_all if np.isfinite(self.of_all) and self.of_all > 0.0 else 1.0
        return lambda count: factor * self._draw(count)

    def together(self, scope: ScopeFailures, nodes: float) -> Callable[[IntArray], FloatArray]:
        """A function that draws repairs of nodes that failed together, `nodes` on average, by number of the failure."""
        draw, at_once = self.of(scope), 1.0
        one, last = scope.mttr_node, scope.mttr if scope.has_own_mttr else None
        if one is not None and last is not None and nodes > 1.0:
            some = draw(_TRIALS * max(round(nodes), 2)).reshape(_TRIALS, -1)
            # until the last is back, with independent repairs
            apart = one * float(some.max(axis=1).mean() / max(some.mean(), 1e-300))
            at_once = float(np.clip((apart - last) / (apart - one), 0.0, 1.0)) if apart > one else 1.0

        def lasting(failure: IntArray) -> FloatArray:
            shared = draw(int(failure.max(initial=-1)) + 1)
            alone = self.rng.random(shared.size) >= at_once
            return np.where(alone[failure], draw(failure.size), shared[failure])

        return lasting


def _check_size(failures: FailuresByScope, count: int, racks: int, length: float, begun: pd.Timestamp) -> None:
    if max(count, racks) > _MOST_NODES:
        what = f"{max(count, racks):,} nodes or racks are too many"
        raise ArgumentError(what, remedy=f"give at most {_MOST_NODES:,}")
    longest = (pd.Timestamp.max.tz_localize("UTC") - begun) / pd.Timedelta(hours=1)
    if not length < longest:
        raise ArgumentError(f"a span of {length:,.0f} hours reaches beyond the year 2262", remedy="take a shorter one")
    mean = failures.node.mtbf if failures.life is None else float(failures.life.mean())
    cycle = (np.inf if mean is None else mean) + (failures.mttr or 0.0)
    often = count / cycle if cycle else np.inf
    often += sum((racks if scope.name == "rack" else 1) / scope.mtbf for scope in failures.wider)
    if not length * often <= _MOST:
        raise ArgumentError(f"{length * often:.3g} outages are too many", remedy="take a shorter span or fewer nodes")


def _own_failures(
    works: Callable[[IntArray], FloatArray], repair: Callable[[int], FloatArray], count: int, length: float
) -> Outages:
    """Failures of nodes by themselves."""
    who, clock = np.arange(count), np.zeros(count)
    parts: list[tuple[IntArray, FloatArray, FloatArray]] = []
    while who.size:
        begin = clock + works(who)
        inside = begin < length
        who, begin = who[inside], begin[inside]
        clock = begin + repair(who.size)
        parts.append((who, begin, clock))
        alive = clock < length
        who, clock = who[alive], clock[alive]
    who, begin, end = (np.concatenate(part) for part in zip(*parts, strict=True))
    return who.astype(np.int64), begin, end, np.zeros(who.size, dtype=np.int64)


def _shared_failures(
    outages: Outages,
    when: FloatArray,
    struck: IntArray,
    lasting: Callable[[IntArray], FloatArray],
    members: IntArray,
    scope: int,
    share: float | None,
    rng: np.random.Generator,
) -> Outages:
    """The outages with those of racks or systems added, which take working nodes down; these do not fail meanwhile.
    Each hits a random `share` of its nodes on average, two at least; all of them where it is None.
    """
    if not when.size:
        return outages
    by_group = [np.flatnonzero(members == group) for group in range(int(members.max()) + 1)]
    hit = np.concatenate([by_group[group] for group in struck])
    place = np.repeat(np.arange(when.size), [by_group[group].size for group in struck])
    if share is not None:
        order = np.lexsort((rng.random(hit.size), place))
        sizes = np.bincount(place)
        turn = np.arange(hit.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        number = np.floor(share * sizes + rng.random(sizes.size))
        some = order[turn < np.maximum(number, 2)[place]]
        hit, place = hit[some], place[some]
    added = (hit, when[place], when[place] + lasting(place), np.full(hit.size, scope))
    who, begin, end, kind = (np.concatenate(pair) for pair in zip(outages, added, strict=True))
    # an outage that would begin while its node is down is dropped
    order = np.lexsort((begin, who))
    who, begin, end, kind = who[order], begin[order], end[order], kind[order]
    happens = np.ones(who.size, dtype=np.bool_)
    while True:
        rows = np.flatnonzero(happens)
        inside = np.concatenate([[False], (who[rows][1:] == who[rows][:-1]) & (begin[rows][1:] < end[rows][:-1])])
        first = inside & ~np.concatenate([[False], inside[:-1]])
        if not first.any():
            return who[happens], begin[happens], end[happens], kind[happens]
        happens[rows[first]] = False


def log_of_outages(
    system: str, outages: Outages, rack: IntArray | None, count: int, length: float, start: pd.Timestamp
) -> FailureLog:
    """A log of nodes observed from hour 0 to `length`; outages by node, start and end in hours."""
    who, begin, end, scope = outages
    order = np.lexsort((who, begin))
    who, begin, end, scope = who[order], begin[order], end[order], scope[order]
    stop = start + pd.Timedelta(length, unit="h")
    digits = len(str(count - 1))
    names = pd.CategoricalDtype([f"n{i:0{digits}d}" for i in range(count)])
    cut = end > length
    events = events_frame(
        system=pd.Series([system] * who.size, dtype=object),
        node=pd.Series(pd.Categorical.from_codes(who, dtype=names)),
        start=_instants(start, begin),
        end=_instants(start, np.minimum(end, length)),
        scope=pd.Series(pd.Categorical.from_codes(scope, dtype=pd.CategoricalDtype(list(_SCOPES)))),
        end_cut=cut,
        line=np.arange(1, who.size + 1),
    )
    attributes = {}
    if rack is not None:
        shelf = pd.CategoricalDtype([f"r{i}" for i in range(int(rack.max()) + 1)])
        attributes["rack"] = pd.Series(pd.Categorical.from_codes(rack, dtype=shelf))
    population = population_frame(
        system=[system] * count,
        node=pd.Series(pd.Categorical.from_codes(np.arange(count), dtype=names)),
        entered=_instants(start, np.zeros(count)),
        left=_instants(start, np.full(count, length)),
        entered_known=True,
        left_known=True,
        declared=True,
        attributes=attributes,
    )
    source = Source(format="simulated", rows_read=who.size, rows_kept=who.size, notes=("simulated from parameters",))
    return FailureLog(events, population, Window(start, stop, True, True), source=source)


def _instants(start: pd.Timestamp, at: FloatArray) -> pd.Series:
    nanoseconds = start.value + np.round(at * NANOSECONDS_PER_HOUR).astype(np.int64)
    return pd.Series(nanoseconds.view("datetime64[ns]")).dt.tz_localize("UTC")
