"""Fleets that are watched for years, in plain NumPy: steady ones, and ones in which something is known to change.

`make(kind, rng)` gives ten years of a steady fleet as two tables, records and nodes. With `change` something happens on
day `at`: ``doubling`` (all rates), ``node`` (the rate of one node times `factor`), ``batch`` (nodes of a new model are
added, which fail `factor` times as often), ``repair`` (one node's next failures come within two days of their repair,
`factor` times), ``slower`` (repairs take `factor` times as long). Nothing here is relfit's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

__all__ = ["KINDS", "START", "WatchedLog", "make"]

START = pd.Timestamp("2015-01-01", tz="UTC")
CAUSES = {"memory": 0.35, "disk": 0.25, "network": 0.15, "power": 0.1, "software": 0.15}
PER_RACK = 20
KINDS = {
    "equal nodes": {},
    "unequal nodes": {"spread": 0.5},
    "good and bad weeks": {"weeks": 0.2},
    "bursts of a node": {"bursts": 0.2},
    "racks fail together": {"racks": 0.1},
    "all of these": {"spread": 0.3, "weeks": 0.1, "bursts": 0.1, "racks": 0.05},
}
"""Variance of the nodes' rates and of the weeks' levels, share of failures that bring one of the same node within two
days or so, share of incidents that hit half of a rack."""


@dataclass(frozen=True)
class WatchedLog:
    """Records (node, system, rack, start, end, cause), nodes (node, system, rack, model, entered) and the end."""

    records: pd.DataFrame
    nodes: pd.DataFrame
    end: pd.Timestamp


def make(
    kind: str,
    rng: np.random.Generator,
    *,
    nodes: int = 200,
    per_year: float = 2.0,
    days: int = 3652,
    change: str = "",
    at: int = 730,
    factor: float = 2.0,
) -> WatchedLog:
    """A fleet of `nodes`, each of which fails about `per_year` times a year."""
    traits = {"spread": 0.0, "weeks": 0.0, "bursts": 0.0, "racks": 0.0, **KINDS[kind]}
    each = rng.gamma(1.0 / traits["spread"], traits["spread"], nodes) if traits["spread"] else np.ones(nodes)
    entered = np.zeros(nodes)
    model = np.where(np.arange(nodes) // PER_RACK % 2 == 0, "A", "B").astype(object)
    if change == "batch":  # a tenth more
        new = max(nodes // 10, 4)
        each, entered = np.append(each, np.full(new, factor)), np.append(entered, np.full(new, float(at)))
        model = np.append(model, np.full(new, "C", object))
    rate = np.tile(each / 365.25 * per_year * (1.0 - traits["bursts"]), (2, 1))  # before the change, and after
    if change == "doubling":
        rate[1] *= factor
    if change == "node":
        rate[1, 7] = factor * per_year / 365.25
    week = np.ones(days // 7 + 1)
    if traits["weeks"]:
        week = rng.gamma(1.0 / traits["weeks"], traits["weeks"], week.size)
    day = np.arange(days)
    level = week[day // 7]
    if change:
        level[at - 7 : at + 400] = 1.0  # so that nothing but the change happens then
    total = level * np.where(day < at, rate[0, entered == 0].sum(), rate[1].sum())
    number = rng.poisson(total)
    when = np.repeat(day, number) + rng.random(number.sum())
    late = when >= at
    node = np.empty(when.size, np.int64)
    for part, who in ((~late, np.where(entered == 0, rate[0], 0.0)), (late, rate[1])):
        node[part] = rng.choice(each.size, int(part.sum()), p=who / who.sum())
    cause = rng.choice(list(CAUSES), when.size, p=list(CAUSES.values()))
    rows = [when, node, cause.astype(object)]
    while traits["bursts"]:
        parent = np.flatnonzero(rng.random(when.size) < traits["bursts"])
        if not parent.size:
            break
        when, node, cause = when[parent] + 0.1 + rng.exponential(2.0, parent.size), node[parent], cause[parent]
        rows = [np.concatenate(pair) for pair in zip(rows, (when, node, cause), strict=True)]
    when, node, cause = rows
    if change == "repair":
        first = at + rng.random()
        again = first + np.cumsum(np.append(0.0, rng.uniform(0.3, 2.0, int(factor))))
        when, node = np.append(when, again), np.append(node, np.full(again.size, 7))
        cause = np.append(cause, np.full(again.size, "memory", object))
    hours = np.exp(np.log(3.0) + rng.standard_normal(when.size))
    if change == "slower":
        hours = np.where(when >= at, factor * hours, hours)
    rack = np.arange(each.size) // PER_RACK
    if traits["racks"]:
        hit = np.flatnonzero(rng.random(when.size) < traits["racks"])
        others = [
            (i, n) for i in hit for n in np.flatnonzero((rack == rack[node[i]]) & (np.arange(each.size) != node[i]))
        ]
        of, which = np.array([pair for pair in others if rng.random() < 0.5]).T
        when, node = np.append(when, when[of] + rng.uniform(0.0, 3e-5, of.size)), np.append(node, which)
        cause, hours = np.append(cause, cause[of]), np.append(hours, hours[of])
    inside = (when < days) & (when >= entered[node])
    order = np.flatnonzero(inside)[np.argsort(when[inside], kind="stable")]
    names = np.array([f"n{i:04d}" for i in range(each.size)], object)
    racks = np.array([f"r{i:02d}" for i in rack], object)
    start = START + pd.to_timedelta((when[order] * 86400).round(), unit="s")
    records = pd.DataFrame(
        {
            "node": names[node[order]],
            "system": "steady",
            "rack": racks[node[order]],
            "start": start,
            "end": start + pd.to_timedelta((hours[order] * 3600).round(), unit="s"),
            "cause": cause[order],
        }
    )
    people = pd.DataFrame({"node": names, "system": "steady", "rack": racks, "model": model})
    people["entered"] = START + pd.to_timedelta(entered, unit="D")
    return WatchedLog(records, people, START + pd.Timedelta(days=days))
