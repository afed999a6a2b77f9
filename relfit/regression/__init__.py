"""Covariates: how attributes of nodes and events lengthen or shorten durations (lifelines does the fitting).

>>> from relfit.regression import regression
>>> import pandas as pd
>>> table = pd.DataFrame({"hours": [4.0, 7.0, 9.0, 12.0, 20.0, 31.0], "hot": [1, 1, 0, 1, 0, 0]})
>>> regression(table, "hours ~ hot", "weibull", observed=None).table.index.tolist()
['hot']
"""

from relfit.regression.covariates import regression_table
from relfit.regression.models import MODELS, regress, regression
from relfit.regression.regression_results import Regression, Test

__all__ = ["MODELS", "Regression", "Test", "regress", "regression", "regression_table"]
