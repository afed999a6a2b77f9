"""Migration on predictions that miss failures, raise false alarms or come too late, with checkpoints for the rest.

A predictor announces a share of the failures (recall); a share of its alarms is true (precision). On an alarm the job
migrates to a spare. A failure that was not predicted, or too late for a migration, returns it to its last checkpoint.
To first order the best interval is ``sqrt(2 C mu/(1 - r))``: Aupy, Robert, Vivien and Zaidouni (2014), Journal of
Parallel and Distributed Computing 74, 2048-2064. Here the expected time is exact for exponential failures and alarms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import cases, durations, share
from relfit.base.arrays import Durations, FloatArray
from relfit.fitting.families import Distribution
from relfit.system.jobs.checkpoint import best_waste, mu_times_root

_TIMES = ("mtbf", "save", "restore", "restart", "migration")


@dataclass(frozen=True)
class Predictor:
    """The quality of failure predictions.

    Attributes
    ----------
    recall : ndarray or None
        Share of the failures that are predicted; None if unknown, for `plan_migration` only.
    precision : ndarray or None
        Share of the alarms that are true, above zero; 1 by default; None as above.
    lead : ndarray or Distribution, optional
        Time from the alarm to the failure, hours or text, or its distribution. Alarms closer to the failure than a
        migration takes are useless. By default all come early enough.

    Raises
    ------
    ArgumentError
        For a share outside 0..1, a precision of 0, or a negative time.

    Examples
    --------
    >>> Predictor(0.8, 0.5, "30min").lead.tolist()
    0.5
    """

    recall: Any
    precision: Any = 1.0
    lead: Any = None

    def __post_init__(self) -> None:
        for name in ("recall", "precision"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else share(name, value, zero=name == "recall"))
        if self.lead is not None and not hasattr(self.lead, "log_sf"):
            object.__setattr__(self, "lead", durations("lead", self.lead, infinite=True))

    def in_time(self, migration: Durations) -> FloatArray:
        """Share of the predictions that come early enough to migrate."""
        needed = durations("migration", migration)
        if self.lead is None:
            return np.ones(needed.shape)
        if hasattr(self.lead, "log_sf"):
            return np.asarray(self.lead.sf(needed))
        return np.asarray(self.lead >= needed, dtype=np.float64)

    def rates(self, mtbf: FloatArray, migration: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Failures not avoided, failures avoided, and false alarms, each per hour."""
        used = self.recall * self.in_time(migration)
        false = self.recall * (1.0 - self.precision) / self.precision
        return (1.0 - used) / mtbf, used / mtbf, false / mtbf


def predicted_waste(
    mtbf: Durations,
    interval: Durations,
    save: Durations,
    restore: Durations,
    restart: Durations,
    migration: Durations,
    predictor: Predictor,
) -> FloatArray:
    """Long-run waste if a job migrates on every alarm and saves at a fixed interval; arrays are cases.

    `mtbf` counts all failures of the job, predicted or not; `interval` is work, infinite for no saves. Failures that
    are not avoided occur in work, saves, restores and migrations; alarms during a migration change nothing. On a clock
    that stops during migrations, an interval ends at the rate ``k = u + a (1 - exp(-u M))``, with u the rate of
    failures not avoided and a that of alarms; an hour on that clock takes ``1 + a (1 - exp(-u M))/u``. With both in the
    formula for checkpoints the result is exact.
    """
    work = durations("interval", interval, infinite=True)
    mu, c, r, d, m, w = _cases((mtbf, save, restore, restart, migration), predictor, interval=work)
    kill, pace = _clock(mu, m, predictor)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        cost = (pace / kill + d) * np.exp(kill * r)
        time = cost * np.expm1(kill * (w + c)) / w
        time = np.where(kill > 0.0, time, pace * (1.0 + c / w))
        time = np.where(np.isinf(w), np.where(kill > 0.0, np.inf, pace), time)
        time = np.where((w == 0.0) & (c == 0.0), np.where(kill > 0.0, cost * kill, pace), time)
        return np.asarray(1.0 - 1.0 / np.where(np.isnan(time), np.inf, time))


def best_predicted_interval(
    mtbf: Durations, save: Durations, restore: Durations, restart: Durations, migration: Durations, predictor: Predictor
) -> FloatArray:
    """Interval with the least `predicted_waste`, hours of work; infinite if every failure is avoided."""
    mu, c, _, _, m = _cases((mtbf, save, restore, restart, migration), predictor)
    kill, _ = _clock(mu, m, predictor)
    with np.errstate(divide="ignore"):
        gap = 1.0 / kill
    return mu_times_root(gap, c, gap, True)


def break_even_recall(
    mtbf: Durations,
    save: Durations,
    restore: Durations,
    restart: Durations,
    migration: Durations,
    precision: npt.ArrayLike = 1.0,
    lead: Durations | Distribution | None = None,
    working_share: npt.ArrayLike = 1.0,
) -> FloatArray:
    """Least recall at which migration with checkpoints yields more than checkpoints alone, which use all nodes.

    `working_share` is the share of the nodes that are not spares. 0 if any recall pays, NaN if none does.
    """
    worker, alarms = share("working_share", working_share, zero=False), Predictor(1.0, precision, lead)
    times, shares = (mtbf, save, restore, restart, migration), {"working_share": worker, "precision": alarms.precision}
    mu, c, r, d, m, worker, p = _cases(times, alarms, **shares)
    alone = 1.0 - best_waste(mu, c, r, d)

    def gain(recall: FloatArray) -> FloatArray:
        some = Predictor(recall, p, lead)
        best = best_predicted_interval(mu, c, r, d, m, some)
        return np.asarray(worker * (1.0 - predicted_waste(mu, best, c, r, d, m, some)) - alone)

    grid = np.linspace(0.0, 1.0, 101)
    pays = np.stack([gain(np.full(mu.shape, x)) for x in grid]) > 1e-15
    first = pays.argmax(axis=0)
    low, high = grid[np.maximum(first - 1, 0)], grid[first]
    for _ in range(40):
        middle = 0.5 * (low + high)
        good = gain(middle) > 0.0
        low, high = np.where(good, low, middle), np.where(good, middle, high)
    # a gain from the first step, and no spares to pay for: any recall pays
    return np.asarray(np.where(pays.any(axis=0), np.where(high < 1e-9, 0.0, high), np.nan))


def _cases(times: Sequence[Durations], predictor: Predictor, **more: FloatArray) -> tuple[FloatArray, ...]:
    """`_TIMES` and `more`, checked and broadcast with each other and with the predictor's shares."""
    hours = {name: durations(name, value, zero=name != "mtbf") for name, value in zip(_TIMES, times, strict=True)}
    return cases(**hours, **more, recall=predictor.recall, predictor_precision=predictor.precision)[:-2]


def _clock(mu: FloatArray, m: FloatArray, predictor: Predictor) -> tuple[FloatArray, FloatArray]:
    """Rate at which intervals end on the clock that stops for migrations, and real hours per hour on it."""
    strike, avoided, false = predictor.rates(mu, m)
    heeded = avoided + false
    struck = -np.expm1(-strike * m)
    with np.errstate(divide="ignore", invalid="ignore"):
        moving = np.where(strike > 0.0, struck / strike, m)
    return np.asarray(strike + heeded * struck), np.asarray(1.0 + heeded * moving)
