"""Small logs made in memory."""

from __future__ import annotations

from typing import Any

import pandas as pd

import relfit as rf

HOSTILE = "<script>alert(1)</script>"
FAST: dict[str, Any] = {"families": ["exponential", "weibull"]}


def log_of(
    rows: list[tuple[Any, Any, Any, Any]],
    *,
    zone: str = "UTC",
    system: str = "s",
    nodes: list[str] | None = None,
    until: str = "2021-01-01",
) -> rf.FailureLog:
    """A log from (node, start, end, cause), watched through 2020; times are UTC."""
    frame = pd.DataFrame(rows, columns=["node", "start", "end", "cause"])
    times = {
        c: pd.to_datetime(frame[c], utc=True, format="mixed").astype("datetime64[ns, UTC]") for c in ("start", "end")
    }
    events = frame.assign(
        **times, system=system, detail=None, scope="node", start_cut=False, end_cut=False, line=range(2, len(frame) + 2)
    )
    names = nodes if nodes is not None else sorted({str(n) for n in frame["node"].dropna()}) or ["n0", "n1"]
    start, end = pd.Timestamp("2020-01-01", tz="UTC"), pd.Timestamp(until, tz="UTC")
    population = pd.DataFrame(
        {
            "system": system,
            "node": names,
            "entered": start,
            "left": end,
            "entered_known": True,
            "left_known": True,
            "declared": True,
        }
    )
    population[["entered", "left"]] = population[["entered", "left"]].astype("datetime64[ns, UTC]")
    source = rf.log.failurelog.Source(rows_read=len(frame), rows_kept=len(frame), timezone=zone)
    return rf.FailureLog(events, population, rf.log.failurelog.Window(start, end, True, True), source=source)


def hostile_log() -> rf.FailureLog:
    rows = [
        (HOSTILE, f"2020-02-{1 + i % 28:02d} {i % 24:02d}:00", f"2020-02-{1 + i % 28:02d} {i % 24:02d}:30", HOSTILE)
        for i in range(40)
    ]
    rows += [
        ("=cmd|' /C calc'!A0", f"2020-03-{1 + i:02d}", f"2020-03-{1 + i:02d} 05:00", "$x_{</text>") for i in range(9)
    ]
    rows += [
        ("]]>\x07\"'&amp;", f"2020-04-{1 + i:02d}", f"2020-04-{1 + i:02d} 05:00", "</style><img src=x>")
        for i in range(9)
    ]
    log = log_of(rows, system="</title>" + HOSTILE)
    rejected = pd.DataFrame(
        {"file": ["</script>.csv"], "line": [3], "column": ["start"], "reason": [HOSTILE], "text": ["<img onerror=a>"]}
    )
    return rf.FailureLog(log.events, log.population, log.window, rejected, log.source)
