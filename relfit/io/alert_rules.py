"""Rules of what counts as a failure in a raw log: patterns and severities, shipped with each reader, replaceable."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from relfit.base.arrays import BoolArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.io.parsing.settings import read_settings
from relfit.io.raw_lines import check_pattern

Rules = str | Path | dict[str, Any] | None
"""A TOML file of rules, or its content; None for the reader's own."""

_FOLDER = Path(__file__).parent / "rules"
_KINDS = {"node": "failures of a node", "job": "ends of a job only", "nothing": "neither"}


class _Rule(BaseModel):
    """One rule: the pattern, the cause that it names, and what it ends (true is node, false nothing)."""

    model_config = ConfigDict(extra="forbid")

    pattern: str
    cause: str
    ends: Literal["node", "job", "nothing"] = "node"
    state: str = "down"

    @field_validator("ends", mode="before")
    @classmethod
    def _as_word(cls, value: object) -> object:
        return {True: "node", False: "nothing"}[value] if isinstance(value, bool) else value


class AlertRules(BaseModel):
    """Rules of one reader, as a file has them: words and alert tags, and patterns in the order in which they are tried.

    Records are failures by ``severities``, ``states``, causes by tag in ``tags``, and ``rules``; ``harmless`` are tags
    or words that do not end a node's availability.
    """

    model_config = ConfigDict(extra="forbid", title="_Document")

    about: str = ""
    severities: list[str] = []
    states: list[str] = []
    tags: dict[str, str] = {}
    harmless: list[str] = []
    rules: list[_Rule] = Field([], alias="rule")
    _name: str = ""  # the file, or the reader to which they belong

    @property
    def pattern(self) -> str:
        """One pattern for the lines that any rule matches."""
        return "|".join(f"(?:{rule.pattern})" for rule in self.rules) or r"[^\s\S]"

    @property
    def excused(self) -> frozenset[str]:
        """The harmless words, in capitals."""
        return frozenset(word.upper() for word in self.harmless)

    def ending(self, what: str) -> BoolArray:
        """Which rules end a node's availability or, with ``what="job"``, that or a job."""
        return np.array([rule.ends == "node" or rule.ends == what for rule in self.rules], dtype=bool)

    @property
    def told(self) -> tuple[str, ...]:
        """What counts as a failure, in at most eight lines, for the log's provenance."""
        lines = [f"what counts as a failure: {self._name}"]
        for what, words in (
            ("failures by severity", self.severities),
            ("failures by state", self.states),
            ("not failures", self.harmless),
        ):
            if words:
                lines.append(f"{what}: {', '.join(words)}")
        if self.tags:
            tags = Counter(self.tags.values())
            lines.append(f"causes by alert tag: {', '.join(f'{cause} ({n} tags)' for cause, n in tags.items())}")
        for ends, what in _KINDS.items():
            causes = dict.fromkeys(rule.cause for rule in self.rules if (rule.state, rule.ends) == ("down", ends))
            if causes:
                lines.append(f"{what}: {', '.join(causes)}")
        return tuple(lines)

    def first_match(self, messages: pa.Array) -> IntArray:
        """Number of the first rule that matches each text; -1 for none."""
        first = np.full(len(messages), -1, dtype=np.int64)
        together = _joined(messages)
        for number, rule in enumerate(self.rules):
            left = np.flatnonzero(first < 0)
            if not left.size:
                break
            if not _anywhere(together, rule.pattern):
                continue
            hit = pc.match_substring_regex(messages.take(pa.array(left)), pattern=rule.pattern)
            first[left[pc.fill_null(hit, False).to_numpy(zero_copy_only=False).astype(bool)]] = number
        return first


def _joined(messages: pa.Array) -> pa.Array:
    """All texts as one, a line each."""
    blank, end = (pa.scalar(text, pa.large_string()) for text in ("", "\n"))
    ended = pc.binary_join_element_wise(messages.cast(pa.large_string()), blank, end, null_handling="replace")
    content = ended.buffers()[2]
    edges = pa.py_buffer(np.array([0, 0 if content is None else content.size], dtype=np.int64))
    return pa.Array.from_buffers(pa.large_string(), 1, [None, edges, content or pa.py_buffer(b"")])


def _anywhere(together: pa.Array, pattern: str) -> bool:
    """Whether any text may match: one search through all of them, with ends of texts as ends of lines."""
    if any(sign in pattern for sign in ("\\A", "\\z", "\\C", "\\Q")):
        return True
    return bool(pc.match_substring_regex(together, pattern=f"(?m:{pattern})")[0].as_py())


def rules_of(reader: str, source: Rules = None) -> AlertRules:
    """The rules of a reader: its own, or those of a user's TOML file or its content; an `ArgumentError` if invalid."""
    place = _FOLDER / f"{reader}.toml"
    name = f"rules of relfit for {reader}"
    if isinstance(source, dict):
        document, name = source, "rules of the dictionary"
    else:
        place, name = (place, name) if source is None else (Path(source), f"rules of {source}")
        document = read_settings(place, "toml", "rules", "see docs/raw-logs.md")
    try:
        read = AlertRules(**document)
    except (ValidationError, ValueError) as error:
        what = str(error).replace("\n", " ")[:200]
        raise ArgumentError(f"these are not rules: {what}", path=place, remedy="see docs/raw-logs.md") from None
    for rule in read.rules:
        check_pattern(rule.pattern)
    read._name = name
    return read
