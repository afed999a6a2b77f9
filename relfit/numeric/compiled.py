"""Functions compiled by numba, kept on disk where that can be, and compiled again where it cannot or is damaged."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

__all__ = ["kept", "njit"]

Function = TypeVar("Function", bound=Callable[..., Any])
_said: list[str] = []


def njit(*, cache: bool = True, **options: Any) -> Callable[[Function], Function]:
    """As `numba.njit`, with a cache that never stands in the way.

    Where no folder can be written, functions are compiled at each run; a cache that is damaged is written anew. A
    warning says either, once.

    Examples
    --------
    >>> @njit(cache=False, nogil=True)
    ... def double(x):
    ...     return 2 * x
    >>> double(4)
    8
    """

    def decorate(function: Function) -> Function:
        dispatcher = numba.njit(**options)(function)
        if cache:
            try:
                dispatcher.enable_caching()
            except (RuntimeError, OSError):
                _say_once("compiled functions cannot be kept (no folder for them): each run takes some seconds more; "
                          "set NUMBA_CACHE_DIR to a folder of your own")  # fmt: skip
            else:
                dispatcher._cache = _Forgiving(dispatcher._cache)
        return dispatcher

    return decorate


def kept(function: Any) -> bool:
    """Whether an earlier run compiled this function and kept it."""
    file = getattr(getattr(function, "_cache", None), "_cache_file", None)
    return file is None or Path(str(getattr(file, "_index_path", "."))).exists()


class _Forgiving:
    """A cache of numba's; what cannot be read from it or written to it is compiled."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            return self._cache.load_overload(signature, target)
        except Exception:  # whatever pickle makes of a damaged file
            _say_once("the cache of compiled functions is damaged and is written anew")
            self._try(self._cache.flush)
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        self._try(self._cache.save_overload, signature, data)

    def _try(self, action: Callable[..., None], *arguments: Any) -> None:
        try:
            action(*arguments)
        except Exception:
            _say_once("compiled functions cannot be kept: each run takes some seconds more")


def _say_once(text: str) -> None:
    if text not in _said:
        _said.append(text)
        warnings.warn(text, RuntimeWarning, stacklevel=2)
