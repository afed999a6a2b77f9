"""Predictions from counts and times alone: levels of a series, weighted by how well they predicted its past.

`steps` counts events in days; `discounted_levels` discounts the past of a series; `mixing` weights and mixes the
levels; `mean_times` is for lengths of repairs, `rates_of_parts` for racks and causes, `switching` for nodes. Nothing
here depends on fleets or jobs.
"""

from relfit.fleet.prediction.discounted_levels import HALF_LIVES, WINDOWS, DiscountedLevels, levels_of
from relfit.fleet.prediction.mean_times import mean_time_ahead
from relfit.fleet.prediction.mixing import Prediction, cumulative, distribution_of_counts, mix
from relfit.fleet.prediction.rates_of_parts import RelativeRates, relative_rates
from relfit.fleet.prediction.steps import TimeSteps
from relfit.fleet.prediction.switching import Multiples, multiples_now

__all__ = [
    "HALF_LIVES",
    "WINDOWS",
    "DiscountedLevels",
    "Multiples",
    "Prediction",
    "RelativeRates",
    "TimeSteps",
    "cumulative",
    "distribution_of_counts",
    "levels_of",
    "mean_time_ahead",
    "mix",
    "multiples_now",
    "relative_rates",
]
