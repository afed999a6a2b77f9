"""Goodness of fit: test statistics on cumulative probabilities, and where their p-values come from.

This room works on numbers alone (probabilities of sorted lives under a fitted family), so that `relfit.fitting` can
carry its results.
"""

from relfit.goodness.chi_square import chi_square_p
from relfit.goodness.kolmogorov import kolmogorov_p
from relfit.goodness.statistics import ChiSquare, KolmogorovSmirnov, chi_square, kolmogorov_smirnov

__all__ = ["ChiSquare", "KolmogorovSmirnov", "chi_square", "chi_square_p", "kolmogorov_p", "kolmogorov_smirnov"]
