"""The mean duration of repairs that begin over a horizon, predicted from past ones.

Durations are taken to change all by one factor, and its logarithm is followed: in a mean of hours a few very long
repairs hide a change.
"""

from __future__ import annotations

import numpy as np

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.fleet.prediction.discounted_levels import levels_of
from relfit.fleet.prediction.mixing import mix
from relfit.fleet.prediction.steps import TimeSteps

_ABOVE = 10.0  # added to logarithms less their mean: levels are above zero
_SCORED, _BACK = 2, 0.1  # days between two scored predictions; share of the weights that returns in a horizon


def mean_time_ahead(
    steps: TimeSteps, at: IntArray, hours: FloatArray, ended: BoolArray, horizon: float, *, long_run: bool = False
) -> tuple[float, float, float]:
    """Predicted mean of the durations that begin over a horizon, hours (all hours over those ended), its relative
    variance without that by chance of their number, and the relative variance of one duration.

    Past durations began `at` (nanoseconds) and lasted some `hours` so far; one at least has `ended`. In the `long_run`
    the mean is taken as constant.
    """
    step = np.clip(np.searchsorted(steps.edges, at, side="right") - 1, 0, steps.size - 1)
    logs = np.log(hours)
    sums = np.bincount(step, _ABOVE + logs - logs.mean(), steps.size).astype(np.float64)
    number = np.bincount(step, minlength=steps.size).astype(np.float64)
    levels, backwards = levels_of(sums, number, steps.days), levels_of(sums[::-1], number[::-1], steps.days)
    levels, backwards = (each.steady if long_run else each.flat for each in (levels, backwards))
    mixture = mix(
        levels,
        sums,
        number,
        horizon / steps.width,
        float(number.mean()),
        variance_of_one=max(float(logs.var()), 1e-9),
        scored=max(round(_SCORED / steps.days), 1),
        back=_BACK,
    )
    known = [1.0 / each for each in (levels.uncertain[:, 1:], backwards.uncertain[:, :0:-1])]
    smooth = (known[0] * levels.level[:, 1:] + known[1] * backwards.level[:, :0:-1]) / (known[0] + known[1])
    weight = np.bincount(mixture.predictor, mixture.weight, levels.level.shape[0])
    factor = np.exp((weight @ smooth)[step] - mixture.expected)  # of each duration, relative to those ahead
    mean = float(hours.sum()) / float(ended.sum()) / (1.0 if long_run else float(factor.mean()))
    alike = hours / factor
    of_one = float(alike.var() / alike.mean() ** 2)
    ahead = max(float(number.mean()) * horizon / steps.width, 1.0)
    chance = float(logs.var()) / ahead / mixture.expected
    beyond = max(of_one - float(logs.var()), 0.0) / hours.size  # of the mean of the past, beyond that of logarithms
    return mean, mixture.variance_of_rate(chance) + beyond, of_one
