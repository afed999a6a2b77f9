"""Parameters for planners, each with its uncertainty, from a failure log or a specification.

`relfit.calibrate` estimates them, `Parameters` holds and checks them, `read_parameters` and `write_parameters` keep
them in files, and `draw_parameters` draws them for the intervals of plans.
"""

from __future__ import annotations

from relfit.base.lazy import front

__getattr__, __dir__, __all__ = front(
    __name__,
    {
        "_calibrate": "PARTS calibrate",
        "draws": "Draws draw_parameters",
        "exports": "scipy_distribution to_airesim to_batsim to_scipy",
        "failures_by_scope": "FailuresByScope ScopeFailures",
        "files": "parameters_of_text read_parameters text_of_parameters write_parameters",
        "fta_trace": "to_fta",
        "parameter_values": "Duration Quantity Ratio Share",
        "schema": "BadNodes Censoring Check FittedFamily Fleet Mtbf Mttr Parameters PeriodUsed Provenance",
        "validation_errors": "ParameterError",
    },
)
