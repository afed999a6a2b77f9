"""What a part of a calibration gives: values by their field, why others are absent, and what is to be known of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from relfit.fleet.calibration.schema import Check

__all__ = ["Estimated"]


@dataclass
class Estimated:
    """Values of `relfit.Parameters` by the field that takes them, reasons for those that are not there, and checks."""

    fields: dict[str, Any] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)
