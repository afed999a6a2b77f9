"""The result of one part of a calibration: values, reasons for missing ones, and checks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relfit.fleet.calibration.schema import Check


@dataclass
class Estimated:
    """Values by field of `relfit.Parameters`, reasons for missing ones, and checks of assumptions."""

    fields: dict[str, Any] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
