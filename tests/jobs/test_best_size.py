from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from papers.allocation import best_size_of_table_6_1, system_of_table_6_1
from papers.printed import printed_table
from relfit.base.errors import ArgumentError
from relfit.cli.best_size_command import _near
from relfit.fitting import fit
from relfit.fitting.families import Exponential, Lognormal, Weibull
from relfit.system import System, system_from_fits
from relfit.system.jobs import Amdahl, Checkpoint, Gustafson, Job, best_size, completion_time, ra_opt
from relfit.system.jobs._best_size import most_reliable_first
from relfit.system.jobs.size_curve import Judged


def fleet(n: int, seed: int, **options) -> System:
    rng = np.random.default_rng(seed)
    return System(Weibull(rng.uniform(0.5, 2.0, n), rng.uniform(200.0, 2000.0, n)), rng.uniform(0, 300, n), **options)


def test_table_6_1() -> None:
    printed, job = printed_table("allocation-table-6.1").astype(float), Amdahl(0.895)
    paper = best_size(system_of_table_6_1(), Job(1000.0, job), order="given", convention="paper")
    assert round(float(paper.expected[13]), 1) == 392.9
    error = np.abs(paper.expected / printed["expected"] - 1.0)
    assert error.max() < 0.0025  # M is printed to three figures
    assert error.drop(18).max() < 0.0015
    exact = best_size(system_of_table_6_1(), Job(1000.0, job), order="given")
    mean = printed["mttf"].to_numpy()
    assert np.allclose(exact.expected, mean * np.expm1(exact.lengths / mean), rtol=1e-9)
    assert best_size_of_table_6_1().best == 14
    assert best_size_of_table_6_1("exact").best == 11


@pytest.mark.parametrize("convention", ["exact", "paper"])
def test_each_size_is_its_own_completion_time(convention: str) -> None:
    system = fleet(9, 1, common=Weibull(0.7, 5000.0), racks=list("aabbbccca"), rack_lives=Weibull(1.4, 4000.0))
    found = best_size(system, Job("500h", Amdahl(0.9), restart="1h"), convention=convention)
    for k in (1, 4, 9):
        one = completion_time(system.take(found.order[:k]), "500h", Amdahl(0.9), restart="1h", convention=convention)
        assert found.expected[k - 1] == pytest.approx(one.expected, rel=1e-6)
        assert found.success[k - 1] == pytest.approx(one.success, rel=1e-8)
    assert found.best_expected == found.to_dict()["best_expected"] == found.expected.min()


def test_as_new_and_checkpoints() -> None:
    system = fleet(6, 2)
    plan = Checkpoint(3.0, 0.1, 0.2)
    cases = (None, {"after_failure": "as_new"}), (plan, {}), (plan, {"convention": "paper"})
    for saves, settings in cases:
        job = Job("200h", Amdahl(0.9), restart="1h", checkpoint=saves)
        found = best_size(system, job, **settings)
        one = completion_time(system.take(found.order[:3]), job, **settings)
        assert found.expected[found.sizes == 3] == pytest.approx(one.expected, rel=1e-6)


@pytest.mark.parametrize("law", [Amdahl(0.99), Gustafson(0.9)])
def test_many_sizes_agree_with_one_at_a_time(law) -> None:
    rng = np.random.default_rng(0)
    n = 150
    scale, ages = rng.uniform(300, 3000, n) * n, rng.uniform(0, 800, n) * rng.integers(0, 2, n)
    for family in (Weibull(rng.uniform(0.1, 4.0, n), scale), Lognormal(np.log(scale), rng.uniform(0.5, 2.0, n))):
        best = best_size(System(family, ages), Job(3000.0, law), order="given")
        for k in (1, 2, 30, 149):
            one = best.completion(k)
            assert best.log_expected[k - 1] == pytest.approx(one.log_expected, abs=1e-7)
            assert best.success[k - 1] == pytest.approx(one.success, rel=1e-7)


def test_equal_nodes_and_many() -> None:
    system = System(Weibull(0.8, np.full(3000, 1e5)))
    found = best_size(system, Job(500_000.0, Amdahl(0.9999), restart=0.5))
    k = found.sizes
    a = best_size(System(Weibull(0.8, 1e5 * 700 ** -(1 / 0.8))), 1.0).system
    one = completion_time(a, float(found.lengths[699]), restart=0.5)  # 700 of them are one of a shorter scale
    assert found.expected[699] == pytest.approx(one.expected, rel=1e-9)
    assert k[found.place] == found.best
    assert 1 < found.best < 3000


@pytest.mark.parametrize(
    ("nodes", "work", "status"), [(3, 10.0, "all"), (1, 10.0, "ok"), (3, 1e4, "ok"), (3, 1e6, "never")]
)
def test_status(nodes: int, work: float, status: str) -> None:
    # a node fails every 100 h: an attempt at 1e4 h of work meets 100 failures on one node and 200 on three
    found = best_size(System(Exponential([0.01] * nodes)), Job(work, Amdahl(0.5)))
    assert found.status == status
    assert ("all of them, and more might be better" in found.headline) == (status == "all")


def test_limits_of_the_best_size_over_draws() -> None:
    """Nodes of one failure rate have the expected time in closed form, so that each draw's best size is known."""
    system = system_from_fits(fit(np.random.default_rng(2).exponential(2000.0, (1, 12)), "exponential"), nodes=60)
    found = best_size(system, Job(3000.0, Amdahl(0.99)), level=0.8, n_draws=80, rng=4)
    assert found.draws is not None
    k, length = found.draws["nodes"].to_numpy(), Amdahl(0.99).time(3000.0, found.draws["nodes"].to_numpy())
    assert (k[0], k[-1]) == (1, 60)  # of many sizes some, the ends and those beside the best among them
    assert set(range(found.best - 6, found.best + 7)) <= set(k.tolist()) < set(range(1, 61))
    rates = np.array([float(one.take([0]).cumulative_hazard(1.0)) for one in system.drawn(80, 4)])[:, None]
    best = k[(np.expm1(k * rates * length) / (k * rates)).argmin(axis=1)]
    assert (found.draws["best"] * 80).tolist() == [np.count_nonzero(best == size) for size in k]
    assert found.best_limits == tuple(np.quantile(best, [0.1, 0.9], method="inverted_cdf"))
    assert f"the best number is {found.best_limits[0]} to" in found.headline
    default = best_size(system.take(range(2)), 10.0, level=0.8).draws
    assert default is not None
    assert (default["best"] * 200 % 1.0).tolist() == [0.0, 0.0]  # as many draws unless it is said


def test_rules_and_ties() -> None:
    times = {1: 1.0, 2: 0.9, 3: 3.0}  # two nodes slow the job down
    system = System(Exponential([1e-6] * 3))
    assert best_size(system, Job(10.0, times)).best == 3
    assert ra_opt(system, Job(10.0, times)).best == 1
    same = best_size(System(Weibull(0.8, [500.0] * 5)), Job(10.0, Amdahl(0.5)), order="reliability")
    assert same.order.tolist() == [0, 1, 2, 3, 4]


def test_nodes_are_added_while_the_time_does_not_grow() -> None:
    first, least = (Judged(None, rule, "exact", "same") for rule in ("first", "least"))
    curve = np.log([5.0, 3.0, 3.0, 2.0, 4.0, 1.0])
    assert first.choose(curve) == 3
    assert least.choose(curve) == 5
    assert least.choose(np.log([3.0, 2.0, 2.0])) == 1
    assert first.choose(np.array([5.0, np.nan, 4.0, np.nan, 6.0])) == 2


def brute_force(b, a, t, law, work, restart) -> tuple[float, tuple[int, ...]]:
    """Every set, by Gauss-Legendre on dyadic panels: no code of the package but the speed-up."""
    n = b.size
    x0, w0 = np.polynomial.legendre.leggauss(12)
    ends = np.concatenate([[0.0], 0.5 ** np.arange(14, -1, -1)])
    u = (ends[:-1, None] + np.diff(ends)[:, None] * 0.5 * (1 + x0)).ravel()
    w = (np.diff(ends)[:, None] * 0.5 * w0).ravel()
    best: tuple[float, tuple[int, ...]] = (np.inf, ())
    bits = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    for k in range(1, n + 1):
        length = float(law.time(work, [k])[0])
        sets = bits[bits.sum(axis=1) == k].astype(float)
        at = lambda x: ((t[:, None] + x) / a[:, None]) ** b[:, None] - (t[:, None] / a[:, None]) ** b[:, None]  # noqa: E731
        end = at(np.array([length]))
        with np.errstate(over="ignore", invalid="ignore"):  # sets that as good as never finish
            value = np.exp(sets @ (end - at(length * u))) @ (w * length) + restart * np.expm1(sets @ end[:, 0])
        value = np.where(np.isfinite(value), value, np.inf)
        place = int(np.argmin(value))
        if value[place] < best[0] * (1 - 1e-12):
            best = (float(value[place]), tuple(np.flatnonzero(sets[place]).tolist()))
    return best


def test_the_most_reliable_nodes_are_best_of_all_sets_where_hazards_are_ordered_alike() -> None:
    rng = np.random.default_rng(3)
    for case in range(60):
        b = np.full(9, (1.0, rng.uniform(0.5, 2.0))[case % 2])
        a = rng.uniform(100.0, 1000.0, 9)
        law, work, restart = Amdahl(rng.uniform(0.6, 1.0)), 10 ** rng.uniform(1, 3), float(rng.choice([0.0, 1.0, 20.0]))
        expected, chosen = brute_force(b, a, np.zeros(9), law, work, restart)
        best = best_size(System(Weibull(b, a)), Job(work, law, restart=restart))
        assert best.best_expected == pytest.approx(expected, rel=1e-7)
        assert tuple(sorted(best.positions.tolist())) == chosen


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"k_max": 13}, "k_max is 13, but there are only 6 nodes"),
        ({"k_max": 0}, "k_max is 0"),
        ({"order": "size"}, "'reliability', 'given' or positions"),
        ({"order": [0, 0]}, "node 0 is given twice"),
        ({"order": [0, 6]}, "there is no node 6"),
        ({"rule": "last"}, "'least' or 'first'"),
        ({"horizon": -1.0}, "horizon is -1 hours"),
        ({"after_failure": "ageing"}, "'same' or 'as_new'"),
        ({"level": 0.9}, "given parameters"),
    ],
)
def test_bad_input(settings, text) -> None:
    with pytest.raises(ArgumentError, match=text):
        best_size(fleet(6, 2), Job(100.0, Amdahl(0.9)), **settings)


def simulated_mean(draw, length: float, plan: Checkpoint, restart: float, runs: int, rng) -> tuple[float, float]:
    """Mean completion time and its standard error: runs side by side, ``draw(n)`` times to the next failure."""
    clock, done = np.zeros(runs), np.zeros(runs)
    first, going = np.ones(runs, dtype=bool), np.arange(runs)
    while going.size:
        life, read = draw(going.size), np.where(first[going], 0.0, plan.restore)
        left = length - done[going]
        saves = np.ceil(left / plan.every * (1 - 1e-12)) - 1
        end = read + left + saves * plan.save
        ends = life >= end
        kept = np.clip(np.floor((life - read) / (plan.every + plan.save)), 0, saves) * plan.every
        clock[going] += np.where(ends, end, life + restart)
        done[going] += np.where(ends, left, kept)
        first[going] = False
        going = going[~ends]
    return float(clock.mean()), float(clock.std() / np.sqrt(runs))


def test_common_causes_and_racks_that_age_are_not_taken_at_the_hazard_of_their_first_hour() -> None:
    rng = np.random.default_rng(5)
    plan = Checkpoint("4h", "6min", "10min")
    system = System(
        Exponential(np.full(100, 1 / 3000.0)),
        common={"power": (Weibull(0.3, 2000.0), 0.0)},
        racks=np.arange(100) // 20,
        rack_lives=Weibull(0.5, 5000.0),
    )
    best = best_size(system, Job("2000h", Amdahl(0.999), restart="24h", checkpoint=plan), order="given")
    for k in (1, 40, 100):
        one = best.completion(k)
        assert best.expected[best.sizes == k] == pytest.approx(one.expected, rel=1e-6)

    def draw(size: int) -> np.ndarray:
        common = 2000.0 * rng.standard_exponential(size) ** (1 / 0.3)
        racks = 5000.0 * (rng.standard_exponential((5, size)) ** 2).min(axis=0)
        return np.minimum(np.minimum(common, racks), 30.0 * rng.standard_exponential(size))

    mean, error = simulated_mean(draw, float(best.lengths[-1]), plan, 24.0, 20_000, rng)
    assert best.expected[-1] == pytest.approx(mean, abs=4 * error)


def test_the_table_of_the_terminal_has_powers_of_two_and_two_sizes_on_each_side_of_the_best() -> None:
    sizes = np.arange(1, 101)
    named = dict.fromkeys(("length", "success", "lost", "expected"), 1.0)
    table = pd.DataFrame({"nodes": sizes, **named, "best": sizes == 41})
    shown = _near(SimpleNamespace(sizes=sizes, place=40), table)
    assert shown["nodes"].tolist() == [1, 2, 4, 8, 16, 32, 39, 40, 41, 42, 43, 64, 100]
    assert shown.loc[shown["best"] == "*", "nodes"].tolist() == [41]


def test_sizes_from_k_min_on() -> None:
    system = System(Weibull(np.full(512, 0.8), 5e4), ages=1e3)
    plan = Checkpoint("1h", "5min", "5min")
    best = best_size(system, Job("100000h", Amdahl(0.9999), checkpoint=plan), k_min=400, k_max=500, order="given")
    assert best.sizes[0] == 400
    assert best.best_expected == pytest.approx(best.completion().expected, rel=1e-6)
    with pytest.raises(ArgumentError, match="k_min is 9 of 6 nodes"):
        best_size(fleet(6, 2), 100.0, k_min=9)


@pytest.mark.parametrize("family", [Exponential(np.full(30, 1 / 900.0)), Weibull(np.full(30, 0.7), 700.0)])
@pytest.mark.slow
def test_the_interval_is_chosen_with_the_size(family) -> None:
    system, costs = System(family), {"order": "given"}
    joint = best_size(
        system, Job("900h", Amdahl(0.99), "1h", checkpoint=Checkpoint(save="6min", restore="12min")), **costs
    )
    fixed = [
        best_size(
            system, Job("900h", Amdahl(0.99), "1h", checkpoint=Checkpoint(every, "6min", "12min")), **costs
        ).expected
        for every in np.geomspace(0.5, 60.0, 40)
    ]
    least = np.min(fixed, axis=0)
    assert np.all(joint.expected <= least * (1 + 2e-4))
    assert np.all(joint.expected >= least * (1 - 0.01))
    assert np.ptp(joint.checkpoint_every) > 1.0
    alone = completion_time(
        system, "900h", Amdahl(0.99), restart="1h", checkpoint=Checkpoint(save="6min", restore="12min")
    )
    assert joint.expected[-1] == pytest.approx(alone.expected, rel=1e-4)
    assert "with a checkpoint every" in joint.headline
    paper = best_size(
        system,
        Job("900h", Amdahl(0.99), "1h", checkpoint=Checkpoint(save="6min", restore="12min")),
        convention="paper",
        **costs,
    )
    assert paper.expected[-1] == pytest.approx(paper.completion(30).expected, rel=1e-6)
    with pytest.raises(ArgumentError, match="no best interval"):
        best_size(system, Job("900h", checkpoint=Checkpoint()))


def test_spares_beside_each_size() -> None:
    system = fleet(12, 7, tolerance=2)
    best = best_size(system, Job("800h", Amdahl(0.95), restart="2h"))
    assert best.sizes.tolist() == list(range(1, 11))
    assert len(best.nodes) == best.best + 2
    b, a = (system.components[0].family.parameters()[name][best.order] for name in ("shape", "scale"))
    age, rng, runs = system.ages[best.order], np.random.default_rng(9), 40_000
    k = 6
    one = completion_time(system.take(best.order[: k + 2]), "800h", Amdahl(0.95), restart="2h", size=k)
    assert best.expected[k - 1] == pytest.approx(one.expected, rel=1e-6)
    length, total, going = float(best.lengths[k - 1]), np.zeros(runs), np.arange(runs)
    while going.size:  # the third failure among eight nodes ends an attempt
        spent = (age[: k + 2] / a[: k + 2]) ** b[: k + 2] + rng.standard_exponential((going.size, k + 2))
        life = np.sort(a[: k + 2] * spent ** (1 / b[: k + 2]) - age[: k + 2], axis=1)[:, 2]
        total[going] += np.where(life >= length, length, life + 2.0)
        going = going[life < length]
    assert best.expected[k - 1] == pytest.approx(total.mean(), abs=4 * total.std() / np.sqrt(runs))


def test_an_order_of_some_nodes_has_no_larger_sizes() -> None:
    system = System(Weibull(0.8, [2000.0] * 6))
    some = best_size(system, Job("1000h", Amdahl(0.99), restart="30min"), order=[3, 0, 5, 1])
    assert some.sizes.tolist() == [1, 2, 3, 4]
    least = best_size(system, Job("1000h", Amdahl(0.99), restart="30min"), order=[3, 0, 5, 1], k_min=3)
    assert least.sizes.tolist() == [3, 4]


def test_a_job_of_centuries_does_not_finish() -> None:
    """An attempt of 50 h at a failure an hour takes e^50 - 1 h, 5e21: no number of hours is an answer."""
    answer = best_size(System(Exponential([1.0])), Job(50.0))
    assert np.isclose(answer.log_expected[0], 50.0)
    assert answer.headline.startswith("On no number of nodes will the job finish within a century")
    assert answer.headline.endswith("; take checkpoints.")
    assert "about 10^22 hours" in answer.completion().headline


def test_equal_nodes_are_ordered_by_position_whatever_the_last_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    hazards = np.array([0.3, 0.2, 0.3, 0.1, 0.3])
    bits = np.array([2, 0, -1, 0, -3]) * np.spacing(0.3)  # as vectorised functions return for equal arguments
    system = System(Weibull(0.8, 1000.0), [600.0] * 5)
    monkeypatch.setattr(type(system), "node_cumulative_hazards", lambda self, horizon: hazards + bits)
    assert most_reliable_first(system, 24.0).tolist() == [3, 1, 0, 2, 4]


@pytest.mark.parametrize("checkpoint", [None, Checkpoint(save="5min", restore="5min"), Checkpoint(1.0, "5min", "5min")])
def test_without_spares_a_job_waits_until_all_nodes_are_up(checkpoint: Checkpoint | None) -> None:
    """As on a system whose restart is the busy period of repairs; the best size is smaller for it."""
    system, job = System(Exponential([1 / 866.0] * 128)), Job("10000h", Amdahl(0.999), "10min", checkpoint)
    best = best_size(system, job, repair="17.6h")
    rate = best.sizes / 866.0
    assert best.restarts == pytest.approx(1 / 6 + np.expm1(17.6 * rate) / rate, rel=1e-6)
    for place in (best.place, 31, 63):
        alike = Job("10000h", Amdahl(0.999), float(best.restarts[place]), checkpoint)
        alone = best_size(system, alike, k_min=int(best.sizes[place]), k_max=int(best.sizes[place]))
        assert best.log_expected[place] == pytest.approx(alone.log_expected[0], rel=1e-9)
    at_once = best_size(system, job)
    assert best.best < at_once.best
    assert at_once.restarts == pytest.approx(np.full(128, 1 / 6))
    assert np.log(best.completion().expected) == pytest.approx(best.log_expected[best.place], rel=1e-6)
