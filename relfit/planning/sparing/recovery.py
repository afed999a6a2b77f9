"""What failures and checkpoints cost a running job, for several schemes of recovery (appendix C of the sparing paper).

A scheme is a function from a `Situation` to the shares of the job's GPU hours that are lost, by reason. `synchronous`
is the paper's; `SemiSynchronous` lets the job go on at reduced size; any function of the user's own will do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.arguments import durations, whole
from relfit.errors import ArgumentError

__all__ = ["LOSSES", "Recovery", "Scheme", "SemiSynchronous", "Situation", "best_period", "synchronous"]

FloatArray = npt.NDArray[np.float64]

LOSSES = ("blocked", "reduced", "saves", "rework", "detection", "restart", "other")
_LONGEST = 1e200  # times as long as an undisturbed recovery
_GOLDEN = 0.5 * (5.0**0.5 - 1.0)


@dataclass(frozen=True, eq=False)
class Situation:
    """What a recovery scheme is asked about; arrays that broadcast, times in hours.

    Attributes
    ----------
    blocks, spare_blocks : ndarray
        Of a zone (L and R).
    zones : int
    share_down : ndarray
        Share of time that a block is in repair (q).
    mttr : ndarray
        Mean time to repair.
    block_failure_rate : ndarray
        Failures an hour of one working block that interrupt the job (1/MTBF_F).
    save, detection, restart : float
        Time to save a checkpoint, to notice a failure, to restart.
    period : ndarray
        Work between checkpoints.
    disturbed : bool
        Whether a failure during detection and restart starts them again.
    """

    blocks: FloatArray
    spare_blocks: FloatArray
    zones: int
    share_down: FloatArray
    mttr: FloatArray
    block_failure_rate: FloatArray
    save: float
    detection: float
    restart: float
    period: FloatArray
    disturbed: bool = False

    @property
    def working_blocks(self) -> FloatArray:
        """Working blocks of the job, all zones together (W)."""
        return (self.blocks - self.spare_blocks) * self.zones

    @property
    def failure_rate(self) -> FloatArray:
        """Failures an hour that hit the job."""
        return self.working_blocks * self.block_failure_rate

    @property
    def downtimes(self) -> tuple[FloatArray, FloatArray]:
        """Mean time in detection and in restart a stop; where recovery is disturbed, (e^(rate D) - 1)/rate together."""
        longer = np.ones(())
        if self.disturbed:
            with np.errstate(over="ignore"):
                longer = np.minimum(special.exprel(self.failure_rate * (self.detection + self.restart)), _LONGEST)
        return np.asarray(self.detection * longer), np.asarray(self.restart * longer)


Scheme = Callable[[Situation], Mapping[str, npt.ArrayLike]]


def best_period(failure_rate: Any, save: Any, downtime: Any) -> FloatArray:
    r"""Work between checkpoints that makes a job that fails at a constant rate most efficient, in hours.

    .. math:: T_c = x/\lambda, \quad x = 1 + W_0\left(\frac{T_s/A - 1}{e}\right), \quad A = 1/\lambda + T_d + T_r

    with :math:`W_0` the Lambert function; two steps of Newton's method restore the digits that the branch point of
    :math:`W_0` costs when saves are short.

    Parameters
    ----------
    failure_rate : array_like
        Failures of the job an hour.
    save, downtime : array_like
        Time to save, and to detect and restart together, hours.

    Returns
    -------
    ndarray
        Infinite where nothing fails, 0 where a save takes no time.

    Examples
    --------
    >>> (best_period(1.7, 0.05 / 3600, 7 / 60) * 3600).round(2).tolist()
    13.27
    """
    rate, cost, down = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.float64) for value in (failure_rate, save, downtime))
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x = _best_work(rate * cost / (1.0 + rate * down))
        return np.asarray(np.where(rate > 0.0, x / rate, np.where(cost > 0.0, np.inf, 0.0)))


def _best_work(ratio: FloatArray) -> FloatArray:
    """The x with ``x e^x - e^x + 1`` equal to `ratio`."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x = 1.0 + np.real(special.lambertw((ratio - 1.0) / math.e, 0))
        x = np.where(ratio < 1e-4, np.sqrt(2.0 * ratio), x)  # W0 has no digits left near its branch point
        for _ in range(5):
            x = np.where(x > 0.0, x - (_work_function(x) - ratio) / (x * np.exp(x)), 0.0)
    return np.asarray(np.where(np.isposinf(ratio), np.inf, x))


def _work_function(x: FloatArray) -> FloatArray:
    """``x e^x - e^x + 1`` without cancellation near zero."""
    small = np.minimum(x, 0.3)
    series = np.zeros_like(small)
    for n in range(14, 1, -1):
        series = series * small + (n - 1) / special.factorial(n)
    return np.where(x < 0.3, series * small * small, x * np.exp(x) - np.expm1(x))


def _running(rate: Any, period: Any, save: Any, detection: Any, restart: Any) -> dict[str, FloatArray]:
    """Shares of a running job's time by what it is spent on; they add to one."""
    lam, work = np.asarray(rate, dtype=np.float64), np.asarray(period, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        load = np.where(np.isinf(work) & (lam == 0.0), 0.0, lam * work)
        kept = np.where(np.isposinf(load), 0.0, 1.0 / special.exprel(load))  # lambda T / (e^(lambda T) - 1)
        saves = np.where(work > 0.0, save / np.where(work > 0.0, work, 1.0), 0.0 if np.all(save == 0.0) else np.inf)
        whole_time = 1.0 + lam * (detection + restart) + saves * kept
        never = np.isinf(saves)
        return {
            "useful": np.where(never, 0.0, kept / whole_time),
            "saves": np.where(never, 1.0, np.where(never, 0.0, saves) * kept / whole_time),
            "rework": np.where(never, 0.0, (1.0 - kept) / whole_time),
            "detection": np.where(never, 0.0, lam * detection / whole_time),
            "restart": np.where(never, 0.0, lam * restart / whole_time),
        }


def _check_own(losses: Mapping[str, npt.ArrayLike], shape: tuple[int, ...]) -> dict[str, FloatArray]:
    """What a scheme returned, as arrays; nameless kinds of loss are rejected, and shapes that fit no case."""
    if not isinstance(losses, Mapping):
        raise ArgumentError(
            f"the recovery scheme returned {type(losses).__name__}", remedy=f"return a dict of {', '.join(LOSSES)}"
        )
    strange = set(losses) - set(LOSSES)
    if strange:
        raise ArgumentError(
            f"the recovery scheme returned {', '.join(sorted(map(str, strange)))}", remedy=f"use {', '.join(LOSSES)}"
        )
    arrays = {name: np.asarray(value, dtype=np.float64) for name, value in losses.items()}
    for name, value in arrays.items():
        try:
            np.broadcast_to(value, shape)
        except ValueError:
            raise ArgumentError(
                f"the recovery scheme returned {name} of shape {value.shape} for cases of shape {shape}",
                remedy="compute with the arrays of the situation",
            ) from None
    if not all(np.all(a >= -1e-9) for a in arrays.values()):  # catches NaN too
        raise ArgumentError("the recovery scheme returned losses below zero or NaN", remedy="return shares of hours")
    total = np.asarray(sum(arrays.values(), start=np.zeros(())))
    # first-order formulas lose more than everything where nothing gets done
    return {name: np.where(np.isinf(a), 1.0, a / np.maximum(total, 1.0)) for name, a in arrays.items()}


def synchronous(situation: Situation) -> dict[str, FloatArray]:
    """The paper's scheme: any failure stops the whole job, which goes back to its last checkpoint.

    Source: sparing paper, equations 5 and 7, with the number of working blocks and their MTBF in equation 5.

    Parameters
    ----------
    situation : Situation

    Returns
    -------
    dict from str to ndarray
        Shares of the job's GPU hours.
    """
    from relfit.planning.sparing.blocking import blocking_probability, job_blocked

    s = situation
    blocked = job_blocked(blocking_probability(s.blocks, s.spare_blocks, s.share_down), s.zones)
    parts = _running(s.failure_rate, s.period, s.save, *s.downtimes)
    return {"blocked": blocked, **{name: (1.0 - blocked) * parts[name] for name in parts if name != "useful"}}


@dataclass(frozen=True)
class SemiSynchronous:
    """The job goes on at reduced size until more than `limit` of its blocks are missing; then it stops as a whole.

    Blocks are missing because spares have run out (until a repair ends), or because their unit is being brought back
    after a failure (for the time of detection and restart, with the state of the others). When a failure takes the job
    beyond the limit it goes back to its last checkpoint; while spares alone leave more than `limit` missing, it is
    blocked.

    Attributes
    ----------
    limit : int
        Missing blocks that the job, all zones together, can stand; 0 gives the fully synchronous scheme.
    unit : int
        Blocks that drop out together when one of them fails (a data-parallel replica).
    exchange : float or duration
        Time between exchanges of state among units; a unit that drops out loses half of it on average.

    Notes
    -----
    Units being brought back are Poisson distributed with mean (failure rate) x (detection + restart), independent of
    the blocks in repair; full stops come at the rate of failures times the probability that one takes the job beyond
    its limit. With `limit` 0 this is the paper's closed form.

    Examples
    --------
    >>> SemiSynchronous(limit=8, unit=2).limit
    8
    """

    limit: int
    unit: int = 1
    exchange: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", int(whole("limit", self.limit, 0)))
        object.__setattr__(self, "unit", int(whole("unit", self.unit, 1)))
        object.__setattr__(self, "exchange", float(durations("exchange", self.exchange)))

    def stop_rate(self, situation: Situation) -> FloatArray:
        """Full stops an hour of running."""
        return self._states(situation)[2]

    def best_period(self, situation: Situation) -> FloatArray:
        """Best work between checkpoints: by Lambert W, with the rate of full stops."""
        return best_period(self.stop_rate(situation), situation.save, sum(situation.downtimes))

    def __call__(self, situation: Situation) -> dict[str, FloatArray]:
        """Shares of the job's GPU hours that are lost."""
        blocked, missing, stops, dropped = self._states(situation)
        parts = _running(stops, situation.period, situation.save, *situation.downtimes)
        up = 1.0 - blocked
        lost = {name: up * parts[name] for name in parts if name != "useful"}
        useful = up * parts["useful"]
        # a failure that does not stop the job costs its unit the work since the last exchange
        working = situation.working_blocks
        repeated = np.minimum(dropped * self.unit * 0.5 * self.exchange / working, 1.0)
        reduced = np.minimum(missing / working, 1.0)
        lost["reduced"] = useful * reduced
        lost["rework"] = lost["rework"] + useful * (1.0 - reduced) * repeated
        return {"blocked": blocked, **lost}

    def _states(self, s: Situation) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Probability of blocking; missing blocks, full stops an hour and single drops an hour while running."""
        total, spare, q = np.broadcast_arrays(s.blocks, s.spare_blocks, s.share_down)
        rate = np.broadcast_to(s.failure_rate, np.broadcast_shapes(total.shape, np.shape(s.failure_rate)))
        shape = rate.shape
        total, spare, q = (np.broadcast_to(a, shape) for a in (total, spare, q))
        m = np.arange(self.limit + 1).reshape((-1,) + (1,) * len(shape))
        # missing blocks of one zone: none with probability P(N <= R), m with P(N = R + m)
        one = np.where(m == 0, special.bdtr(spare, total.astype(np.int64), q), _binomial(spare + m, total, q))
        every = one
        for _ in range(s.zones - 1):
            every = _convolve(every, one)
        back = rate * (s.detection + s.restart)  # units being brought back, on average
        units = np.arange(self.limit // self.unit + 1).reshape((-1,) + (1,) * len(shape))
        waiting = np.exp(special.xlogy(units, back) - back - special.gammaln(units + 1.0))
        joint = np.zeros_like(every)  # missing for either reason, up to the limit
        for u in range(units.size):
            joint[u * self.unit :] += waiting[u] * every[: every.shape[0] - u * self.unit]
        running = joint.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            missing = np.where(running > 0.0, (m * joint).sum(axis=0) / running, 0.0)
            edge = joint[max(self.limit - self.unit + 1, 0) :].sum(axis=0)
            beyond = np.where(running > 0.0, np.minimum(edge / running, 1.0), 1.0)
        blocked = np.clip(1.0 - every.sum(axis=0), 0.0, 1.0)
        if self.limit == 0:  # the survival function keeps the digits
            from relfit.planning.sparing.blocking import blocking_probability, job_blocked

            blocked = job_blocked(blocking_probability(total, spare, q), s.zones)
        return blocked, missing, rate * beyond, rate * (1.0 - beyond)


def _binomial(k: FloatArray, n: FloatArray, p: FloatArray) -> FloatArray:
    inside = k <= n
    k = np.where(inside, k, 0.0)
    log = special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0)
    return np.where(inside, np.exp(log + special.xlogy(k, p) + special.xlog1py(n - k, -p)), 0.0)


def _convolve(a: FloatArray, b: FloatArray) -> FloatArray:
    """Distribution of the sum of two independent counts, cut off at the same limit (first axis)."""
    out = np.zeros_like(a)
    for i in range(a.shape[0]):
        out[i:] += a[i] * b[: a.shape[0] - i]
    return out


@dataclass(frozen=True)
class Recovery:
    """How a job saves its state and comes back after a failure.

    Attributes
    ----------
    period : float, duration or None
        Work between checkpoints; None for the best.
    save, detection, restart : float or duration
        Time to save a checkpoint, to notice a failure, to find spares, load the state and restart.
    scheme : callable
        `synchronous` (the default), `SemiSynchronous`, or a function from a `Situation` to the shares of the job's GPU
        hours that are lost, by name (`LOSSES`); what is not lost is useful. Losses that add to more than one are scaled
        down to one.
    disturbed : bool
        False, as in the paper: failures during detection and restart cost nothing. True: they start them again.

    Examples
    --------
    >>> recovery = Recovery(period="250s", save="50ms", detection="60s", restart="6min")
    >>> round(recovery.restart, 3)
    0.1
    >>> Recovery(period="1s", save="5s")
    Traceback (most recent call last):
    relfit.errors.ArgumentError: save of 5 s takes longer than the period of 1 s; save less often or faster
    """

    period: Any = None
    save: Any = 0.0
    detection: Any = 0.0
    restart: Any = 0.0
    scheme: Scheme = field(default=synchronous)
    disturbed: bool = False

    def __post_init__(self) -> None:
        for name in ("save", "detection", "restart"):
            object.__setattr__(self, name, float(durations(name, getattr(self, name))))
        if self.period is not None:
            object.__setattr__(self, "period", float(durations("period", self.period, zero=False)))
            if self.save > self.period:
                raise ArgumentError(
                    f"save of {3600 * self.save:.4g} s takes longer than the period of {3600 * self.period:.4g} s",
                    remedy="save less often or faster",
                )
        if not callable(self.scheme):
            raise ArgumentError(f"scheme is {self.scheme!r}", remedy="give synchronous, SemiSynchronous or a function")

    def losses(self, situation: Situation) -> dict[str, FloatArray]:
        """What the scheme loses, checked."""
        shape = np.broadcast_shapes(np.shape(situation.failure_rate), np.shape(situation.period))
        return _check_own(self.scheme(situation), shape)

    def periods(self, situation: Situation) -> FloatArray:
        """The period in force: the one given, or the best for each case.

        For a function of the user's own the best one is searched between the time of a save and 10 000 h.
        """
        if self.period is not None:
            return np.full(np.broadcast_shapes(*(np.shape(a) for a in _arrays(situation))), self.period)
        if self.scheme is synchronous:
            return best_period(situation.failure_rate, self.save, sum(situation.downtimes))
        if isinstance(self.scheme, SemiSynchronous):
            return self.scheme.best_period(situation)
        return self._searched(situation)

    def _searched(self, situation: Situation) -> FloatArray:
        shape = np.broadcast_shapes(*(np.shape(a) for a in _arrays(situation)))
        low = np.full(shape, np.log(max(self.save, 1e-6)))
        high = np.full(shape, np.log(1e4))

        def lost(log_period: FloatArray) -> FloatArray:
            found = self.losses(replace(situation, period=np.exp(log_period)))
            return np.broadcast_to(sum(found.values(), start=np.zeros(())), shape)

        a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        at_a, at_b = lost(a), lost(b)
        for _ in range(60):
            left = at_a <= at_b
            low, high = np.where(left, low, a), np.where(left, b, high)
            new = np.where(left, high - _GOLDEN * (high - low), low + _GOLDEN * (high - low))
            at_new = lost(new)
            a, b, at_a, at_b = (
                np.where(left, new, b),
                np.where(left, a, new),
                np.where(left, at_new, at_b),
                np.where(left, at_a, at_new),
            )
        return np.exp(0.5 * (low + high))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        name = getattr(self.scheme, "__name__", None) or repr(self.scheme)
        times = {key: getattr(self, key) for key in ("period", "save", "detection", "restart")}
        return {**times, "scheme": name, "disturbed": self.disturbed}


def _arrays(s: Situation) -> list[FloatArray]:
    return [s.blocks, s.spare_blocks, s.share_down, s.mttr, s.block_failure_rate]
