"""Distributions of every family that tests use, those of one family as one batch."""

from __future__ import annotations

from relfit.fitting.families import FAMILIES, Family

PARAMETERS = {
    "exponential": [(0.01,), (3e5,), (2e-9,)],
    "weibull": [(0.8606, 1542.0), (0.3, 1e-4), (12.0, 3e7)],
    "gamma": [(0.4, 300.0), (60.0, 8.0), (3e5, 1e-3)],
    "lognormal": [(5.0, 1.3), (-8.0, 0.05), (20.0, 4.0)],
    "loglogistic": [(1.4, 150.0), (3.0, 1e-6), (14.0, 1e9)],
    "generalised_gamma": [(5.0, 1.2, 0.7), (-3.0, 0.4, -1.1), (9.0, 0.2, 1e-7), (2.0, 0.6, 0.0), (7.0, 0.9, 3.0)],
    "inverse_gaussian": [(370.0, 95.0), (7e-5, 3e-2), (1e8, 1e6)],
    "birnbaum_saunders": [(1.1, 150.0), (0.05, 1e-6), (6.0, 4e8)],
    "gompertz": [(1e-3, 2e-3), (1e-6, 5e-2), (4.0, 1e-4)],
    "weibull3": [(0.9, 200.0, 20.0), (3.0, 1e-3, 1e-2), (1.5, 4e7, 1e3)],
    "hyperexponential2": [(0.3, 0.1, 0.002), (0.001, 1e3, 1e-4), (0.9, 2e-6, 1e-6)],
    "hyperexponential3": [(0.2, 0.3, 0.5, 0.02, 0.001), (0.6, 0.3, 1e-3, 1e-4, 2e-6), (0.01, 0.01, 1e4, 3.0, 0.1)],
    "weibull_mixture": [(0.1, 0.6, 50.0, 3.0, 9000.0), (0.5, 1.5, 1e-4, 0.8, 3e-3), (0.97, 2.0, 1e5, 6.0, 1e6)],
    "limited_failure": [(0.2, 0.8, 100.0), (0.95, 2.0, 1e-3), (1e-6, 1.1, 1e6)],
    "zero_inflated": [(0.4, 1.3, 100.0), (1e-6, 0.7, 1e5), (0.98, 3.0, 1e-2)],
}
DISTRIBUTIONS: dict[str, list[Family]] = {
    name: [FAMILIES[name](*values) for values in rows] for name, rows in PARAMETERS.items()
}
EACH = [case for rows in DISTRIBUTIONS.values() for case in rows]


def batch(name: str) -> Family:
    """All distributions of this family in one batch."""
    return FAMILIES[name](*zip(*PARAMETERS[name], strict=True))
