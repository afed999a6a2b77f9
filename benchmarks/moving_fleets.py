"""Fleets whose failure rate moves, and some that are steady, in plain NumPy: past and future of one simulation.

    python benchmarks/moving_fleets.py KIND [--seed 1] [--csv past.csv]  # says what it holds, writes its past

`make(kind, rng)` simulates two to three years and the 90 days after them. What the predictor may see ends at
``split``. The process goes on over the split: the same walk of the rate, the same burst, the same ailing nodes. Nothing
here is relfit's, so that its predictions can be held to what followed. 128 nodes, named in the order of their racks of
16, fail once in 30 to 120 days each (drawn for each history); repairs are lognormal with a median of three hours.

A node that is down cannot fail. Rates are per node and hour: most kinds draw Poisson numbers hour by hour from a matrix
(hours, nodes); self-exciting ones add failures that failures bring about, generation by generation.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["AHEAD", "KINDS", "MOVING", "STEADY", "History", "make", "write_csv"]

EPOCH = pd.Timestamp("2020-01-06")  # a Monday
NODES, PER_RACK, AHEAD = 128, 16, 90  # days ahead
COLUMNS = ["node", "system", "rack", "start", "end", "cause"]
WARM = 60  # days simulated before the first record


@dataclass(frozen=True)
class History:
    """What happened to a fleet, and what was written down.

    `events` has one row per outage of a node: node, system, rack, start, end (naive UTC, whole minutes), cause; all of
    the past and of the 90 days after `split`. `records` are the same as the operators wrote them (only "dirty records"
    differ). `population` has node, rack, entered and left of the nodes that were there before `split`; an empty
    `entered` means before `begin`.
    """

    kind: str
    events: pd.DataFrame
    records: pd.DataFrame
    population: pd.DataFrame
    begin: pd.Timestamp
    split: pd.Timestamp

    @cached_property
    def past(self) -> pd.DataFrame:
        """The records that begin before the split; what was not over by then has no end."""
        past = self.records[self.records["start"] < self.split].reset_index(drop=True)
        return past.assign(end=past["end"].where(past["end"] <= self.split))

    @cached_property
    def future(self) -> pd.DataFrame:
        """The records that begin in the 90 days from the split on."""
        until = self.split + pd.Timedelta(days=AHEAD)
        later = (self.records["start"] >= self.split) & (self.records["start"] < until)
        return self.records[later].reset_index(drop=True)


class Fleet:
    """The stage of one simulation: hours run from `WARM` days before the first record to 90 days after the split."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.days = WARM + int(rng.integers(730, 1096)) + AHEAD
        self.split = 24.0 * (self.days - AHEAD)
        self.hour = np.arange(24.0 * self.days)
        self.day = np.arange(float(self.days))
        self.life = 24.0 * math.exp(rng.uniform(math.log(30.0), math.log(120.0)))
        self.repair_factor = np.ones(self.days)
        self.entered = np.zeros(NODES)

    @property
    def base(self) -> float:
        """Failures per node and hour."""
        return 1.0 / self.life

    def poisson(self, fleet: Any = 1.0, nodes: Any = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """Instants and nodes of failures, of rates relative to the base by day or hour, and by node (and day)."""
        fleet = np.broadcast_to(fleet, np.shape(fleet) or self.day.shape)
        by_hour = fleet if fleet.size == self.hour.size else np.repeat(fleet, 24)
        nodes = np.broadcast_to(nodes, (self.days, NODES))
        mean = self.base * by_hour.reshape(-1, 24, 1) * nodes[:, None, :]
        number = self.rng.poisson(mean).reshape(-1, NODES)
        at, node = np.nonzero(number)
        at, node = (np.repeat(c, number[number > 0]) for c in (at, node))
        return at + self.rng.random(at.size), node

    def repairs(self, at: np.ndarray) -> np.ndarray:
        day = np.clip(at / 24.0, 0, self.days - 1).astype(int)
        return 3.0 * np.exp(self.rng.standard_normal(at.size)) * self.repair_factor[day]

    def spells(self, days: int, share: float, factor: float) -> np.ndarray:
        """By day: `factor` in this share of the weeks or months, at random, else one; of mean one."""
        bad = self.rng.random(self.days // days + 1) < share
        return np.repeat(np.where(bad, factor, 1.0), days)[: self.days] / (1.0 + share * (factor - 1.0))

    def excited(self, at: np.ndarray, node: np.ndarray, branching: float, delay: float, same: bool) -> list[np.ndarray]:
        """Failures, and those that they bring about: `branching` each, on average `delay` hours after the repair of
        the same node or after the failure of any."""
        rng, parts = self.rng, []
        while at.size:
            hours = self.repairs(at)
            parts.append((at, node, hours))
            parent = np.repeat(np.arange(at.size), rng.poisson(branching, at.size))
            begin = (at + hours if same else at)[parent]
            at, node = begin + rng.exponential(delay, parent.size), node[parent]
            if not same:
                node = rng.integers(0, NODES, parent.size)
            inside = at < self.hour.size
            at, node = at[inside], node[inside]
        return [np.concatenate(column) for column in zip(*parts, strict=True)]


Outages = list[np.ndarray]  # start, node, hours of repair[, 0 of a node, 1 of a rack, 2 of the system]


def own(fleet: Fleet, rate: Any = 1.0, nodes: Any = 1.0) -> Outages:
    at, node = fleet.poisson(rate, nodes)
    return [at, node, fleet.repairs(at)]


def joined(*parts: Outages) -> Outages:
    """Outages of nodes (the first part), racks and the system."""
    scoped = [[*part[:3], np.full(part[0].size, i)] for i, part in enumerate(parts)]
    return [np.concatenate(column) for column in zip(*scoped, strict=True)]


# ------------------------------------------------------------------------- moving


def sloped(doublings: float) -> Callable[[Fleet], Outages]:
    """The rate changes by this many doublings over all, evenly."""
    return lambda fleet: own(fleet, 2.0 ** (doublings * (fleet.day / fleet.days - 0.5)))


def stepped(factor: float, days: int) -> Callable[[Fleet], Outages]:
    """The rate changes by a factor so many days before the split."""
    return lambda fleet: own(fleet, np.where(fleet.day >= fleet.days - AHEAD - days, factor, 1.0))


def season(fleet: Fleet) -> Outages:
    return own(fleet, 1.0 + 0.6 * np.sin(2.0 * np.pi * (fleet.day / 365.25 + fleet.rng.random())))


def week(fleet: Fleet) -> Outages:
    return own(fleet, np.where((fleet.day - WARM) % 7 < 5, 1.24, 0.4))


def walk(fleet: Fleet) -> Outages:
    """The log of the rate takes a normal step of 0.03 every day: 0.57 in a year."""
    log = np.cumsum(0.03 * fleet.rng.standard_normal(fleet.days))
    return own(fleet, np.exp(log - log.mean()))


def fast_walk(fleet: Fleet) -> Outages:
    """The log of the rate goes about zero with a standard deviation of 0.6, and forgets in 30 days."""
    keep, log = math.exp(-1.0 / 30.0), np.zeros(fleet.days)
    step = 0.6 * fleet.rng.standard_normal(fleet.days)
    for i in range(1, fleet.days):
        log[i] = keep * log[i - 1] + math.sqrt(1.0 - keep**2) * step[i]
    return own(fleet, np.exp(log - 0.18))


def spells(days: int) -> Callable[[Fleet], Outages]:
    """Every fourth week or month, at random, has three times the rate."""
    return lambda fleet: own(fleet, fleet.spells(days, 0.25, 3.0))


def hawkes(days: float, same: bool) -> Callable[[Fleet], Outages]:
    """Each failure brings about half a failure more, so many days later on average."""
    return lambda fleet: fleet.excited(*fleet.poisson(0.5), 0.5, 24.0 * days, same)


def rack_outages(fleet: Fleet, share: float, branching: float) -> Outages:
    """`share` of the failures are of racks: 40 % of the nodes of one within minutes; it happens again within days."""
    rng, racks = fleet.rng, NODES // PER_RACK
    hit = 0.4 * PER_RACK
    first = rng.poisson(share * (1.0 - branching) * NODES * fleet.base / hit * fleet.hour.size)
    at, rack, _ = fleet.excited(
        rng.uniform(0.0, fleet.hour.size, first), rng.integers(0, racks, first), branching, 72.0, True
    )
    parts: list[Outages] = []
    for t, r in zip(at, rack, strict=True):
        nodes = r * PER_RACK + rng.permutation(PER_RACK)[: max(2, rng.binomial(PER_RACK, 0.4))]
        start = t + np.append(0.0, rng.exponential(4.0 / 60.0, nodes.size - 1))
        lasts = fleet.repairs(np.array([t]))[0] * rng.uniform(0.8, 1.2, nodes.size)
        parts.append([start, nodes, lasts])
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def rack_bursts(fleet: Fleet) -> Outages:
    return joined(own(fleet, 0.5), rack_outages(fleet, 0.5, 0.5))


def ageing(fleet: Fleet) -> Outages:
    """A random half of the nodes ages: five times the rate at the end, the growth in proportion to age squared."""
    weights = np.full((fleet.days, NODES), 0.7)
    weights[:, fleet.rng.permutation(NODES)[: NODES // 2]] *= (1.0 + 4.0 * (fleet.day / fleet.days) ** 2)[:, None]
    return own(fleet, nodes=weights)


def infant(fleet: Fleet) -> Outages:
    """The second half of the nodes comes half way, with nine times the rate, which falls off in 60 days."""
    half = NODES // 2
    begin = WARM + (fleet.days - WARM - AHEAD) // 2
    age = fleet.day - begin
    fleet.entered[half:] = 24.0 * begin
    weights = np.ones((fleet.days, NODES))
    weights[:, half:] = np.where(age >= 0, 1.0 + 8.0 * np.exp(-np.maximum(age, 0.0) / 60.0), 0.0)[:, None]
    return own(fleet, nodes=weights)


def ailing(fleet: Fleet) -> Outages:
    """At any time 5 % of the nodes fail 15 times as often, for two to four months, until they are mended."""
    rng, weights = fleet.rng, np.ones((fleet.days, NODES))
    for node in range(NODES):
        day = -rng.exponential(90.0 / 0.05)
        while day < fleet.days:
            until = day + rng.uniform(60.0, 120.0)
            weights[max(int(day), 0) : max(int(until), 0), node] = 15.0
            day = until + rng.exponential(90.0 * 0.95 / 0.05)
    return own(fleet, nodes=weights / 1.7)


def backlog(fleet: Fleet) -> Outages:
    """Repairs take five times as long in every fourth month, at random."""
    fleet.repair_factor = np.where(fleet.spells(30, 0.25, 5.0) > 1.0, 5.0, 1.0)
    return own(fleet)


# ------------------------------------------------------------------------- steady


def renewals(fleet: Fleet) -> Outages:
    """Weibull lives of shape 0.7 from repair to failure, in progress for 30 mean lives."""
    rng, burn = fleet.rng, 30.0 * fleet.life
    size = (NODES, int(2.0 * (burn + fleet.hour.size) / fleet.life) + 60)
    lives = fleet.life / math.gamma(1.0 + 1.0 / 0.7) * rng.weibull(0.7, size)
    repair = 3.0 * np.exp(rng.standard_normal(size))
    at = np.cumsum(lives + repair, axis=1) - repair - burn
    seen = (at > 0.0) & (at < fleet.hour.size)
    return [at[seen], np.nonzero(seen)[0], repair[seen]]


def unequal(fleet: Fleet) -> Outages:
    return own(fleet, nodes=fleet.rng.gamma(4.0, 0.25, NODES))


def racks_and_system(fleet: Fleet) -> Outages:
    """Rack outages without repeats, and the whole system every 60 days: a row for each of its nodes."""
    rng = fleet.rng
    times = rng.uniform(0.0, fleet.hour.size, rng.poisson(fleet.days / 60.0))
    lasts = fleet.repairs(times)
    system = [np.repeat(times, NODES), np.tile(np.arange(NODES), times.size), np.repeat(lasts, NODES)]
    return joined(own(fleet, 0.7), rack_outages(fleet, 0.3, 0.0), system)


MOVING: dict[str, Callable[[Fleet], Outages]] = {
    "slow rise": sloped(2.0),
    "slow fall": sloped(-2.0),
    "doubling, 90 days ago": stepped(2.0, 90),
    "halving, 90 days ago": stepped(0.5, 90),
    "doubling, 30 days ago": stepped(2.0, 30),
    "season": season,
    "week": week,
    "wandering": walk,
    "wandering fast": fast_walk,
    "good and bad weeks": spells(7),
    "good and bad months": spells(30),
    "self-exciting fleet": hawkes(1.0, same=False),
    "self-exciting fleet, long": hawkes(10.0, same=False),
    "self-exciting nodes": hawkes(2.0, same=True),
    "rack bursts": rack_bursts,
    "ageing batch": ageing,
    "infant batch": infant,
    "ailing nodes": ailing,
    "backlog of repairs": backlog,
    "dirty records": walk,
}
STEADY: dict[str, Callable[[Fleet], Outages]] = {
    "equal Poisson": own,
    "Weibull 0.7": renewals,
    "unequal nodes": unequal,
    "racks and system": racks_and_system,
}
KINDS = {**MOVING, **STEADY}


# ------------------------------------------------------------------------- as tables


def make(kind: str, rng: np.random.Generator) -> History:
    """Simulate a fleet of this kind: its past, and the 90 days after the split."""
    fleet = Fleet(rng)
    start, node, hours, *scope = KINDS[kind](fleet)
    of = scope[0] if scope else np.zeros(start.size, int)
    minute = np.floor(60.0 * (start - 24.0 * WARM))
    end = np.maximum(np.floor(60.0 * (start + hours - 24.0 * WARM)), minute + 1.0)
    table = pd.DataFrame({"number": node, "minute": minute, "until": end, "of": of})
    table = table[table["minute"] >= 0.0].sort_values(["number", "minute", "of"], ignore_index=True)
    table = table[_up(table["number"].to_numpy(), table["minute"].to_numpy(), table["until"].to_numpy())]
    table = table[table["minute"] < 1440.0 * (fleet.days - WARM)].sort_values("minute", kind="stable")
    names = np.array([f"n{i:03d}" for i in range(NODES)], object)
    racks = np.array([f"r{i // PER_RACK}" for i in range(NODES)], object)
    kinds = np.where(rng.random(len(table)) < 0.7, "hardware", "software")
    events = pd.DataFrame(
        {
            "node": names[table["number"]],
            "system": "moving",
            "rack": racks[table["number"]],
            "start": _stamp(table["minute"].to_numpy()),
            "end": _stamp(table["until"].to_numpy()),
            "cause": np.select([table["of"] == 1, table["of"] == 2], ["power", "network"], kinds),
        }
    )
    late = fleet.entered > 0.0
    entered = _stamp(60.0 * (fleet.entered - 24.0 * WARM)).where(late)
    population = pd.DataFrame({"node": names, "rack": racks, "entered": entered, "left": pd.NaT})
    records = dirty(events, rng) if kind == "dirty records" else events
    split = EPOCH + pd.Timedelta(hours=fleet.split - 24.0 * WARM)
    return History(kind, events, records, population, EPOCH, split)


def dirty(events: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """As written down: 5 % of rows twice, 5 % again some minutes later, 5 % without an end, 5 % closed days too late.

    Rows that are the same in every column are one record; the others are records, as relfit counts them.
    """
    kind = rng.choice(["twice", "again", "open", "late", ""], len(events), p=[0.05, 0.05, 0.05, 0.05, 0.8])
    records = events.copy()
    records.loc[kind == "open", "end"] = pd.NaT
    records.loc[kind == "late", "end"] += pd.to_timedelta(np.ceil(rng.uniform(24, 120, (kind == "late").sum())), "h")
    again = events[kind == "again"].copy()
    later = pd.to_timedelta(rng.integers(1, 11, len(again)), "min")
    again["start"] = np.minimum(again["start"] + later, again["end"])
    return pd.concat([records, events[kind == "twice"], again]).sort_values("start", kind="stable", ignore_index=True)


def write_csv(history: History, path: Path | str) -> dict[str, Any]:
    """Write the past as CSV, and give what else a reader should know: ``rf.read(path, **write_csv(history, path))``."""
    history.past[COLUMNS].to_csv(path, index=False, date_format="%Y-%m-%d %H:%M")
    people = history.population[["node", "rack"]].assign(system="moving")
    if history.population["entered"].notna().any():
        people["entered"] = history.population["entered"].fillna(history.begin)
    return {"population": people, "window_start": str(history.begin), "window_end": str(history.split)}


def _up(node: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Which outages, by node and start, begin while the node is up."""
    up, last, until = np.zeros(node.size, bool), -1, -math.inf
    for i in range(node.size):
        if node[i] != last or start[i] > until:
            up[i], last, until = True, node[i], end[i]
    return up


def _stamp(minutes: np.ndarray) -> pd.Series:
    return pd.Series(EPOCH + pd.to_timedelta(minutes.astype(np.int64), unit="min"))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("kind", choices=[*KINDS, "all"])
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--csv", help="write the past here")
    given = options.parse_args()
    for kind in KINDS if given.kind == "all" else [given.kind]:
        history = make(kind, np.random.default_rng(given.seed))
        months = ((history.records["start"] - history.split) // pd.Timedelta(days=30)).value_counts().sort_index()
        days = (history.split - history.begin).days
        print(
            f"{kind}: {days} days, {len(history.past)} records, {len(history.future)} after; by 30 days, the last 3 "
            f"after the split: {' '.join(map(str, months.iloc[-13:]))}"
        )
        if given.csv:
            write_csv(history, given.csv)


if __name__ == "__main__":
    main()
