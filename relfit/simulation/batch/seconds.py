"""Durations of settings in seconds, the batch simulator's unit."""

from __future__ import annotations

from relfit.base.arguments import durations

HOUR = 3600.0


def in_seconds(name: str, value: object, *, zero: bool = True) -> float:
    """Seconds of a duration, to the microsecond; numbers are hours, as everywhere in relfit.

    Raises
    ------
    ArgumentError
        For what is no duration.

    Examples
    --------
    >>> in_seconds("start", "123s"), in_seconds("start", 0.5)
    (123.0, 1800.0)
    """
    return round(HOUR * float(durations(name, value, zero=zero)), 6)
