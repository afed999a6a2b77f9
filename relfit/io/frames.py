"""Where every reader's columns become a `FailureLog`: one place for types, for the window and for the population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.io.opening import Content
from relfit.io.times import UTC
from relfit.tables import EVENT_COLUMNS, LIFETIME_COLUMNS, POPULATION_COLUMNS, Source

__all__ = ["events_frame", "lifetimes_frame", "population_frame", "seen_population", "source_of", "text_column"]


def text_column(values: Any) -> pd.Series:
    """Text as a categorical; empty text is missing."""
    if isinstance(values, pd.Series) and isinstance(values.dtype, pd.CategoricalDtype):
        return values.reset_index(drop=True)
    series = pd.Series(values, dtype=object).reset_index(drop=True)
    return series.where(series.notna() & (series != ""), None).astype("category")


def events_frame(
    *,
    system: Any,
    node: Any,
    start: pd.Series,
    end: pd.Series | None = None,
    cause: Any = None,
    detail: Any = None,
    scope: Any = None,
    start_cut: npt.ArrayLike = False,
    end_cut: npt.ArrayLike = False,
    line: npt.ArrayLike,
    attributes: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The events table of a `FailureLog`; arguments are columns of one length, times in UTC."""
    size = len(start)
    names = text_column(node)
    default_scope = pd.Series(
        pd.Categorical.from_codes(names.isna().to_numpy().astype(np.int8), pd.Index(["node", "system"]))
    )
    columns = {
        "system": text_column(system),
        "node": names,
        "start": _times(start),
        "end": _times(pd.Series(pd.NaT, index=range(size)) if end is None else end),
        "cause": _nothing(size) if cause is None else text_column(cause),
        "detail": _nothing(size) if detail is None else text_column(detail),
        "scope": default_scope if scope is None else text_column(_filled(scope, default_scope)),
        "start_cut": _flags(start_cut, size),
        "end_cut": _flags(end_cut, size),
        "line": np.asarray(line, dtype=np.int64),
    }
    return _frame(EVENT_COLUMNS, columns, attributes)


def population_frame(
    *,
    system: Any,
    node: Any,
    entered: pd.Series,
    left: pd.Series,
    entered_known: npt.ArrayLike,
    left_known: npt.ArrayLike,
    declared: npt.ArrayLike,
    attributes: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """The population table of a `FailureLog`, one row per node."""
    columns = {
        "system": text_column(system),
        "node": text_column(node),
        "entered": _times(entered),
        "left": _times(left),
        "entered_known": _flags(entered_known, len(entered)),
        "left_known": _flags(left_known, len(entered)),
        "declared": _flags(declared, len(entered)),
    }
    return _frame(POPULATION_COLUMNS, columns, attributes)


def lifetimes_frame(
    *, system: Any, node: Any, duration: npt.ArrayLike, observed: npt.ArrayLike, line: npt.ArrayLike,
    attributes: Mapping[str, Any] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """The table of durations that a source gives whole, in hours."""
    columns = {
        "system": text_column(system),
        "node": text_column(node),
        "duration": np.asarray(duration, dtype=np.float64),
        "observed": np.asarray(observed, dtype=bool),
        "line": np.asarray(line, dtype=np.int64),
    }
    return _frame(LIFETIME_COLUMNS, columns, attributes)


def source_of(
    content: Content, format: str, rows_read: int, kept: int, zone: str, notes: Sequence[str], deselected: int = 0
) -> Source:
    """Where a log came from: a file, and what became of its rows."""
    paths, digests = (str(content.path),), (content.sha256,)
    return Source(paths, format, rows_read, kept, digests, zone, tuple(notes), rows_deselected=deselected)


def seen_population(
    events: pd.DataFrame, start: pd.Timestamp, end: pd.Timestamp, *, known: tuple[bool, bool], keep: Sequence[str] = ()
) -> pd.DataFrame:
    """The nodes that events name, watched for the whole window, with those columns of `keep` that never change."""
    named = events[events["node"].notna()]
    pairs = named.drop_duplicates(["system", "node"])
    attributes = {}
    for name in keep:
        values = named.groupby(["system", "node"], observed=True, dropna=False)[name].nunique(dropna=False)
        if len(values) and int(values.max()) == 1:
            attributes[name] = pairs[name].reset_index(drop=True)
    size = len(pairs)
    return population_frame(
        system=pairs["system"].astype(object).to_numpy(),
        node=pairs["node"].astype(object).to_numpy(),
        entered=pd.Series([start] * size, dtype=UTC),
        left=pd.Series([end] * size, dtype=UTC),
        entered_known=known[0],
        left_known=known[1],
        declared=False,
        attributes=attributes,
    )


def attribute_column(values: Any) -> pd.Series:
    """An attribute: numbers where every value is one, else text."""
    series = values.reset_index(drop=True) if isinstance(values, pd.Series) else pd.Series(values)
    if series.dtype.kind in "biufM" or isinstance(series.dtype, pd.CategoricalDtype):
        return series
    filled = series.astype(object).where(series.notna() & (series.astype(object) != ""), None)
    numbers = pd.to_numeric(filled, errors="coerce")
    text = filled.dropna().astype(str)
    plain = text.str.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?")
    if len(text) and bool(plain.all()) and len(numbers.dropna()) == len(text):
        return numbers
    return text_column(filled)


def _frame(order: Sequence[str], columns: Mapping[str, Any], attributes: Mapping[str, Any] | None) -> pd.DataFrame:
    further = {name: attribute_column(values) for name, values in (attributes or {}).items()}
    return pd.DataFrame({**columns, **further})[[*order, *further]]


def _flags(values: npt.ArrayLike, size: int) -> npt.NDArray[np.bool_]:
    return np.broadcast_to(np.asarray(values, dtype=bool), size)


def _nothing(size: int) -> pd.Series:
    return pd.Series(pd.Categorical.from_codes(np.full(size, -1, dtype=np.int8), pd.Index([], dtype=object)))


def _times(values: pd.Series) -> pd.Series:
    series = pd.Series(values).reset_index(drop=True)
    if not isinstance(series.dtype, pd.DatetimeTZDtype):
        series = pd.to_datetime(series, utc=True)
    return series.dt.tz_convert("UTC").astype(UTC)


def _filled(scope: Any, default: pd.Series) -> pd.Series:
    series = pd.Series(scope, dtype=object).reset_index(drop=True)
    empty = series.isna() | (series == "")
    return series.where(~empty, default.astype(object))
