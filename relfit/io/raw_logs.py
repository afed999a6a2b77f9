"""A `FailureLog` from the failures in raw logs, with counts, rejected records and provenance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arrays import BoolArray, IntArray
from relfit.base.errors import ReadError
from relfit.io.alert_rules import AlertRules
from relfit.io.frames import events_frame, population_frame
from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import TextTable, rejected_frame
from relfit.io.parsing.times import since_1970
from relfit.io.raw_lines import LineBlock, blocks_of_lines
from relfit.io.up_and_down import StateOutages
from relfit.log.failurelog import FailureLog, Window
from relfit.log.tables import Source

SYSTEM = "system"


@dataclass
class RecordTally:
    """Counts of the records of one or many files: ``read`` is those kept plus those rejected."""

    contents: Sequence[Content]
    format: str
    zone: str
    read: int = 0
    notes: list[str] = field(default_factory=list)
    funnel: list[tuple[str, int]] = field(default_factory=list)
    _refused: list[tuple[str, int, str, str, str]] = field(default_factory=list)

    def blocks(self) -> Iterator[tuple[Content, LineBlock]]:
        """The lines of each file, counted; a line that is too long is rejected."""
        for content in self.contents:
            for block in blocks_of_lines(content):
                self.read += block.count + bool(block.too_long)
                if block.too_long:
                    self.refuse(content.path, block.too_long, "", "a line of more than a million bytes", "")
                if block.data:
                    yield content, block

    def refuse(self, path: Path, line: int, column: str, reason: str, text: str) -> None:
        """Reject a record."""
        self._refused.append((str(path), line, column, reason, text))

    def rejected(self, strict: bool) -> pd.DataFrame:
        """The rejected records; the first is an error when `strict`."""
        if strict and self._refused:
            path, line, column, reason, _ = self._refused[0]
            raise ReadError(reason, path=path, line=line, column=column or None, remedy="read without strict")
        return rejected_frame(self._refused)

    def add(self, table: TextTable) -> None:
        """Count the rows of a table, and those that its reader rejected."""
        self.read += table.rows_read
        self._refused += list(table.rejections.frame().itertuples(index=False, name=None))

    def source(self, rules: AlertRules | None) -> Source:
        """The source of the log."""
        paths = tuple(dict.fromkeys(str(content.path) for content in self.contents))
        digests, rows_kept = tuple(content.sha256 for content in self.contents), self.read - len(self._refused)
        source = Source(paths, self.format, self.read, rows_kept, digests, self.zone, tuple(self.notes))
        return replace(source, funnel=tuple(self.funnel), rules=() if rules is None else rules.told)


@dataclass
class RawFailures:
    """Failures, one entry each; times are nanoseconds since 1970, and ``end`` is negative where it is not known."""

    node: Any
    start: IntArray
    cause: Any
    line: IntArray
    end: IntArray | None = None
    end_cut: Any = False
    detail: Any = None
    scope: Any = None
    system: str = SYSTEM
    attributes: dict[str, Any] = field(default_factory=dict)
    start_cut: Any = False

    @classmethod
    def of_outages(
        cls,
        outages: StateOutages,
        names: Sequence[str],
        cause: object,
        line: IntArray,
        until: int | IntArray,
        detail: object = None,
    ) -> RawFailures:
        """From outages by number of node, ended by `until`; `cause`, `line` and `detail` have an entry per record."""
        row = outages.row
        return cls(
            np.asarray(names, dtype=object)[outages.node],
            outages.start,
            np.asarray(cause, dtype=object)[row],
            np.asarray(line)[row],
            np.where(outages.open, until, outages.end),
            outages.open,
            None if detail is None else np.asarray(detail, dtype=object)[row],
        )

    def log(
        self,
        records: RecordTally,
        rules: AlertRules | None,
        instants: IntArray | Sequence[int],
        nodes: Sequence[str],
        strict: bool,
        *,
        watched: tuple[IntArray, IntArray] | None = None,
        people: Mapping[str, object] | None = None,
        listed: bool | BoolArray = False,
    ) -> FailureLog:
        """The log, observed from the first to the last of `instants`; each of `nodes` while `watched`, or all along.

        `listed`: whether the source lists all nodes, rather than only those with a record.
        """
        if not len(instants):
            path = records.contents[0].path
            raise ReadError(f"no record is one of {records.format}", path=path, remedy="leave out format")
        span = int(np.min(instants)), int(np.max(instants))
        first, last = (pd.Timestamp(edge, tz="UTC") for edge in span)
        order = np.argsort(self.start, kind="stable")
        ends = None
        if self.end is not None:
            ends = since_1970(np.maximum(self.end, self.start)[order], self.end[order] >= 0)

        def ordered(values: object) -> Any:
            return None if values is None else np.asarray(values, dtype=object)[order]

        events = events_frame(
            system=np.full(order.size, self.system, dtype=object),
            node=ordered(self.node),
            start=since_1970(self.start[order]),
            end=ends,
            cause=ordered(self.cause),
            detail=ordered(self.detail),
            scope=ordered(self.scope),
            start_cut=np.broadcast_to(np.asarray(self.start_cut, dtype=bool), order.size)[order],
            end_cut=np.broadcast_to(np.asarray(self.end_cut, dtype=bool), order.size)[order],
            line=np.asarray(self.line, dtype=np.int64)[order],
            attributes={name: ordered(values) for name, values in self.attributes.items()},
        )
        entered, left = (np.full(len(nodes), edge) for edge in span) if watched is None else watched
        population = population_frame(
            system=np.full(len(nodes), self.system, dtype=object),
            node=np.asarray(nodes, dtype=object),
            entered=since_1970(np.asarray(entered, dtype=np.int64)),
            left=since_1970(np.asarray(left, dtype=np.int64)),
            left_known=watched is not None,
            declared=listed,
            attributes=people,
        )
        records.funnel.append(("failures", order.size))
        rejected = records.rejected(strict)
        return FailureLog(events, population, Window(first, last), rejected, records.source(rules))
