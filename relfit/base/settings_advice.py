"""Advice that names command-line options, rewritten for a file of settings."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Container

from relfit.base.errors import RelfitError

_OPTION = re.compile(r"--(column|where|failures|nodeless|population|max-size|format) ((?:'[^']*'|[^\s';)])+)")
_OTHERS = {
    "--n-nodes NUMBER or --population FILE (n_nodes or population in Python)": "nodes = NUMBER for the fleet",
    "--observed FROM/TO": 'columns = { window_start = "FROM", window_end = "TO" }',
    "--timezone": "timezone",
    "--year": "columns = { year = YEAR }",
}


def in_settings(told: object, fields: Container[str] = ()) -> str:
    """Advice that names command-line options, rewritten for the settings of a source with these fields."""

    def setting(match: re.Match[str]) -> str:
        name, value = match[1].replace("-", "_"), match[2]
        value = "".join(shlex.split(value)) if value.count('"') % 2 == 0 else value
        rest = value[len(value.rstrip(".,")) :] if value[-2:] != "=," else ""
        value = value.removesuffix(rest)
        field, _, value = value.partition("=") if name in ("column", "where") else (name, "", value)
        if name == "where":
            return f"where = {{ {json.dumps(field)} = {json.dumps(value)} }}{rest}"
        said = f"{field} = {value if re.fullmatch('true|false|[0-9]+', value) else json.dumps(value)}"
        return (said if field in fields else f"columns = {{ {said} }}") + rest

    text = told.in_options() if isinstance(told, RelfitError) else str(told)
    for option, words in _OTHERS.items():
        text = text.replace(option, words)
    return _OPTION.sub(setting, text).replace(" } columns = { ", ", ")
