"""Topics: dependence, repairable systems, systems of nodes, jobs on them, and their test."""

from __future__ import annotations

from typing import Any

import numpy as np

import relfit as rf
from relfit.analyses import independence as dep
from relfit.analyses.recurrence import (
    EventHistories,
    availability_over_time,
    compare_processes,
    fit_process,
    histories_of_log,
    mean_cumulative,
    trend_tests,
)
from relfit.analyses.recurrence import availability as availability_of
from relfit.fitting.families import Exponential, Gamma, Lognormal, Weibull
from relfit.system import chi_square
from relfit.system.jobs import Amdahl, Checkpoint, Gustafson, Job, MeasuredSpeedup, best_size, completion_time, ra_opt
from tests.reference.collect import (
    SEED,
    Values,
    attributes,
    counts,
    fleet,
    label_of,
    limits,
    log,
    random,
    spread,
    topic,
    under,
)


@topic()
def dependence() -> Values:
    """Do failures depend on each other: between nodes, along time, on the clock."""
    values: Values = {}
    for name in ("white_half_year", "white", "lanl_20", "lanl_18"):
        series, failures = log(name).ttf(censor=False), dep.failures_of(log(name))
        for method in ("spearman", "pearson", "kendall") if name != "white" else ("spearman",):
            between = dep.correlations(series, method)
            values |= under(
                f"{name}.correlation.{method}",
                {
                    "pairs": between.n_pairs,
                    "mean_r": float(between.mean_r),
                    "r": spread(between.r),
                    "p": spread(between.p),
                    "classes": between.classes["pairs"].tolist(),
                    "expected": between.classes["expected_share"].tolist(),
                    "significant": between.n_significant(),
                },
            )
        values |= under(f"{name}.together", _together(dep.cofailures(log(name), "1h")))
        along = dep.serial_tests(series, n_resamples=0)
        names = ("durbin_watson", "ljung_box", "ljung_box_p_chi_square", "runs_z")
        values |= under(
            f"{name}.serial",
            {
                **{part: spread(getattr(along, part)) for part in names},
                "first_autocorrelation": spread(along.autocorrelation[:, 0]),
                **under("status", counts(along.status)),
            },
        )
        pooled = dep.pooled_tests(failures)
        chosen = [0, len(pooled.sizes) // 2, -1]
        values |= under(
            f"{name}.pooled",
            {
                "durbin_watson": pooled.durbin_watson[chosen],
                "p": pooled.p[chosen],
                "autocorrelation": np.asarray(pooled.autocorrelation, float)[-1:],
            },
        )
        scatter = dep.dispersion(failures)
        values |= under(
            f"{name}.dispersion",
            {
                **attributes(scatter, "scales", "index", "low", "high"),
                "rate_variation": np.ravel(np.asarray(scatter.rate_variation, float)),
            },
        )
        values |= under(f"{name}.cycles", attributes(dep.cycles(log(name)), "strength", "peak", "p"))
    return values | under("white.together_in_rack", _together(dep.cofailures(log("white"), "1h", per="rack")))


def _together(cofailures: Any) -> Values:
    return attributes(cofailures, "expected", "p", pairs="together")


@topic(slow=True, noise=0.5)
def dependence_random() -> Values:
    """The parts of dependence that shuffle, and the verdict of the whole."""
    values: Values = {}
    for name in ("white_half_year", "lanl_20"):
        series = log(name).ttf(censor=False)
        between = dep.correlations(series, n_resamples=99, rng=SEED)
        along = dep.serial_tests(series, n_resamples=999, rng=SEED)
        together = dep.cofailures(log(name), "1h", n_resamples=99, rng=SEED)
        values |= random(
            under(
                name,
                {
                    **attributes(between, "mean_r_p"),
                    **{part: spread(getattr(along, part)) for part in ("durbin_watson_p", "ljung_box_p", "runs_p")},
                    **attributes(together, "expected_shuffled", "p_shuffled"),
                },
            )
        )
        table = rf.dependence(log(name), rng=SEED).to_frame()
        verdicts = zip(table["part"], table["depends"], strict=True)
        values |= under(f"{name}.depends", {part: str(flag) for part, flag in verdicts})
    return values


# ---------------------------------------------------------------------- repairable systems


@topic()
def recurrence() -> Values:
    """Histories, mean cumulative function, trend tests, processes, comparison of groups."""
    values: Values = {}
    for name in ("white", "lanl_18", "lanl_20"):
        histories = histories_of_log(log(name))
        values |= under(
            f"{name}.histories",
            {
                "n": histories.n_histories,
                "events": len(histories.times),
                "hours": float(np.sum(histories.length)),
                "time_sum": float(np.sum(histories.times)),
                "left_open": int(np.sum(histories.left_open)),
            },
        )
        until = float(np.max(histories.end))
        times = np.array([0.1, 0.5, 0.9]) * until
        curve = mean_cumulative(histories, "all")
        values |= under(
            f"{name}.mean_cumulative.robust",
            {
                "times": times,
                "mean": curve.at(times).ravel(),
                "limits": limits(curve.interval(times)),
            },
        )
        for by in ("all", "each"):
            tests = trend_tests(histories, by)
            for j, test in enumerate(tests.tests):
                values |= under(
                    f"{name}.trend.{by}.{test}",
                    {
                        **{part: spread(getattr(tests, part)[:, j]) for part in ("statistic", "p", "p_adjusted")},
                        "falls": int((tests.direction[:, j] < 0).sum()),
                    },
                )
        for model in ("hpp", "power_law", "log_linear", "renewal"):
            fit = fit_process(histories, model, "all")
            if fit.status[0] != "ok":
                values[f"{name}.process.{model}.status"] = str(fit.status[0])
                continue
            values |= under(f"{name}.process.{model}", _process(fit))
        values[f"{name}.process.best"] = str(compare_processes(histories, "all").best[0])
        nodes = compare_processes(histories.take(range(40)), "each")
        values |= under(f"{name}.first_40_best", counts(nodes.best))
    return values


def _process(fit: Any) -> Values:
    return {
        "estimates": fit.estimates[0],
        "low": fit.low[0],
        "high": fit.high[0],
        "loglik": float(fit.loglik[0]),
        "aic": float(fit.aic[0]),
    }


@topic()
def recurrence_ageing() -> Values:
    """Crow's and Meeker's examples and goodness of processes."""
    crow = EventHistories.from_groups(
        [
            [4.3, 4.4, 10.2, 23.5, 23.8, 26.4, 74, 77.1, 92.1, 197.2],
            [0.1, 5.6, 18.6, 19.5, 24.2, 26.7, 45.1, 45.8, 75.7, 79.7, 98.6, 120.1, 161.8, 180.6, 190.8],
            [8.4, 32.5, 44.7, 48.4, 50.6, 73.6, 98.7, 112.2, 129.8, 136, 195.8],
        ],
        end=200.0,
    )
    fit = fit_process(crow, "power_law", "all")
    meeker = mean_cumulative(EventHistories.from_groups([[5, 8], [], [1, 8, 16]], end=[12, 16, 20]))
    return {
        "crow.estimates": fit.estimates[0],
        "crow.low": fit.low[0],
        "crow.high": fit.high[0],
        "crow.log_linear.estimates": fit_process(crow, "log_linear", "all").estimates[0],
        "meeker.mean": meeker.estimate,
        "meeker.variance": meeker.standard_error**2,
    }


@topic()
def availability() -> Values:
    """How much of the time nodes are up, in all and along time."""
    values: Values = {}
    for name in ("white", "lanl", "lanl_18", "lanl_20", "grid5000"):
        up = availability_of(log(name))
        for j, label in enumerate(up.groups):
            values |= under(
                f"{name}.{label_of(label)}",
                {
                    "operational": [up.low[j], up.operational[j], up.high[j]],
                    "hours": [up.node_hours[j], up.down_hours[j]],
                    "failures": up.failures[j],
                    "mtbf": up.mtbf[j],
                    "mttr": up.mttr[j],
                    "status": str(up.status[j]),
                },
            )
    by_node = availability_of(log("white"), "node")
    values["white_nodes.operational"] = spread(by_node.operational)
    values["white_nodes.operational_low"] = spread(by_node.low)
    along = availability_over_time(log("white"))
    values["white_over_time.operational"] = spread(along.operational)
    values["white_over_time.down_hours"] = float(np.nansum(along.down_hours))
    return values


# ---------------------------------------------------------------------- systems of nodes

HORIZONS = (1.0, 24.0, 72.0)


def _system(system: Any) -> Values:
    return {
        "reliability": system.reliability(HORIZONS),
        "hazard": system.hazard(HORIZONS),
        "pdf": system.pdf(HORIZONS),
        "mttf": float(system.mttf()),
        "mean_given_failure": float(system.mean_given_failure(24.0)),
        "mean_residual_life": float(system.mean_residual_life(24.0)),
        "quantile": system.quantile([0.1, 0.5]),
    }


@topic()
def system() -> Values:
    """A job on k nodes of the sample: reliability, failure rate, mean time to failure, every k; the paper's numbers."""
    values: Values = {}
    nodes = fleet()
    values["white_pooled.ages"] = spread(nodes.ages)
    for k in (1, 16, 64, 512):
        values |= under(f"white_pooled.k{k}", _system(nodes.take(range(min(k, nodes.n_nodes)))))
    for horizon in ("24h", "72h"):
        sizes = nodes.by_size(horizon)
        for k in (1, 2, 16, 64, 256, 512):
            at = min(k, len(sizes)) - 1
            numbers = [sizes.reliability[at], sizes.hazard[at], sizes.mttf[at]]
            values[f"white_pooled.by_size_{horizon}.k{k}"] = numbers
    for x, age in ((100.0, 0.0), (500.0, 300.0), (350.0, 200.0), (150.0, 50.0)):
        three = rf.System(Weibull(0.8606, [1542.0] * 3), ages=age)
        numbers = [float(three.reliability(x)), float(three.hazard(x)), float(three.mttf())]
        values[f"paper.three_nodes_{x:g}_{age:g}"] = numbers
    families = [Weibull(0.7, 900.0), Gamma(0.8, 1500.0), Lognormal(6.5, 1.2), Exponential(0.001)]
    mixed = rf.System(families, ages=[10.0, 500.0, 100.0, 3.0])
    values |= under("mixed_families", _system(mixed))
    values |= under("mixed_families.later", _system(mixed.later(48.0)))
    for name, n in (("small", 1000), ("large", 20000)):
        many = Weibull(np.linspace(0.6, 1.2, n), np.geomspace(1e4, 1e6, n))
        sizes = rf.System(many, ages=np.linspace(0, 5e3, n)).by_size("24h")
        values[f"by_size_{name}.mttf"] = sizes.mttf[[0, 9, 99, n - 1]]
        values[f"by_size_{name}.reliability"] = sizes.reliability[[0, 9, 99, n - 1]]
    return values


@topic(slow=True)
def system_from_log() -> Values:
    """Systems made from logs and fits: each node's own best fit, another moment, another log, some nodes."""
    core = ["exponential", "weibull", "gamma", "lognormal"]
    own = rf.system_from_log(log("white_steady"), period="all", families=core)
    lanl = rf.system_from_log(log("lanl_20"), at="2004-10-01", period="all")
    four = ["n000", "n001", "n002", "n003"]
    values: Values = {
        "lanl_20.ages": spread(lanl.ages),
        **under("white_at_2003", _system(rf.system_from_log(log("white"), at="2003-07-01", period="all", nodes=four))),
    }
    for k in (1, 16, 64, 512):
        values |= under(f"white_own_fits.k{k}", _system(own.take(range(min(k, own.n_nodes)))))
        if k != 16:
            values |= under(f"lanl_20.k{k}", _system(lanl.take(range(min(k, lanl.n_nodes)))))
    fits = rf.fit(log("lanl_20").ttf())
    for family in ("best", "lognormal"):
        of_fits = rf.system_from_fits(fits, family=family, missing="pool", ages=100.0)
        values |= under(f"lanl_20_fits.{family}", _system(of_fits.take(range(64))))
    return values


@topic(noise=0.05)
def system_spares() -> Values:
    """Systems that tolerate failures, racks, common causes; random times and sequences."""
    values: Values = {}
    nodes = fleet()
    for spares in (1, 2, 8):
        values |= under(f"white_64.tolerating_{spares}", _system(nodes.take(range(64)).tolerating(spares)))
    values["white_512.tolerating_200"] = np.ravel(nodes.tolerating(200).reliability([1000.0, 2000.0]))
    spared = rf.System(Weibull(0.8606, [1542.0] * 3), ages=200.0, tolerance=1)
    values |= under("paper.one_spare", _system(spared))
    values["white_pooled.two_spares_by_size"] = nodes.tolerating(2).by_size("24h").reliability[[2, 15, 63, -1]]
    for events in ("nodes", "job"):
        racks = rf.System(
            Weibull(0.9, [3000.0] * 6),
            ages="20 days",
            racks=["a", "a", "a", "b", "b", "b"],
            rack_lives=Exponential(1 / 4000),
            common={"power": (Exponential(1 / 9000), "90 days")},
            tolerance=1,
            rack_events=events,
        )
        values |= under(f"racks.{events}", _system(racks))
        values |= under(f"racks.{events}.three", _system(racks.take([0, 1, 2])))
    plain = rf.System(
        Weibull(0.7, [3000.0] * 8),
        racks=["a"] * 4 + ["b"] * 4,
        rack_lives=Weibull(0.8, 5000.0),
        common={"network": (Weibull(1.3, 8000.0), 100.0)},
    )
    values |= under("racks_no_spare", _system(plain))
    values["racks_no_spare.by_size"] = plain.by_size("24h").mttf
    drawn = nodes.take(range(64)).sample(20000, rng=SEED)
    sequences = nodes.take(range(64)).sequences(until="30 days", size=200, rng=SEED)
    return values | random(
        {
            "white_64.sample_mean": float(drawn.mean()),
            "white_64.sample_median": float(np.median(drawn)),
            "white_64.sequences": float(np.mean(sequences.counts)),
        }
    )


@topic(noise=0.15)
def system_intervals() -> Values:
    """Limits of what a system says, by draws."""
    values: Values = {}
    for k in (1, 64, 512):
        nodes = fleet()
        part = nodes.take(range(min(k, nodes.n_nodes)))
        for quantity, at in (("reliability", 24.0), ("mttf", None)):
            interval = part.interval(quantity, at, n_draws=400, rng=SEED)
            values[f"white_pooled.k{k}.draws.{quantity}~"] = limits(interval)
    fits = rf.fit(log("white").ttf(until="2003-01-01"), ["exponential", "weibull", "lognormal"])
    four = rf.system_from_fits(
        fits, nodes=["n000", "n001", "n002", "n003"], family="weibull", ages=["2 days", "9h", "80 days", "1h"]
    )
    interval = four.interval("reliability", 24.0, n_draws=300, rng=SEED)
    values["four_nodes.draws.reliability~"] = [float(np.ravel(interval.estimate)[0]), *limits(interval)]
    return values


# ---------------------------------------------------------------------- jobs


@topic(noise=0.1)
def jobs() -> Values:
    """Completion time and the best number of nodes: restart, checkpoints, Amdahl, Gustafson, measured speed-up."""
    values: Values = {}
    nodes = fleet()
    plan = Checkpoint("4h", "6min", "10min")
    measured = MeasuredSpeedup([1, 2, 4, 8, 16, 64], [1.0, 1.9, 3.6, 6.8, 12.0, 30.0])
    sizes: dict[str, tuple[str, Any, dict[str, Any]]] = {
        "amdahl": ("1000h", Amdahl(0.99), {}),
        "amdahl_long": ("2000h", Amdahl(0.999), {}),
        "as_new": ("1000h", Amdahl(0.99), {"after_failure": "as_new"}),
        "gustafson": ("5000h", Gustafson(0.99), {}),
        "paper": ("1000h", Amdahl(0.99), {"convention": "paper"}),
        "checkpoints": ("5000h", Amdahl(0.999), {"checkpoint": plan}),
        "ra_opt": ("1000h", Amdahl(0.99), {}),
        "measured": ("500h", measured, {"k_max": 128}),
    }
    for name, (work, speedup, options) in sizes.items():
        saves = options.pop("checkpoint", None)
        best = (ra_opt if name == "ra_opt" else best_size)(nodes, Job(work, speedup, "10min", saves), **options)
        expected = np.asarray(best.expected)
        values |= under(
            f"white.{name}",
            {
                "best": int(best.best),
                "expected": float(best.best_expected),
                "curve": expected[np.unique(np.linspace(0, len(expected) - 1, 6).astype(int))],
            },
        )
    drawn = best_size(nodes, Job("1000h", Amdahl(0.99), restart="10min"), level=0.95, n_draws=100, rng=SEED)
    values["white.amdahl.best_interval~"] = list(map(int, drawn.best_limits))

    eight = rf.System(Weibull(0.8, 1000.0), ages=[600.0] * 8)
    cases: dict[str, dict[str, Any]] = {
        "restart": {},
        "as_new": {"after_failure": "as_new"},
        "paper": {"convention": "paper"},
        "checkpoints": {"checkpoint": plan},
        "checkpoints_as_new": {"checkpoint": plan, "after_failure": "as_new"},
        "checkpoints_paper": {"checkpoint": plan, "convention": "paper"},
    }
    for name, options in cases.items():
        time = completion_time(eight, "500h", restart="1h", **options)
        values |= under(f"eight.{name}", attributes(time, "expected", "success", "failures", "length"))
        if "paper" in name:
            continue
        later = {
            "finish_probability": np.asarray(time.finish_probability(["70h", "100h"])),
            "quantile": np.asarray(time.quantile([0.5, 0.9])),
        }
        values |= under(f"eight.{name}", random(later) if "checkpoint" in options else later)
    few = nodes.take(range(64))
    job = completion_time(few, "1000h", Amdahl(0.99), restart="10min", level=0.95, n_draws=200, rng=SEED)
    values["white_64.expected"] = float(job.expected)
    values["white_64.limits~"] = [float(job.low), float(job.high)]
    spared = completion_time(nodes.take(range(66)).tolerating(2), "1000h", Amdahl(0.99), restart="10min", size=64)
    values["white_64_and_2_spares.expected"] = float(spared.expected)
    common = rf.System(Exponential(np.full(100, 1 / 3000.0)), common={"s": (Weibull(0.7, 2000.0), 0.0)})
    time = completion_time(common, "2000h", Amdahl(0.999), restart="1h", checkpoint=plan)
    values["common.checkpoints.expected"] = float(time.expected)
    return values


# ---------------------------------------------------------------------- chi-square


@topic()
def validation() -> Values:
    """Chi-square of times to failure against a system."""
    values: Values = {}
    pair = rf.System(Weibull(0.8, [1000.0] * 2), ages=600.0)
    times = np.repeat([100.0, 300.0, 500.0, 700.0, 900.0, 2000.0], [30, 21, 16, 8, 5, 20])
    for decimals in (None, 1):
        test = chi_square(times, pair, [0, 200, 400, 600, 800, 1000, 8000], estimated=2, decimals=decimals)
        numbers = {**attributes(test, "expected", "statistic", "degrees", "critical"), "p": [test.p, test.p_upper]}
        values |= under(f"paper_chi_square.decimals_{decimals}", numbers)
    test = chi_square(log("white_steady").ttf("system", censor=False).durations[:300], fleet())
    values |= under("white_chi_square", {"cells": len(test.observed), **attributes(test, "statistic", "p")})
    return values
