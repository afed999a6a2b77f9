"""Scores of rankings of nodes: by their current rates, compared with past counts of failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from relfit.backtesting.origins import DAY, SystemPast
from relfit.backtesting.prediction_scores import area_under_curve, first_share
from relfit.base.arrays import FloatArray
from relfit.fleet import FleetModel
from relfit.log.outages import outages_of

FIRST = 0.05  # of the nodes
_KINDS = (("nodes", "ranking", 30), ("nodes", "first", 30), ("decisions", "drain", 90))  # days ahead
_PAST = (365, 90)  # days of the counts


class NodeScores:
    """Failures of the nodes of one system."""

    def __init__(self, past: SystemPast) -> None:
        outages = outages_of(past.log)
        self.past, self.nodes = past, outages.groups
        self.code, self.start = outages.code[outages.failures], outages.start[outages.failures]

    def failures(self, since: int, until: int, nodes: pd.Index) -> FloatArray:
        """Number of outages of each node that began from `since` to before `until`, nanoseconds."""
        inside = (self.start >= since) & (self.start < until)
        number = np.bincount(self.code[inside], minlength=len(self.nodes)).astype(np.float64)
        return np.asarray(number[self.nodes.get_indexer(nodes)])

    def rows(self, origin: int, model: FleetModel) -> list[dict[str, Any]]:
        """Rows of one origin: the ranking of the nodes present, and failures that draining the first would avoid."""
        there = model.standing.present
        nodes, rates = model.places.nodes[there], np.asarray(model.node_rates)[there]
        if len(nodes) < 1.0 / FIRST or not rates.sum() > 0.0:
            return []
        counts = [self.failures(origin - days * DAY, origin, nodes) for days in _PAST]
        rows = []
        for part, of, days in _KINDS:
            if not self.past.lasts(origin, 24.0 * days):
                continue
            following = self.failures(origin, origin + days * DAY, nodes)
            if of == "ranking":
                scores = [area_under_curve(rank, following > 0.0) for rank in (rates, *counts)]
            else:
                scores = [first_share(rank, following, FIRST) for rank in (rates, *counts)]
            if np.isnan(scores).any():
                continue
            row = self.past.row(part, of, origin, 24.0 * days, score=scores[0])
            row |= {f"score_{i}": score for i, score in enumerate(scores[1:], 1)}
            if of != "ranking":
                row |= {"predicted": first_share(rates, rates, FIRST), "seen": scores[0]}
            if of == "drain":
                row["size"] = float(max(round(FIRST * len(nodes)), 1))
                row["number"] = scores[0] * following.sum()
            rows.append(row)
        return rows
