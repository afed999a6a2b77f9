"""Point processes: published numbers, SurPyval, coverage, edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from surpyval.recurrent import CoxLewis, CrowAMSAA

import relfit as rf
from relfit import ArgumentError
from relfit.analyses.recurrence import MODELS, EventHistories, compare_processes, fit_process
from tests.recurrence.made import CROW_SYSTEMS, HANDBOOK_SYSTEMS, power_law, racked, renewals


def as_surpyval(histories):
    count = histories.n_histories
    x = np.concatenate([histories.times, histories.end])
    i = np.concatenate([histories.group_codes(), np.arange(count)])
    c = np.concatenate([np.zeros(histories.times.size), np.ones(count)]).astype(int)
    return x, i, c, histories.begin[i]


def uneven(seed, begin=0.0, copies=12):
    rng = np.random.default_rng(seed)
    end = rng.uniform(50.0, 200.0, copies)
    start = np.full(copies, begin) * rng.random(copies)
    parts = [np.sort(rng.uniform(a, b, rng.poisson(6))) for a, b in zip(start, end, strict=True)]
    return EventHistories.from_groups(parts, end, begin=start)


def with_open_beginning(histories):
    left_open = np.ones(histories.n_histories, dtype=bool)
    return EventHistories(
        histories.times,
        histories.offsets,
        histories.groups,
        histories.begin,
        histories.end,
        left_open,
        histories.opening,
    )


def test_crows_three_systems_and_the_handbooks_one():
    found = fit_process(EventHistories.from_groups(CROW_SYSTEMS, end=200.0), by="all")
    shape, scale = found.estimates[0]
    assert (round(shape, 3), round(scale**-shape, 3)) == (0.615, 0.461)
    one = fit_process(EventHistories.from_groups(HANDBOOK_SYSTEMS, end=300.0))
    shape, scale = one.estimates[0]
    assert (round(shape, 3), round(scale**-shape, 3)) == (0.716, 0.454)


@pytest.mark.parametrize("begin", [0.0, 30.0])
def test_poisson_processes_are_those_of_surpyval_with_unequal_windows(begin):
    histories = uneven(3, begin)
    x, i, c, tl = as_surpyval(histories)
    for model, other in (("power_law", CrowAMSAA), ("log_linear", CoxLewis)):
        expected = other.fit(x, i=i, c=c, tl=tl)
        ours = fit_process(histories, model, "all")
        if model == "power_law":
            np.testing.assert_allclose(ours.estimates[0], expected.params[::-1], rtol=2e-3)
        else:
            np.testing.assert_allclose(np.log(ours.estimates[0, 0]), expected.params[0], rtol=2e-3)
            np.testing.assert_allclose(ours.estimates[0, 1], expected.params[1], rtol=5e-3)
        at = histories.times
        log = np.log(expected.iif(at)).sum() - (expected.cif(histories.end) - expected.cif(histories.begin)).sum()
        assert ours.loglik[0] >= log - 1e-9
        assert ours.loglik[0] == pytest.approx(log, abs=1e-4)
        np.testing.assert_allclose(ours.expected([50.0])[0], expected.cif([50.0]), rtol=2e-2)


def test_renewal_is_the_weibull_fit_of_the_gaps():
    histories = uneven(4)
    gaps = [
        np.append(np.diff(histories.take([j]).times, prepend=0.0), histories.end[j] - histories.last_event()[j])
        for j in range(12)
    ]
    flags = [np.arange(gap.size) < gap.size - 1 for gap in gaps]
    lives = rf.LifeData.from_array(np.concatenate(gaps), np.concatenate(flags))
    expected = rf.fit(lives, "weibull")["weibull"]
    ours = fit_process(histories, "renewal", "all")
    np.testing.assert_allclose(ours.estimates[0], [expected.parameters[n][0] for n in ("shape", "scale")], rtol=1e-5)
    assert ours.loglik[0] == pytest.approx(expected.estimates.loglik[0], abs=1e-6)


def test_left_open_renewals_are_fitted_without_bias():
    rng = np.random.default_rng(5)
    at = (rng.weibull(2.0, (1500, 30)) * 100.0).cumsum(axis=1) - 1000.0
    inside = (at > 0.0) & (at < 150.0)
    offsets = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
    histories = EventHistories.from_flat(at[inside], offsets, 150.0)
    ours = fit_process(with_open_beginning(histories), "renewal", "all")
    assert ours.low[0, 0] < 2.0 < ours.high[0, 0]
    assert ours.low[0, 1] < 100.0 < ours.high[0, 1]
    naive = fit_process(histories, "renewal", "all")
    assert not naive.low[0, 0] < 2.0 < naive.high[0, 0]


def test_copies_that_ran_before_are_those_whose_first_event_is_of_unknown_age():
    """Of four copies one is watched from its birth, and an event opened the observation of another."""
    histories = replace(
        EventHistories.from_groups([[3.0, 9.0], [4.0], [5.0, 6.0], []], end=10.0),
        left_open=np.array([False, True, True, True]),
        opening=np.array([0, 0, 1, 0]),
    )
    assert fit_process(histories, "renewal", "all").running.tolist() == [0.5]


def test_intervals_cover():
    rng = np.random.default_rng(9)
    found = fit_process(power_law(2000, 12.0, 0.6, rng, 100.0))
    limits = found.interval("shape")
    assert 0.94 < np.mean((limits.low <= 0.6) & (limits.high >= 0.6)) < 0.96
    histories = power_law(2000 * 4, 5.0, 1.0, rng)
    labels = np.repeat(np.arange(2000), 4)
    limits = fit_process(histories, "log_linear", labels).interval("growth")
    assert 0.93 < np.mean((limits.low <= 0.0) & (limits.high >= 0.0)) < 0.965
    limits = fit_process(histories, "hpp", labels).interval("rate")
    assert 0.94 < np.mean((limits.low <= 5.0) & (limits.high >= 5.0)) < 0.98


def test_the_comparison_names_the_right_process():
    rng = np.random.default_rng(14)
    labels = np.repeat(np.arange(20), 10)
    made = {
        "power_law": (power_law(200, 20.0, 0.5, rng), 0.8),
        "renewal": (renewals(200, 20, 2.5, rng), 0.8),
        "hpp": (power_law(200, 20.0, 1.0, rng), 0.4),  # each of three rivals has a lower AIC in 16 % of samples
    }
    for truth, (histories, least) in made.items():
        found = compare_processes(histories, labels)
        assert np.mean(found.best == truth) > least, truth
        np.testing.assert_allclose(np.nansum(found.weight, axis=1), 1.0)
    both = compare_processes(made["hpp"][0], "each")
    assert len(both.to_frame()) == 800
    assert f"{int((both.best == 'hpp').sum())}" in both.headline
    one = compare_processes(made["renewal"][0].take(range(10)), "all")
    assert one.headline.startswith("A renewal process with Weibull times between failures describes the failures best")


def test_six_failures_rule_out_no_process():
    """ "A constant rate describes the failures best ...: an exponential fit is enough", of six."""
    headlines = [
        compare_processes(EventHistories.from_groups([np.arange(1.0, size + 1.0)], end=size + 1.0)).headline
        for size in (6, 30)
    ]
    assert headlines[0].endswith(": 6 failures are too few to rule out any other.")
    assert "too few" not in headlines[1]


def test_statuses():
    parts = [[], [4.0], [3.0, 3.0, 3.0], [0.0, 4.0, 5.0], [2.0, 2.0, 7.0], [1.0, 4.0, 9.0, 9.5]]
    histories = EventHistories.from_groups(parts, end=10.0)
    expected = {
        "hpp": ["no_events", "ok", "ok", "ok", "ok", "ok"],
        "power_law": ["no_events", "too_few", "one_instant", "zeros", "ok", "ok"],
        "log_linear": ["no_events", "too_few", "one_instant", "ok", "ok", "ok"],
        "renewal": ["no_events", "too_few", "zeros", "zeros", "zeros", "ok"],
    }
    for model, status in expected.items():
        found = fit_process(histories, model)
        assert found.status.tolist() == status, model
        for values in (found.estimates, found.low, found.high, found.loglik[:, None]):
            assert np.isfinite(values[found.ok]).all(), model
            bound = model == "hpp" and (values is found.low or values is found.high)
            assert np.isnan(values[~found.ok]).all() != bound, model
        assert "% interval" in found.headline
        assert len(found.to_frame()) == 6
        assert found.to_dict()["status"] == status
    late = fit_process(EventHistories.from_groups([[10.0, 10.0, 10.0]], end=10.0))
    assert late.status.tolist() == ["one_instant"]
    none = fit_process(EventHistories.from_groups([]))
    assert none.estimates.shape == (0, 2)
    nothing = compare_processes(EventHistories.from_groups([[]], end=1.0))
    assert nothing.best.tolist() == [None]
    assert "No process" in nothing.headline


def test_the_unit_of_time_does_not_matter_and_a_batch_is_its_groups():
    histories = uneven(15)
    for model in MODELS:
        hours = fit_process(histories, model, "all")
        years = EventHistories.from_flat(histories.times / 8766, histories.offsets, histories.end / 8766)
        other = fit_process(years, model, "all")
        i = hours.parameters.index("shape") if "shape" in hours.parameters else 0
        factor = 1.0 if "shape" in hours.parameters else 8766.0
        assert other.estimates[0, i] == pytest.approx(factor * hours.estimates[0, i], rel=1e-5)
    each = fit_process(histories)
    alone = fit_process(histories.take([5]))
    np.testing.assert_allclose(each.estimates[5], alone.estimates[0], rtol=1e-9)


def test_single_time_truncated_systems_have_the_closed_form():
    found = fit_process(EventHistories.from_groups(CROW_SYSTEMS, end=200.0))
    for j, times in enumerate(CROW_SYSTEMS):
        n, total = len(times), np.log(200.0 / np.array(times)).sum()
        assert found.estimates[j, 0] == pytest.approx(n / total, rel=1e-7)
        np.testing.assert_allclose(found.low[j, 0], n / total * stats.chi2.ppf(0.025, 2 * n) / (2 * n), rtol=1e-6)


def test_interval_of_the_mean_number_of_events_follows_the_curvature_of_the_likelihood():
    """A likelihood written out here, its curvature by differences, and the slope of log m(t) by differences."""
    rng = np.random.default_rng(4)
    systems = [np.sort(400.0 * rng.uniform(size=n) ** (1.0 / 1.4)) for n in (17, 9)]
    times, end = np.concatenate(systems), 400.0
    means = {
        "power_law": lambda p, t: (t / np.exp(p[1])) ** np.exp(p[0]),
        "log_linear": lambda p, t: np.exp(p[0]) * np.expm1(p[1] * t) / p[1],
    }

    def loglik(mean, p):
        rate = (mean(p, times * (1.0 + 1e-6)) - mean(p, times * (1.0 - 1e-6))) / (2e-6 * times)
        return np.log(rate).sum() - len(systems) * mean(p, end)

    histories = EventHistories.from_groups(systems, end=end)
    for model, mean in means.items():
        fit = fit_process(histories, model, by="all")
        first, second = fit.estimates[0]
        p = np.array([np.log(first), np.log(second) if model == "power_law" else second])
        step = 1e-3 * np.diag(np.abs(p))
        curve = [
            [
                sum(i * j * loglik(mean, p + i * a + j * b) for i in (-1, 1) for j in (-1, 1))
                / (4.0 * a.sum() * b.sum())
                for b in step
            ]
            for a in step
        ]
        for age in (60.0, 400.0, 900.0):
            slope = [np.log(mean(p + a, age) / mean(p - a, age)) / (2.0 * a.sum()) for a in step]
            error = np.sqrt(slope @ np.linalg.inv(-np.array(curve)) @ slope)
            ours = fit.interval("expected", at=age)
            assert ours.estimate[0] == pytest.approx(mean(p, age), rel=1e-9)
            assert np.log(ours.high / ours.low)[0] == pytest.approx(2.0 * 1.959964 * error, rel=2e-3)
    steady = fit_process(histories, "hpp", by="all").interval("expected", at="100h")
    assert steady.low[0] == pytest.approx(stats.chi2.ppf(0.025, 2 * 26) / 2 / 800.0 * 100.0)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["power_law", "log_linear", "hpp"])
def test_interval_of_the_mean_number_of_events_covers(model):
    rng = np.random.default_rng(11)
    mean, inverse = {
        "power_law": (lambda t: (t / 60.0) ** 1.4, lambda m: 60.0 * m ** (1.0 / 1.4)),
        "log_linear": (lambda t: 2.5 * np.expm1(0.004 * t), lambda m: np.log1p(m / 2.5) / 0.004),
        "hpp": (lambda t: 0.03 * t, lambda m: m / 0.03),
    }[model]
    systems = [np.sort(inverse(rng.uniform(0.0, mean(500.0), n))) for n in rng.poisson(mean(500.0), 1000)]
    fit = fit_process(EventHistories.from_groups(systems, end=500.0), model)
    for age in (150.0, 500.0, 900.0):
        ours = fit.interval("expected", at=age)
        inside = (ours.low <= mean(age)) & (mean(age) <= ours.high)
        assert inside[ours.status == "ok"].mean() == pytest.approx(0.95, abs=0.025)


def test_bad_options():
    histories = EventHistories.from_groups([[1.0, 2.0, 3.0]], end=4.0)
    with pytest.raises(ArgumentError, match="unknown process"):
        fit_process(histories, "weibull")
    with pytest.raises(ArgumentError, match="level"):
        fit_process(histories, level=95)
    with pytest.raises(ArgumentError, match="has no"):
        fit_process(histories).interval("rate")
    with pytest.raises(ArgumentError, match="no closed form"):
        fit_process(histories, "renewal").expected(1.0)
    with pytest.raises(ArgumentError, match="times"):
        fit_process(histories).expected(-1.0)
    for quantity, at, match in (
        ("expected", None, "needs an age"),
        ("expected", 0.0, "is not an age"),
        ("shape", 5.0, "needs no age"),
    ):
        with pytest.raises(ArgumentError, match=match):
            fit_process(histories).interval(quantity, at=at)
    with pytest.raises(ArgumentError, match="each once"):
        compare_processes(histories, models=("hpp", "hpp"))


def test_events_at_once_by_hand():
    """Four events of two nodes, two of which are one incident: (2 * 2 + 1 + 1) / 4 events at once on average."""
    histories = EventHistories.from_groups([[10.0, 50.0], [10.0, 70.0]], end=100.0)
    joined = replace(histories, incident=np.array([0, 1, 0, 2]))
    assert joined.at_once(np.zeros(2, np.int64), 1).tolist() == [1.5]


def test_nodes_that_share_incidents_are_not_so_many_copies():
    """Of 60 logs of racks that fail as one at a steady rate, 57 had another process as the best."""
    steady, shapes, rates = [], [], []
    for seed in range(20):
        histories = racked(np.random.default_rng(seed))
        found = compare_processes(histories, "all", ("hpp", "power_law", "log_linear"))
        steady.append(found.best[0] == "hpp")
        shapes.append(found.fits["power_law"].low[0, 0] <= 1.0 <= found.fits["power_law"].high[0, 0])
        rates.append(found.fits["hpp"].low[0, 0] <= 1.0 / 1500.0 + 1.0 / 1000.0 <= found.fits["hpp"].high[0, 0])
    assert sum(steady) >= 13
    assert sum(shapes) >= 17
    assert sum(rates) >= 17
    size = np.unique(histories.incident, return_counts=True)[1]
    weight = (size**2).sum() / size.sum()
    assert found.fits["hpp"].at_once.tolist() == pytest.approx([weight])
    alone = fit_process(replace(histories, incident=None), "log_linear", "all")
    fit = found.fits["log_linear"]
    np.testing.assert_allclose(fit.standard_errors, alone.standard_errors * np.sqrt(weight))
    np.testing.assert_allclose(
        fit.high[0, 1] - fit.estimates[0, 1], np.sqrt(weight) * (alone.high - alone.estimates)[0, 1]
    )
    np.testing.assert_allclose(fit.aic, 4.0 - 2.0 * alone.loglik / weight)
    one = histories.take([3, 5])
    assert one.incident.tolist() == [
        *histories.incident[histories.group_codes() == 3],
        *histories.incident[histories.group_codes() == 5],
    ]
    assert (fit_process(histories).at_once == 1.0).all()


def test_a_trend_of_a_process_is_said_under_its_law():
    histories = EventHistories.from_groups([np.linspace(10.0, 100.0, 40) ** 0.5], end=10.0)
    assert fit_process(histories).headline.startswith("Under a power law, the rate of failures rises: shape ")
    said = fit_process(histories, "log_linear").headline
    assert said.startswith("Under a log-linear law, the rate of failures rises: growth ")


def test_hours_without_an_event_bound_a_constant_rate():
    quiet = fit_process(EventHistories.from_groups([[], []], end=[1000.0, 500.0]), "hpp", "all")
    assert quiet.status.tolist() == ["no_events"]
    assert np.isnan(quiet.estimates).all()
    assert quiet.low.tolist() == [[0.0]]
    np.testing.assert_allclose(quiet.high, -np.log(0.025) / 1500.0)
    assert quiet.headline == "No event in 1,500 hours: the rate is below 0.00246 per hour (95 % interval)."
    unwatched = fit_process(EventHistories.from_groups([[]], end=[0.0]), "hpp")
    assert np.isnan(unwatched.high).all()
    assert unwatched.headline.startswith("No hpp fit")
