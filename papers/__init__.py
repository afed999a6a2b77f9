"""The tables of the papers beside ours: what was printed, what comes out, and what is right."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME: dict[str, tuple[str, str]] = {
    "PAPERS": ("papers", "PAPERS"),
    "Reproduction": ("papers", "Reproduction"),
    "reproduce": ("papers", "reproduce"),
    "sparing_table_1": ("sparing", "table_1"),
    "migration_table": ("migration", "table"),
    "migration_tables": ("migration", "tables"),
    "allocation_table_6_1": ("allocation", "table_6_1"),
    **{f"allocation_{name}": ("allocation", name)
       for name in ("figure_6_3", "figure_6_4", "figure_6_5", "figure_6_7a", "figure_6_7b")},
}  # fmt: skip

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'papers' has no attribute {name!r}")
    module, attribute = _HOME[name]
    value = getattr(import_module(f"papers.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
