"""Estimates without a distribution: survival and hazard, competing causes, log-rank test, plotting positions, means."""

from relfit.fitting.nonparametric._turnbull import TurnbullEstimate, turnbull
from relfit.fitting.nonparametric.curves import StepCurves
from relfit.fitting.nonparametric.log_rank_test import LogRank, log_rank
from relfit.fitting.nonparametric.observed_means import ObservedTimes, observed_times
from relfit.fitting.nonparametric.ranks import PlottingPositions, median_ranks
from relfit.fitting.nonparametric.survival_estimates import cumulative_incidence, kaplan_meier, nelson_aalen

__all__ = [
    "LogRank",
    "ObservedTimes",
    "PlottingPositions",
    "StepCurves",
    "TurnbullEstimate",
    "cumulative_incidence",
    "kaplan_meier",
    "log_rank",
    "median_ranks",
    "nelson_aalen",
    "observed_times",
    "turnbull",
]
