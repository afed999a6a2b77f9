"""Estimates without a family, by group: Kaplan-Meier, Nelson-Aalen, Turnbull, plotting positions, mean and median."""

from relfit.nonparametric._turnbull import TurnbullEstimate, turnbull
from relfit.nonparametric.curves import StepCurves
from relfit.nonparametric.observed_means import ObservedTimes, observed_times
from relfit.nonparametric.ranks import PlottingPositions, median_ranks
from relfit.nonparametric.survival_estimates import kaplan_meier, nelson_aalen

__all__ = [
    "ObservedTimes",
    "PlottingPositions",
    "StepCurves",
    "TurnbullEstimate",
    "kaplan_meier",
    "median_ranks",
    "nelson_aalen",
    "observed_times",
    "turnbull",
]
