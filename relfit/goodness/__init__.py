"""Goodness of fit: test statistics on cumulative probabilities, and where their p-values come from.

This room works on numbers alone (probabilities of sorted lives under a fitted family), so that `relfit.fitting` can
carry its results.
"""

from relfit.goodness.chi_square import chi_square_p
from relfit.goodness.distances import DISTANCES, distances_of_hazards
from relfit.goodness.kolmogorov import kolmogorov_p
from relfit.goodness.null_tables import tabulated_p
from relfit.goodness.statistics import (
    ChiSquare,
    KolmogorovSmirnov,
    chi_square,
    chi_square_of_hazards,
    distances,
    kolmogorov_smirnov,
)

__all__ = [
    "DISTANCES",
    "ChiSquare",
    "KolmogorovSmirnov",
    "chi_square",
    "chi_square_of_hazards",
    "chi_square_p",
    "distances",
    "distances_of_hazards",
    "kolmogorov_p",
    "kolmogorov_smirnov",
    "tabulated_p",
]
