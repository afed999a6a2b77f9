"""Estimation for whole batches: estimates, intervals, tests of fit, comparison of families, pooling, mean times."""

from relfit.fitting.competing import CompetingFit
from relfit.fitting.estimators import ShapeCorrection, bias_corrected_shape, moments, rank_regression
from relfit.fitting.family_fit import FamilyFit
from relfit.fitting.goodness_of_fit import Goodness
from relfit.fitting.intervals import KINDS as INTERVAL_KINDS
from relfit.fitting.intervals import Interval
from relfit.fitting.maximum_likelihood import fit
from relfit.fitting.means import mean_time
from relfit.fitting.model_tests import NESTED
from relfit.fitting.pooling import PooledFit, pool
from relfit.fitting.results import Fits
from relfit.fitting.spacings import maximum_product_of_spacings
from relfit.fitting.status import MEANING as STATUS_MEANING
from relfit.numeric.false_discovery import adjusted_p

__all__ = [
    "INTERVAL_KINDS",
    "NESTED",
    "STATUS_MEANING",
    "CompetingFit",
    "FamilyFit",
    "Fits",
    "Goodness",
    "Interval",
    "PooledFit",
    "ShapeCorrection",
    "adjusted_p",
    "bias_corrected_shape",
    "fit",
    "maximum_product_of_spacings",
    "mean_time",
    "moments",
    "pool",
    "rank_regression",
]
