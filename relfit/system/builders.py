"""Systems from fits, from a file of fits and from a log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError, DataError
from relfit.families import family_named
from relfit.system.building import ages_of_log, chosen_nodes, positions_of
from relfit.system.components import LONGEST_AGE, Component, ages_in_hours, duration_array, node_label

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog
    from relfit.fitting import FamilyFit, Fits, PooledFit
    from relfit.system.system import System

__all__ = ["SystemBuilders", "longest_allowed", "notes_on_ages"]

FloatArray = npt.NDArray[np.float64]

_OWN = ("exponential", "weibull", "gamma", "lognormal")
_FAR = 2.0  # times the longest life that was fitted, above which an age is worth a note


class SystemBuilders:
    """The ways to a `System` that fit, or read fits."""

    @classmethod
    def _of(cls, components: tuple[Component, ...], ages: FloatArray, **options: Any) -> System:
        raise NotImplementedError

    @classmethod
    def from_fits(
        cls,
        fits: Fits | FamilyFit | PooledFit,
        nodes: Any = None,
        ages: Any = 0.0,
        *,
        family: str = "best",
        by: str = "aicc",
        missing: str = "error",
        unit: str = "hours",
        longest_age: Any = LONGEST_AGE,
        **options: Any,
    ) -> System:
        """A system whose nodes have fitted lives.

        Parameters
        ----------
        fits : Fits, FamilyFit or PooledFit
            As `relfit.fit`, ``fits["weibull"]`` and ``fits.pool()`` give them, a group for every node.
        nodes : sequence of labels, or int, optional
            Groups to take, in this order; a label may stand more than once, for several nodes with the parameters of
            one group. A number of nodes where there is one group. All groups when left out.
        ages : float, duration, or array of these
            As for `System`: one for all nodes, or one for each of `nodes`.
        family : str
            ``"best"`` takes the best family of each node by the criterion `by`, and the simplest one fitted where a
            node has too few failures to compare; else one family for all.
        by : str
            Criterion, as for ``Fits.best``.
        missing : {"error", "drop", "pool"}
            What to do with nodes whose fit has no estimate: reject and name them, leave them out, or give them what is
            expected of a node of the fleet given its own failure-free time (``Fits.pool``). For intervals on pooled
            nodes, build the system from ``fits.pool()``.
        unit, longest_age, **options
            As for `System`.

        Raises
        ------
        DataError
            Where a node has no estimate, or an impossible age; the error names it.
        ArgumentError
            For an unknown label, family or option.

        Examples
        --------
        >>> import relfit as rf
        >>> fits = rf.fit(rf.datasets.load("white").ttf(), families=["weibull", "lognormal"])
        >>> rf.System.from_fits(fits, nodes=["n000", "n001", "n002"], ages="10 days").n_nodes
        3
        """
        chosen = chosen_nodes(fits, nodes, family, by, missing)
        given = duration_array(ages, "age", unit)
        if given.ndim and chosen.kept.size and given.size > chosen.kept.max():
            given = given[chosen.kept]  # of nodes that are dropped
        size = chosen.names.size
        checked = ages_in_hours(given, size, chosen.names, longest=longest_allowed(longest_age))
        return cls._of(chosen.components, checked, names=chosen.names, sources=chosen.sources, origin=fits, **options)

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        nodes: Any = None,
        ages: Any = 0.0,
        *,
        family: str = "best",
        by: str = "aicc",
        missing: str = "error",
        unit: str = "hours",
        longest_age: Any = LONGEST_AGE,
        **options: Any,
    ) -> System:
        """A system from a file that ``relfit fit --out`` or ``relfit fit --json`` wrote (.csv, .json, .parquet).

        Parameters are those of `from_fits`, but nodes without an estimate can only be rejected or dropped, and there is
        no uncertainty to carry on, since a file of fits does not hold the lives.

        Raises
        ------
        ReadError
            For a file that does not hold fits; with line and column.
        """
        from relfit.system.fits_file import nodes_of_file

        chosen = nodes_of_file(path, nodes, family, by, missing)
        given = duration_array(ages, "age", unit)
        if given.ndim and chosen.kept.size and given.size > chosen.kept.max():
            given = given[chosen.kept]
        checked = ages_in_hours(given, chosen.names.size, chosen.names, longest=longest_allowed(longest_age))
        return cls._of(chosen.components, checked, names=chosen.names, sources=None, origin=None, **options)

    @classmethod
    def from_log(
        cls,
        log: FailureLog,
        at: Any = None,
        *,
        nodes: Any = None,
        families: str | Sequence[str] | None = None,
        family: str = "best",
        pooled: bool = True,
        missing: str = "pool",
        since: Any = None,
        **options: Any,
    ) -> System:
        """The fleet of a log as it stood at an instant: fitted to what was seen until then, with its ages then.

        Parameters
        ----------
        log : FailureLog
        at : str, datetime or pandas.Timestamp, optional
            End of the window when left out. Nodes that were not under observation then are left out.
        nodes : sequence of labels, optional
            All when left out.
        families : str or sequence of str, optional
            To fit: one for pooled nodes, Weibull when left out; else any, and exponential, Weibull, gamma and lognormal
            when left out.
        family, missing
            As for `from_fits`.
        pooled : bool
            Draw every node towards the fleet (``Fits.pool``), or fit each on its own. See Notes.
        since : str, datetime or pandas.Timestamp, optional
            Fit to what was seen from here on.
        **options
            As for `System`.

        Raises
        ------
        ArgumentError
            For an instant outside the log, an unknown label or family, several families to be pooled, or a fleet of
            which fewer than three nodes can be fitted, so that there is nothing to pool.

        Notes
        -----
        A job on many nodes meets the worst of the fits, and a node's own few failures make some fits far worse than the
        node is: of jobs replayed over the second half of the sample "white", own fits of the first half miss the
        share that survives by 6.8 points, pooled ones by 4.8 (`relfit.replay`). Pooled nodes also have an uncertainty
        whatever they have been through, a node without failures included. Pooling takes some 2 ms a node: 40 s
        for 20 000 nodes.

        Examples
        --------
        >>> import relfit as rf
        >>> system = rf.System.from_log(rf.datasets.load("white"), at="2003-07-01")
        >>> system
        System of 512 nodes (512 weibull), ages 8.95 to 2.628e+04 h
        >>> bool(system.reliability("1h", interval=0.95).low < system.reliability("1h"))
        True
        """
        from relfit.fitting import fit

        ages = ages_of_log(log, at)
        names = _families_to_fit(families, family, pooled)
        fits = fit(log.ttf(since=since, until=at), families=names)
        table = ages.reindex(fits.groups)
        present = table["present"].fillna(False).to_numpy(dtype=bool)
        if nodes is None:
            nodes = list(fits.groups[present])
        source: Any = _pooled_fleet(fits, names[0]) if pooled else fits
        chosen = chosen_nodes(source, nodes, names[0] if pooled else family, "aicc", missing)
        # the fleet's law stands in for a node whose group is not known any more, so go by the labels
        places = positions_of(fits.groups, nodes)[0][chosen.kept]
        if np.unique(places).size < places.size:
            values, counts = np.unique(places, return_counts=True)
            raise ArgumentError(f"node {fits.groups[int(values[counts > 1][0])]!r} is given twice")
        absent = ~present[places]
        if absent.any():
            label = chosen.names[int(np.flatnonzero(absent)[0])]
            raise DataError(
                f"node {label!r} was not under observation then", remedy="leave it out, or choose another time"
            )
        own = ages_in_hours(table["age"].to_numpy()[places], places.size, chosen.names, longest=None)
        return cls._of(chosen.components, own, names=chosen.names, sources=chosen.sources, origin=source, **options)


def longest_allowed(value: Any) -> float | None:
    """Hours above which an age is rejected; None for no limit."""
    return None if value is None else float(duration_array(value))


def notes_on_ages(origin: Any, ages: FloatArray, names: pd.Index) -> tuple[str, ...]:
    """What is to be said of ages far above the lives that were fitted; `System.notes` documents it."""
    lives = getattr(origin, "lives", None)
    if lives is None or not lives.durations.size:
        return ()
    longest = float(np.nanmax(lives.durations))
    far = np.flatnonzero(ages > _FAR * longest)
    if not far.size or not longest > 0.0:
        return ()
    worst = int(far[np.argmax(ages[far])])
    others = f" (and {far.size - 1} other nodes)" if far.size > 1 else ""
    return (
        f"{node_label(names, worst)} has an age of {ages[worst]:.4g} h{others}, {ages[worst] / longest:.2g} times the "
        f"longest life that was fitted ({longest:.4g} h): are ages in hours? If so, what is said of it rests on the "
        "form of the family alone.",
    )


def _families_to_fit(families: str | Sequence[str] | None, family: str, pooled: bool) -> list[str]:
    """Names of the families that a log is fitted with; the first is the one that is pooled."""
    given = [] if families is None else [families] if isinstance(families, str) else list(families)
    names = [family_named(name).name for name in given]
    if families is not None and not names:
        raise ArgumentError("no family to fit", remedy="give families='weibull', or leave it out")
    if not pooled:
        return names or ([*_OWN] if family in ("best", *_OWN) else [family_named(family).name])
    if family != "best":
        return [family_named(family).name]
    if len(names) > 1:
        raise ArgumentError(
            f"{len(names)} families for nodes that are pooled", remedy="give one family, or pooled=False"
        )
    return names or ["weibull"]


def _pooled_fleet(fits: Fits, name: str) -> PooledFit:
    try:
        return fits.pool(name)
    except ArgumentError as error:
        raise ArgumentError(
            f"the nodes of this log cannot be pooled: {error.what}", remedy="fit each on its own: pooled=False"
        ) from error
