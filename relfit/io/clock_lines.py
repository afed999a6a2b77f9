"""Clocks of syslog lines: time stamps without a year or a zone, read in the order of the lines.

The order supplies what a stamp leaves out: from December to January a year has passed, and in the night when clocks go
back an hour that seems to begin again is the second one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import BoolArray, IntArray
from relfit.io.parsing.stamps import Stamps
from relfit.io.parsing.times import localised, since_1970

_MONTHS = np.frombuffer(b"JanFebMarAprMayJunJulAugSepOctNovDec", np.uint8).reshape(12, 3).astype(np.int64)
_CODES = (_MONTHS * np.array([65536, 256, 1])).sum(axis=1)
_SORTED, _BY_CODE = np.sort(_CODES).astype(np.int32), np.argsort(_CODES) + 1
_MOST_TURNS = 10_000  # per block
_WIDTH = 15
_DAY = 86_400
_NANOSECONDS = 1_000_000_000
_HALF_YEAR = 182
_BACK = 300  # seconds; a clock that was set back goes back by more, lines out of order by less
_LENGTH = np.array([31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def stamps_without_year(
    octets: npt.NDArray[np.uint8], begins: IntArray
) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
    """Month, day and second of the day of stamps such as ``<4>Jan  5 10:00:00``, and which lines have one."""
    at = begins + _priority(octets, begins)
    fits = at + _WIDTH <= octets.size
    at = np.where(fits, at, 0)
    if octets.size < _WIDTH:
        nothing = np.zeros(at.size, dtype=np.int64)
        return nothing, nothing, nothing, np.zeros(at.size, dtype=bool)
    letter = [octets[at + place] for place in range(_WIDTH)]
    code = (letter[0].astype(np.int32) << 16) | (letter[1].astype(np.int32) << 8) | letter[2]
    place = np.minimum(np.searchsorted(_SORTED, code), 11)
    month = _BY_CODE[place]
    good = fits & (_SORTED[place] == code)
    tens_of_day = np.where(letter[4] == 32, 48, letter[4])
    digits = [each - np.uint8(48) for each in (tens_of_day, *(letter[place] for place in (5, 7, 8, 10, 11, 13, 14)))]
    for digit in digits:  # unsigned: below 0 wraps to a large value
        good &= digit <= 9
    for blank, sign in ((3, 32), (6, 32), (9, 58), (12, 58)):
        good &= letter[blank] == sign
    day, hour, minute, second = (digits[2 * i].astype(np.int64) * 10 + digits[2 * i + 1] for i in range(4))
    good &= (day >= 1) & (day <= _LENGTH[month - 1]) & (hour <= 23) & (minute <= 59) & (second <= 60)
    return month, day, 3600 * hour + 60 * minute + second, good


def _priority(octets: npt.NDArray[np.uint8], begins: IntArray) -> IntArray:
    """Length of a priority such as ``<4>`` or ``<134>`` in front of each line; 0 for none."""
    length = np.zeros(begins.size, dtype=np.int64)
    rows = np.flatnonzero(octets[begins] == 60) if octets.size else np.empty(0, dtype=np.int64)
    for width in (5, 4, 3):
        last = np.minimum(begins[rows] + width - 1, octets.size - 1)
        length[rows[octets[last] == 62]] = width
    return length


def turns(month: IntArray, day: IntArray, second: IntArray, good: BoolArray) -> IntArray:
    """Lines at which clocks go back by more than lines can be out of order, and the lines before them."""
    rows = np.flatnonzero(good)
    passed = (31 * (month[rows] - 1) + day[rows]) * _DAY + second[rows]
    back = np.flatnonzero(np.diff(passed) < -_BACK)[:_MOST_TURNS]
    return rows[np.unique(np.concatenate([back, back + 1]))]


@dataclass
class Clock:
    """Stamps without a year or a zone, in the order of their lines, as instants."""

    zone: str
    year: int = 1970
    rollovers: int = 0
    _last: int = -1
    _clock: list[IntArray] = field(default_factory=list)

    def add(self, month: IntArray, day: IntArray, second: IntArray) -> None:
        """Add stamps; years are counted from that of the first, as 0."""
        days = 31 * (month - 1) + day  # need only grow through a year
        before = np.concatenate([[self._last if self._last >= 0 else days[:1].sum()], days[:-1]])
        # late in the year after early in the year: a line of the previous year, out of order
        steps = np.where(days - before < -_HALF_YEAR, 1, np.where(days - before > _HALF_YEAR, -1, 0))
        if self._last < 0 and steps.size:
            steps[0] = 0
        years = self.rollovers + np.cumsum(steps)
        if years.size:
            self.rollovers, self._last = int(years[-1]), int(days[-1])
        self._clock.append(np.stack([years, month, day, second]))

    def instants(self, first_year: int) -> tuple[IntArray, int]:
        """Nanoseconds since 1970 of all stamps, how many are in an hour that occurs twice; 29 Feb may be 1 March."""
        if not self._clock:
            return np.empty(0, dtype=np.int64), 0
        years, month, day, second = np.concatenate(self._clock, axis=1)
        months = ((first_year + years - 1970) * 12 + month - 1).astype("datetime64[M]").astype("datetime64[D]")
        clock: IntArray = np.asarray((months.astype(np.int64) + day - 1) * _DAY + second, dtype=np.int64)
        clock *= _NANOSECONDS
        first, second = (clock, clock) if self.zone == "UTC" else _readings(clock, self.zone)
        return in_order(clock, self.zone), int((first != second).sum())


def in_order(clock: IntArray, zone: str) -> IntArray:
    """Clock times of a zone in nanoseconds, in the order of their lines, as nanoseconds since 1970.

    In the hour that occurs twice a clock that goes back shows its second half; where none does, the first is meant.
    """
    if zone == "UTC" or not clock.size:
        return clock
    first, second = _readings(clock, zone)
    chosen: IntArray = np.array(first, dtype=np.int64)
    rows = np.flatnonzero(first != second)
    of_night = clock[rows] // (_DAY * _NANOSECONDS)
    for night in np.unique(of_night):
        these = rows[of_night == night]
        back = np.flatnonzero(np.maximum.accumulate(clock[these]) - clock[these] > _BACK * _NANOSECONDS)
        if back.size:
            again = these[back[0] :]
            chosen[again] = second[again]
    return chosen


def in_order_of_units(times: pd.Series, unit: IntArray, zone: str) -> pd.Series:
    """Instants, with the first reading of an hour that occurs twice, in the order of the lines of each unit.

    That order decides where it is that of time, which the unit's times outside of that hour say.
    """
    order = np.argsort(unit, kind="stable")
    order = order[times.notna().to_numpy()[order]]
    local = times.iloc[order].dt.tz_convert(zone).dt.tz_localize(None)
    clock, hour = (each.astype("int64").to_numpy() for each in (local, local.dt.floor("h")))
    first, second = _readings(clock, zone)
    coarse = np.where(first != second, hour, clock)
    chosen = np.array(first, dtype=np.int64)
    for rows in np.split(np.arange(order.size), np.flatnonzero(np.diff(unit[order])) + 1):
        steps = np.diff(coarse[rows])
        if (first[rows] != second[rows]).any() and steps.any() and (steps >= 0).all():
            chosen[rows] = in_order(clock[rows], zone)
    read = times.copy()
    read.iloc[order] = since_1970(chosen)
    return read


def instants_of(stamps: Stamps, zone: str) -> IntArray:
    """Nanoseconds since 1970 of stamps; those without a zone are in `zone`."""
    clock, local = stamps.clock.copy(), stamps.good & ~stamps.absolute
    clock[local] = in_order(clock[local], zone)
    return clock


def _readings(clock: IntArray, zone: str) -> tuple[IntArray, IntArray]:
    """The first and the second instant that clock times of a zone can mean, in nanoseconds."""
    naive = pd.Series(clock.view("datetime64[ns]"))
    first, second = (localised(naive, zone, summer).astype("int64").to_numpy() for summer in (True, False))
    return np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
