"""Covariates: attributes of nodes and events beside times and counts (lifelines and statsmodels fit)."""

from relfit.regression.effects import AttributeEffects, attribute_effects
from relfit.regression.models import MODELS, regress
from relfit.regression.regression_results import Regression, Test

__all__ = ["MODELS", "AttributeEffects", "Regression", "Test", "attribute_effects", "regress"]
