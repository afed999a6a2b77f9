"""Events that most simulations never have, compiled apart: racks, the cluster, corruptions, servers that turn bad."""

from __future__ import annotations

from relfit.training import address_heap as eh
from relfit.training import address_streams as rs
from relfit.training import host_events as hosts
from relfit.training import layout as at
from relfit.training import repair_events as repairs
from relfit.training import server_moves as moves
from relfit.training.addresses import address, compiled
from relfit.training.layout import Memory, Reals
from relfit.training.training_events import plan_end

__all__ = ["begin", "happen"]


@compiled
def begin(memory: Memory, reals: Reals) -> None:
    """Plan the first of them."""
    m, x = address(memory), address(reals)
    if x[at.REGENERATION] > 0.0:
        eh.push_event(m, x, x[at.REGENERATION], eh.REGENERATE, 0)
    _next_rack_failure(m, x)
    _next_cluster_failure(m, x)


@compiled
def happen(memory: Memory, reals: Reals) -> None:
    """Let the event that is asked for happen."""
    m, x = address(memory), address(reals)
    if m[at.ASKED_EVENT] < 0:
        _corruption_found(m, x, m[at.ASKED_JOB])
        return
    kind, subject = m[at.ASKED_EVENT] // eh.SUBJECTS, m[at.ASKED_EVENT] % eh.SUBJECTS
    if kind == eh.REGENERATE:
        _regenerate(m, x)
        if m[at.RENEW] == 0:
            for j in range(at.JOBS, m[at.JOBS_END], at.JOB):
                if m[j + at.PHASE] == at.RUNNING:
                    plan_end(m, x, j)
    elif kind == eh.RACK_FAILS:
        _rack_fails(m, x)
    elif kind == eh.RACK_BACK:
        m[m[at.RACKS] + subject] = 0
        first, last = _rack(m, subject)
        for s in range(first, last, at.SERVER):
            if m[s + at.STATE] == at.RACK_DOWN:
                repairs.give_back(m, x, s)
    else:
        _cluster_fails(m, x)


@compiled
def _regenerate(m: Memory, x: Reals) -> None:
    """Turn a share of the good servers bad: a tenth of the fraction of bad ones, at least one server."""
    n, choice = 0, m[at.CHOICE]
    for s in range(m[at.SERVERS], m[at.SERVERS_END], at.SERVER):
        if m[s + at.BAD] == 0 and m[s + at.STATE] != at.RETIRED:
            m[choice + n] = s
            n += 1
    for i in range(min(max(1, int(n * x[at.FRACTION] * 0.1)), n)):
        place = i + rs.below(m, rs.REGENERATION, n - i)
        m[choice + i], m[choice + place] = m[choice + place], m[choice + i]
        moves.change_class(m, x, m[choice + i], at.BAD_SERVER)
    eh.push_event(m, x, x[at.NOW] + x[at.REGENERATION], eh.REGENERATE, 0)


@compiled
def _corruption_found(m: Memory, x: Reals, j: int) -> None:
    """Go back to the last checkpoint from before the corruption; a server is found guilty of it."""
    x[j + at.RUN_TIME] += hosts.stop_run(m, x, j)
    m[j + at.CORRUPTIONS] += 1
    if x[j + at.CLEAN] >= 0.0:
        back = max(x[j + at.LENGTH] - x[j + at.REMAINING] - x[j + at.CLEAN], 0.0)
        moved = min(back / x[j + at.SPEED], x[j + at.COMPUTE])
        x[j + at.REMAINING] += back
        x[j + at.COMPUTE] -= moved
        x[j + at.LOST] += moved
        x[j + at.CLEAN] = -1.0
    s = m[m[j + at.ROSTER] + rs.below(m, rs.CORRUPTION, m[j + at.N_ACTIVE])]
    moves.leave(m, x, j, s)
    repairs.submit(m, x, j, s)
    hosts.enter(m, x, j, at.RECOVERING, x[at.NOW] + x[at.RECOVERY_TIME])


@compiled
def _rack(m: Memory, rack: int) -> tuple[int, int]:
    """First server of a rack, and the one after its last."""
    first = m[at.SERVERS] + rack * m[at.RACK_SIZE] * at.SERVER
    return first, min(first + m[at.RACK_SIZE] * at.SERVER, m[at.SERVERS_END])


@compiled
def _next_rack_failure(m: Memory, x: Reals) -> None:
    if x[at.RACK_RATE] > 0.0:
        wait = rs.exponential(m, rs.RACKS) / (x[at.RACK_RATE] * m[at.N_RACKS])
        eh.push_event(m, x, x[at.NOW] + wait, eh.RACK_FAILS, 0)


@compiled
def _next_cluster_failure(m: Memory, x: Reals) -> None:
    if x[at.CLUSTER_RATE] > 0.0:
        wait = rs.exponential(m, rs.CLUSTER) / x[at.CLUSTER_RATE]
        eh.push_event(m, x, max(x[at.NOW], x[at.DOWN_UNTIL]) + wait, eh.CLUSTER_FAILS, 0)


@compiled
def _rack_fails(m: Memory, x: Reals) -> None:
    """All servers of a rack are gone until it is repaired; those in repair stay there."""
    _next_rack_failure(m, x)
    rack = rs.below(m, rs.RACKS, m[at.N_RACKS])
    if m[m[at.RACKS] + rack] != 0:
        return
    m[m[at.RACKS] + rack] = 1
    eh.push_event(m, x, x[at.NOW] + rs.exponential(m, rs.RACKS) * x[at.RACK_TIME], eh.RACK_BACK, rack)
    first, last = _rack(m, rack)
    for j in range(at.JOBS, m[at.JOBS_END], at.JOB):
        for s in range(first, last, at.SERVER):
            if m[s + at.STATE] == at.ACTIVE and m[s + at.OF_JOB] == j:
                if m[j + at.PHASE] == at.RUNNING:
                    x[j + at.RUN_TIME] += hosts.stop_run(m, x, j)
                    m[j + at.RACK_FAILURES] += 1
                    hosts.enter(m, x, j, at.RECOVERING, x[at.NOW] + x[at.RECOVERY_TIME])
                moves.leave(m, x, j, s)
                m[s + at.HOME] = j
                moves.set_state(m, x, s, at.RACK_DOWN)
        for _ in range(m[j + at.N_STANDBY]):  # each once round; those of the rack stay out
            s = moves.first_standby(m, j)
            if s >= first and s < last:
                m[s + at.HOME] = j
                moves.set_state(m, x, s, at.RACK_DOWN)
            else:
                moves.stand_by(m, x, j, s)
    for _ in range(m[at.HELD + at.SPARE]):
        s = m[m[at.SPARES] + m[at.SPARE_HEAD]]
        m[at.SPARE_HEAD] = moves.wrapped(m[at.SPARE_HEAD] + 1, m[at.N_SERVERS])
        if s >= first and s < last:
            moves.set_state(m, x, s, at.RACK_DOWN)
            m[s + at.LENT] = at.OF_SPARES
        else:
            m[m[at.SPARES] + moves.wrapped(m[at.SPARE_HEAD] + m[at.HELD + at.SPARE] - 1, m[at.N_SERVERS])] = s
    for s in range(first, last, at.SERVER):
        if m[s + at.STATE] == at.IDLE:
            moves.set_state(m, x, s, at.RACK_DOWN)


@compiled
def _cluster_fails(m: Memory, x: Reals) -> None:
    """Nothing runs until the power or the file system is back; then every job recovers."""
    x[at.DOWN_UNTIL] = x[at.NOW] + rs.exponential(m, rs.CLUSTER) * x[at.CLUSTER_TIME]
    _next_cluster_failure(m, x)
    for j in range(at.JOBS, m[at.JOBS_END], at.JOB):
        if m[j + at.PHASE] == at.RUNNING:
            x[j + at.RUN_TIME] += hosts.stop_run(m, x, j)
            m[j + at.CLUSTER_FAILURES] += 1
            hosts.enter(m, x, j, at.DOWN, x[at.DOWN_UNTIL])
