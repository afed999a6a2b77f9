"""`simulate_training`: replications of a training cluster, and their outputs with confidence intervals."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from relfit.base.arguments import whole
from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.compiled import compile_notice
from relfit.base.results import Result, json_ready
from relfit.base.text import duration, number, percent
from relfit.simulation.engine.replications import half_interval, replicate, summary
from relfit.simulation.training.cluster_state import COUNTS, DEPLETED, PHASES, REPLACEMENTS, STATES, TIMES
from relfit.simulation.training.parameters import DAY, TrainingParameters, read_training, training_parameters
from relfit.simulation.training.policies import HostSelection, RetirementRule
from relfit.simulation.training.replication import TrainingRun, run_replication, setting_of
from relfit.simulation.training.training_events import advance

_TIME_NAMES = {
    "compute": "total_compute_time",
    "lost": "total_lost_time",
    "save": "total_save_time",
    "recovery": "total_recovery_time",
    "selection": "total_host_selection_time",
    "waiting": "total_wait_time",
    "stalled": "total_stall_time",
    "down": "total_down_time",
}
_PROGRAM_NAMES = {
    "total_training_time_hrs": ("total_training_time", 1.0 / 60.0),
    "effective_training_ratio": ("etr", 1.0),
    "avg_run_duration": ("avg_run", 1.0),
    "avg_run_duration_mins": ("avg_run", 1.0),
    "cluster_depleted": ("depleted", 1.0),
}
"""The published program's names of outputs: the output here, and the factor from its unit."""
_SHARES = ("etr", "goodput", "depleted")
_MINUTES = ("checkpoint_every", "checkpoint_save", "corruption_delay", "bad_server_regen_interval", "window_minutes")
_UNITS = {
    "total_training_time_hrs": "h",
    **dict.fromkeys(("avg_run_duration", "avg_run_duration_mins"), "min"),
    **dict.fromkeys((*_TIME_NAMES.values(), "total_training_time", "avg_run", "preemption_cost", *_MINUTES), "min"),
    **{name: "min" for name in TrainingParameters.model_fields if name.endswith(("_time", "_length"))},
    **{name: "per min" for name in TrainingParameters.model_fields if name.endswith("_rate")},
}
"""Units of outputs, and of parameters that are plain numbers."""
_BATCH = 16  # replications added at a time until the interval is narrow enough


class TrainingSimulation(Result):
    """The outputs of simulated training jobs.

    Attributes
    ----------
    parameters : TrainingParameters
    replications : pandas.DataFrame
        One row per replication and job: ``replication``, ``job`` and every output. Times are minutes:
        ``total_training_time`` is the sum of ``total_compute_time`` (useful work), ``total_lost_time``,
        ``total_save_time``, ``total_recovery_time``, ``total_host_selection_time``, ``total_wait_time`` (for preempted
        servers), ``total_stall_time`` and ``total_down_time``. ``etr`` is the effective training ratio, useful over
        total time; ``goodput`` useful server-minutes over those of both pools; ``avg_run`` the mean minutes of running
        until a failure, NaN without one; ``depleted`` is 1 where too few servers were left to finish. The others are
        counts; ``servers_beyond_repair`` and ``servers_replaced`` only with ``beyond_repair_prob`` or
        ``replacement_time``.
    level : float
        Level of the confidence intervals.
    seconds : float
        Real time of the simulation.
    trace : pandas.DataFrame or None
        One row per change of a server or a job: ``replication``, ``minute``, ``server`` (-1: the job's phase), ``job``,
        ``before`` and ``after``; see `relfit.simulation.training.transitions`.
    """

    parameters: TrainingParameters
    replications: pd.DataFrame
    level: float
    seconds: float
    trace: pd.DataFrame | None = None

    units: ClassVar[Mapping[str, str]] = _UNITS
    _not_in_json: ClassVar[tuple[str, ...]] = ("trace",)
    _frame: ClassVar[str] = "outputs"

    @cached_property
    def outputs(self) -> pd.DataFrame:
        """One row per output, over the rows of `whole`: ``mean`` with ``low`` and ``high``, ``sd``, percentiles.

        Where every run ends, the interval of ``total_training_time`` is cut at the work: no run takes less.
        """
        return self._summary(self.whole, max(job.job_length for job in self.parameters.all_jobs))

    @cached_property
    def whole(self) -> pd.DataFrame:
        """One row per replication: that of its job, or of all its jobs together.

        Of several jobs, ``total_training_time`` is that of the longest, ``depleted`` says whether any is, ``etr``,
        ``goodput`` and ``avg_run`` are means, and all other outputs sums.
        """
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
        """As `outputs`, for one of several jobs.

        Parameters
        ----------
        name : str
            One of `jobs`.

        Raises
        ------
        ArgumentError
            When there is no job of that name.
        """
        rows = self.replications[self.replications["job"] == name]
        if rows.empty:
            raise ArgumentError(f"there is no job {name!r}", remedy=f"the jobs are {', '.join(map(str, self.jobs))}")
        work = self.parameters.all_jobs[self.jobs.index(name)].job_length
        return self._summary(rows.drop(columns=["replication", "job"]), work)

    def _summary(self, rows: pd.DataFrame, work: float) -> pd.DataFrame:
        table = summary(rows, self.level, least=0.0, shares=_SHARES)
        if not rows["depleted"].any():
            time = table.loc["total_training_time"]
            table.loc["total_training_time", "low"] = np.clip(work, time["low"], time["mean"])
        return table

    @property
    def jobs(self) -> tuple[str, ...]:
        """Names of the jobs, in order of priority."""
        return tuple(self.replications["job"].unique())

    @property
    def headline(self) -> str:
        """Time and effective training ratio."""
        hours: Any = self.outputs.loc["total_training_time"] / 60.0
        n, depleted = len(self.whole), int(self.whole["depleted"].sum())
        runs = f"{n} run{'s' if n > 1 else ''}"
        mean, low, high = (number(hours[name]) for name in ("mean", "low", "high"))
        time = f"{mean} h ({low}-{high})" if n > 1 else f"{mean} h"
        if depleted == n:
            return f"training does not finish: after {time} too few servers are left, over {runs}"
        end = f"; in {depleted} of {n} runs too few servers were left to finish" if depleted else ""
        ratio = percent(float(self.whole["etr"].mean()))
        return f"training takes {time}: effective training ratio {ratio}, over {runs}{end}"

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline and what its interval is of, times, mean numbers of events, and what was not asked for."""
        mean = self.outputs["mean"]
        times = self.replications[list(_TIME_NAMES.values())]
        shares = times.div(times.sum(axis=1), axis=0).mean()  # means of runs, as the ratio of the headline
        spent = ", ".join(f"{name} {percent(shares[key])}" for name, key in _TIME_NAMES.items() if shares[key] > 0.0)
        wider = "".join(
            f"{number(mean[f'{name}_failures'])} {name} failures, "
            for name in ("rack", "cluster")
            if mean[f"{name}_failures"] > 0.0
        )
        events = (
            f"{number(mean['total_failures'])} {'server ' if wider else ''}failures "
            f"({number(mean['systematic_failures'])} systematic), {wider}"
            f"{number(mean['host_selection_count'])} host selections, {number(mean['preemption_count'])} preemptions, "
            f"{number(mean['job_stall_count'])} stalls, {number(mean['servers_retired'])} servers retired"
        )
        of = "The interval is that of the simulation with these parameters, not of the parameters themselves."
        hours = self.replications.groupby("job", sort=False)["total_training_time"].mean() / 60.0
        each = ", ".join(f"{name} takes {number(hours[name])} h" for name in self.jobs)
        lines = (
            f"jobs: {each}" if len(self.jobs) > 1 else "",
            of if len(self.whole) > 1 else "",
            f"Time: {spent}.",
            f"Per run, on average: {events}.",
            missing_standbys(self.parameters),
            often_failing(self.parameters),
            "" if self.parameters.checkpoint_every else "No work is lost at a failure: checkpoint_every is 0.",
            *self.parameters.calibrated_by,
            assumed(self.parameters),
        )
        return (self.headline, *filter(None, lines))

    def to_dict(self) -> dict[str, Any]:
        """Outputs by name, also by the published program's names; number of replications, seconds, level."""
        outputs = {str(name): row.to_dict() for name, row in self.outputs.iterrows()}
        for name, (ours, factor) in _PROGRAM_NAMES.items():
            outputs[name] = {key: factor * value for key, value in outputs[ours].items()}
        document: dict[str, Any] = {
            "findings": self.findings,
            "units": {name: unit for name, unit in self.units.items() if name in outputs},
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


def simulate_training(
    params: TrainingParameters | Mapping[str, object] | str | Path | None = None,
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
    params : TrainingParameters, mapping, str or Path, optional
        Keys without a value have the published simulator's defaults; a path is read by
        `relfit.simulation.training.read_training`.
    n_replications : int, optional
        By default that of `params`, 30.
    first : int
        Number of the first replication, where another call has run those before it.
    rng : int, optional
        Seed; by default that of `params`, 0. It gives the same runs for any number of `workers`. Two sets of parameters
        with one seed share their random numbers, so their difference is more precise than either.
    level : float, optional
        Level of the confidence intervals; by default that of `params`, 0.95.
    program_semantics : bool
        Behave as the published program wherever it differs from its paper; see `TrainingParameters.as_program`.
    relative_accuracy : float, optional
        Add replications until half the width of the interval of the mean time is this share of the mean, up to
        ``params.max_replications``.
    host_selection, retirement : callable, optional
        Policies of your own; see `HostSelection` and `RetirementRule`.
    trace : bool
        Store every change of state.
    check : bool
        Check after every event that no server and no minute is lost; slow.
    workers : int, optional
        Threads; one per processor by default.

    Returns
    -------
    TrainingSimulation

    Raises
    ------
    ArgumentError
        For invalid parameters.
    ReadError
        For a file that cannot be read, or has an invalid key.
    DataError
        When a job does not end within ``params.max_events`` events, or waits for servers that never come.

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
    if isinstance(params, (str, Path)):
        params = read_training(params)
    checked = params if isinstance(params, TrainingParameters) else training_parameters(params)
    if program_semantics:
        checked = checked.as_program()
    n = int(whole("n_replications", checked.num_replications if n_replications is None else n_replications, least=1))
    seed = checked.seed if rng is None else int(whole("rng", rng, least=0))
    wanted = checked.confidence_level if level is None else level
    if not 0.0 < wanted < 1.0:
        raise ArgumentError(f"level is {wanted:g}", remedy="give a number between 0 and 1, as 0.95")
    accuracy = relative_accuracy
    if accuracy is None and checked.adaptive_replications and n_replications is None:
        accuracy = checked.relative_accuracy
    setting = setting_of(checked, host_selection=host_selection, retirement=retirement, trace=trace, check=check)
    run, runs = partial(run_replication, setting, seed), list[TrainingRun]()
    with compile_notice(advance, "about ten seconds"):
        while len(runs) < n:
            runs += replicate(run, range(first + len(runs), first + n), workers)
            if accuracy is not None:
                times = np.array([run.jobs["ended"].max() for run in runs])
                precise = len(runs) > 1 and half_interval(times, wanted) <= accuracy * times.mean()
                n = n if precise else min(n + _BATCH, max(n, checked.max_replications))
    table = _table(checked, runs)
    table["replication"] += first
    return TrainingSimulation(checked, table, wanted, time.perf_counter() - start, _traces(runs) if trace else None)


def _table(params: TrainingParameters, runs: list[TrainingRun]) -> pd.DataFrame:
    """One row per replication and job."""
    jobs, states = params.all_jobs, np.concatenate([run.jobs for run in runs])
    times: FloatArray = np.concatenate([run.times for run in runs])
    total = times.sum(axis=1)
    names = [job.name if len(jobs) == 1 or job.name != "job" else f"job {i + 1}" for i, job in enumerate(jobs)]
    stops = sum(states[name] for name in ("total_failures", "rack_failures", "cluster_failures", "corruptions_found"))
    with np.errstate(divide="ignore", invalid="ignore"):
        etr = np.where(total > 0.0, times[:, TIMES.index("compute")] / total, np.nan)
        average = np.where(stops > 0, states["run_time"] / stops, np.nan)
    counts = COUNTS + (REPLACEMENTS if params.loses_servers else ())
    table: dict[str, Any] = {
        "replication": np.repeat(np.arange(len(runs)), len(jobs)),
        "job": names * len(runs),
        "total_training_time": total,
        **{name: states[name].astype(np.float64) for name in counts},
        **{_TIME_NAMES[name]: times[:, i] for i, name in enumerate(TIMES)},
        "etr": etr,
        "goodput": etr * states["n_hosts"] / float(params.working_pool_size + params.spare_pool_size),
        "avg_run": average,
        "preemption_cost": params.preemption_cost * states["preemption_count"],
        "depleted": (states["phase"] == DEPLETED).astype(np.float64),
    }
    return pd.DataFrame(table)


def _traces(runs: list[TrainingRun]) -> pd.DataFrame:
    """The traces of all runs, with states and phases by their names."""
    changes = np.concatenate([part for run in runs for part in run.trace])
    lengths = [sum(map(len, run.trace)) for run in runs]
    names = pd.Index(["new", *STATES, *PHASES])
    first = np.where(changes["server"] < 0, len(STATES) + 1, 1)  # code of the first phase, or of the first state
    before, after = (
        pd.Categorical.from_codes(np.where(codes < 0, 0, first + codes).astype(np.int8), categories=names)
        for codes in (changes["before"], changes["after"])
    )
    return pd.DataFrame(
        {
            "replication": np.repeat(np.arange(len(runs)), lengths),
            "minute": changes["minute"],
            "server": changes["server"].astype(np.int32),
            "job": changes["job"].astype(np.int32),
            "before": before,
            "after": after,
        }
    )


def assumed(params: TrainingParameters) -> str:
    """The values of the published simulator for keys that were not set and change the answer most; "" without any."""
    repeated = params.repeated_repairs
    chosen = params.model_fields_set | repeated.model_fields_set
    if params.failure is not None:
        chosen |= {"random_failure_rate"}
    if params.systematic_failure_rate_multiplier == 0.0:
        chosen |= {"systematic_failure_fraction"}
    if params.systematic_failure_fraction == 0.0 or params.systematic_failure_rate_multiplier == 0.0:
        chosen |= {"auto_repair_fail_prob", "manual_repair_fail_prob"}  # a failed repair leaves a bad server bad
    chosen |= {f"{name}_time" for name in ("auto_repair", "manual_repair") if getattr(params, name) is not None}
    if params.rack_failure_rate == 0.0 and params.host_selection != "packed":
        chosen |= {"rack_size"}
    if max(repeated.prob_auto_to_manual or (params.prob_auto_to_manual,)) == 0.0:
        chosen |= {"manual_repair_time", "manual_repair_fail_prob"}
    factor = number(1.0 + params.systematic_failure_rate_multiplier)
    texts = {
        "random_failure_rate": f"a server fails {number(1440.0 * params.random_failure_rate)} times per day",
        "systematic_failure_fraction": f"{percent(params.systematic_failure_fraction)} of servers fail {factor} times "
        "as often",
        "recovery_time": f"recovery takes {duration(params.recovery_time / 60.0)}",
        "auto_repair_time": f"automatic repairs take {duration(params.auto_repair_time / 60.0)}",
        "auto_repair_fail_prob": f"{percent(params.auto_repair_fail_prob)} of automatic repairs leave a bad server bad",
        "prob_auto_to_manual": f"{percent(params.prob_auto_to_manual)} of automatic repairs lead to a manual one",
        "manual_repair_time": f"manual repairs take {duration(params.manual_repair_time / 60.0)}",
        "manual_repair_fail_prob": f"{percent(params.manual_repair_fail_prob)} of manual ones leave a bad server bad",
        "rack_size": f"racks have {params.rack_size} servers",
    }
    unset = ", ".join(f"{text} ({name})" for name, text in texts.items() if name not in chosen)
    return f"Not set, so as in AIReSim: {unset}." if unset else ""


def often_failing(params: TrainingParameters) -> str:
    """The unit of the failure rate that was set, where a good server fails more than once a day; else ""."""
    rate = params.random_failure_rate
    if "random_failure_rate" not in params.model_fields_set or rate <= 1.0 / DAY:
        return ""
    return (
        f"A server fails every {duration(1.0 / (60.0 * rate))}: random_failure_rate is {number(rate)} per minute, the "
        'unit of a plain number; write "0.01 per day" for another.'
    )


def missing_standbys(params: TrainingParameters) -> str:
    """How many of the warm standbys there can be, where the pools are too small for all; "" where they are not."""
    jobs, servers = params.all_jobs, params.working_pool_size + params.spare_pool_size
    needed, standbys = (sum(getattr(job, name) for job in jobs) for name in ("job_size", "warm_standbys"))
    free = max(servers - needed, 0)
    if standbys <= free:
        return ""
    who = "the job needs" if len(jobs) == 1 else "the jobs need"
    have = f"the pools have {servers:,} servers, of which {who} {needed:,}"
    return f"Of {standbys:,} warm standbys there can only be {free:,}: {have}."
