"""Parameters of nodes from the failures so far, against a plain search for the largest likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from relfit.simulation.batch import EstimatedReliability, ReplayedFailures
from relfit.simulation.batch.engine_state import LINE

HOUR = 3600.0
HISTORY = ReplayedFailures(
    np.array([30.0, 55.0, 140.0, 200.0, 260.0]) * HOUR, np.array([0, 0, 1, 0, 0]), np.full(5, 2.0) * HOUR
)
NONE = np.zeros(0, dtype=LINE)


def test_weibull_of_a_node_with_failures() -> None:
    shape, scale = EstimatedReliability(history=HISTORY, since=0.0).parameters(3, NONE, 300 * HOUR, 300 * HOUR)
    lives = np.array([30.0, 55.0 - 32.0, 200.0 - 57.0, 260.0 - 202.0])
    standing = 300.0 - 262.0

    def negative(x: np.ndarray) -> float:
        b, a = np.exp(x)
        times = (lives / a) ** b
        return -float(np.sum(np.log(b / a) + (b - 1) * np.log(lives / a) - times) - (standing / a) ** b)

    best = np.exp(optimize.minimize(negative, [0.0, 4.0], method="Nelder-Mead", options={"xatol": 1e-8}).x)
    assert [shape[0], scale[0] / HOUR] == pytest.approx(best, rel=1e-3)
    assert shape[1] == 1.0  # one failure: exponential
    assert scale[1] / HOUR == pytest.approx(140.0 + 300.0 - 142.0)
    assert np.isinf(scale[2])  # none yet


def test_exponential_goes_on_with_the_log() -> None:
    line = np.zeros(1, dtype=LINE)
    line["kind"], line["time"], line["until"], line["node"] = 3, 310 * HOUR, 312 * HOUR, 2
    known = EstimatedReliability(family="exponential", history=HISTORY, since=0.0)
    shape, scale = known.parameters(3, line, 300 * HOUR, 400 * HOUR)
    assert (shape == 1.0).all()
    assert scale[2] / HOUR == pytest.approx(310.0 + 88.0)
    assert scale[0] / HOUR == pytest.approx((30 + 23 + 143 + 58 + 138.0) / 4)
