"""Two levels of checkpoints: quick local saves, of which every k-th is a global one that survives worse failures.

A share of the failures destroys what was saved locally: then the job goes back to the last global save. Exact in closed
form for exponential failures, which strike in saves and restores too. The idea of levels: Moody, Bronevetsky, Mohror
and de Supinski (2010), SC '10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arguments import cases, durations, share, whole
from relfit.arrays import FloatArray
from relfit.errors import ArgumentError
from relfit.jobs.checkpoint import best_interval
from relfit.numeric.grid_search import highest
from relfit.planning.checkpointing.exponential_failures import costs_of
from relfit.results import Result
from relfit.text import duration, percent

__all__ = ["TwoLevels", "best_two_levels", "two_level_waste"]

_MOST_LOCAL = 2000


@dataclass(frozen=True, eq=False, repr=False)
class TwoLevels(Result):
    """The best work between saves and the best number of saves per global one; arrays are cases.

    Attributes
    ----------
    checkpoint_every : ndarray of float
        Hours of work between two saves.
    saves_per_global : ndarray of int
        Every so many saves, one is global; 1 where local saves do not pay.
    waste : ndarray of float
        Share of time that is not kept work.
    global_only : ndarray of float
        Waste of the best interval with global saves alone.
    """

    checkpoint_every: FloatArray
    saves_per_global: npt.NDArray[np.int64]
    waste: FloatArray
    global_only: FloatArray

    @property
    def headline(self) -> str:
        """What to do, of the first case."""
        every, k, waste, alone = self.to_frame().iloc[0]
        if not waste < 1.0 - 1e-9:
            return "No interval makes progress."
        if k == 1:
            return f"Save globally every {duration(every)} of work: local saves do not pay (waste {percent(waste, 2)})."
        return (
            f"Save every {duration(every)} of work, globally every {k:.0f} saves: waste {percent(waste, 2)}, "
            f"with global saves alone {percent(alone, 2)}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per case."""
        names = ("checkpoint_every", "saves_per_global", "waste", "global_only")
        return pd.DataFrame({name: np.ravel(getattr(self, name)) for name in names})


def two_level_waste(
    mtbf: Any,
    checkpoint_every: Any,
    saves_per_global: Any,
    save: Any,
    global_save: Any,
    restore: Any,
    global_restore: Any,
    share_global: Any,
    restart: Any = 0.0,
) -> FloatArray:
    """Long-run waste under exponential failures; arrays are cases, broadcast.

    Parameters
    ----------
    mtbf, checkpoint_every : array_like of durations
        Mean time between failures; hours of work between two saves of either kind.
    saves_per_global : array_like of int
        Every so many saves, one is global (and not local too).
    save, global_save, restore, global_restore, restart : array_like of durations
    share_global : array_like of float
        Probability that a failure needs the global save.

    Examples
    --------
    >>> two_level_waste(24, 1.0, [1, 4, 16], "1min", "10min", "1min", "20min", 0.1).round(4).tolist()
    [0.1652, 0.0802, 0.0788]
    """
    w, k, *rest = cases(
        checkpoint_every=durations("checkpoint_every", checkpoint_every, zero=False),
        saves_per_global=whole("saves_per_global", saves_per_global).astype(np.float64),
        **_checked(mtbf, save, global_save, restore, global_restore, share_global, restart),
    )
    return 1.0 - _progress(w, k, *rest)


def best_two_levels(
    mtbf: Any,
    save: Any,
    global_save: Any,
    restore: Any,
    global_restore: Any,
    share_global: Any,
    restart: Any = 0.0,
) -> TwoLevels:
    """The interval and the number of saves for each global one with the least `two_level_waste`; arrays are cases.

    Up to 2000 saves for each global one are looked at.

    Examples
    --------
    >>> plan = best_two_levels(24, "1min", "10min", "1min", "20min", 0.1)
    >>> plan.headline
    'Save every 55 minutes of work, globally every 9 saves: waste 7.12 %, with global saves alone 11.51 %.'
    """
    arrays = cases(**_checked(mtbf, save, global_save, restore, global_restore, share_global, restart))
    shape = arrays[0].shape
    flat = [x.ravel()[:, None, None] for x in arrays]
    if np.any(arrays[1] <= 0.0) or np.any(arrays[2] <= 0.0):
        raise ArgumentError("a save of either level must take time", remedy="give save and global_save above zero")
    mu, c1, c2 = flat[0], flat[1], flat[2]
    short = np.log(best_interval(mu, np.minimum(c1, c2))) - 2.0
    long = np.maximum(np.log(best_interval(mu, np.maximum(c1, c2))), short + 2.0) + 0.7
    ks = np.unique(np.round(np.geomspace(1, _MOST_LOCAL, 60))).astype(np.int64)
    k, w, _ = _search(flat, np.broadcast_to(ks, (mu.size, ks.size)), short, long)
    for _ in range(6):  # all whole numbers around the best one
        at = np.searchsorted(ks, k)
        low, high = ks[np.maximum(at - 1, 0)], ks[np.minimum(at + 1, ks.size - 1)]
        width = int((high - low).max())
        around = low[:, None] + np.unique(np.round(np.linspace(0, width, min(width + 1, 24)))).astype(np.int64)
        around = np.clip(around, 1, _MOST_LOCAL)
        k, w, kept = _search(flat, around, short, long)
        if width <= 23:
            break
        step = max(1, int(np.ceil(width / 23)))
        ks = np.unique(np.concatenate([np.clip(k - step, 1, None), k, k + step]))
        ks = np.unique(np.concatenate([ks, [1]]))
    ones = np.ones((mu.size, 1), dtype=np.int64)
    _, w_one, kept_one = _search(flat, ones, short, long)
    alone = kept_one >= kept  # ties go to the plan with one level
    k, w, kept = np.where(alone, 1, k), np.where(alone, w_one, w), np.maximum(kept, kept_one)
    return TwoLevels(
        w.reshape(shape), k.reshape(shape), 1.0 - kept.reshape(shape), 1.0 - kept_one.reshape(shape)
    )  # fmt: skip


# ---------------------------------------------------------------------- details


def _checked(
    mtbf: Any, save: Any, global_save: Any, restore: Any, global_restore: Any, share_global: Any, restart: Any
) -> dict[str, FloatArray]:
    c1, r1, d = costs_of(save, restore, restart)
    return {
        "mtbf": durations("mtbf", mtbf, zero=False),
        "save": c1,
        "global_save": durations("global_save", global_save),
        "restore": r1,
        "global_restore": durations("global_restore", global_restore),
        "share_global": share("share_global", share_global),
        "restart": d,
    }


def _progress(
    w: FloatArray, k: FloatArray, mu: FloatArray, c1: FloatArray, c2: FloatArray, r1: FloatArray, r2: FloatArray,
    phi: FloatArray, d: FloatArray,
) -> FloatArray:  # fmt: skip
    """Kept work for an hour: k intervals over the mean time from one global save to the next.

    With V(i) the mean time to the next global save after i - 1 local ones, ``V(i) = a + b V(i+1) + (1 - b) G``, G the
    mean time from a failure that needs the global save.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        e1 = np.exp(-r1 / mu)
        g0 = (d + mu) * np.exp(r2 / mu) - mu  # to the end of a global restore
        needs = e1 + (1.0 - e1) * phi
        l0 = (d - mu * np.expm1(-r1 / mu)) / needs
        l1 = e1 / needs

        def pieces(length: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            fails = -np.expm1(-length / mu)
            back = 1.0 - fails * (1.0 - phi) * l1
            a = (mu * fails + fails * (1.0 - phi) * l0) / back
            lost = fails * ((1.0 - phi) * (1.0 - l1) + phi) / back  # 1 - b
            return a, (1.0 - fails) / back, lost

        a, _, lost = pieces(w + c1)
        a_last, b_last, _ = pieces(w + c2)
        before = np.maximum(k - 1.0, 0.0)
        power = np.exp(before * np.log1p(-lost))
        total = np.where(lost > 1e-13, -np.expm1(before * np.log1p(-lost)) / lost, before)
        both = power * b_last
        time = (a * total + power * a_last + (1.0 - both) * g0) / both
        kept = k * w / time
    return np.where(np.isfinite(kept), kept, 0.0)


def _search(
    flat: list[FloatArray], ks: npt.NDArray[np.int64], short: FloatArray, long: FloatArray
) -> tuple[npt.NDArray[np.int64], FloatArray, FloatArray]:
    """Best of the given numbers and its interval, for each case."""
    k = ks[:, :, None].astype(np.float64)
    ends = (np.broadcast_to(end[..., 0], ks.shape) for end in (short, long))
    where, kept = highest(lambda log: _progress(np.exp(log), k, *flat), *ends, rounds=9)
    top = kept.argmax(axis=1)[:, None]
    pick = [np.take_along_axis(x, top, axis=1)[:, 0] for x in (ks, np.exp(where), kept)]
    return pick[0], pick[1], pick[2]
