"""Metrics of a log in memory, counted by hand."""

from __future__ import annotations

from pathlib import Path

import relfit as rf
from relfit.live.prometheus_metrics import write_metrics
from tests.factories import EPOCH, make_log

DAY = 24


def test_time_between_failures_is_that_of_the_last_ninety_days(tmp_path: Path) -> None:
    """Node a fails twice in 90 days; nodes b and c, which left before, and what failed before, count no more."""
    log = make_log(
        [{"node": node, "start": day * DAY, "end": day * DAY + 1} for node, day in (("a", 9), ("a", 120), ("a", 199))],
        [{"node": "a"}, {"node": "b", "left": 100 * DAY}, {"node": "c", "entered": DAY, "left": 109 * DAY}],
        window=(0, 200 * DAY),
    )
    path = tmp_path / "relfit.prom"
    write_metrics([], rf.Study(log), path, now=EPOCH)
    lines = path.read_text().splitlines()
    assert f"relfit_round_timestamp_seconds {EPOCH.timestamp()}" in lines
    assert f'relfit_mtbf_seconds{{system="s"}} {45.0 * 86400.0}' in lines
    assert 'relfit_nodes{system="s"} 1.0' in lines
    assert 'relfit_recent_failures{system="s",cause="hardware"} 1.0' in lines
