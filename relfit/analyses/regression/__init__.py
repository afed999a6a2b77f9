"""Covariates: attributes of nodes and events beside times and counts (lifelines and statsmodels fit)."""

from relfit.analyses.regression.effects import AttributeEffects, attribute_effects
from relfit.analyses.regression.models import MODELS, regress
from relfit.analyses.regression.regression_results import Regression, Test

__all__ = ["MODELS", "AttributeEffects", "Regression", "Test", "attribute_effects", "regress"]
