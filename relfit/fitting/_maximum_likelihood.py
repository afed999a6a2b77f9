"""Maximum likelihood of any distribution for durations of every kind: existence, starting values and the search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.batches import over_groups
from relfit.base.numeric.newton import Maximum, maximise, whitening
from relfit.base.numeric.ordering import changes
from relfit.base.numeric.ragged import sums
from relfit.fitting import conditional_kernels, status
from relfit.fitting.estimates import Estimates, jacobian
from relfit.fitting.families import Family, Weibull
from relfit.fitting.families.base import EULER, LOG_WEIBULL_SD
from relfit.fitting.families.mixtures import Mixture
from relfit.fitting.likelihood import LogLikelihood
from relfit.log.lifedata import LifeData

_ITERATIONS = 60
# splits: the share of each phase, and its mean life relative to the mean of all
_SPLITS = {
    2: (((0.5, 0.5), (0.2, 1.8)), ((0.15, 0.85), (0.02, 1.2)), ((0.9, 0.1), (0.6, 4.6))),
    3: (((0.34, 0.33, 0.33), (0.05, 0.6, 2.3)), ((0.1, 0.8, 0.1), (0.01, 0.8, 3.5))),
}
_ENOUGH = 10  # lives from which fewer failures than parameters give an estimate
_LIVES_AT_ONCE = 1 << 17
_DIRECTIONS, _DISTANCES = 24, (0.5, 1.0, 2.0, 3.0)  # where to look for a higher value, in standard errors
_LEAST_FALL = 0.2  # of what a parabola falls there
_CLIMBS = 3


def mixture_starts(family: type[Mixture], lives: LifeData) -> FloatArray:
    """Parameters that EM reaches from several rough splits of observed or right-censored lives, (starts, groups, k).
    EM (Dempster, Laird and Rubin 1977) ends near a stationary point, where Newton's method goes on. The parameters are
    the weights of all phases (exponential or Weibull) but the last, then theirs. A group needs a failure above zero.
    """
    example = family.unchecked(*np.ones(len(family.parameter_names()))).phases()
    weibull = isinstance(example[0][1], Weibull)
    sums = _Sums(lives)
    mean = sums.total(sums.time) / np.maximum(sums.failures, 0.5)
    starts = []
    for shares, means in _SPLITS[len(example)]:
        weight = np.repeat(np.array(shares)[:, None], lives.n_groups, axis=1)
        scale = mean[None] * np.array(means)[:, None]
        shape = np.ones_like(scale)
        for _ in range(_ITERATIONS):
            weight, shape, scale = _improve(sums, weight, shape, scale, weibull)
        order = np.argsort(scale, axis=0)
        weight, shape, scale = (np.take_along_axis(a, order, axis=0) for a in (weight, shape, scale))
        phases = np.stack([shape, scale], axis=1).reshape(-1, lives.n_groups) if weibull else 1.0 / scale
        starts.append(np.concatenate([weight[:-1], phases]).T)
    return np.stack(starts)


def hollow(family: type[Mixture], parameters: FloatArray, lives: LifeData) -> npt.NDArray[np.bool_]:
    """Groups in which a phase has fewer failures than parameters + 1: a spurious maximum is near; shape (groups,)."""
    codes = lives.group_codes()
    rows = parameters[codes]
    phases = family.unchecked(*(rows[:, i] for i in range(rows.shape[1]))).phases()
    ended = lives.ends < np.inf
    middle = np.where(lives.observed, lives.durations, 0.5 * (lives.durations + np.where(ended, lives.ends, 0.0)))
    with np.errstate(all="ignore"):
        joint = np.stack([log_weight + phase.log_pdf(middle) for log_weight, phase in phases])
        share = np.exp(joint - joint.max(axis=0))
        share /= share.sum(axis=0)
    weight = np.ones(codes.size) if lives.weights is None else lives.weights.astype(np.float64)
    share = np.where(ended & np.isfinite(share), share * weight, 0.0)
    least = np.min([np.bincount(codes, part, lives.n_groups) for part in share], axis=0)
    return np.asarray(least < len(phases[0][1].parameter_names()) + 1.0)


class _Sums:
    """The lives as flat arrays, and sums over groups."""

    def __init__(self, lives: LifeData) -> None:
        self.codes = lives.group_codes()
        self.groups = lives.n_groups
        self.time = np.where(lives.durations > 0.0, lives.durations, 1e-300)
        self.log = np.log(self.time)
        self.observed = lives.observed.astype(np.float64)
        self.failures = self.total(self.observed)
        self.count = np.maximum(self.total(np.ones_like(self.time)), 1.0)

    def total(self, values: FloatArray) -> FloatArray:
        return np.bincount(self.codes, values, self.groups).astype(np.float64)


def _improve(
    sums: _Sums, weight: FloatArray, shape: FloatArray, scale: FloatArray, weibull: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """One step of EM; arrays have shape (phases, groups)."""
    c = sums.codes
    with np.errstate(all="ignore"):
        relative = sums.log[None] - np.log(scale)[:, c]
        spent = np.exp(np.minimum(shape[:, c] * relative, 700.0))
        log_density = np.log(shape / scale)[:, c] + (shape[:, c] - 1.0) * relative
        joint = np.log(weight)[:, c] + sums.observed * log_density - spent
        joint -= joint.max(axis=0)
        share = np.exp(joint)
        share /= share.sum(axis=0)
    share = np.where(np.isfinite(share), share, 1.0 / len(weight))
    new_weight = np.stack([sums.total(s) for s in share]) / sums.count
    new_weight = np.clip(new_weight, 1e-4, 1.0 - 1e-4)
    new_weight /= new_weight.sum(axis=0)
    events = np.stack([sums.total(s * sums.observed) for s in share])
    usable = events > 0.05
    if weibull:
        shape = np.where(usable, _shape_step(sums, share, events, shape), shape)
    with np.errstate(all="ignore"):
        power = np.stack(
            [
                sums.total(s * np.exp(b[c] * (sums.log - np.log(a)[c])))
                for s, a, b in zip(share, scale, shape, strict=True)
            ]
        )
        grown = scale * (power / np.maximum(events, 1e-300)) ** (1.0 / shape)
    return new_weight, shape, np.where(usable & np.isfinite(grown) & (grown > 0.0), grown, scale)


def _shape_step(sums: _Sums, share: FloatArray, events: FloatArray, shape: FloatArray) -> FloatArray:
    """One Newton step of the weighted Weibull score in the log of the shape, kept within a factor of two."""
    c = sums.codes
    out = []
    with np.errstate(all="ignore"):
        for s, d, b in zip(share, events, shape, strict=True):
            top = np.full(sums.groups, -np.inf)
            np.maximum.at(top, c, sums.log)
            z = sums.log - top[c]
            w = s * np.exp(b[c] * z)
            a0, a1, a2 = sums.total(w), sums.total(w * z), sums.total(w * z * z)
            score = 1.0 / b + sums.total(s * sums.observed * z) / d - a1 / a0
            slope = -1.0 / b**2 - (a2 / a0 - (a1 / a0) ** 2)
            step = np.clip(-score / (slope * b), -0.7, 0.7)
            out.append(np.clip(b * np.exp(np.where(np.isfinite(step), step, 0.0)), 0.05, 50.0))
    return np.stack(out)


def existence(family: type[Family], lives: LifeData) -> npt.NDArray[np.int8]:
    """Status of every group before any search, shape (groups,).

    A family of two or more parameters is not fitted to fewer failures than it has parameters among fewer than ten
    lives, one of three or more parameters not to fewer distinct failure times than parameters. It has no estimate where
    one failure time agrees with all lives of a group, since the likelihood then grows without bound, or to its limit,
    as the spread vanishes. A life that ended, or is known to have lasted, just as long as its entry agrees with every
    earlier failure time, since the hazard there grows without bound too; so does one that ended at its exit with every
    later one. A stationary life, whose density is bounded, agrees with every failure time that is not before its end.
    """
    count = len(family.parameter_names())
    starts, sizes = lives.offsets[:-1], lives.sizes
    codes = np.full(lives.n_groups, status.OK, dtype=np.int8)
    failures = lives.n_failures
    if count > 1:
        early, late = lives.durations, lives.ends
        if lives.entry is not None:
            early = np.where((lives.entry > 0.0) & (lives.entry == early), -np.inf, early)
        if lives.exit is not None:
            late = np.where(lives.exit == late, np.inf, late)
        if lives.stationary is not None:
            late = np.where(lives.stationary, np.inf, late)
        if lives.weights is not None:
            early, late = np.where(lives.weights > 0, (early, late), ((-np.inf,), (np.inf,)))
        latest = _by_group(np.maximum, early, starts, sizes, -np.inf)
        first = _by_group(np.minimum, late, starts, sizes, np.inf)
        codes[(failures < count) & (lives.n_lives < _ENOUGH)] = status.FEW
        alike = (latest <= first) & (first < np.inf)
        codes[alike] = status.NO_VARIANCE
        codes[alike & (failures == 1)] = status.TOO_FEW
        if count > 2:
            codes[_distinct_failures(lives) < count] = status.TOO_FEW
    if not family.density_at_zero:
        codes[lives.n_zeros > 0] = status.ZEROS
    codes[failures == 0] = status.ALL_CENSORED
    codes[lives.n_lives == 0] = status.TOO_FEW
    return codes


def _by_group(ufunc: np.ufunc, values: FloatArray, starts: IntArray, sizes: IntArray, empty: float) -> FloatArray:
    out = np.full(sizes.size, empty, dtype=np.float64)
    filled = sizes > 0
    if filled.any():
        out[filled] = ufunc.reduceat(values, starts[filled])
    return out


def _distinct_failures(lives: LifeData) -> npt.NDArray[np.int64]:
    ended = lives.ends < np.inf
    if lives.weights is not None:
        ended &= lives.weights > 0
    code = lives.group_codes()[ended]
    low, high = lives.durations[ended], lives.ends[ended]
    order = np.lexsort((high, low, code))
    new = order[changes(code[order], low[order], high[order])]
    return np.bincount(code[new], minlength=lives.n_groups).astype(np.int64)


def imputed(lives: LifeData) -> LifeData:
    """Plain lives to start from: intervals by their middle, weights and truncation left out."""
    ended = lives.ends < np.inf
    middle = np.where(ended, 0.5 * (lives.durations + np.where(ended, lives.ends, 0.0)), lives.durations)
    return LifeData(middle, ended, lives.offsets, lives.groups, lives.measure)


def log_moments(lives: LifeData, fitted: bool) -> tuple[FloatArray, FloatArray]:
    """Rough mean and deviation of the log of life, (groups,), by a Weibull fit or the lives' own moments; never NaN."""
    plain = imputed(lives)
    positive = plain.durations > 0.0
    log = np.log(np.where(positive, plain.durations, 1.0))
    count = np.maximum(sums(positive, lives.offsets), 1.0)
    middle = sums(log, lives.offsets) / count
    square = sums(positive * (log - np.repeat(middle, lives.sizes)) ** 2, lives.offsets)
    spread = np.maximum(np.sqrt(square / count), 1e-3)
    if fitted:
        shape, scale = maximum_likelihood(Weibull, plain, 1).parameters.T
        there = np.isfinite(shape)
        shape = np.clip(shape[there], 1e-3, 1e6)
        middle[there], spread[there] = np.log(scale[there]) - EULER / shape, LOG_WEIBULL_SD / shape
    return middle, spread


def maximum_likelihood(family: type[Family], lives: LifeData, workers: int | None = None) -> Estimates:
    """Fit one distribution to every group: closed form, compiled search or Newton's method from several starts."""
    estimates = Estimates.empty(lives.n_groups, len(family.parameter_names()))
    estimates.codes[:] = existence(family, lives)
    if family.name == "exponential":
        _failures_over_time(lives, estimates)
    wanted = (estimates.codes == status.OK) & np.isnan(estimates.loglik)
    compiled = family.name in conditional_kernels.KINDS and conditional_kernels.suited(lives)

    def work(first: int, last: int) -> None:
        groups = first + np.flatnonzero(wanted[first:last])
        if groups.size:
            _write(estimates, groups, family, (_quick if compiled else _general)(family, lives, groups))
        if issubclass(family, Mixture):
            empty = hollow(family, estimates.parameters[groups], lives.take(groups))
            estimates.codes[groups[empty & (estimates.codes[groups] == status.OK)]] = status.NO_MAXIMUM

    over_groups(lives.offsets, work, workers, _LIVES_AT_ONCE)
    return estimates.set_apart_overflow()


def _failures_over_time(lives: LifeData, estimates: Estimates) -> None:
    """The exponential in closed form, for groups without intervals and right truncation; in place."""
    failures, time = lives.n_failures, lives.total_time
    simple = lives.n_intervals == 0
    if lives.exit is not None:
        simple &= np.bincount(lives.group_codes(), lives.exit < np.inf, lives.n_groups) == 0
    simple &= estimates.codes == status.OK
    never = simple & (time == 0.0)
    estimates.codes[never] = np.where(lives.n_zeros == failures, status.ZEROS, status.NO_MAXIMUM)[never]
    rows = np.flatnonzero(simple & (time > 0.0))
    with np.errstate(over="ignore"):
        rate = failures[rows] / time[rows]
        estimates.parameters[rows, 0] = rate
        estimates.covariance[rows, 0, 0] = rate * rate / failures[rows]
        estimates.loglik[rows] = failures[rows] * (np.log(rate) - 1.0)


def _starts(family: type[Family], lives: LifeData) -> FloatArray:
    """Parameters to start from, shape (starts, groups, k)."""
    plain = imputed(lives)
    if issubclass(family, Mixture):
        return mixture_starts(family, plain)
    first = _by_group(np.minimum, plain.durations, lives.offsets[:-1], lives.sizes, 0.0)
    fitted = not (lives.plain and family.name in conditional_kernels.KINDS)  # one maximum: any start will do
    with np.errstate(over="ignore"):
        return np.minimum(family.starts(*log_moments(lives, fitted), first), np.finfo(np.float64).max)


def _quick(family: type[Family], lives: LifeData, groups: IntArray) -> Maximum:
    """By the compiled search; groups that it leaves unsettled by the general one."""
    name = family.name
    if lives.entry is None and lives.stationary is None:
        best = conditional_kernels.maximise_conditional(name, lives, groups=groups)
    else:
        own = lives.take(groups)
        with np.errstate(all="ignore"):
            best = conditional_kernels.maximise_conditional(name, own, family.to_free(_starts(family, own))[0])
    left = np.flatnonzero(~best.converged & ~best.edge)
    if left.size:
        best.take_over(left, _general(family, lives, groups[left]), slice(None))
    return best


def _general(family: type[Family], lives: LifeData, groups: IntArray) -> Maximum:
    """The highest of the maxima that the starts lead to; converged searches come before others."""
    own = lives.take(groups)
    objective = LogLikelihood(family, own)
    with np.errstate(all="ignore"):
        free = family.to_free(_starts(family, own))
    best = maximise(objective, free[0])
    for row in free[1:]:
        other = maximise(objective, row)
        take = np.where(best.converged == other.converged, other.value > best.value, other.converged)
        best.take_over(take, other, take)
    if free.shape[-1] <= 2 and not replace(own, weights=None).plain:
        _look_around(objective, best)
    return best


def _look_around(objective: LogLikelihood, best: Maximum) -> None:
    """Go on, in place, to a maximum or an edge some standard errors away: truncation and intervals make several."""
    k = best.free.shape[1]
    turn = 2.0 * np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    directions = np.array([[1.0], [-1.0]]) if k == 1 else np.stack([np.cos(turn), np.sin(turn)], axis=1)
    rays = (np.array(_DISTANCES)[:, None, None] * directions).reshape(-1, k)
    rows = np.flatnonzero(best.converged)
    for _ in range(_CLIMBS):
        if not rows.size:
            return
        part = objective.take(rows)
        unit = whitening(best.information[rows])
        around = best.free[rows][None] + np.einsum("gij,rj->rgi", unit, rays)
        value = part(around)
        columns = np.arange(rows.size)
        above = value.max(axis=0) > best.value[rows] + 1e-7 * (1.0 + np.abs(best.value[rows]))
        # a value that falls far less than the parabola may hide a ridge between two rays
        value += np.where(above, 0.0, _LEAST_FALL * 0.5 * (rays**2).sum(axis=1)[:, None])
        highest = value.argmax(axis=0)
        rise = value[highest, columns] > best.value[rows]
        if not rise.any():
            return
        other = maximise(part.take(np.flatnonzero(rise)), around[highest, columns][rise])
        higher = other.value > best.value[rows[rise]] + 1e-7 * (1.0 + np.abs(best.value[rows[rise]]))
        rows = rows[rise][higher]
        best.take_over(rows, other, higher)
        rows = rows[best.converged[rows]]


def _write(estimates: Estimates, rows: npt.NDArray[np.int64], family: type[Family], maximum: Maximum) -> None:
    """Parameters and their covariance from where a search in free coordinates ended; in place."""
    estimates.codes[rows] = np.where(
        maximum.converged, status.OK, np.where(maximum.edge, status.NO_MAXIMUM, status.NOT_CONVERGED)
    )
    free, ok = maximum.free[maximum.converged], rows[maximum.converged]
    estimates.parameters[ok] = family.from_free(free)
    estimates.loglik[ok] = maximum.value[maximum.converged]
    slope = jacobian(family, free)
    with np.errstate(all="ignore"):
        inverse = np.linalg.inv(maximum.information[maximum.converged])
        estimates.covariance[ok] = slope @ inverse @ slope.transpose(0, 2, 1)
