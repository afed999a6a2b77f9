"""Host selection by a policy other than chance, compiled apart: most simulations never need it."""

from __future__ import annotations

from relfit.training import address_streams as rs
from relfit.training import host_events as hosts
from relfit.training import layout as at
from relfit.training import server_moves as moves
from relfit.training.addresses import address, compiled
from relfit.training.layout import Memory, Reals

__all__ = ["select_in_order"]


@compiled
def select_in_order(memory: Memory, reals: Reals) -> None:
    """Choose the servers of lowest rank for the job that asks, among the idle ones and its own."""
    m, x = address(memory), address(reals)
    j = m[at.ASKED_JOB]
    m[at.QUIET] = 1
    hosts.release(m, x, j)
    hosts.list_candidates(m, x, j)
    first = min(m[at.HELD + at.IDLE], m[j + at.SIZE])
    _order(m, x, m[at.HELD + at.IDLE])
    for i in range(first):
        moves.join(m, x, j, m[m[at.CHOICE] + i])
    hosts.settle(m, x, j, first)


@compiled
def _order(m: Memory, x: Reals, n: int) -> None:
    """Bring the idle servers into the order of the policy, lowest keys first, equals at random: shuffle, then sort."""
    choice, keys = m[at.CHOICE], m[at.KEYS]
    for i in range(n - 1, 0, -1):
        place = rs.below(m, rs.SELECTION, i + 1)
        m[choice + i], m[choice + place] = m[choice + place], m[choice + i]
    if m[at.SELECTION] == at.PACKED:
        for rack in range(m[at.N_RACKS]):
            x[keys + rack] = 0.0
        for i in range(n):
            x[keys + m[m[choice + i] + at.RACK]] -= 1.0
    for i in range(n):
        s = m[choice + i]
        if m[at.SELECTION] == at.FEWEST_FAILURES:
            x[s + at.RANK] = m[s + at.FAILURES]
        elif m[at.SELECTION] == at.HIGHEST_SCORE:
            x[s + at.RANK] = -x[s + at.SCORE]
        elif m[at.SELECTION] == at.MOST_RELIABLE:
            x[s + at.RANK] = _coming_hazard(m, x, x[s + at.AGE])
        elif m[at.SELECTION] == at.PACKED:
            x[s + at.RANK] = x[keys + m[s + at.RACK]] * m[at.N_SERVERS] + m[s + at.RACK]
    for root in range(n // 2 - 1, -1, -1):
        _sift(m, x, root, n)
    for last in range(n - 1, 0, -1):
        m[choice], m[choice + last] = m[choice + last], m[choice]
        _sift(m, x, 0, last)


@compiled
def _sift(m: Memory, x: Reals, place: int, size: int) -> None:
    """Let a server of the list of choice sink in a heap with the highest rank on top."""
    choice = m[at.CHOICE]
    s = m[choice + place]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and x[m[choice + child + 1] + at.RANK] > x[m[choice + child] + at.RANK]:
            child += 1
        if x[m[choice + child] + at.RANK] <= x[s + at.RANK]:
            break
        m[choice + place] = m[choice + child]
        place = child
    m[choice + place] = s


@compiled
def _coming_hazard(m: Memory, x: Reals, age: float) -> float:
    """Cumulative hazard of a good server over the coming hours, at its age."""
    if m[at.LIVES] == at.EXPONENTIAL:
        return x[at.RATE] * x[at.LOOKAHEAD]
    return rs.tabled_hazard(x, m[at.LIFE_TABLE], age + x[at.LOOKAHEAD]) - rs.tabled_hazard(x, m[at.LIFE_TABLE], age)
