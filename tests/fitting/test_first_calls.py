"""What users of lifelines, SurPyval and reliability type first."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import relfit as rf

TIMES = [100.0, 900.0, 4000.0, 8760.0, 20.0, 3000.0]
OBSERVED = [True, True, True, False, True, True]


@pytest.fixture(scope="module")
def fits() -> rf.fitting.Fits:
    return rf.fit(rf.LifeData.from_array(TIMES, OBSERVED))


def test_parameters_are_attributes(fits):
    assert fits["weibull"].shape.tolist() == fits["weibull"].parameters["shape"].tolist()
    assert fits["exponential"].rate[0] == pytest.approx(5 / sum(TIMES))
    with pytest.raises(AttributeError, match="its parameters are shape, scale"):
        _ = fits["weibull"].alpha
    for again in (copy.copy(fits["weibull"]), pickle.loads(pickle.dumps(fits["weibull"]))):
        assert again.scale == fits["weibull"].scale


def test_reliability_is_that_of_a_node_of_an_age(fits):
    shape, scale = float(fits["weibull"].shape[0]), float(fits["weibull"].scale[0])

    def survival(t: float) -> float:
        return float(np.exp(-((t / scale) ** shape)))

    assert fits["weibull"].sf("24h")[0] == pytest.approx(survival(24.0))
    assert fits["weibull"].sf(24.0, age="1000h")[0] == pytest.approx(survival(1024.0) / survival(1000.0))
    assert rf.families.Weibull(shape, scale).sf(24.0, age=1000.0) == pytest.approx(survival(1024.0) / survival(1000.0))


def test_curves_of_arrays_and_logs():
    lives = rf.LifeData.from_array(TIMES, OBSERVED)
    for estimate in (rf.nonparametric.kaplan_meier, rf.nonparametric.nelson_aalen):
        expected = estimate(lives).estimate
        assert estimate(TIMES, observed=OBSERVED).estimate.tolist() == expected.tolist()
    # by hand: 5/6, 4/5, 3/4, 2/3, 1/2 of those at risk live on
    curve = rf.nonparametric.kaplan_meier(TIMES, observed=OBSERVED)
    assert curve.estimate[:5].round(6).tolist() == [round(k / 6.0, 6) for k in (5, 4, 3, 2, 1)]
    log = rf.datasets.load("white").between("2004-09-01", None)
    of_log = rf.nonparametric.kaplan_meier(log)
    assert of_log.estimate.tolist() == rf.nonparametric.kaplan_meier(log.ttf()).estimate.tolist()
