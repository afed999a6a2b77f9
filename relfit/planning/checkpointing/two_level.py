"""Two levels of checkpoints: quick local saves, of which every k-th is a global one that survives worse failures.

A share of the failures destroys what was saved locally: then the job goes back to the last global save. Exact in closed
form for exponential failures, and by a Markov chain over the saves since the last global one for any stretches between
failures that are alike (a new life after every restart). Failures strike in saves and restores too. The idea of levels:
Moody, Bronevetsky, Mohror and de Supinski (2010), SC '10.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from relfit.arguments import FloatArray, cases, durations, share, whole
from relfit.errors import ArgumentError
from relfit.jobs._time_to_failure import TimeToFailure, time_to_failure
from relfit.planning.checkpointing.exponential_failures import best_interval

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TwoLevels", "best_two_levels", "two_level_waste", "two_level_waste_of"]

_MOST_LOCAL = 2000
_MOST_TERMS = 4_000_000


@dataclass(frozen=True, eq=False)
class TwoLevels:
    """The best interval and the best number of saves from one global save to the next; arrays are cases.

    Attributes
    ----------
    interval : ndarray of float
        Hours of work between two saves.
    every : ndarray of int
        Every so many saves, one is global; 1 where local saves do not pay.
    waste : ndarray of float
        Share of time that is not kept work.
    global_only : ndarray of float
        Waste of the best interval with global saves alone.
    """

    interval: FloatArray
    every: npt.NDArray[np.int64]
    waste: FloatArray
    global_only: FloatArray

    @property
    def sentence(self) -> str:
        """What to do, in a sentence (of the first case)."""
        w, k, v, g = (np.ravel(x)[0] for x in (self.interval, self.every, self.waste, self.global_only))
        if not v < 1.0 - 1e-9:
            return "No interval makes progress."
        if k == 1:
            return f"Save globally every {w:.3g} hours of work: local saves do not pay (waste {100 * v:.3g} %)."
        return (
            f"Save every {w:.3g} hours of work, globally every {k} saves: waste {100 * v:.3g} %, "
            f"with global saves alone {100 * g:.3g} %."
        )

    def to_frame(self) -> pd.DataFrame:
        """A row a case."""
        import pandas as pd

        return pd.DataFrame(
            {
                "interval": np.ravel(self.interval),
                "every": np.ravel(self.every),
                "waste": np.ravel(self.waste),
                "global_only": np.ravel(self.global_only),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "interval_hours": _list(self.interval),
            "every": np.asarray(self.every).tolist(),
            "waste": _list(self.waste),
            "waste_global_only": _list(self.global_only),
            "sentence": self.sentence,
        }

    def __repr__(self) -> str:
        return f"TwoLevels: {self.sentence}"


def two_level_waste(
    mtbf: Any,
    interval: Any,
    every: Any,
    save: Any,
    global_save: Any,
    restore: Any,
    global_restore: Any,
    share_global: Any,
    downtime: Any = 0.0,
) -> FloatArray:
    """Long-run waste under exponential failures; arrays are cases, broadcast.

    Parameters
    ----------
    mtbf, interval : array_like of durations
        Mean time between failures; hours of work between two saves of either kind.
    every : array_like of int
        Every so many saves, one is global (and not local too).
    save, global_save, restore, global_restore, downtime : array_like of durations
    share_global : array_like of float
        Probability that a failure needs the global save.

    Examples
    --------
    >>> two_level_waste(24, 1.0, [1, 4, 16], "1min", "10min", "1min", "20min", 0.1).round(4).tolist()
    [0.1652, 0.0802, 0.0788]
    """
    given = _given(mtbf, save, global_save, restore, global_restore, share_global, downtime)
    w, k, *rest = cases(
        interval=durations("interval", interval, zero=False), every=whole("every", every).astype(np.float64), **given
    )
    return 1.0 - _progress(w, k, *rest)


def best_two_levels(
    mtbf: Any,
    save: Any,
    global_save: Any,
    restore: Any,
    global_restore: Any,
    share_global: Any,
    downtime: Any = 0.0,
) -> TwoLevels:
    """The interval and the number of saves for each global one with the least waste; arrays are cases.

    Up to 2000 saves for each global one are looked at.

    Examples
    --------
    >>> plan = best_two_levels(24, "1min", "10min", "1min", "20min", 0.1)
    >>> plan.sentence
    'Save every 0.916 hours of work, globally every 9 saves: waste 7.12 %, with global saves alone 11.5 %.'
    """
    given = _given(mtbf, save, global_save, restore, global_restore, share_global, downtime)
    arrays = cases(**given)
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


def two_level_waste_of(
    source: Any,
    interval: Any,
    every: int,
    save: Any,
    global_save: Any,
    restore: Any,
    global_restore: Any,
    share_global: float,
    downtime: Any = 0.0,
    *,
    ages: Any = 0.0,
    nodes: int = 1,
) -> float:
    """Long-run waste for any family, when every restart begins a stretch with these ages (see `time_to_failure`).

    Raises
    ------
    ArgumentError
        For values that cannot be, or more than four million terms (very short intervals).

    Examples
    --------
    >>> from relfit.families import Weibull
    >>> round(two_level_waste_of(Weibull(0.7, 24.0), 1.0, 8, "1min", "10min", "1min", "20min", 0.1), 4)
    0.0629
    """
    stretch = time_to_failure(source, ages, nodes)
    w = float(durations("interval", interval, zero=False))
    k = int(whole("every", every))
    phi = float(share("share_global", share_global))
    c1, c2 = float(durations("save", save)), float(durations("global_save", global_save))
    r1, r2 = float(durations("restore", restore)), float(durations("global_restore", global_restore))
    kept = _chain(stretch, w, k, c1, c2, r1, r2, phi) / (stretch.mean() + float(durations("downtime", downtime)))
    return 1.0 - kept


# ---------------------------------------------------------------------- details


def _given(
    mtbf: Any, save: Any, global_save: Any, restore: Any, global_restore: Any, share_global: Any, downtime: Any
) -> dict[str, FloatArray]:
    return {
        "mtbf": durations("mtbf", mtbf, zero=False),
        "save": durations("save", save),
        "global_save": durations("global_save", global_save),
        "restore": durations("restore", restore),
        "global_restore": durations("global_restore", global_restore),
        "share_global": share("share_global", share_global),
        "downtime": durations("downtime", downtime),
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
        found = k * w / time
    return np.where(np.isfinite(found), found, 0.0)


def _search(
    flat: list[FloatArray], ks: npt.NDArray[np.int64], short: FloatArray, long: FloatArray
) -> tuple[npt.NDArray[np.int64], FloatArray, FloatArray]:
    """Best of the given numbers and its interval, for each case."""
    k = ks[:, :, None].astype(np.float64)
    steps = np.linspace(0.0, 1.0, 24)
    low = np.broadcast_to(short, k.shape).copy()
    high = np.broadcast_to(long, k.shape).copy()
    where = np.zeros(k.shape)
    kept = np.zeros(k.shape)
    for _ in range(9):
        grid = low + (high - low) * steps
        value = _progress(np.exp(grid), k, *flat)
        best = value.argmax(axis=-1)[..., None]
        kept = np.take_along_axis(value, best, axis=-1)
        where = np.take_along_axis(grid, best, axis=-1)
        low, high = (
            np.take_along_axis(grid, np.maximum(best - 1, 0), axis=-1),
            np.take_along_axis(grid, np.minimum(best + 1, 23), axis=-1),
        )
    top = kept[:, :, 0].argmax(axis=1)[:, None]
    pick = [np.take_along_axis(x, top, axis=1)[:, 0] for x in (ks, np.exp(where[:, :, 0]), kept[:, :, 0])]
    return pick[0], pick[1], pick[2]


def _chain(stretch: TimeToFailure, w: float, k: int, c1: float, c2: float, r1: float, r2: float, phi: float) -> float:
    """Mean net work of a stretch in the long run."""
    end = float(stretch.panels[0][-1]) if np.isnan(stretch.constant) else 45.0 / stretch.constant
    lengths = np.where(np.arange(k) == k - 1, w + c2, w + c1)
    terms = int(min(end / (w + min(c1, c2)), 1e12)) + 2
    # where survival is below 1e-13 nothing is added
    while terms > 4 and float(stretch.log_sf(np.asarray((terms // 2) * (w + min(c1, c2))))) < -30.0:
        terms //= 2
    if terms * (k + 1) > _MOST_TERMS:
        raise ArgumentError(
            f"intervals of {w:.3g} hours are too short for stretches of {stretch.mean():.3g} hours on average",
            remedy="use two_level_waste, or longer intervals",
        )
    done = np.arange(terms)
    states = k + 1  # i saves since the global one, with a local restore; last: with a global restore
    step, gain = np.zeros((states, states)), np.zeros(states)
    for state in range(states):
        i = 0 if state == k else state
        begin = r2 if state == k else r1
        cycle = np.cumsum(lengths[(i + done[:-1]) % k])
        sf = stretch.sf(np.concatenate([[begin], begin + cycle]))
        p = sf - np.append(sf[1:], 0.0)  # probability of exactly so many saves
        in_restore = 1.0 - sf[0]
        position = (i + done) % k
        np.add.at(step[state], position, (1.0 - phi) * p)
        step[state, k] += phi * p.sum()
        gain[state] = ((1.0 - phi) * p * done + phi * p * ((i + done) // k * k - i)).sum()
        if state == k:
            step[state, k] += in_restore
        else:
            step[state, state] += (1.0 - phi) * in_restore
            step[state, k] += phi * in_restore
            gain[state] -= phi * in_restore * i
    system = np.vstack([step.T - np.eye(states), np.ones(states)])
    often, *_ = np.linalg.lstsq(system, np.append(np.zeros(states), 1.0), rcond=None)
    return float(w * (often * gain).sum())


def _list(values: FloatArray) -> Any:
    return np.asarray(values).tolist()
