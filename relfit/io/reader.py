"""`Reader`: the name of a format, how its files are recognised, and how they become one log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps

from relfit.io.merging import merge
from relfit.io.parsing.opening import Content, refuse_archive
from relfit.log.failurelog import FailureLog


@dataclass(frozen=True)
class Reader:
    """A format: its `name` in `relfit.read`, and the further keywords (``options``) that its ``read`` takes.

    ``recognises(content)`` says whether this is such a file, by its first bytes; it never raises. ``read(contents, *,
    strict, timezone, **options)`` is the log of one or several files.
    """

    name: str
    recognises: Callable[[Content], bool]
    read: Callable[..., FailureLog]
    options: tuple[str, ...] = ()


def one_by_one(read: Callable[..., FailureLog]) -> Callable[..., FailureLog]:
    """The `read` of several contents, whose logs are merged, from ``read(content, ...)`` of one."""

    @wraps(read)
    def read_all(contents: Sequence[Content], **options: object) -> FailureLog:
        refuse_archive(contents)
        logs = [read(content, **options) for content in contents]
        return logs[0] if len(logs) == 1 else merge(logs)

    return read_all
