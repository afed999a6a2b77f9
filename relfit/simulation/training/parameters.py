"""`TrainingParameters`: the checked settings of a training cluster: job, pools, failures, repairs.

Times are minutes, rates per minute. The names and defaults are those of the published simulator (AIReSim), whose files
are read as they are; settings beyond it have names of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from relfit.base.errors import ArgumentError, ReadError
from relfit.base.units import hours, rate_per_hour
from relfit.fleet.calibration import FailuresByScope, FittedFamily, Parameters, read_parameters
from relfit.fleet.calibration.files import is_parameter_file
from relfit.fleet.calibration.parameter_values import Model, rejection
from relfit.io.parsing.settings import read_settings
from relfit.simulation.engine.checked_settings import Settings
from relfit.simulation.engine.repair_stages import HISTORIES, Probabilities, listed
from relfit.simulation.training.calibrated_keys import SCOPES, calibrated_values

DAY = 1440.0
_KINDS = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml", ".json": "json"}


def _converted(convert: Callable[[str], float], remedy: str) -> BeforeValidator:
    """Reads text as a number, or by `convert`, as "2 days"; leaves anything else as it is."""

    def read(value: object) -> Any:
        if not isinstance(value, str):
            return value
        with suppress(ValueError):
            return float(value)
        try:
            return convert(value)
        except ArgumentError as error:
            raise rejection(error.what, remedy=remedy.format(error.remedy)) from None

    return BeforeValidator(read)


_minutes = _converted(lambda text: 60.0 * hours(text), "give minutes as a number, or text such as '2 days'")
_per_minute = _converted(lambda text: rate_per_hour(text) / 60.0, "{}, or a number per minute")
Minutes = Annotated[float, _minutes, Field(ge=0.0, allow_inf_nan=False)]
SomeMinutes = Annotated[float, _minutes, Field(gt=0.0, allow_inf_nan=False)]
Rate = Annotated[float, _per_minute, Field(ge=0.0, allow_inf_nan=False)]
Multiple = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Probability = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Servers = Annotated[int, Field(ge=0, le=2_000_000)]
SomeServers = Annotated[int, Field(ge=1, le=2_000_000)]
Some = Annotated[int, Field(ge=1)]
MinutesByRepairs = Annotated[tuple[Minutes, ...], BeforeValidator(listed), Field(min_length=1, max_length=HISTORIES)]


class Retirement(Model):
    """When a repaired server is retired: after failures in a window, or at a low score."""

    policy: Literal["never", "threshold", "score"] = Field(
        "threshold", description="threshold: failures in a window; score: a score that failures lower"
    )
    max_failures: SomeServers = Field(5, description="failures in the window at which a server is retired")
    window_minutes: SomeMinutes = Field(7 * DAY, description="the window")
    initial_score: float = Field(100.0, description="initial score of a server")
    failure_penalty: float = Field(30.0, description="taken off for every failure that a server is blamed for")
    success_increment: float = Field(10.0, description="added for every full period of a run without a failure")
    time_period: Minutes = Field(DAY, description="the period; 0: every run counts as one")
    retirement_threshold: float = Field(0.0, description="score at which, and below which, a server is retired")


class TrainingJob(Model):
    """One of several jobs that share the pools; earlier ones in the list come first."""

    name: str = Field("job", description="what it is called in the results")
    job_size: SomeServers = Field(description="servers that it needs")
    job_length: SomeMinutes = Field(description="minutes that it takes without failures")
    warm_standbys: Servers = Field(0, description="further servers held ready")
    minimum_size: SomeServers | None = Field(
        None, description="servers with which it goes on, slower; repaired ones join at its next interruption"
    )

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.minimum_size is not None and self.minimum_size > self.job_size:
            what = f"minimum_size ({self.minimum_size}) is above job_size ({self.job_size})"
            raise rejection(what, at="minimum_size")
        return self


class RepeatedRepairs(Model):
    """Repairs by the number of earlier repairs of the server, in place of the keys of the same names.

    The first value is for a first repair; the last one holds for all further repairs.
    """

    auto_repair_time: MinutesByRepairs | None = Field(None, description="mean times of automatic repairs")
    manual_repair_time: MinutesByRepairs | None = Field(None, description="mean times of manual repairs")
    prob_auto_to_manual: Probabilities | None = Field(None, description="probabilities that a manual repair follows")
    auto_repair_fail_prob: Probabilities | None = Field(
        None, description="probabilities that an automatic repair mends nothing"
    )
    manual_repair_fail_prob: Probabilities | None = Field(
        None, description="probabilities that a manual repair mends nothing"
    )


class TrainingParameters(Settings):
    """A training cluster and its job; times in minutes, rates per minute, or text: ``"2 days"``, ``"1 per 80 days"``.

    Examples
    --------
    >>> params = TrainingParameters(job_size=64, working_pool_size=80, job_length="30 days")
    >>> params.job_length, params.recovery_time
    (43200.0, 20.0)
    """

    keys_page: ClassVar[str] = "docs/training.md"
    other_names: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("mtbf", "mttf", "failure_rate"), 'random_failure_rate, as "1 per 80 days"'),
        **dict.fromkeys(("mttr", "repair_time"), 'auto_repair_time, as "2 days"'),
        "calibrated": "training_parameters(values), which reads it",
        **dict.fromkeys(("spares", "standbys"), "warm_standbys, and working_pool_size for job and spares together"),
    }

    # failures
    random_failure_rate: Rate = Field(0.01 / DAY, description="failures of a good server per minute of running")
    systematic_failure_rate_multiplier: Multiple = Field(
        5.0, description="systematic failures of a bad server, on top of its random ones, as a multiple of their rate"
    )
    systematic_failure_fraction: Probability = Field(0.15, description="share of bad servers, over both pools")
    failure_distribution: Literal["exponential", "weibull", "lognormal"] = Field(
        "exponential", description="times to failure; their mean is 1 / rate whatever the distribution"
    )
    weibull_shape: Annotated[float, Field(ge=0.05, le=100.0)] = Field(1.0, description="shape of weibull times")
    lognormal_sigma: Annotated[float, Field(ge=0.01, le=10.0)] = Field(1.0, description="sigma of lognormal times")
    failure: FittedFamily | None = Field(
        None, description="times to failure of a good server by a fitted family, in hours; a rate beside it rescales it"
    )
    renew_on_restart: bool = Field(
        False, description="draw all times to failure again at every restart, instead of letting servers age"
    )
    ages: Literal["new", "steady"] = Field(
        "new", description="of the servers at the start: all new, or as in a cluster that has long been running"
    )
    bad_server_regeneration: bool = Field(False, description="whether good servers turn bad over time")
    bad_server_regen_interval: SomeMinutes = Field(30 * DAY, description="how often a tenth of the fraction turns bad")

    # job and pools
    job_size: SomeServers = Field(4096, description="servers that the job needs")
    job_length: SomeMinutes = Field(256 * DAY, description="minutes that the job takes without failures")
    warm_standbys: Servers = Field(16, description="further servers held ready")
    minimum_size: SomeServers | None = Field(
        None,
        description="servers with which the job goes on, slower (all when left out); "
        "repaired ones join at its next interruption",
    )
    jobs: tuple[TrainingJob, ...] = Field(
        (), description="several jobs instead of the one above, the first comes first"
    )
    working_pool_size: SomeServers = Field(4160, description="servers of the working pool")
    spare_pool_size: Servers = Field(200, description="servers of the spare pool, which run other work")

    # what a failure costs
    recovery_time: Minutes = Field(20.0, description="to load the checkpoint and restart, at every failure")
    host_selection_time: Minutes = Field(3.0, description="to choose servers when no warm standby is left")
    preemption_wait_time: Minutes = Field(20.0, description="to preempt a server of the spare pool, in turn")
    preemption_cost: Minutes = Field(
        0.0, description="lost by the other work per preempted server; not on the job's clock"
    )
    checkpoint_every: Minutes = Field(0.0, description="work between two checkpoints; 0: nothing is ever lost")
    checkpoint_save: Minutes = Field(0.0, description="to save a checkpoint")

    # repairs
    auto_repair_time: Minutes = Field(120.0, description="mean time of an automatic repair")
    manual_repair_time: Minutes = Field(2 * DAY, description="mean time of a manual repair, after the automatic one")
    auto_repair: FittedFamily | None = Field(
        None, description="automatic repairs by a family, in hours; a mean beside it rescales it"
    )
    manual_repair: FittedFamily | None = Field(
        None, description="manual repairs by a family, in hours; a mean beside it rescales it"
    )
    prob_auto_to_manual: Probability = Field(0.80, description="probability that a manual repair follows")
    auto_repair_fail_prob: Probability = Field(0.40, description="probability that an automatic repair mends nothing")
    manual_repair_fail_prob: Probability = Field(0.20, description="probability that a manual repair mends nothing")
    repeated_repairs: RepeatedRepairs = Field(
        RepeatedRepairs(), description="the keys above by the number of earlier repairs of the server"
    )
    beyond_repair_prob: Probabilities = Field(
        (0.0,), description="probability that a repaired server is retired; a list by its number of earlier repairs"
    )
    replacement_time: Minutes | None = Field(
        None, description="until a new server takes the place of a retired one; never when left out"
    )
    auto_crews: SomeServers | None = Field(None, description="automatic repairs at a time; any number when left out")
    manual_crews: SomeServers | None = Field(None, description="manual repairs at a time; any number when left out")
    manual_hours: tuple[Annotated[float, Field(ge=0, le=24)], Annotated[float, Field(ge=0, le=24)]] = Field(
        (0.0, 24.0), description="hours of the day between which manual repairs go on"
    )
    manual_days: tuple[Annotated[int, Field(ge=0, le=6)], ...] = Field(
        (0, 1, 2, 3, 4, 5, 6), description="days of the week on which they go on; the job begins on day 0"
    )
    diagnosis_probability: Probability = Field(1.0, description="probability that a failure leads to a repair at all")
    diagnosis_uncertainty: Probability = Field(0.0, description="probability that another server is sent to repair")
    retirement: Retirement = Field(Retirement(policy="never"), description="when servers are retired for good")

    # choosing servers
    host_selection: Literal["random", "fewest_failures", "highest_score", "most_reliable", "packed"] = Field(
        "random", description="which idle servers are taken; packed: as few racks as possible"
    )
    rack_size: SomeServers = Field(8, description="servers of a rack")
    enable_topology: bool = Field(
        False, description="the published program's switch for racks; they are always known here"
    )

    # beyond single servers
    rack_failure_rate: Rate = Field(0.0, description="failures of a rack per minute")
    rack_share: Probability = Field(1.0, description="share of its servers that a failure hits on average, at random")
    rack_repair_time: Minutes = Field(240.0, description="mean time until its servers are back")
    cluster_failure_rate: Rate = Field(0.0, description="failures of everything (power, file system) per minute")
    cluster_repair_time: Minutes = Field(240.0, description="mean time until they are over")
    corruption_rate: Rate = Field(0.0, description="silent data corruptions per minute of a running server")
    corruption_delay: Minutes = Field(DAY, description="mean time of running until one is found")

    # where the paper and its program differ
    return_borrowed: Literal["at_selection", "never", "at_once"] = Field(
        "at_selection", description="when servers of the spare pool that are not needed go back"
    )
    refill_standbys: Literal["own", "any"] = Field(
        "own", description="repaired servers that become standbys: the job's own, or any"
    )
    missed_diagnosis: Literal["stays", "swapped"] = Field(
        "stays", description="a failed server that is not diagnosed: stays in the job, or gives way to a standby"
    )
    stall_until: Literal["size", "standbys"] = Field(
        "size", description="servers for which a stalled job waits: its size, or its standbys too"
    )
    count_repairs: Literal["until_end", "all"] = Field(
        "until_end", description="repairs that are counted: until the job ends, or those in progress then too"
    )

    # the simulation
    seed: Annotated[int, Field(ge=0)] = Field(0, description="of everything that is drawn at random")
    num_replications: Some = Field(30, description="runs")
    adaptive_replications: bool = Field(False, description="run until the mean time is as precise as relative_accuracy")
    confidence_level: Annotated[float, Field(gt=0.0, lt=1.0)] = Field(0.95, description="level of the intervals")
    relative_accuracy: Annotated[float, Field(gt=0.0)] = Field(0.05, description="half of the interval over the mean")
    max_replications: Some = Field(1000, description="most runs")
    max_events: Some = Field(10_000_000, description="most events of a run, against jobs that never end")

    _calibrated: Parameters | None = PrivateAttr(None)
    _own: frozenset[str] = PrivateAttr(frozenset())

    @model_validator(mode="after")
    def _possible(self) -> Self:
        servers = self.working_pool_size + self.spare_pool_size
        for at, job in self._placed_jobs():
            if (job.minimum_size or job.job_size) > servers:
                what = f"the job needs {job.minimum_size or job.job_size} servers, both pools have {servers}"
                raise rejection(what, at=at, remedy="enlarge working_pool_size or spare_pool_size")
            if self.stall_until == "standbys" and job.job_size + job.warm_standbys > self.working_pool_size:
                what = (
                    f"{self.working_pool_size} is below job_size + warm_standbys ({job.job_size + job.warm_standbys})"
                )
                raise rejection(what, at="working_pool_size", remedy="enlarge it: the published program needs them all")
        if self.manual_hours[0] >= self.manual_hours[1] or not self.manual_days:
            what = "manual repairs would never go on"
            raise rejection(what, at="manual_hours", remedy="give from and to, as [8, 18]")
        for name in ("auto_repair", "manual_repair"):
            if getattr(self, name) is not None and getattr(self.repeated_repairs, f"{name}_time") is not None:
                what = f"{name} is a fitted family, which has no times by earlier repairs"
                raise rejection(what, at=f"repeated_repairs.{name}_time", remedy=f"leave out one of it and {name}")
        if self.max_replications < self.num_replications and self.adaptive_replications:
            raise rejection(f"{self.max_replications} is below num_replications", at="max_replications")
        if (self.rack_failure_rate > 0 or self.cluster_failure_rate > 0) and len(self.jobs) > 30:
            raise rejection(f"{len(self.jobs)} jobs are too many", at="jobs", remedy="give at most 30")
        return self

    def _placed_jobs(self) -> list[tuple[str, TrainingJob]]:
        if self.jobs:
            return [(f"jobs.{i}.job_size", job) for i, job in enumerate(self.jobs)]
        values = {name: getattr(self, name) for name in ("job_size", "job_length", "warm_standbys")}
        if self.minimum_size is not None and self.minimum_size > self.job_size:
            raise rejection(f"{self.minimum_size} is above job_size ({self.job_size})", at="minimum_size")
        return [("job_size", TrainingJob(minimum_size=self.minimum_size, **values))]

    @property
    def all_jobs(self) -> tuple[TrainingJob, ...]:
        """The jobs of `jobs`, in order of priority; without any, the one of `job_size` and the other keys."""
        return tuple(job for _, job in self._placed_jobs())

    @property
    def loses_servers(self) -> bool:
        """Whether servers can be beyond repair, or are replaced."""
        return max(self.beyond_repair_prob) > 0.0 or self.replacement_time is not None

    @property
    def calibrated_by(self) -> tuple[str, ...]:
        """Which calibrated parameters these are, and their failures of scopes that are not simulated."""
        if self._calibrated is None:
            return ()
        by = f"Where not set otherwise, by the {self._calibrated.title}." if self._calibrated.at else ""
        return by, FailuresByScope.of_parameters(self._calibrated).left_out(*SCOPES)

    def but(self, **changes: object) -> TrainingParameters:
        """The same parameters with other values, checked as by `training_parameters`.

        Examples
        --------
        >>> TrainingParameters(job_size=64).but(recovery_time="10min").recovery_time
        10.0
        """
        own = self.model_fields_set if self._calibrated is None else self._own
        values = {name: getattr(self, name) for name in own}
        return training_parameters({**values, **changes}, calibrated=self._calibrated)

    def as_program(self) -> TrainingParameters:
        """The same parameters with the published program's behaviour wherever it differs from its paper."""
        return self.but(
            return_borrowed="never",
            refill_standbys="any",
            missed_diagnosis="swapped",
            stall_until="standbys",
            count_repairs="all",
            renew_on_restart=True,
        )


def training_parameters(
    values: Mapping[str, object] | None = None, *, calibrated: Parameters | str | Path | None = None, **others: object
) -> TrainingParameters:
    """Checked parameters of a simulation, from a mapping, from calibrated parameters, or both.

    Parameters
    ----------
    values : mapping, optional
        Keys of `TrainingParameters`, and ``calibrated``.
    calibrated : Parameters, str or Path, optional
        As `relfit.calibrate` gives them, or their file: the rate and the distribution of times to failure, bad nodes,
        repairs, failures of racks and of the complete system, and the size of a rack. `values` and `others` take
        precedence: a mean rescales the calibrated distribution, another distribution replaces it.
    **others
        Further keys, which take precedence over `values`.

    Returns
    -------
    TrainingParameters

    Raises
    ------
    ArgumentError
        For a key that is unknown (with the nearest one), an invalid value, or a key that has no effect because of the
        calibrated parameters.

    Examples
    --------
    >>> params = training_parameters(calibrated=Parameters(mtbf="2400h", mttr="24h"), job_size=64)
    >>> round(1 / params.random_failure_rate / 60), params.auto_repair_time
    (2400, 1440.0)
    """
    if values is not None and not isinstance(values, Mapping):
        raise ArgumentError(
            f"parameters of a training cluster are a mapping, not a {type(values).__name__}",
            remedy="read a file with rf.training.read_training, or give keys with values",
        )
    own = {**dict(values or {}), **others}
    source: Any = own.pop("calibrated", calibrated)
    if source is None:
        return TrainingParameters(**own)
    known = source if isinstance(source, Parameters) else read_parameters(source)
    params = TrainingParameters(**{**calibrated_values(known, own), **own})
    params._calibrated, params._own = known, frozenset(own)
    return params


def read_training(path: str | Path, **others: object) -> TrainingParameters:
    """Read the parameters of a training cluster, TOML, YAML or JSON by the ending.

    A key ``calibrated`` names a parameter file that `relfit calibrate` wrote, relative to the folder of this file; keys
    of this file take precedence over it.

    Parameters
    ----------
    path : str or Path
    **others
        Keys that take precedence over those of the file.

    Returns
    -------
    TrainingParameters

    Raises
    ------
    ReadError
        When it cannot be read, or has an unknown key or an invalid value: one line with the key.
    """
    place = Path(path)
    kind = _KINDS.get(place.suffix.lower())
    if kind is None:
        raise ReadError(f"{place} does not end in {', '.join(_KINDS)}", remedy="the ending names the format")
    values = read_settings(place, kind, "settings of a training cluster", "write lines such as recovery_time = 20")
    if "calibrated" not in values and not {"mtbf", "mttr"}.isdisjoint(values) and is_parameter_file(place):
        remedy = f'write a file of the cluster and its job, with the line calibrated = "{place.name}"'
        raise ReadError("this is a file of calibrated parameters, not of a training cluster", path=place, remedy=remedy)
    calibrated = values.pop("calibrated", None)
    if calibrated is not None and not isinstance(calibrated, str):
        raise ReadError(f"{place}: calibrated is not text", remedy="name a parameter file, as 'params.toml'")
    params = None if calibrated is None else read_parameters(place.parent / calibrated)
    try:
        return training_parameters(values, calibrated=params, **others)
    except ArgumentError as error:
        raise ReadError(f"{place}: {error.what}", remedy=error.remedy) from None
