"""Deprecated names: they work for one more minor version and warn, saying what to write instead (docs/releases.md)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from relfit.base.errors import ArgumentError

P = ParamSpec("P")
R = TypeVar("R")


def warn_deprecated(old: str, new: str, *, removed_in: str, stacklevel: int = 2) -> None:
    """Warn that `old` goes with version `removed_in` (as "0.6"; `tests/house` fails once relfit has it): write `new`.

    Of `stacklevel` 2 is the caller of the function that warns.
    """
    warnings.warn(
        f"{old} will be removed in relfit {removed_in}; write {new}", FutureWarning, stacklevel=stacklevel + 1
    )


def deprecated(new: str, *, removed_in: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator of a deprecated function: each call warns and names `new`."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def warned(*args: P.args, **kwargs: P.kwargs) -> R:
            warn_deprecated(f"{function.__name__}()", new, removed_in=removed_in)
            return function(*args, **kwargs)

        return warned

    return decorate


def renamed_argument(old: str, new: str, *, removed_in: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator of a function whose keyword `old` is now called `new`; an `ArgumentError` in a call that gives both."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def warned(*args: P.args, **kwargs: P.kwargs) -> R:
            if old in kwargs:
                if new in kwargs:
                    raise ArgumentError(f"{old}= and {new}= are the same argument", remedy=f"give {new}= alone")
                warn_deprecated(f"{old}= of {function.__name__}()", f"{new}=", removed_in=removed_in)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return warned

    return decorate
