"""Estimates without a family, for every group at once: Kaplan-Meier, Nelson-Aalen, Turnbull, plotting positions."""

from relfit.nonparametric._turnbull import TurnbullEstimate, turnbull
from relfit.nonparametric.curves import StepCurves
from relfit.nonparametric.ranks import PlottingPositions, median_ranks
from relfit.nonparametric.survival_estimates import kaplan_meier, nelson_aalen

__all__ = [
    "PlottingPositions",
    "StepCurves",
    "TurnbullEstimate",
    "kaplan_meier",
    "median_ranks",
    "nelson_aalen",
    "turnbull",
]
