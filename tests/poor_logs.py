"""Logs that hold too little for most questions: every public function that takes a log is tried on them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from relfit import FailureLog
from relfit.base.errors import RelfitError
from relfit.base.results import Result
from tests.factories import make_log

__all__ = ["LOGS", "answers", "check"]

_NOT_WORDS = re.compile(r"\bnan\b|\binf\b|p = 0(?!\.\d)")

TWO = [{"node": "a"}, {"node": "b"}]
LOGS = {
    "two failures per node": make_log([{"node": n, "start": h, "end": h + 1} for n in "ab" for h in (5, 60)], TWO),
    "one failure": make_log([{"node": "a", "start": 5, "end": 6}], TWO),
    "one node": make_log([{"node": "a", "start": h, "end": h + 1} for h in (1, 5, 9, 30, 31, 70)], [{"node": "a"}]),
    "every ten hours": make_log([{"node": "a", "start": h, "end": h + 1} for h in range(10, 90, 10)], TWO),
    "one instant": make_log(
        [{"node": f"{i}", "start": 7, "end": 9} for i in range(50)], [{"node": f"{i}"} for i in range(50)]
    ),
    "one instant, one node": make_log([{"node": "a", "start": 7, "end": 7} for _ in range(20)], TWO),
    "the first instant": make_log([{"node": n, "start": 0, "end": 1} for n in "ab"], TWO),
    "the last instant": make_log([{"node": n, "start": 100, "end": 100} for n in "ab"], TWO),
    "no events": make_log([], TWO),
    "nobody": make_log([], []),
    "no node named": make_log([{"node": None, "start": h, "end": h + 1} for h in (3, 8, 40)], []),
    "no time": make_log([{"node": "a", "start": 3, "end": 3}], TWO[:1], window=(3, 3)),
    "no ends": make_log([{"node": n, "start": h, "end": None} for n in "ab" for h in (5, 20, 24, 60, 70)], TWO),
    "no causes": make_log(
        [{"node": n, "start": h, "end": h + 1, "cause": None} for n in "ab" for h in (5, 20, 60)], TWO
    ),
    "lifetimes": make_log(lifetimes=[{"node": "a", "duration": d, "observed": True} for d in (1.0, 5.0, 2.0, 8.0)]),
    "one lifetime": make_log(lifetimes=[{"node": "a", "duration": 3.0, "observed": False}]),
}


def check(expected: str, work: Callable[[FailureLog], Any], said: Callable[[Any], str], kind: str) -> None:
    """One cell of a table of answers: "! text" is an error that says this, anything else the answer's status."""
    if expected.startswith("! "):
        with pytest.raises(RelfitError, match=re.escape(expected[2:])):
            work(LOGS[kind])
        return
    result = work(LOGS[kind])
    assert said(result).strip() == expected
    if isinstance(result, Result):
        for text in result.findings:
            assert text, "no finding is empty"
            assert not _NOT_WORDS.search(text), text
        json.dumps(result.to_dict(), allow_nan=False)
        assert "<table" in result._repr_html_()


def answers(table: dict[str, str]) -> dict[tuple[str, str], str]:
    """Cells of a table with a row per function: one for each of `LOGS`, in their order."""
    rows = {name: [cell.strip() for cell in text.split("|")] for name, text in table.items()}
    assert {len(row) for row in rows.values()} == {len(LOGS)}
    return {(name, kind): cell for name, row in rows.items() for kind, cell in zip(LOGS, row, strict=True)}
