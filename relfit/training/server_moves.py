"""Servers on the move, compiled: between states, into and out of the servers that run a job, and between classes.

The active servers of a job stand in its roster. Where lives are drawn anew at every restart, bad servers stand first in
it and only the first failure of each class is drawn; where servers carry their ages, it is a heap by the job's clock at
which each will fail.
"""

from __future__ import annotations

import math

from relfit.training import address_streams as rs
from relfit.training import layout as at
from relfit.training.addresses import compiled
from relfit.training.layout import Memory, Reals

__all__ = ["change_class", "credit", "draw_life", "join", "leave", "log_changes", "next_failure", "set_state"]


@compiled
def wrapped(place: int, n: int) -> int:
    """A place, at most twice round, in a ring of n."""
    return place - n if place >= n else place


@compiled
def log(m: Memory, x: Reals, server: int, job: int, before: int, after: int) -> None:
    """Write a change into the trace."""
    row = m[at.TRACE] + m[at.N_TRACE] * at.TRACE_WIDTH
    x[row] = x[at.NOW]
    m[row + 1], m[row + 2], m[row + 3], m[row + 4] = server, job, before, after
    m[at.N_TRACE] += 1


@compiled
def set_state(m: Memory, x: Reals, s: int, new: int) -> None:
    """Move a server to another state."""
    m[at.HELD + m[s + at.STATE]] -= 1
    m[at.HELD + new] += 1
    m[s + at.STATE] = new
    if m[at.TRACING] != 0 and m[at.QUIET] == 0 and m[s + at.TRACED] != new:
        log(m, x, s, m[s + at.OF_JOB], m[s + at.TRACED], new)
        m[s + at.TRACED] = new


@compiled
def log_changes(m: Memory, x: Reals) -> None:
    """Write what changed while the trace was quiet, as servers that a selection released and took again did not."""
    m[at.QUIET] = 0
    if m[at.TRACING] != 0:
        for s in range(m[at.SERVERS], m[at.SERVERS_END], at.SERVER):
            if m[s + at.TRACED] != m[s + at.STATE]:
                log(m, x, s, m[s + at.OF_JOB], m[s + at.TRACED], m[s + at.STATE])
                m[s + at.TRACED] = m[s + at.STATE]


@compiled
def draw_life(m: Memory, x: Reals, bad: int) -> float:
    """Minutes of running until a new server fails."""
    hazard = rs.exponential(m, rs.LIFE)
    life = hazard / x[at.RATE] if m[at.LIVES] == at.EXPONENTIAL else rs.tabled_time(x, m[at.LIFE_TABLE], hazard)
    return life / x[at.BAD_FACTOR] if bad != 0 else life


# ---------------------------------------------------------------------- roster


@compiled
def _place(m: Memory, x: Reals, j: int, place: int, s: int) -> None:
    m[m[j + at.ROSTER] + place] = s
    m[s + at.SLOT] = place


@compiled
def _rise(m: Memory, x: Reals, j: int, place: int) -> None:
    s = m[m[j + at.ROSTER] + place]
    key = x[s + at.KEY]
    while place > 0:
        parent = (place - 1) >> 1
        above = m[m[j + at.ROSTER] + parent]
        if x[above + at.KEY] <= key:
            break
        _place(m, x, j, place, above)
        place = parent
    _place(m, x, j, place, s)


@compiled
def _sink(m: Memory, x: Reals, j: int, place: int) -> None:
    size = m[j + at.N_ACTIVE]
    s = m[m[j + at.ROSTER] + place]
    key = x[s + at.KEY]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        below = m[m[j + at.ROSTER] + child]
        if child + 1 < size and x[m[m[j + at.ROSTER] + child + 1] + at.KEY] < x[below + at.KEY]:
            child += 1
            below = m[m[j + at.ROSTER] + child]
        if x[below + at.KEY] >= key:
            break
        _place(m, x, j, place, below)
        place = child
    _place(m, x, j, place, s)


@compiled
def join(m: Memory, x: Reals, j: int, s: int) -> None:
    """Let a server run a job."""
    m[s + at.OF_JOB] = j
    set_state(m, x, s, at.ACTIVE)
    x[s + at.CREDITED] = x[j + at.CREDITS]
    x[s + at.JOINED] = x[j + at.CLOCK]
    place = m[j + at.N_ACTIVE]
    m[j + at.N_ACTIVE] = place + 1
    if m[at.RENEW] != 0:
        if m[s + at.BAD] != 0:
            first_good = m[j + at.N_BAD]
            if first_good < place:
                _place(m, x, j, place, m[m[j + at.ROSTER] + first_good])
            place = first_good
            m[j + at.N_BAD] += 1
        _place(m, x, j, place, s)
    else:
        if x[s + at.LIFE] < 0.0:
            x[s + at.LIFE] = draw_life(m, x, m[s + at.BAD])
        x[s + at.KEY] = x[j + at.CLOCK] + x[s + at.LIFE]
        _place(m, x, j, place, s)
        _rise(m, x, j, place)


@compiled
def leave(m: Memory, x: Reals, j: int, s: int) -> None:
    """Take an active server off its job; its state stays to be set."""
    credit(m, x, j, s)
    x[s + at.AGE] += x[j + at.CLOCK] - x[s + at.JOINED]
    x[s + at.JOINED] = x[j + at.CLOCK]
    place, last = m[s + at.SLOT], m[j + at.N_ACTIVE] - 1
    m[j + at.N_ACTIVE] = last
    if m[at.RENEW] != 0:
        if m[s + at.BAD] != 0:
            m[j + at.N_BAD] -= 1
            if place < m[j + at.N_BAD]:
                _place(m, x, j, place, m[m[j + at.ROSTER] + m[j + at.N_BAD]])
            place = m[j + at.N_BAD]
        if place < last:
            _place(m, x, j, place, m[m[j + at.ROSTER] + last])
    else:
        x[s + at.LIFE] = max(x[s + at.KEY] - x[j + at.CLOCK], 0.0)
        if place < last:
            moved = m[m[j + at.ROSTER] + last]
            _place(m, x, j, place, moved)
            _rise(m, x, j, place)
            _sink(m, x, j, m[moved + at.SLOT])


@compiled
def stand_by(m: Memory, x: Reals, j: int, s: int) -> None:
    """Make a server the last standby of a job."""
    m[s + at.OF_JOB] = j
    m[m[j + at.RESERVE] + wrapped(m[j + at.HEAD] + m[j + at.N_STANDBY], m[j + at.STANDBYS])] = s
    m[j + at.N_STANDBY] += 1
    set_state(m, x, s, at.STANDBY)


@compiled
def first_standby(m: Memory, j: int) -> int:
    """Take the first standby of a job; its state stays to be set."""
    s = m[m[j + at.RESERVE] + m[j + at.HEAD]]
    m[j + at.HEAD] = wrapped(m[j + at.HEAD] + 1, m[j + at.STANDBYS])
    m[j + at.N_STANDBY] -= 1
    return int(s)


@compiled
def credit(m: Memory, x: Reals, j: int, s: int) -> None:
    """Give an active server its score for the full periods that it ran."""
    x[s + at.SCORE] += (x[j + at.CREDITS] - x[s + at.CREDITED]) * x[at.INCREMENT]
    x[s + at.CREDITED] = x[j + at.CREDITS]


@compiled
def new_life(m: Memory, x: Reals, j: int, s: int) -> None:
    """Let an active server that failed and stays begin another life."""
    x[s + at.AGE], x[s + at.JOINED] = 0.0, x[j + at.CLOCK]
    if m[at.RENEW] == 0:
        x[s + at.KEY] = x[j + at.CLOCK] + draw_life(m, x, m[s + at.BAD])
        _sink(m, x, j, m[s + at.SLOT])


@compiled
def change_class(m: Memory, x: Reals, s: int, bad: int) -> None:
    """Make a server bad or good; what remains of its life shrinks or grows by the factor between the classes."""
    if m[s + at.BAD] == bad:
        return
    factor = 1.0 / x[at.BAD_FACTOR] if bad != 0 else x[at.BAD_FACTOR]
    if m[s + at.STATE] != at.ACTIVE:
        m[s + at.BAD] = bad
        if x[s + at.LIFE] > 0.0:
            x[s + at.LIFE] *= factor
        return
    j = m[s + at.OF_JOB]
    if m[at.RENEW] == 0:
        m[s + at.BAD] = bad
        x[s + at.KEY] = x[j + at.CLOCK] + (x[s + at.KEY] - x[j + at.CLOCK]) * factor
        _rise(m, x, j, m[s + at.SLOT])
        _sink(m, x, j, m[s + at.SLOT])
        return
    place = m[s + at.SLOT]
    edge = m[j + at.N_BAD] if bad != 0 else m[j + at.N_BAD] - 1
    m[j + at.N_BAD] += 1 if bad != 0 else -1
    m[s + at.BAD] = bad
    _place(m, x, j, place, m[m[j + at.ROSTER] + edge])
    _place(m, x, j, edge, s)


@compiled
def next_failure(m: Memory, x: Reals, j: int) -> float:
    """Minutes of running until a server of a job fails; `NEXT_FAILED` of the job is that server."""
    m[j + at.NEXT_FAILED] = -1
    if m[j + at.N_ACTIVE] == 0:
        return math.inf
    if m[at.RENEW] == 0:
        m[j + at.NEXT_FAILED] = m[m[j + at.ROSTER]]
        return max(float(x[m[j + at.NEXT_FAILED] + at.KEY] - x[j + at.CLOCK]), 0.0)
    good = m[j + at.N_ACTIVE] - m[j + at.N_BAD]
    if m[at.LIVES] == at.EXPONENTIAL:
        weight = good + m[j + at.N_BAD] * x[at.BAD_FACTOR]
        if x[at.RATE] <= 0.0:
            return math.inf
        life = rs.exponential(m, rs.LIFE) / (x[at.RATE] * weight)
        of_bad = rs.uniform(m, rs.PICK) * weight >= good and m[j + at.N_BAD] > 0
    else:
        # of n equal lives the first ends where n times their cumulative hazard reaches an exponential time
        first, second = rs.exponential(m, rs.LIFE), rs.exponential(m, rs.LIFE)
        life = rs.tabled_time(x, m[at.LIFE_TABLE], first / good) if good > 0 else math.inf
        of_bad = False
        if m[j + at.N_BAD] > 0:
            sooner = rs.tabled_time(x, m[at.LIFE_TABLE], second / m[j + at.N_BAD]) / x[at.BAD_FACTOR]
            of_bad = sooner < life
            life = min(life, sooner)
    if of_bad:
        m[j + at.NEXT_FAILED] = m[m[j + at.ROSTER] + rs.below(m, rs.PICK, m[j + at.N_BAD])]
    else:
        m[j + at.NEXT_FAILED] = m[m[j + at.ROSTER] + m[j + at.N_BAD] + rs.below(m, rs.PICK, max(good, 1))]
    return life
