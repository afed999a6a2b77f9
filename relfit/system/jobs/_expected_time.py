"""Expected time of a job that restarts after every failure, from zero or its last checkpoint, for any distribution.

With L(x) the cumulative hazard over the next x hours, T the time without failures and R the restart, attempts from zero
with the same hazard give (reliability-aware allocation, equation 6.1, made exact)::

    E = T + (E[X | X < T] + R) F / (1 - F) = integral_0^T exp(L(T) - L(x)) dx + R (exp(L(T)) - 1)

The paper counts the mean time to failure M as the time lost: ``E = T + (M + R) (exp(L(T)) - 1)``. With checkpoints the
expected time after each save follows from those after later saves (the renewal equation, solved backwards).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import durations
from relfit.base.arrays import Durations, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.quadrature import gauss_legendre
from relfit.fitting.families.distribution import log_one_minus_exp
from relfit.system.jobs._time_to_failure import TimeToFailure, time_to_failure
from relfit.system.jobs.checkpoint import Checkpoint, expected_exponential

Hazards = Callable[[IntArray, FloatArray], FloatArray]
"""From rows (r,) of systems and horizons (r, m) to cumulative hazards (r, m)."""

_BEND = 2.0  # of the grid: even in log(x / (T - x)) within this of the middle, sparser beyond
_RIGHT = float(np.arcsinh(38.0 / _BEND))
_REACHES = (38.0, 150.0, 660.0)  # how far to the left the grid goes, in log(x / T)
_FIRST_STEP = 0.16
_MOST_SEGMENTS = 50_000  # beyond, the expected time goes on with its long-run slope


def expected_time(
    source: object,
    work: Durations,
    checkpoint: Checkpoint | None = None,
    restart: Durations = 0.0,
    *,
    ages: Durations = 0.0,
    later: object = None,
    last_save: bool = False,
) -> float:
    """Expected hours until a job of `work` hours is done; infinite if it never is.

    Parameters
    ----------
    source : System, Distribution, or a mean time in hours
        The nodes of the job at its first start, with `ages`; see `time_to_failure`.
    work : duration
        Time without failures and checkpoints.
    checkpoint : Checkpoint, optional
        Without one every attempt begins from zero.
    restart : duration
        Time from a failure to the next start, without the restore of a checkpoint.
    ages : array_like of durations
        Ages of the nodes of a distribution at the first start; 0 by default.
    later : optional
        Another `source` for later attempts; by default the same as for the first.
    last_save : bool
        Whether a checkpoint is also written at the end of the work.

    Raises
    ------
    ArgumentError
        For invalid durations, a checkpoint without ``every``, or one that does not stop the work (``slowed``).

    Examples
    --------
    >>> plan = Checkpoint("117min", "5min", "10min")
    >>> round(expected_time(24, 500, plan, last_save=True), 2)
    547.91
    >>> from relfit.fitting.families import Weibull
    >>> round(expected_time(Weibull(0.7, 24.0), 500, plan, ages="10 days", later=Weibull(0.7, 24.0)), 2)
    540.18
    """
    first = time_to_failure(source, ages)
    again = first if later is None else time_to_failure(later)
    hours, pause = float(durations("work", work)), float(durations("restart", restart))
    if hours == 0.0:
        return 0.0
    with np.errstate(over="ignore"):
        return float(np.exp(log_expected_time(first, hours, checkpoint, pause, again, last_save=last_save)))


def log_expected_time(
    first: TimeToFailure,
    work: float,
    checkpoint: Checkpoint | None = None,
    restart: float = 0.0,
    later: TimeToFailure | None = None,
    *,
    last_save: bool = False,
) -> float:
    """Log of `expected_time`; without checkpoints it is also finite beyond the largest float."""
    again = first if later is None else later
    if checkpoint is None:
        once = attempts(hazards_of(first), [work])
        if again is first:
            return float(once.log_expected(restart)[0])
        return float(once.log_expected_then(restart, attempts(hazards_of(again), [work]).log_expected(restart))[0])
    if checkpoint.slowed < 1.0:
        raise ArgumentError(
            "the completion time is known only for checkpoints that stop the work", remedy="leave slowed out"
        )
    with np.errstate(divide="ignore"):
        if first.constant > 0.0 and first.constant == again.constant:
            checkpoint.segments(work)
            mtbf, every = 1.0 / first.constant, checkpoint.every
            return float(np.log(expected_exponential(mtbf, work, every, checkpoint, restart, last_save)))
        return float(np.log(_walk_back(first, again, work, checkpoint, restart, last_save)))


def best_checkpoint(
    first: TimeToFailure, work: float, checkpoint: Checkpoint, restart: float, later: TimeToFailure, near: float
) -> tuple[Checkpoint, float]:
    """The checkpoint with equal segments and the least expected time, and the log of that time.
    The number of segments is searched from that of `near` hours, by halving gaps to a twenty-fifth.
    """
    need_time_to_save(checkpoint)
    logs: dict[int, float] = {}

    def look(*numbers: int) -> int:
        for n in {max(number, 1) for number in numbers} - set(logs):
            logs[n] = log_expected_time(first, work, replace(checkpoint, every=work / n), restart, later)
        return min(logs, key=lambda n: (logs[n], n))

    start = max(round(work / near), 1)
    best = look(start // 2, start, 2 * start)
    while best in (min(logs), max(logs)) and (best > 1 or max(logs) == 1) and len(logs) < 40:
        best = look(best // 2, 2 * best)
    while True:
        below = max((n for n in logs if n < best), default=best)
        above = min((n for n in logs if n > best), default=best)
        if above - below <= max(2, best // 25):
            return replace(checkpoint, every=work / best), logs[best]
        best = look((below + best) // 2, (best + above + 1) // 2)


def need_time_to_save(checkpoint: Checkpoint) -> None:
    """Reject a save that takes no time if the best interval is requested."""
    if not checkpoint.save > 0.0:
        what = "a checkpoint that takes no time has no best interval"
        raise ArgumentError(what, remedy="say how long a checkpoint takes, or give every")


def hazards_of(life: TimeToFailure) -> Hazards:
    """Cumulative hazards of one time to failure, for `attempts`."""
    return lambda rows, x: -life.log_sf(x)


def log_expm1(value: npt.ArrayLike) -> FloatArray:
    """Log of ``exp(value) - 1`` for `value` of zero or more, without overflow."""
    v = np.asarray(value, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(np.isposinf(v), np.inf, v + log_one_minus_exp(-v))


@dataclass(frozen=True, eq=False)
class Attempts:
    """One attempt of a job on each of several systems, shape (r,)."""

    lengths: FloatArray  # hours without failures
    hazard: FloatArray  # cumulative over them: an attempt succeeds with probability exp(-hazard)
    log_mean: FloatArray  # log of the mean time an attempt takes until it succeeds or fails

    @property
    def lost(self) -> FloatArray:
        """Mean hours lost in a failed attempt, ``E[X | X < T]``; half the length if none can fail."""
        with np.errstate(invalid="ignore", divide="ignore", under="ignore"):
            # (A - T S) / F; for small hazards the difference cancels, and its limits are known
            value = (np.exp(self.log_mean) - self.lengths * np.exp(-self.hazard)) / -np.expm1(-self.hazard)
        return np.clip(np.where(self.hazard > 1e-9, value, 0.5 * self.lengths), 0.0, self.lengths)

    def log_expected(self, restart: FloatArray | float) -> FloatArray:
        """Log of the expected time if all attempts are alike, shape (r,); may exceed 709."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value = self.log_mean + self.hazard
            if np.any(restart):
                value = np.logaddexp(value, np.log(restart) + log_expm1(self.hazard))
        return np.maximum(np.where(np.isnan(value), np.inf, value), np.log(self.lengths))

    def log_expected_then(self, restart: FloatArray | float, log_again: FloatArray) -> FloatArray:
        """Log of the expected time if it is ``exp(log_again)`` after the first failure: ``A + F (R + E)``."""
        with np.errstate(divide="ignore", invalid="ignore"):
            after = np.logaddexp(np.log(np.asarray(restart, dtype=np.float64)), log_again)
            value = np.logaddexp(self.log_mean, log_one_minus_exp(-self.hazard) + after)
        return np.maximum(value, np.log(self.lengths))

    def log_expected_paper(self, restart: FloatArray | float, mttf: npt.ArrayLike) -> FloatArray:
        """Log of ``T + (M + R) F / (1 - F)`` with M the mean time to failure, as equation (6.1) is printed."""
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.log(np.asarray(mttf, dtype=np.float64) + restart)
            value = np.logaddexp(np.log(self.lengths), each + log_expm1(self.hazard))
        return np.asarray(np.where(np.isnan(value), np.log(self.lengths), value))


def attempts(hazards: Hazards, lengths: npt.ArrayLike, tolerance: float = 1e-11, levels: int = 7) -> Attempts:
    """One attempt on each system, shape (r,); the quadrature's step is halved until results agree to `tolerance`."""
    length = np.asarray(lengths, dtype=np.float64)
    rows = np.arange(length.size)
    hazard = hazards(rows, length[:, None])[:, 0]
    share = np.full(length.size, np.nan)
    step = _FIRST_STEP
    for _ in range(levels):
        value = _shares(hazards, rows, length[rows], step)
        agree = np.abs(value - share[rows]) <= tolerance * value
        share[rows] = value
        rows, step = rows[~agree], 0.5 * step
        if rows.size == 0:
            break
    with np.errstate(divide="ignore"):
        return Attempts(length, hazard, np.minimum(np.log(share), 0.0) + np.log(length))


def _shares(hazards: Hazards, rows: IntArray, length: FloatArray, step: float) -> FloatArray:
    """Mean of exp(-L) over each length, by a rule that handles powers and steps near zero.

    The trapezoidal rule over t with ``x = T / (1 + exp(-s))``, ``s = 2 sinh(t)``, far enough to the left.
    """
    share = np.zeros(rows.size)
    left = np.arange(rows.size)
    for reach in _REACHES:
        t = step * np.arange(-int(np.arcsinh(reach / _BEND) / step), int(_RIGHT / step) + 1)
        s = _BEND * np.sinh(t)
        place = 1.0 / (1.0 + np.exp(-s))
        weight = step * _BEND * np.cosh(t) * place / (1.0 + np.exp(np.minimum(s, 700.0)))
        with np.errstate(under="ignore"):
            share[left] = np.exp(-hazards(rows[left], length[left, None] * place)) @ weight
        left = left[place[0] > 1e-13 * share[left]]
        if left.size == 0:
            break
    return share


def _walk_back(
    first: TimeToFailure, again: TimeToFailure, work: float, plan: Checkpoint, restart: float, last_save: bool
) -> float:
    """Expected hours with checkpoints, or inf; ``after[k]`` is the mean time for the last k segments on restart."""
    count = plan.segments(work)
    used = min(count, _MOST_SEGMENTS)
    held, read = plan.exposed_save, plan.exposed_restore
    # hours in which nothing fails: of a save, of a failure
    aside, fall = plan.save - held, restart + plan.restore - read
    end = work - (count - 1) * plan.every + (held if last_save else 0.0)
    starts = (plan.every + held) * np.arange(used)
    alive, alive_end = again.sf(read + starts), again.sf(read + starts + end)
    saves = np.concatenate([[0.0], np.cumsum(alive[1:])])
    mean = _means(again, read + starts + end) + fall * (1.0 - alive_end) + aside * (saves + last_save * alive_end)
    here = alive[1] if used > 1 else alive_end[0]
    if here <= 0.0 or alive_end[0] <= 0.0:
        return math.inf
    lost = alive[:-1] - alive[1:]
    reach = int(np.count_nonzero(alive > 1e-17 * here))  # segments that an attempt may reach
    after = np.zeros(used + 1)  # from the far end: after[used - k] for k segments
    after[used - 1] = mean[0] / alive_end[0]
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(2, used + 1):
            segment, at = k - 1, used - k
            most = min(segment, reach)
            total = mean[segment] + float(lost[1:most] @ after[at + 1 : at + most])
            after[at] = (total + (alive[segment] - alive_end[segment]) * after[used - 1]) / here
            if not after[at] < 1e300:
                return math.inf
        alive, last = first.sf(starts), starts[-1] + end
        alive_last = float(first.sf(last))
        total = float(_means(first, np.array([last]))[0]) + fall * (1.0 - alive_last)
        total += aside * (float(alive[1:].sum()) + last_save * alive_last)
        total += float((alive[:-1] - alive[1:]) @ after[: used - 1]) + (alive[-1] - alive_last) * after[used - 1]
        return float(total + (count - used) * (after[0] - after[1]))


def _means(life: TimeToFailure, ends: FloatArray) -> FloatArray:
    """Integral of the reliability from 0 to each of the rising `ends`."""
    few = min(2, ends.size)
    near = np.exp(attempts(hazards_of(life), ends[:few]).log_mean)
    points, weights = gauss_legendre(12)
    half = 0.5 * np.diff(ends[few - 1 :])
    x = ends[few - 1 : -1, None] + half[:, None] * (1.0 + points)
    return np.concatenate([near, near[-1] + np.cumsum((life.sf(x) @ weights) * half)])
