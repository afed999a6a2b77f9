"""Distributions: values that hold parameters, scalar or batch, with survival, hazard, mean, quantiles and samples.

>>> from relfit.fitting.families import Weibull
>>> Weibull(0.8606, 1542.0).mean().round(1).tolist()
1664.9
"""

from __future__ import annotations

from difflib import get_close_matches

from relfit.base.errors import ArgumentError
from relfit.fitting.families.base import Family
from relfit.fitting.families.birnbaum_saunders import BirnbaumSaunders
from relfit.fitting.families.competing_risks import CompetingRisks
from relfit.fitting.families.distribution import Distribution
from relfit.fitting.families.exponential import Exponential
from relfit.fitting.families.gamma import Gamma
from relfit.fitting.families.generalised_gamma import GeneralisedGamma
from relfit.fitting.families.gompertz import Gompertz
from relfit.fitting.families.inverse_gaussian import InverseGaussian
from relfit.fitting.families.loglogistic import Loglogistic
from relfit.fitting.families.lognormal import Lognormal
from relfit.fitting.families.mixtures import Hyperexponential2, Hyperexponential3, WeibullMixture
from relfit.fitting.families.populations import LimitedFailure, ZeroInflated
from relfit.fitting.families.weibull import Weibull
from relfit.fitting.families.weibull3 import Weibull3

__all__ = [
    "CORE",
    "FAMILIES",
    "FURTHER",
    "BirnbaumSaunders",
    "CompetingRisks",
    "Distribution",
    "Exponential",
    "Family",
    "Gamma",
    "GeneralisedGamma",
    "Gompertz",
    "Hyperexponential2",
    "Hyperexponential3",
    "InverseGaussian",
    "LimitedFailure",
    "Loglogistic",
    "Lognormal",
    "Weibull",
    "Weibull3",
    "WeibullMixture",
    "ZeroInflated",
    "family_named",
]

_CORE: tuple[type[Family], ...] = (Exponential, Weibull, Gamma, Lognormal)
_FURTHER: tuple[type[Family], ...] = (
    Loglogistic,
    GeneralisedGamma,
    InverseGaussian,
    BirnbaumSaunders,
    Gompertz,
    Weibull3,
    Hyperexponential2,
    Hyperexponential3,
    WeibullMixture,
    LimitedFailure,
    ZeroInflated,
)
FAMILIES: dict[str, type[Family]] = {family.name: family for family in _CORE + _FURTHER}
CORE = tuple(family.name for family in _CORE)
FURTHER = tuple(family.name for family in _FURTHER)
_ALIASES = {"generalized_gamma": "generalised_gamma"}


def family_named(name: str) -> type[Family]:
    """The family of this name; case, spaces and hyphens for underscores do not matter.

    Raises
    ------
    ArgumentError
        When there is none; it suggests the nearest.

    Examples
    --------
    >>> family_named("weibull").parameter_names()
    ('shape', 'scale')
    >>> family_named("Birnbaum-Saunders").name
    'birnbaum_saunders'
    """
    wanted = "_".join(str(name).strip().lower().replace("-", " ").replace("_", " ").split())
    wanted = _ALIASES.get(wanted, wanted)
    if wanted in FAMILIES:
        return FAMILIES[wanted]
    near = get_close_matches(wanted, FAMILIES, n=1)
    raise ArgumentError(
        f"unknown family {name!r}", remedy=f"did you mean {near[0]}?" if near else f"use one of {', '.join(FAMILIES)}"
    )
