"""`system_from_log`: the nodes of a log at a date, as a `System`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from relfit.base.errors import ArgumentError, DataError, Remedy
from relfit.base.units import instant
from relfit.fitting import fit
from relfit.fleet._chosen_period import ChosenPeriod
from relfit.fleet._fleet_model import fleet_model
from relfit.fleet.now import LONG_RUN, NOW
from relfit.log.failurelog import FailureLog
from relfit.log.tables import check_log
from relfit.system import System, system_from_fits


def system_from_log(
    log: FailureLog,
    at: str | dt.datetime | None = None,
    *,
    nodes: Iterable[object] | None = None,
    period: str | tuple[object, object] | ChosenPeriod = "stable",
    families: str | Sequence[str] | None = None,
    family: str = "best",
    missing: str = "pool",
    first: str = "known",
    **options: Any,
) -> System:
    """The nodes of a log at a date as a `System`, with failures of racks and whole systems.

    Parameters
    ----------
    log : FailureLog
    at : str, datetime or pandas.Timestamp, optional
        A date; later records are not used. By default ("now") the end of the window. "long run" uses the mean rates of
        the period, at its end.
    nodes : sequence of labels, optional
        By default the nodes under observation and up at that date.
    period, first
        As for `relfit.fleet_model`.
    families : str or sequence of str, optional
        Fit these distributions to the times between failures of each node. By default all nodes have the fleet's
        Weibull shape, and each has the rate expected from its history (`relfit.fleet.FleetModel`).
    family, missing
        With `families`: as for `system_from_fits`.
    **options
        ``tolerance`` and ``rack_events``, as for `System`.

    Raises
    ------
    ArgumentError
        For a date outside the log, an unknown label or distribution, or a log without dates.
    DataError
        For a node that was not under observation, or in repair, at that date.

    Examples
    --------
    >>> import relfit as rf
    >>> system = rf.system_from_log(rf.datasets.load("white"), at="2003-07-01", nodes=["n000", "n001"])
    >>> system
    System of 2 nodes (2 weibull), ages 323.6 to 9,798 h; 1 rack; 2 common causes
    >>> bool(system.interval("reliability", "1h", n_draws=199).low < system.reliability("1h"))
    True
    """
    check_log(log)
    if log.lifetimes is not None and not len(log.events):
        raise ArgumentError(
            "this log holds complete lifetimes, so the age of a node at an instant is not known",
            remedy=Remedy(
                "fit it and give the ages: rf.system_from_fits(rf.fit(log.ttf()), ages=...)",
                "write its fits (relfit fit LOG --out fits.csv) and give them --age",
            ),
        )
    words = at is None or (isinstance(at, str) and at.replace("-", " ") in (NOW, LONG_RUN))
    if not words:
        moment = instant(at, log.source.timezone)
        if not log.window.start < moment <= log.window.end:
            what = f"{moment.tz_convert(log.source.timezone):%Y-%m-%d %H:%M} was not observed"
            raise ArgumentError(what, remedy=f"the log covers {log.window.start:%Y-%m-%d} to {log.window.end:%Y-%m-%d}")
        log = log.between(None, moment) if moment < log.window.end else log
    model = fleet_model(log, period, at=at if isinstance(at, str) and words else NOW, first=first)
    system = model.system(nodes, **options)
    assert system.sources is not None
    for there, otherwise in ((model.standing.present, "not under observation"), (model.standing.up, "in repair")):
        gone = np.flatnonzero(~there[system.sources])
        if gone.size:
            what = f"node {system.names[int(gone[0])]!r} was {otherwise} then"
            raise DataError(what, remedy="leave it out, or choose another time")
    if families is None:
        return system
    names = [families] if isinstance(families, str) else list(families)
    fits = fit(model.by_scope["node"].lives, names, n_resamples=0)
    labels = list(model.places.nodes[system.sources])
    own = system_from_fits(fits, labels, system.ages, family=family, missing=missing, longest_age=None, **options)
    return own._replaced(common=system.common, racks=system.racks, ages_observed=True)
