"""`FleetModel`: rates, repairs and nodes of a fleet, and jobs on part of it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.arguments import random_stream, share, whole
from relfit.base.arrays import FloatArray, Seed
from relfit.base.errors import ArgumentError, Remedy
from relfit.base.numeric.levels import level_checked
from relfit.base.results import Interval, Result
from relfit.base.text import count, duration, first_names, number
from relfit.base.units import HOURS_PER_WEEK
from relfit.fleet._fleet_system import ages_now, system_of
from relfit.fleet._placements import placements
from relfit.fleet.current_repairs import RepairsNow, repairs_now
from relfit.fleet.drawn_fleet import KEPT, DrawnFleet, PlacedJob
from relfit.fleet.fleet_parts import FleetParts
from relfit.fleet.incident_scopes import SCOPES, ScopeIncidents
from relfit.fleet.job_shares import Lately
from relfit.fleet.node_years import by_node_year, nodes_in_service
from relfit.fleet.nodes_to_check import nodes_now
from relfit.fleet.now import LONG_RUN, NOW
from relfit.fleet.rates_now import LevelRates, unbounded
from relfit.system import System
from relfit.system.checked_nodes import duration_array

QUANTITIES = ("mtbf", "mttr", "mttf", "reliability", "incidents", "nodes_down")


class FleetModel(FleetParts, Result):
    """Incidents of a fleet by scope: rates, ageing, repairs, and their effect on jobs; made by `relfit.fleet_model`.

    Attributes
    ----------
    lately : Lately, optional
        Daily counts of incidents and interrupted jobs; None for the long run. `FleetParts` lists the other attributes.
    """

    lately: Lately | None = None

    _not_in_json = ("period", "found", "places", "by_scope", "renewals", "rates", "multiples", "lately")
    _frame = "scopes"

    @property
    def at(self) -> str:
        """``now``, or ``long run``."""
        return LONG_RUN if self.lately is None else NOW

    @property
    def now_headline(self) -> str:
        """Incidents per week now, with their interval, and in the period; empty for the long run."""
        if self.lately is None:
            return ""
        week, low, high = self.lately.a_week(self.level)
        stable, until = self.period.before_now, self.lately.log.window.end
        window = self.period.log.window if stable is None else stable
        inside = int(self.found.table["start"].between(window.start, window.end).sum())
        systems, where, where_before = self.places.systems, "", ""
        if len(systems) > 1:
            gone = np.delete(np.asarray(systems, dtype=object), self.lately.there)
            where = f" in {count(self.lately.there.size, 'system')}"
            where += f" without {first_names(gone, 3)}" if gone.size else ""
            where_before = f" in all {len(systems)}" if gone.size else ""
        before = inside / max(window.hours / HOURS_PER_WEEK, 1e-9)
        begin = f"{window.start:%Y-%m-%d}"
        since = f"since {begin}" if window.end >= until else f"{begin} to {window.end:%Y-%m-%d}"
        log = self.lately.log
        since += by_node_year(week, before, nodes_in_service(log, window), log.n_nodes)
        return (
            f"As of {until:%Y-%m-%d}: {number(week)} incidents a week{where} "
            f"({number(low)}-{number(high)}); {number(before)} a week{where_before} {since}."
        )

    @property
    def findings(self) -> tuple[str, ...]:
        """Incidents per week now, the headline of the period, and how many incidents it does not count."""
        return tuple(text for text in (self.now_headline, self.headline, self.within_outages) if text)

    @property
    def headline(self) -> str:
        """Mean time between incidents, and their number by scope."""
        numbers = {name: int(self.incidents_of(name).sum()) for name in SCOPES}
        total = sum(numbers.values())
        if not total:
            return f"No incident in {duration(self.hours)}."
        by = ", ".join(f"{numbers[name]:,} of {self.label(name)}s" for name in SCOPES if numbers[name])
        return (
            f"An incident every {duration(self.hours / total)}: {count(total, 'incident')} in "
            f"{duration(self.hours)}, {by}."
        )

    @cached_property
    def scopes(self) -> pd.DataFrame:
        """One row per scope (and system, if there are several).

        Columns, for the period: ``incidents``; ``places`` (nodes, racks or systems); their operating ``hours``;
        ``mtbf`` of one place (hours) and Weibull ``shape`` of the times between incidents, with intervals; ``spread``
        (variance of the nodes' frailty); ``nodes_hit`` (mean); ``repairs`` and ``mttr`` (their mean, hours). A model
        for now adds ``mtbf_now`` with its interval, infinite above where the log does not bound it.
        """
        size = len(self.places.systems)
        rows = []
        for name in SCOPES:
            current, fits, scope = self.rates[name], self.renewals[name], self.by_scope[name]
            rates = current.of_period if isinstance(current, LevelRates) else current
            low, high = rates.interval(self.level)
            with np.errstate(divide="ignore", invalid="ignore"):
                number, places = self.incidents_of(name).astype(np.int64), np.bincount(scope.system, minlength=size)
                mtbf = {"mtbf": 1.0 / rates.rate, "mtbf_low": 1.0 / high, "mtbf_high": 1.0 / low}
                shape = {"shape": fits.shape[:, 1], "shape_low": fits.shape[:, 0], "shape_high": fits.shape[:, 2]}
                hit = 1.0 if name == "node" else self._mean_hit(scope, size)
                repairs, mttr = scope.repairs.n_failures, scope.repairs.total_time / scope.repairs.n_failures
                table = pd.DataFrame({"incidents": number, "places": places, "hours": rates.hours, **mtbf, **shape})
                table = table.assign(spread=fits.variance[:, 1], nodes_hit=hit, repairs=repairs, mttr=mttr)
            if isinstance(current, LevelRates):
                low, high = current.interval(self.level)
                with np.errstate(divide="ignore", invalid="ignore"):
                    mean, least, most = 1.0 / current.rate, 1.0 / high, 1.0 / low
                most = np.where(unbounded(mean, most), np.inf, most)
                table = table.assign(mtbf_now=mean, mtbf_now_low=least, mtbf_now_high=most)
            if name == "node" and self.question is not None:
                unknown = ["hours", "shape", "shape_low", "shape_high", "spread"]
                table[[*unknown, *table.columns[table.columns.str.startswith("mtbf")]]] = np.nan
            rows.append(table.assign(scope=self.label(name), system=self.places.systems))
        result = pd.concat(rows, ignore_index=True)
        result = result.set_index("scope") if size == 1 else result.set_index(["system", "scope"])
        return result.drop(columns="system") if size == 1 else result

    def _mean_hit(self, scope: ScopeIncidents, size: int) -> FloatArray:
        """Mean number of nodes hit per incident in each system; all nodes for an incident that names none."""
        hit = self.nodes_hit(scope)
        with np.errstate(invalid="ignore", divide="ignore"):
            number = np.bincount(scope.system_of_incident, minlength=size)
            return np.asarray(np.bincount(scope.system_of_incident, hit, size) / number)

    def nodes_now(self) -> pd.DataFrame:
        """Nodes by their current failure rate, relative to the mean node.

        Returns
        -------
        pandas.DataFrame
            One row per node present at the end, highest factors first: ``system``, ``node``, ``factor`` (times the mean
            of its system, over the horizon of the model) with ``factor_low`` and ``factor_high``, ``probability`` that
            it fails at least twice as often as the mean at the end, ``outlier`` (false-discovery rate 5 %), ``lately``
            (what a standing alarm of a watch says of it, unless it fails more seldom since; none in the long run), and
            ``check`` (either).

        Raises
        ------
        DataError
            If only nodes that failed are known.

        Examples
        --------
        >>> import relfit as rf
        >>> nodes = rf.fleet_model(rf.datasets.load("white"), ("2003-04-01", "2004-10-01")).nodes_now()
        >>> nodes.columns.tolist()
        ['system', 'node', 'factor', 'factor_low', 'factor_high', 'probability', 'outlier', 'lately', 'check']
        """
        self._ask()
        return nodes_now(self, None if self.lately is None else self.lately.log)

    def system(self, nodes: Iterable[object] | None = None, ages: object = None, **options: Any) -> System:
        """The nodes at the end of the period as a `System`, with failures of racks and whole systems.

        Its intervals include the uncertainty of the rates, the nodes' shape and their frailties.

        Parameters
        ----------
        nodes : sequence of labels, optional
            ``node`` or ``(system, node)``; by default all nodes that are under observation and up at the end.
        ages : float, duration, or array of these, optional
            Hours of operation since each node's last failure; from the log by default.
        **options
            ``tolerance`` and ``rack_events``, as for `System`.

        Raises
        ------
        ArgumentError
            For an unknown or repeated node, or if no node is up.
        DataError
            If nothing failed in the period, or only nodes that failed are known.

        Examples
        --------
        >>> import relfit as rf
        >>> model = rf.fleet_model(rf.datasets.load("white"), ("2003-04-01", "2004-10-01"))
        >>> model.system(["n000", "n001"])
        System of 2 nodes (2 weibull), ages 4,602 to 8,794 h; 1 rack; 2 common causes
        """
        self._ask()
        chosen = np.flatnonzero(self.standing.up) if nodes is None else self.positions(nodes)
        if not chosen.size:
            raise ArgumentError("no node was up at the end of the period", remedy="choose another period")
        if np.unique(chosen).size < chosen.size:
            raise ArgumentError("a node is given twice", remedy="name each node once")
        hours = ages_now(self)[chosen] if ages is None else np.broadcast_to(duration_array(ages, "age"), chosen.shape)
        return system_of(self, chosen, np.ascontiguousarray(hours), **options)

    def interval(
        self,
        quantity: str,
        at: object = None,
        *,
        scope: str | None = None,
        system: object = None,
        size: int | None = None,
        placement: str = "random",
        nodes: Iterable[object] | None = None,
        level: float | None = None,
        n_draws: int = 499,
        rng: int | np.random.Generator | None = 0,
    ) -> Interval:
        """A quantity of the fleet, or of a job on part of it, with its interval.

        Parameters
        ----------
        quantity : str
            ``mtbf``: operating hours between incidents of one place of `scope`, or, with `size` or `nodes`, of a job.
            ``mttr``: hours until an incident of `scope` is repaired; for now, of those to come. ``mttf``: hours between
            incidents of any scope in the system. ``reliability``: probability that a job that starts at a random time,
            on nodes that are up, runs for `at` without interruption. ``incidents``: expected number in the time `at`,
            of `scope` or of all.
            ``nodes_down``: quantile, at probability `at`, of the nodes down at a random time while the system is up.
        at : duration, array of these, or probability, optional
            Hours or text such as "24h" for ``reliability`` and ``incidents``; a probability for ``nodes_down``.
        scope : {"node", "rack", "group", "system"}, optional
        system : label, optional
            Required if the log has several, unless `nodes` are given.
        size : int, optional
            Nodes of a job, among those in service at the end of the period; `nodes` says which.
        placement : {"packed", "spread", "random"}
            Nodes of a job of `size`, as for `relfit.fleet.placements`; results are means over placements.
        nodes : sequence of labels, optional
        level : float, optional
            Level of the interval; that of the model by default.
        n_draws : int
            Draws of rates, shapes and frailties, 19 or more; at most 99 for ``nodes_down``.
        rng : int or numpy.random.Generator

        Returns
        -------
        Interval
            Of the shape of `at`; ``unbounded`` if the upper limit of a mean time, infinite, exceeds 100 times its mean.

        Raises
        ------
        ArgumentError
            For an unknown quantity, scope, system, node or placement, or a missing or impossible argument.
        DataError
            For a quantity of nodes if only nodes that failed are known.

        Notes
        -----
        Percentiles of draws: gamma distributions of rates with the scatter between places (lognormal for now), normal
        ones of log shapes, frailties given the histories of the nodes. For now, results for a job of `size` also use
        the share of such jobs that the log's outages interrupted, if the log is long enough.
        """
        of_nodes = scope == "node" or size is not None or nodes is not None or quantity == "nodes_down"
        if quantity != "mttr" and of_nodes:
            self._ask()
        name = self._checked(quantity, at, scope, size, nodes)
        level = level_checked(self.level if level is None else level)
        code = self._system(system, nodes)
        key = (code, int(whole("n_draws", n_draws, least=19)), rng)
        drawn = self._draws.get(key) if isinstance(rng, int) else None
        if drawn is None:
            drawn = DrawnFleet.of(self, *key[:2], random_stream(rng))
            if isinstance(rng, int) and drawn.node.size <= KEPT:
                self._draws.clear()  # keep the last one: jobs of other sizes use it again
                self._draws[key] = drawn
        centre = DrawnFleet.centre(self, code)
        job = None if size is None and nodes is None else self._job(code, size, placement, nodes, rng)
        if quantity == "nodes_down":
            point = np.asarray(share("at", at, zero=False, one=False), dtype=np.float64)
            n_draws = min(n_draws, 99)
        else:
            point = np.zeros(()) if at is None else duration_array(at, "horizon")
        value, many = (self._value(name, point, each, job, rng) for each in (centre, drawn))
        tail = 0.5 - level / 2.0
        with np.errstate(invalid="ignore"):  # values may be infinite
            low, high = np.nanquantile(many, [tail, 1.0 - tail], axis=0)
        estimate = value[0]
        if size is not None and job is not None and self.lately is not None:

            def spent(length: float, nodes: int) -> dict[str, float]:
                return centre.spent(length, self._job(code, nodes, placement, None, rng))

            modelled, where = (estimate, low, high), (code, str(self.places.systems[code]), size, placement)
            estimate, low, high = self.lately.held(name, point, *where, spent, modelled, tail)
        far = (quantity in ("mtbf", "mttf")) & unbounded(estimate, high)
        limits = np.minimum(low, estimate), np.where(far, np.inf, np.maximum(high, estimate))
        status = np.where(far, "unbounded", np.where(np.isfinite(estimate), "ok", "no_incident")).astype(object)
        labels = pd.Index([quantity]) if np.ndim(estimate) == 0 else pd.Index(np.ravel(point), name="at")
        about = quantity, "draws of rates, shapes and frailties", level, None if at is None else point
        return Interval(*about, estimate, *limits, status, labels)

    @cached_property
    def _draws(self) -> dict[Any, DrawnFleet]:
        return {}

    @cached_property
    def _jobs(self) -> dict[Any, PlacedJob]:
        return {}

    def _ask(self) -> None:
        self.period.log.ask()

    def _checked(
        self, quantity: str, at: object, scope: str | None, size: object, nodes: Iterable[object] | None
    ) -> str:
        if quantity not in QUANTITIES:
            raise ArgumentError(f"no quantity {quantity!r} of a fleet", remedy=f"use one of {', '.join(QUANTITIES)}")
        if scope is not None and scope not in SCOPES and scope != self.found.group:
            raise ArgumentError(f"no scope {scope!r}", remedy=f"use one of {', '.join(SCOPES)}")
        job = size is not None or nodes is not None
        if quantity == "reliability" and not job:
            raise ArgumentError("reliability is that of a job", remedy="give its size, or its nodes")
        if (quantity == "mtbf" and (scope is None) is not job) or (quantity == "mttr" and scope is None):
            what = f"{quantity} of what?"
            raise ArgumentError(what, remedy="give scope=, or the size or nodes of a job for its mtbf")
        if quantity in ("reliability", "incidents", "nodes_down") and at is None:
            raise ArgumentError(f"{quantity} needs a time", remedy="give at='24h' (nodes_down: a probability)")
        which = "rack" if scope is not None and scope == self.found.group else scope
        return f"{quantity}.{which}" if which is not None else f"{quantity}.job" if job else quantity

    def _system(self, system: object, nodes: Iterable[object] | None) -> int:
        names = [str(name) for name in self.places.systems]
        if system is None and nodes is not None:
            systems = np.unique(self.places.system[self.positions(nodes)])
            if systems.size != 1:
                raise ArgumentError("these nodes are of several systems", remedy="give nodes of one")
            return int(systems[0])
        if system is None and len(names) == 1:
            return 0
        if system is None or str(system) not in names:
            what = "the log has several systems" if system is None else f"no system {system!r}"
            some = first_names(names)
            raise ArgumentError(what, remedy=Remedy(f"name one of {some}", f"write --where system=NAME: {some}"))
        return names.index(str(system))

    def _job(
        self, code: int, size: int | None, placement: str, nodes: Iterable[object] | None = None, rng: Seed = 0
    ) -> PlacedJob:
        """A job on some nodes, or on `size` of those in service, which is kept for other lengths and quantities."""
        of_job = (code, size, placement, rng)
        keep = nodes is None and isinstance(size, int) and isinstance(rng, int)
        if keep and of_job in self._jobs:
            return self._jobs[of_job]
        generator = random_stream(rng)
        if nodes is not None:
            chosen = self.positions(nodes)
            where = placements(self.places, chosen, chosen.size, "packed", generator)
        else:
            mine = np.flatnonzero((self.places.system == code) & self.in_service)
            where = placements(self.places, mine, int(whole("size", size)), placement, generator)
        racks, table = self.by_scope["rack"], self.rack_hits
        rack = where.racks_hit(self.places, table) if racks.count.any() else np.zeros(where.members.shape[0])
        origin = self.period.log.window.start.as_unit("ns").value
        job = PlacedJob(where, rack, *where.hit_while_up(self.places.watched, self.by_scope["group"], code, origin))
        if keep and sum(one.where.members.nnz for one in (job, *self._jobs.values())) <= KEPT:
            self._jobs[of_job] = job
        return job

    def _repairs_now(self, scope: str, system: int) -> RepairsNow | None:
        """The current repairs of a scope relative to those of the period; None for the long run."""
        if self.lately is None:
            return None
        one = str(self.places.systems[system]) if len(self.places.systems) > 1 else None
        return repairs_now(self.lately, self.period.log.window.start, self.label(scope), one)

    def _value(self, name: str, at: FloatArray, drawn: DrawnFleet, job: PlacedJob | None, rng: Seed) -> FloatArray:
        """A quantity in each draw, shape (draws,) and that of `at`."""
        quantity, _, of = name.partition(".")
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if job is not None and quantity == "reliability":
                flat = at.ravel()
                out = np.stack([job.mean(drawn.survival(float(x), job)) for x in flat], axis=-1)
                return out.reshape(-1, *at.shape)
            if job is not None:
                return 1.0 / job.mean(drawn.job_rate(job))
            if quantity == "mtbf":
                return 1.0 / drawn.rate[SCOPES.index(of)]
            if quantity == "mttr":
                return drawn.mean_repair(of, self, self._repairs_now(of, drawn.system), rng)
            if quantity == "nodes_down":
                now = [self._repairs_now(scope, drawn.system) for scope in SCOPES[:3]]
                return drawn.down_quantile(float(at), self, [1.0 if each is None else each.factor for each in now], rng)
            # of all incidents, including those that began while the system was down
            more = [np.nan_to_num(self.incidents_of(scope) / self.rates[scope].count, nan=1.0) for scope in SCOPES]
            rates = [self.rates[scope] for scope in SCOPES]
            places = [one.running if isinstance(one, LevelRates) else one.hours / self.hours for one in rates]
            # incidents per hour of the calendar, (scopes, draws)
            each = drawn.rate * (np.array(more) * places)[:, [drawn.system]]
            total = each.sum(axis=0) if not of else each[SCOPES.index(of)]
            return 1.0 / total if quantity == "mttf" else np.multiply.outer(total, at)
