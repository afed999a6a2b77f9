"""`replayed_dates`: which dates of a failure log a simulation replays, and whether it outlasts the log."""

from __future__ import annotations

import pandas as pd

from relfit.base.text import duration
from relfit.simulation.batch.failure_source import ClassFailures, Failures, PartOfFailures, ReplayedFailures
from relfit.simulation.batch.seconds import HOUR


def replayed_dates(failures: Failures, start: float, end: float) -> str:
    """The dates whose failures strike a run between two seconds of its clock; "" where they are not of a log.

    Examples
    --------
    >>> import numpy as np
    >>> month = ReplayedFailures(np.ones(1), np.zeros(1), np.ones(1), dates=("2024-01-01", "2024-01-31"))
    >>> replayed_dates(month, 0.0, 10 * 86400.0)
    'Failures are those of the log from 2024-01-01 to 2024-01-11.'
    >>> print(replayed_dates(month, 0.0, 40 * 86400.0))
    Failures are those of the log from 2024-01-01 to 2024-01-31. The run goes on for 10 days after the end of the log, \
without its failures.
    """
    if isinstance(failures, (PartOfFailures, ClassFailures)):
        return replayed_dates(failures.machine if isinstance(failures, PartOfFailures) else failures.source, start, end)
    if not isinstance(failures, ReplayedFailures) or failures.dates is None:
        return ""
    first, last = (pd.Timestamp(date) for date in failures.dates)
    hours = (last - first) / pd.Timedelta(hours=1)
    begun, ended = (first + pd.Timedelta(hours=min(second / HOUR, hours)) for second in (start, end))
    text = f"Failures are those of the log from {begun:%Y-%m-%d} to {ended:%Y-%m-%d}."
    beyond = (end - start) / HOUR if start / HOUR > hours else end / HOUR - hours
    if beyond > 0.0:
        text += f" The run goes on for {duration(beyond)} after the end of the log, without its failures."
    return text
