"""The Kaplan-Meier estimate under its name in this room; `relfit.nonparametric` has it, and more."""

from __future__ import annotations

from relfit.nonparametric.kaplan_meier import StepFunctions, kaplan_meier

__all__ = ["StepFunctions", "kaplan_meier"]
