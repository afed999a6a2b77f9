"""Repairs, compiled: automatic, then perhaps manual, crews and shifts, what a repair mends, retirement and return."""

from __future__ import annotations

import math

from relfit.training import address_heap as eh
from relfit.training import address_streams as rs
from relfit.training import layout as at
from relfit.training import server_moves as moves
from relfit.training.addresses import compiled
from relfit.training.layout import Memory, Reals

__all__ = ["auto_ends", "finish_repair", "give_back", "manual_ends", "shift_end", "submit", "to_spares", "wake"]

_DAY = 1440.0


@compiled
def submit(m: Memory, x: Reals, j: int, s: int) -> None:
    """Send a server that left a job to repair."""
    m[s + at.HOME] = j
    m[j + at.NONFAULTY] += 1 - m[s + at.BAD]
    x[s + at.SCORE] -= x[at.PENALTY]
    if m[at.AUTO_CREWS] > 0 and m[at.AUTO_BUSY] >= m[at.AUTO_CREWS]:
        _queue(m, x, s, at.AUTO_QUEUE)
    else:
        _begin_auto(m, x, s)


@compiled
def _queue(m: Memory, x: Reals, s: int, state: int) -> None:
    """Let a server wait for a crew."""
    head = m[at.AUTO_HEAD] if state == at.AUTO_QUEUE else m[at.MANUAL_HEAD]
    waiting = m[at.AUTO_WAITING] if state == at.AUTO_QUEUE else m[at.MANUAL_WAITING]
    m[waiting + moves.wrapped(head + m[at.HELD + state], m[at.N_SERVERS])] = s
    moves.set_state(m, x, s, state)


@compiled
def _next_waiting(m: Memory, state: int, waiting: int, head: int) -> int:
    """Take the server out that waits for a crew the longest; -1 for none."""
    if m[at.HELD + state] == 0:
        return -1
    s = m[m[waiting] + m[head]]
    m[head] = moves.wrapped(m[head] + 1, m[at.N_SERVERS])
    return s


@compiled
def _begin_auto(m: Memory, x: Reals, s: int) -> None:
    m[at.AUTO_BUSY] += 1
    hazard = rs.exponential(m, rs.AUTO_TIME)
    time = rs.tabled_time(x, m[at.AUTO_TABLE], hazard) if m[at.AUTO_TABLED] != 0 else hazard * x[at.AUTO_TIME]
    moves.set_state(m, x, s, at.AUTO)
    eh.push_event(m, x, x[at.NOW] + time, eh.AUTO_END, s)


@compiled
def _begin_manual(m: Memory, x: Reals, s: int) -> None:
    m[at.MANUAL_BUSY] += 1
    hazard = rs.exponential(m, rs.MANUAL_TIME)
    time = rs.tabled_time(x, m[at.MANUAL_TABLE], hazard) if m[at.MANUAL_TABLED] != 0 else hazard * x[at.MANUAL_TIME]
    moves.set_state(m, x, s, at.MANUAL)
    eh.push_event(m, x, shift_end(x[at.NOW], time, x[at.SHIFT_FROM], x[at.SHIFT_TO], m[at.DAYS]), eh.MANUAL_END, s)


@compiled
def shift_end(now: float, work: float, shift_from: float, shift_to: float, days: int) -> float:
    """When minutes of work end that is done in shifts only: from one minute of the day to another, on the days.

    `days` has a bit per day of a week that begins at time zero.
    """
    if days == 127 and shift_from <= 0.0 and shift_to >= _DAY:
        return now + work
    day = math.floor(now / _DAY)
    while True:
        if (days >> int(day % 7)) & 1:
            begin = max(day * _DAY + shift_from, now)
            room = day * _DAY + shift_to - begin
            if room > 0.0:
                if work <= room:
                    return begin + work
                work -= room
        day += 1


@compiled
def auto_ends(m: Memory, x: Reals, s: int) -> None:
    """The automatic repair of a server is over."""
    j = m[s + at.HOME]
    m[j + at.AUTO_REPAIRS] += 1
    m[at.AUTO_BUSY] -= 1
    following = _next_waiting(m, at.AUTO_QUEUE, at.AUTO_WAITING, at.AUTO_HEAD)
    if following >= 0:
        _begin_auto(m, x, following)
    if rs.uniform(m, rs.ESCALATION) < x[at.TO_MANUAL]:
        if m[at.MANUAL_CREWS] > 0 and m[at.MANUAL_BUSY] >= m[at.MANUAL_CREWS]:
            _queue(m, x, s, at.MANUAL_QUEUE)
        else:
            _begin_manual(m, x, s)
    else:
        _repaired(m, x, s, rs.uniform(m, rs.OUTCOME) >= x[at.AUTO_FAILS])


@compiled
def manual_ends(m: Memory, x: Reals, s: int) -> None:
    """The manual repair of a server is over."""
    j = m[s + at.HOME]
    m[j + at.MANUAL_REPAIRS] += 1
    m[at.MANUAL_BUSY] -= 1
    following = _next_waiting(m, at.MANUAL_QUEUE, at.MANUAL_WAITING, at.MANUAL_HEAD)
    if following >= 0:
        _begin_manual(m, x, following)
    _repaired(m, x, s, rs.uniform(m, rs.OUTCOME) >= x[at.MANUAL_FAILS])


@compiled
def _repaired(m: Memory, x: Reals, s: int, success: bool) -> None:
    """What a repair mends, and whether the server is retired after it."""
    j = m[s + at.HOME]
    m[j + (at.REPAIRED if success else at.NOT_REPAIRED)] += 1
    if m[s + at.BAD] != 0:
        m[j + (at.CURED if success else at.NOT_CURED)] += 1
        if success:
            moves.change_class(m, x, s, at.GOOD)
    retire = False
    if m[at.RETIREMENT] == at.THRESHOLD:
        latest = m[s + at.FAILURES] % m[at.MAX_FAILURES]  # the oldest of those kept
        enough = m[s + at.FAILURES] >= m[at.MAX_FAILURES]
        retire = enough and x[m[s + at.LATEST] + latest] >= x[at.NOW] - x[at.WINDOW]
    elif m[at.RETIREMENT] == at.SCORES:
        retire = x[s + at.SCORE] <= x[at.LEAST_SCORE]
    elif m[at.RETIREMENT] == at.OWN_RETIREMENT:
        m[at.ASKED], m[at.ASKED_SERVER] = at.RETIREMENT_RULE, s
        return
    finish_repair(m, x, s, retire)


@compiled
def finish_repair(m: Memory, x: Reals, s: int, retire: bool) -> None:
    """Retire a repaired server, or give it back."""
    if retire:
        m[m[s + at.HOME] + at.RETIREMENTS] += 1
        m[m[s + at.HOME] + at.GOOD_RETIRED] += 1 - m[s + at.BAD]
        moves.set_state(m, x, s, at.RETIRED)
        wake(m, x)
    else:
        give_back(m, x, s)


@compiled
def give_back(m: Memory, x: Reals, s: int) -> None:
    """A server is available: as a standby where one is missing, else idle in the working pool or back with the spares.

    Jobs are served in their order; none after one that is stalled.
    """
    if m[m[at.RACKS] + m[s + at.RACK]] != 0:
        moves.set_state(m, x, s, at.RACK_DOWN)
        return
    if m[s + at.LENT] == at.OF_SPARES:
        to_spares(m, x, s)
        wake(m, x)
        return
    for j in range(at.JOBS, m[at.JOBS_END], at.JOB):
        if m[j + at.PHASE] == at.STALLED:
            break
        takes = m[j + at.PHASE] <= at.SELECTING or m[j + at.PHASE] == at.DOWN
        if takes and m[j + at.N_STANDBY] < m[j + at.STANDBYS] and (m[at.REFILL_ANY] != 0 or m[s + at.HOME] == j):
            moves.stand_by(m, x, j, s)
            wake(m, x)
            return
    if m[at.RETURNS] == at.AT_ONCE and m[s + at.LENT] == at.BORROWED:
        to_spares(m, x, s)
    else:
        moves.set_state(m, x, s, at.IDLE)
    wake(m, x)


@compiled
def to_spares(m: Memory, x: Reals, s: int) -> None:
    """Put a server into the spare pool."""
    if m[s + at.LENT] == at.BORROWED:
        m[m[s + at.HOME] + at.RETURNED] += 1
    m[s + at.LENT] = at.OWN
    m[m[at.SPARES] + moves.wrapped(m[at.SPARE_HEAD] + m[at.HELD + at.SPARE], m[at.N_SERVERS])] = s
    moves.set_state(m, x, s, at.SPARE)


@compiled
def wake(m: Memory, x: Reals) -> None:
    """Let stalled jobs look again."""
    m[at.SIGNAL] = 1
    for j in range(at.JOBS, m[at.JOBS_END], at.JOB):
        if m[j + at.PHASE] == at.STALLED:
            x[j + at.UNTIL] = x[at.NOW]
