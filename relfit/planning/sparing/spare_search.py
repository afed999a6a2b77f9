"""The number of spare blocks with the highest CETT, without and with the placement rule.

Racks that take several blocks down make CETT rise in steps, so every number is tried until more blocks down are
practically impossible. From there the logarithm of CETT is concave in the number of spares (working blocks times their
checkpoint efficiency, at a fixed as at the best interval), so the first decline ends the search. At reduced size every
number is tried.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.batches import over_groups
from relfit.base.numeric.compiled import njit
from relfit.base.numeric.ragged import offsets_of
from relfit.planning.sparing.blocks import SharedRacks
from relfit.planning.sparing.recovery import Recovery, losses

_CHUNK = 1_000_000  # cases of an exhaustive search held at once
_SURE = 1e-15  # probability of more blocks down that counts as zero
_NOTHING = 1e-25
_MOST_BLOCKS = 2e10  # of all cases
_MOST_TRIES = 1e12  # numbers of spare and of missing blocks, of all cases
_MOST_AT_ONCE = 5e7  # of one case


class _Cases(NamedTuple):
    """One entry per case."""

    blocks: IntArray
    own: FloatArray  # share of the blocks down by themselves
    per_rack: IntArray
    rack: FloatArray  # share of the racks down
    rate: FloatArray  # failures of a block per hour
    unit: IntArray


class _Costs(NamedTuple):
    """Hours that saves and failures cost."""

    save: float
    down: float
    disturbed: bool
    period: float  # NaN for the best


def best_spare_blocks(
    recovery: Recovery,
    zones: int,
    blocks: FloatArray,
    share_down: FloatArray,
    block_rate: FloatArray,
    racks: SharedRacks,
    unit: IntArray,
    workers: int | None = None,
) -> tuple[IntArray, IntArray]:
    """Best numbers of spare blocks of every case, without and with the placement rule; arguments as for `losses`, of
    one shape; `unit` has the blocks that must be placed together.
    """
    total, q, rate, size, rack, rack_rate = (
        np.ascontiguousarray(a, dtype=np.float64).ravel()
        for a in (blocks, share_down, block_rate, racks.blocks, racks.share_down, racks.rate)
    )
    units = np.ascontiguousarray(unit, dtype=np.int64).ravel()
    free, placed = np.empty((2, total.size), np.int64)
    if recovery.loss_limit:
        for number in np.unique(total).astype(int):
            members, spare = np.flatnonzero(total == number), np.arange(number)[:, None]
            step = max(1, _CHUNK // (number * (recovery.loss_limit + 1)))
            for some in (members[i : i + step] for i in range(0, members.size, step)):
                in_racks = SharedRacks(size[some], rack[some], rack_rate[some])
                _, lost = losses(recovery, total[some], spare, zones, q[some], rate[some], in_racks)
                value = (number - spare) * (1.0 - sum(lost.values()))
                free[some] = value.argmax(axis=0)
                placed[some] = np.where((number - spare) % units[some] == 0, value, -1.0).argmax(axis=0)
    else:
        cases = _Cases(total.astype(np.int64), SharedRacks(size, rack).own(q), size.astype(np.int64), rack, rate, units)
        period = np.nan if recovery.checkpoint_every is None else recovery.checkpoint_every
        costs = _Costs(recovery.save, recovery.detection + recovery.restart, recovery.disturbed, period)

        def work(first: int, last: int) -> None:
            _search(cases, costs, zones, free, placed, first, last)

        # each case is one "group" of the batch, weighted by its number of blocks
        over_groups(offsets_of(cases.blocks), work, workers)
    return free.reshape(blocks.shape), placed.reshape(blocks.shape)


def check_work(blocks: IntArray, spare_trays: IntArray, draws: int, limit: int, zones: int) -> None:
    """Reject a search that takes more than an hour, or too much memory; the error says what to make smaller."""
    what = f"{blocks.size * draws:,} strategies and draws of up to {int(blocks.max()):,} blocks"
    tries = float(zones) * draws * float(blocks.sum()) * (limit + 1.0) ** 2
    if limit and (float(blocks.max()) * (limit + 1.0) > _MOST_AT_ONCE or tries > _MOST_TRIES):
        remedy = Remedy("give a smaller loss_limit", "give a smaller --loss-limit")
        raise ArgumentError(f"{what} with up to {limit:,} missing are too much to try", remedy=remedy)
    if draws * max(float(blocks.sum()), float(blocks.size) * float(spare_trays.max())) > _MOST_BLOCKS:
        remedy = Remedy(
            "give fewer strategies (block=...), or a smaller cluster",
            "give fewer strategies (--block), or a smaller cluster",
        )
        raise ArgumentError(f"{what} are too many", remedy=remedy)


@njit(cache=True, nogil=True)
def _best_work(ratio: float) -> float:
    """The x with x e^x - e^x + 1 = ratio, by Newton's method from above."""
    if ratio <= 0.0:
        return 0.0
    x = min(math.sqrt(2.0 * ratio), 1.0 + math.log1p(ratio))
    for _ in range(60):
        grown = math.exp(x)
        if x < 0.05:
            value = x * x * (0.5 + x * (1.0 / 3.0 + x * (0.125 + x * (1.0 / 30.0 + x / 144.0))))
        else:
            value = x * grown - grown + 1.0
        step = (value - ratio) / (x * grown)
        x -= step
        if abs(step) <= 1e-12 * x:
            break
    return x


@njit(cache=True, nogil=True)
def _log_efficiency(rate: float, costs: _Costs) -> float:
    """Log of the share of running time that is useful."""
    save, period = costs.save, costs.period
    if rate <= 0.0:
        return 0.0 if math.isnan(period) else -math.log1p(save / period)
    # log of 1 + rate times the mean downtime, which is (e^(rate D) - 1)/rate if failures restart the recovery
    boost = rate * costs.down if costs.disturbed else math.log1p(rate * costs.down)
    if math.isnan(period):
        return -_best_work(rate * save * math.exp(-boost)) - boost
    load = rate * period
    if load > 700.0:
        return -(boost + load - math.log(load))
    return -boost - math.log((math.expm1(load) / load if load > 1e-12 else 1.0) + save / period * math.exp(-boost))


@njit(cache=True, nogil=True)
def _add_binomial(count: int, q: float, weight: float, first: int, out: np.ndarray) -> None:
    """Add `weight` times a binomial distribution to ``out[first:]``, from its mode outwards until it is negligible."""
    mode = min(int((count + 1) * q), count)
    log = math.lgamma(count + 1.0) - math.lgamma(mode + 1.0) - math.lgamma(count - mode + 1.0)
    if mode > 0:
        log += mode * math.log(q)
    if mode < count:
        log += (count - mode) * math.log1p(-q)
    top = weight * math.exp(log)
    odds = q / (1.0 - q) if q < 1.0 else np.inf
    value = top
    out[first + mode] += top
    for k in range(mode + 1, count + 1):
        value *= (count - k + 1.0) / k * odds
        out[first + k] += value
        if value < _NOTHING:
            break
    value = top
    for k in range(mode, 0, -1):
        value *= k / (count - k + 1.0) / odds
        out[first + k - 1] += value
        if value < _NOTHING:
            break


@njit(cache=True, nogil=True)
def _blocks_down(total: int, own: float, per_rack: int, rack: float) -> np.ndarray:
    """Probability of each number of blocks down, shape (total + 1,)."""
    out = np.zeros(total + 1)
    racks = total // per_rack
    weights = np.zeros(racks + 1)
    _add_binomial(racks, rack, 1.0, 0, weights)
    for down in range(racks + 1):
        if weights[down] >= _NOTHING:
            _add_binomial((racks - down) * per_rack, own, weights[down], down * per_rack, out)
    return out


@njit(cache=True, nogil=True)
def _search(
    cases: _Cases, costs: _Costs, zones: int, free: np.ndarray, placed: np.ndarray, first: int, last: int
) -> None:
    """Numbers of spare blocks with the highest CETT for the cases first..last."""
    for i in range(first, last):
        total, unit = cases.blocks[i], cases.unit[i]
        law = _blocks_down(total, cases.own[i], cases.per_rack[i], cases.rack[i])
        cdf, top, top_placed = 0.0, -np.inf, -np.inf
        free[i], placed[i] = 0, total - unit
        left = law.sum()
        over = False
        for spare in range(total):
            cdf += law[spare]
            left -= law[spare]
            fits = (total - spare) % unit == 0
            if cdf <= 0.0 or (over and not fits):
                continue
            value = math.log(total - spare) + zones * math.log(min(cdf, 1.0))
            if value <= top_placed and not left > _SURE:
                break
            if value > top or (fits and value > top_placed):
                rate = (total - spare) * zones * cases.rate[i]
                value += _log_efficiency(rate, costs)
                if value > top:
                    top, free[i] = value, spare
                elif not left > _SURE:
                    over = True
                if fits and (value > top_placed or top_placed == -np.inf):
                    top_placed, placed[i] = value, spare
                if fits and over:
                    break
