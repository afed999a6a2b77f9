"""Checkpoint intervals under exponential failures: the exact optimum, and estimates in common use.

All functions take arrays of cases. The costs are hours to save (C), to restore (R), and the restart (D), from a failure
to the restore, in which nothing fails; see `relfit.system.jobs.Checkpoint`. ``every`` is work without the save.

Sources: Daly (2006), Future Generation Computer Systems 22, 303-312 (first and higher order); Young (1974),
Communications of the ACM 17, 530-531; "Checkpointing or migration" section 6 (waste to first order).
"""

from __future__ import annotations

import numpy as np

from relfit.base.arguments import cases, durations
from relfit.base.arrays import Durations, FloatArray
from relfit.base.errors import ArgumentError
from relfit.system.jobs.checkpoint import BOTH, best_interval, slowdown_exponential


def costs_of(save: Durations, restore: Durations, restart: Durations) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Hours to save, to restore, and to restart, checked."""
    return durations("save", save), durations("restore", restore), durations("restart", restart)


def young_interval(mtbf: Durations, save: Durations) -> FloatArray:
    """Young's interval ``sqrt(2 C mu)``, hours."""
    return np.sqrt(2.0 * durations("save", save) * durations("mtbf", mtbf, zero=False, infinite=True))


def daly_interval(mtbf: Durations, save: Durations, restore: Durations = 0.0, order: str = "higher") -> FloatArray:
    """Daly's estimates of the best interval, hours.

    First order: ``sqrt(2 C (mu + R))``. Higher order (his equation 37): with ``z = sqrt(C / (2 mu))``,
    ``sqrt(2 C mu) (1 + z/3 + z**2/9) - C`` for ``C < 2 mu``, else ``mu``; the restore does not enter.
    """
    mu = durations("mtbf", mtbf, zero=False, infinite=True)
    c, r = durations("save", save), durations("restore", restore)
    if order == "first":
        return np.sqrt(2.0 * c * (mu + r))
    if order != "higher":
        raise ArgumentError(f"order {order!r} is not known", remedy="use 'first' or 'higher'")
    with np.errstate(invalid="ignore"):
        z = np.sqrt(c / (2.0 * mu))
        return np.where(c < 2.0 * mu, np.sqrt(2.0 * c * mu) * (1.0 + z / 3.0 + z * z / 9.0) - c, mu)


def first_order_best_waste(
    mtbf: Durations, save: Durations, restore: Durations = 0.0, restart: Durations = 0.0
) -> FloatArray:
    """Least waste to first order, ``(R + D)/mu + sqrt(2 C/mu)``, at most 1 (equation 6 of the migration paper)."""
    mu, (c, r, d) = durations("mtbf", mtbf, zero=False), costs_of(save, restore, restart)
    return np.minimum((r + d) / mu + np.sqrt(2.0 * c / mu), 1.0)


def least_mtbf(save: Durations, restore: Durations = 0.0, restart: Durations = 0.0) -> FloatArray:
    """Mean time between failures, hours, below which the first-order waste is 1 at any interval.

    The migration paper, section 6: ``1/nu**2`` with ``nu`` the root of ``nu**2 (R + D) + nu sqrt(2 C) = 1``.
    """
    c, r, d = costs_of(save, restore, restart)
    # 1/nu is the same root without the division of small numbers
    return ((np.sqrt(2.0 * c) + np.sqrt(2.0 * c + 4.0 * (r + d))) / 2.0) ** 2


def waste(
    mtbf: Durations,
    every: Durations,
    save: Durations,
    restore: Durations = 0.0,
    restart: Durations = 0.0,
    *,
    exposed: tuple[str, ...] = BOTH,
) -> FloatArray:
    """Share of time lost, exact; an `every` of zero gives the limit, and failures can occur in what is `exposed`."""
    c, r, d = costs_of(save, restore, restart)
    mu, w = durations("mtbf", mtbf, zero=False, infinite=True), durations("every", every, infinite=True)
    mu, w, c, r, d = cases(mtbf=mu, every=w, save=c, restore=r, restart=d)
    with np.errstate(divide="ignore"):
        return 1.0 - 1.0 / slowdown_exponential(mu, w, c, r, d, exposed)


def best_waste(mtbf: Durations, save: Durations, restore: Durations = 0.0, restart: Durations = 0.0) -> FloatArray:
    """Waste at `best_interval`; 1 if the progress at every interval is below the smallest float."""
    return waste(mtbf, best_interval(mtbf, save, restore, restart), save, restore, restart)
