"""Results of a round over a fleet, and the status of a watch."""

from __future__ import annotations

from typing import Any, ClassVar

import pandas as pd

from relfit.base.results import Result
from relfit.base.text import count, first_names
from relfit.live.live_records import Alarm

_WEEK = pd.Timedelta("7d")
_NAMED = 10  # alarms that are over


class Round(Result):
    """The results of one round over a fleet."""

    fleet: str
    made: pd.Timestamp
    records: int  # in the store
    new: int
    rejected: int  # rows of all sources
    sources: pd.DataFrame  # ``source``, ``new``, ``failure`` (empty without one), ``notes``
    looked: bool  # whether changes could be looked for; if not, the alarms that stood still stand
    alarms: tuple[Alarm, ...]  # all that stand, including the new ones
    raised: tuple[str, ...]  # keys of the alarms that this round raised
    over: tuple[str, ...]  # and of those that ended
    forecasts: pd.DataFrame  # of this round, one row per system and horizon
    written: tuple[str, ...]  # files and addresses of outputs
    gone: tuple[str, ...]  # what sources no longer have, or have changed, in a sentence each
    problems: tuple[str, ...]  # these, and what could not be done, in a sentence each
    undone: tuple[str, ...]  # those for which the command fails: unwritten outputs, records that are no log

    _frame: ClassVar[str] = "sources"

    @property
    def failed(self) -> tuple[str, ...]:
        """Sources that could not be fetched."""
        return tuple(self.sources.loc[self.sources["failure"] != "", "source"])

    @property
    def headline(self) -> str:
        """Numbers of records, new records and alarms, and of those that are over."""
        of = f"{self.fleet}: " if self.fleet else ""
        alarms = count(len(self.alarms), "alarm") if self.alarms or not self.looked else "no alarm"
        alarms = alarms if self.looked else f"changes were not looked for; {alarms}"
        new = f", {len(self.raised):,} of them new" if self.raised else ""
        failed = f"; {count(len(self.failed), 'source')} failed" if self.failed else ""
        over = f", {len(self.over):,} over" if self.over else ""
        return f"{of}{count(self.records, 'record')}, {self.new:,} new; {alarms}{new}{over}{failed}"

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, alarms with their advice, the new ones first, those that are over, failed sources, problems."""
        in_order = sorted(self.alarms, key=lambda alarm: alarm.key not in self.raised)
        alarms = [f"{self._mark(alarm)}: {alarm.text} {alarm.advice}".strip() for alarm in in_order]
        rows = self.sources[self.sources["failure"] != ""]
        failed = [f"source {row.source} failed: {row.failure}" for row in rows.itertuples()]
        over = [f"over: {first_names(self.over, _NAMED)}"] if self.over else []
        return (self.headline, *alarms, *over, *failed, *self.problems)

    def _mark(self, alarm: Alarm) -> str:
        """The kind of an alarm, and whether it is new; in a first round, since when it stands."""
        long = self.new == self.records and self.made - alarm.raised > _WEEK
        since = f", since {alarm.since:%Y-%m-%d}" if long else ""
        return f"{'NEW ' * (alarm.key in self.raised)}{alarm.kind}{since}"


class WatchStatus(Result):
    """The status of a watch."""

    fleet: str
    records: int
    rejected: int
    sources: pd.DataFrame  # ``source``, ``last_asked``, ``last_new`` (when it last gave a new record), ``failure``
    alarms: tuple[Alarm, ...]
    last_round: dict[str, Any] | None

    _frame: ClassVar[str] = "sources"

    @property
    def headline(self) -> str:
        """Numbers of records and rejected rows, and the time of the last round."""
        made = None if self.last_round is None else pd.Timestamp(self.last_round["made"])
        when = "no round yet" if made is None else f"last round at {made:%Y-%m-%d %H:%M %Z}"
        of = f"{self.fleet}: " if self.fleet else ""
        return f"{of}{count(self.records, 'record')}, {count(self.rejected, 'row')} rejected; {when}"

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, and the alarms that stand."""
        return (self.headline, *(f"{a.kind}, since {a.since:%Y-%m-%d}: {a.text} {a.advice}" for a in self.alarms))
