"""Two levels of checkpoints: fast local ones, with every k-th written globally to survive worse failures.

A share of the failures destroys local checkpoints; the job then continues from the last global one. Exact in closed
form for exponential failures, also during saves and restores. Levels of checkpoints: Moody, Bronevetsky, Mohror and
de Supinski (2010), SC '10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import cases, durations, share, whole
from relfit.base.arrays import Durations, FloatArray
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.grid_search import highest
from relfit.base.results import Result
from relfit.base.text import duration, percent
from relfit.planning.checkpointing.renewal_failures import ExponentialWaste
from relfit.system.jobs.checkpoint import best_interval

_MOST_LOCAL = 2000


class TwoLevels(Result):
    """The best checkpoint intervals (hours of work), one of how many checkpoints is global (1 if local ones do not
    pay), the share of time lost, and the least with global checkpoints only; arrays are cases.
    """

    checkpoint_every: FloatArray
    saves_per_global: npt.NDArray[np.int64]
    waste: FloatArray
    global_only: FloatArray

    _frame = ("checkpoint_every", "saves_per_global", "waste", "global_only")

    @property
    def headline(self) -> str:
        """The best plan, for the first case."""
        every, k, waste, alone = self.to_frame().iloc[0]
        if not waste < 1.0 - 1e-9:
            return "No interval makes progress."
        if k == 1:
            return (
                f"Global checkpoint every {duration(every)} of work: local ones do not pay (waste {percent(waste, 2)})."
            )
        return (
            f"Checkpoint every {duration(every)} of work, globally every {k:.0f} checkpoints: "
            f"waste {percent(waste, 2)}, with global ones alone {percent(alone, 2)}."
        )


@dataclass(frozen=True, kw_only=True)
class GlobalSaves:
    """The second level of checkpoints, for failures that destroy local ones.

    Attributes
    ----------
    save : duration
        Time to write a global checkpoint, hours or text.
    share : float
        Share of the failures that need a global checkpoint.
    restore : duration, optional
        Time to read it; that of the local checkpoints by default.
    """

    save: Any
    share: Any
    restore: Any = None


@dataclass(frozen=True, eq=False)
class LevelCosts:
    """Failures, costs of two levels, and the share of failures that need the global one; arrays broadcast."""

    mtbf: Any
    save: Any
    global_save: Any
    restore: Any
    global_restore: Any
    share_global: Any
    restart: Any = 0.0

    def __post_init__(self) -> None:
        values = {
            name: share(name, value) if name == "share_global" else durations(name, value, zero=name != "mtbf")
            for name, value in vars(self).items()
        }
        for name, value in zip(values, cases(**values), strict=True):
            object.__setattr__(self, name, value)

    def waste(self, checkpoint_every: Durations, saves_per_global: npt.ArrayLike) -> FloatArray:
        """Long-run waste if one of `saves_per_global` checkpoints is global (instead of local)."""
        w, k, *costs = cases(
            checkpoint_every=durations("checkpoint_every", checkpoint_every, zero=False),
            saves_per_global=whole("saves_per_global", saves_per_global).astype(np.float64),
            **vars(self),
        )
        return 1.0 - _progress(w, k, costs)

    def best(self) -> TwoLevels:
        """The interval and the number of checkpoints per global one (up to 2000) with the least waste."""
        if np.any(self.save <= 0.0) or np.any(self.global_save <= 0.0):
            remedy = Remedy("give save and global_save above zero", "give --save and --global-save above zero")
            raise ArgumentError("a checkpoint of either level must take time", remedy=remedy)
        costs = [value[..., None, None] for value in vars(self).values()]
        short = np.log(best_interval(self.mtbf, np.minimum(self.save, self.global_save)))[..., None] - 2.0
        long = np.log(best_interval(self.mtbf, np.maximum(self.save, self.global_save)))[..., None] + 0.7

        def by_number(k: FloatArray, rounds: int = 7) -> tuple[FloatArray, FloatArray]:
            """Best work between saves for each number of saves (last axis), and the useful share of time."""
            low, high = np.broadcast_to(short, k.shape), np.broadcast_to(long, k.shape)
            return highest(lambda log: _progress(np.exp(log), k[..., None], costs), low, high, rounds=rounds)

        none = np.zeros(self.mtbf.shape)
        top, _ = highest(lambda log: by_number(np.exp(log), 5)[1], none, np.log(_MOST_LOCAL), rounds=4)
        near = np.clip(np.floor(np.exp(top))[..., None] + np.arange(-1.0, 3.0), 1.0, _MOST_LOCAL)
        k = np.concatenate([np.ones((*top.shape, 1)), near], axis=-1)  # ties go to the plan with one level
        log, progress = by_number(k)
        best = progress.argmax(axis=-1)[..., None]
        every, number, most = (np.take_along_axis(x, best, axis=-1)[..., 0] for x in (np.exp(log), k, progress))
        return TwoLevels(every, number.astype(np.int64), 1.0 - most, 1.0 - progress[..., 0])


@dataclass(frozen=True, eq=False)
class TwoLevelWaste(ExponentialWaste):
    """Waste of two levels under exponential failures, with the number of checkpoints per global one that is best."""

    wider: GlobalSaves | None = None

    def best_of_draws(self) -> tuple[FloatArray, FloatArray]:
        """Best interval of each draw, and its waste."""
        return self.plans_of_draws.checkpoint_every, self.plans_of_draws.waste

    @cached_property
    def plan(self) -> TwoLevels:
        """The best plan."""
        return self._costs(self.mtbf, self.restart).best()

    @cached_property
    def plans_of_draws(self) -> TwoLevels:
        """The best plan of each draw."""
        return self._costs(*self._draws).best()

    def _costs(self, mu: Durations, restart: Durations) -> LevelCosts:
        save, restore, wider = self.checkpoint.save, self.checkpoint.restore, self.wider
        assert wider is not None
        far = restore if wider.restore is None else wider.restore
        return LevelCosts(mu, save, wider.save, restore, far, wider.share, restart)

    def _of(self, mu: FloatArray, w: FloatArray, d: FloatArray) -> FloatArray:
        return self._costs(mu, d).waste(w, self.plan.saves_per_global)

    def _best(self, mu: FloatArray, restart: FloatArray) -> FloatArray:
        return self._costs(mu, restart).best().checkpoint_every


def _progress(w: FloatArray, k: FloatArray, costs: Sequence[FloatArray]) -> FloatArray:
    """Useful work per hour: k intervals over the mean time V(1) from one global save to the next, where
    ``V(i) = a + b V(i+1) + (1 - b) G`` after i - 1 local ones, and G from a failure that needs the global save.
    """
    mu, c1, c2, r1, r2, phi, d = costs
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
        progress = k * w / time
    return np.where(np.isfinite(progress), progress, 0.0)
