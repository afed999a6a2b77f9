"""Functions compiled by numba, cached on disk under a checksum of all that was compiled into them.

numba's own cache checks the file of the outermost function only. Here the name of a cached file has a checksum of the
function, of all functions that it calls and of the values that it reads: code of another release, or of a module that
was edited, is never taken for this one. A notice says where a simulator is compiled.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import EnumMeta
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Protocol, TypeVar

import numba
import numpy as np
from numba.core import caching

Function = TypeVar("Function", bound=Callable[..., Any])
_said: list[str] = []
_PATIENCE = 3.0  # seconds between two looks


def njit(*, cache: bool = True, **options: Any) -> Callable[[Function], Function]:
    """As `numba.njit`, with a cache never stale or fatal: a damaged one is written again; a warning says so once."""

    def decorate(function: Function) -> Function:
        dispatcher = numba.njit(**options)(function)
        if cache:
            try:
                dispatcher.enable_caching()
            except (RuntimeError, OSError):
                _say_once(
                    "compiled functions cannot be kept (no folder for them): each run takes some seconds more; "
                    "set NUMBA_CACHE_DIR to a folder of your own"
                )
            else:
                dispatcher._cache = _Cache(dispatcher)
        return dispatcher

    return decorate


def kept(function: object) -> bool:
    """Whether an earlier run compiled this function and kept it."""
    cache = getattr(function, "_cache", None)
    return not isinstance(cache, _Cache) or Path(cache.file._index_path).exists()


def checksum(function: object) -> str:
    """Checksum of a function's code and options, of all that it calls and reads, and of the versions in use."""
    from relfit import __version__

    content = _Content({"relfit", getattr(function, "py_func", function).__module__.partition(".")[0]})
    content.note(__version__, numba.__version__, np.__version__)
    content.add(function)
    return content.digest.hexdigest()


class _Dispatcher(Protocol):
    """What `numba.njit` makes of a function."""

    py_func: FunctionType
    _cache: Any


class _Cache:
    """A cache of numba's; what cannot be read from it or written to it is compiled."""

    def __init__(self, dispatcher: _Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._cache = dispatcher._cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    @cached_property
    def file(self) -> Any:
        """The index on disk. Made when first used: a function may call others that stand below it in its module."""
        stamp = checksum(self._dispatcher)
        index: Any = caching.IndexDataCacheFile
        self._cache._cache_file = index(self._cache.cache_path, f"{self._cache._impl.filename_base}-{stamp}", stamp)
        return self._cache._cache_file

    def load_overload(self, signature: object, target: object) -> Any:
        try:
            return self.file and self._cache.load_overload(signature, target)
        except Exception:  # whatever pickle makes of a damaged file
            _say_once("the cache of compiled functions is damaged and is written anew")
            self._try(self._cache.flush)
            return None

    def save_overload(self, signature: object, data: object) -> None:
        self._try(self._remove_old)
        self._try(self._cache.save_overload, signature, data)

    def _remove_old(self) -> None:
        """Remove what was kept of this function under other checksums."""
        function = self._dispatcher.py_func
        if function.__closure__ or "<" in function.__qualname__:
            return  # several functions have this name
        base, this = self._cache._impl.filename_base, Path(self.file._index_path)
        for path in this.parent.glob(f"{base.rpartition('-')[0]}-*.nb[ic]"):
            if not path.name.startswith(this.stem):
                path.unlink(missing_ok=True)

    def _try(self, action: Callable[..., None], *arguments: object) -> None:
        try:
            action(*arguments)
        except Exception:
            _say_once("compiled functions cannot be kept: each run takes some seconds more")


class _Content:
    """All that is compiled into a function, digested: numba takes global values and closures as constants."""

    def __init__(self, packages: set[str]) -> None:
        self.digest = blake2b(digest_size=8)
        self._packages = packages
        self._seen: set[object] = set()

    def note(self, *texts: str) -> None:
        for text in texts:
            self.digest.update(text.encode() + b"\0")

    def add(self, value: object, names: tuple[str, ...] = ()) -> None:
        """Add a value; of a module, what is read from it by these names."""
        options = getattr(value, "targetoptions", None)
        function = getattr(value, "py_func", None) or getattr(value, "_defn", value)  # a dispatcher; an intrinsic
        if isinstance(function, FunctionType):
            self._function(function, options)
        elif isinstance(value, ModuleType):
            self.note(value.__name__)
            if self._is_ours(value.__name__):
                for name in names:
                    if hasattr(value, name):
                        self._once((value.__name__, name), getattr(value, name), names)
        elif isinstance(value, (tuple, list)):
            for part in value:
                self.add(part)
        elif isinstance(value, np.ndarray):
            self.note(str(value.dtype), str(value.shape), repr(value.tolist()))
        elif isinstance(value, frozenset):
            self.note(*sorted(map(repr, value)))
        elif isinstance(value, EnumMeta):
            self.note(*map(repr, value))
        else:
            text = repr(value)
            kind = value if isinstance(value, type) else type(value)
            self.note(f"{kind.__module__}.{kind.__qualname__}" if " at 0x" in text else text)

    def _function(self, function: FunctionType, options: object) -> None:
        self.note(function.__module__, function.__qualname__, repr(options))
        if self._is_ours(function.__module__) and function not in self._seen:
            self._seen.add(function)
            self.add(function.__defaults__)
            for cell in function.__closure__ or ():
                self.add(cell.cell_contents)
            self._code(function.__code__, function.__globals__)

    def _code(self, code: CodeType, variables: dict[str, object]) -> None:
        self.digest.update(code.co_code)
        self.note(*code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._code(constant, variables)
            else:
                self.add(constant)
        for name in code.co_names:
            if name in variables:
                self.add(variables[name], code.co_names)

    def _once(self, key: object, value: object, names: tuple[str, ...]) -> None:
        self.note(str(key))
        if key not in self._seen or not isinstance(value, ModuleType):
            self._seen.add(key)
            self.add(value, names)

    def _is_ours(self, module: str) -> bool:
        return module.partition(".")[0] in self._packages


def _say_once(text: str) -> None:
    if text not in _said:
        _said.append(text)
        warnings.warn(text, RuntimeWarning, stacklevel=2)


@contextmanager
def compile_notice(function: object, how_long: str) -> Iterator[None]:
    """Say (one process) that a simulator is compiled, if not on disk and of more than three seconds (`how_long`)."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(_PATIENCE) and not _compiled(function):
            if _missed(function):
                print(f"relfit: compiling the simulator, once per installation: {how_long}", file=sys.stderr)
                return

    if not _compiled(function) and multiprocessing.current_process().name in ("MainProcess", "SpawnProcess-1"):
        threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        over.set()


def _compiled(function: object) -> bool:
    return bool(getattr(function, "signatures", ()))


def _missed(function: object) -> bool:
    """Whether numba looked for the function on disk in vain; it does so before it compiles."""
    stats = getattr(function, "stats", None)
    return stats is not None and sum(stats.cache_misses.values()) > 0
