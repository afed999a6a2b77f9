"""Tables and figures of chapter 6 of reliability-aware allocation: expected completion time and the number of nodes.

Table 6.1 is complete. The figures' captions leave parameters out; these functions take them as arguments, and their
defaults are chosen to show what the paper shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

    from relfit.jobs import BestSize
    from relfit.system import System

__all__ = [
    "figure_6_3",
    "figure_6_4",
    "figure_6_5",
    "figure_6_7a",
    "figure_6_7b",
    "ra_opt_of_table_6_1",
    "system_of_table_6_1",
    "table_6_1",
]

FloatArray = npt.NDArray[np.float64]

PARALLEL_FRACTION, WORK = 0.895, 1000.0
MEAN_LIVES = (
    35000.0, 17500.0, 11700.0, 7010.0, 5010.0, 3500.0, 2190.0, 1460.0, 1030.0, 762.0,
    604.0, 474.0, 381.0, 313.0, 247.0, 194.0, 157.0, 131.0, 110.0, 95.7,
)  # fmt: skip
"""Column M of Table 6.1, hours, as printed."""
PRINTED_RELIABILITY = (
    0.971864, 0.968956, 0.966057, 0.954172, 0.944844, 0.930032, 0.899131, 0.861962, 0.820061, 0.774655,
    0.734563, 0.684369, 0.633531, 0.582774, 0.513084, 0.436384, 0.367344, 0.306048, 0.252351, 0.209033,
)  # fmt: skip
PRINTED_EXPECTED = (
    2014.406, 1113.804, 813.7115, 665.333, 576.211, 517.7785, 478.5445, 450.6858, 430.5775, 416.0872,
    404.6705, 397.9672, 394.1615, 392.9122, 398.8412, 411.6036, 428.7588, 451.0254, 479.3888, 511.7624,
)  # fmt: skip
SCALE = 2.878e5  # hours, of Figure 6.3 (a)


def system_of_table_6_1() -> System:
    """Twenty exponential nodes whose first k have the mean life that Table 6.1 prints for k.

    Examples
    --------
    >>> float(system_of_table_6_1().take(range(14)).mttf().round(6))
    313.0
    """
    from relfit.families import Exponential
    from relfit.system import System

    return System(Exponential(np.diff(1.0 / np.array(MEAN_LIVES), prepend=0.0)))


def ra_opt_of_table_6_1(convention: str = "paper") -> BestSize:
    """What `relfit.jobs._best_size` says to the system and the job of Table 6.1."""
    from relfit.jobs import Amdahl, best_size

    law = Amdahl(PARALLEL_FRACTION)
    return best_size(system_of_table_6_1(), WORK, law, order="given", rule="first", convention=convention)


def table_6_1() -> pd.DataFrame:
    """Table 6.1: computed beside printed, and with the time that a failed attempt really loses.

    Returns
    -------
    pandas.DataFrame
        ``nodes``, ``speedup``, ``length``, ``reliability``, ``mttf`` (as printed), ``expected`` (the paper's formula),
        ``reliability_printed``, ``expected_printed``, ``expected_exact`` (the exact formula), ``best``. Times are
        hours. Column M is printed rounded to three figures: expected times agree to 0.25 %, and to 0.15 % but for 19
        nodes.

    Examples
    --------
    >>> table = table_6_1()
    >>> int(table.loc[table["best"], "nodes"].item()), round(float(table["expected"].min()), 1)
    (14, 392.9)
    """
    import pandas as pd

    from relfit.jobs import Amdahl, best_size

    law = Amdahl(PARALLEL_FRACTION)
    system = system_of_table_6_1()
    paper = best_size(system, WORK, law, order="given", convention="paper")
    exact = best_size(system, WORK, law, order="given")
    best = np.zeros(20, dtype=bool)
    best[paper.place] = True
    return pd.DataFrame(
        {
            "nodes": paper.sizes,
            "speedup": law.speedup(paper.sizes),
            "length": paper.lengths,
            "reliability": paper.success,
            "mttf": np.array(MEAN_LIVES),
            "expected": paper.expected,
            "reliability_printed": np.array(PRINTED_RELIABILITY),
            "expected_printed": np.array(PRINTED_EXPECTED),
            "expected_exact": exact.expected,
            "best": best,
        }
    )


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
    import pandas as pd

    from relfit.families import Weibull
    from relfit.jobs import Amdahl, best_size
    from relfit.system import System

    parts = []
    for shape in shapes:
        for scale in scales:
            system = System(Weibull(np.full(nodes, shape), np.full(nodes, scale)))
            found = best_size(system, length, Amdahl(0.0), order="given", convention=convention)
            parts.append(
                pd.DataFrame({"shape": shape, "scale": scale, "nodes": found.sizes, "expected": found.expected})
            )
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
    import pandas as pd

    from relfit.jobs import Amdahl, Gustafson

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
    law: str = "amdahl",
    fraction: float = 0.999,
    *,
    work: float = 1e5,
    nodes: int = 4096,
    shape: float = 0.8,
    scale: float = SCALE,
    convention: str = "exact",
) -> BestSize:
    """Expected completion time with and without failures by number of nodes: Amdahl (a), Gustafson (b)."""
    from relfit.errors import ArgumentError
    from relfit.families import Weibull
    from relfit.jobs import Amdahl, Gustafson, best_size
    from relfit.system import System

    laws: dict[str, Any] = {"amdahl": Amdahl, "gustafson": Gustafson}
    if law not in laws:
        raise ArgumentError(f"law={law!r} is not known", remedy="use 'amdahl' or 'gustafson'")
    system = System(Weibull(np.full(nodes, shape), np.full(nodes, scale)))
    return best_size(system, work, laws[law](fraction), order="given", convention=convention)


def _fleet(nodes: int, seed: int) -> System:
    """Nodes that differ: the middle half of the scales lies within a factor of four."""
    from relfit.families import Weibull
    from relfit.system import System

    rng = np.random.default_rng(seed)
    scale = SCALE / 20.0 * np.exp(rng.normal(0.0, 1.0, nodes))
    return System(Weibull(np.full(nodes, 0.8), scale), ages=rng.uniform(0.0, 2000.0, nodes))


def figure_6_7a(nodes: int = 512, *, work: float = 5e4, fraction: float = 0.999, seed: int = 1) -> BestSize:
    """RA-Opt on nodes that differ: expected completion time by number of the most reliable nodes."""
    from relfit.jobs import Amdahl, best_size

    return best_size(_fleet(nodes, seed), work, Amdahl(fraction))


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
    import pandas as pd

    from relfit.jobs import Amdahl, best_size

    system, rng = _fleet(nodes, seed), np.random.default_rng(seed)
    rows = []
    for work in works:
        ours = best_size(system, work, Amdahl(fraction))
        others = [best_size(system, work, Amdahl(fraction), order=rng.permutation(nodes)) for _ in range(orders)]
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
