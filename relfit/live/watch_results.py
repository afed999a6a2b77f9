"""What a round over a fleet found, and how a watch stands."""

from __future__ import annotations

from typing import Any, ClassVar

import pandas as pd

from relfit.base.results import Result
from relfit.base.text import count
from relfit.live.live_records import Alarm

__all__ = ["Round", "WatchStatus"]


class Round(Result):
    """What one round over a fleet found.

    Attributes
    ----------
    fleet : str
    made : pandas.Timestamp
        When it was.
    records, new, rejected : int
        In the store, of this round, and rows that no source's reader could use.
    sources : pandas.DataFrame
        One row per source: ``source``, ``new``, ``failure`` (empty where there was none), ``notes``.
    alarms : tuple of Alarm
        All that stand, the new ones too.
    raised, over : tuple of str
        Keys of those that came with this round, and of those that ended.
    forecasts : pandas.DataFrame
        What is expected, one row per system and horizon.
    written : tuple of str
        Files and places that were given something.
    problems : tuple of str
        What could not be done, in a sentence each.
    undone : tuple of str
        Those of them that the settings ask for: outputs, answers where records cannot be read as a log.
    """

    fleet: str
    made: pd.Timestamp
    records: int
    new: int
    rejected: int
    sources: pd.DataFrame
    alarms: tuple[Alarm, ...]
    raised: tuple[str, ...]
    over: tuple[str, ...]
    forecasts: pd.DataFrame
    written: tuple[str, ...]
    problems: tuple[str, ...]
    undone: tuple[str, ...]

    _frame: ClassVar[str] = "sources"

    @property
    def failed(self) -> tuple[str, ...]:
        """Sources that could not be fetched."""
        return tuple(self.sources.loc[self.sources["failure"] != "", "source"])

    @property
    def headline(self) -> str:
        """How many records there are, how many are new, how many alarms."""
        of = f"{self.fleet}: " if self.fleet else ""
        alarms = count(len(self.alarms), "alarm") if self.alarms else "no alarm"
        new = f", {len(self.raised):,} of them new" if self.raised else ""
        failed = f"; {count(len(self.failed), 'source')} failed" if self.failed else ""
        return f"{of}{count(self.records, 'record')}, {self.new:,} new; {alarms}{new}{failed}"

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, alarms with their advice, sources that failed."""
        alarms = [f"{'NEW ' * (a.key in self.raised)}{a.subject}: {a.text} {a.advice}".strip() for a in self.alarms]
        rows = self.sources[self.sources["failure"] != ""]
        failed = [f"source {row.source} failed: {row.failure}" for row in rows.itertuples()]
        return (self.headline, *alarms, *failed, *self.problems)


class WatchStatus(Result):
    """How a watch stands.

    Attributes
    ----------
    fleet : str
    records, rejected : int
    sources : pandas.DataFrame
        One row per source: ``source``, ``last_asked``, ``last_new`` (when it last gave a new record), ``failure``.
    alarms : tuple of Alarm
    last_round : dict or None
        What the last round said.
    """

    fleet: str
    records: int
    rejected: int
    sources: pd.DataFrame
    alarms: tuple[Alarm, ...]
    last_round: dict[str, Any] | None

    _frame: ClassVar[str] = "sources"

    @property
    def headline(self) -> str:
        """What the store holds, and when the last round was."""
        made = None if self.last_round is None else self.last_round["made"][:16].replace("T", " ")
        when = "no round yet" if made is None else f"last round at {made} UTC"
        of = f"{self.fleet}: " if self.fleet else ""
        return f"{of}{count(self.records, 'record')}, {count(self.rejected, 'row')} rejected; {when}"

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, and the alarms that stand."""
        return (self.headline, *(f"{a.subject}, since {a.since:%Y-%m-%d}: {a.text} {a.advice}" for a in self.alarms))
