"""The systemd journal, the kernel's ring buffer, or the event log of a baseboard controller as a source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pandas as pd
from pydantic import Field

from relfit.base.programs import output_of
from relfit.io.journal_lines import READER
from relfit.io.parsing.opening import Content, open_content
from relfit.live.live_records import Fetched
from relfit.live.sources.file_source import fetched_documents, form_of
from relfit.live.sources.source_base import FilePath, SourceBase
from relfit.log.failurelog import FailureLog

_OVERLAP = pd.Timedelta("1h")
_COMMANDS = {
    "journalctl": ("journalctl", "-o", "json", "--no-pager", "-q"),
    "dmesg": ("dmesg", "-T"),
    "ipmitool": ("ipmitool", "sel", "list"),
}


class JournalSource(SourceBase):
    """``journalctl -o json``, ``dmesg -T`` or ``ipmitool sel list``: run, or read from files of their output."""

    kind: Literal["journal"]
    program: Literal["journalctl", "dmesg", "ipmitool"] = Field("journalctl", description="which is run")
    path: FilePath | None = Field(None, description="files of what it printed; then nothing is run")
    through: list[str] = Field(default_factory=list, description='what runs it elsewhere, as ["ssh", "n012"]')
    arguments: list[str] = Field(default_factory=list, description='further arguments, as ["-k"]')
    node: str | None = Field(None, description="whose lines they are, where they do not say it")
    rules: FilePath | None = Field(None, description="what counts as a failure; those for syslog when left out")
    ends: Literal["node", "job"] = Field("node", description="whether the end of a job counts too")
    timeout: float = Field(120.0, gt=0.0, description="seconds that it may take")

    @property
    def place(self) -> str:
        """The files, or the program and where it runs."""
        return super().place or " ".join([self.program, *self.through[-1:]])

    def fetch(self, cursor: Mapping[str, object], now: pd.Timestamp) -> Fetched:
        """Lines from an hour before the last one read, or the content of changed files."""
        if self.path is not None:
            return fetched_documents(self, self.path, cursor, lambda files: self._read(open_content(files[0])))
        since = cursor.get("until")
        command = [*self.through, *_COMMANDS[self.program], *self.arguments]
        if self.program == "journalctl" and since is not None:
            command.append(f"--since=@{(pd.Timestamp(str(since)) - _OVERLAP).timestamp():.0f}")
        data = output_of(command, self.timeout)
        log = self._read(Content(Path(self.program), data)) if data.strip() else None
        until = now if log is None else max(log.window.end, pd.Timestamp(str(since)) if since else log.window.end)
        return Fetched(log, {"until": until.isoformat()}, "" if log is None else form_of(log))

    def _read(self, content: Content) -> FailureLog:
        options: dict[str, Any] = {"rules": self.rules, "ends": self.ends, "node": self.node}
        return READER.read([content], strict=False, timezone=self.timezone, **options)
