"""The output of ``journalctl -o json``, ``dmesg -T`` and ``ipmitool sel list``, read as syslog.

Each line becomes one of syslog, with its time in ISO 8601, its host and its message; the rules of syslog say what
counts as a failure. A journal names the host of each line. The other two are of one machine, named by the option
``node`` or else by the file.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from relfit.io.alert_rules import Rules
from relfit.io.parsing.opening import Content
from relfit.io.reader import Reader
from relfit.io.syslog_lines import READER as SYSLOG
from relfit.log.failurelog import FailureLog

_NAME = "journal"
_DMESG = re.compile(rb"\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d) (\d{4})\] ?(.*)")
_SEL = re.compile(rb" *[0-9a-f]+ \| (\d\d)/(\d\d)/(\d{4}|\d\d) *\| (\d\d:\d\d:\d\d)( UTC)? *\| ?(.*)")
_MONTHS = [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"]
_MICROSECOND = re.compile(r"\d{1,17}")
_NO_HOST = re.compile(r"\s+")


def _kind(content: Content) -> Callable[[bytes, bytes], bytes] | None:
    """How a line becomes one of syslog, by the first lines; None where they are of none of the three."""
    lines = [line for line in content.head[:16_384].split(b"\n") if line.strip()]
    if not lines:
        return None
    if lines[0].startswith(b"{") and b'"__REALTIME_TIMESTAMP"' in lines[0]:
        return _of_journal
    if any(_DMESG.match(line) for line in lines[:5]):
        return _of_dmesg
    return _of_sel if any(_SEL.match(line) for line in lines[:5]) else None


def _read(
    contents: Sequence[Content],
    *,
    strict: bool,
    timezone: str | None,
    rules: Rules = None,
    ends: str = "node",
    node: str | None = None,
) -> FailureLog:
    """Read alerts; options as for syslog, and `node`, the host of lines that name none."""
    lines = [_Translated(each, node) for each in contents]
    log = SYSLOG.read(lines, strict=strict, timezone=timezone, rules=rules, ends=ends)
    return replace(log, source=replace(log.source, format=_NAME))


class _Translated(Content):
    """The lines of a file as those of syslog, one for one."""

    def __init__(self, content: Content, node: str | None) -> None:
        super().__init__(content.path, b"2000-01-01T00:00:00Z host ")
        self._content, self._kind = content, _kind(content) or _of_journal
        stem = content.path.name.partition(".")[0]
        self._node = (_NO_HOST.sub("_", node or stem) or "node").encode()

    @property
    def sha256(self) -> str:
        return self._content.sha256

    def blocks(self) -> Iterator[bytes]:
        rest = b""
        for block in self._content.blocks():
            lines = (rest + block).split(b"\n")
            rest = lines.pop()
            if lines:
                yield b"".join(self._kind(line, self._node) + b"\n" for line in lines)
        if rest:
            yield self._kind(rest, self._node) + b"\n"


def _of_journal(line: bytes, node: bytes) -> bytes:
    with suppress(ValueError, AttributeError, OverflowError, RecursionError):
        record = json.loads(line)
        stamp = record.get("__REALTIME_TIMESTAMP") or record.get("_SOURCE_REALTIME_TIMESTAMP")
        if _MICROSECOND.fullmatch(str(stamp)):
            when = dt.datetime.fromtimestamp(int(stamp) // 10**6, tz=dt.UTC).replace(tzinfo=None).isoformat()
            host = _NO_HOST.sub("_", _text(record.get("_HOSTNAME"))) or node.decode()
            who = _text(record.get("SYSLOG_IDENTIFIER") or record.get("_COMM") or "")
            text = f"{when}.{int(stamp) % 10**6:06d}Z {host} {who}: {_text(record.get('MESSAGE'))}"
            return " ".join(text.splitlines()).encode(errors="replace")
    return line


def _of_dmesg(line: bytes, node: bytes) -> bytes:
    parts = _DMESG.match(line)
    if parts is None or parts[1] not in _MONTHS:
        return line
    month, day = _MONTHS.index(parts[1]) + 1, int(parts[2])
    return b"%s-%02d-%02dT%s %s kernel: %s" % (parts[4], month, day, parts[3], node, parts[5])


def _of_sel(line: bytes, node: bytes) -> bytes:
    parts = _SEL.match(line)
    if parts is None:
        return line
    month, day, year, clock, utc, text = parts.groups()
    year = year if len(year) == 4 else b"20" + year
    return b"%s-%s-%sT%s%s %s ipmi-sel: %s" % (year, month, day, clock, b"Z" if utc else b"", node, text)


def _text(value: object) -> str:
    """A field of the journal as text; the journal writes bytes that are not UTF-8 as a list."""
    if isinstance(value, list):
        return bytes(each & 255 for each in value if isinstance(each, int)).decode(errors="replace")
    return "" if value is None else str(value)


READER = Reader(_NAME, lambda content: _kind(content) is not None, _read, ("rules", "ends", "node"))
