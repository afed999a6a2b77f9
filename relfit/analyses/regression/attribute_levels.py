"""Levels of an attribute: which are compared, which is farthest from the others, what is known of one without failure.

Levels are chosen by the failures that they would have at the mean rate: chosen by those that they had, good ones would
be left out, and bad ones found by chance.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import optimize, special

from relfit.analyses.regression.design import why_text
from relfit.analyses.regression.regression_results import Regression
from relfit.base.arrays import BoolArray, FloatArray
from relfit.base.errors import RelfitError
from relfit.base.numeric.ordering import natural_key
from relfit.base.text import count, first_names

REST = "all other values"
_FEWEST = 5  # expected failures, and nodes behind times, of a level that stands alone
_FEWEST_COUNTED = 3  # nodes behind counts
_CLEAR = 0.01  # chance of so many failures in any of the levels, below which a level with few expected stands alone
_LARGEST_SHARE = 0.25  # levels, by nodes
_NAMED = 10
_FAR = 30.0  # logarithm of a ratio


def failures_of(table: pd.DataFrame) -> pd.Series:
    """Failures of each row: of a node, or whether a duration ended."""
    return table["failures" if "failures" in table else "observed"].astype(float)


def compared_levels(
    values: pd.Series, table: pd.DataFrame, exposure: pd.Series, n_nodes: int, measure: str
) -> tuple[pd.Series, str]:
    """The level of each row, as text, and which are rare: these are joined as `REST`, or missing if few together."""
    groups = values.astype(object).where(values.isna(), values.astype(str))
    failures = failures_of(table).groupby(groups).sum()
    nodes = table[["system", "node"]].astype(str).agg("/".join, axis=1).groupby(groups).nunique()
    if len(nodes) > _LARGEST_SHARE * n_nodes:
        why = why_text(values.name, values)
        raise RelfitError(f"{len(nodes)} levels of {n_nodes} nodes are too many to compare{'; ' if why else ''}{why}")
    share = exposure.groupby(groups).sum() / exposure[groups.notna()].sum()
    expected, fewest = failures.sum() * share, _FEWEST_COUNTED if measure == "failures" else _FEWEST
    by_chance = len(share) * special.betainc(np.maximum(failures, 0.5), failures.sum() - failures + 1.0, share)
    many = (failures >= _FEWEST) & (by_chance < _CLEAR)
    few = (expected < _FEWEST) & ~many | (nodes < fewest)
    if measure == "ttr":
        few |= failures == 0.0
    rare = sorted(failures.index[few], key=natural_key)
    named = [f"{name} ({count(nodes[name], 'node')}, {count(int(failures[name]), 'failure')})" for name in rare]
    told = first_names(named, _NAMED)
    common = groups.where(~groups.isin(rare))
    joined = expected[rare].sum() >= _FEWEST and nodes[rare].sum() >= fewest
    if len(share) - len(rare) + joined < 2:
        which = "no level has" if len(share) == len(rare) else f"only {common.dropna().iloc[0]} has"
        raise RelfitError(f"{which} {fewest} nodes and {_FEWEST} failures at the mean rate of all; left out: {told}")
    if joined:
        return groups.where(~groups.isin(rare), REST), f"joined as {REST}: {told}"
    return common, f"left out: {told}" if rare else ""


def most_frequent(levels: pd.Series, of_nodes: pd.Series) -> str:
    """The level to which others are compared: that of most nodes of the log; `REST` if it is a level."""
    names = sorted(levels.dropna().unique(), key=natural_key)
    if REST in names:
        return REST
    size = of_nodes.dropna().astype(str).value_counts()
    return str(max(names, key=lambda name: size.get(name, 0)))


def farthest_level(levels: pd.Series, table: pd.DataFrame, fit: Regression, reference: str) -> str:
    """The level whose coefficient is most standard errors from the mean of all others in a fit of all levels."""
    coefficients = {str(name).partition("[T.")[2].removesuffix("]"): b for name, b in fit.table["coefficient"].items()}
    coefficients[reference] = 0.0
    if fit.nodes is None:
        information = table["observed"].astype(float)
    else:
        expected, rows = fit.nodes["expected"].to_numpy(), levels.notna() & (table["hours"] > 0.0)
        information = pd.Series(expected / (1.0 + fit.dispersion * expected), levels.index[rows])
    weight = information.groupby(levels).sum()
    value = pd.Series(coefficients, dtype=float).reindex(weight.index)
    others = weight.sum() - weight
    apart = value - ((weight * value).sum() - weight * value) / others
    distance: pd.Series = apart.abs() / np.sqrt(1.0 / weight + 1.0 / others)
    return str(distance.drop(REST, errors="ignore").idxmax())


def without_failure(
    table: pd.DataFrame, inside: BoolArray, exposure: pd.Series, model: str, entry: str | None, level: float
) -> tuple[float, float]:
    """Two-sided p-value that nothing failed `inside`, and the largest ratio of rates there to those elsewhere.
    By the chance of none: binomial (rates), partial likelihood (hazards), ratio of likelihoods (times); its log is
    divided by the ratio of the variances where failures of nodes vary by more than chance.
    """
    failures, hours = failures_of(table).to_numpy(), exposure.to_numpy(dtype=np.float64)
    if "ttf" in table:
        ages = None if entry is None else table[entry].to_numpy(dtype=np.float64)
        of_model = _of_hazards if model == "cox" else _of_times
        log_chance = of_model(table["ttf"].to_numpy(dtype=np.float64), failures > 0.0, ages, inside)
    else:
        log_chance = _of_odds(np.full(int(failures.sum()), hours[inside].sum() / hours[~inside].sum()))
    varies = _variance_ratio(table[~inside], failures[~inside], hours[~inside])
    least = np.log(0.5 * (1.0 - level)) * varies
    high = np.inf
    if log_chance(_FAR) < least:
        high = float(np.exp(optimize.brentq(lambda at: log_chance(at) - least, -_FAR, _FAR)))
    return min(1.0, 2.0 * float(np.exp(log_chance(0.0) / varies))), high


def _of_odds(odds: FloatArray) -> Callable[[float], float]:
    """Logarithm of the chance that each failure falls elsewhere, by the log ratio of the rates."""
    return lambda log_ratio: -float(np.log1p(np.exp(log_ratio) * odds).sum())


def _of_hazards(
    durations: FloatArray, failed: BoolArray, entry: FloatArray | None, inside: BoolArray
) -> Callable[[float], float]:
    """That chance by who was at risk at each failure."""
    times = durations[failed]

    def at_risk(rows: BoolArray) -> FloatArray:
        number = rows.sum() - np.searchsorted(np.sort(durations[rows]), times)
        return number if entry is None else number - (rows.sum() - np.searchsorted(np.sort(entry[rows]), times))

    return _of_odds(at_risk(inside) / at_risk(~inside))


def _of_times(
    durations: FloatArray, failed: BoolArray, entry: FloatArray | None, inside: BoolArray
) -> Callable[[float], float]:
    """Log-likelihood of a Weibull distribution less that without those inside, by the log of how much shorter lives."""
    end = durations / durations.max()
    start = np.zeros_like(end) if entry is None else entry / durations.max()
    number, logs = failed.sum(), np.log(end[failed]).sum()

    def maximum(log_ratio: float) -> float:
        def negative(log_shape: float) -> float:
            shape = np.exp(log_shape)
            passed = (end**shape - start**shape) * np.where(inside, np.exp(shape * log_ratio), 1.0)
            return float(number * np.log(passed.sum()) - number * log_shape - shape * logs)

        return -float(optimize.minimize_scalar(negative, bounds=(-3.0, 3.0), method="bounded").fun)

    without = maximum(-np.inf)
    return lambda log_ratio: maximum(log_ratio) - without


def _variance_ratio(table: pd.DataFrame, failures: FloatArray, hours: FloatArray) -> float:
    """Variance of the failures of nodes by that of chance, at least 1; 1 for lives of units."""
    nodes = table.groupby(["system", "node"], observed=True).ngroup().to_numpy()
    number = int(nodes.max()) + 1
    if "failures" not in table and number == len(nodes):
        return 1.0
    expected = np.bincount(nodes, hours) * failures.sum() / hours.sum()
    return max(1.0, float(np.square(np.bincount(nodes, failures) - expected).sum() / expected.sum()))
