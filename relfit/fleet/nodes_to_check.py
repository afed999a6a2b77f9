"""The nodes of a fleet by their rate of now, and which of them to check."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np
import pandas as pd
from scipy import special

from relfit.base.text import first_names
from relfit.fleet.fleet_parts import FleetParts
from relfit.fleet.surveillance import nodes_of_late
from relfit.log.failurelog import FailureLog

_OFTEN, _FALSE = 2.0, 0.05  # outliers: multiple of the mean rate; expected share of false ones
_NAMED = 3


def nodes_now(model: FleetParts, log: FailureLog | None) -> pd.DataFrame:
    """The table of `FleetModel.nodes_now`; `log` is that of now, None for the long run."""
    there = np.flatnonzero(model.standing.present)
    factor, system = model.node_multipliers[there], model.places.system[there]
    factor = factor / (np.bincount(system, factor) / np.bincount(system).clip(1))[system]  # of the nodes there
    tail = 0.5 - model.level / 2.0
    if model.multiples is not None:
        multiples = model.multiples.take(there)
        times = factor / multiples.rate  # so that the mean over the nodes is one
        low, high = (multiples.quantile(p) * times for p in (tail, 1.0 - tail))
        probability = multiples.above(_OFTEN / times)
    else:
        posterior = model.renewals["node"].posterior[there, 0]
        shape = np.where(np.isfinite(posterior), posterior, 1e9)
        low, high = (special.gammaincinv(shape, p) / shape * factor for p in (tail, 1.0 - tail))
        probability = special.gammaincc(shape, _OFTEN * shape / np.maximum(factor, 1e-300))
    order = np.lexsort((-factor, -probability))
    wrong = np.cumsum(1.0 - probability[order]) / np.arange(1, order.size + 1)
    outlier = np.zeros(order.size, np.bool_)
    outlier[order] = (wrong <= _FALSE) & (probability[order] > 0.5)
    nodes = model.places.nodes[there]
    frame = pd.DataFrame({"system": nodes.get_level_values(0), "node": nodes.get_level_values(-1)})
    frame = frame.assign(factor=factor, factor_low=low, factor_high=high, probability=probability, outlier=outlier)
    late = {} if log is None else nodes_of_late(log).to_dict()
    pairs = zip(frame["system"].astype(str), frame["node"].astype(str), strict=True)
    frame["lately"] = [late.get(pair, "") for pair in pairs]
    frame["check"] = frame["outlier"] | (frame["lately"] != "")
    return frame.iloc[np.argsort(-factor, kind="stable")].reset_index(drop=True)


def standing_out_lately(now: pd.DataFrame) -> str:
    """The nodes of `nodes_now` that stand out lately but are not known to fail at twice the mean; empty without one."""
    named = now[(now["lately"] != "") & ~now["outlier"]]
    if not len(named):
        return ""
    several = len(now["system"].unique()) > 1

    def of(row: Mapping[Hashable, object]) -> str:
        whose = f" of system {row['system']}" if several else ""
        return f"{row['node']}{whose} ({row['lately']})"

    does = "node stands" if len(named) == 1 else "nodes stand"
    return f"{len(named):,} {does} out lately: {first_names(map(of, named.to_dict('records')), _NAMED)}"
