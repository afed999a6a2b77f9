"""Nodes that fail often for years, after weeks without a failure: plain Poisson nodes, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from tests.factories import make_log

NODES, DAYS, BAD, TIMES = 100, 1060, 6, 4.0


def fleet(seed: int) -> tuple[rf.FailureLog, set[str]]:
    """Three failures a node and year; six nodes have four times as many, always."""
    rng = np.random.default_rng(seed)
    bad = rng.choice(NODES, BAD, replace=False)
    mean = 3.0 / 365.0 * DAYS * np.where(np.isin(np.arange(NODES), bad), TIMES, 1.0)
    starts = [(t, f"n{i:03}") for i in range(NODES) for t in rng.uniform(0.0, 24.0 * DAYS, rng.poisson(mean[i]))]
    rows = [{"node": node, "start": t, "end": t + 2.0} for t, node in sorted(starts)]
    return make_log(rows, [{"node": f"n{i:03}"} for i in range(NODES)], window=(0, 24.0 * DAYS)), {
        f"n{i:03}" for i in bad
    }


@pytest.mark.slow
def test_nodes_that_fail_often_for_years_are_named_whatever_their_last_weeks() -> None:
    """Of 24 such nodes 7 were named, where a count of three years tells all of them apart; no good one is."""
    named, false, factors = 0, 0, []
    for seed in range(4):
        log, bad = fleet(seed)
        now = rf.fleet_model(log).nodes_now()
        of_bad = now["node"].isin(bad)
        named += int(now.loc[of_bad, "check"].sum())
        false += int(now.loc[~of_bad, "check"].sum())
        factors += now.loc[of_bad, "factor"].tolist()
    assert named >= 20
    assert false <= 1
    truth = TIMES / (1.0 + (TIMES - 1.0) * BAD / NODES)
    assert np.mean(factors) == pytest.approx(truth, rel=0.15)
