"""Distribution families: values that hold parameters, scalar or batch, and say everything about the life.

>>> from relfit.families import Weibull
>>> Weibull(0.8606, 1542.0).mean().round(1).tolist()
1664.9
"""

from __future__ import annotations

from difflib import get_close_matches

from relfit.errors import ArgumentError
from relfit.families.base import Family
from relfit.families.exponential import Exponential
from relfit.families.gamma import Gamma
from relfit.families.lognormal import Lognormal
from relfit.families.weibull import Weibull

__all__ = ["CORE", "FAMILIES", "Exponential", "Family", "Gamma", "Lognormal", "Weibull", "family_named"]

FAMILIES: dict[str, type[Family]] = {
    "exponential": Exponential,
    "weibull": Weibull,
    "gamma": Gamma,
    "lognormal": Lognormal,
}
CORE = tuple(FAMILIES)


def family_named(name: str) -> type[Family]:
    """The family of this name.

    Raises
    ------
    ArgumentError
        When there is none; it suggests the nearest.

    Examples
    --------
    >>> family_named("weibull").parameter_names()
    ('shape', 'scale')
    """
    wanted = str(name).strip().lower()
    if wanted in FAMILIES:
        return FAMILIES[wanted]
    near = get_close_matches(wanted, FAMILIES, n=1)
    raise ArgumentError(
        f"unknown family {name!r}",
        remedy=f"did you mean {near[0]}?" if near else f"use one of {', '.join(FAMILIES)}",
    )
