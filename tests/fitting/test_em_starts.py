"""EM: the likelihood of a mixture rises with every step and comes close to its maximum."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import relfit as rf
from relfit.fitting import _maximum_likelihood as em_starts
from relfit.fitting.families import FAMILIES
from relfit.fitting.likelihood import LogLikelihood

TRUTH = {
    "hyperexponential2": [0.3, 1.0 / 20.0, 1.0 / 1500.0],
    "hyperexponential3": [0.3, 0.3, 1.0 / 5.0, 1.0 / 200.0, 1.0 / 4000.0],
    "weibull_mixture": [0.3, 0.7, 20.0, 1.5, 1500.0],
}


@pytest.mark.parametrize("name", TRUTH)
@pytest.mark.slow
def test_the_likelihood_rises_to_near_its_maximum(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    family = FAMILIES[name]
    rng = np.random.default_rng(3)
    life = np.stack([family(*TRUTH[name]).sample(400, rng=rng) for _ in range(8)])
    end = rng.exponential(3000.0, life.shape)
    lives = rf.LifeData.from_array(np.minimum(life, end), life <= end)
    objective = LogLikelihood(family, lives)

    def after(steps: int) -> np.ndarray:
        monkeypatch.setattr(em_starts, "_ITERATIONS", steps)
        return objective(family.to_free(em_starts.mixture_starts(family, lives)))

    values = [after(steps) for steps in (1, 2, 3, 5, 10, 20, 60)]
    for earlier, later in pairwise(values):
        assert (later >= earlier - 1e-6).all()
    # from a rough split, one step of which is already close
    assert (values[-1].max(axis=0) > values[0].max(axis=0) + 0.5).all()
    fit = rf.fit(lives, name)[name]
    assert (values[-1].max(axis=0) > fit.loglik - 1.0).all()
    assert (fit.loglik >= objective(family.to_free(np.tile(TRUTH[name], (1, 8, 1))))[0]).all()


@pytest.mark.parametrize(("early", "rests_on_too_few"), [(1, True), (3, False)])
def test_a_phase_of_one_life_is_hollow(early: int, rests_on_too_few: bool) -> None:
    family = FAMILIES["hyperexponential2"]
    life = np.concatenate([np.full(early, 1e-3), np.random.default_rng(1).exponential(1000.0, 40) + 1.0])
    parameters = np.array([[early / life.size, 1e3, 1e-3]])
    found = em_starts.hollow(family, parameters, rf.LifeData.from_array(life[None]))
    assert found.tolist() == [rests_on_too_few]
    # a life of weight three is three lives
    weighty = rf.LifeData.from_array(life[None], weights=np.where(life < 1.0, 3, 1)[None])
    assert em_starts.hollow(family, parameters, weighty).tolist() == [False]
