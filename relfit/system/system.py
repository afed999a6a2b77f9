"""`System`: the nodes that a job runs on, with the time until one too many of them has failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.families import Distribution
from relfit.system.builders import SystemBuilders, longest_allowed, notes_on_ages
from relfit.system.common_cause import CommonCause, Racks, common_cause, racks_of
from relfit.system.components import LONGEST_AGE, Component, ages_in_hours, components_of, duration_array, node_label
from relfit.system.engines import Sets
from relfit.system.quantities import Quantities, engine_of, tails_of

if TYPE_CHECKING:
    from relfit.system.by_size import SystemsBySize
    from relfit.system.engines import Engine
    from relfit.system.sequences import Sequences
    from relfit.system.sets import SystemSets

__all__ = ["System"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

RACK_EVENTS = ("nodes", "job")


@dataclass(frozen=True, eq=False, init=False, repr=False)
class System(Quantities, SystemBuilders):
    """Nodes of any families, parameters and ages, and what else can end a job on them.

    Parameters
    ----------
    nodes : Distribution, or sequence of Distribution
        A batch of a family (one entry a node), one distribution for all nodes, or a list with one for each node.
    ages : float, duration, or array of these
        Time since each node's last failure, in hours unless it says otherwise ("30 days", Timedelta).
    names : sequence, optional
        What the nodes are called in errors and tables; their positions from 0 when left out.
    sources : array_like of int, optional
        From which fitted group each node has its parameters, so that shared ones are known to be shared.
    tolerance : int
        How many nodes may fail before the job ends: hot spares, or replicas. Failed nodes are not replaced. With 0 the
        first failure ends the job.
    common : Distribution, list or dict of these, optional
        Events that end the job whatever its nodes do (power, cooling, file system). A pair ``(distribution, age)``
        gives the time since the last such event.
    racks, rack_lives, rack_ages : optional
        Label of each node's rack; the life of a rack until an event that takes all its nodes down (one distribution, or
        one for each label); its age. Only racks with nodes in the system count.
    rack_events : {"nodes", "job"}
        With a tolerance: whether an event of a rack counts as the failure of all its nodes in the system, or ends the
        job. Without one it always ends the job.
    unit : str
        Unit of ages that are plain numbers.
    longest_age : float or duration, optional
        An age above it, a hundred years if left out, is rejected as one in other units; None allows any.

    Raises
    ------
    DataError
        For an impossible age or parameter; the error names the node.
    ArgumentError
        For a system of no nodes, or arguments that do not fit together.

    Notes
    -----
    All is computed from cumulative hazards, so 100 000 nodes do not underflow. ``R(x) = prod S_i(t_i + x) / S_i(t_i)``
    (reliability-aware allocation, chapter 4).

    Examples
    --------
    Three nodes of one family, 200 hours after their last failures (reliability-aware allocation, chapter 4):

    >>> import relfit as rf
    >>> system = rf.System(rf.families.Weibull(0.8606, [1542.0] * 3), ages=200.0)
    >>> system.reliability(350.0).round(4).tolist(), system.mttf().round(4).tolist()
    (0.4877, 522.4005)

    With one of them to spare:

    >>> rf.System(rf.families.Weibull(0.8606, [1542.0] * 3), ages=200.0, tolerance=1).mttf().round(1).tolist()
    1399.4
    """

    components: tuple[Component, ...]
    ages: FloatArray
    names: pd.Index
    sources: IntArray | None
    origin: Any
    tolerance: int
    common: CommonCause | None
    racks: Racks | None
    rack_events: str

    def __init__(
        self,
        nodes: Distribution | Sequence[Distribution],
        ages: Any = 0.0,
        *,
        names: Any = None,
        sources: npt.ArrayLike | None = None,
        tolerance: int = 0,
        common: Any = None,
        racks: Any = None,
        rack_lives: Any = None,
        rack_ages: Any = 0.0,
        rack_events: str = "nodes",
        unit: str = "hours",
        longest_age: Any = LONGEST_AGE,
    ) -> None:
        labels = None if names is None else pd.Index(names)
        given = duration_array(ages, "age", unit)
        count = labels.size if labels is not None else given.size if given.ndim else None
        if given.ndim and labels is not None and given.size not in (1, labels.size):
            raise ArgumentError(f"{labels.size} names but {given.size} ages")
        components = components_of(nodes, count, labels)
        size = sum(len(component) for component in components)
        checked = ages_in_hours(given, size, labels, longest=longest_allowed(longest_age))
        own = None if sources is None else np.asarray(sources, dtype=np.int64)
        if own is not None and own.shape != (size,):
            raise ArgumentError(f"{size} nodes but sources of shape {own.shape}")
        self._finish(
            components, checked, names=pd.RangeIndex(size) if labels is None else labels, sources=own, origin=None,
            tolerance=tolerance, common=common, racks=racks, rack_lives=rack_lives, rack_ages=rack_ages,
            rack_events=rack_events,
        )  # fmt: skip

    def _finish(
        self,
        components: tuple[Component, ...],
        ages: FloatArray,
        *,
        names: pd.Index,
        sources: IntArray | None,
        origin: Any,
        tolerance: int = 0,
        common: Any = None,
        racks: Any = None,
        rack_lives: Any = None,
        rack_ages: Any = 0.0,
        rack_events: str = "nodes",
    ) -> None:
        if isinstance(tolerance, bool) or not isinstance(tolerance, (int, np.integer)) or tolerance < 0:
            raise ArgumentError(f"tolerance={tolerance!r}", remedy="give the number of nodes that may fail")
        if tolerance >= ages.size:
            raise ArgumentError(
                f"a system of {ages.size} nodes cannot lose {tolerance}", remedy=f"give at most {ages.size - 1}"
            )
        if rack_events not in RACK_EVENTS:
            raise ArgumentError(f"rack_events={rack_events!r}", remedy=f"use one of {', '.join(RACK_EVENTS)}")
        if not isinstance(racks, Racks):
            racks = racks_of(racks, rack_lives, rack_ages, ages.size)
        values = {
            "components": components, "ages": ages, "names": names, "sources": sources, "origin": origin,
            "tolerance": int(tolerance), "common": common_cause(common), "racks": racks, "rack_events": rack_events,
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _of(cls, components: tuple[Component, ...], ages: FloatArray, **options: Any) -> System:
        system = object.__new__(cls)
        system._finish(components, ages, **options)
        return system

    def _options(self) -> dict[str, Any]:
        return {
            "names": self.names, "sources": self.sources, "origin": self.origin, "tolerance": self.tolerance,
            "common": self.common, "racks": self.racks, "rack_events": self.rack_events,
        }  # fmt: skip

    # --------------------------------------------------------------- the nodes

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.ages.size)

    def __len__(self) -> int:
        return self.n_nodes

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be looked at before the system is relied on, in sentences; often none.

        A node of a system made from fits that is more than twice as old as the longest life that the fits have seen is
        named: either its age is in other units, or what is said of it rests on the form of the family alone.

        Examples
        --------
        >>> import relfit as rf
        >>> fits = rf.fit(rf.LifeData.from_array([30.0, 70.0, 200.0, 400.0]), "weibull")
        >>> print(rf.System.from_fits(fits, nodes=2, ages=[90.0, 9000.0]).notes[0].split(":")[0])
        node 1 has an age of 9000 h, 22 times the longest life that was fitted (400 h)
        """
        return notes_on_ages(self.origin, self.ages, self.names)

    def take(self, positions: npt.ArrayLike) -> System:
        """The system of the nodes at these positions, in this order; positions or a mask.

        Raises
        ------
        ArgumentError
            For no position, one that is not there, or one given twice.
        """
        chosen = self.checked_positions(positions)
        place = np.full(self.n_nodes, -1, dtype=np.int64)
        place[chosen] = np.arange(chosen.size)
        parts = []
        for component in self.components:
            new = place[component.positions]
            if (new >= 0).any():
                parts.append(Component(component.family[new >= 0], new[new >= 0]))
        options = self._options()
        options["names"] = self.names[chosen]
        options["sources"] = None if self.sources is None else self.sources[chosen]
        options["racks"] = None if self.racks is None else self.racks.take(chosen)
        return System._of(tuple(parts), self.ages[chosen], **options)

    def checked_positions(self, positions: npt.ArrayLike) -> IntArray:
        """Positions of nodes as an array, from positions or a mask; raises as `take` does."""
        given = np.asarray(positions)
        if given.dtype == np.bool_:
            if given.shape != (self.n_nodes,):
                raise ArgumentError(f"a mask of shape {given.shape} for {self.n_nodes} nodes")
            given = np.flatnonzero(given)
        elif given.dtype.kind not in "iu" and given.size:
            raise ArgumentError(f"positions are {given.dtype}", remedy="give integers, or a mask")
        chosen = given.astype(np.int64).reshape(-1)
        if not chosen.size:
            raise ArgumentError("a system of no nodes", remedy="give at least one node")
        if chosen.min() < 0 or chosen.max() >= self.n_nodes:
            bad = int(chosen[(chosen < 0) | (chosen >= self.n_nodes)][0])
            raise ArgumentError(f"there is no node {bad}: the system has {self.n_nodes}")
        if np.unique(chosen).size < chosen.size:
            values, counts = np.unique(chosen, return_counts=True)
            raise ArgumentError(f"{node_label(self.names, int(values[counts > 1][0]))} is given twice")
        return chosen

    def at_age(self, ages: Any, unit: str = "hours") -> System:
        """The same nodes at other ages; racks and common causes keep theirs."""
        checked = ages_in_hours(duration_array(ages, "age", unit), self.n_nodes, self.names, longest=None)
        return System._of(self.components, checked, **self._options())

    def later(self, hours: Any) -> System:
        """The same system after a time in which nothing has failed."""
        by = float(duration_array(hours))
        if not by >= 0.0:
            raise ArgumentError(f"{by:g} hours later", remedy="give a time at or above zero")
        options = self._options()
        if self.common is not None:
            options["common"] = CommonCause(self.common.components, self.common.ages + by, self.common.names)
        if self.racks is not None:
            racks = self.racks
            options["racks"] = Racks(racks.of_node, racks.components, racks.ages + by, racks.names)
        return System._of(self.components, self.ages + by, **options)

    def with_components(self, components: Sequence[Component]) -> System:
        """The same system with other lives of its nodes; each node must be in one component."""
        found = np.sort(np.concatenate([component.positions for component in components]))
        if not np.array_equal(found, np.arange(self.n_nodes)):
            raise ArgumentError("the components do not hold every node once")
        return System._of(tuple(components), self.ages, **self._options())

    def tolerating(self, tolerance: int) -> System:
        """The same system with another number of nodes that may fail."""
        options = self._options()
        options["tolerance"] = tolerance
        return System._of(self.components, self.ages, **options)

    # ------------------------------------------------------------ what is asked

    @cached_property
    def _engine(self) -> Engine:
        return engine_of(self, None)

    @property
    def _shape(self) -> tuple[int, ...]:
        return ()

    def _tails(self) -> FloatArray:
        return tails_of(self, Sets(np.arange(self.n_nodes), np.array([0, self.n_nodes])))

    def _mean_after(self, after: float) -> FloatArray:
        # without spares a job that still runs has only nodes that work: no difference of logs is needed
        return super()._mean_after(after) if self.tolerance else self.later(after)._means()[0]

    def sample(self, size: int = 1, rng: int | np.random.Generator | None = None) -> FloatArray:
        """Random times to failure of the job, shape (size,); infinite where it never fails.

        Parameters
        ----------
        size : int
        rng : int or numpy.random.Generator, optional
        """
        from relfit.system.sampling import sample

        return sample(self, size, rng)

    def sets(self, sets: Any) -> SystemSets:
        """Several systems of these nodes at once, which may overlap.

        Parameters
        ----------
        sets : sequence of positions, or boolean matrix of shape (sets, n_nodes)

        Returns
        -------
        SystemSets
            With the same quantities; results have the sets as their first dimension.

        Examples
        --------
        >>> import relfit as rf
        >>> system = rf.System(rf.families.Weibull(0.8, [1000.0, 2000.0, 500.0]), ages=100.0)
        >>> system.sets([[0, 1], [2], [0, 1, 2]]).reliability("24h").round(4).tolist()
        [0.9542, 0.9495, 0.906]
        """
        from relfit.system.sets import SystemSets

        return SystemSets.of(self, sets)

    def by_size(self, horizon: Any = "24h", order: npt.ArrayLike | None = None) -> SystemsBySize:
        """Reliability, hazard and mean time to failure of the first k nodes, for every k.

        Parameters
        ----------
        horizon : float or duration, or array of these
            Horizons of the reliability and the hazard.
        order : array_like of int, optional
            Positions of the nodes in the order in which they are added; as they stand when left out.

        Returns
        -------
        SystemsBySize

        Examples
        --------
        >>> import relfit as rf
        >>> found = rf.System(rf.families.Weibull(0.8606, [1542.0] * 3), ages=200.0).by_size(350.0)
        >>> found.reliability.round(4).tolist(), found.mttf.round(1).tolist()
        ([0.7871, 0.6196, 0.4877], [1761.3, 814.7, 522.4])
        """
        from relfit.system.by_size import systems_by_size

        return systems_by_size(self, horizon, order)

    def sequences(
        self,
        until: Any = None,
        failures: int | None = None,
        size: int = 1,
        rng: int | np.random.Generator | None = None,
        *,
        repair: Distribution | float | str | None = None,
    ) -> Sequences:
        """Random sequences of failures: a node that fails starts anew, the others go on ageing.

        Parameters
        ----------
        until : float or duration, optional
            End of each sequence.
        failures : int, optional
            Number of failures in each sequence; one of the two is needed.
        size : int
            Number of sequences.
        rng : int or numpy.random.Generator, optional
        repair : Distribution or duration, optional
            Time that a failed node is down, before its next life begins; none when left out.

        Returns
        -------
        Sequences
            Failures in order of time, with their nodes.

        Notes
        -----
        Tolerance does not matter here. Events of racks and common causes are not part of the sequences.

        Examples
        --------
        >>> import relfit as rf
        >>> found = rf.System(rf.families.Weibull(0.8, [1000.0] * 20), ages=600.0).sequences(until="30 days", rng=1)
        >>> len(found), found.to_frame().columns.tolist()
        (12, ['sequence', 'time', 'node', 'position', 'life'])
        """
        from relfit.system.sequences import sequences

        return sequences(self, until, failures, size, rng, repair)

    def __repr__(self) -> str:
        count: dict[str, int] = {}
        for component in self.components:
            name = getattr(component.family, "name", "other")
            count[name] = count.get(name, 0) + len(component)
        kinds = ", ".join(f"{number} {name}" for name, number in count.items())
        more = f"; tolerates {self.tolerance}" if self.tolerance else ""
        more += f"; {self.racks.ages.size} racks" if self.racks is not None else ""
        more += f"; {self.common.ages.size} common causes" if self.common is not None else ""
        return f"System of {self.n_nodes} nodes ({kinds}), ages {self.ages.min():.4g} to {self.ages.max():.4g} h{more}"

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>"

    def to_frame(self) -> pd.DataFrame:
        """One row a node: family, age, parameters, and its own mean time to failure from now."""
        frame = pd.DataFrame({"node": list(self.names), "family": "", "age": self.ages})
        kinds = np.empty(self.n_nodes, dtype=object)
        own = np.empty(self.n_nodes)
        for component in self.components:
            where = component.positions
            kinds[where] = getattr(component.family, "name", "other")
            with np.errstate(all="ignore"):
                own[where] = component.family.mean_residual_life(self.ages[where])
            if isinstance(component.family, Distribution) and hasattr(component.family, "parameters"):
                for name, value in component.family.parameters().items():
                    column = frame[name].to_numpy(copy=True) if name in frame else np.full(self.n_nodes, np.nan)
                    column[where] = value
                    frame[name] = column
        frame["family"] = kinds
        frame["mttf"] = own
        return frame

    def to_dict(self) -> dict[str, Any]:
        """The nodes and what else can end a job, ready for JSON."""
        from relfit.results import records

        return {
            "nodes": records(self.to_frame()),
            "tolerance": self.tolerance,
            "rack_events": self.rack_events,
            "racks": None if self.racks is None else [str(self.racks.names[i]) for i in self.racks.of_node],
            "common": None if self.common is None else [str(name) for name in self.common.names],
        }
