"""Text from bytes: the encoding is detected, line ends become plain."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from relfit.io.parsing.opening import Content, FromFile, encoding_of

_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_SAMPLE = 65_536
_FOREIGN = (
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it and read the file that is in it"),
    (b"PK\x03\x04", "a zip archive in an archive", "unpack it and read the file that is in it"),
    (b"SQLite format 3\x00", "an SQLite database", "write the table to CSV or Parquet"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook", "save the sheet as CSV"),
    (b"%PDF", "a PDF document", "read the table it was made from"),
)


@dataclass(frozen=True)
class Text(FromFile):
    """A file's text as UTF-8 bytes without byte-order mark and with plain line ends, and notes on the conversion."""

    path: Path
    data: bytes
    notes: tuple[str, ...] = ()


def as_text(content: Content) -> Text:
    """The text of a file by its byte-order mark, else UTF-8, with other bytes Latin-1 (noted); else a `ReadError`."""
    for magic, what, remedy in _FOREIGN:
        if content.head.startswith(magic):
            raise content.error(f"this is {what}, not a failure log", remedy)
    data, notes = content.data, []
    encoding = encoding_of(data[:_SAMPLE])
    if encoding == "utf-8":
        data = data[3:]
    elif encoding is not None:
        try:
            data = data.decode(encoding).lstrip("\ufeff").encode()
        except UnicodeError:
            raise content.error(f"the file is marked as {encoding.upper()} but is not", "save it as UTF-8") from None
        notes.append(f"the text was {encoding.upper()}")
    sample = data[:_SAMPLE]
    if len(_CONTROL.findall(sample)) > max(2, len(sample) // 50):
        raise content.error(
            "this is not text but binary data",
            "give a CSV, TSV, JSON or Parquet file, plain or as gz, bz2, xz, zst or zip",
        )
    if not data.isascii():
        data, note = valid(data)
        notes.extend(note)
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if content.separator is not None:  # keep an empty line, so that line numbers do not change
        data = re.sub(rb"\A(\s*)[^\n]+", rb"\1", data, count=1)
        notes.append(f"fields stand between {content.separator!r}, as the first line says")
    if data.isspace():
        raise content.error("the file contains nothing but blanks", "check how it was written")
    return Text(content.path, data, tuple(notes))


def valid(data: bytes) -> tuple[bytes, list[str]]:
    """Valid UTF-8, with each invalid byte replaced by the Latin-1 character of that number, and a note on it."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        first = error.start
    else:
        return data, []
    text = data.decode(errors="surrogateescape")
    count = len(re.findall("[\udc80-\udcff]", text))
    repaired = re.sub("[\udc80-\udcff]", lambda match: chr(ord(match.group()) - 0xDC00), text)
    line = data.count(b"\n", 0, first) + 1
    were = "byte is" if count == 1 else "bytes are"
    was = "was" if count == 1 else "were"
    return repaired.encode(), [f"{count} {were} not UTF-8 and {was} taken as Latin-1, the first on line {line}"]
