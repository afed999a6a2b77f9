"""Settings of simulators, checked: an invalid value is an error that names it, in Python and in a file."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, ValidationError

from relfit.base.arguments import durations
from relfit.base.errors import ArgumentError
from relfit.fleet.calibration.parameter_values import Model, rejection
from relfit.fleet.calibration.validation_errors import ParameterError

HOUR = 3600.0


class Settings(Model):
    """Settings by name; an unknown name or an invalid value is an `ArgumentError`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    def __init__(self, /, **values: object) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ParameterError(error, type(self)) from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # tables inside of tables are checked as usual


def check_duration(value: object) -> Any:
    """The value, if it is a duration; else an error."""
    try:
        durations("time", value)
    except ArgumentError as error:
        raise rejection(error.what, remedy=error.remedy) from None
    return value


Time = Annotated[Any, AfterValidator(check_duration)]
"""A duration: hours, or text such as ``"90min"``."""


def in_seconds(name: str, value: object, *, zero: bool = True) -> float:
    """Seconds, the batch simulator's unit, of a duration; to the microsecond. Numbers are hours."""
    return round(HOUR * float(durations(name, value, zero=zero)), 6)
