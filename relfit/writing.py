"""Files that are complete or absent: written beside their place first, and moved there when all went well."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from relfit.errors import ArgumentError

__all__ = ["check_writable", "complete"]


def check_writable(path: Path) -> None:
    """Reject a file that could not be written, before any work goes into it.

    Raises
    ------
    ArgumentError
        When there is no such folder, or nothing can be written there.
    """
    part = _part(path)
    try:
        part.touch()
        part.unlink()
    except OSError as error:
        raise _unwritable(path, error) from error


@contextmanager
def complete(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to; it takes the place of `path` when all went well, else it goes.

    Raises
    ------
    ArgumentError
        When the system does not let us write there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with complete(Path(folder, "result.txt")) as part:
    ...         _ = part.write_text("done")
    ...     [file.name for file in Path(folder).iterdir()]
    ['result.txt']
    """
    part = _part(path)
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        part.unlink(missing_ok=True)


def _part(path: Path) -> Path:
    return path.with_name(f".relfit-{os.getpid()}.part")


def _unwritable(path: Path, error: OSError) -> ArgumentError:
    return ArgumentError(f"cannot write {path}: {error.strerror or error}", remedy="choose another place")
