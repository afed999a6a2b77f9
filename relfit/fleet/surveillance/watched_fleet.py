"""A watched log: daily incidents of each system, rack, cause, model and batch, and the incidents of each node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import special

from relfit.analyses.screening import Incidents, incidents
from relfit.base.arrays import CodeArray, FloatArray, IntArray
from relfit.base.units import NANOSECONDS_PER_HOUR, nanoseconds
from relfit.fleet.prediction import TimeSteps
from relfit.fleet.surveillance.rate_scans import REFERENCE
from relfit.log.failurelog import FailureLog
from relfit.log.outages import node_codes, node_values, watched_of

DAY = 24 * NANOSECONDS_PER_HOUR
_MOST_VALUES, _MOST_CAUSES = 60, 2000  # values of an attribute; causes
_LEAST_NODES = 4  # of a model or a batch
_NOT_STATED = "not stated"
_BY_CHANCE = 0.01  # probability that a cause with its usual share is named for an increase of all


def _coded(column: pd.Series, names: list[str]) -> CodeArray:
    """Code of each value among names; missing values are "not stated"."""
    kinds = column.astype("category").cat
    number = {name: i for i, name in enumerate(names)}
    codes = [*(number.get(str(kind), -1) for kind in kinds.categories), number.get(_NOT_STATED, -1)]
    return np.array(codes, np.int32)[kinds.codes.to_numpy()]


@dataclass(frozen=True, eq=False)
class Streams:
    """Daily incidents of the parts of one kind."""

    kind: str  # ``system``, ``cause``, ``batch``, or the name of an attribute such as ``rack``
    system: CodeArray  # code of each part's system
    names: list[str]
    counts: FloatArray  # incidents, shape (streams, days)
    exposure: FloatArray  # nodes watched

    def of_system(self, systems: int) -> tuple[FloatArray, FloatArray]:
        """Counts and exposure of all parts of the system of each stream."""
        out = []
        for values in (self.counts, self.exposure):
            sums = np.zeros((systems, values.shape[1]))
            np.add.at(sums, self.system, values)
            out.append(sums[self.system])
        return out[0], out[1]

    def main_excess(self, system: int, begin: int, end: int) -> str:
        """The part of a system with most of the excess of some days over the year before.

        Empty if none has half, or if its share of the days' incidents is that of the year before (binomial test).
        """
        mine = np.flatnonzero(self.system == system)
        if not mine.size:
            return ""
        first, counts = max(begin - REFERENCE, 0), self.counts[mine]
        usual = counts[:, first:begin].sum(axis=1) * (end - begin) / max(begin - first, 1)
        seen = counts[:, begin:end].sum(axis=1)
        more = seen - usual
        best = int(np.argmax(more))
        share = usual[best] / max(usual.sum(), 1e-300)
        chance = float(special.bdtrc(seen[best] - 1.0, int(seen.sum()), share)) * mine.size  # Bonferroni
        return self.names[mine[best]] if more[best] > 0.5 * more.clip(0.0).sum() and chance < _BY_CHANCE else ""


class WatchedFleet:
    """A log until now: its days, incidents and nodes, computed once."""

    def __init__(self, log: FailureLog) -> None:
        self.log = log
        first, last = (each.as_unit("ns").value for each in (log.window.start, log.window.end))
        midnights = np.arange(-(-first // DAY) * DAY, last + 1, DAY, dtype=np.int64)
        edges = np.unique(np.append(midnights, last)) if midnights.size else np.array([first, last])
        self.steps = TimeSteps(edges, 24.0)
        self.joined: Incidents = incidents(log)
        self.node_of_event, _, self.nodes = node_codes(log)
        self.systems = list(log.systems) or [""]
        self.several = len(self.systems) > 1
        table = self.joined.table
        self.begun = nanoseconds(table["start"])
        self.system = _coded(table["system"], self.systems)
        self.causes = sorted({_NOT_STATED if pd.isna(name) else str(name) for name in table["cause"].unique()})
        self.cause = _coded(table["cause"], self.causes)
        self.alone = (table["scope"] == "node").to_numpy()
        self.narrow = self.alone | (table["scope"] == self.joined.group).to_numpy()

    @property
    def ends(self) -> IntArray:
        """Instants (nanoseconds) at which the days end; the last is now."""
        return self.steps.edges[1:]

    def stamp(self, moment: int) -> pd.Timestamp:
        """An instant (nanoseconds) in the log's time zone."""
        return pd.Timestamp(moment, tz=self.log.window.end.tz).as_unit("ns")

    @cached_property
    def node(self) -> CodeArray:
        """The node of each incident, or its first node for a rack; -1 for wider scopes and without a name."""
        number, node = self.joined.incident, self.node_of_event
        rows = np.flatnonzero((number >= 0) & (node >= 0))[::-1]
        out = np.full(self.begun.size, -1, np.int32)
        out[number[rows]] = node[rows]
        return np.where(self.narrow, out, np.int32(-1))

    @cached_property
    def own(self) -> CodeArray:
        """The node of each incident that hit only one; -1 for the others."""
        return np.where(self.alone, self.node, np.int32(-1))

    @cached_property
    def system_of_node(self) -> IntArray:
        """Code of each node's system."""
        return pd.Index(self.systems).get_indexer(self.nodes.get_level_values(0).astype(str))

    @cached_property
    def watch(self) -> tuple[IntArray, IntArray]:
        """Start and end of each node's observation; the complete window for a node that is not listed."""
        watched = watched_of(self.log)
        where = watched.groups.get_indexer(self.nodes)
        edges = self.steps.edges
        return np.append(watched.entered, edges[0])[where], np.append(watched.left, edges[-1])[where]

    def node_label(self, node: int) -> str:
        """A node's name, with its system if the name is not unique; names never contain a comma and a space."""
        system, name = (str(each).replace(", ", ",") for each in self.nodes[node])
        return f"{name} of {system}" if name in self._twice else name

    def main_node(self, days: tuple[int, int], system: int, cause: str = "") -> tuple[str, int]:
        """The node with more than half of the incidents of a system (and cause) in some days, and how many it has."""
        first, last = self.steps.edges[list(days)]
        mine = (self.begun >= first) & (self.begun < last + (days[1] == self.steps.size)) & (self.system == system)
        if cause:
            mine &= self.cause == self.causes.index(cause)
        own = self.own[mine]
        number = np.bincount(own[own >= 0], minlength=1)
        most = int(number.max())
        return (self.node_label(int(number.argmax())), most) if 2 * most > own.size else ("", 0)

    @cached_property
    def _twice(self) -> set[str]:
        names = pd.Series(self.nodes.get_level_values(-1).astype(str))
        return set(names[names.duplicated()])

    def repaired(self, incident: CodeArray) -> IntArray:
        """Ends (nanoseconds) of the outages of incidents; their starts if the end is not known."""
        hours = np.nan_to_num(self.joined.table["duration"].to_numpy(np.float64)[incident])
        return self.begun[incident] + (hours * NANOSECONDS_PER_HOUR).astype(np.int64)

    def sizes(self, system: CodeArray, at: IntArray) -> CodeArray:
        """Number of nodes of a system watched at an instant, 1 or more."""
        out = np.ones(at.size, np.int32)
        for code in range(len(self.systems)):
            mine, nodes = np.flatnonzero(system == code), self.system_of_node == code
            entered, left = (np.sort(ends[nodes]) for ends in self.watch)
            out[mine] = np.searchsorted(entered, at[mine], "right") - np.searchsorted(left, at[mine], "left")
        return np.maximum(out, np.int32(1))

    @cached_property
    def of_systems(self) -> Streams:
        """All incidents of each system."""
        size = len(self.systems)
        counts = self.steps.counts(self.begun, self.system, size)
        exposure = self.steps.watched(*self.watch, self.system_of_node, size)
        present = np.diff(self.steps.edges) / DAY
        exposure = np.where(exposure.sum(axis=1, keepdims=True) > 0.0, exposure, present)
        return Streams("system", np.arange(size), self.systems, counts, exposure)

    def of_causes(self) -> Streams:
        """Incidents of each system by cause."""
        pair = self.system * len(self.causes) + self.cause
        code, present = pd.factorize(pair, sort=True)
        number = np.bincount(code, minlength=present.size)
        used = np.sort(np.argsort(-number, kind="stable")[:_MOST_CAUSES])
        used = used[number[used] > 1]
        place = np.full(present.size, -1)
        place[used] = np.arange(used.size)
        system, cause = np.divmod(present[used], len(self.causes)) if used.size else (used, used)
        counts = self.steps.counts(self.begun, place[code], used.size)
        return Streams("cause", system, [str(self.causes[i]) for i in cause], counts, self.of_systems.exposure[system])

    def of_parts(self) -> list[Streams]:
        """Incidents of single nodes by rack, by each attribute of nodes with few values, and by month of installation;
        those of several nodes of one rack count once for that rack, and for no other kind.
        """
        out = []
        rack = self.joined.group
        for name in dict.fromkeys([*([rack] if rack else []), *self.log.attributes]):
            if name in self.log.population.columns:  # a list of nodes may not say what the records do
                values = pd.Series(node_values(self.log, name, self.nodes), dtype=object)
                streams = self._by(name, values, self.node if name == rack else self.own, name == rack)
                out += [streams] if streams is not None else []
        streams = self._by("batch", self._installed(), self.own, False)
        return [*out, *([streams] if streams is not None else [])]

    def _installed(self) -> pd.Series:
        """Month in which each node was installed, if that is known."""
        people = self.log.population
        known = people["entered"].dt.strftime("%Y-%m").where(people["entered_known"].astype(bool)).astype(object)
        labels = pd.MultiIndex.from_arrays([people["system"].astype(str), people["node"].astype(str)])
        each = pd.Series(known.to_numpy(object), labels)
        index = pd.MultiIndex.from_arrays([self.nodes.get_level_values(i).astype(str) for i in (0, -1)])
        return each[~each.index.duplicated()].reindex(index).reset_index(drop=True)

    def _by(self, kind: str, values: pd.Series, node: CodeArray, rack: bool) -> Streams | None:
        """Streams by a value of the nodes, within systems; None if it does not separate parts."""
        known = values.notna().to_numpy()
        pair = pd.MultiIndex.from_arrays([self.system_of_node, values.astype(str)])
        code, labels = pd.factorize(pair)
        code = np.where(known, code, -1)
        size = np.bincount(code[known], minlength=len(labels))
        used = np.flatnonzero(size >= (1 if rack else _LEAST_NODES))
        if used.size < 2 or (not rack and used.size > _MOST_VALUES):
            return None
        place = np.full(len(labels) + 1, -1)
        place[used] = np.arange(used.size)
        code = place[code]
        hit = np.where(node >= 0, code[node], -1)
        counts = self.steps.counts(self.begun, hit, used.size)
        there = np.flatnonzero(code >= 0)
        entered, left = (ends[there] for ends in self.watch)
        exposure = self.steps.watched(entered, left, code[there], used.size)
        system, names = zip(*labels[used].tolist(), strict=True)
        return Streams(kind, np.array(system, np.int64), list(map(str, names)), counts, exposure)

    def repairs(self) -> tuple[CodeArray, CodeArray, IntArray, FloatArray]:
        """System, cause, end (nanoseconds) and hours of each repair of a single node, in the order of ends."""
        table = self.joined.table
        hours = table["duration"].to_numpy(np.float64)
        timed = self.alone & np.isfinite(hours) & (hours > 0.0)
        ends = nanoseconds(table["end"].where(table["end"].notna(), table["start"]))
        rows = np.flatnonzero(timed & (ends < self.steps.edges[-1]))
        rows = rows[np.argsort(ends[rows], kind="stable")]
        return self.system[rows], self.cause[rows], ends[rows], hours[rows]
