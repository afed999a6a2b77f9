"""Predictors weighted by their past predictions, and mixed, for counts, shares and means.

Each predictor has a level and a variance around it: scatter of one of several sizes, uncertainty and movement of the
level. Its score is the log density of the outcome in the next ten days and over the horizon. A small share of the
weights returns to all, so that one that was wrong for years can recover (fixed share, Herbster and Warmuth 1998).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.numeric.compiled import njit
from relfit.fleet.prediction.discounted_levels import DiscountedLevels

_SCATTER = (1.0, 1.5, 2.5, 5.0, 10.0, 20.0, 60.0, 200.0, 600.0)  # variance of counts relative to Poisson
_SCATTER_OF_SHARES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # variance of a day's share, relative to one trial a day
_WANDER = (1.0, 3.0)  # variance of the level's movement, relative to the one that suits its half-life
_SCORED = 10  # steps between two scored predictions
_BEGIN = 20  # steps before the first
_BACK = 0.03  # share of the weights that returns to all predictors in a horizon
_LEAST = 1e-4  # smaller weights are dropped
_MOST = 1e12  # largest drawn count
_STANDARD = (7 * 24.0, 30 * 24.0, 90 * 24.0, 365 * 24.0)  # hours; the same whatever other horizons are of interest


@dataclass(frozen=True, eq=False)
class Prediction:
    """The predictive distribution over a horizon, a mixture; arrays of shape (components,)."""

    weight: FloatArray  # with sum one
    mean: FloatArray  # of the count over the horizon, or of the share
    variance: FloatArray  # of the outcome
    of_level: FloatArray  # its part due to the level: uncertainty and movement
    shares: bool  # shares up to 1 (gamma components, truncated), or counts (negative binomial)
    predictor: IntArray  # row of the level of each component

    @property
    def expected(self) -> float:
        """The mean of the outcome."""
        return float(self.weight @ self.mean)

    @property
    def variance_of_level(self) -> float:
        """Variance of the expected outcome: uncertainty of the level and its movement over the horizon."""
        return float(self.weight @ (self.of_level + self.mean**2)) - float(self.weight @ self.mean) ** 2

    @property
    def variance_of_outcome(self) -> float:
        """Variance of the outcome itself."""
        square = float(self.weight @ (self.variance + self.mean**2))
        return max(square - float(self.weight @ self.mean) ** 2, 0.0)

    def variance_of_rate(self, chance: float = 1.0) -> float:
        """Variance of the realised rate over the horizon, without that of Poisson, `chance` times the mean."""
        square = float(self.weight @ (self.variance + self.mean**2))
        return max(square - self.expected**2 - chance * self.expected, self.variance_of_level)

    def cdf(self, x: FloatArray) -> FloatArray:
        """Probability of at most `x`, of the shape of `x`."""
        at = np.asarray(x, np.float64)[..., None]
        if self.shares:
            shape = self.mean**2 / self.variance
            inside = special.gammainc(shape, shape / self.mean * np.maximum(at, 0.0))
            return np.asarray(np.where(at >= 1.0, 1.0, inside) @ self.weight)
        size, p = _negative_binomial(self.mean, self.variance)
        each = special.betainc(size, np.floor(np.maximum(at, 0.0)) + 1.0, p)
        return np.asarray(np.where(at < 0.0, 0.0, each) @ self.weight)

    def quantile(self, p: float) -> float:
        """The smallest value that is not exceeded with probability `p`."""
        if self.shares:
            return self._share_at(p)
        size, chance = _negative_binomial(self.mean, self.variance)

        def below(x: float) -> bool:
            return x < 0.0 or float(special.betainc(size, x + 1.0, chance) @ self.weight) < p

        deviation = np.sqrt(self.variance_of_outcome)
        width = float(np.ceil(0.2 * deviation)) + 1.0
        low = max(float(np.floor(self.expected + special.ndtri(p) * deviation)), -1.0)
        while not below(low):
            low, width = max(low - width, -1.0), 2.0 * width
        high, width = low + width, 2.0 * width
        while below(high):
            low, high, width = high, high + width, 2.0 * width
        while high - low > 1.0:
            middle = float(np.floor(0.5 * (low + high)))
            low, high = (middle, high) if below(middle) else (low, middle)
        return high

    def times(self, factor: float) -> Prediction:
        """Prediction of a count whose level is `factor` times as high, with the same scatter relative to it."""
        return self.of_sizes(factor, factor)

    def of_sizes(self, mean: float, square: float) -> Prediction:
        """Prediction of the sum of the sizes of so many, from the mean of a size and of its square."""
        variance = square * self.mean + mean**2 * (self.variance - self.mean)
        return replace(self, mean=mean * self.mean, variance=variance, of_level=mean**2 * self.of_level)

    def _share_at(self, p: float) -> float:
        """The share that is not exceeded with probability `p`."""
        from scipy import optimize  # slow to import

        shape = self.mean**2 / self.variance

        def beyond(x: float) -> float:
            return float(special.gammainc(shape, shape / self.mean * x) @ self.weight) - p

        each = self.mean / shape * special.gammaincinv(shape, p)
        low, high = np.clip([each.min(), each.max()], 0.0, 1.0).tolist()
        if beyond(low) >= 0.0:
            return low
        return float(optimize.brentq(beyond, low, high, xtol=1e-15)) if beyond(high) > 0.0 else high

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Random counts, shape (size,)."""
        row = rng.choice(self.weight.size, size, p=self.weight)
        mean, variance, of_level = self.mean[row], self.variance[row], self.of_level[row]
        level = _gamma(mean, of_level, rng)
        # scatter beyond the level is proportional to it
        beyond = np.maximum(variance - of_level - mean, 0.0) * level / np.maximum(mean, 1e-12)
        return rng.poisson(_gamma(level, beyond, rng)).astype(np.float64)


def distribution_of_counts(mean: float, variance: float) -> Prediction:
    """The negative binomial of this mean and variance; Poisson if the variance is not above the mean."""
    each = np.array([mean]), np.array([max(variance, mean)])
    return Prediction(np.ones(1), *each, np.zeros(1), False, np.zeros(1, np.int64))


@dataclass(frozen=True, eq=False)
class Cumulative(Prediction):
    """A predicted count that is at least that of each shorter horizon; the other attributes are its own.

    Each horizon weighs the predictors by their past errors over its own length, so after a storm the lower limit of
    ninety days might be below that of thirty. At each probability the quantile is the largest of both.
    """

    shorter: tuple[Prediction, ...]

    @property
    def expected(self) -> float:
        """The largest of the means."""
        return max(super().expected, *(one.expected for one in self.shorter))

    def cdf(self, x: FloatArray) -> FloatArray:
        """Probability of at most `x`: the smallest over the horizons."""
        return np.minimum.reduce([super().cdf(x), *(one.cdf(x) for one in self.shorter)])

    def quantile(self, p: float) -> float:
        """The smallest value that is not exceeded with probability `p`: the largest over the horizons."""
        return max(super().quantile(p), *(one.quantile(p) for one in self.shorter))

    def of_sizes(self, mean: float, square: float) -> Cumulative:
        """Prediction of the sum of the sizes of so many over each horizon."""
        sums = super().of_sizes(mean, square)
        return Cumulative(**{**vars(sums), "shorter": tuple(one.of_sizes(mean, square) for one in self.shorter)})

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Random counts, shape (size,), raised to the largest of those over shorter horizons at the same rank."""
        drawn = super().draw(size, rng)
        others = [one.draw(size, own) for one, own in zip(self.shorter, rng.spawn(len(self.shorter)), strict=True)]
        raised, order = np.empty_like(drawn), np.argsort(drawn, kind="stable")
        raised[order] = np.maximum(drawn[order], np.maximum.reduce([np.sort(one) for one in others]))
        return raised


def cumulative(over: Callable[[float], Prediction], hours: float) -> Prediction:
    """The prediction over `hours`, at least those over the standard horizons of 7, 30, 90 and 365 days within it."""
    own, shorter = over(hours), tuple(over(standard) for standard in _STANDARD if standard < hours)
    return Cumulative(**vars(own), shorter=shorter) if shorter else own


def mix(
    levels: DiscountedLevels,
    value: FloatArray,
    exposure: FloatArray,
    horizon: float,
    ahead: float,
    *,
    shares: bool = False,
    trials: float = 10.0,
    variance_of_one: float | None = None,
    scored: int = _SCORED,
    back: float = _BACK,
    stay: tuple[int, float] | None = None,
) -> Prediction:
    """Prediction of a series over a `horizon` of steps, for some units `ahead`, by predictors weighted by their past.

    `value` are counts, or numbers out of `exposure` whose share is predicted (`shares`): it scatters no less than that
    of `trials` independent ones per step. With `variance_of_one` they are sums of `exposure` values above zero that
    have this variance, and their mean is predicted. Predictions are `scored` some steps apart; a share `back` of the
    weights returns in a horizon. `stay` names a predictor, and the share of the final weight that it has in any case.
    """
    typical = float(exposure[exposure > 0.0].mean())
    scatter = np.array(_SCATTER_OF_SHARES if shares else _SCATTER)
    if shares:
        scatter = scatter[scatter * trials >= 1.0 - 1e-9]
    predictor, phi, kappa = (
        axis.ravel() for axis in np.meshgrid(np.arange(levels.level.shape[0]), scatter, _WANDER, indexing="ij")
    )

    def moments(at: IntArray, steps: float, units: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean, variance and the level's part of it, shape (components, origins), at origins over some steps."""
        level = np.clip(levels.over(at, steps), 1e-12, 1.0 if shares else np.inf)[predictor]
        uncertain = levels.uncertain[:, at][predictor] + (kappa * levels.wander[predictor])[:, None] * steps / 3.0
        if variance_of_one is not None:
            of_one = phi[:, None] * variance_of_one
            return level, of_one * (uncertain / typical + 1.0 / (units * steps)), of_one * uncertain / typical
        of_step = np.minimum(level, 1.0 - 1e-9) * (1.0 - np.minimum(level, 1.0 - 1e-9)) if shares else level * units
        each = phi[:, None] * of_step  # variance of one step
        if shares:
            return level, np.maximum(each * (uncertain + 1.0 / steps), 1e-12), each * uncertain
        return level * units * steps, each * steps * (1.0 + steps * uncertain), each * steps**2 * uncertain

    cumulated = np.cumsum(np.append(0.0, value)), np.cumsum(np.append(0.0, exposure))
    ends, gains = [], []
    for steps, share in ((scored, 1.0), (max(round(horizon), 1), scored / max(horizon, scored))):
        at = np.arange(min(_BEGIN, value.size), value.size - steps + 1, min(scored, steps))
        seen, units = (sums[at + steps] - sums[at] for sums in cumulated)
        at, seen, units = (each[units > 0.0] for each in (at, seen, units))
        mean, variance, _ = moments(at, float(steps), units / steps)
        normal = shares or variance_of_one is not None
        density = _log_normal(seen / units, mean, variance) if normal else log_negative_binomial(seen, mean, variance)
        ends.append(at + steps)
        gains.append(density * share)
    order = np.argsort(np.concatenate(ends), kind="stable")
    back *= min(scored / max(horizon, 1.0), 1.0)
    prior = 1.0 / np.sqrt(phi)  # little scatter is more likely
    weight = fixed_share(np.concatenate(gains, axis=1)[:, order], back, prior / prior.sum())
    if stay is not None:
        own = np.where(predictor == stay[0], weight, 0.0)
        weight = (1.0 - stay[1]) * weight + stay[1] * own / own.sum()
    now = np.array([value.size])
    mean, variance, of_level = (each[:, 0] for each in moments(now, horizon, np.array([ahead])))
    if shares:  # no share scatters more than a single trial
        variance = np.minimum(variance, np.maximum(mean * (1.0 - mean), 1e-12))
    used = weight > _LEAST
    weight = weight[used] / weight[used].sum()
    return Prediction(weight, mean[used], variance[used], of_level[used], shares, predictor[used])


def fixed_share(scores: FloatArray, back: float, prior: FloatArray | None = None) -> FloatArray:
    """Weights (components, scores) after log scores in turn; each time a share `back` returns to `prior` (or equal)."""
    first = np.full(scores.shape[0], 1.0 / scores.shape[0]) if prior is None else prior
    return np.asarray(_weights_after(np.exp(scores - scores.max(axis=0, initial=-np.inf)).T, back, first))


@njit(cache=True, nogil=True)
def _weights_after(gains: np.ndarray, back: float, first: np.ndarray) -> np.ndarray:
    """Weights after these gains in turn, shape (scores, components)."""
    weight = first.copy()
    for gain in gains:
        weight *= gain
        weight *= (1.0 - back) / weight.sum()
        weight += back * first
    return weight


def log_negative_binomial(seen: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Log probability of a count with this mean and variance; a variance below Poisson counts as Poisson."""
    size, p = _negative_binomial(mean, variance)
    return np.asarray(
        special.gammaln(seen + size)
        - special.gammaln(size)
        - special.gammaln(seen + 1.0)
        + size * np.log(p)
        + seen * np.log1p(-p)
    )


def _log_normal(seen: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
    return np.asarray(-0.5 * np.log(variance) - 0.5 * (seen - mean) ** 2 / variance)


def _negative_binomial(mean: FloatArray, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    mean = np.maximum(mean, 1e-12)
    size = mean**2 / np.maximum(variance - mean, 1e-6 * mean)
    return size, size / (size + mean)


def _gamma(mean: FloatArray, variance: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Gamma distributed values of this mean and variance; the mean if the variance is negligible."""
    varies = (variance > 1e-9 * mean**2) & (mean > 0.0)
    shape = np.maximum(np.divide(mean**2, variance, out=np.ones(mean.shape), where=varies), 1e-6)
    return np.where(varies, np.minimum(rng.gamma(shape) / shape * mean, _MOST), mean)
