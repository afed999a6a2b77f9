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
    """Warn that a name is deprecated: in a function, in a module's ``__getattr__``, where a command reads an option.

    Parameters
    ----------
    old, new : str
        The deprecated name, and what to write instead.
    removed_in : str
        The version without the old name, as in ``"0.6"``; `tests/house` fails once relfit has it.
    stacklevel : int
        Calls between this one and the user's line; 2 is the caller of the function that warns.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warn_deprecated("log.lives()", "log.ttf()", removed_in="0.6")
    >>> str(caught[0].message)
    'log.lives() will be removed in relfit 0.6; write log.ttf()'
    """
    warnings.warn(
        f"{old} will be removed in relfit {removed_in}; write {new}", FutureWarning, stacklevel=stacklevel + 1
    )


def deprecated(new: str, *, removed_in: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator of a deprecated function: each call warns and names `new`.

    Examples
    --------
    >>> @deprecated("relfit.twice", removed_in="0.6")
    ... def double(x):
    ...     return 2 * x
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     double(3), str(caught[0].message)
    (6, 'double() will be removed in relfit 0.6; write relfit.twice')
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def warned(*args: P.args, **kwargs: P.kwargs) -> R:
            warn_deprecated(f"{function.__name__}()", new, removed_in=removed_in)
            return function(*args, **kwargs)

        return warned

    return decorate


def renamed_argument(old: str, new: str, *, removed_in: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator of a function whose keyword `old` is now called `new`.

    Raises
    ------
    ArgumentError
        In a call that gives both.

    Examples
    --------
    >>> @renamed_argument("draws", "n_draws", removed_in="0.6")
    ... def plan(n_draws=100):
    ...     return n_draws
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     plan(draws=5), str(caught[0].message)
    (5, 'draws= of plan() will be removed in relfit 0.6; write n_draws=')
    """

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
