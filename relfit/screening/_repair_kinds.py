"""Repair times as a mixture of quick and slow repairs, by cause.

A reboot takes minutes, a part that must be ordered takes days. Two laws of two kinds of repair are fitted: two
exponentials (hyperexponential) and two lognormals (by EM, then Newton's method from where it ended). The split is the
time at which a repair is as likely to be quick as slow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import special, stats

from relfit.errors import ArgumentError
from relfit.lifedata import LifeData, key_columns
from relfit.numeric.newton import derivatives, maximise

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["MODELS", "ONE_CLASS", "RepairKinds", "repair_kinds"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MODELS = ("hyperexponential2", "lognormal2")
ONE_CLASS = ("exponential", "lognormal", "weibull", "gamma")
"""Laws of one class that two classes are held against."""
_QUANTITIES = ("share_quick", "mean_quick", "mean_slow", "mean", "split")
_ITERATIONS = 60
_ROWS = 100_000  # of different repair times; more are taken in classes 0.2 % wide
_LEAST = 10  # repairs, and three of them of either kind


@dataclass(frozen=True, eq=False)
class RepairKinds:
    """Quick and slow repairs of every group.

    Attributes
    ----------
    table : pandas.DataFrame
        A row a group and model: the group's columns, ``model``, ``repairs``, ``censored``, ``share_quick``,
        ``mean_quick``, ``mean_slow``, ``mean`` and ``split`` (hours), each with ``_low`` and ``_high``; ``loglik``,
        ``aic``; ``one``, the law that describes the repairs best as one class (of `ONE_CLASS`, by BIC) and its
        ``aic_one``; ``status``; ``median_quick``, ``median_slow`` (hours) and, of lognormals, ``sigma_quick``,
        ``sigma_slow`` (of the logs).

        Status: ``"ok"``; ``"too_few"`` (fewer than ten repairs with a known end); ``"one_class"`` (two classes are no
        better than the best single law by BIC; numbers are given all the same, ``split`` may be NaN); ``"no_split"``
        (two classes, but no time from which on a repair is more likely slow; ``split`` is NaN); ``"hollow"`` (a class
        rests on fewer than three repairs), ``"not_found"`` (no maximum inside): no numbers.
    zero : int
        RepairKinds of no length, which are left out.
    level : float
        Level of the intervals (Wald, on the log or logit scale).
    lives : LifeData or None
        The repairs, for the picture.
    """

    table: pd.DataFrame
    zero: int
    level: float
    lives: LifeData | None = None

    def best(self) -> pd.DataFrame:
        """The model with the lowest AIC in each group; groups without one stay with their status."""
        keys = list(self.table.columns[: self.table.columns.get_loc("model")])
        ranked = self.table.sort_values("aic", kind="stable", na_position="last")
        return ranked.groupby(keys, sort=False, observed=True).head(1).sort_index().reset_index(drop=True)

    @property
    def sentence(self) -> str:
        """What it means for a planner."""
        rows = self.best()
        if not (rows["repairs"] > 0).any():
            return "No repair has a known end, so nothing can be said about quick and slow ones."
        two = rows[rows["status"] == "ok"]
        if not len(two):
            return "No group of repairs falls into quick and slow ones: one mean repair time describes each."
        row = two.sort_values("repairs", ascending=False).iloc[0]
        keys = ", ".join(str(row[k]) for k in rows.columns[: rows.columns.get_loc("model")])
        return (
            f"In {len(two)} of {len(rows)} groups repairs are of two kinds; the group with most repairs is {keys}: "
            f"{100.0 * row['share_quick']:.0f} % are quick ({row['mean_quick']:.3g} h on average), the others take "
            f"{row['mean_slow']:.3g} h; a repair longer than {row['split']:.3g} h is more likely a slow one."
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the quick and slow repairs of every group; see `relfit.plotting.repair_classes`."""
        from relfit import plotting

        return plotting.repair_classes(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """A row a group and model."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        frame = self.table.astype(object)
        rows = frame.where(frame.notna() & ~frame.isin([np.inf, -np.inf]), None).to_dict("records")
        return {"zero": self.zero, "level": self.level, "rows": rows, "sentence": self.sentence}

    def __repr__(self) -> str:
        return f"RepairKinds: {self.sentence}"

    def _repr_html_(self) -> str:
        from html import escape

        table = self.best().to_html(escape=True, index=False, float_format="{:.4g}".format)
        return f"<p>{escape(self.sentence)}</p>{table}"


def repair_kinds(
    log: FailureLog | LifeData, per: str = "cause", *, models: tuple[str, ...] = MODELS, level: float = 0.95
) -> RepairKinds:
    """Split the repair times of every group into quick and slow ones.

    Parameters
    ----------
    log : FailureLog or LifeData
        Of a log, the durations of its outages; those cut off by the window are right-censored.
    per : str
        As for `FailureLog.lives`; of a log.
    models : tuple of str
        Of `MODELS`.
    level : float

    Returns
    -------
    RepairKinds

    Raises
    ------
    ArgumentError
        For an unknown model, a level outside 0..1, or lives with intervals, truncation or weights.

    Examples
    --------
    >>> from relfit.families import Lognormal
    >>> import relfit as rf
    >>> quick, slow = Lognormal(-1.0, 0.5).sample(600, rng=1), Lognormal(3.0, 0.7).sample(200, rng=2)
    >>> found = repair_kinds(rf.LifeData.from_array(np.concatenate([quick, slow])), models=("lognormal2",))
    >>> found.table.loc[0, ["share_quick", "split"]].astype(float).round(2).tolist()
    [0.75, 2.12]
    """
    for name in models:
        if name not in MODELS:
            raise ArgumentError(f"model {name!r} is not known", remedy=f"use one of {', '.join(MODELS)}")
    if not models:
        raise ArgumentError("no model was given", remedy=f"use one of {', '.join(MODELS)}")
    if not 0.0 < level < 1.0:
        raise ArgumentError(f"level {level} is not between 0 and 1", remedy="95 % is 0.95")
    lives = log if isinstance(log, LifeData) else log.ttr(per)
    if not lives.plain:
        raise ArgumentError("quick and slow repairs are told apart in observed or right-censored ones only")
    zero = int(lives.n_zeros.sum())
    if lives.counts is not None and "zero_repairs" in lives.counts:
        zero += int(lives.counts["zero_repairs"].sum())
    data = _Data.of(lives)
    keys = key_columns(lives.groups).reset_index(drop=True)
    usable = np.flatnonzero(data.total(data.observed) >= _LEAST)
    single = _one_class(data.take(usable))
    parts = []
    for order, name in enumerate(models):
        part = keys.copy()
        part["model"] = name
        for column, values in _fit(data, name, level, usable, single).items():
            part[column] = values
        part["_at"] = np.arange(len(part)) * len(models) + order
        parts.append(part)
    table = pd.concat(parts, ignore_index=True).sort_values("_at", ignore_index=True).drop(columns="_at")
    return RepairKinds(table, zero, level, lives)


@dataclass(frozen=True)
class _Data:
    """RepairKinds above zero as flat arrays sorted by group; equal ones are one row with a weight."""

    code: IntArray
    time: FloatArray
    observed: npt.NDArray[np.bool_]
    weight: FloatArray
    n_groups: int

    @classmethod
    def of(cls, lives: LifeData) -> _Data:
        kept = lives.durations > 0.0
        code, time, observed = lives.group_codes()[kept], lives.durations[kept], lives.observed[kept]
        rows, weight = _equal(code, time, observed)
        if rows.size > _ROWS:
            time = np.exp(np.round(np.log(time) * 500.0) / 500.0)
            rows, weight = _equal(code, time, observed)
        return cls(code[rows], time[rows], observed[rows], weight, lives.n_groups)

    @property
    def durations(self) -> FloatArray:
        return self.time  # by its size the search divides its work

    def take(self, positions: IntArray) -> _Data:
        place = np.full(self.n_groups, -1, dtype=np.int64)
        place[positions] = np.arange(positions.size)
        mine = place[self.code] >= 0
        code = place[self.code[mine]]
        order = np.argsort(code, kind="stable")
        kept = np.flatnonzero(mine)[order]
        return _Data(code[order], self.time[kept], self.observed[kept], self.weight[kept], positions.size)

    def total(self, values: npt.NDArray[Any]) -> FloatArray:
        return np.bincount(self.code, values * self.weight, self.n_groups).astype(np.float64)


def _equal(code: IntArray, time: FloatArray, observed: npt.NDArray[np.bool_]) -> tuple[IntArray, FloatArray]:
    """The first of each kind of equal rows, in the order of groups and times, and how many there are."""
    order = np.lexsort((time, observed, code))
    fresh = np.ones(order.size, dtype=np.bool_)
    for values in (code[order], time[order], observed[order]):
        fresh[1:] &= values[1:] == values[:-1]
    fresh[1:] = ~fresh[1:]
    heads = np.flatnonzero(fresh)
    return order[heads], np.diff(np.append(heads, order.size)).astype(np.float64)


class _Mixture:
    """Log-likelihood of two classes: logit of the quick share, then location and log spread of each log repair time.

    The hyperexponential has no spreads: its locations are the logs of the means.
    """

    def __init__(self, data: _Data, model: str) -> None:
        self.lives, self.model = data, model

    @property
    def n_groups(self) -> int:
        return self.lives.n_groups

    def take(self, positions: IntArray) -> _Mixture:
        return _Mixture(self.lives.take(positions), self.model)

    def parts(self, free: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log of share times density (survival where censored) of both classes; shape (..., repairs)."""
        d = self.lives
        rows = free[..., d.code, :]
        shares = special.log_expit(rows[..., 0]), special.log_expit(-rows[..., 0])
        log, out = np.log(d.time), []
        for i, share in enumerate(shares):
            if self.model == "hyperexponential2":
                away = log - rows[..., 1 + i]
                value = np.where(d.observed, -rows[..., 1 + i], 0.0) - np.exp(away)
            else:
                place, spread = rows[..., 1 + 2 * i], rows[..., 2 + 2 * i]
                z = (log - place) * np.exp(-spread)
                density = -0.5 * z * z - spread - log - 0.5 * np.log(2.0 * np.pi)
                value = np.where(d.observed, density, special.log_ndtr(-z))
            out.append(share + value)
        return out[0], out[1]

    def __call__(self, free: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            each = np.logaddexp(*self.parts(free)) * self.lives.weight
            total = np.zeros(free.shape[:2])
            present, starts = np.unique(self.lives.code, return_index=True)
            if present.size:
                total[:, present] = np.add.reduceat(each, starts, axis=1)
        total[~np.isfinite(total)] = -np.inf
        return total


def _starts(data: _Data, model: str) -> list[FloatArray]:
    """Where EM ends from splits at three quantiles of every group, in free coordinates."""
    log = np.log(data.time)
    order = np.lexsort((log, data.code))
    size = data.total(np.ones(log.size))
    rank = np.empty(log.size)
    rank[order] = np.cumsum(data.weight[order]) - 0.5 * data.weight[order]
    place = (rank - (np.cumsum(size) - size)[data.code]) / np.maximum(size, 1.0)[data.code]
    out = []
    for cut in (0.25, 0.5, 0.8):
        share = np.where(place < cut, 0.95, 0.05)
        free = _free_of(data, model, share, None)
        for _ in range(_ITERATIONS):
            with np.errstate(all="ignore"):
                quick, slow = _Mixture(data, model).parts(free)
                share = special.expit(quick - slow)
            new = _free_of(data, model, np.where(np.isfinite(share), share, 0.5), free)
            moved = np.abs(new - free)
            free = new
            if not np.any(moved > 1e-5):
                break
        out.append(free)
    return out


def _free_of(data: _Data, model: str, share: FloatArray, before: FloatArray | None) -> FloatArray:
    """What EM makes of the probability of each repair to be quick.

    A censored repair counts with the part that is expected to come, which the exponential has in closed form; for
    lognormals its log is completed by the mean and the variance of the truncated normal.
    """
    log, columns = np.log(data.time), []
    size = np.maximum(data.total(np.ones(log.size)), 1.0)
    with np.errstate(all="ignore"):
        w = np.clip(data.total(share) / size, 1e-4, 1.0 - 1e-4)
        columns.append(special.logit(w))
        for i, part in enumerate((share, 1.0 - share)):
            if model == "hyperexponential2":
                mean = data.total(part * data.time) / np.maximum(data.total(part * data.observed), 1e-9)
                columns.append(np.log(np.maximum(mean, 1e-300)))
                continue
            first, second = log, log**2
            if before is not None and not data.observed.all():
                place, spread = before[data.code, 1 + 2 * i], np.exp(before[data.code, 2 + 2 * i])
                z = (log - place) / spread
                ahead = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - special.log_ndtr(-z))
                tail = place + spread * ahead
                square = place**2 + 2.0 * place * spread * ahead + spread**2 * (1.0 + z * ahead)
                first = np.where(data.observed | ~np.isfinite(tail), log, tail)
                second = np.where(data.observed | ~np.isfinite(square), log**2, square)
            number = np.maximum(data.total(part), 1e-9)
            middle = data.total(part * first) / number
            variance = np.maximum(data.total(part * second) / number - middle**2, 1e-4)
            columns += [middle, 0.5 * np.log(variance)]
    return np.stack(columns, axis=-1)


def _fit(data: _Data, model: str, level: float, usable: IntArray, single: _OneClass) -> dict[str, npt.NDArray[Any]]:
    groups, k = data.n_groups, 3 if model == "hyperexponential2" else 5
    ended = data.total(data.observed)
    status = np.where(ended < _LEAST, "too_few", "not_found").astype(object)
    out: dict[str, npt.NDArray[Any]] = {
        "repairs": ended.astype(np.int64),
        "censored": data.total(~data.observed).astype(np.int64),
    }
    for name in _QUANTITIES:
        for end in ("", "_low", "_high"):
            out[name + end] = np.full(groups, np.nan)
    loglik, aic_one, one = np.full(groups, np.nan), np.full(groups, np.nan), np.full(groups, None, dtype=object)
    aic_one[usable], one[usable] = single.aic, single.name
    if usable.size:
        part = data.take(usable)
        objective = _Mixture(part, model)
        free, value = np.full((usable.size, k), np.nan), np.full(usable.size, -np.inf)
        information = np.full((usable.size, k, k), np.nan)
        for start in _starts(part, model):
            best = maximise(objective, start)
            better = best.found & (best.value > value + 1e-9)
            free[better], value[better] = best.free[better], best.value[better]
        found = np.isfinite(value)
        free[found] = _quick_first(free[found], model)
        if found.any():  # after an exchange of the classes the information belongs to exchanged coordinates
            inner = objective.take(np.flatnonzero(found))
            information[found] = -derivatives(inner, free[found], np.full((int(found.sum()), k), 1e-3))[2]
        quick, slow = objective.parts(np.where(np.isfinite(free), free, 0.0))
        probability = special.expit(quick - slow)
        least = np.minimum(part.total(probability * part.observed), part.total((1.0 - probability) * part.observed))
        hollow = found & (least < 3.0)
        good = found & ~hollow
        status[usable[hollow]] = "hollow"
        rows = np.flatnonzero(good)
        if rows.size:
            values, lows, highs = _quantities(objective.take(rows), free[rows], information[rows], model, level)
            for name in _QUANTITIES:
                for end, source in (("", values), ("_low", lows), ("_high", highs)):
                    out[name + end][usable[rows]] = source[name]
            loglik[usable[rows]] = value[rows]
            better = k * np.log(ended[usable[rows]]) - 2.0 * value[rows] < single.bic[rows]
            word = np.where(np.isnan(values["split"]), "no_split", "ok")
            status[usable[rows]] = np.where(better, word, "one_class")
    out["loglik"] = loglik
    out["aic"] = 2.0 * k - 2.0 * loglik
    out["one"] = one
    out["aic_one"] = aic_one
    out["status"] = status
    for name in ("median_quick", "median_slow", "sigma_quick", "sigma_slow"):
        out[name] = np.full(groups, np.nan)
    if usable.size:
        rows = np.flatnonzero(good)
        for i, name in enumerate(("quick", "slow")):
            place = free[rows, 1 + i * ((k - 1) // 2)]
            lognormal = model != "hyperexponential2"
            out[f"median_{name}"][usable[rows]] = np.exp(place) * (1.0 if lognormal else np.log(2.0))
            if lognormal:
                out[f"sigma_{name}"][usable[rows]] = np.exp(free[rows, 2 + 2 * i])
    return out


def _quick_first(free: FloatArray, model: str) -> FloatArray:
    """The same mixture with the class of the smaller median as the first."""
    half = (free.shape[-1] - 1) // 2
    turn = free[:, 1] > free[:, 1 + half]
    turned = np.concatenate([-free[:, :1], free[:, 1 + half :], free[:, 1 : 1 + half]], axis=1)
    return np.where(turn[:, None], turned, free)


@dataclass(frozen=True)
class _OneClass:
    """The best single law of every group, by BIC; the number of ended repairs counts."""

    name: npt.NDArray[np.object_]
    bic: FloatArray
    aic: FloatArray


def _one_class(data: _Data) -> _OneClass:
    from relfit.fitting import fit

    name = np.full(data.n_groups, None, dtype=object)
    bic, aic = np.full(data.n_groups, np.inf), np.full(data.n_groups, np.nan)
    if not data.n_groups:
        return _OneClass(name, bic, aic)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(data.code, minlength=data.n_groups))]).astype(np.int64)
    lives = LifeData(
        data.time, data.observed, offsets, pd.RangeIndex(data.n_groups), weights=data.weight.astype(np.int64)
    )
    ended = data.total(data.observed)
    for law, found in fit(lives, ONE_CLASS, bootstrap=0).results.items():
        k = len(found.family.parameter_names())
        value = k * np.log(ended) - 2.0 * found.loglik
        better = found.ok & (value < bic)
        name[better], bic[better] = law, value[better]
        aic[better] = 2.0 * k - 2.0 * found.loglik[better]
    return _OneClass(name, bic, aic)


def _derived(free: FloatArray, model: str) -> FloatArray:
    """Logit of the quick share, logs of the means of quick, slow and all repairs, log of the split; (..., 5)."""
    share = free[..., 0]
    if model == "hyperexponential2":
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
    place_1, spread_1, place_2, spread_2 = (free[..., i] for i in range(1, 5))

    def odds(at: FloatArray) -> FloatArray:
        first = -0.5 * ((at - place_1) * np.exp(-spread_1)) ** 2 - spread_1
        second = -0.5 * ((at - place_2) * np.exp(-spread_2)) ** 2 - spread_2
        return np.asarray(free[..., 0] + first - second)

    low, high = place_1.copy(), place_2 + 4.0 * np.exp(spread_2)
    there = (odds(low) > 0.0) & (odds(high) < 0.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        quick = odds(middle) > 0.0
        low, high = np.where(quick, middle, low), np.where(quick, high, middle)
    return np.where(there, 0.5 * (low + high), np.nan)


def _quantities(
    objective: _Mixture, free: FloatArray, information: FloatArray, model: str, level: float
) -> tuple[dict[str, FloatArray], dict[str, FloatArray], dict[str, FloatArray]]:
    centre = _derived(free, model)
    k, step = free.shape[1], 1e-5
    slope = np.stack(
        [(_derived(free + step * e, model) - _derived(free - step * e, model)) / (2.0 * step) for e in np.eye(k)],
        axis=-1,
    )
    with np.errstate(all="ignore"):
        covariance = np.linalg.pinv(information)
        error = np.sqrt(np.einsum("gqi,gij,gqj->gq", slope, covariance, slope))
    z = float(stats.norm.ppf(0.5 + 0.5 * level))
    ends = []
    for side in (0.0, -z, z):
        with np.errstate(over="ignore", invalid="ignore"):
            at = centre + (side * error if side else 0.0)
            values = [special.expit(at[:, 0]), *(np.exp(at[:, i]) for i in range(1, 5))]
        ends.append(dict(zip(_QUANTITIES, values, strict=True)))
    return ends[0], ends[1], ends[2]
