"""How much faster a job runs on k nodes: Amdahl, Gustafson, a measured table, or a function of one's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from relfit.errors import ArgumentError, ReadError
from relfit.units import hours

__all__ = ["Amdahl", "FunctionSpeedup", "Gustafson", "MeasuredSpeedup", "Speedup", "as_speedup", "read_speedup"]

FloatArray = npt.NDArray[np.float64]
_SIZES = frozenset({"nodes", "node", "k", "n", "size"})
_TIMES = frozenset({"time", "hours", "duration", "t"})
_SPEEDUPS = frozenset({"speedup", "speed-up", "speed_up", "s"})


class Speedup(ABC):
    """A law of speed-up: how many times faster a job runs on k nodes than on one."""

    name: ClassVar[str]

    @abstractmethod
    def speedup(self, sizes: npt.ArrayLike) -> FloatArray:
        """Speed-up on each number of nodes, shape of `sizes`."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, ready for JSON."""

    @property
    def work(self) -> float | None:
        """Hours on one node if the law itself knows them (a table of times), else None."""
        return None

    def time(self, work: Any, sizes: npt.ArrayLike) -> FloatArray:
        """Hours without failures on each number of nodes.

        Parameters
        ----------
        work : float or duration or None
            Time on one node; None where the law knows it.
        sizes : array_like of int
            Numbers of nodes, one and more.

        Raises
        ------
        ArgumentError
            For work or sizes that are not positive, or work that nobody says.
        """
        total = self._work(work)
        return total / self.speedup(sizes)

    def _work(self, work: Any) -> float:
        known = self.work
        if work is None:
            if known is None:
                raise ArgumentError("work is missing", remedy="say how long the job takes on one node, as '1000h'")
            return known
        total = hours(work)
        if not (np.isfinite(total) and total > 0.0):
            raise ArgumentError(
                f"work is {total:g} hours", remedy="give the job's time on one node, finite and above zero"
            )
        return total

    def __call__(self, sizes: npt.ArrayLike) -> FloatArray:
        """Speed-up on each number of nodes, shape of `sizes`."""
        return self.speedup(sizes)


def _checked_sizes(sizes: npt.ArrayLike) -> FloatArray:
    k = np.asarray(sizes, dtype=np.float64)
    bad = ~(np.isfinite(k) & (k >= 1.0))
    if bad.any():
        raise ArgumentError(f"{k[bad].ravel()[0]:g} is no number of nodes", remedy="give one or more")
    return k


def _checked_fraction(law: str, fraction: float) -> float:
    value = float(fraction)
    if not 0.0 <= value <= 1.0:
        hint = f"did you mean {value / 100:g}?" if 1.0 < value <= 100.0 else "it must lie between 0 and 1"
        raise ArgumentError(f"parallel fraction of {law} is {value:g}", remedy=hint)
    return value


@dataclass(frozen=True)
class Amdahl(Speedup):
    """A fixed problem of which a share runs in parallel: ``1 / (p/k + 1 - p)`` (Amdahl 1967).

    Parameters
    ----------
    parallel_fraction : float
        Share of the work that can be spread over nodes, 0 to 1.

    Examples
    --------
    >>> Amdahl(0.895).time("1000h", [1, 2, 14]).round(2).tolist()
    [1000.0, 552.5, 168.93]
    """

    parallel_fraction: float
    name: ClassVar[str] = "amdahl"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parallel_fraction", _checked_fraction("Amdahl's law", self.parallel_fraction))

    def speedup(self, sizes: npt.ArrayLike) -> FloatArray:
        """Speed-up on each number of nodes, shape of `sizes`."""
        p = self.parallel_fraction
        return np.asarray(1.0 / (p / _checked_sizes(sizes) + (1.0 - p)))

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, ready for JSON."""
        return {"law": self.name, "parallel_fraction": self.parallel_fraction}


@dataclass(frozen=True)
class Gustafson(Speedup):
    """A problem that grows with the nodes: ``1 - p + k p`` (Gustafson 1988).

    Parameters
    ----------
    parallel_fraction : float
        Share of the time on k nodes that is spent in parallel, 0 to 1.

    Examples
    --------
    >>> Gustafson(0.9).speedup([1, 10, 100]).round(1).tolist()
    [1.0, 9.1, 90.1]
    """

    parallel_fraction: float
    name: ClassVar[str] = "gustafson"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parallel_fraction", _checked_fraction("Gustafson's law", self.parallel_fraction))

    def speedup(self, sizes: npt.ArrayLike) -> FloatArray:
        """Speed-up on each number of nodes, shape of `sizes`."""
        p = self.parallel_fraction
        return np.asarray((1.0 - p) + _checked_sizes(sizes) * p)

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, ready for JSON."""
        return {"law": self.name, "parallel_fraction": self.parallel_fraction}


@dataclass(frozen=True, eq=False)
class MeasuredSpeedup(Speedup):
    """Speed-ups measured at some numbers of nodes.

    Between two of them the logarithm of the speed-up is linear in the logarithm of the number. Outside, with
    ``outside="hold"``: above the largest the speed-up stays at its last value (more nodes bring nothing but failures),
    below the smallest it is proportional to the number. With ``outside="reject"`` either is an error.

    Parameters
    ----------
    sizes : array_like of int, shape (m,)
        Numbers of nodes, different from each other, in any order.
    speedups : array_like of float, shape (m,)
        Above zero.
    outside : {"hold", "reject"}
    one_node : float, optional
        Hours on one node, where times were measured; see `of_times`.

    Examples
    --------
    >>> law = MeasuredSpeedup.of_times([1, 4, 16], ["100h", "30h", "12h"])
    >>> law.time(None, [1, 8, 16, 64]).round(2).tolist()
    [100.0, 18.97, 12.0, 12.0]
    """

    sizes: FloatArray
    speedups: FloatArray
    outside: Literal["hold", "reject"] = "hold"
    one_node: float | None = None
    name: ClassVar[str] = "measured"

    def __post_init__(self) -> None:
        if self.outside not in ("hold", "reject"):
            raise ArgumentError(f"outside={self.outside!r} is not known", remedy="use 'hold' or 'reject'")
        sizes = np.atleast_1d(np.asarray(self.sizes, dtype=np.float64))
        speedups = np.atleast_1d(np.asarray(self.speedups, dtype=np.float64))
        if sizes.ndim != 1 or sizes.shape != speedups.shape or sizes.size == 0:
            raise ArgumentError(
                f"{sizes.size} sizes and {speedups.size} speed-ups",
                remedy="give one value for every size, at least one",
            )
        _checked_sizes(sizes)
        order = np.argsort(sizes, kind="stable")
        sizes, speedups = sizes[order], speedups[order]
        twice = np.flatnonzero(np.diff(sizes) == 0.0)
        if twice.size:
            raise ArgumentError(f"{sizes[twice[0]]:g} nodes are listed twice", remedy="keep one of the measurements")
        bad = np.flatnonzero(~(np.isfinite(speedups) & (speedups > 0.0)))
        if bad.size:
            raise ArgumentError(
                f"speed-up on {sizes[bad[0]]:g} nodes is {speedups[bad[0]]:g}",
                remedy="it must be finite and above zero",
            )
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "speedups", speedups)

    @classmethod
    def of_times(
        cls, sizes: npt.ArrayLike, times: Any, *, outside: Literal["hold", "reject"] = "hold"
    ) -> MeasuredSpeedup:
        """From times without failures, hours or durations; the law then knows the work.

        Where no time on one node was measured, it is that of the smallest number of nodes times this number.

        Raises
        ------
        ArgumentError
            For times that are not positive.
        """
        counts = np.atleast_1d(np.asarray(sizes, dtype=np.float64))
        taken = np.array([hours(value) for value in np.atleast_1d(np.asarray(times, dtype=object)).tolist()])
        if counts.shape != taken.shape or counts.size == 0:
            raise ArgumentError(
                f"{counts.size} sizes and {taken.size} times", remedy="give one value for every size, at least one"
            )
        bad = np.flatnonzero(~(np.isfinite(taken) & (taken > 0.0)))
        if bad.size:
            raise ArgumentError(
                f"time on {counts[bad[0]]:g} nodes is {taken[bad[0]]:g} hours",
                remedy="it must be finite and above zero",
            )
        _checked_sizes(counts)
        smallest = int(np.argmin(counts))
        one = float(taken[smallest] * counts[smallest])
        return cls(counts, one / taken, outside, one)

    @property
    def work(self) -> float | None:
        """Hours on one node, where times were measured."""
        return self.one_node

    def speedup(self, sizes: npt.ArrayLike) -> FloatArray:
        """Speed-up on each number of nodes, shape of `sizes`.

        Raises
        ------
        ArgumentError
            Outside of what was measured, with ``outside="reject"``.
        """
        k = _checked_sizes(sizes)
        first, last = self.sizes[0], self.sizes[-1]
        beyond = (k < first) | (k > last)
        if self.outside == "reject" and beyond.any():
            raise ArgumentError(
                f"no speed-up was measured on {k[beyond].ravel()[0]:g} nodes",
                remedy=f"stay within {first:g} to {last:g} nodes, or use outside='hold'",
            )
        inside = np.exp(np.interp(np.log(k), np.log(self.sizes), np.log(self.speedups)))
        return np.where(k < first, self.speedups[0] * k / first, inside)

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, ready for JSON."""
        return {
            "law": self.name,
            "sizes": self.sizes.tolist(),
            "speedups": self.speedups.tolist(),
            "outside": self.outside,
            "work": self.one_node,
        }

    def __repr__(self) -> str:
        return f"MeasuredSpeedup({self.sizes.size} sizes, {self.sizes[0]:g} to {self.sizes[-1]:g} nodes)"


@dataclass(frozen=True, eq=False)
class FunctionSpeedup(Speedup):
    """Speed-ups by a function of one's own, from an array of numbers of nodes to an array of speed-ups.

    A function that takes one number at a time is called for each.

    Examples
    --------
    >>> FunctionSpeedup(lambda k: k**0.8).speedup([1, 32]).round(2).tolist()
    [1.0, 16.0]
    """

    function: Callable[[Any], Any]
    name: ClassVar[str] = "function"

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ArgumentError(f"{self.function!r} is no function", remedy="give a law, a table or a function of k")

    def speedup(self, sizes: npt.ArrayLike) -> FloatArray:
        """Speed-up on each number of nodes, shape of `sizes`.

        Raises
        ------
        ArgumentError
            Where the function gives something that is no speed-up.
        """
        k = _checked_sizes(sizes)
        try:
            value = np.asarray(self.function(k), dtype=np.float64)
        except (TypeError, ValueError):
            value = np.empty(0)
        if value.shape != k.shape:  # not written for arrays, or constant
            try:
                value = np.array([float(self.function(float(one))) for one in k.ravel()]).reshape(k.shape)
            except (TypeError, ValueError) as error:
                raise ArgumentError(
                    f"the speed-up function does not give a number: {error}", remedy="return a number for every k"
                ) from error
        bad = ~(np.isfinite(value) & (value > 0.0))
        if bad.any():
            raise ArgumentError(
                f"the speed-up function gives {value[bad].ravel()[0]:g} for {k[bad].ravel()[0]:g} nodes",
                remedy="a speed-up is finite and above zero",
            )
        return value

    def to_dict(self) -> dict[str, Any]:
        """Name of the function, ready for JSON."""
        return {"law": self.name, "function": getattr(self.function, "__name__", type(self.function).__name__)}


def as_speedup(law: Any) -> Speedup:
    """The law that `law` says: one already, a table ``{k: speed-up}``, a function, or None for perfect speed-up k.

    Examples
    --------
    >>> as_speedup({1: 1.0, 2: 1.9}).speedup(2).tolist()
    1.9
    >>> as_speedup(None)
    Amdahl(parallel_fraction=1.0)

    Raises
    ------
    ArgumentError
        For anything else.
    """
    if law is None:
        return Amdahl(1.0)
    if isinstance(law, Speedup):
        return law
    if isinstance(law, Mapping):
        return MeasuredSpeedup(
            np.array(list(law.keys()), dtype=np.float64), np.array(list(law.values()), dtype=np.float64)
        )
    if callable(law):
        return FunctionSpeedup(law)
    raise ArgumentError(
        f"{law!r} is no law of speed-up", remedy="give Amdahl(p), Gustafson(p), a table {k: speed-up} or a function"
    )


# ---------------------------------------------------------------- from a file


def read_speedup(path: str | Path, *, outside: Literal["hold", "reject"] = "hold") -> MeasuredSpeedup:
    """A table of speed-ups from a text file with a heading.

    Columns, in any order, set apart by comma, semicolon, tab or blanks: ``nodes``, and either ``speedup`` or ``time``
    (hours, or a duration such as ``90min``). Empty lines and lines that begin with ``#`` are passed over.

    Raises
    ------
    ReadError
        With file, line and column, for a heading or a value that cannot be what it should.
    """
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is not a text file"
        raise ReadError(f"cannot be read: {why}", path=place, remedy="give a table of nodes and times") from error
    rows = [
        (number, line.strip())
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not rows:
        raise ReadError("is empty", path=place, remedy="give a heading 'nodes,time' and a line for every size")
    sign = next((sign for sign in (",", ";", "\t") if sign in rows[0][1]), None)
    names = [part.strip().strip('"').lower() for part in rows[0][1].split(sign)]
    size = next((i for i, name in enumerate(names) if name in _SIZES), None)
    value = next((i for i, name in enumerate(names) if name in _TIMES | _SPEEDUPS), None)
    if size is None or value is None:
        missing = "nodes" if size is None else "time or speedup"
        raise ReadError(
            f"no column {missing}", path=place, line=rows[0][0], remedy="head the table 'nodes,time' or 'nodes,speedup'"
        )
    of_times = names[value] in _TIMES
    sizes: list[float] = []
    values: list[float] = []
    for number, line in rows[1:]:
        cells = [part.strip().strip('"') for part in line.split(sign)]
        if len(cells) != len(names):
            raise ReadError(
                f"{len(cells)} values under {len(names)} columns", path=place, line=number, remedy="fill every column"
            )
        count = _number(cells[size], place, number, names[size], least=1.0, duration=False)
        if count in sizes:
            raise ReadError(
                f"{count:g} nodes are listed twice", path=place, line=number, column=names[size],
                remedy="keep one of the measurements",
            )  # fmt: skip
        sizes.append(count)
        values.append(_number(cells[value], place, number, names[value], least=0.0, duration=of_times))
    if not sizes:
        raise ReadError("has a heading and no lines", path=place, remedy="add a line for every size")
    if of_times:
        return MeasuredSpeedup.of_times(sizes, values, outside=outside)
    return MeasuredSpeedup(np.array(sizes), np.array(values), outside)


def _number(text: str, path: Path, line: int, column: str, *, least: float, duration: bool) -> float:
    try:
        number = hours(text) if duration else float(text)
    except ValueError:
        number = float("nan")
    if not (np.isfinite(number) and number >= least and number > 0.0):
        wanted = "a duration above zero" if duration else f"a number {'of one and more' if least else 'above zero'}"
        raise ReadError(f"{text!r} is not {wanted}", path=path, line=line, column=column, remedy="correct or remove it")
    return number
