"""`LifeData`: durations in hours, observed, censored or truncated, in groups; the one input of every estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError, DataError

__all__ = ["LifeData", "key_columns"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
_FURTHER = ("upper", "entry", "exit", "weights", "limit")


@dataclass(frozen=True, eq=False)
class LifeData:
    """Lives of many groups (nodes, systems, causes), kept flat with offsets.

    Group ``j`` owns ``durations[offsets[j]:offsets[j + 1]]``. The order within a group is the order in time where
    the lives come from a log, and is kept. What most lives do not need (intervals, truncation, weights) is None.

    Parameters
    ----------
    durations : ndarray of float, shape (n,)
        Hours; finite and not negative. The failure time of an observed life, else the time until which the life is
        known to have lasted.
    observed : ndarray of bool, shape (n,)
        True where the life ended in a failure (or the repair ended) at a known time, False where it is censored.
    offsets : ndarray of int, shape (groups + 1,)
        Where each group begins; the last entry is ``n``.
    groups : pandas.Index
        One label a group; a `pandas.MultiIndex` such as (system, node) is usual.
    measure : str
        ``"ttf"`` (time to failure), ``"ttr"`` (time to repair) or ``"life"``.
    counts : pandas.DataFrame, optional
        One row a group, same order: what was left out of `durations` while it was made from a log and why
        (``zero_gaps``, ``overlapping``, ...).
    notes : tuple of str
        Rules that were applied, in words a report can print.
    upper : ndarray of float, shape (n,), optional
        Where `observed` is false, the time by which the life had ended: infinite for right censoring, finite for an
        interval ``(durations, upper]``, which is left censoring if it begins at zero. Right censoring when left out.
    entry : ndarray of float, shape (n,), optional
        Left truncation: the age from which the life was watched; it would not be here had it ended before. Zero for
        lives watched from the start.
    exit : ndarray of float, shape (n,), optional
        Right truncation: the life is here only because it ended by then. Infinite for lives without this condition.
    weights : ndarray of int, shape (n,), optional
        How many equal lives a row stands for.
    limit : ndarray of float, shape (n,), optional
        The age at which a life would have been right-censored had it lasted, where that is known for the lives that
        failed too; infinite for none. It makes bootstrap p-values more exact, and changes no estimate.

    Raises
    ------
    DataError
        When shapes disagree; when a duration is negative, NaN or infinite, an interval's ends are exchanged, a
        truncation lies past the failure, or a weight is negative or no whole number. It names the group and the row.

    Examples
    --------
    >>> lives = LifeData.from_groups({"a": [3.0, 5.0], "b": [2.0]}, {"a": [True, False], "b": [True]})
    >>> lives
    LifeData: 3 lives in 2 groups (2 observed, 1 censored, 0 of length zero), measure life
    >>> lives.total_time.tolist()
    [8.0, 2.0]
    """

    durations: FloatArray
    observed: BoolArray
    offsets: IntArray
    groups: pd.Index
    measure: str = "life"
    counts: pd.DataFrame | None = None
    notes: tuple[str, ...] = field(default=())
    upper: FloatArray | None = None
    entry: FloatArray | None = None
    exit: FloatArray | None = None
    weights: IntArray | None = None
    limit: FloatArray | None = None

    def __post_init__(self) -> None:
        durations = np.ascontiguousarray(self.durations, dtype=np.float64)
        observed = np.ascontiguousarray(self.observed, dtype=np.bool_)
        offsets = np.ascontiguousarray(self.offsets, dtype=np.int64)
        object.__setattr__(self, "durations", durations)
        object.__setattr__(self, "observed", observed)
        object.__setattr__(self, "offsets", offsets)
        if durations.ndim != 1 or observed.shape != durations.shape:
            raise DataError(
                f"durations and observed must be flat and of one length, not {durations.shape} and {observed.shape}"
            )
        if (
            offsets.size != len(self.groups) + 1
            or offsets[0] != 0
            or offsets[-1] != durations.size
            or np.any(np.diff(offsets) < 0)
        ):
            raise DataError("offsets must run from 0 to the number of lives, one step a group, without going back")
        self._reject(
            ~(durations >= 0.0) | np.isinf(durations),
            lambda row: f"duration {durations[row]}",
            "is not a finite number of hours that is zero or more",
        )
        self._check_further()

    def _check_further(self) -> None:
        """Check and tidy upper ends, truncation and weights, where they are given."""
        for name in _FURTHER:
            value = getattr(self, name)
            if value is None:
                continue
            array = np.ascontiguousarray(value, dtype=np.float64)
            if array.shape != self.durations.shape:
                raise DataError(f"{name} has shape {array.shape}, the durations have {self.durations.shape}")
            object.__setattr__(self, name, array)
        durations = self.durations
        ends = np.where(self.observed, durations, np.inf)
        if self.upper is not None:
            given = self.upper
            ends = np.where(self.observed, durations, given)
            self._reject(
                ~(ends >= durations),
                lambda row: f"interval from {durations[row]} to {given[row]}",
                "has its ends exchanged or one missing",
            )
            object.__setattr__(self, "observed", self.observed | (ends == durations))
            object.__setattr__(self, "upper", ends if np.any(~self.observed & (ends < np.inf)) else None)
        if self.entry is not None:
            entry = self.entry
            self._reject(
                ~(entry >= 0.0) | (entry > durations),
                lambda row: f"left truncation at {entry[row]}",
                "is negative, missing or after the end of its life",
                remedy="an entry is the age at which the life came under observation, not after its end",
            )
            object.__setattr__(self, "entry", entry if np.any(entry > 0.0) else None)
        if self.exit is not None:
            leave = self.exit
            self._reject(
                ~(leave >= ends) | ~(leave > 0.0),
                lambda row: f"right truncation at {leave[row]}",
                "is before the end of its life, or its life has no end",
                remedy="a life that is here only because it ended by then has a failure time or an interval up to then",
            )
            object.__setattr__(self, "exit", leave if np.any(leave < np.inf) else None)
        if self.limit is not None:
            limit = self.limit
            self._reject(
                ~(limit >= durations),
                lambda row: f"limit of observation {limit[row]}",
                "is missing or before the end of its life",
            )
            censored = ~self.observed & np.isinf(ends)
            object.__setattr__(self, "limit", np.where(censored, durations, limit))
        if self.weights is not None:
            weights: FloatArray = np.asarray(self.weights, dtype=np.float64)
            self._reject(
                ~(weights >= 0.0) | (weights != np.floor(weights)) | (weights > 2**53),
                lambda row: f"weight {weights[row]:g}",
                "is not a whole number that is zero or more",
            )
            object.__setattr__(self, "weights", weights.astype(np.int64) if np.any(weights != 1.0) else None)

    def _reject(self, bad: BoolArray, what: Callable[[int], str], why: str, remedy: str | None = None) -> None:
        if not bad.any():
            return
        row = int(np.flatnonzero(bad)[0])
        group = int(np.searchsorted(self.offsets, row, side="right")) - 1
        raise DataError(
            f"{what(row)} in group {self.groups[group]!r}, row {row - int(self.offsets[group])}, "
            f"{why} ({int(bad.sum())} such in all)",
            remedy=remedy or "leave such rows out or correct them before fitting",
        )

    # ------------------------------------------------------------------ making

    @classmethod
    def from_groups(
        cls,
        durations: Mapping[Any, npt.ArrayLike] | Sequence[npt.ArrayLike],
        observed: Mapping[Any, npt.ArrayLike] | Sequence[npt.ArrayLike] | None = None,
        *,
        measure: str = "life",
        **further: Mapping[Any, npt.ArrayLike] | Sequence[npt.ArrayLike] | None,
    ) -> LifeData:
        """Lives from one array a group.

        Parameters
        ----------
        durations : mapping from label to array, or sequence of arrays
            Hours.
        observed : same shape, optional
            True where the life ended; all True when left out.
        measure : str
            See the class.
        **further : same shape, optional
            ``upper``, ``entry``, ``exit``, ``weights`` and ``limit``; see the class.
        """
        labels: list[Any] = list(durations) if isinstance(durations, Mapping) else list(range(len(durations)))
        parts = _parts("durations", durations, labels, isinstance(durations, Mapping))
        sizes = [part.size for part in parts]
        flat = np.concatenate([*parts, np.empty(0)])
        columns: dict[str, Any] = {}
        for name, values in {"observed": observed, **further}.items():
            if name not in ("observed", *_FURTHER):
                raise ArgumentError(f"no argument {name!r}", remedy=f"use one of {', '.join(_FURTHER)}")
            if values is None:
                continue
            arrays = _parts(name, values, labels, isinstance(durations, Mapping))
            if [array.size for array in arrays] != sizes:
                raise DataError(f"{name} must have one entry for every duration, group by group")
            columns[name] = np.concatenate([*arrays, np.empty(0)])
        seen = columns.pop("observed", np.ones(flat.size)).astype(np.bool_)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(flat, seen, offsets, _index(labels), measure, **columns)

    @classmethod
    def from_array(
        cls,
        durations: npt.ArrayLike,
        observed: npt.ArrayLike | None = None,
        *,
        measure: str = "life",
        upper: npt.ArrayLike | None = None,
        entry: npt.ArrayLike | None = None,
        exit: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        limit: npt.ArrayLike | None = None,
    ) -> LifeData:
        """Lives from one sample (one dimension) or from equally long samples (two: a row a group).

        The further arguments, described with the class, broadcast against `durations`.

        Examples
        --------
        >>> LifeData.from_array([[1.0, 2.0], [3.0, 4.0]]).n_groups
        2
        """
        values = np.atleast_1d(np.asarray(durations, dtype=np.float64))
        if values.ndim > 2:
            raise DataError(f"durations must have one or two dimensions, not {values.ndim}")
        rows = values.reshape(1, -1) if values.ndim == 1 else values

        def spread(name: str, given: npt.ArrayLike | None) -> Any:
            if given is None:
                return None
            array = np.asarray(given)
            if array.ndim == 0 or (array.ndim == 1 and values.ndim == 2 and array.size == rows.shape[1]):
                array = np.broadcast_to(array, rows.shape)
            if array.size != rows.size:
                raise DataError(f"{name} has {array.size} entries for {rows.size} durations")
            return array.ravel()

        flags = spread("observed", observed)
        offsets = np.arange(rows.shape[0] + 1, dtype=np.int64) * rows.shape[1]
        return cls(
            rows.ravel(),
            np.ones(rows.size, np.bool_) if flags is None else flags.astype(np.bool_),
            offsets,
            pd.RangeIndex(rows.shape[0], name="group"),
            measure,
            upper=spread("upper", upper),
            entry=spread("entry", entry),
            exit=spread("exit", exit),
            weights=spread("weights", weights),
            limit=spread("limit", limit),
        )

    @classmethod
    def from_intervals(
        cls,
        lower: npt.ArrayLike,
        upper: npt.ArrayLike,
        *,
        measure: str = "life",
        entry: npt.ArrayLike | None = None,
        exit: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
    ) -> LifeData:
        """Lives known to have ended in ``(lower, upper]``, as inspections give them; one or two dimensions.

        Parameters
        ----------
        lower, upper : array_like of float
            Hours. Equal ends are an exact failure time, an infinite (or missing) `upper` is right censoring, a `lower`
            of zero (or missing) is left censoring.
        measure : str
            See the class.
        entry, exit, weights : array_like, optional
            See the class.

        Examples
        --------
        >>> LifeData.from_intervals([0.0, 2.0, 5.0, 7.0], [2.0, 5.0, 5.0, float("inf")])
        LifeData: 4 lives in 1 groups (1 observed, 2 in intervals, 1 censored, 0 of length zero), measure life
        """
        low = np.asarray(lower, dtype=np.float64)
        high = np.asarray(upper, dtype=np.float64)
        if low.shape != high.shape:
            raise DataError(f"lower has shape {low.shape}, upper has {high.shape}")
        low = np.where(np.isnan(low), 0.0, low)
        high = np.where(np.isnan(high), np.inf, high)
        return cls.from_array(low, low == high, measure=measure, upper=high, entry=entry, exit=exit, weights=weights)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        duration: str = "duration",
        observed: str | None = None,
        by: str | Sequence[str] = (),
        *,
        measure: str = "life",
        upper: str | None = None,
        entry: str | None = None,
        exit: str | None = None,
        weights: str | None = None,
        limit: str | None = None,
    ) -> LifeData:
        """Lives from a table, a row a life.

        Parameters
        ----------
        frame : pandas.DataFrame
        duration : str
            Column of hours.
        observed : str, optional
            Column that is true where the life ended; all ended when left out.
        by : str or sequence of str
            Columns that name the group; one group when empty.
        measure : str
            See the class.
        upper, entry, exit, weights, limit : str, optional
            Columns of what the class describes under these names. With `upper` and without `observed`, a life is
            observed where both ends are equal.

        Examples
        --------
        >>> table = pd.DataFrame({"node": [1, 2, 1], "hours": [4.0, 5.0, 6.0]})
        >>> LifeData.from_frame(table, "hours", by="node").durations.tolist()
        [4.0, 6.0, 5.0]
        """
        keys = [by] if isinstance(by, str) else list(by)
        given = {"upper": upper, "entry": entry, "exit": exit, "weights": weights, "limit": limit}
        for column in [duration, observed, *keys, *given.values()]:
            if column is not None and column not in frame.columns:
                raise ArgumentError(
                    f"no column {column!r} in the table",
                    remedy=f"it has {', '.join(map(str, frame.columns))}",
                )
        values = frame[duration].to_numpy(dtype=np.float64)
        columns: dict[str, Any] = {k: frame[c].to_numpy(dtype=np.float64) for k, c in given.items() if c is not None}
        if observed is not None:
            flags = frame[observed].to_numpy(dtype=np.bool_)
        elif upper is not None:
            columns["upper"] = np.where(np.isnan(columns["upper"]), np.inf, columns["upper"])
            flags = columns["upper"] == values
        else:
            flags = np.ones(values.size, np.bool_)
        if not keys:
            return cls.from_array(values, flags, measure=measure, **columns)
        grouper = frame.groupby(keys if len(keys) > 1 else keys[0], observed=True, sort=True, dropna=False)
        codes = grouper.ngroup().to_numpy()
        order = np.argsort(codes, kind="stable")
        sizes = grouper.size()
        offsets = np.concatenate([[0], np.cumsum(sizes.to_numpy())]).astype(np.int64)
        return cls(
            values[order], flags[order], offsets, sizes.index, measure, **{k: v[order] for k, v in columns.items()}
        )

    # ----------------------------------------------------------------- reading

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.groups)

    @property
    def sizes(self) -> IntArray:
        """Lives in each group, shape (groups,)."""
        return np.diff(self.offsets)

    @property
    def n_lives(self) -> IntArray:
        """Lives in each group, weights counted, shape (groups,)."""
        return self.sizes if self.weights is None else self._count(np.ones(self.durations.size, np.bool_))

    @property
    def n_failures(self) -> IntArray:
        """Lives in each group that ended, at a known time or within an interval, shape (groups,)."""
        return self._count(self.observed if self.upper is None else self.upper < np.inf)

    @property
    def n_censored(self) -> IntArray:
        """Right-censored lives in each group, shape (groups,)."""
        return self.n_lives - self.n_failures

    @property
    def n_intervals(self) -> IntArray:
        """Lives in each group that ended within an interval (left censoring included), shape (groups,)."""
        if self.upper is None:
            return np.zeros(self.n_groups, dtype=np.int64)
        return self._count(~self.observed & (self.upper < np.inf))

    @property
    def n_zeros(self) -> IntArray:
        """Observed lives of length zero in each group, shape (groups,)."""
        return self._count(self.observed & (self.durations == 0.0))

    @property
    def total_time(self) -> FloatArray:
        """Hours that the lives of each group are known to have lasted under observation, shape (groups,)."""
        hours = self.durations if self.entry is None else self.durations - self.entry
        return self._sum(hours if self.weights is None else hours * self.weights).astype(np.float64)

    @property
    def plain(self) -> bool:
        """Whether all lives are observed or right-censored, without truncation or weights."""
        return self.upper is None and self.entry is None and self.exit is None and self.weights is None

    @property
    def ends(self) -> FloatArray:
        """Time by which each life had ended: its duration if observed, infinite if right-censored, shape (n,)."""
        return np.where(self.observed, self.durations, np.inf) if self.upper is None else self.upper

    def _count(self, chosen: BoolArray) -> IntArray:
        values = chosen.astype(np.int64)
        return self._sum(values if self.weights is None else values * self.weights).astype(np.int64)

    def _sum(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self.n_groups == 0 or values.size == 0:
            return np.zeros(self.n_groups, values.dtype)
        padded = np.append(values, values.dtype.type(0))
        total = np.add.reduceat(padded, self.offsets[:-1])
        total[self.sizes == 0] = 0
        return total

    def group_codes(self) -> IntArray:
        """Number of the group that each life belongs to, shape (n,)."""
        return np.repeat(np.arange(self.n_groups, dtype=np.int64), self.sizes)

    def position(self, label: Any) -> int:
        """Number of the group with this label.

        Raises
        ------
        ArgumentError
            When there is no such group, or the label names several.
        """
        try:
            position = self.groups.get_loc(label)
        except (KeyError, TypeError, pd.errors.InvalidIndexError):
            raise ArgumentError(f"no group {label!r} among the {self.n_groups}") from None
        if not isinstance(position, (int, np.integer)):
            raise ArgumentError(f"{label!r} names more than one group", remedy="give the whole label")
        return int(position)

    def group(self, label: Any) -> LifeData:
        """The lives of one group, as a batch of one; raises as `position` does."""
        return self.take([self.position(label)])

    def rows_of(self, positions: IntArray) -> IntArray:
        """Positions in `durations` of the members of these groups, group after group."""
        sizes = self.sizes[positions]
        ends = np.cumsum(sizes)
        return np.arange(sizes.sum()) + np.repeat(self.offsets[:-1][positions] - ends + sizes, sizes)

    def take(self, positions: Iterable[int]) -> LifeData:
        """The groups at these positions, in this order."""
        chosen = np.asarray(list(positions), dtype=np.int64)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.n_groups):
            raise ArgumentError(f"group positions must lie in 0..{self.n_groups - 1}")
        offsets = np.concatenate([[0], np.cumsum(self.sizes[chosen])]).astype(np.int64)
        rows = self.rows_of(chosen)
        counts = None if self.counts is None else self.counts.iloc[chosen]
        return LifeData(
            self.durations[rows],
            self.observed[rows],
            offsets,
            self.groups[chosen],
            self.measure,
            counts,
            self.notes,
            **{name: values[rows] for name, values in self.further().items()},
        )

    def further(self) -> dict[str, Any]:
        """Those of ``upper``, ``entry``, ``exit``, ``weights`` and ``limit`` that are given, by name."""
        named = {name: getattr(self, name) for name in _FURTHER}
        return {name: values for name, values in named.items() if values is not None}

    def pooled(self) -> LifeData:
        """All lives as one sample, whatever group they came from."""
        return LifeData(
            self.durations,
            self.observed,
            np.array([0, self.durations.size], dtype=np.int64),
            pd.Index(["all"], name="group"),
            self.measure,
            None if self.counts is None else self.counts.sum().to_frame("all").T,
            self.notes,
            **self.further(),
        )

    def to_frame(self) -> pd.DataFrame:
        """A row a life: the group's keys, ``duration_hours``, ``observed``, and what `further` gives."""
        frame = key_columns(self.groups).iloc[self.group_codes()].reset_index(drop=True)
        frame["duration_hours"] = self.durations
        frame["observed"] = self.observed
        for name, values in self.further().items():
            frame[name if name == "weights" else f"{name}_hours"] = values
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Totals and the groups' labels, ready for JSON."""
        return {
            "measure": self.measure,
            "groups": self.n_groups,
            "lives": int(self.n_lives.sum()),
            "observed": int((self.n_failures - self.n_intervals).sum()),
            "intervals": int(self.n_intervals.sum()),
            "censored": int(self.n_censored.sum()),
            "left_truncated": 0 if self.entry is None else int((self.entry > 0).sum()),
            "right_truncated": 0 if self.exit is None else int((self.exit < np.inf).sum()),
            "zeros": int(self.n_zeros.sum()),
            "left_out": {} if self.counts is None else {str(k): int(v) for k, v in self.counts.sum().items()},
            "notes": list(self.notes),
        }

    def __len__(self) -> int:
        return self.n_groups

    def __repr__(self) -> str:
        total = self.to_dict()
        between = f"{total['intervals']} in intervals, " if total["intervals"] else ""
        cut = [
            f"{total[f'{side}_truncated']} {side}-truncated" for side in ("left", "right") if total[f"{side}_truncated"]
        ]
        return (
            f"LifeData: {total['lives']} lives in {self.n_groups} groups ({total['observed']} observed, {between}"
            f"{total['censored']} censored, {total['zeros']} of length zero"
            f"{''.join(', ' + part for part in cut)}), measure {self.measure}"
        )

    def _repr_html_(self) -> str:
        table = pd.DataFrame(
            {
                "lives": self.n_lives,
                "failures": self.n_failures,
                "censored": self.n_censored,
                "hours": self.total_time,
            },
            index=self.groups,
        )
        return f"<p>{self!r}</p>{table.to_html(max_rows=10)}"


def _parts(name: str, values: Any, labels: list[Any], by_label: bool) -> list[FloatArray]:
    """One flat array a group."""
    if isinstance(values, Mapping) != by_label:
        raise ArgumentError(f"durations {'by label' if by_label else 'in sequence'} need {name} given alike")
    if by_label:
        missing = [label for label in labels if label not in values]
        if missing:
            raise ArgumentError(f"{name} has no entry for group {missing[0]!r}")
        values = [values[label] for label in labels]
    if len(values) != len(labels):
        raise DataError(f"{name} has {len(values)} groups, the durations have {len(labels)}")
    return [np.asarray(part, dtype=np.float64).ravel() for part in values]


def _index(labels: list[Any]) -> pd.Index:
    if labels and all(isinstance(label, tuple) for label in labels):
        keys: pd.Index = pd.MultiIndex.from_tuples(labels)
        return keys
    return pd.Index(labels, name="group")


def key_columns(groups: pd.Index) -> pd.DataFrame:
    """The keys of groups as columns; keys without a name are called ``group``, or ``key_0``, ``key_1``, ...

    Examples
    --------
    >>> list(key_columns(pd.MultiIndex.from_tuples([("a", 1)], names=["system", "node"])))
    ['system', 'node']
    """
    frame = groups.to_frame(index=False)
    single = groups.nlevels == 1
    frame.columns = pd.Index(
        [str(name) if name is not None else "group" if single else f"key_{i}" for i, name in enumerate(groups.names)]
    )
    return frame
