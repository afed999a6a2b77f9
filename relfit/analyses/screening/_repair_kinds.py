"""Repair times as a mixture of quick and slow repairs, by cause: a reboot takes minutes, an ordered part days.

Two kinds are fitted as two exponentials (hyperexponential) and as two lognormals (by EM, then by Newton's method). The
split is the time at which a repair is as likely to be quick as slow. The mean of a kind is that of the repairs as
observed, each counted by the probability that it is of this kind: the shares times these means add to the mean of all
repairs, as the means of two lognormals do not.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.levels import level_checked, normal_quantile
from relfit.base.numeric.newton import derivatives, maximise
from relfit.base.numeric.ragged import sums
from relfit.base.results import Result, key_columns
from relfit.base.text import duration, percent
from relfit.fitting import fit
from relfit.fitting.condensing import condensed
from relfit.log.failurelog import FailureLog
from relfit.log.lifedata import LifeData
from relfit.log.tables import made_once

MODELS = ("hyperexponential2", "lognormal2")
ONE_CLASS = ("exponential", "lognormal", "weibull", "gamma", "loglogistic", "inverse_gaussian")
"""Distributions of one class that two classes are compared with."""
_QUANTITIES = ("share_quick", "mean_quick", "mean_slow", "mean", "split")
_CUTS = (0.25, 0.5, 0.8)  # quantiles at which EM splits the repairs first
_ITERATIONS = 60
_FEWEST = 10  # repairs with a known end
_FEWEST_OF_A_KIND = 3.0
_FEW_REPAIRS = 0.1  # share of the repairs, of parts with fewer than ten
_NAMED = 3


class RepairKinds(Result):
    """Quick and slow repairs of every group.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per group and model: the group's columns, ``model``, ``repairs``, ``censored``, ``share_quick``,
        ``mean_quick``, ``mean_slow``, ``mean`` and ``split`` (hours), each with ``_low`` and ``_high``; means are of
        the repairs as observed, those cut off at their expected length; ``loglik``, ``aic``; ``one``, the distribution
        that describes the repairs best as one class (of `ONE_CLASS`, by BIC) and its ``aic_one``; ``status``;
        ``median_quick``, ``median_slow`` (hours) and, of lognormals, ``sigma_quick``, ``sigma_slow`` (of the logs).

        Status: ``"ok"``; ``"too_few"`` (fewer than ten repairs with a known end); ``"one_class"`` (two classes are no
        better than the best of one by BIC; numbers are given all the same, ``split`` may be NaN); ``"no_split"``
        (two classes, but no time from which on a repair is more likely slow; ``split`` is NaN); ``"hollow"`` (a class
        rests on fewer than three repairs), ``"not_found"`` (no maximum inside): no numbers.
    zero : int
        Repairs of no length, which are left out.
    level : float
        Level of the intervals (Wald, on the log or logit scale).
    lives : LifeData
        The repairs, for the figure.
    """

    table: pd.DataFrame
    zero: int
    level: float
    lives: LifeData

    _not_in_json = ("lives",)
    _frame = "table"

    @property
    def keys(self) -> list[str]:
        """The group's columns in `table`."""
        return list(self.table.columns[: self.table.columns.get_loc("model")])

    def best(self) -> pd.DataFrame:
        """The model with the lowest AIC in each group; groups without one stay with their status."""
        ranked = self.table.sort_values("aic", kind="stable", na_position="last")
        return ranked.groupby(self.keys, sort=False, observed=True).head(1).sort_index().reset_index(drop=True)

    @property
    def headline(self) -> str:
        """What it means for a planner."""
        rows = self.best()
        if not (rows["repairs"] > 0).any():
            return "No repair has a known end, so nothing can be said about quick and slow ones."
        two = rows[rows["status"] == "ok"]
        if not len(two):
            if (rows["status"] == "too_few").all():
                return "Too few repairs to distinguish quick from slow ones."
            apart = int((rows["status"] == "no_split").sum())
            if apart:
                where = "" if len(rows) == 1 else f" in {apart} of {len(rows)} {self.keys[-1]}s"
                mean = "all" if len(rows) == 1 else f"each {self.keys[-1]}"
                return (
                    f"Two kinds of repairs fit better than one{where}, but no threshold separates them: use the mean "
                    f"of {mean}."
                )
            if len(rows) == 1:
                return "Repairs do not fall into quick and slow ones: one mean repair time describes them."
            within = " or ".join(self.keys)
            return f"Repairs of no {within} fall into quick and slow ones: one mean repair time describes each."
        row = two.sort_values("repairs", ascending=False).iloc[0]
        quick, slow, split = (duration(float(row[name])) for name in ("mean_quick", "mean_slow", "split"))
        most = (
            f"In {len(two)} of {len(rows)} groups repairs are of two kinds; the group with most repairs is "
            f"{', '.join(str(row[key]) for key in self.keys)}"
        )
        return (
            f"{'Repairs are of two kinds' if len(rows) == 1 else most}: {percent(row['share_quick'])} are quick "
            f"({quick} on average), the others take {slow}; a repair longer than {split} is more likely a slow one."
        )

    def explained_by(self, parts: RepairKinds) -> str:
        """That each of the `parts` of these repairs, as their causes, is of one kind, in a sentence; else empty."""
        rows = parts.best()
        each = rows[rows["status"] != "too_few"].sort_values("repairs", ascending=False, kind="stable")
        few = rows["repairs"].sum() - each["repairs"].sum()
        one = ~each["status"].isin(["ok", "no_split"]).any() and few <= _FEW_REPAIRS * rows["repairs"].sum()
        if len(each) < 2 or not one or not (self.best()["status"] == "ok").any():
            return ""
        name = parts.keys[-1]
        named = each.dropna(subset="mean").head(_NAMED).to_dict("records")
        means = [f"{row[name]} {duration(row['mean'])}" for row in named]
        return f"The {name}s explain them: repairs of each are of one kind ({', '.join(means)} on average)."


@made_once
def repair_kinds(
    log: FailureLog | LifeData, per: str = "cause", *, models: tuple[str, ...] = MODELS, level: float = 0.95
) -> RepairKinds:
    """Split the repair times of every group into quick and slow ones.

    Parameters
    ----------
    log : FailureLog or LifeData
        Of a log, the durations of its outages; those cut off by the window are right-censored.
    per : str
        As for `FailureLog.ttr`, with a log; by system instead of cause where no record has one.
    models : tuple of str
        Of `MODELS`.
    level : float
        Level of the intervals.

    Raises
    ------
    ArgumentError
        For an unknown model, a level outside 0..1, or durations with intervals, truncation or weights.

    Examples
    --------
    >>> from relfit.fitting.families import Lognormal
    >>> import relfit as rf
    >>> quick, slow = Lognormal(-1.0, 0.5).sample(600, rng=1), Lognormal(3.0, 0.7).sample(200, rng=2)
    >>> result = repair_kinds(rf.LifeData.from_array(np.concatenate([quick, slow])), models=("lognormal2",))
    >>> result.table.loc[0, ["share_quick", "split"]].astype(float).round(2).tolist()
    [0.75, 2.12]
    """
    if not models or set(models) - set(MODELS):
        raise ArgumentError(f"models {models!r} are not known", remedy=f"use {' or '.join(MODELS)}")
    level_checked(level)
    if not isinstance(log, LifeData) and per == "cause" and log.events["cause"].isna().all():
        per = "system"
    lives = log if isinstance(log, LifeData) else log.ttr(per)
    if not lives.plain:
        raise ArgumentError("quick and slow repairs can be distinguished in observed or right-censored ones only")
    zero = int(lives.n_zeros.sum())
    if lives.counts is not None and "zero_repairs" in lives.counts:
        zero += int(lives.counts["zero_repairs"].sum())
    repairs = condensed(lives)
    ended = _total(repairs, repairs.observed)
    usable = np.flatnonzero(ended >= _FEWEST)
    one = pd.DataFrame(index=np.arange(lives.n_groups), columns=["one", "bic_one", "aic_one"], dtype=object)
    one.iloc[usable] = _one_class(repairs.take(usable), ended[usable])
    about = key_columns(lives.groups).reset_index(drop=True)
    parts = []
    for model in models:
        part = about.assign(model=model, repairs=ended.astype(np.int64))
        part["censored"] = _total(repairs, ~repairs.observed).astype(np.int64)
        fitted = _fit(repairs.take(usable), model, level, one["bic_one"].to_numpy(float)[usable], ended[usable], usable)
        parts.append(part.join(fitted.assign(one=one["one"], aic_one=one["aic_one"].astype(float))))
        parts[-1].loc[ended < _FEWEST, "status"] = "too_few"
    table = pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)
    table["one"] = table["one"].where(table["one"].notna(), None)
    names = [f"{name}{end}" for name in _QUANTITIES for end in ("", "_low", "_high")]
    names += ["loglik", "aic", "one", "aic_one", "status", "median_quick", "median_slow", "sigma_quick", "sigma_slow"]
    return RepairKinds(table[[*about.columns, "model", "repairs", "censored", *names]], zero, level, lives)


def _total(repairs: LifeData, values: FloatArray | BoolArray) -> FloatArray:
    """Weighted sum over the repairs of each group, shape (groups,)."""
    return sums(values if repairs.weights is None else values * _weights(repairs), repairs.offsets)


def _weights(repairs: LifeData) -> FloatArray:
    return np.ones(repairs.durations.size) if repairs.weights is None else repairs.weights.astype(np.float64)


def _one_class(repairs: LifeData, ended: FloatArray) -> npt.NDArray[np.object_]:
    """Name, BIC and AIC of the distribution that describes each group best by BIC, shape (groups, 3)."""
    out = np.tile(np.array([None, np.inf, np.nan], dtype=object), (repairs.n_groups, 1))
    for name, result in (fit(repairs, ONE_CLASS, n_resamples=0).results if repairs.n_groups else {}).items():
        k = len(result.family.parameter_names())
        bic = k * np.log(ended) - 2.0 * result.loglik
        better = result.ok & (bic < out[:, 1].astype(float))
        out[better] = np.stack([np.full(ended.size, name, object), bic, 2.0 * k - 2.0 * result.loglik], axis=1)[better]
    return out


class _Mixture:
    """Log-likelihood of two classes: logit of the quick share, then location and log spread of log repair times."""

    def __init__(self, repairs: LifeData, model: str) -> None:
        self.lives, self.exponential = repairs, model == "hyperexponential2"
        self.n_groups = repairs.n_groups
        self.code, self.log = repairs.group_codes(), np.log(repairs.durations)
        self.censored = np.flatnonzero(~repairs.observed)

    @property
    def k(self) -> int:
        """Number of coordinates."""
        return 3 if self.exponential else 5

    def take(self, positions: IntArray) -> _Mixture:
        return _Mixture(self.lives.take(positions), MODELS[not self.exponential])

    def parts(self, free: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log of share times density (survival where censored) of both classes; shape (..., repairs)."""
        # what the parameters imply is worked out for the groups, not for each of their repairs
        observed, out = self.lives.observed, []
        for i, log_share in enumerate((special.log_expit(free[..., 0]), special.log_expit(-free[..., 0]))):
            if self.exponential:
                place = self._of_group(free[..., 1 + i])
                value = np.where(observed, -place, 0.0) - np.exp(self.log - place)
            else:
                place, spread = free[..., 1 + 2 * i], free[..., 2 + 2 * i]
                z = (self.log - self._of_group(place)) * self._of_group(np.exp(-spread))
                value = -0.5 * z * z - self.log - self._of_group(spread + 0.5 * np.log(2.0 * np.pi))
                value[..., self.censored] = special.log_ndtr(-z[..., self.censored])
            out.append(value + self._of_group(log_share))
        return out[0], out[1]

    def _of_group(self, values: FloatArray) -> FloatArray:
        """Values of the groups, shape (..., groups), for each repair; of one group as they are."""
        return values if self.n_groups == 1 else values[..., self.code]

    def observed_means(self, free: FloatArray) -> FloatArray:
        """Logs of the means of quick, slow and all repairs as observed, those cut off as expected; (groups, 3)."""
        quick, slow = self.parts(free)
        number, probability, hours = _total(self.lives, np.ones(self.log.size)), special.expit(quick - slow), []
        share, cut = special.expit(free[:, 0]), self.censored
        for i, part in enumerate((probability, 1.0 - probability)):
            length = self.lives.durations.copy()
            if self.exponential:
                length[cut] += np.exp(free[self.code[cut], 1 + i])
            else:
                place, spread = free[self.code[cut], 1 + 2 * i], np.exp(free[self.code[cut], 2 + 2 * i])
                z = (self.log[cut] - place) / spread
                beyond = special.log_ndtr(spread - z) - special.log_ndtr(-z)
                length[cut] = np.exp(place + 0.5 * spread**2 + beyond)
            hours.append(_total(self.lives, part * length))
        with np.errstate(all="ignore"):
            means = [hours[0] / (number * share), hours[1] / (number * (1.0 - share)), (hours[0] + hours[1]) / number]
            return np.asarray(np.log(np.stack(means, axis=-1)))

    def __call__(self, free: FloatArray) -> FloatArray:
        """Log-likelihood, shape (trials, groups, k) to (trials, groups)."""
        with np.errstate(all="ignore"):
            each = np.logaddexp(*self.parts(free)) * _weights(self.lives)
        total = sums(each, self.lives.offsets)
        total[~np.isfinite(total)] = -np.inf
        return total

    def em(self, cut: float) -> FloatArray:
        """Where EM ends from a split at a quantile of every group, shape (groups, k)."""
        order, weight = np.lexsort((self.log, self.code)), _weights(self.lives)
        size = _total(self.lives, np.ones(self.log.size))
        rank = np.empty(self.log.size)
        rank[order] = np.cumsum(weight[order]) - 0.5 * weight[order]
        place = (rank - (np.cumsum(size) - size)[self.code]) / np.maximum(size, 1.0)[self.code]
        free = self.step(np.where(place < cut, 0.95, 0.05), None)
        for _ in range(_ITERATIONS):
            with np.errstate(all="ignore"):
                quick, slow = self.parts(free)
                share = special.expit(quick - slow)
            before, free = free, self.step(np.where(np.isfinite(share), share, 0.5), free)
            if not np.any(np.abs(free - before) > 1e-5):
                break
        return free

    def step(self, share: FloatArray, before: FloatArray | None) -> FloatArray:
        """One step of EM, from each repair's probability of being quick; censored ones are completed by their mean."""
        repairs, log = self.lives, self.log
        with np.errstate(all="ignore"):
            size = np.maximum(_total(repairs, np.ones(log.size)), 1.0)
            columns = [special.logit(np.clip(_total(repairs, share) / size, 1e-4, 1.0 - 1e-4))]
            for i, part in enumerate((share, 1.0 - share)):
                if self.exponential:
                    events = np.maximum(_total(repairs, part * repairs.observed), 1e-9)
                    mean = _total(repairs, part * repairs.durations) / events
                    columns.append(np.log(np.maximum(mean, 1e-300)))
                    continue
                first, second = log, log**2
                if before is not None and not repairs.observed.all():
                    place, spread = before[self.code, 1 + 2 * i], np.exp(before[self.code, 2 + 2 * i])
                    z = (log - place) / spread
                    ahead = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - special.log_ndtr(-z))
                    mean = place + spread * ahead
                    square = place**2 + 2.0 * place * spread * ahead + spread**2 * (1.0 + z * ahead)
                    first = np.where(repairs.observed | ~np.isfinite(mean), log, mean)
                    second = np.where(repairs.observed | ~np.isfinite(square), log**2, square)
                number = np.maximum(_total(repairs, part), 1e-9)
                middle = _total(repairs, part * first) / number
                variance = np.maximum(_total(repairs, part * second) / number - middle**2, 1e-4)
                columns += [middle, 0.5 * np.log(variance)]
        return np.stack(columns, axis=-1)


def _fit(
    repairs: LifeData, model: str, level: float, bic_one: FloatArray, ended: FloatArray, index: IntArray
) -> pd.DataFrame:
    """Estimates of a mixture in each group, one row per group."""
    mixture = _Mixture(repairs, model)
    k, half = mixture.k, (mixture.k - 1) // 2
    free, value = np.full((repairs.n_groups, k), np.nan), np.full(repairs.n_groups, -np.inf)
    for cut in _CUTS if repairs.n_groups else ():
        best = maximise(mixture, mixture.em(cut))
        better = best.converged & (best.value > value + 1e-9)
        free[better], value[better] = best.free[better], best.value[better]
    # the class of the smaller median comes first
    turned = np.concatenate([-free[:, :1], free[:, 1 + half :], free[:, 1 : 1 + half]], axis=1)
    free = np.where((free[:, 1] > free[:, 1 + half])[:, None], turned, free)
    quick, slow = mixture.parts(np.where(np.isfinite(free), free, 0.0))
    probability = special.expit(quick - slow)
    least = np.minimum(*(_total(repairs, part * repairs.observed) for part in (probability, 1.0 - probability)))
    good = np.isfinite(value) & (least >= _FEWEST_OF_A_KIND)
    out = pd.DataFrame({"status": np.where(np.isfinite(value), "hollow", "not_found").astype(object)}, index=index)
    numbers = np.full((len(_QUANTITIES), 3, repairs.n_groups), np.nan)
    rows = np.flatnonzero(good)
    if rows.size:
        numbers[:, :, rows] = _quantities(mixture.take(rows), free[rows], level)
    for name, (estimate, low, high) in zip(_QUANTITIES, numbers, strict=True):
        out[name], out[f"{name}_low"], out[f"{name}_high"] = estimate, low, high
    out["loglik"] = np.where(good, value, np.nan)
    out["aic"] = 2.0 * k - 2.0 * out["loglik"]
    better = k * np.log(ended) - 2.0 * value < bic_one
    out.loc[good, "status"] = np.where(better, np.where(out["split"].isna(), "no_split", "ok"), "one_class")[good]
    for i, name in enumerate(("quick", "slow")):
        median = np.exp(free[:, 1 + i * half]) * (np.log(2.0) if mixture.exponential else 1.0)
        out[f"median_{name}"] = np.where(good, median, np.nan)
        out[f"sigma_{name}"] = np.where(good & (half == 2), np.exp(free[:, half * (1 + i)]), np.nan)
    return out


def _quantities(mixture: _Mixture, free: FloatArray, level: float) -> FloatArray:
    """Estimates and Wald intervals on the log or logit scale, shape (5 quantities, 3, groups)."""
    step, derived = 1e-5, partial(_derived, exponential=mixture.exponential)
    centre = derived(free)
    centre[:, 1:4] = mixture.observed_means(free)
    information = -derivatives(mixture, free, np.full(free.shape, 1e-3))[2]
    moves = step * np.eye(mixture.k)
    slope = np.stack([(derived(free + e) - derived(free - e)) / (2.0 * step) for e in moves], axis=-1)
    with np.errstate(all="ignore"):
        error = np.sqrt(np.einsum("gqi,gij,gqj->gq", slope, np.linalg.pinv(information), slope))
        ends = np.stack([centre, *(centre + sign * normal_quantile(level) * error for sign in (-1.0, 1.0))])
        ends[..., 0], ends[..., 1:] = special.expit(ends[..., 0]), np.exp(ends[..., 1:])
    return np.asarray(ends.transpose(2, 0, 1), dtype=np.float64)


def _derived(free: FloatArray, exponential: bool) -> FloatArray:
    """Logit of the quick share, logs of the means of quick, slow and all repairs, log of the split; (..., 5)."""
    share = free[..., 0]
    if exponential:
        quick, slow = free[..., 1], free[..., 2]
        # equal densities: share q exp(-q t) = (1 - share) s exp(-s t) with the rates q > s
        with np.errstate(all="ignore"):
            split = np.log((share + slow - quick) / (np.exp(-quick) - np.exp(-slow)))
    else:
        quick = free[..., 1] + 0.5 * np.exp(2.0 * free[..., 2])
        slow = free[..., 3] + 0.5 * np.exp(2.0 * free[..., 4])
        split = _crossing(free)
    mean = np.logaddexp(special.log_expit(share) + quick, special.log_expit(-share) + slow)
    return np.stack([share, quick, slow, mean, split], axis=-1)


def _crossing(free: FloatArray) -> FloatArray:
    """Log time, beyond the quick median, at which slow becomes as likely as quick; NaN if there is none."""
    share, place_1, spread_1, place_2, spread_2 = (free[..., i] for i in range(5))

    def odds(at: FloatArray) -> FloatArray:
        quick = -0.5 * ((at - place_1) * np.exp(-spread_1)) ** 2 - spread_1
        slow = -0.5 * ((at - place_2) * np.exp(-spread_2)) ** 2 - spread_2
        return np.asarray(share + quick - slow)

    low, high = place_1.copy(), place_2 + 4.0 * np.exp(spread_2)
    there = (odds(low) > 0.0) & (odds(high) < 0.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        quick = odds(middle) > 0.0
        low, high = np.where(quick, middle, low), np.where(quick, high, middle)
    return np.where(there, 0.5 * (low + high), np.nan)
