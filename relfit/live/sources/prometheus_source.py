"""Prometheus as a source: whether targets answered, by range queries in pages over its HTTP interface.

A node is down while all of its targets are: one exporter that crashes beside others takes no node down. A node that is
down at its first sample was down before; where samples are missing nothing is known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from pydantic import Field

from relfit.base.text import on_one_line
from relfit.io.parsing.opening import Content
from relfit.io.prometheus import log_of_samples
from relfit.io.raw_logs import RecordTally
from relfit.live.live_records import Fetched
from relfit.live.sources.file_source import form_of
from relfit.live.sources.source_base import PlainUrl, SourceBase, SourceError, of_extra, password_from

_POINTS = 10_000  # per series and page; Prometheus refuses more than 11,000
_SAMPLES = 1_000_000  # per page, over all series
_NODE = "relfit_node"


class PrometheusSource(SourceBase):
    """The metric ``up`` of some jobs, or another that is 1 where a node works and 0 where it does not."""

    kind: Literal["prometheus"]
    url: PlainUrl = Field(pattern=r"^https?://\S+$", description="as http://localhost:9090")
    jobs: list[str] = Field(default_factory=list, description="names of jobs; all when left out")
    metric: str = Field("up", pattern=r"^[A-Za-z_:][A-Za-z0-9_:]*$", description="1 where a node works, 0 where not")
    label: str = Field(
        "instance", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", description="that names the node; a port is cut off"
    )
    system: str = Field("system", min_length=1, description="what the nodes belong to, as other sources name it")
    step: int = Field(60, ge=1, le=86_400, description="seconds between samples")
    days: float = Field(90.0, gt=0.0, le=3660.0, description="how far the first round looks back")
    user: str | None = Field(None, description="for a server that asks for one")
    password_env: str | None = Field(None, description="environment variable with its password, or with a token alone")
    timeout: float = Field(60.0, gt=0.0, le=3600.0, description="seconds that an answer may take")

    @property
    def place(self) -> str:
        """The server and the jobs."""
        return " ".join([self.url.partition("://")[2], *self.jobs])

    @property
    def query(self) -> str:
        """The query: the highest value of all targets of each node."""
        plain = [_escaped(job) for job in self.jobs]
        chosen = f"{{job=~{json.dumps('|'.join(plain), ensure_ascii=False)}}}" if plain else ""
        return (
            f'max by ({_NODE}) (label_replace({self.metric}{chosen}, "{_NODE}", "$1", "{self.label}", '
            '"(.*?)(?::[0-9]+)?"))'
        )

    def fetch(self, cursor: Mapping[str, object], now: pd.Timestamp) -> Fetched:
        """Samples since the last one of the last round, which is read again."""
        end = int(now.timestamp()) // self.step * self.step
        last: Any = cursor.get("last")
        start = int(now.timestamp() - 86_400 * self.days) // self.step * self.step
        if last is not None and last <= end:
            start = int(last) // self.step * self.step
        numbers: dict[str, int] = {}
        parts = list(self._samples(start, end, numbers))
        if not parts:
            since = "" if last is None else f" since {pd.Timestamp(last, unit='s')}"
            raise SourceError(f"no sample of {self.metric}{since}", remedy="check the names of jobs and of the metric")
        codes, seconds, value = (np.concatenate([part[i] for part in parts]) for i in range(3))
        records = RecordTally([Content(Path(self.url), b"")], "prometheus", "UTC", read=codes.size)
        good = np.isin(value, (0.0, 1.0))
        for row in np.flatnonzero(~good)[:1000].tolist():
            records.refuse(Path(self.url), row + 1, "", "not 0 or 1", str(value[row]))
        records.read -= max(int((~good).sum()) - 1000, 0)
        if not good.any():
            raise SourceError(f"{self.metric} is never 0 or 1", remedy="name a metric that is")
        time = np.round(seconds[good] * 1e3).astype(np.int64) * 1_000_000
        nodes, line = np.array(list(numbers), dtype=object), np.zeros(time.size, dtype=np.int64)
        log = log_of_samples(nodes, codes[good], time, value[good], line, records, system=self.system)
        return Fetched(log, {"last": int(seconds.max())}, form_of(log), log.source.notes)

    def _samples(self, start: int, end: int, numbers: dict[str, int]) -> Iterator[tuple[Any, ...]]:
        """Node, second and value of the samples of each page; nodes are numbered as they come."""
        points = 100
        while start <= end:
            stop = min(start + (points - 1) * self.step, end)
            series = self._page(start, stop)
            for metric, values in series:
                number = numbers.setdefault(str(metric.get(_NODE, "")), len(numbers))
                pairs = np.array(values, dtype=np.float64).reshape(-1, 2)
                yield np.full(len(pairs), number), pairs[:, 0], pairs[:, 1]
            start = stop + self.step
            points = max(2, min(_POINTS, _SAMPLES // max(len(series), 1)))

    def _page(self, start: int, end: int) -> list[tuple[dict[str, str], list[Any]]]:
        """One answer of ``query_range``."""
        requests = of_extra("requests")
        secret = password_from(self.password_env)
        headers = {"Authorization": f"Bearer {secret}"} if secret and self.user is None else {}
        login = (self.user, secret or "") if self.user is not None else None
        asked = {"query": self.query, "start": str(start), "end": str(end), "step": str(self.step)}
        where = f"{self.url.rstrip('/')}/api/v1/query_range"
        try:
            answer = requests.post(where, data=asked, timeout=self.timeout, auth=login, headers=headers)
            document = answer.json() if answer.status_code in (200, 400, 422, 503) else {}
        except requests.Timeout:
            raise SourceError(f"{where} did not answer within {self.timeout:g} s") from None
        except (requests.RequestException, ValueError) as error:
            cut = isinstance(error, requests.exceptions.ChunkedEncodingError)
            reached = not isinstance(error, requests.ConnectionError)
            reason = "its answer was cut short" if cut else "it sends no JSON" if reached else "it cannot be reached"
            raise SourceError(f"{where}: {reason}", remedy="is a Prometheus running at this address?") from None
        if answer.status_code != 200:
            told = on_one_line(document.get("error", answer.reason) if isinstance(document, dict) else "")
            raise SourceError(f"{where} answers {answer.status_code}: {told}")
        try:
            return [(dict(each["metric"]), list(each["values"])) for each in document["data"]["result"]]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise SourceError(f"{where}: this is not an answer of Prometheus", remedy="check the address") from None


def _escaped(text: str) -> str:
    """A text, escaped for a regular expression of Prometheus."""
    return "".join(f"\\{sign}" if sign in r"\.+*?()|[]{}^$" else sign for sign in text)
