"""Regression of times and counts on attributes of nodes and events, fitted by lifelines and statsmodels."""

from relfit.analyses.regression.effects import AttributeEffects, attribute_effects
from relfit.analyses.regression.models import MODELS, regress
from relfit.analyses.regression.regression_results import Regression, Test

__all__ = ["MODELS", "AttributeEffects", "Regression", "Test", "attribute_effects", "regress"]
