"""Defaults of functions, defaults and bounds of settings: python -m tests.house.defaults records them anew."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import Field
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, get_args

import numpy as np
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

import relfit

RECORDED = Path(__file__).with_suffix(".txt")
_BOUNDS = ("gt", "ge", "lt", "le", "min_length", "max_length", "allow_inf_nan", "pattern")


def modules() -> list[ModuleType]:
    """All modules below relfit but those that run a command."""
    names = [found.name for found in walk_packages(relfit.__path__, "relfit.")]
    return [import_module(name) for name in names if not name.endswith("__main__")]


def lines() -> list[str]:
    """One line for each function with a default, and for each key of the settings with a default or a bound."""
    out: set[str] = set()
    for module in modules():
        for name, what in vars(module).items():
            if not name.startswith("_") and getattr(what, "__module__", None) == module.__name__:
                out.update(_of(f"{module.__name__}.{name}", what))
    return sorted(out)


def _of(name: str, what: Any) -> Iterator[str]:
    if inspect.isclass(what) and issubclass(what, BaseModel):
        for key, field in what.model_fields.items():
            default = [] if field.default in (PydanticUndefined, None) else ["=", _shown(field.default)]
            if parts := [*default, *dict.fromkeys(_bounds(field))]:
                yield " ".join([f"{name}.{key}", *parts])
    elif inspect.isclass(what):
        yield from _defaults(name, what.__init__)
        for key, function in vars(what).items():
            if inspect.isfunction(function) and not key.startswith("_"):
                yield from _defaults(f"{name}.{key}", function)
    elif inspect.isfunction(what):
        yield from _defaults(name, what)


def _defaults(name: str, function: Any) -> Iterator[str]:
    """The defaults of a function, but for None; that of an option of a command is declared with it."""
    parameters = inspect.signature(function).parameters.values()
    own = {p.name: p.default.default if isinstance(p.default, Field) else p.default for p in parameters}
    defaults = {key: value for key, value in own.items() if value not in (inspect.Parameter.empty, None)}
    if defaults:
        yield f"{name}({', '.join(f'{key}={_shown(value)}' for key, value in defaults.items())})"


def _bounds(field: FieldInfo) -> list[str]:
    """Bounds of a field, and of the types within its type."""
    own = [*field.metadata, *_metadata(field.annotation)]
    pairs = [(bound, getattr(part, bound, None)) for part in own for bound in _BOUNDS]
    return [f"{bound} {value}" for bound, value in pairs if value is not None]


def _metadata(annotation: Any) -> Iterator[Any]:
    for part in getattr(annotation, "__metadata__", ()):
        yield from part.metadata if isinstance(part, FieldInfo) else [part]
    for inner in get_args(annotation):
        if not isinstance(inner, str):
            yield from _metadata(inner)


def _shown(value: Any) -> str:
    """A default in words that do not change from run to run."""
    if isinstance(value, BaseModel):
        return type(value).__name__
    if isinstance(value, type) or callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if " at 0x" not in text else type(value).__name__


def main() -> None:
    """Record all."""
    RECORDED.write_text("\n".join(lines()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
