"""How often a job fails, how long it then waits for repairs, and how uncertain both are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import durations, positive, whole
from relfit.base.arrays import Durations, FloatArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.text import count, duration
from relfit.fleet.calibration import FailuresByScope, Parameters, ScopeFailures, draw_parameters
from relfit.fleet.calibration.failures_by_scope import counted_share

__all__ = ["JobRate", "rate_of_job", "repairs_in_words", "until_all_are_up", "wait_for_repair"]

_UNNAMED = (None, "", "system")  # names of the system of a log that names none


@dataclass(frozen=True, eq=False)
class JobRate:
    """Failures and repairs of a job."""

    scopes: tuple[ScopeFailures, ...]
    nodes: int
    source: str = ""  # where the rate comes from
    waits: str = ""  # in a sentence, whether the job waits for repairs
    drawn: JobRate | None = None  # draws of uncertain parameters
    like: str = ""  # how its nodes fail, after "that fail"
    longer: Callable[[FloatArray], FloatArray] | None = None
    """How many times a repair a job of this many nodes waits until all are up, where that was counted."""
    counted: Sequence[tuple[float, float]] | None = None
    """Sizes of jobs, and how many times as often they fail as the rates of the scopes say."""

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
            if wide is None or scope.is_wide == wide:
                total = total + scope.rate_of(sizes) * (scope.repair_of(sizes) if repair else 1.0)
        if not self.counted:
            return total
        points, times = np.log(np.asarray(self.counted, np.float64)).T
        return np.asarray(total * np.exp(np.interp(np.log(np.asarray(sizes, np.float64)), points, times)))

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
    source: object,
    nodes: int | None = None,
    *,
    repair: Durations | None = None,
    events: float | None = None,
    n_draws: int = 1000,
    rng: Seed = 0,
) -> JobRate:
    """Failures of a job of `nodes`, and the repairs that it waits for, by a node's mean time or calibrated parameters.

    Failures of a system hit any job of it. A job takes whole racks, in turn; an incident of a rack, or of a
    group of nodes, hits it as far as ``fleet.rack_share`` and ``fleet.group_share`` say (all of them when left out),
    or, of a group, as ``fleet.group_hits`` has counted. Where ``fleet.job_failures`` has counted jobs, they fail as
    often as counted. A job waits until those of its nodes that were hit are back: one takes ``mttr.rack_node``, all
    that an incident hit ``mttr.rack``; between them by how many of them are the job's. `repair` stands in for these
    times. `events` failures behind a mean time make it as uncertain as a count is.

    Examples
    --------
    >>> job = rate_of_job("20000h", 1000, repair="1h", events=40, rng=1)
    >>> float(job.mtbf), float(job.repair), np.quantile(job.drawn.mtbf, [0.05, 0.95]).round(1).tolist()
    (20.0, 1.0, [15.6, 25.9])
    """
    if isinstance(source, Parameters):
        if events is not None:
            raise ArgumentError("events does not go with parameters", remedy="leave it out: they have their own")
        return _of_parameters(source, nodes, repair, n_draws, rng)
    mtbf = durations("mtbf", source, zero=False)
    if mtbf.ndim:
        raise ArgumentError("several mean times are given", remedy="give one; the functions on arrays take several")
    size = 1 if nodes is None else int(whole("nodes", nodes))
    own, _ = wait_for_repair(repair)
    drawn = None
    if events is not None:
        count = float(positive("events", events))
        gamma = np.random.default_rng(rng).gamma(count + 0.5, size=int(whole("n_draws", n_draws, 2)))
        drawn = JobRate((ScopeFailures("node", float(mtbf) * count / gamma, own),), size)
    basis = f"mean time between failures of a node {float(mtbf):g} h"
    basis += f", from {float(events):g} failures" if events is not None else ""
    like = f"every {duration(float(mtbf))}{' each' if size > 1 else ''}"
    rate = JobRate((ScopeFailures("node", float(mtbf), own),), size, basis, drawn=drawn, like=like)
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
    return f"no spares, {duration(wait)} of waiting for repair per failure" if wait > 0.0 else "no waiting for repair"


def wait_for_repair(
    repair: Durations | None, mttr: float | None = None, names: str = "", *, wait: float | None = None
) -> tuple[float, str]:
    """Hours that a repair takes, and in a sentence how long a job waits for it: `wait` until all nodes are up."""
    hours = mttr if repair is None else float(durations("repair", repair))
    if hours is None:
        return 0.0, "Times to repair are not known and left out: the job goes on at once, as with spares."
    if hours == 0.0:
        return 0.0, "Spares take over at once: no waiting for repair."
    basis = f" ({names})" if repair is None else ""
    text = f"No spares: after each failure the job waits for the repair, {duration(hours)} on average{basis}"
    if wait is not None and wait > 1.005 * hours:
        text += f", and for what fails meanwhile: {duration(wait)} in all"
    return hours, f"{text}."


# ---------------------------------------------------------------------- details


def _of_parameters(
    parameters: Parameters, nodes: int | None, repair: Durations | None, n_draws: int, rng: Seed
) -> JobRate:
    failures, fleet = FailuresByScope.of_parameters(parameters), parameters.fleet
    if failures.node.mtbf is None:
        parameters.require("mtbf.node")
    if nodes is None and fleet.nodes is None:
        raise ArgumentError("how many nodes the job has is not known", remedy="give nodes")
    size = int(whole("nodes", fleet.nodes if nodes is None else nodes))
    hours = None if repair is None else float(durations("repair", repair))

    def scoped(of: FailuresByScope) -> tuple[ScopeFailures, ...]:
        return tuple(scope if hours is None else replace(scope, mttr=hours, mttr_node=None) for scope in of.placed)

    means = JobRate(scoped(failures), size, counted=failures.job_failures)
    groups = next((scope for scope in means.scopes if scope.name == "group"), None)
    if groups is not None and groups.hits and groups.mttr_name and hours is None:
        means = replace(means, longer=partial(_longer, means, groups.hits))
    drawn = None
    keys = list(dict.fromkeys(scope.mttr_name for scope in means.scopes if scope.mttr_name))
    single = "node" if "mtbf.node" in parameters.values() else "outage"
    names = [f"mtbf.{single if scope.name == 'node' else scope.name}" for scope in means.scopes]
    if any(name not in parameters.unknown_uncertainty for name in [*names, *(keys if hours is None else ())]):
        draws = draw_parameters(parameters, int(whole("n_draws", n_draws, 2)), rng)
        drawn = JobRate(
            scoped(FailuresByScope.of_parameters(parameters, draws)), size, longer=means.longer, counted=means.counted
        )
    mean_repair = float(means.repair) if keys else None
    waits = wait_for_repair(repair, mean_repair, ", ".join(keys), wait=float(means.wait))[1]
    basis = f"parameters ({', '.join(names)})" + (f" of {parameters.name}" if parameters.name else "")
    unnamed = parameters.name in _UNNAMED
    named = "the calibrated fleet" if unnamed else parameters.name
    like = f"like the {fleet.nodes:,} of {named}" if fleet.nodes else f"like those of {named}"
    return replace(means, source=basis, waits=waits, drawn=drawn, like=like)


def _longer(means: JobRate, hits: Sequence[tuple[int, float, float]], nodes: FloatArray) -> FloatArray:
    """Hours until all nodes of a job are up, by the share of the time in which they were, over those of a repair."""
    up = counted_share(hits, nodes, 2)
    return np.asarray(means.mtbf_of(nodes) * (1.0 - up) / up / means.repair_of(nodes))
