"""Sources of the records of a fleet: a class of settings for each kind, with `fetch`."""

from __future__ import annotations

from relfit.live.sources.file_source import FileSource
from relfit.live.sources.journal_source import JournalSource
from relfit.live.sources.prometheus_source import PrometheusSource
from relfit.live.sources.slurm_source import SlurmSource
from relfit.live.sources.source_base import SourceBase, SourceError
from relfit.live.sources.sql_source import SqlSource
from relfit.live.sources.text_source import TextSource
from relfit.live.sources.ticket_source import TicketSource

__all__ = ["SOURCES", "SourceBase", "SourceError"]

SOURCES: dict[str, type[SourceBase]] = {
    "file": FileSource,
    "text": TextSource,
    "journal": JournalSource,
    "sql": SqlSource,
    "tickets": TicketSource,
    "slurm": SlurmSource,
    "prometheus": PrometheusSource,
}
"""Classes of sources by their ``kind`` in the settings."""
