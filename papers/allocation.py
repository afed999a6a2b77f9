"""Table 3.5, the examples of chapter 4, Table 6.1 and the figures of chapter 6 of the dissertation on allocation.

Chapter 4 works four examples of three nodes with Weibull lives of shape 0.8606 and scale 1,542 h, all of one age. Table
3.5 summarises 89 nodes whose log is not public. Its labels are swapped: what stands under "Scale" are shapes (chapter
4's 0.8606 lies between its least and its greatest), what stands under "Shape" are scales in hours (1,542 likewise).

Column M of Table 6.1 is printed rounded to three figures; the printed reliability tells it to six, and with that all
cells come out as far as printed digits allow. The paper charges the mean time M for every failed attempt; what one
really loses is less, and the best size is 11 nodes instead of 14 (``right``). The captions of the figures leave
parameters out: these functions take them as arguments, and their defaults are chosen to show what the paper shows. The
times of Figure 6.7 are not printed: ours are drawn with a fixed seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from papers.printed import half_unit, printed_table
from relfit.fitting.families import Exponential, Weibull
from relfit.system import System
from relfit.system.jobs import Amdahl, BestSize, Gustafson, Job, best_size

__all__ = [
    "best_size_of_table_6_1",
    "cells",
    "figure_6_3",
    "figure_6_4",
    "figure_6_5",
    "figure_6_7a",
    "figure_6_7b",
    "system_of_table_6_1",
]

FloatArray = npt.NDArray[np.float64]

PARALLEL_FRACTION, WORK = 0.895, 1000.0
SCALE = 2.878e5  # hours, of Figure 6.3 (a)


def system_of_table_6_1(mean_times: Any = None) -> System:
    """Twenty exponential nodes whose first k have the mean time to failure that Table 6.1 prints for k.

    Parameters
    ----------
    mean_times : array_like, shape (20,), optional
        Other hours than the printed ones.

    Examples
    --------
    >>> float(system_of_table_6_1().take(range(14)).mttf().round(6))
    313.0
    """
    if mean_times is None:
        mean_times = printed_table("allocation-table-6.1")["mttf"].astype(float)
    return System(Exponential(np.diff(1.0 / np.asarray(mean_times, dtype=np.float64), prepend=0.0)))


def best_size_of_table_6_1(convention: str = "paper") -> BestSize:
    """The best number of nodes for the system and the job of Table 6.1."""
    job = Amdahl(PARALLEL_FRACTION)
    return best_size(system_of_table_6_1(), Job(WORK, job), order="given", rule="first", convention=convention)


def cells() -> pd.DataFrame:
    """All 67 cells: 10 of Table 3.5, 16 of chapter 4, 41 of Table 6.1."""
    return pd.DataFrame([*_table_3_5(), *_chapter_4(), *_table_6_1()])


def _table_3_5() -> list[dict[str, object]]:
    """What is printed; the label is the one that is meant."""
    rows = []
    for row in printed_table("allocation-table-3.5").to_dict("records"):
        for printed, meant in (("scale", "shape"), ("shape", "scale")):
            cell = _cell(f"{row['statistic']} of the {meant}", row[printed], np.nan, np.nan, False, table="3.5")
            rows.append({**cell, "required": False, "why": "its log is not public; its labels are swapped"})
    return rows


def _chapter_4() -> list[dict[str, object]]:
    rows = []
    for row in printed_table("allocation-chapter-4").to_dict("records"):
        system = System(Weibull(0.8606, 1542.0), ages=[float(row["age"])] * 3)
        length = float(row["length"])
        survival = float(system.reliability(length))
        values = {
            "reliability": survival,
            "cdf": 1.0 - survival,
            "hazard": float(system.hazard(length)),
            "mttf": float(system.mttf()),
        }
        for name, value in values.items():
            agrees = abs(value - float(row[name])) <= half_unit(row[name])
            rows.append(_cell(f"Figure {row['figure']}, {name}", row[name], value, value, agrees, table="4"))
    return rows


def _table_6_1() -> list[dict[str, object]]:
    """M, the expected time, and the best size."""
    printed = printed_table("allocation-table-6.1")
    speedup = Amdahl(PARALLEL_FRACTION)
    reliability = printed["reliability"].astype(float).to_numpy()

    def expected(success: FloatArray) -> FloatArray:
        times = -speedup.time(WORK, np.arange(1, 21)) / np.log(success)  # M before it was rounded to three figures
        return best_size(system_of_table_6_1(times), Job(WORK, speedup), order="given", convention="paper").expected

    times = -speedup.time(WORK, np.arange(1, 21)) / np.log(reliability)
    ours, exact = expected(reliability), best_size_of_table_6_1("exact")
    allowed = np.sort([expected(reliability + 5e-7), expected(reliability - 5e-7)], axis=0)  # by the printed digits
    right = best_size(system_of_table_6_1(times), Job(WORK, speedup), order="given").expected
    rows = []
    for i, row in printed.iterrows():
        half = half_unit(row["expected"])
        target = float(row["expected"])
        agrees = bool(allowed[0, i] - half <= target <= allowed[1, i] + half)
        rows.append(
            _cell(
                f"{row['nodes']} nodes, M",
                row["mttf"],
                times[i],
                times[i],
                float(f"{times[i]:.3g}") == float(row["mttf"]),
            )
        )
        rows.append(_cell(f"{row['nodes']} nodes, expected", row["expected"], ours[i], right[i], agrees))
    best = int(ours.argmin()) + 1
    rows.append(_cell("best size", "14", best, exact.best, best == 14))
    return rows


def _cell(cell: str, printed: str, ours: float, right: float, agrees: bool, table: str = "6.1") -> dict[str, object]:
    return {
        "table": table,
        "cell": cell,
        "printed": printed,
        "ours": ours,
        "right": right,
        "agrees": bool(agrees),
        "required": True,
        "why": "",
    }


def figure_6_3(
    shapes: Sequence[float] = (0.5, 0.6, 0.7, 0.8, 0.9),
    scales: Sequence[float] = (SCALE,),
    *,
    length: float = 24.0,
    nodes: int = 1000,
    convention: str = "exact",
) -> pd.DataFrame:
    """Expected completion time of a job of fixed length by number of equal Weibull nodes, for shapes and scales.

    Several shapes and one scale give part (a); one shape and several scales part (b).

    Returns
    -------
    pandas.DataFrame
        ``shape``, ``scale`` (hours), ``nodes``, ``expected`` (hours).
    """
    parts = []
    for shape in shapes:
        for scale in scales:
            system = System(Weibull(np.full(nodes, shape), np.full(nodes, scale)))
            best = best_size(system, Job(length, Amdahl(0.0)), order="given", convention=convention)
            parts.append(pd.DataFrame({"shape": shape, "scale": scale, "nodes": best.sizes, "expected": best.expected}))
    return pd.concat(parts, ignore_index=True)


def figure_6_4(
    fractions: Sequence[float] = (0.9, 0.99, 0.999), *, work: float = 1e5, nodes: int = 10_000
) -> pd.DataFrame:
    """Completion time without failures by number of nodes, after Amdahl (a) and Gustafson (b).

    Returns
    -------
    pandas.DataFrame
        ``law``, ``parallel_fraction``, ``nodes``, ``length`` (hours).
    """
    sizes = np.unique(np.geomspace(1, nodes, 200).round()).astype(int)
    return pd.concat(
        [
            pd.DataFrame({"law": law.name, "parallel_fraction": p, "nodes": sizes, "length": law(p).time(work, sizes)})
            for law in (Amdahl, Gustafson)
            for p in fractions
        ],
        ignore_index=True,
    )


def figure_6_5(
    speedup: Any,
    *,
    work: float = 1e5,
    nodes: int = 4096,
    shape: float = 0.8,
    scale: float = SCALE,
    convention: str = "exact",
) -> BestSize:
    """Expected completion time with and without failures by number of nodes: Amdahl (a), Gustafson (b)."""
    system = System(Weibull(np.full(nodes, shape), np.full(nodes, scale)))
    return best_size(system, Job(work, speedup), order="given", convention=convention)


def _fleet(nodes: int, seed: int) -> System:
    """Nodes that differ: the middle half of the scales lies within a factor of four."""
    rng = np.random.default_rng(seed)
    scale = SCALE / 20.0 * np.exp(rng.normal(0.0, 1.0, nodes))
    return System(Weibull(np.full(nodes, 0.8), scale), ages=rng.uniform(0.0, 2000.0, nodes))


def figure_6_7a(nodes: int = 512, *, work: float = 5e4, fraction: float = 0.999, seed: int = 1) -> BestSize:
    """RA-Opt on nodes that differ: expected completion time by number of the most reliable nodes."""
    return best_size(_fleet(nodes, seed), Job(work, Amdahl(fraction)))


def figure_6_7b(
    nodes: int = 256,
    works: Sequence[float] = (1e2, 3e2, 1e3, 3e3, 1e4, 3e4, 1e5),
    *,
    fraction: float = 0.999,
    orders: int = 10,
    seed: int = 1,
) -> pd.DataFrame:
    """Best number of nodes and its expected time by length of the job: RA-Opt against nodes in random order.

    Returns
    -------
    pandas.DataFrame
        ``work`` (hours on one node), ``nodes`` and ``expected`` of RA-Opt, ``random_nodes`` and ``random_expected``:
        means over `orders` random orders, each with its best number.
    """
    system, rng = _fleet(nodes, seed), np.random.default_rng(seed)
    rows = []
    for work in works:
        ours = best_size(system, Job(work, Amdahl(fraction)))
        others = [best_size(system, Job(work, Amdahl(fraction)), order=rng.permutation(nodes)) for _ in range(orders)]
        rows.append(
            {
                "work": work,
                "nodes": ours.best,
                "expected": ours.best_expected,
                "random_nodes": float(np.mean([one.best for one in others])),
                "random_expected": float(np.mean([one.best_expected for one in others])),
            }
        )
    return pd.DataFrame(rows)
