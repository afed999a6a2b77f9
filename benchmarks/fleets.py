"""Twenty fleets whose truth is known, in plain NumPy: nothing here is relfit's, so that relfit can be held to it.

    python benchmarks/fleets.py [--only NAME] [--hours 3000000]      # writes fleets_truth.json, about 20 minutes

Each fleet has nodes in racks. A node's own failures are a renewal process on the hours that it works: outages of a
rack, of the nodes behind a switch or of the whole system stop its clock and do not reset it, its own repair does.
Outages of these wider scopes are Poisson processes in calendar time. The union of a node's records is the time that it
was down.

What is true (`truth`), by long simulation:

- ``mtbf``: hours of work of all nodes for each failure of their own, in the long run (exact).
- ``mttf``: hours between incidents of any scope in the whole fleet; ``incidents``: those expected in the next 30 days.
- ``reliability K packed|spread``: the share of jobs on K nodes that no outage of any of their nodes meets in 24 hours.
  The job starts at a random instant at which all its nodes are up. ``packed``: consecutive nodes in the order of racks,
  the first one at random. ``spread``: every rack has the same number of the job's nodes or one more, at random.
- ``checkpoint_every`` and ``waste`` of a job on all nodes without spares. The job runs while all nodes are up. After an
  interruption it waits until they are, restarts for 10 minutes, and then works for ``checkpoint_every``, saves for 5
  minutes, and so on; what was not saved is lost. ``waste`` is one minus saved work by calendar time, and
  ``checkpoint_every`` makes it least. ``waste_running`` is by the time in which all nodes are up.
- ``spares``: the least number that nodes down (for anything but an outage of the whole system) exceed at most 1 % of
  the time.

A fleet that was new when its log began is asked about the 30 days after the log's end, one that became better about the
time after that, all others about any time.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

__all__ = ["FLEETS", "Fleet", "History", "count_jobs", "history", "log_frame", "population_frame", "truth"]

TRUTH = Path(__file__).with_name("fleets_truth.json")
EPOCH = pd.Timestamp("2020-01-01")
SIZES, LENGTH, MONTH = (1, 16, 64), 24.0, 720.0
SAVE, RESTART = 5.0 / 60.0, 10.0 / 60.0
_APART = 1e8  # hours: more than any history lasts, so that nodes can lie behind each other on one axis


@dataclass(frozen=True)
class Fleet:
    """What a fleet is made of; times in hours.

    `repair` is (median, sigma) of a lognormal, or two such and the share of the second. `spread` is the coefficient of
    variation of the nodes' rates (gamma), or ``"classes"``: 5 % of nodes fail five times as often. `rack`, `switch` and
    `system` are mean times between outages of one rack, one pair of racks, and the system. `burst` is the share of a
    rack that an outage takes, node by node within minutes. `better` is the share of the window after which the nodes
    fail a third as often. `declared`: whether records say their scope.
    """

    name: str
    nodes: int = 256
    per_rack: int = 16
    days: float = 365.0
    life: float = 4000.0
    shape: float = 1.0
    new: bool = False
    spread: float | str = 0.0
    repair: tuple[float, ...] = (2.0, 1.0)
    rack: float = math.inf
    burst: float = 1.0
    switch: float = math.inf
    system: float = math.inf
    system_rows: bool = False
    better: float = 0.0
    clock: float = 1.0 / 60.0
    declared: bool = True

    @property
    def hours(self) -> float:
        return 24.0 * self.days

    @property
    def racks(self) -> np.ndarray:
        return np.arange(self.nodes) // self.per_rack


FLEETS = {
    fleet.name: fleet
    for fleet in (
        Fleet("exponential, new", new=True),
        Fleet("exponential, system", system=120.0),
        Fleet("weibull 0.7", shape=0.7),
        Fleet("weibull 0.5", shape=0.5, nodes=128, life=1500.0),
        Fleet("weibull 2", shape=2.0, nodes=512, per_rack=32, life=3000.0),
        Fleet("weibull 0.7, new", shape=0.7, new=True, life=2000.0),
        Fleet("weibull 2, new", shape=2.0, new=True, life=2500.0, days=730.0),
        Fleet("exponential, spread", spread=0.7),
        Fleet("exponential, two classes", spread="classes", life=3000.0, system=500.0),
        Fleet("weibull 0.7, spread, system", shape=0.7, spread=0.5, life=3000.0, system=200.0),
        Fleet("weibull 0.7, two classes, racks", shape=0.7, spread="classes", life=3000.0, rack=3000.0),
        Fleet("exponential, racks", per_rack=32, rack=1500.0, life=3000.0),
        Fleet("exponential, bursty racks", rack=1500.0, burst=0.4, declared=False),
        Fleet("exponential, system as nodes", nodes=128, system=300.0, system_rows=True, declared=False),
        Fleet(
            "weibull 0.7, racks, system, two kinds of repair",
            shape=0.7,
            nodes=512,
            per_rack=32,
            life=9000.0,
            rack=4000.0,
            system=250.0,
            repair=(1.0, 0.6, 24.0, 0.5, 0.2),
        ),
        Fleet("exponential, better, system", better=0.4, days=1095.0, life=6000.0, system=400.0),
        Fleet("exponential, few failures", nodes=100, per_rack=20, days=90.0, life=20000.0),
        Fleet("weibull 0.7, short window", shape=0.7, nodes=512, per_rack=32, days=60.0, life=30000.0),
        Fleet("exponential, clock of hours, racks", rack=4000.0, clock=1.0, life=3000.0, declared=False),
        Fleet("weibull 0.7, switches", shape=0.7, switch=800.0, clock=1.0 / 3600.0),
    )
}


@dataclass(frozen=True)
class History:
    """Outages of a fleet from the opening of its log on: own ones, and of wider scopes by incident and node."""

    fleet: Fleet
    hours: float
    own: tuple[np.ndarray, np.ndarray, np.ndarray]  # node, start, end, by node and time
    wide: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # incident, node, start, end
    wide_scope: np.ndarray  # of each incident: "rack", "switch" or "system"
    wide_start: np.ndarray

    def down(self, system: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Node, start and end of all outages, disjoint, by node and time."""
        keep = np.ones(self.wide[0].size, bool) if system else self.wide_scope[self.wide[0]] != "system"
        return merged(*(np.concatenate([o, w[keep]]) for o, w in zip(self.own, self.wide[1:], strict=True)))

    def incidents(self, since: float, until: float) -> int:
        """How many of any scope began."""
        return sum(int(((s >= since) & (s < until)).sum()) for s in (self.own[1], self.wide_start))


def merged(node: np.ndarray, start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Intervals with overlaps joined, in the order of nodes and time."""
    order = np.lexsort((start, node))
    node, start, end = node[order], start[order], end[order]
    if not node.size:
        return node, start, end
    shift = node * _APART
    latest = np.maximum.accumulate(end + shift) - shift
    first = np.append(True, (start[1:] > latest[:-1]) | (node[1:] != node[:-1]))
    last = np.append(first[1:], True)
    return node[first], start[first], latest[last]


class Clock:
    """Hours of work against calendar time: a node's clock stands still while it is down for what is not its own."""

    def __init__(self, node: np.ndarray, start: np.ndarray, end: np.ndarray, nodes: int) -> None:
        self.first = np.searchsorted(node, np.arange(nodes))
        length = np.append(0.0, np.cumsum(end - start))
        self.lost = np.append(length, length[-1])  # before each interval, over all nodes
        self.before = length[self.first]
        self.key_start = np.append(node * _APART + start, np.inf)
        self.end = np.append(end, np.inf)
        self.key_worked = np.append(node * _APART + start - (length[:-1] - self.before[node]), np.inf)
        self.at = np.arange(nodes) * _APART

    def worked(self, i: np.ndarray, t: np.ndarray) -> np.ndarray:
        j = np.searchsorted(self.key_start, self.at[i] + t, side="right")
        inside = (j > self.first[i]) & (t < self.end[j - 1])
        t = np.where(inside, self.end[j - 1], t)
        return t - (self.lost[j] - self.before[i])

    def calendar(self, i: np.ndarray, w: np.ndarray) -> np.ndarray:
        j = np.maximum(np.searchsorted(self.key_worked, self.at[i] + w, side="left"), self.first[i])
        return w + self.lost[j] - self.before[i]


def _repairs(fleet: Fleet, size: int, rng: np.random.Generator) -> np.ndarray:
    first = fleet.repair[0] * np.exp(fleet.repair[1] * rng.standard_normal(size))
    if len(fleet.repair) == 2:
        return first
    second = fleet.repair[2] * np.exp(fleet.repair[3] * rng.standard_normal(size))
    return np.where(rng.random(size) < fleet.repair[4], second, first)


def _rates(fleet: Fleet, rng: np.random.Generator, fixed: bool) -> np.ndarray:
    """Of the nodes, their mean one: exactly if `fixed`, else that of the fleets that they were drawn from."""
    if fleet.spread == "classes":
        rates = np.ones(fleet.nodes)
        rates[: round(fleet.nodes / 20)] = 5.0
        return rng.permutation(rates / rates.mean())
    if not fleet.spread:
        return np.ones(fleet.nodes)
    k = float(fleet.spread) ** -2
    if fixed:
        many = np.sort(np.random.default_rng(1).gamma(k, 1.0 / k, 1001 * fleet.nodes))[500::1001]
        return rng.permutation(many / many.mean())
    return rng.gamma(k, 1.0 / k, fleet.nodes)


def _poisson(gap: float, hours: float, rng: np.random.Generator) -> np.ndarray:
    if not math.isfinite(gap):
        return np.empty(0)
    return np.sort(rng.uniform(0.0, hours, rng.poisson(hours / gap)))


def _wide(
    fleet: Fleet, hours: float, rng: np.random.Generator
) -> tuple[tuple[np.ndarray, ...], np.ndarray, np.ndarray]:
    """Outages of racks, switches and the system: (incident, node, start, end), and scope and start of each incident."""
    racks, scopes, starts, parts = fleet.racks, [], [], []
    count = int(racks.max()) + 1
    units = [("system", fleet.system, [np.arange(fleet.nodes)])]
    units.append(("switch", fleet.switch, [np.flatnonzero(racks // 2 == s) for s in range(count // 2)]))
    units.append(("rack", fleet.rack, [np.flatnonzero(racks == r) for r in range(count)]))
    for scope, gap, groups in units:
        for members in groups:
            for t in _poisson(gap, hours, rng):
                lasts = 3.0 * math.exp(0.7 * rng.standard_normal())
                hit, delay = members, np.zeros(members.size)
                share = 0.5 if scope == "switch" else fleet.burst if scope == "rack" else 1.0
                if share < 1.0:
                    hit = rng.permutation(members)[: max(2, rng.binomial(members.size, share))]
                    delay = np.zeros(hit.size)
                if scope == "rack" and fleet.burst < 1.0:
                    delay[1:] = rng.exponential(2.0 / 60.0, hit.size - 1)
                number = np.full(hit.size, len(scopes))
                parts.append((number, hit, t + delay, t + delay + lasts))
                scopes.append(scope)
                starts.append(t)
    if not parts:
        none = np.empty(0)
        return (none.astype(int), none.astype(int), none, none), np.empty(0, object), none
    wide = tuple(np.concatenate(column) for column in zip(*parts, strict=True))
    return wide, np.array(scopes, object), np.array(starts)


def history(
    fleet: Fleet, rng: np.random.Generator, hours: float | None = None, *, fixed: bool = False, lives: int = 20
) -> History:
    """Simulate a fleet. One that is not new has run for `lives` mean lives, and a random part of ten more, before."""
    horizon = fleet.hours if hours is None else hours
    wide, scope, when = _wide(fleet, horizon, rng)
    clock = Clock(*merged(*wide[1:]), fleet.nodes)
    life = fleet.life / _rates(fleet, rng, fixed)
    scale = life / math.gamma(1.0 + 1.0 / fleet.shape)
    turn = fleet.better * fleet.hours
    t = np.zeros(fleet.nodes) if fleet.new else -life * rng.uniform(lives, lives + 10, fleet.nodes)
    alive = np.arange(fleet.nodes)
    nodes, starts, ends = [], [], []
    while alive.size:
        work = clock.worked(alive, t)
        spent = scale[alive] * rng.weibull(fleet.shape, alive.size)
        if turn:  # until `turn` the clock of an exponential life runs three times as fast
            bend = clock.worked(alive, np.full(alive.size, turn))
            worn = np.where(work < bend, 3.0 * work, 2.0 * bend + work) + spent
            work = np.where(worn < 3.0 * bend, worn / 3.0, worn - 2.0 * bend)
        else:
            work = work + spent
        start = clock.calendar(alive, work)
        end = start + _repairs(fleet, alive.size, rng)
        seen = (end > 0.0) & (start < horizon)
        nodes.append(alive[seen])
        starts.append(start[seen])
        ends.append(end[seen])
        go = end < horizon
        alive, t = alive[go], end[go]
    own = [np.concatenate(c) for c in (nodes, starts, ends)]
    order = np.lexsort((own[1], own[0]))
    return History(fleet, horizon, tuple(c[order] for c in own), wide, scope, when)


# ------------------------------------------------------------------------ as a log


def node_names(fleet: Fleet) -> np.ndarray:
    return np.array([f"n{i:03d}" for i in range(fleet.nodes)], object)


def rack_names(fleet: Fleet) -> np.ndarray:
    return np.array([f"r{i:02d}" for i in range(int(fleet.racks.max()) + 1)], object)


def log_frame(past: History, rng: np.random.Generator) -> pd.DataFrame:
    """The records: node, rack, start, end, cause, scope; an outage that outlasts the window has no end.

    An outage that was open when the log opened has no record. A whole-system outage is one record without a node,
    or with `system_rows` one of every node.
    """
    fleet = past.fleet
    incident, wide_node, wide_start, wide_end = past.wide
    scope = past.wide_scope[incident]
    keep = np.ones(incident.size, bool)
    nodeless = (scope == "system") & (not fleet.system_rows)
    if nodeless.any():
        keep = ~nodeless | np.append(True, incident[1:] != incident[:-1])
    own_node, own_start, own_end = past.own
    node = np.concatenate([own_node, np.where(nodeless, -1, wide_node)[keep]])
    start = np.concatenate([own_start, wide_start[keep]])
    end = np.concatenate([own_end, wide_end[keep]])
    kind = np.concatenate([np.full(own_node.size, "node", object), scope[keep]])
    kind = np.where((kind == "rack") | (kind == "switch"), "group", kind)
    cause = np.where(kind == "system", "facilities", np.where(kind == "group", "power", ""))
    own = cause == ""
    cause[own] = np.where(rng.random(int(own.sum())) < 0.7, "hardware", "software")
    inside = (start >= 0.0) & (start < past.hours)
    order = np.argsort(start[inside], kind="stable")
    node, start, end, kind, cause = (c[inside][order] for c in (node, start, end, kind, cause))
    names, racks = np.append(node_names(fleet), None), np.append(rack_names(fleet)[fleet.racks], None)
    if not fleet.declared:
        kind = np.where(node < 0, kind, None)
    return pd.DataFrame(
        {
            "node": names[node],
            "rack": racks[node],
            "start": _stamps(start, fleet.clock),
            "end": _stamps(np.where(end <= past.hours, end, np.nan), fleet.clock),
            "cause": cause,
            "scope": kind,
        }
    )


def population_frame(fleet: Fleet) -> pd.DataFrame:
    """All nodes with their racks; `entered` only where a node was new when the log began."""
    table = pd.DataFrame({"node": node_names(fleet), "rack": rack_names(fleet)[fleet.racks]})
    return table.assign(entered=str(EPOCH)) if fleet.new else table


def _stamps(hours: np.ndarray, clock: float) -> pd.Series:
    """As a clock of this step (hours) writes them, cut off."""
    step = round(clock * 3600)
    seconds = pd.Series(np.floor(hours * 3600.0 / step) * step)
    return EPOCH + pd.to_timedelta(seconds, unit="s")


# ------------------------------------------------------------------------ jobs, counted


class Records:
    """Outages by node (disjoint, in hours) that jobs are placed on."""

    def __init__(self, node: np.ndarray, start: np.ndarray, end: np.ndarray, racks: np.ndarray) -> None:
        node, start, self.end = merged(node, start, end)
        self.node = node
        self.key = node * _APART + start
        self.start, self.racks = np.append(start, np.inf), racks
        self.members = [np.flatnonzero(racks == r) for r in np.unique(racks)]

    def place(self, size: int, placement: str, jobs: int, rng: np.random.Generator) -> np.ndarray:
        """Nodes of jobs, shape (jobs, size)."""
        nodes = self.racks.size
        if placement == "packed":  # nodes are numbered in the order of racks
            return rng.integers(0, nodes - size + 1, jobs)[:, None] + np.arange(size)
        rank = rng.random((jobs, nodes))
        if placement == "random":
            return np.argsort(rank, axis=1)[:, :size]
        for members in self.members:  # a random order in each rack; then the racks' first, their second and so on
            order = np.argsort(np.argsort(rank[:, members], axis=1), axis=1)
            rank[:, members] = order + rng.random((jobs, 1)) * 0.5
        return np.argpartition(rank, size - 1, axis=1)[:, :size] if size < nodes else np.argsort(rank, axis=1)

    def met(self, nodes: np.ndarray, at: np.ndarray, hours: float) -> tuple[np.ndarray, np.ndarray]:
        """Whether all nodes of each job are up at its start, and whether an outage of one begins in its time."""
        t = at[:, None]
        after = np.searchsorted(self.key, nodes * _APART + t, side="right")
        last = np.maximum(after - 1, 0)
        ended = (after == 0) | (self.node[last] != nodes) | (self.end[last] <= t) if self.node.size else after == 0
        there = after < self.node.size
        following = np.where(there, after, 0)
        if not self.node.size:
            return ended.all(axis=1), np.zeros(at.size, bool)
        hit = there & (self.node[following] == nodes) & (self.start[following] <= t + hours)
        return ended.all(axis=1), hit.any(axis=1)


def count_jobs(
    log_frame: pd.DataFrame,
    size: int,
    placement: str,
    hours: float,
    rng: np.random.Generator,
    *,
    window: tuple[object, object],
    population: pd.DataFrame | None = None,
    jobs: int = 20000,
) -> float:
    """The share of jobs that anything interrupts, from records only.

    Parameters
    ----------
    log_frame : DataFrame
        Columns node, start, end, and rack and scope if known. A record without a node hits every node; one without an
        end lasts until the window's end.
    size, placement, hours
        Nodes of a job; ``packed``, ``spread`` or ``random``; its length.
    window : (start, end)
        Jobs start and end in it, on nodes that are all up.
    population : DataFrame, optional
        Node and rack of all nodes; those in the records when left out.
    """
    since, until = (pd.Timestamp(t) for t in window)
    table = population if population is not None else log_frame.dropna(subset=["node"])
    table = table.drop_duplicates("node").astype({"node": str})
    table = table.sort_values(["rack", "node"] if "rack" in table and table["rack"].notna().all() else ["node"])
    names = pd.Index(table["node"])
    racks = pd.factorize(table["rack"])[0] if "rack" in table else np.zeros(len(names), int)
    start = ((log_frame["start"] - since) / pd.Timedelta(hours=1)).to_numpy()
    end = ((log_frame["end"].fillna(until) - since) / pd.Timedelta(hours=1)).to_numpy()
    code = names.get_indexer(log_frame["node"].astype(object).where(log_frame["node"].notna(), "").astype(str))
    everywhere = log_frame["node"].isna().to_numpy()
    own = ~everywhere & (code >= 0)
    each = np.tile(np.arange(len(names)), int(everywhere.sum()))
    records = Records(
        np.concatenate([code[own], each]),
        np.concatenate([start[own], np.repeat(start[everywhere], len(names))]),
        np.concatenate([end[own], np.repeat(end[everywhere], len(names))]),
        racks,
    )
    span = (until - since) / pd.Timedelta(hours=1)
    good = hit = 0
    while good < jobs:
        at = rng.uniform(0.0, span - hours, 4000)
        up, met = records.met(records.place(size, placement, at.size, rng), at, hours)
        good, hit = good + int(up.sum()), hit + int((up & met).sum())
    return hit / good


# ------------------------------------------------------------------------ truth


def _span(fleet: Fleet) -> tuple[float, float]:
    """The time that a fleet is asked about, in hours from the opening of its log."""
    if fleet.new:
        return fleet.hours, fleet.hours + MONTH
    if fleet.better:
        return fleet.better * fleet.hours + 24.0, fleet.hours
    return 0.0, max(fleet.hours, 4383.0)


def _running(past: History, since: float, until: float) -> np.ndarray:
    """Lengths of the times in which all nodes are up."""
    node, start, end = past.down()
    _, start, end = merged(np.zeros_like(node), start, end)
    starts, ends = np.append(start, np.inf), np.append(0.0, end)
    return np.maximum(np.minimum(starts, until) - np.maximum(ends, since), 0.0)


def _alone(down: tuple[np.ndarray, np.ndarray, np.ndarray], nodes: int, since: float, until: float) -> np.ndarray:
    """Node-hours at which a job on one node can start, and those from which it gets through; exact, not sampled."""
    node, start, end = down
    every = np.arange(nodes)
    ups = np.lexsort((np.append(np.full(nodes, -np.inf), end), np.append(every, node)))
    downs = np.lexsort((np.append(np.full(nodes, np.inf), start), np.append(every, node)))
    up = np.maximum(np.append(np.full(nodes, -np.inf), end)[ups], since)
    down_at = np.append(np.full(nodes, np.inf), start)[downs]
    there = np.maximum(np.minimum(down_at, until) - up, 0.0)
    through = np.maximum(np.minimum(down_at - LENGTH, until) - up, 0.0)
    return np.array([there.sum(), through.sum()])


def truth(fleet: Fleet, hours: float, rng: np.random.Generator) -> dict[str, float]:
    """What is true of a fleet, from `hours` of simulation (as many histories as that takes)."""
    since, until = _span(fleet)
    rounds = max(20, math.ceil(hours / (until - since)))
    incidents, running, downs = 0, [], []
    good: dict[str, np.ndarray] = {}
    alone = np.zeros(2)
    jobs = max(200, 400_000 // rounds)
    for _ in range(rounds):
        past = history(fleet, rng, until + LENGTH)
        incidents += past.incidents(since, until)
        running.append(_running(past, since, until))
        _, start, end = past.down(system=False)
        at = rng.uniform(since, until, 2000)
        downs.append(
            np.searchsorted(np.sort(start), at, side="right") - np.searchsorted(np.sort(end), at, side="right")
        )
        alone = alone + _alone(past.down(), fleet.nodes, since, until)
        records = Records(*past.down(), fleet.racks)
        for size in SIZES[1:]:
            for placement in ("packed", "spread"):
                when = rng.uniform(since, until, jobs)
                up, met = records.met(records.place(size, placement, jobs, rng), when, LENGTH)
                name = f"reliability {size} {placement}"
                good[name] = good.get(name, np.zeros(2)) + np.array([up.sum(), (up & ~met).sum()])
    total = rounds * (until - since)
    lengths = np.concatenate(running)
    lengths = lengths[lengths > 0.0]
    every = np.geomspace(0.05, 200.0, 1200)
    saved = np.array([(e * np.floor(np.maximum(lengths - RESTART, 0.0) / (e + SAVE))).sum() for e in every])
    near = np.abs(np.log(every / every[saved.argmax()])) < 0.4
    bend = np.polyfit(np.log(every[near]), saved[near], 3)  # smooth: the best of a noisy curve is noisy
    fine = np.linspace(*np.log(every[near][[0, -1]]), 2001)
    best = int(np.polyval(bend, fine).argmax())
    most = float(np.polyval(bend, fine[best]))
    return {
        "mtbf": fleet.life,
        "mttf": total / incidents,
        "incidents": incidents / total * MONTH,
        **{f"reliability 1 {place}": float(alone[1] / alone[0]) for place in ("packed", "spread")},
        **{name: float(n[1] / n[0]) for name, n in good.items()},
        "checkpoint_every": float(np.exp(fine[best])),
        "waste": 1.0 - most / total,
        "waste_running": 1.0 - most / float(lengths.sum()),
        "spares": float(np.quantile(np.concatenate(downs), 0.99, method="inverted_cdf")),
    }


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--only", help="fleets whose names begin so")
    options.add_argument("--hours", type=float, default=3_000_000.0)
    given = options.parse_args()
    known = json.loads(TRUTH.read_text()) if TRUTH.exists() else {}
    for i, (name, fleet) in enumerate(FLEETS.items()):
        if given.only and not name.startswith(given.only):
            continue
        before = time.perf_counter()
        values = truth(fleet, given.hours, np.random.default_rng([7, i]))
        known[name] = {key: float(f"{value:.6g}") for key, value in values.items()}
        print(f"{name}: {time.perf_counter() - before:.0f} s", known[name], flush=True)
        TRUTH.write_text(json.dumps({n: known[n] for n in FLEETS if n in known}, indent=1) + "\n")


if __name__ == "__main__":
    main()
