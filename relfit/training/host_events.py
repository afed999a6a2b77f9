"""Finding servers for a job, compiled: host selection, preemption of spare servers, stalls, depletion."""

from __future__ import annotations

import math

from relfit.training import address_streams as rs
from relfit.training import layout as at
from relfit.training import repair_events as repairs
from relfit.training import server_moves as moves
from relfit.training.addresses import compiled
from relfit.training.layout import Memory, Reals

__all__ = ["acquire", "enter", "list_candidates", "look_for_hosts", "release", "settle", "stop_run"]

_ACCOUNTS = (at.COMPUTE, at.RECOVERY, at.SELECTION_SPENT, at.WAIT, at.STALL, at.DOWN_TIME)


@compiled
def enter(m: Memory, x: Reals, j: int, phase: int, until: float) -> None:
    """Begin another phase of a job; the time since the last one began goes to its account (running has its own)."""
    if m[j + at.PHASE] > at.RUNNING and m[j + at.PHASE] < at.DONE:
        x[j + _ACCOUNTS[m[j + at.PHASE]]] += x[at.NOW] - x[j + at.BEGAN]
    if m[at.TRACING] != 0 and m[j + at.PHASE] != phase:
        moves.log(m, x, at.NOBODY, j, m[j + at.PHASE], phase)
    m[j + at.PHASE], x[j + at.BEGAN], x[j + at.UNTIL] = phase, x[at.NOW], until


@compiled
def release(m: Memory, x: Reals, j: int) -> None:
    """Let all servers of a job go idle."""
    while m[j + at.N_ACTIVE] > 0:
        s = m[m[j + at.ROSTER] + m[j + at.N_ACTIVE] - 1]
        moves.leave(m, x, j, s)
        moves.set_state(m, x, s, at.IDLE)
    release_standbys(m, x, j)


@compiled
def release_standbys(m: Memory, x: Reals, j: int) -> None:
    """Let the standbys of a job go idle."""
    while m[j + at.N_STANDBY] > 0:
        moves.set_state(m, x, moves.first_standby(m, j), at.IDLE)


@compiled
def look_for_hosts(m: Memory, x: Reals, j: int) -> None:
    """Begin host selection over all idle servers of the working pool and the job's own."""
    if m[at.RETURNS] == at.AT_SELECTION:
        _return_borrowed(m, x, j)
    if _within_reach(m, j) >= m[j + at.SIZE]:
        _choose(m, x, j)
    else:
        acquire(m, x, j)


@compiled
def _return_borrowed(m: Memory, x: Reals, j: int) -> None:
    """Give the borrowed servers of a job, and idle ones, back to the spare pool."""
    release_standbys(m, x, j)
    for s in range(m[at.SERVERS], m[at.SERVERS_END], at.SERVER):
        if m[s + at.LENT] == at.BORROWED:
            if m[s + at.STATE] == at.ACTIVE and m[s + at.OF_JOB] == j:
                moves.leave(m, x, j, s)
                repairs.to_spares(m, x, s)
            elif m[s + at.STATE] == at.IDLE:
                repairs.to_spares(m, x, s)


@compiled
def _within_reach(m: Memory, j: int) -> int:
    """Servers that a job has or may take."""
    return int(m[at.HELD + at.IDLE] + m[j + at.N_ACTIVE] + m[j + at.N_STANDBY])


@compiled
def acquire(m: Memory, x: Reals, j: int) -> None:
    """Go on looking: preempt a spare server, go on with fewer, take from jobs of lower priority, or stall."""
    wanted = m[j + at.SIZE] + m[j + at.STANDBYS]
    least = wanted if m[at.INSIST] != 0 else m[j + at.MINIMUM]
    for k in range(at.JOBS, j, at.JOB):
        if m[k + at.PHASE] == at.STALLED:  # whatever comes free is for that job
            enter(m, x, j, at.STALLED, math.inf)
            return
    while True:
        if _within_reach(m, j) >= (least if m[at.HELD + at.SPARE] == 0 else wanted):
            _choose(m, x, j)
            return
        if m[at.HELD + at.SPARE] > 0:
            enter(m, x, j, at.WAITING, x[at.NOW] + x[at.WAIT_TIME])
            return
        if _take_from_lower(m, x, j):
            continue
        if m[at.INSIST] != 0 or m[j + at.PHASE] != at.STALLED:
            m[j + at.STALLS] += 1
        if m[at.N_SERVERS] - m[at.HELD + at.RETIRED] < least:
            enter(m, x, j, at.DEPLETED, math.inf)
            x[j + at.ENDED] = x[at.NOW]
            m[at.N_JOBS_OVER] += 1
            release(m, x, j)
            return
        if m[at.INSIST] != 0 and m[at.SIGNAL] != 0:  # the program looks again if a repair ended since it last stalled
            m[at.SIGNAL] = 0
            continue
        enter(m, x, j, at.STALLED, math.inf)
        return


@compiled
def _take_from_lower(m: Memory, x: Reals, j: int) -> bool:
    """Stop the job of least priority below this one if that helps; its servers go idle."""
    obtainable = _within_reach(m, j)
    for k in range(j + at.JOB, m[at.JOBS_END], at.JOB):
        obtainable += m[k + at.N_ACTIVE] + m[k + at.N_STANDBY]
    if obtainable < m[j + at.MINIMUM]:
        return False
    for k in range(m[at.JOBS_END] - at.JOB, j, -at.JOB):
        if m[k + at.N_ACTIVE] + m[k + at.N_STANDBY] > 0:
            if m[k + at.PHASE] == at.RUNNING:
                stop_run(m, x, k)
                m[k + at.INTERRUPTED] += 1
            release(m, x, k)
            enter(m, x, k, at.STALLED, x[at.NOW])
            return True
    return False


@compiled
def _choose(m: Memory, x: Reals, j: int) -> None:
    if m[at.SELECTION] == at.RANDOM_HOSTS:
        list_candidates(m, x, j)
        settle(m, x, j, _choose_at_random(m, x, j))
    else:
        m[at.ASKED], m[at.ASKED_JOB] = at.HOSTS, j


@compiled
def list_candidates(m: Memory, x: Reals, j: int) -> None:
    """Write the idle servers into the list of choice; borrowed ones that are not needed may go back."""
    m[at.QUIET] = 1
    release_standbys(m, x, j)
    wanted = m[j + at.SIZE] + m[j + at.STANDBYS]
    surplus = _within_reach(m, j) - wanted if m[at.RETURNS] == at.AT_ONCE else 0
    if surplus > 0:
        for i in range(m[j + at.N_ACTIVE] - 1, -1, -1):
            s = m[m[j + at.ROSTER] + i]
            if surplus > 0 and m[s + at.LENT] != at.OWN:
                moves.leave(m, x, j, s)
                repairs.to_spares(m, x, s)
                surplus -= 1
    n, choice = 0, m[at.CHOICE]
    for s in range(m[at.SERVERS], m[at.SERVERS_END], at.SERVER):
        if m[s + at.STATE] == at.IDLE:
            if surplus > 0 and m[s + at.LENT] != at.OWN:
                repairs.to_spares(m, x, s)
                surplus -= 1
            else:
                m[choice + n] = s
                n += 1


@compiled
def settle(m: Memory, x: Reals, j: int, first: int) -> None:
    """Begin the time of a selection; idle servers from `first` on in the list of choice stand by."""
    for i in range(first, first + min(m[j + at.STANDBYS], m[at.HELD + at.IDLE])):
        moves.stand_by(m, x, j, m[m[at.CHOICE] + i])
    moves.log_changes(m, x)
    m[j + at.SELECTIONS] += 1
    enter(m, x, j, at.SELECTING, x[at.NOW] + x[at.SELECTION_TIME])


@compiled
def _choose_at_random(m: Memory, x: Reals, j: int) -> int:
    """Let random servers run the job; the others follow in the list of choice, its standbys first; from where.

    Those that will not run it are drawn, one by one, from the active and the idle servers; as a rule they are few.
    """
    choice, n = m[at.CHOICE], m[at.HELD + at.IDLE]
    excess = max(m[j + at.N_ACTIVE] + n - m[j + at.SIZE], 0)
    left = n  # idle servers that are not drawn yet stand before it in the list, drawn ones after them
    for _ in range(excess):
        pick = rs.below(m, rs.SELECTION, m[j + at.N_ACTIVE] + left)
        if pick < m[j + at.N_ACTIVE]:
            s = m[m[j + at.ROSTER] + pick]
            moves.leave(m, x, j, s)
            moves.set_state(m, x, s, at.IDLE)
            m[choice + n] = s
            n += 1
        else:
            pick -= m[j + at.N_ACTIVE]
            left -= 1
            m[choice + pick], m[choice + left] = m[choice + left], m[choice + pick]
    for i in range(left):
        moves.join(m, x, j, m[choice + i])
    for i in range(left, min(left + m[j + at.STANDBYS], n)):
        place = i + rs.below(m, rs.SELECTION, n - i)
        m[choice + i], m[choice + place] = m[choice + place], m[choice + i]
    return int(left)


@compiled
def stop_run(m: Memory, x: Reals, j: int) -> float:
    """End a stretch of running now: what it computed, what of that is lost, what was saved; minutes that it lasted.

    With checkpoints every so many minutes, work since the last one is lost unless the job ended; without, nothing is.
    """
    lasted = x[at.NOW] - x[j + at.BEGAN]
    ended = m[j + at.ENDS_BY] == at.END_OF_WORK and x[at.NOW] >= x[j + at.UNTIL]
    cycle = x[at.EVERY] + x[at.SAVE_TIME]
    done = x[j + at.LENGTH] - x[j + at.REMAINING]
    if x[at.EVERY] <= 0.0:
        computed, kept, saved = lasted, lasted, 0.0
    elif ended:
        computed = min(x[j + at.REMAINING] / x[j + at.SPEED], lasted)
        kept, saved = computed, lasted - computed
    else:
        full = math.floor(lasted / cycle)
        computed = full * x[at.EVERY] + min(lasted - full * cycle, x[at.EVERY])
        kept, saved = full * x[at.EVERY], lasted - computed
    x[j + at.COMPUTE] += kept
    x[j + at.LOST] += computed - kept
    x[j + at.SAVE] += saved
    x[j + at.CLOCK] += lasted
    if x[j + at.CORRUPT_IN] < lasted and x[j + at.CLEAN] < 0.0:
        clean = x[j + at.CORRUPT_IN] if x[at.EVERY] <= 0.0 else math.floor(x[j + at.CORRUPT_IN] / cycle) * x[at.EVERY]
        if clean < kept:
            x[j + at.CLEAN] = done + clean * x[j + at.SPEED]
            x[j + at.FOUND_AT] = x[j + at.CLOCK] - lasted + x[j + at.FOUND_IN]
    x[j + at.REMAINING] -= kept * x[j + at.SPEED]
    if x[at.PERIOD] > 0.0:
        x[j + at.CREDITS] += math.floor(lasted / x[at.PERIOD])
    else:
        x[j + at.CREDITS] += 1.0
    return lasted
