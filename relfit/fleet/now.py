"""Results for now and for the long run."""

from __future__ import annotations

from dataclasses import replace

from relfit.base.errors import ArgumentError
from relfit.fleet._chosen_period import ChosenPeriod
from relfit.log.failurelog import FailureLog
from relfit.log.tables import made_once

NOW, LONG_RUN = "now", "long run"


def checked_at(at: str) -> str:
    """``"now"`` or ``"long run"``, checked.

    Raises
    ------
    ArgumentError
        For any other text.

    Examples
    --------
    >>> checked_at("now")
    'now'
    """
    at = str(at).replace("-", " ")
    if at not in (NOW, LONG_RUN):
        raise ArgumentError(f"at={at!r} is not known", remedy='use "now" or "long run"')
    return at


@made_once
def until_now(log: FailureLog, chosen: ChosenPeriod) -> ChosenPeriod:
    """A period extended to the end of the log; one set by dates stays as it is."""
    if chosen.name == "given" or not chosen.log.window.end < log.window.end:
        return chosen
    part = log.between(chosen.log.window.start, None) if chosen.log.window.start > log.window.start else log
    return replace(chosen, log=part, before_now=chosen.log.window)
