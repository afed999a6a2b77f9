"""Why a text of a table is no time or no duration, and which option might read it."""

from __future__ import annotations

import re
from shlex import quote

_CLOCK = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp][Mm])?")
_ONE_GROUP = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}(?![\d.,])")
_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?![\d,])")
_SHOWN = 40  # characters
_NO = "not a finite duration"


def is_number(text: str) -> bool:
    """Whether a text is a number, as ``-3.5``."""
    return text.replace(".", "", 1).lstrip("-").isdigit()


def is_clock(text: str) -> bool:
    """Whether a text is a time of day, as ``4:05 pm``."""
    return _CLOCK.fullmatch(text.strip()) is not None


def no_time(text: str) -> str:
    """Why a text is no time, with what might be meant."""
    hint, clock = "", " %H:%M:%S"[: 3 * text.count(":") + 3] if ":" in text else ""
    if is_number(text):
        hint = "; a number is a time with --column time_format=unix, or with time_origin=DATE and time_unit=UNIT"
    parts = text.replace("/", "-").replace(".", "-").split(" ")[0].split("-")
    if len(parts) == 3 and all(part.isdigit() and len(part) <= 2 for part in parts):
        form = quote("time_format=" + text[len(parts[0])].join(("%d", "%m", "%y")) + clock)
        hint = f"; years of two digits need a time_format, as --column {form}"
    elif is_clock(text):
        hint = "; with the date in a column of its own: --column start=DATE+TIME, with the names of both"
    elif text[-1:].isalpha() and text[-3:].isupper() and ":" in text:
        form = quote(f"time_format=%Y-%m-%d{clock} {text.rpartition(' ')[2]}")
        hint = f"; zones by letters are ambiguous: give --timezone, and their form, as --column {form}"
    return f"{text[:_SHOWN]!r} is not a date or time{hint}"


def no_length(text: str, decimal: str = ".") -> str:
    """Why a text is no duration where this is the decimal sign, with what might be meant."""
    what = f"{text[:_SHOWN]!r} is not a finite duration"
    if decimal == ",":
        return f"{what}; with a decimal comma, points separate groups of three digits before it" if "." in text else _NO
    comma = '--column decimal="," reads it as a number'
    if _ONE_GROUP.match(text):
        return f"{what}; if the comma separates thousands, write it without; if it is the decimal sign, {comma}"
    if _GROUPS.match(text):
        return f"{what}; write thousands without commas"
    return f"{what}; {comma}" if "," in text else _NO
