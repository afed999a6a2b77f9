"""Whether a cluster is still in order, compiled: every server in one place, every minute in one account."""

from __future__ import annotations

from relfit.training import layout as at
from relfit.training.addresses import address, compiled
from relfit.training.layout import Memory, Reals

__all__ = ["FAULTS", "broken"]

FAULTS = (
    "", "servers were lost or doubled", "active servers are not those of the jobs",
    "standbys are not those of the jobs",
    "bad servers are not where they belong", "servers of the spare pool are not those of its list",
    "the time of a job does not add up", "there are more repairs than servers in repair",
    "lives of active servers are out of order",
)  # fmt: skip


@compiled
def broken(memory: Memory, reals: Reals) -> int:
    """0 where all is in order, else the number of what is not (see `FAULTS`)."""
    m, x = address(memory), address(reals)
    for state in range(len(at.STATES)):
        seen = 0
        for s in range(m[at.SERVERS], m[at.SERVERS_END], at.SERVER):
            seen += m[s + at.STATE] == state
        if seen != m[at.HELD + state]:
            return 1
    active, standby = 0, 0
    for j in range(at.JOBS, m[at.JOBS_END], at.JOB):
        active, standby = active + m[j + at.N_ACTIVE], standby + m[j + at.N_STANDBY]
        if m[j + at.N_ACTIVE] > m[j + at.SIZE] or m[j + at.N_STANDBY] > m[j + at.STANDBYS]:
            return 2
        for i in range(m[j + at.N_ACTIVE]):
            s = m[m[j + at.ROSTER] + i]
            if m[s + at.STATE] != at.ACTIVE or m[s + at.SLOT] != i or m[s + at.OF_JOB] != j:
                return 2
            if m[at.RENEW] != 0 and (m[s + at.BAD] != 0) != (i < m[j + at.N_BAD]):
                return 4
            if m[at.RENEW] == 0 and x[s + at.KEY] < x[m[m[j + at.ROSTER] + ((i - 1) // 2 if i > 0 else 0)] + at.KEY]:
                return 8
        for i in range(m[j + at.N_STANDBY]):
            if m[m[m[j + at.RESERVE] + (m[j + at.HEAD] + i) % m[j + at.STANDBYS]] + at.STATE] != at.STANDBY:
                return 3
        spent = 0.0
        for account in range(at.COMPUTE, at.DOWN_TIME + 1):
            spent += x[j + account]
        since = x[j + at.BEGAN] if m[j + at.PHASE] < at.DONE else x[j + at.ENDED]
        if abs(spent - since) > 1e-7 * max(x[at.NOW], 1.0):
            return 6
    if active != m[at.HELD + at.ACTIVE]:
        return 2
    if standby != m[at.HELD + at.STANDBY]:
        return 3
    for i in range(m[at.HELD + at.SPARE]):
        if m[m[m[at.SPARES] + (m[at.SPARE_HEAD] + i) % m[at.N_SERVERS]] + at.STATE] != at.SPARE:
            return 5
    repairing = 0
    for i in range(m[at.N_HEAP]):
        repairing += m[m[at.HEAP_WHAT] + i] < 2 * (1 << 40)
    if repairing != m[at.HELD + at.AUTO] + m[at.HELD + at.MANUAL]:
        return 7
    return 0
