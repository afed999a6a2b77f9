"""The numerical functions below every statistical package, one small case each."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from relfit.base.numeric import ordering, poisson, ragged
from relfit.base.numeric.batches import at_once, in_threads
from relfit.base.numeric.bursts import _ratio, renewal_null, step_of
from relfit.base.numeric.compiled import checksum, njit
from relfit.base.numeric.crossings import crossing, monotone
from relfit.base.numeric.false_discovery import adjusted_p
from relfit.base.numeric.grid_search import highest
from relfit.base.numeric.levels import normal_quantile
from relfit.base.numeric.quadrature import gauss_legendre, integrate_reliability
from relfit.base.numeric.solving import time_at_level
from relfit.base.numeric.worker_processes import in_processes, names_script, script_hidden


@dataclass
class Times(ragged.Ragged):
    hours: np.ndarray
    offsets: np.ndarray


def test_rows_of_groups() -> None:
    times = Times(np.array([3.0, 5.0, 2.0]), np.array([0, 2, 2, 3]))
    assert (times.n_groups, times.sizes.tolist(), times.group_codes().tolist()) == (3, [2, 0, 1], [0, 0, 2])
    assert times.hours[times.part(0)].tolist() == [3.0, 5.0]
    assert times.hours[times.rows_of(np.array([2, 0]))].tolist() == [2.0, 3.0, 5.0]
    assert ragged.offsets_of([2, 0, 1]).tolist() == [0, 2, 2, 3]


def test_sums_and_places_within_groups() -> None:
    values = np.array([1.0, 2.0, 5.0])
    assert ragged.cumulative(values, np.array([0, 0, 1])).tolist() == [1.0, 3.0, 5.0]
    assert ragged.per_group(values.tolist(), np.array([0, 0, 2]), 3).tolist() == [3.0, 0.0, 5.0]
    assert ragged.sums(values, np.array([0, 2, 2, 3])).tolist() == [3.0, 0.0, 5.0]
    wanted = np.array([[0.5, 1.0, 9.0]])
    assert ragged.places(np.array([1.0, 2.0]), np.array([0, 2]), wanted).tolist() == [[0, 1, 2]]


def test_orders() -> None:
    code, at = np.array([1, 0, 1, 0]), np.array([5, 3, 2, 3])
    assert ordering.order_in_groups(code, at, np.array([0, 1, 0, 0])).tolist() == [3, 1, 2, 0]
    assert ordering.different(np.array([3, 1, 3])).tolist() == [1, 3]
    assert [values.tolist() for values in ordering.renumbered(np.array([7, 2, 7]))] == [[1, 0, 1], [2, 7]]
    assert ordering.sorted_within(np.array([3, 1, 2, 0]), np.array([0, 2, 4])).tolist() == [1, 3, 0, 2]
    names = ["node10", "10", "node9", "9", "r2-n10", "a", "r10-n1"]
    assert sorted(names, key=ordering.natural_key) == ["9", "10", "a", "node9", "node10", "r2-n10", "r10-n1"]
    assert ordering.natural_order(["a10", 10, "9", "a9"]).tolist() == [2, 1, 3, 0]


def test_rows_that_differ_or_are_alike() -> None:
    new = ordering.changes(np.array([1, 1, 2, 2]), np.array([0, 0, 0, 3]))
    assert new.tolist() == [True, False, True, True]
    rows, kinds = ordering.alike(np.array([1, 0, 1, 1]), np.array([2.5, 0.0, 2.5, 0.5]))
    assert (rows.tolist(), kinds.tolist()) == ([1, 3, 0], [2, 0, 2, 1])


def test_poisson_counts_are_those_of_scipy() -> None:
    counts = np.array([-1, 0, 2])
    np.testing.assert_allclose(poisson.poisson_pmf(counts[1:], 1.0), stats.poisson.pmf(counts[1:], 1.0))
    np.testing.assert_allclose(poisson.poisson_sf(counts, 1.0), stats.poisson.sf(counts, 1.0))
    assert poisson.poisson_ppf([0.025, 0.975], 10.0).tolist() == [4.0, 17.0]
    low, high = poisson.poisson_interval([0, 10])
    assert (low.round(2).tolist(), high.round(2).tolist()) == ([0.0, 4.8], [3.69, 18.39])
    low, high = poisson.exponential_mean_interval(5000.0, 2)
    assert (round(float(low), 1), round(float(high), 1)) == (692.1, 20643.3)


def test_searches_and_integrals() -> None:
    place, value = highest(lambda x: -((x - 0.3) ** 2), np.zeros(2), np.array([1.0, 0.2]))
    assert place.round(6).tolist() == [0.3, 0.2]
    np.testing.assert_allclose(value, [0.0, -0.01], atol=1e-9)
    nodes, weights = gauss_legendre(3)
    assert round(float((weights * nodes**4).sum()), 12) == 0.4
    mean = integrate_reliability(lambda time, rows: -((time / 1000.0) ** 0.8), 600.0)
    assert mean.round(3).tolist() == [1133.003]
    times = time_at_level(lambda rows, time: 0.8 * np.log(time / 1000.0), np.log([1.0, 2.0]))
    assert times.round(1).tolist() == [1000.0, 2378.4]


def test_levels_and_p_values() -> None:
    assert round(normal_quantile(0.95), 4) == 1.96
    np.testing.assert_array_equal(adjusted_p([0.01, 0.02, 0.03, np.nan]).round(3), [0.03, 0.03, 0.03, np.nan])


def test_curves_that_rise() -> None:
    assert monotone(np.array([1.0, 3.0, 2.0, 4.0])).tolist() == [1.0, 2.5, 2.5, 4.0]
    x, curve = np.array([0.0, 10.0, 20.0]), np.array([1.0, 2.0, 4.0])
    assert [crossing(x, curve, value) for value in (3.0, 0.5, 5.0)] == [15.0, -np.inf, np.inf]


def test_work_in_threads_and_processes() -> None:
    done: list[int] = []
    in_threads(done.append, range(3), 2)
    assert sorted(done) == [0, 1, 2]
    assert at_once([lambda: 1, lambda: 2]) == [1, 2]
    assert list(in_processes(divmod, [(7, 2), (9, 4)], 1)) == [(3, 1), (2, 1)]
    assert not names_script({"a": divmod})


@pytest.mark.parametrize("seconds", [60, 300, 86_400])
def test_steps_of_clocks(seconds: int) -> None:
    times = np.random.default_rng(1).integers(0, 10**6, 500) * 60 // seconds
    assert step_of(times * seconds * 10**9) == seconds * 10**9


def test_chance_of_a_renewal_process_is_what_it_gives() -> None:
    times = 100.0 * np.random.default_rng(1).weibull(0.6, 50_000)
    ends = np.geomspace(1e-3, 10.0, 40)
    place = np.searchsorted(ends, times)
    inside = place < 40
    counts = np.bincount(place[inside], minlength=40)
    logs = np.bincount(place[inside], np.log(times[inside]), 40)
    null = renewal_null(counts, logs, ends, times[~inside], 0.0)
    assert abs(null.false[20] / counts[:21].sum() - 1.0) < 0.1


def test_a_compiled_function_and_its_checksum() -> None:
    double, by_three = njit(cache=False, nogil=True)(lambda x: 2 * x), njit(cache=False, nogil=True)(lambda x: 3 * x)
    assert double(4) == 8
    assert checksum(double) == checksum(njit(cache=False, nogil=True)(lambda x: 2 * x))
    assert checksum(double) != checksum(by_three)


@pytest.mark.parametrize("hidden", [True, False])
def test_the_script_is_hidden_within_and_there_again_after(hidden: bool) -> None:
    script = sys.modules["__main__"]
    with script_hidden(hidden):
        assert (sys.modules["__main__"] is not script) == hidden
    assert sys.modules["__main__"] is script


def test_observed_relative_to_expected_where_nothing_is_expected() -> None:
    assert _ratio(np.array([3, 2, 0]), np.array([1.5, 0.0, 0.0])).tolist() == [2.0, np.inf, 1.0]
