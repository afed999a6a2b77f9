"""Templates filled to one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from relfit.base.writing import complete

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_UNIT = re.compile(r"(?<=\d) %")
_MARKS = r"\u200e\u200f\u202a-\u202e\u2066-\u2069"
_LETTERS = r"\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\U00010800-\U00010fff\U0001e800-\U0001efff"
_TURNS = f"[{_MARKS}{_LETTERS}]"
_TURNED = re.compile(rf"([^\s,;()]*{_TURNS}(?:[^\s,;()]*[^\s,;:.()])?)")
"""A word with a mark of direction, or a letter that is written from right to left."""


def isolated(value: object) -> Any:
    """A text as a page shows it: one written from right to left stays apart, control characters are visible."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    text = _CONTROL.sub(lambda found: found.group().encode("unicode_escape").decode(), value)
    text = _UNIT.sub("\N{NO-BREAK SPACE}%", text)
    parts = [escape(part) for part in _TURNED.split(text)]
    parts[1::2] = [Markup("<bdi>") + part + Markup("</bdi>") for part in parts[1::2]]
    return text if len(parts) == 1 else Markup("").join(parts)


def filled(template: str, **content: object) -> str:
    """Fill a template; Jinja2 escapes everything but the prepared SVG and CSV texts, through `isolated`."""
    environment = Environment(
        loader=PackageLoader("relfit.reporting"),
        autoescape=True,
        finalize=isolated,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(css=_part("report.css"), **content)


def render(**content: object) -> str:
    """Fill the template of the report."""
    script = _part("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return filled("report.html.j2", script=script, script_hash=digest, **content)


def _part(name: str) -> str:
    return (files("relfit.reporting") / "templates" / name).read_text(encoding="utf-8")


def write_whole(path: Path, text: str) -> Path:
    """Write a file complete or not at all."""
    with complete(path) as part:
        part.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    return path
