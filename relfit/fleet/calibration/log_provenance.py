"""The provenance of parameters: the files of a log, the rows read, and when."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from relfit.fleet.calibration.rates import Rates
from relfit.fleet.calibration.schema import Provenance
from relfit.log.failurelog import FailureLog


def provenance(log: FailureLog, rates: Rates) -> Provenance:
    """The provenance of parameters calibrated from a log."""
    from relfit import __version__

    source = log.source
    return Provenance(
        files=[Path(path).name for path in source.paths],
        sha256=list(source.sha256),
        format=source.format,
        rows_read=source.rows_read,
        rows_rejected=len(log.rejected),
        selection=list(source.selection),
        window=None if rates.incidents is None else _finite(rates.incidents.window.hours),
        relfit=__version__,
        created=dt.datetime.now(dt.UTC).replace(microsecond=0),
    )


def _finite(hours: float) -> float | None:
    return float(hours) if hours >= 0.0 else None
