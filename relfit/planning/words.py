"""Durations and shares as plans say them."""

from __future__ import annotations

import math

__all__ = ["hours_in_words", "percent"]


def hours_in_words(hours: float) -> str:
    """A duration in the unit in which it reads best.

    Examples
    --------
    >>> hours_in_words(0.001), hours_in_words(0.25), hours_in_words(1.77), hours_in_words(200.0)
    ('3.6 seconds', '15 minutes', '1.77 hours', '8.33 days')
    """
    if math.isinf(hours):
        return "for ever"
    for limit, unit, scale in ((1.0 / 60.0, "seconds", 3600.0), (1.0, "minutes", 60.0), (72.0, "hours", 1.0)):
        if hours < limit:
            shown = f"{hours * scale:.3g}"
            return f"{shown} {unit.rstrip('s') if shown == '1' else unit}"
    return f"{hours / 24.0:.3g} days" if hours < 24.0 * 1000.0 else f"{hours / 8766.0:.3g} years"


def percent(share: float) -> str:
    """A share in percent, to three figures, and never all of it unless it is.

    Examples
    --------
    >>> percent(0.0963), percent(0.99999)
    ('9.63 %', 'over 99.9 %')
    """
    return "over 99.9 %" if 0.999 < share < 1.0 else f"{100.0 * share:.3g} %"
