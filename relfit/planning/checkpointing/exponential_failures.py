"""How often to checkpoint under exponential failures: the exact optimum, and the estimates in common use.

A job works for an interval, saves for C hours, works again. A failure costs the work since the last save, a downtime D
without failures, and a restore of R hours. The interval is work alone; the period is the interval and the save.

Sources: Daly (2006), Future Generation Computer Systems 22, 303-312 (exact expected time, first and higher order);
Young (1974), Communications of the ACM 17, 530-531; "Checkpointing or migration" section 6 (waste to first order);
appendix C of the sparing paper, corrected (saves and restores without failures).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from relfit.arguments import FloatArray, cases, durations
from relfit.errors import ArgumentError

__all__ = [
    "Costs",
    "best_interval",
    "best_waste",
    "daly_interval",
    "expected_time",
    "first_order_best_waste",
    "first_order_waste",
    "least_mtbf",
    "slowdown",
    "waste",
    "young_interval",
]

_TERMS = np.arange(2.0, 24.0)
_SERIES = (_TERMS - 1.0) * np.exp(-special.gammaln(_TERMS + 1.0))


@dataclass(frozen=True, eq=False)
class Costs:
    """What a checkpoint and a failure cost, in hours; arrays are cases.

    Attributes
    ----------
    save, restore, downtime : ndarray
        Hours to save (C), to restore (R), and from a failure to the begin of the restore (D).
    exposed : tuple of str
        In which of ``"save"`` and ``"restore"`` failures can strike; in the downtime they never do.
    """

    save: FloatArray
    restore: FloatArray
    downtime: FloatArray
    exposed: tuple[str, ...]

    @classmethod
    def of(
        cls, save: Any, restore: Any = 0.0, downtime: Any = 0.0, exposed: tuple[str, ...] = ("save", "restore")
    ) -> Costs:
        """The costs, checked.

        Raises
        ------
        ArgumentError
            For durations below zero or unknown names in `exposed`.

        Examples
        --------
        >>> Costs.of("6min", "12min").restore.tolist()
        0.2
        """
        unknown = [name for name in exposed if name not in ("save", "restore")]
        if unknown:
            raise ArgumentError(
                f"exposed={exposed!r} is not known", remedy="give some of 'save' and 'restore' in a tuple"
            )
        found = (durations("save", save), durations("restore", restore), durations("downtime", downtime))
        return cls(*found, tuple(exposed))


def young_interval(mtbf: Any, save: Any) -> FloatArray:
    """Young's interval ``sqrt(2 C mu)``, hours.

    Examples
    --------
    >>> young_interval("24h", "5min").round(3).tolist()
    2.0
    """
    return np.sqrt(2.0 * durations("save", save) * durations("mtbf", mtbf, zero=False, infinite=True))


def daly_interval(mtbf: Any, save: Any, restore: Any = 0.0, order: str = "higher") -> FloatArray:
    """Daly's estimates of the best interval, hours.

    First order: ``sqrt(2 C (mu + R))``. Higher order (his equation 37): with ``z = sqrt(C / (2 mu))``,
    ``sqrt(2 C mu) (1 + z/3 + z**2/9) - C`` for ``C < 2 mu``, else ``mu``; the restore does not enter.

    Raises
    ------
    ArgumentError
        For another order, or durations that cannot be.

    Examples
    --------
    The three examples of his figures 3 to 5 (printed as 117, 57 and 9.1 minutes):

    >>> (60 * daly_interval(["24h", "6h", "15min"], "5min", "10min")).round(1).tolist()
    [116.7, 56.7, 9.1]
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


def first_order_waste(
    mtbf: Any, period: Any, save: Any, restore: Any = 0.0, downtime: Any = 0.0, *, limit: bool = True
) -> FloatArray:
    """Waste ``C/T + (T/2 + R + D)/mu`` of a period T that includes the save (equation 5 of the migration paper).

    Parameters
    ----------
    limit : bool
        Cut at 1, where nothing is left; else as the formula gives it.

    Raises
    ------
    ArgumentError
        When a save takes longer than its period, or durations cannot be.

    Examples
    --------
    >>> first_order_waste(24, 2, "5min", "5min").round(4).tolist()
    0.0868
    """
    mu = durations("mtbf", mtbf, zero=False)
    t = durations("period", period, zero=False)
    cost = Costs.of(save, restore, downtime)
    check_period(t, cost.save)
    found = cost.save / t + (t / 2.0 + cost.restore + cost.downtime) / mu
    return np.minimum(found, 1.0) if limit else found


def first_order_best_waste(mtbf: Any, save: Any, restore: Any = 0.0, downtime: Any = 0.0) -> FloatArray:
    """Least waste to first order, ``(R + D)/mu + sqrt(2 C/mu)``, at most 1 (equation 6 of the migration paper)."""
    mu, cost = durations("mtbf", mtbf, zero=False), Costs.of(save, restore, downtime)
    return np.minimum((cost.restore + cost.downtime) / mu + np.sqrt(2.0 * cost.save / mu), 1.0)


def least_mtbf(save: Any, restore: Any = 0.0, downtime: Any = 0.0) -> FloatArray:
    """Mean time between failures, hours, below which the first-order waste reaches 1 at any period.

    The migration paper, section 6: ``1/nu**2`` with ``nu`` the root of ``nu**2 (R + D) + nu sqrt(2 C) = 1``.

    Examples
    --------
    >>> float(first_order_best_waste(least_mtbf(0.1, 0.2), 0.1, 0.2).round(9))
    1.0
    """
    cost = Costs.of(save, restore, downtime)
    both, root = cost.restore + cost.downtime, np.sqrt(2.0 * cost.save)
    # 1/nu = (root + sqrt(2 C + 4 (R + D))) / 2 is the same root without the division of small numbers
    return ((root + np.sqrt(2.0 * cost.save + 4.0 * both)) / 2.0) ** 2


def slowdown(
    mtbf: Any,
    interval: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    exposed: tuple[str, ...] = ("save", "restore"),
) -> FloatArray:
    """Expected hours for an hour of work, exact under exponential failures; infinite beyond the largest float.

    With everything exposed this is ``(mu + D) exp(R/mu) (exp((w + C)/mu) - 1) / w`` (Daly's complete model, with the
    downtime apart); with nothing exposed, appendix C of the sparing paper.

    Parameters
    ----------
    mtbf, interval, save, restore, downtime : array_like of durations
        Cases, broadcast. The interval is hours of work between two saves; zero is its limit.
    exposed : tuple of str
        In which of saves and restores failures can strike.

    Examples
    --------
    >>> slowdown(24, [1, 2, 4], "5min", "10min").round(4).tolist()
    [1.1159, 1.0958, 1.1206]
    """
    cost = Costs.of(save, restore, downtime, exposed)
    mu = durations("mtbf", mtbf, zero=False, infinite=True)
    mu, w, c, r, d = cases(
        mtbf=mu, interval=durations("interval", interval, infinite=True), save=cost.save, restore=cost.restore,
        downtime=cost.downtime,
    )  # fmt: skip
    return _slowdown(mu, w, c, r, d, cost.exposed)


def waste(mtbf: Any, interval: Any, save: Any, restore: Any = 0.0, downtime: Any = 0.0, **how: Any) -> FloatArray:
    """Share of time that is not kept work, ``1 - 1/slowdown``.

    Examples
    --------
    >>> waste(24, 2, "5min", "10min").round(4).tolist()
    0.0874
    """
    with np.errstate(divide="ignore"):
        return 1.0 - 1.0 / slowdown(mtbf, interval, save, restore, downtime, **how)


def best_interval(
    mtbf: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    exposed: tuple[str, ...] = ("save", "restore"),
) -> FloatArray:
    """Interval of work that minimises the expected time, hours; exact, by Lambert's W.

    With exposed saves ``w = mu (1 + W0(-exp(-1 - C/mu)))``, whatever restore and downtime are. Else, with ``A`` the
    mean time from one failure to the next and from there to the end of the restore, ``w = mu (1 + W0((C/A - 1)/e))``.

    Examples
    --------
    >>> best_interval(["24h", "6h", "15min"], "5min").round(4).tolist()
    [1.9448, 0.9452, 0.1528]

    The sparing paper's form, with failures neither in saves nor in restores:

    >>> best_interval(24, "5min", "10min", exposed=()).round(4).tolist()
    1.9399
    """
    cost = Costs.of(save, restore, downtime, exposed)
    mu = durations("mtbf", mtbf, zero=False, infinite=True)
    mu, c, r, d = cases(mtbf=mu, save=cost.save, restore=cost.restore, downtime=cost.downtime)
    return mu_times_root(mu, c, _cost_of_failure(mu, r, d, cost.exposed), "save" in cost.exposed)


def best_waste(mtbf: Any, save: Any, restore: Any = 0.0, downtime: Any = 0.0, **how: Any) -> FloatArray:
    """Waste at `best_interval`; 1 where no interval gives progress that a float can hold.

    Examples
    --------
    >>> best_waste([24, 0.1, 0.001], 1).round(4).tolist()
    [0.2616, 1.0, 1.0]
    """
    interval = best_interval(mtbf, save, restore, downtime, **how)
    return waste(mtbf, interval, save, restore, downtime, **how)


def expected_time(
    work: Any,
    mtbf: Any,
    interval: Any,
    save: Any,
    restore: Any = 0.0,
    downtime: Any = 0.0,
    *,
    exposed: tuple[str, ...] = ("save", "restore"),
    last_save: bool = True,
) -> FloatArray:
    """Expected hours until a job of `work` hours is done: whole intervals, and what is left as a last, shorter one.

    Parameters
    ----------
    last_save : bool
        Whether the end of the work is saved too.

    Examples
    --------
    >>> expected_time(500, 24, "117min", "5min", "10min").round(1).tolist()
    547.9
    """
    cost = Costs.of(save, restore, downtime, exposed)
    mu = durations("mtbf", mtbf, zero=False, infinite=True)
    total, mu, w, c, r, d = cases(
        work=durations("work", work), mtbf=mu, interval=durations("interval", interval, zero=False, infinite=True),
        save=cost.save, restore=cost.restore, downtime=cost.downtime,
    )  # fmt: skip
    with np.errstate(invalid="ignore", over="ignore"):
        count = np.maximum(np.ceil(total / w * (1.0 - 1e-12)) - 1.0, 0.0)
        whole = np.where(count > 0.0, count * w * _slowdown(mu, w, c, r, d, cost.exposed), 0.0)
        left = np.where(count > 0.0, total - count * w, total)
        last = left * _slowdown(mu, left, c if last_save else np.zeros_like(c), r, d, cost.exposed)
        return np.where(left > 0.0, whole + last, 0.0)


# ---------------------------------------------------------------------- details


def check_period(period: FloatArray, save: FloatArray) -> None:
    """Reject a save that does not fit into its period.

    Raises
    ------
    ArgumentError
        When it takes longer.
    """
    period, save = cases(period=period, save=save)
    bad = save >= period
    if bad.any():
        raise ArgumentError(
            f"a save takes {float(save[bad].ravel()[0]):.4g} hours, its period {float(period[bad].ravel()[0]):.4g}",
            remedy="no time is left for work: give a longer period",
        )


def _cost_of_failure(mu: FloatArray, r: FloatArray, d: FloatArray, exposed: tuple[str, ...]) -> FloatArray:
    """Mean hours from one failure to the next, and from there to the end of the restore."""
    with np.errstate(over="ignore"):
        return (mu + d) * np.exp(r / mu) if "restore" in exposed else mu + d + r


def _slowdown(
    mu: FloatArray, w: FloatArray, c: FloatArray, r: FloatArray, d: FloatArray, exposed: tuple[str, ...]
) -> FloatArray:
    cost = _cost_of_failure(mu, r, d, exposed)
    inside = c if "save" in exposed else np.zeros_like(c)
    outside = c - inside
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = (cost * np.expm1((w + inside) / mu) + outside) / w
        found = np.where(np.isinf(mu), 1.0 + c / w, found)  # without failures
        found = np.where((w == 0.0) & (c == 0.0), np.where(np.isinf(mu), 1.0, cost / mu), found)
        found = np.where(np.isinf(w), np.where(np.isinf(mu), 1.0, np.inf), found)
    return np.where(np.isnan(found), np.inf, found)


def mu_times_root(mu: FloatArray, c: FloatArray, cost: FloatArray, exposed: bool) -> FloatArray:
    """``mu x`` with x the root of ``(1 - x) exp(x) = (1 - k) exp(-C/mu)``, accurate for short saves too."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        q = -np.expm1(-c / mu) if exposed else c / cost  # 1 - (1 - x) exp(x)
        p = np.sqrt(2.0 * q)
        near = p - p * p / 3.0 + 11.0 / 72.0 * p**3
        far = 1.0 + np.real(np.asarray(special.lambertw((q - 1.0) / np.e)))  # type: ignore[call-overload]
        x = np.where(q < 0.01, near, far)
        for _ in range(3):
            small = np.minimum(x, 0.5)
            series = (small[..., None] ** _TERMS * _SERIES).sum(axis=-1)
            value = np.where(x < 0.5, series, 1.0 - (1.0 - x) * np.exp(x))
            step = (value - q) / (x * np.exp(x))
            x = np.where((x > 0.0) & np.isfinite(step), x - step, x)
        found = mu * x
        found = np.where(np.isinf(mu), np.where(c > 0.0, np.inf, 0.0), found)
    return np.where(c == 0.0, 0.0, found)
