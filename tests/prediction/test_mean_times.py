"""Means of durations ahead whose truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from relfit.fleet.prediction import TimeSteps, mean_time_ahead


@pytest.mark.parametrize("horizon", [6.0, 36.0, 720.0])
@pytest.mark.parametrize("long_run", [False, True])
def test_durations_that_are_all_alike_stay_so_over_any_horizon(horizon: float, long_run: bool) -> None:
    steps = TimeSteps.of(pd.Timestamp("2023-01-01"), pd.Timestamp("2024-02-05"))
    hours = np.full(400, 3.0)
    ended = np.ones(400, bool)
    mean, _ = mean_time_ahead(steps, steps.edges[:400], hours, ended, horizon, long_run=long_run)
    assert mean == pytest.approx(3.0, abs=1e-4)  # half an event of the prior
