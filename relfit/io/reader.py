"""`Reader`: the name of a format, how its files are recognised, and how they become one log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path

from relfit.base.text import first_names, out_of
from relfit.io.merging import merge
from relfit.io.parsing.opening import Content, refuse_archive
from relfit.io.parsing.rows import NoRowsError
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
    """The `read` of several contents, whose logs are merged, from ``read(content, ...)`` of one.

    A file without a row, as of a month without a failure, is passed over with a note where another has one.
    """

    @wraps(read)
    def read_all(contents: Sequence[Content], **options: object) -> FailureLog:
        refuse_archive(contents)
        logs, empty = list[FailureLog](), list[NoRowsError]()
        for content in contents:
            try:
                logs.append(read(content, **options))
            except NoRowsError as error:
                empty.append(error)
        if not logs:
            raise empty[0]
        log = logs[0] if len(logs) == 1 else merge(logs)
        if not empty:
            return log
        names = first_names(Path(str(error.path)).name for error in empty)
        note = f"{out_of(len(empty), len(contents), 'file', 'has', 'have')} no row: {names}"
        return replace(log, source=replace(log.source, notes=(*log.source.notes, note)))

    return read_all
