"""Checkpoint just before a predicted failure, or migrate to a spare node: the model of "Checkpointing or migration".

With perfect prediction, a job of n nodes stops every mu/n hours: for C + D + R hours if it saves in time, repairs and
restores, for M hours if it migrates. Migration needs m of the N nodes as spares, so many that more than m are
migrating or down at once with a probability of at most the risk. Section 6 of the paper has periodic checkpoints
without prediction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from relfit.arguments import FloatArray, cases, durations, share, whole
from relfit.errors import ArgumentError
from relfit.jobs._time_to_failure import time_to_failure
from relfit.planning.checkpointing.exponential_failures import best_waste, first_order_best_waste

if TYPE_CHECKING:
    import pandas as pd

    from relfit.families import Family

__all__ = [
    "SCENARIOS",
    "JobMix",
    "Scenario",
    "Throughputs",
    "compare_throughputs",
    "job_mix",
    "spares_for_risk",
    "spares_share",
]


@dataclass(frozen=True, eq=False)
class Scenario:
    """What saving, restoring, rebooting and migrating cost.

    Parameters
    ----------
    name : str
    save, restore, downtime, migration : duration
        C, R, D and M.

    Examples
    --------
    >>> Scenario("mine", "2min", "2min", "1min", "30s").migration.round(5).tolist()
    0.00833
    """

    name: str
    save: Any
    restore: Any
    downtime: Any
    migration: Any

    def __post_init__(self) -> None:
        for field in ("save", "restore", "downtime", "migration"):
            object.__setattr__(self, field, durations(field, getattr(self, field)))

    @property
    def worth_comparing(self) -> npt.NDArray[np.bool_]:
        """Whether a migration is shorter than save, repair and restore; else a node is its own best spare."""
        return np.asarray(self.migration < self.save + self.downtime + self.restore)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, hours."""
        fields = ("save", "restore", "downtime", "migration")
        return {"name": self.name} | {f"{x}_hours": np.asarray(getattr(self, x)).tolist() for x in fields}

    def __repr__(self) -> str:
        inner = ", ".join(f"{x}={getattr(self, x)}" for x in ("save", "restore", "downtime", "migration"))
        return f"Scenario({self.name!r}, {inner}, hours)"


def _paper(name: str, save: float, downtime: float) -> Scenario:
    minutes = [save, save, downtime, 1.0]
    return Scenario(name, *(value / 60.0 for value in minutes))


SCENARIOS: dict[str, Scenario] = {
    "today": _paper("today", 25.0, 2.5),
    "2011 HD": _paper("2011 HD", 7.5, 2.5),
    "2011 SSD": _paper("2011 SSD", 5.0, 2.5),
    "2011 Flash": _paper("2011 Flash", 1.5, 2.5),
    "2011 Flash, faster reboot": _paper("2011 Flash, faster reboot", 1.5, 0.25),
    "2015": _paper("2015", 0.05, 0.25),
}
"""The paper's six scenarios, Tables 1 to 6."""


def spares_for_risk(
    nodes: Any, mtbf: Any, migration: Any, downtime: Any, risk: Any, method: str = "exact"
) -> npt.NDArray[np.int64]:
    """Fewest spare nodes for which the probability to be short of one is at most `risk`.

    Each of the N nodes is migrating or down with probability ``v = (M + D)/(mu + M + D)`` at any time; short are those
    instants at which more than m are.

    Parameters
    ----------
    nodes : array_like of int
        N, spares included.
    mtbf, migration, downtime : array_like of durations
    risk : array_like of float
        Above 0, below 1.
    method : {"exact", "poisson"}
        The binomial law, or Poisson's approximation of it.

    Returns
    -------
    ndarray of int

    Examples
    --------
    >>> spares_for_risk([2**14, 2**17, 2**20], "1 day", "1min", "2.5min", 1e-4).tolist()
    [65, 386, 2732]
    """
    given = {
        "nodes": whole("nodes", nodes).astype(np.float64), "mtbf": durations("mtbf", mtbf, zero=False),
        "migration": durations("migration", migration), "downtime": durations("downtime", downtime),
        "risk": share("risk", risk, zero=False, one=False),
    }  # fmt: skip
    n, mu, m, d, eps = cases(**given)
    away = (m + d) / (mu + m + d)
    if method not in ("exact", "poisson"):
        raise ArgumentError(f"method {method!r} is not known", remedy="use 'exact' or 'poisson'")

    def short(k: FloatArray) -> FloatArray:
        return np.asarray(stats.binom.sf(k, n, away) if method == "exact" else stats.poisson.sf(k, n * away))

    found = stats.binom.isf(eps, n, away) if method == "exact" else stats.poisson.isf(eps, n * away)
    found = np.maximum(np.asarray(found, dtype=np.float64), 0.0)
    for _ in range(60):  # the quantile functions are off by one now and then
        more, less = short(found) > eps, (found > 0.0) & (short(found - 1.0) <= eps)
        if not (more.any() or less.any()):
            break
        found = found + more - (less & ~more)
    return np.minimum(found, n).astype(np.int64)


def spares_share(nodes: Any, spares: Any) -> FloatArray:
    """Share of the nodes left for work."""
    n, m = cases(nodes=whole("nodes", nodes).astype(np.float64), spares=whole("spares", spares, 0).astype(np.float64))
    if np.any(m > n):
        raise ArgumentError("more spares than nodes")
    return 1.0 - m / n


@dataclass(frozen=True, eq=False)
class JobMix:
    """Jobs by size.

    Attributes
    ----------
    sizes : ndarray of int, shape (s,)
        Nodes of a job.
    jobs : ndarray, shape (s,)
        Mean number of such jobs that run at once; together they fill the machine.
    """

    sizes: npt.NDArray[np.int64]
    jobs: FloatArray

    @property
    def node_shares(self) -> FloatArray:
        """Share of the nodes that work for jobs of each size."""
        busy = self.sizes * self.jobs
        return np.asarray(busy / busy.sum())


def job_mix(
    nodes: int,
    share_sequential: float = 0.25,
    *,
    sizes: npt.ArrayLike | None = None,
    shares: npt.ArrayLike | None = None,
) -> JobMix:
    """Jobs that fill the machine (section 4.1 of the paper).

    Parameters
    ----------
    nodes : int
        N.
    share_sequential : float
        Share of the jobs that need one node; all others are as likely to need 2, 4, ... up to the largest power of two.
    sizes, shares : array_like, optional
        Other sizes of jobs, and the share of the jobs that has each.

    Raises
    ------
    ArgumentError
        For values that cannot be.

    Examples
    --------
    >>> mix = job_mix(16)
    >>> mix.sizes.tolist(), float((mix.sizes * mix.jobs).sum().round(9))
    ([1, 2, 4, 8, 16], 16.0)
    """
    count = int(whole("nodes", nodes))
    if sizes is None:
        one = float(share("share_sequential", share_sequential))
        most = int(np.log2(count))
        size = 2 ** np.arange(most + 1)
        part = np.concatenate([[one], np.full(most, (1.0 - one) / max(most, 1))])
        if most == 0:
            part = np.ones(1)
    else:
        if shares is None:
            raise ArgumentError("sizes without shares", remedy="give the share of the jobs of each size")
        size, part = np.atleast_1d(whole("sizes", sizes)), np.atleast_1d(share("shares", shares))
        if size.shape != part.shape or size.ndim != 1:
            raise ArgumentError(f"{size.size} sizes but {part.size} shares")
        if not part.sum() > 0.0 or size.max() > count:
            raise ArgumentError("jobs larger than the machine, or no jobs", remedy="look at sizes and shares")
        part = part / part.sum()
    return JobMix(size.astype(np.int64), part * count / float((size * part).sum()))


@dataclass(frozen=True, eq=False)
class Throughputs:
    """Nodes at work, of N, under each strategy; arrays are cases.

    Attributes
    ----------
    nodes, spares : ndarray of int
    save_in_time : ndarray
        Each failure is predicted, and the job saves in time.
    migrate : ndarray
        Each failure is predicted, and the job migrates to one of the spares.
    periodic, periodic_exact : ndarray
        No failure is predicted, and jobs save at their best interval: to first order as the paper has it, and exactly.
    nothing : ndarray
        Share of the nodes whose jobs make no progress at all with periodic checkpoints, to first order.
    """

    nodes: npt.NDArray[np.int64]
    spares: npt.NDArray[np.int64]
    save_in_time: FloatArray
    migrate: FloatArray
    periodic: FloatArray
    periodic_exact: FloatArray
    nothing: FloatArray

    @property
    def improvement(self) -> FloatArray:
        """How much migration yields beyond saving in time, as a share: the paper's percentages over 100."""
        return self.migrate / self.save_in_time - 1.0

    @property
    def sentence(self) -> str:
        """Which strategy does best (of the first case), in a sentence."""
        n = float(np.ravel(self.nodes)[0])
        yields = [("migration", self.migrate), ("saving in time", self.save_in_time),
                  ("periodic checkpoints", self.periodic_exact)]  # fmt: skip
        shown = sorted(((float(np.ravel(v)[0]) / n, name) for name, v in yields), reverse=True)
        count = int(np.ravel(self.spares)[0])
        parts = ", ".join(f"{name} {100 * value:.3g} %" for value, name in shown)
        return f"Share of the nodes at work: {parts}; {count} spare{'s' if count != 1 else ''}."

    def to_frame(self) -> pd.DataFrame:
        """A row a case: nodes at work under each strategy."""
        import pandas as pd

        names = ("nodes", "spares", "save_in_time", "migrate", "improvement", "periodic", "periodic_exact", "nothing")
        return pd.DataFrame({name: np.ravel(getattr(self, name)) for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {str(k): v for k, v in self.to_frame().to_dict("list").items()} | {"sentence": self.sentence}

    def __repr__(self) -> str:
        return f"Throughputs: {self.sentence}"


def compare_throughputs(
    scenario: Scenario,
    nodes: Any,
    mtbf: Any,
    risk: Any = 1e-4,
    *,
    parallel: bool = True,
    mix: JobMix | None = None,
    share_sequential: float = 0.25,
    spares: Any = None,
    spares_twice: bool = False,
    method: str = "exact",
) -> Throughputs:
    """Nodes at work when jobs save in time, migrate, or checkpoint periodically.

    Parameters
    ----------
    scenario : Scenario
        The costs.
    nodes : array_like of int
        N, spares included.
    mtbf : array_like of durations, or Family
        Of one node. A family stands for nodes that are all new: a job of n nodes then has the mean of the least of n
        lives between failures. (The paper's formula for Weibull lives, section 4.2, has a slip: the scale goes with
        ``n**(-1/shape)``.)
    risk : array_like of float
        Probability to be short of a spare.
    parallel : bool
        Jobs of many sizes; else each node has a job of its own.
    mix : JobMix, optional
        Jobs by size; by `share_sequential`, as in `job_mix`, when left out.
    spares : array_like of int, optional
        So many spares, instead of those for the risk.
    spares_twice : bool
        Take the spares off twice where jobs are sequential, as the paper's tables do.
    method : str
        As in `spares_for_risk`.

    Raises
    ------
    ArgumentError
        For values that cannot be.

    Examples
    --------
    >>> found = compare_throughputs(SCENARIOS["today"], 2**14, "1 day")
    >>> int(found.spares), round(100 * float(found.improvement), 1)
    (65, 2081.5)
    """
    family: Family | None = mtbf if hasattr(mtbf, "log_sf") else None
    mu_given = (
        np.asarray(family.mean(), dtype=np.float64) if family is not None else durations("mtbf", mtbf, zero=False)
    )
    n, mu, eps, c, r, d, m = cases(
        nodes=whole("nodes", nodes).astype(np.float64), mtbf=mu_given,
        risk=share("risk", risk, zero=False, one=False), save=scenario.save, restore=scenario.restore,
        downtime=scenario.downtime, migration=scenario.migration,
    )  # fmt: skip
    counts = n.astype(np.int64)
    if spares is None:
        spare = spares_for_risk(counts, mu, m, d, eps, method)
    else:
        spare = np.broadcast_to(whole("spares", spares, 0), n.shape)
    left = spares_share(counts, spare)
    found = np.empty((5, n.size))
    flat = [x.ravel() for x in (n, mu, c, r, d, m, left)]
    mixes: dict[int, JobMix] = {}
    means: dict[int, FloatArray] = {}
    for i, (count, mean, save, restore, down, move, factor) in enumerate(zip(*flat, strict=True)):
        whole_count = int(count)
        if not parallel:
            chosen = JobMix(np.ones(1, dtype=np.int64), np.array([count]))
        elif mix is not None:
            chosen = mix
        else:
            chosen = mixes.setdefault(whole_count, job_mix(whole_count, share_sequential))
        busy = chosen.node_shares * count
        if family is not None and whole_count not in means:
            means[whole_count] = _least_of(family, chosen.sizes)
        gap = mean / chosen.sizes if family is None else means[whole_count]
        waste = first_order_best_waste(gap, save, restore, down)
        exact = best_waste(gap, save, restore, down)
        factor = factor**2 if spares_twice and not parallel else factor
        found[:, i] = (
            (busy * gap / (gap + save + down + restore)).sum(),
            (busy * gap / (gap + move)).sum() * factor,
            (busy * (1.0 - waste)).sum(),
            (busy * (1.0 - exact)).sum(),
            busy[waste >= 1.0].sum() / count,
        )
    shaped = found.reshape(5, *n.shape)
    return Throughputs(counts, spare, shaped[0], shaped[1], shaped[2], shaped[3], shaped[4])


# ---------------------------------------------------------------------- details


def _least_of(family: Any, sizes: npt.NDArray[np.int64]) -> FloatArray:
    """Mean of the least of n new lives, for each n."""
    return np.array([time_to_failure(family, nodes=int(n)).mean() for n in sizes])
