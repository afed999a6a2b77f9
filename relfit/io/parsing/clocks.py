"""Times of one table of which some name their zone and others none: in which zone are the others?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from relfit.base.errors import ReadError, Remedy
from relfit.io.parsing.rows import as_text_array

_OFFSET = r":\d\d(?:[.,]\d+)? ?(?:UTC|GMT)?[+-](?:00:?(?:0[1-9]|[1-5]\d)|(?:0[1-9]|1\d)(?::?\d\d)?)$"  # not 0
_UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")
_EXAMPLE, _SHOWN = "Europe/Berlin", "as in "


def same_clock(
    columns: Mapping[str, pa.Array | pa.ChunkedArray], seen: Mapping[str, set[bool]], zone: str | None, path: Path
) -> list[str]:
    """A note where times without a zone are taken as UTC because the others are; a `ReadError` where those are not.

    `seen` tells for each column of times whether some name a zone (True), and whether some name none (False). With a
    `zone` that the user says there is no question.
    """
    if zone is not None or len(set[bool]().union(*seen.values())) < 2:
        return []
    zones = {name: _zone(columns[name]) for name, kinds in seen.items() if True in kinds}
    bare = ", ".join(repr(name) for name, kinds in seen.items() if False in kinds)
    other = next(((name, zone) for name, zone in zones.items() if zone not in _UTC), None)
    if other is None:
        return [f"times of {bare} without a zone are taken as UTC, as the others are"]
    likely = _EXAMPLE if other[1].startswith(_SHOWN) or "/" not in other[1] else other[1]
    raise ReadError(
        f"times of {other[0]!r} name a zone ({other[1]}), and some of {bare} name none",
        path=path,
        remedy=Remedy(
            f'say in which zone the others are: timezone="{likely}"',
            f"say in which zone the others are: --timezone {likely}",
        ),
    )


def _zone(column: pa.Array | pa.ChunkedArray) -> str:
    """The zone of typed times, or an offset from UTC in texts, ``"UTC"`` where there is no other."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        return str(kind.tz)
    texts = as_text_array(column)
    hit = pc.fill_null(pc.match_substring_regex(texts, pattern=_OFFSET), False)
    texts = texts.filter(hit)
    return f"{_SHOWN}{texts[0].as_py()}" if len(texts) else "UTC"
