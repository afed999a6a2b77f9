"""Durations, shares and ratios of a parameter file: a value, its interval, and the data behind both.

A duration may be text (``"20000h"``, ``"3 days"``), a number of hours, or a table with a unit; it is stored in hours.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from relfit.base.errors import ArgumentError
from relfit.base.units import hours, unit_in_hours

LEVEL = 0.95
_INTERVAL = ("value", "low", "high")
_COUNTS = ("events", "exposure")

Number = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Positive = Annotated[float, Strict(), Field(gt=0.0, allow_inf_nan=False)]
Fraction = Annotated[float, Strict(), Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Level = Annotated[float, Strict(), Field(gt=0.0, lt=1.0, allow_inf_nan=False)]
Count = Annotated[int, Strict(), Field(ge=0)]

_TEXT = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([A-Za-z]+)\s*")


def rejection(message: str, *, at: str | None = None, remedy: str | None = None) -> PydanticCustomError:
    """A validation error with relfit's message; `at` is a key below the value being checked."""
    return PydanticCustomError("relfit", "{message}", {"message": message, "at": at or "", "remedy": remedy or ""})


class Model(BaseModel):
    """Base of all parts of a parameter file: unknown keys are errors, and values are frozen."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    keys_page: ClassVar[str] = ""
    """The page with the keys, where they are too many for a message."""
    other_names: ClassVar[Mapping[str, str]] = {}
    """What to write instead of a name that users try."""


class Quantity(Model):
    """A number with its interval.

    A value alone has an unknown uncertainty. `low` alone is a limit without an estimate, for example if nothing failed.
    """

    _needs: ClassVar[dict[str, tuple[str, ...]]] = {"lognormal": _INTERVAL}
    """Distributions of draws, and the fields that each needs; the first whose fields are known is the default."""
    of_now: ClassVar[str] = "current rate"
    """How the method of a value that is not of the whole period begins."""

    value: Number | None = Field(None, description="the estimate; absent where the log gives a limit only")
    low: Number | None = Field(None, description="lower limit of the interval")
    high: Number | None = Field(None, description="upper limit of the interval")
    level: Level | None = Field(None, description="level of the interval, 0.95 by default")
    events: Count | None = Field(None, description="failures, repairs or nodes behind the value")
    distribution: Literal["poisson", "exponential", "lognormal", "logit-normal"] | None = Field(
        None,
        description="how planners draw it: poisson, exponential, lognormal or (shares) logit-normal; by default from "
        "the other fields",
    )
    method: str | None = Field(None, description="how value and interval were obtained")

    @model_validator(mode="before")
    @classmethod
    def _from_plain(cls, data: object) -> Any:
        return cls._read(data)

    @classmethod
    def _read(cls, data: object) -> Any:
        if isinstance(data, (int, float)) and not isinstance(data, bool):
            data = {"value": data}
        if isinstance(data, Mapping) and data.get("level") is None and not {"low", "high"}.isdisjoint(data):
            data = {**data, "level": LEVEL}
        return data

    @model_validator(mode="after")
    def _possible(self) -> Self:
        value, low, high = self.value, self.low, self.high
        if value is None and low is None and high is None:
            raise rejection("neither a value nor a limit is given", remedy="give value")
        for name, end in (("low", low), ("high", high)):
            if value is None or end is None:
                continue
            if (end > value) if name == "low" else (end < value):
                side = "above" if name == "low" else "below"
                raise rejection(f"{name} ({end:g}) is {side} the value ({value:g})", at=name)
        if low is not None and high is not None and low > high:
            raise rejection(f"low ({low:g}) is above high ({high:g})", at="low")
        if self.distribution is not None:
            leave = "leave distribution out"
            if self.distribution not in self._needs:
                what = f"a {type(self).__name__.lower()} cannot have the distribution {self.distribution}"
                raise rejection(what, at="distribution", remedy=leave)
            for name in self._needs[self.distribution]:
                if getattr(self, name) is None:
                    what = f"the distribution {self.distribution} needs {name}"
                    raise rejection(what, at="distribution", remedy=f"give {name}, or {leave}")
        return self

    @property
    def uncertain(self) -> bool:
        """Whether the uncertainty of the value is known."""
        return self.drawn_by is not None

    @property
    def drawn_by(self) -> str | None:
        """The distribution of draws; None if only a value is known."""
        if self.distribution is not None:
            return self.distribution
        able = (name for name, keys in self._needs.items() if all(getattr(self, key) is not None for key in keys))
        return next(able, None)


class Duration(Quantity):
    """A mean time in hours.

    Counts are enough: `exposure` over `events` gives the value, or without an event the lower 95 % limit.

    Examples
    --------
    >>> Duration.model_validate("30 days").value
    720.0
    >>> Duration.model_validate({"value": 2, "unit": "days", "low": 1, "high": 4}).high
    96.0
    >>> Duration(events=12, exposure=240_000.0).value, round(Duration(events=0, exposure=30_000.0).low)
    (20000.0, 10014)
    """

    _needs: ClassVar[dict[str, tuple[str, ...]]] = {"poisson": _COUNTS, "exponential": _COUNTS, "lognormal": _INTERVAL}

    value: Positive | None = Field(None, description="the estimate; absent where the log gives a limit only")
    low: Positive | None = Field(None, description="lower limit of the interval")
    high: Positive | None = Field(None, description="upper limit of the interval")
    unit: Literal["hours"] = Field(
        "hours", description="unit of value, low and high: seconds, minutes, hours, days or weeks; kept in hours"
    )
    exposure: Positive | None = Field(None, description="hours during which the events were counted")
    dispersion: Annotated[float, Strict(), Field(gt=0.0, allow_inf_nan=False)] | None = Field(
        None, description="variance of the counts relative to Poisson, by which the interval was widened"
    )

    @classmethod
    def _read(cls, data: object) -> Any:
        if isinstance(data, (str, dt.timedelta)):
            data = {"value": data}
        data = super()._read(data)
        if not isinstance(data, Mapping):
            return data
        try:
            factor = unit_in_hours(data.get("unit", "hours"))
        except ArgumentError as error:
            raise rejection(error.what, at="unit", remedy=error.remedy) from None
        read = {**data, "unit": "hours"}
        for name in _INTERVAL:
            value = data.get(name)
            if isinstance(value, (str, dt.timedelta)):
                read[name] = _hours_of(value, name)
            elif isinstance(value, (int, float)) and not isinstance(value, bool) and factor != 1.0:
                read[name] = _times(value, factor)
        return _from_counts(read)

    @model_validator(mode="after")
    def _counts_agree(self) -> Self:
        if self.drawn_by in ("poisson", "exponential") and self.value is not None:
            events, exposure = self.events or 0, self.exposure or 0.0
            if abs(self.value * events - exposure) > 0.01 * exposure:
                what = f"the value ({self.value:g} h) is not exposure over events ({exposure:g} h / {events})"
                raise rejection(what, at="exposure", remedy="leave out the value, or events and exposure")
        if self.distribution == "exponential" and self.events == 0:
            raise rejection("the distribution exponential needs at least one event", at="events")
        return self


class Share(Quantity):
    """A share, from 0 to 1.

    Examples
    --------
    >>> Share.model_validate(0.8).value
    0.8
    """

    _needs: ClassVar[dict[str, tuple[str, ...]]] = {"logit-normal": _INTERVAL}

    value: Fraction | None = Field(None, description="the estimate")
    low: Fraction | None = Field(None, description="lower limit of the interval")
    high: Fraction | None = Field(None, description="upper limit of the interval")


class Ratio(Quantity):
    """A factor above zero."""

    value: Positive | None = Field(None, description="the estimate")
    low: Positive | None = Field(None, description="lower limit of the interval")
    high: Positive | None = Field(None, description="upper limit of the interval")


def _hours_of(value: object, name: str) -> float:
    """Hours of a text or timedelta; texts may exceed pandas' limit of 292 years."""
    match = _TEXT.fullmatch(value) if isinstance(value, str) else None
    try:
        if match is not None:
            return _times(float(match[1]), unit_in_hours(match[2]))
        return hours(value)
    except ArgumentError as error:
        if match is not None:
            raise rejection(error.what, at=name, remedy=error.remedy) from None
        raise rejection(f"{value!r} is not a duration", at=name, remedy="write it as '20h' or '3 days'") from None


def _from_counts(read: dict[str, object]) -> dict[str, Any]:
    """The table with a value from events and exposure, if it has no value or limit of its own."""
    events: Any = read.get("events")
    exposure: Any = read.get("exposure")
    if any(read.get(name) is not None for name in _INTERVAL):
        return read
    if type(events) is not int or type(exposure) not in (int, float) or events < 0 or not exposure > 0.0:
        return read
    if events:
        return {**read, "value": _times(exposure, 1.0 / events)}
    if read.get("level", LEVEL) in (None, LEVEL):
        return {**read, "low": _times(exposure, -1.0 / math.log1p(-LEVEL)), "level": LEVEL}
    return read


def _times(number: float, factor: float) -> float:
    try:
        return float(number) * factor
    except OverflowError:
        return math.inf
