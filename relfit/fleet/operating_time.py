"""Times between incidents in operating hours of each scope, and times to repair.

A node's clock runs while it and its system are up; only its own outage resets it. That of a rack runs while it and the
system are up, that of groups of nodes while the system is up: while some are repaired, others can be hit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from relfit.analyses.screening import Incidents
from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.numeric.ordering import alike
from relfit.base.numeric.ragged import offsets_of
from relfit.base.units import NANOSECONDS_PER_HOUR, nanoseconds
from relfit.fleet.incident_scopes import SCOPES, Places, ScopeIncidents, Standing
from relfit.log.lifedata import LifeData
from relfit.log.outages import Outages, clock_step, node_codes, node_values, outages_of, timed_repairs
from relfit.log.tables import Tables, group_codes


def _places(log: Tables, watched: Outages, group: str | None) -> Places:
    """The nodes of a log, with their systems and racks."""
    of_nodes = watched.groups.get_level_values(0).astype(object)
    systems = pd.unique(pd.Index([*of_nodes.unique(), *log.events["system"].dropna().astype(object).unique()]))
    system = pd.Index(systems).get_indexer(of_nodes)
    rack, racks = np.full(watched.n_groups, -1, np.int64), pd.Index([])
    if group is not None and group in log.population.columns and watched.n_groups:
        values = node_values(log, group, watched.groups)
        table = pd.DataFrame({"system": watched.groups.get_level_values(0).astype(object), group: values})
        (rack,), racks = group_codes([table], ["system", group])
    of_rack = np.zeros(len(racks), np.int64)
    of_rack[rack[rack >= 0]] = system[rack >= 0]
    return Places(watched.groups, system.astype(np.int64), rack, pd.Index(systems), racks, of_rack, watched)


def standing_of(log: Tables, scope: ScopeIncidents, watched: Outages, nodes: pd.Index) -> Standing:
    """The state of `nodes` at the end of a log whose single-node incidents are `scope`."""
    at = watched.groups.get_indexer(nodes)
    present = watched.left >= log.window.end.as_unit("ns").value
    up = present.copy()
    going = watched.end_cut | (watched.end > log.window.end.as_unit("ns").value)
    up[watched.code[going]] = False
    return Standing(nodes, scope.age[at], scope.since_start[at], present[at], up[at])


def scopes_of(log: Tables, incidents: Incidents) -> tuple[Places, dict[str, ScopeIncidents]]:
    """The places of a log with dated events, and the times between incidents and to repair of each scope."""
    work = _ClockWork(log, incidents)
    return work.places, {name: work.node_scope() if name == "node" else work.wide_scope(name) for name in SCOPES}


@dataclass(frozen=True, eq=False)
class Clocks:
    """The state of nodes just before some instants, arrays of shape (instants, nodes)."""

    hours: FloatArray  # that each node's clock had run since it was first watched
    age: FloatArray  # hours on the clock since its own last outage began, or since it was first watched
    known: BoolArray  # whether the age is known: it had an outage of its own, or was new
    count: IntArray  # failures so far, as in `ScopeIncidents`


def clocks_of(log: Tables, incidents: Incidents, at: FloatArray) -> tuple[ScopeIncidents, Clocks]:
    """The scope of single nodes, and the state of the nodes at some instants, hours since the start of the window."""
    work = _ClockWork(log, incidents)
    return work.node_scope(), work.clocks(at)


class _ClockWork:
    """Instants in hours since the start of the window; `down` holds the outages of whole systems."""

    def __init__(self, log: Tables, incidents: Incidents) -> None:
        events, table = log.events, incidents.table
        outages = outages_of(log)
        self.places = places = _places(log, outages, incidents.group)
        self.step = clock_step(log)
        self.origin = log.window.start.as_unit("ns").value
        self.incident = incidents.incident
        scope = table["scope"].to_numpy(dtype=object)
        self.scope = scope if incidents.group is None else np.where(scope == incidents.group, "rack", scope)
        self.start = self._in_hours(nanoseconds(table["start"]))
        begun = self._in_hours(nanoseconds(events["start"]))
        end_known, end_cut = events["end"].notna().to_numpy(), events["end_cut"].to_numpy(bool)
        ended = np.where(end_known, self._in_hours(nanoseconds(events["end"])), begun)
        self.end = self.start.copy()
        inside = self.incident >= 0
        np.maximum.at(self.end, self.incident[inside], ended[inside])
        self.end_known = np.bincount(self.incident[inside], end_known[inside], self.start.size) > 0
        self.end_cut = np.bincount(self.incident[inside], end_cut[inside], self.start.size) > 0
        self.system = _codes_in(places.systems, table["system"])
        self.node = node_codes(log)[0]
        self.entered = self._in_hours(outages.entered)
        self.left = np.maximum(self._in_hours(outages.left), self.entered)
        size = len(places.systems)
        self.system_entered, self.system_left = np.full(size, np.inf), np.zeros(size)
        np.minimum.at(self.system_entered, places.system, self.entered)
        np.maximum.at(self.system_left, places.system, self.left)
        alone = ~np.isfinite(self.system_entered)  # systems without nodes are watched for as long as the log
        self.system_entered[alone] = 0.0
        self.system_left[alone] = np.maximum(log.window.hours, 0.0)
        # outages of whole systems that name no node, including those in progress when observation began
        of_system = (self.node < 0) & (events["scope"] == "system").to_numpy(dtype=bool)
        code = _codes_in(places.systems, events["system"])
        self.down = _SystemDown(code[of_system], begun[of_system], ended[of_system])
        # outages of nodes; those from before observation are taken to be their own
        which = np.append(self.incident, -1)[outages.row]
        self.own = np.where(which >= 0, np.append(self.scope, "node")[which] == "node", True)
        self.begun, self.ended = self._in_hours(outages.start), self._in_hours(outages.end)
        by_node = places.system[outages.code]
        self.failed = self.own & outages.failures & ~self.down.inside(by_node, self.begun)
        self.stopped, self.resumed = self.down.up(by_node, self.begun), self.down.up(by_node, self.ended)

    def _in_hours(self, instants: IntArray) -> FloatArray:
        return (np.asarray(instants) - self.origin) / NANOSECONDS_PER_HOUR

    def clocks(self, at: FloatArray) -> Clocks:
        places, outages = self.places, self.places.watched
        first, code, system = outages.offsets[:-1], outages.code, np.tile(places.system, (at.size, 1))
        watched = np.clip(at[:, None], self.entered, self.left)
        now = self.down.up(system.ravel(), watched.ravel()).reshape(system.shape)
        entered = self.down.up(places.system, self.entered)
        # outages that began before each instant: the node's rows up to `until`, sorted by time
        low = min(self.begun.min(initial=0.0), at.min())
        width = max(self.begun.max(initial=0.0), at.max()) - low + 1.0
        nodes = np.arange(len(places.nodes)) * width
        until = np.searchsorted(code * width + (self.begun - low), nodes + (at[:, None] - low))
        lost = np.append(0.0, np.cumsum(self.resumed - self.stopped))
        ran = self.stopped - entered[code] - (lost[:-1] - lost[first][code])  # when each outage began
        ahead = np.where(until > first, np.append(self.resumed, 0.0)[until - 1] - now, 0.0)
        hours = np.maximum(now - entered - (lost[until] - lost[first] - np.maximum(ahead, 0.0)), 0.0)
        last = np.append(np.maximum.accumulate(np.where(self.own, np.arange(code.size), -1)), -1)[until - 1]
        seen = (until > first) & (last >= first)
        failed = np.append(0, np.cumsum(self.failed))
        age = np.maximum(hours - np.where(seen, np.append(ran, 0.0)[last], 0.0), 0.0)
        return Clocks(hours, age, seen | outages.entered_known, failed[until] - failed[first])

    def node_scope(self) -> ScopeIncidents:
        places, outages, begun, ended = self.places, self.places.watched, self.begun, self.ended
        by_node, began = places.system[outages.code], self.own & outages.failures
        of_outages = self.stopped, self.resumed, outages.code, self.own, self.failed
        watched = self.down.up(places.system, self.entered), self.down.up(places.system, self.left)
        spans = _spans(*of_outages, *watched, outages.entered_known, places.nodes)
        none = np.zeros(0, np.int64)
        return ScopeIncidents(
            name="node",
            **spans,
            system=places.system,
            repairs=self._repairs(ended - begun, began & outages.end_known, outages.end_cut, by_node),
            incident_of=none,
            node_of=none,
            at_risk=none,
            system_of_incident=by_node[began],
            instants=begun[began],
        )

    def wide_scope(self, name: str) -> ScopeIncidents:
        places = self.places
        mine = np.flatnonzero((self.scope == name) & (self.system >= 0))
        number = np.full(self.start.size + 1, -1, np.int64)
        number[mine] = np.arange(mine.size)
        hit = number[self.incident]
        named = np.flatnonzero((hit >= 0) & (self.node >= 0))
        named = named[alike(hit[named], self.node[named])[0]]
        incident, node = hit[named], self.node[named]
        system, place = self.system[mine], self.system[mine]
        place_system, labels = np.arange(len(places.systems)), places.systems
        entered, left = self.system_entered, self.system_left
        if name == "rack":
            place = np.full(mine.size, -1, np.int64)
            place[incident] = places.rack[node]
            place_system, labels = places.system_of_rack, places.racks
            entered, left = np.full(len(labels), np.inf), np.zeros(len(labels))
            inside = places.rack >= 0
            np.minimum.at(entered, places.rack[inside], self.entered[inside])
            np.maximum.at(left, places.rack[inside], self.left[inside])
        begun, ended = self.start[mine], self.end[mine]
        clock = (lambda _, at: at) if name == "system" else self.down.up
        order = np.lexsort((begun, place))
        order = order[place[order] >= 0]
        code = place[order]
        first, last = clock(system[order], begun[order]), clock(system[order], ended[order])
        if name == "group":
            last = first
        else:  # the latest end so far of each place, not before the start
            last = np.maximum(pd.Series(last).groupby(code).cummax().to_numpy(np.float64), first)
        fresh = np.append(True, (code[1:] != code[:-1]) | (first[1:] >= last[:-1]))[: code.size]
        if name != "system":
            fresh &= ~self.down.inside(system[order], begun[order])
        watched = clock(place_system, entered), clock(place_system, left)
        known, own = np.zeros(len(labels), np.bool_), np.ones(code.size, np.bool_)
        spans = _spans(first, last, code, own, fresh, *watched, known, labels)
        return ScopeIncidents(
            name=name,
            **spans,
            system=place_system,
            repairs=self._repairs(ended - begun, self.end_known[mine], self.end_cut[mine], system),
            incident_of=incident,
            node_of=node,
            at_risk=self._at_risk(places.rack if name == "rack" else places.system, place, begun),
            system_of_incident=system,
            instants=begun,
        )

    def _repairs(self, hours: FloatArray, end_known: BoolArray, end_cut: BoolArray, system: IntArray) -> LifeData:
        """Durations of outages, one group per system."""
        done = np.flatnonzero(end_known)
        done = done[timed_repairs(hours[done], self.step)]
        done, systems = done[np.argsort(system[done], kind="stable")], self.places.systems
        offsets = offsets_of(np.bincount(system[done], minlength=len(systems)))
        return LifeData(hours[done], ~end_cut[done], offsets, systems.rename("system"), "ttr")

    def _at_risk(self, place_of_node: IntArray, place: IntArray, at: FloatArray) -> IntArray:
        """Number of nodes of each place that were watched and up just before each instant, shape (instants,)."""
        outages = self.places.watched
        of = outages.code
        begun = np.clip(self._in_hours(outages.start), self.entered[of], self.left[of])
        ended = np.clip(self._in_hours(outages.end), begun, self.left[of])
        watched = _number_by(place_of_node, self.entered, place, at) - _number_by(place_of_node, self.left, place, at)
        down = _number_by(place_of_node[of], begun, place, at, before=True)
        return watched - down + _number_by(place_of_node[of], ended, place, at)


def _number_by(
    of_place: IntArray, of_at: FloatArray, place: IntArray, at: FloatArray, *, before: bool = False
) -> IntArray:
    """Number of instants `of_at` at the same place, at or before (`before`: strictly before) each instant `at`."""
    if not at.size:
        return np.zeros(0, np.int64)
    least, most = min(of_at.min(initial=0.0), at.min()), max(of_at.max(initial=0.0), at.max())
    width = most - least + 1.0  # puts the places in turn on one line
    line = np.sort(of_place * width + (of_at - least))
    until = np.searchsorted(line, place * width + (at - least), "left" if before else "right")
    return (until - np.searchsorted(line, place * width)).astype(np.int64)


def _codes_in(labels: pd.Index, values: pd.Series) -> IntArray:
    """Position of each value among the labels, -1 for none."""
    kinds = values.astype("category").cat
    places = np.append(labels.get_indexer(pd.Index(kinds.categories.astype(object))), -1)
    return np.asarray(places[kinds.codes], dtype=np.int64)


class _SystemDown:
    """Hours that each system was up until an instant, without the outages of the whole system."""

    def __init__(self, system: IntArray, start: FloatArray, end: FloatArray) -> None:
        self.of: dict[int, tuple[FloatArray, FloatArray]] = {}
        for code in np.unique(system[system >= 0]):  # systems, not nodes
            mine = system == code
            order = np.argsort(start[mine], kind="stable")
            begun, reach = start[mine][order], np.maximum.accumulate(end[mine][order])
            heads = np.flatnonzero(np.append(True, begun[1:] > reach[:-1]))
            ends = np.append(reach[heads[1:] - 1], reach[-1])
            points, length = np.stack([begun[heads], ends], axis=1), ends - begun[heads]
            lost = np.stack([np.cumsum(length) - length, np.cumsum(length)], axis=1)
            self.of[int(code)] = points.ravel(), lost.ravel()

    def inside(self, system: IntArray, at: FloatArray) -> BoolArray:
        """Whether the system was already down at each instant."""
        out = np.zeros(at.size, np.bool_)
        for code, (points, _) in self.of.items():
            mine = system == code
            place = np.searchsorted(points, at[mine], side="left")  # odd: within an outage
            out[mine] = (place % 2 == 1) & (at[mine] < points[np.minimum(place, points.size - 1)])
        return out

    def up(self, system: IntArray, at: FloatArray) -> FloatArray:
        """Hours up until `at`, by system."""
        out = np.array(at, dtype=np.float64)
        for code, (points, lost) in self.of.items():
            mine = system == code
            out[mine] -= np.interp(at[mine], points, lost)
        return out


def _spans(
    start: FloatArray,
    end: FloatArray,
    code: IntArray,
    own: BoolArray,
    failure: BoolArray,
    entered: FloatArray,
    left: FloatArray,
    age_known: BoolArray,
    labels: pd.Index,
) -> dict[str, Any]:
    """Times between the own outages of places (sorted, no overlap), in hours of their clocks, which others stop."""
    size = len(labels)
    sizes = np.bincount(code, minlength=size)
    place = np.repeat(np.arange(size), sizes + 1)
    # a place with k outages has k + 1 times up: the first from its entry, the last until it left
    at = np.arange(code.size) + code  # the time up that each outage ends
    first, last = np.cumsum(sizes + 1) - sizes - 1, np.cumsum(sizes + 1) - 1
    from_, until = np.empty(place.size), np.empty(place.size)
    from_[first], until[last] = entered, left
    until[at], from_[at + 1] = start, end
    up = np.maximum(until - from_, 0.0)
    resets, ends = np.zeros(place.size, np.bool_), np.zeros(place.size, np.bool_)
    resets[first] = True
    resets[at + 1] = own
    ends[at] = failure
    heads = np.flatnonzero(resets)
    length = np.add.reduceat(up, heads) if heads.size else np.zeros(0)
    tail = np.append(heads, place.size)[1:] - 1  # none where there are no places
    observed, of, begins = ends[tail], place[heads], np.isin(heads, first)
    went_on = np.zeros(place.size, np.bool_)
    went_on[last] = True
    positive = length > 0.0
    offsets = offsets_of(np.bincount(of[positive], minlength=size))
    stationary = begins & ~age_known[of]
    lives = LifeData(length[positive], observed[positive], offsets, labels, "ttf", stationary=stationary[positive])
    age = np.zeros(size)
    age[of[went_on[tail]]] = length[went_on[tail]]
    unseen = np.zeros(size, np.bool_)
    unseen[of[went_on[tail]]] = stationary[went_on[tail]]
    return {
        "lives": lives,
        "clock": np.stack([from_[heads], until[tail]], axis=1)[positive],
        "count": np.bincount(code[failure], minlength=size).astype(np.int64),
        "hours": np.bincount(place, up, size).astype(np.float64),
        "age": age,
        "since_start": unseen,
        "start_age": np.where(age_known, 0.0, np.nan),
    }
