"""The base of all kinds of sources: frozen settings, a name, and `fetch`; and helpers for them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import AfterValidator, Field, ValidationInfo

from relfit.base.errors import RelfitError
from relfit.fleet.calibration.parameter_values import Model, rejection
from relfit.live.live_records import Fetched

_IN_URL = re.compile(r"^[\w+.-]+://[^/@\s]*:[^/@\s]+@")


class SourceError(RelfitError):
    """A source could not be fetched: refused, too slow, cut short, of another form.

    Parameters
    ----------
    what : str
        In one sentence without a full stop.
    remedy : str, optional
    fetched : Fetched, optional
        Records that were fetched all the same, which are stored.

    Examples
    --------
    >>> str(SourceError("the server refused", remedy="is it up?"))
    'the server refused; is it up?'
    """

    def __init__(self, what: str, *, remedy: str | None = None, fetched: Fetched | None = None) -> None:
        super().__init__(what, remedy=remedy)
        self.fetched = fetched


class Located(str):
    """A path relative to the folder of the settings, which also holds the text of the settings."""

    written: str
    folder: Path

    @classmethod
    def of(cls, text: str, info: ValidationInfo) -> Located:
        """The path of a text in the settings."""
        folder = Path((info.context or {}).get("folder", "."))
        path = cls(folder / Path(text).expanduser())
        path.written, path.folder = text, folder
        return path

    def short(self, file: Path) -> str:
        """The name of a file of this path, the same wherever the folder is."""
        return str(file.relative_to(self.folder) if file.is_relative_to(self.folder) else file)


def without_password(url: str) -> str:
    """The URL; rejected if it holds a password."""
    if _IN_URL.match(url):
        raise rejection("this URL holds a password", remedy='leave it out and name a variable: password_env = "NAME"')
    return url


FilePath = Annotated[str, AfterValidator(Located.of)]
"""A path or pattern, relative to the folder of the settings."""
PlainUrl = Annotated[str, AfterValidator(without_password)]
"""A URL without a password."""


class SourceBase(Model):
    """Settings of one source; each kind adds its own, and its name in ``kind``."""

    kind: str
    name: str = Field("", description="what it is called; its kind and place when left out")
    timezone: str | None = Field(None, description="zone of times that carry none; that of the fleet when left out")

    @property
    def place(self) -> str:
        """The place in its title: its path, as the settings have it."""
        path = getattr(self, "path", None) or ""
        return str(getattr(path, "written", path))

    @property
    def title(self) -> str:
        """Its name; by default its kind and place."""
        return self.name or f"{self.kind} {self.place}".strip()

    @property
    def reading(self) -> dict[str, Any]:
        """The settings by which it is read, with rules, and their fingerprint: with another, it is read again."""
        values = self.model_dump(exclude={"name", "path", "url", "through", "user", "password_env", "timeout"})
        files = {name: Path(str(values[name])) for name in ("rules", "population") if values.get(name)}
        text = json.dumps(values, sort_keys=True, default=str)
        data = [text.encode(), *(file.read_bytes() for file in files.values() if file.is_file())]
        settings = json.loads(text)
        if "rules" in files:
            with suppress(OSError, ValueError):
                settings["rules"] = tomllib.loads(files["rules"].read_text(encoding="utf-8"))
        return {"fingerprint": hashlib.sha256(b"".join(data)).hexdigest()[:16], "settings": settings}

    def fetch(self, cursor: Mapping[str, object], now: pd.Timestamp) -> Fetched:
        """New records since `cursor`, which is empty in the first round; `now` is the time of the round.

        Raises
        ------
        RelfitError
            When the source could not be fetched.
        """
        raise NotImplementedError


def password_from(variable: str | None) -> str | None:
    """The password that an environment variable holds; None where none is named, a `SourceError` when it is not set."""
    if variable is not None and variable not in os.environ:
        raise SourceError(f"the environment variable {variable} is not set", remedy="set it to the password")
    return None if variable is None else os.environ[variable]


def missing_extra(name: str) -> RelfitError:
    """The error for a package of the extra ``live`` that is not installed."""
    return RelfitError(f"{name} is not installed", remedy='pip install "relfit[live]"')


def of_extra(name: str) -> Any:
    """A package of the extra ``live``."""
    try:
        return import_module(name)
    except ImportError:
        raise missing_extra(name) from None
