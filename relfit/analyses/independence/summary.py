"""`dependence`: every test of dependence on one log, each with a headline, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import field, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from relfit.analyses.independence._cycles import Cycles, cycles
from relfit.analyses.independence._dispersion import Dispersion, dispersion
from relfit.analyses.independence.cofailure import Cofailures, cofailures
from relfit.analyses.independence.correlation import Correlations, correlations
from relfit.analyses.independence.pooled import PooledTests, pooled_tests
from relfit.analyses.independence.resampling import shared_alpha, steady_series
from relfit.analyses.independence.serial import SerialTests, serial_tests
from relfit.analyses.independence.series import NodeSeries, failures_of
from relfit.analyses.independence.thresholds import ALPHA, LEAST_FAILURES, held_to
from relfit.analyses.screening import Incidents
from relfit.analyses.screening import incidents as join_records
from relfit.base.arguments import random_stream, share
from relfit.base.arrays import BoolArray, Duration, Seed
from relfit.base.errors import RelfitError
from relfit.base.results import Result
from relfit.base.text import count, percent
from relfit.log.failurelog import FailureLog
from relfit.log.lifedata import LifeData
from relfit.log.tables import made_once

_MOST_NODES = 4000
_MANY_TIMES = 1_000_000  # times to failure, of which not all series are shuffled
_PARTS = {
    "correlation": "between nodes: times to failure",
    "cofailure": "between nodes: failing together",
    "place": "between nodes of one place: failing together",
    "serial": "along time: each node",
    "pooled": "along time: all nodes pooled",
    "dispersion": "along time: counts",
    "cycles": "along time: the clock",
}
_PLACES = ("rack", "cabinet", "cage", "frame", "row")
T = TypeVar("T")


class Dependence(Result):
    """Whether the failures of a log depend on each other; a part is None where `problems` says why.

    Attributes
    ----------
    correlation : Correlations or None
    cofailure : Cofailures or None
        Per system.
    place : Cofailures or None
        Per rack, or another column with the location of nodes.
    serial : SerialTests or None
    pooled : PooledTests or None
    dispersion : Dispersion or None
    cycles : Cycles or None
    problems : dict from part to str
    notes : tuple of str
    failures : int or None
        In the log. With fewer than 40 (`relfit.analyses.independence.thresholds`), a test that finds nothing is no
        answer.
    asked : int
        Tests with a p-value; their family-wise error is `alpha` (Holm).
    system_wide : int
        Failures of the whole system, where most pairs of `cofailure` are theirs; else 0. `place` leaves all of them
        out: what hits nodes of every place says nothing about a place.
    alpha : float
        Family-wise error of all tests.
    """

    correlation: Correlations | None = None
    cofailure: Cofailures | None = None
    place: Cofailures | None = None
    serial: SerialTests | None = None
    pooled: PooledTests | None = None
    dispersion: Dispersion | None = None
    cycles: Cycles | None = None
    problems: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    failures: int | None = None
    asked: int = 0
    system_wide: int = 0
    alpha: float = ALPHA

    @property
    def _few(self) -> bool:
        return self.failures is not None and self.failures < LEAST_FAILURES

    def depends(self, name: str) -> bool | None:
        """Whether a part finds dependence; None where it cannot tell, or finds nothing in too few failures."""
        part = getattr(self, name)
        verdict: bool | None = None if part is None else part.depends
        return None if verdict is False and self._few else verdict

    @property
    def answers(self) -> dict[str, str]:
        """The headline of each part, or why it has none, in the order of the class."""
        parts = {name: getattr(self, name) for name in _PARTS}
        said = {name: self.problems.get(name) if part is None else part.headline for name, part in parts.items()}
        return {name: text for name, text in said.items() if text is not None}

    @property
    def headline(self) -> str:
        """What the tests mean for a fit and for a plan."""
        verdict = {name: self.depends(name) for name in _PARTS}
        nodes = [verdict[name] for name in ("correlation", "cofailure", "place")]
        counts = [verdict[name] for name in ("pooled", "dispersion", "cycles")]
        parts = []
        if True in nodes:
            parts.append(f"{self._together()}: don't multiply single-node reliabilities")
        elif False in nodes:
            parts.append("nodes may be taken as independent of each other")
        if verdict["serial"] is not None:
            parts.append(
                "times to failure of a node depend on those before, so intervals of a fit are too "
                + ("narrow" if self.serial is None or self.serial.alike else "wide")
                if verdict["serial"]
                else "times to failure of a node may be fitted as independent"
            )
        what = "failures" if self.dispersion is None else self.dispersion.what
        if True in counts:
            even = self.dispersion is not None and not self.dispersion.clustered
            trend = 0.0 if self.dispersion is None else self.dispersion.trend
            often = f"come {'more and more' if trend > 0.0 else 'less and less'} often"
            how = {
                "dispersion": "are spread evenly" if even else often if trend else "come in clusters",
                "cycles": "follow a daily or weekly cycle",
                "pooled": "depend on those before",
            }
            *others, last = (text for name, text in how.items() if verdict[name])
            they = f"{', '.join(others)} and {last}" if others else last
            how_not = "at random" if even and they == how["dispersion"] else "at a constant rate"
            parts.append(f"the {what} of the system do not come {how_not}: they {they}")
        elif False in counts:
            parts.append(f"the {what} of the system show no dependence along time")
        if parts:
            text = "; ".join(parts)
            note = f" ({count(self.asked, 'test')}, family-wise error {percent(self.alpha)})" if self.asked > 1 else ""
            return f"{text[0].upper()}{text[1:]}{note}."
        if self._few and self.failures is not None:
            return f"The log has {count(self.failures, 'failure')}, too few to tell whether they depend on each other."
        return "Nothing can be said about dependence in this log."

    def _together(self) -> str:
        """How nodes fail together: by failures of the whole system, or otherwise."""
        if not self.depends("cofailure") or not self.system_wide:
            return "nodes fail together more often than chance"
        times = count(self.system_wide, "time")
        if self.place is not None and self.depends("place") is False:
            return f"the whole system failed {times} (otherwise nodes of one {self.place.per} do not fail together)"
        return f"nodes fail together more often than chance, {times} as the whole system"

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, then one sentence per part."""
        return (self.headline, *self.answers.values())

    def to_frame(self) -> pd.DataFrame:
        """One row per part: ``part``, ``question``, ``status`` (``ok``, ``no answer``), ``depends``, ``finding``."""
        rows = []
        for name, text in self.answers.items():
            depends = self.depends(name)
            rows.append((name, _PARTS[name], "no answer" if depends is None else "ok", depends, text))
        return pd.DataFrame(rows, columns=["part", "question", "status", "depends", "finding"])


@made_once
def dependence(
    log: FailureLog,
    *,
    window: Duration = "1h",
    place: str | None = None,
    method: str = "spearman",
    incidents: Incidents | None = None,
    alpha: float = ALPHA,
    rng: Seed = 0,
) -> Dependence:
    """Test whether failures depend on each other, between nodes and along time.

    Between nodes every failure counts, and between those of one rack all but those of the whole system. Along time an
    incident, such as a failure of a rack, counts once.

    Parameters
    ----------
    log : FailureLog
    window : float, str or Timedelta
        Largest time between two failures that count as together; a number is hours.
    place : str, optional
        Column with the location of nodes; by default the first of ``rack``, ``cabinet``, ``cage``, ``frame`` and
        ``row`` in the log.
    method : {"spearman", "pearson", "kendall"}
        Correlation between nodes.
    incidents : Incidents, optional
        Incidents of `log`, to reuse.
    alpha : float
        Family-wise error of all tests together, between 0 and 1: Holm's method divides it among them.
    rng : int or numpy.random.Generator
        For random logs, and for a sample of 4,000 nodes if there are more. Results do not depend on the number of
        threads.

    Returns
    -------
    Dependence
        A part that cannot be computed (one node, no dates, a window of zero) is None, with the reason in ``problems``.

    Examples
    --------
    >>> import relfit as rf
    >>> result = dependence(rf.datasets.load("white"))
    >>> result.to_frame()[["part", "status"]].values.tolist()[:2]
    [['correlation', 'ok'], ['cofailure', 'ok']]
    """
    share("alpha", alpha, zero=False, one=False)
    # a stream of its own for each part, so that none changes with another
    streams = random_stream(rng).spawn(7)
    problems: dict[str, str] = {}
    notes: list[str] = []

    def part(name: str, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except RelfitError as error:
            problems[name] = f"{error}."
            return None

    system_wide = np.zeros(0, dtype=np.bool_)
    try:
        joined = _joined(log) if incidents is None else incidents
        failures, missing = failures_of(log, joined), None
        if joined is not None:
            system_wide = (joined.table["scope"] == "system").to_numpy(dtype=np.bool_)
        series = steady_series(failures)
    except RelfitError as error:
        failures, missing = None, error
        series = log.ttf(censor=False, zeros="keep")

    def instants(once: bool = True) -> NodeSeries:
        if missing is not None:
            raise missing
        assert failures is not None
        return failures.once() if once else failures

    total = 0 if failures is None else failures.times.size
    # random logs that a few seconds allow
    resamples = 0 if total > 1_000_000 else int(np.clip(8_000_000 // max(total, 1), 19, 199))
    if failures is not None and not resamples:
        notes.append("more than a million failures: no random logs were drawn, failing together is judged by Poisson")

    def together(per: str, rng: np.random.Generator) -> Cofailures:
        return cofailures(log, window, per, n_resamples=resamples, rng=rng, failures=instants(once=False))

    def in_place(per: str, rng: np.random.Generator) -> Cofailures:
        every = instants(once=False)
        own = every.without(system_wide)
        found = cofailures(log, window, per, n_resamples=resamples, rng=rng, failures=own)
        return replace(found, system_wide=int((every.at_once_of(system_wide) > 0).sum()))

    column = place if place is not None else next((name for name in _PLACES if name in log.attributes), None)
    parts: dict[str, Any] = {
        "correlation": part("correlation", lambda: _correlation(series, method, streams[0], notes)),
        "cofailure": part("cofailure", lambda: together("system", streams[1])),
        "place": None if column is None else part("place", lambda: in_place(column, streams[2])),
        "serial": part("serial", lambda: _serial(series, streams[3])),
        "pooled": part("pooled", lambda: pooled_tests(instants(), n_resamples=resamples, rng=streams[4])),
        "dispersion": part("dispersion", lambda: dispersion(instants(), n_resamples=resamples, rng=streams[5])),
        "cycles": part("cycles", lambda: cycles(log, instants())),
    }
    if parts["serial"] is not None and series.durations.size > _MANY_TIMES:
        notes.append("more than a million times to failure: only series with p of 0.02 or less were shuffled")
    if parts["serial"] is not None and failures is not None:
        parts["serial"] = replace(parts["serial"], at_once=failures.at_once)
    p = np.array([np.nan if result is None else result.p_overall for result in parts.values()])
    for (name, result), size in zip(list(parts.items()), shared_alpha(p, alpha), strict=True):
        parts[name] = None if result is None else held_to(float(size), result)
    return Dependence(
        **parts,
        problems=problems,
        notes=tuple(notes),
        failures=None if failures is None else int(failures.times.size),
        asked=int(np.isfinite(p).sum()),
        system_wide=_system_wide(failures, parts["cofailure"], system_wide),
        alpha=alpha,
    )


def _system_wide(failures: NodeSeries | None, part: Cofailures | None, system_wide: BoolArray) -> int:
    """Incidents of the whole system, where they are most of the failures together beyond chance; else 0."""
    if failures is None or part is None:
        return 0
    sizes = failures.at_once_of(system_wide)
    most = int((sizes * (sizes - 1) // 2).sum()) > 0.5 * (part.together - part.expected)
    return int((sizes > 1).sum()) if most else 0


def _joined(log: FailureLog) -> Incidents | None:
    """Incidents of a log that has some."""
    with suppress(RelfitError):
        return join_records(log) if len(log.events) else None
    return None


def _correlation(series: LifeData, method: str, rng: np.random.Generator, notes: list[str]) -> Correlations:
    able = np.flatnonzero(series.sizes >= 3)
    if able.size > _MOST_NODES:
        notes.append(f"pairs of {_MOST_NODES} nodes drawn from the {able.size} that have three times to failure")
        series = series.take(np.sort(rng.choice(able, _MOST_NODES, replace=False)))
        able = np.arange(_MOST_NODES)
    sizes = series.sizes[able]
    most = 200 if sizes.size and able.size * float(sizes.max()) > 1e6 else None
    cost = float(able.size) ** 2 * float(np.minimum(sizes, most or np.inf).mean()) if able.size else 0.0
    shuffles = int(np.clip(5e8 / max(cost, 1.0), 0, 199))
    return correlations(series, method, most=most, n_resamples=shuffles if shuffles >= 39 else 0, rng=rng)


def _serial(series: LifeData, rng: np.random.Generator) -> SerialTests:
    total = series.durations.size
    if total > _MANY_TIMES:
        return serial_tests(series, n_resamples=4999, screen=0.02, rng=rng)
    return serial_tests(series, n_resamples=int(np.clip(2e9 // max(total, 1), 1999, 9999)), rng=rng)
