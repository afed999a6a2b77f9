"""Estimates without a family, for every group at once: Kaplan-Meier, Nelson-Aalen, Turnbull, plotting positions."""

from relfit.nonparametric._turnbull import TurnbullEstimate, turnbull
from relfit.nonparametric.curves import StepCurves
from relfit.nonparametric.estimates import kaplan_meier, nelson_aalen
from relfit.nonparametric.ranks import PlottingPositions, median_ranks, plotting_positions

__all__ = [
    "PlottingPositions",
    "StepCurves",
    "TurnbullEstimate",
    "kaplan_meier",
    "median_ranks",
    "nelson_aalen",
    "plotting_positions",
    "turnbull",
]
