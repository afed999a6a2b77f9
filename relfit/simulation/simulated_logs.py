"""Logs simulated from parameters: what planners and tests replay, and what other tools read as traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.units import NANOSECONDS_PER_HOUR, hours, instant

if TYPE_CHECKING:
    from relfit.calibration.schema import Parameters
    from relfit.failurelog import FailureLog

__all__ = ["simulate_log"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_MOST = 20_000_000  # outages


def simulate_log(
    parameters: Parameters,
    span: Any = "8766h",
    *,
    nodes: int | None = None,
    racks: int | None = None,
    start: Any = "2020-01-01",
    rng: int | np.random.Generator | None = None,
) -> FailureLog:
    """A log of a cluster with these parameters.

    A node works, fails, is repaired and works again. Times to failure come from ``failure`` where it is given, else
    they are exponential with the mean ``mtbf.node`` (``mtbf.outage`` where that is not given); a share of the nodes is
    bad where ``bad_nodes`` says so. Racks and the system fail as Poisson processes by ``mtbf.rack`` and
    ``mtbf.system``, which take down every node of them that works at that instant, until one repair is done. Times to
    repair come from ``repair``, else they are quick or slow where both are known, else exponential; without any they
    are of no length.

    Parameters
    ----------
    parameters : relfit.Parameters
    span : float or duration
        Of the observation, hours.
    nodes, racks : int, optional
        Those of ``parameters.fleet`` when left out; nodes fill racks in order.
    start : date or time
        UTC.
    rng : int or numpy.random.Generator, optional

    Returns
    -------
    FailureLog

    Raises
    ------
    ArgumentError
        When the number of nodes or any time to failure is not known, for a span that is not above zero, or for more
        than twenty million outages to be expected.

    Examples
    --------
    >>> from relfit.calibration import Parameters
    >>> log = simulate_log(Parameters(mtbf="2000h", mttr="24h"), "8766h", nodes=100, rng=1)
    >>> log.n_nodes, 350 < len(log) < 550
    (100, True)
    """
    length = hours(span)
    if not (np.isfinite(length) and length > 0.0):
        raise ArgumentError(f"a span of {span!r} cannot be", remedy="give a duration above zero")
    count = nodes if nodes is not None else parameters.fleet.nodes
    if count is None or count < 1:
        raise ArgumentError("the number of nodes is not known", remedy="give nodes=")
    shelves = racks if racks is not None else parameters.fleet.racks
    generator = np.random.default_rng(rng)
    law = _lives(parameters, generator, count)
    repair = _repairs(parameters, generator)
    _check_size(parameters, count, length)
    who, begin, end = _own_failures(law, repair, count, length, generator)
    rack = None if not shelves else np.arange(count) * shelves // count
    kinds = np.zeros(who.size, dtype=np.int64)
    for kind, name, members in ((1, "rack", rack), (2, "system", np.zeros(count, dtype=np.int64))):
        mean = getattr(parameters.mtbf, name)
        if mean is None or mean.value is None or members is None:
            continue
        groups = int(members.max()) + 1
        number = generator.poisson(groups * length / mean.value)
        when = np.sort(generator.uniform(0.0, length, number))
        struck = generator.integers(groups, size=number)
        taken = _shared_failures((who, begin, end, kinds), when, struck, repair(number), members, kind)
        who, begin, end, kinds = taken
    return _log(parameters, (who, begin, end), rack, count, length, instant(start))


# ------------------------------------------------------------------------ laws


def _lives(parameters: Parameters, rng: np.random.Generator, count: int) -> Any:
    """A function that draws one life for each of some nodes."""
    if parameters.failure is not None:
        family = parameters.failure.distribution()
        return lambda who: family.sample(who.size, rng)
    mean = next(
        (
            found.value
            for found in (parameters.mtbf.node, parameters.mtbf.outage)
            if found is not None and found.value is not None
        ),
        None,
    )
    means = np.full(count, np.inf if mean is None else mean)
    bad = parameters.bad_nodes
    share, factor = (None if q is None else q.value for q in (bad.fraction, bad.factor))
    if mean is not None and share is not None and factor is not None:
        good = mean * (1.0 + share * (factor - 1.0))  # so that the mean rate over all nodes is as given
        means = np.where(rng.permutation(count) < round(share * count), good / factor, good)
    if not np.isfinite(means).any() and parameters.mtbf.rack is None and parameters.mtbf.system is None:
        raise ArgumentError("no mean time between failures is known", remedy='give mtbf, as in mtbf = "20000h"')
    return lambda who: means[who] * rng.standard_exponential(who.size)


def _repairs(parameters: Parameters, rng: np.random.Generator) -> Any:
    """A function that draws repair times."""
    if parameters.repair is not None:
        family = parameters.repair.distribution()
        return lambda count: family.sample(count, rng)
    mttr = parameters.mttr
    quick, slow, share = (None if q is None else q.value for q in (mttr.quick, mttr.slow, mttr.share_quick))
    if quick is not None and slow is not None and share is not None:
        return lambda count: np.where(rng.random(count) < share, quick, slow) * rng.standard_exponential(count)
    mean = mttr.overall or 0.0
    return lambda count: mean * rng.standard_exponential(count)


def _check_size(parameters: Parameters, count: int, length: float) -> None:
    cycle = np.inf
    if parameters.failure is not None:
        cycle = float(parameters.failure.distribution().mean())
    elif parameters.mtbf.node is not None and parameters.mtbf.node.value is not None:
        cycle = parameters.mtbf.node.value
    cycle += parameters.mttr.overall or 0.0
    if not count * length <= _MOST * cycle:
        raise ArgumentError(
            f"{count * length / cycle:.3g} outages are too many", remedy="take a shorter span or fewer nodes"
        )


# -------------------------------------------------------------------- failures


def _own_failures(
    law: Any, repair: Any, count: int, length: float, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Failures of nodes by themselves: who, and when the outage began and ended."""
    who = np.arange(count)
    clock = np.zeros(count)
    parts: list[tuple[IntArray, FloatArray, FloatArray]] = []
    while who.size:
        begin = clock + law(who)
        inside = begin < length
        who, begin = who[inside], begin[inside]
        clock = begin + repair(who.size)
        parts.append((who, begin, clock))
        alive = clock < length
        who, clock = who[alive], clock[alive]
    joined = [np.concatenate([part[i] for part in parts]) if parts else np.zeros(0) for i in range(3)]
    return joined[0].astype(np.int64), joined[1], joined[2]


def _shared_failures(
    outages: tuple[IntArray, FloatArray, FloatArray, IntArray],
    when: FloatArray,
    struck: IntArray,
    lasting: FloatArray,
    members: IntArray,
    kind: int,
) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    """Outages with those of racks or systems added: nodes that work are taken down, and do not fail meanwhile."""
    who, begin, end, kinds = outages
    by_group = [np.flatnonzero(members == group) for group in range(int(members.max()) + 1)]
    sizes = np.array([mine.size for mine in by_group])
    if not when.size:
        return outages
    hit = np.concatenate([by_group[group] for group in struck])
    place = np.repeat(np.arange(when.size), sizes[struck])
    added = (hit, when[place], when[place] + lasting[place], np.full(hit.size, kind))
    who, begin, end, kinds = (np.concatenate(pair) for pair in zip((who, begin, end, kinds), added, strict=True))
    # an outage that begins while its node is down does not happen
    order = np.lexsort((begin, who))
    who, begin, end, kinds = who[order], begin[order], end[order], kinds[order]
    kept = np.ones(who.size, dtype=np.bool_)
    while True:
        rows = np.flatnonzero(kept)
        inside = np.concatenate([[False], (who[rows][1:] == who[rows][:-1]) & (begin[rows][1:] < end[rows][:-1])])
        first = inside & ~np.concatenate([[False], inside[:-1]])
        if not first.any():
            break
        kept[rows[first]] = False
    return who[kept], begin[kept], end[kept], kinds[kept]


# ------------------------------------------------------------------------- log


def _log(
    parameters: Parameters,
    outages: tuple[IntArray, FloatArray, FloatArray],
    rack: IntArray | None,
    count: int,
    length: float,
    start: pd.Timestamp,
) -> FailureLog:
    from relfit.failurelog import FailureLog, Source, Window
    from relfit.io.building import events_frame, population_frame

    who, begin, end = outages
    order = np.lexsort((who, begin))
    who, begin, end = who[order], begin[order], end[order]
    stop = start + pd.Timedelta(length, unit="h")
    digits = len(str(count - 1))
    names = pd.CategoricalDtype([f"n{i:0{digits}d}" for i in range(count)])
    system = parameters.name or "simulated"
    cut = end > length
    events = events_frame(
        system=pd.Series([system] * who.size, dtype=object),
        node=pd.Series(pd.Categorical.from_codes(who, dtype=names)),
        start=_instants(start, begin),
        end=_instants(start, np.minimum(end, length)),
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
