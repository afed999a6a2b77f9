"""The nodes of a system: their distributions and ages, and other causes that end a job on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from html import escape
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import Durations, FloatArray, IntArray, NamedDurations
from relfit.base.errors import ArgumentError
from relfit.base.results import json_ready
from relfit.base.text import count, number
from relfit.fitting.families import Distribution, Family
from relfit.system.checked_nodes import (
    LONGEST_AGE,
    CommonCause,
    Component,
    Racks,
    ages_in_hours,
    common_cause,
    components_of,
    duration_array,
    node_label,
    racks_of,
)

RACK_EVENTS = ("nodes", "job")
_FAR = 2.0  # multiple of the longest fitted time to failure above which an age gets a note


@dataclass(frozen=True, eq=False, init=False, repr=False)
class SystemNodes:
    """The checked parts of a `System`, and systems of some of its nodes or at other ages."""

    components: tuple[Component, ...]
    ages: FloatArray
    names: pd.Index
    sources: IntArray | None
    origin: Any
    tolerance: int
    common: CommonCause | None
    racks: Racks | None = None
    rack_events: str = "nodes"
    ages_observed: bool = False

    def __init__(
        self,
        nodes: Distribution | Sequence[Distribution],
        ages: Durations = 0.0,
        *,
        names: Any = None,
        sources: npt.ArrayLike | None = None,
        tolerance: int = 0,
        common: object = None,
        racks: object = None,
        rack_lives: object = None,
        rack_ages: NamedDurations = 0.0,
        rack_events: str = "nodes",
        unit: str = "hours",
        longest_age: Durations | None = LONGEST_AGE,
    ) -> None:
        labels = None if names is None else pd.Index(names)
        durations = duration_array(ages, "age", unit)
        count = labels.size if labels is not None else durations.size if durations.ndim else None
        if durations.ndim and labels is not None and durations.size not in (1, labels.size):
            raise ArgumentError(f"{labels.size} names but {durations.size} ages")
        components = components_of(nodes, count, labels)
        size = sum(len(component) for component in components)
        checked = ages_in_hours(durations, size, labels, longest=longest_age)
        own = None if sources is None else np.asarray(sources, dtype=np.int64)
        if own is not None and own.shape != (size,):
            raise ArgumentError(f"{size} nodes but sources of shape {own.shape}")
        shown, wide = pd.RangeIndex(size) if labels is None else labels, (racks, rack_lives, rack_ages)
        self._finish(components, checked, *wide, tolerance, common, rack_events, names=shown, sources=own, origin=None)

    def _finish(
        self,
        components: tuple[Component, ...],
        ages: FloatArray,
        racks: object = None,
        rack_lives: object = None,
        rack_ages: NamedDurations = 0.0,
        tolerance: int = 0,
        common: object = None,
        rack_events: str = "nodes",
        **others: object,
    ) -> None:
        wide = racks if isinstance(racks, Racks) else racks_of(racks, rack_lives, rack_ages, ages.size)
        if isinstance(tolerance, bool) or not isinstance(tolerance, (int, np.integer)) or tolerance < 0:
            raise ArgumentError(f"tolerance={tolerance!r}", remedy="give the number of nodes that may fail")
        if tolerance >= ages.size:
            raise ArgumentError(
                f"a system of {ages.size} nodes cannot lose {tolerance}", remedy=f"give at most {ages.size - 1}"
            )
        if rack_events not in RACK_EVENTS:
            raise ArgumentError(f"rack_events={rack_events!r}", remedy=f"use one of {', '.join(RACK_EVENTS)}")
        checked = {"tolerance": int(tolerance), "common": common_cause(common), "rack_events": rack_events}
        for name, value in {"components": components, "ages": ages, "racks": wide, **checked, **others}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of_components(cls, components: tuple[Component, ...], ages: FloatArray, **options: Any) -> Self:
        """A system of checked nodes; racks as for the constructor, or `Racks`; options are the other fields."""
        system = object.__new__(cls)
        system._finish(components, ages, **options)
        return system

    def _replaced(self, **changes: Any) -> Self:
        options = {field.name: getattr(self, field.name) for field in fields(self)}
        return type(self).of_components(**{**options, **changes})

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.ages.size)

    def __len__(self) -> int:
        return self.n_nodes

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about ages far beyond the fitted data; often none.

        In a system made from fits, an age of more than twice the longest fitted time to failure is reported: either it
        is in other units, or the result rests on the form of the distribution alone. Ages taken from a log are not
        reported.
        """
        fitted = getattr(self.origin, "lives", None)
        longest = float(np.nanmax(fitted.durations, initial=0.0)) if fitted is not None else 0.0
        far = np.flatnonzero(self.ages > _FAR * longest)
        if self.ages_observed or not far.size or not longest > 0.0:
            return ()
        worst = int(far[np.argmax(self.ages[far])])
        others = f" (and {count(far.size - 1, 'other node')})" if far.size > 1 else ""
        return (
            f"{node_label(self.names, worst)} has an age of {number(self.ages[worst], 4)} h{others}, "
            f"{self.ages[worst] / longest:.2g} times the longest time to failure that was fitted "
            f"({number(longest, 4)} h): are ages in hours? If so, the answer rests on the form of the distribution "
            "alone.",
        )

    def take(self, positions: npt.ArrayLike) -> Self:
        """The system of some of the nodes.

        Parameters
        ----------
        positions : array_like of int or bool
            Positions of the nodes, in the order wanted, or a mask of shape (n_nodes,).

        Raises
        ------
        ArgumentError
            For no position, an unknown one, or a repeated one.
        """
        places = self.checked_positions(positions)
        return self._replaced(
            components=Component.taken(self.components, places, self.n_nodes),
            ages=self.ages[places],
            names=self.names[places],
            sources=None if self.sources is None else self.sources[places],
            racks=None if self.racks is None else self.racks.take(places),
        )

    def checked_positions(self, positions: npt.ArrayLike) -> IntArray:
        """Positions of nodes as an array, from positions or a mask; errors as for `take`."""
        places = np.asarray(positions)
        if places.dtype == np.bool_:
            if places.shape != (self.n_nodes,):
                raise ArgumentError(f"a mask of shape {places.shape} for {self.n_nodes} nodes")
            places = np.flatnonzero(places)
        elif places.dtype.kind not in "iu" and places.size:
            raise ArgumentError(f"positions are {places.dtype}", remedy="give integers, or a mask")
        nodes = places.astype(np.int64).reshape(-1)
        if not nodes.size:
            raise ArgumentError("a system of no nodes", remedy="give at least one node")
        if nodes.min() < 0 or nodes.max() >= self.n_nodes:
            bad = int(nodes[(nodes < 0) | (nodes >= self.n_nodes)][0])
            raise ArgumentError(f"there is no node {bad}: the system has {self.n_nodes}")
        values, counts = np.unique(nodes, return_counts=True)
        if values.size < nodes.size:
            raise ArgumentError(f"{node_label(self.names, int(values[counts > 1][0]))} is given twice")
        return nodes

    def at_age(self, ages: Durations, unit: str = "hours") -> Self:
        """The same nodes at other ages, in `unit` or as text; racks and common causes keep their ages."""
        checked = ages_in_hours(duration_array(ages, "age", unit), self.n_nodes, self.names, longest=None)
        return self._replaced(ages=checked)

    def later(self, hours: Durations) -> Self:
        """The same system after a time without failures, in hours or as text."""
        by = float(duration_array(hours))
        if not by >= 0.0:
            raise ArgumentError(f"{by:g} hours later", remedy="give a time at or above zero")
        common, racks = self.common, self.racks
        return self._replaced(
            ages=self.ages + by,
            common=None if common is None else replace(common, ages=common.ages + by),
            racks=None if racks is None else replace(racks, ages=racks.ages + by),
        )

    def tolerating(self, tolerance: int) -> Self:
        """The same system with another tolerance: the number of nodes that may fail."""
        return self._replaced(tolerance=tolerance)

    def __repr__(self) -> str:
        sizes: dict[str, int] = {}
        for component in self.components:
            sizes[component.family.name] = sizes.get(component.family.name, 0) + len(component)
        kinds = ", ".join(f"{size} {name}" for name, size in sizes.items())
        more = f"; tolerates {self.tolerance}" if self.tolerance else ""
        for wide, what in ((self.racks, "rack"), (self.common, "common cause")):
            more += f"; {count(wide.ages.size, what)}" if wide is not None else ""
        ages = f"ages {number(self.ages.min(), 4)} to {number(self.ages.max(), 4)} h"
        return f"System of {count(self.n_nodes, 'node')} ({kinds}), {ages}{more}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>"

    def to_frame(self) -> pd.DataFrame:
        """One row per node: ``node``, ``family``, ``age`` (hours), parameters, and ``mttf`` from now (hours)."""
        parts = []
        for component in self.components:
            family, where = component.family, component.positions
            named = family.parameters() if isinstance(family, Family) else {}
            part = pd.DataFrame({"node": self.names[where], "family": family.name, "age": self.ages[where], **named})
            parts.append(part.assign(mttf=family.mean_residual_life(self.ages[where])).set_axis(where))
        frame = pd.concat(parts).sort_index()
        return frame[[*frame.columns.drop("mttf"), "mttf"]]

    def to_dict(self) -> dict[str, Any]:
        """The nodes, the tolerance, racks and common causes, ready for JSON."""
        racks = self.racks
        return {
            "nodes": json_ready(self.to_frame().reset_index(drop=True)),
            "tolerance": self.tolerance,
            "rack_events": self.rack_events,
            "racks": None if racks is None else [str(racks.names[i]) for i in racks.of_node],
            "common": None if self.common is None else [str(name) for name in self.common.names],
        }
