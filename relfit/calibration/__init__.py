"""From a failure log, or a spec sheet, to the parameters that planners need, each with its uncertainty."""

from __future__ import annotations

from relfit.calibration.quantities import Duration, Quantity, Ratio, Share
from relfit.calibration.schema import BadNodes, Check, FittedFamily, Fleet, Mtbf, Mttr, Parameters, Provenance

__all__ = [
    "BadNodes",
    "Check",
    "Duration",
    "FittedFamily",
    "Fleet",
    "Mtbf",
    "Mttr",
    "Parameters",
    "Provenance",
    "Quantity",
    "Ratio",
    "Share",
]
