"""Where records of a fleet come from: a class of settings for each kind of source, which can fetch what is new."""

from __future__ import annotations

from relfit.live.sources.file_source import FileSource
from relfit.live.sources.prometheus_source import PrometheusSource
from relfit.live.sources.slurm_source import SlurmSource
from relfit.live.sources.source_base import SourceBase
from relfit.live.sources.source_errors import SourceError

__all__ = ["SOURCES", "SourceBase", "SourceError"]

SOURCES: dict[str, type[SourceBase]] = {
    "file": FileSource,
    "slurm": SlurmSource,
    "prometheus": PrometheusSource,
}
"""Kinds of sources, as ``kind`` names them in the settings."""
