"""`LifeData`: durations in hours, observed, censored or truncated, in groups; the one input of every estimator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import ArgumentError, DataError
from relfit.base.numeric.ragged import Ragged, offsets_of, sums
from relfit.base.results import Result, key_columns
from relfit.base.text import count
from relfit.log import lifechecks
from relfit.log.lifechecks import FURTHER, Groups, aligned, as_column, as_flags, checked, known_names, named_columns

_FLAGS = ("observed", "stationary")


class LifeData(Result, Ragged):
    """Durations of many groups (nodes, systems, causes), in flat arrays with offsets.

    Group ``j`` owns ``durations[offsets[j]:offsets[j + 1]]``. Durations from a log are in the order of time within a
    group. Intervals, truncation and weights are None where no duration needs them.

    Parameters
    ----------
    durations : ndarray of float, shape (n,)
        Hours; finite and not negative. The failure time if observed, else the time survived.
    observed : ndarray of bool, shape (n,)
        True where a failure (or the end of a repair) was observed, False where the duration is censored.
    offsets : ndarray of int, shape (groups + 1,)
        Where each group begins; the last entry is ``n``.
    groups : pandas.Index
        One label per group; a `pandas.MultiIndex` such as (system, node) is usual.
    measure : str
        ``"ttf"`` (time to failure), ``"ttr"`` (time to repair) or ``"life"``.
    counts : pandas.DataFrame, optional
        One row per group, in the same order: how many rows of a log were omitted and why (``zero_gaps``,
        ``overlapping``, ...).
    notes : tuple of str
        Rules that were applied, as sentences for a report.
    upper : ndarray of float, shape (n,), optional
        Where `observed` is false, the latest time of the failure: infinite for right censoring (the default), finite
        for an interval ``(durations, upper]``, which is left censoring if it begins at zero.
    entry : ndarray of float, shape (n,), optional
        Left truncation: the age from which the duration was under observation; zero if from the start.
    exit : ndarray of float, shape (n,), optional
        Right truncation: the age by which the duration had to end to be in the data; infinite without this condition.
    weights : ndarray of int, shape (n,), optional
        Number of equal durations in a row.
    limit : ndarray of float, shape (n,), optional
        The age at which a duration would have been right-censored, if known for failures too; infinite for none. It
        makes bootstrap p-values more exact, and changes no estimate.
    stationary : ndarray of bool, shape (n,), optional
        True for a time in progress at an unknown age when observation began, in a fleet in steady state; its duration
        runs from then. The likelihood is ``S(x) / mean`` if it ended, and the integral of ``S`` beyond ``x`` over the
        mean if not. It has neither truncation nor interval.
    shared : bool
        Whether the groups share the same hours, as causes of failure do; then they cannot be pooled.

    Raises
    ------
    DataError
        When shapes disagree; when a duration is negative, NaN or infinite, an interval's ends are exchanged, a
        truncation is after the failure, a stationary duration is truncated, or a weight is negative or no whole number.
        The error names the group and the row. The constructors below raise it too, and an `ArgumentError` for a
        further argument that is not one of these.

    Examples
    --------
    >>> lives = LifeData.from_groups({"a": [3.0, 5.0], "b": [2.0]}, {"a": [True, False], "b": [True]})
    >>> lives
    LifeData: 3 durations in 2 groups (2 observed, 1 censored, 0 of length zero), measure life
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
    stationary: BoolArray | None = None
    shared: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", np.ascontiguousarray(self.offsets, dtype=np.int64))
        for name in ("durations", "observed", *FURTHER):
            if getattr(self, name) is None:
                continue
            column = as_column(name, getattr(self, name))
            array = np.ascontiguousarray(column, dtype=np.bool_ if name in _FLAGS else np.float64)
            if array.ndim != 1 or array.shape != np.shape(self.durations):
                raise DataError(f"{name} has shape {array.shape}, the durations have {np.shape(self.durations)}")
            object.__setattr__(self, name, array)
        sizes, ends = np.diff(self.offsets), (self.offsets[0], self.offsets[-1])
        if sizes.size != len(self.groups) or ends != (0, self.durations.size) or np.any(sizes < 0):
            raise DataError(
                "offsets must run from 0 to the number of durations, one step per group, without going back"
            )
        for name, value in checked(self).items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_groups(
        cls, durations: Groups, observed: Groups | None = None, *, measure: str = "life", **further: Groups | None
    ) -> LifeData:
        """Durations from one array per group.

        Parameters
        ----------
        durations : mapping from label to array, or sequence of arrays
            Hours.
        observed : same shape, optional
            True where a failure was observed; all True when left out.
        measure : str
            See the class.
        **further : same shape, optional
            ``upper``, ``entry``, ``exit``, ``weights``, ``limit`` and ``stationary``; see the class.
        """
        labelled = isinstance(durations, Mapping)
        labels: list[Any] = list(durations) if labelled else list(range(len(durations)))
        lifechecks.reject_columns(labels)
        parts = lifechecks.parts_of("durations", durations, labels, labelled)
        columns: dict[str, Any] = {}
        for name, values in {"observed": observed, **known_names(further)}.items():
            if values is None:
                continue
            arrays = lifechecks.parts_of(name, values, labels, labelled, durations)
            if [array.size for array in arrays] != [part.size for part in parts]:
                raise DataError(f"{name} must have one entry for every duration, group by group")
            columns[name] = np.concatenate([*arrays, np.empty(0)])
        flat = np.concatenate([*parts, np.empty(0)])
        columns.setdefault("observed", np.ones(flat.size))
        tuples = bool(labels) and all(isinstance(label, tuple) for label in labels)
        groups: Any = pd.MultiIndex.from_tuples(labels) if tuples else pd.Index(labels, name="group")
        return cls(flat, offsets=offsets_of([part.size for part in parts]), groups=groups, measure=measure, **columns)

    @classmethod
    def from_array(
        cls,
        durations: npt.ArrayLike,
        observed: npt.ArrayLike | None = None,
        *,
        measure: str = "life",
        **further: npt.ArrayLike | None,
    ) -> LifeData:
        """Durations from one sample (one dimension) or equally long samples (two: one row per group).

        Parameters
        ----------
        durations : array_like, shape (n,) or (groups, n)
            Hours; or timedeltas, or texts such as ``"20h"``.
        observed, measure, **further
            As for `from_groups`; arrays broadcast against `durations`. Series are matched by their labels.

        Examples
        --------
        >>> LifeData.from_array([[1.0, 2.0], [3.0, 4.0]]).n_groups
        2
        """
        values = np.atleast_1d(as_column("durations", durations))
        if values.ndim > 2:
            raise DataError(f"durations must have one or two dimensions, not {values.ndim}")
        rows = np.atleast_2d(values)
        columns = aligned(durations, {"observed": True if observed is None else observed, **known_names(further)})
        for name, value in columns.items():
            if value is None:
                continue
            array = as_column(name, value)
            if array.ndim == 0 or (array.ndim == 1 and values.ndim == 2 and array.size == rows.shape[1]):
                array = np.broadcast_to(array, rows.shape)
            if array.size != rows.size:
                raise DataError(f"{name} has {array.size} entries for {rows.size} durations")
            columns[name] = array.ravel()
        offsets = offsets_of([rows.shape[1]] * rows.shape[0])
        groups = pd.RangeIndex(rows.shape[0], name="group")
        return cls(rows.ravel(), offsets=offsets, groups=groups, measure=measure, **columns)

    @classmethod
    def from_intervals(
        cls, lower: npt.ArrayLike, upper: npt.ArrayLike, *, measure: str = "life", **further: npt.ArrayLike | None
    ) -> LifeData:
        """Durations known to have ended in ``(lower, upper]``, as inspections give them; one or two dimensions.

        Parameters
        ----------
        lower, upper : array_like of float
            Hours. Equal ends are an exact failure time, an infinite (or missing) `upper` is right censoring, a `lower`
            of zero (or missing) is left censoring.
        measure, **further
            As for `from_array`.

        Examples
        --------
        >>> LifeData.from_intervals([0.0, 2.0, 5.0, 7.0], [2.0, 5.0, 5.0, float("inf")])
        LifeData: 4 durations in 1 group (1 observed, 2 in intervals, 1 censored, 0 of length zero), measure life
        """
        beside = aligned(lower, {"upper": upper, **further})
        low, high = as_column("lower", lower), as_column("upper", beside.pop("upper"))
        if low.shape != high.shape:
            raise DataError(f"lower has shape {low.shape}, upper has {high.shape}")
        low = np.where(np.isnan(low), 0.0, low)
        high = np.where(np.isnan(high), np.inf, high)
        return cls.from_array(low, low == high, measure=measure, upper=high, **beside)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        duration: str = "duration",
        observed: str | None = None,
        by: str | Sequence[str] = (),
        *,
        measure: str = "life",
        **further: str | None,
    ) -> LifeData:
        """Durations from a table, one row each; an `ArgumentError` for a column that is not there.

        Columns called ``observed``, ``entry`` and ``weights`` are taken as such where no argument names others.

        Parameters
        ----------
        frame : pandas.DataFrame
        duration : str
            Column of hours.
        observed : str, optional
            Column that is true where a failure was observed; without one it is true for all.
        by : str or sequence of str
            Columns that name the group; one group when empty. Rows without one are left out, and counted in `notes`.
        measure : str
            See the class.
        **further : str, optional
            Columns of ``upper``, ``entry``, ``exit``, ``weights``, ``limit`` and ``stationary``. With `upper` and
            without flags, a failure is observed where both ends are equal; a missing one is none, as if infinite.

        Examples
        --------
        >>> table = pd.DataFrame({"node": [1, 2, 1], "hours": [4.0, 5.0, 6.0]})
        >>> LifeData.from_frame(table, "hours", by="node").durations.tolist()
        [4.0, 6.0, 5.0]
        """
        keys, named = named_columns(frame, duration, by, {"observed": observed, **known_names(further)})
        rows, frame = len(frame), frame.dropna(subset=keys)
        notes = (f"{count(rows - len(frame), 'row')} without {' or '.join(keys)} left out",) * (len(frame) < rows)
        values = as_column("durations", frame[duration])
        columns: dict[str, Any] = {name: as_column(name, frame[column]) for name, column in named.items()}
        if "upper" in named:
            columns["upper"] = np.where(np.isnan(columns["upper"]), np.inf, columns["upper"])
        flags = as_flags(columns.pop("observed")) if "observed" in named else columns.get("upper", values) == values
        if not keys:
            return cls.from_array(values, flags, measure=measure, **columns)
        grouper = frame.groupby(keys if len(keys) > 1 else keys[0], observed=True, sort=True)
        order, sizes = np.argsort(grouper.ngroup().to_numpy(), kind="stable"), grouper.size()
        columns = {name: column[order] for name, column in columns.items()}
        return cls(values[order], flags[order], offsets_of(sizes), sizes.index, measure, notes=notes, **columns)

    @property
    def n_lives(self) -> IntArray:
        """Durations in each group, weights counted, shape (groups,)."""
        return self.sizes if self.weights is None else self._count(np.ones(self.durations.size, np.bool_))

    @property
    def n_failures(self) -> IntArray:
        """Durations in each group that ended, at a known time or within an interval, shape (groups,)."""
        return self._count(self.observed if self.upper is None else self.upper < np.inf)

    @property
    def n_censored(self) -> IntArray:
        """Right-censored durations in each group, shape (groups,)."""
        return self.n_lives - self.n_failures

    @property
    def n_intervals(self) -> IntArray:
        """Durations in each group that ended within an interval (left censoring included), shape (groups,)."""
        return self._count(None if self.upper is None else ~self.observed & (self.upper < np.inf))

    @property
    def n_zeros(self) -> IntArray:
        """Observed durations of zero in each group, shape (groups,)."""
        return self._count(self.observed & (self.durations == 0.0))

    @property
    def total_time(self) -> FloatArray:
        """Hours under observation of each group, shape (groups,); of an interval up to its lower end."""
        hours = self.durations if self.entry is None else self.durations - self.entry
        return sums(hours if self.weights is None else hours * self.weights, self.offsets)

    @property
    def plain(self) -> bool:
        """Whether all durations are observed or right-censored from age 0, without truncation or weights."""
        return all(getattr(self, name) is None for name in ("upper", "entry", "exit", "weights", "stationary"))

    @property
    def n_stationary(self) -> IntArray:
        """Durations in each group that were in progress at an unknown age, shape (groups,)."""
        return self._count(self.stationary)

    @property
    def n_late(self) -> IntArray:
        """Durations in each group that entered after age zero (left truncation), shape (groups,)."""
        return self._count(None if self.entry is None else self.entry > 0.0)

    @property
    def first_entry(self) -> FloatArray:
        """Smallest age in hours from which a duration of each group was under observation, shape (groups,)."""
        first = np.full(self.n_groups, np.inf)
        np.minimum.at(first, self.group_codes(), np.zeros(self.durations.size) if self.entry is None else self.entry)
        return np.where(np.isfinite(first), first, 0.0)

    def from_age_known(self) -> LifeData:
        """The durations whose age is known: all but the stationary ones."""
        if self.stationary is None:
            return self
        keep = ~self.stationary
        sizes = np.bincount(self.group_codes()[keep], minlength=self.n_groups)
        return self._part(keep, sizes, self.groups, self.counts)

    @property
    def ends(self) -> FloatArray:
        """Hours by which each had ended: its duration if observed, infinite if right-censored, shape (n,)."""
        return np.where(self.observed, self.durations, np.inf) if self.upper is None else self.upper

    def _count(self, chosen: BoolArray | None) -> IntArray:
        if chosen is None:
            return np.zeros(self.n_groups, dtype=np.int64)
        return sums(chosen if self.weights is None else chosen * self.weights, self.offsets).astype(np.int64)

    def position(self, label: object) -> int:
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

    def group(self, label: object) -> LifeData:
        """The durations of one group, as a batch of one; raises as `position` does."""
        return self.take([self.position(label)])

    def take(self, positions: Iterable[int]) -> LifeData:
        """The groups at these positions, in this order; an `ArgumentError` for a position that is not there."""
        chosen = np.asarray(list(positions), dtype=np.int64)
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.n_groups):
            raise ArgumentError(f"group positions must lie in 0..{self.n_groups - 1}")
        counts = None if self.counts is None else self.counts.iloc[chosen]
        return self._part(self.rows_of(chosen), self.sizes[chosen], self.groups[chosen], counts)

    def each(self) -> LifeData:
        """Every duration as a group of its own."""
        size = self.durations.size
        return self._part(slice(None), np.ones(size, np.int64), pd.RangeIndex(size, name="group"), None)

    def pooled(self) -> LifeData:
        """All durations as one sample; a `DataError` for groups that share their hours."""
        if self.shared and self.n_groups > 1:
            remedy = "take the times of all of them together: log.ttf('all'), or log.ttf('system') for events"
            raise DataError("these groups share the same hours, which would count once for each", remedy=remedy)
        counts = None if self.counts is None else self.counts.sum().to_frame("all").T
        return self._part(slice(None), [self.durations.size], pd.Index(["all"], name="group"), counts)

    def _part(
        self, rows: IntArray | BoolArray | slice, sizes: npt.ArrayLike, groups: pd.Index, counts: pd.DataFrame | None
    ) -> LifeData:
        columns = {"shared": self.shared, **{name: values[rows] for name, values in self.further().items()}}
        lengths, observed = self.durations[rows], self.observed[rows]
        return LifeData(lengths, observed, offsets_of(sizes), groups, self.measure, counts, self.notes, **columns)

    def further(self) -> dict[str, Any]:
        """Those of `upper`, `entry`, `exit`, `weights`, `limit` and `stationary` that are not None, by name."""
        named = {name: getattr(self, name) for name in FURTHER}
        return {name: values for name, values in named.items() if values is not None}

    def to_frame(self) -> pd.DataFrame:
        """One row per duration: the group's keys, ``duration_hours``, ``observed``, and what `further` gives."""
        frame = key_columns(self.groups).iloc[self.group_codes()].reset_index(drop=True)
        frame["duration_hours"] = self.durations
        frame["observed"] = self.observed
        for name, values in self.further().items():
            frame[name if name in ("weights", "stationary") else f"{name}_hours"] = values
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
            "stationary": int(self.n_stationary.sum()),
            "zeros": int(self.n_zeros.sum()),
            "left_out": {} if self.counts is None else {str(k): int(v) for k, v in self.counts.sum().items()},
            "notes": list(self.notes),
        }

    def __len__(self) -> int:
        return self.n_groups

    @property
    def headline(self) -> str:
        """How many durations there are, and of which kinds."""
        total = self.to_dict()
        said = {name: f"{number:,}" for name, number in total.items() if isinstance(number, int)}
        between = f"{said['intervals']} in intervals, " if total["intervals"] else ""
        sides = [side for side in ("left", "right") if total[f"{side}_truncated"]]
        cut = "".join(f", {said[f'{side}_truncated']} {side}-truncated" for side in sides)
        cut += f", {said['stationary']} in progress at an unknown age" if total["stationary"] else ""
        lives = f"{count(total['lives'], 'duration')} in {count(self.n_groups, 'group')}"
        return (
            f"{lives} ({said['observed']} observed, {between}{said['censored']} censored, "
            f"{said['zeros']} of length zero{cut}), measure {self.measure}"
        )
