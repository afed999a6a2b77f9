"""What comes next, from counts and times alone: levels that follow their fleet, weighed by what they said before.

`steps` counts what a log holds in days that end with its observation, `discounted_levels` discounts the past of a
series, `mixing` weighs the levels by how well each predicted that series so far and mixes them, `mean_times` does
so with the length of repairs, `rates_of_parts` with the parts of a whole (racks, causes), and `switching` follows the
nodes, a few of which change suddenly.
Nothing here knows of fleets or jobs; `relfit.fleet` and `relfit.backtesting` do.
"""

from relfit.fleet.prediction.discounted_levels import HALF_LIVES, DiscountedLevels, levels_of
from relfit.fleet.prediction.mean_times import mean_time_ahead
from relfit.fleet.prediction.mixing import Prediction, mix
from relfit.fleet.prediction.rates_of_parts import RelativeRates, relative_rates
from relfit.fleet.prediction.steps import TimeSteps
from relfit.fleet.prediction.switching import Multiples, multiples_now

__all__ = [
    "HALF_LIVES",
    "DiscountedLevels",
    "Multiples",
    "Prediction",
    "RelativeRates",
    "TimeSteps",
    "levels_of",
    "mean_time_ahead",
    "mix",
    "multiples_now",
    "relative_rates",
]
