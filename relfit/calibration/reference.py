"""The schema of parameter files as a table in words, made from the model itself, for the documentation."""

from __future__ import annotations

from typing import Any, get_args

from relfit.calibration.quantities import Duration, Model, Quantity, Ratio, Share
from relfit.calibration.schema import Parameters

__all__ = ["schema_table"]

_QUANTITIES: dict[type[Model], str] = {Duration: "duration", Share: "share", Ratio: "ratio"}


def schema_table() -> str:
    """All keys of a parameter file with their meaning, as tables in Markdown.

    Examples
    --------
    >>> print(schema_table().splitlines()[2])
    | `version` | 1 | version of this schema |
    """
    lines = ["| key | what it is | meaning |", "|---|---|---|"]
    lines += _rows(Parameters, "")
    for kind, name in _QUANTITIES.items():
        lines += ["", f"A {name} is a table with", "", "| key | what it is | meaning |", "|---|---|---|"]
        lines += _rows(kind, "")
    return "\n".join(lines) + "\n"


def _rows(model: type[Model], prefix: str, shown: dict[type[Model], str] | None = None) -> list[str]:
    """A row a key; a table that has been shown is referred to."""
    shown = {} if shown is None else shown
    rows = []
    for name, field in model.model_fields.items():
        kind, inner = _kind(field.annotation)
        key = f"{prefix}{name}"
        known = shown.get(inner) if inner is not None else None
        rows.append(f"| `{key}` | {kind if known is None else f'table as `{known}`'} | {field.description} |")
        if inner is not None and known is None:
            shown[inner] = key
            rows += _rows(inner, f"{key}[]." if kind.startswith("list") else f"{key}.", shown)
    return rows


def _kind(annotation: Any) -> tuple[str, type[Model] | None]:
    """What a key holds, in a word, and the model of a table within."""
    text = str(annotation)
    model = _model(annotation)
    many = text.startswith("list[")
    if model is not None and issubclass(model, Quantity):
        return _QUANTITIES.get(model, "quantity"), None
    if model is not None:
        return ("list of tables" if many else "table"), model
    if many and "list[list" in text:
        return "matrix", None
    if many:
        return "list of texts", None
    if text.startswith("dict["):
        return ("table of texts" if "str, str" in text else "table of numbers"), None
    choices = [str(value) for part in (annotation, *get_args(annotation)) for value in get_args(part) if _plain(value)]
    if 0 < len(choices) < 3 and "Literal" in text:
        return ", ".join(choices), None
    for word, said in (("datetime", "date and time"), ("bool", "true or false"), ("int", "whole number"),
                       ("float", "number"), ("str", "text")):  # fmt: skip
        if word in text:
            return said, None
    return "text", None


def _plain(value: Any) -> bool:
    return isinstance(value, (str, int)) and not isinstance(value, bool)


def _model(annotation: Any) -> type[Model] | None:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model(part)) is not None), None)
