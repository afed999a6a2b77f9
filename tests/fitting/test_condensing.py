"""Times counted once: what stays of their logs, and which are told apart."""

from __future__ import annotations

import numpy as np

import relfit as rf
from relfit.fitting.condensing import condensed


def test_very_many_times_in_classes_keep_the_means_of_their_logs() -> None:
    rng = np.random.default_rng(1)
    lives = rf.LifeData.from_groups({"a": rng.lognormal(3.0, 1.0, 30_000), "b": rng.lognormal(0.0, 0.2, 500)})
    few = condensed(lives)
    assert few.weights is not None
    assert few.durations.size < 2_000
    for group in range(2):
        own, all_of_them = few.take([group]), np.log(lives.take([group]).durations)
        assert own.weights is not None
        assert own.weights.sum() == all_of_them.size
        logs = np.log(own.durations)
        np.testing.assert_allclose(np.average(logs, weights=own.weights), all_of_them.mean(), atol=1e-12)
        spread = np.average((logs - all_of_them.mean()) ** 2, weights=own.weights)
        assert 0.0 < all_of_them.var() - spread < 1e-5
    # what ended and what did not are never of one class
    seen = rng.random(30_500) < 0.5
    mixed = rf.LifeData(lives.durations, seen, lives.offsets, lives.groups)
    apart = condensed(mixed)
    assert apart.weights is not None
    assert apart.weights[apart.observed].sum() == seen.sum()


def test_equal_times_of_a_group_are_counted_once() -> None:
    few = condensed(rf.LifeData.from_groups({"a": [2.0, 1.0, 2.0], "b": [1.0, 0.0]}))
    assert few.weights is not None
    assert few.durations.tolist() == [1.0, 2.0, 1.0]
    assert (few.weights.tolist(), few.offsets.tolist()) == ([1, 2, 1], [0, 2, 3])
