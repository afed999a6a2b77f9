"""Files that are complete or absent: written beside their place first, and moved there when all went well."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relfit.base.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

fcntl: Any
try:
    import fcntl
except ImportError:  # not every system has locks on files
    fcntl = None

_BEFORE, _AFTER = ".relfit-", ".part"
_STRAY = 60.0  # seconds after which an unlocked part is a leftover
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
# what steers a terminal or turns the direction of the text around it; tabs and line ends a cell may hold, in quotes
_STEERING = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
_ESCAPE = "x[0-9a-f]{2}|u[0-9a-f]{4}"
_TO_ESCAPE = re.compile(rf"[{_STEERING}]|\\(?=[\\{_STEERING}]|{_ESCAPE})")
_ESCAPED = re.compile(rf"\\(\\|{_ESCAPE})")
_GUARDED = re.compile(f"'+ *[{re.escape(''.join(_FORMULA))}]")
_spared: list[Path] = []


@contextmanager
def sparing(paths: Iterable[Path]) -> Iterator[None]:
    """Within, none of these files is written over: they are what a command reads."""
    before = len(_spared)
    _spared.extend(paths)
    try:
        yield
    finally:
        del _spared[before:]


def check_writable(path: Path) -> None:
    """Reject a file that could not be written, before any work goes into it, with the errors of `complete`."""
    target = _target(path)
    try:
        handle, part = _part_of(target)
        os.close(handle)
        part.unlink()
    except OSError as error:
        raise _unwritable(path, error) from error


@contextmanager
def complete(path: Path) -> Iterator[Path]:
    """A path beside `path` to write to; it takes the place of `path` when all went well, else it is removed.

    The permissions of an existing file are kept, and a symbolic link stays one. What killed writers left is removed. An
    `ArgumentError` when the system does not let us write there, or the file is one of those that are read.
    """
    target = _target(path)
    try:
        handle, part = _part_of(target)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        _remove_strays(target.parent)
        yield part
        if target.exists():
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        part.replace(target)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        os.close(handle)
        part.unlink(missing_ok=True)


@contextmanager
def workplace(path: Path) -> Iterator[Path]:
    """A hidden folder beside `path`, removed afterwards; the next call removes what killed processes left."""
    folder = path.resolve().with_name(f"{_BEFORE}{secrets.token_hex(8)}{_AFTER}")
    try:
        folder.mkdir(mode=0o700)
        handle = os.open(folder, os.O_RDONLY) if fcntl is not None else None
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        if handle is not None:
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove_strays(folder.parent)
        yield folder
    finally:
        if handle is not None:
            os.close(handle)
        shutil.rmtree(folder, ignore_errors=True)


def guarded(text: object) -> Any:
    r"""A text as a cell of a CSV that no spreadsheet takes for a formula and no terminal for orders; else as it is.

    An apostrophe goes in front of what would be a formula, control characters and marks of direction are written as
    ``\x1b`` and ``\u202e``. `unguarded` undoes both.
    """
    if not isinstance(text, str):
        return text
    if not text.isprintable() or "\\" in text:
        text = _TO_ESCAPE.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) or _GUARDED.match(text) else text


def guarded_table(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with every text and name of a column as `guarded` has it, to be written as CSV."""
    text = frame.select_dtypes(exclude="number").columns
    return frame.assign(**{name: frame[name].astype(object).map(guarded) for name in text}).rename(columns=guarded)


def unguarded(text: str) -> str:
    """The text that `guarded` was given."""
    text = text[1:] if _GUARDED.match(text) else text
    return _ESCAPED.sub(lambda match: match.group().encode("ascii").decode("unicode_escape"), text)


def _target(path: Path) -> Path:
    """The file itself, where the path is a symbolic link to it."""
    target = path.resolve() if path.is_symlink() else path
    for other in _spared:
        with suppress(OSError):
            if target.samefile(other):
                raise ArgumentError(f"{path} is what is read", remedy="write to another file")
    return target


def _part_of(target: Path) -> tuple[int, Path]:
    """A new empty file beside the target, held until it is closed."""
    part = target.with_name(f"{_BEFORE}{secrets.token_hex(8)}{_AFTER}")
    # exclusive: nothing that lies there already, link or file, is followed or written over
    handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o666)
    if fcntl is not None:
        with suppress(OSError):  # some file systems know no locks
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return handle, part


def _remove_strays(folder: Path) -> None:
    """Remove the parts of writers that were killed: those that no process holds a lock on."""
    if fcntl is None:
        return
    for stray in folder.glob(f"{_BEFORE}*{_AFTER}"):
        with suppress(OSError):
            if stray.is_symlink() or time.time() - stray.stat().st_mtime < _STRAY:
                continue
            handle = os.open(stray, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if stray.is_dir():
                    shutil.rmtree(stray)
                else:
                    stray.unlink()
            finally:
                os.close(handle)


def _unwritable(path: Path, error: OSError) -> ArgumentError:
    return ArgumentError(f"cannot write {path}: {error.strerror or error}", remedy="choose another place")
