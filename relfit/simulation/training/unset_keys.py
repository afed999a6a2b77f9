"""What a simulation took that was not asked for: defaults of failures and repairs, fewer standbys than were set."""

from __future__ import annotations

from relfit.base.text import duration, number, percent
from relfit.simulation.training.parameters import TrainingParameters


def assumed(params: TrainingParameters) -> str:
    """The values of the published simulator for keys that were not set and change the answer most; "" without any.

    Examples
    --------
    >>> assumed(TrainingParameters(prob_auto_to_manual=0, auto_repair_time=60, systematic_failure_fraction=0.1))
    'Not set, so as in AIReSim: a server fails 0.01 times per day (random_failure_rate), recovery takes 20 minutes \
(recovery_time), 40 % of automatic repairs leave a bad server bad \
(auto_repair_fail_prob), no work is lost at a failure (checkpoint_every).'
    """
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
    if params.checkpoint_every or params.checkpoint_save:
        chosen |= {"checkpoint_every"}
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
        "checkpoint_every": "no work is lost at a failure",
    }
    unset = ", ".join(f"{text} ({name})" for name, text in texts.items() if name not in chosen)
    return f"Not set, so as in AIReSim: {unset}." if unset else ""


def missing_standbys(params: TrainingParameters) -> str:
    """How many of the warm standbys there can be, where the pools are too small for all; "" where they are not.

    Examples
    --------
    >>> missing_standbys(TrainingParameters(job_size=128, working_pool_size=130, spare_pool_size=0, warm_standbys=5))
    'Of 5 warm standbys there can only be 2: the pools have 130 servers, of which the job needs 128.'
    """
    jobs, servers = params.all_jobs, params.working_pool_size + params.spare_pool_size
    needed, standbys = (sum(getattr(job, name) for job in jobs) for name in ("job_size", "warm_standbys"))
    free = max(servers - needed, 0)
    if standbys <= free:
        return ""
    who = "the job needs" if len(jobs) == 1 else "the jobs need"
    have = f"the pools have {servers:,} servers, of which {who} {needed:,}"
    return f"Of {standbys:,} warm standbys there can only be {free:,}: {have}."
