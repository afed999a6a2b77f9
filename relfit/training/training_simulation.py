"""`simulate_training`: many replications of a training cluster, what came out of each, and of all with intervals."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy import special

from relfit.arguments import whole
from relfit.arrays import FloatArray
from relfit.errors import ArgumentError
from relfit.numeric.batches import over_groups
from relfit.results import Result, json_ready
from relfit.text import percent
from relfit.training.layout import COUNTS, TIMES
from relfit.training.parameters import TrainingParameters, training_parameters
from relfit.training.replication import HostSelection, RetirementRule, Run, Setting, run_replication, setting_of
from relfit.training.trace_names import trace_table

__all__ = ["TrainingSimulation", "simulate_training", "summary"]

_TIME_NAMES = {
    "compute": "total_compute_time", "lost": "total_lost_time", "save": "total_save_time",
    "recovery": "total_recovery_time", "selection": "total_host_selection_time", "waiting": "total_wait_time",
    "stalled": "total_stall_time", "down": "total_down_time",
}  # fmt: skip
_PROGRAM_NAMES = {
    "total_training_time_hrs": ("total_training_time", 1.0 / 60.0), "effective_training_ratio": ("etr", 1.0),
    "avg_run_duration": ("avg_run", 1.0), "avg_run_duration_mins": ("avg_run", 1.0),
    "cluster_depleted": ("depleted", 1.0),
}  # fmt: skip
"""Outputs that the published program calls otherwise, or gives in hours: which they are, and the factor."""
_SHARES = ("etr", "goodput", "depleted")
_PERCENTILES = (5, 25, 50, 75, 95)
_WEIGHT = 1_000_000  # of a replication, for the threads
_BATCH = 16  # replications that are added at a time until an interval is narrow enough


class TrainingSimulation(Result):
    """What simulated training jobs did.

    Attributes
    ----------
    parameters : TrainingParameters
    replications : pandas.DataFrame
        One row per replication and job: ``replication``, ``job`` and every output. Times are minutes:
        ``total_training_time`` is the sum of ``total_compute_time`` (useful work), ``total_lost_time``,
        ``total_save_time``, ``total_recovery_time``, ``total_host_selection_time``, ``total_wait_time`` (for preempted
        servers), ``total_stall_time`` and ``total_down_time``. ``etr`` is the effective training ratio, useful over
        total time, ``goodput`` useful server-minutes over those of both pools, ``avg_run`` the mean minutes of running
        until a failure, NaN where none was. The others count.
    level : float
    seconds : float
        That it took.
    trace : pandas.DataFrame or None
        One row per change of a server or a job: ``replication``, ``minute``, ``server`` (-1: the job's phase), ``job``,
        ``before`` and ``after``; see `relfit.training.transitions`.
    """

    parameters: TrainingParameters
    replications: pd.DataFrame
    level: float
    seconds: float
    trace: pd.DataFrame | None = None

    _not_in_json: ClassVar[tuple[str, ...]] = ("trace",)

    @cached_property
    def outputs(self) -> pd.DataFrame:
        """One row per output: ``mean``, ``sd``, ``low`` and ``high`` of the mean, percentiles.

        Of several jobs, the last time and the sum of the counts.
        """
        return summary(self.whole, self.level)

    @cached_property
    def whole(self) -> pd.DataFrame:
        """One row per replication: that of its job, or of all its jobs together."""
        table = self.replications.drop(columns="job")
        if len(self.parameters.all_jobs) == 1:
            return table.drop(columns="replication")
        groups = table.groupby("replication")
        joined = groups.sum()
        joined["total_training_time"] = groups["total_training_time"].max()
        joined["depleted"] = groups["depleted"].max()
        for name in ("etr", "goodput", "avg_run"):
            joined[name] = groups[name].mean()
        return joined

    def of_job(self, name: str) -> pd.DataFrame:
        """As `outputs`, of one of several jobs.

        Raises
        ------
        ArgumentError
            When there is no job of that name.
        """
        rows = self.replications[self.replications["job"] == name]
        if rows.empty:
            raise ArgumentError(f"there is no job {name!r}", remedy=f"there is {', '.join(map(str, self.jobs))}")
        return summary(rows.drop(columns=["replication", "job"]), self.level)

    @property
    def jobs(self) -> tuple[str, ...]:
        """Names of the jobs, the first comes first."""
        return tuple(self.replications["job"].unique())

    @property
    def headline(self) -> str:
        """Time and effective training ratio."""
        hours = self.outputs.loc["total_training_time"] / 60.0
        n, depleted = len(self.whole), int(self.whole["depleted"].sum())
        runs = f"{n} run{'s' if n > 1 else ''}"
        time = (
            f"{hours['mean']:,.0f} h ({hours['low']:,.0f}-{hours['high']:,.0f})" if n > 1 else f"{hours['mean']:,.0f} h"
        )
        if depleted == n:
            return f"training does not finish: after {time} too few servers are left, over {runs}"
        end = f"; in {depleted} of {n} runs too few servers were left to finish" if depleted else ""
        ratio = percent(float(self.whole["etr"].mean()))
        return f"training takes {time}: effective training ratio {ratio}, over {runs}{end}"

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, where the time goes, what happens on the way."""
        mean = self.outputs["mean"]
        shares = {
            name: mean[key] / max(mean[list(_TIME_NAMES.values())].sum(), 1e-300) for name, key in _TIME_NAMES.items()
        }
        spent = ", ".join(f"{name} {percent(part)}" for name, part in shares.items() if part > 0.0)
        events = (
            f"{mean['total_failures']:,.0f} failures ({mean['systematic_failures']:,.0f} systematic), "
            f"{mean['host_selection_count']:,.0f} host selections, {mean['preemption_count']:,.0f} preemptions, "
            f"{mean['job_stall_count']:,.1f} stalls, {mean['servers_retired']:,.1f} servers retired"
        )
        return (self.headline, *self._each_job, f"time: {spent}", f"a run has {events}")

    @property
    def _each_job(self) -> tuple[str, ...]:
        """Of several jobs, when each ends."""
        if len(self.jobs) == 1:
            return ()
        hours = self.replications.groupby("job", sort=False)["total_training_time"].mean() / 60.0
        return ("jobs: " + ", ".join(f"{name} takes {hours[name]:,.0f} h" for name in self.jobs),)

    def to_frame(self) -> pd.DataFrame:
        """As `outputs`."""
        return self.outputs

    def to_dict(self) -> dict[str, Any]:
        """Outputs by name, those of the published program by its names too; number of replications, seconds."""
        outputs = {str(name): row.to_dict() for name, row in self.outputs.iterrows()}
        for name, (ours, factor) in _PROGRAM_NAMES.items():
            outputs[name] = {key: factor * value for key, value in outputs[ours].items()}
        document: dict[str, Any] = {
            "findings": self.findings,
            "outputs": outputs,
            "replications": len(self.whole),
            "seconds": self.seconds,
            "level": self.level,
        }
        if len(self.jobs) > 1:
            document["jobs"] = {
                name: {str(output): row.to_dict() for output, row in self.of_job(name).iterrows()} for name in self.jobs
            }
        return dict(json_ready(document))


def summary(rows: pd.DataFrame, level: float) -> pd.DataFrame:
    """Mean with its interval, standard deviation and percentiles of every column.

    No output is negative and no share above one, so that limits end there. Runs in which there is no such quantity, as
    the time until a failure where none failed, are left out of it.
    """
    values = rows.astype(np.float64)
    n, mean = values.count().to_numpy(), values.mean().to_numpy()
    sd = np.where(n > 1, values.std(ddof=1), mean - mean)
    half = special.stdtrit(np.where(n > 1, n - 1.0, np.nan), 0.5 + 0.5 * level) * sd / np.sqrt(np.maximum(n, 1))
    most = np.where(rows.columns.isin(_SHARES), 1.0, np.inf)
    table = {"mean": mean, "sd": sd, "low": np.maximum(mean - half, 0.0), "high": np.minimum(mean + half, most)}
    percentiles = values.quantile(np.array(_PERCENTILES) / 100.0).to_numpy()
    table |= {f"p{percentile}": row for percentile, row in zip(_PERCENTILES, percentiles, strict=True)}
    table |= {"min": values.min().to_numpy(), "max": values.max().to_numpy()}
    return pd.DataFrame(table, index=pd.Index(rows.columns, name="output"))


def simulate_training(
    params: TrainingParameters | Mapping[str, Any] | None = None,
    *,
    n_replications: int | None = None,
    first: int = 0,
    rng: int | None = None,
    level: float | None = None,
    program_semantics: bool = False,
    relative_accuracy: float | None = None,
    host_selection: HostSelection | None = None,
    retirement: RetirementRule | None = None,
    trace: bool = False,
    check: bool = False,
    workers: int | None = None,
) -> TrainingSimulation:
    """Simulate a training job on a cluster whose servers fail, event by event.

    Parameters
    ----------
    params : TrainingParameters or mapping, optional
        The published simulator's defaults where a key is left out; `relfit.training.read_training` reads a file.
    n_replications, rng, level : optional
        Those of `params` when left out. The same `rng` gives the same runs, whatever `workers`; two sets of parameters
        with one `rng` share their random numbers, so that their difference is more precise than either.
    first : int
        Number of the first replication: the numbers before it are left to another call.
    program_semantics : bool
        The published program's behaviour wherever it differs from its paper; see `TrainingParameters.as_program`.
    relative_accuracy : float, optional
        Add replications until half of the interval of the mean time is this share of it, up to
        ``params.max_replications``.
    host_selection, retirement : callable, optional
        Policies of your own; see `HostSelection` and `RetirementRule`.
    trace : bool
        Keep every change of state.
    check : bool
        Check after every event that no server and no minute is lost; slow.
    workers : int, optional
        Threads; as many as there are processors when left out.

    Returns
    -------
    TrainingSimulation

    Raises
    ------
    ArgumentError
        For parameters that cannot be.
    DataError
        When a job does not end within ``params.max_events`` events.

    References
    ----------
    Pattabiraman, Patel and Lin, AIReSim: sections 2.2 and 3, Table 1.

    Examples
    --------
    >>> small = {"job_size": 60, "working_pool_size": 70, "spare_pool_size": 4, "job_length": "20 days"}
    >>> result = simulate_training(small, n_replications=20, rng=1)
    >>> bool(0.9 < result.outputs.loc["etr", "mean"] < 1.0)
    True
    """
    start = time.perf_counter()
    known = params if isinstance(params, TrainingParameters) else training_parameters(params)
    if program_semantics:
        known = known.as_program()
    n = int(whole("n_replications", known.num_replications if n_replications is None else n_replications, least=1))
    seed = known.seed if rng is None else int(whole("rng", rng, least=0))
    wanted = known.confidence_level if level is None else level
    if not 0.0 < wanted < 1.0:
        raise ArgumentError(f"level is {wanted:g}", remedy="give a number between 0 and 1, as 0.95")
    accuracy = relative_accuracy
    if accuracy is None and known.adaptive_replications and n_replications is None:
        accuracy = known.relative_accuracy
    setting = setting_of(known, host_selection=host_selection, retirement=retirement, trace=trace, check=check)
    runs = _runs(setting, seed, first, first + n, workers)
    while accuracy is not None and len(runs) < known.max_replications and not _precise(runs, wanted, accuracy):
        more = min(_BATCH, known.max_replications - len(runs))
        runs += _runs(setting, seed, first + len(runs), first + len(runs) + more, workers)
    table = _table(known, runs)
    table["replication"] += first
    return TrainingSimulation(known, table, wanted, time.perf_counter() - start, _traces(runs) if trace else None)


def _runs(setting: Setting, seed: int, first: int, last: int, workers: int | None) -> list[Run]:
    runs: list[Run | None] = [None] * (last - first)

    def work(begin: int, end: int) -> None:
        for i in range(begin, end):
            runs[i] = run_replication(setting, seed, first + i)

    work(0, 1)  # compiles, where that has not been done
    over_groups(_WEIGHT * np.arange(last - first, dtype=np.int64), lambda a, b: work(a + 1, b + 1), workers)
    return [run for run in runs if run is not None]


def _precise(runs: list[Run], level: float, accuracy: float) -> bool:
    times = np.array([run.ended.max() for run in runs])
    if times.size < 2:
        return False
    half = float(special.stdtrit(times.size - 1, 0.5 + 0.5 * level) * times.std(ddof=1) / np.sqrt(times.size))
    return half <= accuracy * float(times.mean())


def _table(params: TrainingParameters, runs: list[Run]) -> pd.DataFrame:
    """One row per replication and job."""
    jobs = params.all_jobs
    times: FloatArray = np.concatenate([run.times for run in runs])
    counts = np.concatenate([run.counts for run in runs])
    total = times.sum(axis=1)
    names = [job.name if len(jobs) == 1 or job.name != "job" else f"job {i + 1}" for i, job in enumerate(jobs)]
    stops = counts[
        :, [COUNTS.index(n) for n in ("total_failures", "rack_failures", "cluster_failures", "corruptions_found")]
    ]
    n_stops = stops.sum(axis=1)
    run_time = np.concatenate([run.run_time for run in runs])
    sizes = np.tile([float(job.job_size) for job in jobs], len(runs))
    servers = float(params.working_pool_size + params.spare_pool_size)
    with np.errstate(divide="ignore", invalid="ignore"):
        etr = np.where(total > 0.0, times[:, TIMES.index("compute")] / total, np.nan)
        average = np.where(n_stops > 0, run_time / n_stops, np.nan)
    table: dict[str, Any] = {
        "replication": np.repeat(np.arange(len(runs)), len(jobs)),
        "job": names * len(runs),
        "total_training_time": total,
        **{name: counts[:, i] for i, name in enumerate(COUNTS)},
        **{_TIME_NAMES[name]: times[:, i] for i, name in enumerate(TIMES)},
        "etr": etr,
        "goodput": etr * sizes / servers,
        "avg_run": average,
        "preemption_cost": params.preemption_cost * counts[:, COUNTS.index("preemption_count")],
        "depleted": np.concatenate([run.depleted for run in runs]).astype(np.float64),
    }
    return pd.DataFrame(table)


def _traces(runs: list[Run]) -> pd.DataFrame:
    return pd.concat([trace_table(run.trace, i) for i, run in enumerate(runs)], ignore_index=True)
