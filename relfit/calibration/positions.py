"""In which line of a TOML or JSON text each key stands.

The parsers of the standard library give no positions, so the text is gone through a second time. It is known to be
valid by then, which keeps this short: only strings, comments and brackets need care.
"""

from __future__ import annotations

import re

__all__ = ["lines_of_json", "lines_of_toml", "nearest_line"]

Place = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"[ \t\r\n]*")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\", "/": "/"}


def nearest_line(lines: dict[Place, int], place: Place) -> int | None:
    """Line of the key at `place`, or of the innermost table around it that is there.

    Examples
    --------
    >>> nearest_line({("mtbf",): 3}, ("mtbf", "node", "value"))
    3
    """
    for size in range(len(place), 0, -1):
        if place[:size] in lines:
            return lines[place[:size]]
    return None


class _Text:
    """A text with a place in it."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    @property
    def rest(self) -> bool:
        return self.at < len(self.text)

    def peek(self, size: int = 1) -> str:
        return self.text[self.at : self.at + size]

    def line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def blank(self, comments: bool) -> None:
        """Go on to the next that is neither blank nor comment."""
        while True:
            found = _BLANK.match(self.text, self.at)
            self.at = found.end() if found else self.at
            if not (comments and self.peek() == "#"):
                return
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end

    def string(self) -> str:
        """The string that begins here; its quotes may be single, double or threefold."""
        quote = self.peek()
        fence = quote * 3 if self.peek(3) == quote * 3 else quote
        self.at += len(fence)
        parts: list[str] = []
        while self.rest and self.peek(len(fence)) != fence:
            if quote == '"' and self.peek() == "\\":
                parts.append(self._escaped())
            else:
                parts.append(self.peek())
                self.at += 1
        self.at += len(fence)
        while len(fence) == 3 and self.peek() == quote:  # a string may end in up to two quotes of its own
            self.at += 1
        text = "".join(parts)
        if any("\ud800" <= c <= "\udfff" for c in text):  # two escapes of JSON may be one character
            text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return text

    def _escaped(self) -> str:
        kind = self.text[self.at + 1 : self.at + 2]
        size = {"u": 4, "U": 8, "x": 2}.get(kind, 0)
        code = self.text[self.at + 2 : self.at + 2 + size]
        self.at += 2 + size
        if not size:
            return _ESCAPES.get(kind, "")
        try:
            return chr(int(code, 16))
        except (ValueError, OverflowError):
            return ""


# ------------------------------------------------------------------------ TOML


def lines_of_toml(text: str) -> dict[Place, int]:
    r"""Line of every key and table of a valid TOML text, counted from 1.

    Examples
    --------
    >>> lines_of_toml("a = 1\n[b]\nc = {d = 2,\n e = 3}\n")
    {('a',): 1, ('b',): 2, ('b', 'c'): 3, ('b', 'c', 'd'): 3, ('b', 'c', 'e'): 4}
    """
    source, lines, table = _Text(text), {}, ()  # type: _Text, dict[Place, int], Place
    counts: dict[Place, int] = {}
    while True:
        source.blank(comments=True)
        if not source.rest:
            return lines
        if source.peek() == "[":
            array = source.peek(2) == "[["
            source.at += 2 if array else 1
            line = source.line()
            table = _resolved(_key(source), counts, array)
            _note(lines, table, line)
            source.blank(comments=False)
            source.at += 2 if array else 1
        else:
            _pair(source, table, lines)


def _key(source: _Text) -> Place:
    """A key with its dots."""
    parts: list[str | int] = []
    while True:
        source.blank(comments=False)
        if source.peek() in ("'", '"'):
            parts.append(source.string())
        else:
            found = _BARE.match(source.text, source.at)
            if found is None:  # nothing that a key can be: give up on the rest
                source.at = len(source.text)
                return tuple(parts)
            parts.append(found[0])
            source.at = found.end()
        source.blank(comments=False)
        if source.peek() != ".":
            return tuple(parts)
        source.at += 1


def _resolved(key: Place, counts: dict[Place, int], array: bool) -> Place:
    """The place of a table header, with the numbers of the arrays of tables on its way."""
    place: Place = ()
    for position, part in enumerate(key):
        place = (*place, part)
        last = position == len(key) - 1
        if last and array:
            counts[place] = counts.get(place, -1) + 1
        if place in counts:
            place = (*place, counts[place])
    return place


def _note(lines: dict[Place, int], place: Place, line: int) -> None:
    for size in range(1, len(place) + 1):
        lines.setdefault(place[:size], line)
    lines[place] = line


def _pair(source: _Text, table: Place, lines: dict[Place, int]) -> None:
    line = source.line()
    place = (*table, *_key(source))
    _note(lines, place, line)
    source.blank(comments=False)
    source.at += 1  # the sign of equality
    _value(source, place, lines)


def _value(source: _Text, place: Place, lines: dict[Place, int]) -> None:
    source.blank(comments=True)
    first = source.peek()
    if first in ("'", '"'):
        source.string()
    elif first == "[":
        _list(source, place, lines)
    elif first == "{":
        source.at += 1
        while True:
            source.blank(comments=True)
            if source.peek() in ("}", ""):
                break
            if source.peek() == ",":
                source.at += 1
            else:
                _pair(source, place, lines)
        source.at += 1
    else:
        while source.rest and source.peek() not in ",]}\n#":
            source.at += 1


def _list(source: _Text, place: Place, lines: dict[Place, int]) -> None:
    source.at += 1
    number = 0
    while True:
        source.blank(comments=True)
        if source.peek() in ("]", ""):
            break
        if source.peek() == ",":
            source.at += 1
            number += 1
        else:
            lines[*place, number] = source.line()
            _value(source, (*place, number), lines)
    source.at += 1


# ------------------------------------------------------------------------ JSON


def lines_of_json(text: str) -> dict[Place, int]:
    r"""Line of every key of a valid JSON text, counted from 1.

    Examples
    --------
    >>> lines_of_json('{"a": 1,\n "b": [\n  {"c": 2}]}')
    {('a',): 1, ('b',): 2, ('b', 0): 3, ('b', 0, 'c'): 3}
    """
    source, lines = _Text(text), {}  # type: _Text, dict[Place, int]
    _json_value(source, (), lines)
    return lines


def _json_value(source: _Text, place: Place, lines: dict[Place, int]) -> None:
    source.blank(comments=False)
    first = source.peek()
    if first == '"':
        source.string()
    elif first in ("{", "["):
        source.at += 1
        number = 0
        while True:
            source.blank(comments=False)
            if source.peek() in ("}", "]", ""):
                break
            if source.peek() == ",":
                source.at += 1
                continue
            line = source.line()
            inner: Place = (*place, number)
            if first == "{":
                inner = (*place, source.string())
                source.blank(comments=False)
                source.at += 1  # the colon
            lines[inner] = line
            _json_value(source, inner, lines)
            number += 1
        source.at += 1
    else:
        while source.rest and source.peek() not in ",]}\n":
            source.at += 1
