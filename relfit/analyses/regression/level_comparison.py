"""The levels of a category that a comparison has: which are joined, what they are compared to, which is farthest."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.analyses.regression.regression_results import Regression
from relfit.base.errors import RelfitError
from relfit.base.numeric.ordering import natural_key

REST = "all other values"
_FEWEST = 5  # failures, and nodes behind times, of a level that stands alone: standard errors of fewer are too small
_FEWEST_COUNTED = 3  # nodes behind counts
_LARGEST_SHARE = 0.25  # levels, by nodes


def compared_levels(values: pd.Series, table: pd.DataFrame, n_nodes: int) -> pd.Series:
    """The level of each row, as text: rare ones are joined as `REST`, or missing if they are few together.

    A `RelfitError` for so many levels that they nearly name the nodes, and for one level.
    """
    counted = "observed" not in table
    groups = values.astype(object).where(values.isna(), values.astype(str))
    failures = table["failures" if counted else "observed"].astype(float).groupby(groups).sum()
    nodes = table[["system", "node"]].astype(str).agg("/".join, axis=1).groupby(groups).nunique()
    fewest = _FEWEST_COUNTED if counted else _FEWEST
    rare = failures.index[(failures < _FEWEST) | (nodes < fewest)]
    if len(nodes) > _LARGEST_SHARE * n_nodes:
        raise RelfitError(f"{len(nodes)} levels of {n_nodes} nodes are too many to compare")
    if failures[rare].sum() >= _FEWEST and nodes[rare].sum() >= fewest:
        groups = groups.where(~groups.isin(rare), REST)
    else:
        groups = groups.where(~groups.isin(rare))
    if groups.nunique() < 2:
        raise RelfitError(f"only one level has {fewest} nodes and {_FEWEST} failures")
    return groups


def most_frequent(levels: pd.Series, of_nodes: pd.Series) -> str:
    """The level to which others are compared: that of most nodes, the first in natural order of equal ones.

    It follows from the nodes of the log alone, so it is the same whatever is compared. `REST` if it is a level.
    """
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
