"""Texts of durations, shares, counts, p-values, intervals, and the name of a system."""

from __future__ import annotations

import math
from collections.abc import Iterable


def number(value: float, digits: int = 3) -> str:
    """A number to `digits` figures, with thousands separated: ``4.81``, ``1,389``, ``0.00012``."""
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return f"{value:,.0f}" if 10.0 ** (digits - 1) <= abs(value) < 1e12 else f"{value:z.{digits}g}"


def count(value: int, one: str, many: str | None = None) -> str:
    """A number of things: ``1 node``, ``1,200 nodes``, ``2 batteries``."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def first_names(names: Iterable[object], most: int = 8, total: int | None = None) -> str:
    """The first `most` names, and how many more there are: ``a, b and 3 more``; `total` if not all are passed."""
    every = list(map(str, names))
    more = (len(every) if total is None else total) - most
    return ", ".join(every[:most]) + (f" and {more:,} more" if more > 0 else "")


def out_of(value: int, total: int, one: str, was: str = "is", were: str = "are") -> str:
    """A part of a number of things, with its verb: ``1 of 1,047 rows is``, ``2 of 1,047 rows are``."""
    return f"{value:,} of {count(total, one)} {was if value == 1 else were}"


def percent(share: float, digits: int | None = None, sign: str = "") -> str:
    """A share in percent, to `digits` decimals or as many as it needs; 100 % only if it is exactly that."""
    if math.isnan(share):
        return "unknown"
    value = 100.0 * share
    if digits is None:
        if 99.0 < value < 100.0:
            digits = min(max(1, math.ceil(-math.log10(100.0 - value)) + 1), 12)
        elif 0.0 < abs(value) < 9.5:
            return f"{value:{sign}.2g} %"
        else:
            digits = 0
    return f"{value:{sign}z.{digits}f} %"


def duration(hours: float, like: float | None = None) -> str:
    """A duration in the unit in which it, or the duration `like`, reads best: ``15 minutes``, ``3.42 years``."""
    if not math.isfinite(hours):
        return number(hours)
    units = ((1.0 / 60.0, "second", 3600.0), (1.0, "minute", 60.0), (72.0, "hour", 1.0), (17_532.0, "day", 1.0 / 24.0))
    size = abs(hours if like is None else like)
    unit, scale = next(((name, scale) for limit, name, scale in units if size < limit), ("year", 1.0 / 8766.0))
    shown = number(hours * scale)
    return f"{shown} {unit if shown == '1' else unit + 's'}"


def p_value(p: float, least: float = 0.001) -> str:
    """A p-value to two digits, never below `least`: of a resampling test that is ``1 / (resamples + 1)``."""
    return f"p < {least:.2g}" if p < least else f"p = {p:.2g}"


def interval(value: str, low: str, high: str) -> str:
    """A value and the ends of its interval in one bracket, as in ``3.07 h (3.02-3.13)``."""
    return f"{value} ({low}-{high})"


def duration_interval(hours: float, low: float, high: float) -> str:
    """A duration and its interval, if it has one, in the unit in which the duration reads best."""
    if math.isnan(low) and math.isnan(high):
        return duration(hours)
    return interval(duration(hours), *(duration(end, hours).partition(" ")[0] for end in (low, high)))


def rounded_interval(value: float, low: float, high: float, unit: str = "") -> str:
    """A value with its interval: four figures, or as many as the interval needs, and at most two of its half width."""
    half = 0.5 * (high - low)
    shown = [number(end, 4) for end in (value, low, high)]
    if math.isfinite(half) and half > 0.0:
        first = -math.floor(math.log10(half))
        four = 3 - math.floor(math.log10(abs(value))) if value else first + 1
        decimals = max(min(first + 1, four), first, 0)
        shown = [f"{end:,.{decimals}f}" for end in (value, low, high)]
    text = interval(*shown) if math.isfinite(half) else shown[0]
    return f"{text} {unit}".rstrip()


def interval_ends(low: str, high: str) -> str:
    """Two ends of an interval, with their unit once where it is the same, as in ``18.4 to 26.2 %``."""
    first, _, unit = low.rpartition(" ")
    same = unit.rstrip("s") == high.rpartition(" ")[2].rstrip("s")
    return f"{first if first and same else low} to {high}"


def system_named(name: str) -> str:
    """A system in a sentence; readers name it "system" where a log does not."""
    return "the system" if name in ("", "system") else f"system {name}"


def on_one_line(text: object, most: int = 300) -> str:
    """The first `most` characters of another program's message, without line breaks."""
    return " ".join(str(text).split())[:most]
