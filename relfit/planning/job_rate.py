"""How often a job fails, how long it then waits for repairs, and how uncertain both are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from relfit.arguments import durations, positive, whole
from relfit.arrays import Durations, FloatArray, Seed
from relfit.calibration import Parameters, draw_parameters
from relfit.errors import ArgumentError
from relfit.text import count, duration

__all__ = ["JobRate", "rate_of_job", "repairs_in_words", "until_all_are_up", "wait_for_repair"]


@dataclass(frozen=True, eq=False)
class Scope:
    """Failures of nodes, racks, groups of nodes or the whole system; numbers, or arrays over draws."""

    rate: Any  # failures per hour of one of them
    repair: Any  # hours until all that one hit is repaired
    met: Callable[[FloatArray], FloatArray]  # how many of their failures, at this rate, a job of this many nodes meets
    wide: bool = False  # not of a node or a rack: neither predicted nor borne by a copy
    repair_of_one: Any = 0.0  # hours until one node that a failure hit is repaired
    beyond_one: Callable[[FloatArray], FloatArray] = np.ones_like  # 0: it waits for one, 1: for all that was hit

    def of(self, sizes: npt.ArrayLike) -> FloatArray:
        """Failures per hour that strike jobs on this many nodes, along a last axis."""
        return np.asarray(np.asarray(self.rate)[..., None] * self.met(np.asarray(sizes, dtype=np.float64)))

    def repair_by(self, sizes: npt.ArrayLike) -> FloatArray:
        """Hours of a repair of what such jobs lose, along a last axis."""
        one, part = np.asarray(self.repair_of_one)[..., None], self.beyond_one(np.asarray(sizes, dtype=np.float64))
        return np.asarray(one + (np.asarray(self.repair)[..., None] - one) * part)


@dataclass(frozen=True, eq=False)
class JobRate:
    """Failures and repairs of a job."""

    scopes: tuple[Scope, ...]
    nodes: int
    source: str = ""  # where the rate comes from
    waits: str = ""  # in a sentence, whether the job waits for repairs
    drawn: JobRate | None = None  # draws of uncertain parameters
    like: str = ""  # how its nodes fail, after "that fail"
    longer: Callable[[FloatArray], FloatArray] | None = None
    """How many times a repair a job of this many nodes waits until all are up, where that was counted."""

    @property
    def premise(self) -> str:
        """The job and its failures in a sentence: what a plan holds for."""
        return f"For {self.failing}, {repairs_in_words(float(self.wait))}:"

    @property
    def failing(self) -> str:
        """The nodes, and how they fail."""
        return f"{count(self.nodes, 'node')} that fail{'s' if self.nodes == 1 else ''} {self.like}"

    def _total(self, sizes: npt.ArrayLike, wide: bool | None = None, repair: bool = False) -> FloatArray:
        """Failures per hour, or hours of repair per hour, of jobs on this many nodes, along a last axis."""
        total = np.zeros(np.shape(sizes))
        for scope in self.scopes:
            if wide is None or scope.wide == wide:
                total = total + scope.of(sizes) * (scope.repair_by(sizes) if repair else 1.0)
        return total

    def mtbf_of(self, sizes: npt.ArrayLike) -> Any:
        """Mean hours between the failures of jobs on this many nodes, along a last axis."""
        return 1.0 / self._total(sizes)

    def own_share(self, sizes: npt.ArrayLike) -> Any:
        """Share of the failures of such jobs that are of a node or a rack, along a last axis."""
        return self._total(sizes, wide=False) / self._total(sizes)

    def repair_of(self, sizes: npt.ArrayLike) -> Any:
        """Mean hours of a repair of what such jobs lose, along a last axis."""
        return self._total(sizes, repair=True) / self._total(sizes)

    @property
    def node_mtbf(self) -> Any:
        """Mean hours between the failures of one node of the job, with its share of those that hit a rack."""
        return self.nodes / self._total(np.array([self.nodes]), wide=False)[..., 0]

    @property
    def node_repair(self) -> Any:
        """Mean hours of their repair."""
        size = np.array([self.nodes])
        return (self._total(size, wide=False, repair=True) / self._total(size, wide=False))[..., 0]

    @property
    def wide_rate(self) -> Any:
        """Failures per hour of groups of nodes and of whole systems that strike the job."""
        return self._total(np.array([self.nodes]), wide=True)[..., 0]

    def wait_of(self, sizes: npt.ArrayLike) -> Any:
        """Mean hours until all nodes of such jobs are up again after a failure, along a last axis."""
        if self.longer is None:
            return until_all_are_up(self.mtbf_of(sizes), self.repair_of(sizes))
        return self.repair_of(sizes) * self.longer(np.asarray(sizes, dtype=np.float64))

    @property
    def mtbf(self) -> Any:
        """Mean hours between the failures of the job."""
        return self.mtbf_of(np.array([self.nodes]))[..., 0]

    @property
    def repair(self) -> Any:
        """Mean hours of a repair of what the job loses."""
        return self.repair_of(np.array([self.nodes]))[..., 0]

    @property
    def wait(self) -> Any:
        """Mean hours until all nodes of the job are up again after a failure."""
        return self.wait_of(np.array([self.nodes]))[..., 0]


def rate_of_job(
    source: Any,
    nodes: int | None = None,
    *,
    repair: Durations | None = None,
    events: float | None = None,
    n_draws: int = 2000,
    rng: Seed = 0,
) -> JobRate:
    """Failures of a job of `nodes`, and the repairs that it waits for, by a node's mean time or calibrated parameters.

    Failures of a system hit any job of it. A job takes whole racks, in turn; an incident of a rack, or of a
    group of nodes, hits it as far as ``fleet.rack_share`` and ``fleet.group_share`` say (all of them when left out),
    or, of a group, as ``fleet.group_hits`` has counted. It waits until those of its nodes that were hit are back: one
    takes ``mttr.rack_node``, all that an incident hit ``mttr.rack``; between them by how many of them are the job's.
    `repair` stands in for these times. `events` failures behind a mean time make it as uncertain as a count is.

    Examples
    --------
    >>> job = rate_of_job("20000h", 1000, repair="1h", events=40, rng=1)
    >>> float(job.mtbf), float(job.repair), np.quantile(job.drawn.mtbf, [0.05, 0.95]).round(1).tolist()
    (20.0, 1.0, [15.7, 26.0])
    """
    if isinstance(source, Parameters):
        if events is not None:
            raise ArgumentError("events does not go with parameters", remedy="they know their own")
        return _of_parameters(source, nodes, repair, n_draws, rng)
    mtbf = durations("mtbf", source, zero=False)
    if mtbf.ndim:
        raise ArgumentError("one mean time, please", remedy="for many cases use the functions on arrays")
    size = 1 if nodes is None else int(whole("nodes", nodes))
    own, _ = wait_for_repair(repair)
    drawn = None
    if events is not None:
        count = float(positive("events", events))
        gamma = np.random.default_rng(rng).gamma(count + 0.5, size=int(whole("n_draws", n_draws, 2)))
        drawn = JobRate((Scope(gamma / (float(mtbf) * count), own, _all),), size)
    basis = f"mean time between failures of a node {float(mtbf):g} h"
    basis += f", from {float(events):g} failures" if events is not None else ""
    like = f"every {duration(float(mtbf))}{' each' if size > 1 else ''}"
    rate = JobRate((Scope(1.0 / float(mtbf), own, _all),), size, basis, drawn=drawn, like=like)
    return replace(rate, waits=wait_for_repair(repair, wait=float(rate.wait))[1])


def until_all_are_up(mtbf: Durations, repair: Durations) -> FloatArray:
    """Mean hours from a failure until all nodes of a job are up again.

    Nodes go on failing while others are repaired: the busy period of a queue with any number of servers, whatever the
    distribution of repairs (Takacs 1962).

    Examples
    --------
    >>> until_all_are_up([20.0, 2.0], 2.0).round(2).tolist()
    [2.1, 3.44]
    """
    between, hours = np.asarray(mtbf, dtype=np.float64), np.asarray(repair, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(hours > 0.0, between * np.expm1(hours / between), 0.0)


def repairs_in_words(wait: float) -> str:
    """Whether a job waits for repairs, as part of a sentence."""
    return f"no spares, {duration(wait)} of repair waited for" if wait > 0.0 else "no repair waited for"


def wait_for_repair(
    repair: Durations | None, mttr: float | None = None, names: str = "", *, wait: float | None = None
) -> tuple[float, str]:
    """Hours that a repair takes, and in a sentence how long a job waits for it: `wait` until all nodes are up."""
    hours = mttr if repair is None else float(durations("repair", repair))
    if hours is None:
        return 0.0, "Times to repair are not known and left out: the job goes on at once, as with spares."
    if hours == 0.0:
        return 0.0, "Spares take over at once: no repair is waited for."
    basis = f" ({names})" if repair is None else ""
    text = f"No spares: after each failure the job waits for the repair, {duration(hours)} on average{basis}"
    if wait is not None and wait > 1.005 * hours:
        text += f", and for what fails meanwhile: {duration(wait)}"
    return hours, f"{text}."


# ---------------------------------------------------------------------- details


def _of_parameters(
    parameters: Parameters, nodes: int | None, repair: Durations | None, n_draws: int, rng: Seed
) -> JobRate:
    values = parameters.values()
    single = "node" if "mtbf.node" in values else "outage" if "mtbf.outage" in values else None
    fleet = parameters.fleet
    if single is None:
        parameters.require("mtbf.node")
        raise AssertionError
    if nodes is None and fleet.nodes is None:
        raise ArgumentError("how many nodes the job has is not known", remedy="give nodes")
    size = int(whole("nodes", fleet.nodes if nodes is None else nodes))
    by_scope = single == "node"  # every outage of a node holds the wider ones already
    per_rack = fleet.nodes / fleet.racks if fleet.nodes and fleet.racks else 0.0
    wide = [name for name in ("group", "system") if by_scope and f"mtbf.{name}" in values]
    scopes = [single, *(["rack"] if by_scope and "mtbf.rack" in values and per_rack else []), *wide]
    mttr = {name: next((key for key in (f"mttr.{name}", "mttr.mean") if key in values), None) for name in scopes}
    repair_hours = None if repair is None else float(durations("repair", repair))
    hits = fleet.group_hits
    met: dict[str, Callable[[FloatArray], FloatArray]] = {
        "rack": lambda n: np.maximum(1.0, n / per_rack) * _hit(fleet.rack_share, np.minimum(n, per_rack), per_rack),
        "group": lambda n: _hit(fleet.group_share, n, fleet.nodes) if hits is None else _counted(hits, n, 1),
        "system": np.ones_like,
    }
    places = {"rack": (per_rack, fleet.rack_share), "group": (fleet.nodes, fleet.group_share)}

    def beyond_one(name: str) -> Callable[[FloatArray], FloatArray]:
        size, share = places[name]

        def part(n: FloatArray) -> FloatArray:
            inside = np.minimum(n, size)
            of_those_hit = inside * share / met[name](inside)  # nodes of the job, on average
            return np.asarray(np.clip((of_those_hit - 1.0) / max(size * share - 1.0, 1e-9), 0.0, 1.0))

        return part

    def scope_of(of: Any, name: str, key: str | None) -> Scope:
        repair = repair_hours if repair_hours is not None else 0.0 if key is None else of[key]
        scope = Scope(1.0 / of[f"mtbf.{name}"], repair, met.get(name, _all), name in wide)
        if repair_hours is None and f"mttr.{name}_node" in of and key == f"mttr.{name}" and all(places[name]):
            return replace(scope, repair_of_one=of[f"mttr.{name}_node"], beyond_one=beyond_one(name))
        return scope

    def scoped(of: Any) -> tuple[Scope, ...]:
        return tuple(scope_of(of, name, key) for name, key in mttr.items())

    means = JobRate(scoped(values), size)
    if hits and repair_hours is None and mttr.get("group"):
        means = replace(means, longer=partial(_longer, means, hits))
    drawn = None
    used = [*(f"mtbf.{name}" for name in scopes), *(key for key in mttr.values() if key and repair_hours is None)]
    if any(name not in parameters.unknown_uncertainty for name in used):
        draws = draw_parameters(parameters, int(whole("n_draws", n_draws, 2)), rng)
        drawn = JobRate(scoped(draws), size, longer=means.longer)
    keys = list(dict.fromkeys(key for key in mttr.values() if key))
    mean_repair = float(means.repair) if keys else None
    waits = wait_for_repair(repair, mean_repair, ", ".join(keys), wait=float(means.wait))[1]
    names = ", ".join(f"mtbf.{name}" for name in scopes)
    basis = f"parameters ({names})" + (f" of {parameters.name}" if parameters.name else "")
    named = parameters.name or "the fleet of the parameters"
    like = f"like the {fleet.nodes:,} of {named}" if fleet.nodes else f"like those of {named}"
    return replace(means, source=basis, waits=waits, drawn=drawn, like=like)


def _all(nodes: FloatArray) -> FloatArray:
    """Every node fails on its own."""
    return nodes


def _counted(hits: list[tuple[int, float, float]], nodes: FloatArray, column: int) -> FloatArray:
    """Share for jobs of some nodes, between sizes for which it was counted on log scales."""
    points = np.array([(row[0], row[column]) for row in hits if row[column] > 0.0])
    return np.asarray(np.exp(np.interp(np.log(nodes), *np.log(points).T)))


def _longer(means: JobRate, hits: list[tuple[int, float, float]], nodes: FloatArray) -> FloatArray:
    """Hours until all nodes of a job are up, by the share of the time in which they were, over those of a repair."""
    up = _counted(hits, nodes, 2)
    return np.asarray(means.mtbf_of(nodes) * (1.0 - up) / up / means.repair_of(nodes))


def _hit(share: float | None, nodes: FloatArray, of: float | None) -> FloatArray:
    """Probability that an incident of a share of the `of` nodes at a place hits a job that has some of them.

    Which nodes it hits is taken as chance: it misses the job in C(of - hit, nodes) of C(of, nodes) cases.
    """
    if share is None or share >= 1.0:
        return np.ones_like(nodes)
    if of is None:
        return np.asarray(-np.expm1(nodes * np.log1p(-share)))
    hit, spared = of * share, of * (1.0 - share)
    left = np.maximum(spared - nodes, 0.0)
    missed = special.betaln(spared + 1.0, hit) - special.betaln(left + 1.0, hit)
    return np.where(nodes > spared, 1.0, -np.expm1(missed))
