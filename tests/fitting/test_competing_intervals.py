"""Intervals of the incidence of competing causes: fleets of known truth, and the causes' own distributions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import relfit as rf

HOURS = 800.0


def fleets(number: int, size: int, seed: int) -> pd.DataFrame:
    """Lives of fans, which age (shape 2), and disks, which do not; watched for 1,200 h."""
    rng = np.random.default_rng(seed)
    fan = 2000.0 * rng.weibull(2.0, (number, size))
    disk = rng.exponential(2500.0, (number, size))
    hours = np.minimum(np.minimum(fan, disk), 1200.0)
    mode = np.where(hours == fan, "fan", np.where(hours == disk, "disk", None))
    fleet = np.repeat(np.arange(number), size)
    return pd.DataFrame({"fleet": fleet, "hours": hours.ravel(), "mode": mode.ravel()})


def truth() -> list[float]:
    """Shares that failed of a disk, of a fan, and at all by 800 h: sums over a fine grid of ages."""
    age = (np.arange(200_000) + 0.5) * HOURS / 200_000
    alive = np.exp(-((age / 2000.0) ** 2) - age / 2500.0) * HOURS / 200_000
    shares = [float(np.sum(alive / 2500.0)), float(np.sum(alive * 2.0 * age / 2000.0**2))]
    return [*shares, sum(shares)]


def test_intervals_hold_the_truth() -> None:
    fits = rf.fit(fleets(150, 40, 1), "weibull", duration="hours", cause="mode", by="fleet")
    said = fits.competing().interval(HOURS, n_draws=400)
    usable = np.isfinite(said.low)
    assert usable.mean() > 0.95
    held = (said.low <= truth()) & (np.array(truth()) <= said.high)
    assert 0.91 < held[usable].mean() < 0.98
    narrow = fits.competing().interval(HOURS, level=0.5, n_draws=400)
    assert 0.42 < ((narrow.low <= truth()) & (np.array(truth()) <= narrow.high))[usable].mean() < 0.58


def test_the_estimate_is_that_of_incidence_and_a_seed_repeats() -> None:
    risks = rf.fit(fleets(3, 40, 2), "weibull", duration="hours", cause="mode", by="fleet").competing()
    one, again, other = (risks.interval(HOURS, n_draws=200, rng=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(one.estimate, risks.incidence(HOURS).to_numpy())
    np.testing.assert_array_equal(one.low, again.low)
    assert (one.low != other.low).any()
    assert one.to_frame().index.tolist()[:3] == [(0, "disk"), (0, "fan"), (0, "any")]


def test_each_cause_has_its_own_distribution() -> None:
    """Of 4,000 lives: the best is exponential for disks and Weibull for fans, as they were drawn."""
    fits = rf.fit(fleets(1, 4000, 31), ["exponential", "weibull"], duration="hours", cause="mode")
    best = fits.competing("best")
    assert best.family == "disk exponential, fan weibull"
    same = fits.competing({"disk": "exponential", "fan": "weibull"})
    assert best.incidence(HOURS).equals(same.incidence(HOURS))
    np.testing.assert_allclose(best.incidence(HOURS).iloc[0], truth(), atol=0.02)
    with pytest.raises(rf.ArgumentError, match="the cause 'fan'"):
        fits.competing({"disk": "exponential"})
    with pytest.raises(rf.ArgumentError, match="'gamma' was not fitted"):
        fits.competing("gamma")


def test_a_cause_that_never_struck_does_not_compete() -> None:
    table = fleets(2, 30, 4)
    table.loc[(table["fleet"] == 0) & (table["mode"] == "disk"), "mode"] = None
    risks = rf.fit(table, "weibull", duration="hours", cause="mode", by="fleet").competing()
    said = risks.interval(HOURS, n_draws=200).to_frame()
    assert said.loc[(0, "disk"), "status"] == "all_censored"
    assert said.loc[(0, "disk"), "estimate"] == 0.0
    assert said.loc[(0, "fan"), ["low", "high"]].tolist() == said.loc[(0, "any"), ["low", "high"]].tolist()
    with pytest.raises(rf.ArgumentError, match="infinite"):
        risks.interval(np.inf)
    with pytest.raises(rf.ArgumentError, match="n_draws is 99"):
        risks.interval(HOURS, n_draws=99)
