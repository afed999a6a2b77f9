"""Covariates: how attributes of nodes and events lengthen or shorten durations (lifelines does the fitting)."""

from relfit.regression.models import MODELS, regress
from relfit.regression.regression_results import Regression, Test

__all__ = ["MODELS", "Regression", "Test", "regress"]
