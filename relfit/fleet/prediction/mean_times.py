"""The mean duration of repairs that begin over a horizon, predicted from past ones.

Two ways to predict: the mean of hours, discounted by age with each half-life; and that of logarithms, times the ratio
of hours to its predictions in the last months. The first forgets a few very long repairs and counts new ones; the
second follows a change of all repairs sooner. They are weighted by how well they predicted the means of the next days
and of the horizon, as log-normal. The scatter of each is taken as lasting: after quiet weeks a little of it would look
best, and long repairs that come now and then would be forgotten.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.fleet.prediction.discounted_levels import HALF_LIVES, discounted, levels_of
from relfit.fleet.prediction.mixing import fixed_share
from relfit.fleet.prediction.steps import TimeSteps

_ABOVE = 10.0  # added to logarithms less their mean: levels are above zero
_LEAST = 1e-3  # of the mean: shorter durations, and those of no length, count as so long in logarithms
_SCATTER = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # variance of a duration relative to that in all of the past
_SCORED, _BACK = 5, 0.01  # days between two scored predictions; share of the weights that returns each time
_UNKNOWN = 0.3  # variance of a level, relative to that of one step, at most
_RATIO = 160.0  # half-life in days of the ratio of hours to predictions by logarithms
_FEW = 40.0  # durations with which their plain mean has half the weight
_BEGIN = 20  # steps before the first prediction


def mean_time_ahead(
    steps: TimeSteps, at: IntArray, hours: FloatArray, ended: BoolArray, horizon: float, *, long_run: bool = False
) -> tuple[float, float, float]:
    """Predicted mean of the durations that begin over a horizon, hours (all hours over those ended), its relative
    variance without that by chance of their number, and the relative variance of one duration.

    Past durations began `at` (nanoseconds) and lasted some `hours` so far; one at least has `ended`. In the `long_run`
    the mean is taken as constant.
    """
    step = np.clip(np.searchsorted(steps.edges, at, side="right") - 1, 0, steps.size - 1)
    usual = float(hours.mean())
    number = np.bincount(step, minlength=steps.size).astype(np.float64)
    value = np.bincount(step, hours / usual, steps.size).astype(np.float64)
    of_hours = levels_of(value, number, steps.days)
    of_hours = of_hours.steady if long_run else of_hours.flat
    level, uncertain, wander = of_hours.level, of_hours.uncertain, of_hours.wander
    so_far = discounted(np.stack([value, number]), np.inf)
    if not long_run:
        logs = np.log(np.maximum(hours / usual, _LEAST))
        sums = np.bincount(step, _ABOVE + logs - logs.mean(), steps.size).astype(np.float64)
        typical = np.exp(levels_of(sums, number, steps.days).flat.level - _ABOVE)
        typical[:, 0] = 1.0  # before the first
        lately = 0.5 + discounted(np.vstack([value, number * typical[:, :-1]]), _RATIO / steps.days)
        level = np.vstack([level, typical * lately[0] / lately[1:]])
        uncertain, wander = np.vstack([uncertain, uncertain]), np.append(wander, wander)
    level = np.log(np.maximum(level, 1e-12))
    spread = max(float(hours.var()) / usual**2, 1e-9)
    row, scatter = np.repeat(np.arange(wander.size), len(_SCATTER)), np.tile(_SCATTER, wander.size)
    of_one, each_step = scatter * spread, float(number[number > 0.0].mean())

    def moments(at: IntArray, ahead: float, durations: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Logarithm of the mean over some steps from origins on, and the variance of that of an outcome and of it."""
        unknown = np.minimum(uncertain[:, at] + wander[:, None] * ahead / 3.0, _UNKNOWN)[row] / each_step
        of_outcome = np.log1p(of_one[:, None] * (unknown + 1.0 / durations))
        return level[:, at][row], of_outcome, np.log1p(of_one[:, None] * unknown)

    over, scored = horizon / steps.width, max(round(_SCORED / steps.days), 1)
    ends, gains = [], []
    for ahead, share in ((scored, 1.0), (max(round(over), 1), scored / max(over, scored))):
        origin = np.arange(min(_BEGIN, steps.size), steps.size - ahead + 1, min(scored, ahead))
        came, durations = so_far[:, origin + ahead] - so_far[:, origin]
        origin, came, durations = (each[came > 0.0] for each in (origin, came, durations))
        mean, variance, _ = moments(origin, float(ahead), durations)
        error = np.log(came / durations) - mean + 0.5 * variance
        gains.append(share * (-0.5 * np.log(variance) - 0.5 * error**2 / variance))
        ends.append(origin + ahead)
    order = np.argsort(np.concatenate(ends), kind="stable")
    prior = -0.5 * np.abs(np.log(scatter))[:, None]  # that of all of the past is most likely
    scores = np.cumsum(np.hstack([prior, np.concatenate(gains, axis=1)[:, order]]), axis=1)
    scores = scores.reshape(wander.size, -1, scores.shape[1])  # by predictor and scatter
    of_predictor = special.logsumexp(scores, axis=1)
    weights = fixed_share(np.diff(of_predictor, axis=1), _BACK)
    if not long_run:  # with few durations, what came last is mostly chance
        enough = hours.size**2 / (hours.size**2 + _FEW**2)
        weights = enough * weights + (1.0 - enough) * (np.arange(wander.size) == HALF_LIVES.index(np.inf))
    weight = (weights[:, None] * special.softmax(scores[:, :, -1], axis=1)).ravel()
    expected = max(float(number.mean()) * over, 1.0)
    mean, *variances = (each[:, 0] for each in moments(np.array([steps.size]), over, np.array([expected])))
    middle = float(weight @ mean)
    apart = float(weight @ (mean - middle) ** 2)
    of_outcome, of_level = (float(np.expm1(weight @ variance + apart)) for variance in variances)
    return float(np.exp(middle)) * float(hours.sum()) / float(ended.sum()), of_level, (of_outcome - of_level) * expected
