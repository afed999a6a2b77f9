"""The compiled search for the masses of the nonparametric maximum-likelihood estimate, one group after the other.

Each row of data says that the life lies in a run of the candidate intervals, given that it lies in a wider run. The
log-likelihood is maximised over masses that are not negative by a primal-dual interior-point method. In terms of the
running sums of the masses, Newton's matrix is that of a network: each row joins the two ends of its run, and the
barrier joins neighbours; conjugate gradients with the network's tridiagonal part as preconditioner solve it in time
proportional to the size of the group for most data. Where this ends early, accelerated expectation-maximisation
(Turnbull 1976; Varadhan and Roland 2008) goes on.
"""

from __future__ import annotations

import math

import numba
import numpy as np

__all__ = ["solve"]

_OUTER = 120
_MORE = 500


@numba.njit(cache=True, nogil=True)
def solve(
    rows: np.ndarray,
    places: np.ndarray,
    inside: np.ndarray,
    given: np.ndarray,
    weight: np.ndarray,
    tolerance: float,
    mass: np.ndarray,
    violation: np.ndarray,
    unique: np.ndarray,
    loglik: np.ndarray,
    first: int,
    last: int,
) -> None:
    """Fill `mass` and the figures of each group from `first` to `last`.

    Parameters
    ----------
    rows, places : ndarray of int, shape (groups + 1,)
        Where the rows and the intervals of each group begin.
    inside, given : ndarray of int, shape (rows, 2)
        First interval of each row's run and the one after its last; the same for the run it is conditioned on.
    weight : ndarray of float, shape (rows,)
    tolerance : float
        Largest violation of the conditions for a maximum, a share of the group's weight.
    mass : ndarray of float, shape (intervals,)
    violation, unique, loglik : ndarray, shape (groups,)
    """
    for group in range(first, last):
        begin, end = rows[group], rows[group + 1]
        size = places[group + 1] - places[group]
        if size == 0:
            violation[group] = 0.0
            unique[group] = True
            loglik[group] = 0.0
            continue
        a, b, w = inside[begin:end], given[begin:end], weight[begin:end]
        p = np.full(size, 1.0 / size)
        score = np.empty(size)
        if size > 1:
            total = w.sum()
            for _ in range(10):
                _improve(p, a, b, w, score)
            _interior(p, a, b, w, total, tolerance)
            _clean(p, a, b, w, total, score)
            if _violation(p, a, b, w, total, score) > tolerance:
                _accelerated(p, a, b, w, total, tolerance, score)
        violation[group] = _violation(p, a, b, w, w.sum(), score)
        unique[group] = _unique(p, a, b, w.sum(), score)
        loglik[group] = _loglik(p, a, b, w)
        mass[places[group] : places[group + 1]] = p


@numba.njit(cache=True, nogil=True)
def _run(p: np.ndarray, sums: np.ndarray, low: int, high: int) -> float:
    """Mass of a run; short runs are added up, long ones taken from the running sums."""
    if high - low <= 8:
        total = 0.0
        for j in range(low, high):
            total += p[j]
        return total
    return sums[high] - sums[low]


@numba.njit(cache=True, nogil=True)
def _running(p: np.ndarray) -> np.ndarray:
    sums = np.empty(p.size + 1)
    sums[0] = 0.0
    for j in range(p.size):
        sums[j + 1] = sums[j] + p[j]
    return sums


@numba.njit(cache=True, nogil=True)
def _scores(p: np.ndarray, a: np.ndarray, b: np.ndarray, w: np.ndarray, score: np.ndarray) -> float:
    """Derivative of the log-likelihood by each mass, for masses that add up to one; returns the lives at large.

    A row that is not conditioned is conditioned on all intervals, whose mass is one.
    """
    size = p.size
    sums = _running(p)
    change = np.zeros(size + 1)
    large = 0.0
    for i in range(w.size):
        rise = w[i] / _run(p, sums, a[i, 0], a[i, 1])
        change[a[i, 0]] += rise
        change[a[i, 1]] -= rise
        fall = w[i] / _run(p, sums, b[i, 0], b[i, 1])
        change[b[i, 0]] -= fall
        change[b[i, 1]] += fall
        large += fall
    total = 0.0
    for j in range(size):
        total += change[j]
        score[j] = total
    return large


@numba.njit(cache=True, nogil=True)
def _improve(p: np.ndarray, a: np.ndarray, b: np.ndarray, w: np.ndarray, score: np.ndarray) -> None:
    """One step of expectation-maximisation, in place."""
    large = _scores(p, a, b, w, score)
    total = 0.0
    for j in range(p.size):
        p[j] = max(p[j] * (1.0 + score[j] / large), 0.0)
        total += p[j]
    for j in range(p.size):
        p[j] /= total


@numba.njit(cache=True, nogil=True)
def _violation(p: np.ndarray, a: np.ndarray, b: np.ndarray, w: np.ndarray, total: float, score: np.ndarray) -> float:
    """Largest violation of the conditions for a maximum, a share of the weight: no score above zero, and no other
    score than zero where there is mass.
    """
    _scores(p, a, b, w, score)
    worst = 0.0
    for j in range(p.size):
        worst = max(worst, abs(score[j]) if p[j] > 0.0 else score[j])
    return worst / total if total > 0.0 else 0.0


@numba.njit(cache=True, nogil=True)
def _loglik(p: np.ndarray, a: np.ndarray, b: np.ndarray, w: np.ndarray) -> float:
    sums = _running(p)
    value = 0.0
    for i in range(w.size):
        top, bottom = _run(p, sums, a[i, 0], a[i, 1]), _run(p, sums, b[i, 0], b[i, 1])
        if not (top > 0.0 and bottom > 0.0):
            return -math.inf
        value += w[i] * (math.log(top) - math.log(bottom))
    return value


@numba.njit(cache=True, nogil=True)
def _normalise(p: np.ndarray) -> None:
    total = p.sum()
    for j in range(p.size):
        p[j] /= total


@numba.njit(cache=True, nogil=True)
def _interior(p: np.ndarray, a: np.ndarray, b: np.ndarray, w: np.ndarray, total: float, tolerance: float) -> None:
    """Primal-dual interior-point steps, in place; `p` stays above zero."""
    size = p.size
    score, slack, step = np.empty(size), np.empty(size), np.empty(size)
    for j in range(size):
        p[j] = max(p[j], 1e-6 / size)
    _normalise(p)
    _scores(p, a, b, w, score)
    for j in range(size):
        slack[j] = max(-score[j], 0.05 * total)
    target = 1e-3 * tolerance * total / size
    best, since = math.inf, 0
    for _ in range(_OUTER):
        _scores(p, a, b, w, score)
        gap, residual = 0.0, 0.0
        for j in range(size):
            gap += p[j] * slack[j]
            residual = max(residual, abs(score[j] + slack[j]))
        gap /= size
        if gap <= target and residual <= tolerance * total:
            break
        now = max(gap / total, 1e-3 * residual / total)
        since = 0 if now < 0.9 * best else since + 1
        best = min(best, now)
        if since > 12:
            break
        aim = max(0.1 * gap, 0.1 * target)
        if not _newton(p, slack, a, b, w, score, aim, True, step) and not _newton(
            p, slack, a, b, w, score, aim, False, step
        ):
            break
        primal, dual = 1.0, 1.0
        for j in range(size):
            if step[j] < -0.99 * p[j]:
                primal = min(primal, -0.99 * p[j] / step[j])
            turn = (aim - slack[j] * step[j]) / p[j] - slack[j]
            if turn < -0.99 * slack[j]:
                dual = min(dual, -0.99 * slack[j] / turn)
        for j in range(size):
            turn = (aim - slack[j] * step[j]) / p[j] - slack[j]
            slack[j] += dual * turn
            p[j] += primal * step[j]
        sum_now = p.sum()
        for j in range(size):
            p[j] /= sum_now
            slack[j] *= sum_now


@numba.njit(cache=True, nogil=True)
def _newton(
    p: np.ndarray,
    slack: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    w: np.ndarray,
    score: np.ndarray,
    aim: float,
    conditioned: bool,
    step: np.ndarray,
) -> bool:
    """Solve for the step of the masses; false where the matrix is not positive.

    Without `conditioned`, the part of the matrix that comes from conditioning, which is not concave, is left out.
    """
    size = p.size
    sums = _running(p)
    many = w.size
    low, high = np.empty(2 * many + 1, np.int64), np.empty(2 * many + 1, np.int64)
    force = np.empty(2 * many + 1)
    used = 0
    loose = 0.0
    for i in range(many):
        low[used], high[used] = a[i, 0], a[i, 1]
        force[used] = w[i] / _run(p, sums, a[i, 0], a[i, 1]) ** 2
        used += 1
        if b[i, 0] > 0 or b[i, 1] < size:
            loose += w[i]
            if conditioned:
                low[used], high[used] = b[i, 0], b[i, 1]
                force[used] = -w[i] / _run(p, sums, b[i, 0], b[i, 1]) ** 2
                used += 1
    # conditioned rows leave the total mass open: hold it at one
    low[used], high[used], force[used] = 0, size, loose
    used += 1
    diagonal, beside = np.zeros(size + 1), np.zeros(size + 1)
    chain = np.empty(size)
    for e in range(used):
        diagonal[low[e]] += force[e]
        diagonal[high[e]] += force[e]
        if high[e] == low[e] + 1:
            beside[high[e]] += force[e]
    for j in range(size):
        chain[j] = slack[j] / p[j]
        diagonal[j] += chain[j]
        diagonal[j + 1] += chain[j]
        beside[j + 1] += chain[j]
    # unknowns are the running sums 1 .. size; the one at 0 is fixed
    right = np.zeros(size + 1)
    for j in range(size):
        value = score[j] + aim / p[j]
        right[j + 1] += value
        if j > 0:
            right[j] -= value
    right[0] = 0.0
    solution = np.zeros(size + 1)
    if not _conjugate(low, high, force, used, chain, diagonal, beside, right, solution):
        return False
    for j in range(size):
        step[j] = solution[j + 1] - solution[j]
    return True


@numba.njit(cache=True, nogil=True)
def _conjugate(
    low: np.ndarray,
    high: np.ndarray,
    force: np.ndarray,
    used: int,
    chain: np.ndarray,
    diagonal: np.ndarray,
    beside: np.ndarray,
    right: np.ndarray,
    solution: np.ndarray,
) -> bool:
    """Conjugate gradients on the network, entry 0 held at zero; false on a direction of no or negative curvature."""
    size = chain.size
    pivot, upper = np.empty(size + 1), np.empty(size + 1)
    for j in range(1, size + 1):
        value = diagonal[j] * (1.0 + 1e-14)
        if j > 1:
            value -= beside[j] * upper[j - 1]
        if not value > 0.0:
            return False
        pivot[j] = value
        upper[j] = beside[j + 1] / value if j < size else 0.0
    residual = right.copy()
    ready, direction, product = np.zeros(size + 1), np.zeros(size + 1), np.empty(size + 1)
    before, start = 0.0, 0.0
    for turn in range(2 * size + 100 if size < 500 else 1100):
        # the preconditioner: the tridiagonal part, solved
        for j in range(1, size + 1):
            ready[j] = (residual[j] + (beside[j] * ready[j - 1] if j > 1 else 0.0)) / pivot[j]
        for j in range(size - 1, 0, -1):
            ready[j] += upper[j] * ready[j + 1]
        norm = 0.0
        for j in range(1, size + 1):
            norm += residual[j] * ready[j]
        if turn == 0:
            start = norm
        if norm <= 1e-24 * start or norm <= 0.0:
            return True
        ratio = norm / before if turn > 0 else 0.0
        before = norm
        for j in range(1, size + 1):
            direction[j] = ready[j] + ratio * direction[j]
        direction[0] = 0.0
        for j in range(size + 1):
            product[j] = 0.0
        for j in range(size):
            pull = chain[j] * (direction[j + 1] - direction[j])
            product[j + 1] += pull
            product[j] -= pull
        for e in range(used):
            pull = force[e] * (direction[high[e]] - direction[low[e]])
            product[high[e]] += pull
            product[low[e]] -= pull
        curvature = 0.0
        for j in range(1, size + 1):
            curvature += direction[j] * product[j]
        if not curvature > 0.0:
            return norm <= 1e-16 * start
        length = norm / curvature
        for j in range(1, size + 1):
            solution[j] += length * direction[j]
            residual[j] -= length * product[j]
    return True


@numba.njit(cache=True, nogil=True)
def _clean(p: np.ndarray, a: np.ndarray, b: np.ndarray, w: np.ndarray, total: float, score: np.ndarray) -> None:
    """Set masses that vanish to zero and take plain Newton steps on those left, in place.

    Where a mass and its score vanish together, neither is near zero to all digits; then bolder cuts are tried.
    """
    worst = _violation(p, a, b, w, total, score)
    falling = score.copy()
    start = p.copy()
    for attempt in range(4):
        trial = start.copy()
        for j in range(p.size):
            if attempt == 0:
                if trial[j] < 1e-7 and -falling[j] / total > trial[j]:
                    trial[j] = 0.0
            elif trial[j] < 1e-8 * 100.0**attempt:
                trial[j] = 0.0
        _normalise(trial)
        if not math.isfinite(_loglik(trial, a, b, w)):
            return
        _polish(trial, a, b, w, total)
        now = _violation(trial, a, b, w, total, score)
        if now < worst:
            worst = now
            p[:] = trial
        if worst < 1e-12:
            return


@numba.njit(cache=True, nogil=True)
def _polish(p: np.ndarray, a: np.ndarray, b: np.ndarray, w: np.ndarray, total: float) -> None:
    """Newton steps on the masses above zero, in place, as long as each is an improvement."""
    place = np.zeros(p.size + 1, np.int64)
    for j in range(p.size):
        place[j + 1] = place[j] + (1 if p[j] > 0.0 else 0)
    left = place[p.size]
    if left < 2:
        return
    inner_a, inner_b = np.empty_like(a), np.empty_like(b)
    for i in range(w.size):
        for k in range(2):
            inner_a[i, k] = place[a[i, k]]
            inner_b[i, k] = place[b[i, k]]
    inner, none, change, step = p[p > 0.0], np.zeros(left), np.empty(left), np.empty(left)
    worst = _violation(inner, inner_a, inner_b, w, total, change)
    for _ in range(8):
        if worst < 1e-14 or not _newton(inner, none, inner_a, inner_b, w, change, 0.0, True, step):
            break
        moved = inner + step
        if not (moved > 0.0).all():
            break
        _normalise(moved)
        now = _violation(moved, inner_a, inner_b, w, total, change)
        if not now < worst:
            break
        worst = now
        inner = moved
    p[p > 0.0] = inner


@numba.njit(cache=True, nogil=True)
def _accelerated(
    p: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    w: np.ndarray,
    total: float,
    tolerance: float,
    score: np.ndarray,
) -> None:
    """Expectation-maximisation with squared extrapolation, in place, until the conditions hold or the steps end."""
    for j in range(p.size):
        p[j] = max(p[j], 1e-12)
    _normalise(p)
    for _ in range(_MORE):
        one = p.copy()
        _improve(one, a, b, w, score)
        two = one.copy()
        _improve(two, a, b, w, score)
        first = one - p
        second = (two - one) - first
        length = -math.sqrt((first**2).sum() / max((second**2).sum(), 1e-300))
        if length < -1.0:
            leap = p - 2.0 * length * first + length**2 * second
            if (leap >= 0.0).all():
                _normalise(leap)
                if _loglik(leap, a, b, w) >= _loglik(two, a, b, w):
                    two = leap
        _improve(two, a, b, w, score)
        p[:] = two
        if _violation(p, a, b, w, total, score) <= tolerance:
            return
    _clean(p, a, b, w, total, score)


@numba.njit(cache=True, nogil=True)
def _root(parent: np.ndarray, node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = parent[node]
    return node


@numba.njit(cache=True, nogil=True)
def _unique(p: np.ndarray, a: np.ndarray, b: np.ndarray, total: float, score: np.ndarray) -> bool:
    """Whether the data fix all masses.

    The running sums that may differ must be joined to each other by rows, and neighbours by a row's condition, without
    which their shares are not compared. `score` is that of the masses; intervals that could have mass without loss
    count too.
    """
    size = p.size
    place = np.zeros(size + 1, np.int64)
    for j in range(size):
        place[j + 1] = place[j] + (1 if p[j] > 0.0 or score[j] > -1e-7 * total else 0)
    left = place[size]
    parent = np.arange(left + 1)
    parent[_root(parent, left)] = _root(parent, 0)  # the total mass is one
    for i in range(a.shape[0]):
        parent[_root(parent, place[a[i, 0]])] = _root(parent, place[a[i, 1]])
        parent[_root(parent, place[b[i, 0]])] = _root(parent, place[b[i, 1]])
    apart = 0
    for j in range(left + 1):
        apart += _root(parent, j) != _root(parent, 0)
    covered = np.zeros(left + 2, np.int64)
    for i in range(a.shape[0]):
        if place[b[i, 1]] > place[b[i, 0]]:
            covered[place[b[i, 0]]] += 1
            covered[place[b[i, 1]] - 1] -= 1
    over = 0
    for j in range(left - 1):
        over += covered[j]
        apart += over == 0
    return apart == 0
