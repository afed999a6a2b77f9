"""The score of a repair: the normal quantile of its rank among those of the year until four weeks before its week."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from relfit.fleet.surveillance import repair_scans


def test_scores_by_ranks_in_plain_numpy() -> None:
    rng = np.random.default_rng(5)
    day = np.sort(rng.integers(0, 700, 900))
    hours = np.round(rng.lognormal(1.0, 0.7, 900), 1)  # ties among them
    scores = repair_scans._scores(day, hours)
    for i in range(900):
        end = day[i] // 7 * 7 - 28
        past = hours[(day >= end - 365) & (day < end)]
        if past.size < 30:
            assert np.isnan(scores[i])
            continue
        rank = (past < hours[i]).sum() + 0.5 * (past == hours[i]).sum()
        assert scores[i] == pytest.approx(norm.ppf((rank + 0.5) / (past.size + 1.0)), abs=1e-12)
    assert 700 < np.isfinite(scores).sum() < 900


def test_thirty_repairs_are_enough_to_be_held_against() -> None:
    day, hours = np.append(np.zeros(30, int), 40), np.arange(1.0, 32.0)
    assert repair_scans._scores(day, hours)[-1] == pytest.approx(norm.ppf(30.5 / 31.0))
    assert np.isnan(repair_scans._scores(day[1:], hours[1:])[-1])
