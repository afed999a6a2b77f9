"""Errors of parameters in one line: the dotted key, what is wrong there, what to do."""

from __future__ import annotations

import datetime as dt
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from relfit.base.errors import ArgumentError
from relfit.fleet.calibration.parameter_values import Model

Place = tuple[str | int, ...]

_SHOWN = 60
_BRANCHES = ("int", "float", "str", "constrained-int", "constrained-float")
_WANTED = {
    "greater_than": "it must be above {gt:g}",
    "greater_than_equal": "it must be {ge:g} or more",
    "less_than": "it must be below {lt:g}",
    "less_than_equal": "it must be {le:g} or less",
    "finite_number": "it must be finite",
}
_TYPES = {
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "a whole number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "a table"),
    **dict.fromkeys(("datetime_type", "datetime_parsing", "datetime_from_date_parsing"), "a date or time"),
    "string_type": "text",
    "list_type": "a list",
}
_TABLES = {
    "Duration": "a duration such as '20h', a number of hours, or a table with value and unit",
    "Share": "a share from 0 to 1, or a table with value",
    "Ratio": "a number above zero, or a table with value",
}


class ParameterError(ArgumentError):
    """Invalid parameters.

    Attributes
    ----------
    place : tuple of str and int
        The keys that lead to the first error.
    what_is_wrong : str
        The message without the keys.
    """

    def __init__(self, error: ValidationError, model: type[Model], prefix: Place = ()) -> None:
        place, self.what_is_wrong, remedy = _one(error.errors(include_url=False)[0], model)
        self.place = (*prefix, *place)
        key = dotted(self.place)
        super().__init__(f"{key}: {self.what_is_wrong}" if key else self.what_is_wrong, remedy=remedy)


def dotted(place: Place) -> str:
    """A place as a dotted key, as ``checks[0].name``."""
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text


def _one(item: ErrorDetails, model: type[Model]) -> tuple[Place, str, str | None]:
    """Place, what is wrong there, remedy; names of union branches, which pydantic adds, are removed from the place."""
    place: Place = tuple(part for part in item["loc"] if part not in _BRANCHES and "[" not in str(part))
    context: dict[str, Any] = dict(item.get("ctx") or {})
    kind = item["type"]
    if kind == "relfit":
        further = tuple(part for part in str(context["at"]).split(".") if part)
        what = str(context["message"])
        return (*place, *further), what, context["remedy"] or None
    shown = _shown(item.get("input"))
    if kind == "extra_forbidden":
        return place, "this key is unknown", _instead(str(place[-1]), _table(model, place[:-1]))
    if kind == "missing":
        return place, "this is missing", "give it"
    if kind == "too_short":
        return place, f"this has {context['actual_length']} values", f"give {context['min_length']} or more"
    if kind in _WANTED:
        return place, f"this cannot be {shown}", _WANTED[kind].format(**context)
    if kind == "literal_error":
        return place, f"this cannot be {shown}", f"it must be {context.get('expected', '')}"
    wanted = _TYPES.get(kind, str(item["msg"]))
    if wanted == "a table":
        keys = _names(_table(model, place))
        wanted = f"{wanted} with {', '.join(keys)}" if keys else wanted
        wanted = _TABLES.get(str(context.get("class_name", "")), wanted)
    return place, f"this cannot be {shown}", f"it must be {wanted}"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, float):
        text = f"{value:g}"
    elif isinstance(value, (dt.date, dt.time)):
        text = value.isoformat()
    elif isinstance(value, dict):
        return "a table"
    elif isinstance(value, list):
        return "a list"
    else:
        try:
            text = repr(value)
        except ValueError:  # an integer with more digits than Python converts
            text = "a number of very many digits"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _instead(key: str, table: Any) -> str:
    """What to write instead of an unknown key of a table."""
    keys = _names(table)
    if table is not None and key in table.other_names:
        return f"write {table.other_names[key]}"
    if near := get_close_matches(key, keys, n=1):
        return f"did you mean {near[0]}?"
    listed = f"in {table.keys_page}" if table is not None and table.keys_page else ", ".join(keys)
    return f"the keys are {listed}"


def _table(model: type[Model], place: Place) -> Any:
    """The model of the table at this place; None without one."""
    kind: Any = model
    for part in place:
        if isinstance(part, int):
            continue
        field = getattr(kind, "model_fields", {}).get(part)
        if field is None:
            return None
        kind = _model_in(field.annotation)
    return kind


def _names(table: Any) -> list[str]:
    """Keys that a table may have."""
    return [str(name) for name in getattr(table, "model_fields", {})]


def _model_in(annotation: object) -> Any:
    """The model in an annotation such as ``list[Model] | None``; None if there is none."""
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return annotation
    return next((inner_model for inner in get_args(annotation) if (inner_model := _model_in(inner)) is not None), None)
