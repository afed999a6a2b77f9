"""Limits of mean times between failures where the counts of a node are those of renewals."""

from __future__ import annotations

from math import gamma

import numpy as np
import pytest

import relfit as rf
from tests.factories import make_log


@pytest.mark.parametrize("shape", [0.5, pytest.param(0.7, marks=pytest.mark.verify)])
@pytest.mark.slow
@pytest.mark.long
def test_limits_allow_for_the_scatter_between_nodes(shape: float) -> None:
    held = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        gaps = rng.weibull(shape, (60, 100)) * 800.0 / gamma(1.0 + 1.0 / shape)
        at = gaps.cumsum(axis=1) - rng.uniform(16_000.0, 17_000.0, (60, 1))
        rows = [{"node": f"n{i}", "start": t} for i, one in enumerate(at) for t in one[(one > 0.0) & (one < 8760.0)]]
        log = make_log(rows, [{"node": f"n{i}", "entered_known": False} for i in range(60)], window=(0.0, 8760.0))
        found = rf.calibrate(log, parts=("mtbf",), window="0h", at="long run").mtbf.node
        count = np.array([np.sum((one > 0.0) & (one < 8760.0)) for one in at])
        variance = ((count - count.mean()) ** 2).sum() * 60 / 59 / count.sum()  # by hand, relative to Poisson
        assert found.dispersion >= 0.999 * variance
        held += found.low <= 800.0 <= found.high
    assert held >= 10  # of 12; by Poisson limits 75 %


def test_a_burst_of_records_of_a_node_is_one_outage() -> None:
    rng = np.random.default_rng(4)
    rows = [
        {"node": f"n{rng.integers(0, 20)}", "start": float(at), "count": int(rng.integers(20, 60))}
        for at in np.sort(rng.uniform(0.0, 8760.0, 200))
    ]
    each = [{"node": row["node"], "start": row["start"] + i / 36000.0} for row in rows for i in range(row["count"])]
    log = make_log(each, [{"node": f"n{i}", "entered_known": False} for i in range(20)], window=(0.0, 8760.0))
    found = rf.calibrate(log, period="all", parts=("mtbf",), at="long run").mtbf
    assert found.outage.events == found.node.events
    assert found.outage.value == pytest.approx(20 * 8760.0 / 200.0, rel=0.02)
