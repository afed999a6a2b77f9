"""Files as bytes: compression is detected by magic bytes; read at once up to a limit, or block by block."""

from __future__ import annotations

import bz2
import codecs
import hashlib
import io
import lzma
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from relfit.base.errors import ArgumentError, ReadError, Remedy

if TYPE_CHECKING:
    from zlib import _Decompress

    from _typeshed import WriteableBuffer

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
MAX_SIZE = 8 << 30
"""Largest size of a decompressed file that is read at once, in bytes."""
_MAGIC = {"gz": b"\x1f\x8b", "bz2": b"BZh", "xz": b"\xfd7zXZ\x00", "zst": b"\x28\xb5\x2f\xfd"}
_ZIP = b"PK\x03\x04"
_HEAD = 65_536
_BLOCK = 1 << 20
_SUSPICIOUS = 1000  # times the size on disk: no text log expands to more
_ALWAYS = 256 << 20  # bytes: any file may expand to this
_DAMAGES = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, pa.ArrowException)
_SEPARATOR = re.compile('"?sep=([^"\\w])"? *', re.IGNORECASE)
_DECOMPRESSORS: dict[str, Callable[[], _Decompressor]] = {
    "gz": lambda: zlib.decompressobj(wbits=31),
    "bz2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
}


class FromFile:
    """What comes from one file, which its errors name."""

    path: Path

    def error(
        self, what: str, remedy: str | None = None, *, line: int | None = None, column: str | None = None
    ) -> ReadError:
        """An error in this file, to be raised."""
        return ReadError(what, path=self.path, line=line, column=column, remedy=remedy)


class Content(FromFile):
    """The decompressed content of a file, read on first use; a `ReadError` when the file is damaged or too large.

    `path` is the file or, with a `member`, the zip archive that holds it; `data` its content, where it is known
    already; `max_size` its largest size in bytes, by default `MAX_SIZE` and, above 256 MiB, a thousand times the size
    on disk. ``frame`` is a table in memory, which has no bytes.
    """

    def __init__(
        self, path: Path, data: bytes | None = None, *, member: str | None = None, max_size: int | None = None
    ) -> None:
        self.path = path if member is None else path / member
        self.place, self.member, self.max_size = path, member, max_size
        self._data, self._digest = data, ""
        self.frame: Any = None
        self.compression: str | None = None
        self.head = b"" if data is None else data[:_HEAD]

    @property
    def sha256(self) -> str:
        """The digest of the file on disk, in hexadecimal; empty for content that is no file's, or not read yet."""
        return self._digest

    @property
    def data(self) -> bytes:
        """All of it."""
        if self._data is None:
            limit = MAX_SIZE if self.max_size is None else self.max_size
            buffer = io.BytesIO()  # its content is returned without a copy
            for block in self.blocks():
                buffer.write(block)
                if buffer.tell() > limit:
                    raise self._too_large(buffer.tell())
            self._data = buffer.getvalue()
        return self._data

    def seekable(self) -> Any:
        """The content as a file of Arrow; from the disk, not from memory, where it is not compressed."""
        if self._data is not None or self.compression is not None or self.member is not None:
            return pa.BufferReader(self.data)
        try:
            file = pa.OSFile(str(self.place))
            if not self._digest:
                digest = hashlib.sha256()
                while block := file.read(_BLOCK):
                    digest.update(block)
                self._digest = digest.hexdigest()
                file.seek(0)
        except OSError as error:
            raise self.error(f"this file cannot be read ({error})", "try again") from None
        return file

    def forget(self) -> None:
        """Release the content; it is read again when needed."""
        self._data = None if self._digest else self._data

    def blocks(self) -> Iterator[bytes]:
        """The content block by block, in bounded memory; without `max_size` it may not expand a thousandfold."""
        if self._data is not None:
            yield from (self._data[i : i + _BLOCK] for i in range(0, len(self._data), _BLOCK))
            return
        digest, stored, expanded = hashlib.sha256(), 0, 0
        try:
            with _opened(self.place) as raw:

                def chunks() -> Iterator[bytes]:
                    nonlocal stored
                    while chunk := raw.read(_BLOCK):
                        digest.update(chunk)
                        stored += len(chunk)
                        yield chunk

                for block in self._expanded(raw, chunks()):
                    expanded += len(block)
                    if self.max_size is None and expanded > max(_ALWAYS, _SUSPICIOUS * max(stored, 1)):
                        raise self._too_large(expanded)
                    yield block
                if self.member is None:
                    for _ in chunks():  # the digest covers the bytes after the last stream too
                        pass
                    self._digest = digest.hexdigest()
        except _DAMAGES as error:
            if self.compression is None:
                raise self.error(f"this file cannot be read ({error})", "try again") from None
            raise self.error(
                f"the {self.compression} archive is cut short or damaged", "fetch or compress the file again"
            ) from None

    def _expanded(self, raw: io.BufferedReader, chunks: Iterator[bytes]) -> Iterator[bytes]:
        if self.member is not None:
            self.compression = "zip"
            with zipfile.ZipFile(raw) as archive, archive.open(self.member) as file:
                while block := file.read(_BLOCK):
                    yield block
            raw.seek(0)
            self._digest = hashlib.file_digest(raw, "sha256").hexdigest()
            return
        first = next(chunks, b"")
        self.compression = next((name for name, magic in _MAGIC.items() if first.startswith(magic)), None)
        if self.compression is None:
            yield first
            yield from chunks
        elif self.compression == "zst":
            with pa.CompressedInputStream(pa.PythonFile(_Chunks(first, chunks), mode="r"), "zstd") as stream:
                while block := stream.read(_BLOCK):
                    yield block
        else:
            yield from _streams(self.compression, first, chunks)

    def _too_large(self, size: int) -> ReadError:
        how = f"expands to more than {size / 1e9:.3g} GB" if self.compression else f"has more than {size / 1e9:.3g} GB"
        return self.error(
            f"the content {how}", Remedy("raise the limit with max_size", "raise the limit with --max-size 32GB")
        )

    def first_line(self, limit: int = _HEAD) -> str:
        """The first line within `limit` bytes that is neither blank nor Excel's ``sep=``, to detect the format."""
        return next((line for line in self.first_lines(limit) if line.strip() and not _SEPARATOR.fullmatch(line)), "")

    @cached_property
    def separator(self) -> str | None:
        """The delimiter by a first line such as ``sep=;``, which spreadsheets write and read; None without one."""
        line = next((line for line in self.first_lines() if line.strip()), "")
        match = _SEPARATOR.fullmatch(line)
        return None if match is None else match.group(1)

    def first_lines(self, limit: int = _HEAD) -> list[str]:
        """The lines in the first `limit` bytes; the last may be cut short."""
        head = self.head[:limit]
        encoding = encoding_of(head)
        if encoding is None:
            return re.split("\r\n|\r|\n", head.decode("utf-8", errors="replace"))
        width = 4 if "32" in encoding else 2 if "16" in encoding else 1
        text = head[: len(head) - len(head) % width].decode(encoding, errors="replace").lstrip("\ufeff")
        return re.split("\r\n|\r|\n", text)


def encoding_of(head: bytes) -> str | None:
    """The encoding by the first bytes: a byte-order mark, or the zeros of UTF-16; None for neither."""
    marked = next((encoding for mark, encoding in _BYTE_ORDER_MARKS if head.startswith(mark)), None)
    if marked is not None:
        return marked
    even, odd = head[0::2], head[1::2]
    if len(odd) > 8 and odd.count(0) > 0.9 * len(odd) and even.count(0) < 0.1 * len(even):
        return "utf-16-le"
    if len(odd) > 8 and even.count(0) > 0.9 * len(even) and odd.count(0) < 0.1 * len(odd):
        return "utf-16-be"
    return None


def open_content(path: str | Path) -> Content:
    """Open a file, plain or compressed with gz, bz2, xz, zst or zip (of one file), whatever its name."""
    contents = members(path)
    refuse_archive(contents)
    return contents[0]


def refuse_archive(contents: Sequence[Content]) -> None:
    """Raise a `ReadError` where these are several files of one zip archive."""
    if len(contents) > 1 and contents[0].member is not None and len({content.place for content in contents}) == 1:
        names = ", ".join(str(content.member) for content in contents[:4])
        raise ReadError(
            f"the zip archive holds {len(contents)} files ({names}{', ...' if len(contents) > 4 else ''})",
            path=contents[0].place,
            remedy="unpack it and read the file that is wanted",
        )


def members(path: str | Path, *, max_size: int | None = None) -> list[Content]:
    """The contents of a file: one, or one per file of a zip archive; errors as for `open_content`."""
    place = Path(path)
    with _opened(place) as raw:
        regular = stat.S_ISREG(place.stat().st_mode)
        magic = raw.read(len(_ZIP)) if regular else b""
        if magic == _ZIP:
            try:
                with zipfile.ZipFile(raw) as archive:
                    names = [item.filename for item in archive.infolist() if not item.is_dir()]
                    hidden = [name for name in names if Path(name).name.startswith((".", "__MACOSX"))]
            except _DAMAGES:
                raise ReadError(
                    "the zip archive is cut short or damaged", path=place, remedy="fetch or compress the file again"
                ) from None
            shown = [name for name in names if name not in hidden and not name.startswith("__MACOSX")]
            if not shown:
                raise ReadError("the zip archive is empty", path=place, remedy="check how it was written")
            contents = [Content(place, member=name, max_size=max_size) for name in shown]
        else:
            contents = [Content(place, max_size=max_size)]
    for content in contents:
        if not regular:
            content.head = content.data[:_HEAD]  # a pipe can be read only once
        else:
            head = bytearray()
            for block in content.blocks():
                head += block
                if len(head) >= _HEAD:
                    break
            content.head = bytes(head[:_HEAD])
        if not content.head:
            what = "empty once decompressed" if content.compression else "empty"
            raise content.error(f"the file is {what}", "check how it was written or fetched")
    return contents


def size_in_bytes(text: str | float) -> int:
    """Bytes from a number or a text such as ``"8GB"``; an `ArgumentError` for another text."""
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*([kKMGT]?)(i?)[bB]?\s*", str(text))
    if match is None or float(match[1]) <= 0:
        raise ArgumentError(f"{text!r} is not a size", remedy="write it as 8GB")
    power = " KMGT".index(match[2].upper() or " ")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


@contextmanager
def _opened(place: Path) -> Iterator[Any]:
    remedy: str | None = "check the path"
    try:
        mode = place.stat().st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
            raise ReadError("this is a device, not a file", path=place, remedy="name a file")
        file = place.open("rb")
    except FileNotFoundError:
        what, remedy = "there is no such file", _nearby(place)
    except IsADirectoryError:
        what, remedy = "this is a directory, not a file", "name a file in it"
    except PermissionError:
        what, remedy = "this file may not be read", "check its permissions"
    except (OSError, ValueError) as error:
        what = f"this file cannot be read ({getattr(error, 'strerror', None) or error})"
    else:
        with file:
            yield file
        return
    raise ReadError(what, path=place, remedy=remedy)


def _nearby(place: Path) -> str:
    """A remedy that names a file of the same name with another ending, if there is one."""
    try:
        stem = place.name.split(".")[0]
        near = sorted(p.name for p in place.parent.iterdir() if stem and p.name.split(".")[0] == stem)
    except (OSError, ValueError):
        near = []
    return f"there is {near[0]} beside it" if near else "check the path"


_Decompressor: TypeAlias = "bz2.BZ2Decompressor | lzma.LZMADecompressor | _Decompress"


def _streams(kind: str, rest: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """All streams of a file in turn; zeros between and after them are padding."""
    while rest:
        if not rest.startswith(_MAGIC[kind]):
            raise EOFError  # other data follows, which would be lost
        decompressor = _DECOMPRESSORS[kind]()
        while not decompressor.eof:
            if not (rest := rest or next(chunks, b"")):
                raise EOFError
            yield from _bounded(decompressor, rest)
            rest = decompressor.unused_data
        rest = rest.lstrip(b"\x00")
        while len(rest) < len(_MAGIC[kind]) and (chunk := next(chunks, b"")):
            rest = (rest + chunk).lstrip(b"\x00")


def _bounded(decompressor: _Decompressor, chunk: bytes) -> Iterator[bytes]:
    """The decompressed content of a chunk, block by block."""
    if isinstance(decompressor, (bz2.BZ2Decompressor, lzma.LZMADecompressor)):
        block = decompressor.decompress(chunk, _BLOCK)
        while block:
            yield block
            block = b"" if decompressor.eof or decompressor.needs_input else decompressor.decompress(b"", _BLOCK)
        return
    while chunk and not decompressor.eof:
        yield decompressor.decompress(chunk, _BLOCK)
        chunk = decompressor.unconsumed_tail


class _Chunks(io.RawIOBase):
    """Chunks as a file object."""

    def __init__(self, first: bytes, chunks: Iterator[bytes]) -> None:
        self._rest, self._chunks = first, chunks

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        self._rest = self._rest or next(self._chunks, b"")
        view = memoryview(buffer).cast("B")
        size = min(len(view), len(self._rest))
        view[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size
