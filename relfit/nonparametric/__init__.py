"""Estimates without a family, for every group at once: Kaplan-Meier, Nelson-Aalen, bands, Turnbull, median ranks."""

from relfit.nonparametric.bands import Bands, hazard_band, survival_band
from relfit.nonparametric.kaplan_meier import StepFunctions, kaplan_meier
from relfit.nonparametric.nelson_aalen import CumulativeHazards, nelson_aalen
from relfit.nonparametric.ranks import PlottingPositions, median_ranks, plotting_positions
from relfit.nonparametric.turnbull import IntervalMasses, turnbull

__all__ = [
    "Bands",
    "CumulativeHazards",
    "IntervalMasses",
    "PlottingPositions",
    "StepFunctions",
    "hazard_band",
    "kaplan_meier",
    "median_ranks",
    "nelson_aalen",
    "plotting_positions",
    "survival_band",
    "turnbull",
]
