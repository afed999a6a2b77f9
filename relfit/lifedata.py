"""`LifeData`: durations in hours, observed or censored, in groups; the one input of every estimator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


@dataclass(frozen=True, eq=False)
class LifeData:
    """Lives of many groups (nodes, systems, causes), kept flat with offsets.

    Group ``j`` owns ``durations[offsets[j]:offsets[j + 1]]``. The order within a group is the order in time where
    the lives come from a log, and is kept.

    Parameters
    ----------
    durations : ndarray of float, shape (n,)
        Hours; finite and not negative.
    observed : ndarray of bool, shape (n,)
        True where the life ended in a failure (or the repair ended), False where it is right-censored.
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

    Raises
    ------
    DataError
        When shapes disagree or a duration is negative, NaN or infinite; it names the group and the row.

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
        bad = ~(durations >= 0.0) | np.isinf(durations)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            group = int(np.searchsorted(offsets, row, side="right")) - 1
            raise DataError(
                f"duration {durations[row]} in group {self.groups[group]!r}, row {row - int(offsets[group])}, "
                f"is not a finite number of hours that is zero or more ({int(bad.sum())} such in all)",
                remedy="leave such rows out or correct them before fitting",
            )

    # ------------------------------------------------------------------ making

    @classmethod
    def from_groups(
        cls,
        durations: Mapping[Any, npt.ArrayLike] | Sequence[npt.ArrayLike],
        observed: Mapping[Any, npt.ArrayLike] | Sequence[npt.ArrayLike] | None = None,
        *,
        measure: str = "life",
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
        """
        if isinstance(durations, Mapping):
            labels: list[Any] = list(durations)
            parts = [np.asarray(durations[label], dtype=np.float64).ravel() for label in labels]
            flags = None
            if observed is not None:
                if not isinstance(observed, Mapping):
                    raise ArgumentError("durations by label need observed by label")
                missing = [label for label in labels if label not in observed]
                if missing:
                    raise ArgumentError(f"observed has no entry for group {missing[0]!r}")
                flags = [np.asarray(observed[label], dtype=np.bool_).ravel() for label in labels]
        else:
            parts = [np.asarray(part, dtype=np.float64).ravel() for part in durations]
            labels = list(range(len(parts)))
            flags = None if observed is None else [np.asarray(part, dtype=np.bool_).ravel() for part in observed]
        if flags is not None and [f.size for f in flags] != [p.size for p in parts]:
            raise DataError("observed must have one flag for every duration, group by group")
        flat = np.concatenate(parts) if parts else np.empty(0)
        seen = np.ones(flat.size, dtype=np.bool_) if flags is None else np.concatenate([*flags, np.empty(0, np.bool_)])
        offsets = np.concatenate([[0], np.cumsum([part.size for part in parts])]).astype(np.int64)
        return cls(flat, seen, offsets, _index(labels), measure)

    @classmethod
    def from_array(
        cls, durations: npt.ArrayLike, observed: npt.ArrayLike | None = None, *, measure: str = "life"
    ) -> LifeData:
        """Lives from one sample (one dimension) or from equally long samples (two: a row a group).

        Examples
        --------
        >>> LifeData.from_array([[1.0, 2.0], [3.0, 4.0]]).n_groups
        2
        """
        values = np.atleast_1d(np.asarray(durations, dtype=np.float64))
        if values.ndim > 2:
            raise DataError(f"durations must have one or two dimensions, not {values.ndim}")
        rows = values.reshape(1, -1) if values.ndim == 1 else values
        flags = np.ones(rows.shape, np.bool_) if observed is None else np.asarray(observed, np.bool_)
        if flags.size != rows.size:
            raise DataError(f"observed has {flags.size} flags for {rows.size} durations")
        offsets = np.arange(rows.shape[0] + 1, dtype=np.int64) * rows.shape[1]
        return cls(rows.ravel(), flags.ravel(), offsets, pd.RangeIndex(rows.shape[0], name="group"), measure)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        duration: str = "duration",
        observed: str | None = None,
        by: str | Sequence[str] = (),
        *,
        measure: str = "life",
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

        Examples
        --------
        >>> table = pd.DataFrame({"node": [1, 2, 1], "hours": [4.0, 5.0, 6.0]})
        >>> LifeData.from_frame(table, "hours", by="node").durations.tolist()
        [4.0, 6.0, 5.0]
        """
        keys = [by] if isinstance(by, str) else list(by)
        for column in [duration, *([observed] if observed else []), *keys]:
            if column not in frame.columns:
                raise ArgumentError(
                    f"no column {column!r} in the table",
                    remedy=f"it has {', '.join(map(str, frame.columns))}",
                )
        values = frame[duration].to_numpy(dtype=np.float64)
        flags = np.ones(values.size, np.bool_) if observed is None else frame[observed].to_numpy(dtype=np.bool_)
        if not keys:
            return cls.from_array(values, flags, measure=measure)
        grouper = frame.groupby(keys if len(keys) > 1 else keys[0], observed=True, sort=True, dropna=False)
        codes = grouper.ngroup().to_numpy()
        order = np.argsort(codes, kind="stable")
        sizes = grouper.size()
        offsets = np.concatenate([[0], np.cumsum(sizes.to_numpy())]).astype(np.int64)
        return cls(values[order], flags[order], offsets, sizes.index, measure)

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
    def n_failures(self) -> IntArray:
        """Observed lives in each group, shape (groups,)."""
        return self._sum(self.observed.astype(np.int64)).astype(np.int64)

    @property
    def n_censored(self) -> IntArray:
        """Censored lives in each group, shape (groups,)."""
        return self.sizes - self.n_failures

    @property
    def n_zeros(self) -> IntArray:
        """Observed lives of length zero in each group, shape (groups,)."""
        return self._sum((self.observed & (self.durations == 0.0)).astype(np.int64)).astype(np.int64)

    @property
    def total_time(self) -> FloatArray:
        """Hours under observation in each group, shape (groups,)."""
        return self._sum(self.durations).astype(np.float64)

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

    def group(self, label: Any) -> LifeData:
        """The lives of one group, as a batch of one.

        Raises
        ------
        ArgumentError
            When there is no such group.
        """
        try:
            position = self.groups.get_loc(label)
        except (KeyError, TypeError, pd.errors.InvalidIndexError):
            raise ArgumentError(f"no group {label!r} among the {self.n_groups}") from None
        if not isinstance(position, (int, np.integer)):
            raise ArgumentError(f"{label!r} names more than one group", remedy="give the whole label")
        return self.take([int(position)])

    def take(self, positions: Iterable[int]) -> LifeData:
        """The groups at these positions, in this order."""
        chosen = np.asarray(list(positions), dtype=np.int64)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.n_groups):
            raise ArgumentError(f"group positions must lie in 0..{self.n_groups - 1}")
        sizes = self.sizes[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = np.repeat(self.offsets[chosen] - offsets[:-1], sizes) + np.arange(offsets[-1])
        counts = None if self.counts is None else self.counts.iloc[chosen]
        return LifeData(
            self.durations[rows],
            self.observed[rows],
            offsets,
            self.groups[chosen],
            self.measure,
            counts,
            self.notes,
        )

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
        )

    def to_frame(self) -> pd.DataFrame:
        """A row a life: the group's keys, ``duration_hours`` and ``observed``."""
        frame = key_columns(self.groups).iloc[self.group_codes()].reset_index(drop=True)
        frame["duration_hours"] = self.durations
        frame["observed"] = self.observed
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Totals and the groups' labels, ready for JSON."""
        return {
            "measure": self.measure,
            "groups": self.n_groups,
            "lives": int(self.durations.size),
            "observed": int(self.observed.sum()),
            "censored": int((~self.observed).sum()),
            "zeros": int(self.n_zeros.sum()),
            "left_out": {} if self.counts is None else {str(k): int(v) for k, v in self.counts.sum().items()},
            "notes": list(self.notes),
        }

    def __len__(self) -> int:
        return self.n_groups

    def __repr__(self) -> str:
        seen = int(self.observed.sum())
        return (
            f"LifeData: {self.durations.size} lives in {self.n_groups} groups ({seen} observed, "
            f"{self.durations.size - seen} censored, {int(self.n_zeros.sum())} of length zero), measure {self.measure}"
        )

    def _repr_html_(self) -> str:
        table = pd.DataFrame(
            {
                "lives": self.sizes,
                "observed": self.n_failures,
                "censored": self.n_censored,
                "hours": self.total_time,
            },
            index=self.groups,
        )
        return f"<p>{self!r}</p>{table.to_html(max_rows=10)}"


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
