"""The methods of estimation by name, each as one function of a family and lives."""

from __future__ import annotations

from difflib import get_close_matches

from relfit.errors import ArgumentError
from relfit.fitting.estimate import estimate
from relfit.fitting.plain import Estimator

__all__ = ["MAXIMUM_LIKELIHOOD", "METHODS", "method_named"]

MAXIMUM_LIKELIHOOD = "maximum likelihood"
METHODS: dict[str, tuple[str, Estimator]] = {"ml": (MAXIMUM_LIKELIHOOD, estimate)}


def method_named(name: str, bias_correction: bool = False) -> tuple[str, Estimator]:
    """What a method is called in full, and the function that estimates by it.

    Raises
    ------
    ArgumentError
        For an unknown method, or a correction of what is not maximum likelihood.
    """
    if name not in METHODS:
        near = get_close_matches(name, METHODS, n=1)
        raise ArgumentError(
            f"unknown method {name!r}",
            remedy=f"did you mean {near[0]}?" if near else f"use one of {', '.join(METHODS)}",
        )
    return METHODS[name]
