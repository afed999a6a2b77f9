"""Estimation for batches of groups: estimates, intervals, tests of fit, comparison of distributions, pooling.

``families`` has the distributions, ``nonparametric`` the curves without one, ``goodness`` the tests of fit. `LifeData`
goes in (``lifedata`` of ``log``), `Fits` come out and go to ``analyses``, ``system`` and ``fleet``. The search of the
core distributions is compiled (``conditional_kernels``); `fit_stored` fits what is larger than memory. A newcomer may
add a distribution: one module in ``families`` and its line there.
"""

from relfit.fitting._fit import fit
from relfit.fitting._fit_stored import StoredFits, fit_stored
from relfit.fitting.competing import CompetingFit
from relfit.fitting.estimators import bias_corrected_shape, moments, rank_regression
from relfit.fitting.family_fit import FamilyFit
from relfit.fitting.field_forecast import FailuresAhead
from relfit.fitting.fit_findings import finding
from relfit.fitting.fits import Fits
from relfit.fitting.goodness_of_fit import Goodness
from relfit.fitting.pooling import PooledFit, pool

__all__ = [
    "CompetingFit",
    "FailuresAhead",
    "FamilyFit",
    "Fits",
    "Goodness",
    "PooledFit",
    "StoredFits",
    "bias_corrected_shape",
    "finding",
    "fit",
    "fit_stored",
    "moments",
    "pool",
    "rank_regression",
]
