"""Estimation for whole batches: maximum likelihood, intervals, comparison, Kaplan-Meier, mean times."""

from relfit.fitting.maximum_likelihood import fit
from relfit.fitting.means import mean_time
from relfit.fitting.nonparametric import StepFunctions, kaplan_meier
from relfit.fitting.results import FamilyFit, Fits
from relfit.fitting.status import MEANING as STATUS_MEANING

__all__ = ["STATUS_MEANING", "FamilyFit", "Fits", "StepFunctions", "fit", "kaplan_meier", "mean_time"]
