"""Seeds that are none: the same error everywhere, which a caller catches as a `RelfitError`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import relfit as rf
from relfit.simulation.batch import SystemFailures, simulate_batches, sweep_repairs

LIVES = np.random.default_rng(1).exponential(10.0, 40)
FAILURES = SystemFailures(mtbf="30min", repair="5min")


@cache
def _jobs() -> rf.workloads.Workload:
    return rf.workloads.TwoStage(16, load=0.5).sample(20, rng=1)


TAKES_RNG: dict[str, Callable[[object], object]] = {
    "fit": lambda rng: rf.fit(LIVES, rng=rng),
    "sample": lambda rng: rf.families.Weibull(2.0, 5.0).sample(3, rng=rng),
    "forecast": lambda rng: rf.forecast(rf.datasets.load("white"), "7d", rng=rng),
    "workload": lambda rng: rf.workloads.TwoStage(16, load=0.5).sample(20, rng=rng),
    "simulate_batches": lambda rng: simulate_batches(_jobs(), n_runs=2, failures=FAILURES, rng=rng),
    "sweep_repairs": lambda rng: sweep_repairs(_jobs(), mtbf="100d", n_runs=2, rng=rng),
}


@pytest.mark.parametrize("rng", [-1, 1.5, "a"])
@pytest.mark.parametrize("takes", TAKES_RNG)
def test_a_wrong_seed_is_the_same_error_everywhere(takes: str, rng: object) -> None:
    with pytest.raises(rf.ArgumentError, match=r"^rng is .*; give a"):
        TAKES_RNG[takes](rng)
