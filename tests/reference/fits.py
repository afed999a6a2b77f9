"""Topics: families, fits, their limits and tests, curves without a family, regression."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import relfit as rf
from relfit.fitting import bias_corrected_shape
from relfit.fitting.families import CompetingRisks, Exponential, Weibull, family_named
from relfit.fitting.nonparametric import kaplan_meier, median_ranks, nelson_aalen, turnbull
from tests.reference.collect import SEED, Values, cells, counts, label_of, limits, log, random, spread, topic, under

FAMILY_EXAMPLES: dict[str, tuple[float, ...]] = {
    "exponential": (0.001,),
    "weibull": (0.8606, 1542.0),
    "gamma": (0.7, 1500.0),
    "lognormal": (6.5, 1.4),
    "loglogistic": (1.6, 800.0),
    "generalised_gamma": (6.8, 1.1, 0.6),
    "inverse_gaussian": (1200.0, 900.0),
    "birnbaum_saunders": (1.1, 900.0),
    "gompertz": (2e-4, 1e-3),
    "weibull3": (1.3, 900.0, 50.0),
    "hyperexponential2": (0.3, 0.01, 0.0005),
    "hyperexponential3": (0.2, 0.3, 0.02, 0.002, 0.0002),
    "weibull_mixture": (0.1, 0.6, 50.0, 3.0, 9000.0),
    "limited_failure": (0.2, 0.8, 100.0),
    "zero_inflated": (0.1, 0.9, 700.0),
}


@topic(noise=0.1)
def families() -> Values:
    """Every family at fixed parameters: survival, hazard, quantiles, mean, life left, tails; competing risks."""
    values: Values = {}
    hours = np.array([1.0, 60.0, 700.0, 5000.0])
    for name, parameters in FAMILY_EXAMPLES.items():
        family = family_named(name)(*parameters)
        values |= under(
            name,
            {
                "parameter_names": ",".join(type(family).parameter_names()),
                "sf": family.sf(hours),
                "pdf": family.pdf(hours),
                "hazard": family.hazard(hours),
                "cumulative_hazard": family.cumulative_hazard(hours),
                "log_sf_far": float(family.log_sf(1e5)),
                "log_cdf_near": float(family.log_cdf(51.0 if name == "weibull3" else 0.1)),
                "quantile": family.quantile(np.array([0.05, 0.15, 0.9])),
                "median": float(family.median()),
                "mean": float(family.mean()),
                "excess_sf": family.sf(hours, 300.0),
                "mean_residual_life": float(family.mean_residual_life(300.0)),
            },
        )
        drawn, late = family.sample(20000, rng=SEED), family.excess_sample(300.0, 20000, rng=SEED)
        values |= random(
            under(
                name,
                {
                    "sample_quantiles": np.quantile(drawn, [0.1, 0.5], method="lower"),
                    "excess_sample_quantiles": np.quantile(late, [0.1, 0.5], method="lower"),
                },
            )
        )
    node = CompetingRisks({"power": Exponential(0.001), "disk": Weibull(2.0, 2000.0)})
    values |= under(
        "competing_risks",
        {
            "mean": float(node.mean()),
            "sf": node.sf(hours),
            "disk": node.cumulative_incidence("disk", [100.0, 1000.0, np.inf]),
        },
    )
    return values


def _one_fit(fit: rf.fitting.FamilyFit) -> Values:
    """The fit of one family to one group."""
    status = str(fit.status[0])
    if status != "ok":
        return {"status": status}
    return {
        "status": status,
        **{name: float(array[0]) for name, array in fit.parameters.items()},
        "standard_errors": [float(array[0]) for array in fit.standard_errors.values()],
        "loglik_aicc_bic": [float(fit.loglik[0]), float(fit.aicc[0]), float(fit.bic[0])],
        "mean_ks": [float(fit.mean[0]), float(fit.ks[0])],
    }


def _one_fits(subject: str, fits: rf.fitting.Fits) -> Values:
    """The fits of every family to one group."""
    return {
        k: v for family, fit in fits.results.items() for k, v in under(f"{subject}.{family}", _one_fit(fit)).items()
    }


@topic(slow=True)
def fits_system() -> Values:
    """All fifteen families for the time to the next failure anywhere in a system, and to repair."""
    values: Values = {}
    samples = {
        "white_steady": log("white_steady").ttf("system"),
        "lanl_20": log("lanl_20").ttf("system"),
        "lanl_18": log("lanl_18").ttf("system"),
        "lanl_20_repair": log("lanl_20").ttr("system"),
    }
    for name, lives in samples.items():
        values |= _one_fits(name, rf.fit(lives, "all"))
    kept = rf.fit(log("lanl_20").ttf("system", zeros="keep"), ["exponential", "weibull", "zero_inflated"])
    return values | _one_fits("lanl_20_zeros_kept", kept)


@topic(slow=True)
def fits_titan() -> Values:
    """All fifteen families for the lives of Titan's GPUs, all together; four by cage."""
    values = _one_fits("all", rf.fit(log("titan").ttf().pooled(), "all"))
    for family, fit in rf.fit(log("titan").ttf("cage")).results.items():
        for position in range(3):
            values |= under(f"cage_{position}.{family}", _one_fit(fit.take([position])))
    return values


@topic(slow=True)
def fits_large() -> Values:
    """Four families for large samples: whole LANL by system, Grid'5000, the sample from its beginning."""
    values: Values = {}
    samples = (
        ("grid5000", "system", "ttf"),
        ("grid5000", "system", "ttr"),
        ("white", "system", "ttf"),
        ("white", "cause", "ttr"),
        ("lanl", "system", "ttf"),
        ("lanl", "cause", "ttr"),
    )
    for name, per, measure in samples:
        lives = getattr(log(name), measure)(per)
        for family, fit in rf.fit(lives).results.items():
            where = f"{name}.{per}.{measure}.{family}"
            if lives.n_groups == 1:
                values |= under(where, _one_fit(fit))
                continue
            for j, label in enumerate(lives.groups):
                numbers = [*(float(array[j]) for array in fit.parameters.values()), float(fit.loglik[j])]
                values[f"{where}.{label_of(label)}"] = numbers if fit.status[j] == "ok" else str(fit.status[j])
    return values


def _many_fits(fit: rf.fitting.FamilyFit) -> Values:
    """The fits of one family to many groups."""
    values = under("status", counts(fit.status))
    for name, array in fit.parameters.items():
        values[name] = spread(array)
        if np.nanmin(array) > 0:
            values[f"log_{name}"] = spread(np.log(array))
    return values | {
        "loglik": float(np.nansum(np.where(np.isfinite(fit.loglik), fit.loglik, 0.0))),
        "aicc": spread(fit.aicc),
        "bic": spread(fit.bic),
        "log_mean": spread(np.log(fit.mean)),
        "ks": spread(fit.ks),
        "ks_p_textbook": spread(fit.ks_p_textbook),
        "standard_errors": [float(np.nanmedian(array)) for array in fit.standard_errors.values()],
    }


@topic(slow=True)
def fits_nodes() -> Values:
    """Four families for every node of the sample, LANL 2, 18, 20 and Grid'5000; all families for some nodes."""
    values: Values = {}
    for name in ("white", "white_steady", "lanl_2", "lanl_18", "lanl_20", "grid5000"):
        for family, fit in rf.fit(log(name).ttf()).results.items():
            values |= under(f"{name}.{family}", _many_fits(fit))
    for family, fit in rf.fit(log("lanl_20").ttf().take(range(24)), "all").results.items():
        if len(fit.parameters) <= 3:  # with more, rounding decides in some nodes whether there is a maximum
            values |= under(
                f"lanl_20_first_24.{family}", {**under("status", counts(fit.status)), "loglik": spread(fit.loglik)}
            )
    return values


@topic()
def fits_other_kinds() -> Values:
    """Intervals, truncation, weights, delayed entry; moments, ranks; bias correction; hard cases."""
    values: Values = {}
    cases: dict[str, tuple[list[float], list[bool]]] = {
        "one_failure": ([1000.0] + [5000.0] * 19, [True] + [False] * 19),
        "two_tied": ([100.0, 100.0] + [500.0] * 18, [True] * 2 + [False] * 18),
        "mixed": ([390.0, 5009.0, 3769.0, 1.0, 5410.0, 4609.0, 6544.0, 4313.0], [True] * 4 + [False] * 4),
        "rare": ([100.0, 900.0, 4000.0] + [8760.0] * 4997, [True] * 3 + [False] * 4997),
        "all_equal": ([24.0] * 5, [True] * 5),
        "all_censored": ([100.0, 200.0], [False, False]),
        "with_zero": ([0.0, 10.0, 35.0, 80.0], [True] * 4),
        "four": ([100.0, 900.0, 4000.0, 8760.0], [True, True, True, False]),
    }
    for name, (durations, observed) in cases.items():
        values |= _one_fits(name, rf.fit(rf.LifeData.from_array(durations, observed)))

    complete = log("white_steady").ttf("system", censor=False)
    hours = complete.durations
    edges = np.arange(0.0, hours.max() + 2.0, 2.0)
    place = np.searchsorted(edges, hours, side="left")
    short = hours[hours <= 20.0]
    samples = {
        "inspected": rf.LifeData.from_intervals(edges[place - 1], edges[place]),
        "entered_late": rf.LifeData.from_array(hours, entry=np.where(hours > 3.0, 3.0, 0.0)),
        "right_truncated": rf.LifeData.from_array(short, exit=np.full(short.size, 20.0)),
        "weighted": rf.LifeData.from_array(hours[:200], weights=np.arange(200) % 3 + 1),
    }
    for name, lives in samples.items():
        values |= _one_fits(name, rf.fit(lives))
    late_nodes = log("white").ttf(since="2003-04-01", until="2004-10-01")
    for family, fit in rf.fit(late_nodes, ["exponential", "weibull"]).results.items():
        values |= under(f"entered_late_nodes.{family}", _many_fits(fit))

    frame = log("lanl_20").ttf().to_frame().reset_index()
    by_table = rf.fit(frame, "weibull", duration="duration_hours", observed="observed", by=["system", "node"])
    values |= under("from_table.weibull", _many_fits(by_table["weibull"]))
    for method in ("moments", "rank_y", "rank_x"):
        for family in ("exponential", "weibull", "gamma", "lognormal"):
            if family != "gamma" or method == "moments":
                values[f"{method}.{family}"] = rf.fit(complete, family, method=method)[family].parameter_array[0]
    fair = rf.fit(log("lanl_20").ttf(), "weibull", bias_correction=True)["weibull"]
    values["bias_corrected.mean"] = spread(fair.parameters["shape"])
    shapes = np.array([1.2, 0.9, 2.0])
    corrected = bias_corrected_shape(shapes, np.array([3, 6, 10]), np.array([5, 6, 40]))
    values["bias_corrected.factors"] = corrected / shapes
    return values


@topic()
def fits_partitioned() -> Values:
    """Fits of a Dask table, partition by partition."""
    import dask
    import dask.dataframe as dd

    table = dd.from_pandas(log("white").ttf().to_frame().reset_index(), npartitions=3)
    keys: dict[str, Any] = {"duration": "duration_hours", "observed": "observed", "by": ["system", "node"]}
    with dask.config.set(scheduler="synchronous"):
        frame = rf.fit(table, ["weibull", "lognormal"], **keys).compute()
    values: Values = under(
        "white.status",
        {
            f"{family}.ok": int((frame.loc[frame["family"] == family, "status"] == "ok").sum())
            for family in ("weibull", "lognormal")
        },
    )
    for column in ("shape", "scale", "meanlog", "sdlog", "loglik", "aicc", "ks"):
        values[f"white.{column}"] = spread(frame[column])
    return values


@topic(slow=True, noise=0.1)
def intervals() -> Values:
    """Wald, profile and exact limits of parameters, mean, quantile, reliability and hazard; bootstraps."""
    values: Values = {}
    questions: tuple[tuple[str, Any], ...] = (
        ("mean", None),
        ("median", None),
        ("quantile", 0.1),
        ("reliability", 24.0),
        ("hazard", 24.0),
    )
    four = rf.LifeData.from_array([100.0, 900.0, 4000.0, 8760.0], [True, True, True, False])
    samples = {
        "white_four_nodes": log("white").ttf().take(range(4)),
        "lanl_20_system": log("lanl_20").ttf("system"),
        "four_lives": four,
    }
    for name, lives in samples.items():
        fits = rf.fit(lives)
        for family, fit in fits.results.items():
            parameters = tuple((parameter, None) for parameter in fit.parameters)
            for kind in ("profile", "wald"):
                for quantity, at in (*parameters, *questions):
                    interval = fit.interval(quantity, at=at, kind=kind)
                    values[f"{name}.{family}.{kind}.{quantity}"] = limits(interval)
                    if set(interval.status) != {"ok"}:
                        values[f"{name}.{family}.{kind}.{quantity}.status"] = ",".join(map(str, interval.status))
        for terminated in (None, "failure"):
            interval = fits["exponential"].interval("mean", kind="exact", terminated=terminated)
            values[f"{name}.exponential.exact.mean.{terminated or 'time'}"] = limits(interval)
        if name != "lanl_20_system":
            for kind in ("bootstrap", "resample"):
                interval = fits["weibull"].interval("mean", kind=kind, n_resamples=400, rng=SEED)
                values[f"{name}.weibull.{kind}.mean~"] = limits(interval)
    nodes = rf.fit(log("lanl_18").ttf(), "weibull")["weibull"]
    for kind in ("profile", "wald"):
        interval = nodes.interval("shape", kind=kind)
        values |= under(
            f"lanl_18_nodes.shape.{kind}",
            {"low": spread(interval.low), "high": spread(interval.high), **under("status", counts(interval.status))},
        )
    region = rf.fit(four, "weibull")["weibull"].contour(level=0.5)
    return values | under("four_lives.region", {name: [np.min(x), np.max(x)] for name, x in region.items()})


TESTS = ("ks", "cvm", "ad")


@topic(noise=0.1)
def goodness_of_fit() -> Values:
    """Statistics and p-values that account for the fit: tables for complete lives, bootstrap for censored ones."""
    values: Values = {}
    complete = {
        "white_steady": log("white_steady").ttf("system", censor=False),
        "lanl_20": log("lanl_20").ttf("system", censor=False),
        "lanl_18_repair": log("lanl_18").ttr("system"),
    }
    for name, lives in complete.items():
        for family, fit in rf.fit(lives).results.items():
            tested = fit.goodness(TESTS)
            for j, test in enumerate(TESTS):
                values[f"{name}.{family}.{test}"] = float(tested.statistic[0, j])
                values[f"{name}.{family}.{test}_p"] = float(tested.p[0, j])
            values[f"{name}.{family}.ks_p_textbook"] = float(fit.ks_p_textbook[0])
            chi_square = fit.goodness(("chi2",), n_resamples=0).statistic
            values[f"{name}.{family}.chi_square.statistic"] = float(chi_square[0, 0])
    for family, fit in rf.fit(log("white_steady").ttf(censor=False)).results.items():
        tested = fit.goodness(TESTS)
        for j, test in enumerate(TESTS):
            values[f"white_steady_nodes.{family}.{test}"] = spread(tested.statistic[:, j])
            values[f"white_steady_nodes.{family}.{test}_p"] = spread(tested.p[:, j])
    for family, fit in rf.fit(log("lanl_20").ttf().take(range(60))).results.items():
        tested = fit.goodness(TESTS, n_resamples=199, rng=SEED)
        for j, test in enumerate(TESTS):
            values[f"lanl_20_first_60.{family}.{test}"] = spread(tested.statistic[:, j])
            values[f"lanl_20_first_60.{family}.{test}_p~"] = spread(tested.p[:, j])
    return values


@topic()
def choice_of_family() -> Values:
    """Which family fits how many nodes, how parameters spread, weights, rejections."""
    values: Values = {}
    for name in ("white_steady", "lanl_20"):
        fits = rf.fit(log(name).ttf())
        columns = [c for c in fits.compare().columns if not c.endswith("percent") and c != "alone"]
        values |= under(f"{name}.compare", cells(fits.compare(), columns))
        for family in ("weibull", "lognormal"):
            table = fits.describe(family)
            rows = [row for row in table.index if row not in ("maximum", "mean", "standard_deviation")]
            values |= under(f"{name}.describe.{family}", cells(table.loc[rows], list(table.columns)))
        values |= under(
            f"{name}.best",
            {by: [int((fits.best(by) == family).sum()) for family in fits.families] for by in ("aicc", "bic")},
        )
        weights = fits.weights("aicc")
        values |= under(f"{name}.weights", {family: spread(weights[family]) for family in fits.families})
    whole = rf.fit(log("white").ttf())
    values |= under("white.compare", cells(whole.compare(), columns))
    values |= under("white.describe", cells(whole.describe(), ["shape", "scale"]))
    complete = rf.fit(log("white_steady").ttf(censor=False))
    for test in ("ks", "ad"):
        table = complete.rejected(test)[["tested", "rejected", "rejected_adjusted"]]
        values |= under(f"white_steady_complete.rejected.{test}", cells(table, list(table.columns)))
    system = rf.fit(log("lanl_20").ttf("system"))
    return values | under("lanl_20_system.weights", {f: float(system.weights()[f].iloc[0]) for f in system.families})


@topic()
def rejections() -> Values:
    """Nodes of the sample in which Anderson-Darling rejects each family (bootstrap, censored lives)."""
    table = rf.fit(log("white_steady").ttf(), rng=SEED).rejected("ad")
    return random(under("white_steady", cells(table, ["tested", "rejected", "rejected_adjusted"])))


def _pooled(pooled: Any) -> Values:
    return {
        "fleet_mean": np.ravel(pooled.fleet_mean),
        "fleet_covariance": np.ravel(pooled.fleet_covariance),
        "converged": str(bool(np.all(pooled.converged))),
        "shrinkage": spread(pooled.shrinkage),
        **{name: spread(array) for name, array in pooled.parameters.items()},
    }


@topic(slow=True)
def pooling() -> Values:
    """Nodes that borrow from the fleet."""
    values: Values = {}
    for name in ("white_steady", "lanl_20"):
        fits = rf.fit(log(name).ttf())
        for family in ("weibull", "exponential"):
            pooled = fits.pool(family)
            values |= under(f"{name}.{family}", _pooled(pooled))
            table = pooled.to_frame()
            for column in (c for c in table.columns if c.endswith(("_low", "_high"))):
                values[f"{name}.{family}.{column}"] = spread(table[column])
    for family in ("gamma", "lognormal"):
        few = log("lanl_18").ttf().take(range(96))
        values |= under(f"lanl_18_first_96.{family}", _pooled(rf.fit(few, family).pool(family)))
    return values


@topic()
def competing_causes() -> Values:
    """Causes in series: parameters and probability to fail from each."""
    values: Values = {}
    for name in ("white_steady", "lanl_20"):
        fits = rf.fit(log(name).ttf("system", competing="cause"), "weibull")
        for position, label in enumerate(fits.groups):
            values[f"{name}.weibull.{label_of(label)}"] = fits["weibull"].parameter_array[position]
        for hours in (24.0, 10.0):
            table = fits.competing().incidence(hours)
            values |= under(f"{name}.incidence_{hours:g}h", {c: float(table[c].iloc[0]) for c in table.columns})
    by_node = rf.fit(log("white").ttf(competing="cause"), "exponential").competing("exponential")
    table = by_node.incidence(168.0)
    return values | under("white_nodes.incidence_week", {c: spread(table[c]) for c in table.columns})


# ---------------------------------------------------------------------- without a family, and with covariates


@topic(slow=True)
def nonparametric() -> Values:
    """Kaplan-Meier, Nelson-Aalen, Turnbull, plotting positions."""
    values: Values = {}
    for name in ("white", "lanl_20", "grid5000", "titan"):
        lives = log(name).ttf().pooled()
        times = np.quantile(lives.durations[lives.observed], [0.1, 0.5, 0.9])
        curve, hazard = kaplan_meier(lives), nelson_aalen(lives)
        values |= under(
            name,
            {
                "times": times,
                "survival": curve.at(times).ravel(),
                "survival_limits": limits(curve.interval(times)),
                "standard_error": spread(curve.standard_error),
                "steps": len(curve.times),
                "quantile_25": np.ravel(curve.quantile(0.25).to_numpy(float)),
                "median": np.ravel(curve.median().to_numpy(float)),
                "cumulative_hazard": hazard.at(times).ravel(),
                "cumulative_hazard_limits": limits(hazard.interval(times)),
            },
        )
    values["white_nodes.survival_1000h"] = spread(kaplan_meier(log("white").ttf()).at([1000.0]))
    late = log("white").ttf(since="2003-04-01", until="2004-10-01").pooled()
    values["white_entered_late.survival"] = kaplan_meier(late).at([100.0, 1000.0, 3000.0]).ravel()
    small = rf.LifeData.from_intervals([0.0, 1.0, 2.0, 2.0, 7.0], [2.0, 3.0, 5.0, 6.0, math.inf])
    durations = log("white_steady").ttf("system", censor=False).durations[:600]
    edges = np.arange(0.0, durations.max() + 2.0, 1.5)
    place = np.searchsorted(edges, durations, side="left")
    inspected = rf.LifeData.from_intervals(edges[place - 1], edges[place])
    for name, lives, times in (("small", small, [1.5, 4.0]), ("inspected", inspected, [2.0, 6.0, 12.0])):
        estimate = turnbull(lives)
        values |= under(
            f"turnbull.{name}",
            {
                "pieces": len(estimate.mass),
                "log_likelihood": float(np.ravel(estimate.log_likelihood)[0]),
                "survival": np.concatenate([np.ravel(x) for x in estimate.at(times)]),
            },
        )
    few = log("lanl_20").ttf().take(range(12)).pooled()
    points = median_ranks(few)
    values["positions.median"] = [len(points.times), *np.quantile(points.position, [0.1, 0.5, 0.9])]
    return values


def _regression(model: Any) -> Values:
    ratio = "hazard_ratio" if "hazard_ratio" in model.table.columns else "time_ratio"
    values: Values = {
        "n": [model.n_rows, model.n_failures, model.n_clusters],
        "loglik": model.loglik,
        "aic": model.aic,
        "likelihood_ratio": [model.likelihood_ratio.statistic, model.likelihood_ratio.p],
        "wald": [model.wald.statistic, model.wald.p],
        "converged": str(bool(model.converged)),
    }
    for name, row in model.table.iterrows():
        values[str(name)] = [float(row[c]) for c in ("coefficient", "standard_error", "low", "high", ratio)]
    return values


@topic(slow=True)
def regression() -> Values:
    """Cox and accelerated failure time models on the sample and LANL (through lifelines)."""
    cox = rf.regress(log("white"), "ttf ~ rack")
    values = under("white.cox.rack", _regression(cox))
    repair = rf.regress(log("white_steady"), "ttr ~ cause", "weibull")
    values |= under("white.weibull.repair_cause", _regression(repair))
    repair = rf.regress(log("lanl_20"), "ttr ~ cause", "lognormal", reference={"cause": "hardware"})
    values |= under("lanl_20.lognormal.repair_cause", _regression(repair))
    return values | under("lanl.cox.machine_type", _regression(rf.regress(log("lanl"), "ttf ~ machine_type")))


@topic(slow=True)
def regression_titan() -> Values:
    """Titan's cages: Cox and Weibull."""
    values = under("cox", _regression(rf.regress(log("titan"), "ttf ~ cage + column")))
    weibull = rf.regress(log("titan"), "ttf ~ C(cage) + column", "weibull")
    return values | under("weibull", _regression(weibull))
