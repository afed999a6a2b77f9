"""Whether the mean of the fitted distribution of repairs is that of the repairs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.base.text import duration


@pytest.mark.parametrize("slow", [1.0, 24.0])
def test_a_distribution_of_another_mean_than_the_repairs_is_named(slow: float) -> None:
    """Log-normal repairs, and repairs of about a minute or a day, which no log-normal distribution describes."""
    rng = np.random.default_rng(6)
    start = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.sort(rng.uniform(0.0, 8000.0, 600)), unit="h")
    hours = rng.lognormal(1.0, 0.8, 600)
    if slow > 1.0:
        hours = np.where(rng.random(600) < 0.5, 0.02, slow) * rng.uniform(0.9, 1.1, 600)
    nodes = [f"n{i % 50}" for i in range(600)]
    frame = pd.DataFrame({"node": nodes, "start": start, "end": start + pd.to_timedelta(hours, unit="h")})
    log = rf.read(frame, n_nodes=50, window_start="2024-01-01", window_end="2024-12-31")
    parameters = rf.calibrate(log, parts=("families",), at="long run", period="all", families=("lognormal",))
    said = [check.finding for check in parameters.checks if check.name == "repairs.mean"]
    assert len(said) == (slow > 1.0)
    if said:
        logs = np.log(hours)
        expected = duration(float(np.exp(logs.mean() + 0.5 * logs.var())))
        assert f"has a mean of {expected}, the repairs themselves one of {duration(float(hours.mean()))};" in said[0]
