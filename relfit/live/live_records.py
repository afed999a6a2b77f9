"""Records that the parts of a watch exchange: `Fetched` of a source, and `Alarm`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from relfit.log.failurelog import FailureLog

Gone = tuple[str, bool, int]
"""What a source no longer has, in a sentence, whether it stays stored all the same, and how many records left."""


@dataclass(frozen=True)
class Fetched:
    """The records that a source gave in one round."""

    log: FailureLog | None  # as the reader of that format makes it; None when there was nothing new
    cursor: Mapping[str, object]  # JSON values: where the next round continues, with an overlap for late corrections
    form: str = ""  # the format and columns of the records, to notice that they change
    notes: tuple[str, ...] = ()  # what was left out or looked odd, in a sentence each
    documents: tuple[tuple[str, FailureLog], ...] = ()
    """Instead of `log`: files that were read again, each by its name and with its present content. A record that a file
    no longer has within the time that it covers was corrected, and is removed."""
    listed: bool = False  # whether the documents name every node that there is now


@dataclass(frozen=True)
class Alarm:
    """A change in the fleet, and what to do about it.

    Attributes
    ----------
    kind : str
        ``"rate"``, ``"node"``, ``"repeat"``, ``"repair time"``, ``"burst"``, ``"stock"``, ``"forecast"``, ``"source"``.
    subject : str
        What changed: ``"system white"``, ``"rack r07"``, ``"cause memory"``, ``"node n012"``, ``"source events"``.
    since : pandas.Timestamp
        Estimated time of the change.
    raised : pandas.Timestamp
        When the records first showed it; for ``"stock"`` their end, for ``"source"`` the time of the round.
    text, advice : str
        The change and what to do about it, in a sentence each.
    evidence : dict of str to float
        The numbers behind it, such as counts, expectation and p-value.
    """

    kind: str
    subject: str
    since: pd.Timestamp
    raised: pd.Timestamp
    text: str
    advice: str
    evidence: Mapping[str, float] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Identifies the alarm from round to round while it lasts."""
        return f"{self.kind}: {self.subject}"

    def follows(self, before: Alarm) -> bool:
        """Whether the change began after an alarm of the same key was raised: then it is another one."""
        return before.raised <= self.since < self.raised


@dataclass(frozen=True)
class Episode:
    """An alarm of the past, and when it was over; None while it lasts."""

    alarm: Alarm
    ended: pd.Timestamp | None


def in_zone(alarms: Iterable[Alarm], zone: str) -> tuple[Alarm, ...]:
    """The same alarms with their dates in a time zone."""
    return tuple(
        replace(alarm, since=alarm.since.tz_convert(zone), raised=alarm.raised.tz_convert(zone)) for alarm in alarms
    )


def stamp(moment: int | pd.Timestamp) -> pd.Timestamp:
    """An instant (nanoseconds since 1970, or UTC without a zone) as UTC."""
    return pd.Timestamp(moment, tz="UTC").as_unit("ns")
