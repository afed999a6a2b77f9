"""The event loop of the training-cluster simulator, compiled: what happens next, and what it means for the jobs.

`advance` returns where Python is needed: a policy of the user's own, a full trace, the end. Called again, it goes on.
"""

from __future__ import annotations

import math

from relfit.training import address_heap as eh
from relfit.training import address_streams as rs
from relfit.training import host_events as hosts
from relfit.training import layout as at
from relfit.training import repair_events as repairs
from relfit.training import server_moves as moves
from relfit.training.addresses import address, compiled
from relfit.training.layout import Memory, Reals

__all__ = ["advance", "plan_end", "start"]

ASKS_HOSTS, ASKS_RETIREMENT, ASKS_RARE = at.HOSTS, at.RETIREMENT_RULE, at.RARE
OVER, TRACE_FULL, TOO_MANY_EVENTS, STUCK, TO_CHECK = range(4, 9)


@compiled
def start(memory: Memory, reals: Reals) -> None:
    """Turn servers bad at random, and give those that have long been running their ages."""
    m, x, n = address(memory), address(reals), memory[at.N_SERVERS]
    order = m[at.CHOICE]
    for i in range(n):
        m[order + i] = m[at.SERVERS] + i * at.SERVER
    for i in range(int(n * reals[at.FRACTION])):
        place = i + rs.below(m, rs.SETUP, n - i)
        m[order + i], m[order + place] = m[order + place], m[order + i]
        m[m[order + i] + at.BAD] = 1
    if m[at.AGE_TABLE] != 0:
        for s in range(m[at.SERVERS], m[at.SERVERS_END], at.SERVER):
            age = rs.tabled_time(x, m[at.AGE_TABLE], rs.exponential(m, rs.SETUP))
            hazard = rs.tabled_hazard(x, m[at.LIFE_TABLE], age) + rs.exponential(m, rs.SETUP)
            slower = 1.0 if m[s + at.BAD] == 0 else x[at.BAD_FACTOR]
            x[s + at.AGE] = age / slower
            x[s + at.LIFE] = max(rs.tabled_time(x, m[at.LIFE_TABLE], hazard) - age, 0.0) / slower


@compiled
def advance(memory: Memory, reals: Reals) -> int:
    """Go on until Python is needed."""
    m, x = address(memory), address(reals)
    answered, m[at.ASKED] = m[at.ASKED], at.NOTHING
    if answered == at.RETIREMENT_RULE:
        repairs.finish_repair(m, x, m[at.ASKED_SERVER], m[at.ANSWER] != 0)
    while True:
        if m[at.ASKED] != at.NOTHING:
            return int(m[at.ASKED])
        if m[at.TO_START] < m[at.JOBS_END]:
            j = m[at.TO_START]
            m[at.TO_START] += at.JOB
            hosts.look_for_hosts(m, x, j)
            continue
        # the program lets repairs under way end, and counts them
        if m[at.N_JOBS_OVER] == m[at.N_JOBS] and (m[at.DRAIN] == 0 or _in_repair(m) == 0):
            return OVER
        if m[at.TRACING] != 0 and m[at.N_TRACE] > m[at.TRACE_ROOM]:
            return TRACE_FULL
        m[at.EVENTS] += 1
        if m[at.EVENTS] > m[at.MAX_EVENTS]:
            return TOO_MANY_EVENTS
        j = _next_job(m, x)
        time = x[m[at.HEAP_TIME]] if m[at.N_HEAP] > 0 else math.inf
        if x[j + at.UNTIL] < time:
            x[at.NOW] = x[j + at.UNTIL]
            _job_event(m, x, j)
        elif time < math.inf:
            x[at.NOW] = time
            _cluster_event(m, x)
        else:
            return STUCK
        if m[at.CHECKING] != 0 and m[at.ASKED] == at.NOTHING:
            return TO_CHECK


@compiled
def _next_job(m: Memory, x: Reals) -> int:
    """The job whose phase ends first; the first of them in a tie."""
    first = m[at.JOBS_END] - at.JOB
    for j in range(first - at.JOB, at.JOBS - 1, -at.JOB):
        if x[j + at.UNTIL] <= x[first + at.UNTIL]:
            first = j
    return int(first)


@compiled
def _in_repair(m: Memory) -> int:
    held = at.HELD
    return int(m[held + at.AUTO] + m[held + at.MANUAL] + m[held + at.AUTO_QUEUE] + m[held + at.MANUAL_QUEUE])


@compiled
def _cluster_event(m: Memory, x: Reals) -> None:
    """What comes first in the heap."""
    what = eh.pop_event(m, x)
    kind, subject = what // eh.SUBJECTS, what % eh.SUBJECTS
    if kind == eh.AUTO_END:
        repairs.auto_ends(m, x, subject)
    elif kind == eh.MANUAL_END:
        repairs.manual_ends(m, x, subject)
    else:
        m[at.ASKED], m[at.ASKED_EVENT] = at.RARE, what


# ------------------------------------------------------------------------- jobs


@compiled
def _job_event(m: Memory, x: Reals, j: int) -> None:
    """The phase of a job is over."""
    phase = m[j + at.PHASE]
    if phase == at.RUNNING:
        if m[j + at.ENDS_BY] == at.END_OF_WORK:
            hosts.stop_run(m, x, j)
            _finish(m, x, j)
        elif m[j + at.ENDS_BY] == at.FAILURE:
            _server_fails(m, x, j, m[j + at.NEXT_FAILED])
        else:
            m[at.ASKED], m[at.ASKED_EVENT], m[at.ASKED_JOB] = at.RARE, -1, j
    elif phase == at.RECOVERING or phase == at.SELECTING:
        _resume(m, x, j)
    elif phase == at.WAITING:
        if m[at.HELD + at.SPARE] > 0:
            s = m[m[at.SPARES] + m[at.SPARE_HEAD]]
            m[at.SPARE_HEAD] = moves.wrapped(m[at.SPARE_HEAD] + 1, m[at.N_SERVERS])
            m[s + at.LENT], m[s + at.HOME] = at.BORROWED, j
            m[j + at.PREEMPTIONS] += 1
            moves.set_state(m, x, s, at.IDLE)
        hosts.acquire(m, x, j)
    elif phase == at.STALLED:
        m[at.SIGNAL] = 0
        hosts.acquire(m, x, j)
    else:
        hosts.enter(m, x, j, at.RECOVERING, x[at.NOW] + x[at.RECOVERY_TIME])


@compiled
def _resume(m: Memory, x: Reals, j: int) -> None:
    """Run again once enough servers are there; standbys take over without a selection."""
    if x[at.NOW] < x[at.DOWN_UNTIL]:
        hosts.enter(m, x, j, at.DOWN, x[at.DOWN_UNTIL])
        return
    selected = m[j + at.PHASE] == at.SELECTING
    while m[j + at.N_ACTIVE] < m[j + at.SIZE] and m[j + at.N_STANDBY] > 0:
        moves.join(m, x, j, moves.first_standby(m, j))
        if not selected:
            m[j + at.SWAPS] += 1
    if m[j + at.N_ACTIVE] < (m[j + at.MINIMUM] if selected else m[j + at.SIZE]):
        hosts.look_for_hosts(m, x, j)
        return
    hosts.enter(m, x, j, at.RUNNING, math.inf)
    x[j + at.SPEED] = m[j + at.N_ACTIVE] / m[j + at.SIZE]
    x[j + at.CORRUPT_IN], x[j + at.FOUND_IN] = math.inf, math.inf
    if x[at.CORRUPTION_RATE] > 0.0:
        if x[j + at.CLEAN] < 0.0:
            x[j + at.CORRUPT_IN] = rs.exponential(m, rs.CORRUPTION) / (x[at.CORRUPTION_RATE] * m[j + at.N_ACTIVE])
            x[j + at.FOUND_IN] = x[j + at.CORRUPT_IN] + rs.exponential(m, rs.CORRUPTION) * x[at.CORRUPTION_DELAY]
        else:
            x[j + at.FOUND_IN] = max(x[j + at.FOUND_AT] - x[j + at.CLOCK], 0.0)
    plan_end(m, x, j)


@compiled
def plan_end(m: Memory, x: Reals, j: int) -> None:
    """When, and by what, the stretch of running ends."""
    ran = x[at.NOW] - x[j + at.BEGAN]  # above zero where servers changed their class on the way
    x[j + at.CLOCK] += ran
    fails = ran + moves.next_failure(m, x, j)
    x[j + at.CLOCK] -= ran
    computing = x[j + at.REMAINING] / x[j + at.SPEED]
    ends = computing
    if x[at.EVERY] > 0.0:
        ends += x[at.SAVE_TIME] * max(math.ceil(computing / x[at.EVERY]) - 1.0, 0.0)
    if ends <= min(fails, x[j + at.FOUND_IN]):
        m[j + at.ENDS_BY], x[j + at.UNTIL] = at.END_OF_WORK, x[j + at.BEGAN] + ends
    elif fails <= x[j + at.FOUND_IN]:
        m[j + at.ENDS_BY], x[j + at.UNTIL] = at.FAILURE, x[j + at.BEGAN] + fails
    else:
        m[j + at.ENDS_BY], x[j + at.UNTIL] = at.CORRUPTION_FOUND, x[j + at.BEGAN] + x[j + at.FOUND_IN]


@compiled
def _finish(m: Memory, x: Reals, j: int) -> None:
    if x[j + at.CLEAN] >= 0.0:
        m[j + at.UNDETECTED] += 1
    x[j + at.ENDED], x[j + at.REMAINING] = x[at.NOW], 0.0
    m[at.N_JOBS_OVER] += 1
    hosts.enter(m, x, j, at.DONE, math.inf)
    hosts.release(m, x, j)
    repairs.wake(m, x)


@compiled
def _server_fails(m: Memory, x: Reals, j: int, s: int) -> None:
    """A server fails; it, an innocent one or none is sent to repair, and the job recovers."""
    moves.credit(m, x, j, s)
    x[j + at.RUN_TIME] += hosts.stop_run(m, x, j)
    x[s + at.CREDITED] = x[j + at.CREDITS]  # none for the stretch that it ended
    systematic = m[s + at.BAD] != 0 and rs.uniform(m, rs.KIND) * x[at.BAD_FACTOR] >= 1.0
    m[j + at.FAILED] += 1
    m[j + (at.SYSTEMATIC if systematic else at.RANDOM)] += 1
    if m[s + at.LATEST] > 0:
        x[m[s + at.LATEST] + m[s + at.FAILURES] % m[at.MAX_FAILURES]] = x[at.NOW]
    m[s + at.FAILURES] += 1
    _diagnose(m, x, j, s)
    hosts.enter(m, x, j, at.RECOVERING, x[at.NOW] + x[at.RECOVERY_TIME])


@compiled
def _diagnose(m: Memory, x: Reals, j: int, s: int) -> None:
    if x[at.DIAGNOSIS] < 1.0 and rs.uniform(m, rs.DIAGNOSIS) >= x[at.DIAGNOSIS]:
        m[j + at.UNDIAGNOSED] += 1
        if m[at.STAYS] != 0:
            moves.new_life(m, x, j, s)
        else:
            moves.leave(m, x, j, s)
            x[s + at.LIFE], x[s + at.AGE] = -1.0, 0.0
            m[s + at.HOME] = j
            repairs.give_back(m, x, s)
        return
    blamed = s
    if x[at.UNCERTAINTY] > 0.0 and m[j + at.N_ACTIVE] > 1 and rs.uniform(m, rs.DIAGNOSIS) < x[at.UNCERTAINTY]:
        place = rs.below(m, rs.DIAGNOSIS, m[j + at.N_ACTIVE] - 1)
        blamed = m[m[j + at.ROSTER] + (place if place < m[s + at.SLOT] else place + 1)]
        m[j + at.MISATTRIBUTED] += 1
        moves.new_life(m, x, j, s)
    moves.leave(m, x, j, blamed)
    if blamed == s:
        x[s + at.LIFE], x[s + at.AGE] = -1.0, 0.0
    repairs.submit(m, x, j, blamed)
    if blamed != s:
        repairs.wake(m, x)
