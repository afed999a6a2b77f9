"""Fronts of packages whose modules are slow to import: each is imported when one of its names is first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def front(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of a package, for the public names of its modules, with blanks
    between.
    """
    home = {name: f"{package}.{module}" for module, public in names.items() for name in public.split()}

    def get(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home[name]), name)

    return get, lambda: sorted(home), sorted(home)
