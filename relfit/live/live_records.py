"""What goes from one part of a watch to the next: what a source gave, and an alarm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from relfit.log.failurelog import FailureLog

__all__ = ["Alarm", "Episode", "Fetched", "stamp"]


@dataclass(frozen=True)
class Fetched:
    """What a source gave in one round.

    Attributes
    ----------
    log : FailureLog or None
        Events, population and rejected rows, as the reader of that format makes them; None when there was nothing new.
    cursor : dict
        What the source is told in its next round (plain JSON values): where it got to, overlapping what it may correct.
    form : str
        A fingerprint of the form of what came (format and columns), to notice that it changed.
    notes : tuple of str
        What was left out or looked odd, in a sentence each.
    documents : tuple of (str, FailureLog)
        Instead of `log`: files that were read anew, each by its name and with all that it holds now. What a file no
        longer says of the time it covers was corrected, and is taken back.
    """

    log: FailureLog | None
    cursor: Mapping[str, object]
    form: str = ""
    notes: tuple[str, ...] = ()
    documents: tuple[tuple[str, FailureLog], ...] = ()


@dataclass(frozen=True)
class Alarm:
    """Something that changed, and what to do about it.

    Attributes
    ----------
    kind : str
        ``"rate"``, ``"node"``, ``"repeat"``, ``"repair time"``, ``"stock"``, ``"forecast"`` or ``"source"``.
    subject : str
        Of what: ``"system white"``, ``"rack r07"``, ``"cause memory"``, ``"node n012"``, ``"source events"``.
    since : pandas.Timestamp
        When it began, as estimated.
    raised : pandas.Timestamp
        When it was noticed: the end of the records of that round.
    text, advice : str
        A sentence each.
    evidence : dict of str to float
        The numbers it rests on.
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
        """Names the alarm from round to round while it lasts."""
        return f"{self.kind}: {self.subject}"


@dataclass(frozen=True)
class Episode:
    """An alarm of the past, and when it was over; None while it lasts."""

    alarm: Alarm
    ended: pd.Timestamp | None


def stamp(moment: int | pd.Timestamp) -> pd.Timestamp:
    """An instant (nanoseconds, or UTC without saying so) in UTC."""
    return pd.Timestamp(moment, tz="UTC").as_unit("ns")
