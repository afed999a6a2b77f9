"""Tickets as a source, as Jira and ServiceNow export them to CSV: one per failure, corrected over time."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from relfit.base.text import on_one_line
from relfit.io import read
from relfit.io.parsing.opening import open_content
from relfit.io.parsing.text_content import as_text
from relfit.io.parsing.written_times import texts_as_iso
from relfit.io.raw_lines import check_pattern
from relfit.live.live_records import Fetched
from relfit.live.sources.file_source import fetched_documents
from relfit.live.sources.source_base import FilePath, SourceBase, SourceError
from relfit.log.failurelog import FailureLog

_NAMES = {
    "start": ("created", "opened", "opened_at", "sys_created_on", "reported"),
    "end": ("resolved", "resolved_at", "closed", "closed_at", "resolution date"),
    "node": (
        *("node", "host", "hostname", "custom field (node)", "custom field (host)", "custom field (hostname)"),
        *("configuration item", "cmdb_ci", "affected ci", "asset"),
    ),
    "cause": ("category", "component/s", "components", "root cause", "close_code", "issue type", "subcategory"),
    "detail": ("summary", "short description", "short_description", "title"),
    "ticket": ("issue key", "key", "number", "ticket", "id"),
}


class TicketSource(SourceBase):
    """A CSV of tickets, exported again and again; the latest export corrects those before."""

    kind: Literal["tickets"]
    path: FilePath = Field(description="a CSV, or a pattern of exports: the one changed last is read")
    node: str | None = Field(None, description="column of the node; known ones when left out")
    node_pattern: str | None = Field(None, description="RE2 that finds the node in the summary, as n[0-9]+")
    cause: str | None = Field(None, description="column of the cause")
    start: str | None = Field(None, description="column of when it was opened")
    end: str | None = Field(None, description="column of when it was resolved")
    time_format: str | None = Field(None, description="of both; found out when left out")
    nodeless: str = Field("ignore", description="what tickets without a node are: ignore, node or system")

    def fetch(self, cursor: Mapping[str, object], now: pd.Timestamp) -> Fetched:
        """The tickets of the export that was changed last."""
        fetched = fetched_documents(self, self.path, cursor, lambda files: self._read(files[0]), _latest)
        # whatever the file's name, it is the next version of the same table
        return replace(fetched, documents=tuple((self.title, log) for _, log in fetched.documents))

    def _read(self, file: Path) -> FailureLog:
        text = io.StringIO(as_text(open_content(file)).data.decode())
        try:
            table = pd.read_csv(text, dtype=str, keep_default_na=False, sep=None, engine="python")
        except (ValueError, pd.errors.ParserError) as error:
            raise SourceError(f"{file.name} is not a CSV file: {on_one_line(error)}") from None
        columns = {field: self._column(table, field) for field in _NAMES}
        if columns["start"] is None:
            what, shown = f"{file.name} has no column of when tickets were opened", ", ".join(table.columns[:12])
            raise SourceError(what, remedy=f"name it with start: {shown}")
        rows: dict[str, Any] = {field: table[name] for field, name in columns.items() if name is not None}
        if self.node_pattern is not None and "detail" in rows:
            hits = rows["detail"].str.extract(f"({check_pattern(self.node_pattern)})")[0].fillna("")
            rows["node"] = hits if "node" not in rows else rows["node"].where(rows["node"] != "", hits)
        if "node" not in rows:
            raise SourceError(f"{file.name} has no column of nodes", remedy="name it with node, or give node_pattern")
        times: dict[str, Any] = {
            field: texts_as_iso(rows[field], self.time_format) for field in ("start", "end") if field in rows
        }
        named: dict[str, Any] = {str(field): field for field in rows if field != "ticket"}
        return read(pd.DataFrame(rows | times), timezone=self.timezone, nodeless=self.nodeless, **named)

    def _column(self, table: pd.DataFrame, field: str) -> str | None:
        """The column of a field: that of the settings, else the first with a common name."""
        said = getattr(self, field, None)
        if said is not None:
            if said not in table:
                shown = ", ".join(table.columns[:12])
                raise SourceError(f"there is no column {said!r}", remedy=f"the columns are {shown}")
            return str(said)
        lower = {str(name).strip().lower(): str(name) for name in reversed(list(table.columns))}
        return next((lower[name] for name in _NAMES[field] if name in lower), None)


def _latest(files: Sequence[Path]) -> list[list[Path]]:
    return [[max(files, key=lambda file: file.stat().st_mtime_ns)]] if files else []
