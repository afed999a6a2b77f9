"""Goodness of fit, on arrays alone: test statistics on cumulative probabilities, and where their p-values come from."""

from relfit.fitting.goodness._distances import DISTANCES, STATISTICS, chi_square_of_hazards, distances_of_hazards
from relfit.fitting.goodness.null_tables import kolmogorov_p, tabulated_p

__all__ = ["DISTANCES", "STATISTICS", "chi_square_of_hazards", "distances_of_hazards", "kolmogorov_p", "tabulated_p"]
