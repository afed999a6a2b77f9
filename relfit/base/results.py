"""What every result of relfit has in common: a headline, a table, a JSON form, and how it is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from html import escape
from typing import Any, ClassVar, dataclass_transform

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import FloatArray
from relfit.base.sealed import seal_arrays, seal_tables

_UNITS = {
    **dict.fromkeys(("mean", "median", "quantile", "mtbf", "mttf", "mttr", "repair", "scale", "threshold"), " h"),
    **dict.fromkeys(("mean_life", "mean_residual_life", "truncated_mean", "mean_given_failure"), " h"),
    **dict.fromkeys(("hazard", "pdf", "rate", "growth"), " per hour"),
}
"""Of quantities with intervals; others have none."""


@dataclass_transform(eq_default=False, frozen_default=True)
class Result:
    """Base of all results: frozen dataclasses that hold numbers, and nothing of files or figures.

    A subclass is such a dataclass without a decorator. It states its fields, `headline` (the sentence that report,
    figure and command quote) and `to_frame`; the rest follows. Its arrays are read only, and its tables are handed out
    as copies.
    """

    _not_in_json: ClassVar[tuple[str, ...]] = ()
    """Names of fields that are too large, or no data, for `to_dict`."""

    _frame: ClassVar[str | tuple[str, ...]] = ""
    """The field that `to_frame` gives, for results that hold their table, or the fields that are its columns."""

    def __init_subclass__(cls, *, kw_only: bool = False) -> None:
        super().__init_subclass__()
        dataclass(frozen=True, eq=False, repr=False, kw_only=kw_only)(cls)
        seal_tables(cls)
        if "__init__" in vars(cls):
            cls.__init__ = _then_sealed(cls.__init__)  # type: ignore[method-assign]

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        raise NotImplementedError(f"{type(self).__name__} has no headline")

    @property
    def findings(self) -> tuple[str, ...]:
        """All sentences, the headline first."""
        return (self.headline,)

    def to_frame(self) -> pd.DataFrame:
        """The numbers as a table: times in hours, rates per hour, shares of 1, unless a column says else."""
        if not self._frame:
            raise NotImplementedError(f"{type(self).__name__} has no table")
        if isinstance(self._frame, tuple):
            return pd.DataFrame({name: np.ravel(getattr(self, name)) for name in self._frame})
        table: pd.DataFrame = getattr(self, self._frame)
        return table

    def to_dict(self) -> dict[str, Any]:
        """The findings and every field by its name, ready for JSON: tables as records, what is not finite as None."""
        names = [f.name for f in fields(self) if f.name not in self._not_in_json]  # type: ignore[arg-type]
        named: dict[str, Any] = {name: getattr(self, name) for name in names}
        return json_ready({"findings": self.findings, **named})

    def __repr__(self) -> str:
        return f"{type(self).__name__}: {self.headline}"

    def _repr_html_(self) -> str:
        sentences = "".join(f"<p>{escape(text)}</p>" for text in self.findings)
        table = self.to_frame()
        index = not isinstance(table.index, pd.RangeIndex)
        return sentences + table.to_html(max_rows=20, index=index, float_format="{:.4g}".format, escape=True)


def _then_sealed(init: Callable[..., None]) -> Callable[..., None]:
    @wraps(init)
    def made(self: Result, *arguments: object, **named: object) -> None:
        init(self, *arguments, **named)
        seal_arrays(self)

    return made


class Interval(Result):
    """One quantity with its confidence interval; arrays of one shape.

    Attributes
    ----------
    quantity, kind : str
        What is estimated, and the method of its interval.
    level : float
    at : ndarray or None
        Times in hours (reliability, hazard, ...) or probabilities (quantiles).
    estimate, low, high : ndarray of float
        Hours, per hour, or without unit.
    status : ndarray of object
        ``ok``, or why an end of the interval is missing or is that of the quantity's range.
    labels : pandas.Index
        Labels of the values, in the order of the flattened arrays: groups, numbers of nodes, times.
    family : str
        Name of the distribution, if it is of one.
    """

    quantity: str
    kind: str
    level: float
    at: FloatArray | None
    estimate: FloatArray
    low: FloatArray
    high: FloatArray
    status: npt.NDArray[np.object_]
    labels: pd.Index
    family: str = ""

    @property
    def headline(self) -> str:
        """The one value with its interval, or how many values there are."""
        hours = "" if self.quantity in ("quantile", "nodes_down") else " h"  # else `at` is a share
        of = f" at {float(np.ravel(self.at)[0]):g}{hours}" if self.at is not None and np.size(self.at) == 1 else ""
        of += f" of {self.family}" if self.family else ""
        limits = f"{100 * self.level:g} % interval by {self.kind}"
        if self.estimate.size != 1:
            good = int((self.status == "ok").sum())
            return f"{self.quantity}{of}: {self.estimate.size:,} values ({good:,} ok), {limits}"
        value, low, high = (float(np.ravel(v)[0]) for v in (self.estimate, self.low, self.high))
        unit = _UNITS.get(self.quantity.rstrip("_0123456789"), "")
        return f"{self.quantity}{of}: {value:.6g}{unit} ({low:.6g}-{high:.6g}), {limits}"

    def to_frame(self) -> pd.DataFrame:
        """One row per value: ``estimate``, ``low``, ``high`` in the unit of the quantity, ``status``."""
        names = ("estimate", "low", "high", "status")
        return pd.DataFrame({name: np.ravel(getattr(self, name)) for name in names}, index=self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Quantity, distribution, method and level, and the rows of `to_frame`."""
        about = {name: getattr(self, name) for name in ("quantity", "family", "kind", "level")}
        return json_ready({**about, "values": self.to_frame()})


def json_ready(value: object) -> Any:
    """Data as JSON has it: results and tables as dictionaries, numbers that are not finite as None."""
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    if isinstance(value, Mapping):
        return {str(key): json_ready(item) for key, item in value.items()}
    if isinstance(value, (pd.DataFrame, pd.Series)):
        return records(value)
    if isinstance(value, (np.ndarray, pd.Index)):
        return json_ready(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [json_ready(item) for item in value]
    if isinstance(value, np.generic):
        return json_ready(value.item())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, pd.Timestamp):
        return value.isoformat()
    if isinstance(value, pd.Timedelta):
        return value / pd.Timedelta(hours=1)
    if hasattr(value, "to_dict"):
        return json_ready(value.to_dict())
    if is_dataclass(value):
        return {f.name: json_ready(getattr(value, f.name)) for f in fields(value)}
    return str(value)


def records(table: pd.DataFrame | pd.Series) -> list[dict[str, Any]]:
    """Rows of a table as dictionaries ready for JSON; a named index becomes columns."""
    frame = table.to_frame() if isinstance(table, pd.Series) else table
    if not isinstance(frame.index, pd.RangeIndex) or frame.index.name is not None:
        frame = frame.reset_index()
    columns = [frame[name].tolist() for name in frame.columns]
    return [
        {str(name): json_ready(value) for name, value in zip(frame.columns, row, strict=True)}
        for row in zip(*columns, strict=True)
    ]


def key_columns(groups: pd.Index) -> pd.DataFrame:
    """The keys of groups as columns; keys without a name are called ``group``, or ``key_0``, ``key_1``, ..."""
    frame = groups.to_frame(index=False)
    single = groups.nlevels == 1
    frame.columns = pd.Index(
        [str(name) if name is not None else "group" if single else f"key_{i}" for i, name in enumerate(groups.names)]
    )
    return frame
