"""Data sets of the books, with the answers they print or that other programs give for them."""

from __future__ import annotations

import numpy as np
import pytest
from reliability.Repairable_systems import MCF_nonparametric
from scipy import stats
from surpyval.recurrent import NonParametricCounting

from relfit.analyses.recurrence import EventHistories, fit_process, mean_cumulative, trend_tests
from tests.recurrence.made import CROW_SYSTEMS, HANDBOOK_SYSTEMS

# Valve seats of 41 diesel engines (Nelson and Doganaksoy 1989; Nelson 1995): replacements, then the end, in days
VALVE_SEATS = """
761; 759; 98 667; 326 653 653 667; 665; 84 667; 87 663; 646 653; 92 653; 651; 258 328 377 621 650; 61 539 648;
254 276 298 640 644; 76 538 642; 635 641; 349 404 561 649; 631; 596; 120 479 614; 323 449 582; 139 139 589; 593;
573 589; 165 408 604 606; 249 594; 344 497 613; 265 586 595; 166 206 348 389; 601; 410 581 601; 611; 608; 587; 367 603;
202 563 570 585; 587; 578; 578; 586; 585; 582
"""
# Repairs over 1500 h of test (NIST/SEMATECH e-Handbook of Statistical Methods, 8.1.7.2 and 8.2.3.4)
NIST = [5, 40, 43, 175, 389, 712, 747, 795, 1299, 1478]


def valve_seats() -> EventHistories:
    engines = [[float(day) for day in engine.split()] for engine in VALVE_SEATS.split(";")]
    return EventHistories.from_groups([engine[:-1] for engine in engines], [engine[-1] for engine in engines])


def test_nelsons_valve_seats() -> None:
    histories = valve_seats()
    assert (histories.n_histories, histories.times.size) == (41, 48)
    curve = mean_cumulative(histories)
    assert curve.estimate[:2].round(3).tolist() == [0.024, 0.049]
    assert curve.estimate[-1] == pytest.approx(1.54, abs=0.005)
    ends = [[*histories.take([j]).times, histories.end[j]] for j in range(41)]
    expected = MCF_nonparametric(data=ends, print_results=False, show_plot=False)
    last = dict(zip(expected.time, expected.MCF, strict=True))
    np.testing.assert_allclose(curve.estimate, [last[time] for time in curve.times], rtol=1e-9)
    x = np.concatenate([histories.times, histories.end])
    i = np.concatenate([histories.group_codes(), np.arange(41)])
    c = np.concatenate([np.zeros(48), np.ones(41)]).astype(int)
    limits = NonParametricCounting.fit(x, i=i, c=c).mcf_cb(curve.times)
    far = stats.norm.ppf(0.975) * curve.standard_error / curve.estimate  # theirs are normal
    np.testing.assert_allclose(curve.estimate * np.exp(-far), limits[:, 0], rtol=1e-6)
    np.testing.assert_allclose(curve.estimate * np.exp(far), limits[:, 1], rtol=1e-6)
    # seats wear out: the Poisson tests say so, as Nelson's plot does
    pooled = trend_tests(histories, "all")
    assert (pooled.direction == 1).all()
    assert (pooled.p[0, :2] < 0.02).all()


def test_nists_repairs() -> None:
    histories = EventHistories.from_groups([NIST], end=1500.0)
    found = trend_tests(histories)
    assert found.of("mil_hdbk_189")["statistic"].iloc[0] == pytest.approx(37.23, abs=0.005)
    assert found.freedom.tolist() == [20]
    gaps = np.diff(NIST, prepend=0)
    rising = int((gaps[None, :] > gaps[:, None])[np.triu_indices(10, 1)].sum())
    assert rising == 33  # the handbook's reversals
    tied = int((gaps[None, :] == gaps[:, None])[np.triu_indices(10, 1)].sum())
    score = rising - (45 - tied - rising)
    assert found.of("mann")["statistic"].iloc[0] == pytest.approx(-score / np.sqrt((10 * 9 * 25 - 18) / 18))
    fit = fit_process(histories)
    shape = fit.estimates[0, 0]
    assert 0.9 * shape == pytest.approx(0.4835, abs=5e-4)  # without bias: (n - 1) / n of the maximum
    assert fit.expected(1500.0)[0, 0] == pytest.approx(10.0)


def test_the_handbooks_development_test() -> None:
    # MIL-HDBK-189, appendix C: 27 failures in 300 h, shape 0.716, Crow's statistic 0.091
    histories = EventHistories.from_groups(HANDBOOK_SYSTEMS, end=300.0)
    found = trend_tests(histories).of("mil_hdbk_189").iloc[0]
    assert found["statistic"] == pytest.approx(2 * 27 / 0.716, rel=1e-3)
    assert found["p"] == pytest.approx(2.0 * stats.chi2.sf(found["statistic"], 54), rel=1e-6)
    assert found["direction"] == -1
    crow = fit_process(EventHistories.from_groups(CROW_SYSTEMS, end=200.0), by="all")
    assert crow.events.tolist() == [36]
    assert crow.expected(200.0)[0, 0] == pytest.approx(36 / 3)
