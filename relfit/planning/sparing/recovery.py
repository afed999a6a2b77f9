"""The cost of failures and checkpoints to a running job, also at reduced size (appendix C of the sparing paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.base.arguments import durations, whole
from relfit.base.arrays import Durations, FloatArray, IntArray, NumberArray
from relfit.base.errors import ArgumentError
from relfit.planning.sparing.blocks import SharedRacks, blocking_probability, blocks_down, job_blocked
from relfit.system.jobs.checkpoint import best_interval

LOSSES = ("blocked", "reduced", "saves", "rework", "detection", "restart")
_LONGEST = 1e200  # longest recovery, relative to an undisturbed one


@dataclass(frozen=True)
class Recovery:
    """How a job writes checkpoints and recovers from a failure.

    With a `loss_limit` of 0 any failure stops the complete job, as in the paper. Otherwise it continues at reduced size
    until more than `loss_limit` of its blocks are missing, either for lack of spares (until a repair ends), or because
    their unit recovers from a failure (during detection and restart). A failure beyond the limit returns the job to its
    last checkpoint. While more than `loss_limit` blocks are missing for lack of spares, the job is blocked. Blocks that
    a rack takes down together are all missing at once, and of as few units as possible.

    Attributes
    ----------
    checkpoint_every : float, duration or None
        Work between checkpoints, hours or text; None (the default) for the best.
    save, detection, restart : float or duration
        Time to write a checkpoint, to notice a failure, and from there to find spares, load the state and resume; 0 by
        default.
    disturbed : bool
        False (the default, as in the paper): failures during detection and restart cost nothing. True: they restart the
        recovery.
    loss_limit : int
        Missing blocks that the job, over all zones, tolerates; 0 by default.
    unit : int
        Blocks that stop together if one of them fails (a data-parallel replica); 1 by default.
    exchange : float or duration
        Time between exchanges of state among units; a unit that stops loses half of it on average; 0 by default.

    Examples
    --------
    >>> recovery = Recovery(checkpoint_every="250s", save="50ms", detection="60s", restart="6min")
    >>> round(recovery.restart, 3)
    0.1
    >>> Recovery(checkpoint_every="1s", save="5s")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    relfit.base.errors.ArgumentError: save of 5 s takes longer than the 1 s between checkpoints; save less ...
    """

    checkpoint_every: Any = None
    save: Any = 0.0
    detection: Any = 0.0
    restart: Any = 0.0
    disturbed: bool = False
    loss_limit: int = 0
    unit: int = 1
    exchange: Any = 0.0

    def __post_init__(self) -> None:
        for name in ("save", "detection", "restart", "exchange"):
            object.__setattr__(self, name, float(durations(name, getattr(self, name))))
        object.__setattr__(self, "loss_limit", int(whole("loss_limit", self.loss_limit, 0)))
        object.__setattr__(self, "unit", int(whole("unit", self.unit, 1)))
        if self.checkpoint_every is not None:
            every = float(durations("checkpoint_every", self.checkpoint_every, zero=False))
            object.__setattr__(self, "checkpoint_every", every)
            if self.save > every:
                seconds = f"save of {3600 * self.save:.4g} s takes longer than the {3600 * every:.4g} s"
                raise ArgumentError(f"{seconds} between checkpoints", remedy="save less often or faster")


def losses(
    recovery: Recovery,
    blocks: FloatArray,
    spare_blocks: NumberArray,
    zones: int,
    share_down: FloatArray,
    block_rate: FloatArray,
    racks: SharedRacks | None = None,
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Work between checkpoints (hours), and the shares of the job's GPU hours that are lost, by `LOSSES`.

    Of the cases, which broadcast, `blocks` and `spare_blocks` are those of a zone, `share_down` is the share of time
    that a block is in repair, and `block_rate` counts failures per hour of one working block that interrupt the job.

    Sparing paper, equations 5 and 7, with the number of working blocks and their MTBF in equation 5. At reduced size,
    the failures whose units recover are Poisson with mean (failure rate) x (detection + restart), independent of the
    blocks in repair; full stops occur at the failure rate times the probability that a failure exceeds the limit. A
    rack that fails has all its blocks in the job.
    """
    working = (blocks - spare_blocks) * zones
    rate = working * block_rate
    detection, restart = recovery.detection, recovery.restart
    longer: FloatArray = np.ones(())
    if recovery.disturbed:  # (e^(rate D) - 1)/rate instead of D
        with np.errstate(over="ignore"):
            longer = np.minimum(special.exprel(rate * (detection + restart)), _LONGEST)
    detecting, restarting = detection * longer, restart * longer
    missing = dropped = np.zeros(())
    if recovery.loss_limit:
        blocked, missing, stops, dropped = reduced_size(recovery, blocks, spare_blocks, zones, share_down, rate, racks)
    else:
        blocked, stops = job_blocked(blocking_probability(blocks, spare_blocks, share_down, racks), zones), rate
    shape = np.broadcast_shapes(stops.shape, np.shape(blocked))
    if recovery.checkpoint_every is not None:
        every = np.full(shape, recovery.checkpoint_every)
    else:
        with np.errstate(divide="ignore"):
            mean = 1.0 / np.asarray(stops)
        every = np.broadcast_to(best_interval(mean, recovery.save, detecting + restarting, exposed=()), shape)
    parts = _running(stops, every, recovery.save, detecting, restarting)
    up = 1.0 - blocked
    lost = {name: up * parts[name] for name in parts if name != "useful"}
    # work lost at reduced size; a failure also costs its unit half an exchange
    useful, reduced = up * parts["useful"], np.minimum(missing / working, 1.0)
    repeated = np.minimum(dropped * recovery.unit * 0.5 * recovery.exchange / working, 1.0)
    lost["rework"] = lost["rework"] + useful * (1.0 - reduced) * repeated
    return every, {"blocked": blocked, "reduced": useful * reduced, **lost}


def _running(
    rate: object, every: Durations, save: float, detection: FloatArray, restart: FloatArray
) -> dict[str, FloatArray]:
    """Shares of a running job's time by use; they add up to one."""
    lam, work = np.asarray(rate, dtype=np.float64), np.asarray(every, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        load = np.where(np.isinf(work) & (lam == 0.0), 0.0, lam * work)
        useful = np.where(np.isposinf(load), 0.0, 1.0 / special.exprel(load))  # lambda T / (e^(lambda T) - 1)
        saves = np.where(work > 0.0, save / np.where(work > 0.0, work, 1.0), 0.0 if save == 0.0 else np.inf)
        whole_time = 1.0 + lam * (detection + restart) + saves * useful
        never = np.isinf(saves)
        parts = {"useful": useful, "saves": saves * useful, "rework": 1.0 - useful}
        parts |= {"detection": lam * detection, "restart": lam * restart}
        return {name: np.where(never, float(name == "saves"), part / whole_time) for name, part in parts.items()}


def reduced_size(
    recovery: Recovery,
    blocks: npt.ArrayLike,
    spare_blocks: npt.ArrayLike,
    zones: int,
    share_down: npt.ArrayLike,
    rate: FloatArray,
    racks: SharedRacks | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Probability of blocking; while running, mean missing blocks, and per hour full stops and units exchanged."""
    total, spare, q, rate = np.broadcast_arrays(blocks, spare_blocks, share_down, rate)
    limit, unit = recovery.loss_limit, recovery.unit
    m = np.arange(limit + 1).reshape((-1,) + (1,) * rate.ndim)
    # missing blocks of one zone: none with probability P(N <= R), m with P(N = R + m)
    none = 1.0 - blocking_probability(total, spare, q, racks)
    one = np.where(m == 0, none, blocks_down(spare + m, total, q, racks))
    # failures of one block and of a rack: blocks that they stop, and their rates
    working = total - spare
    in_rack, of_rack = (1.0, 0.0) if racks is None else (racks.blocks, racks.rate)
    size = np.broadcast_to(unit * np.ceil(in_rack / unit), rate.shape).astype(int)
    racks_fail = np.minimum(working * zones / in_rack * of_rack, rate)
    failures = ((np.full_like(size, unit), rate - racks_fail), (size, racks_fail))
    recovering = _recovering(failures, (recovery.detection + recovery.restart) / zones, limit)
    either, can_fail = _plus(one, recovering), _plus(one * np.clip(1.0 - m / working, 0.0, 1.0), recovering)
    every, joint, hit = one, either, can_fail  # over all zones; `hit` times the share of blocks that can fail
    for _ in range(zones - 1):
        every, joint, hit = _plus(every, one), _plus(joint, either), _plus(hit, either)
    running = joint.sum(axis=0)
    stops = dropped = np.zeros(rate.shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        missing = np.where(running > 0.0, (m * joint).sum(axis=0) / running, 0.0)
        hit = np.where(running > 0.0, hit / running, m == limit)
    for stopped, each in failures:
        beyond = np.where(m > limit - stopped, hit, 0.0).sum(axis=0)
        stops = stops + each * beyond
        dropped = dropped + each * (hit.sum(axis=0) - beyond) * stopped / unit
    return np.clip(1.0 - every.sum(axis=0), 0.0, 1.0), missing, stops, dropped


def _plus(some: FloatArray, more: FloatArray) -> FloatArray:
    """Probabilities of the sum of two numbers of blocks, along the first axis, cut off at its length."""
    total = np.zeros_like(more)
    for i, p in enumerate(some):
        total[i:] += p * more[: len(more) - i]
    return total


def _recovering(failures: Sequence[tuple[IntArray, FloatArray]], hours: float, limit: int) -> FloatArray:
    """Probabilities of 0 to `limit` recovering blocks: a compound Poisson sum, by Panjer's recursion."""
    law = np.zeros((limit + 1, *failures[0][1].shape))
    law[0] = np.exp(-hours * sum(each for _, each in failures))
    for m in range(1, limit + 1):
        for stopped, each in failures:
            before = np.take_along_axis(law, np.maximum(m - stopped, 0)[None], axis=0)[0]
            law[m] += np.where(m >= stopped, stopped / m * hours * each * before, 0.0)
    return law
