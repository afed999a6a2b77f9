"""Speed-up of a job on k nodes: Amdahl, Gustafson, or a measured table."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import durations, positive, share
from relfit.base.arrays import Durations, FloatArray
from relfit.base.errors import ArgumentError, ReadError
from relfit.base.units import hours

_SIZES = frozenset({"nodes", "node", "k", "n", "size"})
_TIMES = frozenset({"time", "hours", "duration", "t"})
_SPEEDUPS = frozenset({"speedup", "speed-up", "speed_up", "s"})


class Speedup(ABC):
    """Base of speed-ups: how many times faster a job runs on k nodes than on one."""

    name: ClassVar[str]
    work: float | None = None
    """Hours on one node, if a table of times gives them."""

    @abstractmethod
    def speedup(self, sizes: npt.ArrayLike) -> FloatArray:
        """Speed-up on each number of nodes, shape of `sizes`."""

    def time(self, work: Durations | None, sizes: npt.ArrayLike) -> FloatArray:
        """Hours without failures on each number of nodes.

        Parameters
        ----------
        work : float or duration or None
            Time on one node; None if a table of times gives it.
        sizes : array_like of int
            Numbers of nodes, 1 or more.

        Raises
        ------
        ArgumentError
            For work or sizes that are not positive, or missing work.
        """
        return np.asarray(self.known_work(work) / self.speedup(sizes))

    def known_work(self, work: Durations | None) -> float:
        """Hours on one node: `work`, or that of the table; errors as for `time`."""
        if work is not None:
            return float(durations("work", work, zero=False))
        if self.work is None:
            raise ArgumentError("work is missing", remedy="say how long the job takes on one node, as '1000h'")
        return self.work


def _checked_sizes(sizes: npt.ArrayLike) -> FloatArray:
    k = np.asarray(sizes, dtype=np.float64)
    bad = ~(np.isfinite(k) & (k >= 1.0))
    if bad.any():
        raise ArgumentError(f"{k[bad].ravel()[0]:g} is not a number of nodes", remedy="give one or more")
    return k


@dataclass(frozen=True)
class _ByFraction(Speedup):
    """A speed-up with one parameter, the share of the work that runs in parallel."""

    parallel_fraction: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "parallel_fraction", float(share("parallel_fraction", self.parallel_fraction)))


class Amdahl(_ByFraction):
    """A problem of fixed size, of which a share p runs in parallel: ``1 / (p/k + 1 - p)`` (Amdahl 1967).

    Parameters
    ----------
    parallel_fraction : float
        p, from 0 to 1.

    Examples
    --------
    >>> Amdahl(0.895).time("1000h", [1, 2, 14]).round(2).tolist()
    [1000.0, 552.5, 168.93]
    """

    name: ClassVar[str] = "amdahl"

    def speedup(self, sizes: npt.ArrayLike) -> FloatArray:
        """Speed-up on each number of nodes, shape of `sizes`."""
        p = self.parallel_fraction
        return np.asarray(1.0 / (p / _checked_sizes(sizes) + (1.0 - p)))


class Gustafson(_ByFraction):
    """A problem that grows with the nodes, with a share p of the time in parallel: ``1 - p + k p`` (Gustafson 1988).

    Parameters
    ----------
    parallel_fraction : float
        p, from 0 to 1.

    Examples
    --------
    >>> Gustafson(0.9).speedup([1, 10, 100]).round(1).tolist()
    [1.0, 9.1, 90.1]
    """

    name: ClassVar[str] = "gustafson"

    def speedup(self, sizes: npt.ArrayLike) -> FloatArray:
        """Speed-up on each number of nodes, shape of `sizes`."""
        p = self.parallel_fraction
        return np.asarray((1.0 - p) + _checked_sizes(sizes) * p)


@dataclass(frozen=True, eq=False)
class MeasuredSpeedup(Speedup):
    """Speed-ups measured at some numbers of nodes.

    Between measurements the log of the speed-up is linear in the log of the number of nodes. Above the largest number
    it is constant, below the smallest it is proportional to the number.

    Parameters
    ----------
    sizes : array_like of int, shape (m,)
        Different numbers of nodes, in any order.
    speedups : array_like of float, shape (m,)
        Speed-ups, above zero.
    work : float, optional
        Hours on one node, if times were measured; see `of_times`.

    Examples
    --------
    >>> MeasuredSpeedup.of_times([1, 4, 16], ["100h", "30h", "12h"]).time(None, [1, 8, 16, 64]).round(2).tolist()
    [100.0, 18.97, 12.0, 12.0]
    """

    sizes: FloatArray
    speedups: FloatArray
    work: float | None = None
    name: ClassVar[str] = "measured"

    def __post_init__(self) -> None:
        sizes, speedups = np.atleast_1d(_checked_sizes(self.sizes)), np.atleast_1d(positive("speedup", self.speedups))
        if sizes.ndim != 1 or sizes.shape != speedups.shape or sizes.size == 0:
            what = f"{sizes.size} sizes and {speedups.size} speed-ups"
            raise ArgumentError(what, remedy="give one value for every size, at least one")
        order = np.argsort(sizes, kind="stable")
        twice = np.flatnonzero(np.diff(sizes[order]) == 0.0)
        if twice.size:
            raise ArgumentError(f"{sizes[order][twice[0]]:g} nodes are listed twice", remedy="keep one measurement")
        object.__setattr__(self, "sizes", sizes[order])
        object.__setattr__(self, "speedups", speedups[order])

    @classmethod
    def of_times(cls, sizes: npt.ArrayLike, times: Durations) -> MeasuredSpeedup:
        """From measured times without failures, which also give the work.

        Parameters
        ----------
        sizes : array_like of int, shape (m,)
            Different numbers of nodes.
        times : array_like of durations, shape (m,)
            Hours or text. Without a time on one node, the work is the time on the fewest nodes times their number.

        Raises
        ------
        ArgumentError
            For times that are not positive, or another number of times than sizes.
        """
        counts, taken = np.atleast_1d(_checked_sizes(sizes)), np.atleast_1d(durations("times", times, zero=False))
        if counts.shape != taken.shape or counts.size == 0:
            raise ArgumentError(
                f"{counts.size} sizes and {taken.size} times", remedy="give one value for every size, at least one"
            )
        smallest = int(np.argmin(counts))
        one = float(taken[smallest] * counts[smallest])
        return cls(counts, one / taken, one)

    def speedup(self, sizes: npt.ArrayLike) -> FloatArray:
        """Speed-up on each number of nodes, shape of `sizes`."""
        k = _checked_sizes(sizes)
        inside = np.exp(np.interp(np.log(k), np.log(self.sizes), np.log(self.speedups)))
        return np.where(k < self.sizes[0], self.speedups[0] * k / self.sizes[0], inside)

    def __repr__(self) -> str:
        return f"MeasuredSpeedup({self.sizes.size} sizes, {self.sizes[0]:g} to {self.sizes[-1]:g} nodes)"


def as_speedup(speedup: object) -> Speedup:
    """A `Speedup` from a speed-up, a table ``{k: speed-up}``, or None (k times faster on k nodes).

    Raises
    ------
    ArgumentError
        For anything else.

    Examples
    --------
    >>> as_speedup({1: 1.0, 2: 1.9}).speedup(2).tolist(), as_speedup(None)
    (1.9, Amdahl(parallel_fraction=1.0))
    """
    if speedup is None:
        return Amdahl(1.0)
    if isinstance(speedup, Speedup):
        return speedup
    if isinstance(speedup, Mapping):
        return MeasuredSpeedup(np.array(list(speedup)), np.array(list(speedup.values())))
    raise ArgumentError(
        f"{speedup!r} is not a speed-up", remedy="give Amdahl(p), Gustafson(p) or a table {k: speed-up}"
    )


def read_speedup(path: str | Path) -> MeasuredSpeedup:
    """A table of speed-ups from a text file with a heading.

    Parameters
    ----------
    path : str or Path
        Columns in any order, separated by comma, semicolon, tab or blanks: ``nodes``, and either ``speedup`` or
        ``time`` (hours, or a duration such as ``90min``). Empty lines and lines that begin with ``#`` are skipped.

    Raises
    ------
    ReadError
        For a file that cannot be read, or an invalid heading or value, with its line and column.
    """
    place = Path(path)

    def wrong(what: str, remedy: str, line: int | None = None, column: str | None = None) -> ReadError:
        return ReadError(what, path=place, line=line, column=column, remedy=remedy)

    try:
        lines = place.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is not a text file"
        raise wrong(f"cannot be read: {why}", "give a table of nodes and times") from error
    rows = [
        (i, [cell.strip('" ') for cell in re.split(r"\s*[,;\t]\s*|\s+", line.strip())])
        for i, line in enumerate(lines, start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if len(rows) < 2:
        what = "has a heading and no lines" if rows else "is empty"
        raise wrong(what, "give a header 'nodes,time' and a line for every size")
    names = [name.lower() for name in rows[0][1]]
    size, value = (
        next((i for i, name in enumerate(names) if name in headings), None) for headings in (_SIZES, _TIMES | _SPEEDUPS)
    )
    if size is None or value is None:
        missing = "nodes" if size is None else "time or speedup"
        raise wrong(f"no column {missing}", "give the table the header 'nodes,time' or 'nodes,speedup'", rows[0][0])
    of_times = names[value] in _TIMES
    table: dict[float, float] = {}
    for line, cells in rows[1:]:
        if len(cells) != len(names):
            raise wrong(f"{len(cells)} values under {len(names)} columns", "fill every column", line)
        nodes = _number(cells[size], place, line, names[size], least=1.0, duration=False)
        if nodes in table:
            raise wrong(f"{nodes:g} nodes are listed twice", "keep one of them", line, names[size])
        table[nodes] = _number(cells[value], place, line, names[value], least=0.0, duration=of_times)
    sizes, values = np.array(list(table)), np.array(list(table.values()))
    return MeasuredSpeedup.of_times(sizes, values) if of_times else MeasuredSpeedup(sizes, values)


def _number(text: str, path: Path, line: int, column: str, *, least: float, duration: bool) -> float:
    try:
        number = hours(text) if duration else float(text)
    except ValueError:
        number = float("nan")
    if not (np.isfinite(number) and number >= least and number > 0.0):
        wanted = "a duration above zero" if duration else f"a number {'of one and more' if least else 'above zero'}"
        raise ReadError(f"{text!r} is not {wanted}", path=path, line=line, column=column, remedy="correct or remove it")
    return number
