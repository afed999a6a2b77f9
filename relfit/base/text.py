"""Texts of durations, shares, counts, p-values, intervals, and the name of a system."""

from __future__ import annotations

import math


def number(value: float, digits: int = 3) -> str:
    """A number to `digits` figures, with thousands separated.

    Examples
    --------
    >>> number(4.8149), number(1389.2), number(0.00012), number(float("inf")), number(float("nan")), number(-0.0)
    ('4.81', '1,389', '0.00012', 'infinite', 'unknown', '0')
    """
    if math.isnan(value):
        return "unknown"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return f"{value:,.0f}" if 10.0 ** (digits - 1) <= abs(value) < 1e12 else f"{value:z.{digits}g}"


def count(value: int, one: str, many: str | None = None) -> str:
    """A number of things.

    Examples
    --------
    >>> count(1, "node"), count(1200, "node"), count(2, "battery", "batteries")
    ('1 node', '1,200 nodes', '2 batteries')
    """
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def percent(share: float, digits: int | None = None, sign: str = "") -> str:
    """A share in percent, to `digits` decimals or as many as it needs; 100 % only if it is exactly that.

    Examples
    --------
    >>> percent(0.583), percent(0.0123), percent(0.99987), percent(0.9995, 2), percent(0.123, 0, "+"), percent(1.0)
    ('58 %', '1.2 %', '99.987 %', '99.95 %', '+12 %', '100 %')
    """
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
    """A duration in the unit in which it, or the duration `like`, reads best.

    Examples
    --------
    >>> duration(0.001), duration(0.25), duration(1.77), duration(200.0), duration(30000.0), duration(1.0)
    ('3.6 seconds', '15 minutes', '1.77 hours', '8.33 days', '3.42 years', '1 hour')
    >>> duration(60.0, like=200.0)
    '2.5 days'
    """
    if not math.isfinite(hours):
        return number(hours)
    units = ((1.0 / 60.0, "second", 3600.0), (1.0, "minute", 60.0), (72.0, "hour", 1.0), (17_532.0, "day", 1.0 / 24.0))
    size = abs(hours if like is None else like)
    unit, scale = next(((name, scale) for limit, name, scale in units if size < limit), ("year", 1.0 / 8766.0))
    shown = number(hours * scale)
    return f"{shown} {unit if shown == '1' else unit + 's'}"


def p_value(p: float, least: float = 0.001) -> str:
    """A p-value to two digits, never below `least`.

    Parameters
    ----------
    p : float
        Between 0 and 1.
    least : float
        The smallest value that the test can show: 1 / (resamples + 1) of a resampling test, 0.001 otherwise.

    Examples
    --------
    >>> p_value(0.0341), p_value(0.00099), p_value(0.0), p_value(1.0), p_value(0.005, 0.005)
    ('p = 0.034', 'p < 0.001', 'p < 0.001', 'p = 1', 'p = 0.005')
    """
    return f"p < {least:.2g}" if p < least else f"p = {p:.2g}"


def interval(value: str, low: str, high: str) -> str:
    """A value and the ends of its interval in one bracket, as in ``3.07 h (3.02-3.13)``.

    Examples
    --------
    >>> interval("3.07 h", "3.02", "3.13")
    '3.07 h (3.02-3.13)'
    """
    return f"{value} ({low}-{high})"


def duration_interval(hours: float, low: float, high: float) -> str:
    """A duration and the ends of its interval, if it has one, all in the unit in which the duration reads best.

    Examples
    --------
    >>> duration_interval(60.4, 32.4, 85.4), duration_interval(60.4, float("nan"), float("nan"))
    ('60.4 hours (32.4-85.4)', '60.4 hours')
    """
    if math.isnan(low) and math.isnan(high):
        return duration(hours)
    return interval(duration(hours), *(duration(end, hours).partition(" ")[0] for end in (low, high)))


def rounded_interval(value: float, low: float, high: float, unit: str = "") -> str:
    """A value with its interval: four figures, or as many as the interval needs, and at most two of its half width.

    Examples
    --------
    >>> rounded_interval(772.537, 770.802, 774.273, "h"), rounded_interval(4.0, 3.8, 4.2)
    ('772.5 (770.8-774.3) h', '4.00 (3.80-4.20)')
    >>> rounded_interval(500.013, 500.011, 500.015), rounded_interval(37.0, 37.0, 37.0)
    ('500.013 (500.011-500.015)', '37 (37-37)')
    >>> rounded_interval(12.34567, float("nan"), float("nan"), "h")
    '12.35 h'
    """
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
    """Two ends of an interval, with their unit once where it is the same.

    Examples
    --------
    >>> interval_ends("18.4 %", "26.2 %"), interval_ends("33.7 minutes", "6.91 hours")
    ('18.4 to 26.2 %', '33.7 minutes to 6.91 hours')
    """
    first, _, unit = low.rpartition(" ")
    same = unit.rstrip("s") == high.rpartition(" ")[2].rstrip("s")
    return f"{first if first and same else low} to {high}"


def system_named(name: str) -> str:
    """A system in a sentence; readers name it "system" where a log does not.

    Examples
    --------
    >>> system_named("white"), system_named("system")
    ('system white', 'the system')
    """
    return "the system" if name in ("", "system") else f"system {name}"


def on_one_line(text: object, most: int = 300) -> str:
    r"""The first `most` characters of another program's message, without line breaks.

    Examples
    --------
    >>> on_one_line("refused:\n  no such host", 15)
    'refused: no suc'
    """
    return " ".join(str(text).split())[:most]
