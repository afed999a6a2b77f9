"""All questions about dependence asked of one log, each answered with a sentence; what cannot be answered says why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pandas as pd

from relfit.errors import RelfitError
from relfit.independence.cofailure import Cofailures, cofailures
from relfit.independence.correlation import Correlations, correlations
from relfit.independence.cycles import Cycles, cycles
from relfit.independence.dispersion import Dispersion, dispersion
from relfit.independence.pooled import PooledTests, pooled_tests
from relfit.independence.serial import SerialTests, serial_tests
from relfit.independence.series import Failures, failures_of, gaps_of
from relfit.independence.verdicts import LEAST_FAILURES
from relfit.lifedata import LifeData

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["Dependence", "dependence"]

_MOST_NODES = 4000
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


@dataclass(frozen=True, eq=False)
class Dependence:
    """What a log says about independence of its failures; a part is None where `problems` says why.

    Attributes
    ----------
    correlation : Correlations or None
    cofailure : Cofailures or None
        Per system.
    place : Cofailures or None
        Per rack or what else tells where nodes are.
    serial : SerialTests or None
    pooled : PooledTests or None
    dispersion : Dispersion or None
    cycles : Cycles or None
    problems : dict from part to str
    notes : tuple of str
    failures : int or None
        In the log. Of fewer than 40 (`relfit.independence.verdicts`), a test that finds nothing is no answer.
    """

    correlation: Correlations | None = None
    cofailure: Cofailures | None = None
    place: Cofailures | None = None
    serial: SerialTests | None = None
    pooled: PooledTests | None = None
    dispersion: Dispersion | None = None
    cycles: Cycles | None = None
    problems: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = field(default=())
    failures: int | None = None

    @property
    def _few(self) -> bool:
        return self.failures is not None and self.failures < LEAST_FAILURES

    def _depends(self, name: str) -> bool | None:
        """Verdict of a part; None where it cannot be given, or where too few failures made it find nothing."""
        part = getattr(self, name)
        found: bool | None = None if part is None else part.depends
        return None if found is False and self._few else found

    @property
    def sentences(self) -> dict[str, str]:
        """One sentence a part, in the order of the class."""
        found = {name: getattr(self, name) for name in _PARTS}
        said = {name: part.sentence for name, part in found.items() if part is not None}
        return {name: said.get(name, self.problems.get(name, "")) for name in _PARTS if name in {*said, *self.problems}}

    @property
    def sentence(self) -> str:
        """What it all means for someone who wants to fit."""
        verdict = {name: self._depends(name) for name in _PARTS}
        nodes = [verdict.get(name) for name in ("correlation", "cofailure", "place")]
        gaps = verdict.get("serial")
        clumps = [verdict.get(name) for name in ("pooled", "dispersion", "cycles")]
        parts = []
        if True in nodes:
            parts.append("nodes depend on each other, so a system of k nodes is not k independent ones")
        elif False in nodes:
            parts.append("nodes may be taken as independent of each other")
        if gaps is not None:
            parts.append(
                "times to failure of a node depend on those before, so intervals of a fit are too narrow"
                if gaps
                else "times to failure of a node may be fitted as independent lives"
            )
        if True in clumps:
            parts.append("the failures of the system do not come at a steady rate")
        elif False in clumps:
            parts.append("the failures of the system come as at a steady rate")
        if not parts and self._few:
            return (
                f"The log has {self.failures} failure{'' if self.failures == 1 else 's'}, too few to tell whether they "
                "depend on each other."
            )
        if not parts:
            return "Nothing can be said about dependence in this log."
        text = "; ".join(parts)
        return f"{text[0].upper()}{text[1:]}."

    def to_frame(self) -> pd.DataFrame:
        """A row a part: ``part``, ``question``, ``status`` (``ok``, ``no answer``), ``depends``, ``finding``."""
        rows = []
        for name, sentence in self.sentences.items():
            depends = self._depends(name)
            rows.append((name, _PARTS[name], "no answer" if depends is None else "ok", depends, sentence))
        return pd.DataFrame(rows, columns=["part", "question", "status", "depends", "finding"])

    def to_dict(self) -> dict[str, Any]:
        """All parts, ready for JSON."""
        parts = {name: getattr(self, name) for name in _PARTS}
        return {
            "sentence": self.sentence,
            **{name: None if part is None else part.to_dict() for name, part in parts.items()},
            "problems": dict(self.problems),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        lines = [f"Dependence: {self.sentence}", *(f"- {_PARTS[n]}: {s}" for n, s in self.sentences.items())]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<p>{self.sentence}</p>{self.to_frame().drop(columns='part').to_html(index=False)}"


def dependence(
    log: FailureLog,
    *,
    window: Any = "1h",
    place: str | None = None,
    method: str = "spearman",
    rng: int | np.random.Generator | None = 0,
) -> Dependence:
    """Whether failures of a log depend on each other, between nodes and along time.

    Parameters
    ----------
    log : FailureLog
    window : float, str or Timedelta
        How close two failures are together; a number is hours.
    place : str, optional
        Column that tells where nodes are, for failing together; one of ``rack``, ``cabinet``, ``cage``, ``frame`` and
        ``row`` that the log has when left out.
    method : {"spearman", "pearson", "kendall"}
        Of the correlation between nodes.
    rng : int or numpy.random.Generator, optional
        For shuffles, and for the 4 000 nodes whose pairs are correlated where there are more. The same seed gives the
        same numbers whatever the number of threads.

    Returns
    -------
    Dependence
        A part that cannot be computed (one node, no dates, a window of zero) is None, with the reason in ``problems``;
        the others still come out.

    Examples
    --------
    >>> import relfit as rf
    >>> found = dependence(rf.datasets.load("white"))
    >>> found.to_frame()[["part", "status"]].values.tolist()[:2]
    [['correlation', 'ok'], ['cofailure', 'ok']]
    """
    # a stream of its own for each part, so that none changes with another
    streams = np.random.default_rng(rng).spawn(5)
    problems: dict[str, str] = {}
    notes: list[str] = []

    def part(name: str, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except RelfitError as error:
            problems[name] = f"{error}."
            return None

    gaps = gaps_of(log)
    try:
        failures, missing = failures_of(log), None
    except RelfitError as error:
        failures, missing = None, error

    def known() -> Failures:
        if missing is not None:
            raise missing
        assert failures is not None
        return failures

    shuffles = _shuffles(0 if failures is None else failures.times.size)
    if failures is not None and not shuffles:
        notes.append("more than a million failures: no random logs were drawn, failing together is judged by Poisson")
    column = place if place is not None else next((name for name in _PLACES if name in log.attributes), None)
    return Dependence(
        part("correlation", lambda: _correlation(gaps, method, streams[0], notes)),
        part("cofailure", lambda: cofailures(log, window, shuffles=shuffles, rng=streams[1], failures=known())),
        None
        if column is None
        else part(
            "place", lambda: cofailures(log, window, column, shuffles=shuffles, rng=streams[2], failures=known())
        ),
        part("serial", lambda: _serial(gaps, streams[3], notes)),
        part("pooled", lambda: pooled_tests(known())),
        part("dispersion", lambda: dispersion(known())),
        part("cycles", lambda: cycles(log, known())),
        problems,
        tuple(notes),
        None if failures is None else int(failures.times.size),
    )


def _shuffles(failures: int) -> int:
    """Random logs that a few seconds allow; none where the Poisson law must do."""
    return 0 if failures > 1_000_000 else int(np.clip(8_000_000 // max(failures, 1), 19, 199))


def _correlation(gaps: LifeData, method: str, rng: np.random.Generator, notes: list[str]) -> Correlations:
    able = np.flatnonzero(gaps.sizes >= 3)
    if able.size > _MOST_NODES:
        notes.append(f"pairs of {_MOST_NODES} nodes drawn from the {able.size} that have three times to failure")
        gaps = gaps.take(np.sort(rng.choice(able, _MOST_NODES, replace=False)))
        able = np.arange(_MOST_NODES)
    sizes = gaps.sizes[able]
    most = 200 if sizes.size and able.size * float(sizes.max()) > 1e6 else None
    cost = float(able.size) ** 2 * float(np.minimum(sizes, most or np.inf).mean()) if able.size else 0.0
    permutations = int(np.clip(5e8 / max(cost, 1.0), 0, 199))
    return correlations(gaps, method, most=most, permutations=permutations if permutations >= 39 else 0, rng=rng)


def _serial(gaps: LifeData, rng: np.random.Generator, notes: list[str]) -> SerialTests:
    total = gaps.durations.size
    if total > 1_000_000:
        notes.append("more than a million times to failure: only series with p of 0.02 or less were shuffled")
        return serial_tests(gaps, shuffles=4999, screen=0.02, rng=rng)
    return serial_tests(gaps, shuffles=int(np.clip(2e9 // max(total, 1), 1999, 9999)), rng=rng)
