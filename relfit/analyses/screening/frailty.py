"""Ageing separated from unequal nodes: Weibull renewals of equal nodes, of a spread of rates (frailty), of two classes.

Nodes of unequal rates, pooled, look like nodes whose failure rate falls with age (Proschan 1963). A frailty multiplies
the hazard of all lives of a node, the shape acts within each life, so lives of many nodes distinguish the two.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.analyses.screening.equal_nodes import equal_nodes_p
from relfit.analyses.screening.frailty_results import RenewalModels
from relfit.base.arguments import random_stream
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.batches import at_once
from relfit.base.numeric.counting import sum_within
from relfit.base.numeric.levels import level_checked, normal_quantile
from relfit.base.numeric.newton import Maximum, maximise
from relfit.base.numeric.ordering import alike
from relfit.base.numeric.ragged import offsets_of, rows_of
from relfit.log.lifedata import LifeData

_FEWEST = 10  # failures below which no shape is estimated
_FEWEST_NODES = 20  # below which the covariance is not made robust by nodes
_STARTS = ((0.05, 5.0), (0.3, 2.5))  # share and ratio of the class with the higher hazard
_SEVERAL = 3  # nodes that can be unequal
_ITERATIONS = 40  # where there is no spread the search runs to the edge: further steps gain nothing
_CLEAR = 2.0  # difference of BIC below which there is nothing to choose (Kass and Raftery 1995)
_SIZE = 0.05  # of the test of equal nodes
_LEAST_GAIN = 1.0  # in log-likelihood, of unequal nodes: below it there is nothing to test
_MOST_LIVES = 300_000  # of a group that models are fitted to: enough for its shape to 0.3 %
_LEAST_NODES = 200  # of such a group, however many lives each has
_FREE = {"equal": 2, "spread": 3, "classes": 4}


def renewal_models(
    lives: LifeData,
    groups: npt.ArrayLike | None = None,
    *,
    n_groups: int | None = None,
    level: float = 0.95,
    n_resamples: int = 99,
    rng: int | np.random.Generator | None = 0,
) -> RenewalModels:
    """Fit Weibull renewals of equal nodes, of nodes with gamma frailty and of two classes of nodes, in every group.

    A group of `lives` is a node, and `groups` has the number of its system; of a system with more than 300,000 lives a
    random sample of nodes is used. Nodes count as unequal only where few of `n_resamples` random logs of equal nodes
    (`relfit.analyses.screening.equal_nodes`) differ as much: BIC, which decides without them, takes equal nodes that
    are not Weibull for two classes, and misses a single node far from the others.

    With frailty z of mean one and variance v, a node with n failures and cumulative hazard s (of frailty one) has the
    likelihood of a gamma mixture, ``Gamma(k + n) k^k / (Gamma(k) (k + s)^(k + n))``, k = 1/v (Hougaard 2000). A life in
    progress at an unknown age that ended has the density S(x)/mean of a stationary renewal process (Cox 1962) and
    counts 1/shape in n; a node that was never seen to fail has a regularised beta function.
    """
    level_checked(level)
    code = np.zeros(lives.n_groups, np.int64) if groups is None else np.asarray(groups, dtype=np.int64)
    if code.shape != (lives.n_groups,) or np.any(code < 0):
        raise ArgumentError(f"groups has shape {code.shape}, there are {lives.n_groups} nodes")
    size = int(code.max(initial=-1)) + 1 if n_groups is None else n_groups
    data = _Lives.of(lives, code, size)
    failures = data.sums(data.failed)
    status = np.where(failures < 1, "none", np.where(failures < _FEWEST, "few", "ok")).astype(object)
    generator = random_stream(rng)
    looked = data.some(generator)
    usable = np.flatnonzero(looked.sums(looked.failed) >= _FEWEST)
    several = usable[looked.sums(np.ones(looked.code.size))[usable] >= _SEVERAL]
    fits = [partial(_fitted, looked, name, usable if name == "equal" else several) for name in reversed(_FREE)]
    best = dict(zip(reversed(_FREE), at_once(fits), strict=True))
    loglik = {name: best[name].value for name in _FREE}
    rate = np.divide(failures, data.sums(data.hours), out=np.zeros(size), where=data.sums(data.hours) > 0.0)
    for name in ("spread", "classes"):
        loglik[name] = np.fmax(loglik[name], loglik["equal"])
    log_nodes = np.log(np.maximum(looked.sums(np.ones(looked.code.size)), 1.0))
    bic = {name: _FREE[name] * log_nodes - 2.0 * value for name, value in loglik.items()}
    with np.errstate(invalid="ignore"):
        gain = bic["spread"] - bic["classes"]
    unequal = np.where(np.abs(gain) < _CLEAR, "either", np.where(gain > 0.0, "two_classes", "spread"))
    described, alike = unequal.astype(object), bic["equal"] <= np.fmin(bic["spread"], bic["classes"])
    # one node among many gains less than BIC asks for: the test decides
    gains = np.fmax(loglik["spread"], loglik["classes"]) - loglik["equal"] >= _LEAST_GAIN
    p, tested = np.full(size, np.nan), (failures >= _FEWEST) & (gains | ~alike)
    for group in np.flatnonzero(tested) if n_resamples else ():  # systems, not nodes
        p[group] = equal_nodes_p(lives.take(np.flatnonzero(code == group).tolist()), n_resamples, generator)
    chance = (failures < _FEWEST) | (p > _SIZE) | (alike & np.isnan(p))
    described[chance] = "equal"
    classes = (described == "two_classes") & best["classes"].converged
    spread = ~classes & ~chance & best["spread"].converged & (best["spread"].value > loglik["equal"])
    free = np.where(spread[:, None], best["spread"].free, np.pad(best["equal"].free, ((0, 0), (0, 1))))
    free[classes, :2] = best["classes"].free[classes, :2]
    with np.errstate(divide="ignore"):
        free[failures < _FEWEST] = np.stack([np.zeros(size), -np.log(rate), np.zeros(size)], axis=1)[failures < _FEWEST]
    free[:, 2] = np.where(spread, free[:, 2], -np.inf)
    covariance = np.zeros((size, 3, 3))
    equal = best["equal"].converged & ~spread & ~classes
    for name, rows in (("spread", spread), ("classes", classes), ("equal", equal)):
        at = np.flatnonzero(rows)
        if at.size:
            own = _covariance(looked.take(at), name, best[name], at)
            k = 2 if name == "classes" else _FREE[name]
            covariance[at, :k, :k] = own[:, :k, :k]
    few = np.flatnonzero((failures > 0) & (failures < _FEWEST))
    covariance[few, 1, 1] = 1.0 / failures[few]
    width = normal_quantile(level) * np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    width[width == 0.0] = np.nan
    with np.errstate(invalid="ignore"):
        limits = np.exp(free[:, :, None] + width[:, :, None] * np.array([-1.0, 0.0, 1.0]))
    limits[:, :, 1] = np.exp(free)
    two = best["classes"].free
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.exp(np.log1p(np.exp(two[:, 3])) / np.exp(two[:, 0]))  # of long-run rates, not of hazards
    fraction, ratio = (np.where(best["classes"].converged, each, np.nan) for each in (special.expit(two[:, 2]), ratio))
    nodes = data.sums(np.ones(code.size)).astype(np.int64)
    numbers = nodes, failures.astype(np.int64), limits[:, 0], limits[:, 1], limits[:, 2], fraction, ratio
    posterior = data.posterior(limits[:, :, 1], np.where(classes[:, None], two[:, 2:], np.nan))
    chosen = pd.DataFrame(loglik), described, p, status, covariance, code, posterior
    return RenewalModels(pd.RangeIndex(size, name="group"), *numbers, *chosen, level)


@dataclass(frozen=True, eq=False)
class _Lives:
    """What the likelihoods need of each node; times in units of each group's mean."""

    time: FloatArray
    entry: FloatArray
    offsets: IntArray
    code: IntArray
    n_groups: int
    failed: FloatArray  # lives seen to end
    under_way: FloatArray  # those of them that had begun at an unknown age
    log: FloatArray  # sum of the logs of the others
    never: FloatArray  # time of a node that was in progress and never failed, zero for other nodes
    hours: FloatArray
    unit: FloatArray
    model: str = ""  # of the log-likelihood that is maximised

    @classmethod
    def of(cls, lives: LifeData, code: IntArray, size: int) -> _Lives:
        node = np.repeat(np.arange(lives.n_groups), lives.sizes)
        stationary = np.zeros(node.size, np.bool_) if lives.stationary is None else lives.stationary
        entry = np.zeros(node.size) if lives.entry is None else lives.entry

        def by_node(values: FloatArray | BoolArray) -> FloatArray:
            return np.bincount(node, values, lives.n_groups).astype(np.float64)

        total = np.bincount(code, by_node(lives.durations - entry), size)
        failures = np.bincount(code, by_node(lives.observed), size)
        unit = np.where(total > 0.0, total / np.maximum(failures, 1.0), 1.0)
        time, entry = lives.durations / unit[code[node]], entry / unit[code[node]]
        never = stationary & ~lives.observed
        with np.errstate(divide="ignore"):
            log = np.where(lives.observed & ~stationary, np.log(time), 0.0)
        failed, under_way = by_node(lives.observed), by_node(lives.observed & stationary)
        unseen, hours = by_node(np.where(never, time, 0.0)), by_node(lives.durations - entry * unit[code[node]])
        times = np.where(never, 0.0, time), entry, lives.offsets
        return cls(*times, code, size, failed, under_way, by_node(log), unseen, hours, unit)

    def take(self, positions: IntArray) -> _Lives:
        """Some of the groups."""
        place = np.full(self.n_groups, -1, dtype=np.int64)
        place[positions] = np.arange(positions.size)
        part = self._of(np.flatnonzero(place[self.code] >= 0))
        return replace(part, code=place[part.code], n_groups=positions.size, unit=self.unit[positions])

    def some(self, rng: np.random.Generator) -> _Lives:
        """All nodes of groups that are not too large, and some nodes of those that are, at random."""
        size = np.bincount(self.code, np.diff(self.offsets), self.n_groups)
        if not np.any(size > _MOST_LIVES):
            return self
        nodes = np.bincount(self.code, minlength=self.n_groups)
        share = np.maximum(_MOST_LIVES / np.maximum(size, 1.0), _LEAST_NODES / np.maximum(nodes, 1.0))
        return self._of(np.flatnonzero(rng.random(self.code.size) < share[self.code]))

    def _of(self, nodes: IntArray) -> _Lives:
        """Some of the nodes."""
        rows, offsets = rows_of(self.offsets, nodes), offsets_of(np.diff(self.offsets)[nodes])
        names = ("code", "failed", "under_way", "log", "never", "hours")
        of_nodes = {name: getattr(self, name)[nodes] for name in names}
        return replace(self, time=self.time[rows], entry=self.entry[rows], offsets=offsets, **of_nodes)

    def sums(self, values: FloatArray) -> FloatArray:
        """Sum over the nodes of each group, of shape (..., nodes)."""
        flat = np.atleast_2d(values)
        out = np.stack([np.bincount(self.code, row, self.n_groups) for row in flat]).astype(np.float64)
        return out.reshape(*values.shape[:-1], self.n_groups)

    def __call__(self, free: FloatArray) -> FloatArray:
        """Log-likelihood of the model by group, for `relfit.base.numeric.newton.maximise`."""
        loglik = self.sums(self.loglik(self.model, free))
        return np.where(np.isfinite(loglik), loglik, -np.inf)

    def hazards(self, shape: FloatArray) -> FloatArray:
        """Sum of ``time**shape - entry**shape`` over each node's lives; shape (trials, groups) to (trials, nodes)."""
        rows, which = alike(np.zeros(len(shape)), *shape.T)  # of no groups all are alike
        out = np.empty((rows.size, self.code.size))
        late = np.flatnonzero(self.entry > 0.0)
        for row, shapes in zip(out, shape[rows], strict=True):
            b = shapes if self.n_groups == 1 else np.repeat(shapes[self.code], np.diff(self.offsets))
            spent = self.time**b
            if late.size:
                spent[late] -= self.entry[late] ** (b if self.n_groups == 1 else b[late])
            sum_within(spent, self.offsets, row)
        return out[which]

    def loglik(self, name: str, free: FloatArray) -> FloatArray:
        """Log-likelihood of every node; shape (trials, groups, k) to (trials, nodes)."""
        failed, under_way, code = self.failed, self.under_way, self.code
        with np.errstate(all="ignore"):
            # what is one for all nodes of a group is worked out before it is given to each
            shape, scale = np.exp(free[..., 0]), free[..., 1]
            n = failed - under_way * (1.0 - 1.0 / shape)[:, code]
            s = self.hazards(shape) * np.exp(-shape * scale)[:, code]
            if name == "equal":
                value = -s
            elif name == "spread":
                k = np.exp(-free[..., 2])
                of_one, log, k = special.gammaln(k)[:, code], np.log(k)[:, code], k[:, code]
                # the ratio of gamma functions is lost where k is large: the digamma function is its slope there
                gammas = np.where(k < 1e7, special.gammaln(k + n) - of_one, n * log + n * (n - 1.0) / (2.0 * k))
                value = gammas - n * log - (k + n) * np.log1p(s / k)
            else:
                ratio = 1.0 + np.exp(free[..., 3])
                good, bad = special.log_expit(-free[..., 2])[:, code], special.log_expit(free[..., 2])[:, code]
                value = np.logaddexp(good - s, bad + n * np.log(ratio)[:, code] - ratio[:, code] * s)
            idle, some, like = self._idle
            if idle.size:
                value[:, idle] = self._unfailed(name, free[:, code[some]], self.never[some])[:, like]
            value += (failed - under_way) * (free[..., 0] - shape * scale)[:, code] - failed * np.log(self.unit)[code]
            value += (shape - 1.0)[:, code] * self.log
            value -= under_way * (scale + special.gammaln(1.0 + 1.0 / shape))[:, code]
        return np.where(np.isfinite(value), value, -np.inf)

    @cached_property
    def _idle(self) -> tuple[IntArray, IntArray, IntArray]:
        """Nodes that are not seen to fail, one of each kind of them, and which of these each is like."""
        idle = np.flatnonzero(self.never > 0.0)
        first, like = alike(self.code[idle], self.never[idle])
        return idle, idle[first], like

    @staticmethod
    def _unfailed(name: str, free: FloatArray, never: FloatArray) -> FloatArray:
        """Log-probability that nodes in progress at an unknown age are not seen to fail; shape (trials, nodes)."""
        b = np.exp(free[..., 0])
        c = (never * np.exp(-free[..., 1])) ** b
        if name == "equal":
            return np.asarray(np.log(special.gammaincc(1.0 / b, c)))
        if name == "spread":
            return np.asarray(np.log(_never_failed(np.exp(-free[..., 2]), b, c)))
        good, bad = special.log_expit(-free[..., 2]), special.log_expit(free[..., 2])
        ratio = 1.0 + np.exp(free[..., 3])
        lived = [np.log(special.gammaincc(1.0 / b, x)) for x in (c, ratio * c)]
        return np.logaddexp(good + lived[0], bad + lived[1])

    def posterior(self, parameters: FloatArray, classes: FloatArray) -> FloatArray:
        """Shape and rate of every node's frailty, (nodes, 2); of two classes by the same moments."""
        with np.errstate(all="ignore"):
            b, scale, variance = (values[self.code] for values in parameters.T)
            scale, k = scale / self.unit[self.code], 1.0 / variance
            s = self.hazards(parameters[None, :, 0])[0] * scale**-b
            n = self.failed - self.under_way * (1.0 - 1.0 / b)
            c = (self.never / scale) ** b
            none = _never_failed(k, b, c)
            once = special.betainc(k + 1.0, 1.0 / b, k / (k + c)) / none
            twice = (k + 1.0) / k * special.betainc(k + 2.0, 1.0 / b, k / (k + c)) / none
            gamma = np.stack([k + n, k + s], axis=1)
            gamma = np.where((self.never > 0.0)[:, None], _by_moments(once, twice - once**2), gamma)
            gamma[~np.isfinite(k)] = np.inf
            odds, ratio = classes[self.code, 0], 1.0 + np.exp(classes[self.code, 1])
            alone = np.log(special.gammaincc(1.0 / b, ratio * c)) - np.log(special.gammaincc(1.0 / b, c))
            p = special.expit(odds + np.where(self.never > 0.0, alone, n * np.log(ratio) - (ratio - 1.0) * s))
            two = _by_moments(1.0 + p * (ratio - 1.0), p * (1.0 - p) * (ratio - 1.0) ** 2)
        return np.where(np.isfinite(odds)[:, None], two, gamma)


def _by_moments(mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Shape and rate of gamma variables with these moments."""
    shape = mean**2 / np.maximum(variance, 1e-12 * mean**2)
    return np.stack([shape, shape / mean], axis=-1)


def _never_failed(k: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
    """Probability that a stationary node of gamma frailty is not seen to fail: c is (time / scale)^shape."""
    return np.asarray(special.betainc(k, 1.0 / b, k / (k + c)))


def _fitted(data: _Lives, name: str, usable: IntArray) -> Maximum:
    """The maximum in every group; not converged in those that are not usable. Free scales are in hours."""
    size, k = data.n_groups, _FREE[name]
    classes: list[tuple[float, ...]] = [(special.logit(share), np.log(ratio - 1.0)) for share, ratio in _STARTS]
    starts: dict[str, list[tuple[float, ...]]] = {"equal": [()], "spread": [(np.log(0.3),)], "classes": classes}
    part = replace(data.take(usable), model=name)
    begun = [np.tile([0.0, 0.0, *further], (usable.size, 1)) for further in starts[name]]
    best, *others = at_once([partial(maximise, part, at, iterations=_ITERATIONS) for at in begun])
    for trial in others:
        better = trial.converged & ~(best.converged & (best.value >= trial.value))
        best.take_over(better, trial, better)
    out = Maximum.unsettled(np.zeros((size, k)))
    out.take_over(usable, best, slice(None))
    out.value[~out.converged] = np.nan
    out.free[:, 1] += np.log(data.unit)
    return out


def _covariance(part: _Lives, name: str, best: Maximum, at: IntArray) -> FloatArray:
    """Inverse information, or the sandwich over nodes where there are enough of them; shape (groups, k, k)."""
    information = best.information[at]
    inverse = np.linalg.inv(information)
    k = inverse.shape[1]
    free = best.free[at].copy()
    free[:, 1] -= np.log(part.unit)
    step = 1e-4
    moves = np.concatenate([step * np.eye(k), -step * np.eye(k)])
    each = part.loglik(name, free[None] + moves[:, None, :])
    score = (each[:k] - each[k:]) / (2.0 * step)
    products = np.array([[part.sums(one * other) for other in score] for one in score])
    meat = np.ascontiguousarray(products.transpose(2, 0, 1))
    nodes = part.sums((part.failed > 0).astype(np.float64))
    robust = inverse @ meat @ inverse * (nodes / np.maximum(nodes - 1.0, 1.0))[:, None, None]
    return np.where((nodes >= _FEWEST_NODES)[:, None, None], robust, inverse)
