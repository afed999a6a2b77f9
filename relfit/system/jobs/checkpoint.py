"""The cost of checkpoints, and the expected time of a job with checkpoints under exponential failures, in closed form.

A job works for some hours, saves its state, and works again. A failure costs the work since the last save, the restart
D (from the failure to the restore), and the restore. No failure occurs during the restart. Arrays are cases.

Sources: Daly (2006), Future Generation Computer Systems 22, 303-312 (exact expected time; first and higher order);
Young (1974), Communications of the ACM 17, 530-531; "Checkpointing or migration" section 6 (waste to first order);
appendix C of the sparing paper, corrected, for saves and restores without failures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from relfit.base.arguments import cases, durations, share
from relfit.base.arrays import Durations, FloatArray
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.units import hours

BOTH = ("save", "restore")
_TERMS = np.arange(2.0, 24.0)
_SERIES = (_TERMS - 1.0) * np.exp(-special.gammaln(_TERMS + 1.0))
Hours = FloatArray | float


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint interval of a job and the cost of a checkpoint; hours.

    Parameters
    ----------
    every : float or duration, optional
        Work between two checkpoints, hours or text; the best by default.
    save : float or duration
        Time to write a checkpoint; 0 by default.
    restore : float or duration
        Time to read the last checkpoint after a failure; 0 by default.
    exposed : tuple of str
        In which of ``"save"`` and ``"restore"`` failures can occur; both by default.
    slowed : float
        Share of speed lost while a checkpoint is written: 1 (the default) stops the work, 0 is an asynchronous
        checkpoint without cost. Work done meanwhile is part of the next checkpoint.

    Raises
    ------
    ArgumentError
        For invalid durations, unknown names, and asynchronous checkpoints without ``"save"`` in `exposed`.

    Examples
    --------
    >>> Checkpoint("4h", "6min", "12min")
    Checkpoint(every=4.0, save=0.1, restore=0.2, exposed=('save', 'restore'), slowed=1.0)
    """

    every: Any = None
    save: Any = 0.0
    restore: Any = 0.0
    exposed: tuple[str, ...] = BOTH
    slowed: float = 1.0

    def __post_init__(self) -> None:
        for name in ("every", "save", "restore"):
            if name == "every" and self.every is None:
                continue
            try:
                value = hours(getattr(self, name))
            except ArgumentError as error:
                raise ArgumentError(f"{name} of the checkpoints: {error.what}", remedy=error.remedy) from None
            if not (math.isfinite(value) and (value > 0.0 if name == "every" else value >= 0.0)):
                wanted = "above zero" if name == "every" else "not negative"
                raise ArgumentError(
                    f"{name} of the checkpoints is {value:g} hours", remedy=f"it must be finite and {wanted}"
                )
            object.__setattr__(self, name, value)
        if not set(self.exposed) <= set(BOTH):
            raise ArgumentError(
                f"exposed={self.exposed!r} is not known", remedy="give some of 'save' and 'restore' in a tuple"
            )
        object.__setattr__(self, "exposed", tuple(self.exposed))
        object.__setattr__(self, "slowed", float(share("slowed", self.slowed)))
        if self.slowed < 1.0 and "save" not in self.exposed:
            what = "an asynchronous checkpoint during which nothing can fail is not modelled"
            raise ArgumentError(what, remedy="add 'save' to exposed")

    @property
    def exposed_save(self) -> float:
        """Hours of a save in which failures can occur."""
        return float(self.save) if "save" in self.exposed else 0.0

    @property
    def exposed_restore(self) -> float:
        """Hours of a restore in which failures can occur."""
        return float(self.restore) if "restore" in self.exposed else 0.0

    def segments(self, work: float) -> int:
        """Number of segments between checkpoints of a job of `work` hours; the last may be shorter."""
        if self.every is None:
            what = "the checkpoint interval is not known"
            raise ArgumentError(what, remedy=Remedy("give Checkpoint(every=...)", "give --checkpoint-every"))
        return int(_segments(work, self.every))


def cost_of_failure(mtbf: Hours, restore: Hours, restart: Hours, exposed: tuple[str, ...] = BOTH) -> FloatArray:
    """Mean hours from one failure to the next, plus those to the end of the restore; arrays are cases."""
    with np.errstate(over="ignore"):
        return np.asarray(
            (mtbf + restart) * np.exp(restore / mtbf) if "restore" in exposed else mtbf + restart + restore
        )


def slowdown_exponential(
    mtbf: Hours, every: Hours, save: Hours, restore: Hours, restart: Hours, exposed: tuple[str, ...] = BOTH
) -> FloatArray:
    """Expected hours per hour of work, arrays of one shape; infinite beyond the largest float.

    With saves and restores exposed ``(mu + D) exp(R/mu) (exp((w + C)/mu) - 1) / w`` (Daly's complete model, with a
    separate restart); with neither, appendix C of the sparing paper. ``w = 0`` and infinite mu or w give limits.
    """
    mu, w, c = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (mtbf, every, save)))
    inside = c if "save" in exposed else np.zeros_like(c)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        cost = cost_of_failure(mu, restore, restart, exposed)
        value = (cost * np.expm1((w + inside) / mu) + (c - inside)) / w
        value = np.where(np.isinf(mu), 1.0 + c / w, value)  # without failures
        value = np.where((w == 0.0) & (c == 0.0), np.where(np.isinf(mu), 1.0, cost / mu), value)
        value = np.where(np.isinf(w), np.where(np.isinf(mu), 1.0, np.inf), value)
    return np.where(np.isnan(value), np.inf, value)


def best_interval(
    mtbf: Durations,
    save: Durations,
    restore: Durations = 0.0,
    restart: Durations = 0.0,
    *,
    exposed: tuple[str, ...] = BOTH,
) -> FloatArray:
    """Hours of work between two saves that minimise the expected time; exact, by Lambert's W.

    With exposed saves ``w = mu (1 + W0(-exp(-1 - C/mu)))``, for any restore and restart. Otherwise
    ``w = mu (1 + W0((C/A - 1)/e))``, with ``A`` the mean time from one failure to the next and to the end of the
    restore.
    """
    mu, c, r, d = cases(
        mtbf=durations("mtbf", mtbf, zero=False, infinite=True),
        save=durations("save", save),
        restore=durations("restore", restore),
        restart=durations("restart", restart),
    )
    return mu_times_root(mu, c, cost_of_failure(mu, r, d, exposed), "save" in exposed)


def mu_times_root(mu: FloatArray, c: FloatArray, cost: FloatArray, exposed: bool) -> FloatArray:
    """``mu x`` with x the root of ``(1 - x) exp(x) = 1 - q``, also accurate for short saves.

    ``q = 1 - exp(-C/mu)`` with exposed saves, else ``q = C / cost``.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        q = -np.expm1(-c / mu) if exposed else c / cost  # 1 - (1 - x) exp(x)
        p = np.sqrt(2.0 * q)
        near = p - p * p / 3.0
        far = 1.0 + np.real(np.asarray(special.lambertw((q - 1.0) / np.e)))  # type: ignore[call-overload]
        x = np.where(q < 0.01, near, far)
        for _ in range(3):
            small = np.minimum(x, 0.5)
            series = (small[..., None] ** _TERMS * _SERIES).sum(axis=-1)
            value = np.where(x < 0.5, series, 1.0 - (1.0 - x) * np.exp(x))
            step = (value - q) / (x * np.exp(x))
            x = np.where((x > 0.0) & np.isfinite(step), x - step, x)
        root = np.where(np.isinf(mu), np.where(c > 0.0, np.inf, 0.0), mu * x)
    return np.where(c == 0.0, 0.0, root)


def expected_exponential(
    mtbf: Hours, work: Hours, every: Hours, plan: Checkpoint, restart: Hours, last_save: bool = False
) -> FloatArray:
    """Expected hours of jobs of `work` hours: full segments and a shorter one; restores follow only failures."""
    costs = (plan.restore, restart, plan.exposed)
    with np.errstate(invalid="ignore", over="ignore"):
        count = _segments(work, every) - 1.0
        full = np.where(count > 0.0, count * every * slowdown_exponential(mtbf, every, plan.save, *costs), 0.0)
        rest = np.where(count > 0.0, work - count * every, work)
        last = rest * slowdown_exponential(mtbf, rest, plan.save if last_save else 0.0, *costs)
        return np.asarray(np.where(rest > 0.0, full + last, 0.0))


def _segments(work: Hours, every: Hours) -> FloatArray:
    return np.asarray(np.maximum(np.ceil(np.asarray(work) / every * (1.0 - 1e-12)), 1.0))


def exposed_hours(work: Hours, every: Hours, plan: Checkpoint) -> FloatArray:
    """Hours of work and saves in which a failure can occur, of jobs that meet none; an unknown `every` has no save."""
    saves = _segments(work, every) - 1.0
    return np.asarray(work + np.where(saves > 0.0, saves, 0.0) * plan.exposed_save)


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
