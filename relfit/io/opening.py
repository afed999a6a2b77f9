"""Files as bytes and as text: compression is found by magic bytes, encoding by byte-order mark, and both by trying."""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import lzma
import re
import zlib
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from relfit.errors import ReadError

__all__ = ["Content", "Text", "as_text", "open_content"]

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_SAMPLE = 65_536
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive", "unpack it and read the file that is in it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it and read the file that is in it"),
    (b"SQLite format 3\x00", "an SQLite database", "write the table to CSV or Parquet"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "save the sheet as CSV"),
    (b"%PDF", "a PDF document", "read the table it was made from"),
)


@dataclass(frozen=True)
class Content:
    """What a file holds once it is decompressed.

    ``digest`` is the SHA-256 of the file as it lies on disk, computed while the content is read.
    """

    path: Path
    data: bytes
    compression: str | None = None
    digest: Future[str] | None = None

    @property
    def sha256(self) -> str:
        """The digest in hexadecimal; empty for content that is no file's."""
        return "" if self.digest is None else self.digest.result()

    def first_line(self, limit: int = _SAMPLE) -> str:
        """The first line that is not blank, as far as `limit` bytes go; to find out the format."""
        head = self.data[:limit]
        for mark, encoding in _BYTE_ORDER_MARKS:
            if head.startswith(mark):
                width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
                text = head[: len(head) - len(head) % width].decode(encoding, errors="replace").lstrip("\ufeff")
                break
        else:
            text = head.decode("utf-8", errors="replace")
        return next((line for line in text.splitlines() if line.strip()), "")


@dataclass(frozen=True)
class Text:
    """A file's text as UTF-8 bytes without byte-order mark and with plain line ends, and what was done to get it."""

    path: Path
    data: bytes
    notes: tuple[str, ...] = ()


def open_content(path: str | Path) -> Content:
    """Read a file, plain or compressed with gz, bz2, xz or zst; the name does not matter.

    Raises
    ------
    ReadError
        When the file is missing, empty, not readable, cut short or damaged.

    Examples
    --------
    >>> import gzip, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "log")
    ...     _ = path.write_bytes(gzip.compress(b"node,start"))
    ...     content = open_content(path)
    >>> content.data, content.compression
    (b'node,start', 'gz')
    """
    place = Path(path)
    try:
        stored = place.read_bytes()
    except FileNotFoundError:
        raise ReadError("there is no such file", path=place, remedy=_nearby(place)) from None
    except IsADirectoryError:
        raise ReadError("this is a directory, not a file", path=place, remedy="name a file in it") from None
    except PermissionError:
        raise ReadError("this file may not be read", path=place, remedy="check its permissions") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ReadError(f"this file cannot be read ({reason})", path=place, remedy="check the path") from None
    if not stored:
        raise ReadError("the file is empty", path=place, remedy="check how it was written or fetched")
    pool = ThreadPoolExecutor(1)
    digest = pool.submit(lambda: hashlib.sha256(stored).hexdigest())
    pool.shutdown(wait=False)
    data, compression = _decompress(stored, place)
    if not data:
        raise ReadError("the file is empty once decompressed", path=place, remedy="check how it was written")
    return Content(place, data, compression, digest)


def _nearby(place: Path) -> str:
    """A remedy that names a file of the same name with another ending, if there is one."""
    try:
        stem = place.name.split(".")[0]
        near = sorted(p.name for p in place.parent.iterdir() if stem and p.name.split(".")[0] == stem)
    except (OSError, ValueError):
        near = []
    return f"there is {near[0]} beside it" if near else "check the path"


def _zstd(stored: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(stored), "zstd") as stream:
        return bytes(stream.read())


def _decompress(stored: bytes, place: Path) -> tuple[bytes, str | None]:
    kinds: tuple[tuple[bytes, str, Callable[[bytes], bytes]], ...] = (
        (b"\x1f\x8b", "gz", gzip.decompress),
        (b"BZh", "bz2", bz2.decompress),
        (b"\xfd7zXZ\x00", "xz", lzma.decompress),
        (b"\x28\xb5\x2f\xfd", "zst", _zstd),
    )
    for magic, name, decompress in kinds:
        if stored.startswith(magic):
            try:
                return decompress(stored), name
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, pa.ArrowException):
                raise ReadError(
                    f"the {name} archive is cut short or damaged", path=place, remedy="fetch or compress the file again"
                ) from None
    return stored, None


def as_text(content: Content) -> Text:
    r"""The text of a file.

    UTF-8 is tried first; bytes that are not UTF-8 are taken as Latin-1, one by one, so that a file of mixed
    encodings is read too, and a note says how many there were. A byte-order mark (UTF-8, UTF-16, UTF-32) decides
    where there is one.

    Raises
    ------
    ReadError
        When the bytes are not text.

    Examples
    --------
    >>> text = as_text(Content(Path("log.csv"), b"node\r\nz\xfcrich"))
    >>> text.data.decode(), text.notes
    ('node\nz\xfcrich', ('1 byte is not UTF-8 and was taken as Latin-1, the first on line 2',))
    """
    data, notes = content.data, []
    for magic, what, remedy in _FOREIGN:
        if data.startswith(magic):
            raise ReadError(f"this is {what}, not a failure log", path=content.path, remedy=remedy)
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            if encoding == "utf-8":
                data = data[len(mark) :]
                break
            try:
                data = data.decode(encoding).lstrip("\ufeff").encode()
            except UnicodeError:
                raise ReadError(
                    f"the file is marked as {encoding.upper()} but is not", path=content.path, remedy="save it as UTF-8"
                ) from None
            notes.append(f"the text was {encoding.upper()}")
            break
    sample = data[:_SAMPLE]
    if len(_CONTROL.findall(sample)) > max(2, len(sample) // 50):
        raise ReadError(
            "this is not text but binary data",
            path=content.path,
            remedy="give a CSV, TSV, JSON Lines or Parquet file, plain or as gz, bz2, xz or zst",
        )
    if not data.isascii():
        data, note = _valid(data)
        notes.extend(note)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if data.isspace():
        raise ReadError("the file holds nothing but blanks", path=content.path, remedy="check how it was written")
    return Text(content.path, data, tuple(notes))


def _valid(data: bytes) -> tuple[bytes, list[str]]:
    """Valid UTF-8, with every byte that was not replaced by the Latin-1 character of that number."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        first = error.start
    else:
        return data, []
    text = data.decode(errors="surrogateescape")
    count = len(re.findall("[\udc80-\udcff]", text))
    repaired = re.sub("[\udc80-\udcff]", lambda found: chr(ord(found.group()) - 0xDC00), text)
    line = data.count(b"\n", 0, first) + 1
    were = "byte is" if count == 1 else "bytes are"
    was = "was" if count == 1 else "were"
    return repaired.encode(), [f"{count} {were} not UTF-8 and {was} taken as Latin-1, the first on line {line}"]
