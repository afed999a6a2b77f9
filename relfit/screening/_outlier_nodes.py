"""Nodes whose failure rate is above what chance explains, one by one and as a class of their own.

One by one: the exact test of `relfit.screening.tallies.by_node`, with false-discovery control over all nodes. As a
class: a share of the nodes fails at a multiple of the rate of the others (`relfit.screening.rate_mixtures`), and every
node has a probability to be one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relfit.results import Result, json_ready
from relfit.screening.rate_mixtures import rate_classes
from relfit.screening.tallies import NodeTally, by_node
from relfit.text import number, percent

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["OutlierNodes", "outlier_nodes"]

_SIZE = 0.05  # of the test of one class against two


@dataclass(frozen=True, eq=False, repr=False)
class OutlierNodes(Result):
    """Nodes against equal nodes, and the mixture of two classes of nodes.

    Attributes
    ----------
    nodes : pandas.DataFrame
        One row per node, most significant first: the columns of `NodeTally.table` and ``posterior``, the probability to
        be of the class with the higher rate (NaN where the mixture was not fitted).
    classes : pandas.DataFrame
        One row per system: ``system``, and the columns of `relfit.screening.rate_mixtures.rate_classes`.
    alpha : float
        False-discovery rate of the tests of single nodes.
    level : float
        Level of the intervals.
    without_node : int
        Records that name no node and are not counted.
    """

    nodes: pd.DataFrame
    classes: pd.DataFrame
    alpha: float
    level: float
    without_node: int

    _not_in_json = ("nodes",)

    @property
    def outliers(self) -> pd.DataFrame:
        """The outlier nodes."""
        return self.nodes[self.nodes["outlier"]]

    @property
    def headline(self) -> str:
        """What it means for a fit."""
        text = NodeTally(self.nodes, self.without_node, self.alpha).headline
        if not self.nodes["events"].sum():
            return text
        if len(self.classes) == 1:
            return text.rstrip(".") + _about_classes(self.classes.iloc[0]) + "."
        described = self.classes["description"].where(self.classes["p"] <= _SIZE)
        two, spread = (int((described == name).sum()) for name in ("two_classes", "spread"))
        return (
            f"{text} In {two} of {len(self.classes)} systems two classes of nodes describe the counts best, in "
            f"{spread} a continuous spread of rates."
        )

    def to_frame(self) -> pd.DataFrame:
        """`nodes`."""
        return self.nodes

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; of the nodes, the outlier nodes."""
        return super().to_dict() | json_ready({"nodes": self.outliers.reset_index(drop=True)})


def _about_classes(row: pd.Series) -> str:
    """What the mixture of one system adds to the headline."""
    if row["status"] != "ok" or not (np.isnan(row["p"]) or row["p"] <= _SIZE) or row["description"] == "equal":
        return ""

    def shown(name: str, words: Any) -> tuple[str, str, str]:
        return words(row[name]), words(row[f"{name}_low"]), words(row[f"{name}_high"])

    def plain(value: float) -> str:
        return number(value, 2)

    share, ratio, spread = shown("fraction", percent), shown("ratio", plain), shown("spread", plain)
    mixture = (
        f"{share[0]} of the nodes ({share[1]} to {share[2]}) fail {ratio[0]} times as often as the others ({ratio[1]} "
        f"to {ratio[2]})"
    )
    degrees = f"rates that differ by degrees (coefficient of variation {spread[0]}, {spread[1]} to {spread[2]})"
    if row["description"] == "spread":
        return (
            f". No class of bad nodes stands apart: {degrees} describe the counts better than two classes (BIC lower "
            f"by {-row['advantage']:.0f}), which would sum them up as {share[0]} at {ratio[0]} times the rate of the "
            "others"
        )
    if row["description"] == "either":
        return f". As a class, {mixture}; but {degrees} describe the counts as well"
    return f". As a class, {mixture}"


def outlier_nodes(
    log: FailureLog,
    *,
    alpha: float = 0.05,
    level: float = 0.95,
    n_resamples: int = 199,
    rng: int | np.random.Generator | None = 0,
) -> OutlierNodes:
    """Find the nodes of every system that fail more often than equal nodes would.

    Failures of a node are its records; those of an incident that hit many nodes count for each of them.

    Parameters
    ----------
    log : FailureLog
    alpha : float
        Rate of false discoveries among the outlier nodes (Benjamini-Hochberg).
    level : float
        Level of the intervals.
    n_resamples : int
        Simulated logs behind the test of one class against two; 0 for no test.
    rng : int or numpy.random.Generator

    Returns
    -------
    OutlierNodes

    Raises
    ------
    ArgumentError
        For a level or alpha outside 0..1, or a negative number of resamples.

    Examples
    --------
    >>> import relfit as rf
    >>> result = outlier_nodes(rf.datasets.load("white"), n_resamples=0)
    >>> result.classes.loc[0, "status"], len(result.outliers)
    ('ok', 128)
    """
    tally = by_node(log, alpha)
    nodes = tally.table
    codes, systems = pd.factorize(nodes["system"], sort=False)
    classes, posterior = rate_classes(
        nodes["events"], nodes["hours"], codes, level=level, n_resamples=n_resamples, rng=rng
    )
    classes.insert(0, "system", np.asarray(systems, dtype=object)[classes.pop("group").to_numpy()])
    nodes = nodes.assign(posterior=posterior)
    nodes = nodes.sort_values(["p", "ratio"], ascending=[True, False], kind="stable", ignore_index=True)
    return OutlierNodes(nodes, classes, alpha, level, tally.without_node)
