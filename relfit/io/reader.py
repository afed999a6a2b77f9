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
    """A format.

    Attributes
    ----------
    name : str
        As `relfit.read` takes it for `format`.
    recognises : callable
        ``recognises(content)``: whether this is such a file, by its first bytes; it never raises.
    read : callable
        ``read(contents, *, strict, timezone, **options)``: the log of one or several files.
    options : tuple of str
        Further keywords that `read` takes.
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
