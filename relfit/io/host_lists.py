"""Slurm's lists of hosts: ``rack[1-2]node[01-03,07],login1``."""

from __future__ import annotations

import itertools
import re

__all__ = ["hosts"]

_MOST = 1_000_000
_PART = re.compile(r"[^,\[\]]*(?:\[[^\[\]]*\][^,\[\]]*)*")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def hosts(text: str) -> list[str]:
    """The names in a list; a text that is none stands for itself.

    Examples
    --------
    >>> hosts("n[08-10,12],login1"), hosts("r[1-2]n[0-1]"), hosts("None assigned")
    (['n08', 'n09', 'n10', 'n12', 'login1'], ['r1n0', 'r1n1', 'r2n0', 'r2n1'], [])
    """
    text = text.strip()
    if not text or text.lower() in ("none assigned", "(null)", "none", "unknown"):
        return []
    names: list[str] = []
    for part in _PART.findall(text):
        if not part:
            continue
        pieces = [_choices(piece) for piece in re.split(r"(\[[^\[\]]*\])", part) if piece]
        size = 1
        for piece in pieces:
            size *= len(piece)
        if size + len(names) > _MOST:
            return [text]
        names += ["".join(choice) for choice in itertools.product(*pieces)]
    return names


def _choices(piece: str) -> list[str]:
    if not piece.startswith("["):
        return [piece]
    found: list[str] = []
    for part in piece[1:-1].split(","):
        matched = _RANGE.fullmatch(part.strip())
        if matched is None:
            return [piece]
        low, high = matched[1], matched[2] or matched[1]
        if not 0 <= int(high) - int(low) < _MOST:
            return [piece]
        found += [str(number).zfill(len(low)) for number in range(int(low), int(high) + 1)]
    return found
