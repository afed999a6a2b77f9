"""Units that leave the fleet when they fail, as disks do: a job on them is interrupted, not cut off."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf

DAYS, UNITS, A_YEAR = 600, 400, 0.6


@pytest.mark.parametrize("placement", ["packed", "random"])
def test_the_failure_that_ends_a_unit_interrupts_its_job(placement: str) -> None:
    """Every slot has a unit at any time, each for an exponential time; its failure has the date on which it leaves."""
    rng = np.random.default_rng(3)
    first, rows, units = pd.Timestamp("2022-01-01"), [], []
    for slot in range(UNITS):
        day = 0.0
        while day < DAYS:
            life, name = rng.exponential(365.0 / A_YEAR), f"s{slot:04d}-{len(units)}"
            ends = day + life
            left = first + pd.Timedelta(ends, "D") if ends < DAYS else pd.NaT
            units.append((name, first + pd.Timedelta(day, "D"), left))
            if ends < DAYS:
                rows.append((name, left))
            day = ends
    events = pd.DataFrame(rows, columns=["node", "start"])
    population = pd.DataFrame(units, columns=["node", "entered", "left"])
    last = first + pd.Timedelta(DAYS, "D")
    model = rf.fleet_model(rf.read(events, population=population, window_start=str(first), window_end=str(last)))
    truth = np.exp(-64 * A_YEAR / 365.0)
    through = model.interval("reliability", "24h", size=64, placement=placement)
    assert float(through.low) < truth < float(through.high)
    assert float(through.estimate) == pytest.approx(truth, abs=0.02)  # 1 when such jobs are left out
