"""The failure rate of a job, its wait for repairs, and the uncertainty of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.base.arguments import durations, positive, random_stream, whole
from relfit.base.arrays import Durations, FloatArray, Seed
from relfit.base.errors import ArgumentError
from relfit.base.text import count, duration
from relfit.fleet.calibration import FailuresByScope, Parameters, ScopeFailures, draw_parameters
from relfit.fleet.calibration.failures_by_scope import counted_share
from relfit.fleet.incident_scopes import SCOPES

_TOGETHER = ("node", "group")  # scopes whose nodes fleet.down_scatter counts
_UNNAMED = (None, "", "system")  # names of the system of a log that names none
_NO_WAIT = "No waiting for repair, not even of the whole system, against which spares do not help."
NEVER = 1e9  # hours, more than 100,000 years: a longer wait is not told from no end


@dataclass(frozen=True, eq=False)
class JobRate:
    """Failures and repairs of a job."""

    scopes: tuple[ScopeFailures, ...]
    nodes: int
    source: str = ""  # where the rate comes from
    waits: str = ""  # a sentence on the wait for repairs
    drawn: JobRate | None = None  # draws of uncertain parameters
    like: str = ""  # how its nodes fail, after "that fail"
    longer: Callable[[FloatArray], FloatArray] | None = None
    """Wait until all nodes of a job are up relative to the mean repair, by size, if counted."""
    counted: Sequence[tuple[float, float]] | None = None
    """Size of a job, and its counted failure rate relative to that from the rates of the scopes."""
    scatter: Any = 0.0  # of the number of nodes down, as fleet.down_scatter

    @property
    def premise(self) -> str:
        """The job, its failures and its wait for repairs, as the opening of a plan's headline."""
        return f"For {self.failing}, {repairs_in_words(float(self.wait))}:"

    @property
    def failing(self) -> str:
        """The nodes, and how they fail."""
        return f"{count(self.nodes, 'node')} that fail{'s' if self.nodes == 1 else ''} {self.like}"

    def _total(
        self, sizes: npt.ArrayLike, wide: bool | None = None, repair: bool = False, names: Sequence[str] = SCOPES
    ) -> FloatArray:
        """Failures per hour, or hours of repair per hour, of jobs on this many nodes, along a last axis."""
        total = np.zeros(np.shape(sizes))
        for scope in self.scopes:
            if scope.name in names and (wide is None or scope.is_wide == wide):
                total = total + scope.rate_of(sizes) * (scope.repair_of(sizes) if repair else 1.0)
        if not self.counted:
            return total
        points, times = np.log(np.asarray(self.counted, np.float64)).T
        return np.asarray(total * np.exp(np.interp(np.log(np.asarray(sizes, np.float64)), points, times)))

    def mtbf_of(self, sizes: npt.ArrayLike) -> Any:
        """Mean hours between the failures of jobs on this many nodes, along a last axis."""
        return 1.0 / self._total(sizes)

    def own_share(self, sizes: npt.ArrayLike) -> Any:
        """Share of the failures of such jobs that are of single nodes or racks, along a last axis."""
        return self._total(sizes, wide=False) / self._total(sizes)

    def repair_of(self, sizes: npt.ArrayLike) -> Any:
        """Mean time to repair after a failure of such jobs, hours, along a last axis."""
        return self._total(sizes, repair=True) / self._total(sizes)

    @property
    def node_mtbf(self) -> Any:
        """Mean hours between failures of one node of the job, including its share of rack failures."""
        return self.nodes / self._total(np.array([self.nodes]), wide=False)[..., 0]

    @property
    def node_repair(self) -> Any:
        """Mean time to repair of these failures, hours."""
        size = np.array([self.nodes])
        return (self._total(size, wide=False, repair=True) / self._total(size, wide=False))[..., 0]

    @property
    def wide_rate(self) -> Any:
        """Failures per hour of groups of nodes and of whole systems that hit the job."""
        return self._total(np.array([self.nodes]), wide=True)[..., 0]

    def wait_of(self, sizes: npt.ArrayLike) -> Any:
        """Mean hours until all nodes of such jobs are up again after a failure, along a last axis."""
        if self.longer is None:
            every = self._total(sizes, repair=True)
            together = self._total(sizes, repair=True, names=_TOGETHER) / np.maximum(every, 1e-300)
            scatter = np.asarray(self.scatter)[..., None] if np.any(self.scatter) else 0.0
            return until_all_are_up(self.mtbf_of(sizes), self.repair_of(sizes), scatter, together)
        return self.repair_of(sizes) * self.longer(np.asarray(sizes, dtype=np.float64))

    @property
    def system_down(self) -> Any:
        """Hours that the whole system is down, against which no spare helps, per hour that it is up."""
        return sum(one.mttr / one.mtbf for one in self.scopes if one.name == "system" and one.mttr is not None)

    @property
    def with_spares(self) -> JobRate:
        """The same failures, after which spares take over at once; without the wait for the whole system."""
        scopes = tuple(replace(scope, mttr=0.0, mttr_node=None) for scope in self.scopes)
        return replace(self, scopes=scopes, longer=None, drawn=None)

    @property
    def mtbf(self) -> Any:
        """Mean hours between the failures of the job."""
        return self.mtbf_of(np.array([self.nodes]))[..., 0]

    @property
    def repair(self) -> Any:
        """Mean time to repair after a failure of the job, hours."""
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
    """Failure rate of a job and its wait for repairs, from a node's mean time or calibrated parameters.

    `repair` replaces the mean time to repair of the parameters. `events`, the number of failures behind a mean time,
    gives its uncertainty. A job has 1 node by default, or those of the parameters' fleet.

    A failure of the system hits every job. A job takes complete racks in turn. An incident of a rack or of a group hits
    it with the probability from ``fleet.rack_share`` and ``fleet.group_share`` (1 if they are missing); for a group,
    counts in ``fleet.group_hits`` take precedence. Counts in ``fleet.job_failures`` correct the sum. A job waits until
    all its nodes that were hit are repaired: ``mttr.rack_node`` for one, ``mttr.rack`` for all that an incident hit,
    and between these in proportion to the nodes of the job. Nodes are down together by ``fleet.down_scatter``.
    """
    if isinstance(source, Parameters):
        if events is not None:
            raise ArgumentError("events does not go with parameters", remedy="leave it out: they have their own")
        return _of_parameters(source, nodes, repair, n_draws, rng)
    mtbf = mean_time_of(source)
    if mtbf.ndim:
        raise ArgumentError("several mean times are given", remedy="give one; the functions on arrays take several")
    size = 1 if nodes is None else int(whole("nodes", nodes))
    own, _ = wait_for_repair(repair)
    drawn = None
    if events is not None:
        count = float(positive("events", events))
        gamma = random_stream(rng).gamma(count + 0.5, size=int(whole("n_draws", n_draws, 2)))
        drawn = JobRate((ScopeFailures("node", float(mtbf) * count / gamma, own),), size)
    basis = f"mean time between failures of a node {float(mtbf):g} h"
    basis += f", from {float(events):g} failures" if events is not None else ""
    like = f"every {duration(float(mtbf))}{' each' if size > 1 else ''}"
    rate = JobRate((ScopeFailures("node", float(mtbf), own),), size, basis, drawn=drawn, like=like)
    return replace(rate, waits=wait_for_repair(repair, wait=float(rate.wait))[1])


def mean_time_of(source: object) -> FloatArray:
    """Hours of a mean time between failures; an `ArgumentError` for anything else."""
    if str(source).endswith((".toml", ".json")):
        raise ArgumentError(f"{str(source)!r} is a file", remedy=f"give relfit.read_parameters({str(source)!r})")
    return durations("mtbf", source, zero=False)


def until_all_are_up(
    mtbf: Durations, repair: Durations, scatter: FloatArray | float = 0.0, together: FloatArray | float = 1.0
) -> FloatArray:
    """Mean hours from a failure until all nodes of a job are up again.

    Nodes continue to fail while others are repaired: this is the busy period of a queue with infinitely many servers,
    for any distribution of repairs (Takacs 1962). Arguments are hours. With a `scatter`, as ``fleet.down_scatter``, a
    share `together` of the repairs has a level in common, of a gamma distribution with this relative variance. Where
    they are hardly ever all up, the wait is 1e9 hours.
    """
    between, hours = np.asarray(mtbf, dtype=np.float64), np.asarray(repair, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        down = hours / between
        if np.any(scatter):  # minus the logarithm of the share of time in which all are up
            down = down * (1.0 - together) + np.log1p(scatter * down * together) / scatter
        return np.where(hours > 0.0, np.minimum(between * np.expm1(down), NEVER), 0.0)


def _in_words(wait: float) -> str:
    return duration(wait) if wait < NEVER else "more than 100,000 years"


def repairs_in_words(wait: float) -> str:
    """Whether a job waits for repairs, as part of a sentence."""
    return f"no spares, {_in_words(wait)} of waiting for repair per failure" if wait > 0.0 else "no waiting for repair"


def wait_for_repair(
    repair: Durations | None, mttr: float | None = None, names: str = "", *, wait: float | None = None
) -> tuple[float, str]:
    """Hours of a repair, and a sentence on the wait of a job for it: `wait` hours until all nodes are up."""
    hours = mttr if repair is None else float(durations("repair", repair))
    if hours is None:
        return 0.0, "Times to repair are not known and left out: the job goes on at once, as with spares."
    if hours == 0.0:
        return 0.0, "Spares take over at once: no waiting for repair."
    basis = f" ({names})" if repair is None else ""
    text = f"No spares: after each failure the job waits for the repair, {duration(hours)} on average{basis}"
    if wait is not None and wait > 1.005 * hours:
        text += f", and for what fails meanwhile: {_in_words(wait)} in all"
    return hours, f"{text}."


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

    values = parameters.values()
    scatter = values.get("fleet.down_scatter", 0.0)
    means = JobRate(scoped(failures), size, counted=failures.job_failures, scatter=scatter)
    groups = next((scope for scope in means.scopes if scope.name == "group"), None)
    if groups is not None and groups.hits and groups.mttr_name and hours is None:
        means = replace(means, longer=partial(_longer, means, groups.hits))
    drawn = None
    keys = list(dict.fromkeys(scope.mttr_name for scope in means.scopes if scope.mttr_name))
    single = "node" if "mtbf.node" in values else "outage"
    names = [f"mtbf.{single if scope.name == 'node' else scope.name}" for scope in means.scopes]
    unknown = parameters.unknown_uncertainty
    if any(name not in unknown for name in [*names, *(keys if hours is None else ())]):
        draws = draw_parameters(parameters, int(whole("n_draws", n_draws, 2)), rng)
        scopes = scoped(FailuresByScope.of_parameters(parameters, draws))
        drawn = replace(means, scopes=scopes, scatter=draws["fleet.down_scatter"] if scatter else 0.0)
    waits = wait_for_repair(repair, float(means.repair) if keys else None, ", ".join(keys), wait=float(means.wait))[1]
    if hours == 0.0 and any(scope.name == "system" for scope in means.scopes):
        waits = _NO_WAIT
    basis = parameters.title.replace("parameters", f"parameters ({', '.join(names)})", 1)
    named = "the calibrated fleet" if parameters.name in _UNNAMED else parameters.name
    number = fleet.nodes_now or fleet.nodes
    like = f"like the {number:,} of {named}" if number else f"like those of {named}"
    when = {"current": " now", "long-run": " in the long run"}.get(basis.partition(" ")[0], "")
    return replace(means, source=basis, waits=waits, drawn=drawn, like=f"{like}{when}")


def _longer(means: JobRate, hits: Sequence[tuple[int, float, float]], nodes: FloatArray) -> FloatArray:
    """Hours until all nodes of a job are up, from the counted share of time up, relative to the mean repair."""
    up = counted_share(hits, nodes, 2)
    return np.asarray(means.mtbf_of(nodes) * (1.0 - up) / up / means.repair_of(nodes))
