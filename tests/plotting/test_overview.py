"""`rf.plot` draws what is a few numbers, what is drawn by a part, and one group or all of a fit."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import relfit as rf


@pytest.fixture(scope="module")
def study() -> rf.Study:
    log = rf.read("white").where(rack=["frame01", "frame02", "frame03"]).between("2003-06-01", None)
    return rf.Study(log, "all")


def axes():
    return Figure(figsize=(6.4, 4.0)).add_subplot()


@pytest.mark.slow
def test_every_result_of_a_study(study: rf.Study) -> None:
    results = [study.log, study.period, study.model, study.dependence, study.parameters, study.model.system()]
    results += [rf.stable_period(study.log), rf.fit(study.log, "weibull")["weibull"].interval("mean", kind="wald")]
    for result in [*results, rf.nonparametric.observed_times(study.log)]:
        ax = rf.plot(result, ax=axes())
        assert ax.get_title(loc="left"), type(result).__name__
        assert ax.lines or ax.collections or ax.patches or ax.images, type(result).__name__


def test_dots_stand_where_the_numbers_are(study: rf.Study) -> None:
    availability = rf.recurrence.availability(study.log, per="rack")
    ax = rf.plot(availability, ax=axes())
    drawn = ax.lines[0].get_xdata()
    assert np.allclose(np.sort(drawn), np.sort(availability.operational))
    one = rf.plot(availability, ax=axes(), group="frame02")
    assert one.lines[0].get_xdata() == pytest.approx([availability.operational[1]])
    mtbf = rf.plot(study.model, ax=axes()).lines[0].get_xdata()
    assert set(np.round(mtbf, 6)) <= set(np.round(study.model.scopes["mtbf_now"], 6))
    fit = rf.regress(study.log, "failures ~ rack")
    ratios = rf.plot(fit, ax=axes()).lines[0].get_xdata()
    assert ratios[::-1] == pytest.approx(fit.table["rate_ratio"].to_numpy())


def test_one_group_or_all(study: rf.Study) -> None:
    fits = rf.fit(study.log, ["exponential", "weibull"])
    every = rf.plot(fits, ax=axes())
    assert len(every.lines) > 3
    assert f"{len(fits)} groups" in every.get_title(loc="left")
    label = fits.groups[2]
    for group in (label, label[-1]):
        assert str(label[-1]) in rf.plot(fits, ax=axes(), group=group).get_title(loc="left")
    assert str(label[-1]) in rf.plot(fits["weibull"], ax=axes(), group=label).get_title(loc="left")
    curves = rf.kaplan_meier(study.log)
    one = rf.plot(curves, ax=axes(), group=label[-1])
    assert 0 < len(one.patches) < len(rf.plot(curves, ax=axes()).patches)
    assert str(label[-1]) in one.get_title(loc="left")
    with pytest.raises(rf.ArgumentError, match="no group 'nothing'"):
        rf.plot(fits, ax=axes(), group="nothing")


def test_a_part_of_dependence(study: rf.Study) -> None:
    assert rf.plot(study.dependence, ax=axes(), part="cycles").get_title(loc="left")
    with pytest.raises(rf.ArgumentError, match="no answer to 'nothing'"):
        rf.plot(study.dependence, ax=axes(), part="nothing")
