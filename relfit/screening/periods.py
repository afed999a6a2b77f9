"""`Period` and `ChangePoints`: periods of constant failure rate, and which of them a fit should use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.screening.tallies import HOURS_PER_YEAR

__all__ = ["ChangePoints", "Period"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Period:
    """A period with a constant failure rate.

    Attributes
    ----------
    start, end : pandas.Timestamp
        UTC; ``log.between(period.start, period.end)`` is the log in that period.
    start_low, start_high : pandas.Timestamp
        Confidence limits of its beginning; the beginning itself where that is the log's.
    name : str
        ``"infancy"``, ``"steady"``, ``"wear-out"``, ``"earlier"`` or ``"later"``.
    failures : int
    exposure : float
        Hours under observation, summed over the nodes (hours of the log where it knows no nodes).
    rate, low, high : float
        Failures an hour of exposure, with limits.
    per : str
        ``"node-year"``, or ``"year"`` where the log knows no nodes: what the rate is said by in sentences.
    sentence : str
        What it means for a fit; empty but for the period that a fit should use.
    """

    start: pd.Timestamp
    end: pd.Timestamp
    start_low: pd.Timestamp
    start_high: pd.Timestamp
    name: str
    failures: int
    exposure: float
    rate: float
    low: float
    high: float
    sentence: str = ""
    per: str = "node-year"

    @property
    def hours(self) -> float:
        """Length in hours."""
        return float((self.end - self.start) / pd.Timedelta(hours=1))

    def rates(self, of: str = "failures") -> str:
        """The rate in words, with its limits."""
        rate, low, high = (HOURS_PER_YEAR * x for x in (self.rate, self.low, self.high))
        return f"{rate:.3g} {of} a {self.per}, {low:.3g} to {high:.3g}"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        stamps = {name: getattr(self, name).isoformat() for name in ("start", "end", "start_low", "start_high")}
        plain = ("name", "failures", "exposure", "rate", "low", "high", "per", "sentence")
        numbers = {name: getattr(self, name) for name in plain}
        return stamps | {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in numbers.items()}

    def to_frame(self) -> pd.DataFrame:
        """One row."""
        names = [name for name in self.__dataclass_fields__ if name != "sentence"]
        return pd.DataFrame([{name: getattr(self, name) for name in names}])

    def __repr__(self) -> str:
        return f"Period: {self.name}, {self.start:%Y-%m-%d} to {self.end:%Y-%m-%d}, {self.failures} failures, {self.rates()}"


@dataclass(frozen=True, eq=False)
class ChangePoints:
    """The periods of a log, in the order of time.

    Attributes
    ----------
    periods : tuple of Period
    stable : int
        Which of them a fit should use.
    of : str
        What was counted: ``"incidents"`` or ``"records"``.
    penalty : float
        What a change must add to the log-likelihood.
    dispersion : float
        Scatter relative to Poisson, of neighbouring bins or from month to month, at least 1; limits of rates are wider
        by its square root.
    p : float
        Probability that a log with a constant rate shows a change as clear as the clearest one here.
    level : float
    edges, counts, exposure : ndarray
        Bins: nanoseconds since 1970 (bins + 1), failures and node-hours in each.
    status : str
        ``"ok"``, or ``"too_few"``: fewer than ten failures, which are one period.
    least_change : float
        ChangePoints whose rates differ by a smaller factor were joined.
    """

    periods: tuple[Period, ...]
    stable: int
    of: str
    penalty: float
    dispersion: float
    p: float
    level: float
    edges: IntArray
    counts: IntArray
    exposure: FloatArray
    status: str = "ok"
    least_change: float = 1.0

    def __len__(self) -> int:
        return len(self.periods)

    @property
    def stable_period(self) -> Period:
        """The period that a fit should use."""
        return self.periods[self.stable]

    @property
    def sentence(self) -> str:
        """What it means for a fit."""
        return self.stable_period.sentence

    def plot(self, ax: Any = None) -> Any:
        """Draw the periods over the observed rate; see `relfit.plotting.periods`."""
        from relfit import plotting

        return plotting.change_points(self, ax)

    def to_frame(self) -> pd.DataFrame:
        """A row a period."""
        return pd.concat([period.to_frame() for period in self.periods], ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "of": self.of,
            "penalty": None if np.isnan(self.penalty) else self.penalty,
            "dispersion": self.dispersion,
            "p": None if np.isnan(self.p) else self.p,
            "least_change": self.least_change,
            "level": self.level,
            "status": self.status,
            "stable": self.stable,
            "sentence": self.sentence,
            "periods": [period.to_dict() for period in self.periods],
        }

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"ChangePoints: {len(self.periods)} of {self.of}",
                *(f"  {period!r}" for period in self.periods),
                self.sentence,
            ]
        )

    def _repr_html_(self) -> str:
        from html import escape

        table = self.to_frame().to_html(escape=True, index=False, float_format="{:.4g}".format)
        return f"<p>{escape(self.sentence)}</p>{table}"
