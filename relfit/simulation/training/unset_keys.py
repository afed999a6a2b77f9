"""`assumed`: the defaults of failures and repairs that a simulation took, in one line."""

from __future__ import annotations

from relfit.base.text import duration, number, percent
from relfit.simulation.training.parameters import TrainingParameters

__all__ = ["assumed"]


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
        "checkpoint_every": "no work is lost at a failure",
    }
    unset = ", ".join(f"{text} ({name})" for name, text in texts.items() if name not in chosen)
    return f"Not set, so as in AIReSim: {unset}." if unset else ""
