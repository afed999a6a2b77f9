"""From sections to one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from relfit.writing import complete

__all__ = ["render", "write_whole"]


def render(**content: Any) -> str:
    """Fill the template; everything but the prepared SVG and CSV texts is escaped by Jinja2."""
    environment = Environment(
        loader=PackageLoader("relfit.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    parts = files("relfit.reporting") / "templates"
    script = (parts / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("report.html.j2").render(
        css=(parts / "report.css").read_text(encoding="utf-8"), script=script, script_hash=digest, **content
    )


def write_whole(path: Path, text: str) -> Path:
    """Write a file complete or not at all.

    Raises
    ------
    ArgumentError
        When its folder is not there or cannot be written to.
    """
    with complete(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
    return path
