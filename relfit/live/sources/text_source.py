"""Lines of any text as a source: a regular expression with named groups for node, time, cause and so on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field, field_validator

from relfit.base.errors import ArgumentError
from relfit.fleet.calibration.parameter_values import rejection
from relfit.io import read
from relfit.io.parsing.opening import members
from relfit.io.parsing.written_times import texts_with_year
from relfit.io.raw_lines import check_pattern, rows_of_lines
from relfit.live.live_records import Fetched
from relfit.live.sources.file_source import fetched_documents
from relfit.live.sources.source_base import FilePath, SourceBase
from relfit.log.failurelog import FailureLog

_NO_YEAR = r"^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d$"
_FIELDS = ("node", "start", "end", "state", "cause", "detail", "system", "scope")


class TextSource(SourceBase):
    """Text files: each line that a pattern matches is a failure, or says that a node is up or down."""

    kind: Literal["text"]
    path: FilePath = Field(description="a file, a folder or a pattern of files")
    pattern: str = Field(description="RE2 with groups such as (?P<node>...), (?P<start>...), (?P<cause>...)")
    time_format: str | None = Field(None, description="of the times, as %d.%m.%Y %H:%M; found out when left out")
    columns: dict[str, Any] = Field(default_factory=dict, description="further options of tables, as node_name")

    @field_validator("pattern")
    @classmethod
    def _a_pattern(cls, pattern: str) -> str:
        try:
            check_pattern(pattern)
        except ArgumentError as error:
            raise rejection(error.what, remedy=error.remedy) from None
        if "(?P<start>" not in pattern:
            raise rejection("this has no group for the time", remedy="write (?P<start>...) around it")
        return pattern

    def fetch(self, cursor: Mapping[str, object], now: pd.Timestamp) -> Fetched:
        """The present content of the files that changed."""
        return fetched_documents(self, self.path, cursor, lambda files: self._read(files[0]))

    def _read(self, file: Path) -> FailureLog:
        """The matching lines, read as a table."""
        rows = rows_of_lines(members(file)[0], self.pattern)
        table = pd.DataFrame({name: column.to_pandas() for name, column in rows.columns.items()})
        if table["start"].str.match(_NO_YEAR).all():
            table["start"] = texts_with_year(table["start"], pd.Timestamp(file.stat().st_mtime, unit="s"))
        named = {name: name for name in _FIELDS if name in table}
        if self.time_format is not None:
            named["time_format"] = self.time_format
        log = read(table, timezone=self.timezone, **{**named, **self.columns})
        line = rows.rejections.lines
        events = log.events.assign(line=line[np.clip(log.events["line"].to_numpy() - 1, 0, line.size - 1)])
        return FailureLog(events, log.population, log.window, log.rejected, log.source)
