"""Current failure rates of nodes relative to the mean: multiples that last for some time and then change suddenly.

A new multiple comes from a gamma distribution around one or, for a few nodes, from anywhere above twice the mean. The
probabilities of each node's multiple are updated from step to step (Adams and MacKay 2007, on a grid). In some steps a
node fails more often without a lasting change, as after a repair that did not help: a spell. The settings, the share of
spells, and the influence of neighbouring nodes (in the order of names) and of those with the same attribute, such as a
rack, are weighted by how well the past was predicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import special
from scipy.ndimage import gaussian_filter1d, uniform_filter1d

from relfit.base.arrays import BoolArray, FloatArray, IntArray
from relfit.base.numeric.compiled import njit
from relfit.fleet.prediction.discounted_levels import discounted

_LASTS = (120.0, 960.0, np.inf)  # mean days that a multiple lasts
_ALIKE = (0.5, 2.0, 8.0, 32.0, 128.0)  # one over the variance of the multiples of most nodes
_FEW, _OFTEN = (0.1, 0.01), 2.0  # share of large new multiples, and their least value
_SPELLS = (0.001, 0.01, 0.03, 0.1)  # share of steps in a spell
_MORE = (4.0, 8.0)  # a spell's multiple of the lasting rate, at least, and its failures in a step, at most
_GRID, _LEAST, _LARGEST = 40, 1.0 / 16.0, (64.0, 8.0, 1e4)  # grid: size, start, end (least, per node, most)
_SCORED, _BLOCK = 1000, 25  # nodes whose past is scored, at most; nodes at a time
_ABOUT, _RARE = 60.0, 1e-3  # days before and after; tail probability below which a node is unusual
_SOME, _PARTS = 3, 6  # every so many settings choose the share of spells; parts of a horizon
_FIRST = 2  # steps before the first scored one
_SMALL = 0.01  # smaller weights are dropped
_NEXT, _HALF_LIFE = 8.0, 120.0  # standard deviation of the neighbourhood in places; half-life in days
_PRIOR = 4.0  # failures at the mean rate that are added to a rate from few
_FEWEST = 5  # nodes of a value of an attribute that is followed


@dataclass(frozen=True, eq=False)
class Multiples:
    """Probability distributions of multiples of a mean rate."""

    value: FloatArray  # multiples, evenly spaced by their logarithms, shape (values,)
    weight: FloatArray  # probability of each, shape (parts, values)
    shared: IntArray  # code of the parts that share a factor which is not known well, such as a rack's, shape (parts,)
    spread: FloatArray  # standard deviation of its logarithm, same shape
    latest: FloatArray  # as `weight`, which is of the mean over a horizon, at its start

    @classmethod
    def same(cls, parts: int) -> Multiples:
        """Multiples of exactly one."""
        alone = np.zeros(parts, np.int64), np.zeros(parts)
        weight = np.tile([1.0, 0.0], (parts, 1))
        return cls(np.array([1.0, _OFTEN]), weight, *alone, weight)

    def draw(self, size: int, rng: np.random.Generator) -> FloatArray:
        """Draws from gamma distributions of the same means and variances, times those of what parts share."""
        drawn = rng.gamma(self.shape, size=(size, self.rate.size)) / self.shape * self.rate
        z = rng.standard_normal((size, self.shared.max(initial=0) + 1))[:, self.shared]
        return np.asarray(drawn * np.exp(self.spread * z - self.spread**2 / 2.0))

    @cached_property
    def rate(self) -> FloatArray:
        """Expected multiples, shape (parts,)."""
        return np.asarray(self.weight @ self.value)

    @cached_property
    def shape(self) -> FloatArray:
        """One over the squared coefficient of variation, shape (parts,)."""
        variance = self.weight @ self.value**2 - self.rate**2
        return np.asarray(self.rate**2 / np.maximum(variance, 1e-9 * self.rate**2))

    @property
    def _ends(self) -> FloatArray:
        """Logarithms of the edges of the cells around the values."""
        logs = np.log(self.value)
        half = 0.5 * (logs[1] - logs[0])
        return np.append(logs - half, logs[-1] + half)

    def quantile(self, p: float) -> FloatArray:
        """Multiples that are not exceeded with probability `p`, shape (parts,)."""
        below, ends = _below(self.weight), self._ends
        cell = np.clip((below <= p).sum(axis=1) - 1, 0, self.value.size - 1)
        row = np.arange(cell.size)
        part = (p - below[row, cell]) / np.maximum(self.weight[row, cell], 1e-300)
        return np.asarray(np.exp(ends[cell] + np.clip(part, 0.0, 1.0) * (ends[1] - ends[0])))

    def above(self, x: FloatArray) -> FloatArray:
        """Probability of a multiple above `x` at the start of the horizon, one value per part, shape (parts,)."""
        ends = self._ends
        at = np.clip((np.log(x) - ends[0]) / (ends[1] - ends[0]), 0.0, self.value.size * (1.0 - 1e-12))
        cell, row = at.astype(np.int64), np.arange(at.size)
        return np.asarray(1.0 - _below(self.latest)[row, cell] - (at - cell) * self.latest[row, cell])

    def times(self, factor: FloatArray) -> Multiples:
        """The multiples of each part times a factor."""
        by = np.log(factor) / np.log(self.value[1] / self.value[0])
        return replace(self, weight=_moved(self.weight, by), latest=_moved(self.latest, by))

    def take(self, rows: IntArray) -> Multiples:
        """The multiples of some parts; exactly one for -1."""
        one = np.eye(self.value.size)[np.abs(np.log(self.value)).argmin()]
        weight, latest = (np.where(rows[:, None] < 0, one, each[rows]) for each in (self.weight, self.latest))
        return Multiples(self.value, weight, self.shared[rows], np.where(rows < 0, 0.0, self.spread[rows]), latest)


def multiples_now(
    counts: FloatArray,
    exposure: FloatArray,
    days: float,
    of: int | None = None,
    placed: BoolArray | None = None,
    attributes: Sequence[IntArray] = (),
    ahead: float = 0.0,
) -> Multiples:
    """Mean multiples over the next `ahead` days of the mean rate of all nodes, from failures and shares watched,
    (nodes, steps), in natural order. `of` nodes set the largest multiple of the grid; the neighbours of `placed` ones
    are known. All by default. `attributes` are codes of the nodes' values, such as their racks; -1 if unknown.
    """
    expected = _expected(counts, exposure, days)
    counts = np.where(expected > 0.0, counts, 0.0)
    largest = min(max(_LARGEST[0], _LARGEST[1] * (of or counts.shape[0])), _LARGEST[2])
    value = np.geomspace(_LEAST, largest, _GRID)
    near = _near(counts, expected, days, np.ones(counts.shape[0], dtype=bool) if placed is None else placed)
    priors = [_prior(value, alike, few) for few in _FEW for alike in _ALIKE]
    change = np.repeat(-np.expm1(-days / np.array(_LASTS)), len(priors))
    prior = np.tile(priors, (len(_LASTS), 1))
    over = np.repeat([_averaged(value, ahead / lasts) for lasts in _LASTS], len(priors), axis=0)
    capped = _capped(counts, expected, days)
    attributes = [code for code in attributes if (np.bincount(code[code >= 0]) >= _FEWEST).sum() > 1]
    of_values = [_of_value(code, capped, expected, value, change, prior) for code in attributes]
    offers = [np.ones_like(near), near, *(multiples for multiples, _ in of_values)]
    every = max(-(-counts.shape[0] // _SCORED), 1)
    scored = slice(None, None, every)
    some = counts[scored], expected[scored], value, change[::_SOME], prior[::_SOME]
    shares = [_spells(value, expected, share) for share in _SPELLS]
    likely = [np.sum([score for _, score in _blocks(*some, each)], axis=0).max() for each in shares]
    spells = np.tensordot(special.softmax(likely), shares, axes=1)
    scores, past = [], []
    for beside in offers:
        seen, factor = counts[scored], beside[scored, :-1]
        of_change = (seen * np.log(factor))[:, _FIRST:].sum()  # what a multiple is of another expected number
        blocks = list(_blocks(seen, expected[scored] * factor, value, change, prior, spells))
        scores.append(np.sum([score for _, score in blocks], axis=0) + of_change)
        past.append(blocks)
    gain = np.array(scores) - np.max(scores)
    weight: FloatArray = np.exp(gain * counts.shape[0] / counts[scored].shape[0])
    weight[weight < _SMALL] = 0.0
    weight /= weight.sum()
    weights, latest = np.zeros((2, counts.shape[0], _GRID))
    for beside, of_offer, of_scored in zip(offers, list(weight), past, strict=True):
        share = np.asarray(of_offer, np.float64)
        used = np.flatnonzero(share > 0.0)
        if not used.size:
            continue
        if every == 1:  # all nodes were scored
            blocks = [(states[used], score) for states, score in of_scored]
        else:
            blocks = list(_blocks(counts, expected * beside[:, :-1], value, change[used], prior[used], spells))
        by, mine = np.log(beside[:, -1]) / np.log(value[1] / value[0]), share[used, None, None] * over[used]
        latest += _moved(np.concatenate([np.tensordot(share[used], states, axes=1) for states, _ in blocks]), by)
        mean = [np.tensordot(states, mine, axes=((0, 2), (0, 1))) for states, _ in blocks]
        weights += _moved(np.concatenate(mean), by)
    of_attributes = weight.sum(axis=1)[2:]
    if not of_attributes.size:
        return Multiples(value, weights, np.zeros(counts.shape[0], np.int64), np.zeros(counts.shape[0]), latest)
    best = int(of_attributes.argmax())
    spread = of_attributes[best] * of_values[best][1]
    return Multiples(value, weights, np.maximum(attributes[best], 0), spread, latest)


def _expected(counts: FloatArray, exposure: FloatArray, days: float) -> FloatArray:
    """Expected failures of a usual node in each step, without nodes that had far too many around that time; with few in
    a step its rate is shrunk to that of the days around, and that to the overall rate.
    """
    every = exposure * (counts.sum() / max(exposure.sum(), 1e-300))
    for _ in range(2):
        did, should = _around(counts, days), _around(every, days)
        usual = (did < 1.0) | (special.gammainc(np.maximum(did, 1.0), should) > _RARE)
        number, watched = (counts * usual).sum(axis=0), (exposure * usual).sum(axis=0)
        rate = np.full(number.size, number.sum() / max(watched.sum(), 1e-300))
        if not rate[0] > 0.0:
            return every
        for sums, of in ((_around(number, days), _around(watched, days)), (number, watched)):
            rate = (sums + _PRIOR) / (of + _PRIOR / rate)
        every = exposure * rate
    return every


def _around(values: FloatArray, days: float) -> FloatArray:
    """Sums over the time before and after each step."""
    about = max(2 * round(_ABOUT / days) + 1, 3)
    return np.asarray(uniform_filter1d(values, about, axis=-1, mode="constant") * about)


def _capped(counts: FloatArray, expected: FloatArray, days: float) -> FloatArray:
    """Counts of each node that are unusual for none around that time: one node that fails often makes no bad rack."""
    usual = special.pdtrik(1.0 - _RARE, np.maximum(_around(expected, days), 1e-9)) + 1.0
    return np.asarray(counts * np.minimum(usual / np.maximum(_around(counts, days), 1.0), 1.0))


def _near(counts: FloatArray, expected: FloatArray, days: float, placed: BoolArray) -> FloatArray:
    """Recent multiples of each node's neighbours, before each step and now, shape (nodes, steps + 1)."""
    known = placed[:, None].astype(np.float64)
    there = gaussian_filter1d(np.eye(1, 101, 50)[0], _NEXT, mode="constant")[50]  # of the node itself
    sums = (discounted(values * known, _HALF_LIFE / days) for values in (counts, expected))
    did, should = (gaussian_filter1d(each, _NEXT, axis=0, mode="constant") / there - each for each in sums)
    return np.where(known > 0.0, (np.maximum(did, 0.0) + _PRIOR) / (np.maximum(should, 0.0) + _PRIOR), 1.0)


def _of_value(
    code: IntArray, counts: FloatArray, expected: FloatArray, value: FloatArray, change: FloatArray, prior: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Multiples of all nodes with each node's value of an attribute, before each step and now, (nodes, steps + 1), and
    the standard deviation of their logarithm now, (nodes,); one and zero for a value of few nodes. Settings are
    weighted by the past until each step.
    """
    compared = np.append(np.bincount(code[code >= 0], minlength=1) >= _FEWEST, False)
    row = np.where(compared, np.cumsum(compared) - 1, -1)[code]
    there = row >= 0
    did, should = np.zeros((2, compared.sum(), counts.shape[1]))
    np.add.at(did, row[there], counts[there])
    np.add.at(should, row[there], expected[there])
    density = did[:, :, None] * np.log(value) - should[:, :, None] * value
    density = np.exp(density - density.max(axis=2, keepdims=True))
    state, score = np.repeat(prior[:, None, :], did.shape[0], axis=1), np.zeros(change.size)
    multiples = np.ones((did.shape[0] + 1, counts.shape[1] + 1))  # the last for nodes of no such value
    spread = np.zeros(did.shape[0] + 1)
    for step in range(counts.shape[1] + 1):
        weight = np.exp(score - score.max())
        now = np.tensordot(weight / weight.sum(), state, axes=1)
        multiples[:-1, step] = now @ value
        if step < counts.shape[1]:
            state *= density[:, step]
            total = state.sum(axis=2, keepdims=True)
            score += np.log(total[:, :, 0]).sum(axis=1)
            state = state / total * (1.0 - change)[:, None, None] + (change[:, None] * prior)[:, None, :]
    low, high = (Multiples(value, now, row, spread, now).quantile(p) for p in special.ndtr([-1.0, 1.0]))
    spread[:-1] = 0.5 * np.log(high / low)
    return multiples[row], spread[row]


def _prior(value: FloatArray, alike: float, few: float) -> FloatArray:
    """Probability of each value of a new multiple, a share `few` of which is large."""
    between = np.sqrt(value[1:] * value[:-1])
    most = np.diff(np.concatenate([[0.0], special.gammainc(alike, alike * between), [1.0]]))
    large = np.where(value >= _OFTEN, value**-0.5, 0.0)
    return np.asarray((1.0 - few) * most + few * large / large.sum())


def _spells(value: FloatArray, expected: FloatArray, share: float) -> FloatArray:
    """Probability of each multiple in a step (rows), given the lasting one (columns), with a `share` in a spell."""
    most = max(_MORE[1] * (expected > 0.0).sum() / max(expected.sum(), 1e-300), 2.0 * _MORE[0])
    there = (value[:, None] >= _MORE[0] * value) & (value[:, None] <= most)
    there |= np.eye(value.size, dtype=np.bool_) & ~there.any(axis=0)
    return np.asarray((1.0 - share) * np.eye(value.size) + share * there / there.sum(axis=0))


def _averaged(value: FloatArray, spans: float) -> FloatArray:
    """Probability of each mean multiple over a horizon (columns), given that at its start (rows), after which it is
    one on average: a horizon has `spans` changes on average.
    """
    until = np.exp(-spans * np.linspace(0.0, 1.0, _PARTS + 1))
    kept = np.append((np.arange(_PARTS) + 0.5) / _PARTS, 1.0)
    by = np.log(kept[:, None] + (1.0 - kept[:, None]) / value) / np.log(value[1] / value[0])
    ends = -np.diff(until, append=0.0)  # probability that the multiple changes in each part, or later
    return np.sum([p * _moved(np.eye(value.size), each) for p, each in zip(ends, by, strict=True)], axis=0)


def _blocks(counts: FloatArray, expected: FloatArray, *chain: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """`_forward` for blocks of nodes in turn; `chain` has its other arguments."""
    for i in range(0, counts.shape[0], _BLOCK):
        yield _forward(counts[i : i + _BLOCK], expected[i : i + _BLOCK], *chain)


def _forward(
    counts: FloatArray,
    expected: FloatArray,
    value: FloatArray,
    change: FloatArray,
    prior: FloatArray,
    spells: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Probabilities of the nodes' multiples after the last step, (predictors, nodes, values), and log likelihoods."""
    density = counts[:, :, None] * np.log(value) - expected[:, :, None] * value
    most = density.max(axis=2)
    density -= most[:, :, None]
    np.exp(density, out=density)
    density = (density.reshape(-1, value.size) @ spells).reshape(density.shape)
    weight, score = np.repeat(prior[:, None, :], counts.shape[0], axis=1), np.full(change.size, most[:, _FIRST:].sum())
    _steps(density, 1.0 - change, change[:, None] * prior, weight, score)
    return weight, score


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _steps(density: np.ndarray, stays: np.ndarray, drawn: np.ndarray, weight: np.ndarray, score: np.ndarray) -> None:
    """Update the probabilities of each node from step to step, in place."""
    for node in range(density.shape[0]):
        for i in range(stays.size):
            state, back, stay, total = weight[i, node], drawn[i], 1.0, 1.0
            for step in range(density.shape[1]):
                seen, total = density[node, step], 0.0
                if step:
                    for j in range(state.size):
                        state[j] = (state[j] * stay + back[j]) * seen[j]
                        total += state[j]
                else:
                    for j in range(state.size):
                        state[j] *= seen[j]
                        total += state[j]
                total = max(total, 1e-300)
                stay = stays[i] / total
                if step >= _FIRST:
                    score[i] += np.log(total)
            for j in range(state.size):
                state[j] /= total


def _below(weight: FloatArray) -> FloatArray:
    """Probability below each edge of the cells around the values, shape (parts, values + 1)."""
    return np.concatenate([np.zeros((weight.shape[0], 1)), np.cumsum(weight, axis=1)], axis=1)


def _moved(weight: FloatArray, by: FloatArray) -> FloatArray:
    """Probabilities shifted by a number of values, one for each row; those beyond the ends stay there."""
    rows, values = weight.shape
    low = np.floor(by).astype(np.int64)
    out = np.zeros(weight.shape)
    for shift, share in ((low, 1.0 - (by - low)), (low + 1, by - low)):
        to = np.clip(np.arange(values) + shift[:, None], 0, values - 1)
        np.add.at(out, (np.arange(rows)[:, None], to), weight * share[:, None])
    return out
