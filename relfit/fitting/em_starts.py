"""Starting values for mixtures by the EM algorithm (Dempster, Laird and Rubin 1977), for all groups at once.

EM starts from rough splits of the lives into phases; Newton's method goes on from where EM ends, so that the result is
a stationary point and the errors come from the observed information.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from relfit.base.arrays import FloatArray
from relfit.fitting.families import Weibull
from relfit.fitting.families.mixtures import Mixture
from relfit.log.lifedata import LifeData

_ITERATIONS = 60
# splits: the share of each phase, and its mean life relative to the mean of all
_SPLITS = {
    2: (((0.5, 0.5), (0.2, 1.8)), ((0.15, 0.85), (0.02, 1.2)), ((0.9, 0.1), (0.6, 4.6))),
    3: (((0.34, 0.33, 0.33), (0.05, 0.6, 2.3)), ((0.1, 0.8, 0.1), (0.01, 0.8, 3.5))),
}


def mixture_starts(family: type[Mixture], lives: LifeData) -> FloatArray:
    """Parameters that EM reaches from several splits of observed or right-censored lives, shape (starts, groups, k).

    The phases are exponential or Weibull; the parameters are the weights of all phases but the last, and then those of
    each phase. A group needs a failure above zero.
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
    """Groups in which a phase rests on hardly any failure, shape (groups,).

    The likelihood of a mixture has spurious maxima where one phase closes in on one or two lives that lie close
    together. A phase needs one failure more than it has parameters.
    """
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
