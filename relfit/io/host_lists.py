"""Slurm's lists of hosts: ``rack[1-2]node[01-03,07],login1``."""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_left
from collections import defaultdict

_MOST = 1_000_000
_PART = re.compile(r"[^,\[\]]*(?:\[[^\[\]]*\][^,\[\]]*)*")
_ONE_BRACKET = re.compile(r"([^,\[\]]*)\[([^,\[\]]+)\]([^,\[\]]*)")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def hosts(text: str) -> list[str]:
    """The names in a list such as ``n[08-10,12],login1``; a text that is no list is one name."""
    text = text.strip()
    if not text or text.lower() in ("none assigned", "(null)", "none", "unknown"):
        return []
    names: list[str] = []
    for part in _PART.findall(text):
        if not part:
            continue
        pieces = [_choices(piece) for piece in re.split(r"(\[[^\[\]]*\])", part) if piece]
        if math.prod(map(len, pieces)) + len(names) > _MOST:
            return [text]
        names += ["".join(choice) for choice in itertools.product(*pieces)]
    return names


def _choices(piece: str) -> list[str]:
    if not piece.startswith("["):
        return [piece]
    choices: list[str] = []
    for part in piece[1:-1].split(","):
        matched = _RANGE.fullmatch(part.strip())
        if matched is None:
            return [piece]
        low, high = matched[1], matched[2] or matched[1]
        if not 0 <= int(high) - int(low) < _MOST:
            return [piece]
        choices += [str(number).zfill(len(low)) for number in range(int(low), int(high) + 1)]
    return choices


class Hosts:
    """The names in many lists; parts that long ranges share are expanded once."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self._runs: dict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)

    def add(self, text: str) -> str | None:
        """Add the names of a list; returns a single name, an empty text for no name, None for several."""
        bracket = _ONE_BRACKET.fullmatch(text.strip())
        matched = bracket and _RANGE.fullmatch(bracket[2].strip())
        if not bracket or not matched or not matched[2] or not 1 <= int(matched[2]) - int(matched[1]) < _MOST:
            names = hosts(text)
            self.names.update(dict.fromkeys(names))
            return names[0] if len(names) == 1 else None if names else ""
        width = len(matched[1])
        for low, high in _added(self._runs[bracket[1], bracket[3], str(width)], int(matched[1]), int(matched[2])):
            numbers = (str(number).zfill(width) for number in range(low, high + 1))
            self.names.update(dict.fromkeys(f"{bracket[1]}{number}{bracket[3]}" for number in numbers))
        return None


def _added(runs: list[tuple[int, int]], low: int, high: int) -> list[tuple[int, int]]:
    """Add a run to sorted, disjoint runs; returns its parts that none of them had."""
    begin = bisect_left(runs, (low,))
    begin -= begin > 0 and runs[begin - 1][1] >= low
    end, at, parts = begin, low, []
    while end < len(runs) and runs[end][0] <= high:
        if runs[end][0] > at:
            parts.append((at, runs[end][0] - 1))
        at = max(at, runs[end][1] + 1)
        end += 1
    if at <= high:
        parts.append((at, high))
    first, last = (runs[begin][0], runs[end - 1][1]) if end > begin else (low, high)
    runs[begin:end] = [(min(low, first), max(high, last))]
    return parts
